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
from contextlib import closing
from io import BytesIO
from multiprocessing.connection import wait
from typing import Any, NamedTuple

import cloudpickle  # type: ignore[import-untyped]
import torch
from torch import nn

from agents.rollouts.collector import Collector, EpisodeSpec, Played, Stage, fractions
from agents.rollouts.envs import Envs
from agents.rollouts.policies import Policy
from agents.settings import EnvSettings, collect_rarely
from webarena_gym.errors import WorkerError
from webarena_gym.processes import work_for_parent
from webarena_gym.vector.envs import cores
from webarena_gym.vector.pool import CONTEXTS, without_main_module

PRELOADED = ["webarena_gym.env", "agents.grpo", "agents.evaluation.evaluate"]
"""Modules that the fork server imports once for all processes, as torch takes seconds."""
_ENDING_S = 5.0  # how long a process may take to end by itself
_LOOK_S = 0.5  # how often processes are looked at, while there is no report
_WORTH_A_PROCESS = 16  # episodes; starting a process takes a second or more


class Player(NamedTuple):
    """The envs and the policy of one process, the settings of the envs, and `load`, which takes parameters and their version."""

    envs: Envs
    policy: Policy
    load: Callable[[dict[str, torch.Tensor], int], None] | None = None
    env: EnvSettings | None = None


class LostProcessError(WorkerError):
    """A process that plays or trains for this one has ended, or could not be started."""


class Players:
    """Plays episodes in `processes` processes; all episodes of a group are played by one process.

    `make_player` is called in each process and must be picklable by cloudpickle. `num_envs` is the number of episodes that are under
    way in all processes together. `seed` is the run's: equal runs play equal episodes with any number of processes.

    An exception in a process is raised here, with its traceback as a note. Raises LostProcessError for a process that is lost.
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
            context.set_forkserver_preload(PRELOADED)
        # Queues are written by threads, so that neither side waits for the other: the parent learns while episodes are played.
        self._reports = context.Queue()
        self._messages = [context.Queue() for _ in range(processes)]
        self._under_way: list[set[int]] = [set() for _ in range(processes)]  # numbers of episodes
        self._processes: list[Any] = []
        content = cloudpickle.dumps(make_player)
        for index, messages in enumerate(self._messages):
            arguments = (index, messages, self._reports, content, seed)
            self._processes.append(context.Process(target=_play, args=arguments, name="player", daemon=True))
            with without_main_module():
                self._processes[-1].start()

    @property
    def count(self) -> int:
        """Number of processes."""
        return len(self._processes)

    @property
    def has_room(self) -> bool:
        """True if there are more envs than episodes under way."""
        return sum(map(len, self._under_way)) < self._num_envs

    def begin(self, episodes: Sequence[EpisodeSpec]) -> None:
        """Queue these episodes; each group goes to the process with the fewest episodes under way."""
        groups: dict[int, list[EpisodeSpec]] = {}
        for episode in episodes:
            groups.setdefault(episode.group, []).append(episode)
        for group in groups.values():
            own, messages = min(zip(self._under_way, self._messages, strict=True), key=lambda pair: len(pair[0]))
            own.update(episode.number for episode in group)
            messages.put(pickle.dumps(group))

    def play(self) -> Iterator[Played]:
        """Yield each queued episode when it is over, as `Collector.play` does."""
        while any(self._under_way) and not self._stopped.is_set():
            try:
                report = pickle.loads(self._reports.get(timeout=_LOOK_S))  # noqa: S301 - of our own processes
            except queue.Empty:
                for own, process in zip(self._under_way, self._processes, strict=True):
                    if process.exitcode is not None:
                        raise LostProcessError(
                            f"a process with {len(own)} episodes ended with status {process.exitcode}"
                        ) from None
                continue
            if isinstance(report, Exception):
                raise report
            index, played, spent_s, replied, generated_tokens, cpu_s = report
            self._under_way[index].discard(played[0].number)
            for stage, spent in spent_s.items():
                self._spent_s[stage] = self._spent_s.get(stage, 0.0) + spent
            self.replied += replied
            self.generated_tokens += generated_tokens
            self.cpu_s += cpu_s
            yield played

    def load(self, model: nn.Module, version: int) -> None:
        """Send the present parameters of a model, of the given version, to all processes."""
        parameters = BytesIO()
        torch.save(model.state_dict(), parameters)
        content = pickle.dumps((parameters.getvalue(), version))
        for messages in self._messages:
            messages.put(content)

    def take_time_fractions(self) -> dict[Stage, float]:
        """Return what `Collector.take_time_fractions` does, for the episodes that ended since the last call."""
        spent_s, self._spent_s = self._spent_s, {}
        return fractions(spent_s)

    def stop(self) -> None:
        """Make `play` return after the next episode. It cannot be resumed."""
        self._stopped.set()

    def close(self) -> None:
        """End the processes."""
        for messages in self._messages:
            messages.put(None)
        for process in self._processes:
            process.join(_ENDING_S)
            if process.exitcode is None:
                process.kill()
                process.join()
            process.close()
        for each in (*self._messages, self._reports):
            each.cancel_join_thread()
            each.close()
        self._processes.clear()


def process_count(processes: int, episodes: int) -> int:
    """Return the number of processes for so many episodes: `processes`, or if that is 0, one per core but none for too few episodes."""
    return processes or max(1, min(cores(), episodes // _WORTH_A_PROCESS))


def _play(index: int, messages: Any, reports: Any, make_player: bytes, seed: int) -> None:
    """Play the episodes of the messages until one is None."""
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=lambda: wait([parent.sentinel]) and messages.put(None), daemon=True).start()
    work_for_parent(_ENDING_S)  # more than it takes to notice that the parent has ended, unless an env hangs
    torch.set_num_threads(1)
    collect_rarely()
    try:
        player: Player = cloudpickle.loads(make_player)()
        with closing(player.envs), closing(player.policy):
            _play_all(index, messages, reports, player, Collector(player.envs, player.policy, seed=seed, env=player.env))
    except Exception as error:  # noqa: BLE001 - every error is reported to the parent process
        error.add_note("In a process that played:\n" + "".join(traceback.format_exception(error)).rstrip())
        reports.put(pickle.dumps(error))


def _play_all(index: int, messages: Any, reports: Any, player: Player, collector: Collector) -> None:
    replied = generated = under_way = 0
    cpu_s = 0.0
    while True:
        while not under_way or not messages.empty():
            content = messages.get()
            if content is None:
                reports.cancel_join_thread()  # nobody reads them
                return
            message = pickle.loads(content)  # noqa: S301 - of the parent
            if isinstance(message, list):
                collector.begin(message)
                under_way += len(message)
            elif player.load:
                player.load(torch.load(BytesIO(message[0]), weights_only=True), message[1])
        for played in collector.play():
            under_way -= 1
            now = tuple(getattr(player.policy, name, 0) for name in ("replied", "generated_tokens"))
            cpu_now_s = time.process_time()
            report = index, played, collector.take_stage_seconds(), now[0] - replied, now[1] - generated, cpu_now_s - cpu_s
            reports.put(pickle.dumps(report))
            (replied, generated), cpu_s = now, cpu_now_s
            if not messages.empty():
                break  # the next call of `play` resumes what is under way
