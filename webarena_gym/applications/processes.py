"""The processes of an application: its host, which starts a copy for each episode, and the copies, each with a state of its own."""

import atexit
import http.client
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.arguments import reason_of
from webarena_gym.errors import ApplicationError

_HOST = Path(__file__).with_name("host.py")
_LOG_SHOWN = 1500  # characters of a log that an error tells
_BASE = "base/state"
"""The place of the base state in the folder of a launcher; no copy sees it."""
_OWN_STATE = "/proc/self/cwd/state"
"""The state of an episode for what was loaded before it began: a process's own working directory leads there."""
_KEPT_HEADERS = ("CONTENT_TYPE", "CONTENT_LENGTH")
_DROPPED = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length"))
_SPELLINGS: tuple[Callable[[str], str], ...] = (str, partial(quote, safe=""), lambda path: path.replace("/", "\\/"))
"""Ways in which pages, addresses and JSON write a path."""
_TEXTS = ("text/", "application/json", "application/javascript", "application/xml", "application/xhtml+xml", "image/svg+xml")
_numbers = count(1)


class Host:
    """The process that starts copies of an application, and kills them when it ends or this process does. May be shared by threads."""

    def __init__(self, application: Application, folder: Path) -> None:
        self._application, self._lock, self.folder = application, threading.Lock(), folder
        self._log = folder / "host.log"
        (folder / "state").mkdir(exist_ok=True)
        if application.state:
            state.copy_folder(application.state_folder, folder / "state")
        python = application.python if not application.command else sys.executable
        place = Path(application.folder).absolute()
        settings = {key: getattr(application, key) for key in ("wsgi", "asgi", "loads", "warm", "network")}
        settings |= {
            "folder": str(place), "launcher": str(folder.parent), "hidden": str(folder.parent.parent),
            "base": str(folder.parent / _BASE),
            "secret": [str(Path(path).absolute()) for path in (application.tasks, application.templates) if path and Path(path).is_file()],
            "writable": [str(place / path) for path in application.shared],
        }  # fmt: skip
        shown = _OWN_STATE if application.loads == "once" and sys.platform == "linux" else str(folder / "state")
        environment = {**os.environ, "PYTHONHASHSEED": "0", **_filled(application.environment, {"state": shown, "env": "0"})}
        environment.pop("PYTHONPATH", None)
        try:
            with open(self._log, "wb") as log:
                self._process = subprocess.Popen(  # noqa: S603 - the user's own
                    [python, str(_HOST), json.dumps(settings)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=folder, text=True, env={**environment, **_clock(application, folder)},
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise ApplicationError(
                f"the interpreter {python!r} of {application.name} cannot be run: {reason_of(error)}"
            ) from error
        try:
            said = self._read("it could not be loaded")
            self.is_apart: bool = said["apart"]
            self.is_enclosed: bool = said["enclosed"]
        except ApplicationError:
            self.close()
            raise

    def ask(self, **order: Any) -> dict[str, Any]:
        """Give an order (see `host`) and return its answer. Raises ApplicationError."""
        with self._lock:
            try:
                assert self._process.stdin is not None
                print(json.dumps(order), file=self._process.stdin, flush=True)
            except (OSError, ValueError) as error:  # ValueError: its pipe was closed
                self.close()
                raise ApplicationError(
                    f"the host of {self._application.name} has died: {_tail(self._log) or 'it said nothing'}"
                ) from error
            return self._read("it could not be started")

    def _read(self, problem: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
        said: dict[str, Any] = (
            json.loads(line) if line else {"error": f"its host has died: {_tail(self._log) or 'it said nothing'}"}
        )
        if "error" in said:
            log = _tail(self._log) if line else ""
            written = f"\nIts log:\n{log}" if log else ""
            raise ApplicationError(f"{self._application.name}: {problem}: {said['error']}{written}")
        return said

    @property
    def is_alive(self) -> bool:
        """True as long as the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, and with it all that it has started."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):  # it has died, or was closed before
            print('{"end": true}', file=self._process.stdin, flush=True)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                stream.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Copy:
    """A running copy of an application with a state of its own, in a folder of its own.

    `wsgi` passes a request on to it, and raises ApplicationError where it gives no answer. Where it tells its folder, which is another one
    for each copy, its pages say /webarena-gym/NAME instead. `number` is one that no other running copy of this process has.
    """

    is_closed = False
    _descriptor: int | None = None

    def __init__(self, application: Application, host: Host, folder: Path, number: int) -> None:
        self._application, self._host, self._log = application, host, folder / "log"
        self.folder, self.state, self.number = folder, folder / "state", number
        self._told = [(spell(str(folder)), spell(f"/webarena-gym/{application.name}")) for spell in _SPELLINGS]
        self._port = 0
        if "{port}" in application.command:
            with socket.socket() as listening:
                listening.bind(("127.0.0.1", 0))
                self._port = listening.getsockname()[1]
        self._socket = "" if self._port else str(folder / "socket")
        values = {"state": str(self.state), "port": str(self._port), "socket": self._socket, "env": f"{os.getpid()}_{number}"}
        variables = application.environment if application.command or application.loads == "each time" else {}
        run_command(application, application.load, values)
        if self._port and host.is_apart:
            self._port, self._socket = 0, str(folder / "socket")
        self._pid: int = host.ask(
            serve=str(folder),
            address=self._socket,
            port=int(values["port"]) if self._socket else 0,
            command=[part.format(**values) for part in shlex.split(application.command)],
            environment={**_filled(variables, values), **_clock(application, folder)},
            log=str(self._log),
        )["pid"]
        self._values = values
        state.stop_times(self.state, application.clock)
        if application.command:
            self._wait()

    def _wait(self) -> None:
        """Wait until it answers. Raises ApplicationError where it ends, or takes too long."""
        deadline, due = time.monotonic() + self._application.start_s, threading.Event()
        while time.monotonic() < deadline:
            try:
                if self._ask("GET", self._application.ready, {"Host": self._application.host}, b"")[0].status < 500:
                    return
            except (OSError, http.client.HTTPException):
                pass
            told = self._host.ask(alive=self._pid)
            if not told["alive"]:
                raise ApplicationError(
                    f"{self._application.name} has ended with {told['status']} before it was ready: {self.tail()}"
                )
            due.wait(0.02)
        raise ApplicationError(
            f"{self._application.name} does not answer {self._application.ready} within {self._application.start_s:g} s: {self.tail()}"
        )

    def tail(self) -> str:
        """Return the end of what it has written."""
        return _tail(self._log) or "it said nothing"

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass one request on."""
        headers = {name[5:].replace("_", "-").title(): value for name, value in environ.items() if name.startswith("HTTP_")}
        headers |= {name.replace("_", "-").title(): environ[name] for name in _KEPT_HEADERS if environ.get(name)}
        headers |= {"Accept-Encoding": "identity", "Connection": "close"}
        target = quote(environ["PATH_INFO"].encode("latin-1"), safe="/~!$&'()*+,;=:@")
        target += f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        body = environ["wsgi.input"].read()
        for own, shown in self._told:
            target, body = target.replace(shown, own), body.replace(shown.encode(), own.encode())
        headers |= {"Content-Length": str(len(body))} if body else {}
        try:
            answer, content = self._ask(environ["REQUEST_METHOD"], target, headers, body)
        except (OSError, http.client.HTTPException) as error:
            raise ApplicationError(f"{self._application.name} gives no answer ({error!r}): {self.tail()}") from error
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _DROPPED]
        is_text = answer.getheader("Content-Type", "").startswith(_TEXTS)
        for own, shown in self._told:
            content = content.replace(own.encode(), shown.encode()) if is_text else content
            kept = [(name, value.replace(own, shown)) for name, value in kept]
        state.stop_times(self.state, self._application.clock)
        start_response(f"{answer.status} {answer.reason}", kept)
        return [content]

    def _ask(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=self._application.answer_s)) as connection:
            if self._socket:
                connection.sock = socket.socket(socket.AF_UNIX)
                connection.sock.settimeout(self._application.answer_s)
                connection.sock.connect(str(self.address))
            connection.request(method, target, body, dict(headers))
            answer = connection.getresponse()
            return answer, answer.read()

    @property
    def address(self) -> int | str:
        """The port at which it listens, or a path to its socket, as it was first found: a link in its place leads nowhere. Raises OSError."""
        if self._port or sys.platform != "linux":
            return self._port or self._socket
        if self._descriptor is None:
            self._descriptor = os.open(self._socket, os.O_PATH | os.O_NOFOLLOW)
        return f"/proc/self/fd/{self._descriptor}"

    @property
    def is_alive(self) -> bool:
        """True as long as its process runs."""
        with suppress(ApplicationError):
            return self._host.is_alive and bool(self._host.ask(alive=self._pid)["alive"])
        return False

    def save(self) -> None:
        """Let the application write what is outside of its folder into it."""
        run_command(self._application, self._application.save, self._values)

    def stop(self) -> None:
        """Kill it; its folder stays."""
        with suppress(ApplicationError):  # the host is dead, and this with it
            self._host.ask(stop=self._pid)

    def close(self) -> None:
        """Kill it and remove its folder, and what `load` has made outside of it; a second time does nothing."""
        if self.is_closed:
            return
        self.stop()
        with suppress(ApplicationError):  # the next one that has its number makes it anew
            run_command(self._application, self._application.drop, self._values)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self.is_closed = True


def copies_folder() -> Path:
    """Return the folder in which all processes of this user keep their copies, none of which sees those of another. Raises ApplicationError."""
    folder = Path(tempfile.gettempdir(), f"webarena-gym-{os.getuid()}")
    folder.mkdir(0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise ApplicationError(f"{folder} belongs to another user; set TMPDIR to a folder of your own")
    return folder


class Launcher:
    """Starts copies of an application from its base state; the next one starts while one is in use.

    `base` is the folder of the base state; `cookies`, by host and name, and `storage` are those of the user who is signed in there.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self._folder = Path(tempfile.mkdtemp(prefix=f"{application.name}-", dir=copies_folder()))
        self._host: Host | None = None
        self._next: Future[Copy] | None = None
        self._starting = None if application.load else ThreadPoolExecutor(1)
        self.base = self._folder / _BASE
        self.base.mkdir(parents=True)
        if application.state:
            state.copy_folder(application.state_folder, self.base)
            state.stop_times(self.base, application.clock)
        self.cookies: Mapping[str, Mapping[str, str]] | None = None
        self.storage: Mapping[str, Mapping[str, str]] = {}
        self._lock = threading.RLock()
        self._copies: list[Copy] = []
        self._ended: list[Copy] = []

    def start(self, changed: state.Difference | None = None) -> Copy:
        """Return a running copy in the base state, or in one that differs from it. Raises ApplicationError."""
        with self._lock:
            begun, self._next = self._next, None
            try:
                if begun:
                    copy = begun.result()
                    if changed:
                        self._next = begun  # for who needs none that differs
                    elif copy.is_alive:
                        return copy
                    else:
                        copy.close()
                return self._start(changed or {})
            except ApplicationError:
                if self._host is None or self._host.is_alive:
                    raise
                return self._start(changed or {})  # its host was killed, and all copies with it: a new one is worth one try

    def end(self, copy: Copy) -> None:
        """Close a copy that is not used any more, at the next `go_on` where copies are started ahead."""
        if self._starting:
            self._ended.append(copy)
        else:
            copy.close()

    def go_on(self) -> None:
        """Start the next copy, and close those that have ended, beside what the envs do next."""
        with self._lock, suppress(RuntimeError):  # while Python ends nothing is begun; `close` removes all
            if self._starting and self._next is None:
                self._next = self._starting.submit(self._start, {})
            while self._starting and self._ended:
                self._starting.submit(self._ended[-1].close)
                self._ended.pop()

    def _start(self, changed: state.Difference) -> Copy:
        if self._host is not None and not self._host.is_alive:
            self._host.close()
            self._host = None
        if self._host is None:
            self._host = Host(self.application, Path(tempfile.mkdtemp(prefix="host-", dir=self._folder)))
            self._warm()
        folder = self._folder / str(next(_numbers))
        (folder / "state").mkdir(parents=True)
        state.copy_folder(self.base, folder / "state")
        state.apply(changed, folder / "state")
        self._copies = [copy for copy in self._copies if not copy.is_closed]
        taken = {copy.number for copy in self._copies}
        try:
            self._copies.append(Copy(self.application, self._host, folder, next(n for n in count(1) if n not in taken)))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self._copies[-1]

    @property
    def is_enclosed(self) -> bool:
        """True once it runs where the system closes its copies off from one another, and from all other files and processes."""
        return self._host is not None and self._host.is_enclosed

    def prepare(
        self, sign_in: Callable[[Copy], tuple[Mapping[str, Mapping[str, str]], Mapping[str, Mapping[str, str]]]]
    ) -> None:
        """Sign in once, before the first episode: the state, cookies and storage that this leaves are the base of all copies."""
        with self._lock:
            if self.cookies is not None:
                return
            copy = self._start({})
            try:
                self.cookies, self.storage = sign_in(copy)
                copy.save()
                copy.stop()
                shutil.rmtree(self.base)
                shutil.copytree(copy.state, self.base, symlinks=True)
            finally:
                copy.close()
            self._warm()

    def _warm(self) -> None:
        """Let the host answer the pages of `warm` once more as who is signed in, on a copy of the base state."""
        cookies = (self.cookies or {}).get(self.application.host)
        if self._host is None or not self.application.warm or not cookies:
            return
        fresh = self.base.parent / "warm"  # where the application cannot lead it elsewhere
        state.copy_folder(self.base, fresh)
        shutil.rmtree(self._host.folder / "state")
        fresh.rename(self._host.folder / "state")
        told = "; ".join(f"{name}={value}" for name, value in cookies.items())
        self._host.ask(cookies=told, host=self.application.host)

    def close(self) -> None:
        """End everything."""
        with self._lock:
            begun, self._next = self._next, None
            if begun is not None and begun.exception() is None:
                begun.result().close()
            if self._starting:
                self._starting.shutdown()
            for copy in self._copies if self.application.drop else ():
                if not copy.is_closed:
                    copy.close()
            if self._host is not None:
                self._host.close()
            shutil.rmtree(self._folder, ignore_errors=True)


_launchers: dict[tuple[int, Application], Launcher] = {}


def launcher_of(application: Application) -> Launcher:
    """Return the launcher of an application in this process."""
    key = os.getpid(), application
    if key not in _launchers:
        _launchers[key] = Launcher(application)
    return _launchers[key]


@atexit.register
def close_all() -> None:
    """End all applications of this process; they start again when they are asked for."""
    for process, key in list(_launchers):
        launcher = _launchers.pop((process, key))
        if process == os.getpid():
            launcher.close()


def run_command(application: Application, command: str, values: Mapping[str, str]) -> None:
    """Run a command of an application to its end. Raises ApplicationError where it fails."""
    if not command:
        return
    try:
        subprocess.run(  # noqa: S603 - the user's own
            [part.format(**values) for part in shlex.split(command)],
            cwd=application.folder, check=True, capture_output=True, timeout=application.start_s, text=True,
            env={**os.environ, **_filled(application.environment, values)},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or ""
        raise ApplicationError(
            f"the command {command!r} of {application.name} has failed: {reason_of(error)} {str(said)[-_LOG_SHOWN:]}"
        ) from error


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-_LOG_SHOWN:].strip() if log.exists() else ""


def _filled(variables: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    known = {"port": "", "socket": "", **values}
    return {name: text.format(**known) for name, text in variables.items()}


def _clock(application: Application, folder: Path) -> dict[str, str]:
    """Return the variables with which an application sees a time that stands still; writes a library. Raises ApplicationError without libfaketime."""
    if not application.clock:
        return {}
    own = folder / "libfaketime.so"
    own.write_bytes(_faketime())
    # With its fix of monotonic time, threads that wait for Python's lock spin.
    real = {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}
    return {"LD_PRELOAD": str(own), "FAKETIME": application.clock, "TZ": "UTC", **real}


@cache
def _faketime() -> bytes:
    """Return libfaketime, which is looked for once: that takes longer than a reset. Raises ApplicationError where there is none.

    It takes the faked date from the real monotonic time until which Python's sleep waits, which no variable prevents: another name of its
    function lets the system's own be found.
    """
    for place in ("/usr/lib", "/usr/local/lib", "/opt/homebrew/lib"):
        for path in sorted(Path(place).glob("**/faketime/libfaketime.so.1")):
            return path.read_bytes().replace(b"\0clock_nanosleep\0", b"\0-lock_nanosleep\0")
    raise ApplicationError("an application with a clock needs libfaketime: apt-get install libfaketime")
