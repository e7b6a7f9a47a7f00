"""Limits on the number of steps of an episode: the env's own, the budget of a task, and that of Gymnasium's TimeLimit."""

import sys
from math import ceil, inf

import gymnasium
from gymnasium.wrappers import TimeLimit

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


def outer_limit(env: gymnasium.Env[object, str]) -> float:
    """Return the smallest limit of the TimeLimit wrappers through which the caller, `env.reset`, was called; infinity without one.

    `gymnasium.make(id, max_episode_steps=n)` wraps the env in a TimeLimit. The wrapper truncates an episode after the env's step has
    returned, and does not notify the env, which could not evaluate the episode. So the wrappers are looked up in the callers of `reset`.
    """
    limit = inf
    frame = sys._getframe(1).f_back  # noqa: SLF001 - the documented access to callers
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "reset" else None
        if isinstance(caller, TimeLimit) and caller.unwrapped is env:
            limit = min(limit, caller._max_episode_steps)  # noqa: SLF001 - has no public name
        frame = frame.f_back
    return limit
