"""The expert's episodes: the pages that the reference solution of a task sees, what it does on them, and mistakes that it undoes.

Mistakes are after WebCoT (arXiv 2505.20013), which gives an agent three skills by examples: reflection, to see on a page that a step was
wrong; branching, to try another step in the same state; and rollback, to return to an earlier state. There a language model verbalises
the search of another agent, and pages cannot be forked. Here every fork is proven: the reference solution still earns the reward after it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import gymnasium
from tqdm import tqdm

import webarena_gym  # noqa: F401 - registers the env
from agents.settings import ENV_ID
from webarena_gym.actions import Action, Kind
from webarena_gym.errors import ActionError
from webarena_gym.evaluation.agents import random_action
from webarena_gym.observation import observe, visible_text
from webarena_gym.pages.dom import selected_options
from webarena_gym.tasks import Expert, Task

MOST_STEPS = 4
"""steps of an episode with mistakes, as a multiple of those without; no more mistakes are made where they would not fit"""
_AGAIN = 0.4  # probability of another branch from a state after one
_MOST_BRANCHES = 3  # of a state
_DEEPER = 0.3  # probability that a wrong step follows a wrong one
_MOST_DEEP = 2  # wrong steps in a row
_DRAWS = 6  # of wrong actions, one of which may be of the right one's kind
_WORD = re.compile(r"[^\W_]{6,}")  # to type by mistake; shorter ones are often no words that an agent would type
_TRIES = 12  # to force a mistake on an episode


class Shown(NamedTuple):
    """A step of the expert's: page, action, whether the page tells of an error, and whether the step is to be imitated."""

    page: str
    action: Action
    has_error: bool = False
    is_example: bool = True
    is_undoing: bool = False

    @property
    def is_of_solution(self) -> bool:
        """True for a step of the reference solution."""
        return self.is_example and not self.is_undoing


def play_expert(env: Any, task: Task) -> tuple[str, list[Shown]]:
    """Return the goal and the steps of the expert's episode on a task in an env."""
    return play_with_mistakes(env, task, 0.0, Random(0))


def in_env(tasks: Sequence[Task], *, quiet: bool = False, **env_arguments: Any) -> Iterator[tuple[Any, Task]]:
    """Yield an env of these tasks with each of them, and close it in the end."""
    env: Any = gymnasium.make(ENV_ID, tasks=tasks, disable_env_checker=True, **env_arguments).unwrapped
    with closing(env):
        for task in tqdm(tasks, desc="demonstrating", unit="task", disable=quiet or None):
            yield env, task


def play_with_mistakes(env: Any, task: Task, mistakes: float, rng: Random) -> tuple[str, list[Shown]]:
    """Return the goal and the steps of an episode of the expert that takes and undoes wrong steps.

    Before a step of the expert, with probability `mistakes`, another action that the page offers is taken in a fork, and so are the
    acts that lead back. The fork becomes the episode if the expert can still earn the reward; else it is as if it had not been. Wrong
    steps are no examples; acts that undo are. `env` allows `MOST_STEPS` times the steps.
    """
    _, info = env.reset(seed=0, options={"task": task})
    goal, expert, steps, is_over = info["goal"], Expert(task, env.dialect), list[Shown](), False
    room = MOST_STEPS * len(task.solution) - 2 * _MOST_DEEP
    while not is_over:
        chance = mistakes
        for _ in range(_MOST_BRANCHES):
            if rng.random() >= chance or len(steps) >= room:
                break
            chance = _AGAIN
            begun = env.snapshot()
            branch = _err(env, info, _peek(env, expert), rng, _MOST_DEEP)
            if branch and _can_finish(env, expert):
                steps, info = steps + branch[0], branch[1]
            else:
                info = env.restore(begun)[1]
        action = expert.choose(env.page, env.observation).action
        steps.append(Shown(info["page"], action, bool(info["action_error"])))
        info, _, is_over = _take(env, action)
    return goal, steps


def force_mistake(env: Any, task: Task, rng: Random) -> tuple[str, list[Shown]] | None:
    """Return the goal, and some of the expert's first steps with a wrong one that can be undone; None where no try found one."""
    _, info = env.reset(seed=0, options={"task": task})
    expert, moments = Expert(task, env.dialect), list[tuple[Any, Expert, list[Shown]]]()
    steps: list[Shown] = []
    is_over = False
    while not is_over:
        moments.append((env.snapshot(), copy(expert), list(steps)))
        action = expert.choose(env.page, env.observation).action
        steps.append(Shown(info["page"], action, bool(info["action_error"])))
        info, _, is_over = _take(env, action)
    for _ in range(_TRIES):
        begun, of_moment, before = rng.choice(moments)
        info = env.restore(begun)[1]
        branch = _err(env, info, _peek(env, of_moment), rng, 1)
        # Where the page did not change there is nothing to see, and nothing to recover from.
        if branch and branch[0][-1].is_undoing and _can_finish(env, of_moment):
            return info["goal"], [*before, branch[0][0]]
    return None


def correct(env: Any, task: Task, reply: Callable[[dict[str, Any]], str]) -> Iterator[tuple[str, list[Shown]]]:
    """Yield for each state in which a policy has left the expert's path the goal, its steps, and a step that leads back.

    These are the examples of DAgger (Ross et al., arXiv 1011.0686): the expert labels what the policy visits. `reply` is the policy. An
    answer is given only where the solution gives it. The episode ends where nothing leads back.
    """
    _, info = env.reset(seed=0, options={"task": task})
    expert, path, is_over = Expert(task, env.dialect), list[tuple[str, Expert]](), False
    while not is_over:
        path.append((info["page"], copy(expert)))
        info, _, is_over = _take(env, expert.choose(env.page, env.observation).action)
    _, info = env.reset(seed=0, options={"task": task})
    steps, is_over, is_on_path = list[Shown](), False, True
    while not is_over:
        if not is_on_path:
            way = _way_back(env, info, path)
            if way is None:
                return
            yield info["goal"], [*steps, Shown(info["page"], way, bool(info["action_error"]))]
        action = env.dialect.parse(reply(info))
        is_on_path = is_on_path and action == _peek(env, path[len(steps)][1])
        steps.append(Shown(info["page"], action, bool(info["action_error"]), is_example=False))
        info, _, is_over = _take(env, action)


def _way_back(env: Any, info: dict[str, Any], path: Sequence[tuple[str, Expert]]) -> Action | None:
    """Return the expert's action where the page is one of its own, else one that leads to one of them; the latest that can be finished."""
    for page, expert in reversed(path):
        if page == info["page"] and _can_finish(env, expert):
            return _peek(env, expert)
    begun = env.snapshot()
    for (_, expert), (following, after) in reversed([*pairwise(path)]):
        with suppress(ActionError):  # the page lacks the element
            action = _peek(env, expert)
            seen, _, is_over = _take(env, action)
            leads_back = not is_over and seen["page"] == following and _can_finish(env, after)
            env.restore(begun)
            if leads_back:
                return action
    seen, _, is_over = _take(env, Action(Kind.GO_BACKWARD))
    leads_back = not is_over and any(page == seen["page"] and _can_finish(env, expert) for page, expert in path)
    env.restore(begun)
    return Action(Kind.GO_BACKWARD) if leads_back else None


def named(env: Any, action: Action) -> Action:
    """Return an action on the env's page with the label of its element."""
    if action.element is None:
        return action
    element = env.observation.nodes[action.element].element
    labelled = observe(env.page, elements="label").nodes
    return replace(action, element=next(label for label, node in labelled.items() if node.element is element))


def _take(env: Any, action: Action) -> tuple[dict[str, Any], float, bool]:
    """Take an action and return the info that follows, the reward, and whether the episode is over."""
    _, reward, terminated, truncated, info = env.step(env.dialect.format(action))
    return info, float(reward), terminated or truncated


def _err(env: Any, info: dict[str, Any], right: Action, rng: Random, deep: int) -> tuple[list[Shown], dict[str, Any]] | None:
    """Return wrong steps and those that undo them, all taken, and the info of the last page; None where none can be taken, or at the end.

    Where no act leads back to the page, the branch ends on the wrong one: whether the right steps go on from there is the caller's to
    find out.
    """
    others = []
    for _ in range(_DRAWS):
        action = random_action(env.observation.nodes, info["page"], info["goal"], rng, 0.0)
        if action.kind in (Kind.TYPE, Kind.SEARCH):
            action = replace(action, argument=rng.choice(_WORD.findall(info["goal"]) or [""]))
        if action != right and action.argument != "" and action.kind is not Kind.EXIT:
            others.append(action)
    if not others:
        return None
    wrong = next((action for action in others if action.kind is right.kind), others[0])
    undoing = _undoing(env.observation.nodes, wrong)
    steps = [Shown(info["page"], wrong, bool(info["action_error"]), is_example=False)]
    seen, _, is_over = _take(env, wrong)
    if is_over:
        return None
    if deep > 1 and seen["page"] != info["page"] and rng.random() < _DEEPER:
        deeper = _err(env, seen, right, rng, deep - 1)
        if deeper is None:
            return None
        steps, seen = steps + deeper[0], deeper[1]
    if seen["page"] == info["page"]:
        return steps, seen
    after = env.snapshot()
    for undo in undoing:
        shown = Shown(seen["page"], undo, bool(seen["action_error"]), is_undoing=True)
        back, _, is_over = _take(env, undo)
        if not is_over and back["page"] == info["page"]:
            return [*steps, shown], back
        seen = env.restore(after)[1]
    return steps, seen


def _undoing(nodes: Mapping[str, Any], wrong: Action) -> list[Action]:
    """Return acts that may undo an action on a page: to set its control as it was, and to go back."""
    element = nodes[wrong.element].element if wrong.element else None
    inverse = []
    if wrong.kind is Kind.SELECT and element is not None:
        inverse = [Action(Kind.SELECT, wrong.element, visible_text(option)) for option in selected_options(element)[:1]]
    elif wrong.kind is Kind.TYPE and element is not None and (before := element.get("value")):
        inverse = [Action(Kind.TYPE, wrong.element, before)]
    elif element is not None and element.get("type") == "checkbox":
        inverse = [wrong]
    return [*inverse, Action(Kind.GO_BACKWARD)]


def _peek(env: Any, expert: Expert) -> Action:
    """Return the expert's next action, which is not counted as taken."""
    return copy(expert).choose(env.page, env.observation).action


def _can_finish(env: Any, expert: Expert) -> bool:
    """Return whether the rest of the solution earns the reward from here; the env is then as it was."""
    here, own, reward, is_over = env.snapshot(), copy(expert), 0.0, False
    try:
        while not is_over:
            _, reward, is_over = _take(env, own.choose(env.page, env.observation).action)
    except ActionError:  # the page lacks an element of the solution's
        reward = 0.0
    env.restore(here)
    return reward == 1.0
