"""WebRL: the loss, replayed steps, and new tasks of failed templates."""

import math
from random import Random

import pytest
import torch

from agents.methods import webrl
from agents.methods.webrl import is_worth_replaying, next_and_final_advantages, similar_tasks
from agents.rollouts.curriculum import Group
from tests import tiny
from tests.methods.episodes import method_of, tokens, trajectory


@pytest.fixture
def method(monkeypatch):
    monkeypatch.setattr(webrl, "JUDGED_AFTER", 4)
    return method_of("webrl", tiny.tasks(30))


def test_the_webrl_loss_is_minimal_at_advantage_over_beta(monkeypatch):
    monkeypatch.setattr(webrl, "BETA", 2.0)
    # The first response has moved by 0.1 + 0.3, the second by -0.5.
    logprobs = torch.tensor([-0.9, -1.7, -2.0], requires_grad=True)
    loss, metrics = webrl.WebRL.loss(None, tokens(logprobs, [-1.0, -2.0, -1.5], [0.6, 0.6, -1.0], [0.25, 0.25, 0.5], (2, 1)))
    assert loss.item() == pytest.approx(0.5 * (2 * 0.4 - 0.6) ** 2 + 0.5 * (2 * -0.5 + 1.0) ** 2)
    assert metrics["kl"] == pytest.approx(sum(math.exp(-d) + d - 1 for d in (0.1, 0.3, -0.5)))
    loss.backward()
    assert logprobs.grad.tolist() == pytest.approx([0.5 * 2 * 2 * 0.2] * 2 + [0.0], abs=1e-6)


def test_steps_known_by_heart_and_strange_ones_are_not_replayed():
    for probability, expected in {0.96: False, 0.94: True, 0.7: True, 0.51: True, 0.49: False}.items():
        assert is_worth_replaying([math.log(probability)] * 3) == expected


def task(number, template, *sites):
    return tiny.TinyTask(f"{template}/{number}", "", "", template=template, sites=sites or ("shopping",))


def test_new_tasks_are_of_the_templates_that_failed_or_else_of_their_sites():
    tasks = [task(1, "a"), task(2, "a"), task(3, "a"), task(1, "b", "map"), task(1, "c", "map"), task(1, "d", "reddit")]
    for failed, target in ((tasks[:1], {"a/2", "a/3"}), (tasks[:2], {"a/3"}), (tasks[3:4], {"c/1"}), (tasks[5:], set())):
        assert {item.task_id for item in similar_tasks(failed, tasks, 9, Random(0))} == target
    assert len(similar_tasks(tasks[:1], tasks, 1, Random(0))) == 1


def rollouts(numbers, reward, method):
    drawn = {number: method.draw(number) for number in numbers}
    return [
        Group(number, task, [trajectory([-1.0], reward=reward, task_id=task.task_id, group=number)])
        for number, task in drawn.items()
    ]


def test_hopeless_tasks_and_easy_ones_are_not_played(method):
    method.judged = 4
    values = iter([0.04, 0.05, 0.5, 0.75, 0.76] * 9)
    method.critic.values = lambda states: [next(values) for _ in states]
    method.choose_tasks([trajectory([-1.0], reward=0.0, task_id=tiny.tasks(30)[0].task_id)], Random(0))
    assert len(method.new_tasks) == pytest.approx(29 * 3 / 5, abs=1)


def test_new_tasks_begin_when_the_reward_model_has_seen_enough_and_it_judges_them(method):
    assert method.batch(rollouts(range(3), 0.0, method), Random(0))[1]["new_tasks"] == 0
    assert method.batch(rollouts(range(3, 8), 0.0, method), Random(1))[1]["new_tasks"] > 10
    outcomes = [item.episode.reward for item in method.batch(rollouts(range(8, 40), 1.0, method), Random(1))[0]]
    # It has only seen failures, so it believes in no success; the rules tell the outcome of the first tasks.
    assert 8 < outcomes.count(0.0) < 24
    assert outcomes.count(1.0) == 32 - outcomes.count(0.0)


def test_an_advantage_is_the_gain_to_the_next_value_and_to_the_outcome():
    assert next_and_final_advantages([0.5, 0.7], 0.0, mix=1.0) == pytest.approx([0.2, -0.7])
    assert next_and_final_advantages([], 0.0, mix=1.0) == []
