"""Tools beside the browser: functions that a reply can call instead of an action on the page.

A tool is a typed Python function with a docstring, or the name of a tool in BUNDLED. Its result is text, which the observation shows above
the page. `Toolbox` runs the tools of one env: it counts calls, and saves and restores the state of tools. A tool with state is a method of
an object with the methods `snapshot()` and `restore(snapshot)`; all other tools must not keep state between calls. Each env has a copy of
such an object, which every episode starts in its first state.
"""

import json
import pickle
import re
import traceback
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any, NotRequired, TypedDict

from webarena_gym.actions.action import Action
from webarena_gym.actions.calls import called_tool
from webarena_gym.actions.dialect import RESULT_TAG
from webarena_gym.errors import ActionError, BrowserError, SnapshotError
from webarena_gym.pages.page import Page
from webarena_gym.sites.country.dice import Scale
from webarena_gym.texts import cut
from webarena_gym.toolbox.functions import Function as Function
from webarena_gym.toolbox.functions import ToolFunction as ToolFunction

_MAX_ERROR = 300  # characters of the error of a tool


BUNDLED = ("lookup", "table_sql")
"""The names of the bundled tools."""


def bundled_function(name: str) -> Function:
    """Return the method of a new object that is the bundled tool with this name."""
    if name == "lookup":
        from webarena_gym.toolbox.lookup import Lookup  # noqa: PLC0415 - imports the encyclopedia

        return Lookup().lookup
    from webarena_gym.toolbox.page_tables import PageTables  # noqa: PLC0415 - as above

    return PageTables().table_sql


class ToolInfo(TypedDict):
    """The entry `tools` of `info`."""

    calls: int
    """number of calls in this episode"""
    failed: int
    """number of calls with invalid arguments, or whose function raised an exception"""
    left: NotRequired[int]
    """number of calls that the budget still allows, if there is one"""


@dataclass
class ToolUse:
    """The use of tools in an episode.

    Attributes:
        calls: number of calls.
        failed: number of calls with invalid arguments, or whose function raised an exception.
        result: result of the call in the last reply; None if it was an action.
        states: in snapshots, the pickled states of the tools that keep state, by the names of these tools.

    """

    calls: int = 0
    failed: int = 0
    result: str | None = None
    states: Mapping[str, bytes] = field(default_factory=dict)

    def prepend_result(self, page: str, tag: str = RESULT_TAG) -> str:
        """Return the text of a page below the result of the last call, inside the tag, if the last reply was a call."""
        return page if self.result is None else f"<{tag}>\n{self.result}\n</{tag}>\n{page}"


class Toolbox:
    """The tools of one env.

    Args:
        functions: the tools, with different names.
        budget: maximum number of calls in an episode; None for no limit.
        window: maximum number of characters of a result.
        tag: the tag around results, which their text cannot contain.

    """

    def __init__(self, functions: Sequence[ToolFunction], budget: int | None, window: int, tag: str = RESULT_TAG) -> None:
        self._budget, self._window = budget, window
        self._tag = re.compile(rf"<(?=/?{re.escape(tag)}>)")
        copies: dict[int, Any] = {}  # of the objects with state, which several methods may share
        self._tools: dict[str, ToolFunction] = {}
        self._functions: dict[str, Function] = {}
        self._owners: dict[str, Any] = {}  # of the tools with state, by their names
        for tool in functions:
            owner = getattr(tool.function, "__self__", None)
            self._tools[tool.name], self._functions[tool.name] = tool, tool.function
            if isinstance(tool.function, MethodType) and all(hasattr(owner, name) for name in ("snapshot", "restore")):
                if id(owner) not in copies:
                    self._owners[tool.name] = copies[id(owner)] = _copy_owner(tool.name, owner)
                self._functions[tool.name] = MethodType(tool.function.__func__, copies[id(owner)])
        objects = {id(owner): owner for function in self._functions.values() if (owner := getattr(function, "__self__", None))}
        self._enter = [owner.enter_world for owner in objects.values() if hasattr(owner, "enter_world")]
        self._visit = [owner.visit_page for owner in objects.values() if hasattr(owner, "visit_page")]
        self._first_states = self._save_states()

    def start(self) -> ToolUse:
        """Set the tools to their first states, and return the use of tools in a new episode."""
        return self.restore(ToolUse(states=self._first_states))

    def enter_world(self, seed: int, scale: Scale) -> None:
        """Set the world of an episode on the embedded sites, for the bundled tools."""
        for enter in self._enter:
            enter(seed, scale)

    def visit_page(self, page: Page) -> None:
        """Pass a page that the agent sees to the bundled tools."""
        for visit in self._visit:
            visit(page)

    def info(self, use: ToolUse) -> ToolInfo:
        info: ToolInfo = {"calls": use.calls, "failed": use.failed}
        if self._budget is not None:
            info["left"] = self._budget - use.calls
        return info

    def call(self, use: ToolUse, action: Action) -> None:
        """Run the tool that an action of the kind CALL calls, and store its result in `use`.

        An exception of the tool is a result. A BrowserError, and running out of memory, are infrastructure failures.

        Raises:
            ActionError: for invalid arguments, and if the budget is used up.
            BrowserError: for an infrastructure failure of the tool.

        """
        name, arguments = called_tool(action)
        if self._budget is not None and use.calls >= self._budget:
            raise ActionError(f"{name}() was not called: all {self._budget} calls of tools in this episode are used up")
        use.calls += 1
        try:
            values = self._tools[name].validate(arguments)
        except ActionError:
            use.failed += 1
            raise
        try:
            text = _text_of(self._functions[name](**values))
        except BrowserError:
            raise
        except MemoryError as error:
            raise BrowserError(f"the tool {name} ran out of memory") from error
        except Exception as error:  # noqa: BLE001 - any mistake of a tool is shown to the policy
            use.failed += 1
            text = cut(" ".join("".join(traceback.format_exception_only(error)).split()), _MAX_ERROR)
        use.result = cut(self._tag.sub("&lt;", text), self._window)

    def snapshot(self, use: ToolUse) -> ToolUse:
        """Return the use of tools with their current states. Raises SnapshotError."""
        return replace(use, states=self._save_states())

    def restore(self, use: ToolUse | None) -> ToolUse:
        """Set the tools to the states of a snapshot, and return the use of tools at its time; None starts in their first states. Raises SnapshotError."""
        if use is None:
            return self.start()
        if use.states.keys() != self._owners.keys():
            names = ", ".join(sorted(use.states)) or "none"
            raise SnapshotError(
                f"the snapshot has the states of the tools {names}; this env has {', '.join(self._owners) or 'none'}"
            )
        for name, owner in self._owners.items():
            try:
                owner.restore(pickle.loads(use.states[name]))  # noqa: S301 - as trusted as the snapshot
            except Exception as error:
                raise SnapshotError(f"the tool {name} cannot restore its state: {type(error).__name__}: {error}") from error
        return replace(use, states={})

    def _save_states(self) -> dict[str, bytes]:
        states = {}
        for name, owner in self._owners.items():
            try:
                states[name] = pickle.dumps(owner.snapshot(), pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                raise SnapshotError(f"the tool {name} cannot save its state: {type(error).__name__}: {error}") from error
        return states


def _copy_owner(name: str, owner: object) -> Any:
    """Return a copy of the object of a tool with state. Raises ValueError if it cannot be copied."""
    try:
        return deepcopy(owner)
    except Exception as error:
        raise ValueError(
            f"the object of the tool {name} cannot be copied for each env: {type(error).__name__}: {error}"
        ) from error


def _text_of(result: object) -> str:
    """Return the result of a tool as text: a str unchanged, "" for None, other values as JSON or as `str` shows them."""
    if result is None or isinstance(result, str):
        return result or ""
    try:
        return json.dumps(result, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(result)
