"""Progress on the error output: a bar with the time that is left on a terminal, and elsewhere a line now and then."""

import sys
import time

_WIDTH = 30  # characters of the bar
_EVERY_S = 15.0  # between two lines where the error output is no terminal


class Progress:
    """A progress bar.

    Args:
        total: how many parts the work has.
        what: what is done with them, such as "tasks audited".

    """

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._what = what
        self._began_s = self._told_s = time.perf_counter()
        self._first: int | None = None  # what was done before, in an earlier run

    def show(self, done: int, text: str = "") -> None:
        """Tell that so many parts are done, with a text behind it: at once on a terminal, every 15 s elsewhere."""
        now_s = time.perf_counter()
        first = self._first = done if self._first is None else self._first
        left = _left(now_s - self._began_s, done - first, self._total - done)
        told = f"{done}/{self._total} {self._what}{left}{text and ', '}{text}"
        if sys.stderr.isatty():
            filled = _WIDTH * done // max(self._total, 1)
            sys.stderr.write(f"\r\033[K[{'#' * filled}{'.' * (_WIDTH - filled)}] {told}")
            sys.stderr.flush()
        elif now_s - self._told_s >= _EVERY_S:
            self._told_s = now_s
            sys.stderr.write(f"{told}\n")
            sys.stderr.flush()

    def clear(self) -> None:
        """Wipe the bar away."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _left(elapsed_s: float, done: int, to_do: int) -> str:
    """Return how long the rest will take at the pace so far; nothing before there is a pace.

    >>> _left(60, 10, 25)
    ', 2:30 left'
    """
    if done < 1 or to_do < 1:
        return ""
    minutes, seconds = divmod(round(elapsed_s / done * to_do), 60)
    hours, minutes = divmod(minutes, 60)
    return f", {hours}:{minutes:02}:{seconds:02} left" if hours else f", {minutes}:{seconds:02} left"
