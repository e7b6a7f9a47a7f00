"""Helpers of the benchmarks of learning: held-out tasks, episodes that are played once and saved, parallel runs, rows, results."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from agents.data.trajectories import Trajectory, read_trajectories, write_trajectories
from agents.evaluation.evaluate import create_policy, evaluate
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models import checkpoints
from agents.rollouts.policies import Policy
from agents.settings import TrainingWorlds
from benchmarks.machine import COMMIT, RESULTS, origin
from webarena_gym import suite as task_suite
from webarena_gym.evaluation.statistics import paired_difference, pooled_score
from webarena_gym.processes import workers
from webarena_gym.tasks import Task

MAX_STEPS = 30
"""maximum of steps of an episode in an evaluation, as in the paper"""


@dataclass(frozen=True, kw_only=True)
class ResultSettings:
    """Destination of the result."""

    save: str = ""
    """save the result under this name in benchmarks/results, from where `python -m benchmarks.tables` writes it into the documents"""
    json: bool = False
    """print one JSON object on the last line"""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(ResultSettings):
    """Extent of a benchmark that trains."""

    worlds: tuple[int, ...] = tuple(range(41, 47))
    """seeds of the worlds for reinforcement learning"""
    per_template: int = 3
    """tasks of each template in each world for reinforcement learning"""
    limit: int | None = None
    """evaluate on at most this number of tasks"""
    max_steps: int = MAX_STEPS
    """maximum of steps of an episode in an evaluation"""
    jobs: int = 1
    """parallel runs"""
    threads: int = 1
    """CPU threads of each run; 0: torch's default"""
    quick: bool = False
    """a small run to check the installation; its figures are rough"""

    def __post_init__(self) -> None:
        TrainingWorlds().expect_training_worlds("worlds", self.worlds)


def save_result(name: str, result: dict[str, Any], settings: ResultSettings) -> None:
    """Add the provenance to the result of the benchmark with that name, and save and print it according to the settings."""
    result |= origin(name)
    if settings.save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{settings.save}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if settings.json:
        print(json.dumps(result))


def claim_folder(folder: Path, **settings: object) -> str:
    """Record the settings of a folder and return the commit with which it was started.

    Raises ValueError if the folder was started with other settings.
    """
    is_resumed = folder.is_dir() and any(folder.iterdir())
    checkpoints.record_settings(folder, settings, is_resumed=is_resumed)
    file = folder / "commit"
    if not is_resumed:
        file.write_text(COMMIT, encoding="utf-8")
    return file.read_text(encoding="utf-8") if file.exists() else "unknown"


def subsample(tasks: list[Task], limit: int | None) -> list[Task]:
    """Return at most `limit` of the tasks, evenly spaced."""
    if limit is None or limit >= len(tasks):
        return tasks
    return [tasks[number * len(tasks) // limit] for number in range(limit)]


def play(
    policy: str, tasks: Sequence[Task], file: Path, *, temperature: float = 0.0, max_steps: int = MAX_STEPS,
    wrap: Callable[[Policy], Policy] | None = None, **options: object,
) -> list[Trajectory]:  # fmt: skip
    """Return an episode of each task. Episodes are played once and then read from the file.

    `wrap` returns the policy to play instead, which may call the given one. `options` are further settings of the evaluation.
    Raises RuntimeError if episodes failed for reasons other than the policy, and ValueError for a file of other tasks.
    """
    if not file.exists():
        defaults = policy_defaults(policy) | {"max_steps": max_steps, "temperature": temperature} | options
        settings = EvaluationSettings(policy=policy, **defaults)
        with closing(create_policy(settings)) as player:
            evaluation = evaluate(wrap(player) if wrap else player, tasks, settings)
        if evaluation.failed:
            raise RuntimeError(f"{evaluation.failed} episodes of {policy} failed; run the command again")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_trajectories(file, evaluation.trajectories)
    played = list(read_trajectories(file))
    if [item.task_id for item in played] != [task.task_id for task in tasks]:
        raise ValueError(f"{file} has episodes of other tasks; remove it, or choose another --out")
    return played


def rewards(trajectories: Sequence[Trajectory]) -> list[float]:
    """Return the reward of each episode."""
    return [item.reward for item in trajectories]


def measure(policy: Path, tasks: Sequence[Task], folder: Path, max_steps: int, **options: Any) -> dict[str, Any]:
    """Return the reward of each task, with greedy decoding and with sampling. `options` are further settings of the evaluation.

    Raises ValueError if the folder has episodes of another policy or with another limit of steps.
    """
    claim_folder(folder, policy=policy, max_steps=max_steps, **options)
    return {
        decoding: rewards(
            play(str(policy), tasks, folder / f"{decoding}.jsonl", temperature=temperature, max_steps=max_steps, **options)
        )
        for decoding, temperature in (("greedy", 0.0), ("sampled", 1.0))
    }


def run_parallel(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], jobs: int) -> list[Any]:
    """Return the results of a function for each tuple of arguments, computed in `jobs` processes, or in this process if `jobs` is 1. The processes end with this one."""
    with workers(jobs) as several:
        return list(several(_call, [function] * len(calls), calls))


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


class AgentResult(NamedTuple):
    """The results of an agent: the reward of each task for each training seed."""

    title: str
    rewards: Sequence[Sequence[float]]
    spent: Mapping[str, float] = {}
    part: str = "rows"
    """key of the result for its row"""
    tasks: Sequence[Task] = ()
    """the tasks, if not all"""


def rows(measured: Sequence[AgentResult], tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return a row for each agent, with its improvement over the first agent. Results of a single seed are compared with each seed of the other agent."""
    first = measured[0].rewards
    table = []
    for item in measured:
        seeds = max(len(first), len(item.rewards))
        before, after = (list(part) * (seeds if len(part) == 1 else 1) for part in (first, item.rewards))
        lift = paired_difference(before, after, templates=[task.template for task in tasks])
        table.append({
            "title": item.title,
            **pooled_score(item.rewards)._asdict(),
            "lift": lift._asdict(),
            "seeds": len(item.rewards),
            "tasks": len(tasks),
            **{name: round(value, 3) for name, value in item.spent.items()},
        })  # fmt: skip
    return table


def print_rows(table: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each row."""
    for row in table:
        success, low, high = (100 * row[name] for name in ("success", "low", "high"))
        lift = 100 * row["lift"]["lift"]
        print(f"{row['title']:<48}{success:5.1f} %   ({low:.0f} to {high:.0f})   {lift:+5.1f}   n = {row['n']}")


def suite_tasks(split: str, worlds: Sequence[int], limit: int | None) -> list[Task]:
    """Return the tasks of a split and of its templates in further worlds, subsampled to at most `limit`."""
    tasks = [*task_suite.load(split), *(task for world in worlds for task in task_suite.load(split, world))]
    return subsample(tasks, limit)
