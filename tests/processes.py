"""Helpers of tests that start and kill processes."""

import os
import select


def ends(pid, seconds=120):
    """Whether a process ends within some time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)
