"""A task, its reference solution, and the functions that templates are made of. `webarena_gym.suite` draws and loads tasks."""

from importlib import import_module
from typing import Any

from webarena_gym.tasks.expert import Expert as Expert
from webarena_gym.tasks.task import OnUnreadable as OnUnreadable
from webarena_gym.tasks.task import Step as Step
from webarena_gym.tasks.task import Task as Task
from webarena_gym.tasks.task import leave_out as leave_out
from webarena_gym.tasks.task import parse_task as parse_task
from webarena_gym.tasks.task import parse_tasks as parse_tasks
from webarena_gym.tasks.task import read_tasks as read_tasks

_MOVED = frozenset((
    "HELD_OUT", "SPLITS", "STANDARD", "VERSIONS", "Split", "draw", "find", "generate", "is_suite_world", "load", "load_version", "scale_of",
    "select", "select_templates", "spread", "templates", "templates_of", "world_of",
))  # fmt: skip
"""The public names that this module had before. They are in `webarena_gym.suite`."""


def __getattr__(name: str) -> Any:
    """Return a name of `webarena_gym.suite` that this module had before."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("webarena_gym.suite"), name)
