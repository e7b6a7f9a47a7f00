"""Support for adapters: `Session`, episodes with tool calls or text replies, and rows of datasets. Imports none of the libraries."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_type_hints

from gymnasium.error import ResetNeeded

from webarena_gym.actions import Dialect, reply_of, tools
from webarena_gym.actions.action import Form
from webarena_gym.actions.dialect import TOOL_PROMPT as TOOL_PROMPT
from webarena_gym.applications.application import Application
from webarena_gym.applications.suite import Suite
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ApplicationError, BrowserError, EvaluationError, ServerError, TaskError, WorldError
from webarena_gym.observation.history import EPISODE_OVER, Message, task_message
from webarena_gym.options import EnvOptions, read_source
from webarena_gym.suite import load, select, select_templates
from webarena_gym.tasks import Task
from webarena_gym.toolbox import ToolFunction

NAME = "webarena_gym"
"""The name of the env in other libraries."""

INFRASTRUCTURE_ERRORS = (ResetNeeded, ApplicationError, BrowserError, EvaluationError, ServerError, WorldError)
"""Errors that are not the policy's fault, with which an episode has no reward. A TaskError is the caller's mistake and not one of them."""

_POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
_TYPES: Mapping[str, type] = {"element": str, "text": str, "integer": int, "number": float}


def select_tasks(
    split: str = "train",
    sites: str | Sequence[str] = (),
    templates: str | Sequence[str] = (),
    application: str | Path | Application | None = None,
    suite: str | Path | Suite | None = None,
    **load_options: Any,
) -> tuple[Task, ...]:
    """Return the tasks of a split, or of an application.

    Args:
        split: name of the split.
        sites: names of sites; tasks that need other sites are omitted. Empty for all.
        templates: names of templates whose tasks are returned. Empty for all.
        application: your web application, instead of the embedded sites.
        suite: suite of another project, of which `split` is a split: its name, the path of its file, or a `Suite`.
        load_options: further keywords of `webarena_gym.load`.

    Raises:
        TaskError: for an unknown split, site or template, and if no task matches.

    """
    site_names = {sites} if isinstance(sites, str) else set(sites)
    source = read_source(application, suite)
    template_names = [templates] if isinstance(templates, str) else templates
    names = {template.name for template in select_templates(template_names, **source)} if templates else set()
    tasks = load(split, **source, **load_options)
    matches = tuple(
        task
        for task in tasks
        if (not site_names or site_names.issuperset(task.sites)) and (not names or task.template in names)
    )
    split_sites = {site for task in tasks for site in task.sites}
    if not matches or not site_names <= split_sites:
        raise TaskError(
            f"no task of the split {split!r} has the sites {sorted(site_names) or 'any'} and the templates {sorted(names) or 'any'};"
            f" the split has the sites {', '.join(sorted(split_sites))}"
        )
    return matches


def dataset_rows(
    tasks: str | Sequence[str | Task] = "train",
    sites: str | Sequence[str] = (),
    templates: str | Sequence[str] = (),
    application: str | Path | Application | None = None,
    suite: str | Path | Suite | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a dataset.

    The field `task` of a row is the id of a task. The field `prompt` contains the system prompt for tool calls, and an empty user message, to
    which the first page is appended.

    Args:
        tasks: name of a split, or a list of tasks or task ids.
        sites: with a split, names of sites; tasks that need other sites are omitted. Empty for all.
        templates: with a split, names of templates. Empty for all.
        application: your web application, instead of the embedded sites.
        suite: suite of another project, of which `tasks` is a split or a list of ids.

    Raises:
        TaskError: for an unknown task, split, site or template, and if no task matches.
        ValueError: for a list of tasks with `sites` or `templates`, which select from a split, and for a split of an application, which has none.

    """
    if application is not None and isinstance(tasks, str) and tasks != "train":
        raise ValueError(
            f"tasks={tasks!r} names a split, which an application does not have; expected a list of task ids, or no argument for all tasks"
        )
    if not isinstance(tasks, str) and (sites or templates):
        raise ValueError(
            f"sites={sites!r} and templates={templates!r} select from a split; expected neither with a list of tasks"
        )
    source = read_source(application, suite)
    if isinstance(tasks, str):
        selection = select_tasks(tasks, sites, templates, **source)
    else:
        selection = select(tasks, **source)
    prompt = [{"role": "system", "content": TOOL_PROMPT}, {"role": "user", "content": ""}]
    return [{"prompt": prompt, "task": task.task_id, "data_source": NAME, "env_class": NAME} for task in selection]


def source_of(env: Mapping[str, Any]) -> dict[str, Any]:
    """Return those keywords of an env that select an application or a suite instead of the bundled tasks."""
    return {name: env[name] for name in ("application", "suite") if env.get(name) is not None}


def with_fixed(env: Mapping[str, Any] | None, **fixed: Any) -> dict[str, Any]:
    """Return the keywords of an env with those that an adapter sets itself.

    Raises ValueError for a keyword of `env` that the adapter would replace by another value.
    """
    for name, value in fixed.items():
        if env and name in env and env[name] != value:
            raise ValueError(f"env contains {name}={env[name]!r}, but this adapter sets {name} itself; leave it out of env")
    return {**(env or {}), **fixed}


class Session:
    """Episodes of one env, one at a time. Each is evaluated once, however it ends. `env` contains keywords of `WebArenaLite`."""

    def __init__(self, env: Mapping[str, Any] | None = None) -> None:
        self.env = WebArenaLite(**with_fixed(env, on_failure="raise"))
        self.info: dict[str, Any] = {}
        self.observation: Any = ""  # the env's observation: goal, history and current page; with pictures, a dictionary
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
        """The chat prompt of the next reply, with earlier pages in the format of the env's option `history`."""
        messages: Sequence[Message] = self.info["messages"]
        return messages

    @property
    def is_over(self) -> bool:
        return self.reward is not None

    def reset(self, task: str | Task | None = None, seed: int | None = None) -> str:
        """Start an episode, and return the goal, the form of the answer and the first page. Without a task, one is drawn with the seed. Raises TaskError."""
        self.reward, self.truncated = None, False
        self.observation, self.info = self.env.reset(seed=seed, options=None if task is None else {"task": task})
        return task_message(self.info["goal"], self.info["page"], self.info.get("answer_form", ""))

    def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """Perform the action of a tool call, and return the next page, or a note that the episode is over. Raises BrowserError."""
        return self.step(reply_of(self.dialect, name, arguments))

    def call_tools(self, items: Iterable[Any]) -> list[dict[str, str]]:
        """Perform the function calls among the items of a response of OpenAI's Responses API, and return their ids and outputs. Raises BrowserError."""
        calls = (item for item in items if item.type == "function_call")
        return [{"call_id": call.call_id, "output": self.call_tool(call.name, call.arguments)} for call in calls]

    def step(self, reply: str) -> str:
        """Perform the action in a reply, and return the next page, or a note that the episode is over.

        A reply after the end has no effect.

        Raises:
            BrowserError: for an infrastructure failure.

        """
        if not self.is_over:
            self.observation, reward, terminated, self.truncated, self.info = self.env.step(reply)
            if terminated or self.truncated:
                self.reward = float(reward)
        return EPISODE_OVER if self.is_over else str(self.info["page"])

    def with_picture(self, page: str) -> str | list[dict[str, Any]]:
        """Return the text of a page; if the env has pictures, a list of one user message in OpenAI's format with the text and the picture."""
        if self.is_over or isinstance(self.observation, str):
            return page
        picture: object = self.messages[-1]["content"][-1]
        return [{"role": "user", "content": [{"type": "text", "text": page}, picture]}]

    def finish(self, answer: str = "") -> float:
        """Return the reward. An episode that is not over is first ended and evaluated with this answer."""
        if self.reward is None:
            _, reward, _, _, self.info = self.env.submit(answer)
            self.reward = float(reward)
        return self.reward

    def verdict(self) -> dict[str, Any]:
        """Return the result of the evaluation, which can be encoded as JSON; empty before the end of the episode."""
        return {name: self.info[name] for name in ("success", "verdicts", "side_effects") if name in self.info}

    def close(self) -> None:
        self.env.close()


def tool_methods(options: EnvOptions) -> dict[str, Callable[..., str]]:
    """Return the actions and tools of an env as methods, by name, with signatures and docstrings for libraries that derive tools from these.

    Each method returns the result of `self._call(name, arguments)`.
    """
    dialect = options.build_dialect()
    return {form.name: _action_method(form, dialect) for form in dialect.forms} | {
        tool.name: _tool_method(tool) for tool in options.tool_functions
    }


def _action_method(form: Form, dialect: Dialect) -> Callable[..., str]:
    parameters = []
    for item in form.parameters:
        kind = _TYPES[item.type]
        default = inspect.Parameter.empty if item.default is None else kind(item.default or kind())
        annotation = Literal[item.choices] if item.choices else kind
        parameters.append(inspect.Parameter(item.name, _POSITIONAL_OR_KEYWORD, default=default, annotation=annotation))
    definition = next(tool["function"] for tool in tools(dialect) if tool["function"]["name"] == form.name)
    meanings = {name: schema["description"] for name, schema in definition["parameters"]["properties"].items()}
    return _method(form.name, parameters, form.meaning, meanings)


def _tool_method(tool: ToolFunction) -> Callable[..., str]:
    hints = get_type_hints(tool.function)
    parameters = [parameter.replace(annotation=hints[name]) for name, parameter in tool.signature.parameters.items()]
    properties = json.loads(tool.form.schema)["properties"]
    meanings = {name: properties[name].get("description", name) for name in tool.signature.parameters}
    return _method(tool.name, parameters, tool.form.meaning, meanings)


def _method(
    name: str, parameters: Sequence[inspect.Parameter], meaning: str, meanings: Mapping[str, str]
) -> Callable[..., str]:
    """Return a method with a signature, and a docstring that describes its parameters.

    There is no type or description of the result: transformers would add it to the definition of the tool, and chat APIs have no such field.
    """
    signature = inspect.Signature([inspect.Parameter("self", _POSITIONAL_OR_KEYWORD), *parameters])

    def method(self: Any, *positional: Any, **keywords: Any) -> str:
        arguments = signature.bind(self, *positional, **keywords).arguments
        page: str = self._call(name, {key: value for key, value in arguments.items() if key != "self"})
        return page

    method.__name__ = method.__qualname__ = name
    method.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    method.__signature__ = signature  # type: ignore[attr-defined]
    lines = "".join(f"\n    {key}: {text}" for key, text in meanings.items())
    method.__doc__ = meaning + (f"\n\nArgs:{lines}" if lines else "")
    return method
