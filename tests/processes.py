"""Helpers of tests that start and kill processes."""

import os
import select
from pathlib import Path


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


def children(pid):
    """Return the ids of the processes below another one."""
    found = [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
    return found + [grandchild for child in found for grandchild in children(child)]


def pid_of(copy):
    """Return the id of the process of an application's copy, which its host tells as its own namespace of processes numbers it."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines())
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(fields["Pid"])] = (int(fields["PPid"]), [int(number) for number in fields["NSpid"].split()])
    children = {copy._host._process.pid}
    while children:
        if numbers := [pid for pid in children if copy._pid in found[pid][1][copy._host.is_isolated * 2 :][:1]]:
            return numbers[0]
        children = {pid for pid, (parent, _) in found.items() if parent in children}
    raise LookupError("it has ended")
