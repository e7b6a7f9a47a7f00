"""Best switch from behaviour cloning to reinforcement learning at a fixed budget: `python -m benchmarks.allocation [--quick] --json`.

After "How to Train Your LLM Web Agent" (Vattikonda et al., arXiv 2507.04103): BC agents of different training lengths are fine-tuned with
randomly drawn hyperparameters, all work is charged in CPU minutes (the expert's episodes, BC and RL), and a bootstrap over the runs
estimates the success of the best configuration of each switch point. A run is evaluated at each budget that it reaches, and ends with the
update that exceeds its budget. Runs are numbered and stored: a stopped benchmark is resumed, and a larger `--runs` adds to the existing
runs. Configurations are selected on validation tasks, and their success on test tasks is reported. The last line is one JSON object,
from which `python -m benchmarks.plots` draws.
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

from agents.command_lines import NewFolder, Templates, parse_settings
from agents.data.demonstrations import draw_tasks
from agents.models.checkpoints import agent_record
from agents.train_rl import make_settings
from agents.train_rl import train as reinforce
from agents.training import pointer_cloning
from agents.training.settings import PointerBCSettings
from benchmarks.learning import demonstration_worlds
from benchmarks.playing import TrainingSettings, claim_folder, play, rewards, run_parallel, save_result, subsample
from webarena_gym import console
from webarena_gym import suite as task_suite
from webarena_gym.tasks import Task

DRAWN: dict[str, tuple[Any, ...]] = {
    "learning_rate": (1e-4, 2.5e-4, 5e-4, 1e-3, 2e-3), "group_size": (4, 8, 16), "temperature": (0.5, 0.75, 1.0),
    "advantages": ("state", "trajectory", "gigpo"), "seek_mixed": (True, False),
}  # fmt: skip
"""Hyperparameters of RL and their values; the number of groups in an update is drawn as well."""
QUICK: dict[str, Any] = {
    "runs": 3, "seeds": (0,), "cloning_updates": (0, 15, 45), "budgets": (0.12, 0.2), "groups": (1, 2), "limit": 8,
    "templates": ("reddit.subscription", "gitlab.star_count"), "worlds": (41,), "max_steps": 6, "training_steps": 6,
    "out": Path("runs/allocation_quick"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AllocationSettings(TrainingSettings):
    """Fine-tune BC agents of different training lengths with random hyperparameters, and estimate the best switch point."""

    out: NewFolder = Path("runs/allocation")
    """folder of all agents and runs"""
    runs: int = 150
    """number of RL runs; a larger number extends a smaller one"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """seeds of the BC agents of each length, each with demonstrations in other worlds"""
    cloning_updates: tuple[int, ...] = (0, 100, 300, 600, 1200, 2400)
    """updates of BC at the switch points; 0: only RL, from a network with a vocabulary and untrained weights"""
    budgets: tuple[float, ...] = (2.0, 4.0, 8.0)
    """total CPU minutes at which runs are evaluated"""
    groups: tuple[int, ...] = (8, 16, 32)
    """possible numbers of groups in an update"""
    templates: Templates = ()
    """only tasks of these templates; by default those of the training split for training and of the other splits for evaluation"""
    validation_world: int = 1104
    """world of the tasks for selecting configurations"""
    test_world: int = 1907
    """world of the tasks for reporting success"""
    training_steps: int = 15
    """maximum of steps of an episode in RL"""
    resamples: int = 2000
    """resamples of the bootstrap"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if list(self.budgets) != sorted(set(self.budgets)) or not self.budgets or min(self.budgets) <= 0:
            raise ValueError(f"budgets are {self.budgets}; expected one or more rising numbers above 0")
        if 0 not in self.cloning_updates or len(set(self.cloning_updates)) < 2:
            raise ValueError(
                f"cloning_updates are {self.cloning_updates}; expected 0, for RL only, and at least one other number"
            )


class Point(NamedTuple):
    """Success of a run at a budget, in CPU minutes, on validation tasks and on test tasks."""

    budget: float
    validation: float
    test: float


class Clone(NamedTuple):
    """A BC agent, its cost in CPU minutes, and its success."""

    seed: int
    updates: int
    cpu_minutes: float
    validation: float
    test: float


class Run(NamedTuple):
    """An RL run: the updates of its BC agent, its hyperparameters, and its success at each budget."""

    updates: int
    options: Mapping[str, Any]
    points: Sequence[Point]


class Estimate(NamedTuple):
    """The expected test success of the configuration that is best on validation tasks, with its 95 % interval."""

    test: float
    low: float
    high: float
    validation: float  # success of that configuration, for comparing switch points
    n: int  # number of configurations


def run(settings: AllocationSettings) -> dict[str, Any]:
    """Train missing agents, evaluate, and return the figures."""
    pairs = list(product(settings.seeds, settings.cloning_updates))
    clones = {
        (clone.seed, clone.updates): clone
        for clone in run_parallel(clone_and_measure, [(settings, *pair) for pair in pairs], settings.jobs)
    }
    calls = []
    for number in range(settings.runs):
        seed, updates, options = configuration(settings, number)
        calls.append((settings, number, clones[seed, updates], options))
    return summary(settings, list(clones.values()), run_parallel(train_and_measure, calls, settings.jobs))


def configuration(settings: AllocationSettings, number: int) -> tuple[int, int, dict[str, Any]]:
    """Return the seed and updates of the BC agent, in turn, and the random hyperparameters of the run with a number."""
    turn, index = divmod(number, len(settings.cloning_updates))
    rng = Random(f"allocation/{number}")
    options = {name: rng.choice(values) for name, values in _hyperparameters(settings).items()}
    return settings.seeds[turn % len(settings.seeds)], settings.cloning_updates[index], options


def _hyperparameters(settings: AllocationSettings) -> dict[str, tuple[Any, ...]]:
    return {**DRAWN, "tasks_per_update": settings.groups}


def clone_and_measure(settings: AllocationSettings, seed: int, updates: int) -> Clone:
    """Return a BC agent with a number of updates, training it if necessary. A training that was killed is repeated from the start."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    folder = _clone_folder(settings, seed, updates)
    cost_file = folder / "cost.json"
    worlds = demonstration_worlds(1, seed)
    options: dict[str, Any] = {"updates": updates, "seed": seed, "worlds": worlds, "templates": settings.templates}
    claim_folder(folder, **options)
    if not cost_file.exists():
        shutil.rmtree(folder / "run", ignore_errors=True)
        began_s = time.process_time()
        pointer_cloning.train_pointer(
            PointerBCSettings(out=folder / "run", threads=settings.threads, one_world_each=not settings.templates, **options)
        )
        cost_file.write_text(json.dumps((time.process_time() - began_s) / 60), encoding="utf-8")
    minutes = json.loads(cost_file.read_text(encoding="utf-8"))
    return Clone(seed, updates, minutes, *_measure(settings, folder / "run", folder / "episodes"))


def train_and_measure(settings: AllocationSettings, number: int, clone: Clone, options: Mapping[str, Any]) -> Run:
    """Return the success of a run at each budget that exceeds the cost of its BC agent."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    folder = settings.out / "runs" / f"{number:04}"
    cloned = _clone_folder(settings, clone.seed, clone.updates) / "run"
    common: dict[str, Any] = {name: getattr(settings, name) for name in ("worlds", "per_template", "templates", "threads")}
    common |= {"max_steps": settings.training_steps, "seed": number}
    claim_folder(folder, cloned=cloned, **common, **options)
    points = []
    for budget in settings.budgets:
        if budget <= clone.cpu_minutes:
            continue
        episodes = folder / f"episodes_{budget:g}"
        if not (episodes / "test.jsonl").exists():
            training = {**agent_record(cloned), **common, **options, "model": str(cloned), "out": folder / "run"}
            reinforce(make_settings("grpo", cpu_minutes=budget - clone.cpu_minutes, **training))
        points.append(Point(budget, *_measure(settings, folder / "run", episodes)))
    return Run(clone.updates, dict(options), points)


def summary(settings: AllocationSettings, clones: Sequence[Clone], runs: Sequence[Run]) -> dict[str, Any]:
    """Return the figures: for each budget the estimates of BC only, of RL only and of both.

    All resamples have equally many configurations, because the best of more configurations is better by chance.
    """
    figures: dict[str, Any] = {"bc_only": [], "rl_only": [], "mixed": [], "best_switch": []}
    intervals: dict[str, list[Any]] = {"bc_only": [], "rl_only": [], "mixed": []}
    by_switch: list[dict[str, Any]] = []
    for budget in settings.budgets:
        of_switch = {
            updates: [point for item in runs if item.updates == updates for point in item.points if point.budget == budget]
            for updates in sorted(settings.cloning_updates)
        }
        draws = min((len(points) for points in of_switch.values() if points), default=0)
        estimates = {updates: expected_best(points, draws, settings.resamples) for updates, points in of_switch.items()}
        # For each seed, the affordable BC agent that is best on validation tasks: one BC run passes all of them.
        affordable = [clone for clone in clones if clone.updates and clone.cpu_minutes <= budget]
        of_seed = {clone.seed: [item for item in affordable if item.seed == clone.seed] for clone in affordable}
        points = [
            _best([Point(budget, item.validation, item.test) for item in clones_of_seed]) for clones_of_seed in of_seed.values()
        ]
        cloned = expected_best(points, draws, settings.resamples)
        mixed = {updates: estimate for updates, estimate in estimates.items() if updates and estimate}
        best = max(mixed, key=lambda updates: mixed[updates].validation, default=None)
        figures["best_switch"].append(best)
        chosen = {"bc_only": cloned, "rl_only": estimates[0], "mixed": mixed[best] if best is not None else None}
        for name, estimate in chosen.items():
            figures[name].append(round(estimate.test, 4) if estimate else None)
            intervals[name].append([round(estimate.low, 4), round(estimate.high, 4)] if estimate else None)
        for updates, estimate in estimates.items():
            if estimate:
                cost = round(fmean(clone.cpu_minutes for clone in clones if clone.updates == updates), 3)
                by_switch.append({"budget": budget, "updates": updates, "cloning_cpu_minutes": cost, **estimate._asdict()})
    last = [(item, point) for item in runs for point in item.points if point.budget == settings.budgets[-1]]
    return {
        "runs": len(runs), "budgets": list(settings.budgets), **figures, "ci95": intervals, "by_switch": by_switch,
        "options": {name: _by_value(name, values, last, settings.resamples) for name, values in _hyperparameters(settings).items()},
        "clones": [clone._asdict() for clone in clones], "n": len(held_out(settings)["test"]),
    }  # fmt: skip


def expected_best(points: Sequence[Point], draws: int, resamples: int) -> Estimate | None:
    """Return the bootstrap estimate for the best of `draws` configurations, drawn from these with replacement; None without any.

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
    """Return for each value of a hyperparameter the estimate of its best configuration, and how often it is the best value."""
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
        assert estimate is not None  # points is not empty
        rows.append({"value": value, "wins": round(wins[value] / resamples, 4), **estimate._asdict()})
    return rows


def _clone_folder(settings: AllocationSettings, seed: int, updates: int) -> Path:
    return settings.out / "clones" / f"{seed}_{updates}"


def held_out(settings: AllocationSettings) -> dict[str, list[Task]]:
    """Return the tasks for selecting and those for reporting."""
    worlds = {"validation": settings.validation_world, "test": settings.test_world}
    tasks_of_split = {
        split: draw_tasks([world], 4, templates=settings.templates)
        if settings.templates
        else list(task_suite.load(split, world))
        for split, world in worlds.items()
    }
    return {split: subsample(tasks, settings.limit) for split, tasks in tasks_of_split.items()}


def _measure(settings: AllocationSettings, policy: Path, folder: Path) -> tuple[float, float]:
    """Return the greedy success on validation and test tasks; stored episodes are read instead of played."""
    validation, test = (
        fmean(rewards(play(str(policy), tasks, folder / f"{split}.jsonl", max_steps=settings.max_steps)))
        for split, tasks in held_out(settings).items()
    )
    return validation, test


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print the results."""
    settings = parse_settings(
        AllocationSettings, arguments, QUICK if "--quick" in arguments else {}, program="benchmarks.allocation"
    )
    result = run(settings) | {"quick": settings.quick}
    for row in result["by_switch"]:
        print(
            f"{row['budget']:6.2f} CPU minutes, {row['updates']:5} updates of cloning   {100 * row['test']:5.1f} %   "
            f"({100 * row['low']:.1f} to {100 * row['high']:.1f})   n = {row['n']}"
        )
    save_result("allocation", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.allocation", main)
