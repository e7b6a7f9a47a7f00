"""The processes of an application: its host process, and the instances that it starts, each with its own state."""

import http.client
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.applications.containers import (
    LABEL,
    container_command,
    container_name,
    engine_variables,
    find_engine,
    ignored_limits,
    remove_container,
    remove_orphans,
    remove_volume,
)
from webarena_gym.applications.diagnosis import advice, log_tail
from webarena_gym.applications.groups import remove_group
from webarena_gym.applications.variables import clock_variables, fill_placeholders, inherited_variables
from webarena_gym.applications.visibility import hidden_paths, home_folders, needed_paths
from webarena_gym.arguments import reason_of
from webarena_gym.errors import ApplicationError

_HOST = Path(__file__).with_name("host.py")
_MAX_PAGE = 200  # characters of a page in an error message
BASE = "base/state"
"""Path of the base state in the folder of a launcher, which is hidden from instances."""
_RELATIVE_STATE = "/proc/self/cwd/state"
"""Path of the state for applications that are loaded once and then forked: the working directory of each fork leads to its own state."""
_ENTITY_HEADERS = ("CONTENT_TYPE", "CONTENT_LENGTH")
_HOP_HEADERS = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length"))
_SPELLINGS: tuple[Callable[[str], str], ...] = (str, partial(quote, safe=""), lambda path: path.replace("/", "\\/"))
"""Functions that return the spelling of a path in pages, in URLs, and in JSON."""
_TEXTS = ("text/", "application/json", "application/javascript", "application/xml", "application/xhtml+xml", "image/svg+xml")


class AppHost:
    """The host process of an application (see `host.py`), which starts its instances. Thread-safe.

    The host process and all instances end when this process ends.

    Args:
        application: the application.
        folder: folder of the host process.
        group: control group of its instances, if `limits` has `processes`.

    Raises:
        ApplicationError: if the application cannot be loaded.

    """

    def __init__(self, application: Application, folder: Path, group: Path | None = None) -> None:
        self._application, self._lock, self.folder, self.group = application, threading.Lock(), folder, group
        self._log = folder / "host.log"
        (folder / "state").mkdir(exist_ok=True)
        if application.state:
            state.copy_folder(application.state_folder, folder / "state")
        if application.image:
            if not application.network and os.geteuid() and Path(find_engine()).name == "docker":
                raise ApplicationError(
                    f"{application.name} is a container of Docker without network = true, whose network only root can reach;"
                    " set network = true, or install Podman"
                )
            remove_orphans()
        python = application.python if not application.is_program else sys.executable
        app_folder = Path(application.folder).absolute()
        settings = {key: getattr(application, key) for key in ("wsgi", "asgi", "loads", "warm", "host")}
        settings |= {
            "limits": {} if application.image else application.limit_numbers,
            "network": application.network or bool(application.image),  # that of the command, not of the container
            "engine": find_engine() if application.image else "", "label": f"{LABEL}={folder.parent.name}",
            "folder": str(app_folder), "launcher": str(folder.parent), "hidden": str(folder.parent.parent),
            "base": str(folder.parent / BASE),
            "secret": [
                *(str(Path(path).absolute()) for path in (application.tasks, application.templates) if path and Path(path).is_file()),
                *(str(app_folder / path) for path in application.hidden),
                *hidden_paths(application, [app_folder, folder, Path(python).absolute(), *map(Path, (sys.prefix, sys.base_prefix))]),
            ],
            "homes": list(map(str, home_folders())),
            "writable": [str(app_folder / path) for path in application.shared],
        }  # fmt: skip
        state_path = _RELATIVE_STATE if application.loads == "once" and sys.platform == "linux" else str(folder / "state")
        clock = clock_variables(application, folder)
        variables = {**fill_placeholders(application.environment, {"state": state_path, "env": "0"}), **clock}
        if application.image:
            variables = {}  # only the container has them
        environment = {
            **(engine_variables(application.inherits) if application.image else inherited_variables(application)),
            "PYTHONHASHSEED": "0",
            "PYTHONUNBUFFERED": "1",
            **clock,
        }  # so that logs are complete
        environment["WEBARENA_GYM_VARIABLES"] = json.dumps(variables)
        settings["needed"] = list(map(str, needed_paths(application, {**environment, **variables})))
        descriptors = [os.open(group, os.O_PATH)] if group else []
        settings["group"] = descriptors[0] if descriptors else None
        try:
            with open(self._log, "wb") as log:
                self._process = subprocess.Popen(  # noqa: S603 - the user's own
                    [python, str(_HOST), json.dumps(settings)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=folder, text=True, env=environment,
                    start_new_session=True, pass_fds=descriptors,
                )  # fmt: skip
        except OSError as error:
            raise ApplicationError(
                f"the interpreter {python!r} of {application.name} cannot be run: {reason_of(error)}. Create it, for example with"
                " `python -m venv .venv`, or change the key python"
            ) from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        try:
            kind = "wsgi" if application.wsgi else "asgi"
            entry = getattr(application, kind)
            response = self._read(
                f"{entry} ({kind}) could not be loaded in the folder {app_folder}" if entry else "it could not be loaded"
            )
            self.has_network_namespace: bool = response["apart"] or (bool(application.image) and not application.network)
            self.is_isolated: bool = response["enclosed"] or bool(application.image)
        except ApplicationError:
            self.close()
            raise

    def request(self, **order: object) -> dict[str, Any]:
        """Send a request to the host process (see `host.py`), and return its response. Raises ApplicationError."""
        with self._lock:
            try:
                assert self._process.stdin is not None
                print(json.dumps(order), file=self._process.stdin, flush=True)
            except (OSError, ValueError) as error:  # ValueError: its pipe was closed
                self.close()
                raise ApplicationError(
                    f"the host process of {self._application.name} has died: {log_tail(self._log, self._application) or 'its log is empty'}"
                ) from error
            return self._read("it could not be started")

    def _read(self, problem: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
        response: dict[str, Any] = (
            json.loads(line)
            if line
            else {"error": f"its host process has died: {log_tail(self._log, self._application) or 'its log is empty'}"}
        )
        if "error" in response:
            log = log_tail(self._log, self._application) if line else ""
            suffix = f"\nIts log:\n{log}" if log else ""
            text = f"{response['error']}{suffix}"
            raise ApplicationError(f"{self._application.name}: {problem}: {text}{advice(self._application, text)}")
        return response

    @property
    def process_id(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and all processes that it started."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):  # the process has died, or was closed before
            print('{"end": true}', file=self._process.stdin, flush=True)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                stream.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._application.image and self._process.returncode:  # it was killed before it could remove its containers
            remove_orphans()


class AppInstance:
    """A running instance of an application, with its own state in its own folder.

    The path of the folder differs between instances, so in requests and responses it is replaced by /webarena-gym/NAME. So does the port;
    in responses, the address with the port is replaced by the application's public URL.

    Args:
        application: the application.
        host: its host process.
        folder: folder of the instance, with the state in "state".
        number: a number that no other running instance of this process has.

    Raises:
        ApplicationError: if the application cannot be started.

    """

    is_closed = False
    _descriptor: int | None = None

    def __init__(self, application: Application, host: AppHost, folder: Path, number: int) -> None:
        self._application, self._host, self._log = application, host, folder / "log"
        self.folder, self.state, self.number = folder, folder / "state", number
        self.secure_cookies: set[str] = (
            set()
        )  # names of the cookies that browsers reject, because the address begins with http://
        self._path_pairs = [(spell(str(folder)), spell(f"/webarena-gym/{application.name}")) for spell in _SPELLINGS]
        self._port = 0
        if application.image or "{port}" in application.command:
            with socket.socket() as listening:
                listening.bind(("127.0.0.1", 0))
                self._port = listening.getsockname()[1]
        self._socket = "" if self._port else str(folder / "socket")
        own_port = application.image_port if application.image else self._port
        self._addresses = [f"http://{host}:{own_port}" for host in ("127.0.0.1", "localhost", "[::1]") if own_port]
        values = {"state": str(self.state), "port": str(self._port), "socket": self._socket, "env": f"{os.getpid()}_{number}"}
        if application.image:
            values |= {"state": application.volume, "port": str(application.image_port)}
        variables = application.environment if application.is_program or application.loads == "each time" else {}
        self._values = values
        self._run("load")
        if self._port and host.has_network_namespace:
            self._port, self._socket = 0, str(folder / "socket")
        self._pid = self._start(application.command, variables, self._log, int(values["port"]) if self._socket else 0)
        try:
            state.clamp_times(self.state, application.clock)
            if application.is_program:
                self._wait()
            if application.image:
                self._expect_container()
        except BaseException:
            self.close()  # its process may still run, and so may its container
            raise

    def _start(self, command: str, variables: Mapping[str, str], log: Path, port: int = 0) -> int:
        """Start the application, or a command in its place, and return the id of the process. Raises ApplicationError."""
        words = [part.format(**self._values) for part in shlex.split(command)]
        environment = fill_placeholders(variables, self._values)
        if self._application.image:
            words = container_command(self._application, self.folder, self._port, environment, self._host.process_id)
            environment = {}
        pid: int = self._host.request(
            serve=str(self.folder),
            address=self._socket,
            port=port,
            container=container_name(self.folder),
            command=words,
            environment={**environment, **clock_variables(self._application, self.folder)},
            log=str(log),
        )["pid"]
        return pid

    def _run(self, key: Literal["load", "save", "drop"]) -> None:
        """Run a command of the application in the same isolation, and wait for its end. Raises ApplicationError if it fails."""
        application = self._application
        command: str = getattr(application, key)
        if not command:
            return
        log = self.folder / f"{key}.log"
        log.unlink(missing_ok=True)
        pid = self._start(command, application.environment, log)
        deadline, due = time.monotonic() + application.start_s, threading.Event()
        while (response := self._host.request(alive=pid))["alive"]:
            if time.monotonic() > deadline:
                self._host.request(stop=pid)
                raise ApplicationError(
                    f"the command {command!r} of {application.name} did not end within {application.start_s:g} s: {self.tail(log)}"
                )
            due.wait(0.005)
        if response["status"]:
            raise ApplicationError(
                f"the command {command!r} of {application.name} has failed with status {response['status']}: {self.tail(log)}"
                f"{advice(application, self.log_tail(log))}"
            )

    def _wait(self) -> None:
        """Wait until the application responds. Raises ApplicationError if it exits or the time limit passes."""
        application, page, pause_s, problem = self._application, "", 0.02, ""
        deadline, due = time.monotonic() + application.start_s, threading.Event()
        while time.monotonic() < deadline:
            try:
                response, content = self._send("GET", application.ready, {"Host": application.host}, b"")
                if response.status < 500:
                    return
                page, pause_s = content.decode("utf-8", "replace")[:_MAX_PAGE], min(2 * pause_s, 0.5)  # it may log each request
                problem = f"{application.ready} has the status {response.status}, {page!r}; expected one below 500"
            except (OSError, http.client.HTTPException):
                problem = ""
            process = self._host.request(alive=self._pid)
            if not process["alive"]:
                hint = "" if process["status"] else "\nExpected a command that stays in the foreground."
                raise ApplicationError(
                    f"{application.name} exited with status {process['status']} before it was ready: {self.tail()}"
                    f"{hint}{advice(application, self.log_tail())}"
                )
            due.wait(pause_s)
        raise ApplicationError(
            f"{application.name} was not ready within {application.start_s:g} s: {problem or self._silence()}\nIts log:\n{self.tail()}"
            f"{advice(application, page + self.log_tail())}"
        )

    def _expect_container(self) -> None:
        """Raise ApplicationError if its limits have no effect, or if this user cannot copy its volume."""
        name = self._application.name
        if self._application.limits and (reason := ignored_limits(self._log)):
            raise ApplicationError(f"limits have no effect on the container of {name}: {reason}")
        if file := state.inaccessible_file(self.state):
            raise ApplicationError(
                f"the container of {name} makes another user the owner of {file} in its volume, so that this user cannot copy it; run as"
                " root, or use an image whose programs run as root in the container"
            )

    def _silence(self) -> str:
        """Return the reason why the application does not respond, for an error message."""
        application = self._application
        if application.image:
            return f"it does not respond at port {application.image_port} of its container, which image_port sets; if it needs longer, set start_s"
        expected = f"127.0.0.1:{self._values['port']}" if "{port}" in application.command else self._socket
        addresses = self._host.request(listening=self._pid)["addresses"] if self._host.has_network_namespace else []
        if addresses and not any(address.endswith(f":{self._values['port']}") for address in addresses):
            return f"it listens at {', '.join(addresses)}; expected {expected}, which replaces {{port}} or {{socket}} in its command"
        if addresses:
            return f"it listens at {expected}, but does not respond to {application.ready}"
        return f"it does not respond at {expected}; if it needs longer, set start_s"

    @property
    def own_name(self) -> str:
        """The value of {env}."""
        return self._values["env"]

    def log_tail(self, log: Path | None = None) -> str:
        """Return the end of the log of the application, or of one of its commands; empty if nothing is logged."""
        return log_tail(log or self._log, self._application)

    def tail(self, log: Path | None = None) -> str:
        """Return the end of a log for an error message."""
        return self.log_tail(log) or "its log is empty"

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Forward a request to the application, and return its response. Raises ApplicationError if there is no response."""
        headers = {name[5:].replace("_", "-").title(): value for name, value in environ.items() if name.startswith("HTTP_")}
        headers |= {name.replace("_", "-").title(): environ[name] for name in _ENTITY_HEADERS if environ.get(name)}
        headers |= {"Accept-Encoding": "identity", "Connection": "close"}
        target = quote(environ["PATH_INFO"].encode("latin-1"), safe="/~!$&'()*+,;=:@")
        target += f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        body = environ["wsgi.input"].read()
        for real, public in self._path_pairs:
            target, body = target.replace(public, real), body.replace(public.encode(), real.encode())
        headers |= {"Content-Length": str(len(body))} if body else {}
        try:
            response, content = self._send(environ["REQUEST_METHOD"], target, headers, body)
        except (OSError, http.client.HTTPException) as error:
            raise ApplicationError(f"{self._application.name} gives no answer ({error!r}): {self.tail()}") from error
        response_headers = [(name, value) for name, value in response.getheaders() if name.lower() not in _HOP_HEADERS]
        is_text = response.getheader("Content-Type", "").startswith(_TEXTS)
        for real, public in self._path_pairs:
            content = content.replace(real.encode(), public.encode()) if is_text else content
            response_headers = [(name, value.replace(real, public)) for name, value in response_headers]
        for address in self._addresses:
            content = content.replace(address.encode(), self._application.url.encode()) if is_text else content
            response_headers = [(name, value.replace(address, self._application.url)) for name, value in response_headers]
        cookies = (value.partition(";") for name, value in response_headers if name.lower() == "set-cookie")
        self.secure_cookies |= {
            first.partition("=")[0] for first, _, rest in cookies if "secure" in rest.lower().replace(" ", "").split(";")
        }
        state.clamp_times(self.state, self._application.clock)
        start_response(f"{response.status} {response.reason}", response_headers)
        return [content]

    def _send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[http.client.HTTPResponse, bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1")) as connection:
            connection.sock = self.connect()
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            return response, response.read()

    def connect(self) -> socket.socket:
        """Return a connection to the application, with its time limit for responses. Raises OSError."""
        address = self.address
        if isinstance(address, int):
            try:
                return socket.create_connection(("127.0.0.1", address), self._application.answer_s)
            except ConnectionRefusedError:  # some servers listen at "localhost" of IPv6 only
                return socket.create_connection(("::1", address), self._application.answer_s)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(self._application.answer_s)
            connection.connect(address)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def address(self) -> int | str:
        """The port of the application, or a path to its socket. Raises OSError.

        The path is that of a descriptor of the original socket, since the application could replace the file by a link.
        """
        if self._port or sys.platform != "linux":
            return self._port or self._socket
        if self._descriptor is None:
            self._descriptor = os.open(self._socket, os.O_PATH | os.O_NOFOLLOW)
        return f"/proc/self/fd/{self._descriptor}"

    @property
    def is_alive(self) -> bool:
        """True while its process runs."""
        with suppress(ApplicationError):
            return self._host.is_alive and bool(self._host.request(alive=self._pid)["alive"])
        return False

    def read_client_state(self) -> dict[str, Any]:
        """Return the state that pages keep at `client_state`. Raises ApplicationError if it is not a JSON object."""
        status, content = self._request_client_state("GET", b"")
        try:
            state = json.loads(content)
        except ValueError:
            state = None
        if status != 200 or not isinstance(state, dict):
            raise ApplicationError(
                f"{self._application.name} returned {content[:200]!r} with status {status} for {self._application.client_state};"
                " expected the state of its pages, a JSON object"
            )
        return state

    def write_client_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state at `client_state`. Raises ApplicationError if the application rejects it."""
        status, content = self._request_client_state("PUT", json.dumps(state).encode())
        if status >= 300:
            raise ApplicationError(
                f"{self._application.name} rejects a PUT of {self._application.client_state} with status {status}: {content[:200]!r}"
            )

    def _request_client_state(self, method: str, body: bytes) -> tuple[int, bytes]:
        headers = {"Host": self._application.host, "Connection": "close"} | (
            {"Content-Type": "application/json"} if body else {}
        )
        try:
            response, content = self._send(method, self._application.client_state, headers, body)
        except (OSError, http.client.HTTPException) as error:
            raise ApplicationError(f"{self._application.name} gives no answer ({error!r}): {self.tail()}") from error
        return response.status, content

    def save(self) -> None:
        """Run the command `save`, which writes state outside of the folder into it."""
        self._run("save")

    def stop(self) -> None:
        """Kill the process, without removing the folder."""
        with suppress(ApplicationError):  # the host process has died, and this process with it
            self._host.request(stop=self._pid)
        if self._application.image:
            remove_container(self.folder)

    def close(self) -> None:
        """Kill the process, and remove the folder and the state outside of it that `load` created. A second call has no effect."""
        if self.is_closed:
            return
        self.stop()
        with suppress(ApplicationError):  # the next instance with this number replaces that state
            self._run("drop")
        if self._host.group:
            remove_group(self._host.group / self.folder.name)
        if self._application.volume and state.inaccessible_file(self.state):
            remove_volume(self.state)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self.is_closed = True
