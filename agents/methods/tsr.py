"""Trajectory-search rollouts: the policy learns from rollouts that a search has found, step by step, while they are collected.

After TSR (Djuhera et al., arXiv 2602.11767, section 3): at each turn several actions are sampled and tried, the state after each is
scored, and the best leads on; the optimizer is left as it is, here M-GRPO with all of its options. `agents.rollouts.searching` collects,
with best-of-N at each turn. The score of a state is a critic's probability of success, or the reward where the episode is over.
`--search-choice diverse` scores pages by how rarely rollouts of the group came to them.

A search changes what rollouts are distributed like, which the paper does not correct for. Here a reply is kept by chance, so its
importance weight is known (`searching.draw`), and advantages are multiplied with it, at most `search_cap`: `step` corrects the choice at
the step itself, and leaves the states those of the search; `path` also corrects how its state was come by, with the product over the steps
before; `none` is the paper's. The baseline is corrected, too: where a search always succeeds, its group tells nothing apart, and what was
tried and left does. So `search_gain` times the value of what a reply led to, less the mean over what was tried there, is added to an advantage.

It differs in this: there is no beam and no deeper look ahead, no filter of instances but M-GRPO's own, and no score by hand, since web
pages have none. A budget of env steps counts all tries (`--env-steps`). The sources were read without the numbers of their equations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Literal

from agents.data.trajectories import Step, Trajectory
from agents.methods.estimators import AdvantageSettings
from agents.methods.grpo import GRPO, GRPOSettings
from agents.methods.method import Resources, played, step_rewards
from agents.models.critics import CriticSettings
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.groups import RolloutBatch
from agents.rollouts.policies import CountingPolicy
from agents.rollouts.searching import Reached, SearchingCollector, SearchSettings
from agents.training.batch import TrainingBatch

Correction = Literal["none", "step", "path"]


@dataclass(frozen=True, kw_only=True)
class TSRSearchSettings(SearchSettings):
    """How rollouts are searched, and how the learner corrects for it."""

    search_correction: Correction = "step"
    """tsr: correct for the choice among replies at a step, also for those at all steps before it, or not"""
    search_gain: float = 1.0
    """tsr: weight of a step's value above what else was tried there, beside the advantage of M-GRPO; 0 is the paper's"""
    search_cap: float = 2.0
    """tsr: largest importance weight of a step"""


@dataclass(frozen=True, kw_only=True)
class TSRSettings(GRPOSettings):
    """Trajectory-search rollouts: how they are searched, how the critic is trained, and M-GRPO's options."""

    name: ClassVar[str] = "tsr"
    title: ClassVar[str] = "TSR"
    is_distributed: ClassVar[bool] = False

    search: TSRSearchSettings = field(default_factory=TSRSearchSettings)
    critic: CriticSettings = field(default_factory=CriticSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.advantages == "forks":
            raise ValueError("advantages are 'forks', whose continuations are not searched; expected others with TSR")

    @property
    def is_local(self) -> bool:
        """Whether it plays in envs of this process: always, as it needs their snapshots."""
        return True

    def create(self, resources: Resources) -> "TSR":
        """Return the method as it begins."""
        return TSR(self, resources)


class TSR(GRPO):
    """Compares the rollouts of each group, which a search has found, and trains the critic that it searches by."""

    def __init__(self, settings: TSRSettings, resources: Resources) -> None:
        super().__init__(settings, resources)
        self._search = settings.search
        self._critics = resources.critics
        self._critic = resources.critics.create(settings.critic)

    def collector(self) -> SearchingCollector:
        """Return what plays the rollouts."""
        resources = self._resources
        # The settings refuse workers and clusters with a method that is local.
        assert isinstance(resources.envs, InProcessEnvs)
        assert isinstance(resources.policy, CountingPolicy)
        return SearchingCollector(
            resources.envs, resources.policy, self._search, self._values, seed=resources.seed, env=resources.env
        )

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Fit the critic, and return the steps of all groups whose rewards differ."""
        items = played(rollouts)
        loss = self._critic.fit(self._critics.steps(items), step_rewards(items), rng)
        batch, metrics = super().make_batch(rollouts, rng)
        weights = [step.importance for item in items for step in item.steps]
        metrics |= {
            "critic_loss": loss,
            "importance_min": min(weights, default=1.0),
            "importance_max": max(weights, default=1.0),
        }
        return batch, metrics | {"searched": sum(weight != 1 for weight in weights) / max(len(weights), 1)}

    def state_dict(self) -> dict[str, Any]:
        """Return M-GRPO's state, and the critic."""
        return super().state_dict() | {"critic": self._critic.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        super().load_state_dict(state_dict)
        self._critic.load_state_dict(state_dict["critic"])

    def _advantages(self, group: Sequence[Trajectory], settings: AdvantageSettings) -> list[float]:
        own = self._search
        gains = [own.search_gain * step.gain for item in group for step in item.steps]
        weights = [weight for item in group for weight in corrections(item, own.search_correction, own.search_cap)]
        of_rollouts = super()._advantages(group, settings)
        return [(value + gain) * weight for value, gain, weight in zip(of_rollouts, gains, weights, strict=True)]

    def _values(self, states: Sequence[Reached]) -> list[float]:
        """Return the critic's probability of success of each state."""
        encoder = self._resources.family.encoder
        prompts = encoder.encode_all([info["messages"] for _, info in states]) if encoder else [()] * len(states)
        reached = []
        for (episode, info), prompt_ids in zip(states, prompts, strict=True):
            here = Step(str(info["page"]), "", prompt_ids=prompt_ids)
            reached += self._critics.steps(
                [Trajectory(episode.task_id, episode.goal, (*episode.steps, here), 0.0, "truncated")]
            )[-1:]
        return self._critic.values(reached)


def corrections(trajectory: Trajectory, correction: Correction, cap: float) -> list[float]:
    """Return what each step's advantage is multiplied with, at most `cap`, for the choice that a search has made."""
    weights: list[float] = []
    product = 1.0
    for step in trajectory.steps:
        product *= step.importance
        weights.append({"none": 1.0, "step": step.importance, "path": product}[correction])
    return [min(weight, cap) for weight in weights]
