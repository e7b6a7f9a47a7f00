"""DigiRL: imitate the steps that two value functions call better than expected, in the episodes that taught the most.

After Bai et al., arXiv 2406.11896, section 4, with what the paper leaves open from its released code:

- An instruction-level value function V(c), of the task alone, is the automatic curriculum: of all episodes that are kept, only
  those of the highest r - V(c) are learned from, so tasks that always succeed or always fail drop out by themselves.
- A step-level value function V(s, c) gives each step a doubly robust advantage (`doubly_robust_advantages`).
- Hard filtering in place of exponential weights: steps whose advantage is above 1/H are imitated alike, H being the step limit.

It differs in this: the value functions are copies of the policy with a head (the paper's step-level one reads image features, its
instruction-level one is a RoBERTa); one critic in place of the minimum of two; and no offline phase on stored episodes,
since a cloned model takes its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import numpy

from agents.methods.method import (
    Resources,
    batch_of_steps,
    played,
    split_by_trajectory,
    step_rewards,
)
from agents.methods.replay import Replay, ReplaySettings
from agents.models.critics import Critic, CriticSettings, accuracy
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.groups import RolloutBatch
from agents.training.batch import TrainingBatch
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class DigiRLSettings(ReplaySettings, CriticSettings):
    """DigiRL: what is filtered out, what is replayed, and how the value functions are trained."""

    name: ClassVar[str] = "digirl"
    title: ClassVar[str] = "DigiRL"

    digirl_lambda: float = 0.5
    """digirl: how fast the outcome gives way to the value function, step by step before the end"""
    digirl_top: float = 0.1
    """digirl: share of the kept episodes that are learned from"""

    def create(self, resources: Resources) -> "DigiRL":
        """Return the method as it begins."""
        return DigiRL(self, resources)


class DigiRL:
    """Imitates what is left after two filters."""

    def __init__(self, settings: DigiRLSettings, resources: Resources) -> None:
        self._settings = settings
        self._curriculum = Curriculum(resources.tasks, seek_mixed=False, seed=resources.seed)
        self._critics = resources.critics
        self._goal_critic = resources.critics.create(settings)
        self._step_critic = resources.critics.create(settings)
        self._threshold = 1 / resources.env.max_steps
        self._replay = Replay(settings.replay)

    def draw_task(self, number: int) -> Task:
        """Return any task: the curriculum is in what is learned from."""
        return self._curriculum.draw(number)

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Fit both value functions, and return the steps that pass both filters."""
        new = played(rollouts)
        self._replay.add(new)
        drawn = self._replay.draw(len(new), rng)
        rewards = [item.reward for item in drawn]
        goal_loss = self._goal_critic.fit(self._critics.goals([item.goal for item in drawn]), rewards, rng)
        step_loss = self._step_critic.fit(self._critics.steps(drawn), step_rewards(drawn), rng)

        kept = self._replay.trajectories
        goals = self._goal_critic.values(self._critics.goals([item.goal for item in kept]))
        surprises = [item.reward - value for item, value in zip(kept, goals, strict=True)]
        chosen = [kept[index] for index in highest(surprises, self._settings.digirl_top)]
        values = split_by_trajectory(self._step_critic.values(self._critics.steps(chosen)), chosen)
        advantages = [
            doubly_robust_advantages(own, item.reward, decay=self._settings.digirl_lambda)
            for item, own in zip(chosen, values, strict=True)
        ]
        batch = batch_of_steps(chosen, [[1.0 if value > self._threshold else None for value in own] for own in advantages])
        metrics = {
            "goal_critic_loss": goal_loss,
            "step_critic_loss": step_loss,
            "goal_critic_accuracy": accuracy(goals, [item.reward for item in kept]),
            "chosen_episodes": len(chosen),
            "chosen_success": sum(item.reward for item in chosen) / max(len(chosen), 1),
        }
        return batch, metrics

    def state_dict(self) -> dict[str, Any]:
        """Return the buffer and both critics."""
        return {name: part.state_dict() for name, part in self._parts().items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        for name, part in self._parts().items():
            part.load_state_dict(state_dict[name])

    def _parts(self) -> dict[str, Replay | Critic]:
        return {"replay": self._replay, "goal_critic": self._goal_critic, "step_critic": self._step_critic}


def doubly_robust_advantages(values_H: Sequence[float], reward: float, *, decay: float) -> list[float]:
    """Return the advantage of each of the H steps of an episode from the values of the states they were taken in.

    A_h = w r + (1 - w) (V(s_h+1) + r_h - V(s_h)) with w = decay^(H - h) and r_h = 0 before the last step (DigiRL, arXiv 2406.11896,
    section 4, the step-level advantage): the outcome itself near the end, where it says much of a step, and the one-step estimate long before it.

    >>> doubly_robust_advantages([0.25, 0.75, 0.5], reward=1.0, decay=0.5)
    [0.625, 0.375, 1.0]
    """
    last = len(values_H) - 1
    weights = [decay ** (last - step) for step in range(last)]
    before = [weight * reward + (1 - weight) * (values_H[step + 1] - values_H[step]) for step, weight in enumerate(weights)]
    return [*before, reward] if values_H else []


def highest(scores: Sequence[float], share: float) -> list[int]:
    """Return the indices of the scores at or above the quantile 1 - `share`, in order.

    >>> highest([0.1, 0.9, 0.5, 0.9], share=0.25)
    [1, 3]
    """
    if not scores:
        return []
    cutoff = numpy.quantile(scores, 1 - share)
    return [index for index, score in enumerate(scores) if score >= cutoff]
