"""Errors that a test expects: their class, and the values in their messages, not the wording."""

import re
from contextlib import contextmanager

import pytest


@contextmanager
def expect_error(kinds, *values):
    """Expect an error of exactly this class, or of one of these, whose message contains each value as whole words.

    Yields pytest's exception info.

    >>> with expect_error(ValueError, "steps", 2):
    ...     raise ValueError("steps is 2; expected at least 3")
    >>> with expect_error(ValueError, "steps", 2):
    ...     raise ValueError("steps is 25; expected at most 20")
    Traceback (most recent call last):
    AssertionError: expected [2] in the message 'steps is 25; expected at most 20'
    >>> with expect_error(ValueError):
    ...     raise UnicodeError("")
    Traceback (most recent call last):
    AssertionError: expected an error of ValueError, got UnicodeError('')
    """
    __tracebackhide__ = True
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    with pytest.raises(kinds) as caught:
        yield caught
    error = caught.value
    if type(error) not in kinds:
        raise AssertionError(f"expected an error of {' or '.join(kind.__name__ for kind in kinds)}, got {error!r}") from error
    message = str(error)
    missing = [value for value in values if not _contains(message, str(value))]
    if missing:
        raise AssertionError(f"expected {missing} in the message {message!r}") from error


def _contains(message, value):
    """Return True if a message contains a value, not as a part of a longer word or number."""
    start, end = (r"\b" if re.match(r"\w", edge) else "" for edge in (value[:1], value[-1:]))
    return re.search(start + re.escape(value) + end, message) is not None
