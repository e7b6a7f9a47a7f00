"""Tasks of hard templates in a standard world, which is built faster than a large one, and their reference solutions."""

from functools import partial
from types import ModuleType

from tests.oracles.framework import MOST_STEPS, disagreements
from tests.oracles.truths import ORACLES
from webarena_gym import suite
from webarena_gym.env import WebArenaLite
from webarena_gym.tools.audit import replay

WORLD = 1000


def draw(name, count=1, world=WORLD):
    """Return tasks of a template by its name without "hard."."""
    return suite.draw([f"hard.{name}"], world_seed=world, count=count, scale="standard")


def expect_solved(name):
    """Check that the reference solution of a task earns the reward, and that an empty answer at once does not."""
    tasks = draw(name)
    with WebArenaLite(tasks=tasks, max_steps=200, elements="label") as env:
        env.reset()
        assert env.step('exit(message="")')[1] == 0.0
        assert replay(env, tasks[0]) == ""


def opened(name):
    """Return an env in an episode of a task, and the task. The caller closes the env."""
    (task,) = draw(name)
    env = WebArenaLite(tasks=[task])
    env.reset()
    return env, task


def names_of(module: ModuleType) -> list[str]:
    """Return the templates, by name without "hard.", that a module draws in standard worlds, whose texts are not composed of facts."""

    def function(draw):
        return function(draw.func) if isinstance(draw, partial) else draw

    templates = {name: template for name, template in suite.templates().items() if name.startswith("hard.")}
    drawn = {name.removeprefix("hard."): function(template.draw) for name, template in templates.items()}
    return [name for name, draw in drawn.items() if draw.__module__ == module.__name__ and name not in OF_FACTS]


OF_FACTS = {
    "take_confirmed_bugs", "no_sticker_trouble", "still_have_it", "what_they_took_instead", "faults_with", "content_but_for", "not_kept",
    "for_somebody_else", "came_back", "nobody_returned", "watch_best_museum", "moderate_forum",
}  # fmt: skip
"""Templates that need the facts of texts, which standard worlds do not have, or that find nothing to draw in the world."""


def expect_agreement(name):
    """Check that a task agrees with its oracle, which was written from the goal and the databases alone."""
    (task,) = draw(name)
    with WebArenaLite(tasks=[task], max_steps=MOST_STEPS) as env:
        assert disagreements(env, task, ORACLES[task.template]) == []
