"""Agent Q before and after each iteration: `python -m benchmarks.agent_q --models RUN_A RUN_B RUN_C --json`.

Each model is improved by `agents.agent_q` with a seed of its own, and its checkpoints are measured on the same tasks: before, and after
each iteration. The last line is one JSON object; env steps are those of all searches so far, a mean over the seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from agents.agent_q import make_settings, train
from agents.models.checkpoints import checkpoints
from agents.settings import parse_settings
from agents.training.metrics import read_metrics
from benchmarks.playing import MAX_STEPS, ResultSettings, hand_over, play, rewards, side_by_side
from benchmarks.rows import Measured, print_rows, rows, suite_tasks
from webarena_gym import console


@dataclass(frozen=True, kw_only=True)
class AgentQBenchmarkSettings(ResultSettings):
    """Improve models by Agent Q, and measure them after each iteration."""

    models: tuple[str, ...]
    """runs or model folders to improve, one for each seed"""
    out: Path = Path("runs/agent_q")
    """folder of all runs and episodes"""
    iterations: int = 3
    """searches, each followed by learning"""
    tasks_per_iteration: int = 256
    """tasks that are searched in an iteration"""
    budget: int = 60
    """env steps of the search of a task"""
    worlds: tuple[int, ...] = (41, 42, 43, 44, 45, 46)
    """worlds of the tasks that are searched"""
    templates: tuple[str, ...] = ()
    """only tasks of these templates are searched; by default those of the training split"""
    learning_rate: float = 3e-4
    """of each update"""
    epochs: int = 1
    """passes over the pairs of an iteration"""
    split: str = "test"
    """part of the suite to measure on"""
    test_worlds: tuple[int, ...] = ()
    """worlds in which the split's templates are measured as well"""
    limit: int | None = None
    """measure on so many tasks only"""
    jobs: int = 1
    """models at the same time"""


def run(settings: AgentQBenchmarkSettings) -> dict[str, Any]:
    """Train and play what is not there yet, and return a row for each iteration."""
    calls = [(settings, seed) for seed in range(len(settings.models))]
    found = side_by_side(train_and_measure, calls, settings.jobs)
    measured = [
        Measured(
            f"after {number} iterations" if number else "before",
            [each[number][0] for each in found],
            {name: mean(each[number][1].get(name, 0.0) for each in found) for name in ("env_steps", "pairs", "cpu_minutes")},
        )
        for number in range(settings.iterations + 1)
    ]
    return {"rows": rows(measured, _tasks(settings)), "models": settings.models, "budget": settings.budget}


def train_and_measure(settings: AgentQBenchmarkSettings, seed: int) -> list[tuple[list[float], dict[str, float]]]:
    """Return the rewards before and after each iteration of a seed, and the metrics of the iteration."""
    out = settings.out / f"seed_{seed}"
    names = ("iterations", "tasks_per_iteration", "budget", "worlds", "templates", "learning_rate", "epochs")
    options = {name: getattr(settings, name) for name in names}
    train(make_settings(model=settings.models[seed], out=out / "run", seed=seed, threads=1, **options))
    saved = checkpoints(out / "run")
    folders = [settings.models[seed], *(str(item.path) for item in saved if item.update)]
    spent = [{}, *read_metrics(out / "run")]
    tasks = _tasks(settings)
    played = [
        rewards(play(folder, tasks, out / "episodes" / f"{number}.jsonl", max_steps=MAX_STEPS))
        for number, folder in enumerate(folders)
    ]
    return list(zip(played, spent, strict=True))


def _tasks(settings: AgentQBenchmarkSettings) -> list[Any]:
    return suite_tasks(settings.split, settings.test_worlds, settings.limit)


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(AgentQBenchmarkSettings, arguments, program="benchmarks.agent_q")
    result = run(settings)
    print_rows(result["rows"])
    hand_over("agent_q", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.agent_q", main)
