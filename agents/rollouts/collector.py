"""The collector: plays episodes in many envs with one policy, asynchronously, so that no env waits for a slower env."""

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from agents.data.trajectories import Ending, Step, Trajectory
from agents.rollouts.envs import Envs, InProcessEnvs, final_reward
from agents.rollouts.policies import Policy, Reply, Request
from agents.settings import EnvSettings
from webarena_gym.tasks import Task
from webarena_gym.vector import ResetMonitor, Result

Stage = Literal["env", "generation", "queue", "idle"]
"""Stages of an env's time; see `Collector.take_time_fractions`."""

_WAIT_S = 1.0  # maximum time to wait if only the envs or only the policy are working
_POLL_S = 0.005  # maximum time to wait for the policy while envs are working


class EpisodeSpec(NamedTuple):
    """An episode to play. The episodes of one group have the same task and seed, and therefore the same first page.

    `number` is unique in a run. All random draws of the episode depend only on the run's seed and this number. `max_steps` is a step limit
    below that of the env, or None.
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


EpisodeResult = tuple[EpisodeSpec, Trajectory]
"""A finished episode and its trajectory."""


_ZERO_SECONDS: dict[Stage, float] = {"env": 0.0, "generation": 0.0, "queue": 0.0, "idle": 0.0}


@dataclass
class _ActiveEpisode:
    episode: EpisodeSpec
    stage: Stage = "env"
    info: Mapping[str, Any] = field(default_factory=dict)  # info of the newest page
    reply: Reply | None = None  # the reply that the env is executing; None during a reset
    steps: list[Step] = field(default_factory=list)
    policy_version: int | None = None  # oldest version of the policy in the episode's replies
    spent_s: dict[Stage, float] = field(default_factory=_ZERO_SECONDS.copy)  # time since the newest page, by stage


class Collector:
    """Plays episodes in envs with a policy, and handles results and replies in the order in which they are ready.

    If the infrastructure of an env or engine fails, the episode has the ending "failed". If resets fail one after the other, `play` raises
    AbortedRunError (see `ResetMonitor`). Any other exception is a bug and ends the collection. A reward that is not finite raises EvaluationError, which names the episode.

    Args:
        envs: The envs.
        policy: The policy that chooses replies.
        seed: Seed of the run. With envs and engine in this process, equal runs give bit-identical trajectories.
        env: Settings that the envs were created with, for the trajectories' records.

    """

    def __init__(self, envs: Envs, policy: Policy, *, seed: int = 0, env: EnvSettings | None = None) -> None:
        self._envs, self._policy, self._seed, self._env = envs, policy, seed, env
        self._resets = ResetMonitor(envs.num_envs)
        self._queue: deque[EpisodeSpec] = deque()
        self._active: dict[int, _ActiveEpisode] = {}  # by env
        self._finished: deque[EpisodeResult] = deque()
        self._stop_event = threading.Event()
        self._stage_seconds = _ZERO_SECONDS.copy()
        self._last_time_s = time.perf_counter()

    @property
    def has_capacity(self) -> bool:
        """True if there are more envs than queued and active episodes."""
        return len(self._queue) + len(self._active) < self._envs.num_envs

    def submit(self, episodes: Sequence[EpisodeSpec]) -> None:
        """Queue episodes. Each starts when an env is free."""
        self._queue.extend(episodes)

    def play(self) -> Iterator[EpisodeResult]:
        """Play the queued episodes, and yield each when it is finished. More may be queued meanwhile.

        The caller may abandon the iterator and continue with another call, which resumes the active episodes.
        """
        self._add_time(paused=True)
        while (self._queue or self._active or self._finished) and not self._stop_event.is_set():
            while self._finished:
                yield self._finished.popleft()
            free_ids = [env_id for env_id in range(self._envs.num_envs) if env_id not in self._active] if self._queue else []
            for env_id in free_ids[: len(self._queue)]:
                episode = self._queue.popleft()
                self._active[env_id] = _ActiveEpisode(episode)
                self._envs.async_reset([episode.seed], [episode.options], [env_id])
            self._advance()

    def collect(self, episodes: Sequence[EpisodeSpec]) -> list[Trajectory]:
        """Play these episodes and return their trajectories, in order. Raises ValueError if two episodes have the same number."""
        if len({episode.number for episode in episodes}) < len(episodes):
            raise ValueError("several episodes have the same number; expected a unique number for each")
        self.submit(episodes)
        trajectories = {episode.number: trajectory for episode, trajectory in self.play()}
        return [trajectories[episode.number] for episode in episodes]

    def stop(self) -> None:
        """Make `play` return as soon as possible, from any thread. It cannot be resumed."""
        self._stop_event.set()

    def take_time_fractions(self) -> dict[Stage, float]:
        """Return the fraction of the envs' time since the last call in each stage. The fractions add up to 1.

        The stages are "env" (the env steps, is reset, or waits for its worker), "generation" (the policy computes the reply), "queue" (the
        env waits for this collector or its caller) and "idle" (the env has no episode).
        """
        return time_fractions(self.take_stage_seconds())

    def take_stage_seconds(self) -> dict[Stage, float]:
        """Return the time since the last call by stage, in seconds, summed over all envs."""
        self._add_time()
        spent_s, self._stage_seconds = self._stage_seconds, _ZERO_SECONDS.copy()
        return spent_s

    def _has_stage(self, stage: Stage) -> bool:
        return any(active.stage == stage for active in self._active.values())

    def _add_time(self, *, paused: bool = False) -> None:
        """Add the time since the last call to the stages of the active episodes, or to "queue" for all of them if `paused`."""
        now_s = time.perf_counter()
        for active in self._active.values():
            stage = "queue" if paused else active.stage
            self._stage_seconds[stage] += now_s - self._last_time_s
            active.spent_s[stage] += now_s - self._last_time_s
        self._stage_seconds["idle"] += (now_s - self._last_time_s) * (self._envs.num_envs - len(self._active))
        self._last_time_s = now_s

    def _advance(self) -> None:
        """Wait for results and replies, pass results to the policy, and send replies to the envs."""
        if self._has_stage("env"):
            results = self._envs.poll(0.0 if self._has_stage("generation") else _WAIT_S)
            self._add_time()
            self._handle_results(results)
        if self._has_stage("generation"):
            replies = self._policy.replies(_POLL_S if self._has_stage("env") else _WAIT_S)
            self._add_time()
            for env_id, reply in replies:
                active = self._active[env_id]
                if reply.failure:
                    self._finish(env_id, "failed", failure=reply.failure)
                    continue
                oldest_version = active.policy_version
                active.policy_version = (
                    reply.policy_version if oldest_version is None else min(oldest_version, reply.policy_version)
                )
                if reply.too_long:
                    self._finish(env_id, "too_long")
                    continue
                active.reply, active.stage = reply, "env"
                self._envs.send([reply.text], [env_id])

    def _handle_results(self, results: Mapping[int, Result]) -> None:
        """Handle the results of resets and steps: finish ended episodes, and request replies for the others."""
        for env_id in results:
            self._active[env_id].stage = "queue"
        requests = []
        for env_id, result in results.items():
            active = self._active[env_id]
            failure = str(result.info.get("failure", ""))
            if active.reply is None:
                self._resets.record(failure)
            if failure:
                self._finish(env_id, "failed", failure=failure)
                continue
            if (reply := active.reply) is not None:
                page, error, spent_s = str(active.info["page"]), str(result.info["action_error"]), active.spent_s
                step = reply.step(page, error, policy_s=spent_s["generation"], env_s=spent_s["env"])
                if "checklist" in result.info:
                    step = replace(step, credit=result.reward)
                if "tools" in result.info and result.info["tools"]["calls"] > active.info["tools"]["calls"]:
                    has_failed = result.info["tools"]["failed"] > active.info["tools"]["failed"]
                    step = replace(step, tool="failed" if has_failed else "ok")
                active.steps.append(step)
            active.info, active.spent_s = result.info, _ZERO_SECONDS.copy()
            if result.terminated or result.truncated:
                reward = final_reward(result, active.episode.task, active.episode.seed)
                self._finish(env_id, "exited" if result.terminated else "truncated", reward)
                continue
            seed = sampling_seed(self._seed, active.episode.number, len(active.steps))
            env = self._envs.local(env_id) if isinstance(self._envs, InProcessEnvs) else None
            requests.append(Request(env_id, env, result.info, seed))
        if requests:
            self._policy.ask(requests)
        for request in requests:
            self._active[request.slot].stage = "generation"
        self._add_time()

    def _finish(self, env_id: int, ending: Ending, reward: float = 0.0, failure: str = "") -> None:
        active = self._active.pop(env_id)
        task, verdicts = active.episode.task, tuple(active.info.get("verdicts", ()))
        trajectory = Trajectory(
            task.task_id, task.intent, tuple(active.steps), reward, ending, active.episode.group, active.policy_version or 0,
            verdicts, failure, self._env,
        )  # fmt: skip
        self._finished.append((active.episode, trajectory))


def time_fractions(spent_s: Mapping[Stage, float]) -> dict[Stage, float]:
    """Return the share of each stage in the total time."""
    total = sum(spent_s.values()) or 1.0
    return {stage: spent / total for stage, spent in spent_s.items()}


def sampling_seed(run_seed: int, episode: int, step: int) -> int:
    """Return the seed for sampling at one step of one episode, 63 bits that depend only on the arguments.

    >>> sampling_seed(0, 1, 2) == sampling_seed(0, 1, 2) != sampling_seed(0, 2, 1)
    True
    """
    return int.from_bytes(blake2b(f"{run_seed}/{episode}/{step}".encode(), digest_size=8).digest()) >> 1


def group_episodes(task: Task, group: int, size: int, max_steps: int | None = None) -> list[EpisodeSpec]:
    """Return the `size` episodes of one group of a run, with the same task and seed, numbered from `group * size` on."""
    return [EpisodeSpec(task, group, group * size + member, group, max_steps) for member in range(size)]
