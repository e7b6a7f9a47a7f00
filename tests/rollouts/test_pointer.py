import dataclasses
import math
import random
import re
from contextlib import closing
from html import escape

import gymnasium
import pytest
from hypothesis import given, strategies

import webarena_gym  # noqa: F401 - registers the env
from agents.models.checkpoints import is_pointer, save_agent
from agents.models.pointer.computing import decompose
from agents.models.pointer.decoding import Session, expert_decisions
from agents.models.pointer.goals import parse_goal
from agents.models.pointer.network import load_pointer
from agents.models.pointer.pages import page_pieces, parse_page
from agents.models.pointer.reader import CONSTANTS, Reader
from agents.rollouts.pointer import PointerPolicy
from tests.growth import grows_too_fast
from tests.pages import page
from tests.pointing import SETTINGS, make_policy, play, sample_tasks
from webarena_gym.actions import DIALECTS
from webarena_gym.observation import observe
from webarena_gym.tasks import Expert


def play_expert(tasks):
    """Yield the env, its info and the expert's action at each step of each task."""
    env = gymnasium.make("WebArenaLite-v0", tasks=tasks, disable_env_checker=True, **SETTINGS).unwrapped
    with closing(env):
        for task in tasks:
            _, info = env.reset(seed=0, options={"task": task})
            expert, over = Expert(task, env.dialect), False
            while not over:
                action = expert.choose(env.page, env.observation).action
                yield env, info, action
                _, _, terminated, truncated, info = env.step(env.dialect.format(action))
                over = terminated or truncated


def test_parsed_pages_have_all_controls_and_expert_actions_round_trip():
    reader, session = Reader(), None
    for env, info, action in play_expert(sample_tasks(25)):
        top, page = env.observation.top, parse_page(info["page"])
        shown = {
            address: node.element.tag
            for address, node in env.observation.nodes.items()
            if top <= node.line < top + env.observation.height
        }
        assert [control.element for control in page.controls] == list(shown)
        for control in page.controls:
            assert {"select": "select", "area": "textarea"}.get(control.use) == (
                shown[control.element] if shown[control.element] in ("select", "textarea") else None
            ), control
        if info["step"] == 0:
            session = Session(reader, info["goal"])
            twin = Session(reader, info["goal"])
        decisions, is_whole = expert_decisions(session, info["page"], action, has_error=False)
        assert is_whole, action
        requests = twin.reply(info["page"], has_error=False)
        question, reply = next(requests), None
        for decision in decisions:
            assert (
                question.candidates[decision.correct[-1]] == decision.question.candidates[decision.correct[0]]
                or not question.stage
            )
            try:
                question = requests.send(decision.correct[-1] if question.stage else decision.correct[0])
            except StopIteration as end:
                reply = end.value
        assert reply == action


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_of_a_derivation_make_the_text(seed):
    rng = random.Random(seed)
    words = ["Ann Lee", "12 kg", "Oslo", "$4.50", "a", "Berg", "x y z"]
    text = "".join(rng.choice([*words, ", ", "; ", " ", "?"]) for _ in range(rng.randint(1, 9)))
    parts, literals = decompose(text, set(words), CONSTANTS)
    assert "".join(parts) == text
    assert set(literals) <= set(parts)
    assert all(part in words or part in CONSTANTS or part in literals for part in parts)


@pytest.mark.parametrize(("goal", "target"), [
    ('Search for "desk lamp".', "desk lamp"),
    ("Put one Mohiku Compact Soundbar, 36 inch into my cart.", "Mohiku Compact Soundbar, 36 inch"),
    ("How many orders came in December 2021?", "12/31/2021"),
    ("Set its due date to June 21, 2023.", "2023-06-21"),
    ("A price of $63.75 please.", "63.75"),
    ("Find issues of ann.lee/wide-site now.", "wide-site"),
])  # fmt: skip
def test_goals_give_the_texts_that_one_would_type(goal, target):
    assert target in [span.text for span in parse_goal(goal).spans]


@pytest.mark.parametrize(("form", "expected"), [
    ("plural", {"reds", "lamps", "red lamps", "007 reds", "ann.lee/wide-sites"}),
    ("lowered", {"buy"}),
    ("amount", {"12.50"}),
    ("number", {"7"}),
    ("last part", {"wide-site"}),
])  # fmt: skip
def test_words_of_a_goal_have_derived_forms(form, expected):
    goal = parse_goal("Buy 007 red lamp at $12.50 from ann.lee/wide-site")
    assert {span.text for span in goal.spans if span.form == form} == expected


@given(strategies.text(alphabet=strategies.characters(categories=("Nd", "No", "Nl", "Lu", "Zs")), max_size=30))
def test_goals_of_odd_digits_are_read(goal):
    assert all(
        span.text in goal or span.form in ("number", "lowered", "plural") for span in parse_goal(goal).spans if span.text
    )


def test_equal_states_have_equal_prompt_ids():
    task = sample_tasks(1)[0]
    trajectories = play(make_policy(), [task] * 6)
    seen = {}
    for trajectory in trajectories:
        history = ()
        for step in trajectory.steps:
            history = (*history, step.page)
            assert seen.setdefault(step.prompt_ids, history) == history
            history = (*history, step.reply)
    assert len({trajectory.steps[0].prompt_ids for trajectory in trajectories}) == 1


def test_a_saved_policy_does_the_same_and_texts_that_it_builds_are_bounded(tmp_path):
    policy = make_policy(temperature=3.0)
    save_agent(tmp_path, policy.network, policy.vocabulary, SETTINGS)
    assert is_pointer(tmp_path)
    again = PointerPolicy(*load_pointer(tmp_path), policy.dialect, 3.0)
    found, expected = ([step for item in play(each, sample_tasks(4)) for step in item.steps] for each in (again, policy))
    assert found == expected
    assert all(len(step.reply) < 40_000 for step in found)


@pytest.mark.parametrize("unit", ["<p>a</p>", "<>", "<b", "a: b, c (d)\n", "$5.20, 14 min; "])
@pytest.mark.parametrize("form", ['<textarea id="0" label="x">{}</textarea>', "{}", '<a id="0">{}</a>', "<tr><td>{}</td></tr>"])
def test_the_pieces_of_a_page_take_linear_time(form, unit):
    def make(length):
        return "http://shop.test/\n" + form.format((unit * (length // len(unit))).replace("<", "&lt;"))

    assert not grows_too_fast(page_pieces.__wrapped__, make, 4_000)


@pytest.mark.parametrize("length", [1_000, 20_000, 60_000])
def test_the_pieces_of_a_large_field_are_bounded_however_many_tags_it_has(length):
    text = 'http://shop.test/\n<textarea id="0" label="x">' + "&lt;p>a&lt;/p>" * (length // 8) + "</textarea>"
    assert sum(len(piece.text) for piece in page_pieces.__wrapped__(text)) < 1_000_000 + 10 * length


@given(unit=strategies.sampled_from(["<p>a</p>", "<b><i>", "some text <br> "]), count=strategies.integers(0, 60))
def test_a_large_field_is_offered_up_to_each_of_its_tags_and_from_it(unit, count):
    text = observe(page(f"<textarea>{escape(unit * count)}</textarea>")).text
    (value,) = [control.value for control in parse_page(text).controls]
    offered = {piece.text for piece in page_pieces(text)}
    for match in re.finditer("<.*?>", value):
        assert {value[: match.end()], value[match.start() :]} <= offered


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_traced_policies_report_candidates_with_equal_replies(temperature):
    tasks = sample_tasks(6)
    plain = play(make_policy(temperature), tasks)
    traced = play(make_policy(temperature, traced=True), tasks)
    steps = [step for trajectory in traced for step in trajectory.steps]
    bare = [dataclasses.replace(step, tokens=(), candidates=()) for step in steps]
    assert bare == [step for trajectory in plain for step in trajectory.steps]
    assert not any(step.candidates or step.tokens for trajectory in plain for step in trajectory.steps)
    dialect = DIALECTS["webrl"].naming_by("id")
    for step in steps:
        assert len(step.tokens) == len(step.logprobs)
        chances = [candidate.probability for candidate in step.candidates]
        assert chances == sorted(chances, reverse=True)
        assert 0 < len(chances) <= 10
        assert sum(chances) < 1 + 1e-5
        if not temperature:
            assert step.candidates[0].element == dialect.parse(step.reply).element
            assert step.candidates[0].action == step.tokens[0]
            assert math.log(chances[0]) == pytest.approx(step.logprobs[0], abs=1e-5)
