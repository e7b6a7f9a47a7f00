"""The improvement by M-GRPO over behaviour cloning: `python -m benchmarks.learning [--quick] --json`.

For each seed a small model is cloned from the expert and then reinforced by M-GRPO, both on the training templates in worlds below
1000. Both are then evaluated, greedily and sampled, on tasks in worlds that no training has seen; so are the random policy and the expert. Nothing
is tuned on these tasks. A run that was stopped is resumed. The last line is one JSON object; its interval of the lift is a
bootstrap over tasks and seeds.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from agents.data.demonstrations import draw_tasks
from agents.evaluation.intervals import paired_lift, pooled, wilson
from agents.methods.grpo import GRPOSettings
from agents.models.checkpoints import agent_record
from agents.rollouts.settings import RolloutSettings
from agents.settings import build, flatten, lasting, parse_settings
from agents.train_bc import BCSettings
from agents.train_bc import train as clone
from agents.train_rl import make_settings
from agents.train_rl import train as reinforce
from agents.training.learner import UpdateSettings
from agents.training.metrics import read_metrics
from benchmarks.playing import MAX_STEPS, ResultSettings, claim, hand_over, measure, play, rewards, side_by_side, some
from benchmarks.plots import DYNAMICS
from webarena_gym import tasks as task_suite
from webarena_gym.tasks import Task

QUICK: dict[str, Any] = {
    "cloning_minutes": 2.0,
    "grpo_minutes": 1.0,
    "seeds": (0,),
    "limit": 40,
    "out": Path("runs/learning_quick"),
}


@dataclass(frozen=True, kw_only=True)
class LearningSettings(ResultSettings):
    """Clone, reinforce and evaluate with several seeds."""

    out: Path = Path("runs/learning")
    """folder of all runs"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """a clone and a reinforced model for each"""
    cloned: Path | None = None
    """reinforce this clone with every seed instead of new ones"""
    templates: tuple[str, ...] = ()
    """only tasks of these templates; by default the training split's to train on, the test split's to evaluate on"""
    worlds: tuple[int, ...] = tuple(range(11, 59))
    """seeds of the worlds to train in"""
    per_template: int = 1
    """tasks of each template in each world to train on"""
    fresh_world: int = 1601
    """a world in which the test split's templates are drawn once more"""
    limit: int | None = None
    """evaluate on so many tasks only"""
    sampled: int = 165
    """play the first so many of them, which are the test split's, once more with sampled replies"""
    max_steps: int = MAX_STEPS
    """steps of an episode in an evaluation"""
    cloning_minutes: float = 25.0
    """time for behaviour cloning, for each seed"""
    grpo_minutes: float = 12.0
    """time for M-GRPO, for each seed"""
    jobs: int = 1
    """seeds trained at the same time"""
    threads: int = 0
    """CPU threads; 0: torch's default"""
    quick: bool = False
    """a small run to check that everything works; its figures are rough"""
    method: GRPOSettings = field(default_factory=GRPOSettings)
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    update: UpdateSettings = field(default_factory=UpdateSettings)


def run(settings: LearningSettings) -> dict[str, Any]:
    """Train what is not trained yet, evaluate, and return the figures."""
    started = sum(os.times()[:4])  # of this process and of those that it waited for
    tasks = held_out(settings)
    if settings.cloned:
        _measure(settings, settings.cloned, settings.out / "cloned")  # once, before every seed asks for it
    seeds = side_by_side(train_and_measure, [(settings, seed) for seed in settings.seeds], settings.jobs)
    scripted = settings.out / "scripted"
    claim(scripted, max_steps=settings.max_steps)
    figures: dict[str, Any] = {}
    for way, suffix in (("greedy", ""), ("sampled", "_sampled")):
        before, after = ([found[name][way] for found in seeds] for name in ("bc", "mgrpo"))
        lift = paired_lift(before, after)
        figures |= {
            f"bc{suffix}": round(mean(map(mean, before)), 4),
            f"mgrpo{suffix}": round(mean(map(mean, after)), 4),
            f"bc{suffix}_pooled": pooled(before)._asdict(),
            f"mgrpo{suffix}_pooled": pooled(after)._asdict(),
            f"bc{suffix}_of_seeds": [wilson(sum(values), len(values)) for values in before],
            f"mgrpo{suffix}_of_seeds": [wilson(sum(values), len(values)) for values in after],
            f"lift{suffix}": round(lift.lift, 4),
            f"lift{suffix}_ci95": [round(lift.low, 4), round(lift.high, 4)],
            f"lift{suffix}_of_seeds": [round(mean(new) - mean(old), 4) for old, new in zip(before, after, strict=True)],
        }
    return figures | {
        "n": len(tasks),
        "n_sampled": len(tasks[: settings.sampled]),
        "seeds": len(seeds),
        "begun_at": sorted({found["begun_at"] for found in seeds}),
        "random": mean(rewards(play("random", tasks, scripted / "random.jsonl", max_steps=settings.max_steps))),
        "expert": mean(rewards(play("expert", tasks, scripted / "expert.jsonl", max_steps=settings.max_steps))),
        "env_steps": [found["metrics"][-1]["env_steps"] for found in seeds],
        "mgrpo_cpu_minutes": [round(found["metrics"][-1]["cpu_minutes"], 1) for found in seeds],
        "dynamics": {
            seed: {name: [round(record[name], 4) for record in found["metrics"]] for name in DYNAMICS}
            for seed, found in zip(settings.seeds, seeds, strict=True)
        },
        "cpu_minutes": round((sum(os.times()[:4]) - started) / 60, 1),
    }


def train_and_measure(settings: LearningSettings, seed: int) -> dict[str, Any]:
    """Return the rewards of a seed's clone and of its reinforced model, and the cost of reinforcement."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    folder = settings.out / f"seed_{seed}"
    common: dict[str, Any] = {name: getattr(settings, name) for name in ("worlds", "per_template", "templates", "threads")}
    parts = (settings.method, settings.rollout, settings.update)
    own = {name: value for part in parts for name, value in flatten(part).items()}
    lasting_options = {name: value for part in parts for name, value in lasting(part).items()}
    minutes = {"cloning_minutes": None if settings.cloned else settings.cloning_minutes, "grpo_minutes": settings.grpo_minutes}
    begun_at = claim(folder, cloned=settings.cloned, **minutes, **common, **lasting_options)
    cloned, episodes = settings.cloned, settings.out / "cloned"
    if cloned is None:
        cloned, episodes = folder / "bc", folder / "bc_episodes"
        clone(build(BCSettings, out=cloned, minutes=settings.cloning_minutes, seed=seed, **common))
    common |= agent_record(cloned) | {"model": str(cloned), "out": folder / "mgrpo", "seed": seed}
    reinforce(make_settings("grpo", minutes=settings.grpo_minutes, **common, **own))
    return {
        "bc": _measure(settings, cloned, episodes),
        "mgrpo": _measure(settings, folder / "mgrpo", folder / "mgrpo_episodes"),
        "metrics": read_metrics(folder / "mgrpo"),
        "begun_at": begun_at,
    }


def held_out(settings: LearningSettings) -> list[Task]:
    """Return the tasks to evaluate on: the test split, and its templates once more in a fresh world."""
    if settings.templates:
        tasks = draw_tasks([settings.fresh_world, settings.fresh_world + 1], 5, templates=settings.templates)
    else:
        tasks = [*task_suite.load("test"), *task_suite.load("test", settings.fresh_world)]
    return some(tasks, settings.limit)


def _measure(settings: LearningSettings, policy: Path, folder: Path) -> dict[str, list[float]]:
    """Return the reward of each held-out task, greedily, and of the first of them with sampled replies."""
    return measure(policy, held_out(settings), folder, settings.max_steps, sampled=settings.sampled)


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(
        LearningSettings, arguments, QUICK if "--quick" in arguments else {}, program="benchmarks.learning"
    )
    if settings.threads:
        torch.set_num_threads(settings.threads)
    result = run(settings) | {"quick": settings.quick}
    for name, value in result.items():
        print(f"{name:<24}{json.dumps(value)}")
    hand_over("learning", result, settings)


if __name__ == "__main__":
    main(sys.argv[1:])
