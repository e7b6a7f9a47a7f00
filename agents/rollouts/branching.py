"""Branching from snapshots of an env: forks of episodes, rollouts with a search at each step, and search trees.

`try_replies` executes several replies in one state. `fork` plays continuations from the steps of an episode, and `fork_advantages` computes
advantages from their rewards. `SearchingCollector` samples one of several tried replies at each step. If reply j of N is selected with
probability p_j, the step has the importance weight 1 / (N p_j), with which the expectation of any function of the selected reply is that
under the policy. `search` runs a search method on tasks. The method sees only the policy's inputs.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from random import Random
from statistics import fmean
from typing import Any, Literal, NamedTuple, cast

import gymnasium

from agents.data.trajectories import Ending, Step, Trajectory
from agents.rollouts.collector import Collector, EpisodeSpec, group_episodes, sampling_seed
from agents.rollouts.curriculum import Group
from agents.rollouts.envs import InProcessEnvs, final_reward, step_env
from agents.rollouts.policies import Policy, Reply, Request, TrainedPolicy, resume_episode
from agents.settings import EnvSettings
from webarena_gym.actions.replies import answer_part
from webarena_gym.env import WebArenaLite
from webarena_gym.episode import Snapshot
from webarena_gym.tasks import Task
from webarena_gym.vector import Result

CONTINUATIONS = 4  # continuations of each fork


def try_replies(env: WebArenaLite, replies: Sequence[str], snapshot: Snapshot | None = None) -> list[tuple[Result, Any]]:
    """Execute each of these replies in the same state of an env.

    Args:
        env: The env. Afterwards it is in the state after the last reply.
        replies: The replies.
        snapshot: The state in which replies are executed; the default is the env's current state.

    Returns:
        The result of each reply, with a snapshot of the state after it. The snapshot is None if the episode is over, and for the last reply.

    """
    if snapshot is not None:
        env.restore(snapshot)
    elif len(replies) > 1:
        snapshot = env.snapshot()
    outcomes: list[tuple[Result, Any]] = []
    for number, reply in enumerate(replies, 1):
        if outcomes and snapshot is not None:
            env.restore(snapshot)
        result = step_env(env, reply)
        has_next = number < len(replies) and not (result.terminated or result.truncated)
        outcomes.append((result, env.snapshot() if has_next else None))
    return outcomes


def _await_replies(policy: Policy, requests: Sequence[Request]) -> dict[int, Reply]:
    policy.ask(requests)
    replies: dict[int, Reply] = {}
    while len(replies) < len(requests):
        replies.update(policy.replies())
    return replies


# Forks.


@dataclass
class _Continuation:
    """An active continuation of a fork."""

    start: int  # index of the trajectory's step before which it starts
    number: int  # number among the continuations of this fork
    seed: int
    info: Mapping[str, Any]
    steps: int = 0  # number of steps so far


def fork_groups(
    envs: InProcessEnvs, policy: Policy, groups: Sequence[Group], *, every: int = 1, seed: int = 0
) -> list[list[Trajectory]]:
    """Return the trajectories of groups with continuations from every `every`-th step, without failed trajectories.

    Neither the envs nor the policy may have other pending work.
    """
    local = [envs.local(env_id) for env_id in range(envs.num_envs)]
    return [
        [
            fork(local, policy, episode, item, starts=range(0, len(item.steps), every), continuations=CONTINUATIONS, seed=seed)
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
    envs: Sequence[gymnasium.Env[str, str]], policy: Policy, episode: EpisodeSpec, trajectory: Trajectory, *,
    starts: Sequence[int], continuations: int, seed: int = 0,
) -> Trajectory:  # fmt: skip
    """Return a trajectory with the rewards of continuations at some of its steps.

    A continuation starts in the state before a step, and the policy plays it to the end of the episode. Continuations whose infrastructure
    fails are omitted. Equal seeds give equal continuations.

    Args:
        envs: Envs with snapshots. One continuation is played at a time in each of them.
        policy: The policy.
        episode: The episode that the trajectory was played in.
        trajectory: The trajectory.
        starts: Indices of the steps to fork at.
        continuations: Number of continuations at each of these steps.
        seed: Seed of the run.

    Raises:
        ValueError: The trajectory has no step with such an index, or replaying the trajectory leads to another page.

    """
    if invalid := [start for start in starts if not 0 <= start < len(trajectory.steps)]:
        raise ValueError(f"there is no step {invalid[0]} to fork; expected 0 to {len(trajectory.steps) - 1}")
    inner: list[Any] = [env.unwrapped for env in envs]
    snapshots = {}
    info = inner[0].reset(seed=episode.seed, options=episode.options)[1]
    for number, step in enumerate(trajectory.steps[: max(starts, default=-1) + 1]):
        if info["page"] != step.page:
            raise ValueError(f"replaying the trajectory leads to another page at step {number}; expected the recorded page")
        if number in starts:
            snapshots[number] = inner[0].snapshot()
        info = inner[0].step(step.reply)[4]
    rewards: dict[tuple[int, int], float] = {}  # by start and number
    queue = deque((start, number) for start in snapshots for number in range(continuations))
    active: dict[int, _Continuation] = {}
    while queue or active:
        for slot, env in enumerate(inner):
            if slot not in active and queue:
                start, number = queue.popleft()
                continuation_seed = sampling_seed(sampling_seed(seed, episode.number, start), number, 0)
                active[slot] = _Continuation(start, number, continuation_seed, env.restore(snapshots[start])[1])
                resume_episode(policy, slot, trajectory.goal, trajectory.steps[:start])
        requests = [
            Request(slot, inner[slot], item.info, sampling_seed(item.seed, 0, item.steps)) for slot, item in active.items()
        ]
        for slot, reply in _await_replies(policy, requests).items():
            item = active[slot]
            if not (reply.failure or reply.too_long):
                result = step_env(inner[slot], reply.text)
                item.info, item.steps = result.info, item.steps + 1
                if not (result.terminated or result.truncated):
                    continue
            del active[slot]
            if not (reply.failure or "failure" in item.info):
                reward = 0.0 if reply.too_long else final_reward(result, episode.task, episode.seed)
                rewards[item.start, item.number] = reward
    steps = [
        replace(step, continuations=tuple(rewards[key] for key in sorted(rewards) if key[0] == number))
        for number, step in enumerate(trajectory.steps)
    ]
    return replace(trajectory, steps=tuple(steps))


def fork_advantages(continuations: Sequence[Sequence[float]], reward: float) -> list[float]:
    """Return the advantage V(s_t+1) - V(s_t) of each step (VinePPO, arXiv 2410.01679).

    V(s) is the mean return of the continuations from state s, or the episode's reward after its last step. All steps between two forks have
    the difference of the forks' values as their advantage. Steps before the first fork have the advantage 0.

    Args:
        continuations: Rewards of the continuations at each step; empty for steps without a fork.
        reward: Reward of the episode.

    Raises:
        ValueError: There are steps, but no forks.

    """
    forks = [index for index, returns in enumerate(continuations) if returns]
    if continuations and not forks:
        raise ValueError("advantages are 'forks', but no step has continuations; expected a trajectory returned by `fork`")
    values, ends = [*(fmean(continuations[index]) for index in forks), reward], [*forks, len(continuations)]
    advantages = [0.0] * len(continuations)
    for index, start in enumerate(forks):
        advantages[start : ends[index + 1]] = [values[index + 1] - values[index]] * (ends[index + 1] - start)
    return advantages


# Rollouts with search.


class TriedState(NamedTuple):
    """The state after a tried reply: the episode so far, and the env's info of the new page."""

    episode: Trajectory
    info: Mapping[str, Any]


class SearchingCollector(Collector):
    """A `Collector` that tries several replies at each step and samples one of them by their scores.

    One reply is sampled from the softmax of score / temperature. `reply_count` is the number of env steps of all tried replies, which is the
    cost of the search.

    Args:
        envs: Envs of this process, with snapshots.
        policy: The policy that proposes replies.
        values: Returns the value of each state, from 0 to 1.
        width: Number of replies to sample at each step. Equal replies are tried once.
        choice: Scores of replies. With "best", the score is the value of the next state, or the reward if the episode is over. With
            "diverse", it is 1 / (1 + number of visits of the next page in the group's rollouts).
        temperature: Temperature of the softmax.
        seed: Seed of the run.
        env: Settings of the envs, for the trajectories' records.

    """

    def __init__(
        self, envs: InProcessEnvs, policy: TrainedPolicy, values: Callable[[Sequence[TriedState]], list[float]], *, width: int = 4,
        choice: Literal["best", "diverse"] = "best", temperature: float = 0.2, seed: int = 0,
        env: EnvSettings | None = None,
    ) -> None:  # fmt: skip
        super().__init__(envs, policy, seed=seed, env=env)
        self.reply_count = 0
        self._local, self._inner_policy, self._values = envs, policy, values
        self._width, self._choice, self._temperature = width, choice, temperature
        self._page_counts: dict[int, Counter[str]] = {}  # number of visits of each page in the rollouts of each group

    @property
    def generated_tokens(self) -> int:
        """The number of tokens of all replies."""
        return self._inner_policy.generated_tokens

    @property
    def cpu_s(self) -> float:
        """CPU time in other processes, in seconds."""
        return self._inner_policy.cpu_s

    def _advance(self) -> None:
        while results := self._local.poll():
            for env_id, result in results.items():
                self._active[env_id].info = result.info
                failure = str(result.info.get("failure", ""))
                self._resets.record(failure)
                if failure:
                    self._finish(env_id, "failed", failure=failure)
        groups = {item.episode.group for item in self._active.values()} | {item.group for item in self._queue}
        self._page_counts = {group: page_counts for group, page_counts in self._page_counts.items() if group in groups}
        if self._active:
            self._take_step()

    def _take_step(self) -> None:
        """Play one step of every active episode: request replies, try them, score the next states, and select one reply."""
        tried: dict[int, list[tuple[Reply, Result, Any]]] = {}  # distinct replies with result and snapshot, by env
        width, requests = self._width, []
        for env_id, active in self._active.items():
            active.stage = "generation"
            for number in range(width):
                slot = env_id * width + number
                resume_episode(self._policy, slot, active.episode.task.intent, active.steps)
                seed = sampling_seed(self._seed, active.episode.number, len(active.steps) * width + number)
                requests.append(Request(slot, self._local.local(env_id), active.info, seed))
        all_replies = _await_replies(self._policy, requests)
        self._add_time()
        for active in self._active.values():
            active.stage = "env"
        replies = {env_id: [all_replies[env_id * width + number] for number in range(width)] for env_id in self._active}
        for env_id, own_replies in replies.items():
            active = self._active[env_id]
            if failure := next((reply.failure for reply in own_replies if reply.failure), ""):
                self._finish(env_id, "failed", failure=failure)
            elif own_replies[0].too_long:
                active.policy_version = own_replies[0].policy_version
                self._finish(env_id, "too_long")
            else:
                reply_by_text = {reply.text: reply for reply in reversed(own_replies)}
                texts = list(dict.fromkeys(reply.text for reply in own_replies))
                outcomes = try_replies(self._local.local(env_id), texts)
                self.reply_count += len(texts)
                if failure := next((result.info["failure"] for result, _ in outcomes if "failure" in result.info), ""):
                    self._finish(env_id, "failed", failure=str(failure))
                else:
                    tried[env_id] = [(reply_by_text[text], *outcome) for text, outcome in zip(texts, outcomes, strict=True)]
        self._add_time()
        scores = self._score(tried)
        for env_id, tried_replies in tried.items():
            self._select_reply(env_id, replies[env_id], tried_replies, scores)

    def _score(self, tried: Mapping[int, Sequence[tuple[Reply, Result, Any]]]) -> dict[tuple[int, str], float]:
        """Return the score of each reply: the reward if the episode is over, and the value of the next state otherwise."""
        scores: dict[tuple[int, str], float] = {}
        open_states: dict[tuple[int, str], TriedState] = {}
        for env_id, outcomes in tried.items():
            task = self._active[env_id].episode.task
            for reply, result, _ in outcomes if len(outcomes) > 1 else ():
                if result.terminated or result.truncated:
                    scores[env_id, reply.text] = final_reward(result, task, self._active[env_id].episode.seed)
                else:
                    steps = (*self._active[env_id].steps, self._step(env_id, reply, result))
                    episode = Trajectory(task.task_id, task.intent, steps, 0.0, "truncated", env=self._env)
                    open_states[env_id, reply.text] = TriedState(episode, result.info)
        if open_states:
            scores |= zip(open_states, self._values(list(open_states.values())), strict=True)
        return scores

    def _step(self, env_id: int, reply: Reply, result: Result) -> Step:
        return reply.step(str(self._active[env_id].info["page"]), str(result.info["action_error"]))

    def _select_reply(
        self, env_id: int, replies: Sequence[Reply], tried: Sequence[tuple[Reply, Result, Any]],
        scores: Mapping[tuple[int, str], float],
    ) -> None:  # fmt: skip
        """Sample one of the replies by its score, and continue the episode in the state after it."""
        active = self._active[env_id]
        page_counts = self._page_counts.setdefault(active.episode.group, Counter())
        values = {reply.text: scores.get((env_id, reply.text), 0.0) for reply, _, _ in tried}
        rarities = {reply.text: 1 / (1 + page_counts[str(result.info["page"])]) for reply, result, _ in tried}
        reply_scores = rarities if self._choice == "diverse" else values
        rng = Random(f"{self._seed}/{active.episode.number}/{len(active.steps)}/kept")
        number, importance = draw_reply([reply_scores[reply.text] for reply in replies], self._temperature, rng)
        reply = replies[number]
        result, snapshot = next((result, snapshot) for item, result, snapshot in tried if item.text == reply.text)
        page_counts[str(result.info["page"])] += 1
        oldest_version = active.policy_version
        active.policy_version = reply.policy_version if oldest_version is None else min(reply.policy_version, oldest_version)
        gain = values[reply.text] - fmean(values[item.text] for item in replies)
        active.steps.append(replace(self._step(env_id, reply, result), importance=importance, gain=gain))
        active.info = result.info
        if result.terminated or result.truncated:
            reward = final_reward(result, active.episode.task, active.episode.seed)
            self._finish(env_id, "exited" if result.terminated else "truncated", reward)
        elif snapshot is not None:
            self._local.local(env_id).restore(snapshot)


def draw_reply(scores_N: Sequence[float], temperature: float, rng: Random) -> tuple[int, float]:
    """Sample one of N replies from the softmax of score / temperature. Return its index and importance weight 1 / (N p).

    >>> draw_reply([0.5, 0.5], 1.0, Random(0))[1]
    1.0
    """
    highest = max(scores_N)
    masses = [exp((score - highest) / temperature) for score in scores_N]
    (index,) = rng.choices(range(len(masses)), masses)
    return index, sum(masses) / (len(masses) * masses[index])


# Search trees.


@dataclass(frozen=True, slots=True, eq=False)
class SearchState:
    """A state of an episode with the policy's inputs: the messages and replies so far.

    The reward is hidden from searches at test time. In searches that collect training data, end states have it.
    """

    number: int  # index among the states of one search, in order of creation
    parent: "SearchState | None"
    messages: Sequence[Mapping[str, Any]]  # the prompt of the next reply
    page: str
    steps: tuple[Step, ...]  # all steps of the episode so far
    ending: Ending | None = None  # None if the episode is not over
    reward: float | None = None  # reward of an end state, if it is visible


class Expansion(NamedTuple):
    """A search's request to expand a state. The answer are between one and `max_children` child states."""

    state: SearchState
    replies: int  # number of replies to sample; replies with equal actions are one child
    max_children: int


Search = Generator[Expansion, Sequence[SearchState], SearchState]
"""A search of one task: yields expansions, receives the child states of each, and returns the chosen end state."""
Method = Callable[[SearchState], Search]
"""A search method: returns the search that starts in a state."""


class SearchResult(NamedTuple):
    """The result of a search, and its cost."""

    trajectory: Trajectory  # the chosen episode
    oracle: Trajectory  # the finished episode with the highest reward; searches do not have this information
    episodes: int  # number of finished episodes
    env_steps: int
    generated_tokens: int  # tokens of all replies; 0 for policies without tokens
    states: tuple[SearchState, ...] = ()  # all states
    branches: tuple[Trajectory, ...] = ()  # episodes to all leaves that did not fail, the chosen one first


def search(
    envs: Sequence[gymnasium.Env[str, str]], policy: Policy, tasks: Sequence[Task], method: Method, *, seed: int = 0,
    with_rewards: bool = False, on_finish: Callable[[SearchResult], None] | None = None,
) -> list[SearchResult]:  # fmt: skip
    """Search each task once, and return the results in order.

    Sampling depends only on the seed, the task's index and the search. The first page of a task is the same as in `evaluate`.

    Args:
        envs: Envs with snapshots. One task at a time is searched in each of them, and their replies are sampled together.
        policy: The policy.
        tasks: The tasks.
        method: The search method.
        seed: Seed of the run.
        with_rewards: Give end states their rewards, for training.
        on_finish: Called with each result when it is ready.

    """
    queue = deque(enumerate(tasks))
    trees: dict[int, tuple[int, Any]] = {}  # index of a task and its search, by env
    pending: dict[int, list[Request]] = {}  # by env
    results: dict[int, SearchResult] = {}  # by task
    while queue or trees:
        for slot, env in enumerate(envs):
            if slot not in trees and queue:
                number, task = queue.popleft()
                tree = _search_task(cast("WebArenaLite", env.unwrapped), task, number, method, seed, with_rewards=with_rewards)
                trees[slot], pending[slot] = (number, tree), next(tree)
        replies = _await_replies(policy, [
            request._replace(slot=slot + request.slot * len(envs)) for slot, requests in pending.items() for request in requests
        ])  # fmt: skip
        for slot, requests in list(pending.items()):
            number, tree = trees[slot]
            try:
                pending[slot] = tree.send([replies[slot + index * len(envs)] for index in range(len(requests))])
            except StopIteration as stop:
                results[number] = stop.value
                del trees[slot], pending[slot]
                if on_finish:
                    on_finish(stop.value)
    return [results[number] for number in range(len(tasks))]


def _search_task(
    env: WebArenaLite, task: Task, number: int, method: Method, seed: int, *, with_rewards: bool
) -> Generator[list[Request], Sequence[Reply], SearchResult]:
    """Search a task: yield the requests of each expansion, receive the replies, and return the result.

    This function stores the snapshots and rewards, which are hidden from the method.
    """
    task_seed, env_steps, generated_tokens, expansions = sampling_seed(seed, number, 0), 0, 0, 0
    info = env.reset(seed=seed + number, options={"task": task})[1]
    root = SearchState(0, None, info["messages"], info["page"], ())
    current: SearchState | None = root  # the env's state; None if it is no open state
    states = [root]
    open_states = {0: (env.snapshot(), info)}  # by number of the state
    outcomes: dict[int, tuple[float, tuple[Mapping[str, Any], ...], str]] = {}  # reward, verdicts and failure of end states

    def episode(end: SearchState) -> Trajectory:
        """Return the episode that ends in this state. It is truncated with reward 0 if the search stopped before its end."""
        reward, verdicts, failure = outcomes.get(end.number, (0.0, (), ""))
        ending = end.ending or "truncated"
        return Trajectory(task.task_id, task.intent, end.steps, reward, ending, number, verdicts=verdicts, failure=failure)

    search_steps = method(root)
    expansion = next(search_steps)
    while True:
        parent = expansion.state
        snapshot, info = open_states[parent.number]
        if current is not parent:
            env.restore(snapshot)
        expansions += 1
        expansion_seed = sampling_seed(task_seed, expansions, 0)
        replies = yield [
            Request(index, env, info, sampling_seed(expansion_seed, index, 0), parent.steps)
            for index in range(expansion.replies)
        ]
        current = parent
        generated_tokens += sum(len(reply.response_ids) for reply in replies)
        distinct: dict[tuple[str, str, bool], Reply] = {}
        for reply in replies:
            distinct.setdefault((answer_part(reply.text), reply.failure, reply.too_long), reply)
        children = []
        for reply in list(distinct.values())[: expansion.max_children]:
            child = replace(parent, number=len(states), parent=parent, ending="failed")
            failure = reply.failure
            if reply.too_long and not failure:
                child = replace(child, ending="too_long")
            elif not failure:
                ((result, _),) = try_replies(env, [reply.text], None if current is parent else snapshot)
                current, env_steps = None, env_steps + 1
                failure = str(result.info.get("failure", ""))
            if failure or reply.too_long:
                outcomes[child.number] = 0.0, (), failure
            else:
                info = result.info
                ending: Ending | None = "exited" if result.terminated else "truncated" if result.truncated else None
                reward = final_reward(result, task, seed + number) if ending else 0.0
                visible_reward = reward if ending and with_rewards else None
                steps = (*parent.steps, reply.step(parent.page, str(info["action_error"])))
                child = SearchState(child.number, parent, info["messages"], info["page"], steps, ending, visible_reward)
                if ending is None:
                    current, open_states[child.number] = child, (env.snapshot(), info)
                else:
                    outcomes[child.number] = reward, tuple(info.get("verdicts", ())), ""
            states.append(child)
            children.append(child)
        try:
            expansion = search_steps.send(children)
        except StopIteration as end:
            selected_state: SearchState = end.value
            break
    ends = [state for state in states if state.ending in ("exited", "truncated")]
    best = max([selected_state, *ends], key=lambda state: episode(state).reward)
    parents = {state.parent.number for state in states if state.parent is not None}
    leaves = [state for state in states if state.number not in parents and state.steps and state.ending != "failed"]
    branches = tuple(episode(state) for state in sorted(leaves, key=lambda state: state is not selected_state))
    return SearchResult(episode(selected_state), episode(best), len(ends), env_steps, generated_tokens, tuple(states), branches)
