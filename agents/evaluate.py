"""How often a policy succeeds, by site and by kind of check, with 95 % intervals.

    python -m agents.evaluate --policy expert --split test --limit 20 --json

The last line with --json is one JSON object with at least `success`, `n`, `low` and `high`.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gymnasium
from tqdm import tqdm

from agents.policies import Policy, load_policy
from webarena_gym import tasks as task_suite
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Task

Z_95 = 1.959964  # the normal quantile of a 95 % interval


class EpisodeStep(NamedTuple):
    """What an agent saw and what it replied; `action_error` says what came of the reply if it was a mistake."""

    url: str
    page: str
    reply: str
    action_error: str


@dataclass
class Episode:
    """One evaluated episode, whole."""

    task_id: str
    goal: str
    sites: tuple[str, ...]
    eval_types: tuple[str, ...]
    success: bool = False
    steps: list[EpisodeStep] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)


class Rate(NamedTuple):
    """A success rate of n episodes, with its 95 % Wilson interval."""

    success: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{100 * self.success:5.1f} %  [{100 * self.low:.1f}, {100 * self.high:.1f}]  n={self.n}"


def wilson(successes: int, n: int) -> Rate:
    """Return the success rate with its 95 % score interval (Wilson, 1927).

    >>> print(wilson(8, 10))
     80.0 %  [49.0, 94.3]  n=10
    """
    if n == 0:
        return Rate(0.0, 0.0, 1.0, 0)
    share, square = successes / n, Z_95**2
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = Z_95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return Rate(share, max(0.0, centre - half), min(1.0, centre + half), n)


def rate(episodes: Sequence[Episode]) -> Rate:
    """Return the success rate of episodes."""
    return wilson(sum(episode.success for episode in episodes), len(episodes))


def breakdown(episodes: Sequence[Episode], key: Callable[[Episode], str]) -> dict[str, Rate]:
    """Return the success rate of each part of the episodes, in the order of their names."""
    parts: dict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        parts[key(episode)].append(episode)
    return {name: rate(parts[name]) for name in sorted(parts)}


def by_site(episode: Episode) -> str:
    """The sites of an episode's task."""
    return "+".join(episode.sites)


def by_check(episode: Episode) -> str:
    """The kinds of checks of an episode's task."""
    return "+".join(episode.eval_types)


def run_episodes(
    policy: Policy, tasks: Sequence[Task], *, max_steps: int = 15, width: int = 32, progress: bool = True
) -> list[Episode]:
    """Let a policy try each task once, `width` episodes at a time; return the episodes in the order of the tasks.

    All envs are isolated, so the result does not depend on `width`, but for a sampling policy's own random numbers.
    """
    waiting: Iterator[tuple[int, Task]] = iter(enumerate(tasks))
    episodes: dict[int, Episode] = {}
    running: dict[int, tuple[WebArenaLite, Mapping[str, Any]]] = {}
    free = [_make(policy, max_steps) for _ in range(min(width, len(tasks)))]
    envs = list(free)
    with tqdm(total=len(tasks), desc="episodes", disable=not progress) as bar:
        while True:
            while free and (entry := next(waiting, None)):
                index, task = entry
                env = free.pop()
                episodes[index] = Episode(task.task_id, task.intent, task.sites, task.eval_types)
                running[index] = env, env.reset(options={"task": task})[1]
            if not running:
                break
            indices = list(running)
            replies = policy.replies([running[index][0] for index in indices], [running[index][1] for index in indices])
            for index, reply in zip(indices, replies, strict=True):
                env, before = running[index]
                _, reward, terminated, truncated, info = env.step(reply)
                episodes[index].steps.append(EpisodeStep(before["url"], before["page"], reply, info["action_error"]))
                running[index] = env, info
                if terminated or truncated:
                    episodes[index].success = reward > 0
                    episodes[index].verdicts = info["verdicts"]
                    del running[index]
                    free.append(env)
                    bar.update()
    for env in envs:
        env.close()
    return [episodes[index] for index in range(len(tasks))]


def _make(policy: Policy, max_steps: int) -> WebArenaLite:
    env = gymnasium.make("WebArenaLite-v0", split="test", max_steps=max_steps, **policy.env_options).unwrapped
    assert isinstance(env, WebArenaLite)
    return env


def save_episodes(episodes: Sequence[Episode], path: Path) -> None:
    """Write episodes, one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for episode in episodes:
            record = asdict(episode) | {"steps": [step._asdict() for step in episode.steps]}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def main() -> None:
    """Evaluate a policy from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", required=True, help="expert, random, or the name or folder of a causal language model")
    parser.add_argument("--split", default="test", choices=tuple(task_suite.SPLITS), help="the tasks (default: test)")
    parser.add_argument("--world-seed", type=int, help="draw the split's templates in this world instead")
    parser.add_argument("--limit", type=int, help="try only so many tasks, drawn at random")
    parser.add_argument("--max-steps", type=int, default=15, help="steps allowed (default: 15; the paper evaluates with 30)")
    parser.add_argument("--temperature", type=float, default=0.0, help="of the model's samples (default: 0, greedy)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of tasks and of the samples (default: 0)")
    parser.add_argument("--episodes", type=Path, metavar="FILE", help="write every episode, one JSON object a line")
    parser.add_argument("--json", action="store_true", help="end with one JSON object on the last line")
    options = parser.parse_args()
    tasks = list(task_suite.load(options.split, options.world_seed))
    if options.limit is not None:
        tasks = Random(options.seed).sample(tasks, min(options.limit, len(tasks)))
    policy = load_policy(options.policy, temperature=options.temperature, seed=options.seed)
    episodes = run_episodes(policy, tasks, max_steps=options.max_steps)
    if options.episodes:
        save_episodes(episodes, options.episodes)
    total = rate(episodes)
    sites, checks = breakdown(episodes, by_site), breakdown(episodes, by_check)
    print(f"{policy.name:<28}{total}")
    for name, part in {**sites, **checks}.items():
        print(f"  {name:<26}{part}")
    if options.json:
        steps = sum(len(episode.steps) for episode in episodes) / max(len(episodes), 1)
        parts = {
            kind: {name: part._asdict() for name, part in rates.items()}
            for kind, rates in (("sites", sites), ("checks", checks))
        }
        settings = {"policy": policy.name, "split": options.split, "world_seed": options.world_seed, "seed": options.seed}
        print(json.dumps({**total._asdict(), "mean_steps": round(steps, 2), **settings, **parts}))


if __name__ == "__main__":
    main()
