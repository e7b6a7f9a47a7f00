"""A progress bar on the terminal; it writes nothing where the error output is no terminal."""

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
