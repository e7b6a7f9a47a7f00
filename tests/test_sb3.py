"""Candidate actions for libraries that know no text, and Stable-Baselines3's PPO on them."""

import importlib.util
import json
import math
from contextlib import closing
from random import Random

import gymnasium
import numpy
import pytest

from agents import evaluate as command
from agents.data.demonstrations import draw_tasks
from agents.evaluation import evaluate
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.rollouts.policies import Request
from agents.settings import ENV_ID
from agents.training.metrics import read_metrics
from tests import tiny
from tests.errors import expect_error
from tests.pages import page
from webarena_gym import candidates as module
from webarena_gym.actions import Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import observe

SHOP = """<html><head><title>Bags</title></head><body><a href="/">Shop</a> <a href="/red">Red bags</a>
<form><label for="q">Search</label><input id="q" name="q" value="lamp"> <button>Go</button> <button disabled>Closed</button></form>
<p>The <b>Red bag</b> costs <b>$4.00</b> now</p><p>Nothing of the kind</p>
<label>Size <select name="s"><option>Small</option><option selected>Large</option></select></label>
<label><input type="checkbox" checked> Gift</label><textarea name="note"></textarea>
<p><a href="/1">View</a> the red bag</p><p><a href="/2">View</a> the tent</p></body></html>"""
GOAL = 'What does the red bag cost? Search for "lamp".'
START = {"goal": GOAL, "step": 0, "action_error": ""}
LEAVE, BACK = 0, 1

needs_sb3 = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("stable_baselines3", "sb3_contrib")),
    reason="no Stable-Baselines3 here: pip install 'webarena-gym[baselines]'",
)


@pytest.fixture(scope="module")
def tasks():
    """Tasks of the code host that a click or two solve."""
    return draw_tasks((11,), 6, templates=("gitlab.list_place",))


@pytest.fixture
def env(tasks, opened):
    return opened(make(tasks))


def lose(*_):
    """What the env's step returns when its browser has died."""
    return "", math.nan, False, True, {"failure": "the browser is gone"}


def make(tasks, candidates=48, **options):
    return module.CandidateActions(
        gymnasium.make(ENV_ID, tasks=tasks, disable_env_checker=True, **{"elements": "label", **options}), candidates
    )


def shop(size=48, goal=GOAL, **options):
    return module.find_candidates(observe(page(SHOP), elements="label", **options), goal, size)


def of_form(form, candidates):
    return [candidate for candidate in candidates if candidate.form == form]


@needs_sb3
def test_scores_of_candidates_are_learned_scores_plus_relevance_times_the_prior():
    torch = pytest.importorskip("torch")
    from agents.sb3 import CandidateScorer  # noqa: PLC0415 - not everybody has its libraries

    torch.manual_seed(0)
    scorer = CandidateScorer(module.observation_space(3), width=4, prior=2.0)
    torch.nn.init.constant_(scorer.score.bias, 0.5)
    rows = torch.zeros(1, 3, module.ROW)
    rows[0, :2, module.PRESENCE] = 1.0
    rows[0, :, module.RELEVANCE] = torch.tensor([0.25, 1.0, 0.0])
    features = scorer({"candidates": rows, "page": torch.zeros(1, module.PAGE)})
    assert features.shape == (1, 3 + 2 * 4)
    assert features[0, :3].tolist() == pytest.approx([1.0, 2.5, 0.5])
    hidden = torch.relu(scorer.hidden(torch.relu(scorer.row(rows) + scorer.page.bias)))
    assert features[0, 3:7].tolist() == pytest.approx(torch.relu(scorer.page.bias).tolist())
    assert features[0, 7:].tolist() == pytest.approx(hidden[0, :2].amax(0).clamp(min=0.0).tolist()), (
        "absent candidates are zeros"
    )


@pytest.mark.parametrize(("goal", "strings"), [
    ("Open my wish list.", []),
    ('Find "red tent" and "mug".', ["red tent", "mug"]),
    ("Write to ann.lee@example.com.", ["ann.lee@example.com"]),
    ("Show order 000123 for Ann Lee and Bo.", ["000123", "Ann Lee and Bo"]),
    ('Ask "Bo" whether Bo and Ann came.', ["Bo", "Bo and Ann"]),
    ("Take A1, then B2 then C3 then D4 then E5.", ["A1", "B2", "C3", "D4"]),
])  # fmt: skip
def test_quotations_addresses_names_and_numbers_can_be_typed(goal, strings):
    assert module.find_strings(goal) == strings


def test_candidates_are_enabled_controls_and_answers_with_goal_words():
    found = shop()
    assert [candidate.action for candidate in found[:2]] == [Action(Kind.EXIT, argument=""), Action(Kind.GO_BACKWARD)]
    used = {(item.form, item.action.element, item.action.argument): item.already_set for item in found}
    expected = {
        ("link", "Shop", None): False, ("link", "View [2]", None): False, ("button", "Go", None): False,
        ("type", "Search", "lamp"): True, ("search", "Search", "lamp"): True, ("type", "note", "lamp"): False,
        ("option", "Size", "Small"): False, ("option", "Size", "Large"): True, ("box", "Gift", None): True,
    }  # fmt: skip
    assert used.items() >= expected.items()
    assert "Closed" not in {candidate.label for candidate in found}
    assert {candidate.form for candidate in found} == set(module.FORMS)
    answers = [candidate.text for candidate in of_form("answer", shop())]
    assert any("$4.00" in text for text in answers)
    assert not any("Nothing" in text for text in answers)
    assert len(answers) == len(set(answers)) <= 6
    found = shop(window=30)
    assert not any("$4.00" in candidate.text for candidate in found)
    assert "View [2]" in {candidate.action.element for candidate in found}  # controls are those of the whole page


def test_candidates_are_sorted_by_relevance_then_page_order():
    found, expected = shop(), module.words(GOAL)
    scores = [module.relevance(candidate, expected) for candidate in found[2:]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[-1] == 0.0
    assert shop(7) == found[:7]
    assert shop() == found
    links = [item.action.element for item in shop(goal="Wait") if item.form == "link"]
    assert links == ["Shop", "Red bags", "View", "View [2]"]
    first, second = (item for item in shop() if item.label == "View")
    assert (first.action.element, second.action.element) == ("View", "View [2]")
    assert module.relevance(first, module.words(GOAL)) > module.relevance(second, module.words(GOAL)) == 0.0
    expected = module.words("red bag")
    action = Action(Kind.EXIT, argument="red bag")
    assert module.relevance(module.Candidate("answer", action), expected) == 0.0
    assert module.relevance(module.Candidate("answer", action, line="red bag"), expected) == 0.5
    assert module.relevance(module.Candidate("link", Action(Kind.CLICK, "Red bag"), "Red bag"), expected) == 1.0


def test_an_empty_page_can_be_left_and_elements_named_by_number_are_refused():
    found = module.find_candidates(observe(page("<p></p>"), elements="label"), "", 5)
    assert [candidate.form for candidate in found] == ["leave", "back"]
    with expect_error(ValueError, "0 to 9", "elements='label'"):
        module.find_candidates(observe(page(SHOP)), GOAL, 48)
    assert (module.overlap("", ""), module.overlap("the tents", "Tent, mug")) == ((0.0, 0.0), (1.0, 0.5))


def test_candidate_rows_encode_form_and_taken_actions():
    found = shop(60)
    rows = module.describe(found, GOAL, "u", [], 60)
    assert (rows.shape, rows.dtype, rows.min(), rows.max()) == ((60, module.ROW), numpy.float32, 0.0, 1.0)
    assert rows[:, module.PRESENCE].tolist() == [1.0] * len(found) + [0.0] * (60 - len(found))
    assert not rows[len(found) :].any()
    assert [module.FORMS[place] for place in rows[: len(found), 2 : 2 + len(module.FORMS)].argmax(1)] == [
        item.form for item in found
    ]
    assert rows[: len(found), module.RELEVANCE] == pytest.approx([module.relevance(item, module.words(GOAL)) for item in found])
    view = next(place for place, item in enumerate(found) if item.action.element == "View [2]")
    assert rows[view, -module.HASHED - 1] == 0.5  # two have that label
    assert (rows[view, -module.HASHED :] == module.hash_words("View")).all()
    small, large = (module.describe([item], GOAL, "u", [], 1)[0] for item in of_form("option", found))
    assert (small[-module.HASHED :] != large[-module.HASHED :]).any()
    found = shop()
    taken = [("here", found[4].action), ("there", found[3].action), ("here", found[5].action)]
    marks = module.describe(found, GOAL, "here", taken, len(found))[:, -module.HASHED - 4 : -module.HASHED - 1]
    assert marks[3].tolist() == [1, 0, 0]  # elsewhere
    assert marks[4].tolist() == [1, 1, 0]  # here
    assert marks[5].tolist() == [1, 1, 1]  # just now
    assert not marks[6].any()


def test_page_rows_encode_location_and_stable_word_hashes():
    here = page(SHOP, url="http://shop.test/bags/red?page=2")
    row = module.describe_page(here, "Open the red bags", 3, True)
    assert row.shape == (module.PAGE - module.ROW,)
    assert (row[: module.HASHED] == module.hash_words("Open the red bags")).all()
    assert (row[module.HASHED : 2 * module.HASHED] == module.hash_words("Bags bags red page 2")).all()
    assert row[-4:] == pytest.approx([2 / 4, 2 / 3, 3 / 15, 1.0])
    assert module.describe_page(here, "", 99, False)[-2:].tolist() == [1.0, 0.0]
    for text in ("red tent", "Tents, red!"):
        assert module.hash_words(text).nonzero()[0].tolist() == [15, 16]
    with pytest.raises(ValueError, match="read-only"):
        module.hash_words("red tent")[0] = 1.0


def test_a_reader_remembers_what_was_taken():
    reader, seen = module.Featurizer(48), observe(page(SHOP), elements="label")
    first = reader.read(page(SHOP), seen, START)
    assert not first["page"][-module.ROW :].any()
    assert reader.mask().sum() == len(reader.candidates)
    assert reader.take(3) == reader.candidates[3].action
    second = reader.read(page(SHOP), seen, START)
    assert (second["page"][-module.ROW :] == first["candidates"][3]).all()
    assert second["candidates"][3, -module.HASHED - 2] == 1.0
    assert reader.take(47) == Action(Kind.WAIT)


def play(env, seed, steps=40):
    rng, played = Random(seed), []
    observation, info = env.reset(seed=seed)
    for _ in range(steps):
        masks = env.action_masks()
        assert observation in env.observation_space
        assert masks.sum() == observation["candidates"][:, module.PRESENCE].sum()
        played.append((observation, masks, info["task_id"]))
        observation, _, over, lost, info = env.step(numpy.int64(rng.randrange(BACK, masks.sum())))
        assert not lost
        if over:
            observation, info = env.reset()
    return played


def test_equal_episodes_give_equal_arrays(tasks, env):
    with closing(make(tasks)) as other:
        for (one, masks, task_id), (two, other_masks, other_id) in zip(play(env, 5), play(other, 5), strict=True):
            assert task_id == other_id
            assert (masks == other_masks).all()
            assert all((one[name] == two[name]).all() for name in ("candidates", "page"))


def test_a_click_and_leaving_solve_a_task(tasks):
    task = next(task for task in tasks if "that I am in" in task.intent)
    with closing(make([task])) as env:
        env.reset(seed=1)
        assert not env.step(numpy.int64(2))[2]  # what has most to do with the goal
        _, reward, over, lost, info = env.step(numpy.int64(LEAVE))
        assert (reward, over, lost, info["success"]) == (1.0, True, False, True)


def test_the_step_limit_terminates_and_empty_candidates_wait(tasks):
    with closing(make(tasks, candidates=200, max_steps=2)) as env:
        env.reset(seed=1)
        assert not env.action_masks()[199]
        before = env.unwrapped.page.url
        observation, *_, info = env.step(numpy.int64(199))
        assert (env.unwrapped.page.url, info["action_error"]) == (before, "")
        assert not observation["page"][-module.ROW :].any()
        assert env.step(numpy.int64(BACK))[1:4] == (0.0, True, False)


def test_an_episode_lost_with_its_browser_is_truncated_with_zeros(env, monkeypatch):
    env.reset(seed=1)
    with monkeypatch.context() as patch:
        patch.setattr(WebArenaLite, "step", lose)
        observation, reward, over, lost, info = env.step(numpy.int64(BACK))
    assert (reward, over, lost, info["failure"]) == (0.0, False, True, "the browser is gone")
    assert observation in env.observation_space
    assert not any(values.any() for values in observation.values())
    assert env.reset(seed=1)[0]["candidates"].any()


def test_invalid_candidate_settings_are_rejected(tasks, env):
    with expect_error(ValueError, "candidates", 2, 3):
        make(tasks, candidates=2)
    with (
        closing(make(tasks, elements="id")) as numbered,
        expect_error(ValueError, "elements='label'"),
    ):
        numbered.reset(seed=1)
    env.reset(seed=1)
    with expect_error(ValueError, 48, "0 to 47"):
        env.step(numpy.int64(48))


def settings(out, **changes):
    from agents.training.settings import SB3Settings  # noqa: PLC0415 - not everybody has its libraries

    values = {"max_steps": 2, "candidates": 12, "steps_per_update": 16, "batch": 64, "learning_rate": 3e-3, "updates": 16}
    return SB3Settings(out=out, **{**values, "prior": 0.0, "save_every": 100, **changes})


def train(tasks, out, **changes):
    from agents import sb3 as train_sb3  # noqa: PLC0415 - not everybody has its libraries

    return train_sb3.train(settings(out, **changes), tasks)


def success(run, tasks, **changes):
    chosen = EvaluationSettings(policy=str(run), max_steps=2, **changes)
    with closing(evaluate.create_policy(chosen)) as policy:
        return evaluate.evaluate(policy, tasks, chosen, num_envs=2, quiet=True).total.success


@pytest.fixture(scope="module")
def untrained(tasks, tmp_path_factory):
    return train(tasks, tmp_path_factory.mktemp("untrained"), updates=0)


@needs_sb3
@pytest.mark.parametrize("algorithm", [pytest.param("ppo", marks=pytest.mark.slow), "maskable_ppo"])
def test_tasks_of_two_clicks_are_learned(tasks, untrained, tmp_path, algorithm):
    run = train(tasks, tmp_path, algorithm=algorithm, updates=24)
    metrics = read_metrics(run)
    assert metrics[0]["success"] < 0.1
    assert sum(record["success"] for record in metrics[-3:]) / 3 > 0.5
    assert success(untrained, tasks) == 0.0
    assert success(run, tasks) > 0.6


@needs_sb3
def test_an_untrained_policy_has_no_favourite_unless_it_has_a_prior(tasks, tmp_path):
    from agents.sb3 import load_replies  # noqa: PLC0415 - not everybody has its libraries

    with closing(make(tasks, candidates=200)) as env:
        observation, _ = env.reset(seed=1)
        present = env.action_masks()
        for prior in (0.0, 4.0):
            run = train(tasks, tmp_path / str(prior), candidates=200, prior=prior, updates=0)
            policy = load_replies(run).model.policy
            tensors, _ = policy.obs_to_tensor(observation)
            chances = policy.get_distribution(tensors, action_masks=present).distribution.probs[0].detach().numpy()
            assert chances[present].sum() == pytest.approx(1.0)
            relevant = observation["candidates"][present, module.RELEVANCE]
            weights = numpy.exp(prior * relevant)
            assert chances[present] == pytest.approx(weights / weights.sum(), rel=1e-3)


@needs_sb3
def test_equal_seeds_train_equal_policies_and_resumes_need_equal_settings(tasks, tmp_path, untrained):
    keys = ("success", "steps", "loss", "entropy_loss", "env_steps")
    runs = [read_metrics(train(tasks, tmp_path / name, updates=2, seed=seed)) for name, seed in (("a", 3), ("b", 3), ("c", 4))]
    first, again, other = ([[record[key] for key in keys] for record in records] for records in runs)
    assert first == again != other
    with expect_error(ValueError, "candidates=12", 13):
        train(tasks, untrained, candidates=13)
    with expect_error(ValueError, "algorithm='maskable_ppo'", "'ppo'"):
        train(tasks, untrained, algorithm="ppo")


@needs_sb3
def test_a_run_that_was_killed_goes_on_from_its_newest_save(tasks, tmp_path, monkeypatch):
    tiny.killed_after(monkeypatch, 3, lambda: train(tasks, tmp_path, updates=4, save_every=2))
    assert [record["update"] for record in read_metrics(tmp_path)] == [1, 2, 3]
    before = read_metrics(tmp_path)
    train(tasks, tmp_path, updates=4, save_every=2)
    after = read_metrics(tmp_path)
    assert [record["update"] for record in after] == [1, 2, 3, 4]
    assert [record["env_steps"] for record in after] == [128, 256, 384, 512]
    assert after[:2] == before[:2]
    assert after[2]["loss"] != before[2]["loss"]
    assert after[3]["elapsed_s"] > after[2]["elapsed_s"] > after[1]["elapsed_s"]
    train(tasks, tmp_path, updates=4)
    assert read_metrics(tmp_path) == after
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".unfinished")]


@needs_sb3
def test_lost_episodes_do_not_count_for_success(tasks, tmp_path, monkeypatch):
    play = WebArenaLite.step
    monkeypatch.setattr(WebArenaLite, "step", lambda env, reply: (play if reply.startswith("exit") else lose)(env, reply))
    (record,) = read_metrics(train(tasks, tmp_path, updates=1))
    left = record["rollouts"] - record["failed"]
    assert record["failed"] > left > 0
    assert record["success"] == 0.0
    assert record["steps"] == 1.0  # only those who left at once are not lost


@needs_sb3
def test_runs_are_evaluated_with_their_settings_and_seeded_sampling(untrained, capsys, env):
    assert policy_defaults(str(untrained))["max_steps"] == 2
    arguments = ["--policy", str(untrained), "--limit", "3", "--num-envs", "2", "--json"]
    command.main([*arguments, "--temperature", "1"])
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (record["n"], record["failed"], record["policy"]) == (3, 0, str(untrained))
    with expect_error(ValueError, "elements='label'"):
        command.main([*arguments, "--elements", "id"])
    with expect_error(ValueError, "env 0", "workers=0"):
        command.main([*arguments, "--workers", "1"])
    from agents.sb3 import load_replies  # noqa: PLC0415 - not everybody has its libraries

    _, info = env.reset(seed=1)

    def reply(temperature, seed):
        return load_replies(untrained, temperature=temperature)(Request(0, env.unwrapped, info, seed))

    assert len({reply(1.0, seed) for seed in range(8)}) > 3
    assert reply(1.0, 5) == reply(1.0, 5)
    assert reply(0.0, 5) == reply(0.0, 6)
