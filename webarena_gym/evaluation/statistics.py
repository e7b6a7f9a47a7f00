"""Rates of success and how sure they are: Wilson's interval, pass@k and pass^k, paired differences, McNemar's test. Pure functions."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

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


class Lift(NamedTuple):
    """The difference of two success rates on the same tasks, with its 95 % interval."""

    lift: float
    low: float
    high: float
    p: float | None  # of McNemar's exact test, two-sided; None for several seeds, whose pairs on one task are not independent


def pooled(rewards: Sequence[Sequence[float]]) -> Score:
    """Return the score of S training seeds together, as if episodes were independent; equal seeds count once.

    >>> pooled([[0, 1], [0, 1]]).n, pooled([[0, 1], [1, 1]]).n
    (2, 4)
    """
    if all(own == rewards[0] for own in rewards):  # one agent for all
        rewards = rewards[:1]
    return wilson(sum(map(sum, rewards)), sum(map(len, rewards)))


def paired_lift(
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
    *,
    templates: Sequence[str] | None = None,
    clones: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Lift:
    """Return the mean difference of rewards, after - before, of S training seeds on the same T tasks.

    Training runs and tasks are both a sample of what could have been, so both are drawn anew, with replacement, for each
    resample of the bootstrap (percentile interval; Owen 2007, "The pigeonhole bootstrap"). With `templates`, a name for each task,
    the tasks of a template are drawn together, since they succeed and fail together; with `clones`, a name or number for each seed, the
    clones are drawn first, and then seeds of each. With few seeds such an interval is still too narrow: report the lift of each
    seed beside it.
    Raises ValueError unless both have the same shape with at least one seed and one task, and a name and number for each.

    >>> paired_lift([[0, 0, 1, 0]], [[1, 1, 1, 0]]).lift
    0.5
    """
    old, new = numpy.asarray(before, dtype=float), numpy.asarray(after, dtype=float)
    if old.ndim != 2 or old.shape != new.shape or not old.size:
        raise ValueError(f"rewards have the shapes {old.shape} and {new.shape}; expected one (seeds, tasks) for both")
    differences = new - old
    seeds, tasks = differences.shape
    templates, clones = templates or [str(task) for task in range(tasks)], clones or list(range(seeds))
    if (len(clones), len(templates)) != (seeds, tasks):
        raise ValueError(f"there are {len(clones)} clones and {len(templates)} templates; expected {seeds} and {tasks}")
    rng = numpy.random.default_rng(seed)
    of_tasks = _drawn(templates, rng, resamples)
    of_seeds = _drawn(clones, rng, resamples)
    for clone in dict.fromkeys(clones):
        own = [place for place, each in enumerate(clones) if each == clone]
        of_seeds[:, own] *= _drawn(range(len(own)), rng, resamples)
    totals = of_seeds.sum(axis=1) * of_tasks.sum(axis=1)
    means = numpy.einsum("rs,st,rt->r", of_seeds, differences, of_tasks, optimize=True) / totals
    low, high = numpy.quantile(means, [0.025, 0.975])
    p = mcnemar(old[0].tolist(), new[0].tolist()) if seeds == 1 else None
    return Lift(float(differences.mean()), float(low), float(high), p)


def _drawn(clusters: Sequence[Hashable], rng: numpy.random.Generator, resamples: int) -> NDArray[numpy.float64]:
    """Return how often each member of clusters is drawn, if as many clusters are drawn as there are, shape (R, members)."""
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    drawn = rng.multinomial(len(names), [1 / len(names)] * len(names), size=resamples)
    return drawn[:, [names[name] for name in clusters]].astype(float)


def mcnemar(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the two-sided p of McNemar's exact test (1947): whether wins and losses are equally likely.

    >>> mcnemar([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1])
    0.0625
    """
    pairs = list(zip(before, after, strict=True))
    wins, losses = sum(a > b for b, a in pairs), sum(a < b for b, a in pairs)
    n = wins + losses
    return min(1.0, 2 * sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n) if n else 1.0


class Evaluation(NamedTuple):
    """The scores of all valid episodes, by site and by type of check; `trajectories` are all episodes."""

    total: Score
    by_site: dict[str, Score]
    by_check: dict[str, Score]
    failed: int  # episodes that failed for reasons other than the policy, which do not count
    trajectories: list[Any]

    def record(self) -> dict[str, Any]:
        parts = {name: {key: score._asdict() for key, score in getattr(self, name).items()} for name in ("by_site", "by_check")}
        return {**self.total._asdict(), "failed": self.failed, **parts}

    def table(self) -> str:
        """Return the success rates, their intervals of 95 % and the numbers of episodes as lines of text.

        >>> print(Evaluation(wilson(5, 10), {"map": wilson(5, 10)}, {}, 0, []).table())
        all                   50.0 %   (24 to 76)   n = 10
        by site
          map                 50.0 %   (24 to 76)   n = 10
        """
        lines = [score_line("all", **self.total._asdict())]
        for title, scores in (("by site", self.by_site), ("by what is checked", self.by_check)):
            lines += [title] * bool(scores) + [score_line(f"  {name}", **score._asdict()) for name, score in scores.items()]
        lines += [f"{self.failed} episodes failed for other reasons and are left out"] * bool(self.failed)
        return "\n".join(lines)


def score(tasks: Sequence[Any], trajectories: Sequence[Any]) -> Evaluation:
    """Return the scores of trajectories, one for each task."""
    valid = [(task, item.reward) for task, item in zip(tasks, trajectories, strict=True) if item.ending != "failed"]

    def by(part: Callable[[Any], str]) -> dict[str, Score]:
        rewards: dict[str, list[float]] = {}
        for task, reward in valid:
            rewards.setdefault(part(task), []).append(reward)
        return {name: wilson(sum(values), len(values)) for name, values in sorted(rewards.items())}

    total = wilson(sum(reward for _, reward in valid), len(valid))
    of_parts = by(lambda task: "+".join(task.sites)), by(lambda task: "+".join(task.eval_types))
    return Evaluation(total, *of_parts, len(trajectories) - len(valid), list(trajectories))


def score_line(name: str, success: float, n: int, low: float, high: float, *, width: int = 20) -> str:
    """Return a rate of success as a line of a table."""
    return f"{name:<{width}} {100 * success:5.1f} %   ({100 * low:.0f} to {100 * high:.0f})   n = {n}"
