"""Episodes of the expert with mistakes that are undone."""

from random import Random

import pytest

from agents.data.expert import MOST_STEPS, envs_with_tasks, force_mistake, play_expert, play_with_mistakes
from tests.test_demonstrations import drawn
from webarena_gym.actions import Kind
from webarena_gym.tasks import Expert

ENV = {"elements": "id", "window": 20_000, "max_steps": 30 * MOST_STEPS}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_an_episode_with_mistakes_can_be_played_and_earns_the_reward(seed):
    undone = others = 0
    for env, task in envs_with_tasks(drawn(12 + seed), quiet=True, **ENV):
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
    for env, task in envs_with_tasks(drawn(12), quiet=True, **ENV):
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


def test_mistakes_that_cannot_be_undone_are_omitted_from_episodes(monkeypatch):
    monkeypatch.setattr("agents.data.expert._can_finish", lambda *_: False)
    for env, task in envs_with_tasks(drawn(12), quiet=True, **ENV):
        assert play_with_mistakes(env, task, 0.9, Random(0)) == play_expert(env, task)
        assert force_mistake(env, task, Random(0)) is None


def test_a_forced_mistake_is_the_last_step_and_changes_the_page():
    for env, task in envs_with_tasks(drawn(13), quiet=True, **ENV):
        _, steps = force_mistake(env, task, Random(task.task_id))
        *before, wrong = steps
        assert all(step.is_of_solution for step in before)
        assert not wrong.is_example
        _, info = env.reset(seed=0, options={"task": task})
        for step in steps:
            assert info["page"] == step.page
            info = env.step(env.dialect.format(step.action))[-1]
        assert info["page"] != wrong.page
