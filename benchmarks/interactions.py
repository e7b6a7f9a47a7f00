"""Success for several step limits at test time: `python -m benchmarks.interactions --policy RUN --json`.

The same tasks are played with each step limit, by greedy decoding; the paper has limits of up to 30. The last line is one JSON object with
a score for each limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from agents.evaluation.intervals import wilson
from agents.settings import parse_settings
from benchmarks.playing import ResultSettings, hand_over, play, rewards, side_by_side, some
from webarena_gym import console
from webarena_gym import tasks as task_suite


@dataclass(frozen=True, kw_only=True)
class InteractionsSettings(ResultSettings):
    """Play tasks with several step limits."""

    policy: str
    """what plays: as in agents.evaluate"""
    out: Path = Path("runs/interactions")
    """folder of the episodes, in one folder for each policy; what was played before is not played again"""
    limits: tuple[int, ...] = (5, 10, 15, 20, 25, 30)
    """interactions allowed"""
    split: str = "test"
    """part of the suite to play"""
    limit: int | None = None
    """play so many tasks only"""
    jobs: int = 1
    """limits played at the same time"""
    threads: int = 1
    """CPU threads of each; 0: torch's default"""


def run(settings: InteractionsSettings) -> dict[str, Any]:
    """Play what is not played yet, and return a score for each limit."""
    scores = side_by_side(measure, [(settings, limit) for limit in settings.limits], settings.jobs)
    return {
        "scores": dict(zip(map(str, settings.limits), scores, strict=True)),
        "policy": settings.policy,
        "split": settings.split,
    }


def measure(settings: InteractionsSettings, limit: int) -> dict[str, float]:
    """Return the score with so many interactions, and how many an episode took."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    tasks = some(task_suite.load(settings.split), settings.limit)
    folder = settings.out / str(settings.policy).replace("/", "_")
    played = play(settings.policy, tasks, folder / f"{limit}.jsonl", max_steps=limit)
    return {
        **wilson(sum(rewards(played)), len(played))._asdict(),
        "steps": round(mean(len(item.steps) for item in played), 2),
        "cut_off": round(mean(item.ending == "truncated" for item in played), 4),
    }


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(InteractionsSettings, arguments, program="benchmarks.interactions")
    result = run(settings)
    for limit, score in result["scores"].items():
        success, low, high = (100 * score[name] for name in ("success", "low", "high"))
        print(f"{limit:>3} interactions   {success:5.1f} %   ({low:.0f} to {high:.0f})   n = {score['n']}")
    hand_over("interactions", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.interactions", main)
