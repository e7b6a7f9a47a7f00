"""Search trees: states of an episode are expanded from snapshots of the env, as a search method requests.

A search is a generator. It yields the state to expand, is sent the states that follow, and returns the end that it has chosen. It sees
only what the policy sees: snapshots and rewards stay in this module.
"""

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gymnasium

from agents.data.trajectories import Ending, Step, Trajectory
from agents.rollouts.collector import sampling_seed
from agents.rollouts.policies import Policy, Reply, Request
from webarena_gym.actions.replies import answer_part
from webarena_gym.tasks import Task
from webarena_gym.vector import INFRASTRUCTURE_ERRORS


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
Method = Callable[[State], Search]  # given the first state


class Found(NamedTuple):
    """The result of a search, and its cost."""

    trajectory: Trajectory  # the chosen episode
    oracle: Trajectory  # the episode with the highest reward among all that ended, which no search can choose by
    episodes: int  # that ended
    env_steps: int
    generated_tokens: int  # of all replies; 0 for policies without tokens
    states: tuple[State, ...] = ()  # all that were reached
    branches: tuple[Trajectory, ...] = ()  # to each state that nothing follows, the chosen one first; none that failed


def play(
    envs: Sequence[gymnasium.Env[str, str]],
    policy: Policy,
    tasks: Sequence[Task],
    method: Method,
    *,
    seed: int = 0,
    tells_rewards: bool = False,
    on_finish: Callable[[Found], None] | None = None,
) -> list[Found]:
    """Search each task once, in envs that have snapshots, and return the results in order.

    With `tells_rewards`, for training, ends have their rewards.

    One task per env is searched at a time, and replies for all of them are sampled together. The first page of a task is that of
    `evaluate`. Sampling depends on the seed, the task's index and the search only.
    """
    waiting = deque(enumerate(tasks))
    trees: dict[int, _Tree] = {}  # by env
    found: dict[int, Found] = {}  # by task
    while waiting or trees:
        for place, env in enumerate(envs):
            if place not in trees and waiting:
                number, task = waiting.popleft()
                trees[place] = _Tree(env.unwrapped, task, number, method, seed, tells_rewards=tells_rewards)
        requests = [
            request._replace(slot=place + index * len(envs))
            for place, tree in trees.items()
            for index, request in enumerate(tree.requests())
        ]
        policy.ask(requests)
        replies: dict[int, Reply] = {}
        while len(replies) < len(requests):
            replies.update(policy.replies())
        for place, tree in list(trees.items()):
            result = tree.grow([replies[slot] for slot in sorted(replies) if slot % len(envs) == place])
            if result is not None:
                found[tree.number] = result
                del trees[place]
                if on_finish:
                    on_finish(result)
    return [found[number] for number in range(len(tasks))]


class _Judgement(NamedTuple):
    reward: float = 0.0
    verdicts: tuple[Mapping[str, Any], ...] = ()
    failure: str = ""


class _Tree:
    """One search in one env. It holds the snapshots and rewards, which the search does not see."""

    def __init__(self, env: Any, task: Task, number: int, method: Method, seed: int, *, tells_rewards: bool = False) -> None:
        self.number = number
        self._tells_rewards = tells_rewards
        self._env, self._task = env, task
        self._seed = sampling_seed(seed, number, 0)
        _, info = env.reset(seed=seed + number, options={"task": task})
        root = State(0, None, info["messages"], info["page"], ())
        self._states = [root]
        self._open = {0: (env.snapshot(), info)}  # by the state's number
        self._here: State | None = root  # where the env is
        self._judged: dict[int, _Judgement] = {}
        self._expansions = self._env_steps = self._generated_tokens = 0
        self._search = method(root)
        self._wanted = next(self._search)

    def requests(self) -> list[Request]:
        """Restore the state that is to be expanded, and return the requests for the policy."""
        state = self._wanted.state
        self._go_to(state)
        _, info = self._open[state.number]
        self._expansions += 1
        own_seed = sampling_seed(self._seed, self._expansions, 0)
        return [
            Request(index, self._env, info, sampling_seed(own_seed, index, 0), state.steps)
            for index in range(self._wanted.replies)
        ]

    def grow(self, replies: Sequence[Reply]) -> Found | None:
        """Act on the replies and send the new states to the search. Returns its result when it is over, else None."""
        self._generated_tokens += sum(len(reply.response_ids) for reply in replies)
        different: dict[tuple[str, str, bool], Reply] = {}
        for reply in replies:
            different.setdefault((answer_part(reply.text), reply.failure, reply.too_long), reply)
        children = [self._follow(reply) for reply in list(different.values())[: self._wanted.most]]
        try:
            self._wanted = self._search.send(children)
        except StopIteration as stop:
            return self._found(stop.value)
        return None

    def _follow(self, reply: Reply) -> State:
        """Return the state after a reply."""
        if reply.failure:
            return self._lost("failed", reply.failure)
        if reply.too_long:
            return self._lost("too_long")
        parent = self._wanted.state
        self._go_to(parent)
        self._here = None
        self._env_steps += 1
        try:
            _, reward, terminated, truncated, info = self._env.step(reply.text)
        except INFRASTRUCTURE_ERRORS as error:
            return self._lost("failed", f"{type(error).__name__}: {error}")
        if failure := info.get("failure"):
            return self._lost("failed", str(failure))
        error_said = str(info["action_error"])
        step = reply.step(parent.page, error_said)
        ending: Ending | None = "exited" if terminated else "truncated" if truncated else None
        told = float(reward) if ending and self._tells_rewards else None
        state = self._add(State(len(self._states), parent, info["messages"], info["page"], (*parent.steps, step), ending, told))
        if ending is None:
            self._open[state.number] = self._env.snapshot(), info
            self._here = state
        else:
            self._judged[state.number] = _Judgement(float(reward), tuple(info.get("verdicts", ())))
        return state

    def _go_to(self, state: State) -> None:
        if self._here is not state:
            self._env.restore(self._open[state.number][0])
            self._here = state

    def _lost(self, ending: Ending, failure: str = "") -> State:
        """Return the end of an episode that could not be continued."""
        parent = self._wanted.state
        state = self._add(replace(parent, number=len(self._states), parent=parent, ending=ending))
        self._judged[state.number] = _Judgement(failure=failure)
        return state

    def _add(self, state: State) -> State:
        self._states.append(state)
        return state

    def _found(self, chosen: State) -> Found:
        ends = [state for state in self._states if state.ending in ("exited", "truncated")]
        best = max([chosen, *ends], key=lambda state: self._judged.get(state.number, _Judgement()).reward)
        episodes = self._trajectory(chosen), self._trajectory(best)
        followed = {state.parent.number for state in self._states if state.parent is not None}
        last = [state for state in self._states if state.number not in followed and state.steps and state.ending != "failed"]
        branches = tuple(self._trajectory(state) for state in sorted(last, key=lambda state: state is not chosen))
        return Found(*episodes, len(ends), self._env_steps, self._generated_tokens, tuple(self._states), branches)

    def _trajectory(self, end: State) -> Trajectory:
        """Return the episode that ends in this state. If the budget ended it, it is truncated with the reward 0."""
        judged = self._judged.get(end.number, _Judgement())
        return Trajectory(
            task_id=self._task.task_id,
            goal=self._task.intent,
            steps=end.steps,
            reward=judged.reward,
            ending=end.ending or "truncated",
            group=self.number,
            verdicts=judged.verdicts,
            failure=judged.failure,
        )
