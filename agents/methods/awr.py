"""Advantage-weighted regression: imitate all steps, the more the better they turned out than was expected.

After Peng et al., arXiv 1910.00177: a replay buffer, a value function V fitted to the returns, and a log-likelihood weighted with
exp((R - V) / temperature), at most `cap`. It differs from the paper in this: returns are not discounted and not
bootstrapped, since the one reward of an episode comes at its end; and both regressions take as many episodes from the buffer as
were just played, so that an update costs what it costs other methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import Any, ClassVar

from agents.methods.method import (
    Resources,
    batch_of_steps,
    played,
    split_by_trajectory,
    step_rewards,
)
from agents.methods.replay import Replay, ReplaySettings
from agents.models.critics import CriticSettings
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.groups import RolloutBatch
from agents.training.batch import TrainingBatch
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class AWRSettings(ReplaySettings, CriticSettings):
    """AWR: how strongly advantages weigh, what is replayed, and how the value function is trained."""

    name: ClassVar[str] = "awr"
    title: ClassVar[str] = "AWR"

    awr_temperature: float = 0.3
    """awr: the lower, the more the best steps count above the others"""
    awr_cap: float = 20.0
    """awr: the largest weight of a step"""

    def create(self, resources: Resources) -> "AWR":
        """Return the method as it begins."""
        return AWR(self, resources)


class AWR:
    """Imitates all steps, weighted with the exponential of their advantage."""

    def __init__(self, settings: AWRSettings, resources: Resources) -> None:
        self._settings = settings
        self._curriculum = Curriculum(resources.tasks, seek_mixed=False, seed=resources.seed)
        self._critics = resources.critics
        self._critic = resources.critics.create(settings)
        self._replay = Replay(settings.replay)

    def draw_task(self, number: int) -> Task:
        """Return any task."""
        return self._curriculum.draw(number)

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Fit the value function, and return the weighted steps of drawn episodes."""
        new = played(rollouts)
        self._replay.add(new)
        drawn = self._replay.draw(len(new), rng)
        states, returns = self._critics.steps(drawn), step_rewards(drawn)
        loss = self._critic.fit(states, returns, rng)
        weights = exponential_weights(
            returns, self._critic.values(states), temperature=self._settings.awr_temperature, cap=self._settings.awr_cap
        )
        metrics = {"critic_loss": loss, "mean_weight": sum(weights) / max(len(weights), 1)}
        return batch_of_steps(drawn, split_by_trajectory(weights, drawn)), metrics

    def state_dict(self) -> dict[str, Any]:
        """Return the buffer and the critic."""
        return {"replay": self._replay.state_dict(), "critic": self._critic.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        self._replay.load_state_dict(state_dict["replay"])
        self._critic.load_state_dict(state_dict["critic"])


def exponential_weights(
    returns_S: Sequence[float], values_S: Sequence[float], *, temperature: float, cap: float
) -> list[float]:
    """Return min(exp((R - V) / temperature), cap) of each step (Peng et al., arXiv 1910.00177, algorithm 1; the cap is theirs, too).

    >>> exponential_weights([1.0, 0.5, 1.0], [0.5, 0.5, 0.0], temperature=0.5, cap=3.0)
    [2.718281828459045, 1.0, 3.0]
    """
    exponents = [(value_of - value) / temperature for value_of, value in zip(returns_S, values_S, strict=True)]
    # Cut before the exponential, which would overflow, and after it, which is not exact.
    return [min(cap, exp(min(exponent, log(cap)))) for exponent in exponents]
