"""Episodes in the report: a head for the lists, and compressed blocks that the page reads when an episode is opened."""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.report.replays import Replay, Replayer
from agents.evaluation.report.results import cause, mark, outcome, split_reply
from agents.evaluation.report.sources import task_of
from webarena_gym.actions import DIALECTS
from webarena_gym.episode.verdicts import in_words
from webarena_gym.errors import ActionError
from webarena_gym.tasks import Task

_FRAME = len('<script type="application/gzip" id=""></script>\n')


class Shown(NamedTuple):
    """Of how many episodes of a policy the report holds pages and steps, and how many there are. All of them are in its lists."""

    pages: int
    steps: int
    episodes: int


class Packed(NamedTuple):
    """Episodes ready for the file: their heads, the compressed blocks by id, and what is held of each policy."""

    heads: list[dict[str, Any]]
    blocks: dict[str, str]
    shown: dict[str, Shown]


class _Item(NamedTuple):
    policy: str
    number: int  # of those of its policy, from 1
    task: Task
    episode: Trajectory


def pack_episodes(
    policies: Mapping[str, Sequence[Trajectory]],
    rollouts: Mapping[str, Sequence[Trajectory]] | None = None,
    *,
    room: int,
    pages: bool,
) -> Packed:
    """Return all episodes, in turns, so that the policies show the same tasks; with as many steps and pages as fit into `room` bytes.

    The `rollouts` of training come last.

    Steps come before pages: what a person would have seen is added for as many episodes as there is room for then. With `pages`
    episodes are played again for it.
    """
    rollouts = rollouts or {}
    items = [*_in_turns(policies), *_in_turns(rollouts)]
    heads = [_head(item, is_rollout=item.policy in rollouts) for item in items]
    room -= len(json.dumps(heads))
    blocks: dict[str, str] = {}
    for index, item in enumerate(items):
        packed = {f"steps-{index}": pack(json.dumps(_steps(item.episode), ensure_ascii=False))}
        room -= _size(packed)
        if room < 0:
            break
        heads[index]["holds"] = "steps"
        blocks |= packed
    if pages and room > 0:
        _add_pages(items, heads, blocks, room)
    held = [(head["policy"], head["holds"]) for head in heads]
    shown = {
        name: Shown(held.count((name, "pages")), held.count((name, "pages")) + held.count((name, "steps")), len(episodes))
        for name, episodes in {**policies, **rollouts}.items()
    }
    return Packed(heads, blocks, shown)


def _add_pages(items: Sequence[_Item], heads: Sequence[dict[str, Any]], blocks: dict[str, str], room: int) -> None:
    """Add the pages of the first episodes, as many as there is room for, and what their pages need."""
    with Replayer() as replayer:
        for index, item in enumerate(items):
            replay = replayer.replay(item.task, item.episode)
            contents = replayer.assets.contents
            packed = {f"asset-{key}": pack(contents[key]) for key in replay.assets if f"asset-{key}" not in blocks}
            packed[f"pages-{index}"] = pack(json.dumps(_pages(item.episode, replay), ensure_ascii=False))
            room -= _size(packed)
            if room < 0:
                break
            heads[index]["holds"] = "pages"
            blocks |= packed


def _in_turns(policies: Mapping[str, Sequence[Trajectory]]) -> Iterator[_Item]:
    columns = [[(name, number, item) for number, item in enumerate(items, 1)] for name, items in policies.items()]
    for name, number, episode in filter(None, chain.from_iterable(zip_longest(*columns))):
        yield _Item(name, number, task_of(episode), episode)


def _size(blocks: Mapping[str, str]) -> int:
    return sum(_FRAME + len(name) + len(content) for name, content in blocks.items())


def pack(text: str) -> str:
    """Return text compressed (gzip, base64); equal texts give equal results."""
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _head(item: _Item, *, is_rollout: bool) -> dict[str, Any]:
    task, episode = item.task, item.episode
    return {
        "policy": item.policy,
        "number": item.number,
        "task": episode.task_id,
        "goal": episode.goal,
        "site": "+".join(task.sites),
        "template": task.template or episode.task_id,
        "difficulty": list(task.difficulty),
        "outcome": outcome(episode),
        "cause": cause(episode),
        "steps": len(episode.steps),
        "errors": sum(bool(step.action_error) for step in episode.steps),
        "rollout": is_rollout,
        "holds": "",
    }


def _steps(episode: Trajectory) -> dict[str, Any]:
    """Return the steps of an episode, and what followed them."""
    steps = []
    for step in episode.steps:
        thought, action = split_reply(step.reply)
        steps.append(
            {
                "text": step.page,
                "mark": _span(step.page, _address(step)),
                "thought": thought,
                "action": action,
                "error": step.action_error,
                "logprobs": [round(value, 4) for value in step.logprobs],
                "tokens": step.tokens,
                "candidates": [[each.action, round(each.probability, 4)] for each in step.candidates],
                "seconds": [round(step.policy_s, 4), round(step.env_s, 4)],
            }
        )
    return {
        "steps": steps,
        "told": _told(episode),
        "verdicts": [dict(verdict) for verdict in episode.verdicts],
        "failure": episode.failure,
    }


def _pages(episode: Trajectory, replay: Replay) -> dict[str, Any]:
    """Return the pages of an episode that were seen again, with what only the replay knows of their texts."""
    pages = []
    for place, shown in enumerate(replay.pages):
        page: dict[str, Any] = {"html": shown.html}
        step = episode.steps[place] if place < len(episode.steps) else None
        if step and not step.page:
            page |= {"text": shown.text, "mark": _span(shown.text, shown.address)}
        elif step and shown.address:
            page["mark"] = _span(step.page, shown.address)
        pages.append(page)
    return {"pages": pages, "problem": replay.problem}


def _span(page: str, address: str | None) -> list[int]:
    """Return where the element with that address begins and ends in a text, as JavaScript counts; nothing where it is not in it."""
    before, marked, _ = mark(page, address)
    start = _units(before)
    return [start, start + _units(marked)] if marked else []


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


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
