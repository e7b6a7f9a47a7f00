"""How fast the environment is: `python -m benchmarks.env_speed --json`.

Replays the reference solutions of the test split on one core, observation included, and times every reset and step. The last
line is one JSON object.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from statistics import median, quantiles

import gymnasium

import webarena_gym
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Expert, Task


def main() -> None:
    """Run the benchmark and print what it measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="times that the whole split is replayed (default: 3)")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--elements", choices=("id", "label"), default="id", help="how elements are addressed (default: id)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    env = gymnasium.make("WebArenaLite-v0", split="test", elements=options.elements, max_steps=60).unwrapped
    assert isinstance(env, WebArenaLite)
    first_ms = _timed(env.reset)
    resets, steps, sizes = [], [], []
    for _ in range(1 if options.quick else options.rounds):
        for task in env.tasks:
            replayed = _replay(env, task)
            resets.append(replayed[0])
            steps += replayed[1]
            sizes += replayed[2]
    result = {
        "steps_per_s": round(1000 / (sum(steps) / len(steps)), 1),
        "step_ms_median": round(median(steps), 3),
        "step_ms_p95": round(quantiles(steps, n=20)[-1], 3),
        "reset_ms_median": round(median(resets), 3),
        "first_reset_ms": round(first_ms, 1),
        "observation_chars_median": median(sizes),
        "steps": len(steps),
        "resets": len(resets),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "elements": options.elements,
        "version": webarena_gym.__version__,
        "commit": commit(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one used",
        "command": " ".join(["python -m benchmarks.env_speed", *sys.argv[1:]]),
    }
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:<26}{value}")


def _replay(env: WebArenaLite, task: Task) -> tuple[float, list[float], list[int]]:
    """Return the milliseconds of the reset and of each step, and the characters of each page."""
    start = time.perf_counter()
    _, info = env.reset(options={"task": task})
    reset_ms = 1000 * (time.perf_counter() - start)
    expert, step_ms, sizes, done = Expert(task, env.dialect), [], [len(info["page"])], False
    while not done:
        reply = expert.reply(env.page, env.observation)
        start = time.perf_counter()
        _, _, terminated, truncated, info = env.step(reply)
        step_ms.append(1000 * (time.perf_counter() - start))
        sizes.append(len(info["page"]))
        done = terminated or truncated
    return reset_ms, step_ms, sizes


def _timed(call) -> float:  # noqa: ANN001 - any callable without arguments
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def commit() -> str:
    """Return the commit that is measured."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)  # noqa: S607
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
