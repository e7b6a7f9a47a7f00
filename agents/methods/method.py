"""Methods: what turns a batch of rollouts into a lesson. One Protocol, and what several methods have in common."""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple, Protocol

from agents.data.prompts import PromptEncoder
from agents.data.tokens import Ids, Sample
from agents.data.trajectories import Trajectory
from agents.methods import advantages as credit
from agents.rollouts.groups import Batch
from agents.training import losses
from agents.training.batch import Lesson, Origin
from agents.training.learner import Tokens
from webarena_gym.tasks import Task


class Teaching(NamedTuple):
    """A lesson, and the metrics of how it was made."""

    lesson: Lesson
    metrics: dict[str, float]


class Method(Protocol):
    """Chooses the tasks, makes lessons of what was played, and says which loss they are learned with.

    All that is random in it follows from its arguments, so a run that goes on from its state goes on exactly.
    """

    def draw_task(self, number: int) -> Task:
        """Return the task of a group of rollouts."""
        ...

    def teach(self, batch: Batch, rng: Random) -> Teaching:
        """Return what to learn next, after the method has taken note of a batch."""
        ...

    def loss(self, tokens: Tokens) -> losses.ClippedLoss:
        """Return the loss of a part of a lesson."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return what the method has learned and kept, of plain values and tensors."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        ...


def played(batch: Batch) -> list[Trajectory]:
    """Return the rollouts that say something about the policy: those that did not break, and have a step."""
    return [item for group in batch.played for item in group.valid if item.steps]


def step_prompts(trajectories: Sequence[Trajectory]) -> list[Ids]:
    """Return the prompts of all steps, trajectory after trajectory."""
    return [step.prompt_ids for item in trajectories for step in item.steps]


def step_rewards(trajectories: Sequence[Trajectory]) -> list[float]:
    """Return for every step the reward of its trajectory: the return, as a reward comes at the end and nothing is discounted."""
    return [item.reward for item in trajectories for _ in item.steps]


def by_trajectory(values_S: Sequence[float], trajectories: Sequence[Trajectory]) -> list[list[float]]:
    """Return the values of all steps, parted as the steps are."""
    rest = iter(values_S)
    return [[next(rest) for _ in item.steps] for item in trajectories]


def goal_prompts(goals: Sequence[str], encoder: PromptEncoder) -> list[Ids]:
    """Return each goal as a prompt of its own, without a page."""
    return encoder.encode_all([[{"role": "user", "content": goal}] for goal in goals])


def make_lesson(
    trajectories: Sequence[Trajectory], advantages: Sequence[Sequence[float | None]], *, equal_steps: bool = False
) -> Lesson:
    """Return the lesson of all steps that have an advantage; those with None are left out.

    The loss is a mean over all tokens, or, with `equal_steps`, over steps: each token of a response then has the weight
    1 / (steps * tokens of the response).
    """
    kept = [
        (step, advantage, Origin(item.group, rollout, number, len(item.steps), item.reward, item.policy_version))
        for rollout, (item, own) in enumerate(zip(trajectories, advantages, strict=True))
        for number, (step, advantage) in enumerate(zip(item.steps, own, strict=True))
        if advantage is not None
    ]
    lengths = [len(step.response_ids) for step, _, _ in kept]
    weighting: credit.Weighting = "paper" if equal_steps else "token_mean"
    logprobs = [step.logprobs for step, _, _ in kept]
    return Lesson(
        samples=[Sample(step.prompt_ids, step.response_ids) for step, _, _ in kept],
        sampled_logprobs=logprobs,
        old_logprobs=logprobs,
        advantages=[advantage for _, advantage, _ in kept],
        weights=credit.token_weights(lengths, [1] * len(kept), len(kept), weighting),
        origins=[origin for _, _, origin in kept],
    )


def imitate(tokens: Tokens) -> losses.ClippedLoss:
    """Return the negative log-likelihood of all tokens, each weighted with its weight and its advantage."""
    loss = losses.imitation_loss(tokens.logprobs, tokens.weights * tokens.advantages)
    return losses.ClippedLoss(loss, clipped_fraction=0.0, kl=0.0, ratio_max=1.0)
