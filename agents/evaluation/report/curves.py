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
    "success": "Success of sampled rollouts",
    "steps": "Interactions of an episode",
    "reply_tokens": "Length of a trajectory, in tokens of replies",
    "action_errors": "Share of actions that the env refused",
    "truncated": "Share of episodes out of steps",
    "loss": "Loss",
    "copy_loss": "Loss on what repeats in pages",
    "kl": "KL divergence from the reference",
    "grad_norm": "Norm of the gradient",
    "clipped": "Share of clipped tokens",
    "equal_groups": "Share of groups with equal rewards",
    "logprob_gap": "Gap of log-probabilities, sampler against learner",
}


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
