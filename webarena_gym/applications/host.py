"""The host process of an application: a script that starts an instance of the application for each episode.

It loads a Python application once and forks it, or runs a command. The application's interpreter runs this script, so it uses only the
standard library, `isolation.py`, and uvicorn for ASGI. Its argument is a JSON object with these keys:

- `folder`: folder of the application, in which commands run
- `wsgi` or `asgi`: import path of the application, "module:name"
- `hidden`: folder of the instances of all applications
- `launcher`: folder in it, for the instances of this application
- `base`: folder in that, which is hidden from all instances
- `writable`: folders that all instances may write
- `secret`: files and folders that no instance may read
- `homes`: folders of which instances see only the files and folders in `needed`, and those of the interpreter and its packages
- `limits`: limits of each instance (see `limit_resources`)
- `engine`: path of Podman or Docker if commands start containers, else ""; these commands are not isolated, only their containers are
- `label`: label of these containers
- `group`: descriptor of the folder of a control group if `limits` has `processes`, else null

The environment variable WEBARENA_GYM_VARIABLES is a JSON object of the application's variables. They are set only in the isolated process,
because an interpreter or a loader of libraries may run code that a variable names.

The script serves in a fork, which is isolated as far as the system supports it (see `isolate_host`). It first writes
{"apart": bool, "enclosed": bool}: whether it and its instances have a separate network namespace, and whether it and each instance are
isolated (see `isolate_instance`). Then it reads requests and writes responses, one JSON object per line:

- {"serve": folder, "address": path of a socket, "port": port of a command, to which the socket is forwarded, "container": name of the container
  with that port, "command": list, "environment": object, "log": path} starts an instance, or a command for one; the response is {"pid": n}
- {"alive": pid}: {"alive": bool, "status": n}
- {"listening": pid}: {"addresses": list} has the TCP addresses, such as "127.0.0.1:80", at which programs in the network of this process listen
- {"stop": pid}: {}
- {"cookies": header} requests the `warm` paths again: {}
- {"end": true} ends the script

The response to a failed request is {"error": text}. At the end of the input, the script kills all its instances.

With the argument {"run": command, "hidden": paths} it instead runs the command in isolation, and exits with its status (see `run_program`).
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.util import setup_testing_defaults

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO
    from wsgiref.types import WSGIApplication

    from webarena_gym.applications.isolation import HostConfiguration

if TYPE_CHECKING or __name__ != "__main__":
    from webarena_gym.applications import isolation
else:  # a script, next to which Python finds the module
    import isolation

    del sys.modules["isolation"]  # the application may have a module of this name


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

    def handle_error(self, *_: object) -> None:
        traceback.print_exc()


class Handler(WSGIRequestHandler):
    """Request handler that reads the complete request before the response, so that the client never writes to a closed connection."""

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        length = self.headers.get("Content-Length", "")
        self.rfile = io.BytesIO(self.rfile.read(int(length)) if length.isdecimal() else b"")
        return True

    def log_message(self, *_: object) -> None:
        """Suppress the log of requests."""


class LoadError(Exception):
    """An import path or an application that cannot be used; the message needs no traceback."""


def load(kind: str, path: str) -> Any:
    """Return the application of an import path "module:name". The name may have dots; with "()" at the end, the object is called.

    Raises:
        LoadError: if there is no such object, or it is no application of this kind.

    """
    module, _, name = path.partition(":")
    try:
        target: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        raise LoadError(f"there is no module {module!r} in the folder or in the packages of {sys.executable}") from None
    for part in name.removesuffix("()").split("."):
        if not hasattr(target, part):
            names = " or ".join(application_names(kind, target)[:12])
            raise LoadError(
                f"there is no {part!r} in {module}{f'; expected {names}' if names else ', which contains no functions'}"
            )
        target = getattr(target, part)
    target = target() if name.endswith("()") else target
    expect_application(kind, path, target)
    return target


def application_names(kind: str, module: object) -> list[str]:
    """Return the names in a module of likely applications of a kind, in the form of the import path: "app", or "create_app()" for a factory.

    Without likely ones, return all of its callables.
    """
    public = {key: value for key, value in getattr(module, "__dict__", {}).items() if callable(value) and key[0] != "_"}
    local = {  # without classes, and without functions that it imports
        key: value
        for key, value in public.items()
        if not inspect.isclass(value) and (not inspect.isroutine(value) or value.__module__ == getattr(module, "__name__", ""))
    }
    applications = [repr(key) for key, value in local.items() if takes(value, {"wsgi": 2, "asgi": 3}[kind])]
    factories = [
        repr(f"{key}()") for key, value in local.items() if "app" in key and inspect.isroutine(value) and takes(value, 0)
    ]
    return applications + factories or list(map(repr, public))


def expect_application(kind: str, path: str, target: object) -> None:
    """Raise LoadError for an object that cannot be an application of this kind, as far as its signature shows."""
    if not callable(target):
        raise LoadError(f"it is {target!r}; expected a {kind.upper()} application")
    call = target if inspect.isroutine(target) or inspect.isclass(target) else type(target).__call__
    is_async = inspect.iscoroutinefunction(call)
    if kind == "wsgi" and is_async and takes(target, 3):
        raise LoadError(f'it is an ASGI application; expected asgi = "{path}"')
    if kind == "asgi" and not is_async and takes(target, 2) and not takes(target, 1):
        raise LoadError(f'it is a WSGI application; expected wsgi = "{path}"')
    if takes(target, 0) and not takes(target, 1):
        raise LoadError(f'it takes no arguments; expected "{path}()" if it returns the application')


def takes(function: Callable[..., object], count: int) -> bool:
    """Return True if a function can be called with so many positional arguments, as far as its signature is known."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return True
    return True


def run(kind: str, application: WSGIApplication, listening: socket.socket) -> None:
    """Serve an application until the process is killed."""
    if kind == "wsgi":
        server = Server(listening)
        server.set_app(application)
        server.serve_forever()
    else:
        import uvicorn  # noqa: PLC0415 - that of the application

        config = uvicorn.Config(application, log_level="warning", access_log=False, proxy_headers=False)
        uvicorn.Server(config).run(sockets=[listening])


def warm(application: WSGIApplication, path: str, host: str, **headers: str) -> None:
    """Send a request to a WSGI application before it is forked, so that all forks share what it loads."""
    environ: dict[str, Any] = {"PATH_INFO": path, "HTTP_HOST": host, **headers}
    setup_testing_defaults(environ)
    answer = application(environ, lambda *_: io.BytesIO().write)
    for _ in answer:
        pass
    getattr(answer, "close", lambda: None)()


def application_traceback() -> str:
    """Return the end of the traceback of the current exception, without the frames of this file and of Python's import system.

    If there are no other frames, return the exception only.
    """
    kind, error, frame = sys.exc_info()
    if isinstance(error, LoadError):
        return str(error)
    while frame and frame.tb_frame.f_code.co_filename.startswith((__file__, importlib.__file__, "<frozen ")):
        frame = frame.tb_next
    return "".join(traceback.format_exception(kind, error, frame))[-2000:].strip()


def interpreter_paths() -> list[str]:
    """Return the folders of this interpreter and of its packages, also of those that are installed in place."""
    paths = [sys.prefix, sys.base_prefix, sys.executable, os.path.dirname(__file__), *filter(None, sys.path)]
    for finder in sys.meta_path:  # of setuptools, for packages that are installed in place
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", {})
        paths += map(str, mapping.values() if isinstance(mapping, dict) else ())
    return list(dict.fromkeys(spelling for path in paths for spelling in (os.path.abspath(path), os.path.realpath(path))))


def expect_no_open_state() -> None:
    """Raise LoadError if this process has an open file of the state, which all forks would share. Detected on Linux only."""
    prefix = os.path.realpath("state") + os.sep
    for descriptor in os.listdir("/proc/self/fd") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if path.startswith(prefix):
                raise LoadError(
                    f'it keeps {path[len(prefix) :]} open, which all episodes would share: close it once it is loaded, or set loads = "each time"'
                )


def keep_temporary_files(folder: str) -> None:
    """Set the folder for temporary files to the folder "tmp" in a folder."""
    os.environ["TMPDIR"] = tempfile.tempdir = os.path.join(folder, "tmp")
    os.makedirs(tempfile.tempdir, exist_ok=True)


def listening_addresses(pid: int) -> list[str]:
    """Return the TCP addresses at which programs in the network of a process listen; [] if the system does not show them."""
    addresses = []
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/net/{name}") as file:
            for line in file.readlines()[1:]:
                _, local, _, state, *_ = line.split()
                host, port = local.split(":")
                words = [bytes.fromhex(host[start : start + 8]) for start in range(0, len(host), 8)]
                if state == "0A":
                    text = socket.inet_ntop(family, b"".join(word[:: -1 if sys.byteorder == "little" else 1] for word in words))
                    addresses.append(f"[{text}]:{int(port, 16)}" if ":" in text else f"{text}:{int(port, 16)}")
    return addresses


def connect(port: int) -> socket.socket:
    """Return a connection to a local port: of IPv4, or of IPv6, where some servers listen if they are started on "localhost"."""
    try:
        return socket.create_connection(("127.0.0.1", port))
    except ConnectionRefusedError:
        return socket.create_connection(("::1", port))


def join_network(engine: str, container: str) -> None:
    """Move this process into the network namespace of a container. Raises OSError if it does not run."""
    command = [engine, "inspect", "--format={{.State.Pid}}", container]
    pid = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()  # noqa: S603 - the user's own
    if not pid.isdecimal() or pid == "0":
        raise ConnectionRefusedError(f"the container {container} does not run")
    isolation.enter_network(int(pid))


def remove_containers(engine: str, label: str) -> None:
    """End and remove all containers with a label."""
    list_command = [engine, "ps", "--all", "--quiet", f"--filter=label={label}"]
    ids = subprocess.run(list_command, check=False, capture_output=True, text=True).stdout.split()  # noqa: S603 - the user's own
    if ids:
        subprocess.run([engine, "rm", "--force", *ids], check=False, capture_output=True)  # noqa: S603 - the user's own


def relay(path: str, port: int, engine: str, container: str) -> None:
    """Fork a process that forwards connections from a Unix socket to a local port: with an engine, to one of a container."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    if os.fork():
        listening.close()
        return
    isolation.die_with_parent()

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    while True:
        near, _ = listening.accept()
        try:
            if engine:
                join_network(engine, container)
                engine = ""
            far = connect(port)
        except OSError:  # the application does not listen yet
            near.close()
            continue
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


def start(order: dict[str, Any], settings: HostConfiguration, application: WSGIApplication | None, answers: TextIO) -> int:
    """Fork a process that executes the command, or serves the application if there is none, and return its id."""
    kind = "" if order["command"] else next(name for name in ("wsgi", "asgi") if settings.get(name))
    listening = None
    if kind:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(order["address"])
        listening.listen(64)
    pid = isolation.fork_into_namespace() if settings["enclosed"] else os.fork()
    if pid:
        if listening:
            listening.close()
        return pid
    try:
        answers.close()
        os.setsid()
        isolation.die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        for stream, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
            os.dup2(stream, target)
        os.environ.update(order["environment"])
        if settings["group"] is not None:
            isolation.limit_processes(settings["group"], os.path.basename(order["serve"]), settings["limits"]["processes"])
        if settings["enclosed"]:
            isolation.isolate_instance(order["serve"], settings)
            keep_temporary_files(order["serve"])
        isolation.limit_resources(settings["limits"], int(os.path.basename(order["serve"])))
        if not kind:
            if order["port"]:
                relay(order["address"], order["port"], settings["engine"], order["container"])
            os.chdir(settings["folder"])
            isolation.execute(order["command"])
        os.chdir(order["serve"])
        random.seed(0)
        assert listening is not None  # there is a kind
        run(kind, application or load(kind, settings["wsgi"] or settings["asgi"]), listening)
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


def end_all(settings: HostConfiguration, running: dict[int, int | None]) -> None:
    """Kill all running processes, and remove their containers."""
    for pid, status in running.items():
        if status is None:
            kill(pid)
    if settings["engine"]:
        remove_containers(settings["engine"], settings["label"])


def answer(
    order: dict[str, Any],
    settings: HostConfiguration,
    application: WSGIApplication | None,
    running: dict[int, int | None],
    answers: TextIO,
) -> dict[str, Any]:
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
        for path in settings["warm"]:
            if application:
                warm(application, path, settings["host"], HTTP_COOKIE=order["cookies"])
        expect_no_open_state()
        return {}
    if "listening" in order:
        return {"addresses": listening_addresses(order["listening"])}
    pid = order["alive"] if "alive" in order else order["stop"]
    if "alive" in order:
        return {"alive": pid in running and running[pid] is None, "status": running.get(pid)}
    if running.pop(pid, 0) is None:
        kill(pid)
        os.waitpid(pid, 0)
    return {}


def serve(settings: HostConfiguration, is_enclosed: bool) -> int:
    """Isolate this process, load the application, process requests until the input ends, and return the exit status."""
    folder, is_apart = os.getcwd(), False
    with contextlib.suppress(OSError, AttributeError, ImportError):  # not Linux
        if not settings["network"]:
            isolation.unshare_network()
            is_apart = True
    settings["apart"] = is_apart
    if is_enclosed:
        try:
            settings["needed"] += interpreter_paths()
            isolation.isolate_host(folder, settings)
        except (OSError, AttributeError):
            return isolation.NOT_ISOLATED
        if not isolation.can_isolate_instance(folder, settings):
            return isolation.NOT_ISOLATED
    orders, answers = sys.stdin, os.fdopen(os.dup(1), "w")  # separate from stdout, which the application may print to
    os.dup2(2, 1)
    variables = json.loads(os.environ.pop("WEBARENA_GYM_VARIABLES"))
    os.environ.update(variables)
    time.tzset()
    search_paths = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [settings["folder"], *map(os.path.abspath, search_paths)]
    settings["enclosed"] = is_enclosed
    kind = next((name for name in ("wsgi", "asgi") if settings.get(name)), "")
    application: WSGIApplication | None = None
    running: dict[int, int | None] = {}
    response: dict[str, Any] = {"apart": is_apart, "enclosed": is_enclosed}
    try:
        if kind and settings["loads"] == "once":
            if is_enclosed:
                keep_temporary_files(folder)
            application = load(kind, settings["wsgi"] or settings["asgi"])
            for path in settings["warm"]:
                warm(application, path, settings["host"])
            expect_no_open_state()
        if kind == "asgi":
            importlib.import_module("uvicorn")
    except BaseException:  # noqa: BLE001 - loading an application may raise anything
        response = {"error": application_traceback()}
    print(json.dumps(response), file=answers, flush=True)
    status = isolation.ORPHAN
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
    end_all(settings, running)
    return status


def main() -> None:
    """Serve in a fork, isolated if the system supports it. If the parent process has ended, remove the folder of the launcher."""
    settings = json.loads(sys.argv[1])
    if "run" in settings:
        sys.exit(isolation.run_program(settings["run"], settings["hidden"]) & 0xFF)
    status = isolation.NOT_ISOLATED
    for is_enclosed in (False,) if settings["engine"] else (True, False):
        if status == isolation.NOT_ISOLATED:
            pid = os.fork()
            if not pid:
                isolation.die_with_parent()
                sys.exit(serve(settings, is_enclosed))
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == isolation.ORPHAN and select.select([0], [], [], 0)[0] and not os.read(0, 1):
        shutil.rmtree(settings["launcher"], ignore_errors=True)
    sys.exit(status & 0xFF)


if __name__ == "__main__":
    main()
