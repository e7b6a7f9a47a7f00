"""A pointer network with the tool `lookup` against browsing alone: `python -m benchmarks.tool_use --model agents/checkpoints/starter --json`.

A pointer network selects among the controls of a page, so it cannot write the call of a tool. Here it sees the tool as one more search field
below the page, `LookupField`: searching in it calls `lookup`, whose passages appear above the page. Both agents start from the same model. They
are trained by behaviour cloning on demonstrations of the same questions of three hops, with the same number of updates, and then by M-GRPO for the
same env steps. The demonstrations with the tool look up the titles of the articles that the reference solution opens. Both agents are evaluated
greedily in worlds that no training has seen, with the same step limit. The last line is one JSON object.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

import gymnasium
import torch

from agents import grpo
from agents.command_lines import collect_rarely
from agents.data.demonstrations import draw_tasks
from agents.data.expert import ExpertStep, title_of
from agents.data.trajectories import Trajectory
from agents.models.pointer.network import load_pointer
from agents.rollouts.collector import Collector, EpisodeSpec
from agents.rollouts.envs import create_envs
from agents.rollouts.pointer import PointerPolicy
from agents.train_rl import make_settings
from agents.training import pointer_cloning
from agents.training.metrics import read_metrics
from agents.training.pointer_cloning import train_pointer
from agents.training.settings import PointerBCSettings
from benchmarks.machine import log_progress, report
from webarena_gym import console
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.evaluation.statistics import paired_difference, pooled_score
from webarena_gym.tasks import Task

TEMPLATES = tuple(
    f"tools.{name}"
    for name in (
        "mayor_of_birthplace", "students_of_alma_mater", "population_of_birthplace", "mayor_where_filmed", "birthplace_of_filmed_author",
        "people_at_birthplace_of_winner",
    )
)  # fmt: skip
ENV_ID = "LookupField-v0"
ELEMENT, LABEL = "9001", "Search Lexandria"  # the label of the encyclopedia's own field, which the model knows
BUDGET, PASSAGES = 4, 3
ARMS: dict[str, dict[str, Any]] = {"browsing": {}, "lookup": {"tools": ["lookup"], "tool_budget": BUDGET}}
NUM_ENVS, WINDOW = 32, 20_000


class LookupField(gymnasium.Wrapper[Any, str, Any, str]):
    """An env in which searching in a field below the page calls the tool `lookup`. Without tools the env is unchanged."""

    def reset(self, **keywords: object) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**keywords)
        return observation, self._with_field(info)

    def step(self, action: str) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(self._as_call(action))
        return observation, reward, terminated, truncated, self._with_field(info)

    def _with_field(self, info: dict[str, Any]) -> dict[str, Any]:
        field = f'\n<input id="{ELEMENT}" label="{LABEL}">' if info.get("tools", {}).get("left") else ""
        return info | {"page": f"{info['page']}{field}"} if "page" in info else info

    def _as_call(self, reply: str) -> str:
        try:
            action = DIALECTS["webrl"].parse(reply)
        except ActionError:
            return reply
        if action.element != ELEMENT or action.kind not in (Kind.SEARCH, Kind.TYPE):
            return reply
        query = (action.argument or "").replace("\\", " ").replace('"', " ")
        return f'lookup(query="{query}", k={PASSAGES})'


def lookup_episodes(tasks: Sequence[Task], *, max_steps: int = 8, **_: object) -> Iterator[tuple[Task, str, list[ExpertStep]]]:
    """Yield the task, the goal and the steps of demonstrations with the tool; no steps if a result lacks a title or the answer."""
    options = {"elements": "id", "window": WINDOW, "max_steps": max_steps}
    with closing(LookupField(WebArenaLite(tasks=tasks, **options, **ARMS["lookup"]))) as env:
        for task in tasks:
            _, info = env.reset(seed=0, options={"task": task})
            steps = []
            for opened in task.solution[:-1]:
                action = Action(Kind.SEARCH, ELEMENT, title_of(opened.action))
                steps.append(ExpertStep(info["page"], action, bool(info["action_error"])))
                info = env.step(DIALECTS["webrl"].format(action))[-1]
            answer = task.solution[-1].action
            steps.append(ExpertStep(info["page"], answer, is_example=True, has_error=False))
            is_shown = all(str(step.action.argument) in f"{info['goal']}\n{step.page}" for step in steps)
            yield task, info["goal"], steps if is_shown else []


def clone(arm: str, tasks: Sequence[Task], options: object, seed: int) -> Path:
    """Return a run of behaviour cloning that starts from the model."""
    args = PointerBCSettings(
        begin_with=Path(options.model), out=options.out / f"cloned_{arm}_{seed}", seed=seed, updates=options.updates,
        learning_rate=options.cloning_rate, max_steps=options.max_steps, window=WINDOW, threads=1, save_every=10_000,
    )  # fmt: skip
    if arm == "browsing":
        return train_pointer(args, tasks)
    with patch.object(pointer_cloning, "episodes", lookup_episodes):
        return train_pointer(args, tasks)


def play(model: Path, tasks: list[Task], max_steps: int, arm: dict[str, Any]) -> list[Trajectory]:
    """Return one greedy episode of each task."""
    network, vocabulary = load_pointer(model)
    policy = PointerPolicy(network, vocabulary, DIALECTS["webrl"].naming_by("id"))
    options = {"elements": "id", "window": WINDOW, "max_steps": max_steps}
    with closing(create_envs(tasks, NUM_ENVS, env_id=ENV_ID, **options, **arm)) as envs:
        return Collector(envs, policy).collect([EpisodeSpec(task, 0, number) for number, task in enumerate(tasks)])


def run(options: object) -> dict[str, Any]:
    """Train and evaluate both agents with each seed, and return their scores."""
    tasks = draw_tasks(options.worlds, options.per_template, templates=TEMPLATES)
    tests = draw_tasks(options.test_worlds, options.per_test_template, templates=TEMPLATES)
    rewards: dict[str, list[list[float]]] = {}
    calls: dict[str, list[float]] = {}
    spent: dict[str, list[dict[str, float]]] = {}
    for arm, keywords in ARMS.items():
        pairs = [(f"{arm}: the model", Path(options.model))]
        for seed in options.seeds:
            log_progress(f"{arm}, seed {seed}")
            cloned = clone(arm, tasks, options, seed)
            args = make_settings(
                "grpo", model=str(cloned), out=options.out / f"{arm}_{seed}", seed=seed, env_steps=options.env_steps,
                tasks_per_update=8, group_size=8, max_steps=options.max_steps, processes=1, threads=1, save_every=1_000,
                keywords=tuple(f"{name}={value}".replace("'", '"') for name, value in keywords.items()),
            )  # fmt: skip
            with patch.object(grpo, "create_envs", partial(create_envs, env_id=ENV_ID)):
                grpo.train(args, tasks)
            metrics, cloning = read_metrics(args.out)[-1], read_metrics(options.out / f"cloned_{arm}_{seed}")[-1]
            names = ("update", "env_steps", "cpu_minutes")
            spent.setdefault(arm, []).append(
                {name: round(metrics[name], 2) for name in names} | {"demonstrated": cloning["coverage"]}
            )
            pairs += [(f"{arm}: BC", cloned), (f"{arm}: M-GRPO", args.out)]
        for name, model in pairs:
            episodes = play(model, tests, options.max_steps, keywords)
            rewards.setdefault(name, []).append([item.reward for item in episodes])
            calls.setdefault(name, []).extend(sum(bool(step.tool) for step in item.steps) for item in episodes)
    kinds = [task.template for task in tests]
    return {
        "n": len(tests),
        **{name: pooled_score(values)._asdict() for name, values in rewards.items()},
        "lookup_above_browsing": paired_difference(
            rewards["browsing: M-GRPO"], rewards["lookup: M-GRPO"], templates=kinds
        )._asdict(),
        "calls_per_episode": {name: round(fmean(values), 2) for name, values in calls.items()},
        "spent": spent,
        "by_template": {name: _by_template(values, kinds) for name, values in rewards.items()},
    }


def _by_template(runs: list[list[float]], kinds: list[str]) -> dict[str, float]:
    """Return the mean reward on each template that the worlds have."""
    values: dict[str, list[float]] = {kind: [] for kind in kinds}
    for run_rewards in runs:
        for reward, kind in zip(run_rewards, kinds, strict=True):
            values[kind].append(reward)
    return {kind: round(fmean(part), 3) for kind, part in values.items()}


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = console.Parser(prog="python -m benchmarks.tool_use", description=__doc__)
    add, integer = parser.add_argument, console.integer
    add("--model", required=True, help="a run or folder of a pointer network")
    add("--out", type=Path, default=Path("runs/tool_use"), help="folder of the runs (default: runs/tool_use)")
    add("--seeds", type=integer(), nargs="+", default=[0], help="of the training (default: 0)")
    add("--updates", type=integer(), default=300, help="of behaviour cloning (default: 300)")
    add("--cloning-rate", type=console.decimal(), default=1e-3, help="learning rate of behaviour cloning (default: 0.001)")
    add("--env-steps", type=integer(1), default=10_000, help="of each training (default: 10000)")
    add("--max-steps", type=integer(1), default=8, help="of an episode (default: 8)")
    add("--worlds", type=integer(), nargs="+", default=list(range(61, 67)), help="of the training (default: 61 to 66)")
    add("--per-template", type=integer(1), default=3, help="training tasks of each template in each world (default: 3)")
    add(
        "--test-worlds",
        type=integer(),
        nargs="+",
        default=list(range(2801, 2812)),
        help="of the evaluation (default: 2801 to 2811)",
    )
    add("--per-test-template", type=integer(1), default=5, help="test tasks of each template in each world (default: 5)")
    add("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    collect_rarely()
    torch.set_num_threads(1)
    report("tool_use", run(options), as_json=options.json)


gymnasium.register(ENV_ID, lambda **keywords: LookupField(WebArenaLite(**keywords)))

if __name__ == "__main__":
    console.run("python -m benchmarks.tool_use", lambda _: main())
