"""Advantage estimators: from the rollouts of a group to one advantage for each of their steps.

An estimator is a function of a group's trajectories and the settings, in the table `ESTIMATORS` under the name by which
`--advantages` chooses it. The arithmetic is in `advantages`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from agents.data.trajectories import Trajectory
from agents.methods import advantages
from agents.methods.advantages import Weighting


@dataclass(frozen=True, kw_only=True)
class AdvantageSettings:
    """How the rewards of a group become advantages and token weights. An option that would do nothing is refused."""

    advantages: Literal["state", "trajectory", "gigpo", "forks"] = "state"
    """compare rollouts of a group that stood before the same prompt; whole rollouts; the sum of both; or continuations from a
    rollout's own states"""
    scale_advantages: bool = True
    """divide advantages by the standard deviation of the group; forks have none"""
    state_weight: float = 1.0
    """gigpo: weight of the comparison at equal prompts (omega)"""
    discount: float = 1.0
    """state, gigpo: a reward counts less for each step that it lies ahead (gamma)"""
    weighting: Weighting = "token_mean"
    """paper: mean over trajectories, steps and tokens in turn; constant: the same with constant_steps for their number; dr_grpo:
    a constant for the tokens of a trajectory; token_mean: every token alike"""
    constant_steps: int = 15
    """weighting constant: what a trajectory's steps are divided by"""
    constant_tokens: int = 1024
    """weighting dr_grpo: what a trajectory's tokens are divided by"""
    anchor_weight: float = 0.0
    """advantage of all steps of groups that always succeed, which are imitated a little; 0 leaves such groups out"""

    def __post_init__(self) -> None:
        for item in fields(AdvantageSettings):
            owner, names = _ONLY_WITH.get(item.name, ("advantages", ()))
            if names and getattr(self, item.name) != item.default and getattr(self, owner) not in names:
                raise ValueError(
                    f"{item.name} is {getattr(self, item.name)!r}, but does nothing with {owner}={getattr(self, owner)!r}; "
                    f"it belongs to {owner}={' or '.join(map(repr, names))}"
                )


_ONLY_WITH: dict[str, tuple[str, tuple[str, ...]]] = {
    "scale_advantages": ("advantages", ("state", "trajectory", "gigpo")),
    "state_weight": ("advantages", ("gigpo",)),
    "discount": ("advantages", ("state", "gigpo")),
    "constant_steps": ("weighting", ("constant",)),
    "constant_tokens": ("weighting", ("dr_grpo",)),
}
"""Options that only some choices of another option read."""

Group = Sequence[Trajectory]
Estimator = Callable[[Group, AdvantageSettings], list[float]]
"""Returns the advantage of every step of a group, trajectory after trajectory."""


def step_advantages(group: Group, settings: AdvantageSettings) -> list[float]:
    """Return the advantage of every step of a group, trajectory after trajectory, by the estimator of the settings."""
    rewards = [item.reward for item in group]
    if settings.anchor_weight and min(rewards) == max(rewards) > 0:
        return [settings.anchor_weight for item in group for _ in item.steps]
    return ESTIMATORS[settings.advantages](group, settings)


def by_trajectory(group: Group, settings: AdvantageSettings) -> list[float]:
    """Give every step the advantage of its trajectory in the group."""
    of_trajectories = advantages.trajectory_advantages([item.reward for item in group], scale=settings.scale_advantages)
    return [value for value, item in zip(of_trajectories, group, strict=True) for _ in item.steps]


def by_state(group: Group, settings: AdvantageSettings, *, leave_one_out: bool = True) -> list[float]:
    """Compare each step with the others of the group that were taken before the same prompt."""
    return advantages.state_advantages(
        [step.prompt_ids for item in group for step in item.steps],
        [item.reward * settings.discount**ahead for item in group for ahead in reversed(range(len(item.steps)))],
        scale=settings.scale_advantages,
        leave_one_out=leave_one_out,
    )


def gigpo(group: Group, settings: AdvantageSettings) -> list[float]:
    """Add the comparison of whole trajectories and that of steps before the same prompt (GiGPO, arXiv 2505.10978)."""
    local = by_state(group, settings, leave_one_out=False)
    return [whole + settings.state_weight * own for whole, own in zip(by_trajectory(group, settings), local, strict=True)]


def by_forks(group: Group, settings: AdvantageSettings) -> list[float]:  # noqa: ARG001 - as all estimators
    """Compare the returns of continuations from a trajectory's own states. Raises ValueError where there are none."""
    steps = [step for item in group for step in item.steps]
    if steps and not any(step.continuations for step in steps):
        raise ValueError(
            "advantages are 'forks' and no step of a group has continuations; expected some of agents.rollouts.forks"
        )
    return [
        advantage
        for item in group
        for advantage in advantages.fork_advantages([step.continuations for step in item.steps], item.reward)
    ]


ESTIMATORS: dict[str, Estimator] = {"state": by_state, "trajectory": by_trajectory, "gigpo": gigpo, "forks": by_forks}
"""By the name that `--advantages` gives them."""
