"""Starts an application for each episode: loads one written in Python once and forks it, or runs a command. A script of its own.

The application's interpreter runs it, so it needs the standard library alone, and uvicorn for ASGI. Its argument is a JSON object: `folder`,
where the application is found and commands run, and `wsgi` or `asgi`, its "module:name". It says {"apart": bool}, whether it and all that it
starts have a network of their own, and reads a JSON object a line: {"serve": folder, "address": path of a socket, "port": where a command
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
import shutil
import signal
import socket
import struct
import sys
import threading
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


def leave_network() -> bool:
    """Give this process a network of its own, in which there is nothing else; return False where the system does not let it."""
    if sys.platform != "linux":
        return False
    from fcntl import ioctl  # noqa: PLC0415 - not on all systems

    unshare, user, group = ctypes.CDLL(None).unshare, os.getuid(), os.getgid()
    if unshare(0x40000000):  # CLONE_NEWNET, which root may, and others among users of their own, CLONE_NEWUSER
        if unshare(0x50000000):
            return False
        for name, told in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(told)
    with socket.socket() as any_socket:
        ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP: it reaches itself
    return True


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


def start(order: Any, settings: Any, application: Any) -> int:
    """Fork a process that serves the application, or becomes the command, and return its id."""
    kind = next((name for name in ("wsgi", "asgi") if settings.get(name)), "")
    listening = None
    if kind:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(order["address"])
        listening.listen(64)
    pid = os.fork()
    if pid:
        if listening:
            listening.close()
        return pid
    try:
        os.setsid()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: dies with this process
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
            os.dup2(stream, target)
        os.environ.update(order["environment"])
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


def answer(order: Any, settings: Any, application: Any, running: Any) -> Any:
    """Do one order and return its answer; `running` holds the ids of processes, each with its exit status once it has ended."""
    for pid in [pid for pid, status in running.items() if status is None]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            running[pid] = os.waitstatus_to_exitcode(status)
    if "serve" in order:
        pid = start(order, settings, application)
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
    kind = next((name for name in ("wsgi", "asgi") if settings.get(name)), "")
    application, running = None, {}  # type: Any, dict[int, int | None]
    said: dict[str, Any]
    try:
        said = {"apart": not settings["network"] and leave_network()}
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
            said = answer(order, settings, application, running)
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
