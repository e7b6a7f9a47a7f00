"""StarPO-S: PPO with a critic over whole trajectories, from the groups whose outcomes are least certain.

After RAGEN (Wang et al., arXiv 2504.20073), with what the paper leaves open from its released code. Its equations: StarPO maximises the
expected return of a trajectory (2), of which a token's probability ratio is one factor (3); the update is PPO's clipped mean over the
tokens of each trajectory with the advantages of GAE, or with those of GRPO (section 2.2). StarPO-S, its stable variant, is the default here:

- Of the groups of a batch, only the `starpo_kept` with the largest standard deviation of returns are learned from (section 3.2,
  U = Std(R(tau))), a quarter as in the paper.
- There is no KL term, and the upper clip is higher (`--kl-weight 0 --clip-high 0.28`). Plain StarPO is
  `--starpo-kept 1 --clip-high 0.2 --kl-weight 0.001`.
- A critic gives the baseline (`--starpo-advantages gae`); `group` compares the rollouts of a group, as GRPO.

The diagnostics of the paper's echo trap are metrics of every method: `reward_deviation` (of the groups of a batch), `reply_entropy` and
`grad_norm`. A run is in the trap when the first two fall and the third rises.

It differs in this: the critic estimates one value a turn and not one a token, so all tokens of a reply share an advantage; it is fitted
to outcomes with the cross-entropy of `agents.models.critics`; there is no entropy bonus (0.001 in the released settings) and no reward
for the format of a reply. The numbers of the equations are those of the paper's first version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from random import Random
from statistics import pstdev
from typing import Any, ClassVar, Literal

from agents.data.trajectories import Trajectory
from agents.methods.advantages import MIN_DEVIATION, trajectory_advantages
from agents.methods.method import Resources, batch_of_steps, split_by_trajectory, step_rewards
from agents.models.critics import CriticSettings
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.groups import Group, RolloutBatch
from agents.training.batch import TrainingBatch
from agents.training.objectives import ClipSettings, Objective, clipped
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class StarPOSettings(ClipSettings, CriticSettings):
    """StarPO: which groups are learned from, how rollouts become advantages, how far an update may go, and how the critic is trained."""

    name: ClassVar[str] = "starpo"
    title: ClassVar[str] = "StarPO"
    defaults: ClassVar[Mapping[str, Any]] = {}
    is_distributed: ClassVar[bool] = False
    is_local: ClassVar[bool] = False

    starpo_advantages: Literal["gae", "group"] = "gae"
    """starpo: generalised advantage estimates with a critic (PPO), or each rollout against its group (GRPO)"""
    starpo_lambda: float = 1.0
    """starpo: gae: how much of an advantage is that of the outcome; 0: of the next value alone"""
    starpo_discount: float = 1.0
    """starpo: gae: a reward counts less for each step that it lies ahead (gamma)"""
    starpo_kept: float = 0.25
    """starpo: share of the groups that is learned from, those of the largest deviation of rewards; 1: all"""

    def __post_init__(self) -> None:
        if not 0 < self.starpo_kept <= 1:
            raise ValueError(f"starpo_kept is {self.starpo_kept}; expected more than 0 and at most 1")
        for name in ("starpo_lambda", "starpo_discount", "critic_epochs", "critic_minibatch"):
            if self.starpo_advantages == "group" and getattr(self, name) != getattr(StarPOSettings, name):
                raise ValueError(f"{name} is {getattr(self, name)!r}, but does nothing with starpo_advantages='group'")

    def objective(self) -> Objective:
        """Return the clipped loss."""
        return clipped(self)

    def create(self, resources: Resources) -> "StarPO":
        """Return the method as it begins."""
        return StarPO(self, resources)


class StarPO:
    """Learns from whole trajectories of the groups whose rewards differ most."""

    def __init__(self, settings: StarPOSettings, resources: Resources) -> None:
        self._settings = settings
        self._curriculum = Curriculum(resources.tasks, seek_mixed=False, seed=resources.seed)
        self._critics = resources.critics
        self._critic = resources.critics.create(settings) if settings.starpo_advantages == "gae" else None

    def draw_task(self, number: int) -> Task:
        """Return any task: what is uncertain is found among the groups that were played."""
        return self._curriculum.draw(number)

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Return the steps of the uncertain groups with their advantages, and fit the critic to them."""
        groups = most_uncertain(rollouts.played, self._settings.starpo_kept)
        parts = [[item for item in group.valid if item.steps] for group in groups]
        items = [item for part in parts for item in part]
        metrics = {"kept_groups": float(len(groups)), "kept_deviation": _mean([deviation(group) for group in groups])}
        if self._critic is None:
            of_items = [value for part in parts if part for value in trajectory_advantages([item.reward for item in part])]
            advantages = [[value] * len(item.steps) for value, item in zip(of_items, items, strict=True)]
        else:
            states = self._critics.steps(items)
            values = split_by_trajectory(self._critic.values(states), items)  # before the critic has seen how they ended
            metrics["critic_loss"] = self._critic.fit(states, step_rewards(items), rng)
            advantages = whitened(
                [
                    generalised_advantages(
                        own, item.reward, discount=self._settings.starpo_discount, decay=self._settings.starpo_lambda
                    )
                    for item, own in zip(items, values, strict=True)
                ]
            )
        batch = batch_of_steps(items, advantages)
        return batch._replace(weights=_trajectory_weights(batch, items)), metrics

    def state_dict(self) -> dict[str, Any]:
        """Return the critic."""
        return {"critic": self._critic.state_dict()} if self._critic else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        if self._critic:
            self._critic.load_state_dict(state_dict["critic"])


def deviation(group: Group) -> float:
    """Return the standard deviation of the rewards of a group; 0 without rollouts."""
    return pstdev(item.reward for item in group.valid) if group.valid else 0.0


def most_uncertain(groups: Sequence[Group], share: float) -> list[Group]:
    """Return the share of the groups with the largest standard deviation of rewards, rounded up, in their order.

    RAGEN, arXiv 2504.20073, section 3.2. Of equally uncertain groups the first are taken.
    """
    count = ceil(share * len(groups) - 1e-9)  # 0.1 of 30 is 3, whatever floats say
    ranked = sorted(range(len(groups)), key=lambda index: -deviation(groups[index]))
    return [groups[index] for index in sorted(ranked[:count])]


def generalised_advantages(values_T: Sequence[float], reward: float, *, discount: float, decay: float) -> list[float]:
    """Return the advantage of each of the T steps of an episode from the values of the states they were taken in.

    A_t = sum over k of (gamma lambda)^k d_t+k with d_t = r_t + gamma V(s_t+1) - V(s_t), where r_t is 0 before the last step (Schulman et
    al., arXiv 1506.02438, equation 16; RAGEN uses gamma = lambda = 1: the reward less the value).

    >>> generalised_advantages([0.25, 0.75, 0.5], reward=1, discount=1.0, decay=1.0)
    [0.75, 0.25, 0.5]
    >>> generalised_advantages([0.25, 0.75, 0.5], reward=1, discount=1.0, decay=0.0)
    [0.5, -0.25, 0.5]
    """
    advantages: list[float] = []
    following, carried, earned = 0.0, 0.0, reward
    for value in reversed(values_T):
        carried = earned + discount * following - value + discount * decay * carried
        advantages.append(carried)
        following, earned = value, 0.0
    return advantages[::-1]


def whitened(advantages: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return advantages of all steps less their mean, divided by their standard deviation; zeros where all are equal."""
    flat = [value for own in advantages for value in own]
    mean, spread = _mean(flat), pstdev(flat) if flat else 0.0
    if spread < MIN_DEVIATION:
        return [[0.0] * len(own) for own in advantages]
    return [[(value - mean) / spread for value in own] for own in advantages]


def _trajectory_weights(batch: TrainingBatch, items: Sequence[Trajectory]) -> list[float]:
    """Return 1 / (trajectories * tokens of the sample's trajectory) for each sample: a mean over trajectories of means over tokens."""
    tokens = [sum(len(step.response_ids) for step in item.steps) for item in items]
    return [1 / (len(items) * tokens[origin.rollout]) for origin in batch.origins]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)
