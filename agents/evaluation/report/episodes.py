"""Episodes in the report: a short entry for the list, and the compressed steps and pages."""

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.report.marks import mark, split_reply
from agents.evaluation.report.replays import Replay, Replayer
from agents.evaluation.report.results import task_of
from webarena_gym.actions import DIALECTS
from webarena_gym.episode.verdicts import in_words
from webarena_gym.errors import ActionError
from webarena_gym.tasks import Task

OUTCOMES = {"exited": "failed", "truncated": "out of steps", "too_long": "prompt too long", "failed": "broken, not counted"}
_WITHOUT_PAGES = Replay([], [], "This report was written without pages.")


class Packed(NamedTuple):
    """Episodes ready for the file: their heads with packed bodies, packed assets by key, and how many of each policy are in."""

    heads: list[dict[str, Any]]
    assets: dict[str, str]
    kept: dict[str, int]


def pack_episodes(policies: Mapping[str, Sequence[Trajectory]], *, room: int, pages: bool, window: int) -> Packed:
    """Return as many episodes as fit into `room` bytes, taken in turns, so that the policies show the same tasks.

    With `pages` they are played again, in envs with that `window`, for what a person would have seen.
    """
    packed = Packed([], {}, dict.fromkeys(policies, 0))
    columns = [[(name, number, item) for number, item in enumerate(items, 1)] for name, items in policies.items()]
    with Replayer(window=window) if pages else nullcontext() as replayer:
        for name, number, episode in filter(None, chain.from_iterable(zip_longest(*columns))):
            task = task_of(episode)
            replay = replayer.replay(task, episode) if replayer else _WITHOUT_PAGES
            contents = replayer.assets.contents if replayer else {}
            assets = {key: pack(contents[key]) for key in replay.assets if key not in packed.assets}
            head = _head(name, number, task, episode) | {"body": pack(json.dumps(_body(episode, replay)))}
            room -= len(json.dumps([head, assets]))
            if room < 0:
                break
            packed.heads.append(head)
            packed.assets.update(assets)
            packed.kept[name] += 1
    return packed


def pack(text: str) -> str:
    """Return text compressed (gzip, base64); equal texts give equal results."""
    return b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def outcome(episode: Trajectory) -> str:
    """Return how an episode ended, in a word or two."""
    return "solved" if episode.ending != "failed" and episode.reward == 1 else OUTCOMES[episode.ending]


def _head(policy: str, number: int, task: Task, episode: Trajectory) -> dict[str, Any]:
    return {
        "policy": policy,
        "number": number,
        "task": episode.task_id,
        "goal": episode.goal,
        "site": "+".join(task.sites),
        "template": task.template or episode.task_id,
        "outcome": outcome(episode),
        "steps": len(episode.steps),
    }


def _body(episode: Trajectory, replay: Replay) -> dict[str, Any]:
    """Return the steps, what followed them, and the verdicts. A page that was not seen again is None."""
    pages = dict(enumerate(replay.pages))
    steps = []
    for place, step in enumerate(episode.steps):
        shown = pages.get(place)
        thought, action = split_reply(step.reply)
        address = (shown and shown.address) or _address(step)
        steps.append(
            {
                "text": mark(step.page or (shown.text if shown else ""), address),
                "html": shown and shown.html,
                "thought": thought,
                "action": action,
                "error": step.action_error,
            }
        )
    last = pages.get(len(episode.steps))
    return {
        "steps": steps,
        "last": last and last.html,
        "told": _told(episode),
        "verdicts": [dict(verdict) for verdict in episode.verdicts],
        "failure": episode.failure,
        "problem": replay.problem,
    }


def _told(episode: Trajectory) -> list[str]:
    """Return how an episode ended in plain words; none where no check was made."""
    if episode.failure:
        return in_words({"failure": episode.failure})
    return in_words({"success": episode.reward == 1, "verdicts": episode.verdicts}) if episode.verdicts else []


def _address(step: Step) -> str | None:
    try:
        return DIALECTS["webrl"].parse(step.reply).element
    except ActionError:
        return None
