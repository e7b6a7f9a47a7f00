"""`play`: the loop over `env.step`, for evaluations, audits and people."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium


class PlayedStep(NamedTuple):
    """A reply, the info that it was given for, and what the env returned."""

    before: Mapping[str, Any]
    reply: str
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def play(
    env: gymnasium.Env[str, str],
    agent: Callable[[str, Mapping[str, Any]], str | None],
    observation: str,
    info: dict[str, Any],
) -> Iterator[PlayedStep]:
    """Yield the steps of an episode from what `env.reset` returned, until it is over or the agent returns None for a reply."""
    while (reply := agent(observation, info)) is not None:
        seen, reward, terminated, truncated, after = env.step(reply)
        step = PlayedStep(info, reply, seen, float(reward), terminated, truncated, after)
        yield step
        if step.terminated or step.truncated:
            return
        observation, info = step.observation, step.info
