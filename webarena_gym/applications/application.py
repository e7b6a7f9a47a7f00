"""`Application`: the description of a user's web application in `webarena-app.toml`: its start, state, and login."""

import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from webarena_gym.applications.archive import FILE, SUFFIX, cached_folder
from webarena_gym.applications.trust import expect_trusted_archive
from webarena_gym.arguments import quote_value, reason_of, suggestion
from webarena_gym.errors import ApplicationError
from webarena_gym.sites.catalogue import SITE_NAME, Account, Login
from webarena_gym.sites.changes import incidental
from webarena_gym.sites.world import cache_folder

Loads = Literal["once", "each time"]
"""Time of the import of an application: once, after which it is forked for each episode, or in each episode."""
_LIMITS = {"memory": 'a text such as "512M" or "2G"', "cpu": "a number of cores above 0", "processes": "a number above 0"}
_NOT_IN_CONTAINERS = ("clock", "load", "save", "drop", "warm", "shared", "hidden", "readable")
_MEMORY = re.compile("[1-9][0-9]{0,5}[MG]")
_SHELL_WORDS = frozenset(("&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"))
_SQLITE = b"SQLite format 3\0"  # start of a file


@dataclass(frozen=True, kw_only=True)
class Application:
    """The description of a web application. Exactly one of `wsgi`, `asgi`, `command` and `image` must be set.

    Paths are relative to the folder of `webarena-app.toml`. In `command`, `environment`, `save`, `load` and `drop`, these placeholders are
    replaced: "{state}" by the folder with an episode's copy of the state, "{port}" or "{socket}" by the address at which a command must
    listen, and "{env}" by a name that is unique among running copies.

    >>> application = Application(name="notes", command="python -m http.server {port}")
    >>> application.url
    'http://notes.test'

    Raises:
        ApplicationError: for an invalid or missing value.

    """

    name: str
    """name of the site in tasks: `sites` is [name], and `__NAME__` is the placeholder of its URL, http://name.test"""
    folder: str = "."
    """folder from which `wsgi` or `asgi` is imported, and in which commands run"""
    wsgi: str = ""
    """import path of a WSGI application, "module:name" or "module:function()"; it is loaded once, and forked for each episode"""
    asgi: str = ""
    """import path of an ASGI application; its interpreter must have uvicorn"""
    command: str = ""
    """command that starts the application and stays in the foreground"""
    image: str = ""
    """container image, such as "shop:1.2", which Podman or Docker has on this machine; each episode has a new container"""
    image_port: int = 80
    """TCP port at which the application in the container listens"""
    volume: str = ""
    """folder in the container, such as "/var/lib/shop", in which an episode finds its copy of `state`"""
    python: str = sys.executable
    """interpreter of the application of `wsgi` or `asgi`"""
    loads: Loads = "once"
    """"each time" imports the application for each episode; needed if it opens its files, or stores their full paths, during the import"""
    warm: tuple[str, ...] = ()
    """paths that are requested before the application is forked, and again as the signed-in user, so that templates are compiled once for all
    episodes. Only with `wsgi` and `loads = "once"`. The application must close its databases at the end of each request"""
    state: str = ""
    """folder of the files that episodes may change; each episode has a copy. Empty if there are none"""
    shared: tuple[str, ...] = ()
    """folders outside of `state` that the application may write; all episodes share them. All other folders are read-only if the system
    supports mount namespaces (Linux)"""
    hidden: tuple[str, ...] = ()
    """files and folders that the application must not read, such as the tasks and verifiers of a web server that serves its own folder"""
    readable: tuple[str, ...] = ()
    """further files and folders in home folders that the application may read, such as `~/nltk_data`. Home folders appear empty except for
    these and what the application needs, if the system supports mount namespaces (Linux)"""
    uploads: str = ""
    """folder of files for file fields"""
    databases: Mapping[str, str] = field(default_factory=dict)
    """SQLite files in `state` by name, or dumps (.sql) that `save` writes by pg_dump, mysqldump or mariadb-dump, for checks of the kind
    "state" and for side effects. In tasks, the name of the application means the first database, unless another one has that name"""
    incidental: tuple[str, ...] = ()
    """changes that are no side effects: a table (`session`), columns (`*.last_login`), added rows (`+log`), files (`/cache/*`)"""
    environment: Mapping[str, str] = field(default_factory=dict)
    """additional environment variables. With `wsgi` and `asgi`, they are set after the interpreter has started. Variables that Python reads
    at start, except PYTHONPATH, have no effect"""
    inherits: tuple[str, ...] = ()
    """names of variables of this process that the application sees too. By default it sees the search paths, the locale and the home folder;
    others may contain secrets"""
    ready: str = "/"
    """path whose response has a status below 500 once the application is ready"""
    shown: str = ""
    """CSS selector of elements that exist once scripts have built a page; Chromium waits for one in each document with scripts"""
    busy: str = ""
    """CSS selector of elements that exist while a page with scripts waits for its server, such as `[aria-busy=true]`. After each action
    Chromium waits until there are none, at most 30 s. Needed if the server sends the page in several messages of a WebSocket"""
    start_s: float = 30.0
    """time limit for the start, in seconds"""
    answer_s: float = 30.0
    """time limit for a response, in seconds"""
    network: bool = False
    """allow network connections, for example to a database server; otherwise the application can connect only to itself, if the system
    supports network namespaces (Linux)"""
    in_memory: bool = False
    """the application keeps state in memory: the sign-in is repeated for each episode, and there are no snapshots"""
    client_state: str = ""
    """path, such as "/api/state", at which pages keep their whole state: PUT replaces it, GET returns it, as a JSON object. Local storage may
    hold a copy. An episode then starts by setting this state, without another start of the application"""
    save: str = ""
    """command that writes state outside of `state`, for example a PostgreSQL database, into {state}. It runs in the same isolation as the
    application, as do `load` and `drop`"""
    load: str = ""
    """command that restores that state from {state}; it runs before each start"""
    drop: str = ""
    """command that removes that state at the end of an episode"""
    virtual_time: bool = False
    """let the time of scripts pass only while Chromium waits for a page, as fast as they run; see `app check` for pages that need real
    time as well"""
    clock: str = ""
    """constant time of the application, such as "2024-03-05 09:00:00", later than all dates in the state. Needs libfaketime, in Debian the
    package of that name. With `client_state`, only the clock of scripts begins at this time, in each document, and libfaketime is not needed"""
    limits: Mapping[str, int | str] = field(default_factory=dict)
    """limits of each copy: `memory` of each of its processes, such as "512M" or "2G"; `processes`, the number of its processes and threads;
    and `cpu`, the number of cores"""
    account: Account | None = None
    """account that is signed in at the start of tasks with `require_login`"""
    login: Login | None = None
    """login form of the application"""
    tasks: str = ""
    """task file, used by envs without the keyword `tasks`"""
    templates: str = ""
    """file of templates, which generate tasks from the databases"""
    draws: int = 3
    """number of tasks of each template for a seed"""
    exclude: tuple[str, ...] = ("/runs", f"/*{SUFFIX}")
    """patterns of files and folders that `app pack` omits, besides virtual environments, caches and `.git`. They begin with `/`, the folder of
    `webarena-app.toml`, or with `*`"""

    def __hash__(self) -> int:
        return hash(repr(self))

    def __post_init__(self) -> None:
        if not SITE_NAME.fullmatch(self.name):
            raise self._invalid("name", "lower-case letters, digits and underscores")
        if sum(map(bool, (self.wsgi, self.asgi, self.command, self.image))) != 1:
            raise ApplicationError("exactly one of wsgi, asgi, command and image must be set")
        for key in ("wsgi", "asgi"):
            module, _, name = getattr(self, key).partition(":")
            if getattr(self, key) and not (module and name):
                raise self._invalid(key, f'"module:name", such as "{module.removesuffix(".py") or "app"}:app"')
        if self.command and not ("{port}" in self.command or "{socket}" in self.command):
            raise self._invalid("command", "a command that contains {port} or {socket}, the address at which it must listen")
        for key, least in (("start_s", 0.001), ("answer_s", 0.001), ("draws", 1), ("image_port", 1)):
            if not getattr(self, key) >= least:
                raise self._invalid(key, "a number above 0")
        if self.loads not in get_args(Loads):
            raise self._invalid("loads", " or ".join(map(repr, get_args(Loads))))
        if (self.wsgi or self.asgi) and self.loads == "once" and any("{env}" in text for text in self.environment.values()):
            raise ApplicationError(
                'environment contains {env}, which differs between episodes; expected loads = "each time" with it'
            )
        if self.warm and not (self.wsgi and self.loads == "once"):
            raise self._invalid("warm", 'no paths; they are requested only of an application of wsgi with loads = "once"')
        if bool(self.account) != bool(self.login):
            raise ApplicationError("account and login must be set together")
        if self.client_state and not (self.client_state.startswith("/") and not (self.state or self.login)):
            raise self._invalid("client_state", "a path that starts with /, and neither state nor login")
        for pattern in self.exclude:
            if not pattern.startswith(("/", "*")) or pattern.endswith("/"):  # it would match no path
                raise ApplicationError(f"exclude contains {pattern!r}; expected a pattern such as '/runs'")
        self._check_image()
        self._check_limits()
        self._check_state()

    def _check_image(self) -> None:
        if not self.image:
            if self.volume:
                raise self._invalid("volume", "none without image")
            return
        if extra := [key for key in _NOT_IN_CONTAINERS if getattr(self, key)]:
            raise ApplicationError(f"{extra[0]} cannot be combined with image: it has no effect in a container")
        if self.image.startswith("-"):  # the engine would read an option
            raise self._invalid("image", 'the name of an image, such as "shop:1.2"')
        if self.image_port > 65535:
            raise self._invalid("image_port", "a number up to 65535")
        if self.volume and (not self.volume.startswith("/") or ":" in self.volume):  # options of a volume come after a colon
            raise self._invalid("volume", 'an absolute path in the container without colons, such as "/data"')
        if bool(self.volume) != bool(self.state):
            raise ApplicationError(
                "state, a folder of this machine, and volume, its path in the container, must be set together"
            )
        if not (self.volume or self.in_memory or self.client_state):
            raise ApplicationError(
                "the state in the container is not copied: set state and volume, or in_memory = true, without snapshots"
            )

    def _check_limits(self) -> None:
        for key, value in self.limits.items():
            if key not in _LIMITS:
                raise ApplicationError(f"limits has an unknown key {key!r}: {suggestion(key, _LIMITS)}")
            is_valid = bool(_MEMORY.fullmatch(value)) if isinstance(value, str) else type(value) is int and value > 0
            if not is_valid or isinstance(value, str) != (key == "memory"):
                raise ApplicationError(f"limits: {key} is {value!r}; expected {_LIMITS[key]}")

    def _check_state(self) -> None:
        if self.state and not self.state_folder.is_dir():
            raise self._invalid("state", f"a folder with the files from which each episode starts; create {self.state_folder}")
        if self.uploads and not Path(self.folder, self.uploads).is_dir():
            raise self._invalid("uploads", "a folder")
        for path in self.shared:
            if not Path(self.folder, path).is_dir():
                raise ApplicationError(f"shared contains {path!r}; expected existing folders")
        for path in self.readable:
            if not Path(self.folder, Path(path).expanduser()).exists():
                raise ApplicationError(f"readable contains {path!r}; expected existing files and folders")
        for path in self.hidden:
            if not Path(self.folder, path).exists():
                raise ApplicationError(f"hidden contains {path!r}; expected existing files and folders")
        for name, path in self.databases.items():
            self._check_database(name, path)
        if self.clock:
            try:
                datetime.fromisoformat(self.clock)
            except ValueError:
                raise self._invalid("clock", 'a time such as "2024-03-05 09:00:00"') from None
        try:
            incidental(tuple(line for line in self.incidental if "/" not in line))
        except ValueError as error:
            raise ApplicationError(f"incidental: {error}, or files as in /cache/*") from error
        for key in ("command", "save", "load", "drop"):
            self._check_placeholders(key, getattr(self, key))
            self._check_command(key, getattr(self, key))
        for name, text in self.environment.items():
            self._check_placeholders(f"environment: {name}", text)
            self._check_variable(name, text)

    def _check_database(self, name: str, path: str) -> None:
        file = self.state_folder / path
        if not (self.state and file.is_file()):
            folder = self.state_folder if self.state else "the folder state"
            expected = f"a file in {folder}"
            if "://" in path:
                expected = f"a dump in {folder}, which the commands save and load write and restore"
            elif self.state and (near := sorted(other.name for other in self.state_folder.glob(f"**/{Path(path).name}"))):
                expected += f", such as {near[0]!r}"
            hint = "Write the application's database there, or delete the line from [databases]"
            raise ApplicationError(f"the database {name} is {path!r}; expected {expected}. {hint}")
        if not file.resolve().is_relative_to(self.state_folder.resolve()):
            raise ApplicationError(
                f"the database {name} is {path!r}, which leads to {file.resolve()}; expected a file in {self.state_folder}, which each episode copies"
            )
        with file.open("rb") as opened:
            start = opened.read(len(_SQLITE))
        if file.suffix != ".sql" and start not in (b"", _SQLITE):
            raise ApplicationError(
                f"the database {name} is {path!r}, which begins with {start!r}; expected a SQLite file or a dump (.sql)"
            )

    def _check_placeholders(self, key: str, text: str) -> None:
        try:
            text.format(state="", port="", socket="", env="")
        except (ValueError, KeyError, IndexError, AttributeError) as error:
            reason = f"the unknown placeholder {{{error.args[0]}}}" if isinstance(error, KeyError) else f"an error: {error}"
            raise ApplicationError(
                f"{key} is {text!r}, with {reason}; expected {{state}}, {{port}}, {{socket}} or {{env}}, and {{{{ or }}}} for a brace"
            ) from error

    def _check_variable(self, name: str, text: str) -> None:
        if not re.fullmatch(r"[^\s=#\0]+", name):
            raise ApplicationError(
                f"environment contains the name {name!r}; expected one without spaces, =, # and null characters"
            )
        if "\0" in text:
            raise ApplicationError(f"the variable {name} of environment contains a null character")
        if self.image and re.search(r"[\r\n]", text):
            raise ApplicationError(
                f"the variable {name} of environment contains a line break, which a container engine cannot read from a file; set it in"
                f' your shell, and inherits = ["{name}"]'
            )

    def _check_command(self, key: str, text: str) -> None:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise self._invalid(key, f"a command whose quotes are closed ({error})") from error
        if shell := [word for word in words if word in _SHELL_WORDS or (word is words[0] and "=" in word)]:
            raise self._invalid(
                key,
                f"a program and its arguments. Only a shell knows {shell[0]!r}: write \"sh -c '...'\", and variables in [environment]",
            )

    def _invalid(self, key: str, expected: str) -> ApplicationError:
        return ApplicationError(f"{key} is {getattr(self, key)!r}; expected {expected}")

    @property
    def limit_numbers(self) -> dict[str, int]:
        """The limits as numbers: memory in bytes, processes, and cores."""
        units = {"M": 1 << 20, "G": 1 << 30}
        return {
            key: int(value[:-1]) * units[value[-1]] if isinstance(value, str) else value for key, value in self.limits.items()
        }

    @property
    def is_program(self) -> bool:
        """True if a program listens at a port or socket, started by `command` or in a container, rather than an imported application."""
        return bool(self.command or self.image)

    @property
    def host(self) -> str:
        """The host name of the application in browsers."""
        return f"{self.name.replace('_', '-')}.test"

    @property
    def url(self) -> str:
        """The URL of the application, without a slash at the end."""
        return f"http://{self.host}"

    @property
    def state_folder(self) -> Path:
        """The folder of the original state, which is copied for each episode."""
        return Path(self.folder, self.state)


def read_application(path: str | Path | Application) -> Application:
    """Read a `webarena-app.toml`; `path` may also be its folder, or an archive of `webarena-gym app pack`.

    Raises:
        ApplicationError: for an invalid application; the message names the key.

    """
    if isinstance(path, Application):
        return path
    if not isinstance(path, str | Path):
        raise ApplicationError(
            f"application is {path!r}; expected the path of a {FILE}, of its folder or of an archive, or an Application"
        )
    path = Path(path)
    if path.name.endswith(SUFFIX):
        folder = cached_folder(path, cache_folder())
        application = read_application(folder)
        expect_trusted_archive(path, application, folder)
        return application
    path = path / FILE if path.is_dir() else path
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if path.name != FILE or not path.parent.is_dir():
            raise ApplicationError(
                f"the application {path} does not exist; expected a {FILE}, its folder, or an archive"
            ) from error
        raise ApplicationError(
            f"there is no {FILE} in the folder {path.parent.resolve()}; name the folder of the application, or write the file with"
            f" `webarena-gym app new {path.parent}`"
        ) from error
    except (OSError, ValueError) as error:
        hint = ""
        if match := re.search(r"at line (\d+)", str(error)):
            line = path.read_text(encoding="utf-8").splitlines()[int(match[1]) - 1]
            hint = f": {quote_value(line)}; expected TOML, in which strings have quotes"
        raise ApplicationError(f"the application {path} cannot be read: {reason_of(error)}{hint}") from error
    return parse_application(record, path.resolve().parent, str(path))


def parse_application(record: Mapping[str, Any], base: Path, where: str) -> Application:
    """Return the application of a record with the keys of `webarena-app.toml`.

    Args:
        record: the keys and values.
        base: folder to which paths are relative.
        where: location of the record for error messages.

    Raises:
        ApplicationError: for an unknown key, or an invalid or missing value.

    """
    keys = [item.name for item in fields(Application)]
    _expect_no_nested_key(record, keys, base, where)
    for key, value in record.items():
        if key not in keys:
            raise ApplicationError(f"{where} has an unknown key {key!r}: {suggestion(key, keys)}")
        expected = _JSON_TYPES.get(key, str)
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            raise ApplicationError(f"{where}: {key} is {value!r}; expected {_TYPE_NAMES[expected]}")
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if key != "limits" and not all(isinstance(item, str) for item in items):  # `limits` also has numbers
            if isinstance(value, dict):
                name = next(name for name, item in value.items() if not isinstance(item, str))
                raise ApplicationError(f"{where}: {name!r} of {key} is {value[name]!r}; expected a string")
            raise ApplicationError(f"{where}: {key} is {value!r}; expected a list of strings")
    values = dict(record)
    for key, kind in (("account", Account), ("login", Login)):
        if key in values:
            try:
                values[key] = kind(**values[key])
            except TypeError:
                for name in values[key]:
                    if name not in kind._fields:
                        hint = suggestion(name, kind._fields)
                        raise ApplicationError(f"{where}: {key} has an unknown key {name!r}: {hint}") from None
                names = [f"{name} (optional)" if name in kind._field_defaults else name for name in kind._fields]
                raise ApplicationError(
                    f"{where}: {key} has the keys {', '.join(values[key])}; expected {', '.join(names)}"
                ) from None
    values["folder"] = str(base / values.get("folder", "."))
    lists = [key for key, kind in _JSON_TYPES.items() if kind is list]
    values |= {key: tuple(values[key]) for key in lists if key in values}
    for key in ("state", "uploads", "tasks", "templates", "python"):
        if values.get(key) and (key != "python" or "/" in values[key]):
            values[key] = str(base / values[key])
    try:
        return Application(**values)
    except (TypeError, ApplicationError) as error:
        raise ApplicationError(f"{where}: {error}") from error


def _expect_no_nested_key(record: Mapping[str, Any], keys: Sequence[str], base: Path, where: str) -> None:
    """Raise ApplicationError for a key of the top level in a table, where TOML puts all lines below its head.

    A database may have the name of a key if its file exists.
    """
    for table, values in record.items():
        for key, value in values.items() if isinstance(values, dict) else ():
            is_database = (
                table == "databases" and isinstance(value, str) and (base / str(record.get("state", "")) / value).is_file()
            )
            if key in keys and key not in record and not is_database:
                raise ApplicationError(
                    f"{where}: [{table}] contains {key}, which is a key of the top level; move it above the first [table]"
                )


_JSON_TYPES: Mapping[str, Any] = {
    "databases": dict, "environment": dict, "limits": dict, "account": dict, "login": dict, "incidental": list, "inherits": list, "warm": list, "shared": list, "hidden": list, "readable": list, "exclude": list, "start_s": (int, float), "answer_s": (int, float), "in_memory": bool, "draws": int, "image_port": int, "network": bool, "virtual_time": bool,
}  # fmt: skip
_TYPE_NAMES = {
    str: "a string",
    dict: "a table",
    list: "a list of strings",
    (int, float): "a number",
    int: "an integer",
    bool: "true or false",
}
