"""Rollouts: many envs and one policy, which work at the same time; nobody waits for the slowest."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from agents.data.trajectories import Ending, Step, Trajectory
from agents.rollouts.envs import Envs, InProcessEnvs
from agents.rollouts.policies import Policy, Reply, Request
from webarena_gym.tasks import Task
from webarena_gym.vector import Result

Place = Literal["env", "generation", "queue", "idle"]

_LONG_S = 1.0  # a wait for the one side that has work under way
_SHORT_S = 0.005  # a wait for the policy while envs work, too


class Episode(NamedTuple):
    """An episode to play. Those of one group share the task and the seed, so they begin before the same page.

    `number` tells it apart from all others of a run: all that is sampled in it follows from the run's seed and this number.
    """

    task: Task
    seed: int
    number: int = 0
    group: int = 0


class Played(NamedTuple):
    """An episode, and what came of it."""

    episode: Episode
    trajectory: Trajectory


@dataclass
class _Playing:
    episode: Episode
    place: Place = "env"
    info: Mapping[str, Any] = field(default_factory=dict)  # of the page that waits for a reply
    reply: Reply | None = None  # that the env is acting on; None while it is reset
    steps: list[Step] = field(default_factory=list)
    policy_version: int | None = None  # the oldest that replied


class Collector:
    """Plays episodes in envs with a policy; whichever env or reply is ready first goes on.

    `seed` is the run's. With envs in this process and an engine in this process, equal runs are equal in everything.

    Episodes that break through no fault of the policy, in the env or in the engine, end as "failed". Any other error is a bug
    and stops the collection.
    """

    def __init__(self, envs: Envs, policy: Policy, *, seed: int = 0) -> None:
        self._envs = envs
        self._policy = policy
        self._seed = seed
        self._waiting: deque[Episode] = deque()
        self._playing: dict[int, _Playing] = {}  # by env
        self._over: deque[Played] = deque()
        self._stopped = threading.Event()
        self._spent = _nothing_spent()
        self._noted_s = time.perf_counter()

    @property
    def has_room(self) -> bool:
        """Whether there are more envs than episodes to play."""
        return len(self._waiting) + len(self._playing) < self._envs.num_envs

    def begin(self, episodes: Sequence[Episode]) -> None:
        """Let these episodes be played as envs become free."""
        self._waiting.extend(episodes)

    def play(self) -> Iterator[Played]:
        """Play on, and yield each episode that is over, until none is left. More may be begun meanwhile.

        The caller may leave off at any time, and go on later with another call: what was under way is kept.
        """
        self._note_time(paused=True)
        while (self._waiting or self._playing or self._over) and not self._stopped.is_set():
            while self._over:
                yield self._over.popleft()
            self._enter_envs()
            if self._are_in("env"):
                results = self._envs.poll(0.0 if self._are_in("generation") else _LONG_S)
                self._note_time()
                self._ask(results)
            if self._are_in("generation"):
                replies = self._policy.replies(_SHORT_S if self._are_in("env") else _LONG_S)
                self._note_time()
                self._send(replies)

    def collect(
        self, episodes: Sequence[Episode], *, on_finish: Callable[[Trajectory], None] | None = None
    ) -> list[Trajectory]:
        """Play these episodes, and return one trajectory for each, in order. `on_finish` is told of each as it ends.

        Raises ValueError for episodes of equal numbers.
        """
        if len({episode.number for episode in episodes}) < len(episodes):
            raise ValueError("episodes share a number; expected a number of its own for each")
        self.begin(episodes)
        finished: dict[int, Trajectory] = {}
        for episode, trajectory in self.play():
            finished[episode.number] = trajectory
            if on_finish:
                on_finish(trajectory)
        return [finished[episode.number] for episode in episodes]

    def stop(self) -> None:
        """Let `play` end as soon as it can, whichever thread it runs in, and for good."""
        self._stopped.set()

    def take_shares(self) -> dict[Place, float]:
        """Return where the envs' time went since this was last called, as parts of 1.

        In "env" an env acts or is reset, or waits for its worker to do so; in "generation" its page is with the policy; in
        "queue" it waits for this collector or whoever drives it; "idle" it has no episode.
        """
        spent_s = self.take_spent()
        total = sum(spent_s.values()) or 1.0
        return {place: spent / total for place, spent in spent_s.items()}

    def take_spent(self) -> dict[Place, float]:
        """Return the same in seconds of all envs together."""
        self._note_time()
        spent_s, self._spent = self._spent, _nothing_spent()
        return spent_s

    # Inside.

    def _are_in(self, place: Place) -> bool:
        return any(playing.place == place for playing in self._playing.values())

    def _note_time(self, *, paused: bool = False) -> None:
        """Book the time since the last note on the places where the episodes are; while paused, all of them wait for us."""
        now = time.perf_counter()
        for playing in self._playing.values():
            self._spent["queue" if paused else playing.place] += now - self._noted_s
        self._spent["idle"] += (now - self._noted_s) * (self._envs.num_envs - len(self._playing))
        self._noted_s = now

    def _enter_envs(self) -> None:
        """Begin waiting episodes in the envs that are free, those of low numbers first."""
        free = [env_id for env_id in range(self._envs.num_envs) if env_id not in self._playing] if self._waiting else []
        for env_id in free[: len(self._waiting)]:
            episode = self._waiting.popleft()
            self._playing[env_id] = _Playing(episode)
            self._envs.async_reset([episode.seed], [{"task": episode.task}], [env_id])

    def _ask(self, results: Mapping[int, Result]) -> None:
        """Take what came of resets and steps: episodes end, and the others' pages go to the policy."""
        for env_id in results:
            self._playing[env_id].place = "queue"
        requests = []
        for env_id, result in results.items():
            playing = self._playing[env_id]
            if failure := result.info.get("failure"):
                self._finish(env_id, "failed", failure=str(failure))
                continue
            if (reply := playing.reply) is not None:
                page, error = str(playing.info["page"]), str(result.info["action_error"])
                playing.steps.append(Step(page, reply.text, error, reply.prompt_ids, reply.response_ids, reply.logprobs))
            playing.info = result.info
            if result.terminated or result.truncated:
                self._finish(env_id, "exited" if result.terminated else "truncated", result.reward)
                continue
            seed = sampling_seed(self._seed, playing.episode.number, len(playing.steps))
            local = self._envs.local(env_id) if isinstance(self._envs, InProcessEnvs) else None
            requests.append(Request(env_id, local, result.info, seed))
        if requests:
            self._policy.ask(requests)
        for request in requests:
            self._playing[request.slot].place = "generation"
        self._note_time()

    def _send(self, replies: Sequence[tuple[int, Reply]]) -> None:
        """Let envs act on replies; where there is none, the episode ends."""
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
            playing.reply, playing.place = reply, "env"
            self._envs.send([reply.text], [env_id])

    def _finish(self, env_id: int, ending: Ending, reward: float = 0.0, failure: str = "") -> None:
        playing = self._playing.pop(env_id)
        trajectory = Trajectory(
            task_id=playing.episode.task.task_id,
            goal=playing.episode.task.intent,
            steps=tuple(playing.steps),
            reward=reward,
            ending=ending,
            group=playing.episode.group,
            policy_version=playing.policy_version or 0,
            verdicts=tuple(playing.info.get("verdicts", ())),
            failure=failure,
        )
        self._over.append(Played(playing.episode, trajectory))


def _nothing_spent() -> dict[Place, float]:
    """The seconds that all envs together spent in each place."""
    return {"env": 0.0, "generation": 0.0, "queue": 0.0, "idle": 0.0}


def sampling_seed(run_seed: int, episode: int, step: int) -> int:
    """Return the seed of what is sampled at one step of one episode: 63 bits that depend on nothing else.

    >>> sampling_seed(0, 1, 2) == sampling_seed(0, 1, 2) != sampling_seed(0, 2, 1)
    True
    """
    return int.from_bytes(blake2b(f"{run_seed}/{episode}/{step}".encode(), digest_size=8).digest()) >> 1


def group_episodes(task: Task, group: int, size: int) -> list[Episode]:
    """Return the episodes of one group of a run: all of one task, from one seed, numbered after those of the groups before."""
    return [Episode(task, group, group * size + member, group) for member in range(size)]
