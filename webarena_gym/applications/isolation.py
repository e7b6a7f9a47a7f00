"""The isolation of applications: namespaces, mounts, capabilities and limits of the host process and its instances (Linux).

The application's interpreter runs this file with `host.py`, so it uses only the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    class Limits(TypedDict, total=False):
        """The limits of an instance, see `limit_resources` and `limit_processes`."""

        memory: int
        cpu: int
        processes: int

    class HostConfiguration(TypedDict):
        """The settings of a host process, which `host.py` describes. `host.py` itself sets `apart` and `enclosed`."""

        folder: str
        wsgi: str
        asgi: str
        hidden: str
        launcher: str
        base: str
        writable: list[str]
        secret: list[str]
        homes: list[str]
        needed: list[str]
        loads: Literal["once", "each time"]
        warm: list[str]
        network: bool
        host: str
        limits: Limits
        engine: str
        label: str
        group: int | None
        apart: bool
        enclosed: bool


# Namespaces of mounts, users, processes and networks.
_NEWNS, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 0x40000, 0x8000
_MOUNTS_INSIDE = 0x4000  # bind the mounts in a folder too
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8
_MOUNT_SETATTR = 442  # number of the system call (Linux 5.12), which has no function in the C library
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_CAPABILITIES = (
    0x404FB  # chown, read any file, change owners, users and groups, kill, bind low ports, chroot; not mount or mknod
)
_ISOLATION_CAPABILITIES = 1 << 8 | 1 << 12 | 1 << 21  # capabilities for the isolation of a fork: setpcap, net_admin, sys_admin
ORPHAN, NOT_ISOLATED = 3, 4  # exit statuses: the parent has ended; the system does not support the isolation


def call(function: str, *values: object) -> None:
    """Call a function of the C library. Raises OSError if it fails."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*values) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def die_with_parent() -> None:
    """Make the system kill this process when its parent ends (Linux)."""
    if sys.platform == "linux":
        call("prctl", 1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    """Mount a file system, or with _BIND a file or a folder."""
    call("mount", *(text and text.encode() for text in (source, target, kind)), flags, options and options.encode())


def set_mount_attributes(path: str, on: int, off: int, how: int = 0, propagation: int = 0) -> None:
    """Set and clear attributes of a mount."""
    attributes = struct.pack("QQQQ", on, off, propagation, 0)
    call("syscall", _MOUNT_SETATTR, -100, path.encode(), how, attributes, len(attributes))


def hide(paths: list[str]) -> None:
    """Mount an empty folder or file over each of the paths."""
    for path in paths:
        if os.path.isdir(path):
            mount("hidden", path, "tmpfs", _READ_ONLY)
        else:
            mount("/dev/null", path, None, _BIND)


def show_only(folder: str, paths: list[str]) -> None:
    """Hide a folder, except these files and folders in it. If one of them is the folder or contains it, do nothing."""
    inside = sorted({path for path in paths if path.startswith(folder + os.sep) and os.path.exists(path)})
    if any(folder == path or folder.startswith(path.rstrip(os.sep) + os.sep) for path in paths):
        return
    inside = [path for path in inside if not any(path.startswith(other + os.sep) for other in inside if other != path)]
    descriptors = {path: os.open(path, os.O_PATH) for path in inside}
    mount("hidden", folder, "tmpfs", 0, "mode=755")
    for path, descriptor in descriptors.items():
        source = f"/proc/self/fd/{descriptor}"
        os.makedirs(path if os.path.isdir(source) else os.path.dirname(path), exist_ok=True)
        if not os.path.isdir(source):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(source, path, None, _BIND | _MOUNTS_INSIDE)
        os.close(descriptor)
    set_mount_attributes(folder, _READ_ONLY, 0)


def mount_single(folder: str, above: str) -> None:
    """Make a folder writable, and hide all other folders in the folder `above` it."""
    descriptor = os.open(folder, os.O_PATH)
    mount("hidden", above, "tmpfs")
    os.makedirs(folder, exist_ok=True)
    mount(f"/proc/self/fd/{descriptor}", folder, None, _BIND)
    os.close(descriptor)
    set_mount_attributes(above, _READ_ONLY, 0)
    set_mount_attributes(folder, 0, _READ_ONLY)


def mount_namespace_devices() -> None:
    """Mount /proc, shared memory and terminals of this process's namespaces."""
    mount("proc", "/proc", "proc", _READ_ONLY)
    mount("shm", "/dev/shm", "tmpfs")  # noqa: S108 - a mount, not a file
    mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666")
    mount("/dev/pts/ptmx", "/dev/ptmx", None, _BIND)


def drop_capabilities(capabilities: int) -> None:
    """Drop all capabilities except these, for this process and its children."""
    for capability in range(64):
        if not capabilities >> capability & 1:
            with contextlib.suppress(OSError):  # the system has fewer capabilities
                call("prctl", 24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    call("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", capabilities, capabilities, 0, 0, 0, 0))


def unshare_as_user(kinds: int, before: Callable[[], None] = lambda: None) -> None:
    """Move this process into new namespaces, including a user namespace, with the same user and group ids. Raises OSError.

    `before` is called in the old user namespace, after the fork of the process that writes the id maps to /proc.
    """
    user, group, parent, (reader, writer) = os.getuid(), os.getgid(), os.readlink("/proc/self"), os.pipe()
    pid = os.fork()
    if not pid:  # a process in the old namespace may write the id maps of the new one; root may map all ids
        os.close(writer)
        os.read(reader, 1)
        with contextlib.suppress(OSError):
            for name, number in (("uid_map", user), ("gid_map", group)):
                with open(f"/proc/self/{name}") as file:
                    lines = [f"{first} {first} {count}" for first, _, count in map(str.split, file)]
                if user:
                    lines = [f"{number} {number} 1"]
                    with open(f"/proc/{parent}/setgroups", "w") as file:
                        file.write("deny")
                with open(f"/proc/{parent}/{name}", "w") as file:
                    file.write("\n".join(lines))
            os._exit(0)
        os._exit(1)
    try:
        before()
        call("unshare", kinds | _NEWUSER)
    finally:
        os.close(reader)
        os.close(writer)
        status = os.waitpid(pid, 0)[1]
    if status:
        raise OSError("the id maps of the user namespace could not be written")


def unshare_network() -> None:
    """Move this process into a new network namespace with only a loopback interface. Raises OSError."""
    from fcntl import ioctl  # noqa: PLC0415 - not on all systems

    try:
        call("unshare", _NEWNET)
    except PermissionError:
        unshare_as_user(_NEWNET)
    with socket.socket() as any_socket:
        ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def enter_network(pid: int) -> None:
    """Move this process into the network namespace of a process. Raises OSError.

    A user other than root may do so in the user namespace of the process, if the user created that.
    """
    with open(f"/proc/{pid}/ns/user") as users, open(f"/proc/{pid}/ns/net") as network:
        if os.geteuid():
            call("setns", users.fileno(), _NEWUSER)
        call("setns", network.fileno(), _NEWNET)


def restrict_mounts(settings: HostConfiguration) -> None:
    """Mount the file systems of the host process (see `isolate_host`)."""
    call("unshare", _NEWNS)
    set_mount_attributes("/", _READ_ONLY | _NO_DEVICES, 0, _RECURSIVE, _PRIVATE)
    mount("proc", "/proc", "proc", _READ_ONLY)
    for name in _DEVICES:
        mount(f"/dev/{name}", f"/dev/{name}", None, _BIND)
        set_mount_attributes(f"/dev/{name}", 0, _NO_DEVICES)
    for folder in settings["homes"]:
        show_only(folder, [*settings["needed"], settings["launcher"]])
    hide([path for path in settings["secret"] if os.path.exists(path)])
    for path in settings["writable"]:
        mount(path, path, None, _BIND)
        set_mount_attributes(path, 0, _READ_ONLY)
    mount_single(settings["launcher"], settings["hidden"])
    mount("base", os.path.dirname(settings["base"]), "tmpfs", _READ_ONLY)


def continue_in_fork() -> None:
    """Continue in a forked child. The parent waits, and exits with the child's status."""
    pid = os.fork()
    if pid:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    die_with_parent()


def isolate_host(folder: str, settings: HostConfiguration) -> None:
    """Isolate this process, which then loads the application, and continue in a fork of it.

    The process can write to the folder of the launcher, except the base state, and to the folders of `writable`. All other files are
    read-only, and the files and folders of `secret` are empty. It sees only its own child processes. The mounts belong to an outer user namespace, so
    the process cannot undo them. It has an inner user namespace, in which it can isolate its forks.

    Raises:
        OSError: if the system does not support this.

    """
    if os.getuid():
        unshare_as_user(0)
    call("unshare", _NEWPID)
    continue_in_fork()
    unshare_as_user(_NEWNS | _NEWPID, lambda: restrict_mounts(settings))
    continue_in_fork()
    mount_namespace_devices()
    drop_capabilities(_CAPABILITIES | _ISOLATION_CAPABILITIES)
    os.chdir(folder)


def fork_into_namespace() -> int:
    """Fork a child in a new PID namespace, in which it can see and signal only its own children."""
    namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        call("unshare", _NEWPID)
        pid = os.fork()
        if pid:
            call("setns", namespace, _NEWPID)
    finally:
        os.close(namespace)
    return pid


def isolate_instance(folder: str, settings: HostConfiguration) -> None:
    """Isolate this process, an instance that `fork_into_namespace` created after `isolate_host`.

    It can see and write only its own folder, and has a separate network namespace if the system supports it. It drops the capabilities that
    could undo this, for itself and its children.

    Raises:
        OSError: if the system does not support this.

    """
    if settings["apart"]:
        unshare_network()
    call("unshare", _NEWNS)
    mount_namespace_devices()
    mount_single(folder, settings["hidden"])
    drop_capabilities(_CAPABILITIES)


def can_isolate_instance(folder: str, settings: HostConfiguration) -> bool:
    """Return True if the system supports the isolation of an instance, which a temporary process tries."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    with contextlib.suppress(BaseException):
        child = fork_into_namespace()
        if not child:
            isolate_instance(folder, settings)
        os._exit(os.waitpid(child, 0)[1] != 0 if child else 0)
    os._exit(1)


def hide_paths(paths: list[str]) -> None:
    """Mount /proc of the current PID namespace, and an empty folder or file over each of the paths."""
    call("unshare", _NEWNS)
    set_mount_attributes("/", 0, 0, _RECURSIVE, _PRIVATE)
    mount("proc", "/proc", "proc", _NO_SETUID | _NO_DEVICES | _NO_EXECUTION)
    hide(paths)


def execute(command: list[str]) -> NoReturn:
    """Replace this process by a command. If the program cannot be run, print the reason and exit with the status 127."""
    try:
        os.execvp(command[0], command)  # noqa: S606 - without a shell
    except OSError as error:
        os.write(2, f"the program {command[0]!r} cannot be run: {error.strerror}\n".encode())
    os._exit(127)


def run_program(command: list[str], hidden: list[str]) -> int:
    """Run a command in isolation, and return its exit status. All its child processes end with it.

    The command sees only its own processes, and nothing at the hidden paths. The mounts belong to an outer user namespace, so the command
    cannot undo them, not even as root. Raises OSError if the system does not support this.
    """
    die_with_parent()
    if os.getuid():
        unshare_as_user(0)
    call("unshare", _NEWPID)
    continue_in_fork()
    unshare_as_user(_NEWNS, lambda: hide_paths(hidden))
    pid = os.fork()
    if not pid:
        execute(command)
    child = status = 0
    while child != pid:  # the first process of a namespace also inherits orphans
        child, status = os.wait()
    return os.waitstatus_to_exitcode(status)


def limit_resources(limits: Limits, number: int) -> None:
    """Limit this process and its children.

    `memory` is the limit in bytes of the private data of each process. `cpu` is the number of cores, which a program may undo; `number`
    chooses them.
    """
    import resource  # noqa: PLC0415 - not on all systems

    if "memory" in limits:
        resource.setrlimit(resource.RLIMIT_DATA, (limits["memory"], limits["memory"]))
    if "cpu" in limits and sys.platform == "linux":
        cores = sorted(os.sched_getaffinity(0))
        first = number * limits["cpu"] % len(cores)
        os.sched_setaffinity(0, (cores[first:] + cores[:first])[: limits["cpu"]])


def limit_processes(group: int, name: str, maximum: int) -> None:
    """Limit the number of processes and threads of this process and its children, by a new control group in `group`, and close `group`."""
    with contextlib.suppress(FileExistsError):  # of the instance, for which a command runs
        os.mkdir(name, dir_fd=group)
    for file, text in (("pids.max", maximum), ("cgroup.procs", 0)):  # 0 is the process that writes it
        descriptor = os.open(f"{name}/{file}", os.O_WRONLY, dir_fd=group)
        os.write(descriptor, str(text).encode())
        os.close(descriptor)
    os.close(group)
