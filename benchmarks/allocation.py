"""Best switch from cloning to reinforcement at a fixed budget: `python -m benchmarks.allocation [--quick] --json`.

After "How to Train Your LLM Web Agent" (Vattikonda et al., arXiv 2507.04103): clones of different lengths are reinforced with
hyperparameters drawn at random, everything is charged in CPU minutes (the expert's play, cloning and reinforcement), and a bootstrap over the
runs estimates what the best configuration of a switch point attains. A run is measured at each budget that it passes. Runs are numbered and
kept: a stopped benchmark goes on, and more `--runs` add to those that there are. A run ends with the update that passes its budget.
Configurations are chosen on validation tasks, and what is
reported is their success on test tasks. The last line is one JSON object, which `python -m benchmarks.plots` draws.
"""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import torch

from agents.data.demonstrations import draw_tasks
from agents.models.checkpoints import agent_record
from agents.settings import NewFolder, Templates, parse_settings
from agents.train_rl import make_settings
from agents.train_rl import train as reinforce
from agents.training import pointer_cloning
from agents.training.settings import PointerBCSettings
from benchmarks.learning import demonstration_worlds
from benchmarks.playing import TrainingSettings, claim, hand_over, play, rewards, side_by_side, some
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.tasks import Task

DRAWN: dict[str, tuple[Any, ...]] = {
    "learning_rate": (1e-4, 2.5e-4, 5e-4, 1e-3, 2e-3), "group_size": (4, 8, 16), "temperature": (0.5, 0.75, 1.0),
    "advantages": ("state", "trajectory", "gigpo"), "seek_mixed": (True, False),
}  # fmt: skip
"""Hyperparameters of reinforcement, and the values that they are drawn from, beside the number of groups in an update."""
QUICK: dict[str, Any] = {
    "runs": 3, "seeds": (0,), "cloning_updates": (0, 15, 45), "budgets": (0.12, 0.2), "groups": (1, 2), "limit": 8,
    "templates": ("reddit.subscription", "gitlab.star_count"), "worlds": (41,), "max_steps": 6, "training_steps": 6,
    "out": Path("runs/allocation_quick"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AllocationSettings(TrainingSettings):
    """Reinforce clones of different lengths with hyperparameters drawn at random, and estimate the best switch point."""

    out: NewFolder = Path("runs/allocation")
    """folder of all clones and runs"""
    runs: int = 150
    """how many runs of reinforcement; the first of them are those that a smaller number has"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """clones of each length, each with demonstrations in worlds of its own"""
    cloning_updates: tuple[int, ...] = (0, 100, 300, 600, 1200, 2400)
    """lengths of cloning after which there is a switch point; 0: reinforcement alone, of a network that knows words and nothing else"""
    budgets: tuple[float, ...] = (2.0, 4.0, 8.0)
    """CPU minutes at which runs are measured, all in all"""
    groups: tuple[int, ...] = (8, 16, 32)
    """numbers of groups in an update that are drawn from"""
    templates: Templates = ()
    """only tasks of these templates; by default the training split's to train on, those of the other splits to evaluate on"""
    validation_world: int = 1104
    """world of the tasks that configurations are chosen on"""
    test_world: int = 1907
    """world of the tasks whose success is reported"""
    training_steps: int = 15
    """steps of an episode in reinforcement"""
    resamples: int = 2000
    """of the bootstrap"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if list(self.budgets) != sorted(set(self.budgets)) or not self.budgets or min(self.budgets) <= 0:
            raise ValueError(f"budgets are {self.budgets}; expected one or more rising ones above 0")
        if 0 not in self.cloning_updates or len(set(self.cloning_updates)) < 2:
            raise ValueError(f"cloning_updates are {self.cloning_updates}; expected 0, for reinforcement alone, and others")


class Point(NamedTuple):
    """Success of a run at a budget, in CPU minutes, on validation tasks and on test tasks."""

    budget: float
    validation: float
    test: float


class Clone(NamedTuple):
    """A clone, what it cost in CPU minutes, and its success."""

    seed: int
    updates: int
    cpu_minutes: float
    validation: float
    test: float


class Run(NamedTuple):
    """A run of reinforcement: the length of its clone, its hyperparameters, and what it has attained."""

    updates: int
    options: Mapping[str, Any]
    points: Sequence[Point]


class Estimate(NamedTuple):
    """The test success that the configuration which is best on validation tasks is expected to have, and its interval of 95 %."""

    test: float
    low: float
    high: float
    validation: float  # of that configuration, by which switch points are compared
    n: int  # configurations


def run(settings: AllocationSettings) -> dict[str, Any]:
    """Train what is not trained yet, evaluate, and return the figures."""
    pairs = list(product(settings.seeds, settings.cloning_updates))
    clones = {
        (clone.seed, clone.updates): clone
        for clone in side_by_side(clone_and_measure, [(settings, *pair) for pair in pairs], settings.jobs)
    }
    calls = []
    for number in range(settings.runs):
        seed, updates, options = configuration(settings, number)
        calls.append((settings, number, clones[seed, updates], options))
    return summary(settings, list(clones.values()), side_by_side(train_and_measure, calls, settings.jobs))


def configuration(settings: AllocationSettings, number: int) -> tuple[int, int, dict[str, Any]]:
    """Return the clone's seed and length, in turn, and the hyperparameters, at random, of the run with a number."""
    turn, place = divmod(number, len(settings.cloning_updates))
    rng = Random(f"allocation/{number}")
    options = {name: rng.choice(values) for name, values in _drawn(settings).items()}
    return settings.seeds[turn % len(settings.seeds)], settings.cloning_updates[place], options


def _drawn(settings: AllocationSettings) -> dict[str, tuple[Any, ...]]:
    return {**DRAWN, "tasks_per_update": settings.groups}


def clone_and_measure(settings: AllocationSettings, seed: int, updates: int) -> Clone:
    """Return a clone of some length, which is trained first where it is not there. One that was killed begins anew."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    folder = _clone_folder(settings, seed, updates)
    kept = folder / "cost.json"
    worlds = demonstration_worlds(1, seed)
    options: dict[str, Any] = {"updates": updates, "seed": seed, "worlds": worlds, "templates": settings.templates}
    claim(folder, **options)
    if not kept.exists():
        shutil.rmtree(folder / "run", ignore_errors=True)
        began_s = time.process_time()
        pointer_cloning.train_pointer(
            PointerBCSettings(out=folder / "run", threads=settings.threads, one_world_each=not settings.templates, **options)
        )
        kept.write_text(json.dumps((time.process_time() - began_s) / 60), encoding="utf-8")
    minutes = json.loads(kept.read_text(encoding="utf-8"))
    return Clone(seed, updates, minutes, *_measure(settings, folder / "run", folder / "episodes"))


def train_and_measure(settings: AllocationSettings, number: int, clone: Clone, options: Mapping[str, Any]) -> Run:
    """Return what a run has attained at each budget that is more than its clone cost."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    folder = settings.out / "runs" / f"{number:04}"
    cloned = _clone_folder(settings, clone.seed, clone.updates) / "run"
    common: dict[str, Any] = {name: getattr(settings, name) for name in ("worlds", "per_template", "templates", "threads")}
    common |= {"max_steps": settings.training_steps, "seed": number}
    claim(folder, cloned=cloned, **common, **options)
    points = []
    for budget in settings.budgets:
        if budget <= clone.cpu_minutes:
            continue
        episodes = folder / f"episodes_{budget:g}"
        if not (episodes / "test.jsonl").exists():
            own = {**agent_record(cloned), **common, **options, "model": str(cloned), "out": folder / "run"}
            reinforce(make_settings("grpo", cpu_minutes=budget - clone.cpu_minutes, **own))
        points.append(Point(budget, *_measure(settings, folder / "run", episodes)))
    return Run(clone.updates, dict(options), points)


def summary(settings: AllocationSettings, clones: Sequence[Clone], runs: Sequence[Run]) -> dict[str, Any]:
    """Return the figures of clones and runs: for each budget the estimates of cloning alone, of reinforcement alone and of both.

    What is compared has equally many configurations in each resample, as the best of more is better by chance.
    """
    found: dict[str, Any] = {"bc_only": [], "rl_only": [], "mixed": [], "best_switch": []}
    intervals: dict[str, list[Any]] = {"bc_only": [], "rl_only": [], "mixed": []}
    by_switch: list[dict[str, Any]] = []
    for budget in settings.budgets:
        of_switch = {
            updates: [point for item in runs if item.updates == updates for point in item.points if point.budget == budget]
            for updates in sorted(settings.cloning_updates)
        }
        draws = min((len(points) for points in of_switch.values() if points), default=0)
        estimates = {updates: expected_best(points, draws, settings.resamples) for updates, points in of_switch.items()}
        # Of each seed the clone that is best on validation tasks among those that cost no more: one run of cloning passes them all.
        affordable = [clone for clone in clones if clone.updates and clone.cpu_minutes <= budget]
        of_seed = {clone.seed: [item for item in affordable if item.seed == clone.seed] for clone in affordable}
        points = [_best([Point(budget, item.validation, item.test) for item in own]) for own in of_seed.values()]
        cloned = expected_best(points, draws, settings.resamples)
        mixed = {updates: estimate for updates, estimate in estimates.items() if updates and estimate}
        best = max(mixed, key=lambda updates: mixed[updates].validation, default=None)
        found["best_switch"].append(best)
        chosen = {"bc_only": cloned, "rl_only": estimates[0], "mixed": mixed[best] if best is not None else None}
        for name, estimate in chosen.items():
            found[name].append(round(estimate.test, 4) if estimate else None)
            intervals[name].append([round(estimate.low, 4), round(estimate.high, 4)] if estimate else None)
        for updates, estimate in estimates.items():
            if estimate:
                cost = round(fmean(clone.cpu_minutes for clone in clones if clone.updates == updates), 3)
                by_switch.append({"budget": budget, "updates": updates, "cloning_cpu_minutes": cost, **estimate._asdict()})
    last = [(item, point) for item in runs for point in item.points if point.budget == settings.budgets[-1]]
    return {
        "runs": len(runs), "budgets": list(settings.budgets), **found, "ci95": intervals, "by_switch": by_switch,
        "options": {name: _by_value(name, values, last, settings.resamples) for name, values in _drawn(settings).items()},
        "clones": [clone._asdict() for clone in clones], "n": len(held_out(settings)["test"]),
    }  # fmt: skip


def expected_best(points: Sequence[Point], draws: int, resamples: int) -> Estimate | None:
    """Return the bootstrap's estimate for the best of `draws` configurations, drawn from these with replacement; None without any.

    >>> expected_best([Point(1.0, 0.5, 0.4)], 3, 10).test
    0.4
    """
    if not points or not draws:
        return None
    rng = Random(0)
    bests = [_best(rng.choices(points, k=draws)) for _ in range(resamples)]
    tests = sorted(point.test for point in bests)
    low, high = tests[int(0.025 * len(tests))], tests[min(int(0.975 * len(tests)), len(tests) - 1)]
    return Estimate(fmean(tests), low, high, fmean(point.validation for point in bests), len(points))


def _best(points: Sequence[Point]) -> Point:
    return max(points, key=lambda point: point.validation)


def _by_value(name: str, values: Sequence[Any], last: Sequence[tuple[Run, Point]], resamples: int) -> list[dict[str, Any]]:
    """Return for each value of a hyperparameter the estimate of its best configuration, and how often it is the best of all values."""
    of_value = {value: [point for item, point in last if item.options[name] == value] for value in values}
    present = {value: points for value, points in of_value.items() if points}
    draws = min(map(len, present.values()), default=0)
    rng = Random(name)
    wins = dict.fromkeys(present, 0)
    for _ in range(resamples if present else 0):
        bests = {value: _best(rng.choices(points, k=draws)).validation for value, points in present.items()}
        highest = [value for value, validation in bests.items() if validation == max(bests.values())]
        wins[rng.choice(highest)] += 1
    rows = []
    for value, points in present.items():
        estimate = expected_best(points, draws, resamples)
        assert estimate is not None  # there are points
        rows.append({"value": value, "wins": round(wins[value] / resamples, 4), **estimate._asdict()})
    return rows


def _clone_folder(settings: AllocationSettings, seed: int, updates: int) -> Path:
    return settings.out / "clones" / f"{seed}_{updates}"


def held_out(settings: AllocationSettings) -> dict[str, list[Task]]:
    """Return the tasks to choose by and those to report."""
    worlds = {"validation": settings.validation_world, "test": settings.test_world}
    found = {
        split: draw_tasks([world], 4, templates=settings.templates)
        if settings.templates
        else list(task_suite.load(split, world))
        for split, world in worlds.items()
    }
    return {split: some(tasks, settings.limit) for split, tasks in found.items()}


def _measure(settings: AllocationSettings, policy: Path, folder: Path) -> tuple[float, float]:
    """Return the greedy success on validation tasks and on test tasks; episodes that were played are read again."""
    validation, test = (
        fmean(rewards(play(str(policy), tasks, folder / f"{split}.jsonl", max_steps=settings.max_steps)))
        for split, tasks in held_out(settings).items()
    )
    return validation, test


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(
        AllocationSettings, arguments, QUICK if "--quick" in arguments else {}, program="benchmarks.allocation"
    )
    result = run(settings) | {"quick": settings.quick}
    for row in result["by_switch"]:
        print(
            f"{row['budget']:6.2f} CPU minutes, {row['updates']:5} updates of cloning   {100 * row['test']:5.1f} %   "
            f"({100 * row['low']:.1f} to {100 * row['high']:.1f})   n = {row['n']}"
        )
    hand_over("allocation", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.allocation", main)
