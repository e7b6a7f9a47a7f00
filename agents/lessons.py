"""Lessons: what a batch of rollouts teaches, as samples with an advantage and a token weight each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agents import losses
from agents.batches import Sample
from agents.trajectories import Trajectory, grouped


@dataclass(frozen=True, kw_only=True)
class CreditSettings:
    """How the reward of an episode becomes credit for its tokens."""

    advantages: Literal["state", "trajectory"] = "state"
    """compare rollouts of a group that stood before the same prompt, or whole rollouts"""
    scale_advantages: bool = True
    """divide advantages by the standard deviation of the group"""
    weighting: losses.Weighting = "token_mean"
    """paper: mean over trajectories, steps and tokens in turn; token_mean: every token alike"""


class Lesson(NamedTuple):
    """What one batch of rollouts teaches: samples with the sampler's log-probabilities, an advantage and a token weight each."""

    samples: list[Sample]
    sampled_logprobs: list[tuple[float, ...]]
    advantages: list[float]
    weights: list[float]
    equal_groups: int  # groups whose rewards were all equal, which teach nothing

    def only(self, indices: Sequence[int]) -> "Lesson":
        """Return the lesson with these samples alone; weights stay what they were in the whole."""
        return Lesson(
            [self.samples[index] for index in indices],
            [self.sampled_logprobs[index] for index in indices],
            [self.advantages[index] for index in indices],
            [self.weights[index] for index in indices],
            self.equal_groups,
        )


def learn_from(trajectories: Sequence[Trajectory], settings: CreditSettings) -> Lesson:
    """Return samples, advantages and weights of all groups with mixed rewards. Failed episodes are left out."""
    groups = grouped(trajectories)
    mixed = [group for group in groups if len({trajectory.reward for trajectory in group}) > 1]
    samples, logprobs, advantages, lengths, steps_of = [], [], [], [], []
    for group in mixed:
        if settings.advantages == "trajectory":
            per_trajectory = losses.trajectory_advantages([item.reward for item in group], scale=settings.scale_advantages)
            own = [value for value, item in zip(per_trajectory, group, strict=True) for _ in item.steps]
        else:
            states = [step.prompt_ids for item in group for step in item.steps]
            returns = [item.reward for item in group for _ in item.steps]
            own = losses.state_advantages(states, returns, scale=settings.scale_advantages)
        advantages += own
        for item in group:
            for step in item.steps:
                samples.append(step.sample)
                logprobs.append(step.logprobs)
                lengths.append(len(step.response_ids))
                steps_of.append(len(item.steps))
    weights = losses.token_weights(lengths, steps_of, sum(map(len, mixed)), settings.weighting)
    return Lesson(samples, logprobs, advantages, weights, len(groups) - len(mixed))
