"""Methods: what turns rollouts into a training batch. The two Protocols, and what several methods have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Protocol, runtime_checkable

from agents.data.tokens import Sample
from agents.data.trajectories import Trajectory
from agents.methods.advantages import Weighting, token_weights
from agents.models.critics import Critics
from agents.rollouts.envs import Envs
from agents.rollouts.groups import RolloutBatch
from agents.rollouts.policies import Policy
from agents.rollouts.searching import SearchingCollector
from agents.settings import EnvSettings
from agents.training.batch import Origin, TrainingBatch
from agents.training.families import ModelFamily
from agents.training.objectives import Objective
from webarena_gym.tasks import Task


@dataclass(frozen=True)
class Resources:
    """What a method may use of the run that it is made for."""

    tasks: Sequence[Task]
    env: EnvSettings
    envs: Envs
    policy: Policy
    model: Any  # that is trained, with its present parameters
    family: ModelFamily
    critics: Critics
    temperature: float
    tokens_per_pass: int
    seed: int


class Method(Protocol):
    """Chooses the tasks and makes training batches of what was played.

    All that is random in it follows from its arguments, so a run that is resumed from its state goes on exactly.
    """

    def draw_task(self, number: int) -> Task:
        """Return the task of a group of rollouts."""
        ...

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Return what to train on after these rollouts, and metrics of how it was made."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return what the method has learned and kept, of plain values and tensors."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        ...


@runtime_checkable
class CollectingMethod(Method, Protocol):
    """A method that has rollouts played in its own way."""

    def collector(self) -> SearchingCollector:
        """Return what plays them, in the envs and with the policy of its resources."""
        ...


class MethodSettings(Protocol):
    """The options of a method, a dataclass, which makes its objective and the method itself."""

    name: ClassVar[str]
    """what --method calls it"""
    title: ClassVar[str]
    """what it is called where people read"""
    defaults: ClassVar[Mapping[str, Any]]
    """defaults of options that are not its own"""
    is_distributed: ClassVar[bool]
    """whether several ranks can train with it, and rollouts be played meanwhile; not where it trains more than the policy"""

    @property
    def is_local(self) -> bool:
        """Whether it plays in the envs of this process or needs their snapshots, which nothing else may use then."""

    def objective(self) -> Objective:
        """Return the loss that training batches of the method are trained with."""
        ...

    def create(self, resources: Resources) -> Method:
        """Return the method as it begins. Raises ValueError for resources that do not fit."""
        ...


BASELINE_DEFAULTS: Mapping[str, Any] = {"tasks_per_update": 256, "group_size": 1, "minibatches": 4}
"""Of methods that do not compare the rollouts of a group: as many episodes as M-GRPO plays for an update, one of each task."""


def played(rollouts: RolloutBatch) -> list[Trajectory]:
    """Return the rollouts that say something about the policy: those that did not break, and have a step."""
    return [item for group in rollouts.played for item in group.valid if item.steps]


def step_rewards(trajectories: Sequence[Trajectory]) -> list[float]:
    """Return for every step the reward of its trajectory: the return, as a reward comes at the end and nothing is discounted."""
    return [item.reward for item in trajectories for _ in item.steps]


def split_by_trajectory(values_S: Sequence[float], trajectories: Sequence[Trajectory]) -> list[list[float]]:
    """Return the values of all steps in one list for each trajectory."""
    rest = iter(values_S)
    return [[next(rest) for _ in item.steps] for item in trajectories]


def batch_of_steps(
    trajectories: Sequence[Trajectory], advantages: Sequence[Sequence[float | None]], *, equal_steps: bool = False
) -> TrainingBatch:
    """Return the training batch of all steps that have an advantage; those with None are left out.

    The loss is a mean over all tokens, or, with `equal_steps`, over steps: each token of a response then has the weight
    1 / (steps * tokens of the response).
    """
    kept = [
        (item, step, advantage, Origin(item.group, rollout, number, len(item.steps), item.reward, item.policy_version))
        for rollout, (item, own) in enumerate(zip(trajectories, advantages, strict=True))
        for number, (step, advantage) in enumerate(zip(item.steps, own, strict=True))
        if advantage is not None
    ]
    lengths = [len(step.response_ids) for _, step, _, _ in kept]
    weighting: Weighting = "paper" if equal_steps else "token_mean"
    logprobs = [step.logprobs for _, step, _, _ in kept]
    return TrainingBatch(
        samples=[Sample(step.prompt_ids, step.response_ids) for _, step, _, _ in kept],
        sampled_logprobs=logprobs,
        old_logprobs=logprobs,
        advantages=[advantage for _, _, advantage, _ in kept],
        weights=token_weights(lengths, [1] * len(kept), len(kept), weighting),
        origins=[origin for _, _, _, origin in kept],
        trajectories=[item for item, _, _, _ in kept],
    )
