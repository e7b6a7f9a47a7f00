"""An episode for adapters: begun, played by calls of tools or by replies, and judged once, however it ends. Imports no library of others."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gymnasium.error import ResetNeeded

from webarena_gym.actions import Dialect, reply_of
from webarena_gym.actions.action import Form
from webarena_gym.actions.dialect import ANSWERS
from webarena_gym.applications.application import Application, read_application
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ApplicationError, BrowserError, EvaluationError, ServerError, TaskError, WorldError
from webarena_gym.observation.history import Message
from webarena_gym.tasks import Task, load, select, select_templates

TOOL_PROMPT = f"""\
You use websites for a person who has given you a task. Each action is a tool; it returns the page that follows.
Call one tool at a time. A long page is shown in parts: scroll to see the others. A form takes effect when it is submitted.
Do what the task says and change nothing else. When it is done, call the tool that ends the task, with the answer.

{ANSWERS}"""
"""The system prompt for models that call the actions as tools; for those that write them as text, `Session.system_prompt`."""

NAME = "webarena_gym"
"""The name by which other libraries know the env."""

LOST = (ResetNeeded, ApplicationError, BrowserError, EvaluationError, ServerError, WorldError)
"""Errors of an episode that was lost through no fault of the policy. A TaskError is the caller's mistake and not one of them."""

_TYPES: Mapping[str, type] = {"element": str, "text": str, "integer": int, "number": float}


def choose(
    split: str = "train",
    sites: str | Sequence[str] = (),
    templates: str | Sequence[str] = (),
    application: str | Path | Application | None = None,
    **drawn: Any,
) -> tuple[Task, ...]:
    """Return the tasks of a split, or of an application, that need no sites but these and are of these templates; with neither, all.

    `drawn` are further keywords of `webarena_gym.load`. Raises TaskError for a split, site or template that there is not, and where
    no task is left.
    """
    wanted = {sites} if isinstance(sites, str) else set(sites)
    own = None if application is None else read_application(application)
    names = (
        {each.name for each in select_templates([templates] if isinstance(templates, str) else templates, own)}
        if templates
        else set()
    )
    every = load(split, application=own, **drawn)
    chosen = tuple(
        task for task in every if (not wanted or wanted.issuperset(task.sites)) and (not names or task.template in names)
    )
    known = {site for task in every for site in task.sites}
    if not chosen or not wanted <= known:
        raise TaskError(
            f"no task of the split {split!r} has the sites {sorted(wanted) or 'any'} and the templates {sorted(names) or 'any'};"
            f" the split has the sites {', '.join(sorted(known))}"
        )
    return chosen


def dataset_rows(
    tasks: str | Sequence[str | Task] = "train",
    sites: str | Sequence[str] = (),
    templates: str | Sequence[str] = (),
    application: str | Path | Application | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a dataset for the tasks of a split or an application, as `choose` takes them, or for a list of tasks.

    A row names its task; its prompt is the system prompt for calls of tools, and an empty message to which the first page is added.
    """
    own = None if application is None else read_application(application)
    chosen = choose(tasks, sites, templates, own) if isinstance(tasks, str) else select(tasks, application=own)
    prompt = [{"role": "system", "content": TOOL_PROMPT}, {"role": "user", "content": ""}]
    return [{"prompt": prompt, "task": task.task_id, "data_source": NAME, "env_class": NAME} for task in chosen]


class Session:
    """One episode after the other in an env of its own; `env` are keywords of `WebArenaLite`."""

    def __init__(self, env: Mapping[str, Any] | None = None) -> None:
        self.env = WebArenaLite(**{**(env or {}), "on_failure": "raise"})
        self.info: dict[str, Any] = {}
        self.observation: Any = ""  # the env's own: the goal, the history and the newest page; with pictures, a dictionary
        self.reward: float | None = None
        self.truncated = False

    @property
    def dialect(self) -> Dialect:
        return self.env.dialect

    @property
    def system_prompt(self) -> str:
        return self.env.system_prompt

    @property
    def messages(self) -> Sequence[Message]:
        """The chat that leads to the next reply, with earlier pages as the env's `history` has them."""
        messages: Sequence[Message] = self.info["messages"]
        return messages

    @property
    def is_over(self) -> bool:
        return self.reward is not None

    def begin(self, task: str | Task | None = None, seed: int | None = None) -> str:
        """Begin a task, drawn by the seed where none is given; return the goal and the first page. Raises TaskError."""
        self.reward, self.truncated = None, False
        self.observation, self.info = self.env.reset(seed=seed, options=None if task is None else {"task": task})
        return f"Task: {self.info['goal']}\n\n{self.info['page']}"

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """Do what a call of a tool says, and return the page that follows, or that the episode is over."""
        return self.say(reply_of(self.dialect, name, arguments))

    def say(self, reply: str) -> str:
        """Do what a reply says, and return the page that follows, or that the episode is over. Raises BrowserError.

        What is said after the end changes nothing.
        """
        if not self.is_over:
            self.observation, reward, terminated, self.truncated, self.info = self.env.step(reply)
            if terminated or self.truncated:
                self.reward = float(reward)
        return "The episode is over." if self.is_over else str(self.info["page"])

    def shown(self, page: str) -> str | list[dict[str, Any]]:
        """Return what `begin` or `say` has returned as a text, or where the env draws pictures as a message of OpenAI's shape with the newest."""
        if self.is_over or isinstance(self.observation, str):
            return page
        picture: Any = self.messages[-1]["content"][-1]
        return [{"role": "user", "content": [{"type": "text", "text": page}, picture]}]

    def finish(self, answer: str = "") -> float:
        """Return the reward; an episode that is not over is judged as it stands, with this answer."""
        if self.reward is None:
            _, reward, _, _, self.info = self.env.submit(answer)
            self.reward = float(reward)
        return self.reward

    def verdict(self) -> dict[str, Any]:
        """Return how the episode was judged, as JSON; empty as long as it is not over."""
        return {name: self.info[name] for name in ("success", "verdicts", "side_effects") if name in self.info}

    def close(self) -> None:
        self.env.close()


def methods(dialect: Dialect) -> dict[str, Callable[..., str]]:
    """Return the actions of a dialect as methods by name, with signatures and docstrings for libraries that read these.

    Each calls `self._call(name, arguments)` and returns what that does.
    """
    return {form.name: _method(form, dialect) for form in dialect.forms}


def _method(form: Form, dialect: Dialect) -> Callable[..., str]:
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for each in form.parameters:
        kind = _TYPES[each.type]
        default = inspect.Parameter.empty if each.default is None else kind(each.default or kind())
        parameters.append(inspect.Parameter(each.name, named, default=default, annotation=kind))
    signature = inspect.Signature([inspect.Parameter("self", named), *parameters], return_annotation=str)

    def method(self: Any, *positional: Any, **named: Any) -> str:
        given = signature.bind(self, *positional, **named).arguments
        said: str = self._call(form.name, {name: value for name, value in given.items() if name != "self"})
        return said

    method.__name__ = method.__qualname__ = form.name
    method.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": str}
    method.__signature__ = signature  # type: ignore[attr-defined]
    element = f"the {'number' if dialect.naming == 'id' else 'label'} of the element in the newest page"
    meanings = {each.name: element if each.type == "element" else each.meaning for each in form.parameters}
    told = "".join(f"\n    {name}: {meaning}" for name, meaning in meanings.items())
    method.__doc__ = form.meaning + (f"\n\nArgs:{told}" if told else "") + "\n\nReturns:\n    The page that follows."
    return method
