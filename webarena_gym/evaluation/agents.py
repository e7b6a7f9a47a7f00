"""Agents that run in this process: your callable, a chat model, and scripted agents. Each job has its own instance.

An agent is called with the observation and the info of the env, and returns the text of its reply, or a `Reply` with the usage of
tokens. It may have a method `reset()`, which is called before each episode; `info["step"]` is 0 at the first page.
"""

import hashlib
import importlib
import importlib.util
import inspect
import json
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from webarena_gym.actions import Action, Kind, reply_of
from webarena_gym.actions import tools as tool_definitions
from webarena_gym.actions.dialect import TOOL_PROMPT, plain_tools
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.clients.chat import ChatModel, Completion, is_context_overflow, may_be_context_overflow
from webarena_gym.clients.rest import RefusedError
from webarena_gym.console import existing_path
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, CutOffError, WebArenaGymError
from webarena_gym.evaluation.results import Trial
from webarena_gym.observation import visible_text
from webarena_gym.observation.history import round_page, task_message
from webarena_gym.tasks import Expert

CHAT, COMMAND = "chat:", "command:"
"""Prefixes of the name of a chat model, and of the command line of a program."""

_NO_TEXT = ("checkbox", "radio", "submit", "button", "reset", "image")  # types of inputs without text


USAGE_FIELDS = ("prompt_tokens", "completion_tokens", "cost")


class Reply(NamedTuple):
    """The reply of an agent with its usage.

    Attributes:
        text: the reply, with one action.
        prompt_tokens: tokens of the prompt; None if unknown.
        completion_tokens: tokens of the reply; None if unknown.
        cost: cost of the reply, in the currency of your choice; None if unknown.
        too_long: True if the conversation exceeds the model's context, so that there is no reply.

    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    too_long: bool = False


Agent = Callable[[str, Mapping[str, Any]], str | Reply]
"""Your agent: (observation, info) -> reply."""


class AgentAdapter(Protocol):
    """Interface between the runner and an agent, which plays one episode after another."""

    def start_episode(self, trial: Trial, env: WebArenaLite) -> None:
        """Start an episode. Scripted agents read more than the observation from `env`."""
        ...

    def reply(self, observation: str, info: Mapping[str, Any]) -> Reply:
        """Return the reply to the current page. A WebArenaGymError makes the episode invalid."""
        ...


def random_action(nodes: Mapping[str, Any], page: str, goal: str, rng: Random, exit_rate: float = 0.15) -> Action:
    """Return a random action that the page allows: click, type words of the goal, select an option, or exit with a word of the page.

    It never exits with N/A, because that blind guess would solve all unachievable tasks.

    Args:
        nodes: elements of the page by address, as in an `Observation`.
        page: text of the page.
        goal: goal of the task.
        rng: source of randomness.
        exit_rate: probability of an exit action; half of them have no answer.

    """
    if not nodes or rng.random() < exit_rate:
        words = re.findall(r"[$\w.,-]+", page)
        return Action(Kind.EXIT, argument=rng.choice(["", rng.choice(words or [""])]))
    address = rng.choice(list(nodes))
    element = nodes[address].element
    if element.tag == "select":
        options = [visible_text(option) for option in element.iter("option")]
        return Action(Kind.SELECT, address, rng.choice(options or [""]))
    if element.tag == "textarea" or (element.tag == "input" and element.get("type", "text") not in _NO_TEXT):
        words = goal.split() or [""]
        start = rng.randrange(len(words))
        text = " ".join(words[start : start + rng.randint(1, 4)])
        return Action(rng.choice([Kind.TYPE, Kind.SEARCH]), address, text)
    return Action(Kind.CLICK, address)


class RandomAgent:
    """Agent that chooses with `random_action`."""

    def start_episode(self, trial: Trial, env: WebArenaLite) -> None:
        self._trial, self._env = trial, env

    def reply(self, _: str, info: Mapping[str, Any]) -> Reply:
        rng = Random(self._trial.derive_seed(info["step"]))
        action = random_action(self._env.observation.nodes, info["page"], info["goal"], rng)
        return Reply(self._env.dialect.format(action))


class ExpertAgent:
    """Agent that replays the reference solutions of the tasks."""

    def start_episode(self, trial: Trial, env: WebArenaLite) -> None:
        self._env, self._expert = env, Expert(trial.task, env.dialect)

    def reply(self, *_: object) -> Reply:
        return Reply(self._expert.reply(self._env.page, self._env.observation))


class CallableAgent:
    """Adapter of a user's callable. Its exceptions are raised as AgentError."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent, self._name = agent, name

    def start_episode(self, *_: object) -> None:
        """Call the agent's `reset`, if it has one."""
        reset = getattr(self._agent, "reset", None)
        if callable(reset):
            self._call(reset)

    def reply(self, observation: str, info: Mapping[str, Any]) -> Reply:
        reply = self._call(self._agent, observation, info)
        if isinstance(reply, str):
            return Reply(reply)
        if isinstance(reply, Reply):
            for name in USAGE_FIELDS:
                value = getattr(reply, name)
                if value is not None and not (isinstance(value, int | float) and isfinite(value) and value >= 0):
                    raise AgentError(
                        f"the agent {self._name} returned a Reply with {name} {value!r}; expected a number from 0, or None"
                    )
            return reply
        raise AgentError(f"the agent {self._name} returned {reply!r:.200}; expected a str or a Reply")

    def _call(self, function: Callable[..., Any], *arguments: object) -> Any:
        try:
            return function(*arguments)
        except WebArenaGymError:
            raise
        except Exception as error:  # the user's code: an error in it must not stop the other episodes
            why = f"{type(error).__name__}: {error}"
            if isinstance(error, TypeError) and error.__traceback__ and error.__traceback__.tb_next is None:
                raise AgentError(f"the agent {self._name} cannot be called as agent(observation, info): {why}") from error
            raise AgentError(f"the agent {self._name} raised {why}{_last_line(error)}") from error


class ChatAgent:
    """Agent of a chat model, which replies with text or tool calls.

    Args:
        model: the chat model; agents may share it.
        options: further fields of the requests, such as the temperature. None removes a field that is sent by default, such as `seed`.
        with_tools: if True, the actions are tools, earlier replies are sent as tool calls, and pages as their results.
        lose_if_unclear: if True, an episode gets reward 0 instead of failing in two unclear cases: the token limit ends a reply before
            its first text, or the server rejects a later request without a clear message that it is too long.

    """

    def __init__(
        self, model: ChatModel, options: Mapping[str, Any], *, with_tools: bool = False, lose_if_unclear: bool = False
    ) -> None:
        self._model, self._options = model, dict(options)
        self._with_tools, self._lose_if_unclear = with_tools, lose_if_unclear
        self._completions: list[Completion] = []

    def start_episode(self, trial: Trial, env: WebArenaLite) -> None:
        self._trial, self._env, self._completions = trial, env, []

    def reply(self, _: str, info: Mapping[str, Any]) -> Reply:
        messages: Sequence[Mapping[str, Any]] = info["messages"]
        tools: dict[str, Any] = {}
        if self._with_tools:
            # The system prompt of the other observations explains them too.
            has_text = self._env.options.observation in ("html", "axtree")
            system = TOOL_PROMPT if has_text else self._env.system_prompt
            messages = with_tool_calls(messages, self._completions, info["goal"], info.get("answer_form", ""), system)
            tools = {"tools": plain_tools(tool_definitions(self._env.dialect))}
        fields = {"seed": self._trial.derive_seed(info["step"]) >> 32, **tools, **self._options}
        try:
            completion = self._model.complete(messages, **{name: value for name, value in fields.items() if value is not None})
        except RefusedError as error:
            is_unclear = bool(self._completions) and may_be_context_overflow(error)
            if is_context_overflow(error) or (self._lose_if_unclear and is_unclear):
                return Reply("", too_long=True)
            raise
        except CutOffError as error:
            if self._lose_if_unclear:
                return Reply("", *error.usage, too_long=True)
            raise
        self._completions.append(completion)
        calls = [reply_of(self._env.dialect, call.name, call.arguments) for call in completion.calls[:1]]
        return Reply("\n".join([completion.text, *calls]).strip() if calls else completion.text, *completion.usage)


def with_tool_calls(
    messages: Sequence[Mapping[str, Any]],
    completions: Sequence[Completion],
    goal: str,
    answer_form: str = "",
    system: str = TOOL_PROMPT,
) -> list[dict[str, Any]]:
    """Return a chat in which replies with tool calls are messages with `tool_calls`, and the pages after them are tool results.

    Only the first tool call of a reply is kept, because only that one was executed. Replies keep their reasoning, which some servers
    require. The goal and the pages are written as in a training with `webarena_gym.integrations.trl.environment`.

    Args:
        messages: the chat, in which replies are texts. It may lack the earliest rounds of the episode.
        completions: all replies of the episode.
        goal: the goal of the task.
        answer_form: instructions on the format of the answer.
        system: the system prompt.

    """
    chat: list[dict[str, Any]] = []
    replies = sum(message["role"] == "assistant" for message in messages)
    remaining = iter(completions[len(completions) - replies :])
    call_id = ""  # of the preceding tool call
    for message in messages:
        if message["role"] == "system":
            chat.append({"role": "system", "content": system})
            continue
        if message["role"] == "assistant":
            completion = next(remaining)
            call_id = ""
            if completion.calls:
                call = completion.calls[0]
                call_id = call.id or f"call_{len(chat)}"
                function = {"name": call.name, "arguments": call.arguments if _is_object(call.arguments) else "{}"}
                calls = [{"id": call_id, "type": "function", "function": function, **call.more}]
                chat.append(
                    {"role": "assistant", "content": completion.text or None, **completion.reasoning, "tool_calls": calls}
                )
            else:
                chat.append({**message, **completion.reasoning})
            continue
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [{**part, "text": round_page(goal, part["text"])} for part in parts if part["type"] == "text"]
        pictures = [part for part in parts if part["type"] != "text"]
        if all(earlier["role"] == "system" for earlier in chat):  # the first page
            texts[0]["text"] = task_message(goal, texts[0]["text"], answer_form)
        text = texts[0]["text"] if isinstance(content, str) else texts
        if not call_id:
            chat.append({"role": "user", "content": text if isinstance(content, str) else [*texts, *pictures]})
            continue
        chat.append({"role": "tool", "tool_call_id": call_id, "content": text})
        if pictures:
            chat.append({"role": "user", "content": pictures})  # tool results cannot hold pictures
        call_id = ""
    return chat


def _is_object(arguments: str) -> bool:
    """Return True if the arguments of a call are a JSON object. Servers reject others in a chat; the next page reports the error."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def load_agent(name: str) -> Callable[[], Agent]:
    """Return a function that creates the agent `module:name` or `path/to/file.py:name`.

    A class is instantiated by each call of that function; a function is returned as it is. Modules are also searched in the current
    folder. Raises AgentError if the agent cannot be imported or created.
    """
    module, _, attribute = name.rpartition(":")
    if not module or not attribute:
        hint = suggestion(name, ("random", "expert"), list_all=False)
        if Path(name).is_dir():
            hint = "that is a folder; to evaluate a trained reference agent, run python -m agents.evaluate --policy FOLDER"
        raise AgentError(
            f"the agent is {quote_value(name)}; "
            + (hint or f"expected module:callable, file.py:callable, random, expert, {CHAT}MODEL or {COMMAND}...")
        )
    value: Any = _import(module, name)
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise AgentError(f"the agent {name!r} cannot be loaded: {module} has no {attribute!r}")
        value = getattr(value, part)
    if not callable(value):
        raise AgentError(f"the agent {name!r} is a {type(value).__name__}; expected a function or a class")
    return lambda: instance_of(value, name)


def instance_of(agent: Agent | type[Agent], name: str) -> Agent:
    """Return a new instance of a class, or the function itself. `name` is the name of the agent in the AgentErrors."""
    if not inspect.isclass(agent):
        return agent
    try:
        instance = agent()
    except Exception as error:
        why = f"{type(error).__name__}: {error}{_last_line(error)}"
        raise AgentError(f"the agent {name!r} cannot be created: {why}") from error
    if not callable(instance):
        raise AgentError(f"the agent {name!r} has no method __call__(observation, info)")
    return instance


def identify(agent: Agent | type[Agent]) -> dict[str, Any]:
    """Return the identity of an agent for the header of a run: its qualified name, and the digest of its file. Raises AgentError.

    An object that is neither a class nor a function of a module has its `repr` too, since others of the same name may act differently.
    """
    if not callable(agent):
        raise AgentError(f"the agent is {agent!r}; expected a callable (observation, info) -> reply, a class, or a name")
    code: Any = agent if hasattr(agent, "__qualname__") else type(agent)
    identity = {"name": f"{code.__module__}:{code.__qualname__}", "digest": _digest(code.__module__)}
    is_named = inspect.isclass(agent) or (inspect.isfunction(agent) and "<" not in agent.__qualname__)
    return identity if is_named else {**identity, "object": repr(agent)}


def agent_digest(name: str) -> str:
    """Return the SHA-256 of the file of an agent that `load_agent` has imported; "" if its module has no file."""
    module = name.rpartition(":")[0]
    return _digest(Path(module).stem if module.endswith(".py") else module)


def _digest(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


def _has_module(name: str) -> bool:
    """Return True if the top-level package of a module is installed, or is in the current folder."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    except (ImportError, ValueError):  # not a module name
        return False


def _import(path: str, agent: str) -> ModuleType:
    """Import the module of an agent from the path of a file, or by its dotted name. Raises AgentError."""
    if path.endswith(".py"):
        try:
            existing_path()(path)
        except ArgumentTypeError as error:
            raise AgentError(f"the agent is {agent!r}, whose file {error}") from error
    elif not _has_module(path):
        file = f"{path}.py:{agent.rpartition(':')[2]}"
        hint = f"did you mean {file!r}?" if Path(f"{path}.py").is_file() else "expected module:callable or file.py:callable"
        raise AgentError(f"the agent is {agent!r}, whose module is not installed; {hint}")
    try:
        if path.endswith(".py"):
            specification = importlib.util.spec_from_file_location(Path(path).stem, path)
            assert specification is not None
            assert specification.loader is not None  # not None for a name with .py
            module = importlib.util.module_from_spec(specification)
            sys.modules[module.__name__] = module
            specification.loader.exec_module(module)
            return module
        return importlib.import_module(path)
    except Exception as error:
        raise AgentError(f"the agent {agent!r} cannot be loaded: {type(error).__name__}: {error}") from error


def _last_line(error: Exception) -> str:
    """Return the file and line of the agent that raised an error, for an error message; "" if there is no traceback."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})" if trace else ""
