"""Control groups of Linux, which limit the number of processes of an application's copies."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from webarena_gym.applications.owners import has_ended, identity
from webarena_gym.errors import ApplicationError

_PREFIX = "webarena-gym-"


def create_group(number: int) -> Path:
    """Create a control group for the copies of an application, and remove unused ones of processes that have ended.

    Args:
        number: a number that no other group of this process has.

    Raises:
        ApplicationError: if this process cannot create one.

    """
    errors = []
    for parent in _controlled_groups():
        group = parent / f"{_PREFIX}{identity(os.getpid())}-{number}"
        try:
            for unused in parent.glob(f"{_PREFIX}*"):
                if has_ended(unused.name.removeprefix(_PREFIX).rpartition("-")[0]):
                    remove_group(unused)
            group.mkdir()
            if (parent / "cgroup.controllers").exists():  # version 2
                for folder in (parent, group):
                    (folder / "cgroup.subtree_control").write_text("+pids")
        except OSError as error:
            errors.append(str(error))
            remove_group(group)
        else:
            return group
    reason = "; ".join(errors) or ("it has none for processes" if sys.platform == "linux" else "they exist on Linux only")
    raise ApplicationError(f"limits: processes needs control groups that this process can create: {reason}")


def remove_group(group: Path) -> None:
    """Remove a group and the groups of copies in it, as far as no process is in them."""
    for folder in (*group.glob("*/"), group):
        with suppress(OSError):
            folder.rmdir()


def _controlled_groups() -> Iterator[Path]:
    """Yield the folders of the control groups of this process, in both versions, that may limit processes."""
    try:
        groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:
        return
    for _, controllers, path in groups:
        for mount in mounts:
            kind, options = mount[mount.index("-") + 1], mount[-1].split(",")
            is_first = kind == "cgroup" and "pids" in options and "pids" in controllers.split(",")
            folder = Path(mount[4], os.path.relpath(path, mount[3])) if path.startswith(mount[3]) else Path(mount[4])
            if is_first or (kind == "cgroup2" and not controllers and "pids" in _read(folder / "cgroup.controllers").split()):
                yield folder


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""
