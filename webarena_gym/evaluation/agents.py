"""Agents that play in this process: anybody's callable, a chat model, and the scripted ones. One is made for each job.

An agent is called with the observation and the info of the env, and returns the text of its reply, or a `Reply` that also tells what
it has used. It may have a method `reset()`, which is called before each episode; `info["step"]` is 0 at its first page.
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
from webarena_gym.arguments import shown, suggestion
from webarena_gym.console import present
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, CutOffError, WebArenaGymError
from webarena_gym.evaluation.results import Trial
from webarena_gym.observation import visible_text
from webarena_gym.servers.chat import ChatModel, Completion, is_context_overflow, may_be_context_overflow
from webarena_gym.servers.rest import RefusedError
from webarena_gym.tasks import Expert

CHAT, COMMAND = "chat:", "command:"
"""Go before the name of a model, and before the command line of a program."""

_NO_TEXT = ("checkbox", "radio", "submit", "button", "reset", "image")  # inputs that cannot be typed into


USED = ("prompt_tokens", "completion_tokens", "cost")


class Reply(NamedTuple):
    """The reply of an agent, and its usage, as far as it is known."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    too_long: bool = False  # the conversation does not fit the model; there is no reply


Agent = Callable[[str, Mapping[str, Any]], str | Reply]
"""An agent of one's own: the observation and the info of the env in, its reply out."""


class Player(Protocol):
    """An agent as the runner sees it: it plays one episode after the other."""

    def begin(self, trial: Trial, env: WebArenaLite) -> None:
        """Take note of a new episode; `env` is for those who look behind the page."""
        ...

    def reply(self, observation: str, info: Mapping[str, Any]) -> Reply:
        """Return the reply to the newest page. Raises WebArenaGymError for what breaks: the episode then says nothing."""
        ...


def random_action(nodes: Mapping[str, Any], page: str, goal: str, rng: Random, exit_rate: float = 0.15) -> Action:
    """Return something that the page allows: to click, type words of the goal, choose an option, or leave with a word of the page.

    `nodes` are those of an `Observation`, `page` is its text. It leaves with the probability `exit_rate`, half the time without an
    answer. It never claims that a task cannot be done: that is no text of a page, and saying it blindly earns the tasks whose right
    answer it is.
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
        typed = " ".join(words[start : start + rng.randint(1, 4)])
        return Action(rng.choice([Kind.TYPE, Kind.SEARCH]), address, typed)
    return Action(Kind.CLICK, address)


class RandomPlayer:
    """Does something that the page allows."""

    def begin(self, trial: Trial, env: WebArenaLite) -> None:
        self._trial, self._env = trial, env

    def reply(self, _: str, info: Mapping[str, Any]) -> Reply:
        rng = Random(self._trial.seed_of(info["step"]))
        action = random_action(self._env.observation.nodes, info["page"], info["goal"], rng)
        return Reply(self._env.dialect.format(action))


class ExpertPlayer:
    """Replays the reference solutions of the tasks."""

    def begin(self, trial: Trial, env: WebArenaLite) -> None:
        self._env, self._expert = env, Expert(trial.task, env.dialect)

    def reply(self, *_: Any) -> Reply:
        return Reply(self._expert.reply(self._env.page, self._env.observation))


class CallablePlayer:
    """Plays with an agent of one's own. What it raises is told as an AgentError."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent, self._name = agent, name

    def begin(self, *_: Any) -> None:
        """Call the agent's `reset`, if it has one."""
        reset = getattr(self._agent, "reset", None)
        if callable(reset):
            self._call(reset)

    def reply(self, observation: str, info: Mapping[str, Any]) -> Reply:
        said = self._call(self._agent, observation, info)
        if isinstance(said, str):
            return Reply(said)
        if isinstance(said, Reply):
            for what in USED:
                count = getattr(said, what)
                if count is not None and not (isinstance(count, int | float) and isfinite(count) and count >= 0):
                    raise AgentError(
                        f"the agent {self._name} returned a Reply with {what} {count!r}; expected a number from 0, or None"
                    )
            return said
        raise AgentError(f"the agent {self._name} returned {said!r:.200}; expected the text of a reply, or a Reply")

    def _call(self, what: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return what(*arguments)
        except WebArenaGymError:
            raise
        except Exception as error:  # it is foreign code: whatever breaks in it, the other episodes go on
            why = f"{type(error).__name__}: {error}"
            if isinstance(error, TypeError) and error.__traceback__ and error.__traceback__.tb_next is None:
                raise AgentError(f"the agent {self._name} cannot be called as agent(observation, info): {why}") from error
            raise AgentError(f"the agent {self._name} raised {why}{_last_line(error)}") from error


class ChatPlayer:
    """Plays with a chat model, by text or by calls of tools.

    Args:
        model: may be shared by players.
        options: further fields of the protocol, such as the temperature; one that is None is not sent, as `seed` otherwise is.
        with_tools: whether the actions are given as tools. The model then sees its earlier replies as calls, and pages as their results.
        is_doubt_lost: whether an episode is lost, and not a failure, when a reply is cut off before it says anything, or a server that
            has replied in it refuses a conversation in words that leave open whether it is too long.

    """

    def __init__(
        self, model: ChatModel, options: Mapping[str, Any], *, with_tools: bool = False, is_doubt_lost: bool = False
    ) -> None:
        self._model, self._options = model, dict(options)
        self._with_tools, self._is_doubt_lost = with_tools, is_doubt_lost
        self._said: list[Completion] = []

    def begin(self, trial: Trial, env: WebArenaLite) -> None:
        self._trial, self._env, self._said = trial, env, []

    def reply(self, _: str, info: Mapping[str, Any]) -> Reply:
        messages: Sequence[Mapping[str, Any]] = info["messages"]
        more: dict[str, Any] = {}
        if self._with_tools:
            messages, more = with_calls(messages, self._said), {"tools": self._env.action_schema}
        wanted = {"seed": self._trial.seed_of(info["step"]) >> 32, **more, **self._options}
        try:
            said = self._model.complete(messages, **{name: value for name, value in wanted.items() if value is not None})
        except RefusedError as error:
            if is_context_overflow(error) or (self._is_doubt_lost and self._said and may_be_context_overflow(error)):
                return Reply("", too_long=True)
            raise
        except CutOffError as error:
            if self._is_doubt_lost:
                return Reply("", *error.usage, too_long=True)
            raise
        self._said.append(said)
        calls = [reply_of(self._env.dialect, call.name, call.arguments) for call in said.calls[:1]]
        return Reply("\n".join([said.text, *calls]).strip() if calls else said.text, *said.usage)


def with_calls(messages: Sequence[Mapping[str, Any]], said: Sequence[Completion]) -> list[dict[str, Any]]:
    """Return a chat with the replies that were calls of tools as such, and the page after each as its result.

    `said` are all replies of the episode; where the chat leaves out its earliest rounds, it holds those of the last ones. Of several
    calls in one reply the first was played, so the others are left out. Replies have their reasoning, which some servers demand.
    """
    told: list[dict[str, Any]] = []
    replies = sum(message["role"] == "assistant" for message in messages)
    waiting = iter(said[len(said) - replies :])
    answered = ""
    for message in messages:
        if message["role"] == "assistant":
            reply = next(waiting)
            answered = ""
            if reply.calls:
                call = reply.calls[0]
                answered = call.id or f"call_{len(told)}"
                function = {"name": call.name, "arguments": call.arguments if _is_object(call.arguments) else "{}"}
                calls = [{"id": answered, "type": "function", "function": function, **call.more}]
                told.append({"role": "assistant", "content": reply.text or None, **reply.reasoning, "tool_calls": calls})
            else:
                told.append({**message, **reply.reasoning})
        elif message["role"] == "user" and answered:
            parts = message["content"]
            texts = parts if isinstance(parts, str) else [part for part in parts if part["type"] == "text"]
            told.append({"role": "tool", "tool_call_id": answered, "content": texts})
            if seen := [part for part in parts if isinstance(part, dict) and part["type"] != "text"]:
                told.append({"role": "user", "content": seen})  # the protocol has no pictures in results
            answered = ""
        else:
            told.append(dict(message))
    return told


def _is_object(arguments: str) -> bool:
    """Say whether arguments are what a server can read that is sent them back; the page after the call says what is wrong with others."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def load(name: str) -> Callable[[], Agent]:
    """Return what makes the agent that `module:name` or `path/to/file.py:name` names; a class makes one for each job.

    Modules are looked for in the current folder, too. Raises AgentError.
    """
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        hint = suggestion(name, ("random", "expert"), tell_all=False)
        if Path(name).is_dir():
            hint = "that is a folder; a trained reference agent is evaluated by python -m agents.evaluate --policy FOLDER"
        raise AgentError(
            f"the agent is {shown(name)}; "
            + (hint or f"expected module:callable, file.py:callable, random, expert, {CHAT}MODEL or {COMMAND}...")
        )
    value: Any = _import(place, name)
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise AgentError(f"the agent {name!r} cannot be loaded: {place} has no {attribute!r}")
        value = getattr(value, part)
    if not callable(value):
        raise AgentError(f"the agent {name!r} is a {type(value).__name__}; expected a function or a class")
    if not inspect.isclass(value):
        return lambda: value

    def make() -> Agent:
        try:
            made: Any = value()
        except Exception as error:
            why = f"{type(error).__name__}: {error}{_last_line(error)}"
            raise AgentError(f"the agent {name!r} cannot be made: {why}") from error
        if not callable(made):
            raise AgentError(f"the agent {name!r} has no method __call__(observation, info)")
        agent: Agent = made
        return agent

    return make


def digest(name: str) -> str:
    """Return the SHA-256 of the file that defines the agent which `load` has loaded; "" where it has none."""
    place = name.rpartition(":")[0]
    file = getattr(sys.modules.get(Path(place).stem if place.endswith(".py") else place), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""


def _has_module(name: str) -> bool:
    """Return True if the first part of a module's name is installed, or is in the current folder."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    except (ImportError, ValueError):  # an odd name
        return False


def _import(place: str, name: str) -> ModuleType:
    if place.endswith(".py"):
        try:
            present()(place)
        except ArgumentTypeError as error:
            raise AgentError(f"the agent is {name!r}, whose file {error}") from error
    elif not _has_module(place):
        file = f"{place}.py:{name.rpartition(':')[2]}"
        hint = f"did you mean {file!r}?" if Path(f"{place}.py").is_file() else "expected module:callable or file.py:callable"
        raise AgentError(f"the agent is {name!r}, whose module is not installed; {hint}")
    try:
        if place.endswith(".py"):
            specification = importlib.util.spec_from_file_location(Path(place).stem, place)
            assert specification is not None
            assert specification.loader is not None  # as there is for every name that ends so
            module = importlib.util.module_from_spec(specification)
            sys.modules[module.__name__] = module
            specification.loader.exec_module(module)
            return module
        return importlib.import_module(place)
    except Exception as error:
        raise AgentError(f"the agent {name!r} cannot be loaded: {type(error).__name__}: {error}") from error


def _last_line(error: Exception) -> str:
    """Return where in the agent an error was raised, as far as it is known."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})" if trace else ""
