"""Players: worker processes that play episodes in parallel, each with its own envs, policy and a single thread.

For a small model several threads cost more than they gain. Several processes, each with a copy of the model, use all cores.
`Players` has the interface of a `Collector`.
"""

import multiprocessing
import pickle
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from io import BytesIO
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import cloudpickle  # type: ignore[import-untyped]
import torch
from torch import nn

from agents.rollouts.collector import Collector, EpisodeSpec, Played, Stage
from agents.rollouts.envs import Envs
from agents.rollouts.policies import CountingPolicy, Policy
from agents.settings import EnvSettings, collect_rarely
from webarena_gym.processes import work_for_parent
from webarena_gym.vector.envs import cores
from webarena_gym.vector.pool import CONTEXTS, without_main_module

_PRELOADED = ["webarena_gym.env", "agents.evaluate"]
_ENDING_S = 5.0  # how long a process may take to end by itself
_WORTH_A_PROCESS = 16  # episodes; starting a process takes a second or more


class Player(NamedTuple):
    """The envs and the policy of one process, and the settings of the envs, which trajectories keep.

    `load` is called with the parameters of the learner's model and their version.
    """

    envs: Envs
    policy: Policy
    load: Callable[[dict[str, torch.Tensor], int], None] | None = None
    env: EnvSettings | None = None


class PlayerError(Exception):
    """A worker process has ended or could not be started."""


class _Begin(NamedTuple):
    episodes: list[EpisodeSpec]


class _Load(NamedTuple):
    parameters: bytes
    version: int


class _Report(NamedTuple):
    """One episode that is over, and what its process has used since its last report."""

    played: Played
    spent_s: dict[Stage, float]
    replied: int
    generated_tokens: int
    cpu_s: float


@dataclass
class _Process:
    process: Any
    connection: Connection
    under_way: set[int] = field(default_factory=set)  # the numbers of its episodes


class Players:
    """Plays episodes in `processes` processes; all episodes of a group are played by one process.

    `make_player` is called in each process and must be picklable by cloudpickle. `num_envs` is the number of episodes that are under
    way in all processes together. `seed` is the run's: equal runs play equal episodes with any number of processes.

    An exception in a process is raised here, with its traceback as a note. Raises PlayerError for a process that is lost.
    """

    def __init__(self, make_player: Callable[[], Player], processes: int, *, num_envs: int, seed: int = 0) -> None:
        if processes < 1:
            raise ValueError(f"processes is {processes}; expected 1 or more")
        self.replied = self.generated_tokens = 0
        self.cpu_s = 0.0
        self._num_envs = num_envs
        self._stopped = threading.Event()
        self._spent_s: dict[Stage, float] = {}
        context: Any = multiprocessing.get_context(CONTEXTS[0])
        if CONTEXTS[0] == "forkserver":
            context.set_forkserver_preload(_PRELOADED)  # importing torch takes seconds, so the fork server does it once
        content = cloudpickle.dumps(make_player)
        self._processes: list[_Process] = []
        for _ in range(processes):
            here, there = context.Pipe()
            process = context.Process(target=_play, args=(there, content, seed), name="player", daemon=True)
            with without_main_module():
                process.start()
            there.close()
            self._processes.append(_Process(process, here))

    @property
    def count(self) -> int:
        """Number of processes."""
        return len(self._processes)

    @property
    def has_room(self) -> bool:
        """True if there are more envs than episodes under way."""
        return sum(len(process.under_way) for process in self._processes) < self._num_envs

    def begin(self, episodes: Sequence[EpisodeSpec]) -> None:
        """Queue these episodes; each group goes to the process with the fewest episodes under way."""
        groups: dict[int, list[EpisodeSpec]] = {}
        for episode in episodes:
            groups.setdefault(episode.group, []).append(episode)
        for members in groups.values():
            chosen = min(self._processes, key=lambda process: len(process.under_way))
            chosen.under_way.update(episode.number for episode in members)
            self._send(chosen, _Begin(members))

    def play(self) -> Iterator[Played]:
        """Yield each episode when it is over, until none is left. More may be queued meanwhile."""
        while not self._stopped.is_set() and (busy := [process for process in self._processes if process.under_way]):
            ready = wait([process.connection for process in busy])
            for process in busy:
                if process.connection in ready:
                    yield self._take(process)

    def load(self, model: nn.Module, version: int) -> None:
        """Send the present parameters of a model, of the given version, to all processes."""
        content = BytesIO()
        torch.save(model.state_dict(), content)
        for process in self._processes:
            self._send(process, _Load(content.getvalue(), version))

    def take_time_fractions(self) -> dict[Stage, float]:
        """Return what `Collector.take_time_fractions` does, for the episodes that ended since the last call."""
        spent_s, self._spent_s = self._spent_s, {}
        total = sum(spent_s.values()) or 1.0
        return {stage: spent / total for stage, spent in spent_s.items()}

    def stop(self) -> None:
        """Make `play` return after the next episode. It cannot be resumed."""
        self._stopped.set()

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.connection.close()
        for process in self._processes:
            process.process.join(_ENDING_S)
            if process.process.exitcode is None:
                process.process.kill()
                process.process.join()
            process.process.close()
        self._processes.clear()

    # Inside.

    def _send(self, process: _Process, message: _Begin | _Load) -> None:
        try:
            process.connection.send(message)
        except OSError as error:
            raise PlayerError(_end_of(process)) from error

    def _receive(self, process: _Process) -> Any:
        try:
            received = process.connection.recv()
        except (EOFError, OSError) as error:
            raise PlayerError(_end_of(process)) from error
        if isinstance(received, Exception):
            raise received
        return received

    def _take(self, process: _Process) -> Played:
        report: _Report = self._receive(process)
        process.under_way.discard(report.played.episode.number)
        for stage, spent in report.spent_s.items():
            self._spent_s[stage] = self._spent_s.get(stage, 0.0) + spent
        self.replied += report.replied
        self.generated_tokens += report.generated_tokens
        self.cpu_s += report.cpu_s
        return report.played


def process_count(processes: int, episodes: int) -> int:
    """Return the number of processes for so many episodes: `processes`, or if that is 0, one per core but none for too few episodes."""
    return processes or max(1, min(cores(), episodes // _WORTH_A_PROCESS))


def _end_of(process: _Process) -> str:
    process.process.join(_ENDING_S)
    return f"a process that played {len(process.under_way)} episodes ended with status {process.process.exitcode}"


def _play(connection: Connection, make_player: bytes, seed: int) -> None:
    """Play the episodes that come over the connection until it is closed."""
    work_for_parent(_ENDING_S)  # more than it takes to notice that the connection has closed, unless an env hangs
    torch.set_num_threads(1)
    collect_rarely()
    messages: queue.SimpleQueue[_Begin | _Load | Exception | None] = queue.SimpleQueue()
    reports: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    # Threads read and write, so that neither side waits for the other: the parent learns while episodes are played here.
    threading.Thread(target=_read, args=(connection, messages), daemon=True).start()
    writer = threading.Thread(target=_write, args=(connection, reports, messages), daemon=True)
    writer.start()
    try:
        with ExitStack() as stack:
            player: Player = cloudpickle.loads(make_player)()
            stack.enter_context(closing(player.envs))
            stack.enter_context(closing(player.policy))
            _play_all(reports, messages, player, Collector(player.envs, player.policy, seed=seed, env=player.env))
    except Exception as error:  # noqa: BLE001 - every error is reported to the parent process
        error.add_note("In a process that played:\n" + "".join(traceback.format_exception(error)).rstrip())
        reports.put(pickle.dumps(error))
    finally:
        reports.put(None)
        writer.join()


def _read(connection: Connection, messages: "queue.SimpleQueue[_Begin | _Load | Exception | None]") -> None:
    while True:
        try:
            messages.put(connection.recv())
        except (EOFError, OSError):
            messages.put(None)
            return
        except Exception as error:  # noqa: BLE001 - it is raised where the messages are read
            messages.put(error)
            return


def _write(
    connection: Connection,
    reports: "queue.SimpleQueue[bytes | None]",
    messages: "queue.SimpleQueue[_Begin | _Load | Exception | None]",
) -> None:
    while (report := reports.get()) is not None:
        try:
            connection.send_bytes(report)
        except OSError:  # the parent has closed the connection
            messages.put(None)
            return


def _play_all(
    reports: "queue.SimpleQueue[bytes | None]",
    messages: "queue.SimpleQueue[_Begin | _Load | Exception | None]",
    player: Player,
    collector: Collector,
) -> None:
    replied = generated = under_way = 0
    cpu_s = 0.0
    while True:
        while not under_way or not messages.empty():
            message = messages.get()
            if message is None:
                return
            if isinstance(message, Exception):
                raise message
            if isinstance(message, _Begin):
                collector.begin(message.episodes)
                under_way += len(message.episodes)
            elif player.load:
                player.load(torch.load(BytesIO(message.parameters), weights_only=True), message.version)
        for played in collector.play():
            under_way -= 1
            policy = player.policy
            now = (policy.replied, policy.generated_tokens) if isinstance(policy, CountingPolicy) else (0, 0)
            cpu_now_s = time.process_time()
            report = _Report(played, collector.take_stage_seconds(), now[0] - replied, now[1] - generated, cpu_now_s - cpu_s)
            reports.put(pickle.dumps(report))
            (replied, generated), cpu_s = now, cpu_now_s
            if not messages.empty():
                break  # the next call of `play` resumes what is under way
