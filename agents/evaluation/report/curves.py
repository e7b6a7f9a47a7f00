"""Learning curves: the metrics of runs, averaged to at most 400 points per line."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

MOST_POINTS = 400
AXES = {
    "update": "updates",
    "elapsed_s": "seconds",
    "cpu_minutes": "minutes of CPU time",
    "env_steps": "interactions with the env",
    "generated_tokens": "tokens sampled",
}
"""Metrics that only grow, which are the x axes, and their labels."""

FIRST_SHOWN = ("success", "steps", "reply_tokens", "action_errors", "loss", "copy_loss")
"""Metrics that are drawn by default."""

TITLES = {
    # what the rollouts were like
    "success": "Success of sampled rollouts",
    "rollouts": "Rollouts of an update",
    "failed": "Rollouts that failed for a fault of the machinery",
    "steps": "Steps of an episode",
    "truncated": "Share of episodes out of steps",
    "action_errors": "Share of actions that the env refused",
    "reply_tokens": "Tokens of replies in an episode",
    "reply_entropy": "Entropy of the replies, nats a token",
    "distinct_prompts": "Share of steps whose prompt no other step has",
    "reward_deviation": "Standard deviation of the rewards within a group",
    "equal_groups": "Share of groups with equal rewards",
    "stale_groups": "Groups dropped, as they were sampled too long ago",
    "lag": "Updates between sampling and learning",
    "time_env": "Share of time in envs",
    "time_generation": "Share of time in generation",
    "time_queue": "Share of time waiting for generation",
    "time_idle": "Share of time idle",
    # what the update did
    "loss": "Loss",
    "copy_loss": "Loss on what repeats in pages",
    "kl": "KL divergence from the reference",
    "grad_norm": "Norm of the gradient",
    "clipped": "Share of clipped tokens",
    "learning_rate": "Learning rate",
    "trained_steps": "Steps with an advantage other than 0",
    "trained_tokens": "Reply tokens trained on so far, once for each pass",
    "rollout_s": "Seconds of waiting for rollouts",
    "logprob_gap": "Largest gap of log-probabilities, learner against sampler",
    "mismatch_mean": "Mean gap of log-probabilities before the update, learner against sampler",
    "mismatch_largest": "Largest gap of log-probabilities before the update, learner against sampler",
    "mismatch_kl": "KL divergence of the learner from the sampler before the update",
    # cloning
    "tokens": "Tokens of a batch",
    "samples": "Samples of a batch",
    "decisions": "Decisions of a batch",
    "coverage": "Share of the demonstrations' steps that can be said",
    # methods
    "accuracy": "Share of pairs whose better reply is the likelier one",
    "chosen_episodes": "Episodes that are learned from",
    "chosen_success": "Success of the episodes that are learned from",
    "argument_right": "Share of arguments that are the expert's",
    "element_right": "Share of elements that are the expert's",
    "format_of_failures": "Share of the format in what failed episodes earned",
    "format_right": "Share of replies of the right format",
    "imitated": "Episodes that are imitated",
    "kind_right": "Share of actions of the expert's kind",
    "known_steps": "Share of steps in states that the expert has seen",
    "pairs": "Pairs of a better and a worse reply",
    "progress": "Share of the expert's steps that were done",
    "replayed": "Steps replayed from own successes",
    "solved": "Share of tasks that the search solves",
    "structured_of_failures": "Structured reward of a failed episode's step",
    "structured_of_successes": "Structured reward of a successful episode's step",
    "critic_loss": "Loss of the critic",
    "dpo_loss": "Loss of the preferences",
    "goal_critic_accuracy": "Accuracy of the critic of goals",
    "goal_critic_loss": "Loss of the critic of goals",
    "importance_max": "Largest importance weight of a searched step",
    "importance_min": "Smallest importance weight of a searched step",
    "kept_deviation": "Standard deviation of the rewards within a kept group",
    "kept_groups": "Groups that are learned from",
    "margin": "Margin of the better reply over the worse one",
    "mean_weight": "Mean weight of a step",
    "new_tasks": "Tasks that the curriculum has added",
    "replayed_steps": "Steps replayed from earlier successes",
    "reward_model_accuracy": "Accuracy of the outcome model",
    "reward_model_loss": "Loss of the outcome model",
    "reward_model_success": "Success as the outcome model judges it",
    "searched": "Share of steps that the search changed",
    "step_critic_loss": "Loss of the critic of steps",
    # Stable-Baselines3
    "approx_kl": "KL divergence from the policy that played",
    "clip_fraction": "Share of clipped ratios",
    "clip_range": "Range of the clip",
    "entropy_loss": "Negative entropy of the policy",
    "explained_variance": "Share of the returns' variance that the critic explains",
    "n_updates": "Passes over batches so far",
    "policy_gradient_loss": "Loss of the policy",
    "value_loss": "Loss of the value function",
}
"""What the other metrics are called."""


def thin(records: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the lines of a run: its number of `updates`, how many make a point (`stretch`), and the `values` of each metric.

    A point is the mean of the finite values of its stretch, None where there are none; along the axes, the last value.

    >>> thin([{"update": 1, "loss": 2.0}, {"update": 2, "loss": 4.0}])["values"]
    {'update': [1, 2], 'loss': [2.0, 4.0]}
    """
    stretch = -(-len(records) // MOST_POINTS) or 1
    names = dict.fromkeys(name for record in records for name, value in record.items() if isinstance(value, int | float))
    stretches = [records[start : start + stretch] for start in range(0, len(records), stretch)]
    values = {name: [_point(part, name) for part in stretches] for name in names}
    return {"updates": len(records), "stretch": stretch, "values": values}


def _point(records: Sequence[Mapping[str, float]], name: str) -> float | None:
    known = [record[name] for record in records if name in record and isfinite(record[name])]
    if not known:
        return None
    return float(f"{sum(known) / len(known):.6g}") if name not in AXES else known[-1]
