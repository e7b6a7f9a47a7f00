"""A contender of a speed benchmark: a child process that replays recordings."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import resources_of
from benchmarks.peers.lines import StepResult, Watch
from benchmarks.recording import Recording, path_of

ROOT = Path(__file__).parents[2]
PEERS_PYTHON = ROOT / ".venv-peers/bin/python"
"""The Python of the environments that `make peers` builds, since peers pin other versions of packages."""


@dataclass(frozen=True)
class Contender:
    """A contender and the settings of its measurement."""

    name: str
    arguments: tuple[str, ...]  # the adapter's module and its arguments
    python: Path = Path(sys.executable)
    is_served: bool = True  # True if it needs the sites at a port
    warm_up: int = 1  # episodes before the measurement
    further_envs: int = 4  # for the memory of an env


def contenders(chromium: str | None) -> list[Contender]:
    """Return all available contenders: this package, and with the path of a Chromium the others."""
    floor, gym = "benchmarks.peers.floor_adapter", "benchmarks.peers.browsergym_adapter"
    package = "benchmarks.peers.package_adapter"
    package_contenders = [Contender("inprocess", (package, "inprocess"), is_served=False, warm_up=10, further_envs=16)]
    if chromium is None:
        return package_contenders
    others = [Contender("chromium", (package, "chromium"), is_served=False), Contender("floor", (floor, chromium))]
    if PEERS_PYTHON.exists():
        few = {"python": PEERS_PYTHON, "warm_up": 0, "further_envs": 2}
        others += [
            Contender("browsergym", (gym, chromium, "shipped"), **few),
            Contender("browsergym_nowait", (gym, chromium, "nowait"), **few),
        ]
    return package_contenders + others


@dataclass
class RoundTimes:
    """The times of one contender in one round. A failed step is counted as a failure and repeated, and the time of the repetition counts."""

    first_s: float = 0.0  # from the start of its process to its first observation
    reset_ms: list[float] = field(default_factory=list)
    step_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Running:
    """A contender's process. Raises RuntimeError with its last output if it fails."""

    def __init__(self, contender: Contender, base_url: str) -> None:
        self._base_url = base_url.rstrip("/")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - our own adapters
            [contender.python, "-m", *contender.arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT,
        )  # fmt: skip

    def reset(self, recording: Recording, env: int = 0) -> StepResult:
        return self._ask("reset", env, {"task_id": recording.task_id, "url": self._base_url + recording.start})

    def step(self, step: object, env: int = 0) -> StepResult:
        """Take a step in an env; the result has an error if it leads to another page than the recording."""
        result = self._ask("step", env, step._asdict())
        if not result.error and path_of(result.url) != step.path:
            return result._replace(error=f"went to {path_of(result.url)} instead of {step.path}")
        return result

    def megabytes(self) -> float | None:
        """Return the proportional set size of the process and all its children."""
        resources = resources_of(self._process.pid)
        return None if resources is None else resources.mb

    def close(self) -> None:
        """Ask the process to end; after a minute, kill it."""
        assert self._process.stdin is not None
        with self._errors, self._process:  # the latter closes the pipes
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def _ask(self, command: str, env: int, content: dict[str, Any]) -> StepResult:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps({"do": command, "env": env, "what": content}), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._errors.seek(0)
            output = self._errors.read().decode(errors="replace").strip().splitlines()[-5:]
            raise RuntimeError(f"{self._process.args[2:]} ended unexpectedly: " + "\n".join(output))  # type: ignore[index]
        return StepResult(**json.loads(answer))


def play_round(contender: Contender, episodes: Sequence[Recording], others: Sequence[Recording], served: object) -> RoundTimes:
    """Start a contender, warm it up with other episodes, and measure these."""
    times, watch = RoundTimes(), Watch()
    with closing(Running(contender, f"http://shop.localhost:{served.port}")) as running:
        served.renew()
        running.reset(others[0])
        times.first_s = watch.ms() / 1000
        for recording in others[: contender.warm_up]:
            _play(running, recording, RoundTimes(), served)
        for recording in episodes:
            _play(running, recording, times, served)
    return times


def megabytes_per_env(contender: Contender, episodes: Sequence[Recording], served: object) -> float | None:
    """Return the memory that each further env adds, measured on the second page of its episode."""
    with closing(Running(contender, f"http://shop.localhost:{served.port}")) as running:
        served.renew()
        sizes = []
        for env in range(1 + contender.further_envs):
            recording = episodes[env % len(episodes)]
            running.reset(recording, env)
            running.step(recording.steps[0], env)
            sizes.append(running.megabytes())
    return None if None in sizes else (sizes[-1] - sizes[0]) / contender.further_envs


def _play(running: Running, recording: Recording, times: RoundTimes, served: object) -> None:
    served.renew()
    times.reset_ms.append(running.reset(recording).ms)
    for step in recording.steps:
        for _ in range(3):
            result = running.step(step)
            if result.error:
                times.failures.append(f"{recording.task_id}: {step.kind}: {result.error.splitlines()[0][:200]}")
            if not result.error or (
                step.loads and path_of(result.url) == step.path
            ):  # some report a time-out although the step succeeded
                times.step_ms.append(result.ms)
                break
        else:
            return  # the other steps would be on other pages
