"""`make demo`: train a small web agent from scratch in a few minutes and write a report.

A pointer network learns the tasks of the shop by behaviour cloning (BC) from one reference solution of each template. M-GRPO, multi-turn
GRPO, then fine-tunes it on its own episodes. Both agents are evaluated on tasks of the same templates in held-out worlds, and compared
task by task.

The numbers of updates and episodes are fixed, and everything runs in one process with one thread. The result therefore depends on the seed
and not on the load of the machine. An interrupted demo is resumed by the same command.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread
from typing import Any

from agents.command_lines import NewFolder, PresentFolder, Templates, collect_rarely, parse_settings
from agents.data.demonstrations import draw_tasks
from agents.data.trajectories import Trajectory, read_trajectories, write_trajectories
from agents.evaluation.report.document import write_report
from agents.evaluation.report.sources import Result, Sources, newest_groups, summarise_all
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, checkpoints
from agents.settings import ENV_FIELDS, EnvSettings, TrainingWorlds, expect_least
from agents.training.metrics import read_metrics
from agents.training.settings import PointerBCSettings
from webarena_gym import console
from webarena_gym.evaluation.statistics import Score, score
from webarena_gym.suite.parts import PARTS
from webarena_gym.tasks import Task

_BC_WORLDS = (11, 12, 13, 14)  # each template is demonstrated in one of them
_TRAINING_STEPS = 15  # step limit of the episodes of M-GRPO
_TEST_TASKS = 4  # tasks of each template in each test world
_EVALUATIONS = 3  # of the agent during M-GRPO, after equal numbers of updates
_SAVE_ROLLOUTS = 5  # updates from one whose groups the report shows to the next
_HEARTBEAT_S = 15.0  # between two signs of life where there are no progress bars
_CURRICULUM = """\
    The training success in the progress line of M-GRPO is no score: the curriculum changes the difficulty, as it draws templates
    more often that succeed now and then. Compare the success on held-out worlds only."""
_DURATION = "about 7 CPU minutes; load changes the time, not the result"
_EXPECTED = "an improvement of 20.7 to 28.9 points, as in 4 runs with other seeds (docs/results.md)"


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """Train an agent by behaviour cloning, fine-tune it with M-GRPO, evaluate both on held-out worlds and write a report."""

    out: NewFolder = Path("runs/demo")
    """folder of the demo; an unfinished demo with the same settings is resumed, any other one is replaced"""
    model: PresentFolder | None = None
    """run or model folder of the agent to fine-tune, instead of a new BC agent"""
    bc_updates: int = 300
    """updates of behaviour cloning"""
    grpo_updates: int = 120
    """updates of M-GRPO, of 128 episodes each"""
    templates: Templates = ()
    """templates to train and evaluate on; by default those of the shop in the training split"""
    worlds: tuple[int, ...] = tuple(range(41, 47))
    """seeds of the worlds of M-GRPO; with several, names must be read and cannot be memorised"""
    per_template: int = 3
    """tasks of each template in each of these worlds"""
    test_worlds: tuple[int, ...] = (3401, 3402)
    """seeds of the held-out worlds to evaluate in"""
    seed: int = 0
    """random seed of initial weights, order of batches, tasks and sampling"""

    def __post_init__(self) -> None:
        expect_least(self, bc_updates=1, grpo_updates=1, per_template=1)
        TrainingWorlds().expect_training_worlds("worlds", self.worlds)


def run(settings: DemoSettings) -> None:
    """Train, evaluate and write the report and `result.json` into `settings.out`."""
    start_s, out = time.perf_counter(), settings.out
    templates = settings.templates or tuple(PARTS["shopping"].names("train"))
    print(_plan(settings, len(templates)), flush=True)
    unfinished = _prepare_folder(settings)
    try:
        summary = _run(replace(settings, templates=templates))
    except KeyboardInterrupt:
        parts = [f"{name} up to update {made[-1].update}" for name in ("bc", "grpo") if (made := checkpoints(out / name))]
        parts += [file.name for file in sorted(out.glob("episodes_*.jsonl"))]
        print(
            f"\nStopped. Saved in {out}: {', '.join(parts) or 'nothing yet'}. The same command resumes from there.", flush=True
        )
        raise
    unfinished.unlink()
    print("", *summary, sep="\n")
    minutes = f"{(time.perf_counter() - start_s) / 60:.1f} minutes, {time.process_time() / 60:.1f} CPU minutes"
    print(f"{minutes}. Tables, curves and every episode: {out / 'report.html'}")


def _plan(settings: DemoSettings, templates: int) -> str:
    """Return the text that is printed first: the phases, their duration and the expected result."""
    kinds = f"{templates} templates" if settings.templates else f"the {templates} training templates of the shop"
    baseline = (
        f"the agent in {settings.model}"
        if settings.model
        else f"behaviour cloning (BC) of a new network on one reference solution of each template, {settings.bc_updates} updates"
    )
    tuning = f"M-GRPO on the agent's own episodes in {len(settings.worlds)} worlds, {settings.grpo_updates} updates"
    worlds = " and ".join(map(str, settings.test_worlds))
    is_default = settings == replace(DemoSettings(), out=settings.out, seed=settings.seed)
    return "\n".join([
        f"A small agent learns web tasks: {kinds}.",
        f"  Baseline     {baseline}",
        f"  Fine-tuning  {tuning}",
        f"  Evaluation   before, during and after it, {_TEST_TASKS} tasks of each template in each of the held-out worlds {worlds},",
        "               whose products, people and orders occur in no training",
        f"  Duration     {_DURATION if is_default else 'not measured for these settings'}",
        f"  Expected     {_EXPECTED if is_default else 'not measured for these settings'}",
    ])  # fmt: skip


def _prepare_folder(settings: DemoSettings) -> Path:
    """Delete the results of a demo with other settings or of a finished one. Return the file that marks the demo as unfinished."""
    out, unfinished = settings.out, settings.out / "unfinished.json"
    record = json.dumps(asdict(settings), default=str)
    if unfinished.is_file() and unfinished.read_text(encoding="utf-8") == record:
        print(f"Resuming the demo in {out}.", flush=True)
        return unfinished
    for name in ("bc", "grpo"):
        rmtree(out / name, ignore_errors=True)
    for file in out.glob("episodes_*.jsonl"):
        file.unlink()
    out.mkdir(parents=True, exist_ok=True)
    unfinished.write_text(record, encoding="utf-8")
    return unfinished


def _run(settings: DemoSettings) -> list[str]:
    """Run the phases that are not finished yet, write the results, and return their summary."""
    from agents import train_rl  # noqa: PLC0415 - options are refused without torch
    from agents.training.pointer_cloning import train_pointer  # noqa: PLC0415

    out, model, grpo = settings.out, settings.model or settings.out / "bc", settings.out / "grpo"
    baseline, tuned = "given agent" if settings.model else "BC agent", "after M-GRPO"
    runs = dict[str, Sequence[Mapping[str, float]]]()
    shared: dict[str, Any] = {"templates": settings.templates, "seed": settings.seed, "threads": 1}
    with _phase("1/4 Drawing the tasks of the evaluation"):
        tasks = draw_tasks(settings.test_worlds, _TEST_TASKS, templates=settings.templates)
    if not settings.model:
        with _phase("2/4 Behaviour cloning", model):
            worlds: dict[str, Any] = {"worlds": _BC_WORLDS, "one_world_each": True}
            train_pointer(PointerBCSettings(out=model, updates=settings.bc_updates, **worlds, **shared))
        runs["BC"] = read_metrics(model)
    record = agent_record(model)
    env = EnvSettings(**{key: value for key, value in record.items() if key in ENV_FIELDS})
    policies = dict[str, Sequence[Trajectory]]()
    for name, policy in {"random": "random", "expert": "expert", baseline: str(model)}.items():
        policies[name] = _evaluate(name, policy, tasks, env, settings)
    curve = [(0, score(tasks, policies[baseline]).total)]
    print(_CURRICULUM, flush=True)
    shared |= {key: getattr(settings, key) for key in ("worlds", "per_template")}
    shared |= {"max_steps": _TRAINING_STEPS, "processes": 1, "save_rollouts": _SAVE_ROLLOUTS}
    ends = sorted({-(-settings.grpo_updates * part // _EVALUATIONS) for part in range(1, _EVALUATIONS + 1)})
    for before, update in pairwise([0, *ends]):
        with _phase(f"3/4 M-GRPO, updates {before + 1} to {update} of {settings.grpo_updates}", grpo):
            options = {**record, **shared, "updates": update}
            train_rl.train(train_rl.make_settings("grpo", model=str(model), out=grpo, **options))
        policies[tuned] = _evaluate(f"{tuned}, update {update}", str(grpo), tasks, env, settings)
        curve.append((update, score(tasks, policies[tuned]).total))
    runs |= {"M-GRPO": read_metrics(grpo), "held-out worlds": _held_out_curve(curve, read_metrics(grpo))}
    results = {
        result.name: result
        for result in summarise_all({name: policies[name] for name in (baseline, tuned, "random", "expert")})
    }
    summary = _summary(results, baseline, tuned, len(settings.templates))
    (out / "result.json").write_text(json.dumps(_result(results, baseline, tuned, curve), indent=1) + "\n", encoding="utf-8")
    with _phase("4/4 Writing the report"):
        write_report(
            out / "report.html",
            Sources(
                runs=runs,
                policies={name: policies[name] for name in results},
                groups=newest_groups({"M-GRPO": grpo}),
                folders={"M-GRPO": grpo},
            ),
            title="A small agent learns to use a web shop"
            if _is_shop(settings.templates)
            else "A small agent learns web tasks",
            lead=" ".join(summary),
        )
    return summary


def _is_shop(templates: Sequence[str]) -> bool:
    return all(template.startswith("shopping.") for template in templates)


def _held_out_curve(curve: Sequence[tuple[int, Score]], metrics: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Return the success on held-out worlds with its 95 % interval, as metrics of the updates after which it was measured."""
    cpu_minutes = {0: 0.0, **{int(record["update"]): record["cpu_minutes"] for record in metrics}}
    return [
        {
            "update": update,
            "cpu_minutes": cpu_minutes[update],
            "held_out": total.success,
            "held_out_low": total.low,
            "held_out_high": total.high,
        }
        for update, total in curve
    ]


def _summary(results: Mapping[str, Result], baseline: str, tuned: str, templates: int) -> list[str]:
    """Return sentences on the success of all agents and the difference that M-GRPO makes."""
    total, lift = results[tuned].evaluation.total, results[tuned].lift
    success = {name: f"{100 * result.evaluation.total.success:.1f} %" for name, result in results.items()}
    sentences = [
        f"Success on {total.n} tasks of {templates} templates in held-out worlds: {baseline} {success[baseline]}, {tuned} {success[tuned]}."
    ]
    if lift:
        interval = f"95 % CI {100 * lift.low:+.1f} to {100 * lift.high:+.1f}, paired, n = {total.n}"
        sentences.append(f"Difference: {100 * lift.lift:+.1f} points ({interval}).")
    sentences.append(f"Random policy {success['random']}, reference solutions {success['expert']}.")
    sentences.append("This is one run; docs/results.md has others.")
    return sentences


def _result(results: Mapping[str, Result], baseline: str, tuned: str, curve: Sequence[tuple[int, Score]]) -> dict[str, Any]:
    """Return the figures of the summary as a JSON object; success and differences are fractions."""
    lift = results[tuned].lift
    return {
        "before": results[baseline].evaluation.total.success,
        "after": results[tuned].evaluation.total.success,
        "difference": lift and lift.lift,
        "difference_ci95": lift and [lift.low, lift.high],
        "n": results[tuned].evaluation.total.n,
        "random": results["random"].evaluation.total.success,
        "expert": results["expert"].evaluation.total.success,
        "curve": [{"update": update, **total._asdict()} for update, total in curve],
        "cpu_minutes": time.process_time() / 60,
    }


@contextmanager
def _phase(title: str, run: Path | None = None) -> Iterator[None]:
    """Print the title of a phase. Without a terminal, print a sign of life now and then, unless the trainer of `run` prints progress."""
    start_s, finished = time.perf_counter(), Event()
    print(title, flush=True)

    def print_heartbeats() -> None:
        old_size = 0
        while not finished.wait(_HEARTBEAT_S):
            metrics = run / "metrics.jsonl" if run else None
            size = metrics.stat().st_size if metrics and metrics.is_file() else 0
            if size == old_size:
                print(f"    still running, {time.perf_counter() - start_s:.0f} s so far", flush=True)
            old_size = size

    thread = Thread(target=print_heartbeats, daemon=True)
    if not sys.stderr.isatty():
        thread.start()
    try:
        yield
    finally:
        finished.set()


def _evaluate(name: str, policy: str, tasks: Sequence[Task], env: EnvSettings, settings: DemoSettings) -> Sequence[Trajectory]:
    """Return one episode of each task, played now or read from the file of an interrupted demo, and print the success."""
    file = settings.out / f"episodes_{name.replace(', ', '_').replace(' ', '_').lower()}.jsonl"
    with _phase(f"    Evaluating on held-out worlds: {name}"):
        if file.is_file():
            episodes: Sequence[Trajectory] = read_trajectories(file)
        else:
            from agents.evaluation.evaluate import evaluate_policy  # noqa: PLC0415 - options are refused without torch

            options = policy_defaults(policy) | {"policy": policy, "seed": settings.seed, "processes": 1, "threads": 1}
            episodes = evaluate_policy(EvaluationSettings(**options), tasks, env).trajectories
            partial = file.with_suffix(".unfinished")  # a kill leaves all episodes or none
            write_trajectories(partial, episodes)
            partial.replace(file)
    total = score(tasks, episodes).total
    interval = f"95 % CI {100 * total.low:.0f} to {100 * total.high:.0f}, n = {total.n}"
    print(f"      {100 * total.success:.1f} % ({interval})", flush=True)
    return episodes


def main(arguments: Sequence[str]) -> None:
    """Run the demo with command-line options."""
    run(parse_settings(DemoSettings, arguments, program="agents.demo"))


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.demo", main)
