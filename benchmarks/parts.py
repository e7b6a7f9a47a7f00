"""The time of the parts of a step in the in-process browser."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.recording import Recording
from webarena_gym import env as env_module
from webarena_gym.browsers import document
from webarena_gym.browsers.document import read_changed, read_source
from webarena_gym.env import WebArenaLite
from webarena_gym.pages.page import Network
from webarena_gym.sites.world import load_world

PARTS: dict[str, tuple[tuple[Any, str], ...]] = {
    "request": ((Network, "request"),),  # routing, queries, templates
    "parse": ((document, "parse"),),
    "observe": ((env_module, "observe"),),  # number the elements and write the page
    "history": ((env_module, "compress"), (env_module, "as_text")),
    "evaluate": ((WebArenaLite, "_evaluate"),),
}
"""The functions that a step is made of. What is left is `act`: the reply's parsing, links and forms, cookies, the env itself."""


class Stopwatch:
    """Measures the time of parts. A part that runs inside another pauses the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._running: list[str] = []
        self._since = time.perf_counter()

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        self._turn()
        self._running.append(part)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def around(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time added to a part."""

        def timed(*positional: Any, **named: Any) -> Any:
            with self.timing(part):
                return function(*positional, **named)

        return timed

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now


def step_parts(make_env: Callable[[], WebArenaLite], recordings: Sequence[Recording]) -> dict[str, float]:
    """Return the mean milliseconds of each part of a step, over the steps of these recordings, each played for the first time."""
    load_world.cache_clear()
    read_source.cache_clear()
    read_changed.cache_clear()
    env = make_env()
    watch, steps = Stopwatch(), 0
    with ExitStack() as patches:
        for part, places in PARTS.items():
            for owner, name in places:
                patches.enter_context(patch.object(owner, name, watch.around(part, getattr(owner, name))))
        for recording in recordings:
            before = dict(watch.seconds)
            env.reset(options={"task": recording.task_id})
            watch.seconds = defaultdict(float, before)  # a reset is no step
            for step in recording.steps:
                with watch.timing("act"):
                    env.step(step.reply)
                steps += 1
    return {
        part: round(1000 * seconds / steps, 3) for part, seconds in sorted(watch.seconds.items(), key=lambda item: -item[1])
    }
