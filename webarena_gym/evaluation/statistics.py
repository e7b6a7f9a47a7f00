"""Success rates and their uncertainty: Wilson intervals, pass@k and pass^k, paired bootstrap differences, McNemar's test."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

_Z = 1.959964  # quantile of a 95 % interval


class Score(NamedTuple):
    """A success rate with its 95 % confidence interval."""

    success: float
    """success rate, from 0 to 1"""
    n: int
    """number of episodes"""
    low: float
    """lower end of the interval"""
    high: float
    """upper end of the interval"""


def wilson(successes: float, n: float) -> Score:
    """Return the success rate with Wilson's score interval (1927).

    >>> [round(value, 3) for value in wilson(5, 10)]
    [0.5, 10, 0.237, 0.763]
    """
    if n == 0:
        return Score(0.0, 0, 0.0, 1.0)
    rate = successes / n
    centre = (rate + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * (rate * (1 - rate) / n + _Z**2 / (4 * n**2)) ** 0.5
    return Score(rate, round(n), max(0.0, centre - half), min(1.0, centre + half))


def clustered_score(rewards: Mapping[str, Sequence[float]]) -> Score:
    """Return the success rate of all episodes, with an interval that accounts for several episodes of a task.

    Episodes of one task are not independent. Therefore Wilson's interval uses the effective number of episodes: n divided by the
    design effect 1 + (m - 1) * rho (Kish 1965), where m is the mean number of episodes per task and rho the intraclass correlation,
    estimated by analysis of variance and clipped to 0..1. With one episode per task, the result equals `wilson`.

    Args:
        rewards: rewards of the episodes, by task.

    >>> clustered_score({"a": [1, 1, 1], "b": [0, 0, 0]}) == wilson(1, 2)._replace(n=6)
    True
    >>> clustered_score({"a": [1], "b": [0]}) == wilson(1, 2)
    True

    """
    groups = [list(values) for values in rewards.values() if values]
    n, total = sum(map(len, groups)), sum(map(sum, groups))
    rho, mean = _correlation(groups), n / max(len(groups), 1)
    effective = n / (1 + (mean - 1) * rho) if n else 0
    return wilson(effective * total / n if n else 0, effective)._replace(n=n)


def _correlation(groups: Sequence[Sequence[float]]) -> float:
    """Return the intraclass correlation of the episodes of a task; 1, the conservative value, without any variance."""
    n, tasks = sum(map(len, groups)), len(groups)
    if n == tasks:
        return 0.0
    if tasks < 2:
        return 1.0
    mean = sum(map(sum, groups)) / n
    means = [sum(values) / len(values) for values in groups]
    between = sum(len(values) * (center - mean) ** 2 for values, center in zip(groups, means, strict=True)) / (tasks - 1)
    within = sum((value - center) ** 2 for values, center in zip(groups, means, strict=True) for value in values) / (n - tasks)
    size = (n - sum(len(values) ** 2 for values in groups) / n) / (tasks - 1)
    spread = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / spread)) if spread > 0 else 1.0


def pass_at(k: int, rewards: Sequence[float]) -> float:
    """Return pass@k: the estimated probability that at least one of k episodes of a task succeeds, from n >= k episodes.

    The unbiased estimate from c successes is 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374).

    >>> pass_at(1, [1, 0, 0, 0]), pass_at(2, [1, 0, 0, 0])
    (0.25, 0.5)
    """
    n, successes = len(rewards), sum(reward >= 1 for reward in rewards)
    return 1 - comb(n - successes, k) / comb(n, k)


def pass_all(k: int, rewards: Sequence[float]) -> float:
    """Return pass^k: the estimated probability that all of k episodes of a task succeed, from n >= k episodes.

    The unbiased estimate from c successes is C(c, k) / C(n, k) (Yao et al. 2024, arXiv 2406.12045).

    >>> pass_all(1, [1, 1, 1, 0]), pass_all(2, [1, 1, 1, 0])
    (0.75, 0.5)
    """
    n, successes = len(rewards), sum(reward >= 1 for reward in rewards)
    return comb(successes, k) / comb(n, k)


def mean_pass_rates(rewards: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    """Return the means of pass@k and pass^k over tasks, for k up to the smallest number of episodes of a task.

    >>> mean_pass_rates({"a": [1, 1], "b": [1, 0]})
    {'pass@k': {'1': 0.75, '2': 1.0}, 'pass^k': {'1': 0.75, '2': 0.5}}
    """
    groups = [values for values in rewards.values() if values]
    max_k = min(map(len, groups), default=0)
    return {
        name: {str(k): sum(estimate(k, values) for values in groups) / len(groups) for k in range(1, max_k + 1)}
        for name, estimate in (("pass@k", pass_at), ("pass^k", pass_all))
    }


class PairedDifference(NamedTuple):
    """Difference of two success rates on the same tasks, with its 95 % interval.

    `p` is the two-sided p-value of McNemar's exact test. It is None for several seeds, whose pairs on one task are not independent.
    """

    lift: float
    low: float
    high: float
    p: float | None


def pooled_score(rewards: Sequence[Sequence[float]]) -> Score:
    """Return the score of all episodes of S training seeds, treated as independent; seeds with equal rewards count once.

    >>> pooled_score([[0, 1], [0, 1]]).n, pooled_score([[0, 1], [1, 1]]).n
    (2, 4)
    """
    if all(values == rewards[0] for values in rewards):  # the same agent for all seeds
        rewards = rewards[:1]
    return wilson(sum(map(sum, rewards)), sum(map(len, rewards)))


def paired_difference(
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
    *,
    templates: Sequence[str] | None = None,
    seed_groups: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedDifference:
    """Return the mean difference of rewards, after - before, of S training seeds on the same T tasks.

    Training runs and tasks are both samples, so both are resampled with replacement for the percentile interval (Owen 2007, "The
    pigeonhole bootstrap"). With few seeds the interval is still too narrow: report the difference of each seed too. With fewer
    than about ten templates it is also too narrow, and if all of them have equal differences, its width is 0.

    Args:
        before: rewards of the baseline, shape (S, T).
        after: rewards of the other agent, shape (S, T).
        templates: template of each task, T names. Tasks of a template are resampled together, because their rewards are correlated.
        seed_groups: group of each seed, S values, such as the BC agent from which its training started. Groups are resampled first,
            then seeds within each group.
        resamples: number of bootstrap resamples.
        seed: random seed of the bootstrap.

    Raises:
        ValueError: unless all shapes match, with at least one seed and one task.

    >>> paired_difference([[0, 0, 1, 0]], [[1, 1, 1, 0]]).lift
    0.5

    """
    baseline, compared = numpy.asarray(before, dtype=float), numpy.asarray(after, dtype=float)
    if baseline.ndim != 2 or baseline.shape != compared.shape or not baseline.size:
        raise ValueError(f"rewards have the shapes {baseline.shape} and {compared.shape}; expected (seeds, tasks) for both")
    differences = compared - baseline
    seeds, tasks = differences.shape
    templates, groups = templates or [str(task) for task in range(tasks)], seed_groups or list(range(seeds))
    if (len(groups), len(templates)) != (seeds, tasks):
        raise ValueError(f"got {len(groups)} seed groups and {len(templates)} templates; expected {seeds} and {tasks}")
    rng = numpy.random.default_rng(seed)
    task_counts = _resample_counts(templates, rng, resamples)  # (resamples, tasks)
    seed_counts = _resample_counts(groups, rng, resamples)  # (resamples, seeds)
    for group in dict.fromkeys(groups):
        members = [index for index, name in enumerate(groups) if name == group]
        seed_counts[:, members] *= _resample_counts(range(len(members)), rng, resamples)
    totals = seed_counts.sum(axis=1) * task_counts.sum(axis=1)
    means = numpy.einsum("rs,st,rt->r", seed_counts, differences, task_counts, optimize=True) / totals
    low, high = numpy.quantile(means, [0.025, 0.975])
    p = mcnemar(baseline[0].tolist(), compared[0].tolist()) if seeds == 1 else None
    return PairedDifference(float(differences.mean()), float(low), float(high), p)


def _resample_counts(clusters: Sequence[Hashable], rng: numpy.random.Generator, resamples: int) -> NDArray[numpy.float64]:
    """Return the multiplicity of each member in bootstrap resamples of whole clusters, shape (resamples, members)."""
    indices = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    counts = rng.multinomial(len(indices), [1 / len(indices)] * len(indices), size=resamples)
    return counts[:, [indices[name] for name in clusters]].astype(float)


def mcnemar(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the two-sided p-value of McNemar's exact test (1947) of the hypothesis that wins and losses are equally likely.

    >>> mcnemar([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1])
    0.0625
    """
    pairs = list(zip(before, after, strict=True))
    wins, losses = sum(a > b for b, a in pairs), sum(a < b for b, a in pairs)
    n = wins + losses
    return min(1.0, 2 * sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n) if n else 1.0


class Evaluation(NamedTuple):
    """Scores of all valid episodes, by site and by eval kind.

    `failed` is the number of excluded episodes, which failed through an infrastructure error. `trajectories` holds all episodes.
    """

    total: Score
    by_site: dict[str, Score]
    by_check: dict[str, Score]
    failed: int
    trajectories: list[Any]

    def record(self) -> dict[str, Any]:
        parts = {name: {key: score._asdict() for key, score in getattr(self, name).items()} for name in ("by_site", "by_check")}
        return {**self.total._asdict(), "failed": self.failed, **parts}

    def table(self) -> str:
        """Return the success rates, their 95 % intervals and the numbers of episodes as a text table.

        >>> print(Evaluation(wilson(5, 10), {"map": wilson(5, 10)}, {}, 0, []).table())
        all                   50.0 %   (24 to 76)   n = 10
        success rate, its 95 % confidence interval, number of episodes
        by site
          map                 50.0 %   (24 to 76)   n = 10
        """
        width = max(20, *(len(name) + 2 for name in ("", *self.by_site, *self.by_check)))
        lines = [score_line("all", **self.total._asdict(), width=width), SCORE_COLUMNS]
        for title, scores in (("by site", self.by_site), ("by kind of check", self.by_check)):
            rows = [score_line(f"  {name}", **score._asdict(), width=width) for name, score in scores.items()]
            lines += [title] * bool(rows) + rows
        if self.failed:
            failures = Counter(" ".join(item.failure.split()) for item in self.trajectories if item.ending == "failed")
            lines.append(f"{self.failed} of {len(self.trajectories)} episodes failed, and are excluded from all statistics:")
            lines += [f"  {count} x {failure}" for failure, count in failures.most_common()]
        return "\n".join(lines)


def score(tasks: Sequence[Any], trajectories: Sequence[Any]) -> Evaluation:
    """Return the scores of trajectories, one for each task in the same order."""
    valid = [(task, item.reward) for task, item in zip(tasks, trajectories, strict=True) if item.ending != "failed"]

    def group_scores(key: Callable[[Any], str]) -> dict[str, Score]:
        rewards: dict[str, list[float]] = {}
        for task, reward in valid:
            rewards.setdefault(key(task), []).append(reward)
        return {name: wilson(sum(values), len(values)) for name, values in sorted(rewards.items())}

    total = wilson(sum(reward for _, reward in valid), len(valid))
    by_site, by_check = group_scores(lambda task: "+".join(task.sites)), group_scores(lambda task: "+".join(task.eval_types))
    return Evaluation(total, by_site, by_check, len(trajectories) - len(valid), list(trajectories))


SCORE_COLUMNS = "success rate, its 95 % confidence interval, number of episodes"
"""Explanation of the columns of `score_line`."""


def score_line(name: str, success: float, n: int, low: float, high: float, *, width: int = 20) -> str:
    """Return a success rate as a line of a table, in percent."""
    return f"{name:<{width}} {100 * success:5.1f} %   ({100 * low:.0f} to {100 * high:.0f})   n = {n}"
