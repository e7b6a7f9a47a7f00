"""Long tasks, by pieces and by growing step limits, against whole episodes: `python -m benchmarks.long_tasks --json`.

After KLong (arXiv 2602.17547): pointing networks are cloned from demonstrations of 15 to 33 steps, whole or split into overlapping pieces
(`agents.data.splitting`), with as many demonstrations and updates. M-GRPO then goes on from them with equally many env steps, with the
step limit of the evaluation or with one that grows (`--step-limits` of `agents.train_rl`). Templates are of the hard tier, whose tasks
are long; training and evaluation have worlds of their own, and none is that of the hard split. The last line is one JSON object.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch

from agents.data.demonstrations import draw_tasks
from agents.models.checkpoints import agent_record
from agents.settings import parse_settings
from agents.train_rl import make_settings as make_rl_settings
from agents.train_rl import train as reinforce
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import train_pointer
from agents.training.settings import make_settings
from benchmarks.playing import ResultSettings, claim, hand_over, play, rewards, side_by_side, some
from benchmarks.rows import Measured, print_rows, rows
from webarena_gym import console
from webarena_gym.tasks import Task

TEMPLATES = (
    "hard.best_coupon",
    "hard.best_customer_since",
    "hard.close_solved",
    "hard.comment_for_programs",
    "hard.invite_namesakes",
    "hard.message_on_order",
    "hard.no_sticker_trouble",
    "hard.notice_in_issue",
    "hard.open_and_accessible",
    "hard.pieces_before",
    "hard.praise_in_description",
    "hard.reopen_closed",
    "hard.resolve_settled",
    "hard.review_of_bought",
    "hard.sell_where_allowed",
    "hard.wait_or_go_on",
    "hard.well_reviewed_each",
    "hard.winner_of_quiz",
    "hard.wishes_on_sale",
)
"""Hard templates whose solutions have 15 to 33 steps in the worlds 11 and 12, and can be expressed by a pointing network there."""
_CLONE, _SPLIT = "cloned from whole episodes", "cloned from overlapping pieces"
_WHOLE_RL, _PROGRESSIVE = "M-GRPO", "M-GRPO with growing step limits"


class _Recipe(NamedTuple):
    is_split: bool
    limits: bool | None  # whether step limits grow in M-GRPO; None: there is none


RECIPES = {
    _CLONE: _Recipe(is_split=False, limits=None),
    _SPLIT: _Recipe(is_split=True, limits=None),
    f"{_CLONE}, then {_WHOLE_RL}": _Recipe(is_split=False, limits=False),
    f"{_CLONE}, then {_PROGRESSIVE}": _Recipe(is_split=False, limits=True),
    f"{_SPLIT}, then {_PROGRESSIVE}": _Recipe(is_split=True, limits=True),
}


@dataclass(frozen=True, kw_only=True)
class LongTasksSettings(ResultSettings):
    """Clone and reinforce on long tasks."""

    out: Path = Path("runs/long_tasks")
    """folder of all runs and episodes"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """a pair of clones for each, with M-GRPO from them"""
    templates: tuple[str, ...] = TEMPLATES
    """of the tasks"""
    cloning_worlds: int = 6
    """number of worlds of the demonstrations of a clone, one of each template in each"""
    cloning_updates: int = 1200
    """updates of each clone"""
    piece_steps: int = 10
    """steps of a piece"""
    shared_steps: int = 4
    """steps that a piece shares with the one before"""
    early_steps: int = 2
    """first steps that all pieces have as context"""
    env_steps: int = 60_000
    """env steps of each run of M-GRPO; 0: none is made"""
    step_limits: tuple[int, ...] = (20, 30, 45)
    """growing step limits; the last one is that of all other runs and of the evaluation"""
    rl_worlds: tuple[int, ...] = (41, 42, 43)
    """worlds of the tasks of M-GRPO, one of each template in each"""
    tasks_per_update: int = 12
    """groups in an update of M-GRPO"""
    group_size: int = 8
    """rollouts of each"""
    learning_rate: float = 3e-4
    """of M-GRPO"""
    test_worlds: tuple[int, ...] = (2203, 2204, 2205)
    """worlds of the tasks that are measured"""
    per_test_template: int = 2
    """tasks of each template in each of them"""
    limit: int | None = None
    """play so many tasks only"""
    jobs: int = 1
    """runs at the same time"""


def run(settings: LongTasksSettings) -> dict[str, Any]:
    """Train and play what is not there yet, and return the rows."""
    recipes = {title: recipe for title, recipe in RECIPES.items() if settings.env_steps or recipe.limits is None}
    clones = [(settings, seed, is_split) for is_split in (False, True) for seed in settings.seeds]
    side_by_side(clone, clones, settings.jobs)
    found = side_by_side(
        train_and_measure,
        [(settings, seed, recipe) for recipe in recipes.values() for seed in settings.seeds],
        settings.jobs,
    )
    count = len(settings.seeds)
    tasks = _held_out(settings)
    measured = [
        Measured(
            title,
            [each["rewards"] for each in own],
            {name: mean(each[name] for each in own) for name in ("env_steps", "cpu_minutes") if name in own[0]},
        )
        for title, own in zip(recipes, (found[place : place + count] for place in range(0, len(found), count)), strict=True)
    ]
    return {
        "rows": rows(measured, tasks),
        "steps": round(mean(len(task.solution) for task in tasks), 1),
        "coverage": round(mean(clone_coverage(settings, seed) for seed in settings.seeds), 4),
        "seeds": settings.seeds,
        "templates": len(settings.templates),
        "piece_steps": settings.piece_steps,
        "overlap": settings.shared_steps,
        "early_steps": settings.early_steps,
        "step_limits": settings.step_limits,
        "begun_at": sorted({each["begun_at"] for each in found}),
    }


def clone(settings: LongTasksSettings, seed: int, is_split: bool) -> Path:
    """Return the folder of the clone of a seed, which is trained first."""
    torch.set_num_threads(1)
    split = {"piece_steps": settings.piece_steps, "shared_steps": settings.shared_steps, "early_steps": settings.early_steps}
    first = 11 + seed * settings.cloning_worlds
    folder = _clone_folder(settings, seed, is_split)
    train_pointer(
        make_settings(
            out=folder,
            seed=seed,
            threads=1,
            templates=settings.templates,
            worlds=tuple(range(first, first + settings.cloning_worlds)),
            updates=settings.cloning_updates,
            max_steps=max(settings.step_limits),
            **(split if is_split else {}),
        )
    )
    return folder


def train_and_measure(settings: LongTasksSettings, seed: int, recipe: _Recipe) -> dict[str, Any]:
    """Return the rewards of what a recipe makes of a clone, which must be there, and what that took."""
    torch.set_num_threads(1)
    cloned = _clone_folder(settings, seed, recipe.is_split)
    way = {None: "clone", False: "mgrpo", True: "progressive"}[recipe.limits]
    folder = settings.out / f"seed_{seed}" / f"{'split' if recipe.is_split else 'whole'}_{way}"
    limits = settings.step_limits if recipe.limits else ()
    names = ("env_steps", "tasks_per_update", "group_size", "learning_rate")
    options = {name: getattr(settings, name) for name in names} | {"step_limits": limits, "worlds": settings.rl_worlds}
    begun_at = claim(folder, cloned=cloned, **(options if way != "clone" else {}))
    policy, spent = cloned, {}
    if way != "clone":
        own = {"model": str(cloned), "out": folder / "run", "seed": seed, "threads": 1, "per_template": 1}
        policy = reinforce(
            make_rl_settings("grpo", **{**agent_record(cloned), **own, **options, "templates": settings.templates})
        )
        spent = {name: read_metrics(folder / "run")[-1][name] for name in ("env_steps", "cpu_minutes")}
    played = play(str(policy), _held_out(settings), folder / "episodes.jsonl", max_steps=max(settings.step_limits))
    return {"rewards": rewards(played), "begun_at": begun_at, **spent}


def clone_coverage(settings: LongTasksSettings, seed: int) -> float:
    """Return the part of the whole demonstrations of a clone that it can express."""
    return float(read_metrics(_clone_folder(settings, seed, is_split=False))[-1]["coverage"])


def _clone_folder(settings: LongTasksSettings, seed: int, is_split: bool) -> Path:
    return settings.out / f"seed_{seed}" / ("clone_of_pieces" if is_split else "clone_of_wholes")


def _held_out(settings: LongTasksSettings) -> list[Task]:
    return some(draw_tasks(settings.test_worlds, settings.per_test_template, templates=settings.templates), settings.limit)


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(LongTasksSettings, arguments, program="benchmarks.long_tasks")
    result = run(settings)
    print_rows(result["rows"])
    hand_over("long_tasks", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.long_tasks", main)
