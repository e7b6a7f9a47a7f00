"""From nothing to a web agent and a report: `make demo`.

A pointing network is cloned from one demonstration of each training template, reinforced by multi-turn GRPO on its own rollouts, and
evaluated on the test split's templates in worlds that no training has seen, beside the random policy and the expert. It prints a line
a phase, and the answer; tables are in the report. What Ctrl-C or a kill has stopped goes on where it was, if started again.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread
from typing import Any

from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import read_trajectories, write_trajectories
from agents.evaluation.report.document import write_report
from agents.evaluation.report.sources import Sources, newest_groups
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, checkpoints
from agents.settings import ENV_FIELDS, EnvSettings, Processes, Templates, collect_rarely, parse_settings
from agents.training.metrics import read_metrics
from agents.training.settings import PointerBCSettings
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.evaluation.statistics import Evaluation, score
from webarena_gym.tasks import Task

_CLONING_WORLDS = (11, 12, 13, 14)  # each template is demonstrated in one of them
_STEPS = 15  # of a rollout that is trained on
_SAVE_ROLLOUTS = 5  # updates from one of which the report has groups to the next
_BEAT_S = 15.0  # between two signs of life where there are no bars


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """Clone, reinforce, evaluate and report."""

    out: Path = Path("runs/demo")
    """folder of the demo; an unfinished one with the same settings is continued, and another one replaced"""
    model: Path | None = None
    """reinforce this agent, a run or model folder, instead of a new clone"""
    cloning_updates: int = 1200
    """updates of behaviour cloning"""
    grpo_minutes: float = 3.0
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
    started, out = time.perf_counter(), settings.out
    unfinished = _begin(settings)
    try:
        answer = _run(settings)
    except KeyboardInterrupt:
        kept = [f"{name} up to update {done[-1].update}" for name in ("cloning", "grpo") if (done := checkpoints(out / name))]
        kept += [file.name for file in sorted(out.glob("episodes_*.jsonl"))]
        print(f"\nStopped. Kept in {out}: {', '.join(kept) or 'nothing yet'}. The same command goes on from there.", flush=True)
        raise
    unfinished.unlink()
    print(f"\n{answer}\nOne clone and one run: docs/results.md has three of each, with intervals.")
    print(f"{(time.perf_counter() - started) / 60:.1f} minutes. Tables, curves and every episode: {out / 'report.html'}")


def _begin(settings: DemoSettings) -> Path:
    """Clear away what is not of an unfinished demo with these settings, and return the file that marks it as unfinished."""
    out, unfinished = settings.out, settings.out / "unfinished.json"
    own = json.dumps(asdict(settings), default=str)
    if unfinished.is_file() and unfinished.read_text(encoding="utf-8") == own:
        print(f"Going on with the demo in {out}.", flush=True)
        return unfinished
    for name in ("cloning", "grpo"):
        rmtree(out / name, ignore_errors=True)
    for file in out.glob("episodes_*.jsonl"):
        file.unlink()
    out.mkdir(parents=True, exist_ok=True)
    unfinished.write_text(own, encoding="utf-8")
    return unfinished


def _run(settings: DemoSettings) -> str:
    """Do what is left to do, and return the answer."""
    from agents import train_rl  # noqa: PLC0415 - options are refused without torch
    from agents.training.pointer_cloning import train_pointer  # noqa: PLC0415

    out, model, grpo = settings.out, settings.model or settings.out / "cloning", settings.out / "grpo"
    name, runs = "as given" if settings.model else "cloned", dict[str, Sequence[Mapping[str, float]]]()
    shared: dict[str, Any] = {"templates": settings.templates, "seed": settings.seed}
    with _phase("1/5 drawing the tasks to evaluate on"):
        tasks = draw_tasks(settings.test_worlds, 5, templates=settings.templates) if settings.templates else []
        tasks = tasks or [task for world in settings.test_worlds for task in task_suite.load("test", world)]
    if not settings.model:
        with _phase("2/5 cloning an agent from one demonstration of each kind of task", model):
            worlds: dict[str, Any] = {"worlds": _CLONING_WORLDS, "one_world_each": True}
            train_pointer(PointerBCSettings(out=model, updates=settings.cloning_updates, **worlds, **shared))
        runs["cloning"] = read_metrics(model)
    record = agent_record(model)
    env = EnvSettings(**{key: value for key, value in record.items() if key in ENV_FIELDS})
    found = dict[str, Evaluation]()
    for policy, source in {"random": "random", "expert": "expert", name: str(model)}.items():
        with _phase(f"3/5 playing {len(tasks)} tasks: {policy}"):
            found[policy] = _evaluate(source, tasks, env, settings)
    with _phase(f"4/5 reinforcing it on its own episodes (M-GRPO) for {settings.grpo_minutes:g} minutes", grpo):
        shared |= {key: getattr(settings, key) for key in ("worlds", "per_template", "processes")}
        shared |= {"max_steps": _STEPS, "minutes": settings.grpo_minutes, "save_rollouts": _SAVE_ROLLOUTS}
        train_rl.train(train_rl.make_settings("grpo", model=str(model), out=grpo, **{**record, **shared}))
    reinforced = f"{name}, then M-GRPO"
    with _phase(f"5/5 playing {len(tasks)} tasks again"):
        found[reinforced] = _evaluate(str(grpo), tasks, env, settings)
    with _phase("    writing the report"):
        write_report(
            out / "report.html",
            Sources(
                runs=runs | {"M-GRPO": read_metrics(grpo)},
                policies={policy: found[policy].trajectories for policy in (name, reinforced, "random", "expert")},
                groups=newest_groups({"M-GRPO": grpo}),
                folders={"M-GRPO": grpo},
            ),
            title="A small agent learns to use the web",
            lead=f"{len(tasks)} tasks in worlds that no training has seen.",
        )
    shares = ", ".join(f"{policy} {100 * each.total.success:.1f} %" for policy, each in found.items())
    return f"Success on {len(tasks)} tasks in worlds that no training has seen: {shares}."


@contextmanager
def _phase(title: str, run: Path | None = None) -> Iterator[None]:
    """Say what begins. Where no bars are shown, say now and then that it goes on, but not while the trainer of a run tells it itself."""
    started, over = time.perf_counter(), Event()
    print(title, flush=True)

    def beat() -> None:
        seen = 0
        while not over.wait(_BEAT_S):
            metrics = run / "metrics.jsonl" if run else None
            size = metrics.stat().st_size if metrics and metrics.is_file() else 0
            if size == seen:
                print(f"    going on, {time.perf_counter() - started:.0f} s so far", flush=True)
            seen = size

    thread = Thread(target=beat, daemon=True)
    if not sys.stderr.isatty():
        thread.start()
    try:
        yield
    finally:
        over.set()


def _evaluate(policy: str, tasks: Sequence[Task], env: EnvSettings, settings: DemoSettings) -> Evaluation:
    file = settings.out / f"episodes_{Path(policy).name}.jsonl"
    if file.is_file():
        return score(tasks, read_trajectories(file))
    from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

    chosen = EvaluationSettings(**policy_defaults(policy) | {"policy": policy, "seed": settings.seed, "processes": 0})
    evaluation = evaluate_policy(chosen, tasks, env)
    beside = file.with_suffix(".unfinished")  # so that a kill leaves all episodes or none
    write_trajectories(beside, evaluation.trajectories)
    beside.replace(file)
    return evaluation


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.demo", lambda arguments: run(parse_settings(DemoSettings, arguments, program="agents.demo")))
