"""The expert's episodes: the pages that the reference solution of a task sees, and what it does on them."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import gymnasium
from tqdm import tqdm

import webarena_gym  # noqa: F401 - registers the env
from agents.settings import ENV_ID
from webarena_gym.actions import Action
from webarena_gym.tasks import Expert, Task


class Shown(NamedTuple):
    """A step of the expert's: the page, the action, whether the page tells of an error, and whether the step is to be imitated.

    A step that undoes a wrong one is none of the solution's.
    """

    page: str
    action: Action
    has_error: bool = False
    is_example: bool = True
    is_undoing: bool = False

    @property
    def is_of_solution(self) -> bool:
        """Whether the step is one of the reference solution's."""
        return self.is_example and not self.is_undoing


def play_expert(env: Any, task: Task) -> tuple[str, list[Shown]]:
    """Return the goal and the steps of the expert's episode on a task in an env."""
    _, info = env.reset(seed=0, options={"task": task})
    goal, expert, steps, is_over = info["goal"], Expert(task, env.dialect), list[Shown](), False
    while not is_over:
        action = expert.choose(env.page, env.observation).action
        steps.append(Shown(info["page"], action, bool(info["action_error"])))
        _, _, terminated, truncated, info = env.step(env.dialect.format(action))
        is_over = terminated or truncated
    return goal, steps


def in_env(tasks: Sequence[Task], *, quiet: bool = False, **env_arguments: Any) -> Iterator[tuple[Any, Task]]:
    """Yield an env of these tasks with each of them, and close it in the end."""
    env: Any = gymnasium.make(ENV_ID, tasks=tasks, disable_env_checker=True, **env_arguments).unwrapped
    with closing(env):
        for task in tqdm(tasks, desc="demonstrating", unit="task", disable=quiet or None):
            yield env, task
