"""The collector: plays episodes in many envs with one policy, asynchronously, so that no env waits for a slower one."""

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from agents.data.trajectories import Ending, Step, Trajectory
from agents.rollouts.envs import Envs, InProcessEnvs, final_reward
from agents.rollouts.policies import Policy, Reply, Request
from agents.settings import EnvSettings
from webarena_gym.tasks import Task
from webarena_gym.vector import Result

Stage = Literal["env", "generation", "queue", "idle"]
"""Stages of an env's time; see `Collector.take_time_fractions`."""

_LONG_S = 1.0  # how long to wait when only one side, envs or policy, is working
_SHORT_S = 0.005  # how long to wait for the policy while envs are working too


class EpisodeSpec(NamedTuple):
    """An episode to play. The episodes of one group have the same task and seed, and therefore the same first page.

    `number` is unique in a run. All random draws of the episode depend on the run's seed and this number only. `max_steps` truncates it
    before the env's own limit does.
    """

    task: Task
    seed: int
    number: int = 0
    group: int = 0
    max_steps: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of the env's reset."""
        return {"task": self.task} | ({"max_steps": self.max_steps} if self.max_steps else {})


Played = tuple[EpisodeSpec, Trajectory]
"""An episode that is over, and its trajectory."""


_NOTHING: dict[Stage, float] = {"env": 0.0, "generation": 0.0, "queue": 0.0, "idle": 0.0}


@dataclass
class _Playing:
    episode: EpisodeSpec
    stage: Stage = "env"
    info: Mapping[str, Any] = field(default_factory=dict)  # of the newest page
    reply: Reply | None = None  # the one that the env acts on; None during a reset
    steps: list[Step] = field(default_factory=list)
    policy_version: int | None = None  # the oldest version that replied
    spent_s: dict[Stage, float] = field(default_factory=_NOTHING.copy)  # since the newest page


class Collector:
    """Plays episodes in envs with a policy; whichever env or reply is ready first is served first.

    `seed` is the run's. With envs and engine in this process, equal runs give equal trajectories, bit by bit. `env` are the settings
    that the envs were made with, which trajectories keep.

    An episode that fails for reasons other than the policy, in the env or in the engine, has the ending "failed". Any other error is
    a bug and stops the collection, and so does a reward that is not finite: an EvaluationError that names the episode.
    """

    def __init__(self, envs: Envs, policy: Policy, *, seed: int = 0, env: EnvSettings | None = None) -> None:
        self._envs, self._policy, self._seed, self._env = envs, policy, seed, env
        self._waiting: deque[EpisodeSpec] = deque()
        self._playing: dict[int, _Playing] = {}  # by env
        self._over: deque[Played] = deque()
        self._stopped = threading.Event()
        self._spent = _NOTHING.copy()
        self._noted_s = time.perf_counter()

    @property
    def has_room(self) -> bool:
        """True if there are more envs than episodes that wait or are being played."""
        return len(self._waiting) + len(self._playing) < self._envs.num_envs

    def begin(self, episodes: Sequence[EpisodeSpec]) -> None:
        """Queue these episodes; they start as envs become free."""
        self._waiting.extend(episodes)

    def play(self) -> Iterator[Played]:
        """Play the queued episodes, and yield each when it is over. More may be queued meanwhile.

        The caller may abandon the iterator and resume with another call: episodes under way are kept.
        """
        self._note_time(paused=True)
        while (self._waiting or self._playing or self._over) and not self._stopped.is_set():
            while self._over:
                yield self._over.popleft()
            free = [env_id for env_id in range(self._envs.num_envs) if env_id not in self._playing] if self._waiting else []
            for env_id in free[: len(self._waiting)]:
                episode = self._waiting.popleft()
                self._playing[env_id] = _Playing(episode)
                self._envs.async_reset([episode.seed], [episode.options], [env_id])
            self._advance()

    def collect(self, episodes: Sequence[EpisodeSpec]) -> list[Trajectory]:
        """Play these episodes and return their trajectories, in order. Raises ValueError for episodes with equal numbers."""
        if len({episode.number for episode in episodes}) < len(episodes):
            raise ValueError("some episodes have the same number; expected a unique number for each")
        self.begin(episodes)
        finished = {episode.number: trajectory for episode, trajectory in self.play()}
        return [finished[episode.number] for episode in episodes]

    def stop(self) -> None:
        """Make `play` return as soon as possible, in whichever thread it runs. It cannot be resumed."""
        self._stopped.set()

    def take_time_fractions(self) -> dict[Stage, float]:
        """Return the fractions of the envs' time since the last call, by stage; they add up to 1.

        "env": the env acts, is reset, or waits for its worker. "generation": the policy computes its reply. "queue": it waits for
        this collector or its caller. "idle": it has no episode.
        """
        return fractions(self.take_stage_seconds())

    def take_stage_seconds(self) -> dict[Stage, float]:
        """Return the seconds since the last call, by stage, of all envs together."""
        self._note_time()
        spent_s, self._spent = self._spent, _NOTHING.copy()
        return spent_s

    def _are_in(self, stage: Stage) -> bool:
        return any(playing.stage == stage for playing in self._playing.values())

    def _note_time(self, *, paused: bool = False) -> None:
        """Add the time since the last call to the episodes' stages; while paused, all of them wait for the collector."""
        now = time.perf_counter()
        for playing in self._playing.values():
            stage = "queue" if paused else playing.stage
            self._spent[stage] += now - self._noted_s
            playing.spent_s[stage] += now - self._noted_s
        self._spent["idle"] += (now - self._noted_s) * (self._envs.num_envs - len(self._playing))
        self._noted_s = now

    def _advance(self) -> None:
        """Wait for results of envs and for replies, and hand them on."""
        if self._are_in("env"):
            results = self._envs.poll(0.0 if self._are_in("generation") else _LONG_S)
            self._note_time()
            self._ask(results)
        if self._are_in("generation"):
            replies = self._policy.replies(_SHORT_S if self._are_in("env") else _LONG_S)
            self._note_time()
            for env_id, reply in replies:
                playing = self._playing[env_id]
                if reply.failure:
                    self._finish(env_id, "failed", failure=reply.failure)
                    continue
                oldest = playing.policy_version
                playing.policy_version = reply.policy_version if oldest is None else min(oldest, reply.policy_version)
                if reply.too_long:
                    self._finish(env_id, "too_long")
                    continue
                playing.reply, playing.stage = reply, "env"
                self._envs.send([reply.text], [env_id])

    def _ask(self, results: Mapping[int, Result]) -> None:
        """Handle the results of resets and steps: finish episodes that are over, and ask the policy about the other pages."""
        for env_id in results:
            self._playing[env_id].stage = "queue"
        requests = []
        for env_id, result in results.items():
            playing = self._playing[env_id]
            if failure := result.info.get("failure"):
                self._finish(env_id, "failed", failure=str(failure))
                continue
            if (reply := playing.reply) is not None:
                page, error, spent_s = str(playing.info["page"]), str(result.info["action_error"]), playing.spent_s
                playing.steps.append(reply.step(page, error, policy_s=spent_s["generation"], env_s=spent_s["env"]))
            playing.info, playing.spent_s = result.info, _NOTHING.copy()
            if result.terminated or result.truncated:
                reward = final_reward(result, playing.episode.task, playing.episode.seed)
                self._finish(env_id, "exited" if result.terminated else "truncated", reward)
                continue
            seed = sampling_seed(self._seed, playing.episode.number, len(playing.steps))
            local = self._envs.local(env_id) if isinstance(self._envs, InProcessEnvs) else None
            requests.append(Request(env_id, local, result.info, seed))
        if requests:
            self._policy.ask(requests)
        for request in requests:
            self._playing[request.slot].stage = "generation"
        self._note_time()

    def _finish(self, env_id: int, ending: Ending, reward: float = 0.0, failure: str = "") -> None:
        playing = self._playing.pop(env_id)
        task, verdicts = playing.episode.task, tuple(playing.info.get("verdicts", ()))
        trajectory = Trajectory(
            task.task_id, task.intent, tuple(playing.steps), reward, ending, playing.episode.group, playing.policy_version or 0,
            verdicts, failure, self._env,
        )  # fmt: skip
        self._over.append((playing.episode, trajectory))


def fractions(spent_s: Mapping[Stage, float]) -> dict[Stage, float]:
    """Return the part of all seconds that each stage has."""
    total = sum(spent_s.values()) or 1.0
    return {stage: spent / total for stage, spent in spent_s.items()}


def sampling_seed(run_seed: int, episode: int, step: int) -> int:
    """Return the seed for sampling at one step of one episode: 63 bits that depend on the arguments only.

    >>> sampling_seed(0, 1, 2) == sampling_seed(0, 1, 2) != sampling_seed(0, 2, 1)
    True
    """
    return int.from_bytes(blake2b(f"{run_seed}/{episode}/{step}".encode(), digest_size=8).digest()) >> 1


def group_episodes(task: Task, group: int, size: int, max_steps: int | None = None) -> list[EpisodeSpec]:
    """Return the episodes of one group of a run: equal tasks and seeds, with numbers that follow those of earlier groups."""
    return [EpisodeSpec(task, group, group * size + member, group, max_steps) for member in range(size)]
