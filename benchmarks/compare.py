"""Agents compared on the same tasks: `python -m benchmarks.compare ensembles --agents RUN_A RUN_B --json`.

A recipe trains agents with the commands of `agents`, or takes those of `--agents`, and plays them all on the same tasks. Its numbers are
in recipes.toml; `--set NAME=VALUE` changes one. What was trained or played before is not done again. The last line is one JSON object with a
row for each agent: success, and the lift over the first row; a recipe that plays in several ways has rows for each of them.

- adaptation: clones of all sites but one, fine-tuned with few demonstrations of it, after AdaptAgent (arXiv 2411.13451).
- agent_q: `--agents`, one for each seed, before and after each iteration of `agents.agent_q`.
- carrying: clones without some templates or a site, trained on alone or with DAgger, on templates and the site of no training; and one agent
  of `--agents` on rebuilt sites, by words, by meaning, and after walks of these sites.
- ensembles: `--agents` one by one, and joined with weights that are fitted on validation tasks, after LLM-Ens (arXiv 2505.15306).
- interactions: one agent with several step limits; the paper has limits of up to 30.
- long_tasks: clones from whole demonstrations of long tasks or from overlapping pieces, then M-GRPO with fixed or growing step limits, after
  KLong (arXiv 2602.17547).
- recovery: clones from equally many demonstrations with wrong steps that are undone and without, after WebCoT (arXiv 2505.20013): alone by
  step limit, after some of the expert's first steps, and after those and a wrong one, from where the expert still earns the reward.
- searches: one agent by greedy decoding and with searches at equal numbers of env steps.
- unseen_states: `--agents`, one for each seed, on tasks that begin signed out, before and after filtered behaviour cloning or M-GRPO.
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

from agents.data.demonstrations import draw_tasks
from agents.data.expert import envs_with_tasks, force_mistake
from agents.data.trajectories import Step, read_trajectories
from agents.data.workflows import WorkflowMemory
from agents.evaluation.evaluate import evaluate_policy
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.models.checkpoints import agent_record, checkpoints, save_agent
from agents.models.pointer.network import load_pointer
from agents.rollouts.policies import Policy, Reply, Request
from agents.settings import NewFolder, parse_settings
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import choices
from benchmarks import playing
from benchmarks.learning import demonstration_worlds
from benchmarks.unseen_states import signed_out, unseen_states
from webarena_gym import console
from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS
from webarena_gym.arguments import read_pairs
from webarena_gym.tasks import Task
from webarena_gym.tasks.suite import PARTS


@dataclass(frozen=True, kw_only=True)
class CompareSettings(playing.ResultSettings):
    """Compare agents as a recipe says."""

    recipe: str
    """one of those above"""
    agents: tuple[str, ...] = ()
    """runs or model folders that are compared or improved, for recipes that train none of their own"""
    out: NewFolder = Path("runs/compare")
    """folder of all runs and episodes, in one for each recipe"""
    seeds: tuple[int, ...] = ()
    """by default those of the recipe"""
    split: str = "test"
    """part of the suite to measure on"""
    test_worlds: tuple[int, ...] = ()
    """worlds in which the split's templates are measured as well; by default those of the recipe"""
    limit: int | None = None
    """measure on so many tasks only"""
    set: tuple[str, ...] = ()
    """NAME=VALUE: numbers of the recipe that differ, as JSON or plain text"""
    jobs: int = 1
    """seeds at the same time"""


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
        """Return the tasks that all its agents play: those of the suite, of one site, or of the recipe's own worlds."""
        settings, options = self.settings, self.options
        if "per_test_template" in options:
            found = draw_tasks(self.test_worlds, options["per_test_template"], templates=options["templates"])
        else:
            found = playing.suite_tasks(settings.split, self.test_worlds, None)
        if settings.recipe == "unseen_states":
            found = list(map(signed_out, found))
        if "site" in options:
            found = [task for task in found if task.template.startswith(f"{options['site']}.")]
        return playing.some(found, settings.limit)

    def episodes(self, policy: str) -> Path:
        """Return the folder of the episodes of an agent that is played in several ways."""
        return self.folder / policy.strip("/").replace("/", "_")


def command(module: str, **options: Any) -> str:
    """Run a command of `agents` with options by name, and return what it prints."""
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


def adaptation(run: Comparison, seed: int) -> Iterator[playing.Measured]:
    """Clone on all sites but one, and fine-tune with demonstrations of it; fewer are the first of more."""
    options, site = run.options, run.options["site"]
    names = [name for part in PARTS.values() for name in part.names("train")]
    own = [name for name in names if name.startswith(f"{site}.")]
    if not own:
        raise ValueError(f"site is {site!r}; expected one of {', '.join(sorted({name.partition('.')[0] for name in names}))}")
    out = run.folder / f"{site}_{seed}"
    shared = {"model": "pointer", "seed": seed, "threads": 1}
    command(
        "agents.train_bc", **shared, out=out / "clone", updates=options["cloning_updates"], templates=others(site),
        worlds=options["worlds"], one_world_each=True,
    )  # fmt: skip
    chosen = Random(seed).sample(own, min(max(options["demonstrations"]), len(own)))
    for count in options["demonstrations"]:
        policy = out / (f"tuned_{count}" if count else "clone")
        if count:
            command(
                "agents.train_bc", **shared, out=policy, begin_with=out / "clone", templates=chosen[:count],
                worlds=[options["demonstration_world"]], per_template=1, updates=options["updates"],
                learning_rate=options["learning_rate"], decisions_per_update=16,
            )  # fmt: skip
        played = playing.play(str(policy), run.tasks(), out / f"{count}.jsonl", max_steps=playing.MAX_STEPS)
        yield playing.Measured(f"after {count} demonstrations", [playing.rewards(played)])


def others(site: str) -> tuple[str, ...]:
    """Return the training templates that need nothing of a site."""
    needing = {task.template for task in task_suite.load("train") if site in task.sites}
    names = (name for part in PARTS.values() for name in part.names("train"))
    return tuple(name for name in names if name not in needing and not name.startswith(f"{site}."))


def agent_q(run: Comparison, seed: int) -> Iterator[playing.Measured]:
    """Improve the agent of a seed, and play each of its checkpoints."""
    out, model = run.folder / f"seed_{seed}", run.settings.agents[seed]
    command("agents.agent_q", model=model, out=out / "run", seed=seed, threads=1, **run.options)
    policies = [model, *(str(item.path) for item in checkpoints(out / "run") if item.update)]
    for number, (policy, spent) in enumerate(zip(policies, [{}, *read_metrics(out / "run")], strict=True)):
        played = playing.play(policy, run.tasks(), out / f"{number}.jsonl", max_steps=playing.MAX_STEPS)
        names = ("env_steps", "pairs", "cpu_minutes")
        title = f"after {number} iterations" if number else "before"
        yield playing.Measured(title, [playing.rewards(played)], {name: spent.get(name, 0.0) for name in names})


def carrying(run: Comparison, seed: int) -> Iterator[playing.Measured]:
    """Clone without some templates, and without a site; play what was in no training, and an agent on rebuilt sites with walks and without.

    In the sham, the labels that a kind of control has on a site are dealt at random among the walks' effects.
    """
    options, out, (starter,) = run.options, run.folder / f"seed_{seed}", run.settings.agents
    tasks, site = run.tasks(), options["left_out_site"]
    names = [name for part in PARTS.values() for name in part.names("train")]
    kept = {name for name in names if sha256(name.encode()).digest()[0] % options["one_held_out_of"]}
    cloning = {"model": "pointer", "seed": seed, "threads": 1, "one_world_each": True, "worlds": options["worlds"]}
    targets = {
        "trained_templates": ("clone", [task for task in tasks if task.template in kept]),
        "templates_of_no_training": ("clone", [task for task in tasks if task.template not in kept]),
        "site_of_no_training": (f"without_{site}", [task for task in tasks if site in task.sites]),
    }
    for part, (name, own) in targets.items():
        shared = cloning | {"templates": others(site) if name != "clone" else [each for each in names if each in kept]}
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
            played = playing.play(policy if policy == "random" else str(out / policy), own, file)
            yield playing.Measured(title, [playing.rewards(played)], part=part, tasks=own)
    rebuilt = [task for world in run.test_worlds for task in task_suite.load(run.settings.split, world, "layout")]
    rebuilt = playing.some(rebuilt, run.settings.limit)
    walked, sham = out / "walked", out / "sham"
    walk = {"walk": options["walk"], "worlds": run.test_worlds, "variation": "layout"}
    if not sham.is_dir():
        command("agents.remember", model=starter, out=walked, **walk)
        network, vocabulary = load_pointer(walked)
        for labels in (network.labels or {}).values():
            effects, rng = labels.get("effect", {}), Random(seed)
            for tag in sorted({effect.partition(" ")[0] for effect in effects}):
                own = [effect for effect in effects if effect.partition(" ")[0] == tag]
                dealt = iter(rng.sample(pool := [label for effect in own for label in effects[effect]], len(pool)))
                effects.update({effect: [next(dealt) for _ in effects[effect]] for effect in own})
        save_agent(sham, network, vocabulary, agent_record(walked))
    ways = {
        "one agent": (starter, "words"), "reading by meaning": (starter, "meaning"), "and after walks": (walked, "meaning"),
        "sham": (sham, "meaning"), "random actions": ("random", "words"),
    }  # fmt: skip
    for number, (title, (agent, reads)) in enumerate(ways.items()):
        found = []
        if title == "sham" or seed == run.seeds[0]:  # the others are alike with all seeds
            reading = {"variation": "layout", "reads": reads}
            played = playing.play(str(agent), rebuilt, out / "episodes" / f"layouts_{number}.jsonl", **reading)
            found = [playing.rewards(played)]
        yield playing.Measured(title, found, part="held_out_layouts", tasks=rebuilt)


def ensembles(run: Comparison, _: int) -> Iterator[playing.Measured]:
    """Play the agents one by one, and joined with equal weights, with weights by site, and with the best of each site alone."""
    titles = {"uniform": "all, with equal weights", "fitted": "all, with weights by site", "switched": "the best of each site"}
    policies = {f"agent {number}": policy for number, policy in enumerate(run.settings.agents, 1)}
    for weights, title in titles.items():
        folder, options = run.folder / weights, {"limit": run.options["fit_limit"]} if run.options["fit_limit"] else {}
        if not folder.is_dir():
            command("agents.ensemble", members=run.settings.agents, out=folder, weights=weights, **options)
        policies[title] = str(folder)
    for title, policy in policies.items():
        file = run.folder / "episodes" / f"{policy.strip('/').replace('/', '_')}.jsonl"
        yield playing.Measured(title, [playing.rewards(playing.play(policy, run.tasks(), file, max_steps=playing.MAX_STEPS))])


def interactions(run: Comparison, _: int) -> Iterator[playing.Measured]:
    """Play with each step limit."""
    (policy,) = run.settings.agents
    for limit in run.options["limits"]:
        played = playing.play(policy, run.tasks(), run.episodes(policy) / f"{limit}.jsonl", max_steps=limit)
        spent = {
            "steps": mean(len(item.steps) for item in played),
            "cut_off": mean(item.ending == "truncated" for item in played),
        }
        yield playing.Measured(f"{limit} interactions", [playing.rewards(played)], spent)


def long_tasks(run: Comparison, seed: int) -> Iterator[playing.Measured]:
    """Clone from whole demonstrations and from pieces of them, and go on by M-GRPO with fixed or growing step limits."""
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
            asked = {each: options[each] for each in ("env_steps", "tasks_per_update", "group_size", "learning_rate")}
            growing = {"step_limits": steps} if len(steps) > 1 else {}
            own = {"model": clone, "out": policy, "per_template": 1, "worlds": options["rl_worlds"]}
            command("agents.train_grpo", **shared, **own, **asked, **growing)
            spent = {each: read_metrics(policy)[-1][each] for each in ("env_steps", "cpu_minutes")}
        played = playing.play(str(policy), run.tasks(), folder / "episodes" / f"{policy.name}.jsonl", max_steps=max(limits))
        yield playing.Measured(title, [playing.rewards(played)], spent)


def recovery(run: Comparison, seed: int) -> Iterator[playing.Measured]:
    """Clone without and with demonstrations of recovery, and play both alone by step limit, and after forced first steps."""
    options, tasks, folder = run.options, run.tasks(), run.folder / f"seed_{seed}"
    worlds, one_world_each = demonstration_worlds(options["demonstrations"], seed), options["demonstrations"] == 1
    shared = {"model": "pointer", "seed": seed, "threads": 1, "templates": options["templates"], "worlds": worlds}
    ways = {"the plain clone": 0.0, "the clone from demonstrations of recovery": options["mistakes"]}
    clones = {title: folder / ("recovering" if mistakes else "plain") for title, mistakes in ways.items()}
    for title, clone in clones.items():
        own = {"out": clone, "mistakes": ways[title], "updates": options["cloning_updates"], "one_world_each": one_world_each}
        command("agents.train_bc", **shared, **own)
    forced = beginnings(tasks, agent_record(clones["the plain clone"]))
    led = {task_id: steps[:-1] for task_id, steps in forced.items()}
    begun_tasks = [task for task in tasks if task.task_id in forced]
    for title, clone in clones.items():
        episodes = folder / f"{clone.name}_episodes"
        for limit in (playing.MAX_STEPS, *options["limits"]):
            played = playing.play(str(clone), tasks, episodes / f"alone_{limit}.jsonl", max_steps=limit)
            part = "rows" if limit == playing.MAX_STEPS else f"within_{limit}"
            yield playing.Measured(title, [playing.rewards(played)], part=part)
        for part, begun in (("led", led), ("forced", forced)):
            leading = partial(LedPolicy, begun=begun)
            played = playing.play(str(clone), begun_tasks, episodes / f"{part}.jsonl", led=leading)
            yield playing.Measured(title, [playing.rewards(played)], part=part, tasks=begun_tasks)


def beginnings(tasks: Sequence[Task], agent: Mapping[str, Any]) -> dict[str, list[Step]]:
    """Return for each task some of the expert's steps and a wrong one, as steps of a pointing network.

    Tasks without a wrong step that can be undone are left out, and those that a pointing network cannot begin so. Equal tasks have equal
    beginnings.
    """
    found, dialect = {}, DIALECTS["webrl"].naming_by("id")
    for env, task in envs_with_tasks(tasks, quiet=True, **{**agent, "max_steps": 2 * playing.MAX_STEPS}):
        forced = force_mistake(env, task, Random(f"forced/{task.task_id}"))
        made = choices(*forced) if forced else None
        if forced and made:
            errors = ["refused" if after.has_error else "" for after in forced[1][1:]] + [""]
            found[task.task_id] = [
                Step(shown.page, dialect.format(shown.action), error, response_ids=ids)
                for shown, error, ids in zip(forced[1], errors, made, strict=True)
            ]
    return found


@dataclass
class LedPolicy:
    """A policy that goes on from given first steps, which are taken in its place."""

    inner: Policy
    begun: Mapping[str, Sequence[Step]]  # by task id
    _ready: list[tuple[int, Reply]] = field(default_factory=list)

    def ask(self, requests: Sequence[Request]) -> None:
        """Reply with a first step, or ask the policy; its first request tells it of the steps before."""
        for request in requests:
            task_id, number = request.env.task.task_id, request.info["step"]
            begun = self.begun[task_id]
            if number >= len(begun):
                self.inner.ask([request._replace(history=begun) if number == len(begun) else request])
                continue
            if request.info["page"] != begun[number].page:
                raise ValueError(f"step {number} of {task_id} is on another page than its beginning")
            self._ready.append((request.slot, Reply(begun[number].reply, response_ids=begun[number].response_ids)))

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        ready, self._ready = self._ready, []
        return ready or self.inner.replies(timeout_s)

    def close(self) -> None:
        self.inner.close()


def searches(run: Comparison, seed: int) -> Iterator[playing.Measured]:
    """Search with each method within the same number of env steps."""
    ways: dict[str, dict[str, Any]] = {
        "one episode, greedy": {"method": "greedy"},
        "best of N, by confidence": {"method": "best_of_n", "value": "confidence"},
        "best of N, by the commonest answer": {"method": "best_of_n", "value": "majority"},
        "tree search, by confidence": {"method": "tree", "value": "confidence"},
        "Monte Carlo tree search, by confidence": {"method": "mcts", "value": "confidence"},
    }
    (policy,) = run.settings.agents
    options = {"policy": policy, "split": run.settings.split, "seed": seed, "threads": 1, "json": True, **run.options}
    options |= {"limit": run.settings.limit} if run.settings.limit else {}
    for title, own in ways.items():
        file = run.episodes(policy) / f"{'_'.join(own.values())}_{seed}.jsonl"
        record = file.with_suffix(".json")
        if not record.exists():
            printed = command("agents.search", **options, **own, save=file)
            record.write_text(printed.splitlines()[-1], encoding="utf-8")
        found = json.loads(record.read_text(encoding="utf-8"))
        spent = {name: found[name] for name in ("episodes", "env_steps", "generated_tokens")}
        spent["any_episode"] = found["oracle_any"]["success"]
        yield playing.Measured(title, [playing.rewards(read_trajectories(file))], spent)


def workflows(run: Comparison, seed: int) -> Iterator[playing.Measured]:
    """Play a stream of tasks with no memory, with workflows of its own successes, and with those of the expert.

    The memory is induced from what was solved, as the env says, and given back from the next part of the stream on.
    """
    titles = {
        "none": "without memory",
        "online": "with workflows of its own successes",
        "offline": "with workflows of the expert",
    }
    (policy,), options, tasks = run.settings.agents, run.options, run.tasks()

    def episodes(player: str, part: Sequence[Task], memory: Path | None, draw: int) -> list[Any]:
        temperature = None if options["temperature"] < 0 else options["temperature"]
        own = {"temperature": temperature, "seed": draw, "memory": memory}
        own |= {"max_steps": playing.MAX_STEPS, "threads": 1, "elements": "id"}
        evaluated = EvaluationSettings(**{**policy_defaults(policy), **own, "policy": player})
        evaluation = evaluate_policy(evaluated, part, quiet=True)
        if evaluation.failed:
            raise RuntimeError(f"{evaluation.failed} episodes of {player} were lost; run the command once more")
        return evaluation.trajectories

    for way in options["ways"]:
        stream, found = Random(seed).sample(tasks, len(tasks)), dict[str, float]()
        memory, file = WorkflowMemory(), run.folder / f"{way}_{seed}.json"
        if way == "offline":
            memory.add(episodes("expert", draw_tasks(options["offline_worlds"], 1), None, seed))
        for start in range(0, len(stream), options["part"]):
            part = stream[start : start + options["part"]]
            memory.save(file)
            played = episodes(policy, part, None if way == "none" else file, seed + start)
            found |= zip([task.task_id for task in part], playing.rewards(played), strict=True)
            if way == "online":
                memory.add(played)
        values = list(found.values())
        parts = {
            f"part_{start // options['part'] + 1}": mean(values[start : start + options["part"]])
            for start in range(0, len(values), options["part"])
        }
        yield playing.Measured(titles[way], [[found[task.task_id] for task in tasks]], parts)


class Recipe(NamedTuple):
    """A function that plays the agents of one seed, its seeds, and how many agents it takes (None: several)."""

    play: Callable[[Comparison, int], Iterator[playing.Measured]]
    seeds: tuple[int, ...]
    agents: int | None
    mean: str = ""  # title of a first row: the mean of the agents one by one


with (Path(__file__).parent / "recipes.toml").open("rb") as _file:
    _NUMBERS = tomllib.load(_file)["compare"]
RECIPES = {
    "adaptation": Recipe(adaptation, (0, 1, 2), 0), "agent_q": Recipe(agent_q, (), None), "carrying": Recipe(carrying, (0,), 1),
    "ensembles": Recipe(ensembles, (0,), None, "one of them, mean"), "interactions": Recipe(interactions, (0,), 1),
    "long_tasks": Recipe(long_tasks, (0, 1, 2), 0), "recovery": Recipe(recovery, (0, 1, 2), 0),
    "searches": Recipe(searches, (0,), 1), "unseen_states": Recipe(unseen_states, (), None), "workflows": Recipe(workflows, (0,), 1),
}  # fmt: skip


def compare(settings: CompareSettings) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any]]:
    """Train and play what is not there yet, and return the rows by part of the result, and what they were measured with.

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
    begun_at = playing.claim(run.folder, agents=settings.agents, tasks=[task.task_id for task in tasks], **run.options)
    found = playing.side_by_side(_play_all, [(run, seed) for seed in seeds], settings.jobs)
    parts: dict[str, list[playing.Measured]] = {}
    for items in zip(*found, strict=True):
        spent = {name: mean(item.spent[name] for item in items) for name in items[0].spent}
        own = items[0]._replace(rewards=[each for item in items for each in item.rewards], spent=spent)
        parts.setdefault(own.part, []).append(own)
    if recipe.mean:
        parts["rows"].insert(0, playing.Measured(recipe.mean, [item.rewards[0] for item in parts["rows"][:count]]))
    chosen = {"agents": settings.agents, "seeds": seeds, "split": settings.split, "test_worlds": run.test_worlds}
    rows = {part: playing.rows(measured, measured[0].tasks or tasks) for part, measured in parts.items()}
    return rows, {"recipe": settings.recipe, "begun_at": [begun_at], **run.options, **chosen}


def _play_all(run: Comparison, seed: int) -> list[playing.Measured]:
    return list(RECIPES[run.settings.recipe].play(run, seed))


def main(arguments: Sequence[str]) -> None:
    """Run a recipe and print what it measured."""
    named = ["--recipe", *arguments] if arguments and not arguments[0].startswith("-") else arguments
    settings = parse_settings(CompareSettings, named, program="benchmarks.compare")
    parts, told = compare(settings)
    for part, rows in parts.items():
        if len(parts) > 1:
            print(f"{part}:")
        playing.print_rows(rows)
    playing.hand_over("compare", parts | told, settings)


if __name__ == "__main__":
    console.run("python -m benchmarks.compare", main)
