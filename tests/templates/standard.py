"""Tasks of the standard templates: drawn as they are published, and solved by their reference solutions."""

import re
from functools import cache
from inspect import getmembers, isfunction
from types import ModuleType

from tests.oracles.framework import MOST_STEPS, disagreements
from tests.oracles.truths import ORACLES
from webarena_gym import suite
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Task
from webarena_gym.templates import reader
from webarena_gym.tools.audit import replay

UNPUBLISHED = "reddit.mention_of_nothing"  # is in no split


def names_of(module: ModuleType) -> list[str]:
    """Return the published templates of a module: those of a site, or those that use functions of a module of the site."""
    _, _, site, *part = module.__name__.split(".")
    names = [name for name in suite.templates() if name.startswith(f"{site}.") and name != UNPUBLISHED]
    if not part:
        return names
    functions = [name for name, function in getmembers(module, isfunction) if function.__module__ == module.__name__]
    uses = re.compile(rf"\b({'|'.join(functions)})\b")
    return [name for name in names if uses.search(_sources(site)[name.partition(".")[2]])]


@cache
def _sources(site: str) -> dict[str, str]:
    """Return the TOML of each template of a site by its name."""
    text = (reader._FOLDER / site / "templates.toml").read_text(encoding="utf-8")
    _, *parts = re.split(r"^\[(\w+)\]\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def _published() -> dict[str, Task]:
    """Return one published task of each template, from the few worlds that contain most templates."""
    tasks = [task for split in suite.STANDARD for task in suite.load(split)] + [*suite.load("pool")]
    tasks.sort(key=lambda task: (1, 1000, 1001, 1002).index(task.world_seed) if task.world_seed in (1, 1000, 1001, 1002) else 4)
    return {task.template: task for task in reversed(tasks)}


def expect_published(name: str) -> None:
    """Check that the template draws the published task again, with the same goal, check and reference solution."""
    task = _published()[name]
    assert suite.find(task.task_id).to_json() == task.to_json()


def expect_solved(name: str) -> None:
    """Check that the reference solution of a published task earns the reward, and that an empty answer at once does not.

    A task with an oracle must agree with it.
    """
    task = _published()[name]
    with WebArenaLite(tasks=[task], max_steps=MOST_STEPS, elements="label") as env:
        env.reset()
        assert env.step('exit(message="")')[1] == 0.0
        assert replay(env, task) == ""
        if name in ORACLES:
            assert disagreements(env, task, ORACLES[name]) == []
