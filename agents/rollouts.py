"""Rollouts: many envs and one policy, until every episode that was asked for is over."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium

import webarena_gym  # noqa: F401 - registers the env
from agents.policies import Policy, Reply, Request
from agents.trajectories import Ending, Step, Trajectory
from webarena_gym.errors import BrowserError
from webarena_gym.tasks import Task

ENV_ID = "WebArenaLite-v0"
INFRASTRUCTURE_ERRORS = (BrowserError, ConnectionError, TimeoutError)  # not the policy's fault, so nothing to learn from


class Episode(NamedTuple):
    """An episode to play. Those of one group share the task and the seed, so they begin before the same page."""

    task: Task
    seed: int
    group: int = 0


@dataclass
class _Slot:
    env: gymnasium.Env[str, str]
    position: int  # of the episode in the list asked for
    episode: Episode
    info: dict[str, Any]
    steps: list[Step] = field(default_factory=list)


class Collector:
    """Plays episodes with a pool of envs in one process; whoever waits is answered in one batch.

    `on_finish` is told of each trajectory as it ends. Errors of the infrastructure end an episode as "failed"; all others are
    bugs and stop the collection.
    """

    def __init__(self, tasks: Sequence[Task], *, num_envs: int = 32, env_id: str = ENV_ID, **env_arguments: Any) -> None:
        make = lambda: gymnasium.make(env_id, tasks=tasks, disable_env_checker=True, **env_arguments)  # noqa: E731
        self._make: Callable[[], gymnasium.Env[str, str]] = make
        self._num_envs = num_envs
        self._envs: list[gymnasium.Env[str, str]] = []

    def collect(
        self,
        policy: Policy,
        episodes: Sequence[Episode],
        *,
        policy_version: int = 0,
        on_finish: Callable[[Trajectory], None] | None = None,
    ) -> list[Trajectory]:
        """Return one trajectory per episode, in order."""
        finished: dict[int, Trajectory] = {}
        waiting = deque(enumerate(episodes))
        slots: dict[int, _Slot] = {}

        def finish(number: int, ending: Ending, reward: float) -> None:
            slot = slots.pop(number)
            trajectory = Trajectory(
                task_id=slot.episode.task.task_id,
                goal=slot.episode.task.intent,
                steps=tuple(slot.steps),
                reward=reward,
                ending=ending,
                group=slot.episode.group,
                policy_version=policy_version,
                verdicts=tuple(slot.info.get("verdicts", ())),
            )
            finished[slot.position] = trajectory
            if on_finish:
                on_finish(trajectory)

        while waiting or slots:
            for number in self._free(slots, len(waiting)):
                position, episode = waiting.popleft()
                slots[number] = _Slot(self._envs[number], position, episode, {})
                try:
                    options = {"task": episode.task}
                    slots[number].info = self._envs[number].reset(seed=episode.seed, options=options)[1]
                except INFRASTRUCTURE_ERRORS:
                    finish(number, "failed", 0.0)
            numbers = sorted(slots)
            requests = [Request(number, slots[number].env.unwrapped, slots[number].info) for number in numbers]
            for number, reply in zip(numbers, policy.act(requests) if requests else [], strict=True):
                if reply.too_long:
                    finish(number, "too_long", 0.0)
                    continue
                try:
                    reward, terminated, truncated = _take(slots[number], reply)
                except INFRASTRUCTURE_ERRORS:
                    finish(number, "failed", 0.0)
                    continue
                if "failure" in slots[number].info:
                    finish(number, "failed", 0.0)
                elif terminated or truncated:
                    finish(number, "exited" if terminated else "truncated", reward)
        return [finished[position] for position in range(len(episodes))]

    def close(self) -> None:
        """Close the envs."""
        for env in self._envs:
            env.close()
        self._envs.clear()

    def _free(self, slots: dict[int, _Slot], wanted: int) -> Iterator[int]:
        """Yield up to `wanted` numbers of idle envs, making envs as they are needed."""
        for number in range(self._num_envs):
            if wanted <= 0:
                return
            if number == len(self._envs):
                self._envs.append(self._make())
            if number not in slots:
                wanted -= 1
                yield number


def _take(slot: _Slot, reply: Reply) -> tuple[float, bool, bool]:
    """Step the slot's env with the reply and record it."""
    page = str(slot.info["page"])
    _, reward, terminated, truncated, slot.info = slot.env.step(reply.text)
    slot.steps.append(
        Step(page, reply.text, str(slot.info["action_error"]), reply.prompt_ids, reply.response_ids, reply.logprobs)
    )
    return float(reward), terminated, truncated


def group_episodes(tasks: Sequence[Task], group_size: int, seed: int) -> list[Episode]:
    """Return `group_size` episodes of each task, each group from a seed of its own."""
    return [Episode(task, seed + group, group) for group, task in enumerate(tasks) for _ in range(group_size)]
