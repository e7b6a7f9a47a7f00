"""Multi-turn GRPO: groups of rollouts of one task become samples with advantages and token weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.data.tokens import Ids, Sample
from agents.data.trajectories import Trajectory, grouped
from agents.methods import advantages as credit
from agents.methods.contexts import sampled_prompts
from agents.training.batch import Lesson, Origin


@dataclass(frozen=True, kw_only=True)
class CreditSettings:
    """How the reward of an episode becomes credit for its tokens."""

    advantages: Literal["state", "trajectory", "gigpo", "forks"] = "state"
    """compare rollouts of a group that stood before the same prompt; whole rollouts; the sum of both; or continuations from a
    rollout's own states"""
    scale_advantages: bool = True
    """divide advantages by the standard deviation of the group; forks have none"""
    state_weight: float = 1.0
    """gigpo: weight of the comparison at equal prompts (omega)"""
    discount: float = 1.0
    """state, gigpo: a reward counts less for each step that it lies ahead (gamma)"""
    weighting: credit.Weighting = "token_mean"
    """paper: mean over trajectories, steps and tokens in turn; constant: the same with constant_steps for their number; dr_grpo:
    a constant for the tokens of a trajectory; token_mean: every token alike"""
    constant_steps: int = 15
    """weighting constant: what a trajectory's steps are divided by"""
    constant_tokens: int = 1024
    """weighting dr_grpo: what a trajectory's tokens are divided by"""
    anchor_weight: float = 0.0
    """advantage of all steps of groups that always succeed, which are imitated a little; 0 leaves such groups out"""


def learn_from(
    trajectories: Sequence[Trajectory],
    settings: CreditSettings,
    prompts_of: Callable[[Trajectory], Sequence[Ids]] = sampled_prompts,
) -> Lesson:
    """Return the samples, advantages and weights of all groups that teach something. Failed episodes are left out.

    `prompts_of` gives the contexts that the steps of a trajectory are trained in; credit is always that of the sampled ones.
    """
    samples: list[Sample] = []
    logprobs: list[tuple[float, ...]] = []
    advantages: list[float] = []
    origins: list[Origin] = []
    taught = 0
    for group in grouped(trajectories):
        own = step_advantages(group, settings)
        if not any(own):
            continue
        taught += len(group)
        advantages += own
        for rollout, item in enumerate(group):
            for number, (step, prompt_ids) in enumerate(zip(item.steps, prompts_of(item), strict=True)):
                samples.append(Sample(prompt_ids, step.response_ids))
                logprobs.append(step.logprobs)
                origins.append(Origin(item.group, rollout, number, len(item.steps), item.reward, item.policy_version))
    weights = credit.token_weights(
        [len(sample.response_ids) for sample in samples],
        [origin.steps for origin in origins],
        taught,
        settings.weighting,
        constant_steps=settings.constant_steps,
        constant_tokens=settings.constant_tokens,
    )
    return Lesson(samples, logprobs, logprobs, advantages, weights, origins)


def step_advantages(group: Sequence[Trajectory], settings: CreditSettings) -> list[float]:
    """Return the advantage of every step of a group, trajectory after trajectory."""
    rewards = [item.reward for item in group]
    if settings.anchor_weight and min(rewards) == max(rewards) > 0:
        return [settings.anchor_weight for item in group for _ in item.steps]
    if settings.advantages == "forks":
        steps = [step for item in group for step in item.steps]
        if steps and not any(step.continuations for step in steps):
            raise ValueError(
                "advantages are 'forks' and no step of a group has continuations; expected some of agents.rollouts.forks"
            )
        return [
            advantage
            for item in group
            for advantage in credit.fork_advantages([step.continuations for step in item.steps], item.reward)
        ]
    of_trajectories = credit.trajectory_advantages(rewards, scale=settings.scale_advantages)
    by_trajectory = [value for value, item in zip(of_trajectories, group, strict=True) for _ in item.steps]
    if settings.advantages == "trajectory":
        return by_trajectory
    by_state = credit.state_advantages(
        [step.prompt_ids for item in group for step in item.steps],
        [item.reward * settings.discount**ahead for item in group for ahead in reversed(range(len(item.steps)))],
        scale=settings.scale_advantages,
        leave_one_out=settings.advantages == "state",
    )
    if settings.advantages == "state":
        return by_state
    return [whole + settings.state_weight * local for whole, local in zip(by_trajectory, by_state, strict=True)]
