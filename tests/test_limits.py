"""Limits on the steps of an episode: the env's own, and the budget of a task."""

import sys
from dataclasses import replace

import pytest

from webarena_gym.limits import step_budget, step_limit
from webarena_gym.options import HARD_STEPS, MAX_STEPS, EnvOptions
from webarena_gym.tasks import Task

TASK = Task("shopping.cart_add/1000/0", ("shopping",), "", "Buy it", {}, solution=("step",) * 4)


@pytest.mark.parametrize(
    ("max_steps", "difficulty", "limit"), [(None, (), MAX_STEPS), (None, ("hard",), HARD_STEPS), (7, (), 7), (7, ("hard",), 7)]
)
def test_the_hard_tier_has_its_own_limit_unless_one_is_set(max_steps, difficulty, limit):
    assert step_limit(EnvOptions(max_steps=max_steps), replace(TASK, difficulty=difficulty)) == limit


@pytest.mark.parametrize(("multiple", "budget"), [(None, None), (1, 4), (1.1, 5), (2.5, 10), (1e300, sys.maxsize)])
def test_the_budget_is_a_multiple_of_the_solution(multiple, budget):
    assert step_budget(EnvOptions(step_budget=multiple), TASK) == budget
    assert step_budget(EnvOptions(step_budget=multiple), replace(TASK, solution=())) is None
