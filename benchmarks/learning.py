"""The improvement by M-GRPO over behaviour cloning: `python -m benchmarks.learning [--quick] --json`.

BC agents are trained on demonstrations of the expert, each in other worlds, and fine-tuned by M-GRPO with several seeds, on the training
templates in worlds below 1000. All are evaluated, greedily and sampled, on tasks in held-out worlds: the BC agent, the same agent trained
until BC has converged, and the fine-tuned model after each of the given numbers of updates; as baselines the random policy and the
expert. Nothing is tuned on these tasks. A run that was stopped is resumed. The last line is one JSON object; its intervals of
improvements are bootstraps over BC agents, seeds and templates.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, get_type_hints

import torch

from agents.command_lines import NewFolder, PresentFolder, Templates, parse_settings
from agents.data.demonstrations import draw_tasks
from agents.grpo import GRPOSettings
from agents.models.checkpoints import agent_record
from agents.settings import fixed_options
from agents.train_rl import make_settings
from agents.train_rl import train as reinforce
from agents.training import pointer_cloning
from agents.training.metrics import read_metrics
from agents.training.settings import OF_LANGUAGE_MODELS, PointerBCSettings, hidden_from_pointing_networks
from benchmarks.playing import (
    TrainingSettings,
    claim_folder,
    measure,
    play,
    rewards,
    run_parallel,
    save_result,
    subsample,
    suite_tasks,
)
from benchmarks.plots import DYNAMICS
from webarena_gym import console
from webarena_gym import suite as task_suite
from webarena_gym.evaluation.statistics import paired_difference, pooled_score, wilson
from webarena_gym.tasks import Task

QUICK: dict[str, Any] = {
    "cloning_updates": 60, "converged_updates": 120, "grpo_updates": (5, 10), "clones": 1, "seeds": (0,), "limit": 40,
    "out": Path("runs/learning_quick"),
}  # fmt: skip
_WORLDS_OF_A_CLONE = 4  # at least: a word enters the vocabulary if two worlds have it
_FIRST_WORLD = 11

Run = Mapping[str, Any]
"""Measurements of one clone with one seed: `train_and_measure`."""


_HINTS = get_type_hints(GRPOSettings, include_extras=True)
_SET_BY_BENCHMARK = """out worlds per_template templates threads model updates minutes cpu_minutes env_steps max_steps seed processes
allow_held_out_worlds"""
Recipe: Any = make_dataclass(
    "Recipe",
    [
        (item.name, _HINTS[item.name], field(default=item.default))
        for item in fields(GRPOSettings)
        if item.name not in {*_SET_BY_BENCHMARK.split(), *hidden_from_pointing_networks()}
    ],
    frozen=True,
    kw_only=True,
    namespace={"__doc__": "The options of M-GRPO that are not set by the benchmark."},
)


@dataclass(frozen=True, kw_only=True)
class LearningSettings(TrainingSettings, Recipe):  # type: ignore[misc] - made from a list
    """Train BC agents, fine-tune them, and evaluate both, with several BC agents and seeds."""

    out: NewFolder = Path("runs/learning")
    """folder of all runs"""
    cloned: tuple[PresentFolder, ...] = ()
    """fine-tune these agents instead of pointer networks trained by BC; they may be language models"""
    clones: int = 3
    """number of BC agents, each with demonstrations in other worlds"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """training seeds of M-GRPO, each used with each BC agent"""
    demonstrations: int = 1
    """demonstrations of each template for a BC agent"""
    cloning_updates: int = 1200
    """updates of behaviour cloning"""
    converged_updates: int = 2400
    """updates of the converged BC agent, which learns from the same demonstrations"""
    templates: Templates = ()
    """only tasks of these templates; by default those of the training split for training and of the test split for evaluation"""
    fresh_world: int = 1907
    """a further world for the templates of the test split"""
    training_steps: int = 15
    """maximum of steps of an episode in reinforcement learning"""
    grpo_updates: tuple[int, ...] = (50, 100, 200, 400)
    """updates of M-GRPO after which the model is evaluated; training ends after the last"""


def run(settings: LearningSettings) -> dict[str, Any]:
    """Train missing agents, evaluate, and return the figures."""
    started = sum(os.times()[:4])  # of this process and of its finished children
    tasks = held_out(settings)
    count = len(settings.cloned) or settings.clones
    clones = run_parallel(clone_and_measure, [(settings, number) for number in range(count)], settings.jobs)
    pairs = list(product(range(count), settings.seeds))
    runs = run_parallel(train_and_measure, [(settings, clone, seed) for clone, seed in pairs], settings.jobs)
    scripted = settings.out / "scripted"
    claim_folder(scripted, max_steps=settings.max_steps)
    figures = {
        "n": len(tasks),
        "n_sampled": len(tasks),
        "clones": count,
        "seeds": len(settings.seeds),
        "demonstrations": None if settings.cloned else settings.demonstrations,
        "coverage": None if settings.cloned else round(mean(clone["coverage"] for clone in clones), 4),
        "begun_at": sorted({result["begun_at"] for result in (*clones, *runs)}),
        "random": mean(rewards(play("random", tasks, scripted / "random.jsonl", max_steps=settings.max_steps))),
        "expert": mean(rewards(play("expert", tasks, scripted / "expert.jsonl", max_steps=settings.max_steps))),
        "env_steps": [result["metrics"][-1]["env_steps"] for result in runs],
        "mgrpo_cpu_minutes": [round(result["metrics"][-1]["cpu_minutes"], 1) for result in runs],
        "dynamics": {
            f"{clone}/{seed}": {name: [round(record[name], 4) for record in result["metrics"]] for name in DYNAMICS}
            for (clone, seed), result in zip(pairs, runs, strict=True)
        },
    }
    for decoding, suffix in (("greedy", ""), ("sampled", "_sampled")):
        figures |= _scores(tasks, clones, pairs, runs, decoding, suffix)
    figures["by_training"] = by_training(settings, tasks, clones, pairs, runs)
    figures["by_minutes"] = [
        {
            "updates": updates,
            "cpu_minutes": round(mean(result["marks"][mark]["cpu_minutes"] for result in runs), 1),
            "greedy": round(mean(mean(result["marks"][mark]["greedy"]) for result in runs), 4),
            "sampled": round(mean(mean(result["marks"][mark]["sampled"]) for result in runs), 4),
        }
        for mark, updates in enumerate(settings.grpo_updates)
    ]
    return figures | {"cpu_minutes": round((sum(os.times()[:4]) - started) / 60, 1)}


def _scores(
    tasks: Sequence[Task],
    clones: Sequence[Run],
    pairs: Sequence[tuple[int, int]],
    runs: Sequence[Run],
    decoding: str,
    suffix: str,
) -> dict[str, Any]:
    """Return the success rates with one decoding, and the improvements over the BC agent and over the converged one.

    Lists `of_seeds` have one item for each pair of a BC agent and a seed.
    """
    of_runs = [clone for clone, _ in pairs]
    templates = [task.template for task in tasks]
    after = [result["marks"][-1][decoding] for result in runs]
    figures: dict[str, Any] = {
        f"mgrpo{suffix}": round(mean(map(mean, after)), 4),
        f"mgrpo{suffix}_pooled": pooled_score(after)._asdict(),
        f"mgrpo{suffix}_of_seeds": [wilson(sum(values), len(values)) for values in after],
    }
    for name, key, lift_key in (("bc", "bc", "lift"), ("converged", "clone_converged", "lift_over_converged")):
        if name not in clones[0]:
            figures[f"{key}{suffix}"] = None
            continue
        before = [clones[clone][name][decoding] for clone in of_runs]
        lift = paired_difference(before, after, templates=templates, seed_groups=of_runs)
        figures |= {
            f"{key}{suffix}": round(mean(map(mean, before)), 4),
            f"{key}{suffix}_pooled": pooled_score([clone[name][decoding] for clone in clones])._asdict(),
            f"{key}{suffix}_of_seeds": [wilson(sum(values), len(values)) for values in before],
            f"{lift_key}{suffix}": round(lift.lift, 4),
            f"{lift_key}{suffix}_ci95": [round(lift.low, 4), round(lift.high, 4)],
            f"{lift_key}{suffix}_of_seeds": [round(mean(new) - mean(old), 4) for old, new in zip(before, after, strict=True)],
        }
    return figures


def by_training(
    settings: LearningSettings, tasks: Sequence[Task], clones: Sequence[Run], pairs: Sequence[tuple[int, int]],
    runs: Sequence[Run],
) -> dict[str, Any]:  # fmt: skip
    """Return the figures of `_scores` for greedy decoding on templates of the training tasks ("seen") and on other templates ("new").

    A part without tasks is omitted.
    """
    trained = set(settings.templates) or {task.template for task in task_suite.load("train")}
    index_lists: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        index_lists.setdefault("seen" if task.template in trained else "new", []).append(index)

    def part(run: Run, indices: Sequence[int]) -> dict[str, list[float]]:
        return {"greedy": [run["greedy"][index] for index in indices]}

    figures = {}
    for name, indices in sorted(index_lists.items()):
        part_tasks = [tasks[index] for index in indices]
        part_clones = [{kind: part(clone[kind], indices) for kind in ("bc", "converged") if kind in clone} for clone in clones]
        part_runs = [{"marks": [part(result["marks"][-1], indices)]} for result in runs]
        scores = _scores(part_tasks, part_clones, pairs, part_runs, "greedy", "")
        figures[name] = {"n": len(part_tasks), "templates": len({task.template for task in part_tasks})} | scores
    return figures


def clone_and_measure(settings: LearningSettings, number: int) -> Run:
    """Return the rewards of a BC agent and of the converged one, which are trained if they were not given, and their coverage."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    folder, tasks = settings.out / f"clone_{number}", held_out(settings)
    if settings.cloned:
        begun_at = claim_folder(folder, cloned=settings.cloned[number])
        measured = measure(settings.cloned[number], tasks, folder / "episodes", settings.max_steps)
        return {"bc": measured, "begun_at": begun_at}
    worlds = demonstration_worlds(settings.demonstrations, number)
    begun_at = claim_folder(
        folder, demonstrations=settings.demonstrations, worlds=worlds, seed=number, templates=settings.templates
    )
    options: dict[str, Any] = {"templates": settings.templates, "one_world_each": settings.demonstrations == 1}
    results: dict[str, Any] = {"begun_at": begun_at}
    for name, updates in (("bc", settings.cloning_updates), ("converged", settings.converged_updates)):
        pointer_cloning.train_pointer(
            PointerBCSettings(
                out=folder / name, updates=updates, seed=number, threads=settings.threads, worlds=worlds, **options
            )
        )
        results[name] = measure(folder / name, tasks, folder / f"{name}_episodes", settings.max_steps)
    return results | {"coverage": read_metrics(folder / "bc")[-1]["coverage"]}


def demonstration_worlds(demonstrations: int, clone: int) -> tuple[int, ...]:
    """Return the worlds of the demonstrations for a BC agent; two agents never share a world.

    >>> demonstration_worlds(1, 0), demonstration_worlds(1, 1)
    ((11, 12, 13, 14), (15, 16, 17, 18))
    """
    count = max(demonstrations, _WORLDS_OF_A_CLONE) if demonstrations == 1 else demonstrations
    return tuple(range(_FIRST_WORLD + clone * count, _FIRST_WORLD + (clone + 1) * count))


def train_and_measure(settings: LearningSettings, clone: int, seed: int) -> Run:
    """Return the rewards of the model that M-GRPO trains from a BC agent with a seed, after each number of updates, and the cost.

    The BC agent must exist.
    """
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    cloned = settings.cloned[clone] if settings.cloned else settings.out / f"clone_{clone}" / "bc"
    folder = settings.out / f"clone_{clone}_seed_{seed}"
    common: dict[str, Any] = {name: getattr(settings, name) for name in ("worlds", "per_template", "templates", "threads")}
    common |= {"max_steps": settings.training_steps, "seed": seed}
    recipe = {item.name: getattr(settings, item.name) for item in fields(Recipe)}
    begun_at = claim_folder(
        folder, cloned=cloned, **common, **{key: value for key, value in fixed_options(settings).items() if key in recipe}
    )
    options = agent_record(cloned) | common | recipe | {"model": str(cloned), "out": folder / "run"}
    marks = []
    for updates in settings.grpo_updates:
        episodes = folder / f"episodes_{updates}"
        if not episodes.exists():
            training = make_settings("grpo", updates=updates, **options)
            if (made := len(read_metrics(training.out))) > updates:  # earlier models were not saved
                raise ValueError(f"{training.out} has made {made} updates, not {updates}; choose another --out")
            reinforce(training)
        spent = next(record["cpu_minutes"] for record in read_metrics(folder / "run") if record["update"] == updates)
        measured = measure(folder / "run", held_out(settings), episodes, settings.max_steps)
        marks.append(measured | {"cpu_minutes": spent})
    return {"marks": marks, "metrics": read_metrics(folder / "run"), "begun_at": begun_at}


def held_out(settings: LearningSettings) -> list[Task]:
    """Return the evaluation tasks: the test split, and its templates in another held-out world."""
    if not settings.templates:
        return suite_tasks("test", (settings.fresh_world,), settings.limit)
    return subsample(
        draw_tasks([settings.fresh_world, settings.fresh_world + 1], 5, templates=settings.templates), settings.limit
    )


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print the results."""
    preset = OF_LANGUAGE_MODELS if "--cloned" in arguments else {}
    settings = parse_settings(
        LearningSettings, arguments, {**preset, **(QUICK if "--quick" in arguments else {})}, program="benchmarks.learning"
    )
    result = run(settings) | {"quick": settings.quick}
    for name, value in result.items():
        print(f"{name:<24}{json.dumps(value)}")
    save_result("learning", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.learning", main)
