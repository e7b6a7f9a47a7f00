"""All training methods compared at an equal budget: `python -m benchmarks.methods [--quick] --json`.

Each method fine-tunes the same BC agents for the same time, on the same tasks of training worlds, and is then evaluated on tasks in held-out
worlds, greedily and sampled. The variants of the paper that start from another BC agent (Zero, thoughts) train it first, for the cloning
minutes, and the agents of Stable-Baselines3 start untrained. The cost of a run is reported in env steps, tokens and CPU minutes. A run that
was stopped is resumed. The last line is one JSON object with a row for each method, its seeds pooled.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Literal, NamedTuple

import torch

from agents.command_lines import NewFolder, PresentFolder, parse_settings
from agents.data.demonstrations import draw_tasks
from agents.models.checkpoints import agent_record
from agents.remember import remember
from agents.settings import TrainingWorlds
from agents.train_rl import make_settings
from agents.train_rl import train as train_rl
from agents.training.cloning import train as train_bc
from agents.training.metrics import read_metrics
from agents.training.settings import METHODS, SMALL, BCSettings, RememberSettings, SB3Settings
from benchmarks.playing import TrainingSettings, claim_folder, measure, run_parallel, save_result, subsample, suite_tasks
from webarena_gym import console
from webarena_gym.evaluation.statistics import paired_difference, pooled_score
from webarena_gym.sites.layout import Variation
from webarena_gym.tasks import Task

_KINDS = """account_place category_place search_place product_place reviews_place cart_add cart_show wish_list_add newsletter_switch
latest_total latest_number order_status product_price product_sku"""
TEMPLATES = tuple(f"shopping.{kind}" for kind in _KINDS.split())
"""Tasks of the shop with two to six steps, which a language model of a million parameters can learn in minutes.

In version 2 of the suite, `account_place`, `category_place`, `search_place` and `product_place` ask for an answer that is no candidate action,
so the agents of Stable-Baselines3 cannot solve them.
"""


class Recipe(NamedTuple):
    """The options of a method's trainer, and of its BC agent if it does not use the common one."""

    title: str
    options: Mapping[str, Any] = {}
    cloning: Mapping[str, Any] | None = None  # options of the method's BC agent; None: the common one
    trainer: str = "grpo"  # a method of agents.train_rl, or sb3
    memory: Mapping[str, Any] | None = None  # options of agents.remember, which fills the agent's memory within the budget


_TASKS = ("templates", "worlds", "per_template")
_CLAIMED = ("minutes", "cpu_minutes", "training_steps", "learning_rate", "tasks_per_update", "group_size", *_TASKS)
_BUDGETS = ("cpu_minutes", "env_steps")
with (Path(__file__).parent / "recipes.toml").open("rb") as _file:
    RECIPES = {name: Recipe(**recipe) for name, recipe in tomllib.load(_file)["methods"].items()}

CURVES = ("success", "reward_deviation", "reply_entropy", "grad_norm")
"""metrics that indicate an echo trap (RAGEN, arXiv 2504.20073)"""
_POINTS = 60  # maximum of points of a curve

SPENT = ("update", "env_steps", "generated_tokens", "trained_tokens", "cpu_minutes")
"""metrics of the cost of a run"""

QUICK: dict[str, Any] = {
    "minutes": 0.5, "cloning_minutes": 1.0, "methods": ("mgrpo", "filtered_bc"), "limit": 20, "out": Path("runs/methods_quick")
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MethodsSettings(TrainingSettings):
    """Train with each method for the same time, and evaluate."""

    out: NewFolder = Path("runs/methods")
    """folder of all runs"""
    methods: tuple[str, ...] = tuple(RECIPES)
    """names of the methods"""
    cloned: tuple[PresentFolder, ...] = ()
    """BC agents to fine-tune, one for each seed in turn; by default one is trained for the cloning minutes"""
    seeds: tuple[int, ...] = (0,)
    """training seeds of each method"""
    templates: tuple[str, ...] = TEMPLATES
    """templates for training and evaluation; none: train on the training split's, evaluate on the test split and on its templates in the test worlds"""
    worlds: tuple[int, ...] = tuple(range(11, 59))
    per_template: int = 1
    test_worlds: tuple[int, ...] = (1701, 1702, 1703)
    """seeds of the held-out worlds for evaluation"""
    per_test_template: int = 4
    """tasks of each template in each of these worlds"""
    variation: Variation = "content"
    """variation of all worlds; layout: their sites have other layouts as well"""
    tools: tuple[Literal["lookup", "table_sql"], ...] = ()
    """tools that the BC agents trained here call; other agents have those of their own training"""
    window: int = BCSettings.window
    """characters of a page in the prompts of the BC agents trained here"""
    training_steps: int | None = None
    """maximum of steps of an episode in training; by default that of the BC agent"""
    cloning_minutes: float = 3.0
    """training time of each BC agent"""
    cloning_cpu_minutes: float = 0.0
    """CPU time of each BC agent instead of cloning_minutes, which does not depend on the load of the machine"""
    cloning_model: str = SMALL
    """model that the BC agents are trained from"""
    cloning_worlds: tuple[int, ...] = ()
    """seeds of the worlds of the demonstrations, if they are not those of the other training"""
    minutes: float = 4.0
    """training time of each method"""
    cpu_minutes: float = 0.0
    """CPU time of each method instead of minutes, which does not depend on the load of the machine; not for Stable-Baselines3"""
    env_steps: int = 0
    """env steps of each method instead of minutes; not for Stable-Baselines3"""
    tasks_per_update: int = 16
    """groups in an update of M-GRPO; other methods play as many episodes"""
    group_size: int = 8
    """rollouts of each task in a group of M-GRPO"""
    learning_rate: float = 3e-4
    """learning rate of each method except those of Stable-Baselines3"""

    def __post_init__(self) -> None:
        super().__post_init__()
        TrainingWorlds().expect_training_worlds("cloning_worlds", self.cloning_worlds)
        if not self.templates and self.variation != type(self).variation:
            raise ValueError(
                f"variation is {self.variation!r}; expected templates with it, since the test split has one layout"
            )


def run(settings: MethodsSettings) -> dict[str, Any]:
    """Train missing agents, evaluate, and return a row for each method."""
    unknown = sorted(set(settings.methods) - set(RECIPES))
    if unknown:
        raise ValueError(f"method is {unknown[0]!r}; expected some of {', '.join(RECIPES)}")
    timed = [name for name in settings.methods if RECIPES[name].trainer == "sb3"]
    for budget in _BUDGETS:
        if timed and getattr(settings, budget):
            raise ValueError(
                f"{budget} is {getattr(settings, budget)}; expected 0 with {timed[0]}, which is limited by minutes"
            )
    if any(RECIPES[name].cloning is None for name in settings.methods):
        for seed in settings.seeds if settings.cloned else settings.seeds[:1]:  # before parallel runs use it
            folder, cloned = _common_clone(settings, seed)
            cloning = {**_cloning_budget(settings), "seed": seed}
            claim_folder(folder, cloned=cloned if settings.cloned else cloning)
            if not settings.cloned:
                train_bc(_cloning(settings, cloned, seed, {}))
            measure(cloned, held_out(settings), folder / "episodes", settings.max_steps, **_variation(settings))
    calls = [(settings, name, seed) for name in settings.methods for seed in settings.seeds]
    runs = run_parallel(train_and_measure, calls, settings.jobs)
    of_method = {name: [result for result in runs if result["method"] == name] for name in settings.methods}
    first = of_method[settings.methods[0]]
    kinds = [task.template for task in held_out(settings)]
    return {
        "rows": [
            {"method": name, "title": RECIPES[name].title} | _row(results, first, kinds) for name, results in of_method.items()
        ],
        "curves": {name: {str(result["seed"]): result["curves"] for result in results} for name, results in of_method.items()},
        "n": len(kinds),
        "begun_at": sorted({result["begun_at"] for result in runs}),
        **{name: getattr(settings, name) for name in ("seeds", "minutes", "cloning_minutes", "learning_rate", *_BUDGETS)},
        "clones": len(settings.cloned),
        "templates": len(settings.templates),
        "variation": settings.variation,
        "max_steps": settings.max_steps,
    }


def train_and_measure(settings: MethodsSettings, name: str, seed: int) -> dict[str, Any]:
    """Return the rewards by task of a BC agent and of the model that a method trained from it with a seed, and the cost.

    The common BC agent must exist.
    """
    torch.set_num_threads(settings.threads or torch.get_num_threads())
    recipe = RECIPES[name]
    folder = settings.out / f"{name}_{seed}"
    common, cloned = _common_clone(settings, seed)
    is_given = settings.cloned and recipe.cloning is None
    begun_at = claim_folder(
        folder,
        cloned=cloned if is_given else None,
        options=recipe.options,
        cloning=recipe.cloning,
        cloning_minutes=None if is_given else settings.cloning_minutes,
        **{key: getattr(settings, key) for key in _CLAIMED},
        **({"env_steps": settings.env_steps} if settings.env_steps else {}),  # folders of earlier versions have none
        **_variation(settings),
        **({"memory": recipe.memory} if recipe.memory is not None else {}),
        **({} if is_given else {f"cloning_{name}": value for name, value in _cloning_options(settings).items()}),
        **({} if is_given or not settings.cloning_cpu_minutes else {"cloning_cpu_minutes": settings.cloning_cpu_minutes}),
    )
    episodes = common / "episodes"
    if recipe.cloning is not None:
        cloned, episodes = folder / "clone", folder / "clone_episodes"
        if recipe.trainer == "sb3":
            _train_sb3(settings, cloned, seed, {**recipe.options, **recipe.cloning})
        else:
            train_bc(_cloning(settings, cloned, seed, recipe.cloning))
    spent: Mapping[str, float] = {}
    if recipe.trainer == "sb3":
        _train_sb3(settings, folder / "run", seed, recipe.options)
    else:
        start = cloned
        if recipe.memory is not None:
            start = folder / "memory"
            remembering: dict[str, Any] = {"worlds": settings.worlds[:3], "templates": settings.templates} | dict(recipe.memory)
            remembering |= _variation(settings)
            spent = remember(RememberSettings(model=cloned, out=start, seed=seed, **remembering))
        _train(settings, recipe, start, folder / "run", seed, spent)
    tasks, metrics = held_out(settings), read_metrics(folder / "run")
    return {
        "method": name, "clone": str(cloned), "before": measure(cloned, tasks, episodes, settings.max_steps, **_variation(settings)),
        "after": measure(folder / "run", tasks, folder / "episodes", settings.max_steps, **_variation(settings)), "seed": seed,
        "spent": {name: metrics[-1].get(name, 0.0) + spent.get(name, 0.0) for name in SPENT},
        "steps_remembered": spent.get("steps_remembered", 0), "curves": curves(metrics), "begun_at": begun_at,
    }  # fmt: skip


def curves(records: Sequence[Mapping[str, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return points of CPU minutes and a metric for each of CURVES, evenly spaced; updates without training have no gradient norm."""
    points_of = {}
    for name in CURVES:
        points = [(round(record["cpu_minutes"], 2), round(record[name], 4)) for record in records if name in record]
        step = max(1, -(-len(points) // _POINTS))
        points_of[name] = points[::step]
    return points_of


def _row(runs: Sequence[Mapping[str, Any]], first: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> dict[str, Any]:
    """Return the figures of a method's runs, seeds pooled, and its improvement over the first method; costs are means.

    `kinds` are the templates of the tasks.
    """
    row: dict[str, Any] = {}
    clones = [result["clone"] for result in runs]
    for decoding in ("greedy", "sampled"):
        before, after, others = (
            [result[part][decoding] for result in results]
            for results, part in ((runs, "before"), (runs, "after"), (first, "after"))
        )
        row[decoding] = {
            "clone": pooled_score(before)._asdict(),
            "after": pooled_score(after)._asdict(),
            "lift": paired_difference(before, after, templates=kinds, seed_groups=clones)._asdict(),
            "without_best": without_best(kinds, before, after),
            "lift_of_seeds": [round(mean(new) - mean(old), 4) for old, new in zip(before, after, strict=True)],
            "above_first": paired_difference(others, after, templates=kinds, seed_groups=clones)._asdict(),
        }
    if any(result["steps_remembered"] for result in runs):
        row["steps_remembered"] = round(mean(result["steps_remembered"] for result in runs), 1)
    return row | {key: round(mean(result["spent"][key] for result in runs), 1) for key in SPENT}


def without_best(kinds: Sequence[str], before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the template with the largest improvement over all seeds, and the improvement on the other templates, if any.

    `before` and `after` are the rewards of each seed on tasks of these templates.
    """
    gains = dict.fromkeys(kinds, 0.0)
    for old, new in zip(before, after, strict=True):
        for kind, was, now in zip(kinds, old, new, strict=True):
            gains[kind] += now - was
    best = max(gains, key=gains.__getitem__)
    others = [index for index, kind in enumerate(kinds) if kind != best]
    if not others:
        return {"kind": best}
    remaining = ([[rewards[index] for index in others] for rewards in part] for part in (before, after))
    return {"kind": best} | paired_difference(*remaining)._asdict()


def held_out(settings: MethodsSettings) -> list[Task]:
    """Return the evaluation tasks."""
    if not settings.templates:
        return suite_tasks("test", settings.test_worlds, settings.limit)
    options: dict[str, Any] = {"templates": settings.templates, "variation": settings.variation}
    return subsample(draw_tasks(settings.test_worlds, settings.per_test_template, **options), settings.limit)


def _variation(settings: MethodsSettings) -> dict[str, Any]:
    """Return the variation as an option, unless it is the default, which folders of earlier versions do not record."""
    return {} if settings.variation == MethodsSettings.variation else {"variation": settings.variation}


def _common_clone(settings: MethodsSettings, seed: int) -> tuple[Path, Path]:
    """Return the folder and the model of the common BC agent of this seed."""
    if not settings.cloned:
        return settings.out / "clone", settings.out / "clone" / "run"
    number = settings.seeds.index(seed) % len(settings.cloned)
    return settings.out / (f"clone_{number}" if number else "clone"), settings.cloned[number]


def _cloning_budget(settings: MethodsSettings) -> dict[str, float]:
    """Return the budget of a BC agent, in minutes or CPU minutes."""
    if settings.cloning_cpu_minutes:
        return {"minutes": 0.0, "cpu_minutes": settings.cloning_cpu_minutes}
    return {"minutes": settings.cloning_minutes}


def _cloning_options(settings: MethodsSettings) -> dict[str, Any]:
    """Return the options of the BC agents that the settings change."""
    values = {
        "tools": settings.tools,
        "window": settings.window,
        "worlds": settings.cloning_worlds,
        "model": settings.cloning_model,
    }
    unchanged = {"tools": (), "window": MethodsSettings.window, "worlds": (), "model": SMALL}
    return {name: value for name, value in values.items() if value != unchanged[name]}


def _cloning(settings: MethodsSettings, out: Path, seed: int, options: Mapping[str, Any]) -> BCSettings:
    common: dict[str, Any] = {name: getattr(settings, name) for name in (*_TASKS, "threads")} | _cloning_budget(settings)
    common |= _variation(settings)
    if "updates" in options:  # a recipe with its own length
        common["cpu_minutes"] = 0.0
    common |= _cloning_options(settings)
    return BCSettings(**{"model": SMALL, "out": out, "seed": seed, **common, **options})


def _train(settings: MethodsSettings, recipe: Recipe, cloned: Path, out: Path, seed: int, spent: Mapping[str, float]) -> None:
    """Fine-tune the BC agent with the recipe, for the budget less the cost so far."""
    names = (*_TASKS, "minutes", "cpu_minutes", "learning_rate", "threads")
    options: dict[str, Any] = {name: getattr(settings, name) for name in names}
    if settings.env_steps:
        options |= {"env_steps": settings.env_steps, "minutes": 0.0, "cpu_minutes": 0.0}
    elif settings.cpu_minutes:
        options["minutes"] = 0.0
    for name, least in (("env_steps", 1), ("cpu_minutes", 0.01)):
        if options.get(name):
            options[name] = max(options[name] - spent.get(name, 0), least)
    options |= {**agent_record(cloned), "model": str(cloned), "out": out, "seed": seed, **_variation(settings)}
    if settings.training_steps is not None:
        options["max_steps"] = settings.training_steps
    sizes = {"tasks_per_update": settings.tasks_per_update, "group_size": settings.group_size}
    if METHODS[recipe.trainer].group_size == 1:
        sizes = {"tasks_per_update": settings.tasks_per_update * settings.group_size}
    train_rl(make_settings(recipe.trainer, **{**options, **sizes, **recipe.options}))


def _train_sb3(settings: MethodsSettings, out: Path, seed: int, options: Mapping[str, Any]) -> None:
    from agents.sb3 import train  # noqa: PLC0415 - an optional dependency

    shared = {name: getattr(settings, name) for name in (*_TASKS, "minutes", "threads")}
    train(SB3Settings(**shared | {"out": out, "seed": seed} | _variation(settings) | dict(options)))


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print the results."""
    settings = parse_settings(MethodsSettings, arguments, QUICK if "--quick" in arguments else {}, program="benchmarks.methods")
    result = run(settings) | {"quick": settings.quick}
    for item in result["rows"]:
        greedy, sampled = (100 * item[way]["after"]["success"] for way in ("greedy", "sampled"))
        lifts = "{:+.1f}, {:+.1f}".format(*(100 * item[way]["lift"]["lift"] for way in ("greedy", "sampled")))
        print(f"{item['method']:<14}   greedy {greedy:5.1f} %   sampled {sampled:5.1f} %   above its clone {lifts}")
    save_result("methods", result, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.methods", main)
