"""Starts an application for each episode: loads one written in Python once and forks it, or runs a command. A script of its own.

The application's interpreter runs it, so it needs the standard library alone, and uvicorn for ASGI. Its argument is a JSON object: `folder`,
where the application is found and commands run, `wsgi` or `asgi`, its "module:name", `hidden`, a folder that holds those of all episodes,
`writable`, folders that all may write, and `secret`, files that none may read.
It says {"apart": bool, "enclosed": bool}, whether it and all that it starts have a network of their own, and whether each copy is closed off
(see `enclose`), and reads a JSON object a line: {"serve": folder, "address": path of a socket, "port": where a command
listens, to which the socket then leads, "command": list, "environment": object, "log": path} is answered with {"pid": n}, {"alive": pid} with
{"alive": bool, "status": n}, {"stop": pid} with {}; what fails with {"error": text}. When its input ends, all that it has started is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
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
    """Says nothing of requests."""

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


def warm(application: Any, path: str) -> None:
    """Let a WSGI application answer a path once, before it is forked, so that what it loads then is there for all."""
    environ: dict[str, Any] = {"PATH_INFO": path, "HTTP_HOST": "127.0.0.1"}
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
_READ_ONLY, _NO_DEVICES = 1, 4
_MOUNT_SETATTR = 442  # has no function in the C library; Linux 5.12
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_CAPABILITIES = 0x404FB  # chown, read any file, change owners, users and groups, kill, bind low ports, chroot: none that mounts or makes devices


def call(function: str, *values: Any) -> None:
    """Call a function of the C library. Raises OSError where it fails."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*values) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def separate(kinds: int) -> bool:
    """Give this process namespaces of its own; return False where the system does not let it."""
    user, group = os.getuid(), os.getgid()
    try:
        try:
            call("unshare", kinds)  # root may
        except OSError:
            call("unshare", kinds | _NEWUSER | _NEWPID)
            for name, told in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(told)
            pid = os.fork()  # the child's namespace of processes belongs to its users, so that it can come back to it
            if pid:
                os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
            call("prctl", 1, signal.SIGKILL)
        if kinds & _NEWNET:
            from fcntl import ioctl  # noqa: PLC0415 - not on all systems

            with socket.socket() as any_socket:
                ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP: it reaches itself
    except (OSError, AttributeError):  # AttributeError: not Linux
        return False
    return True


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
    """Close this process off, which `fork_alone` has made: it writes to its folder alone, and finds no other one in `hidden`.

    Other files are read-only but for those in `writable`, and those of `secret` empty. Of the devices there are those without a state, and
    shared memory and terminals of its own. The capabilities that would undo this are given up, also for what it starts. Raises OSError
    where the system does not let it.
    """
    hidden = settings["hidden"]

    def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
        call("mount", *(text and text.encode() for text in (source, target, kind)), flags, options and options.encode())

    def mark(path: str, on: int, off: int, how: int = 0, propagation: int = 0) -> None:
        attributes = struct.pack("QQQQ", on, off, propagation, 0)
        call("syscall", _MOUNT_SETATTR, -100, path.encode(), how, attributes, len(attributes))

    call("unshare", _NEWNS)
    mark("/", _READ_ONLY | _NO_DEVICES, 0, _RECURSIVE, _PRIVATE)
    mount("proc", "/proc", "proc", _READ_ONLY)
    mount("shm", "/dev/shm", "tmpfs")  # noqa: S108 - a mount, not a file
    mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666")
    for source, name in (("pts/ptmx", "ptmx"), *((name, name) for name in _DEVICES)):
        mount(f"/dev/{source}", f"/dev/{name}", None, _BIND)
        mark(f"/dev/{name}", 0, _NO_DEVICES)
    for path in settings["secret"]:
        mount("/dev/null", path, None, _BIND)
    for path in settings["writable"]:
        mount(path, path, None, _BIND)
        mark(path, 0, _READ_ONLY)
    own = os.open(folder, os.O_PATH)
    mount("hidden", hidden, "tmpfs")
    os.makedirs(folder)
    mount(f"/proc/self/fd/{own}", folder, None, _BIND)
    os.close(own)
    mark(hidden, _READ_ONLY, 0)
    mark(folder, 0, _READ_ONLY)
    for capability in range(64):
        if not _CAPABILITIES >> capability & 1:
            with contextlib.suppress(OSError):  # there are not as many
                call("prctl", 24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    call("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", _CAPABILITIES, _CAPABILITIES, 0, 0, 0, 0))


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


def relay(path: str, port: int) -> None:
    """Fork a process that lets connections to a socket go on to a port of this network."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    if os.fork():
        listening.close()
        return
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)

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
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: dies with this process
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
            os.dup2(stream, target)
        os.environ.update(order["environment"])
        if settings["enclosed"]:
            enclose(order["serve"], settings)
            os.environ["TMPDIR"] = tempfile.tempdir = os.path.join(order["serve"], "tmp")
            os.mkdir(tempfile.tempdir)
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
    pid = order.get("alive", order.get("stop"))
    if "alive" in order:
        return {"alive": pid in running and running[pid] is None, "status": running.get(pid)}
    if running.pop(pid, 0) is None:
        kill(pid)
        os.waitpid(pid, 0)
    return {}


def main() -> None:
    """Read orders until the input ends."""
    orders, answers = sys.stdin, os.fdopen(os.dup(1), "w")  # what the application prints must not be taken for an answer
    os.dup2(2, 1)
    settings = json.loads(sys.argv[1])
    sys.path[0] = settings["folder"]
    if "FAKETIME" in os.environ:  # with which Python's own sleep fails
        time.sleep = lambda seconds: select.select((), (), (), float(seconds)) and None
    kind = next((name for name in ("wsgi", "asgi") if settings.get(name)), "")
    application, running = None, {}  # type: Any, dict[int, int | None]
    said: dict[str, Any]
    try:
        apart = separate(_NEWNS | (0 if settings["network"] else _NEWNET))
        settings["enclosed"] = apart and can_enclose(os.getcwd(), settings)
        said = {"apart": apart and not settings["network"], "enclosed": settings["enclosed"]}
        if kind and settings["loads"] == "once":
            application = load(settings[kind])
            for path in settings["warm"]:
                warm(application, path)
            refuse_shared()
        if kind == "asgi":
            importlib.import_module("uvicorn")
    except BaseException:  # noqa: BLE001 - whatever it raises when it is loaded
        said = {"error": own_traceback()}
    print(json.dumps(said), file=answers, flush=True)
    is_orphan = True  # whoever has started this is gone, and cleans up nothing
    for line in orders:
        order = json.loads(line)
        if "end" in order:
            is_orphan = False
            break
        try:
            said = answer(order, settings, application, running, answers)
        except Exception as error:  # noqa: BLE001 - told to who has asked
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), file=answers, flush=True)
    for pid, status in running.items():
        if status is None:
            kill(pid)
    if is_orphan:
        shutil.rmtree(settings["launcher"], ignore_errors=True)


if __name__ == "__main__":
    main()
