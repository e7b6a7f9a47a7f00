"""The speed of many envs in the vector env: `python -m benchmarks.scaling --envs 64 --workers 2 --batch 16`.

The envs replay reference solutions of the test split, every third task of it, for some seconds. `rate` does this in a separate process
on given cores. The last line is one JSON object.
"""

import json
import os
import subprocess
import sys
import time
from binascii import crc32
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium

from benchmarks.machine import cores, resources_of, use_cores
from benchmarks.recording import Recording, record
from webarena_gym import console
from webarena_gym.env import WebArenaLite
from webarena_gym.vector import WebArenaLiteVector

SLOW_ONE_IN = 20  # steps
TIMES_AS_LONG = 20
WARM_UP = 150  # steps for each worker, in which it imports the sites, compiles their pages, and envs open their worlds


class HeavyTailedEnv(gymnasium.Wrapper[str, str, str, str]):
    """An env whose steps wait as for a slow site: most of them for `wait_s`, one in twenty 20 times as long."""

    def __init__(self, wait_s: float, **settings: object) -> None:
        super().__init__(WebArenaLite(**settings))
        self._wait_s = wait_s
        self._begun = 0

    def reset(self, **options: object) -> tuple[str, dict[str, Any]]:
        self._begun += 1
        return super().reset(**options)

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """Apply the action and wait. The slow steps depend only on the task and the step, not on the time."""
        result = super().step(action)
        drawn = crc32(f"{result[4]['task_id']} {result[4]['step']} {self._begun}".encode())
        time.sleep(self._wait_s * (TIMES_AS_LONG if drawn % SLOW_ONE_IN == 0 else 1))
        return result


class Rate(NamedTuple):
    """Speed of some envs together, and their final memory with that of the process that steps them."""

    steps_per_s: float
    steps: int
    mb: float | None


def rate(use: Sequence[int], **options: object) -> Rate:
    """Return the speed of envs in a new process on these cores, with the command's options.

    Raises CalledProcessError when it fails.
    """
    command = [sys.executable, "-m", "benchmarks.scaling", "--cores", *map(str, use)]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    done = subprocess.run(  # noqa: S603 - this very script
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    return Rate(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Replay solutions in the envs and print their speed."""
    parser = console.Parser(prog="python -m benchmarks.scaling", description=__doc__)
    add = parser.add_argument
    add("--envs", type=console.integer(1), default=64, help="how many envs (default: 64)")
    add("--workers", type=console.integer(1), help="processes (default: one for each core)")
    add("--batch", type=console.integer(1), help="how many envs are waited for; all of them is lock-step (default: a quarter)")
    add("--seconds", type=console.decimal(0), default=5.0, help="how long (default: 5)")
    add("--cores", type=console.integer(0), nargs="+", default=cores(), help="on which cores (default: all)")
    add("--wait-ms", type=console.decimal(0), default=0, help="what most steps wait, and one in twenty 20 times (default: 0)")
    add("--site", help="only tasks on this site (default: all tasks)")
    add("--warm-up", type=console.integer(0), default=WARM_UP, help=f"steps for each worker before (default: {WARM_UP})")
    options = parser.parse_args()
    use_cores(options.cores)
    settings: dict[str, Any] = {"split": "test", "max_steps": 60}
    model = WebArenaLite(**settings)
    tasks = [task for task in model.tasks if options.site in (None, *task.sites)]
    recordings = record(model, tasks[::3])
    model.close()
    if options.wait_ms:
        settings |= {"make_env": HeavyTailedEnv, "wait_s": options.wait_ms / 1000}
    envs = WebArenaLiteVector(
        options.envs, batch_size=options.batch or max(1, options.envs // 4),
        workers=min(options.workers or len(options.cores), options.envs), autoreset_mode="Disabled", **settings,
    )  # fmt: skip
    player, warm = Player(envs, recordings), max(options.envs, options.warm_up * len(envs.worker_pids))
    player.play(until=lambda: player.steps >= warm)
    player.steps, start = 0, time.perf_counter()
    player.play(until=lambda: time.perf_counter() - start >= options.seconds)
    elapsed = time.perf_counter() - start
    held = resources_of(os.getpid())
    envs.close()
    print(json.dumps(Rate(round(player.steps / elapsed, 1), player.steps, held and round(held.mb, 1))._asdict()))


class Player:
    """Replays recordings in envs, one after the other, as they become ready."""

    def __init__(self, envs: WebArenaLiteVector, recordings: Sequence[Recording]) -> None:
        self._envs = envs
        self._recordings = recordings
        self._next = 0
        self._left: dict[int, list[str]] = {}  # by env, the remaining replies in reverse order
        self.steps = 0
        self._ready = list(range(envs.num_envs))

    def play(self, until: Callable[[], bool]) -> None:
        """Replay until the condition holds, which is checked after each batch. Raises RuntimeError for a lost episode."""
        while not until():
            over = [env for env in self._ready if not self._left.get(env)]
            if over:
                chosen = [self._recordings[(self._next + index) % len(self._recordings)] for index in range(len(over))]
                self._next += len(over)
                self._left |= {
                    env: [step.reply for step in reversed(recording.steps)] for env, recording in zip(over, chosen, strict=True)
                }
                self._envs.async_reset(options=[{"task": recording.task_id} for recording in chosen], env_ids=over)
            on = [env for env in self._ready if env not in over]
            if on:
                self._envs.send([self._left[env].pop() for env in on], on)
            infos = self._envs.recv()[-1]
            if "failure" in infos:
                raise RuntimeError(f"an episode was lost: {next(filter(None, infos['failure']))}")
            self._ready = infos["env_id"].tolist()
            self.steps += int((infos["step"] > 0).sum())  # the others are resets


if __name__ == "__main__":
    console.run("python -m benchmarks.scaling", lambda _: main())
