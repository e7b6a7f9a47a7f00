"""Players: processes that play episodes in parallel, each with its own envs, policy and a single thread.

For a small model, the overhead of several threads exceeds their gain. Several processes, each with a copy of the model, use all cores.
`Players` has the interface of a `Collector`.
"""

import multiprocessing
import pickle
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from io import BytesIO
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, NamedTuple

import cloudpickle  # type: ignore[import-untyped]
import torch
from torch import nn

from agents.command_lines import collect_rarely
from agents.rollouts.collector import Collector, EpisodeResult, EpisodeSpec, Stage, time_fractions
from agents.rollouts.envs import Envs
from agents.rollouts.policies import Policy
from agents.settings import EnvSettings
from webarena_gym.errors import WorkerError
from webarena_gym.processes import work_for_parent
from webarena_gym.vector.envs import cores
from webarena_gym.vector.pool import CONTEXTS, without_main_module

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

PRELOADED = ["webarena_gym.env", "agents.grpo", "agents.evaluation.evaluate"]
"""Modules that the fork server imports once for all processes, since importing torch takes seconds."""
_SHUTDOWN_S = 5.0  # maximum time for a process to exit before it is killed
_POLL_S = 0.5  # interval between checks of the processes while there is no report
_EPISODES_PER_PROCESS = 16  # minimum, since starting a process takes a second or more


class Player(NamedTuple):
    """The envs and policy of one process.

    `load` takes the policy's new parameters, as a state dict, and their version. `env` are the settings of the envs.
    """

    envs: Envs
    policy: Policy
    load: Callable[[dict[str, torch.Tensor], int], None] | None = None
    env: EnvSettings | None = None


class LostProcessError(WorkerError):
    """A process that plays or trains for this one ended unexpectedly or could not be started."""


class Players:
    """Plays episodes in several processes. All episodes of a group are played in one process.

    An exception in a process is re-raised in the parent process, with its traceback as a note. If a process ends unexpectedly, `play`
    raises LostProcessError.

    Args:
        make_player: Called in each process. It must be picklable by cloudpickle.
        processes: Number of processes, at least 1.
        num_envs: Number of concurrent episodes in all processes together.
        seed: Seed of the run. Equal runs play equal episodes with any number of processes.

    """

    def __init__(self, make_player: Callable[[], Player], processes: int, *, num_envs: int, seed: int = 0) -> None:
        if processes < 1:
            raise ValueError(f"processes is {processes}; expected 1 or more")
        self.reply_count = self.generated_tokens = 0
        self.cpu_s = 0.0
        self._num_envs = num_envs
        self._stop_event = threading.Event()
        self._stage_seconds: dict[Stage, float] = {}
        context: Any = multiprocessing.get_context(CONTEXTS[0])
        if CONTEXTS[0] == "forkserver":
            context.set_forkserver_preload(PRELOADED)
        # Threads write to these queues, so that neither side waits for the other: the parent trains while episodes are played.
        self._reports = context.Queue()
        self._messages = [context.Queue() for _ in range(processes)]
        self._active: list[set[int]] = [set() for _ in range(processes)]  # numbers of active episodes, by process
        self._processes: list[Any] = []
        content = cloudpickle.dumps(make_player)
        for index, messages in enumerate(self._messages):
            arguments = (index, messages, self._reports, content, seed)
            self._processes.append(context.Process(target=_run_player, args=arguments, name="player", daemon=True))
            with without_main_module():
                self._processes[-1].start()

    @property
    def count(self) -> int:
        """Number of processes."""
        return len(self._processes)

    @property
    def has_capacity(self) -> bool:
        """True if there are more envs than active episodes."""
        return sum(map(len, self._active)) < self._num_envs

    def submit(self, episodes: Sequence[EpisodeSpec]) -> None:
        """Queue episodes. Each group is sent to the process with the fewest active episodes."""
        groups: dict[int, list[EpisodeSpec]] = {}
        for episode in episodes:
            groups.setdefault(episode.group, []).append(episode)
        for group in groups.values():
            active, messages = min(zip(self._active, self._messages, strict=True), key=lambda pair: len(pair[0]))
            active.update(episode.number for episode in group)
            messages.put(pickle.dumps(group))

    def play(self) -> Iterator[EpisodeResult]:
        """Yield each queued episode when it is finished; see `Collector.play`. Raises LostProcessError if a process ends."""
        while any(self._active) and not self._stop_event.is_set():
            try:
                report = pickle.loads(self._reports.get(timeout=_POLL_S))  # noqa: S301 - of our own processes
            except queue.Empty:
                for active, process in zip(self._active, self._processes, strict=True):
                    if process.exitcode is not None:
                        raise LostProcessError(
                            f"a process with {len(active)} active episodes ended with exit status {process.exitcode}"
                        ) from None
                continue
            if isinstance(report, Exception):
                raise report
            index, result, spent_s, reply_count, generated_tokens, cpu_s = report
            self._active[index].discard(result[0].number)
            for stage, spent in spent_s.items():
                self._stage_seconds[stage] = self._stage_seconds.get(stage, 0.0) + spent
            self.reply_count += reply_count
            self.generated_tokens += generated_tokens
            self.cpu_s += cpu_s
            yield result

    def load(self, model: nn.Module, version: int) -> None:
        """Send the current parameters of a model and their version to all processes."""
        parameters = BytesIO()
        torch.save(model.state_dict(), parameters)
        content = pickle.dumps((parameters.getvalue(), version))
        for messages in self._messages:
            messages.put(content)

    def take_time_fractions(self) -> dict[Stage, float]:
        """Return the fractions of `Collector.take_time_fractions`, for the episodes that were yielded since the last call."""
        spent_s, self._stage_seconds = self._stage_seconds, {}
        return time_fractions(spent_s)

    def stop(self) -> None:
        """Make `play` return after the next episode. It cannot be resumed."""
        self._stop_event.set()

    def close(self) -> None:
        """End the processes. Those that do not exit within 5 seconds are killed."""
        for messages in self._messages:
            messages.put(None)
        for process in self._processes:
            process.join(_SHUTDOWN_S)
            if process.exitcode is None:
                process.kill()
                process.join()
            process.close()
        for channel in (*self._messages, self._reports):
            channel.cancel_join_thread()
            channel.close()
        self._processes.clear()


def process_count(processes: int, episodes: int) -> int:
    """Return the number of processes for a number of episodes.

    This is `processes`, or if `processes` is 0, one process per core, but at most one for each 16 episodes.
    """
    return processes or max(1, min(cores(), episodes // _EPISODES_PER_PROCESS))


def _run_player(index: int, messages: "Queue[bytes | None]", reports: "Queue[bytes]", make_player: bytes, seed: int) -> None:
    """Play the episodes from the messages until a message is None."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        wait([parent.sentinel])
        messages.put(None)

    threading.Thread(target=end_with_parent, daemon=True).start()
    work_for_parent(_SHUTDOWN_S)  # enough to notice the end of the parent, unless an env hangs
    torch.set_num_threads(1)
    collect_rarely()
    try:
        player: Player = cloudpickle.loads(make_player)()
        with closing(player.envs), closing(player.policy):
            _process_messages(
                index, messages, reports, player, Collector(player.envs, player.policy, seed=seed, env=player.env)
            )
    except Exception as error:  # noqa: BLE001 - every error is reported to the parent process
        error.add_note("In a player process:\n" + "".join(traceback.format_exception(error)).rstrip())
        reports.put(pickle.dumps(error))


def _process_messages(
    index: int, messages: "Queue[bytes | None]", reports: "Queue[bytes]", player: Player, collector: Collector
) -> None:
    reply_count = generated = active = 0
    cpu_s = 0.0
    while True:
        while not active or not messages.empty():
            content = messages.get()
            if content is None:
                reports.cancel_join_thread()  # the parent does not read them any more
                return
            message = pickle.loads(content)  # noqa: S301 - from the parent
            if isinstance(message, list):
                collector.submit(message)
                active += len(message)
            elif player.load:
                player.load(torch.load(BytesIO(message[0]), weights_only=True), message[1])
        for result in collector.play():
            active -= 1
            counts = tuple(getattr(player.policy, name, 0) for name in ("reply_count", "generated_tokens"))
            cpu_now_s = time.process_time()
            report = (
                index,
                result,
                collector.take_stage_seconds(),
                counts[0] - reply_count,
                counts[1] - generated,
                cpu_now_s - cpu_s,
            )
            reports.put(pickle.dumps(report))
            (reply_count, generated), cpu_s = counts, cpu_now_s
            if not messages.empty():
                break  # the next call of `play` resumes the active episodes
