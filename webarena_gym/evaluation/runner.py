"""Plays the trials of a plan in threads, and hands out a record of each as it ends."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from queue import SimpleQueue
from typing import Any, Protocol

import gymnasium

from webarena_gym.env import WebArenaLite
from webarena_gym.errors import WebArenaGymError
from webarena_gym.evaluation.agents import Player
from webarena_gym.evaluation.plan import Trial
from webarena_gym.evaluation.results import Ending, Record
from webarena_gym.vector import INFRASTRUCTURE_ERRORS

_WORST = 5  # failures in a row at which a run is given up in which nothing was judged yet; in another twice as many
_ENDING_S = 5.0


class Seat(Protocol):
    """Where one job plays one trial after the other."""

    def play(self, trial: Trial) -> Record:
        """Play a trial. What breaks through no fault of the agent's choices is a record that failed."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


class EnvSeat:
    """Plays in an env of its own, in this process.

    Args:
        player: the agent.
        env: the keywords of the env.

    """

    def __init__(self, player: Player, env: Mapping[str, Any]) -> None:
        self._player = player
        self._arguments = env
        self._env: gymnasium.Env[str, str] | None = None

    def play(self, trial: Trial) -> Record:
        """Play a trial."""
        start = time.perf_counter()
        talk = _Talk()
        try:
            outcome = self._play(trial, talk)
        except (WebArenaGymError, *INFRASTRUCTURE_ERRORS) as error:
            outcome = {"ending": "failed", "reward": None, "failure": f"{type(error).__name__}: {error}"}
            self.close()  # whatever state it is in
        return record_of(trial, **outcome, **talk.used(), seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Close the env."""
        if self._env is not None:
            self._env.close()
        self._env = None

    def _play(self, trial: Trial, talk: "_Talk") -> dict[str, Any]:
        if self._env is None:
            self._env = gymnasium.make("WebArenaLite-v0", tasks=[trial.task], disable_env_checker=True, **self._arguments)
        env = self._env
        behind = env.unwrapped
        assert isinstance(behind, WebArenaLite)
        observation, info = env.reset(seed=trial.seed_of("env") % 2**31, options={"task": trial.task})
        self._player.begin(trial, behind)
        while True:
            before = time.perf_counter()
            reply = self._player.reply(observation, info)
            replied = time.perf_counter()
            talk.add(reply, replied - before)
            if reply.too_long:
                return {"ending": "too_long", "reward": 0.0}
            url = info["url"]
            observation, reward, terminated, truncated, info = env.step(reply.text)
            if "failure" in info:
                return {"ending": "failed", "reward": None, "failure": str(info["failure"])}
            talk.steps.append({"url": url, "reply": reply.text, "action_error": info["action_error"]})
            talk.step_seconds.append((replied - before, time.perf_counter() - replied))
            if terminated or truncated:
                ending: Ending = "exited" if terminated else "truncated"
                told: dict[str, Any] = {name: info[name] for name in ("verdicts", "side_effects") if name in info}
                return {"ending": ending, "reward": float(reward), **told}


class _Talk:
    """What an agent said in an episode, and what it has used."""

    def __init__(self) -> None:
        self.steps: list[dict[str, str]] = []
        self.step_seconds: list[tuple[float, float]] = []  # the agent's and the env's
        self._seconds = 0.0
        self._used: dict[str, Any] = {"prompt_tokens": None, "completion_tokens": None, "cost": None}

    def add(self, reply: Any, seconds: float) -> None:
        self._seconds += seconds
        for name, before in self._used.items():
            if (more := getattr(reply, name)) is not None:
                self._used[name] = (before or 0) + more

    def used(self) -> dict[str, Any]:
        return {"steps": self.steps, "agent_seconds": self._seconds, "step_seconds": self.step_seconds, **self._used}


def record_of(trial: Trial, **outcome: Any) -> Record:
    """Return the record of a trial with this outcome."""
    task = trial.task
    return Record(
        task_id=task.task_id,
        repeat=trial.repeat,
        sites=list(task.sites),
        checks=list(task.eval_types),
        reference_steps=len(task.solution) or None,
        **outcome,
    )


class GivenUpError(WebArenaGymError):
    """So many episodes failed one after the other that it makes no sense to go on."""


def run(
    trials: Iterable[Trial], make_seat: Callable[[], Seat], jobs: int = 1, *, on_stop: Callable[[], None] = lambda: None
) -> Iterator[Record]:
    """Play the trials, `jobs` at a time, and yield the record of each as it ends.

    Each job has a seat of its own, made in its own thread. When the iteration is left, by an error or by Ctrl-C, `on_stop` is called,
    which may cut short what seats wait for, and the episodes under way are dropped.

    Raises GivenUpError where many episodes failed one after the other, and whatever is raised by a seat.
    """
    waiting: SimpleQueue[Trial | None] = SimpleQueue()
    for trial in trials:
        waiting.put(trial)
    count = waiting.qsize()
    jobs = max(1, min(jobs, count))
    for _ in range(jobs):
        waiting.put(None)
    done: SimpleQueue[Record | BaseException] = SimpleQueue()
    stopped = threading.Event()
    threads = [threading.Thread(target=_work, args=(waiting, done, make_seat, stopped), daemon=True) for _ in range(jobs)]
    with ExitStack() as stack:
        stack.callback(_finish, threads)
        stack.callback(on_stop)
        stack.callback(stopped.set)
        for thread in threads:
            thread.start()
        failed, judged = 0, False
        for _ in range(count):
            record = done.get()
            if isinstance(record, BaseException):
                raise record
            judged = judged or record.is_judged
            failed = 0 if record.is_judged else failed + 1
            yield record
            if failed >= max(_WORST, 2 * jobs) * (2 if judged else 1):
                raise GivenUpError(
                    f"{failed} episodes failed one after the other, so the run was given up; the last: {record.failure}"
                )


def _work(
    waiting: "SimpleQueue[Trial | None]",
    done: "SimpleQueue[Record | BaseException]",
    make_seat: Callable[[], Seat],
    stopped: threading.Event,
) -> None:
    try:
        with closing(make_seat()) as seat:
            while not stopped.is_set() and (trial := waiting.get()) is not None:
                done.put(seat.play(trial))
    except BaseException as error:  # noqa: BLE001 - it is raised where the records are read
        done.put(error)


def _finish(threads: Iterable[threading.Thread]) -> None:
    """Wait for the threads, but not for those that wait for a server: these end with the process."""
    end = time.monotonic() + _ENDING_S
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, end - time.monotonic()))
