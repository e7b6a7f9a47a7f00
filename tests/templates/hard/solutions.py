"""Tasks of hard templates in a standard world, which is built faster than a large one, and their reference solutions."""

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
