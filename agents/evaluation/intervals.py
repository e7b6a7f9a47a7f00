"""Confidence intervals of success rates and of paired differences, and McNemar's test. Pure functions."""

from collections.abc import Hashable, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from agents.data.trajectories import Trajectory
from webarena_gym.evaluation.statistics import Score as Score
from webarena_gym.evaluation.statistics import wilson as wilson
from webarena_gym.tasks import Task


class Lift(NamedTuple):
    """The difference of two success rates on the same tasks, with its 95 % interval."""

    lift: float
    low: float
    high: float
    p: float | None  # of McNemar's exact test, two-sided; None for several seeds, whose pairs on one task are not independent


def pooled(rewards_ST: Sequence[Sequence[float]]) -> Score:
    """Return the score of S training seeds together, as if episodes were independent; equal seeds count once.

    >>> pooled([[0, 1], [0, 1]]).n, pooled([[0, 1], [1, 1]]).n
    (2, 4)
    """
    if all(rewards == rewards_ST[0] for rewards in rewards_ST):  # one agent for all
        rewards_ST = rewards_ST[:1]
    return wilson(sum(map(sum, rewards_ST)), sum(map(len, rewards_ST)))


def paired_lift(
    before_ST: Sequence[Sequence[float]],
    after_ST: Sequence[Sequence[float]],
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
    before, after = numpy.asarray(before_ST, dtype=float), numpy.asarray(after_ST, dtype=float)
    if before.ndim != 2 or before.shape != after.shape or not before.size:
        raise ValueError(f"rewards have the shapes {before.shape} and {after.shape}; expected one (seeds, tasks) for both")
    differences = after - before
    seeds, tasks = differences.shape
    templates, clones = templates or [str(task) for task in range(tasks)], clones or list(range(seeds))
    if (len(clones), len(templates)) != (seeds, tasks):
        raise ValueError(f"there are {len(clones)} clones and {len(templates)} templates; expected {seeds} and {tasks}")
    rng = numpy.random.default_rng(seed)
    weights_RT = _drawn(templates, rng, resamples)
    weights_RS = _drawn(clones, rng, resamples)
    for clone in dict.fromkeys(clones):
        own = [place for place, each in enumerate(clones) if each == clone]
        weights_RS[:, own] *= _drawn(range(len(own)), rng, resamples)
    totals_R = weights_RS.sum(axis=1) * weights_RT.sum(axis=1)
    means_R = numpy.einsum("rs,st,rt->r", weights_RS, differences, weights_RT, optimize=True) / totals_R
    low, high = numpy.quantile(means_R, [0.025, 0.975])
    p = mcnemar(before[0].tolist(), after[0].tolist()) if seeds == 1 else None
    return Lift(float(differences.mean()), float(low), float(high), p)


def _drawn(clusters: Sequence[Hashable], rng: numpy.random.Generator, resamples: int) -> NDArray[numpy.float64]:
    """Return how often each member of clusters is drawn, if as many clusters are drawn as there are, shape (R, members)."""
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    drawn_RC = rng.multinomial(len(names), [1 / len(names)] * len(names), size=resamples)
    return drawn_RC[:, [names[name] for name in clusters]].astype(float)


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
    """The scores of all valid episodes, by site and by type of check."""

    total: Score
    by_site: dict[str, Score]
    by_check: dict[str, Score]
    failed: int  # episodes that failed for reasons other than the policy, which do not count
    trajectories: list[Trajectory]

    def record(self) -> dict[str, Any]:
        """Return the scores without the episodes, for JSON."""
        parts = {name: {key: score._asdict() for key, score in getattr(self, name).items()} for name in ("by_site", "by_check")}
        return {**self.total._asdict(), "failed": self.failed, **parts}


def summarise(tasks: Sequence[Task], trajectories: Sequence[Trajectory]) -> Evaluation:
    """Return the scores of trajectories, one for each task."""
    rewards: dict[str, list[float]] = {"": []}
    for task, trajectory in zip(tasks, trajectories, strict=True):
        if trajectory.ending == "failed":
            continue
        for part in ("", f"site {'+'.join(task.sites)}", f"check {'+'.join(task.eval_types)}"):
            rewards.setdefault(part, []).append(trajectory.reward)
    scores = {part: wilson(sum(values), len(values)) for part, values in sorted(rewards.items())}
    by_site = {part.removeprefix("site "): score for part, score in scores.items() if part.startswith("site ")}
    by_check = {part.removeprefix("check "): score for part, score in scores.items() if part.startswith("check ")}
    return Evaluation(scores[""], by_site, by_check, len(trajectories) - len(rewards[""]), list(trajectories))


def table(evaluation: Evaluation) -> str:
    """Return the success rates, their intervals of 95 % and the numbers of episodes as lines of text.

    >>> print(table(Evaluation(wilson(5, 10), {"map": wilson(5, 10)}, {}, 0, [])))
    all                   50.0 %   (24 to 76)   n = 10
    by site
      map                 50.0 %   (24 to 76)   n = 10
    """
    lines = [_line("all", evaluation.total)]
    for title, scores in (("by site", evaluation.by_site), ("by what is checked", evaluation.by_check)):
        lines += [title] * bool(scores) + [_line(f"  {name}", score) for name, score in scores.items()]
    return "\n".join(
        lines + [f"{evaluation.failed} episodes failed for other reasons and are left out"] * bool(evaluation.failed)
    )


def _line(name: str, score: Score) -> str:
    return f"{name:<20} {100 * score.success:5.1f} %   ({100 * score.low:.0f} to {100 * score.high:.0f})   n = {score.n}"
