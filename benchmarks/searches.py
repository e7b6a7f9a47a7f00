"""Search methods at test time, at equal numbers of env steps: `python -m benchmarks.searches --policy RUN --json`.

A single greedy episode, best of N by confidence and by the most frequent answer, and tree search over snapshots play the same tasks with
the same budget. The last line is one JSON object with a row for each method and its lift over the single episode.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agents.evaluation.intervals import paired_lift
from agents.evaluation.search import run as search
from agents.evaluation.settings import SearchSettings, policy_defaults
from agents.settings import build, parse_settings
from benchmarks.playing import MAX_STEPS, ResultSettings, hand_over, rewards, side_by_side
from webarena_gym import console

ROWS: dict[str, dict[str, Any]] = {
    "one episode, greedy": {"method": "greedy"},
    "best of N, by confidence": {"method": "best_of_n", "value": "confidence"},
    "best of N, by the commonest answer": {"method": "best_of_n", "value": "majority"},
    "tree search, by confidence": {"method": "tree", "value": "confidence"},
    "Monte Carlo tree search, by confidence": {"method": "mcts", "value": "confidence"},
}


@dataclass(frozen=True, kw_only=True)
class SearchesSettings(ResultSettings):
    """Compare searches on the same tasks."""

    policy: str
    """what plays: as in agents.evaluate"""
    split: Literal["train", "validation", "test"] = "test"
    """part of the suite to play"""
    limit: int | None = None
    """play so many tasks only, chosen by the seed"""
    budget: int = 60
    """env steps for each task"""
    max_steps: int = MAX_STEPS
    """steps of an episode"""
    seed: int = 0
    """of the choice of tasks and the sampling"""
    jobs: int = 1
    """searches at the same time"""
    threads: int = 1
    """CPU threads of each; 0: torch's default"""


def run(settings: SearchesSettings) -> dict[str, Any]:
    """Play all searches and return their rows."""
    names = ("policy", "split", "limit", "budget", "max_steps", "seed", "threads")
    shared = policy_defaults(settings.policy) | {name: getattr(settings, name) for name in names}
    base = build(SearchSettings, **shared)
    played = side_by_side(search, [(replace(base, **own),) for own in ROWS.values()], settings.jobs)
    single = rewards(played[0][0].trajectories)
    rows = []
    for title, (evaluation, record) in zip(ROWS, played, strict=True):
        lift = paired_lift([single], [rewards(evaluation.trajectories)])
        kept = ("success", "n", "low", "high", "oracle_any", "episodes", "env_steps", "generated_tokens")
        rows.append({"title": title, **{name: record[name] for name in kept}, "lift": lift._asdict()})
    return {"rows": rows, "policy": settings.policy, "split": settings.split, "budget": settings.budget}


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(SearchesSettings, arguments, program="benchmarks.searches")
    result = run(settings)
    for row in result["rows"]:
        success, low, high = (100 * row[name] for name in ("success", "low", "high"))
        print(f"{row['title']:<36}{success:5.1f} %   ({low:.0f} to {high:.0f})   {row['env_steps']} env steps")
    hand_over("searches", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.searches", main)
