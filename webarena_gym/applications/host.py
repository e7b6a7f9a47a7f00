"""The host process of an application: a script that starts an instance of the application for each episode.

It loads a Python application once and forks it, or runs a command. The application's interpreter runs this script, so it uses only the
standard library, and uvicorn for ASGI. Its argument is a JSON object with these keys:

- `folder`: folder of the application, in which commands run
- `wsgi` or `asgi`: import path of the application, "module:name"
- `hidden`: folder of the instances of all applications
- `launcher`: folder in it, for the instances of this application
- `base`: folder in that, which is hidden from all instances
- `writable`: folders that all instances may write
- `secret`: files and folders that no instance may read
- `limits`: limits of each instance (see `limit_resources`)
- `group`: descriptor of the folder of a control group if `limits` has `processes`, else null

The environment variable WEBARENA_GYM_VARIABLES is a JSON object of the application's variables. They are set only in the isolated process,
because an interpreter or a loader of libraries may run code that a variable names.

The script serves in a fork, which is isolated as far as the system supports it (see `isolate_host`). It first writes
{"apart": bool, "enclosed": bool}: whether it and its instances have a separate network namespace, and whether it and each instance are
isolated (see `isolate_instance`). Then it reads requests and writes responses, one JSON object per line:

- {"serve": folder, "address": path of a socket, "port": port of a command, to which the socket is forwarded, "command": list,
  "environment": object, "log": path} starts an instance, or a command for one; the response is {"pid": n}
- {"alive": pid}: {"alive": bool, "status": n}
- {"stop": pid}: {}
- {"cookies": header, "host": name} requests the `warm` paths again: {}
- {"end": true} ends the script

The response to a failed request is {"error": text}. At the end of the input, the script kills all its instances.

With the argument {"run": command, "hidden": paths} it instead runs the command in isolation, and exits with its status (see `run_program`).
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import json
import os
import random
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.util import setup_testing_defaults


class Server(WSGIServer):
    """A WSGI server on a listening socket. It handles one request at a time, so that equal requests lead to equal states."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(("127.0.0.1", 80), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.server_name, self.server_port = listening, "127.0.0.1", 80
        self.setup_environ()

    def get_request(self) -> Any:
        connection, _ = self.socket.accept()
        connection.settimeout(60)
        return connection, ("127.0.0.1", 0)

    def handle_error(self, *_: Any) -> None:
        traceback.print_exc()


class Handler(WSGIRequestHandler):
    """Request handler that reads the complete request before the response, so that the client never writes to a closed connection."""

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        length = self.headers.get("Content-Length", "")
        self.rfile = io.BytesIO(self.rfile.read(int(length)) if length.isdecimal() else b"")
        return True

    def log_message(self, *_: Any) -> None:
        """Suppress the log of requests."""


def load(path: str) -> Any:
    """Return the object of an import path "module:name". The name may have dots; with "()" at the end, the object is called."""
    module, _, name = path.partition(":")
    target: Any = importlib.import_module(module)
    for part in name.removesuffix("()").split("."):
        target = getattr(target, part)
    return target() if name.endswith("()") else target


def run(kind: str, application: Any, listening: Any) -> None:
    """Serve an application until the process is killed."""
    if kind == "wsgi":
        server = Server(listening)
        server.set_app(application)
        server.serve_forever()
    else:
        import uvicorn  # noqa: PLC0415 - that of the application

        config = uvicorn.Config(application, log_level="warning", access_log=False, proxy_headers=False)
        uvicorn.Server(config).run(sockets=[listening])


def warm(application: Any, path: str, **headers: str) -> None:
    """Send a request to a WSGI application before it is forked, so that all forks share what it loads."""
    environ: dict[str, Any] = {"PATH_INFO": path, "HTTP_HOST": "127.0.0.1", **headers}
    setup_testing_defaults(environ)
    answer = application(environ, lambda *_: None)
    for _ in answer:
        pass
    getattr(answer, "close", lambda: None)()


def application_traceback() -> str:
    """Return the end of the traceback of the current exception, without the frames of this file and of Python's import system.

    If there are no other frames, return the exception only.
    """
    kind, error, frame = sys.exc_info()
    while frame and frame.tb_frame.f_code.co_filename.startswith((__file__, importlib.__file__, "<frozen ")):
        frame = frame.tb_next
    return "".join(traceback.format_exception(kind, error, frame))[-2000:].strip()


def expect_no_open_state() -> None:
    """Raise RuntimeError if this process has an open file of the state, which all forks would share. Detected on Linux only."""
    prefix = os.path.realpath("state") + os.sep
    for descriptor in os.listdir("/proc/self/fd") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if path.startswith(prefix):
                raise RuntimeError(
                    f'it keeps {path[len(prefix) :]} open, which all episodes would share: close it once it is loaded, or set loads = "each time"'
                )


# Namespaces of mounts, users, processes and networks.
_NEWNS, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 0x40000, 0x8000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8
_MOUNT_SETATTR = 442  # number of the system call (Linux 5.12), which has no function in the C library
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_CAPABILITIES = (
    0x404FB  # chown, read any file, change owners, users and groups, kill, bind low ports, chroot; not mount or mknod
)
_ISOLATION_CAPABILITIES = 1 << 8 | 1 << 12 | 1 << 21  # capabilities for the isolation of a fork: setpcap, net_admin, sys_admin
_ORPHAN, _NOT_ISOLATED = 3, 4  # exit statuses: the parent has ended; the system does not support the isolation


def call(function: str, *values: Any) -> None:
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


def restrict_mounts(settings: Any) -> None:
    """Mount the file systems of the host process (see `isolate_host`)."""
    call("unshare", _NEWNS)
    set_mount_attributes("/", _READ_ONLY | _NO_DEVICES, 0, _RECURSIVE, _PRIVATE)
    mount("proc", "/proc", "proc", _READ_ONLY)
    for name in _DEVICES:
        mount(f"/dev/{name}", f"/dev/{name}", None, _BIND)
        set_mount_attributes(f"/dev/{name}", 0, _NO_DEVICES)
    hide(settings["secret"])
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


def isolate_host(folder: str, settings: Any) -> None:
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


def isolate_instance(folder: str, settings: Any) -> None:
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


def can_isolate_instance(folder: str, settings: Any) -> bool:
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
        try:
            os.execvp(command[0], command)  # noqa: S606 - without a shell
        except OSError as error:
            os.write(2, f"the program {command[0]!r} cannot be run: {error.strerror}\n".encode())
        os._exit(127)
    child = status = 0
    while child != pid:  # the first process of a namespace also inherits orphans
        child, status = os.wait()
    return os.waitstatus_to_exitcode(status)


def keep_temporary_files(folder: str) -> None:
    """Set the folder for temporary files to the folder "tmp" in a folder."""
    os.environ["TMPDIR"] = tempfile.tempdir = os.path.join(folder, "tmp")
    os.makedirs(tempfile.tempdir, exist_ok=True)


def limit_resources(limits: Any, number: int) -> None:
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


def relay(path: str, port: int) -> None:
    """Fork a process that forwards connections from a Unix socket to a local port."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    if os.fork():
        listening.close()
        return
    die_with_parent()

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    while True:
        near, _ = listening.accept()
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError:  # the application does not listen yet
            near.close()
            continue
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


def start(order: Any, settings: Any, application: Any, answers: Any) -> int:
    """Fork a process that executes the command, or serves the application if there is none, and return its id."""
    kind = "" if order["command"] else next(name for name in ("wsgi", "asgi") if settings.get(name))
    listening = None
    if kind:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(order["address"])
        listening.listen(64)
    pid = fork_into_namespace() if settings["enclosed"] else os.fork()
    if pid:
        if listening:
            listening.close()
        return pid
    try:
        answers.close()
        os.setsid()
        die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        for stream, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
            os.dup2(stream, target)
        os.environ.update(order["environment"])
        if settings["group"] is not None:
            limit_processes(settings["group"], os.path.basename(order["serve"]), settings["limits"]["processes"])
        if settings["enclosed"]:
            isolate_instance(order["serve"], settings)
            keep_temporary_files(order["serve"])
        limit_resources(settings["limits"], int(os.path.basename(order["serve"])))
        if not kind:
            if order["port"]:
                relay(order["address"], order["port"])
            os.chdir(settings["folder"])
            try:
                os.execvp(order["command"][0], order["command"])  # noqa: S606 - a command of the user's own
            except OSError as error:
                os.write(
                    2, f"the program {order['command'][0]!r} of the key command cannot be run: {error.strerror}\n".encode()
                )
                os._exit(1)
        os.chdir(order["serve"])
        random.seed(0)
        run(kind, application or load(settings[kind]), listening)
    except BaseException:  # noqa: BLE001 - the fork must not return to the caller's code
        traceback.print_exc()
    finally:
        os._exit(1)


def kill(pid: int) -> None:
    """Kill a process and its process group."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # the process has not created its group yet, or has ended
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def answer(order: Any, settings: Any, application: Any, running: Any, answers: Any) -> Any:
    """Process a request and return its response. `running` has the exit status of each started process by id, None while it runs."""
    for pid in [pid for pid, status in running.items() if status is None]:
        child, status = os.waitpid(pid, os.WNOHANG)
        if child:
            running[pid] = os.waitstatus_to_exitcode(status)
    if "serve" in order:
        pid = start(order, settings, application, answers)
        running[pid] = None
        return {"pid": pid}
    if "cookies" in order:
        for path in settings["warm"] if application else ():
            warm(application, path, HTTP_COOKIE=order["cookies"], HTTP_HOST=order["host"])
        expect_no_open_state()
        return {}
    pid = order.get("alive", order.get("stop"))
    if "alive" in order:
        return {"alive": pid in running and running[pid] is None, "status": running.get(pid)}
    if running.pop(pid, 0) is None:
        kill(pid)
        os.waitpid(pid, 0)
    return {}


def serve(settings: Any, is_enclosed: bool) -> int:
    """Isolate this process, load the application, process requests until the input ends, and return the exit status."""
    folder, is_apart = os.getcwd(), False
    with contextlib.suppress(OSError, AttributeError, ImportError):  # not Linux
        if not settings["network"]:
            unshare_network()
            is_apart = True
    settings["apart"] = is_apart
    if is_enclosed:
        try:
            isolate_host(folder, settings)
        except (OSError, AttributeError):
            return _NOT_ISOLATED
        if not can_isolate_instance(folder, settings):
            return _NOT_ISOLATED
    orders, answers = sys.stdin, os.fdopen(os.dup(1), "w")  # separate from stdout, which the application may print to
    os.dup2(2, 1)
    variables = json.loads(os.environ.pop("WEBARENA_GYM_VARIABLES"))
    os.environ.update(variables)
    time.tzset()
    search_paths = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [settings["folder"], *map(os.path.abspath, search_paths)]
    settings["enclosed"] = is_enclosed
    kind = next((name for name in ("wsgi", "asgi") if settings.get(name)), "")
    application, running = None, {}  # type: Any, dict[int, int | None]
    response: dict[str, Any] = {"apart": is_apart, "enclosed": is_enclosed}
    try:
        if kind and settings["loads"] == "once":
            if is_enclosed:
                keep_temporary_files(folder)
            application = load(settings[kind])
            for path in settings["warm"]:
                warm(application, path)
            expect_no_open_state()
        if kind == "asgi":
            importlib.import_module("uvicorn")
    except BaseException:  # noqa: BLE001 - loading an application may raise anything
        response = {"error": application_traceback()}
    print(json.dumps(response), file=answers, flush=True)
    status = _ORPHAN
    for line in orders:
        order = json.loads(line)
        if "end" in order:
            status = 0
            break
        try:
            response = answer(order, settings, application, running, answers)
        except Exception as error:  # noqa: BLE001 - returned to the sender of the request
            response = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(response), file=answers, flush=True)
    for pid, exit_status in running.items():
        if exit_status is None:
            kill(pid)
    return status


def main() -> None:
    """Serve in a fork, isolated if the system supports it. If the parent process has ended, remove the folder of the launcher."""
    settings = json.loads(sys.argv[1])
    if "run" in settings:
        sys.exit(run_program(settings["run"], settings["hidden"]) & 0xFF)
    status = _NOT_ISOLATED
    for is_enclosed in (True, False):
        if status == _NOT_ISOLATED:
            pid = os.fork()
            if not pid:
                die_with_parent()
                sys.exit(serve(settings, is_enclosed))
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == _ORPHAN and select.select([0], [], [], 0)[0] and not os.read(0, 1):
        shutil.rmtree(settings["launcher"], ignore_errors=True)
    sys.exit(status & 0xFF)


if __name__ == "__main__":
    main()
