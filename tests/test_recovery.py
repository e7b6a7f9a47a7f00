"""Demonstrations of recovery: wrong steps that are taken, undone and not learned, and what they teach."""

import json
from random import Random

import pytest

from agents.data.demonstrations import episodes
from agents.data.expert import MOST_STEPS, force_mistake, in_env, play_expert, play_with_mistakes
from agents.training.settings import PointerBCSettings
from benchmarks import recovery as benchmark
from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.actions.replies import answer_part
from webarena_gym.tasks import Expert

TEMPLATES = ("reddit.subscription", "gitlab.star_count", "shopping.order_place", "shopping.address_add", "gitlab.status_set")
BACK = DIALECTS["webrl"].format(Action(Kind.GO_BACKWARD))
ENV = {"elements": "id", "window": 20_000, "max_steps": 30 * MOST_STEPS}


def drawn(world, count=1):
    return task_suite.draw(list(TEMPLATES), world_seed=world, count=count)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_an_episode_with_mistakes_can_be_played_and_earns_the_reward(seed):
    undone = others = 0
    for env, task in in_env(drawn(12 + seed), quiet=True, **ENV):
        goal, steps = play_with_mistakes(env, task, 0.6, Random(f"{seed}/{task.task_id}"))
        assert play_with_mistakes(env, task, 0.6, Random(f"{seed}/{task.task_id}")) == (goal, steps)
        _, info = env.reset(seed=0, options={"task": task})
        reward = 0.0
        for number, step in enumerate(steps):
            assert (info["page"], bool(info["action_error"])) == (step.page, step.has_error)
            assert step.is_of_solution or number < len(steps) - 1
            _, reward, _, _, info = env.step(env.dialect.format(step.action))
        assert reward == 1.0
        own = [step.action.kind for step in steps if step.is_of_solution]
        assert own == [step.action.kind for step in play_expert(env, task)[1]]
        undone += sum(step.is_undoing for step in steps)
        others += sum(step.is_undoing and step.action.kind is not Kind.GO_BACKWARD for step in steps)
        assert sum(not step.is_example for step in steps) >= sum(step.is_undoing for step in steps)
    assert undone > 5
    assert undone >= others


def test_without_mistakes_the_episode_is_the_expert_s():
    for env, task in in_env(drawn(12), quiet=True, **ENV):
        _, info = env.reset(seed=0, options={"task": task})
        expert, seen, over, reward = Expert(task, env.dialect), [], False, 0.0
        while not over:
            action = expert.choose(env.page, env.observation).action
            seen.append((info["page"], action))
            _, reward, over, _, info = env.step(env.dialect.format(action))
        assert reward == 1
        goal, steps = play_expert(env, task)
        assert (goal, [(step.page, step.action) for step in steps]) == (task.intent, seen)
        assert all(step.is_of_solution for step in steps)


def test_what_the_fork_cannot_mend_does_not_become_part_of_the_episode(monkeypatch):
    monkeypatch.setattr("agents.data.expert._can_finish", lambda *_: False)
    for env, task in in_env(drawn(12), quiet=True, **ENV):
        assert play_with_mistakes(env, task, 0.9, Random(0)) == play_expert(env, task)
        assert force_mistake(env, task, Random(0)) is None


def test_a_forced_mistake_is_the_last_step_and_changes_the_page():
    for env, task in in_env(drawn(13), quiet=True, **ENV):
        _, steps = force_mistake(env, task, Random(task.task_id))
        *before, wrong = steps
        assert all(step.is_of_solution for step in before)
        assert not wrong.is_example
        _, info = env.reset(seed=0, options={"task": task})
        for step in steps:
            assert info["page"] == step.page
            info = env.step(env.dialect.format(step.action))[-1]
        assert info["page"] != wrong.page


@pytest.mark.parametrize("style", ["none", "short", "long"])
def test_a_language_model_sees_wrong_steps_and_learns_those_that_undo_them(style):
    tasks, options = drawn(12), {"elements": "label", "history": "compressed", "max_steps": 30, "expert_thoughts": style}
    backs = reflections = 0
    for plain, both in zip(episodes(tasks, seed=1, **options), episodes(tasks, mistakes=0.6, seed=1, **options), strict=True):
        assert both[: len(plain)] == plain
        steps = both[len(plain) :]
        longest = steps[-1].messages
        seen = [message["content"] for message in longest if message["role"] == "assistant"]
        learned = [step.reply for step in steps]
        assert len(seen) + 1 >= len(learned) >= len(plain)
        assert learned[-1].endswith(plain[-1].reply.rpartition("\n")[2])
        backs += sum(answer_part(reply) == BACK for reply in learned)
        reflections += sum("So I undo it" in reply for reply in learned)
    assert backs
    assert (reflections >= backs) == (style != "none")


def test_both_ways_of_going_wrong_are_not_taken_together(tmp_path):
    with pytest.raises(ValueError, match=r"detours=0\.2 and mistakes=0\.2"):
        PointerBCSettings(out=tmp_path, detours=0.2, mistakes=0.2)
    with pytest.raises(ValueError, match=r"mistakes=1\.0; expected"):
        PointerBCSettings(out=tmp_path, mistakes=1.0)


@pytest.mark.slow
def test_the_benchmark_shows_that_recovery_is_learned(tmp_path, capsys):
    sizes = "--templates reddit.subscription gitlab.star_count --cloning-updates 300 --limits 5 --seeds 0 --demonstrations 3".split()  # noqa: SIM905
    own = task_suite.draw(["reddit.subscription", "gitlab.star_count"], world_seed=33, count=6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark, "suite_tasks", lambda *_: own)
        benchmark.main([*sizes, "--out", str(tmp_path), "--mistakes", "0.4", "--json"])
        result = json.loads(capsys.readouterr().out.splitlines()[-1])
        benchmark.main([*sizes, "--out", str(tmp_path), "--mistakes", "0.4", "--json"])  # from what was kept
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["forced"] == result["forced"]
    plain, recovering = (row["success"] for row in result["forced"])
    assert recovering > plain
    assert [list(scores) for scores in result["by_limit"].values()] == [["5", "30"]] * 2
    assert {row["tasks"] for row in result["led"]} == {row["tasks"] for row in result["forced"]}
