"""The expert: a policy that replays a task's reference solution, with the env's references to elements."""

from typing import NamedTuple

from webarena_gym.actions import DIALECTS, Action, Dialect, Kind
from webarena_gym.actions.action import NEEDS_ELEMENT
from webarena_gym.errors import TaskError
from webarena_gym.observation import Observation, observe
from webarena_gym.pages.page import Page
from webarena_gym.tasks.task import Task


class Choice(NamedTuple):
    """The next action of the expert, and the reason for it."""

    action: Action  # with the env's reference to its element
    named: Action  # with the label of its element
    thought: str  # reason of the solution; "" if there is none
    later: tuple[Action, ...]  # the remaining actions of the solution, with labels


class Expert:
    """Policy that solves a task by its reference solution. It scrolls until the element of the next step is visible, then performs the step."""

    def __init__(self, task: Task, dialect: Dialect = DIALECTS["webrl"]) -> None:
        if not task.solution:
            raise TaskError(f"task {task.task_id} has no reference solution")
        self._task = task
        self._dialect = dialect
        self._done = 0

    def reply(self, page: Page, observation: Observation) -> str:
        """Return the next reply; `observation` is the env's observation of `page`.

        Raises ActionError if the page lacks the element of the next step.
        """
        return self._dialect.format(self.choose(page, observation).action)

    def choose(self, page: Page, observation: Observation) -> Choice:
        """Return the next action, and advance to the one after it. Raises ActionError as `reply` does."""
        position = min(self._done, len(self._task.solution) - 1)
        step = self._task.solution[position]
        later = tuple(following.action for following in self._task.solution[position + 1 :])
        action = named = step.action
        if action.kind in NEEDS_ELEMENT and action.element is not None:
            by_label = observe(page, elements="label")
            element = by_label.element(action.element)
            label = next(key for key, node in by_label.nodes.items() if node.element is element)
            address, node = next((key, node) for key, node in observation.nodes.items() if node.element is element)
            named = Action(action.kind, label, action.argument)
            outside = node.line < observation.top or node.line >= observation.top + observation.height
            if outside:
                scroll = Action(Kind.SCROLL_UP if node.line < observation.top else Kind.SCROLL_DOWN)
                return Choice(scroll, scroll, "", (named, *later))
            action = Action(action.kind, address, action.argument)
        self._done += 1
        return Choice(action, named, step.thought, later)
