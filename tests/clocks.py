"""Clocks that tests set, so that deadlines do not depend on how fast a machine is, and waiting for what others will do soon."""

import threading
import time
from itertools import count
from types import SimpleNamespace


def tick(monkeypatch, module, seconds):
    """Let the monotonic clock of one module go on by so many seconds each time that it is looked at, and by none in between."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=count(0, seconds).__next__))


def until(condition, timeout_s=120.0):
    """Wait for what threads and processes will do soon."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        threading.Event().wait(0.005)
