"""Episodes as a flat table, one row each, that data-frame libraries read."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.data.trajectories import Trajectory
from agents.evaluation.report.episodes import cause, outcome
from agents.evaluation.report.marks import split_reply
from agents.evaluation.report.results import task_of

SUFFIXES = (".csv", ".jsonl")


def rows(policies: Mapping[str, Sequence[Trajectory]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each episode: its task, how it ended and why, and what it took. One that broke has no reward."""
    for policy, episodes in policies.items():
        for number, episode in enumerate(episodes, 1):
            task = task_of(episode)
            failed = [str(verdict["check"]) for verdict in episode.verdicts if not verdict["passed"]]
            yield {
                "policy": policy,
                "number": number,
                "task_id": episode.task_id,
                "template": task.template,
                "world_seed": task.world_seed,
                "sites": "+".join(task.sites),
                "difficulty": "+".join(task.difficulty),
                "goal": episode.goal,
                "reward": None if episode.ending == "failed" else episode.reward,
                "ending": episode.ending,
                "outcome": outcome(episode),
                "cause": cause(episode),
                "failed_checks": "+".join(failed),
                "steps": len(episode.steps),
                "action_errors": sum(bool(step.action_error) for step in episode.steps),
                "prompt_tokens": sum(len(step.prompt_ids) for step in episode.steps),
                "reply_tokens": sum(len(step.response_ids) for step in episode.steps),
                "last_action": split_reply(episode.steps[-1].reply)[1] if episode.steps else "",
                "group": episode.group,
                "policy_version": episode.policy_version,
                "failure": episode.failure,
            }


def write_table(path: Path, policies: Mapping[str, Sequence[Trajectory]]) -> int:
    """Write the rows as CSV or JSON Lines, as the name ends, and return how many. Raises ValueError for another ending."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path} ends in {path.suffix or 'nothing'!r}; expected {' or '.join(SUFFIXES)}")
    found = list(rows(policies))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, list(found[0]) if found else [])
            writer.writeheader()
            writer.writerows(found)
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
    return len(found)
