"""Asynchronous rollouts against lock-step ones: `python -m benchmarks.rollouts`.

An untrained small model plays the shop's tasks in envs whose steps wait, like those of a slow site; one step in twenty waits 20 times as
long. Both collectors play the same episodes with the same samples, in alternating rounds. The lock-step one waits for all envs and
then for all replies; the asynchronous one waits for neither. Rates are medians over the rounds, of wall time, as most of it is waiting.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from agents.data.prompts import PromptEncoder
from agents.models.small import create_model, train_tokenizer
from agents.rollouts.collector import Collector, group_episodes
from agents.rollouts.engines.inprocess import InProcessEngine
from agents.rollouts.envs import Envs
from agents.rollouts.policies import LanguageModelPolicy, Policy, Reply, Request
from benchmarks.machine import report
from benchmarks.scaling import HeavyTailedEnv
from webarena_gym import console
from webarena_gym import suite as task_suite
from webarena_gym.vector import Result, WebArenaLiteVector

GROUP_SIZE = 4
STEPS = 5  # maximum of steps of an episode, which an untrained model always takes
WINDOW = 800  # characters of a page, so few that the time of the model does not dominate


class LockStepEnvs:
    """Vector env that waits for its slowest env in each step."""

    def __init__(self, envs: Envs) -> None:
        self.envs, self.num_envs, self.close = envs, envs.num_envs, envs.close
        self._under_way = 0

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        self._under_way += len(env_ids)
        self.envs.async_reset(seed, options, env_ids)

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        self._under_way += len(env_ids)
        self.envs.send(actions, env_ids)

    def poll(self, timeout_s: float | None = None) -> Mapping[int, Result]:  # noqa: ARG002 - waits for all
        results: dict[int, Result] = {}
        while len(results) < self._under_way:
            results |= self.envs.poll()
        self._under_way = 0
        return results


class LockStepPolicy:
    """A policy that returns no reply until all are complete."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.close = policy, policy.close
        self._asked = 0

    def ask(self, requests: Sequence[Request]) -> None:
        self._asked += len(requests)
        self.policy.ask(requests)

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:  # noqa: ARG002 - waits for all
        replies: list[tuple[int, Reply]] = []
        while len(replies) < self._asked:
            replies += self.policy.replies()
        self._asked = 0
        return replies


def measure(num_envs: int, episodes_per_round: int, rounds: int, wait_s: float) -> dict[str, Any]:
    """Return the rates of both collectors in rollouts and steps per second, their ratio, and the fractions of the envs' time by stage."""
    tasks = [task for task in task_suite.load("test") if task.sites == ("shopping",)]
    tokenizer = train_tokenizer([task.intent for task in tasks], 400)
    encoder = PromptEncoder(tokenizer)
    model = create_model(tokenizer, width=64, layers=2, heads=2, seed=0)
    engine = InProcessEngine(model, encoder.stop_ids, max_new_tokens=16)
    policy = LanguageModelPolicy(engine, encoder)
    envs = WebArenaLiteVector(
        num_envs,
        workers=num_envs,  # a waiting step blocks its whole worker
        autoreset_mode="Disabled",
        make_env=HeavyTailedEnv,
        wait_s=wait_s,
        tasks=tasks,
        max_steps=STEPS,
        window=WINDOW,
    )
    collectors = {"lockstep": Collector(LockStepEnvs(envs), LockStepPolicy(policy)), "async": Collector(envs, policy)}
    rates: dict[str, list[float]] = {name: [] for name in collectors}
    steps: dict[str, list[float]] = {name: [] for name in collectors}
    groups = episodes_per_round // GROUP_SIZE
    shares: dict[str, dict[str, float]] = {}
    for number in range(rounds + 1):
        episodes = [
            episode
            for group in range(number * groups, (number + 1) * groups)
            for episode in group_episodes(tasks[group % len(tasks)], group, GROUP_SIZE)
        ]
        for name, collector in collectors.items():
            engine.load(model, number)  # clears the prefix cache
            collector.take_time_fractions()
            started = time.perf_counter()
            played = collector.collect(episodes)
            elapsed_s = time.perf_counter() - started
            if failed := [item.failure for item in played if item.failure]:
                raise RuntimeError(f"an episode failed: {failed[0]}")
            shares[name] = {stage: round(share, 3) for stage, share in collector.take_time_fractions().items()}
            if number:  # the first round loads worlds and starts workers
                rates[name].append(len(episodes) / elapsed_s)
                steps[name].append(sum(len(item.steps) for item in played) / elapsed_s)
    envs.close()
    result: dict[str, Any] = {"rounds": rounds, "episodes_per_round": episodes_per_round, "envs": num_envs, "wait_s": wait_s}
    for name in collectors:
        result |= {
            f"{name}_rollouts_per_s": round(statistics.median(rates[name]), 2),
            f"{name}_steps_per_s": round(statistics.median(steps[name]), 2),
            f"{name}_rollouts_per_s_of_rounds": [round(rate, 2) for rate in rates[name]],
            f"{name}_time": shares[name],
        }
    ratios = [ours / theirs for ours, theirs in zip(rates["async"], rates["lockstep"], strict=True)]
    return result | {"async_over_lockstep": round(statistics.median(ratios), 2)}


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.rollouts", description=__doc__)
    parser.add_argument("--envs", type=console.integer(1), default=16, help="how many envs, each in a process (default: 16)")
    parser.add_argument("--episodes", type=console.integer(1), default=32, help="episodes in a round (default: 32)")
    parser.add_argument("--rounds", type=console.integer(1), default=5, help="rounds (default: 5)")
    parser.add_argument(
        "--wait-ms",
        type=console.decimal(0),
        default=200,
        help="what most steps wait, and one in twenty 20 times (default: 200)",
    )
    parser.add_argument("--quick", action="store_true", help="a round of eight episodes in four envs, to see that it works")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.quick:
        options.envs, options.episodes, options.rounds, options.wait_ms = 4, 8, 1, 10.0
    result = measure(options.envs, options.episodes, options.rounds, options.wait_ms / 1000)
    report("rollouts", result | {"quick": options.quick}, as_json=options.json)


if __name__ == "__main__":
    console.run("python -m benchmarks.rollouts", lambda _: main())
