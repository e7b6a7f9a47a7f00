"""Forks: continuations of an episode from its own steps, whose rewards tell what each of the steps was worth.

An env's snapshot makes it possible: the episode is replayed once, and continued from its states any number of times. The
credit that follows is `fork_advantages`.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import gymnasium

from agents.data.trajectories import Trajectory
from agents.rollouts.collector import EpisodeSpec, group_episodes, sampling_seed
from agents.rollouts.curriculum import Group
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.policies import Policy, Reply, Request, resume
from webarena_gym.vector import INFRASTRUCTURE_ERRORS

CONTINUATIONS = 4  # rollouts played on from each fork


@dataclass
class _Continuation:
    start: int  # the step of the trajectory in whose state it begins
    number: int  # of those that begin there
    seed: int
    info: Mapping[str, Any]
    steps: int = 0  # taken so far


def fork_groups(
    envs: InProcessEnvs, policy: Policy, groups: Sequence[Group], *, every: int = 1, count: int = CONTINUATIONS, seed: int = 0
) -> list[list[Trajectory]]:
    """Return the trajectories of whole groups, continued `count` times from every so many of their steps; those that failed are left out.

    Neither the envs nor the policy may have anything else under way.
    """
    local = [envs.local(env_id) for env_id in range(envs.num_envs)]
    return [
        [
            fork(local, policy, episode, item, starts=range(0, len(item.steps), every), continuations=count, seed=seed)
            for episode, item in zip(
                group_episodes(group.task, group.number, len(group.trajectories), group.max_steps),
                group.trajectories,
                strict=True,
            )
            if item.ending != "failed"
        ]
        for group in groups
    ]


def fork(
    envs: Sequence[gymnasium.Env[str, str]],
    policy: Policy,
    episode: EpisodeSpec,
    trajectory: Trajectory,
    *,
    starts: Sequence[int],
    continuations: int,
    seed: int = 0,
) -> Trajectory:
    """Return the trajectory with the rewards of so many `continuations` at each of the steps `starts`.

    `trajectory` is what came of `episode` in an env such as these, which have snapshots. A continuation begins before its step is
    taken, and the policy plays it to the end; as many are played at once as there are envs. One that breaks through no fault of
    the policy is left out. Equal seeds give equal continuations. Raises ValueError for a step that the trajectory does not have,
    and for a replay that shows another page than the recorded one.
    """
    if wrong := [start for start in starts if not 0 <= start < len(trajectory.steps)]:
        raise ValueError(f"there is no step {wrong[0]} to fork; expected 0 to {len(trajectory.steps) - 1}")
    inner: list[Any] = [env.unwrapped for env in envs]
    snapshots = _replay(inner[0], episode, trajectory, starts)
    rewards: dict[tuple[int, int], float] = {}  # by start and number
    waiting = deque((start, number) for start in snapshots for number in range(continuations))
    playing: dict[int, _Continuation] = {}
    while waiting or playing:
        for slot, env in enumerate(inner):
            if slot not in playing and waiting:
                start, number = waiting.popleft()
                own_seed = sampling_seed(sampling_seed(seed, episode.number, start), number, 0)
                playing[slot] = _Continuation(start, number, own_seed, env.restore(snapshots[start])[1])
                resume(policy, slot, trajectory.goal, trajectory.steps[:start])
        for slot, reply in _replies(policy, inner, playing):
            continuation = playing[slot]
            over, reward = _take(inner[slot], continuation, reply)
            if over:
                del playing[slot]
            if reward is not None:
                rewards[continuation.start, continuation.number] = reward
    of_steps = [
        tuple(reward for (start, _), reward in sorted(rewards.items()) if start == number)
        for number in range(len(trajectory.steps))
    ]
    steps = (replace(step, continuations=returns) for step, returns in zip(trajectory.steps, of_steps, strict=True))
    return replace(trajectory, steps=tuple(steps))


def fork_advantages(continuations: Sequence[Sequence[float]], reward: float) -> list[float]:
    """Return V(s_t+1) - V(s_t) of each step, V being the mean return of continuations from a state (VinePPO, arXiv 2410.01679).

    Steps between two forks share what was gained from one to the next; those before the first fork get 0.
    """
    forks = [index for index, returns in enumerate(continuations) if returns]
    if continuations and not forks:
        raise ValueError("advantages are 'forks' and no step has continuations; expected some of agents.rollouts.forks")
    values, ends = [*(fmean(continuations[index]) for index in forks), reward], [*forks, len(continuations)]
    advantages = [0.0] * len(continuations)
    for place, start in enumerate(forks):
        advantages[start : ends[place + 1]] = [values[place + 1] - values[place]] * (ends[place + 1] - start)
    return advantages


def _replay(env: Any, episode: EpisodeSpec, trajectory: Trajectory, starts: Sequence[int]) -> dict[int, Any]:
    """Play the trajectory again and return a snapshot before each of these steps."""
    snapshots = {}
    _, info = env.reset(seed=episode.seed, options=episode.options)
    for number, step in enumerate(trajectory.steps[: max(starts, default=-1) + 1]):
        if info["page"] != step.page:
            raise ValueError(f"the replay shows another page at step {number}; expected the one that was recorded")
        if number in starts:
            snapshots[number] = env.snapshot()
        info = env.step(step.reply)[4]
    return snapshots


def _replies(policy: Policy, envs: Sequence[Any], playing: Mapping[int, _Continuation]) -> list[tuple[int, Reply]]:
    """Ask for a reply to each continuation and return them all."""
    policy.ask([
        Request(slot, envs[slot], item.info, sampling_seed(item.seed, 0, item.steps)) for slot, item in playing.items()
    ])  # fmt: skip
    replies: list[tuple[int, Reply]] = []
    while len(replies) < len(playing):
        replies += policy.replies()
    return replies


def _take(env: Any, continuation: _Continuation, reply: Reply) -> tuple[bool, float | None]:
    """Act on a reply; return whether the continuation is over, and its reward if it is and did not break."""
    if reply.failure or reply.too_long:
        return True, None if reply.failure else 0.0
    try:
        _, reward, terminated, truncated, continuation.info = env.step(reply.text)
    except INFRASTRUCTURE_ERRORS:
        return True, None
    continuation.steps += 1
    over = terminated or truncated
    return over, float(reward) if over and "failure" not in continuation.info else None
