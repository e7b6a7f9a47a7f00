"""The verifier process of a suite: a WSGI application that calls verifiers, which are Python files of another project.

The host process (`host.py`) serves it like any application, in the same isolation. The interpreter of the verifiers runs this file, so it
uses only the standard library.

A request is a JSON object {"file": path, "seconds": time limit}, and the response is {"passed": bool, "reason": text} or {"error": text}.
The file must define `verify(server_url)`, which returns (passed, reason). Files are loaded once; each call runs in a fork, so that it can
neither change later calls nor outlive its time limit. `server_url` is forwarded to the Unix socket "application" in the current folder.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

_MAX_BYTES = 2 << 30  # address space of a call
_MAX_REASON = 2000  # characters
_SOCKET = "application"
_verifiers: dict[str, Callable[[str], Any]] = {}


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Respond to a request (WSGI)."""
    order = json.loads(environ["wsgi.input"].read())
    response = call(order["file"], float(order["seconds"]))
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(response).encode()]


def call(file: str, seconds: float) -> dict[str, Any]:
    """Call a verifier in a fork, and return the response. A crash or the end of the time is an error."""
    try:
        verify = load(file)
    except BaseException:  # noqa: BLE001 - the code of a verifier may raise anything
        return {"error": f"it cannot be loaded: {last_lines()}"}
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        os.setsid()
        import resource  # noqa: PLC0415 - not on all systems

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
        with contextlib.suppress(BaseException):
            os.write(writer, json.dumps(result_of(verify)).encode() + b"\n")
        os._exit(0)
    os.close(writer)
    content = read_until(reader, time.monotonic() + seconds)
    os.close(reader)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # its children, or before it has created its process group
        os.killpg(pid, signal.SIGKILL)
    is_first = os.getpid() == 1  # of a PID namespace: the id -1 means all other processes
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1 if is_first else pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(ChildProcessError):
        while is_first:
            os.waitpid(-1, 0)
    if content is None:
        return {"error": f"it returned nothing within {seconds:g} s"}
    try:
        response: dict[str, Any] = json.loads(content)
    except ValueError:
        return {"error": f"it ended with status {status} before it returned"}
    return response


def load(file: str) -> Callable[[str], Any]:
    """Return the function `verify` of a file, which may import modules of its folder."""
    if file not in _verifiers:
        spec = importlib.util.spec_from_file_location(f"verifier_{len(_verifiers)}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, os.path.dirname(file))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(os.path.dirname(file))
        _verifiers[file] = module.verify
    return _verifiers[file]


def result_of(verify: Callable[[str], Any]) -> dict[str, Any]:
    """Return the response of a verifier."""
    try:
        result = verify(f"http://127.0.0.1:{forward_to(_SOCKET)}")
    except BaseException:  # noqa: BLE001 - the code of a verifier may raise anything
        return {"error": last_lines()}
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], bool)):
        return {"error": f"it returned {result!r:.200}; expected (bool, str)"}
    return {"passed": result[0], "reason": str(result[1])[:_MAX_REASON]}


def read_until(descriptor: int, end: float) -> bytes | None:
    """Return the content of a pipe up to the end of its line, which children may keep open; None if there is none at the time `end`."""
    content = b""
    while select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
        data = os.read(descriptor, 1 << 16)
        content += data
        if not data or data.endswith(b"\n"):
            return content
    return None


def last_lines() -> str:
    """Return the end of the traceback of the current exception."""
    return traceback.format_exc(limit=-2)[-_MAX_REASON:].strip()


def forward_to(path: str) -> int:
    """Forward connections from a new local port to a Unix socket, in threads, and return the port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            near, _ = listening.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(path)
            threading.Thread(target=bridge, args=(near, far), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    port: int = listening.getsockname()[1]
    return port


def bridge(near: socket.socket, far: socket.socket) -> None:
    """Copy all data between two connections in both directions, and close them."""

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    with near, far:
        answers = threading.Thread(target=pump, args=(far, near), daemon=True)
        answers.start()
        pump(near, far)
        answers.join()
