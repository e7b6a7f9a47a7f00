"""Clocks that tests set, so that deadlines do not depend on how fast a machine is."""

from itertools import count
from types import SimpleNamespace


def tick(monkeypatch, module, seconds):
    """Let the monotonic clock of one module go on by so many seconds each time that it is looked at, and by none in between."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=count(0, seconds).__next__))
