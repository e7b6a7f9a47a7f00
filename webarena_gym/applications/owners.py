"""Identities of processes, by which folders and containers of killed processes are found (Linux)."""

import os
from contextlib import suppress
from pathlib import Path


def identity(process: int) -> str:
    """Return a text that identifies a running process of this user among all machines; "" if it has ended, or if the system is not Linux.

    It has the id of the boot, the PID namespace and the user, then the id of the process and its start time in ticks since the boot.
    """
    with suppress(OSError):
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
        namespace = os.stat("/proc/self/ns/pid").st_ino
        return "" if state == "Z" else f"{boot}-{namespace}-{os.getuid()}-{process}-{fields[18]}"
    return ""


def has_ended(owner: str) -> bool:
    """Return True if a process that `identity` has identified has ended. False for those of other machines, namespaces and users."""
    parts, own_parts = owner.split("-"), identity(os.getpid()).split("-")
    return len(parts) == len(own_parts) == 5 and parts[:3] == own_parts[:3] and owner != identity(int(parts[3]))
