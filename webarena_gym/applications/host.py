"""Starts an application for each episode: loads one written in Python once and forks it, or runs a command. A script of its own.

The application's interpreter runs it, so it needs the standard library alone, and uvicorn for ASGI. Its argument is a JSON object: `folder`,
where the application is found and commands run, `wsgi` or `asgi`, its "module:name", `hidden`, a folder that holds those of all episodes,
`launcher`, a folder in it for the copies of this application, `base`, a folder in that which none may see, `writable`, folders that all may
write, and `secret`, files that none may read. It serves in a fork of its own, which is closed off as far as the system lets it (see `shut_in`).
That says {"apart": bool, "enclosed": bool}, whether it and all that it starts have a network of their own, and whether it and each copy are
closed off (see `enclose`), and reads a JSON object a line: {"serve": folder, "address": path of a socket, "port": where a command
listens, to which the socket then leads, "command": list, "environment": object, "log": path} is answered with {"pid": n}, {"alive": pid} with
{"alive": bool, "status": n}, {"stop": pid} with {}; what fails with {"error": text}. When its input ends, all that it has started is killed.

With the argument {"run": command, "hidden": paths} it runs that command closed off and exits with its status instead (see `run_program`).
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
import traceback
from collections.abc import Callable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.util import setup_testing_defaults


class Server(WSGIServer):
    """A WSGI server on a socket that listens already; one request after the other, so that equal requests leave equal states."""

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
    """Has read a request before it is answered, so that nobody who still sends finds the connection closed; says nothing of requests."""

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        length = self.headers.get("Content-Length", "")
        self.rfile = io.BytesIO(self.rfile.read(int(length)) if length.isdecimal() else b"")
        return True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def load(path: str) -> Any:
    """Return the object that "module:name" names; a name may have dots, and a function without arguments behind "()" is called."""
    module, _, name = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.removesuffix("()").split("."):
        found = getattr(found, part)
    return found() if name.endswith("()") else found


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
    """Let a WSGI application answer a path once, before it is forked, so that what it loads then is there for all."""
    environ: dict[str, Any] = {"PATH_INFO": path, "HTTP_HOST": "127.0.0.1", **headers}
    setup_testing_defaults(environ)
    answer = application(environ, lambda *_: None)
    for _ in answer:
        pass
    getattr(answer, "close", lambda: None)()


def own_traceback() -> str:
    """Return the end of the traceback of the error that is handled, without this file's and Python's own way to the application."""
    kind, error, place = sys.exc_info()
    while place and place.tb_next and place.tb_frame.f_code.co_filename.startswith((__file__, importlib.__file__, "<frozen ")):
        place = place.tb_next
    return "".join(traceback.format_exception(kind, error, place))[-2000:].strip()


def refuse_shared() -> None:
    """Raise RuntimeError where this process has a file of the state open, which all forks would share, as far as the system tells."""
    own = os.path.realpath("state") + os.sep
    for descriptor in os.listdir("/proc/self/fd") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if path.startswith(own):
                raise RuntimeError(
                    f'it keeps {path[len(own) :]} open, which all episodes would share: close it once it is loaded, or set loads = "each time"'
                )


# Namespaces of mounts, users, processes and networks.
_NEWNS, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 0x40000, 0x8000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8
_MOUNT_SETATTR = 442  # has no function in the C library; Linux 5.12
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_CAPABILITIES = 0x404FB  # chown, read any file, change owners, users and groups, kill, bind low ports, chroot: none that mounts or makes devices
_CLOSES_OFF = 1 << 8 | 1 << 12 | 1 << 21  # what it takes to close a fork off: give up capabilities, have a network, mount
_ORPHAN, _OPEN = 3, 4  # exit statuses: nobody is there who gives orders; the system does not let it be closed off


def call(function: str, *values: Any) -> None:
    """Call a function of the C library. Raises OSError where it fails."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*values) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def die_with_parent() -> None:
    """Let this process be killed when its parent ends."""
    if sys.platform == "linux":
        call("prctl", 1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    """Mount a file system, or with _BIND a file or a folder."""
    call("mount", *(text and text.encode() for text in (source, target, kind)), flags, options and options.encode())


def mark(path: str, on: int, off: int, how: int = 0, propagation: int = 0) -> None:
    """Set and clear attributes of a mount."""
    attributes = struct.pack("QQQQ", on, off, propagation, 0)
    call("syscall", _MOUNT_SETATTR, -100, path.encode(), how, attributes, len(attributes))


def mount_alone(folder: str, above: str) -> None:
    """Mount a folder so that it can be written, and no other one in the folder above it is seen."""
    own = os.open(folder, os.O_PATH)
    mount("hidden", above, "tmpfs")
    os.makedirs(folder, exist_ok=True)
    mount(f"/proc/self/fd/{own}", folder, None, _BIND)
    os.close(own)
    mark(above, _READ_ONLY, 0)
    mark(folder, 0, _READ_ONLY)


def mount_own_devices() -> None:
    """Mount a list of processes, shared memory and terminals that are those of this process's namespaces."""
    mount("proc", "/proc", "proc", _READ_ONLY)
    mount("shm", "/dev/shm", "tmpfs")  # noqa: S108 - a mount, not a file
    mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666")
    mount("/dev/pts/ptmx", "/dev/ptmx", None, _BIND)


def give_up(capabilities: int) -> None:
    """Give up all capabilities but these, also for what this process starts."""
    for capability in range(64):
        if not capabilities >> capability & 1:
            with contextlib.suppress(OSError):  # there are not as many
                call("prctl", 24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    call("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", capabilities, capabilities, 0, 0, 0, 0))


def separate(kinds: int, before: Callable[[], None] = lambda: None) -> None:
    """Give this process namespaces of its own that belong to users of its own, who are called as before. Raises OSError.

    `before` is called by the old users, when a process is at hand that can write to /proc whatever it mounts.
    """
    user, group, parent, (ready, told) = os.getuid(), os.getgid(), os.readlink("/proc/self"), os.pipe()
    pid = os.fork()
    if not pid:  # who stays with the old users may tell who the new ones are, all of them where that is root
        os.close(told)
        os.read(ready, 1)
        with contextlib.suppress(OSError):
            for name, own in (("uid_map", user), ("gid_map", group)):
                with open(f"/proc/self/{name}") as file:
                    lines = [f"{first} {first} {number}" for first, _, number in map(str.split, file)]
                if user:
                    lines = [f"{own} {own} 1"]
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
        os.close(ready)
        os.close(told)
        status = os.waitpid(pid, 0)[1]
    if status:
        raise OSError("the users of a namespace could not be told")


def separate_network() -> None:
    """Give this process a network of its own, in which it reaches itself alone."""
    from fcntl import ioctl  # noqa: PLC0415 - not on all systems

    try:
        call("unshare", _NEWNET)
    except PermissionError:
        separate(_NEWNET)
    with socket.socket() as any_socket:
        ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def lock(settings: Any) -> None:
    """Let this process see and write as told in `shut_in`."""
    call("unshare", _NEWNS)
    mark("/", _READ_ONLY | _NO_DEVICES, 0, _RECURSIVE, _PRIVATE)
    mount("proc", "/proc", "proc", _READ_ONLY)
    for name in _DEVICES:
        mount(f"/dev/{name}", f"/dev/{name}", None, _BIND)
        mark(f"/dev/{name}", 0, _NO_DEVICES)
    for path in settings["secret"]:
        mount("/dev/null", path, None, _BIND)
    for path in settings["writable"]:
        mount(path, path, None, _BIND)
        mark(path, 0, _READ_ONLY)
    mount_alone(settings["launcher"], settings["hidden"])
    mount("base", os.path.dirname(settings["base"]), "tmpfs", _READ_ONLY)


def go_on_in_fork() -> None:
    """Fork a child that goes on, and end as it ends."""
    pid = os.fork()
    if pid:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    die_with_parent()


def shut_in(folder: str, settings: Any) -> None:
    """Close this process off, which then loads the application, and go on in a fork of it.

    Of what can be written it sees the folders of the launcher but for the base of the state, its own among them; of processes, itself and what
    it starts. Other files are read-only but for those in `writable`, and those of `secret` empty. The mounts of this belong to the users of an
    outer namespace, so that it cannot undo them; in an inner one it can close off its forks. Raises OSError where the system does not let it.
    """
    if os.getuid():
        separate(0)
    call("unshare", _NEWPID)
    go_on_in_fork()
    separate(_NEWNS | _NEWPID, lambda: lock(settings))
    go_on_in_fork()
    mount_own_devices()
    give_up(_CAPABILITIES | _CLOSES_OFF)
    os.chdir(folder)


def fork_alone() -> int:
    """Fork a child that sees and signals no process but itself and what it starts."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        call("unshare", _NEWPID)
        pid = os.fork()
        if pid:
            call("setns", own, _NEWPID)
    finally:
        os.close(own)
    return pid


def enclose(folder: str, settings: Any) -> None:
    """Close this process off, which `fork_alone` has made where `shut_in` was called: it writes to its folder alone, sees no other one,
    and has a network of its own where `serve` could make one.

    The capabilities that would undo this are given up, also for what it starts. Raises OSError where the system does not let it.
    """
    if settings["apart"]:
        separate_network()
    call("unshare", _NEWNS)
    mount_own_devices()
    mount_alone(folder, settings["hidden"])
    give_up(_CAPABILITIES)


def can_enclose(folder: str, settings: Any) -> bool:
    """Try whether the system lets a copy be closed off, in a process that is thrown away."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    with contextlib.suppress(BaseException):
        tried = fork_alone()
        if not tried:
            enclose(folder, settings)
        os._exit(os.waitpid(tried, 0)[1] != 0 if tried else 0)
    os._exit(1)


def hide(paths: list[str]) -> None:
    """Let this process see the processes of its own namespace only, and an empty folder or file at each of the paths."""
    call("unshare", _NEWNS)
    mark("/", 0, 0, _RECURSIVE, _PRIVATE)
    mount("proc", "/proc", "proc", _NO_SETUID | _NO_DEVICES | _NO_EXECUTION)
    for path in paths:
        if os.path.isdir(path):
            mount("hidden", path, "tmpfs", _READ_ONLY)
        else:
            mount("/dev/null", path, None, _BIND)


def run_program(command: list[str], hidden: list[str]) -> int:
    """Run a command to its end and return its exit status; all that it has started ends with it.

    It sees no processes but its own and nothing at the hidden paths. The mounts that hide them belong to the users of an outer namespace, so
    that it cannot undo them, also as root. Raises OSError where the system does not let it.
    """
    die_with_parent()
    if os.getuid():
        separate(0)
    call("unshare", _NEWPID)
    go_on_in_fork()
    separate(_NEWNS, lambda: hide(hidden))
    pid = os.fork()
    if not pid:
        try:
            os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(2, f"the program {command[0]!r} cannot be run: {error.strerror}\n".encode())
        os._exit(127)
    ended = status = 0
    while ended != pid:  # others are orphans, which the first process of a namespace inherits
        ended, status = os.wait()
    return os.waitstatus_to_exitcode(status)


def keep_temporary_files(folder: str) -> None:
    """Let temporary files be made in a folder."""
    os.environ["TMPDIR"] = tempfile.tempdir = os.path.join(folder, "tmp")
    os.mkdir(tempfile.tempdir)


def relay(path: str, port: int) -> None:
    """Fork a process that lets connections to a socket go on to a port of this network."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    if os.fork():
        listening.close()
        return
    die_with_parent()

    def pump(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    while True:
        near, _ = listening.accept()
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError:  # it does not yet listen
            near.close()
            continue
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


def start(order: Any, settings: Any, application: Any, answers: Any) -> int:
    """Fork a process that serves the application, or becomes the command, and return its id."""
    kind = next((name for name in ("wsgi", "asgi") if settings.get(name)), "")
    listening = None
    if kind:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(order["address"])
        listening.listen(64)
    pid = fork_alone() if settings["enclosed"] else os.fork()
    if pid:
        if listening:
            listening.close()
        return pid
    try:
        answers.close()
        os.setsid()
        die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
            os.dup2(stream, target)
        os.environ.update(order["environment"])
        if settings["enclosed"]:
            enclose(order["serve"], settings)
            keep_temporary_files(order["serve"])
        if not kind:
            if order["port"]:
                relay(order["address"], order["port"])
            os.chdir(settings["folder"])
            os.execvp(order["command"][0], order["command"])  # noqa: S606 - a command of the user's own
        os.chdir(order["serve"])
        random.seed(0)
        run(kind, application or load(settings[kind]), listening)
    except BaseException:  # noqa: BLE001 - nothing may come back from here
        traceback.print_exc()
    finally:
        os._exit(1)


def kill(pid: int) -> None:
    """Kill a process and all of its group."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # it is not yet the first of a group, or gone
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def answer(order: Any, settings: Any, application: Any, running: Any, answers: Any) -> Any:
    """Do one order and return its answer; `running` holds the ids of processes, each with its exit status once it has ended."""
    for pid in [pid for pid, status in running.items() if status is None]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            running[pid] = os.waitstatus_to_exitcode(status)
    if "serve" in order:
        pid = start(order, settings, application, answers)
        running[pid] = None
        return {"pid": pid}
    if "cookies" in order:
        for path in settings["warm"] if application else ():
            warm(application, path, HTTP_COOKIE=order["cookies"], HTTP_HOST=order["host"])
        refuse_shared()
        return {}
    pid = order.get("alive", order.get("stop"))
    if "alive" in order:
        return {"alive": pid in running and running[pid] is None, "status": running.get(pid)}
    if running.pop(pid, 0) is None:
        kill(pid)
        os.waitpid(pid, 0)
    return {}


def serve(settings: Any, is_enclosed: bool) -> int:
    """Close this process off, load the application, do orders until the input ends, and return the exit status."""
    own, is_apart = os.getcwd(), False
    with contextlib.suppress(OSError, AttributeError, ImportError):  # not Linux
        if not settings["network"]:
            separate_network()
            is_apart = True
    settings["apart"] = is_apart
    if is_enclosed:
        try:
            shut_in(own, settings)
        except (OSError, AttributeError):
            return _OPEN
        if not can_enclose(own, settings):
            return _OPEN
    orders, answers = sys.stdin, os.fdopen(os.dup(1), "w")  # what the application prints must not be taken for an answer
    os.dup2(2, 1)
    sys.path[0] = settings["folder"]
    settings["enclosed"] = is_enclosed
    kind = next((name for name in ("wsgi", "asgi") if settings.get(name)), "")
    application, running = None, {}  # type: Any, dict[int, int | None]
    said: dict[str, Any] = {"apart": is_apart, "enclosed": is_enclosed}
    try:
        if kind and settings["loads"] == "once":
            if is_enclosed:
                keep_temporary_files(own)
            application = load(settings[kind])
            for path in settings["warm"]:
                warm(application, path)
            refuse_shared()
        if kind == "asgi":
            importlib.import_module("uvicorn")
    except BaseException:  # noqa: BLE001 - whatever it raises when it is loaded
        said = {"error": own_traceback()}
    print(json.dumps(said), file=answers, flush=True)
    status = _ORPHAN
    for line in orders:
        order = json.loads(line)
        if "end" in order:
            status = 0
            break
        try:
            said = answer(order, settings, application, running, answers)
        except Exception as error:  # noqa: BLE001 - told to who has asked
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), file=answers, flush=True)
    for pid, ended in running.items():
        if ended is None:
            kill(pid)
    return status


def main() -> None:
    """Let a fork serve, closed off where the system lets it; stay outside, and remove the launcher's folder where whoever has started it is gone."""
    settings = json.loads(sys.argv[1])
    if "run" in settings:
        sys.exit(run_program(settings["run"], settings["hidden"]) & 0xFF)
    status = _OPEN
    for is_enclosed in (True, False):
        if status == _OPEN:
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
