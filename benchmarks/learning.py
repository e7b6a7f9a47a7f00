"""What reinforcement adds to cloning: `python -m benchmarks.learning [--quick] --json`.

For each seed a small model is cloned from the expert and then reinforced by M-GRPO, both on the training templates in worlds below
1000. Both are then evaluated greedily on tasks in worlds that no training has seen; so are the random policy and the expert. Nothing
is tuned on these tasks. A run that was stopped goes on where it was. The last line is one JSON object; its interval of the lift is a
bootstrap over tasks and seeds.
"""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch
import transformers

from agents.demonstrations import draw_tasks
from agents.evaluate import Evaluation, EvaluationSettings, create_policy, evaluate, policy_defaults
from agents.intervals import paired_lift, wilson
from agents.metrics import read_metrics
from agents.settings import parse_settings
from agents.train_bc import BCSettings
from agents.train_bc import train as clone
from agents.train_grpo import GRPOSettings
from agents.train_grpo import train as reinforce
from agents.trajectories import read_trajectories, write_trajectories
from benchmarks.machine import origin
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
class LearningSettings:
    """Clone, reinforce and evaluate with several seeds."""

    out: Path = Path("runs/learning")
    """folder of all runs"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """a clone and a reinforced model for each"""
    cloned: Path | None = None
    """reinforce this clone with every seed, in place of new ones"""
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
    cloning_minutes: float = 25.0
    """time for behaviour cloning, for each seed"""
    grpo_minutes: float = 12.0
    """time for M-GRPO, for each seed"""
    learning_rate: float = 3e-4
    """of M-GRPO"""
    threads: int = 0
    """CPU threads; 0: torch's default"""
    quick: bool = False
    """a small run, to see that everything works: its figures are rough"""
    json: bool = False
    """print one JSON object on the last line"""


def run(settings: LearningSettings) -> dict[str, Any]:
    """Train what is not trained yet, evaluate, and return the figures."""
    started = time.process_time()
    tasks = held_out(settings)
    rewards: dict[str, list[list[float]]] = {"bc": [], "mgrpo": []}
    spent: list[dict[str, float]] = []
    for seed in settings.seeds:
        folder = settings.out / f"seed_{seed}"
        common: dict[str, Any] = {
            "worlds": settings.worlds,
            "per_template": settings.per_template,
            "templates": settings.templates,
        }
        common |= {"threads": settings.threads, "seed": seed}
        cloned = settings.cloned or folder / "bc"
        if settings.cloned is None:
            clone(BCSettings(out=cloned, minutes=settings.cloning_minutes, **common))
        reinforced = folder / "mgrpo"
        reinforce(
            GRPOSettings(
                model=str(cloned), out=reinforced, minutes=settings.grpo_minutes, learning_rate=settings.learning_rate, **common
            )
        )
        spent.append(read_metrics(reinforced)[-1])
        for name, policy in (("bc", cloned), ("mgrpo", reinforced)):
            rewards[name].append(play(str(policy), tasks, folder / f"{name}.jsonl"))
    figures: dict[str, Any] = {name: round(mean(map(mean, values)), 4) for name, values in rewards.items()}
    lift = paired_lift(rewards["bc"], rewards["mgrpo"])
    figures |= {f"{name}_of_seeds": [wilson(sum(values), len(values)) for values in rewards[name]] for name in rewards}
    figures |= {
        "n": len(tasks),
        "seeds": len(settings.seeds),
        "lift": round(lift.lift, 4),
        "lift_ci95": [round(lift.low, 4), round(lift.high, 4)],
        "lift_p": lift.p,
        "lift_of_seeds": [round(mean(after) - mean(before), 4) for before, after in zip(*rewards.values(), strict=True)],
        "random": mean(play("random", tasks, settings.out / "random.jsonl")),
        "expert": mean(play("expert", tasks, settings.out / "expert.jsonl")),
        "env_steps": [record["env_steps"] for record in spent],
        "mgrpo_cpu_minutes": [round(record["cpu_minutes"], 1) for record in spent],
        "cpu_minutes": round((time.process_time() - started) / 60, 1),
    }
    return figures


def held_out(settings: LearningSettings) -> list[Task]:
    """Return the tasks to evaluate on: the test split, and its templates once more in a fresh world."""
    if settings.templates:
        tasks = draw_tasks([settings.fresh_world, settings.fresh_world + 1], 5, templates=settings.templates)
    else:
        tasks = [*task_suite.load("test"), *task_suite.load("test", settings.fresh_world)]
    return tasks[:: max(1, len(tasks) // settings.limit)][: settings.limit] if settings.limit else tasks


def play(policy: str, tasks: Sequence[Task], file: Path) -> list[float]:
    """Return the reward of each task, greedily; what was played before is read from the file."""
    if not file.exists():
        evaluation = _evaluate(policy, tasks)
        if evaluation.failed:
            raise RuntimeError(f"{evaluation.failed} episodes of {policy} were lost; run the command once more")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_trajectories(file, evaluation.trajectories)
    played = read_trajectories(file)
    if [item.task_id for item in played] != [task.task_id for task in tasks]:
        raise ValueError(
            f"{file} holds episodes of other tasks; expected those of this run: remove it, or choose another --out"
        )
    return [item.reward for item in played]


def _evaluate(policy: str, tasks: Sequence[Task]) -> Evaluation:
    settings = EvaluationSettings(policy=policy, **{"max_steps": 30} | policy_defaults(policy) | {"max_steps": 30})
    with closing(create_policy(settings)) as player:
        return evaluate(player, tasks, settings)


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    settings = parse_settings(LearningSettings, arguments, QUICK if "--quick" in arguments else {})
    if settings.threads:
        torch.set_num_threads(settings.threads)
    result = run(settings) | {"quick": settings.quick, **origin("learning")}
    result["versions"] |= {"torch": torch.__version__, "transformers": transformers.__version__}
    for name, value in result.items():
        print(f"{name:<24}{json.dumps(value)}")
    if settings.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
