"""Branches: tasks played as trees of states, which grow from snapshots as a search asks for them.

A search is a generator: it says from which state to go on, is sent the states that follow, and returns the end it has chosen. It
knows what the policy could know. Snapshots and rewards stay here, so that no judgement reaches a choice.
"""

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium

from agents.data.trajectories import Ending, Step, Trajectory
from agents.evaluation.search.values import State
from agents.rollouts.collector import sampling_seed
from agents.rollouts.policies import Policy, Reply, Request
from webarena_gym.actions.replies import answer_part
from webarena_gym.tasks import Task
from webarena_gym.vector import INFRASTRUCTURE_ERRORS


class Expansion(NamedTuple):
    """What a search asks for: states that follow one that can go on. It is sent one at least and `most` at most."""

    state: State
    replies: int  # to sample there; those of equal actions count once
    most: int


Search = Generator[Expansion, Sequence[State], State]
Method = Callable[[State], Search]  # given the first state


class Found(NamedTuple):
    """What a search found, and what it spent."""

    trajectory: Trajectory  # the chosen episode
    oracle: Trajectory  # the episode of the highest reward among all that ended: known to judges alone, never chosen by
    episodes: int  # that ended
    env_steps: int
    generated_tokens: int  # of all replies; 0 for policies that tell no tokens


def play(
    envs: Sequence[gymnasium.Env[str, str]],
    policy: Policy,
    tasks: Sequence[Task],
    method: Method,
    *,
    seed: int = 0,
    on_finish: Callable[[Found], None] | None = None,
) -> list[Found]:
    """Search each task once, in envs that have snapshots, and return what was found, in order.

    As many tasks are searched at the same time as there are envs, and their replies are sampled together. A task begins before the
    same page as in `evaluate`; what is sampled follows from the seed, the task's place and the search alone.
    """
    waiting = deque(enumerate(tasks))
    trees: dict[int, _Tree] = {}  # by env
    found: dict[int, Found] = {}  # by task
    while waiting or trees:
        for place, env in enumerate(envs):
            if place not in trees and waiting:
                number, task = waiting.popleft()
                trees[place] = _Tree(env.unwrapped, task, number, method, seed)
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
    """One search under way in one env. What only the env knows of the states stands here, out of the search's sight."""

    def __init__(self, env: Any, task: Task, number: int, method: Method, seed: int) -> None:
        self.number = number
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
        """Bring the env to the state that is to be expanded, and return what to ask the policy there."""
        state = self._wanted.state
        self._go_to(state)
        _, info = self._open[state.number]
        self._expansions += 1
        own_seed = sampling_seed(self._seed, self._expansions, 0)
        return [Request(index, self._env, info, sampling_seed(own_seed, index, 0)) for index in range(self._wanted.replies)]

    def grow(self, replies: Sequence[Reply]) -> Found | None:
        """Act on the replies, send the search what follows, and return what it has found once it is over."""
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
        """Return the state that follows on a reply."""
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
        told = str(info["action_error"])
        step = Step(parent.page, reply.text, told, reply.prompt_ids, reply.response_ids, reply.logprobs)
        ending: Ending | None = "exited" if terminated else "truncated" if truncated else None
        state = self._add(State(len(self._states), parent, info["messages"], info["page"], (*parent.steps, step), ending))
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
        """Return the end of an episode that could not go on."""
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
        return Found(self._trajectory(chosen), self._trajectory(best), len(ends), self._env_steps, self._generated_tokens)

    def _trajectory(self, end: State) -> Trajectory:
        """Return the episode that ends there; where the budget was spent before it was over, it is cut off with the reward 0."""
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
