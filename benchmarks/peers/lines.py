"""An adapter's side of the protocol: each command is a line of JSON, answered by a line of JSON. Needs only the standard library."""

import json
import os
import sys
import time
from typing import Any, NamedTuple, Protocol

USABLE = "a,button,input,select,textarea,label,summary,option"
"""The CSS selector of the elements among which a step's index counts; see `recording.USABLE`."""


class Seen(NamedTuple):
    """What came of a reset or a step: where the browser is, and why it failed to do what it was told."""

    ms: float
    url: str
    error: str = ""


class Adapter(Protocol):
    """Some envs of one kind, by number, made when they are first reset. Each times what it does, and nothing around it."""

    def reset(self, env: int, episode: dict[str, Any]) -> Seen:
        """Bring an env to the beginning of an episode: `task_id`, and for those that need it the `url` to start from."""
        ...

    def step(self, env: int, step: dict[str, Any]) -> Seen:
        """Do a step of a recording, and observe."""
        ...

    def close(self) -> None:
        """End everything."""
        ...


class Watch:
    """Measures milliseconds from when it is made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def ms(self) -> float:
        """Return the milliseconds until now."""
        return 1000 * (time.perf_counter() - self._start)


def serve(adapter: Adapter) -> None:
    """Do what the commands say until they end. What others print goes to the standard error."""
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
