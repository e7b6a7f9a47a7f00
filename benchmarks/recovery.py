"""Value of demonstrations of recovery, against as many without: `python -m benchmarks.recovery --json`.

After WebCoT (arXiv 2505.20013): pointing networks are cloned from equally many demonstrations with equally many updates, once from the
expert's own episodes, and once from episodes in which wrong steps are taken and undone (`agents.data.expert`). Measured are success by
step limit, and success after a wrong step was forced on them: the episode begins with some of the expert's steps and a wrong one, from
where the expert still earns the reward. The same beginnings without the wrong step tell what that costs. The last line is one JSON
object.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch

from agents.data.expert import Shown, force_mistake, in_env
from agents.data.trajectories import Step
from agents.models.checkpoints import agent_record
from agents.rollouts.policies import Policy, Reply, Request
from agents.settings import Templates, parse_settings
from agents.training.pointer_cloning import choices, train_pointer
from agents.training.settings import PointerBCSettings
from benchmarks import playing
from benchmarks.learning import demonstration_worlds
from webarena_gym import console
from webarena_gym.actions import DIALECTS
from webarena_gym.evaluation.statistics import pooled
from webarena_gym.tasks import Task

Led = Mapping[str, Sequence[tuple[Shown, tuple[int, ...]]]]
"""The steps that episodes begin with, by task id, each with the choices of a pointing network that make it."""


@dataclass(frozen=True, kw_only=True)
class RecoverySettings(playing.ResultSettings):
    """Clone with and without demonstrations of recovery, and force mistakes on both."""

    out: Path = Path("runs/recovery")
    """folder of all runs and episodes"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """a pair of clones for each, which share their demonstrated tasks"""
    mistakes: float = 0.25
    """probability of a wrong step before one of the expert's, in demonstrations of recovery"""
    demonstrations: int = 1
    """of each template"""
    cloning_updates: int = 1200
    """updates of each clone"""
    templates: Templates = ()
    """only these templates are demonstrated; by default those of the training split"""
    split: str = "test"
    """part of the suite to play"""
    test_worlds: tuple[int, ...] = (2203,)
    """worlds in which its templates are played as well"""
    limits: tuple[int, ...] = (5, 10, 15)
    """step limits, beside that of 30"""
    limit: int | None = None
    """play so many tasks only"""
    jobs: int = 1
    """clones at the same time"""


def run(settings: RecoverySettings) -> dict[str, Any]:
    """Train and play what is not there yet, and return the rows."""
    tasks = playing.suite_tasks(settings.split, settings.test_worlds, settings.limit)
    ways = {"the plain clone": 0.0, "the clone from demonstrations of recovery": settings.mistakes}
    calls = [(settings, seed, mistakes) for mistakes in ways.values() for seed in settings.seeds]
    found = playing.side_by_side(clone_and_measure, calls, settings.jobs)
    count = len(settings.seeds)
    of_way = dict(zip(ways, (found[:count], found[count:]), strict=True))
    forced = [task for task in tasks if task.task_id in found[0]["forced"]]

    def compared(name: str, played: Sequence[Task]) -> list[dict[str, Any]]:
        measured = [
            playing.Measured(title, [[each[name][task.task_id] for task in played] for each in own])
            for title, own in of_way.items()
        ]
        return playing.rows(measured, played)

    return {
        "rows": compared("alone", tasks),
        "led": compared("led", forced),
        "forced": compared("forced", forced),
        "by_limit": {
            title: {
                str(limit): pooled([list(each["by_limit"][str(limit)].values()) for each in own])._asdict()
                for limit in (*settings.limits, playing.MAX_STEPS)
            }
            for title, own in of_way.items()
        },
        **{name: getattr(settings, name) for name in ("seeds", "mistakes", "cloning_updates")},
        "begun_at": sorted({each["begun_at"] for each in found}),
    }


def clone_and_measure(settings: RecoverySettings, seed: int, mistakes: float) -> dict[str, Any]:
    """Return the rewards by task id of one clone, alone and after the beginnings."""
    torch.set_num_threads(1)
    tasks = playing.suite_tasks(settings.split, settings.test_worlds, settings.limit)
    folder = settings.out / f"seed_{seed}" / ("recovery" if mistakes else "plain")
    worlds = demonstration_worlds(settings.demonstrations, seed)
    options: dict[str, Any] = {"templates": settings.templates, "updates": settings.cloning_updates, "mistakes": mistakes}
    begun_at = playing.claim(folder, seed=seed, worlds=worlds, **options)
    options |= {"seed": seed, "worlds": worlds, "one_world_each": settings.demonstrations == 1}
    clone = train_pointer(PointerBCSettings(out=folder / "clone", threads=1, **options))
    led = beginnings(tasks, agent_record(clone))
    episodes = folder / "episodes"
    played = [task for task in tasks if task.task_id in led]

    def rewards_by_task(tasks: Sequence[Task], name: str, **options: Any) -> dict[str, float]:
        return {item.task_id: item.reward for item in playing.play(str(clone), tasks, episodes / f"{name}.jsonl", **options)}

    limits = (*settings.limits, playing.MAX_STEPS)
    by_limit = {str(limit): rewards_by_task(tasks, f"alone_{limit}", max_steps=limit) for limit in limits}
    found: dict[str, Any] = {"by_limit": by_limit}
    for name, less in (("led", 1), ("forced", 0)):
        own = {key: steps[: len(steps) - less] for key, steps in led.items()}
        found[name] = rewards_by_task(played, name, led=partial(LedPolicy, led=own))
    return found | {"alone": found["by_limit"][str(playing.MAX_STEPS)], "begun_at": begun_at}


def beginnings(tasks: Sequence[Task], agent: Mapping[str, Any]) -> Led:
    """Return for each task some of the expert's steps and a wrong one; tasks without a wrong step that can be undone are left out.

    So are those that a pointing network cannot begin so. Equal tasks have equal beginnings.
    """
    found = {}
    for env, task in in_env(tasks, quiet=True, **{**agent, "max_steps": 2 * playing.MAX_STEPS}):
        forced = force_mistake(env, task, Random(f"forced/{task.task_id}"))
        made = choices(*forced) if forced else None
        if forced and made:
            found[task.task_id] = list(zip(forced[1], made, strict=True))
    return found


@dataclass
class LedPolicy:
    """A policy that goes on from given first steps, which are taken in its place."""

    inner: Policy
    led: Led
    _ready: list[tuple[int, Reply]] = field(default_factory=list)
    _steps: dict[int, list[Step]] = field(default_factory=dict)  # by slot, those that were taken

    def ask(self, requests: Sequence[Request]) -> None:
        """Reply with a first step, or ask the policy; its first request tells it of the steps before."""
        dialect = DIALECTS["webrl"].naming_by("id")
        for request in requests:
            slot, number, info = request.slot, request.info["step"], request.info
            given = self.led[request.env.task.task_id]
            steps = self._steps.setdefault(slot, [])
            if number == 0:
                steps.clear()
            if number <= len(given) and steps:
                steps[-1] = Step(steps[-1].page, steps[-1].reply, str(info["action_error"]), (), steps[-1].response_ids)
            if number < len(given):
                shown, made = given[number]
                if info["page"] != shown.page:
                    raise ValueError(f"step {number} of {request.env.task.task_id} is on another page than its beginning")
                text = dialect.format(shown.action)
                steps.append(Step(info["page"], text, "", (), made))
                self._ready.append((slot, Reply(text, (), made)))
            else:
                self.inner.ask([request._replace(history=tuple(steps)) if number == len(given) else request])

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        ready, self._ready = self._ready, []
        return ready or self.inner.replies(timeout_s)

    def close(self) -> None:
        self.inner.close()


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(RecoverySettings, arguments, program="benchmarks.recovery")
    result = run(settings)
    titles = {"rows": "alone", "led": "after the expert's first steps", "forced": "after those and a wrong step"}
    for name, title in titles.items():
        print(f"{title}:")
        playing.print_rows(result[name])
    for title, scores in result["by_limit"].items():
        told = ", ".join(f"{limit}: {100 * score['success']:.1f} %" for limit, score in scores.items())
        print(f"{title}, by step limit: {told}")
    playing.hand_over("recovery", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.recovery", main)
