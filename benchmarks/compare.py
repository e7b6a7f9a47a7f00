"""Agents compared on the same tasks: `python -m benchmarks.compare ensembles --agents RUN_A RUN_B --json`.

A recipe trains agents with the commands of `agents`, or uses those of `--agents`, and evaluates them on the same tasks. Its numbers are
in recipes.toml; `--set NAME=VALUE` changes one. Stored agents and episodes are reused. The last line is one JSON object with a row for each
agent: success, and the improvement over the first row; a recipe with several evaluations has rows for each of them.

- adaptation: BC agents of all sites except one, fine-tuned with few demonstrations of it, after AdaptAgent (arXiv 2411.13451).
- agent_q: `--agents`, one for each seed, before and after each iteration of `agents.agent_q`.
- carrying: BC agents without some templates or without a site, trained further by BC or DAgger, on held-out templates and the held-out
  site; and one agent of `--agents` on rebuilt sites, with label matching by words, with semantic label matching, and after exploration.
- ensembles: `--agents` one by one, and combined with weights that are fitted on validation tasks, after LLM-Ens (arXiv 2505.15306).
- interactions: one agent with several step limits; the paper has limits of up to 30.
- long_tasks: BC agents from whole demonstrations of long tasks or from overlapping pieces, then M-GRPO with fixed or growing step limits, after
  KLong (arXiv 2602.17547).
- recovery: BC agents from equally many demonstrations with and without wrong steps that are undone, after WebCoT (arXiv 2505.20013): from
  the start by step limit, after some of the expert's first steps, and after those and a wrong one from which the expert still succeeds.
- searches: one agent by greedy decoding and with searches at equal numbers of env steps.
- unseen_states: `--agents`, one for each seed, on tasks that start signed out, before and after filtered behaviour cloning or M-GRPO.
- workflows: one agent on a stream of tasks, with a memory of workflows and without, after Agent Workflow Memory (arXiv 2409.07429).
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib import import_module
from io import StringIO
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, NamedTuple

from agents.command_lines import NewFolder, parse_settings
from agents.data.demonstrations import draw_tasks
from agents.data.expert import envs_with_tasks, force_mistake
from agents.data.trajectories import Step, read_trajectories
from agents.data.workflows import WorkflowMemory
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, checkpoints, save_agent
from agents.models.pointer.network import load_pointer
from agents.rollouts.policies import Policy, Reply, Request
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import choices
from benchmarks import playing
from benchmarks.learning import demonstration_worlds
from benchmarks.unseen_states import signed_out, unseen_states
from webarena_gym import console
from webarena_gym import suite as task_suite
from webarena_gym.actions import DIALECTS
from webarena_gym.arguments import read_pairs
from webarena_gym.suite.parts import PARTS
from webarena_gym.tasks import Task


@dataclass(frozen=True, kw_only=True)
class CompareSettings(playing.ResultSettings):
    """Settings of a comparison of agents with a recipe."""

    recipe: str
    """name of the recipe, see above"""
    agents: tuple[str, ...] = ()
    """runs or model folders to compare or fine-tune, for recipes that do not train their agents"""
    out: NewFolder = Path("runs/compare")
    """folder with a folder of runs and episodes for each recipe"""
    seeds: tuple[int, ...] = ()
    """training seeds; by default those of the recipe"""
    split: str = "test"
    """split of the evaluation tasks"""
    test_worlds: tuple[int, ...] = ()
    """further worlds for the split's templates; by default those of the recipe"""
    limit: int | None = None
    """evaluate on at most this number of tasks"""
    set: tuple[str, ...] = ()
    """NAME=VALUE: changed numbers of the recipe, as JSON or plain text"""
    jobs: int = 1
    """seeds in parallel"""


class Comparison(NamedTuple):
    """A recipe with the numbers of this run."""

    settings: CompareSettings
    options: Mapping[str, Any]
    seeds: Sequence[int]

    @property
    def folder(self) -> Path:
        return self.settings.out / self.settings.recipe

    @property
    def test_worlds(self) -> Sequence[int]:
        return self.settings.test_worlds or self.options.get("test_worlds", ())

    def tasks(self) -> list[Task]:
        """Return the evaluation tasks: those of the suite, of one site, or of the recipe's worlds."""
        settings, options = self.settings, self.options
        if "per_test_template" in options:
            tasks = draw_tasks(self.test_worlds, options["per_test_template"], templates=options["templates"])
        else:
            tasks = playing.suite_tasks(settings.split, self.test_worlds, None)
        if settings.recipe == "unseen_states":
            tasks = list(map(signed_out, tasks))
        if "site" in options:
            tasks = [task for task in tasks if task.template.startswith(f"{options['site']}.")]
        return playing.subsample(tasks, settings.limit)

    def episodes(self, policy: str) -> Path:
        """Return the folder of the episodes of an agent with several evaluations."""
        return self.folder / policy.strip("/").replace("/", "_")


def command(module: str, **options: object) -> str:
    """Run a command of `agents` with options by name, and return its output."""
    words: list[str] = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        elif isinstance(value, (tuple, list)):
            words += [option, *map(str, value)] if value else []
        else:
            words += [option, str(value)]
    with redirect_stdout(StringIO()) as printed:
        import_module(module).main(words)
    return printed.getvalue()


def adaptation(run: Comparison, seed: int) -> Iterator[playing.AgentResult]:
    """Train by BC on all sites except one, and fine-tune with demonstrations of it; a smaller number is a prefix of a larger one."""
    options, site = run.options, run.options["site"]
    names = [name for part in PARTS.values() for name in part.names("train")]
    site_templates = [name for name in names if name.startswith(f"{site}.")]
    if not site_templates:
        raise ValueError(f"site is {site!r}; expected one of {', '.join(sorted({name.partition('.')[0] for name in names}))}")
    out = run.folder / f"{site}_{seed}"
    shared = {"model": "pointer", "seed": seed, "threads": 1}
    command(
        "agents.train_bc", **shared, out=out / "clone", updates=options["cloning_updates"], templates=templates_without(site),
        worlds=options["worlds"], one_world_each=True,
    )  # fmt: skip
    chosen = Random(seed).sample(site_templates, min(max(options["demonstrations"]), len(site_templates)))
    for count in options["demonstrations"]:
        policy = out / (f"tuned_{count}" if count else "clone")
        if count:
            command(
                "agents.train_bc", **shared, out=policy, begin_with=out / "clone", templates=chosen[:count],
                worlds=[options["demonstration_world"]], per_template=1, updates=options["updates"],
                learning_rate=options["learning_rate"], decisions_per_update=16,
            )  # fmt: skip
        played = playing.play(str(policy), run.tasks(), out / f"{count}.jsonl", max_steps=playing.MAX_STEPS)
        yield playing.AgentResult(f"after {count} demonstrations", [playing.rewards(played)])


def templates_without(site: str) -> tuple[str, ...]:
    """Return the training templates that do not involve a site."""
    needing = {task.template for task in task_suite.load("train") if site in task.sites}
    names = (name for part in PARTS.values() for name in part.names("train"))
    return tuple(name for name in names if name not in needing and not name.startswith(f"{site}."))


def agent_q(run: Comparison, seed: int) -> Iterator[playing.AgentResult]:
    """Improve the agent of a seed, and evaluate each of its checkpoints."""
    out, model = run.folder / f"seed_{seed}", run.settings.agents[seed]
    command("agents.agent_q", model=model, out=out / "run", seed=seed, threads=1, **run.options)
    policies = [model, *(str(item.path) for item in checkpoints(out / "run") if item.update)]
    for number, (policy, spent) in enumerate(zip(policies, [{}, *read_metrics(out / "run")], strict=True)):
        played = playing.play(policy, run.tasks(), out / f"{number}.jsonl", max_steps=playing.MAX_STEPS)
        names = ("env_steps", "pairs", "cpu_minutes")
        title = f"after {number} iterations" if number else "before"
        yield playing.AgentResult(title, [playing.rewards(played)], {name: spent.get(name, 0.0) for name in names})


def carrying(run: Comparison, seed: int) -> Iterator[playing.AgentResult]:
    """Train by BC without some templates and without a site, evaluate on the held-out ones, and evaluate an agent on rebuilt sites.

    The sham is a control: the labels of each kind of control on a site are shuffled among the effects that exploration has found.
    """
    options, out, (starter,) = run.options, run.folder / f"seed_{seed}", run.settings.agents
    tasks, site = run.tasks(), options["left_out_site"]
    names = [name for part in PARTS.values() for name in part.names("train")]
    trained = {name for name in names if sha256(name.encode()).digest()[0] % options["one_held_out_of"]}
    cloning = {"model": "pointer", "seed": seed, "threads": 1, "one_world_each": True, "worlds": options["worlds"]}
    targets = {
        "trained_templates": ("clone", [task for task in tasks if task.template in trained]),
        "templates_of_no_training": ("clone", [task for task in tasks if task.template not in trained]),
        "site_of_no_training": (f"without_{site}", [task for task in tasks if site in task.sites]),
    }
    for part, (name, part_tasks) in targets.items():
        shared = cloning | {
            "templates": templates_without(site) if name != "clone" else [template for template in names if template in trained]
        }
        command("agents.train_bc", **shared, out=out / name, updates=options["cloning_updates"])
        more = {"begin_with": out / name, "updates": options["more_updates"]}
        for way, plays in (("longer", 0), ("dagger", options["plays"])):
            command("agents.train_bc", **shared, **more, dagger=plays, out=out / f"{name}_{way}")
        titles = {
            name: "the clone",
            f"{name}_longer": "trained on",
            f"{name}_dagger": "with DAgger",
            "random": "random actions",
        }
        for policy, title in titles.items():
            file = out / "episodes" / f"{part}_{policy}.jsonl"
            played = playing.play(policy if policy == "random" else str(out / policy), part_tasks, file)
            yield playing.AgentResult(title, [playing.rewards(played)], part=part, tasks=part_tasks)
    rebuilt = [task for world in run.test_worlds for task in task_suite.load(run.settings.split, world, "layout")]
    rebuilt = playing.subsample(rebuilt, run.settings.limit)
    walked, sham = out / "walked", out / "sham"
    walk = {"walk": options["walk"], "worlds": run.test_worlds, "variation": "layout"}
    if not sham.is_dir():
        command("agents.remember", model=starter, out=walked, **walk)
        network, vocabulary = load_pointer(walked)
        for labels in (network.labels or {}).values():
            effects, rng = labels.get("effect", {}), Random(seed)
            for tag in sorted({effect.partition(" ")[0] for effect in effects}):
                of_tag = [effect for effect in effects if effect.partition(" ")[0] == tag]
                dealt = iter(rng.sample(pool := [label for effect in of_tag for label in effects[effect]], len(pool)))
                effects.update({effect: [next(dealt) for _ in effects[effect]] for effect in of_tag})
        save_agent(sham, network, vocabulary, agent_record(walked))
    ways = {
        "one agent": (starter, "words"), "reading by meaning": (starter, "meaning"), "and after walks": (walked, "meaning"),
        "sham": (sham, "meaning"), "random actions": ("random", "words"),
    }  # fmt: skip
    for number, (title, (agent, reads)) in enumerate(ways.items()):
        results = []
        if title == "sham" or seed == run.seeds[0]:  # the results of the others do not depend on the seed
            reading = {"variation": "layout", "reads": reads}
            played = playing.play(str(agent), rebuilt, out / "episodes" / f"layouts_{number}.jsonl", **reading)
            results = [playing.rewards(played)]
        yield playing.AgentResult(title, results, part="held_out_layouts", tasks=rebuilt)


def ensembles(run: Comparison, _: int) -> Iterator[playing.AgentResult]:
    """Evaluate the agents one by one, and combined with equal weights, with weights by site, and as the best agent of each site."""
    titles = {"uniform": "all, with equal weights", "fitted": "all, with weights by site", "switched": "the best of each site"}
    policies = {f"agent {number}": policy for number, policy in enumerate(run.settings.agents, 1)}
    for weights, title in titles.items():
        folder, options = run.folder / weights, {"limit": run.options["fit_limit"]} if run.options["fit_limit"] else {}
        if not folder.is_dir():
            command("agents.ensemble", members=run.settings.agents, out=folder, weights=weights, **options)
        policies[title] = str(folder)
    for title, policy in policies.items():
        file = run.folder / "episodes" / f"{policy.strip('/').replace('/', '_')}.jsonl"
        yield playing.AgentResult(
            title, [playing.rewards(playing.play(policy, run.tasks(), file, max_steps=playing.MAX_STEPS))]
        )


def interactions(run: Comparison, _: int) -> Iterator[playing.AgentResult]:
    """Evaluate with each step limit."""
    (policy,) = run.settings.agents
    for limit in run.options["limits"]:
        played = playing.play(policy, run.tasks(), run.episodes(policy) / f"{limit}.jsonl", max_steps=limit)
        spent = {
            "steps": mean(len(item.steps) for item in played),
            "cut_off": mean(item.ending == "truncated" for item in played),
        }
        yield playing.AgentResult(f"{limit} interactions", [playing.rewards(played)], spent)


def long_tasks(run: Comparison, seed: int) -> Iterator[playing.AgentResult]:
    """Train by BC on whole demonstrations and on pieces of them, and fine-tune by M-GRPO with fixed or growing step limits."""
    options, folder = run.options, run.folder / f"seed_{seed}"
    limits = options["step_limits"]
    pieces = {name: options[name] for name in ("piece_steps", "shared_steps", "early_steps")}
    first = 11 + seed * options["cloning_worlds"]
    shared = {"seed": seed, "threads": 1, "templates": options["templates"], "max_steps": max(limits)}
    clones = {"whole episodes": {}, "overlapping pieces": pieces}
    for name, split in clones.items():
        worlds = range(first, first + options["cloning_worlds"])
        cloning = {"model": "pointer", "out": folder / name.replace(" ", "_"), "updates": options["cloning_updates"]}
        command("agents.train_bc", **shared, **cloning, **split, worlds=list(worlds))
    ways = [("whole episodes", None), ("overlapping pieces", None)]
    if options["env_steps"]:
        ways += [("whole episodes", (max(limits),)), ("whole episodes", limits), ("overlapping pieces", limits)]
    for name, steps in ways:
        clone = policy = folder / name.replace(" ", "_")
        title, spent = f"cloned from {name}", {}
        if steps:
            title += ", then M-GRPO" + (" with growing step limits" if len(steps) > 1 else "")
            policy = folder / title.replace(" ", "_").replace(",", "")
            sizes = {name: options[name] for name in ("env_steps", "tasks_per_update", "group_size", "learning_rate")}
            growing = {"step_limits": steps} if len(steps) > 1 else {}
            training = {"model": clone, "out": policy, "per_template": 1, "worlds": options["rl_worlds"]}
            command("agents.train_grpo", **shared, **training, **sizes, **growing)
            spent = {name: read_metrics(policy)[-1][name] for name in ("env_steps", "cpu_minutes")}
        played = playing.play(str(policy), run.tasks(), folder / "episodes" / f"{policy.name}.jsonl", max_steps=max(limits))
        yield playing.AgentResult(title, [playing.rewards(played)], spent)


def recovery(run: Comparison, seed: int) -> Iterator[playing.AgentResult]:
    """Train by BC without and with demonstrations of recovery, and evaluate both from the start by step limit, and after forced first steps."""
    options, tasks, folder = run.options, run.tasks(), run.folder / f"seed_{seed}"
    worlds, one_world_each = demonstration_worlds(options["demonstrations"], seed), options["demonstrations"] == 1
    shared = {"model": "pointer", "seed": seed, "threads": 1, "templates": options["templates"], "worlds": worlds}
    ways = {"the plain clone": 0.0, "the clone from demonstrations of recovery": options["mistakes"]}
    clones = {title: folder / ("recovering" if mistakes else "plain") for title, mistakes in ways.items()}
    for title, clone in clones.items():
        training = {
            "out": clone,
            "mistakes": ways[title],
            "updates": options["cloning_updates"],
            "one_world_each": one_world_each,
        }
        command("agents.train_bc", **shared, **training)
    forced = forced_first_steps(tasks, agent_record(clones["the plain clone"]))
    led = {task_id: steps[:-1] for task_id, steps in forced.items()}
    begun_tasks = [task for task in tasks if task.task_id in forced]
    for title, clone in clones.items():
        episodes = folder / f"{clone.name}_episodes"
        for limit in (playing.MAX_STEPS, *options["limits"]):
            played = playing.play(str(clone), tasks, episodes / f"alone_{limit}.jsonl", max_steps=limit)
            part = "rows" if limit == playing.MAX_STEPS else f"within_{limit}"
            yield playing.AgentResult(title, [playing.rewards(played)], part=part)
        for part, begun in (("led", led), ("forced", forced)):
            leading = partial(ReplayThenPolicy, first_steps=begun)
            played = playing.play(str(clone), begun_tasks, episodes / f"{part}.jsonl", wrap=leading)
            yield playing.AgentResult(title, [playing.rewards(played)], part=part, tasks=begun_tasks)


def forced_first_steps(tasks: Sequence[Task], agent: Mapping[str, Any]) -> dict[str, list[Step]]:
    """Return for each task some of the expert's steps and a wrong one, as steps of a pointer network.

    Tasks without a wrong step that can be undone are omitted, and tasks in which a pointer network cannot take these steps. Equal tasks
    have equal steps.
    """
    first_steps, dialect = {}, DIALECTS["webrl"].naming_by("id")
    for env, task in envs_with_tasks(tasks, quiet=True, **{**agent, "max_steps": 2 * playing.MAX_STEPS}):
        forced = force_mistake(env, task, Random(f"forced/{task.task_id}"))
        made = choices(*forced) if forced else None
        if forced and made:
            errors = ["refused" if after.has_error else "" for after in forced[1][1:]] + [""]
            first_steps[task.task_id] = [
                Step(shown.page, dialect.format(shown.action), error, response_ids=ids)
                for shown, error, ids in zip(forced[1], errors, made, strict=True)
            ]
    return first_steps


@dataclass
class ReplayThenPolicy:
    """A policy that continues after given first steps, which it replays."""

    inner: Policy
    first_steps: Mapping[str, Sequence[Step]]  # by task id
    _ready: list[tuple[int, Reply]] = field(default_factory=list)

    def ask(self, requests: Sequence[Request]) -> None:
        """Reply with a first step, or ask the policy; its first request has the replayed steps as history."""
        for request in requests:
            task_id, number = request.env.task.task_id, request.info["step"]
            begun = self.first_steps[task_id]
            if number >= len(begun):
                self.inner.ask([request._replace(history=begun) if number == len(begun) else request])
                continue
            if request.info["page"] != begun[number].page:
                raise ValueError(f"step {number} of {task_id} is on another page than its recorded first steps")
            self._ready.append((request.slot, Reply(begun[number].reply, response_ids=begun[number].response_ids)))

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        ready, self._ready = self._ready, []
        return ready or self.inner.replies(timeout_s)

    def close(self) -> None:
        self.inner.close()


def searches(run: Comparison, seed: int) -> Iterator[playing.AgentResult]:
    """Search with each method within the same number of env steps."""
    methods: dict[str, dict[str, Any]] = {
        "one episode, greedy": {"method": "greedy"},
        "best of N, by confidence": {"method": "best_of_n", "value": "confidence"},
        "best of N, by the commonest answer": {"method": "best_of_n", "value": "majority"},
        "tree search, by confidence": {"method": "tree", "value": "confidence"},
        "Monte Carlo tree search, by confidence": {"method": "mcts", "value": "confidence"},
    }
    (policy,) = run.settings.agents
    options = {"policy": policy, "split": run.settings.split, "seed": seed, "threads": 1, "json": True, **run.options}
    options |= {"limit": run.settings.limit} if run.settings.limit else {}
    for title, method in methods.items():
        file = run.episodes(policy) / f"{'_'.join(method.values())}_{seed}.jsonl"
        record = file.with_suffix(".json")
        if not record.exists():
            printed = command("agents.search", **options, **method, save=file)
            record.write_text(printed.splitlines()[-1], encoding="utf-8")
        result = json.loads(record.read_text(encoding="utf-8"))
        spent = {name: result[name] for name in ("episodes", "env_steps", "generated_tokens")}
        spent["any_episode"] = result["oracle_any"]["success"]
        yield playing.AgentResult(title, [playing.rewards(read_trajectories(file))], spent)


def workflows(run: Comparison, seed: int) -> Iterator[playing.AgentResult]:
    """Play a stream of tasks without memory, with workflows of the agent's successes, and with those of the expert.

    Workflows are induced from episodes with reward 1, and used from the next part of the stream on.
    """
    titles = {
        "none": "without memory",
        "online": "with workflows of its own successes",
        "offline": "with workflows of the expert",
    }
    (policy,), options, tasks = run.settings.agents, run.options, run.tasks()

    def episodes(player: str, part: Sequence[Task], memory: Path | None, draw: int) -> list[Any]:
        temperature = None if options["temperature"] < 0 else options["temperature"]
        settings = {"temperature": temperature, "seed": draw, "memory": memory}
        settings |= {"max_steps": playing.MAX_STEPS, "threads": 1, "elements": "id"}
        evaluated = EvaluationSettings(**{**policy_defaults(policy), **settings, "policy": player})
        evaluation = evaluate_policy(evaluated, part, quiet=True)
        if evaluation.failed:
            raise RuntimeError(f"{evaluation.failed} episodes of {player} failed; run the command again")
        return evaluation.trajectories

    for way in options["ways"]:
        stream, rewards = Random(seed).sample(tasks, len(tasks)), dict[str, float]()
        memory, file = WorkflowMemory(), run.folder / f"{way}_{seed}.json"
        if way == "offline":
            memory.add(episodes("expert", draw_tasks(options["offline_worlds"], 1), None, seed))
        for start in range(0, len(stream), options["part"]):
            part = stream[start : start + options["part"]]
            memory.save(file)
            played = episodes(policy, part, None if way == "none" else file, seed + start)
            rewards |= zip([task.task_id for task in part], playing.rewards(played), strict=True)
            if way == "online":
                memory.add(played)
        values = list(rewards.values())
        parts = {
            f"part_{start // options['part'] + 1}": mean(values[start : start + options["part"]])
            for start in range(0, len(values), options["part"])
        }
        yield playing.AgentResult(titles[way], [[rewards[task.task_id] for task in tasks]], parts)


class Recipe(NamedTuple):
    """A function that yields the results of one seed, the default seeds, and the number of `--agents` (None: one or more)."""

    play: Callable[[Comparison, int], Iterator[playing.AgentResult]]
    seeds: tuple[int, ...]
    agents: int | None
    mean: str = ""  # title of an additional first row with the mean of the agents


with (Path(__file__).parent / "recipes.toml").open("rb") as _file:
    _NUMBERS = tomllib.load(_file)["compare"]
RECIPES = {
    "adaptation": Recipe(adaptation, (0, 1, 2), 0), "agent_q": Recipe(agent_q, (), None), "carrying": Recipe(carrying, (0,), 1),
    "ensembles": Recipe(ensembles, (0,), None, "one of them, mean"), "interactions": Recipe(interactions, (0,), 1),
    "long_tasks": Recipe(long_tasks, (0, 1, 2), 0), "recovery": Recipe(recovery, (0, 1, 2), 0),
    "searches": Recipe(searches, (0,), 1), "unseen_states": Recipe(unseen_states, (), None), "workflows": Recipe(workflows, (0,), 1),
}  # fmt: skip


def compare(settings: CompareSettings) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any]]:
    """Run a recipe and return the rows by part of the result, and the settings of the run.

    Raises ValueError for settings that do not fit the recipe.
    """
    if settings.recipe not in RECIPES:
        raise ValueError(f"recipe is {settings.recipe!r}; expected one of {', '.join(RECIPES)}")
    recipe, numbers = RECIPES[settings.recipe], _NUMBERS[settings.recipe]
    if unknown := [item for item in settings.set if item.partition("=")[0] not in numbers]:
        raise ValueError(f"set is {unknown[0]!r}; expected NAME=VALUE with a name of {', '.join(numbers)}")
    count = len(settings.agents)
    if recipe.agents not in (None, count) or (recipe.agents is None and not count):
        expected = {None: "one or more", 0: "none, as it trains its own", 1: "one"}[recipe.agents]
        raise ValueError(f"agents are {' '.join(settings.agents) or 'none'}; {settings.recipe} takes {expected}")
    seeds = settings.seeds or recipe.seeds or tuple(range(count))
    run = Comparison(settings, {**numbers, **read_pairs(settings.set, "set")}, seeds)
    tasks = run.tasks()
    begun_at = playing.claim_folder(run.folder, agents=settings.agents, tasks=[task.task_id for task in tasks], **run.options)
    results = playing.run_parallel(_play_all, [(run, seed) for seed in seeds], settings.jobs)
    parts: dict[str, list[playing.AgentResult]] = {}
    for items in zip(*results, strict=True):
        spent = {name: mean(item.spent[name] for item in items) for name in items[0].spent}
        result = items[0]._replace(rewards=[values for item in items for values in item.rewards], spent=spent)
        parts.setdefault(result.part, []).append(result)
    if recipe.mean:
        parts["rows"].insert(0, playing.AgentResult(recipe.mean, [item.rewards[0] for item in parts["rows"][:count]]))
    chosen = {"agents": settings.agents, "seeds": seeds, "split": settings.split, "test_worlds": run.test_worlds}
    rows = {part: playing.rows(measured, measured[0].tasks or tasks) for part, measured in parts.items()}
    return rows, {"recipe": settings.recipe, "begun_at": [begun_at], **run.options, **chosen}


def _play_all(run: Comparison, seed: int) -> list[playing.AgentResult]:
    return list(RECIPES[run.settings.recipe].play(run, seed))


def main(arguments: Sequence[str]) -> None:
    """Run a recipe and print the results."""
    named = ["--recipe", *arguments] if arguments and not arguments[0].startswith("-") else arguments
    settings = parse_settings(CompareSettings, named, program="benchmarks.compare")
    parts, provenance = compare(settings)
    for part, rows in parts.items():
        if len(parts) > 1:
            print(f"{part}:")
        playing.print_rows(rows)
    playing.save_result("compare", parts | provenance, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.compare", main)
