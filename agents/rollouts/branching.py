"""Replies tried from snapshots of an env: forks of played episodes, rollouts that search at each step, and search trees.

`branch` tries replies in one state. `fork` continues an episode from its own steps, and `fork_advantages` is the credit that follows.
`SearchingCollector` keeps one of several replies at each step. What is kept is drawn, so the learner can correct for it: where reply j of
N is kept with probability p_j, 1 / (N p_j) is the importance weight of its step, whose expectation over the draw of any function of the
kept reply is the policy's own. `search` grows the tree of a task as a search method requests, which sees only what the policy sees.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from random import Random
from statistics import fmean
from typing import Any, Literal, NamedTuple

import gymnasium

from agents.data.trajectories import Ending, Step, Trajectory
from agents.rollouts.collector import Collector, EpisodeSpec, group_episodes, sampling_seed
from agents.rollouts.curriculum import Group
from agents.rollouts.envs import InProcessEnvs, final_reward, take
from agents.rollouts.policies import Policy, Reply, Request, resume
from agents.settings import EnvSettings
from webarena_gym.actions.replies import answer_part
from webarena_gym.tasks import Task
from webarena_gym.vector import Result

CONTINUATIONS = 4  # rollouts played on from each fork


def branch(env: Any, replies: Sequence[str], before: Any = None) -> list[tuple[Result, Any]]:
    """Return what comes of each of these replies in the state `before` of an env, by default the one that it is in, and a snapshot.

    The snapshot is None where the episode is over, and for the last reply, in whose state the env is left.
    """
    if before is not None:
        env.restore(before)
    elif len(replies) > 1:
        before = env.snapshot()
    found: list[tuple[Result, Any]] = []
    for number, reply in enumerate(replies, 1):
        if found:
            env.restore(before)
        result = take(env, reply)
        is_left = number < len(replies) and not (result.terminated or result.truncated)
        found.append((result, env.snapshot() if is_left else None))
    return found


def _replies(policy: Policy, requests: Sequence[Request]) -> dict[int, Reply]:
    policy.ask(requests)
    found: dict[int, Reply] = {}
    while len(found) < len(requests):
        found.update(policy.replies())
    return found


# Forks.


@dataclass
class _Continuation:
    start: int  # the step of the trajectory in whose state it begins
    number: int  # of those that begin there
    seed: int
    info: Mapping[str, Any]
    steps: int = 0  # taken so far


def fork_groups(
    envs: InProcessEnvs, policy: Policy, groups: Sequence[Group], *, every: int = 1, seed: int = 0
) -> list[list[Trajectory]]:
    """Return the trajectories of whole groups, continued from every so many of their steps; those that failed are left out.

    Neither the envs nor the policy may have anything else under way.
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
    """Return the trajectory with the rewards of so many `continuations` at each of the steps `starts`.

    `trajectory` is what came of `episode` in an env such as these, which have snapshots. A continuation begins before its step is
    taken, and the policy plays it to the end; as many are played at once as there are envs. One that breaks through no fault of
    the policy is left out. Equal seeds give equal continuations. Raises ValueError for a step that the trajectory does not have,
    and for a replay that shows another page than the recorded one.
    """
    if wrong := [start for start in starts if not 0 <= start < len(trajectory.steps)]:
        raise ValueError(f"there is no step {wrong[0]} to fork; expected 0 to {len(trajectory.steps) - 1}")
    inner: list[Any] = [env.unwrapped for env in envs]
    snapshots = {}
    info = inner[0].reset(seed=episode.seed, options=episode.options)[1]
    for number, step in enumerate(trajectory.steps[: max(starts, default=-1) + 1]):
        if info["page"] != step.page:
            raise ValueError(f"the replay shows another page at step {number}; expected the one that was recorded")
        if number in starts:
            snapshots[number] = inner[0].snapshot()
        info = inner[0].step(step.reply)[4]
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
        requests = [
            Request(slot, inner[slot], item.info, sampling_seed(item.seed, 0, item.steps)) for slot, item in playing.items()
        ]
        for slot, reply in _replies(policy, requests).items():
            item = playing[slot]
            if not (reply.failure or reply.too_long):
                result = take(inner[slot], reply.text)
                item.info, item.steps = result.info, item.steps + 1
                if not (result.terminated or result.truncated):
                    continue
            del playing[slot]
            if not (reply.failure or "failure" in item.info):
                reward = 0.0 if reply.too_long else final_reward(result, episode.task, episode.seed)
                rewards[item.start, item.number] = reward
    steps = [
        replace(step, continuations=tuple(rewards[key] for key in sorted(rewards) if key[0] == number))
        for number, step in enumerate(trajectory.steps)
    ]
    return replace(trajectory, steps=tuple(steps))


def fork_advantages(continuations: Sequence[Sequence[float]], reward: float) -> list[float]:
    """Return V(s_t+1) - V(s_t) of each step, V being the mean return of continuations from a state (VinePPO, arXiv 2410.01679).

    Steps between two forks share what was gained from one to the next; those before the first fork get 0.
    """
    forks = [index for index, returns in enumerate(continuations) if returns]
    if continuations and not forks:
        raise ValueError("advantages are 'forks' and no step has continuations; expected some, as of `fork`")
    values, ends = [*(fmean(continuations[index]) for index in forks), reward], [*forks, len(continuations)]
    advantages = [0.0] * len(continuations)
    for place, start in enumerate(forks):
        advantages[start : ends[place + 1]] = [values[place + 1] - values[place]] * (ends[place + 1] - start)
    return advantages


# Rollouts that search.


class Reached(NamedTuple):
    """A state that a tried reply led to: the episode until then, and what the env says of the new page."""

    episode: Trajectory
    info: Mapping[str, Any]


class SearchingCollector(Collector):
    """Plays episodes with a search at each step, in envs of this process, which have snapshots.

    `width` replies are tried at each step, equal ones once. Of them one is drawn by the softmax of its score, which is 0 to 1, divided by
    `temperature`: `choice` "best" scores a state by its value, which `values` returns from 0 to 1, or by the reward of an episode that is
    over, "diverse" by how rarely the group's rollouts came to its page. It has the interface of a `Collector`. It counts the env steps of all
    tries in `replied`, since these are what the search costs.
    """

    def __init__(
        self, envs: InProcessEnvs, policy: Any, values: Callable[[Sequence[Reached]], list[float]], *, width: int = 4,
        choice: Literal["best", "diverse"] = "best", temperature: float = 0.2, seed: int = 0,
        env: EnvSettings | None = None,
    ) -> None:  # fmt: skip
        super().__init__(envs, policy, seed=seed, env=env)
        self.replied = 0
        self._local, self._counted, self._values = envs, policy, values
        self._width, self._choice, self._temperature = width, choice, temperature
        self._seen: dict[int, Counter[str]] = {}  # by group, how often its rollouts have come to a page

    @property
    def generated_tokens(self) -> int:
        """The tokens of all replies."""
        return int(self._counted.generated_tokens)

    @property
    def cpu_s(self) -> float:
        """CPU time in other processes."""
        return float(self._counted.cpu_s)

    def _advance(self) -> None:
        for env_id, result in self._local.poll().items():
            self._playing[env_id].info = result.info
            if failure := result.info.get("failure"):
                self._finish(env_id, "failed", failure=str(failure))
        groups = {item.episode.group for item in self._playing.values()} | {item.group for item in self._waiting}
        self._seen = {group: seen for group, seen in self._seen.items() if group in groups}
        if self._playing:
            self._take_step()

    def _take_step(self) -> None:
        """Let every episode take one step: ask for replies, try them, score what they led to, and keep one of each."""
        tried: dict[int, list[tuple[Reply, Result, Any]]] = {}  # the different replies, and what came of them
        width, requests = self._width, []
        for env_id, playing in self._playing.items():
            playing.stage = "generation"
            for number in range(width):
                slot = env_id * width + number
                resume(self._policy, slot, playing.episode.task.intent, playing.steps)
                seed = sampling_seed(self._seed, playing.episode.number, len(playing.steps) * width + number)
                requests.append(Request(slot, self._local.local(env_id), playing.info, seed))
        found = _replies(self._policy, requests)
        self._note_time()
        for playing in self._playing.values():
            playing.stage = "env"
        replies = {env_id: [found[env_id * width + number] for number in range(width)] for env_id in self._playing}
        for env_id, own in replies.items():
            playing = self._playing[env_id]
            if failure := next((reply.failure for reply in own if reply.failure), ""):
                self._finish(env_id, "failed", failure=failure)
            elif own[0].too_long:
                playing.policy_version = own[0].policy_version
                self._finish(env_id, "too_long")
            else:
                different = {reply.text: reply for reply in reversed(own)}
                texts = list(dict.fromkeys(reply.text for reply in own))
                outcomes = branch(self._local.local(env_id), texts)
                self.replied += len(texts)
                if failure := next((result.info["failure"] for result, _ in outcomes if "failure" in result.info), ""):
                    self._finish(env_id, "failed", failure=str(failure))
                else:
                    tried[env_id] = [(different[text], *outcome) for text, outcome in zip(texts, outcomes, strict=True)]
        self._note_time()
        scores = self._score(tried)
        for env_id, outcomes_of in tried.items():
            self._keep(env_id, replies[env_id], outcomes_of, scores)

    def _score(self, tried: Mapping[int, Sequence[tuple[Reply, Result, Any]]]) -> dict[tuple[int, str], float]:
        """Return the score of what each reply led to: the reward of an episode that is over, else the value of its state."""
        scores: dict[tuple[int, str], float] = {}
        open_states: dict[tuple[int, str], Reached] = {}
        for env_id, outcomes in tried.items():
            task = self._playing[env_id].episode.task
            for reply, result, _ in outcomes if len(outcomes) > 1 else ():
                if result.terminated or result.truncated:
                    scores[env_id, reply.text] = final_reward(result, task, self._playing[env_id].episode.seed)
                else:
                    steps = (*self._playing[env_id].steps, self._step(env_id, reply, result))
                    episode = Trajectory(task.task_id, task.intent, steps, 0.0, "truncated", env=self._env)
                    open_states[env_id, reply.text] = Reached(episode, result.info)
        if open_states:
            scores |= zip(open_states, self._values(list(open_states.values())), strict=True)
        return scores

    def _step(self, env_id: int, reply: Reply, result: Result) -> Step:
        return reply.step(str(self._playing[env_id].info["page"]), str(result.info["action_error"]))

    def _keep(
        self, env_id: int, replies: Sequence[Reply], tried: Sequence[tuple[Reply, Result, Any]],
        scores: Mapping[tuple[int, str], float],
    ) -> None:  # fmt: skip
        """Draw one of the replies by what it led to, and let the episode go on from there."""
        playing = self._playing[env_id]
        seen = self._seen.setdefault(playing.episode.group, Counter())
        values = {reply.text: scores.get((env_id, reply.text), 0.0) for reply, _, _ in tried}
        rarities = {reply.text: 1 / (1 + seen[str(result.info["page"])]) for reply, result, _ in tried}
        own = rarities if self._choice == "diverse" else values
        rng = Random(f"{self._seed}/{playing.episode.number}/{len(playing.steps)}/kept")
        number, importance = draw([own[reply.text] for reply in replies], self._temperature, rng)
        reply = replies[number]
        result, snapshot = next((result, snapshot) for each, result, snapshot in tried if each.text == reply.text)
        seen[str(result.info["page"])] += 1
        oldest = playing.policy_version
        playing.policy_version = reply.policy_version if oldest is None else min(reply.policy_version, oldest)
        gain = values[reply.text] - fmean(values[each.text] for each in replies)
        playing.steps.append(replace(self._step(env_id, reply, result), importance=importance, gain=gain))
        playing.info = result.info
        if result.terminated or result.truncated:
            reward = final_reward(result, playing.episode.task, playing.episode.seed)
            self._finish(env_id, "exited" if result.terminated else "truncated", reward)
        elif snapshot is not None:
            self._local.local(env_id).restore(snapshot)


def draw(scores_N: Sequence[float], temperature: float, rng: Random) -> tuple[int, float]:
    """Return the place of one of N scores, drawn by the softmax of score / temperature, and its importance weight 1 / (N p).

    >>> draw([0.5, 0.5], 1.0, Random(0))[1]
    1.0
    """
    highest = max(scores_N)
    masses = [exp((score - highest) / temperature) for score in scores_N]
    (place,) = rng.choices(range(len(masses)), masses)
    return place, sum(masses) / (len(masses) * masses[place])


# Search trees.


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A state of an episode as the policy sees it: the messages and replies so far, without reward.

    Only where a search collects data for training, an end has its reward.
    """

    number: int  # of the states of one search, as they were reached
    parent: "State | None"
    messages: Sequence[Mapping[str, Any]]  # the chat that leads to the next reply
    page: str
    steps: tuple[Step, ...]  # all from the beginning
    ending: Ending | None = None  # None: it can go on
    reward: float | None = None  # of an end, where it is told


class Expansion(NamedTuple):
    """A request of a search to expand a state. The search is sent between one and `most` states that follow."""

    state: State
    replies: int  # to sample in the state; replies with equal actions count once
    most: int


Search = Generator[Expansion, Sequence[State], State]
Method = Callable[[State], Search]  # given the first state; returns the end that it has chosen


class Found(NamedTuple):
    """The result of a search, and its cost."""

    trajectory: Trajectory  # the chosen episode
    oracle: Trajectory  # the episode with the highest reward among all that ended, which no search can choose by
    episodes: int  # that ended
    env_steps: int
    generated_tokens: int  # of all replies; 0 for policies without tokens
    states: tuple[State, ...] = ()  # all that were reached
    branches: tuple[Trajectory, ...] = ()  # to each state that nothing follows, the chosen one first; none that failed


def search(
    envs: Sequence[gymnasium.Env[str, str]], policy: Policy, tasks: Sequence[Task], method: Method, *, seed: int = 0,
    tells_rewards: bool = False, on_finish: Callable[[Found], None] | None = None,
) -> list[Found]:  # fmt: skip
    """Search each task once, in envs that have snapshots, and return the results in order.

    With `tells_rewards`, for training, ends have their rewards.

    One task per env is searched at a time, and replies for all of them are sampled together. The first page of a task is that of
    `evaluate`. Sampling depends on the seed, the task's index and the search only.
    """
    waiting = deque(enumerate(tasks))
    trees: dict[int, tuple[int, Any]] = {}  # by env: the number of a task, and its tree
    asked: dict[int, list[Request]] = {}  # by env
    found: dict[int, Found] = {}  # by task
    while waiting or trees:
        for place, env in enumerate(envs):
            if place not in trees and waiting:
                number, task = waiting.popleft()
                tree = _grow(env.unwrapped, task, number, method, seed, tells_rewards=tells_rewards)
                trees[place], asked[place] = (number, tree), next(tree)
        replies = _replies(policy, [
            request._replace(slot=place + request.slot * len(envs)) for place, own in asked.items() for request in own
        ])  # fmt: skip
        for place, own in list(asked.items()):
            number, tree = trees[place]
            try:
                asked[place] = tree.send([replies[place + index * len(envs)] for index in range(len(own))])
            except StopIteration as over:
                found[number] = over.value
                del trees[place], asked[place]
                if on_finish:
                    on_finish(over.value)
    return [found[number] for number in range(len(tasks))]


def _grow(
    env: Any, task: Task, number: int, method: Method, seed: int, *, tells_rewards: bool
) -> Generator[list[Request], Sequence[Reply], Found]:
    """Search a task: yield the requests of each expansion, be sent the replies, and return the result.

    It holds the snapshots and the rewards, which the method does not see.
    """
    own_seed, env_steps, generated_tokens, expansions = sampling_seed(seed, number, 0), 0, 0, 0
    info = env.reset(seed=seed + number, options={"task": task})[1]
    root = State(0, None, info["messages"], info["page"], ())
    here: State | None = root  # where the env is
    states = [root]
    open_states = {0: (env.snapshot(), info)}  # by the state's number
    judged: dict[int, tuple[float, tuple[Mapping[str, Any], ...], str]] = {}  # reward, verdicts and failure of ends

    def episode(end: State) -> Trajectory:
        """Return the episode that ends in this state. If the budget ended it, it is truncated with the reward 0."""
        reward, verdicts, failure = judged.get(end.number, (0.0, (), ""))
        ending = end.ending or "truncated"
        return Trajectory(task.task_id, task.intent, end.steps, reward, ending, number, verdicts=verdicts, failure=failure)

    searching = method(root)
    expansion = next(searching)
    while True:
        parent = expansion.state
        snapshot, info = open_states[parent.number]
        if here is not parent:
            env.restore(snapshot)
        expansions += 1
        asked = sampling_seed(own_seed, expansions, 0)
        replies = yield [
            Request(index, env, info, sampling_seed(asked, index, 0), parent.steps) for index in range(expansion.replies)
        ]
        here = parent
        generated_tokens += sum(len(reply.response_ids) for reply in replies)
        different: dict[tuple[str, str, bool], Reply] = {}
        for reply in replies:
            different.setdefault((answer_part(reply.text), reply.failure, reply.too_long), reply)
        children = []
        for reply in list(different.values())[: expansion.most]:
            child = replace(parent, number=len(states), parent=parent, ending="failed")
            failure = reply.failure
            if reply.too_long and not failure:
                child = replace(child, ending="too_long")
            elif not failure:
                ((result, _),) = branch(env, [reply.text], None if here is parent else snapshot)
                here, env_steps = None, env_steps + 1
                failure = str(result.info.get("failure", ""))
            if failure or reply.too_long:
                judged[child.number] = 0.0, (), failure
            else:
                info = result.info
                ending: Ending | None = "exited" if result.terminated else "truncated" if result.truncated else None
                reward = final_reward(result, task, seed + number) if ending else 0.0
                told = reward if ending and tells_rewards else None
                steps = (*parent.steps, reply.step(parent.page, str(info["action_error"])))
                child = State(child.number, parent, info["messages"], info["page"], steps, ending, told)
                if ending is None:
                    here, open_states[child.number] = child, (env.snapshot(), info)
                else:
                    judged[child.number] = reward, tuple(info.get("verdicts", ())), ""
            states.append(child)
            children.append(child)
        try:
            expansion = searching.send(children)
        except StopIteration as stop:
            chosen: State = stop.value
            break
    ends = [state for state in states if state.ending in ("exited", "truncated")]
    best = max([chosen, *ends], key=lambda state: episode(state).reward)
    followed = {state.parent.number for state in states if state.parent is not None}
    last = [state for state in states if state.number not in followed and state.steps and state.ending != "failed"]
    branches = tuple(episode(state) for state in sorted(last, key=lambda state: state is not chosen))
    return Found(episode(chosen), episode(best), len(ends), env_steps, generated_tokens, tuple(states), branches)
