"""`Application`: a web application of one's own, as `webarena-app.toml` describes it: how it starts, what its state is, how one signs in."""

import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from webarena_gym.arguments import reason_of, suggestion
from webarena_gym.errors import ApplicationError
from webarena_gym.sites.catalogue import SITE_NAME, Account, Login
from webarena_gym.sites.changes import incidental

FILE = "webarena-app.toml"
Loads = Literal["once", "each time"]


@dataclass(frozen=True, kw_only=True)
class Application:
    """A web application. Just one of `wsgi`, `asgi` and `command` says how it starts.

    In `command`, `environment`, `save`, `load` and `drop`, "{state}" stands for the folder of an episode's own copy of the state, "{port}" or "{socket}"
    for the address at which a command has to listen, and "{env}" for a name that no other running copy has. Raises ApplicationError.
    """

    name: str
    """the site's name in tasks: sites = [name], __NAME__ for its address, which is http://name.test"""
    folder: str = "."
    """where `wsgi` or `asgi` is imported from and a command runs, as seen from the file"""
    wsgi: str = ""
    """import path of a WSGI application, "module:name" or "module:function()"; it is loaded once, and forked for each episode"""
    asgi: str = ""
    """the same of an ASGI application; its interpreter must have uvicorn"""
    command: str = ""
    """command that starts the application and stays in the foreground"""
    python: str = sys.executable
    """interpreter that has the application of `wsgi` or `asgi`, as seen from the file"""
    loads: Loads = "once"
    """"each time": imported anew for each episode, for an application that opens its files, or keeps their full paths, when it is imported"""
    warm: tuple[str, ...] = ()
    """paths that a WSGI application answers before it is forked, and again once one is signed in, so that templates are compiled for all
    episodes. It must not keep a connection to its database from one request to the next"""
    state: str = ""
    """folder of the files that episodes may change, as seen from the file; each episode has a copy. Empty: there are none"""
    shared: tuple[str, ...] = ()
    """folders outside of `state` that it may write, as seen from the file; all episodes share them. All others are read-only where the
    system lets a process have mounts of its own (Linux)"""
    uploads: str = ""
    """folder of files that are at hand for file fields, as seen from the file"""
    databases: Mapping[str, str] = field(default_factory=dict)
    """SQLite files in `state` by name, for checks of the kind "state" and for side effects; the first is also called by the site's name"""
    incidental: tuple[str, ...] = ()
    """changes that are no side effects: a table ("session"), columns ("*.last_login"), added rows ("+log"), files ("/cache/*")"""
    environment: Mapping[str, str] = field(default_factory=dict)
    """variables of its environment, beside those of this process"""
    ready: str = "/"
    """path that is answered with a status below 500 once the application is ready"""
    shown: str = ""
    """CSS selector of what is there once scripts have built a page: in Chromium each document with scripts is waited for until it has some"""
    start_s: float = 30.0
    """seconds until it must be ready"""
    answer_s: float = 30.0
    """seconds that one answer may take"""
    network: bool = False
    """it may open connections, as to a database server; without, it reaches itself alone, where the system lets a process have a network of
    its own (Linux)"""
    in_memory: bool = False
    """it keeps state in memory: one signs in anew for each episode, and there are no snapshots"""
    save: str = ""
    """command that writes a state outside of `state`, such as a PostgreSQL database, into {state}"""
    load: str = ""
    """command that restores it from {state}; it runs before each start"""
    drop: str = ""
    """command that removes it when an episode is over"""
    clock: str = ""
    """time that the application sees, such as "2024-03-05 09:00:00"; it stands still. Needs libfaketime"""
    account: Account | None = None
    """who is signed in at the beginning of tasks with `require_login`"""
    login: Login | None = None
    """the form with which one signs in"""
    tasks: str = ""
    """task file that is taken where an env is given none, as seen from the file"""
    templates: str = ""
    """templates that draw more tasks from the databases, as seen from the file"""
    draws: int = 3
    """tasks that each template gives for a seed"""

    def __hash__(self) -> int:
        return hash(repr(self))

    def __post_init__(self) -> None:
        if not SITE_NAME.fullmatch(self.name):
            raise self._wrong("name", "lower-case letters, digits and underscores")
        if sum(map(bool, (self.wsgi, self.asgi, self.command))) != 1:
            raise ApplicationError("just one of wsgi, asgi and command says how the application starts")
        for key in ("wsgi", "asgi"):
            module, _, name = getattr(self, key).partition(":")
            if getattr(self, key) and not (module and name):
                raise self._wrong(key, '"module:name"')
        if self.command and not ("{port}" in self.command or "{socket}" in self.command):
            raise self._wrong("command", "{port} or {socket} in it, where it has to listen")
        if self.loads not in get_args(Loads):
            raise self._wrong("loads", " or ".join(map(repr, get_args(Loads))))
        if not self.command and self.loads == "once" and any("{env}" in text for text in self.environment.values()):
            raise ApplicationError(
                'environment names {env}, which differs for each episode; expected loads = "each time" with it'
            )
        if bool(self.account) != bool(self.login):
            raise ApplicationError("account and login belong together: give both, or none")
        self._check_state()

    def _check_state(self) -> None:
        if self.state and not self.state_folder.is_dir():
            raise self._wrong("state", f"a folder; {self.state_folder} is none")
        if self.uploads and not Path(self.folder, self.uploads).is_dir():
            raise self._wrong("uploads", "a folder")
        for path in self.shared:
            if not Path(self.folder, path).is_dir():
                raise ApplicationError(f"shared names {path!r}; expected folders that are there")
        for name, path in self.databases.items():
            if not (self.state and (self.state_folder / path).is_file()):
                raise ApplicationError(f"the database {name} is {path!r}; expected a file in {self.state_folder}")
        if self.clock:
            try:
                datetime.fromisoformat(self.clock)
            except ValueError:
                raise self._wrong("clock", 'a time such as "2024-03-05 09:00:00"') from None
        try:
            incidental(tuple(line for line in self.incidental if "/" not in line))
        except ValueError as error:
            raise ApplicationError(f"incidental: {error}, or files as in /cache/*") from error
        try:
            for text in (self.command, self.save, self.load, self.drop, *self.environment.values()):
                shlex.split(text)
                text.format(state="", port="", socket="", env="")
        except (ValueError, KeyError, IndexError, AttributeError) as error:
            raise ApplicationError(
                f"{text!r} cannot be read ({error}); known are {{state}}, {{port}}, {{socket}} and {{env}}"
            ) from error

    def _wrong(self, key: str, expected: str) -> ApplicationError:
        return ApplicationError(f"{key} is {getattr(self, key)!r}; expected {expected}")

    @property
    def host(self) -> str:
        """The host under which browsers reach it."""
        return f"{self.name.replace('_', '-')}.test"

    @property
    def url(self) -> str:
        """Its address, without a last slash."""
        return f"http://{self.host}"

    @property
    def state_folder(self) -> Path:
        """The folder of the state, from which copies are made."""
        return Path(self.folder, self.state)


def read_application(path: str | Path | Application) -> Application:
    """Read a `webarena-app.toml`, or that in a folder. Raises ApplicationError that names the key at fault."""
    if isinstance(path, Application):
        return path
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ApplicationError(f"the application {path} cannot be read: {reason_of(error)}") from error
    kinds: dict[str, Any] = {each.name: each.type for each in fields(Application)}
    for key, value in record.items():
        if key not in kinds:
            raise ApplicationError(f"{path} has an unknown key {key!r}: {suggestion(key, list(kinds))}")
        if not isinstance(value, expected := _JSON.get(key, str)):
            raise ApplicationError(f"{path}: {key} is {value!r}; expected {_CALLED[expected]}")
    for key, kind in (("account", Account), ("login", Login)):
        if key in record:
            try:
                record[key] = kind(**record[key])
            except TypeError:
                expected = [f"{name} (optional)" if name in kind._field_defaults else name for name in kind._fields]
                raise ApplicationError(f"{path}: {key} is {record[key]!r}; expected {', '.join(expected)}") from None
    base = path.resolve().parent
    record["folder"] = str(base / record.get("folder", "."))
    record |= {key: tuple(record.get(key, ())) for key in ("incidental", "warm", "shared")}
    for key in ("state", "uploads", "tasks", "templates", "python"):
        if record.get(key) and (key != "python" or "/" in record[key]):
            record[key] = str(base / record[key])
    try:
        return Application(**record)
    except (TypeError, ApplicationError) as error:
        raise ApplicationError(f"{path}: {error}") from error


_JSON: Mapping[str, Any] = {
    "databases": dict, "environment": dict, "account": dict, "login": dict, "incidental": list, "warm": list, "shared": list, "start_s": (int, float), "answer_s": (int, float), "in_memory": bool, "draws": int, "network": bool,
}  # fmt: skip
_CALLED = {
    str: "text",
    dict: "a table",
    list: "a list of texts",
    (int, float): "a number",
    int: "a whole number",
    bool: "true or false",
}
