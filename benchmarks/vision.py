"""Training methods of the vision agent, compared at equal env steps: `python -m benchmarks.vision --json`.

Each method trains with `agents.train_eyes` on the same MiniWoB++ tasks, from random weights, with the same seeds, and is evaluated on the same
held-out episodes after behaviour cloning and after reinforcement learning. Equal seeds and replies give equal episodes, so steps that were played
before are not played again in Chromium, and still count as env steps. The options of a method are in recipes.toml. A run
that was stopped is resumed. Needs the extras `chromium` and `miniwob`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from agents.command_lines import NewFolder, parse_settings
from agents.eyes import create_tasks, train
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
    methods: tuple[str, ...] = ("grpo", "mentor")
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
    max_steps: int = 1
    """maximum of steps of an episode; exploration needs at least 2"""
    evaluated: int = 16
    """evaluation episodes of each task"""


class RecordedEpisodes:
    """An env that stores the results of steps, and plays each sequence of replies to a task once.

    `played` is the number of steps that Chromium played, without those that were repeated to reach the state of another step.
    """

    def __init__(self, env: WebArenaLite) -> None:
        self.env, self.played = env, 0
        self._starts: dict[str, tuple[Any, Any]] = {}
        self._results: dict[tuple[str, ...], tuple[Any, ...]] = {}
        self._path: tuple[str, ...] = ("",)  # the task and the replies so far of the current episode
        self._open: tuple[str, ...] = ("",)  # those of the env

    @property
    def task(self) -> Any:
        """The task of the current episode."""
        return miniwob.task(self._path[0])

    def reset(self, *, options: Mapping[str, str]) -> tuple[Any, Any]:
        """Start the episode of a task."""
        self._path = (options["task"],)
        if self._path[0] not in self._starts:
            self._starts[self._path[0]], self._open = self.env.reset(options={"task": self._path[0]}), self._path
        return self._starts[self._path[0]]

    def step(self, reply: str) -> tuple[Any, ...]:
        """Take a step of the episode."""
        path = (*self._path, reply)
        if path not in self._results:
            replies = [reply]
            if self._open != self._path:
                self.env.reset(options={"task": path[0]})
                replies = list(path[1:])
            for item in replies:
                result = self.env.step(item)
                if "failure" in result[-1]:  # the episode is over, also if an earlier reply is repeated
                    self._open = ("",)
                    return result
            self._open = path
            self._results[path] = result
            self.played += 1
        self._path = path
        return self._results[path]

    def close(self) -> None:
        """Keep the env, which the next run uses."""


def train_and_measure(settings: VisionSettings, env: RecordedEpisodes, name: str, seed: int) -> dict[str, Any]:
    """Return the rewards of the evaluation episodes of a method's run, after behaviour cloning and at its end, and its cost."""
    out = settings.out / f"{name}_{seed}"
    training = _training(settings, name, seed)
    begun_at = claim_folder(out, **{key: value for key, value in vars(training).items() if key != "out"})
    tasks = create_tasks(training)
    tasks.env.close()
    result = train(training, tasks._replace(env=cast("WebArenaLite", env)))
    return {
        "tasks": [task for task, *_ in result["episodes"]],
        "before": [before for _, before, _ in result["episodes"]],
        "after": [after for *_, after in result["episodes"]],
        "begun_at": begun_at,
        "spent": {key: result[key] for key in ("env_steps", "cpu_minutes")},
    }


def _training(settings: VisionSettings, name: str, seed: int) -> EyesSettings:
    names = (
        "tasks", "shown", "clone_updates", "updates", "tasks_per_update", "group_size", "temperature", "max_steps", "evaluated",
    )  # fmt: skip
    options = {key: getattr(settings, key) for key in names} | dict(RECIPES[name]["options"])
    return EyesSettings(out=settings.out / f"{name}_{seed}" / "run", seed=seed, **options)


def run(settings: VisionSettings) -> dict[str, Any]:
    """Train missing agents, evaluate, and return a row for each method before and after reinforcement learning.

    Raises ValueError for an unknown method, or for settings that a method rejects.
    """
    if unknown := sorted(set(settings.methods) - set(RECIPES)):
        raise ValueError(f"method is {unknown[0]!r}; expected some of {', '.join(RECIPES)}")
    trainings = [_training(settings, name, settings.seeds[0]) for name in settings.methods]  # before hours of training
    with closing(create_tasks(trainings[0]).env) as env:
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
        "steps_played": recorded.played,
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
