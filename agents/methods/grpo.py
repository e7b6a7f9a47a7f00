"""Multi-turn GRPO: rollouts of one task are compared, and each step is trained with its advantage and a clipped loss.

After WebAgent-R1 (arXiv 2505.16421), equation 2: groups of rollouts of one task, a binary reward at the end of each, a clipped
token-level objective. Every step is trained in the exact token context in which it was sampled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, ClassVar, Literal

from agents.data.tokens import Ids, Sample
from agents.data.trajectories import Trajectory, grouped
from agents.methods.advantages import token_weights
from agents.methods.contexts import released_prompts, sampled_prompts
from agents.methods.estimators import AdvantageSettings, Estimator, step_advantages
from agents.methods.method import Resources
from agents.methods.replay import Successes
from agents.rollouts.curriculum import Curriculum
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.forks import ForkSettings, fork_groups
from agents.rollouts.groups import RolloutBatch
from agents.settings import MayChange
from agents.training.batch import Origin, TrainingBatch
from agents.training.objectives import ClipSettings, Objective, clipped
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class GRPOSettings(AdvantageSettings, ClipSettings):
    """M-GRPO: how rollouts are compared, and how far an update may go.

    `--preset paper` has WebAgent-R1's settings, `released` those of its released trainer, `dapo` and `gigpo` the objectives of
    these papers; the default, `small`, suits a small model on a CPU, and `pointer` a pointing network. How a model was used when it was trained here comes before a
    preset's wishes.
    """

    name: ClassVar[str] = "grpo"
    title: ClassVar[str] = "M-GRPO"
    defaults: ClassVar[Mapping[str, Any]] = {}
    is_distributed: ClassVar[bool] = True

    preset: MayChange[Literal["small", "paper", "released", "dapo", "gigpo", "pointer"]] = "small"
    """defaults of the other options; for a pointing network, those of pointer unless told else"""
    contexts: Literal["sampled", "released"] = "sampled"
    """train each action in the context it was sampled in, or, as an ablation, with the page that it answers replaced by the
    placeholder, as WebAgent-R1's released trainer does"""
    seek_mixed: bool = True
    """draw more often from templates that neither always succeed nor always fail"""
    groups_remembered: int = 2
    """groups of a template that its running success is a mean of; later groups move it"""
    replayed: int = 0
    """earlier successes that a batch is trained on again, more often of templates that rarely succeed; 0: none"""
    replay_kept: int = 16
    """tasks of each template of which the newest success is kept"""
    replay_weight: float = 1.0
    """a replayed step's advantage, where its template never succeeded of late; it falls to 0 for one that always did"""
    forks: ForkSettings = field(default_factory=ForkSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.advantages != "forks" and self.forks != ForkSettings():
            raise ValueError(f"{self.forks} does nothing with advantages={self.advantages!r}; it belongs to 'forks'")
        if self.groups_remembered < 1:
            raise ValueError(f"groups_remembered is {self.groups_remembered}; expected 1 or more")
        if self.replayed < 0:
            raise ValueError(f"replayed is {self.replayed}; expected 0 or more")
        for name in ("replay_kept", "replay_weight"):
            if not self.replayed and getattr(self, name) != getattr(GRPOSettings, name):
                raise ValueError(f"{name} is {getattr(self, name)!r}, but does nothing with replayed=0")
        if self.replayed and self.old_logprobs == "sampled":
            # Ratios to those of long ago would be clipped where the policy has learned since.
            raise ValueError(f"replayed is {self.replayed} and old_logprobs 'sampled'; expected 'recomputed'")
        if self.contexts == "released" and self.old_logprobs != "recomputed":
            raise ValueError(
                "released contexts are not those of the sampler; expected old_logprobs 'recomputed', not 'sampled'"
            )

    @property
    def is_local(self) -> bool:
        """Whether rollouts are forked, in envs of this process."""
        return self.advantages == "forks"

    def objective(self) -> Objective:
        """Return the clipped loss."""
        return clipped(self)

    def create(self, resources: Resources) -> "GRPO":
        """Return the method as it begins. Raises ValueError for resources that do not fit."""
        return GRPO(self, resources)


class GRPO:
    """Compares the rollouts of each group."""

    def __init__(self, settings: GRPOSettings, resources: Resources) -> None:
        if settings.contexts == "released" and resources.env.history != "compressed":
            raise ValueError(
                f"released contexts hold no page; expected history 'compressed' of the env, not {resources.env.history!r}"
            )
        self._settings = settings
        self._resources = resources
        self._curriculum = Curriculum(
            resources.tasks, seek_mixed=settings.seek_mixed, seed=resources.seed, memory=settings.groups_remembered
        )
        self._successes = Successes(settings.replay_kept)
        self._prompts_of: Callable[[Trajectory], Sequence[Ids]] = sampled_prompts
        if settings.contexts == "released":
            assert resources.family.encoder is not None, "kinds of models without one refuse these contexts"
            self._prompts_of = partial(released_prompts, encoder=resources.family.encoder, thoughts=resources.env.thoughts)

    def draw_task(self, number: int) -> Task:
        """Return the task of a group, more often of a template that succeeds now and then."""
        return self._curriculum.draw(number)

    def make_batch(self, rollouts: RolloutBatch, rng: Random) -> tuple[TrainingBatch, dict[str, float]]:
        """Return the steps of all groups whose rewards differ, and those of replayed successes."""
        self._curriculum.note(rollouts.played)
        replayed = self._replay(rollouts, rng) if self._settings.replayed else []
        trajectories = rollouts.trajectories
        if self._settings.advantages == "forks":
            envs, policy, seed = self._resources.envs, self._resources.policy, self._resources.seed
            if not isinstance(envs, InProcessEnvs):
                raise ValueError("forks are played in envs of this process; expected no workers and no cluster")
            trajectories = fork_groups(envs, policy, rollouts.groups, self._settings.forks, seed=seed)
        batch = make_batch(trajectories, self._settings, self._prompts_of, replayed, self._advantages)
        return batch, {"replayed": len(replayed)} if self._settings.replayed else {}

    def _advantages(self, group: Sequence[Trajectory], settings: AdvantageSettings) -> list[float]:
        """Return the advantage of every step of a group, trajectory after trajectory; methods that build on this one have their own."""
        return step_advantages(group, settings)

    def _replay(self, rollouts: RolloutBatch, rng: Random) -> list[tuple[Trajectory, float]]:
        """Return earlier successes with the advantage of their steps, and keep the new ones.

        The advantage is that of self-imitation (Oh et al., arXiv 1806.05635, equation 2), max(R - V, 0), where R is 1 and V the
        running success of the template.
        """
        failing = {name: 1 - rate for name, rate in self._curriculum.rates.items()}
        drawn = self._successes.draw(self._settings.replayed, rng, failing)
        for group in rollouts.played:
            self._successes.add(group.task.template or group.task.task_id, group.valid)
        return [(item, self._settings.replay_weight * failing[name]) for name, item in drawn]

    def state_dict(self) -> dict[str, Any]:
        """Return the running success of each template, and the successes that are replayed."""
        return {**self._curriculum.state_dict(), "successes": self._successes.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        self._curriculum.load_state_dict(state_dict)
        self._successes.load_state_dict(state_dict.get("successes", {}))


def make_batch(
    trajectories: Sequence[Trajectory],
    settings: AdvantageSettings,
    prompts_of: Callable[[Trajectory], Sequence[Ids]] = sampled_prompts,
    replayed: Sequence[tuple[Trajectory, float]] = (),
    advantages_of: Estimator = step_advantages,
) -> TrainingBatch:
    """Return the samples, advantages and weights of all groups whose rewards differ. Failed episodes are left out.

    `prompts_of` gives the contexts that the steps of a trajectory are trained in; advantages are always those of the sampled ones.
    `advantages_of` gives the advantages of a group.
    """
    samples: list[Sample] = []
    logprobs: list[tuple[float, ...]] = []
    advantages: list[float] = []
    origins: list[Origin] = []
    sources: list[Trajectory] = []
    trained = 0
    credited = [(group, advantages_of(group, settings)) for group in grouped(trajectories)]
    credited += [([item], [advantage] * len(item.steps)) for item, advantage in replayed]
    for group, own in credited:
        if not any(own):
            continue
        trained += len(group)
        advantages += own
        for rollout, item in enumerate(group):
            for number, (step, prompt_ids) in enumerate(zip(item.steps, prompts_of(item), strict=True)):
                samples.append(Sample(prompt_ids, step.response_ids))
                logprobs.append(step.logprobs)
                sources.append(item)
                origins.append(Origin(item.group, rollout, number, len(item.steps), item.reward, item.policy_version))
    weights = token_weights(
        [len(sample.response_ids) for sample in samples],
        [origin.steps for origin in origins],
        trained,
        settings.weighting,
        constant_steps=settings.constant_steps,
        constant_tokens=settings.constant_tokens,
    )
    return TrainingBatch(samples, logprobs, logprobs, advantages, weights, origins, sources)
