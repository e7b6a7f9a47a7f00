"""One line on the terminal that says how far a piece of work is; nothing at all where nobody watches."""

import sys

_WIDTH = 30  # characters of the bar


def show(done: int, total: int, what: str) -> None:
    """Draw the bar over the line that stands there; nothing where the error output is no terminal."""
    if sys.stderr.isatty():
        filled = _WIDTH * done // max(total, 1)
        sys.stderr.write(f"\r\033[K[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {what}")
        sys.stderr.flush()


def clear() -> None:
    """Wipe the bar away."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
