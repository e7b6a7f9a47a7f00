"""Expert episodes: the pages and actions of a task's reference solution, optionally with mistakes that it undoes.

Mistakes follow WebCoT (arXiv 2505.20013), which teaches three skills by examples: reflection (recognize on a page that a step was
wrong), branching (try another step in the same state) and rollback (return to an earlier state). In the paper, a language model
verbalizes the search of another agent. Here the env is forked, and a fork is used only if the reference solution still earns the reward.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from tqdm import tqdm

from webarena_gym.actions import Action, Kind
from webarena_gym.actions.calls import call_action, called_tool
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError
from webarena_gym.evaluation.agents import random_action
from webarena_gym.observation import observe, visible_text
from webarena_gym.pages.dom import selected_options
from webarena_gym.tasks import Expert, Task
from webarena_gym.tasks.task import Step

MOST_STEPS = 4
"""maximum length of an episode with mistakes, as a multiple of the length without them"""
_AGAIN = 0.4  # probability of another branch from the same state
_MOST_BRANCHES = 3  # branches per state
_DEEPER = 0.3  # probability that a wrong step follows a wrong one
_MOST_DEEP = 2  # wrong steps in a row
_DRAWS = 6  # wrong actions drawn per branch; one of the expert action's kind is preferred
_WORD = re.compile(r"[^\W_]{6,}")  # words typed by mistake; shorter words of a goal are rarely search terms
_TRIES = 12  # attempts to force a mistake on an episode
_SUMS = {
    "tools.people_of_state": "SELECT sum(population) FROM t1 WHERE state = '{state}' AND founded < {year}",
    "tools.employees_of_state": "SELECT sum(employees) FROM t1 WHERE state = '{state}'",
    "tools.pages_of_genre": "SELECT sum(pages) FROM t1 WHERE genre = '{genre}'",
}
"""Queries that compute the answers of tasks over the table of the page that their solution opens, by template."""


class ExpertStep(NamedTuple):
    """One expert step.

    Args:
        page: observation text
        action: the action taken
        has_error: True if the page shows an action error
        is_example: True if the step is a training target
        is_undoing: True if the step undoes a wrong one

    """

    page: str
    action: Action
    has_error: bool = False
    is_example: bool = True
    is_undoing: bool = False

    @property
    def is_of_solution(self) -> bool:
        """True if the step belongs to the reference solution."""
        return self.is_example and not self.is_undoing


def play_expert(env: WebArenaLite, task: Task) -> tuple[str, list[ExpertStep]]:
    """Play the reference solution of a task. Returns the goal and the steps."""
    return play_with_mistakes(env, task, 0.0, Random(0))


def title_of(action: Action) -> str:
    """Return the title of the article that a step of a reference solution opens, from its search term or its link.

    >>> title_of(Action(Kind.SEARCH, "Search Lexandria", "Ana Weber")), title_of(Action(Kind.CLICK, "Ana Weber [2]"))
    ('Ana Weber', 'Ana Weber')
    """
    return ((action.argument if action.kind is Kind.SEARCH else action.element) or "").partition(" [")[0]


def with_calls(task: Task, tools: Collection[str], rng: Random) -> Task | None:
    """Return the task with a reference solution that calls tools, or None if no tool serves its solution.

    With `table_sql`, a query computes the answer of a task over the table of a page, whose title is looked up if `lookup` is allowed too. With
    `lookup`, the last steps that open articles become lookups of their titles; `rng` draws the number of these steps, from one to all. The
    results may lack what the next step needs, so the solution must be replayed (see `is_supported`).
    """
    *opened, end = task.solution
    if (query := _SUMS.get(task.template)) and "table_sql" in tools:
        lookups = [_lookup(title_of(opened[0].action).partition(" in ")[0])] if "lookup" in tools else []
        computed = Step(call_action("table_sql", {"query": query.format(**task.instantiation_dict)}))
        total = Action(Kind.EXIT, argument=(end.action.argument or "").replace(",", ""))
        return replace(task, solution=(*lookups, *opened, computed, replace(end, action=total)))
    opens_articles = all(step.action.kind in (Kind.SEARCH, Kind.CLICK) for step in opened)
    if "lookup" not in tools or tuple(task.sites) != ("wikipedia",) or not opened or not opens_articles:
        return None
    first = rng.randrange(len(opened))
    lookups = [_lookup(title_of(step.action), step.thought) for step in opened[first:]]
    return replace(task, solution=(*opened[:first], *lookups, end))


def _lookup(title: str, thought: str = "") -> Step:
    return Step(call_action("lookup", {"query": title, "k": 1}), thought)


def is_supported(action: Action, goal: str, page: str) -> bool:
    """Return True if a page or the goal contains the text that an action needs: the search term, the title to look up, or the answer."""
    text = action.argument or ""
    if action.kind is Kind.CALL:
        name, arguments = called_tool(action)
        text = arguments["query"] if name == "lookup" else ""
        return text.startswith("List of ") or text in goal or text in page
    return action.kind not in (Kind.SEARCH, Kind.EXIT) or text in goal or text in page


def envs_with_tasks(
    tasks: Sequence[Task], *, quiet: bool = False, **env_arguments: object
) -> Iterator[tuple[WebArenaLite, Task]]:
    """Yield (env, task) for each task, with one shared env that is closed after the last task."""
    with closing(WebArenaLite(tasks=tasks, **env_arguments)) as env:
        for task in tqdm(tasks, desc="demonstrating", unit="task", disable=quiet or None):
            yield env, task


def play_with_mistakes(env: WebArenaLite, task: Task, mistakes: float, rng: Random) -> tuple[str, list[ExpertStep]]:
    """Play the reference solution of a task with wrong steps that are undone. Returns the goal and the steps.

    Before each expert step, with probability `mistakes`, the env is forked, and another action of the page and the actions that undo it
    are taken. If the expert can still earn the reward, the episode continues in the fork; otherwise the fork is discarded. Wrong steps
    are not training examples; steps that undo them are. The env must allow `MOST_STEPS` times the steps of the solution.
    """
    _, info = env.reset(seed=0, options={"task": task})
    goal, expert, steps, is_over = info["goal"], Expert(task, env.dialect), list[ExpertStep](), False
    room = MOST_STEPS * len(task.solution) - 2 * _MOST_DEEP
    while not is_over:
        chance = mistakes
        for _ in range(_MOST_BRANCHES):
            if rng.random() >= chance or len(steps) >= room:
                break
            chance = _AGAIN
            snapshot = env.snapshot()
            branch = _take_wrong_steps(env, info, _next_action(env, expert), rng, _MOST_DEEP)
            if branch and _can_finish(env, expert):
                steps, info = steps + branch[0], branch[1]
            else:
                info = env.restore(snapshot)[1]
        action = expert.choose(env.page, env.observation).action
        steps.append(ExpertStep(info["page"], action, bool(info["action_error"])))
        info, _, is_over = _step(env, action)
    return goal, steps


def force_mistake(env: WebArenaLite, task: Task, rng: Random) -> tuple[str, list[ExpertStep]] | None:
    """Return the goal and a prefix of the expert's steps that ends with a wrong step that can be undone.

    Returns None if none of the attempts found a wrong step.
    """
    _, info = env.reset(seed=0, options={"task": task})
    expert, states = Expert(task, env.dialect), list[tuple[Any, Expert, list[ExpertStep]]]()
    steps: list[ExpertStep] = []
    is_over = False
    while not is_over:
        states.append((env.snapshot(), copy(expert), list(steps)))
        action = expert.choose(env.page, env.observation).action
        steps.append(ExpertStep(info["page"], action, bool(info["action_error"])))
        info, _, is_over = _step(env, action)
    for _ in range(_TRIES):
        snapshot, expert_then, before = rng.choice(states)
        info = env.restore(snapshot)[1]
        branch = _take_wrong_steps(env, info, _next_action(env, expert_then), rng, 1)
        # A step that did not change the page needs no recovery.
        if branch and branch[0][-1].is_undoing and _can_finish(env, expert_then):
            return info["goal"], [*before, branch[0][0]]
    return None


def corrections(
    env: WebArenaLite, task: Task, reply: Callable[[dict[str, Any]], str]
) -> Iterator[tuple[str, list[ExpertStep]]]:
    """Yield DAgger examples: the goal and the steps up to a state off the expert's path, ending with the expert's recovery action.

    After Ross et al., arXiv 1011.0686: the expert labels the states that the policy visits. The episode ends where no action leads
    back to the expert's path.

    Args:
        env: an env that contains the task
        task: the task to play
        reply: the policy, from the info of a step to its reply

    """
    _, info = env.reset(seed=0, options={"task": task})
    expert, path, is_over = Expert(task, env.dialect), list[tuple[str, Expert]](), False
    while not is_over:
        path.append((info["page"], copy(expert)))
        info, _, is_over = _step(env, expert.choose(env.page, env.observation).action)
    _, info = env.reset(seed=0, options={"task": task})
    steps, is_over, is_on_path = list[ExpertStep](), False, True
    while not is_over:
        if not is_on_path:
            recovery = _recovery_action(env, info, path)
            if recovery is None:
                return
            yield info["goal"], [*steps, ExpertStep(info["page"], recovery, bool(info["action_error"]))]
        action = env.dialect.parse(reply(info))
        is_on_path = is_on_path and action == _next_action(env, path[len(steps)][1])
        steps.append(ExpertStep(info["page"], action, bool(info["action_error"]), is_example=False))
        info, _, is_over = _step(env, action)


def _recovery_action(env: WebArenaLite, info: dict[str, Any], path: Sequence[tuple[str, Expert]]) -> Action | None:
    """Return an action that continues or leads back to the expert's path; None if there is none.

    Later states of the path are preferred. The solution must still earn the reward from the chosen state.
    """
    for page, expert in reversed(path):
        if page == info["page"] and _can_finish(env, expert):
            return _next_action(env, expert)
    snapshot = env.snapshot()
    for (_, expert), (following, after) in reversed([*pairwise(path)]):
        with suppress(ActionError):  # the page has no such element
            action = _next_action(env, expert)
            next_info, _, is_over = _step(env, action)
            leads_back = not is_over and next_info["page"] == following and _can_finish(env, after)
            env.restore(snapshot)
            if leads_back:
                return action
    next_info, _, is_over = _step(env, Action(Kind.GO_BACKWARD))
    leads_back = not is_over and any(page == next_info["page"] and _can_finish(env, expert) for page, expert in path)
    env.restore(snapshot)
    return Action(Kind.GO_BACKWARD) if leads_back else None


def with_label(env: WebArenaLite, action: Action) -> Action:
    """Return the action with its element identified by label instead of id."""
    if action.element is None:
        return action
    element = env.observation.nodes[action.element].element
    labelled = observe(env.page, elements="label").nodes
    return replace(action, element=next(label for label, node in labelled.items() if node.element is element))


def _step(env: WebArenaLite, action: Action) -> tuple[dict[str, Any], float, bool]:
    """Take an action. Returns the info, the reward and True if the episode is over."""
    _, reward, terminated, truncated, info = env.step(env.dialect.format(action))
    return info, float(reward), terminated or truncated


def _take_wrong_steps(
    env: WebArenaLite, info: dict[str, Any], right: Action, rng: Random, deep: int
) -> tuple[list[ExpertStep], dict[str, Any]] | None:
    """Take wrong steps and the actions that undo them. Returns these steps and the last info.

    Returns None if no wrong action is available or the episode ended. If no action leads back to the page, the branch ends on the wrong
    page, and the caller must check that the solution still works from there.

    Args:
        env: the env, which is left in the last state
        info: info of the current state
        right: the expert's action, which is not drawn
        rng: random generator
        deep: maximum number of consecutive wrong steps

    """
    wrong_actions = []
    for _ in range(_DRAWS):
        action = random_action(env.observation.nodes, info["page"], info["goal"], rng, 0.0)
        if action.kind in (Kind.TYPE, Kind.SEARCH):
            action = replace(action, argument=rng.choice(_WORD.findall(info["goal"]) or [""]))
        if action != right and action.argument != "" and action.kind is not Kind.EXIT:
            wrong_actions.append(action)
    if not wrong_actions:
        return None
    wrong = next((action for action in wrong_actions if action.kind is right.kind), wrong_actions[0])
    undo_actions = _undo_actions(env.observation.nodes, wrong)
    steps = [ExpertStep(info["page"], wrong, bool(info["action_error"]), is_example=False)]
    next_info, _, is_over = _step(env, wrong)
    if is_over:
        return None
    if deep > 1 and next_info["page"] != info["page"] and rng.random() < _DEEPER:
        next_steps = _take_wrong_steps(env, next_info, right, rng, deep - 1)
        if next_steps is None:
            return None
        steps, next_info = steps + next_steps[0], next_steps[1]
    if next_info["page"] == info["page"]:
        return steps, next_info
    after = env.snapshot()
    for undo in undo_actions:
        undo_step = ExpertStep(next_info["page"], undo, bool(next_info["action_error"]), is_undoing=True)
        back, _, is_over = _step(env, undo)
        if not is_over and back["page"] == info["page"]:
            return [*steps, undo_step], back
        next_info = env.restore(after)[1]
    return steps, next_info


def _undo_actions(nodes: Mapping[str, Any], wrong: Action) -> list[Action]:
    """Return actions that may undo a wrong action: restore the form control, or go back."""
    element = nodes[wrong.element].element if wrong.element else None
    inverse = []
    if wrong.kind is Kind.SELECT and element is not None:
        inverse = [Action(Kind.SELECT, wrong.element, visible_text(option)) for option in selected_options(element)[:1]]
    elif wrong.kind is Kind.TYPE and element is not None and (before := element.get("value")):
        inverse = [Action(Kind.TYPE, wrong.element, before)]
    elif element is not None and element.get("type") == "checkbox":
        inverse = [wrong]
    return [*inverse, Action(Kind.GO_BACKWARD)]


def _next_action(env: WebArenaLite, expert: Expert) -> Action:
    """Return the expert's next action without advancing the expert."""
    return copy(expert).choose(env.page, env.observation).action


def _can_finish(env: WebArenaLite, expert: Expert) -> bool:
    """Return True if the rest of the solution earns the reward from the current state. The env's state is restored."""
    snapshot, remaining_expert, reward, is_over = env.snapshot(), copy(expert), 0.0, False
    try:
        while not is_over:
            _, reward, is_over = _step(env, remaining_expert.choose(env.page, env.observation).action)
    except ActionError:  # the page has no such element
        reward = 0.0
    env.restore(snapshot)
    return reward == 1.0
