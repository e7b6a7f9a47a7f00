"""Tasks of hard templates agree with the oracles, which other people wrote from the goals; `python -m tests.oracles` draws more."""

import pytest

from tests.oracles.framework import MOST_STEPS, disagreements, read_goal, wordings
from tests.oracles.truths import ORACLES
from webarena_gym import tasks as suite
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import draw

WORLD = 1002


@pytest.mark.parametrize("name", ORACLES)
def test_a_drawn_task_agrees_with_its_oracle(name):
    (task,) = draw([name], world_seed=WORLD, count=1)
    with WebArenaLite(tasks=[task], max_steps=MOST_STEPS) as env:
        assert disagreements(env, task, ORACLES[name]) == []


@pytest.mark.parametrize("name", ORACLES)
def test_each_goal_of_the_hard_split_has_one_reading(name):
    for task in suite.load("hard"):
        if task.template == name:
            assert read_goal(name, task.intent)


def test_the_oracles_have_read_each_wording():
    for name in ORACLES:
        assert wordings()[name] == list(dict.fromkeys(suite.templates()[name].phrasings)), name
