"""The memory and open files of processes, read from /proc on Linux; None on other systems."""

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class Holding(NamedTuple):
    """Memory of a process and all its descendants. `mb` is the proportional set size: shared memory counts by its part."""

    mb: float
    files: int
    processes: int


def held_by(pid: int) -> Holding | None:
    """Return what a process and its descendants hold; None where /proc does not tell."""
    if not (_PROC / "self/smaps_rollup").exists():
        return None
    tree = family(pid)
    mb, files = 0.0, 0
    for member in tree:
        with suppress(OSError):  # it may end at any time
            lines = (_PROC / f"{member}/smaps_rollup").read_text().splitlines()
            mb += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
            files += len(os.listdir(_PROC / f"{member}/fd"))
    return Holding(mb, files, len(tree))


def family(pid: int) -> list[int]:
    """Return a process and its descendants; the process alone where there is no /proc."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in _PROC.iterdir() if _PROC.exists() else ():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                children[int(stat.rpartition(")")[2].split()[1])].append(int(entry.name))
    members = [pid]
    for member in members:  # grows while it is walked
        members += children[member]
    return members
