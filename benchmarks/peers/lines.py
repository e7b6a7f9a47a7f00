"""An adapter's side of the protocol: each command is a line of JSON, and so is each answer. Needs only the standard library."""

import json
import os
import sys
import time
from typing import NamedTuple

USABLE = "a:not(.skip),button,input,select,textarea,label,summary,option"
"""The CSS selector of the elements among which a step's index counts, without the link that sites have when they are served; see
`recording.USABLE`."""


class StepResult(NamedTuple):
    """The result of a reset or a step: the browser's address, and the error if it failed."""

    ms: float
    url: str
    error: str = ""


class Watch:
    """A stopwatch that starts when it is created."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def ms(self) -> float:
        return 1000 * (time.perf_counter() - self._start)


def serve(adapter: object) -> None:
    """Run commands until the input ends. Other output goes to the standard error.

    An adapter holds envs by number, created at their first reset, and measures only its work: `reset(env, episode)` to the page
    `episode["url"]`, `step(env, step)` of a recording, and `close()`.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        for line in sys.stdin:
            command = json.loads(line)
            do = adapter.reset if command["do"] == "reset" else adapter.step
            result = do(command["env"], command["what"])
            print(json.dumps(result._asdict()), file=answers, flush=True)
    finally:
        adapter.close()
