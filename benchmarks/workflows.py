"""Learning during a stream of tasks, with a memory of workflows and without: `python -m benchmarks.workflows --policy RUN --json`.

After Agent Workflow Memory (arXiv 2409.07429): the agent plays tasks one part of the stream after another, and what it solved is induced
and given back from the next part on. The paper lets a model judge success; here the env does. The rows are the agent alone, with the
memory of the stream (online), and with one that the expert's solutions of training tasks fill before (offline). "by_part" has success in
each part of the stream. The last line is one JSON object.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, Literal

from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import Trajectory
from agents.data.workflows import WorkflowMemory
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.settings import parse_settings
from benchmarks.playing import MAX_STEPS, ResultSettings, hand_over, rewards, side_by_side
from benchmarks.rows import Measured, print_rows, rows, suite_tasks
from webarena_gym import console
from webarena_gym.tasks import Task

Way = Literal["none", "online", "offline"]
TITLES: dict[Way, str] = {
    "none": "without memory",
    "online": "with workflows of its own successes",
    "offline": "with workflows of the expert",
}


@dataclass(frozen=True, kw_only=True)
class WorkflowsBenchmarkSettings(ResultSettings):
    """Play a stream of tasks with and without memory."""

    policy: str
    """a run of a pointing network, or chat:MODEL"""
    out: Path = Path("runs/workflows")
    """folder of the memories"""
    split: str = "test"
    """part of the suite whose templates make the stream"""
    worlds: tuple[int, ...] = (2301, 2302, 2303)
    """worlds of the stream, besides the suite's own"""
    offline_worlds: tuple[int, ...] = (11,)
    """training worlds whose solutions fill the offline memory"""
    limit: int | None = None
    """tasks of the stream, at most"""
    part: int = 32
    """tasks that are played with one state of the memory"""
    temperature: float = 1.0
    """of sampling; a chat model's server chooses below 0"""
    seeds: tuple[int, ...] = (0,)
    """orders of the stream and draws of the sampling"""
    ways: tuple[Way, ...] = ("none", "online", "offline")
    """which memories"""
    jobs: int = 1
    """streams at the same time"""


def run(settings: WorkflowsBenchmarkSettings) -> dict[str, Any]:
    """Play the streams and return the rows and curves."""
    calls = [(settings, way, seed) for way in settings.ways for seed in settings.seeds]
    streams = side_by_side(play_stream, calls, settings.jobs)
    tasks = suite_tasks(settings.split, settings.worlds, settings.limit)
    count = len(settings.seeds)
    measured, curves = [], {}
    for place, way in enumerate(settings.ways):
        own = streams[place * count : (place + 1) * count]
        measured.append(Measured(TITLES[way], [[found[task.task_id] for task in tasks] for found in own]))
        in_order = [list(found.values()) for found in own]
        starts = range(0, len(tasks), settings.part)
        curves[way] = [round(mean(mean(each[start : start + settings.part]) for each in in_order), 4) for start in starts]
    return {"rows": rows(measured, tasks), "by_part": curves, "policy": settings.policy, "part": settings.part}


def play_stream(settings: WorkflowsBenchmarkSettings, way: Way, seed: int) -> dict[str, float]:
    """Return the reward of each task by its id, in the order of the stream."""
    tasks = suite_tasks(settings.split, settings.worlds, settings.limit)
    stream = Random(seed).sample(tasks, len(tasks))
    memory, file = WorkflowMemory(), settings.out / f"{way}_{seed}.json"
    if way == "offline":
        memory.add(_play(settings, "expert", draw_tasks(settings.offline_worlds, 1), seed, None))
    found: dict[str, float] = {}
    for start in range(0, len(stream), settings.part):
        part = stream[start : start + settings.part]
        memory.save(file)
        played = _play(settings, settings.policy, part, seed + start, None if way == "none" else file)
        found |= zip([task.task_id for task in part], rewards(played), strict=True)
        if way == "online":
            memory.add(played)
    return found


def _play(
    settings: WorkflowsBenchmarkSettings, policy: str, tasks: Sequence[Task], seed: int, memory: Path | None
) -> list[Trajectory]:
    """Return an episode of each task. Raises RuntimeError if some failed for reasons other than the policy."""
    temperature = None if settings.temperature < 0 else settings.temperature
    own = {"max_steps": MAX_STEPS, "temperature": temperature, "seed": seed, "memory": memory, "threads": 1, "elements": "id"}
    options = EvaluationSettings(**{**policy_defaults(settings.policy), **own, "policy": policy})
    evaluation = evaluate_policy(options, tasks, quiet=True)
    if evaluation.failed:
        raise RuntimeError(f"{evaluation.failed} episodes of {policy} were lost; run the command once more")
    return evaluation.trajectories


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(WorkflowsBenchmarkSettings, arguments, program="benchmarks.workflows")
    result = run(settings)
    print_rows(result["rows"])
    hand_over("workflows", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.workflows", main)
