"""The pointer policy: what it reads, what it can say, and that its log-probabilities are those of its choices."""

import dataclasses
import math
import random
import re
from contextlib import closing
from html import escape

import gymnasium
import numpy
import pytest
from hypothesis import given, strategies

import webarena_gym  # noqa: F401 - registers the env
from agents.models.checkpoints import is_pointer, save_agent
from agents.models.pointer import reader as reader_module
from agents.models.pointer.computing import decompose
from agents.models.pointer.decoding import Session, expert_decisions, trajectory_choices
from agents.models.pointer.goals import parse_goal
from agents.models.pointer.network import UNKNOWN_WORDS, PointerNetwork, Scores, Vocabulary, load_pointer
from agents.models.pointer.pages import page_pieces, parse_page
from agents.models.pointer.reader import CONSTANTS, Cache, Reader
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.envs import create_envs
from agents.rollouts.pointer import PointerPolicy
from tests.errors import expect_error
from tests.growth import grows_too_fast
from tests.pages import page
from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS
from webarena_gym.observation import observe
from webarena_gym.tasks import Expert

SETTINGS = {"elements": "id", "window": 20_000, "max_steps": 30}
UNSEEN = {"reddit.repost_image", "gitlab.website_title", "several.promote_project"}  # what they ask for is not shown whole


def sample_tasks(count, seed=0):
    tasks = [task for task in task_suite.load("validation") if task.template not in UNSEEN]
    return random.Random(seed).sample(tasks, count)


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


def make_policy(temperature=1.0, seed=0, **options):
    import torch  # noqa: PLC0415

    torch.manual_seed(seed)
    words = [*UNKNOWN_WORDS, "order", "search", "the", "#goal", "#page", "#done", "#search"]
    dialect = DIALECTS["webrl"].naming_by("id")
    return PointerPolicy(PointerNetwork(len(words)), Vocabulary(words), dialect, temperature=temperature, **options)


def play(policy, tasks, seed=0):
    settings = SETTINGS | {"max_steps": 5}
    with closing(create_envs(tasks, 4, **settings)) as envs:
        return Collector(envs, policy, seed=seed).collect([EpisodeSpec(task, 0, number) for number, task in enumerate(tasks)])


def test_a_page_read_back_has_the_controls_of_the_env_and_what_the_expert_does_can_be_said_and_comes_out_the_same():
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
        asked = twin.reply(info["page"], has_error=False)
        question, said = next(asked), None
        for decision in decisions:
            assert (
                question.candidates[decision.correct[-1]] == decision.question.candidates[decision.correct[0]]
                or not question.stage
            )
            try:
                question = asked.send(decision.correct[-1] if question.stage else decision.correct[0])
            except StopIteration as end:
                said = end.value
        assert said == action


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_of_a_derivation_make_the_text(seed):
    rng = random.Random(seed)
    words = ["Ann Lee", "12 kg", "Oslo", "$4.50", "a", "Berg", "x y z"]
    text = "".join(rng.choice([*words, ", ", "; ", " ", "?"]) for _ in range(rng.randint(1, 9)))
    parts, literals = decompose(text, set(words), CONSTANTS)
    assert "".join(parts) == text
    assert set(literals) <= set(parts)
    assert all(part in words or part in CONSTANTS or part in literals for part in parts)


@pytest.mark.parametrize(("goal", "wanted"), [
    ('Search for "desk lamp".', "desk lamp"),
    ("Put one Mohiku Compact Soundbar, 36 inch into my cart.", "Mohiku Compact Soundbar, 36 inch"),
    ("How many orders came in December 2021?", "12/31/2021"),
    ("Set its due date to June 21, 2023.", "2023-06-21"),
    ("A price of $63.75 please.", "63.75"),
    ("Find issues of ann.lee/wide-site now.", "wide-site"),
])  # fmt: skip
def test_goals_give_the_texts_that_one_would_type(goal, wanted):
    assert wanted in [span.text for span in parse_goal(goal).spans]


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


def test_log_probabilities_are_those_of_the_choices_and_follow_from_the_seed():
    tasks = sample_tasks(3)
    policy = make_policy()
    trajectories = play(policy, tasks)
    reader = Reader()
    recalled = [
        (step, own) for item in trajectories for step, own in zip(item.steps, trajectory_choices(reader, item), strict=True)
    ]
    assert recalled
    for step, choices in recalled:
        for choice, logprob in zip(choices, step.logprobs, strict=True):
            (values,) = policy.network([choice.question], reader.texts, policy.vocabulary).logprobs()
            assert values.exp().sum().item() == pytest.approx(1, abs=1e-4)
            assert values[choice.candidate_index].item() == pytest.approx(logprob, abs=1e-4)
    assert [item.steps for item in play(make_policy(), tasks)] == [item.steps for item in trajectories]
    assert [item.steps for item in play(make_policy(), tasks, seed=1)] != [item.steps for item in trajectories]


def test_scores_and_gradients_do_not_depend_on_what_else_was_read():
    policy, fresh, used = make_policy(), Reader(), Reader()
    *others, chosen = play(policy, sample_tasks(4))
    for other in others:
        trajectory_choices(used, other)
    found = []
    for reader in (fresh, used):
        asked = [
            choice.question for step in trajectory_choices(reader, chosen) for choice in step if choice.question.stage == 0
        ]
        scores = policy.network(asked, reader.texts, policy.vocabulary).values
        policy.network.zero_grad()
        scores.square().sum().backward()
        gradients = [parameter.grad for parameter in policy.network.parameters() if parameter.grad is not None]
        found.append([scores.detach(), *(gradient.clone() for gradient in gradients)])
    assert all(one.equal(other) for one, other in zip(*found, strict=True))


def test_only_what_a_pointing_policy_replied_is_recalled():
    trajectory = next(item for item in play(make_policy(), sample_tasks(3)) if item.steps)
    first, *rest = trajectory.steps
    for places in ((), (*first.response_ids, 0), (10**6, *first.response_ids[1:])):
        steps = (dataclasses.replace(first, response_ids=places), *rest)
        with expect_error(ValueError, "step 0"):
            trajectory_choices(Reader(), dataclasses.replace(trajectory, steps=steps))


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


def asked(reader, trajectory):
    """The questions of an episode, with texts in place of the reader's numbers, as bytes."""
    found = []
    for choices in trajectory_choices(reader, trajectory):
        for question, _ in choices:
            texts = [reader.texts.strings[number] for number in (*question.context.slots, *question.rows.slots.ravel())]
            numbers = question.context.numbers.tobytes(), question.rows.numbers.tobytes()
            found.append((question.stage, texts, numbers, tuple(question.candidates)))
    return found


def test_questions_do_not_depend_on_what_was_read_before_or_is_kept():
    trajectories = play(make_policy(), sample_tasks(6))
    used = Reader()
    for trajectory in trajectories:
        first, second = (trajectory_choices(used, trajectory) for _ in range(2))
        for ones, others in zip(first, second, strict=True):  # equal episodes ask the same questions once
            assert all(one.question is other.question for one, other in zip(ones, others, strict=True))
    for trajectory in trajectories:
        fresh = asked(Reader(), trajectory)
        assert fresh == asked(used, trajectory)
        assert fresh == asked(Reader(cache_mb=0.001), trajectory)


def test_what_a_reader_keeps_is_bounded(monkeypatch):
    trajectories = play(make_policy(), sample_tasks(8))
    small = Reader(cache_mb=1)
    unbounded = Reader()
    monkeypatch.setattr(reader_module, "_MAX_MATCHES", 2_000)
    for trajectory in trajectories:
        trajectory_choices(small, trajectory)
        trajectory_choices(unbounded, trajectory)
    assert unbounded.cached_bytes > 2e6
    assert small.cached_bytes <= 1e6
    assert small.match_count <= 2_000 + 10_000  # those of one page are kept in any case
    monkeypatch.setattr(reader_module, "_MAX_TEXTS", len(small.texts.strings))
    assert small.successor() is not small
    monkeypatch.setattr(reader_module, "_MAX_TEXTS", len(small.texts.strings) + 1)
    assert small.successor() is small


@given(sizes=strategies.lists(strategies.integers(0, 3_000), max_size=30), most=strategies.integers(0, 6_000))
def test_a_cache_gives_what_was_made_and_keeps_no_more_than_its_size(sizes, most):
    cache = Cache(most / 1e6)
    for key, size in enumerate(sizes):
        made = numpy.full(size, key)
        found = cache(key, lambda made=made: made)
        assert found is made
        assert not len(cache) or cache(key, lambda: None) is made
        assert cache.size <= most


@pytest.mark.parametrize("unit", ["<p>a</p>", "<>", "<b", "a: b, c (d)\n", "$5.20, 14 min; "])
@pytest.mark.parametrize("form", ['<textarea id="0" label="x">{}</textarea>', "{}", '<a id="0">{}</a>', "<tr><td>{}</td></tr>"])
def test_the_pieces_of_a_page_take_linear_time(form, unit):
    def make(length):
        return "http://shop.test/\n" + form.format((unit * (length // len(unit))).replace("<", "&lt;"))

    assert not grows_too_fast(page_pieces.__wrapped__, make, 4_000)


@pytest.mark.parametrize("length", [1_000, 20_000, 60_000])
def test_the_pieces_of_a_large_field_are_bounded_however_many_tags_it_has(length):
    said = 'http://shop.test/\n<textarea id="0" label="x">' + "&lt;p>a&lt;/p>" * (length // 8) + "</textarea>"
    assert sum(len(piece.text) for piece in page_pieces.__wrapped__(said)) < 1_000_000 + 10 * length


@given(unit=strategies.sampled_from(["<p>a</p>", "<b><i>", "some text <br> "]), count=strategies.integers(0, 60))
def test_a_large_field_is_offered_up_to_each_of_its_tags_and_from_it(unit, count):
    said = observe(page(f"<textarea>{escape(unit * count)}</textarea>")).text
    (value,) = [control.value for control in parse_page(said).controls]
    offered = {piece.text for piece in page_pieces(said)}
    for match in re.finditer("<.*?>", value):
        assert {value[: match.end()], value[match.start() :]} <= offered


@given(
    lengths=strategies.lists(strategies.integers(1, 9), min_size=1, max_size=5),
    temperature=strategies.sampled_from([0.5, 1.0, 2.0]),
    seed=strategies.integers(0, 99),
)
def test_log_probabilities_by_place_are_those_of_each_question(lengths, temperature, seed):
    import torch  # noqa: PLC0415

    scores = Scores(10 * torch.randn(sum(lengths), generator=torch.Generator().manual_seed(seed)), tuple(lengths))
    asked_S = torch.tensor([number for number, length in enumerate(lengths) for _ in range(length)])
    places = torch.cat([torch.arange(length) for length in lengths])
    expected = torch.cat(scores.logprobs(temperature))
    assert torch.allclose(scores.candidate_logprobs(asked_S, places, temperature), expected, atol=1e-5)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_traced_policy_tells_what_it_chose_from_and_replies_the_same(temperature):
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
