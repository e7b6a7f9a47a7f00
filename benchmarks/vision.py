"""Training methods of the vision agent, compared at equal env steps: `python -m benchmarks.vision --json`.

Each method trains with `agents.train_eyes` on the same MiniWoB++ tasks, from random weights, with the same seeds, and is evaluated on the same
held-out episodes after behaviour cloning and after reinforcement learning. Episodes have one step. Equal seeds and replies give equal episodes, so
an episode that was played before is not played again in Chromium, and still counts as an env step. The options of a method are in recipes.toml. A run
that was stopped is resumed. Needs the extras `chromium` and `miniwob`.
"""

import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from agents.command_lines import NewFolder, parse_settings
from agents.eyes import create_tasks, train
from agents.training.metrics import read_metrics
from agents.training.settings import EyesSettings
from benchmarks.playing import AgentResult, ResultSettings, claim_folder, print_rows, rows, save_result
from webarena_gym import console, miniwob
from webarena_gym.env import WebArenaLite

with (Path(__file__).parent / "recipes.toml").open("rb") as _file:
    RECIPES: Mapping[str, Mapping[str, Any]] = tomllib.load(_file)["vision"]


@dataclass(frozen=True, kw_only=True)
class VisionSettings(ResultSettings):
    """Train the vision agent with each method for the same number of env steps, and evaluate."""

    out: NewFolder = Path("runs/vision")
    """folder of all runs"""
    methods: tuple[str, ...] = tuple(RECIPES)
    """names of the methods; improvements are those over the first one's agents"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """training seeds of each method"""
    tasks: tuple[str, ...] = ("click-color", "click-shape", "identify-shape")
    """names of MiniWoB++ tasks"""
    shown: int = 8
    """demonstrations of each task"""
    clone_updates: int = 60
    """updates of behaviour cloning"""
    updates: int = 12
    """updates of reinforcement learning"""
    tasks_per_update: int = 3
    """groups of rollouts in an update"""
    group_size: int = 6
    """rollouts of each group"""
    temperature: float = 1.0
    """temperature of sampling"""
    evaluated: int = 16
    """evaluation episodes of each task"""


class RecordedEpisodes:
    """An env of episodes with one step that stores their results, and plays each episode once.

    Observations of one task are one object, like those of an episode.
    """

    def __init__(self, env: WebArenaLite) -> None:
        self.env, self.played = env, 0
        self._starts: dict[str, tuple[Any, Any]] = {}
        self._results: dict[tuple[str, str], tuple[Any, ...]] = {}
        self._name = self._open = ""  # the task of the current episode, and the one that the env has reset

    @property
    def task(self) -> Any:
        """The task of the current episode."""
        return miniwob.task(self._name)

    def reset(self, *, options: Mapping[str, str]) -> tuple[Any, Any]:
        """Start the episode of a task."""
        self._name = options["task"]
        if self._name not in self._starts:
            self._starts[self._name], self._open = self.env.reset(options={"task": self._name}), self._name
        return self._starts[self._name]

    def step(self, reply: str) -> tuple[Any, ...]:
        """Take the only step of the episode."""
        key = self._name, reply
        if key not in self._results:
            if self._open != self._name:
                self.env.reset(options={"task": self._name})
            result, self._open = self.env.step(reply), ""
            if "failure" in result[-1]:
                return result
            self._results[key] = (self._starts[self._name][0], *result[1:])  # nothing reads the last picture
            self.played += 1
        return self._results[key]

    def close(self) -> None:
        """Keep the env, which the next run uses."""


def train_and_measure(settings: VisionSettings, env: RecordedEpisodes, name: str, seed: int) -> dict[str, Any]:
    """Return the rewards of the evaluation episodes of a method's run, after behaviour cloning and at its end, and its cost."""
    out = settings.out / f"{name}_{seed}"
    training = _training(settings, name, seed)
    begun_at = claim_folder(out, **{key: value for key, value in vars(training).items() if key != "out"})
    tasks, start_s = create_tasks(training), time.process_time()
    tasks.env.close()
    episodes = train(training, tasks._replace(env=cast("WebArenaLite", env)))["episodes"]
    metrics = read_metrics(out / "run")
    return {
        "tasks": [task for task, *_ in episodes],
        "before": [before for _, before, _ in episodes],
        "after": [after for *_, after in episodes],
        "begun_at": begun_at,
        "spent": {
            "env_steps": sum(record["rollouts"] for record in metrics),  # of one step each
            "cpu_minutes": (time.process_time() - start_s) / 60,
        },
    }


def _training(settings: VisionSettings, name: str, seed: int) -> EyesSettings:
    names = ("tasks", "shown", "clone_updates", "updates", "tasks_per_update", "group_size", "temperature", "evaluated")
    options = {key: getattr(settings, key) for key in names}
    return EyesSettings(
        out=settings.out / f"{name}_{seed}" / "run", max_steps=1, seed=seed, **options, **RECIPES[name]["options"]
    )


def run(settings: VisionSettings) -> dict[str, Any]:
    """Train missing agents, evaluate, and return a row for each method before and after reinforcement learning.

    Raises ValueError for an unknown method.
    """
    if unknown := sorted(set(settings.methods) - set(RECIPES)):
        raise ValueError(f"method is {unknown[0]!r}; expected some of {', '.join(RECIPES)}")
    with closing(create_tasks(_training(settings, settings.methods[0], 0)).env) as env:
        recorded = RecordedEpisodes(env)
        runs = {
            (name, seed): train_and_measure(settings, recorded, name, seed)
            for seed in settings.seeds
            for name in settings.methods
        }
    tasks = [miniwob.task(name) for name in runs[settings.methods[0], settings.seeds[0]]["tasks"]]
    results = {
        (part, name): AgentResult(
            f"{RECIPES[name]['title']}{suffix}",
            [runs[name, seed][part] for seed in settings.seeds],
            {key: fmean(runs[name, seed]["spent"][key] for seed in settings.seeds) for key in ("env_steps", "cpu_minutes")},
        )
        for name in settings.methods
        for part, suffix in (("before", ", after behaviour cloning"), ("after", ""))
    }
    return {
        "rows": rows(list(results.values()), tasks),
        "trained": rows([results["after", name] for name in settings.methods], tasks),
        "begun_at": sorted({result["begun_at"] for result in runs.values()}),
        "episodes_played": recorded.played,
        "methods": settings.methods,
        "seeds": settings.seeds,
    }


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print the results: improvements over the first method's BC agent, then over its trained agent."""
    settings = parse_settings(VisionSettings, arguments, program="benchmarks.vision")
    result = run(settings)
    for part in ("rows", "trained"):
        print_rows(result[part])
    save_result("vision", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.vision", main)
