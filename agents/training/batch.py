"""Training batches: samples, each with log-probabilities, an advantage and a token weight."""

from collections.abc import Sequence
from typing import NamedTuple

from agents.data.tokens import Sample
from agents.data.trajectories import Trajectory


class Origin(NamedTuple):
    """Where a sample comes from: a step of a rollout."""

    group: int
    rollout: int  # within its group
    step: int
    steps: int  # of the whole rollout
    reward: float  # of the whole rollout
    policy_version: int


class TrainingBatch(NamedTuple):
    """What an update is computed from: samples, each with log-probabilities, an advantage and a token weight.

    `old_logprobs` are what probability ratios are taken to: the sampler's, or the trainer's own before its first update.
    `trajectories` are those that the samples come from, for models whose inputs are made of them; they stay in rank 0.
    """

    samples: list[Sample]
    sampled_logprobs: list[tuple[float, ...]]
    old_logprobs: list[tuple[float, ...]]
    advantages: list[float]
    weights: list[float]
    origins: list[Origin]
    trajectories: Sequence[Trajectory] = ()  # one for each sample, or none

    def only(self, indices: Sequence[int]) -> "TrainingBatch":
        """Return the batch with these samples alone; weights stay what they were in the whole."""
        return TrainingBatch(
            [self.samples[index] for index in indices],
            [self.sampled_logprobs[index] for index in indices],
            [self.old_logprobs[index] for index in indices],
            [self.advantages[index] for index in indices],
            [self.weights[index] for index in indices],
            [self.origins[index] for index in indices],
            [self.trajectories[index] for index in indices] if self.trajectories else (),
        )
