"""Demonstrations: the expert plays tasks of the training worlds, and its replies become samples to imitate."""

import re
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import gymnasium

import webarena_gym  # noqa: F401 - registers the env
from agents.envs import ENV_ID
from agents.policies import ExpertReplies, Request
from webarena_gym import tasks as task_suite
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task

Message = Mapping[str, str]
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NUMBERED = re.compile(r" \[\d+\]$")


class Demonstration(NamedTuple):
    """One step of the expert: the conversation so far, and its reply."""

    task_id: str
    messages: tuple[Message, ...]
    reply: str


def draw_tasks(
    worlds: Iterable[int], per_template: int, *, templates: Sequence[str] | None = None, variation: Variation = "content"
) -> list[Task]:
    """Return tasks of every template (or the named ones) drawn in each world."""
    return [
        task
        for world in worlds
        for task in task_suite.draw(templates or None, world_seed=world, count=per_template, variation=variation)
    ]


def demonstrate(tasks: Sequence[Task], *, expert_thoughts: bool = False, **env_arguments: Any) -> list[Demonstration]:
    """Return the steps of the expert on the tasks, of the episodes that earned the reward."""
    demonstrations: list[Demonstration] = []
    env = gymnasium.make(ENV_ID, tasks=tasks, disable_env_checker=True, **env_arguments)
    expert = ExpertReplies(thoughts=expert_thoughts)
    for task in tasks:
        steps: list[Demonstration] = []
        _, info = env.reset(seed=0, options={"task": task})
        reward, over = 0.0, False
        while not over:
            reply = expert(Request(0, env.unwrapped, info))
            steps.append(Demonstration(task.task_id, tuple(info["messages"]), reply))
            _, earned, terminated, truncated, info = env.step(reply)
            reward, over = float(earned), terminated or truncated
        if reward == 1.0:
            demonstrations += steps
    env.close()
    return demonstrations


def thin(demonstration: Demonstration, keep: float, rng: Random) -> Demonstration:
    """Return the demonstration with a smaller page: the lines that the reply names, and each other one with probability `keep`.

    The task, the URL and the history stay. Small pages first let a small model find out sooner what to look at.
    """
    if keep >= 1:
        return demonstration
    *before, newest = demonstration.messages
    lines = newest["content"].split("\n")
    quoted = _QUOTED.findall(demonstration.reply)
    named = [_NUMBERED.sub("", text) for text in (quoted[1:] or quoted) if text]
    head = next((number for number, line in enumerate(lines) if line.startswith("URL:")), 0)
    kept = [
        line
        for number, line in enumerate(lines)
        if number <= head or any(text in line for text in named) or rng.random() < keep
    ]
    return demonstration._replace(messages=(*before, {**newest, "content": "\n".join(kept)}))
