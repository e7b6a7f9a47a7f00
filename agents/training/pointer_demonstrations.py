"""Demonstrations for pointing networks: the expert's episodes, in which wrong links are tried and left, and the decisions in them."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from agents.data.demonstrations import Piece, SplitSettings, pieces
from agents.data.expert import MOST_STEPS, Shown, in_env, play_expert, play_with_mistakes
from agents.models.pointer.cloning import Imitation, sample_wrong
from agents.models.pointer.decoding import Decision, Session, demonstrate
from agents.models.pointer.pages import read_page
from agents.models.pointer.reader import Reader
from webarena_gym.actions import Action, Kind
from webarena_gym.tasks import Task

_MOST_DETOURS = 4  # in a row
_AGAIN = 0.5  # probability of another detour after one
_SAME_LINE = 0.7  # probability that a detour takes a link of the same line, where there is one
_ROOM = 1 + 2 * _MOST_DETOURS  # steps of an episode with detours, as a multiple of those without


class Demonstrated(NamedTuple):
    """Decisions to imitate, the number of episodes that they are of, and of how many of these they express all."""

    items: list[Imitation]
    episodes: int
    expressed: int


def collect(
    tasks: Sequence[Task], reader: Reader, *, wrong_kept: int, seed: int, split: SplitSettings | None = None, **options: Any
) -> Demonstrated:
    """Return the expert's decisions on tasks, each with at most `wrong_kept` wrong candidates.

    The options are those of `episodes`. With `split`, a decision remembers what is in its piece of the episode.
    """
    rng = numpy.random.default_rng(seed)
    items: list[Imitation] = []
    played = expressed = 0
    for task, goal, steps in episodes(tasks, seed=seed, **options):
        world, is_whole = task.task_id.partition("/")[2].partition("/")[0], True
        for piece in pieces(len(steps), split or SplitSettings()):
            decisions, is_made = _decide(Session(reader, goal), steps, piece)
            items += [sample_wrong(each, wrong_kept, rng, world, task.template) for each in decisions]
            is_whole = is_whole and is_made
        played, expressed = played + 1, expressed + is_whole
    return Demonstrated(items, played, expressed)


def choices(goal: str, steps: Sequence[Shown]) -> list[tuple[int, ...]] | None:
    """Return the choices of a pointing network that make each of an episode's first steps, or None if it cannot make all of them."""
    session, found = Session(Reader(), goal), list[tuple[int, ...]]()
    for step in steps:
        decisions, is_whole = demonstrate(session, step.page, step.action, has_error=step.has_error)
        if not is_whole:
            return None
        found.append(tuple(decision.right[0] for decision in decisions))
    return found


def _decide(session: Session, steps: Sequence[Shown], piece: Piece) -> tuple[list[Decision], bool]:
    """Return the decisions of a piece that are to be learned, and whether all of its steps can be made; it ends with one that cannot."""
    decisions: list[Decision] = []
    for number in piece.steps:
        step = steps[number]
        found, is_whole = demonstrate(session, step.page, step.action, has_error=step.has_error)
        if step.is_example and number in piece.learned:
            decisions += found
        if not is_whole:
            return decisions, False
    return decisions, True


def episodes(
    tasks: Sequence[Task], *, detours: float = 0.0, mistakes: float = 0.0, seed: int = 0, **env_arguments: Any
) -> Iterator[tuple[Task, str, list[Shown]]]:
    """Yield the task, the goal and the steps of the expert's episode on each task.

    With probability `detours`, before a link of the expert's another link of the page is followed, and left by going back, once or
    several times. The return is an example to learn from, the wrong link is none. Where a detour changes any later page, as signing
    out does, the episode has none. With `mistakes`, each task has a second episode, in which wrong steps are taken with that
    probability and undone (`agents.data.expert`).
    """
    room = _ROOM if detours else MOST_STEPS if mistakes else 1
    for env, task in in_env(tasks, **{**env_arguments, "max_steps": env_arguments.get("max_steps", 30) * room}):
        rng = random.Random(f"{seed}/{task.task_id}")
        goal, steps = play_expert(env, task)
        if detours:
            steps = _with_detours(env, task, steps, detours, rng) or steps
        yield task, goal, steps
        if mistakes:
            yield task, *play_with_mistakes(env, task, mistakes, rng)


def _with_detours(env: Any, task: Task, steps: Sequence[Shown], detours: float, rng: random.Random) -> list[Shown] | None:
    """Return the steps played again with detours, or None if one has changed a later page."""
    _, info = env.reset(seed=0, options={"task": task})
    played: list[Shown] = []

    def do(action: Action, *, is_example: bool) -> None:
        nonlocal info
        played.append(Shown(info["page"], action, bool(info["action_error"]), is_example))
        info = env.step(env.dialect.format(action))[-1]

    for number, step in enumerate(steps):
        chance = detours
        for _ in range(_MOST_DETOURS):
            wrong = _another_link(step.page, step.action, rng) if rng.random() < chance else None
            if wrong is None:
                break
            chance = _AGAIN
            do(wrong, is_example=False)
            if info["page"] != step.page:
                do(Action(Kind.GO_BACKWARD), is_example=True)
            if info["page"] != step.page:
                return None
        do(step.action, is_example=True)
        if number + 1 < len(steps) and info["page"] != steps[number + 1].page:
            return None
    return played


def _another_link(text: str, action: Action, rng: random.Random) -> Action | None:
    """Return a click on another link than the action's; None if the action is no click on a link, or there is no other."""
    controls = read_page(text).controls if action.kind is Kind.CLICK else ()
    own = next((control for control in controls if control.address == action.element and control.use == "link"), None)
    if own is None:
        return None
    others = [control for control in controls if control.use == "link" and control.label not in ("", own.label)]
    near = [control for control in others if control.line == own.line]
    pool = near if near and rng.random() < _SAME_LINE else others
    return Action(Kind.CLICK, rng.choice(pool).address) if pool else None
