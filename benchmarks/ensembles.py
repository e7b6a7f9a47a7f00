"""Ensembles of trained agents against one of them: `python -m benchmarks.ensembles --members A B C --json`.

Weights are fitted on validation tasks alone. The agents are then measured on other tasks: one by one, with equal weights, with weights by
site, and with the best agent of each site alone, as in LLM-Ens (arXiv 2505.15306). The last line is one JSON object.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch

from agents.ensemble import EnsembleSettings, Weighting, make_ensemble
from agents.settings import parse_settings
from benchmarks.playing import MAX_STEPS, ResultSettings, hand_over, play, rewards, side_by_side
from benchmarks.rows import Measured, print_rows, rows, suite_tasks
from webarena_gym import console

TITLES: dict[Weighting, str] = {
    "uniform": "all, with equal weights",
    "fitted": "all, with weights by site",
    "switched": "the best of each site",
}


@dataclass(frozen=True, kw_only=True)
class EnsemblesSettings(ResultSettings):
    """Compare ensembles of the same agents."""

    members: tuple[str, ...]
    """runs or model folders of the agents"""
    out: Path = Path("runs/ensembles")
    """folder of the ensembles and of all episodes"""
    split: str = "test"
    """part of the suite to measure on"""
    worlds: tuple[int, ...] = ()
    """worlds in which the split's templates are measured as well"""
    limit: int | None = None
    """measure on so many tasks only"""
    fit_limit: int | None = None
    """fit weights on so many validation tasks only"""
    jobs: int = 1
    """agents that play at the same time"""
    threads: int = 1
    """CPU threads of each; 0: torch's default"""


def run(settings: EnsemblesSettings) -> dict[str, Any]:
    """Fit, play what is not played yet, and return the rows."""
    own = [str(settings.out / name) for name in get_args(Weighting)]
    for name in get_args(Weighting):
        options = {"members": settings.members, "limit": settings.fit_limit, "threads": settings.threads or 1}
        if not (settings.out / name).is_dir():
            make_ensemble(EnsembleSettings(out=settings.out / name, weights=name, **options))
    calls = [(settings, policy) for policy in (*settings.members, *own)]
    played = side_by_side(measure, calls, settings.jobs)
    count = len(settings.members)
    measured = [Measured("one of them, mean", played[:count])]
    measured += [Measured(f"agent {number}", [found]) for number, found in enumerate(played[:count], 1)]
    measured += [Measured(TITLES[name], [found]) for name, found in zip(get_args(Weighting), played[count:], strict=True)]
    return {
        "rows": rows(measured, suite_tasks(settings.split, settings.worlds, settings.limit)),
        "members": settings.members,
        "split": settings.split,
        "worlds": settings.worlds,
    }


def measure(settings: EnsemblesSettings, policy: str) -> list[float]:
    """Return the reward of each task, by greedy decoding."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    tasks = suite_tasks(settings.split, settings.worlds, settings.limit)
    file = settings.out / "episodes" / f"{policy.strip('/').replace('/', '_')}.jsonl"
    return rewards(play(policy, tasks, file, max_steps=MAX_STEPS))


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(EnsemblesSettings, arguments, program="benchmarks.ensembles")
    result = run(settings)
    print_rows(result["rows"])
    hand_over("ensembles", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.ensembles", main)
