"""From nothing to a web agent and a report: `make demo`.

A pointing network is cloned from one demonstration of each training template, reinforced by multi-turn GRPO on its own rollouts, and
evaluated on the test split's templates in worlds that no training has seen, beside the random policy and the expert. What it prints
is what happened.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from agents import train_rl
from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import write_trajectories
from agents.evaluation.evaluate import Evaluation, EvaluationSettings, evaluate_policy, policy_defaults, table
from agents.evaluation.report import write_report
from agents.evaluation.report.sources import Sources, newest_groups
from agents.models.checkpoints import agent_record
from agents.rollouts.players import collect_rarely
from agents.settings import ENV_FIELDS, EnvSettings, Processes, Templates, parse_settings
from agents.training import pointer_cloning
from agents.training.metrics import read_metrics
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.tasks import Task

_CLONING_WORLDS = (11, 12, 13, 14)  # each template is demonstrated in one of them
_STEPS = 15  # of a rollout that is trained on
_SAVE_ROLLOUTS = 5  # updates from one of which the report has groups to the next


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """Clone, reinforce, evaluate and report."""

    out: Path = Path("runs/demo")
    """folder of the demo; what an earlier demo left there is replaced"""
    model: Path | None = None
    """reinforce this agent, a run or model folder, instead of a new clone"""
    cloning_updates: int = 1200
    """updates of behaviour cloning"""
    grpo_minutes: float = 6.0
    """time for M-GRPO"""
    templates: Templates = ()
    """kinds of tasks to learn; by default the training split's, and those of the test split to evaluate on"""
    worlds: tuple[int, ...] = tuple(range(41, 47))
    """seeds of the worlds to reinforce in; many, so that names must be read and cannot be remembered"""
    per_template: int = 3
    """tasks of each template in each of these worlds"""
    test_worlds: tuple[int, ...] = (1801, 1802)
    """seeds of the worlds to evaluate in, never trained in"""
    processes: Processes = 0
    """processes that play; 0: one for each core"""
    seed: int = 0
    """of everything random"""


def run(settings: DemoSettings) -> None:
    """Do everything and write the report."""
    started = time.perf_counter()
    for name in ("cloning", "grpo"):
        rmtree(settings.out / name, ignore_errors=True)
    for file in settings.out.glob("episodes_*.jsonl"):
        file.unlink()
    tasks = [task for world in settings.test_worlds for task in _held_out(settings, world)]
    name, runs = "as given", dict[str, Sequence[Mapping[str, float]]]()
    model = settings.model
    if model is None:
        name, model = "cloned", settings.out / "cloning"
        _clone(settings, model)
        runs["cloning"] = read_metrics(model)
    agent, grpo = agent_record(model), settings.out / "grpo"
    env = EnvSettings(**{key: value for key, value in agent.items() if key in ENV_FIELDS})
    evaluations = {policy: _evaluate(policy, tasks, env, settings) for policy in ("random", "expert")}
    evaluations[name] = _evaluate(str(model), tasks, env, settings)
    _reinforce(settings, model, grpo)
    reinforced = f"{name}, then M-GRPO"
    evaluations[reinforced] = _evaluate(str(grpo), tasks, env, settings)
    for policy, evaluation in evaluations.items():
        print(f"\n{policy}\n{table(evaluation)}")
    report = settings.out / "report.html"
    minutes = (time.perf_counter() - started) / 60
    write_report(
        report,
        Sources(
            runs=runs | {"M-GRPO": read_metrics(grpo)},
            policies={policy: evaluations[policy].trajectories for policy in (name, reinforced, "random", "expert")},
            groups=newest_groups({"M-GRPO": grpo}),
            folders={"M-GRPO": grpo},
        ),
        title="A small agent learns to use the web",
        lead=f"{len(tasks)} tasks in worlds that no training has seen. {minutes:.1f} minutes in all.",
        window=env.window,
    )
    shares = ", ".join(f"{policy} {100 * each.total.success:.1f} %" for policy, each in evaluations.items())
    print(f"\ngreedy on {len(tasks)} tasks: {shares}")
    print("One clone and one run: docs/results.md has three of each, with intervals.")
    print(f"{minutes:.1f} minutes. Every episode, step by step: {report}")


def _clone(settings: DemoSettings, out: Path) -> None:
    """Clone a pointing network from one demonstration of each template."""
    options = {"worlds": _CLONING_WORLDS, "one_world_each": True, "templates": settings.templates, "seed": settings.seed}
    pointer_cloning.train_pointer(pointer_cloning.make_settings(out=out, updates=settings.cloning_updates, **options))


def _reinforce(settings: DemoSettings, model: Path, out: Path) -> None:
    """Train the agent on its own rollouts in the training worlds."""
    shared = {key: getattr(settings, key) for key in ("worlds", "per_template", "templates", "processes", "seed")}
    options = (
        agent_record(model) | shared | {"max_steps": _STEPS, "minutes": settings.grpo_minutes, "save_rollouts": _SAVE_ROLLOUTS}
    )
    train_rl.train(train_rl.make_settings("grpo", model=str(model), out=out, **options))


def _held_out(settings: DemoSettings, world: int) -> list[Task]:
    """Return the tasks of a world to evaluate on."""
    if settings.templates:
        return draw_tasks([world], 5, templates=settings.templates)
    return list(task_suite.load("test", world))


def _evaluate(policy: str, tasks: Sequence[Task], env: EnvSettings, settings: DemoSettings) -> Evaluation:
    chosen = EvaluationSettings(**policy_defaults(policy) | {"policy": policy, "seed": settings.seed, "processes": 0})
    evaluation = evaluate_policy(chosen, tasks, env)
    settings.out.mkdir(parents=True, exist_ok=True)
    write_trajectories(settings.out / f"episodes_{Path(policy).name}.jsonl", evaluation.trajectories)
    return evaluation


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.demo", lambda arguments: run(parse_settings(DemoSettings, arguments, program="agents.demo")))
