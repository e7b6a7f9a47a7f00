"""Worlds: the data of all sites, drawn from one integer, built once and stored on disk.

A world consists of SQLite files, which are built and read when their site is first requested. An episode uses copies in memory, or, in a
large world, overlays over the files (`Databases`), so the files never change. The cache is keyed
by the code and data of the generators (`digest`), so a changed generator never reads an old world.
"""

import ast
import hashlib
import io
import json
import os
import re
import sqlite3
import sys
import tempfile
import threading
import tokenize
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache, lru_cache, partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

from webarena_gym.changes import Change
from webarena_gym.errors import WorldError
from webarena_gym.pages.page import Network, WSGIApplication
from webarena_gym.progress import Progress
from webarena_gym.sites.catalogue import DATABASES, HOSTS, SITES, schema
from webarena_gym.sites.changes import declared_by, net_changes, overlay_changes
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.country.seeding import COOKIE
from webarena_gym.sites.kit.database import Database, Overlay, Snapshot
from webarena_gym.sites.kit.site import CompiledTemplates, ResponseCache, Site
from webarena_gym.sites.layout import PLAIN, Layout
from webarena_gym.sites.planting import PlantedRow, plant

LARGEST_SEED = 999_999_999
"""Largest absolute value of a world seed. Invented words become longer with the seed, and must fit their fields."""

_STATES = 512  # states of databases whose net changes a world stores


class World:
    """A generated world: its databases, and the sessions of its current user."""

    def __init__(self, seed: int, scale: Scale = "standard") -> None:
        self.seed = seed
        self.scale: Scale = scale
        self.responses = ResponseCache()
        self.changes: OrderedDict[tuple[str, bytes, bytes], list[Change]] = (
            OrderedDict()
        )  # by database and digests of two states
        self._content: dict[str, bytes] = {}
        self._files: dict[str, Path] = {}
        self._signed_in: dict[str, dict[str, str]] = {}  # by database and site

    def content(self, site: str) -> bytes:
        """Return the database of a site as the bytes of a SQLite file. Raises WorldError."""
        name = SITES[site].database
        content = self._content.get(name) or self._file(name).read_bytes()
        if self.scale == "standard":
            self._content[name] = content
        return content

    def prepare(self, site: str) -> int:
        """Build the database of a site unless it is in the cache, and return its size in bytes. Raises WorldError."""
        return self._file(SITES[site].database).stat().st_size

    def _file(self, name: str) -> Path:
        """Return the file of a database, which is built if necessary and verified once. Raises WorldError."""
        if name not in self._files:
            self._files[name] = _build_file(name, self.seed, self.scale)
        return self._files[name]

    def database(self, site: str) -> Database:
        """Return a database of a site for one episode, with the initial content. Raises WorldError."""
        name = SITES[site].database
        if self.scale == "large" and os.access(self._file(name), os.W_OK):
            return Overlay(self._file(name))
        return Database(self.content(name))  # also for a read-only cache, in whose files SQLite rejects all writes

    def cookies(self, sites: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the cookies of the current user's sessions on these sites, by host."""
        cookies_by_host = {}
        for site in sites:
            name = SITES[site].database
            if name not in self._signed_in:
                with closing(self.database(name)) as database:
                    rows = database.connection.execute("SELECT data ->> '$.site', session_id FROM session").fetchall()
                self._signed_in[name] = dict(map(tuple, rows))
            if site in self._signed_in[name]:
                cookies_by_host[HOSTS[site]] = {COOKIE: self._signed_in[name][site]}
        return cookies_by_host

    def open(self) -> "Databases":
        """Return new databases with the initial content."""
        return Databases(self)


class Databases(Mapping[str, Database]):
    """The databases of one episode by site, each opened on first use.

    `lock` is held during requests and while databases are reset, restored or closed: browsers send requests in their own threads, and
    SQLite crashes the process if a connection is closed during a query.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.responses = world.responses
        self.lock = threading.RLock()
        self._open: dict[str, Database] = {}
        self._planted: dict[str, list[PlantedRow]] = {}
        self._begun: dict[str, bytes] = {}  # digests of the initial states of databases with planted rows
        self._bases: dict[str, bytes] = {}  # their initial content, if it has been used

    def __getitem__(self, site: str) -> Database:
        name = SITES[site].database
        if name not in self._open:
            self._open[name] = self._world.database(name)
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SITES)

    def __len__(self) -> int:
        return len(SITES)

    def reset(self, planted: Sequence[PlantedRow] = ()) -> None:
        """Reset all databases to the content of the world, with planted rows. Raises TaskError for rows that databases reject."""
        with self.lock:
            for database in self._open.values():
                database.reset()
            self._planted, self._begun, self._bases = {}, {}, {}
            for row in planted:
                self._planted.setdefault(SITES[row.site].database, []).append(row)
            for name, rows in self._planted.items():
                database = self[name]
                database.plant(partial(plant, rows), repr(rows).encode())
                assert database.state is not None
                self._begun[name] = database.state

    def snapshot(self) -> dict[str, Snapshot]:
        """Return a snapshot of each open database."""
        return {name: database.snapshot() for name, database in self._open.items()}

    def restore(self, snapshot: Mapping[str, Snapshot], planted: Sequence[PlantedRow] = ()) -> None:
        """Restore a snapshot of an episode that started with the `planted` rows. Raises SnapshotError."""
        with self.lock:
            self.reset(planted)
            for name, changes in snapshot.items():
                self[name].restore(changes)

    def changes(self) -> list[Change]:
        """Return the net changes of the episode, row by row (`net_changes`)."""
        return [change for name in DATABASES if name in self._open for change in self._changes(name)]

    def _changes(self, name: str) -> Sequence[Change]:
        database, known = self._open[name], self._world.changes
        state, begun = database.state, self._begun.get(name, b"")
        if state == begun:
            return ()
        if state is None or (name, begun, state) not in known:
            if isinstance(database, Overlay):
                site_changes = overlay_changes(name, database.connection, database.touched_tables())
            else:
                site_changes = net_changes(name, self._base(name), database.connection.serialize(), declared_by(name))
            if state is None:
                return site_changes
            known[name, begun, state] = site_changes
            while len(known) > _STATES:
                known.popitem(last=False)
        known.move_to_end((name, begun, state))
        return known[name, begun, state]

    def _base(self, name: str) -> bytes:
        """Return the initial content of a database, with planted rows."""
        content = self._world.content(name)
        if name not in self._planted:
            return content
        if name not in self._bases:
            database = Database(content)
            plant(self._planted[name], database.connection)
            self._bases[name] = database.connection.serialize()
            database.close()
        return self._bases[name]

    def close(self) -> None:
        """Close all databases."""
        with self.lock:
            for database in self._open.values():
                database.close()
            self._open.clear()


@cache
def load_site(name: str) -> Site:
    """Return a site with all its views, which are imported on demand to keep imports of the package fast.

    Compiled templates are cached on disk, in a folder whose name contains a hash of the code that affects the result of the compilation.
    """
    site: Site = import_module(f"webarena_gym.sites.{name}.site").site
    code = b"".join((_PACKAGE / "sites" / file).read_bytes() for file in ("kit/site.py", "country/texts.py"))
    digested = hashlib.sha256(code).hexdigest()[:16]
    site.templates.bytecode_cache = CompiledTemplates(cache_folder() / f"templates-{sys.implementation.cache_tag}-{digested}")
    folder = Path(__file__).parent
    for file in sorted([*folder.glob(f"{name}/views.py"), *folder.glob(f"{name}/views/[a-z]*.py")]):
        import_module(".".join(("webarena_gym", "sites", *file.relative_to(folder).with_suffix("").parts)))
    return site


def connect(databases: Databases, layout: Layout = PLAIN) -> Network:
    """Return the network of one episode, in which every site uses the databases of the episode."""
    return Network({host: _on_demand(name, databases, layout) for name, host in HOSTS.items()})


def _on_demand(name: str, databases: Databases, layout: Layout) -> WSGIApplication:
    """Return the application of a site, which is created at its first request; sites without visits cost nothing.

    It processes one request at a time, with the lock of the databases.
    """
    app = cache(lambda: load_site(name).app(databases[name], layout, databases.responses))

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with databases.lock:
            return app()(environ, start_response)

    return application


@lru_cache(maxsize=8, typed=True)  # True is not a seed, although it equals 1
def load_world(seed: int, scale: Scale = "standard") -> World:
    """Return the world of a seed and scale. Its databases are loaded from memory or disk, or built, on first use.

    Raises WorldError unless the seed is an integer from -LARGEST_SEED to LARGEST_SEED.
    """
    if not is_seed(seed):
        raise WorldError(f"there is no world {seed!r}; expected a whole number from -{LARGEST_SEED} to {LARGEST_SEED}")
    return World(seed, scale)


def is_seed(seed: object) -> bool:
    """Return True if a seed is valid."""
    return type(seed) is int and abs(seed) <= LARGEST_SEED


def cache_folder() -> Path:
    """Return the folder of stored worlds: $WEBARENA_GYM_CACHE, otherwise in the user's cache folder."""
    configured = os.environ.get("WEBARENA_GYM_CACHE")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "webarena_gym"


_PACKAGE = Path(__file__).parent.parent


def digest(database: str, package: Path = _PACKAGE) -> str:
    """Return a hash of the code and data of a database's generator: 16 hexadecimal digits.

    Comments, docstrings and empty lines of the code do not count, so that a change of wording does not rebuild worlds.
    """
    digested = hashlib.sha256()
    for file in sources(database, package):
        content = read_source(file, package).content
        digested.update(f"{file.relative_to(package).as_posix()} {len(content)}\n".encode() + content)
    return digested.hexdigest()[:16]


def sources(database: str, package: Path = _PACKAGE) -> list[Path]:
    """Return the files that determine a database, in a fixed order: schema, generator, its imports, and its data.

    Views and templates are not among them, so that a change to a page does not rebuild the worlds.

    Imports are followed from the module `world` of a site through all modules of this package. A folder's `__init__` is followed
    if something is imported from it, and not if one of its modules is. Data are files in the folder of a module
    that are named in it, and the text files of a folder that is named in it.
    """
    site = package / "sites" / database
    files = {file for file in (site / "schema.sql", site / "schema_large.sql") if file.is_file()}
    new = {site / "world.py"}
    while new:
        file = new.pop()
        files.add(file)
        new |= read_source(file, package).references - files
    return sorted(files)


class Source(NamedTuple):
    """A file that a generator consists of."""

    content: bytes
    """Bytes of the file; of a Python module without comments, docstrings and empty lines."""
    references: frozenset[Path]
    """Files of the package that a module imports or names."""


class ParsedModule(NamedTuple):
    """The part of a Python module that does not depend on other files."""

    code: str
    """The module without comments, docstrings and empty lines, decoded as Latin-1."""
    imports: list[list[str]]
    """Imported names of modules. Each is a list of names, of which the first that exists is imported."""
    strings: list[str]
    """String constants that may be names of files or folders."""


@cache
def read_source(file: Path, package: Path) -> Source:
    """Read a module or data file of a generator. The result is the same with every version of Python."""
    content = file.read_bytes()
    if file.suffix != ".py":
        return Source(content, frozenset())
    module = _parse_cached(content)
    files: set[Path] = set()
    for names in module.imports:
        files.update(next(filter(None, (_module(name, package) for name in names)), ()))
    data = {path.name: path for path in file.parent.iterdir()}
    for path in (data[name] for name in module.strings if name in data):
        files.update([path] if path.is_file() else path.glob("*.txt"))
    return Source(module.code.encode("latin-1"), frozenset(files))


def _parse_cached(content: bytes) -> ParsedModule:
    """Return a parsed module from the cache, if it can be written. Entries are keyed by the module's content and the parser's code."""
    path = cache_folder() / f"sources-{_parser_digest()}" / hashlib.sha256(content).hexdigest()
    try:
        seal, entry = path.read_bytes().split(b"\n", 1)
        if hashlib.sha256(entry).hexdigest().encode() == seal:
            return ParsedModule(*json.loads(entry))
    except (OSError, ValueError):
        pass  # parse it
    module = parse_module(content)
    entry = json.dumps(module).encode()
    with suppress(WorldError):
        _store(path, hashlib.sha256(entry).hexdigest().encode() + b"\n" + entry)
    return module


@cache
def _parser_digest() -> str:
    """Return a hash of the parser: of its bytecode in this process, since the file may have changed, and of the version of Python."""
    digested = hashlib.sha256(sys.version.encode())
    codes: list[Any] = [parse_module.__code__, _without_wording.__code__, ParsedModule._fields]
    for code in codes:
        constants = getattr(code, "co_consts", ())
        codes += [constant for constant in constants if hasattr(constant, "co_code")]
        parts = [repr(constant) for constant in constants if not hasattr(constant, "co_code")]
        digested.update(repr((parts, getattr(code, "co_code", b""), getattr(code, "co_names", code))).encode())
    return digested.hexdigest()[:16]


def parse_module(content: bytes) -> ParsedModule:
    """Parse a Python module."""
    imports: list[list[str]] = []
    strings: list[str] = []
    docstrings: list[ast.Constant] = []
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.ImportFrom) and node.module:
            imports.extend([f"{node.module}.{alias.name}", node.module] for alias in node.names)
        elif isinstance(node, ast.Import):
            imports.extend([alias.name] for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.isidentifier() or re.fullmatch(r"[\w-]+\.\w+", node.value):
                strings.append(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.append(node.value)
    code = _without_wording(content, docstrings).decode("latin-1")
    return ParsedModule(code, imports, sorted(set(strings)))


def _without_wording(source: bytes, docstrings: Iterable[ast.Constant]) -> bytes:
    """Return the code of a module without comments, the given docstrings, empty lines and spaces at the ends of lines.

    Lines of strings that span several lines are kept as they are.
    """
    lines = source.splitlines()
    in_string = [False] * len(lines)  # True if a string continues on the next line
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1].decode()[:column].encode()
        for line in range(row, token.end[0]):
            in_string[line - 1] = True
    for docstring in sorted(docstrings, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
        lines[first] = lines[first][: docstring.col_offset] + lines[last][docstring.end_col_offset :]
        in_string[first] = in_string[last]
        del lines[first + 1 : last + 1], in_string[first + 1 : last + 1]
    code = ((line if continues else line.rstrip(), continues) for line, continues in zip(lines, in_string, strict=True))
    return b"\n".join(line for line, continues in code if line or continues)


def _module(name: str, package: Path) -> list[Path]:
    """Return the file of a module of the package, as a list; empty for other names."""
    top, *parts = name.split(".")
    if top != package.name:
        return []
    place = package.joinpath(*parts)
    return [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]


_version = cache(digest)


def generators() -> str:
    """Return the hashes of the generators of all databases. Different generators draw different worlds from the same seed."""
    return "-".join(_version(name) for name in DATABASES)


def _build_file(name: str, seed: int, scale: Scale) -> Path:
    """Return the file of a world's database in the cache, which is built if it is missing or damaged. Raises WorldError."""
    path = cache_folder() / _version(name) / f"{name}-{seed}{'-large' if scale == 'large' else ''}.sqlite"
    if not _is_whole(path):
        with _alone(path):
            if not _is_whole(path):  # another process may have built it in the meantime
                progress = Progress(len(DATABASES), f"building {'large ' if scale == 'large' else ''}world {seed}: {name}")
                progress.update(DATABASES.index(name))
                content = build(name, seed, scale)
                progress.clear()
                _store(path.with_suffix(".sha256"), hashlib.sha256(content).digest())
                _store(path, content)
    return path


def _is_whole(path: Path) -> bool:
    """Return True if a file of the cache exists and matches its digest."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest() == path.with_suffix(".sha256").read_bytes()
    except OSError:
        return False


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock of a file while it is built. On systems without locks several processes may build it, and the last one wins."""
    with ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl  # noqa: PLC0415 - missing on Windows

            with suppress(
                OSError
            ):  # some file systems have no locks; a folder that cannot be written is reported when the file is written
                path.parent.mkdir(parents=True, exist_ok=True)
                fcntl.flock(stack.enter_context(path.with_suffix(".lock").open("w")), fcntl.LOCK_EX)
        yield


def build(name: str, seed: int, scale: Scale = "standard") -> bytes:
    """Build a database of a world and return it as the bytes of a SQLite file."""
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    db.executescript(schema(name, scale))
    fill = import_module(f"webarena_gym.sites.{name}.world").seed
    fill(db, seed, **({"scale": scale} if "scale" in signature(fill).parameters else {}))  # the home page has one scale
    db.commit()
    db.execute("VACUUM")
    content = db.serialize()
    db.close()
    return content


def _store(path: Path, content: bytes) -> None:
    """Write a file atomically, even if several processes write it at once. Raises WorldError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WorldError(
            f"cannot write a world to {path.parent}: {error.strerror}; set WEBARENA_GYM_CACHE to a writable folder"
        ) from error
