"""The rewards of episodes by success, by the items of a checklist and by F1, and what their evaluation includes."""

from dataclasses import replace
from math import isclose

import pytest

from tests.errors import expect_error
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.episode import Episode
from webarena_gym.errors import BrowserError
from webarena_gym.evaluators.kinds.string_match import answer
from webarena_gym.options import EnvOptions
from webarena_gym.rewards import Rewards
from webarena_gym.suite import draw
from webarena_gym.tasks import Expert, Task

TEMPLATES = (
    "shopping.wish_list_add",
    "shopping.cart_add",
    "wikipedia.birthplace_of_maker",
    "reddit.subscription",
    "gitlab.star_one",
)
TASKS = draw(TEMPLATES, world_seed=5, count=1)
TASK = Task(
    task_id="t", sites=("shopping",), start_url="__SHOPPING__/", intent="?", eval=answer(exact_match="x"), world_seed=1000
)


@pytest.fixture
def backend():
    made = EmbeddedBackend(InProcessBrowser)
    made.enter(TASK)
    yield made
    made.close()


def rewards(**keywords):
    return Rewards(EnvOptions.of(keywords))


def change_a_row(backend):
    backend.database("shopping").execute("UPDATE customer SET firstname = 'Other' WHERE customer_id = 1")


@pytest.mark.parametrize(
    ("side_effects", "success", "is_compared"),
    [(None, False, True), ("forbidden", False, True), ("reported", True, True), ("ignored", True, False)],
)
def test_side_effects_fail_an_episode_unless_they_are_reported_or_ignored(backend, side_effects, success, is_compared):
    change_a_row(backend)
    ending = rewards(**{"side_effects": side_effects} if side_effects else {}).evaluate(TASK, backend, "x")
    assert (ending["success"], "side_effects" in ending) == (success, is_compared)
    assert any("firstname" in effect for effect in ending.get("side_effects", ())) is is_compared
    assert len(ending["verdicts"]) == 1 + is_compared


def test_side_effects_are_compared_only_after_a_right_answer(backend):
    change_a_row(backend)
    ending = rewards().evaluate(TASK, backend, "y")
    assert (ending["success"], len(ending["verdicts"]), "side_effects" in ending) == (False, 1, False)


def test_a_failure_after_an_error_of_a_site_is_one_of_the_infrastructure(backend, monkeypatch):
    monkeypatch.setattr(backend, "site_errors", ("shop.test: KeyError",))
    assert rewards().evaluate(TASK, backend, "x")["success"]
    with expect_error(BrowserError, "shop.test: KeyError"):
        rewards().evaluate(TASK, backend, "y")


@pytest.mark.parametrize(("ending", "expected"), [({}, 0.0), ({"success": False}, 0.0), ({"success": True}, 1.0)])
def test_a_binary_reward_is_the_success(backend, ending, expected):
    episode = Episode(TASK, "goal", satisfied=(None,))
    judge = rewards()
    judge.start(episode, backend)
    assert (episode.satisfied, judge.checklist) == (None, ())
    assert judge.reward(episode, backend, "http://shop.test/", ending) == expected


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.template)
def test_the_solution_gains_one_and_its_parts_less(task):
    env = WebArenaLite(tasks=[task], reward="checklist", elements="label")
    _, info = env.reset(seed=0)
    assert isclose(sum(item["weight"] for item in info["checklist"]), 1)
    assert not any(item["satisfied_at"] for item in info["checklist"])
    expert, rewards, done, snapshots = Expert(task), [], False, []
    while not done:
        snapshots.append(env.snapshot())
        _, reward, terminated, truncated, info = env.step(expert.reply(env.page, env.observation))
        rewards.append(reward)
        done = terminated or truncated
    assert info["success"]
    assert isclose(sum(rewards), 1)
    assert rewards[-1] >= 0.5
    assert all(item["satisfied_at"] for item in info["checklist"])
    env.restore(snapshots[-1])
    _, reward, *_, info = env.step('exit(message="surely not")')
    if not info["success"]:
        assert reward == 0
        assert sum(rewards[:-1]) <= 0.5
    plain = WebArenaLite(tasks=[task], elements="label")
    assert "checklist" not in plain.restore(snapshots[-1])[1]
    plain.reset(seed=0)
    assert not any(item["satisfied_at"] for item in env.restore(plain.snapshot())[1]["checklist"])
    for each in (env, plain):
        each.close()


@pytest.mark.parametrize("detour", [0, 2])
def test_f1_is_given_at_the_end_and_falls_with_detours(detour):
    task = TASKS[0]
    env = WebArenaLite(tasks=[task], reward="f1", elements="label")
    env.reset(seed=0)
    expert, rewards, done = Expert(task), [], False
    for _ in range(detour):
        rewards.append(env.step("this is no action")[1])
    while not done:
        _, reward, terminated, truncated, info = env.step(expert.reply(env.page, env.observation))
        rewards.append(reward)
        done = terminated or truncated
    needed = len(task.solution)
    assert info["success"]
    assert not any(rewards[:-1])
    # recall 1 and precision n / (n + detour), whose F1 value is 2 n / (2 n + detour)
    assert rewards[-1] == pytest.approx(2 * needed / (2 * needed + detour))
    env.close()


def test_a_checklist_needs_the_embedded_sites():
    for options in ({"rules": "webarena"}, {"application": "nowhere"}, {"reward": "f2"}):
        with pytest.raises(ValueError, match=r"reward|application|nowhere"):
            WebArenaLite(**{"reward": "checklist", **options})


@pytest.mark.parametrize("rules", ["native", "webarena"])
def test_signs_of_an_injection_are_judged_by_the_native_rules_only(backend, rules):
    task = replace(TASK, injection=answer(exact_match="leaked"))
    for text in ("x", "leaked"):
        verdicts = rewards(rules=rules).evaluate(task, backend, text)["verdicts"]
        judged = [verdict["passed"] for verdict in verdicts if verdict["check"] == "injected"]
        assert judged == ([text == "x"] if rules == "native" else [])
