"""An adapter's side of the protocol: each command is a line of JSON, answered by a line of JSON. Needs only the standard library."""

import json
import os
import sys
import time
from typing import Any, NamedTuple, Protocol

USABLE = "a,button,input,select,textarea,label,summary,option"
"""The CSS selector of the elements among which a step's index counts; see `recording.USABLE`."""


class Seen(NamedTuple):
    """The result of a reset or a step: the browser's address, and the error if it failed."""

    ms: float
    url: str
    error: str = ""


class Adapter(Protocol):
    """The envs of an adapter, by number, created at their first reset. Each measures its own work only."""

    def reset(self, env: int, episode: dict[str, Any]) -> Seen:
        """Reset an env to a task; `url` is the start page, for envs that need it."""
        ...

    def step(self, env: int, step: dict[str, Any]) -> Seen:
        """Take a step of a recording and observe the page."""
        ...

    def close(self) -> None:
        """Close all envs."""
        ...


class Watch:
    """A stopwatch that starts when it is made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def ms(self) -> float:
        """Return the milliseconds until now."""
        return 1000 * (time.perf_counter() - self._start)


def serve(adapter: Adapter) -> None:
    """Run commands until the input ends. Other output goes to the standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "reset":
                seen = adapter.reset(command["env"], command["what"])
            else:
                seen = adapter.step(command["env"], command["what"])
            print(json.dumps(seen._asdict()), file=answers, flush=True)
    finally:
        adapter.close()
