"""A contender of a speed benchmark: a child process that takes the steps of recordings."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import held_by
from benchmarks.peers.lines import Seen, Watch
from benchmarks.recording import Recording, path_of

ROOT = Path(__file__).parents[2]
PEERS_PYTHON = ROOT / ".venv-peers/bin/python"
"""Environments that `make peers` builds: the peers' packages are pinned to versions that ours are not."""


@dataclass(frozen=True)
class Contender:
    """A contender, and how it is measured."""

    name: str
    arguments: tuple[str, ...]  # the adapter's module, and what it is told
    python: Path = Path(sys.executable)
    is_served: bool = True  # whether it needs the sites on a port
    warm_up: int = 1  # episodes before anything is timed
    further_envs: int = 4  # over which the memory of one is measured


def contenders(chromium: str | None) -> list[Contender]:
    """Return all contenders that can be measured: this package, and with a Chromium at that path the others."""
    floor, gym = "benchmarks.peers.floor_adapter", "benchmarks.peers.browsergym_adapter"
    package = "benchmarks.peers.package_adapter"
    own = [Contender("inprocess", (package, "inprocess"), is_served=False, warm_up=10, further_envs=16)]
    if chromium is None:
        return own
    others = [Contender("chromium", (package, "chromium"), is_served=False), Contender("floor", (floor, chromium))]
    if PEERS_PYTHON.exists():
        few = {"python": PEERS_PYTHON, "warm_up": 0, "further_envs": 2}
        others += [
            Contender("browsergym", (gym, chromium, "shipped"), **few),
            Contender("browsergym_nowait", (gym, chromium, "nowait"), **few),
        ]
    return own + others


@dataclass
class Measured:
    """The times of one contender in one round. A step that failed is counted as a failure and repeated; the time of the repetition counts."""

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

    def reset(self, recording: Recording, env: int = 0) -> Seen:
        return self._ask("reset", env, {"task_id": recording.task_id, "url": self._base_url + recording.start})

    def step(self, step: Any, env: int = 0) -> Seen:
        """Take a step in an env; the result has an error if it leads to another page than the recording."""
        seen = self._ask("step", env, step._asdict())
        if not seen.error and path_of(seen.url) != step.path:
            return seen._replace(error=f"went to {path_of(seen.url)} instead of {step.path}")
        return seen

    def megabytes(self) -> float | None:
        """Return the proportional set size of the process and all its children."""
        held = held_by(self._process.pid)
        return None if held is None else held.mb

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

    def _ask(self, what: str, env: int, about: dict[str, Any]) -> Seen:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps({"do": what, "env": env, "what": about}), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()[-5:]
            raise RuntimeError(f"{self._process.args[2:]} broke down: " + "\n".join(said))  # type: ignore[index]
        return Seen(**json.loads(answer))


def play_round(contender: Contender, episodes: Sequence[Recording], others: Sequence[Recording], served: Any) -> Measured:
    """Start a contender, warm it up with other episodes, and measure these."""
    measured, watch = Measured(), Watch()
    with closing(Running(contender, f"http://shop.localhost:{served.port}")) as running:
        served.renew()
        running.reset(others[0])
        measured.first_s = watch.ms() / 1000
        for recording in others[: contender.warm_up]:
            _play(running, recording, Measured(), served)
        for recording in episodes:
            _play(running, recording, measured, served)
    return measured


def megabytes_per_env(contender: Contender, episodes: Sequence[Recording], served: Any) -> float | None:
    """Return the memory that each further env adds, on the second page of its episode."""
    with closing(Running(contender, f"http://shop.localhost:{served.port}")) as running:
        served.renew()
        sizes = []
        for env in range(1 + contender.further_envs):
            recording = episodes[env % len(episodes)]
            running.reset(recording, env)
            running.step(recording.steps[0], env)
            sizes.append(running.megabytes())
    return None if None in sizes else (sizes[-1] - sizes[0]) / contender.further_envs


def _play(running: Running, recording: Recording, measured: Measured, served: Any) -> None:
    served.renew()
    measured.reset_ms.append(running.reset(recording).ms)
    for step in recording.steps:
        for _ in range(3):
            seen = running.step(step)
            if seen.error:
                measured.failures.append(f"{recording.task_id}: {step.kind}: {seen.error.splitlines()[0][:200]}")
            if not seen.error or (
                step.loads and path_of(seen.url) == step.path
            ):  # some report a time-out, and yet have done it
                measured.step_ms.append(seen.ms)
                break
        else:
            return  # the other steps would be on other pages
