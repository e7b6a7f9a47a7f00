"""From a small agent to a better one and a report, in five to seven minutes on two cores: `make demo`.

The starter agent that ships, or with `--from-scratch` a model that is cloned from the expert first; multi-turn GRPO; and an evaluation
before and after in worlds that no training has seen. What it prints is what happened.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from agents import train_bc, train_rl
from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import write_trajectories
from agents.evaluation.evaluate import Evaluation, EvaluationSettings, evaluate_policy, policy_defaults, table
from agents.evaluation.report import write_report
from agents.evaluation.report.sources import Sources
from agents.models.checkpoints import agent_record
from agents.settings import ENV_FIELDS, EnvSettings, build, parse_settings
from agents.training.metrics import read_metrics
from webarena_gym.tasks import Task

STARTER = Path(__file__).parent / "checkpoints" / "starter"
"""the small model that ships, cloned on the whole suite"""
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
    """Reinforce, evaluate and report, within a time that two CPU cores can keep."""

    out: Path = Path("runs/demo")
    """folder of the demo; what an earlier demo left there is replaced"""
    from_scratch: bool = False
    """clone a model from nothing first, in place of beginning with the agent that ships"""
    cloning_minutes: float = 4.0
    """time for behaviour cloning from scratch"""
    grpo_minutes: float = 4.0
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
    for name in ("cloning", "grpo"):
        rmtree(settings.out / name, ignore_errors=True)
    for file in settings.out.glob("episodes_*.jsonl"):
        file.unlink()
    tasks = draw_tasks(settings.test_worlds, settings.per_test_template, templates=settings.templates)
    model, name, runs = STARTER, "as it ships", dict[str, Sequence[Mapping[str, float]]]()
    shared = {key: getattr(settings, key) for key in ("worlds", "per_template", "templates", "seed")}
    if settings.from_scratch:
        model, name = settings.out / "cloning", "cloned"
        train_bc.train(build(train_bc.BCSettings, out=model, minutes=settings.cloning_minutes, **shared))
        runs["cloning"] = read_metrics(model)
    agent, grpo = agent_record(model), settings.out / "grpo"
    env = EnvSettings(**{key: value for key, value in agent.items() if key in ENV_FIELDS})
    evaluations = {"random": _evaluate("random", tasks, env, settings)}
    evaluations[name] = _evaluate(str(model), tasks, env, settings)
    train_rl.train(
        train_rl.make_settings(
            "grpo", model=str(model), out=grpo, minutes=settings.grpo_minutes, processes=0, **shared, **agent
        )
    )
    evaluations[f"{name}, then M-GRPO"] = _evaluate(str(grpo), tasks, env, settings)
    for policy, evaluation in evaluations.items():
        print(f"\n{policy}\n{table(evaluation)}")
    report = settings.out / "report.html"
    minutes = (time.perf_counter() - started) / 60
    write_report(
        report,
        Sources(
            runs=runs | {"M-GRPO": read_metrics(grpo)},
            policies={policy: evaluations[policy].trajectories for policy in (name, f"{name}, then M-GRPO", "random")},
        ),
        title="A small agent learns to use a shop",
        lead=f"{len(tasks)} tasks in worlds that no training has seen. {minutes:.1f} minutes in all.",
        window=env.window,
    )
    print(f"\n{minutes:.1f} minutes. Every episode, step by step: {report}")


def _evaluate(policy: str, tasks: Sequence[Task], env: EnvSettings, settings: DemoSettings) -> Evaluation:
    chosen = EvaluationSettings(**policy_defaults(policy) | {"policy": policy, "seed": settings.seed, "processes": 0})
    evaluation = evaluate_policy(chosen, tasks, env)
    settings.out.mkdir(parents=True, exist_ok=True)
    write_trajectories(settings.out / f"episodes_{Path(policy).name}.jsonl", evaluation.trajectories)
    return evaluation


if __name__ == "__main__":
    run(parse_settings(DemoSettings, sys.argv[1:], program="agents.demo"))
