"""The speed of a pointer policy: `python -m benchmarks.pointing --model runs/p --processes 1 4 --json`.

The first part plays groups of sampled episodes in one process. "rollouts_per_cpu_s" includes the envs; "replies_per_cpu_s" counts only the
policy with its features. The second part plays a stream of such groups in several processes, and counts rollouts per second of wall time
after the first quarter, in which worlds are opened: "play_scaling". The third part trains the model by `agents.train_rl` with each number
of processes, and counts rollouts, including features and learning, per CPU second of all processes and per second of wall time. With a
staleness of 1, processes continue to play during updates. The first
update is omitted, because it opens worlds. The last line is one JSON object.
"""

import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch

from agents.command_lines import collect_rarely
from agents.data.demonstrations import draw_tasks
from agents.models.pointer.network import load_pointer
from agents.rollouts.collector import Collector, group_episodes
from agents.rollouts.envs import InProcessEnvs, create_envs
from agents.rollouts.players import Player, Players
from agents.rollouts.pointer import PointerPolicy
from agents.training.metrics import read_metrics
from benchmarks.machine import cores, log_progress, report, rounded_median, use_cores
from webarena_gym import console
from webarena_gym.actions import DIALECTS
from webarena_gym.tasks import Task

GROUPS, GROUP_SIZE, NUM_ENVS, MAX_STEPS = 16, 8, 64, 15


def play(model: str, worlds: list[int], rounds: int) -> dict[str, Any]:
    """Return the speed of the policy in this process: medians of rounds of 16 groups of 8 episodes."""
    tasks = draw_tasks(worlds, 1)
    envs, policy, *_ = _make_player(model, tasks, NUM_ENVS)
    assert isinstance(envs, InProcessEnvs)
    collector, rng = Collector(envs, policy, seed=0), Random(0)
    poll, env_s = envs.poll, 0.0

    def timed_poll(timeout_s: float | None = None) -> Any:
        nonlocal env_s
        start = time.process_time()
        results = poll(timeout_s)
        env_s += time.process_time() - start
        return results

    envs.poll = timed_poll  # type: ignore[method-assign]
    rates: dict[str, list[float]] = {"rollouts_per_cpu_s": [], "replies_per_cpu_s": [], "env_ms_per_step": []}
    with closing(envs):
        for number in range(rounds + 1):
            log_progress(f"round {number} of {rounds}")
            drawn = [(rng.choice(tasks), number * GROUPS + group) for group in range(GROUPS)]
            before_s, start = env_s, time.process_time()
            played = collector.collect(
                [episode for task, group in drawn for episode in group_episodes(task, group, GROUP_SIZE)]
            )
            spent_s, replies = time.process_time() - start, sum(len(item.steps) for item in played)
            if number:  # the first round opens the worlds
                rates["rollouts_per_cpu_s"].append(len(played) / spent_s)
                rates["replies_per_cpu_s"].append(replies / (spent_s - (env_s - before_s)))
                rates["env_ms_per_step"].append(1_000 * (env_s - before_s) / replies)
    return {f"play_{name}": rounded_median(values) for name, values in rates.items()}


def collect(model: str, worlds: list[int], processes: int, rounds: int) -> float:
    """Return the rollouts per second of wall time with a number of processes, without a pause between rounds of 16 groups."""
    log_progress(f"collecting with {processes} processes")
    tasks, rng = draw_tasks(worlds, 1), Random(0)
    drawn = [rng.choice(tasks) for _ in range(GROUPS * (rounds + 1))]
    waiting, ends = list(enumerate(drawn)), list[float]()
    with closing(
        Players(partial(_make_player, model, tasks, -(-NUM_ENVS // processes)), processes, num_envs=NUM_ENVS)
    ) as players:

        def start_groups() -> None:
            while waiting and players.has_capacity:
                number, task = waiting.pop(0)
                players.submit(group_episodes(task, number, GROUP_SIZE))

        start_groups()
        for _ in players.play():
            ends.append(time.perf_counter())
            start_groups()
    first, last = len(ends) // 4, len(ends) - NUM_ENVS  # at the end some processes are idle
    return round((last - first) / (ends[last] - ends[first]), 1)


def _make_player(model: str, tasks: list[Task], num_envs: int) -> Player:
    network, vocabulary = load_pointer(model)
    policy = PointerPolicy(network, vocabulary, DIALECTS["webrl"].naming_by("id"), temperature=1.0)
    return Player(create_envs(tasks, num_envs, elements="id", window=20_000, max_steps=MAX_STEPS), policy)


def train(model: str, worlds: list[int], processes: int, updates: int, staleness: int) -> dict[str, Any]:
    """Return the rollouts per second of a training with a number of processes. With staleness they also play during updates."""
    log_progress(f"training with {processes} processes, staleness {staleness}")
    with tempfile.TemporaryDirectory() as out:
        options = {"model": model, "out": out, "processes": processes, "updates": updates + 1, "max-steps": MAX_STEPS}
        options |= {"tasks-per-update": GROUPS, "group-size": GROUP_SIZE, "threads": 1 if processes == 1 else 0}
        options |= {"staleness": staleness}
        command = [sys.executable, "-m", "agents.train_rl", *(f"--{name}={value}" for name, value in options.items())]
        command += ["--worlds", *map(str, worlds)]
        subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[1])  # noqa: S603 - our own trainer
        first, *rows = read_metrics(Path(out))
    rollouts = sum(row["rollouts"] for row in rows)
    cpu_s, clock_s = 60 * (rows[-1]["cpu_minutes"] - first["cpu_minutes"]), rows[-1]["elapsed_s"] - first["elapsed_s"]
    return {"rollouts_per_cpu_s": round(rollouts / cpu_s, 1), "rollouts_per_s": round(rollouts / clock_s, 1)}


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = console.Parser(prog="python -m benchmarks.pointing", description=__doc__)
    add = parser.add_argument
    add("--model", required=True, help="a run of agents.train_bc --model pointer")
    add("--worlds", type=console.integer(), nargs="+", default=[41, 42, 43, 44], help="of the tasks (default: 41 to 44)")
    add("--rounds", type=console.integer(1), default=8, help="of playing (default: 8)")
    add("--updates", type=console.integer(1), default=10, help="of each training (default: 10)")
    add("--processes", type=console.integer(1), nargs="*", default=[1, 4], help="that train, in turn (default: 1 4)")
    add(
        "--staleness", type=console.integer(), nargs="+", default=[0, 1],
        help="of rollouts, in updates, with several processes (default: 0 1)",
    )  # fmt: skip
    add("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    collect_rarely()
    torch.set_num_threads(1)
    every_core = cores()
    result = play(options.model, options.worlds, options.rounds)
    for processes in options.processes:
        use_cores(every_core[:processes])
        result[f"play_rollouts_per_s_with_{processes}"] = played = collect(
            options.model, options.worlds, processes, options.rounds
        )
        if played_alone := processes > 1 and result.get("play_rollouts_per_s_with_1"):
            result[f"play_scaling_{processes}"] = round(played / played_alone, 2)
        for staleness in options.staleness if processes > 1 else [0]:
            rates = train(options.model, options.worlds, processes, options.updates, staleness)
            kind = f"{processes}_stale_{staleness}" if staleness else f"{processes}"
            result |= {f"train_{name}_with_{kind}": value for name, value in rates.items()}
            alone = result.get("train_rollouts_per_s_with_1")
            if alone and processes > 1:
                result[f"scaling_{kind}"] = round(rates["rollouts_per_s"] / alone, 2)
    report("pointing", result, as_json=options.json)


if __name__ == "__main__":
    console.run("python -m benchmarks.pointing", lambda _: main())
