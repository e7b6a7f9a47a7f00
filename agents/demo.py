"""From nothing to a report in ten minutes on two cores: `make demo`.

Demonstrations of the expert, behaviour cloning of a small model, multi-turn GRPO, and an evaluation before and after in worlds
that no training has seen. What it prints is what happened.
"""

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from agents import train_bc, train_grpo
from agents.demonstrations import draw_tasks
from agents.evaluate import Evaluation, EvaluationSettings, create_policy, evaluate, table
from agents.metrics import read_metrics
from agents.report import write_report
from agents.report.sources import Sources
from agents.settings import EnvSettings, parse_settings
from agents.trajectories import write_trajectories
from webarena_gym.tasks import Task

ENV = EnvSettings()
TEMPLATES = tuple(
    f"shopping.{name}"
    for name in [
        "account_place",
        "category_place",
        "search_place",
        "product_place",
        "reviews_place",
        "cart_add",
        "cart_show",
        "wish_list_add",
        "newsletter_switch",
        "latest_total",
        "latest_number",
        "order_status",
        "product_price",
        "product_sku",
    ]
)
"""Tasks of the shop that take two to six steps; what a model of a million weights can learn in minutes."""


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """Clone, reinforce, evaluate and report, within a time that two CPU cores can keep."""

    out: Path = Path("runs/demo")
    """folder of the demo; what an earlier one left there is removed"""
    cloning_minutes: float = 4.0
    """time for behaviour cloning"""
    grpo_minutes: float = 3.0
    """time for M-GRPO"""
    templates: tuple[str, ...] = TEMPLATES
    """kinds of tasks to learn"""
    worlds: tuple[int, ...] = tuple(range(11, 59))
    """seeds of the worlds to train in; many, so that names must be read and cannot be remembered"""
    per_template: int = 2
    """tasks of each template in each world to train on"""
    test_worlds: tuple[int, ...] = (1001, 1002, 1003)
    """seeds of the worlds to evaluate in, never trained in"""
    per_test_template: int = 5
    """tasks of each template in each world to evaluate on"""
    seed: int = 0
    """of everything random"""


def run(settings: DemoSettings) -> None:
    """Do everything and write the report."""
    started = time.perf_counter()
    rmtree(settings.out, ignore_errors=True)
    tasks = draw_tasks(settings.test_worlds, settings.per_test_template, templates=settings.templates)
    evaluations = {"random": _evaluate("random", tasks, settings)}
    cloning, grpo = settings.out / "cloning", settings.out / "grpo"
    train_bc.train(
        train_bc.BCSettings(
            out=cloning,
            worlds=settings.worlds,
            per_template=settings.per_template,
            templates=settings.templates,
            minutes=settings.cloning_minutes,
            seed=settings.seed,
        )
    )
    evaluations["cloned"] = _evaluate(str(cloning), tasks, settings)
    train_grpo.train(
        train_grpo.GRPOSettings(
            model=str(cloning),
            out=grpo,
            worlds=settings.worlds,
            per_template=settings.per_template,
            templates=settings.templates,
            minutes=settings.grpo_minutes,
            seed=settings.seed,
        )
    )
    evaluations["cloned, then M-GRPO"] = _evaluate(str(grpo), tasks, settings)
    for name, evaluation in evaluations.items():
        print(f"\n{name}\n{table(evaluation)}")
    report = settings.out / "report.html"
    minutes = (time.perf_counter() - started) / 60
    write_report(
        report,
        Sources(
            runs={"cloning": read_metrics(cloning), "M-GRPO": read_metrics(grpo)},
            policies={name: evaluations[name].trajectories for name in ("cloned", "cloned, then M-GRPO", "random")},
        ),
        title="A small agent learns to use a shop",
        lead=f"{len(tasks)} tasks in worlds that no training has seen. {minutes:.1f} minutes in all.",
        window=ENV.window,
    )
    print(f"\n{minutes:.1f} minutes. Every episode, step by step: {report}")


def _evaluate(policy: str, tasks: Sequence[Task], settings: DemoSettings) -> Evaluation:
    with closing(create_policy(EvaluationSettings(policy=policy, seed=settings.seed))) as chosen:
        evaluation = evaluate(chosen, tasks, ENV, seed=settings.seed)
    settings.out.mkdir(parents=True, exist_ok=True)
    write_trajectories(settings.out / f"episodes_{Path(policy).name}.jsonl", evaluation.trajectories)
    return evaluation


if __name__ == "__main__":
    run(parse_settings(DemoSettings, sys.argv[1:]))
