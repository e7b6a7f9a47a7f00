"""Progress on standard error: a bar with the remaining time on a terminal, otherwise a line every 15 s."""

import sys
import time

_BAR_WIDTH = 30  # characters of the bar
_LINE_INTERVAL_S = 15.0  # between two lines if standard error is not a terminal


class Progress:
    """A progress bar.

    Args:
        total: number of items.
        label: name of the items and the work on them, such as "tasks audited".
        is_percentage: the items are hundredths of the work, so only their number is shown, as in "12 % of M-GRPO".

    """

    def __init__(self, total: int, label: str, *, is_percentage: bool = False) -> None:
        self._total = total
        self._label = label
        self._format = "{} % {}" if is_percentage else f"{{}}/{total} {{}}"
        self._start_s = self._printed_s = time.perf_counter()
        self._initial: int | None = None  # number of items at the first call, which an earlier run completed

    def update(self, completed: int, text: str = "") -> None:
        """Show the number of completed items, followed by a text: immediately on a terminal, otherwise every 15 s."""
        now_s = time.perf_counter()
        initial = self._initial = completed if self._initial is None else self._initial
        remaining = _remaining_time(now_s - self._start_s, completed - initial, self._total - completed)
        line = f"{self._format.format(completed, self._label)}{remaining}{text and ', '}{text}"
        if sys.stderr.isatty():
            width = _BAR_WIDTH * completed // max(self._total, 1)
            sys.stderr.write(f"\r\033[K[{'#' * width}{'.' * (_BAR_WIDTH - width)}] {line}")
            sys.stderr.flush()
        elif now_s - self._printed_s >= _LINE_INTERVAL_S:
            self._printed_s = now_s
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def clear(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _remaining_time(elapsed_s: float, completed: int, remaining: int) -> str:
    """Return an estimate of the remaining time, at the average speed; "" before the first item and after the last.

    >>> _remaining_time(60, 10, 25)
    ', 2:30 left'
    """
    if completed < 1 or remaining < 1:
        return ""
    minutes, seconds = divmod(round(elapsed_s / completed * remaining), 60)
    hours, minutes = divmod(minutes, 60)
    return f", {hours}:{minutes:02}:{seconds:02} left" if hours else f", {minutes}:{seconds:02} left"
