"""Training runs: freed memory goes back to the system. Resumes and clocks are tested with the trainers."""

import ctypes
from pathlib import Path

import pytest

from agents.training.runs import return_free_memory


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library has no malloc_trim")
def test_freed_memory_goes_back_although_a_later_block_is_in_use():
    blocks = [bytearray(100_000) for _ in range(1000)]
    later = bytearray(100_000)
    full = resident_bytes()
    del blocks
    return_free_memory(0)
    assert full - resident_bytes() > 80_000_000
    assert len(later) == 100_000
