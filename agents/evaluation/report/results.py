"""Results of policies: scores, the difference of each from the first, and a flat table of episodes that data-frame libraries read."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agents.data.trajectories import Trajectory
from agents.evaluation.intervals import Evaluation, Lift, paired_lift, summarise
from agents.evaluation.report.sources import task_of
from webarena_gym.actions.replies import answer_part

OUTCOMES = {"exited": "wrong", "truncated": "out of steps", "too_long": "prompt too long", "failed": "broken, not counted"}

CAUSES = {
    "string_match": "wrong answer",
    "url_match": "wrong page",
    "program_html": "wrong content",
    "state": "wrong state",
    "side_effects": "side effects",
    "injected": "followed a hostile page",
}
"""Why an episode failed, by the kind of its first check that did."""


SUFFIXES = (".csv", ".jsonl")


_TAGS = re.compile(r"</?(?:think|answer)>")


class Result(NamedTuple):
    """What a policy has reached. `lift` is its difference from the first policy; None where they share too few tasks."""

    name: str
    evaluation: Evaluation
    lift: Lift | None


def summarise_all(policies: Mapping[str, Sequence[Trajectory]]) -> list[Result]:
    """Return the result of each policy, in order."""
    results: list[Result] = []
    for name, episodes in policies.items():
        evaluation = summarise([task_of(episode) for episode in episodes], episodes)
        first = results[0].evaluation.trajectories if results else []
        results.append(Result(name, evaluation, _lift(first, episodes)))
    return results


def _lift(first: Sequence[Trajectory], second: Sequence[Trajectory]) -> Lift | None:
    """Compare two policies on the tasks that each has played just once and to an end."""
    before, after = _rewards(first), _rewards(second)
    shared = [task_id for task_id in before if task_id in after]
    if len(shared) < 2:
        return None
    return paired_lift([[before[task_id] for task_id in shared]], [[after[task_id] for task_id in shared]])


def _rewards(episodes: Sequence[Trajectory]) -> dict[str, float]:
    times = Counter(episode.task_id for episode in episodes)
    return {item.task_id: item.reward for item in episodes if item.ending != "failed" and times[item.task_id] == 1}


def outcome(episode: Trajectory) -> str:
    """Return how an episode ended, in a word or two."""
    return "solved" if episode.ending != "failed" and episode.reward == 1 else OUTCOMES[episode.ending]


def cause(episode: Trajectory) -> str:
    """Return why an episode was not solved, in a word or two; "none" for one that was.

    >>> cause(Trajectory("t/1", "", (), 0.0, "exited", verdicts=({"check": "url_match", "passed": False},)))
    'wrong page'
    """
    ended = outcome(episode)
    if ended == "solved":
        return "none"
    if episode.ending == "failed":
        return f"broken: {episode.failure.partition(':')[0][:60]}"
    failed = [str(verdict["check"]) for verdict in episode.verdicts if not verdict["passed"]]
    if episode.ending != "exited" or not failed:
        return ended
    return CAUSES.get(failed[0].partition("/")[0], failed[0])


def mark(page: str, address: str | None) -> tuple[str, str, str]:
    """Split a page's text at the element that an action names, by its number or its label; in the end if it is not there.

    >>> mark('<a>Home</a> <button>Add to Cart [2]</button>', "add to cart [2]")[1]
    '<button>Add to Cart [2]</button>'
    >>> mark('<a id="1">Home</a> <input id="12" label="Name">', "12")[1]
    '<input id="12" label="Name">'
    """
    if address is None:
        return page, "", ""
    shown = re.escape(" ".join(address.split()).replace("<", "&lt;"))
    quoted = shown.replace('"', "&quot;")
    ways = (
        rf'<(\w+)\b[^<>]* id="{quoted}"[^<>]*>(?:[^<\n]*</\1>)?',
        rf'<\w+\b[^<>]* label="{quoted}"[^<>]*>',
        rf"<(\w+)\b[^<>]*>{shown}</\1>",
        rf"(?m)^\s*\[{shown}\] .*$",  # a line of an accessibility tree
    )
    found = next(filter(None, (re.search(way, page, re.IGNORECASE) for way in ways)), None)
    return (page[: found.start()], found.group(), page[found.end() :]) if found else (page, "", "")


def split_reply(reply: str) -> tuple[str, str]:
    """Return the thought and the action of a reply.

    >>> split_reply("<think>Which?</think> The first. <answer>go_backward()</answer>")
    ('Which? The first.', 'go_backward()')
    """
    action = answer_part(reply)
    before = reply[: reply.rfind(action)] if action else reply
    return _TAGS.sub("", before).strip(), action


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
