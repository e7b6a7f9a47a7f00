"""Limits on the number of steps of an episode: that of the env, and the budget of a task."""

import sys
from math import ceil

from webarena_gym.options import HARD_STEPS, MAX_STEPS, EnvOptions
from webarena_gym.tasks import Task


def step_limit(options: EnvOptions, task: Task) -> int:
    """Return the env's step limit for a task."""
    return options.max_steps or (HARD_STEPS if task.difficulty else MAX_STEPS)


def step_budget(options: EnvOptions, task: Task) -> int | None:
    """Return the steps that the agent may take, as a multiple of the reference solution's; None without `step_budget` or a solution."""
    if not (options.step_budget and task.solution):
        return None
    return ceil(min(options.step_budget * len(task.solution), sys.maxsize))
