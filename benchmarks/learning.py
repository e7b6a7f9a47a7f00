"""The improvement by M-GRPO over behaviour cloning: `python -m benchmarks.learning [--quick] --json`.

Clones are trained on demonstrations of the expert, each in worlds of its own, and reinforced by M-GRPO with several seeds, on the
training templates in worlds below 1000. All are evaluated, greedily and sampled, on tasks in worlds that no training has seen: the
clone, the same clone trained on until it has converged, and the reinforced model after each of the given numbers of updates; so are the random
policy and the expert. Nothing is tuned on these tasks. A run that was stopped is resumed. The last line is one JSON object; its
intervals of lifts are bootstraps over clones, seeds and templates.
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

from agents.data.demonstrations import draw_tasks
from agents.grpo import GRPOSettings
from agents.models.checkpoints import agent_record
from agents.settings import NewFolder, PresentFolder, Templates, lasting, parse_settings
from agents.train_rl import make_settings
from agents.train_rl import train as reinforce
from agents.training import pointer_cloning
from agents.training.metrics import read_metrics
from agents.training.settings import OF_LANGUAGE_MODELS, PointerBCSettings, hidden_from_pointing_networks
from benchmarks.playing import TrainingSettings, claim, hand_over, measure, play, rewards, side_by_side, some, suite_tasks
from benchmarks.plots import DYNAMICS
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.evaluation.statistics import paired_difference, pooled_score, wilson
from webarena_gym.tasks import Task

QUICK: dict[str, Any] = {
    "cloning_updates": 60, "converged_updates": 120, "grpo_updates": (5, 10), "clones": 1, "seeds": (0,), "limit": 40,
    "out": Path("runs/learning_quick"),
}  # fmt: skip
_WORLDS_OF_A_CLONE = 4  # at least: words are learned if two worlds have them
_FIRST_WORLD = 11

Run = Mapping[str, Any]
"""Measurements of one clone with one seed: `train_and_measure`."""


_HINTS = get_type_hints(GRPOSettings, include_extras=True)
_OWN = """out worlds per_template templates threads model updates minutes cpu_minutes env_steps max_steps seed processes
allow_held_out_worlds"""
Recipe: Any = make_dataclass(
    "Recipe",
    [
        (each.name, _HINTS[each.name], field(default=each.default))
        for each in fields(GRPOSettings)
        if each.name not in {*_OWN.split(), *hidden_from_pointing_networks()}
    ],
    frozen=True,
    kw_only=True,
    namespace={"__doc__": "The options of M-GRPO that are not set by the benchmark."},
)


@dataclass(frozen=True, kw_only=True)
class LearningSettings(TrainingSettings, Recipe):  # type: ignore[misc] - made from a list
    """Clone, reinforce and evaluate with several clones and seeds."""

    out: NewFolder = Path("runs/learning")
    """folder of all runs"""
    cloned: tuple[PresentFolder, ...] = ()
    """reinforce these agents instead of pointing networks that are cloned first; they may be language models"""
    clones: int = 3
    """how many pointing networks are cloned, each on demonstrations in other worlds"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """M-GRPO begins with each clone once for each"""
    demonstrations: int = 1
    """demonstrations of each template that a clone has seen"""
    cloning_updates: int = 1200
    """updates of behaviour cloning"""
    converged_updates: int = 2400
    """updates of the converged clone, which learns from the same demonstrations"""
    templates: Templates = ()
    """only tasks of these templates; by default the training split's to train on, the test split's to evaluate on"""
    fresh_world: int = 1907
    """a world in which the test split's templates are drawn once more"""
    training_steps: int = 15
    """steps of an episode in reinforcement"""
    grpo_updates: tuple[int, ...] = (50, 100, 200, 400)
    """updates of M-GRPO after which the model is evaluated; it ends after the last"""


def run(settings: LearningSettings) -> dict[str, Any]:
    """Train what is not trained yet, evaluate, and return the figures."""
    started = sum(os.times()[:4])  # of this process and of those that it waited for
    tasks = held_out(settings)
    count = len(settings.cloned) or settings.clones
    clones = side_by_side(clone_and_measure, [(settings, number) for number in range(count)], settings.jobs)
    pairs = list(product(range(count), settings.seeds))
    runs = side_by_side(train_and_measure, [(settings, clone, seed) for clone, seed in pairs], settings.jobs)
    scripted = settings.out / "scripted"
    claim(scripted, max_steps=settings.max_steps)
    figures = {
        "n": len(tasks),
        "n_sampled": len(tasks),
        "clones": count,
        "seeds": len(settings.seeds),
        "demonstrations": None if settings.cloned else settings.demonstrations,
        "coverage": None if settings.cloned else round(mean(clone["coverage"] for clone in clones), 4),
        "begun_at": sorted({found["begun_at"] for found in (*clones, *runs)}),
        "random": mean(rewards(play("random", tasks, scripted / "random.jsonl", max_steps=settings.max_steps))),
        "expert": mean(rewards(play("expert", tasks, scripted / "expert.jsonl", max_steps=settings.max_steps))),
        "env_steps": [found["metrics"][-1]["env_steps"] for found in runs],
        "mgrpo_cpu_minutes": [round(found["metrics"][-1]["cpu_minutes"], 1) for found in runs],
        "dynamics": {
            f"{clone}/{seed}": {name: [round(record[name], 4) for record in found["metrics"]] for name in DYNAMICS}
            for (clone, seed), found in zip(pairs, runs, strict=True)
        },
    }
    for way, suffix in (("greedy", ""), ("sampled", "_sampled")):
        figures |= _scores(tasks, clones, pairs, runs, way, suffix)
    figures["by_training"] = by_training(settings, tasks, clones, pairs, runs)
    figures["by_minutes"] = [
        {
            "updates": updates,
            "cpu_minutes": round(mean(found["marks"][mark]["cpu_minutes"] for found in runs), 1),
            "greedy": round(mean(mean(found["marks"][mark]["greedy"]) for found in runs), 4),
            "sampled": round(mean(mean(found["marks"][mark]["sampled"]) for found in runs), 4),
        }
        for mark, updates in enumerate(settings.grpo_updates)
    ]
    return figures | {"cpu_minutes": round((sum(os.times()[:4]) - started) / 60, 1)}


def _scores(
    tasks: Sequence[Task], clones: Sequence[Run], pairs: Sequence[tuple[int, int]], runs: Sequence[Run], way: str, suffix: str
) -> dict[str, Any]:
    """Return the success of all for one way of decoding, and the lifts over the clone and over the converged one.

    What is `of_seeds` has an item for each pair of a clone and a seed.
    """
    of_runs = [clone for clone, _ in pairs]
    templates = [task.template for task in tasks]
    after = [found["marks"][-1][way] for found in runs]
    figures: dict[str, Any] = {
        f"mgrpo{suffix}": round(mean(map(mean, after)), 4),
        f"mgrpo{suffix}_pooled": pooled_score(after)._asdict(),
        f"mgrpo{suffix}_of_seeds": [wilson(sum(values), len(values)) for values in after],
    }
    for name, key, lift_key in (("bc", "bc", "lift"), ("converged", "clone_converged", "lift_over_converged")):
        if name not in clones[0]:
            figures[f"{key}{suffix}"] = None
            continue
        before = [clones[clone][name][way] for clone in of_runs]
        lift = paired_difference(before, after, templates=templates, seed_groups=of_runs)
        figures |= {
            f"{key}{suffix}": round(mean(map(mean, before)), 4),
            f"{key}{suffix}_pooled": pooled_score([clone[name][way] for clone in clones])._asdict(),
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
    """Return the figures of `_scores` of greedy decoding twice: on templates that are trained on ("seen"), and on the others ("new").

    A part without tasks is left out.
    """
    trained = set(settings.templates) or {task.template for task in task_suite.load("train")}
    places: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        places.setdefault("seen" if task.template in trained else "new", []).append(place)

    def part(run: Run, kept: Sequence[int]) -> dict[str, list[float]]:
        return {"greedy": [run["greedy"][place] for place in kept]}

    figures = {}
    for name, kept in sorted(places.items()):
        own = [tasks[place] for place in kept]
        own_clones = [{kind: part(clone[kind], kept) for kind in ("bc", "converged") if kind in clone} for clone in clones]
        own_runs = [{"marks": [part(found["marks"][-1], kept)]} for found in runs]
        scores = _scores(own, own_clones, pairs, own_runs, "greedy", "")
        figures[name] = {"n": len(own), "templates": len({task.template for task in own})} | scores
    return figures


def clone_and_measure(settings: LearningSettings, number: int) -> Run:
    """Return the rewards of a clone and of the converged one, which are trained first unless they were given, and their coverage."""
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    folder, tasks = settings.out / f"clone_{number}", held_out(settings)
    if settings.cloned:
        begun_at = claim(folder, cloned=settings.cloned[number])
        measured = measure(settings.cloned[number], tasks, folder / "episodes", settings.max_steps)
        return {"bc": measured, "begun_at": begun_at}
    worlds = demonstration_worlds(settings.demonstrations, number)
    begun_at = claim(folder, demonstrations=settings.demonstrations, worlds=worlds, seed=number, templates=settings.templates)
    options: dict[str, Any] = {"templates": settings.templates, "one_world_each": settings.demonstrations == 1}
    found: dict[str, Any] = {"begun_at": begun_at}
    for name, updates in (("bc", settings.cloning_updates), ("converged", settings.converged_updates)):
        pointer_cloning.train_pointer(
            PointerBCSettings(
                out=folder / name, updates=updates, seed=number, threads=settings.threads, worlds=worlds, **options
            )
        )
        found[name] = measure(folder / name, tasks, folder / f"{name}_episodes", settings.max_steps)
    return found | {"coverage": read_metrics(folder / "bc")[-1]["coverage"]}


def demonstration_worlds(demonstrations: int, clone: int) -> tuple[int, ...]:
    """Return the worlds in which the expert plays for a clone; no two clones share one.

    >>> demonstration_worlds(1, 0), demonstration_worlds(1, 1)
    ((11, 12, 13, 14), (15, 16, 17, 18))
    """
    count = max(demonstrations, _WORLDS_OF_A_CLONE) if demonstrations == 1 else demonstrations
    return tuple(range(_FIRST_WORLD + clone * count, _FIRST_WORLD + (clone + 1) * count))


def train_and_measure(settings: LearningSettings, clone: int, seed: int) -> Run:
    """Return the rewards of the model that M-GRPO trains from a clone with a seed, after each number of updates, and the cost.

    The clone must be there.
    """
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    cloned = settings.cloned[clone] if settings.cloned else settings.out / f"clone_{clone}" / "bc"
    folder = settings.out / f"clone_{clone}_seed_{seed}"
    common: dict[str, Any] = {name: getattr(settings, name) for name in ("worlds", "per_template", "templates", "threads")}
    common |= {"max_steps": settings.training_steps, "seed": seed}
    own = {item.name: getattr(settings, item.name) for item in fields(Recipe)}
    begun_at = claim(folder, cloned=cloned, **common, **{key: value for key, value in lasting(settings).items() if key in own})
    options = agent_record(cloned) | common | own | {"model": str(cloned), "out": folder / "run"}
    marks = []
    for updates in settings.grpo_updates:
        episodes = folder / f"episodes_{updates}"
        if not episodes.exists():
            training = make_settings("grpo", updates=updates, **options)
            if (made := len(read_metrics(training.out))) > updates:  # models of fewer are not kept
                raise ValueError(f"{training.out} has made {made} updates, not {updates}; choose another --out")
            reinforce(training)
        spent = next(record["cpu_minutes"] for record in read_metrics(folder / "run") if record["update"] == updates)
        measured = measure(folder / "run", held_out(settings), episodes, settings.max_steps)
        marks.append(measured | {"cpu_minutes": spent})
    return {"marks": marks, "metrics": read_metrics(folder / "run"), "begun_at": begun_at}


def held_out(settings: LearningSettings) -> list[Task]:
    """Return the tasks to evaluate on: the test split, and its templates once more in a fresh world."""
    if not settings.templates:
        return suite_tasks("test", (settings.fresh_world,), settings.limit)
    return some(draw_tasks([settings.fresh_world, settings.fresh_world + 1], 5, templates=settings.templates), settings.limit)


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print what it measured."""
    preset = OF_LANGUAGE_MODELS if "--cloned" in arguments else {}
    settings = parse_settings(
        LearningSettings, arguments, {**preset, **(QUICK if "--quick" in arguments else {})}, program="benchmarks.learning"
    )
    result = run(settings) | {"quick": settings.quick}
    for name, value in result.items():
        print(f"{name:<24}{json.dumps(value)}")
    hand_over("learning", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.learning", main)
