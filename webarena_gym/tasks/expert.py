"""The expert: replays a task's reference solution on the pages as they come, in the env's own way of naming elements."""

from webarena_gym.actions import DIALECTS, Action, Dialect, Kind
from webarena_gym.actions.action import NEEDS_ELEMENT
from webarena_gym.errors import TaskError
from webarena_gym.observation import Observation, observe
from webarena_gym.page import Page
from webarena_gym.tasks.task import Task


class Expert:
    """Gives the next reply that leads to the reward.

    It scrolls until the element of its next step is in view, then acts. `thoughts` puts the step's thought, where there is
    one, before the action in the <think>/<answer> format.
    """

    def __init__(self, task: Task, dialect: Dialect = DIALECTS["webrl"], *, thoughts: bool = False) -> None:
        if not task.solution:
            raise TaskError(f"task {task.task_id} has no reference solution")
        self._task = task
        self._dialect = dialect
        self._thoughts = thoughts
        self._done = 0

    def reply(self, page: Page, observation: Observation) -> str:
        """Return the next reply; `observation` is what the env shows of `page`.

        Raises ActionError when the solution names an element that the page has not.
        """
        step = self._task.solution[min(self._done, len(self._task.solution) - 1)]
        action = step.action
        if action.kind in NEEDS_ELEMENT and action.element is not None:
            element = observe(page, elements="label").element(action.element)
            address, node = next((key, node) for key, node in observation.nodes.items() if node.element is element)
            if node.line >= observation.top + observation.shown:
                return self._dialect.format(Action(Kind.SCROLL_DOWN))
            if node.line < observation.top:
                return self._dialect.format(Action(Kind.SCROLL_UP))
            action = Action(action.kind, address, action.argument)
        self._done += 1
        written = self._dialect.format(action)
        return f"<think>{step.thought}</think>\n<answer>{written}</answer>" if self._thoughts and step.thought else written
