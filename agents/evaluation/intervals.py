"""Confidence intervals of success rates and of paired differences, and McNemar's test. Pure functions."""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy

from webarena_gym.evaluation.statistics import Score as Score
from webarena_gym.evaluation.statistics import wilson as wilson


class Lift(NamedTuple):
    """The difference of two success rates on the same tasks, with its 95 % interval."""

    lift: float
    low: float
    high: float
    p: float | None  # of McNemar's exact test, two-sided; None for several seeds, whose pairs on one task are not independent


def pooled(rewards_ST: Sequence[Sequence[float]]) -> Score:
    """Return the score of S training seeds together, as if every episode were a sample of its own; equal seeds count once.

    >>> pooled([[0, 1], [0, 1]]).n, pooled([[0, 1], [1, 1]]).n
    (2, 4)
    """
    if all(rewards == rewards_ST[0] for rewards in rewards_ST):  # one agent for all
        rewards_ST = rewards_ST[:1]
    return wilson(sum(map(sum, rewards_ST)), sum(map(len, rewards_ST)))


def paired_lift(
    before_ST: Sequence[Sequence[float]], after_ST: Sequence[Sequence[float]], *, resamples: int = 10_000, seed: int = 0
) -> Lift:
    """Return the mean difference of rewards, after - before, of S training seeds on the same T tasks.

    Training runs and tasks are both a sample of what could have been, so both are drawn anew, with replacement, for each
    resample of the bootstrap (percentile interval; Owen 2007, "The pigeonhole bootstrap"). With few seeds such an interval
    is still too narrow: report the lift of each seed beside it.
    Raises ValueError unless both have the same shape with at least one seed and one task.

    >>> paired_lift([[0, 0, 1, 0]], [[1, 1, 1, 0]]).lift
    0.5
    """
    before, after = numpy.asarray(before_ST, dtype=float), numpy.asarray(after_ST, dtype=float)
    if before.ndim != 2 or before.shape != after.shape or not before.size:
        raise ValueError(f"rewards have the shapes {before.shape} and {after.shape}; expected one (seeds, tasks) for both")
    differences = after - before
    seeds, tasks = differences.shape
    rng = numpy.random.default_rng(seed)
    # How often each seed and each task is drawn: as many times in all as there are of them.
    weights_RS = rng.multinomial(seeds, [1 / seeds] * seeds, size=resamples) / seeds
    weights_RT = rng.multinomial(tasks, [1 / tasks] * tasks, size=resamples) / tasks
    means = numpy.einsum("rs,st,rt->r", weights_RS, differences, weights_RT, optimize=True)
    low, high = numpy.quantile(means, [0.025, 0.975])
    p = mcnemar(before[0].tolist(), after[0].tolist()) if seeds == 1 else None
    return Lift(float(differences.mean()), float(low), float(high), p)


def mcnemar(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the two-sided p of McNemar's exact test (1947): whether wins and losses are equally likely.

    >>> mcnemar([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1])
    0.0625
    """
    pairs = list(zip(before, after, strict=True))
    wins, losses = sum(a > b for b, a in pairs), sum(a < b for b, a in pairs)
    n = wins + losses
    return min(1.0, 2 * sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n) if n else 1.0
