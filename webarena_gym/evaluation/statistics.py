"""Rates of success and how sure they are: Wilson's interval, pass@k and pass^k. Pure functions."""

from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

_Z = 1.959964  # of a 95 % interval


class Score(NamedTuple):
    """A rate of success among n episodes, with its interval of 95 %."""

    success: float
    n: int
    low: float
    high: float


def wilson(successes: float, n: float) -> Score:
    """Return the rate of success with Wilson's score interval (1927).

    >>> [round(value, 3) for value in wilson(5, 10)]
    [0.5, 10, 0.237, 0.763]
    """
    if n == 0:
        return Score(0.0, 0, 0.0, 1.0)
    rate = successes / n
    centre = (rate + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * (rate * (1 - rate) / n + _Z**2 / (4 * n**2)) ** 0.5
    return Score(rate, round(n), max(0.0, centre - half), min(1.0, centre + half))


def clustered(rewards: Mapping[str, Sequence[float]]) -> Score:
    """Return the rate of success of all episodes, by task, with an interval for tasks that were played several times.

    Episodes of one task are not independent, so Wilson's interval is that of the effective number of episodes: n divided by the
    design effect 1 + (m - 1) * rho (Kish 1965), where m is the mean number of episodes of a task and rho the correlation of two
    episodes of one task, estimated by the analysis of variance and taken between 0 and 1. With one episode a task it is `wilson`.

    >>> clustered({"a": [1, 1, 1], "b": [0, 0, 0]}) == wilson(1, 2)._replace(n=6)
    True
    >>> clustered({"a": [1], "b": [0]}) == wilson(1, 2)
    True
    """
    groups = [list(values) for values in rewards.values() if values]
    n, total = sum(map(len, groups)), sum(map(sum, groups))
    rho, mean = _correlation(groups), n / max(len(groups), 1)
    effective = n / (1 + (mean - 1) * rho) if n else 0
    return wilson(effective * total / n if n else 0, effective)._replace(n=n)


def _correlation(groups: Sequence[Sequence[float]]) -> float:
    """Return the intraclass correlation of the episodes of a task; 1, the most careful value, where nothing varies."""
    n, tasks = sum(map(len, groups)), len(groups)
    if n == tasks:
        return 0.0
    if tasks < 2:
        return 1.0
    mean = sum(map(sum, groups)) / n
    means = [sum(values) / len(values) for values in groups]
    between = sum(len(values) * (own - mean) ** 2 for values, own in zip(groups, means, strict=True)) / (tasks - 1)
    within = sum((value - own) ** 2 for values, own in zip(groups, means, strict=True) for value in values) / (n - tasks)
    size = (n - sum(len(values) ** 2 for values in groups) / n) / (tasks - 1)
    spread = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / spread)) if spread > 0 else 1.0


def pass_at(k: int, rewards: Sequence[float]) -> float:
    """Return the probability that at least one of k episodes of a task succeeds, from n >= k that were played.

    It is the unbiased estimate 1 - C(n - c, k) / C(n, k) of c successes (Chen et al. 2021, arXiv 2107.03374).

    >>> pass_at(1, [1, 0, 0, 0]), pass_at(2, [1, 0, 0, 0])
    (0.25, 0.5)
    """
    n, successes = len(rewards), sum(reward >= 1 for reward in rewards)
    return 1 - comb(n - successes, k) / comb(n, k)


def pass_all(k: int, rewards: Sequence[float]) -> float:
    """Return pass^k: the probability that all of k episodes of a task succeed, from n >= k that were played.

    It is the unbiased estimate C(c, k) / C(n, k) of c successes (Yao et al. 2024, arXiv 2406.12045).

    >>> pass_all(1, [1, 1, 1, 0]), pass_all(2, [1, 1, 1, 0])
    (0.75, 0.5)
    """
    n, successes = len(rewards), sum(reward >= 1 for reward in rewards)
    return comb(successes, k) / comb(n, k)


def over_tasks(rewards: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    """Return pass@k and pass^k as means over tasks, for every k up to the number of episodes that each task has.

    >>> over_tasks({"a": [1, 1], "b": [1, 0]})
    {'pass@k': {'1': 0.75, '2': 1.0}, 'pass^k': {'1': 0.75, '2': 0.5}}
    """
    groups = [values for values in rewards.values() if values]
    most = min(map(len, groups), default=0)
    return {
        name: {str(k): sum(estimate(k, values) for values in groups) / len(groups) for k in range(1, most + 1)}
        for name, estimate in (("pass@k", pass_at), ("pass^k", pass_all))
    }
