"""The steps that an update trains on, with their advantages and token weights."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from agents.data.trajectories import Step, Trajectory

if TYPE_CHECKING:  # reports read rollouts without torch
    from agents.rollouts.curriculum import Group

Weighting = Literal["paper", "constant", "dr_grpo", "token_mean", "step_mean"]
"""Weights of tokens in the loss; `GRPOSettings.weighting` explains them."""
CONSTANT_STEPS, CONSTANT_TOKENS = 15, 1024  # divisors of the weightings "constant" and "dr_grpo"


class TrainedStep(NamedTuple):
    """A step with the advantage of its tokens and the weight of each token in the loss of the batch.

    Attributes:
        episode: the episode of the step.
        number: index of the step in the episode, from 0.
        advantage: advantage of all tokens of the response.
        weight: weight of each token in the loss of the batch.
        rollout: index of the episode in its group.

    """

    episode: Trajectory
    number: int
    advantage: float
    weight: float
    rollout: int = 0

    @property
    def step(self) -> Step:
        """The step of the episode."""
        return self.episode.steps[self.number]


def weight_steps(
    parts: Iterable[tuple[Sequence[Trajectory], Iterable[float | None]]], weighting: Weighting = "token_mean"
) -> list[TrainedStep]:
    """Return the steps of groups of episodes with their advantages and token weights.

    Steps with the advantage None are left out. The loss is the weighted sum over all tokens of the batch, so the losses of passes and
    processes can be added. Token weights:

    - "paper": 1/trajectories * 1/steps * 1/tokens of the response (WebAgent-R1, equation 2)
    - "constant": the same with 15 for the number of steps (AsyncWebRL, arXiv 2606.05597): steps of long episodes are not weighted down
    - "dr_grpo": 1/trajectories * 1/1024 (arXiv 2503.20783): independent of the lengths of responses and episodes
    - "token_mean": 1/tokens of the batch (DAPO, arXiv 2503.14476)
    - "step_mean": 1/steps of the batch * 1/tokens of the response
    """
    steps: list[TrainedStep] = []
    trajectories = 0
    for group, advantages in parts:
        values = iter(advantages)
        trajectories += len(group)
        credit = [(rollout, number, next(values)) for rollout, item in enumerate(group) for number in range(len(item.steps))]
        steps += [
            TrainedStep(group[rollout], number, advantage, 0.0, rollout)
            for rollout, number, advantage in credit
            if advantage is not None
        ]
    total = sum(len(item.step.response_ids) for item in steps)

    def weight(item: TrainedStep) -> float:
        length, tokens = len(item.episode.steps), len(item.step.response_ids)
        divisors = {
            "paper": trajectories * length * tokens, "constant": trajectories * CONSTANT_STEPS * tokens,
            "dr_grpo": trajectories * CONSTANT_TOKENS, "token_mean": total, "step_mean": len(steps) * tokens,
        }  # fmt: skip
        return 1.0 / divisors[weighting]

    return [item._replace(weight=weight(item)) for item in steps]


def add_advantages(groups: "Iterable[Group]", steps: Iterable[TrainedStep]) -> list[Trajectory]:
    """Return the valid rollouts of the groups with the advantages of their steps; 0 for steps that are not trained on."""
    by_rollout: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for item in steps:
        by_rollout[item.episode.group, item.rollout][item.number] = item.advantage
    rollouts = []
    for group in groups:
        for index, episode in enumerate(group.valid):
            by_step = by_rollout.get((group.number, index))
            advantages = tuple(by_step.get(step, 0.0) for step in range(len(episode.steps))) if by_step else ()
            rollouts.append(replace(episode, advantages=advantages))
    return rollouts
