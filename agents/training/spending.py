"""What a run has spent, and what its rollouts were like, as metrics of an update."""

import time
from collections.abc import Mapping
from statistics import fmean, pstdev
from typing import Protocol

from agents.rollouts.groups import RolloutBatch
from agents.training.batch import TrainingBatch


class Counts(Protocol):
    """What counts its replies, their tokens and the CPU time that it took in other processes."""

    @property
    def replied(self) -> int:
        """Replies that were acted on."""

    @property
    def generated_tokens(self) -> int:
        """Tokens of replies."""

    @property
    def cpu_s(self) -> float:
        """CPU time in other processes."""


class Spending:
    """What a run has spent since it first began, so that methods can be compared at equal spending.

    `env_steps` are replies that were acted on, `generated_tokens` all tokens of replies, of whatever rollout; `trained_tokens` the
    reply tokens that the policy was trained on, once for each pass; `cpu_minutes` the CPU time of this process and of players, without
    those of env workers and servers. `before` are the totals that a resumed run begins with.
    """

    def __init__(self, policy: Counts, before: Mapping[str, float]) -> None:
        self._policy = policy
        self._before = dict(before)
        self._began_s = time.process_time()
        self._trained_tokens = 0

    def note(self, batch: TrainingBatch, epochs: int) -> None:
        """Count the tokens of a batch that was trained on in so many passes."""
        trained = zip(batch.samples, batch.advantages, strict=True)
        self._trained_tokens += epochs * sum(len(sample.response_ids) for sample, advantage in trained if advantage)

    def totals(self) -> dict[str, float]:
        """Return the totals, which are metrics, and what a resumed run is given as `before`."""
        now = {
            "env_steps": self._policy.replied,
            "generated_tokens": self._policy.generated_tokens,
            "trained_tokens": self._trained_tokens,
            "cpu_minutes": (time.process_time() - self._began_s + self._policy.cpu_s) / 60,
        }
        return {name: self._before.get(name, 0) + value for name, value in now.items()}


def describe(rollouts: RolloutBatch, batch: TrainingBatch, version: int) -> dict[str, float]:
    """Return the metrics of the rollouts for the update of this version of the parameters."""
    trajectories = [item for group in rollouts.played for item in group.trajectories]
    valid = [item for group in rollouts.played for item in group.valid]
    steps = [step for item in valid for step in item.steps]
    count = max(len(valid), 1)
    deviations = [pstdev(item.reward for item in group.valid) for group in rollouts.played if group.valid]
    logprobs = [value for step in steps for value in step.logprobs]
    return {
        "rollouts": len(trajectories),
        "success": sum(item.reward for item in valid) / count,
        "truncated": sum(item.ending == "truncated" for item in valid) / count,
        "failed": len(trajectories) - len(valid),
        "steps": len(steps) / count,
        "reply_tokens": sum(len(step.response_ids) for step in steps) / count,
        "action_errors": sum(bool(step.action_error) for step in steps) / max(len(steps), 1),
        "distinct_prompts": len({step.prompt_ids for step in steps}) / max(len(steps), 1),
        # With `grad_norm`, what RAGEN (arXiv 2504.20073) knows its echo trap by: both fall, and the gradients grow.
        "reward_deviation": fmean(deviations) if deviations else 0.0,
        "reply_entropy": -fmean(logprobs) if logprobs else 0.0,  # nats a token, estimated from what was sampled
        "equal_groups": sum(group.is_equal for group in rollouts.played) / max(len(rollouts.played), 1),
        "stale_groups": rollouts.stale,
        "lag": sum(version - item.policy_version for item in valid) / count,
        "trained_steps": sum(advantage != 0 for advantage in batch.advantages),
        **{f"time_{place}": share for place, share in rollouts.shares.items()},
    }
