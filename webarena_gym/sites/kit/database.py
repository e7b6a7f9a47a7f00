"""The database of a site in one episode, which returns to its world's content in no time.

That of a standard world is a copy in memory. That of a large world is an overlay: the world's own file, and above it the pages
that the episode has written. All that an episode writes stays in one transaction that is never committed. So a reset takes back
those pages alone, and what SQLite has read and prepared stays good.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from werkzeug.exceptions import NotFound

from webarena_gym.errors import SnapshotError
from webarena_gym.sites.country.dice import NO_AGGREGATES

Snapshot = dict[int, bytes]
_PAGE = 4096  # bytes; SQLite's page size, fixed for every world


class Database:
    """An in-memory SQLite database that starts as a copy of `base` and can return to it, or to a snapshot.

    A snapshot is the pages that differ from the base, so that it stays small, and fits any database with the same base.
    `connection` may be a new one after `reset` and `restore`; a query of before that is still being read from then ends with
    an error of sqlite3's.
    """

    def __init__(self, base: bytes) -> None:
        self._base = base
        self.connection = _copy(base)
        self._state: bytes | None = b""
        self._changes = 0
        self._begin_transaction()

    def _begin_transaction(self) -> None:
        self.connection.execute("SAVEPOINT episode")
        self._state, self._changes = b"", self.connection.total_changes

    @property
    def state(self) -> bytes | None:
        """A name of the content: databases of one base with equal names have equal contents.

        None after writes without a call of `follows`, until the next `reset` or `restore`.
        """
        return self._state if self.connection.total_changes == self._changes else None

    def follows(self, before: bytes | None, cause: bytes) -> None:
        """Rename the content, which a `cause`, such as a request, has made from the state named `before`."""
        self._state = None if before is None else hashlib.sha256(before + cause).digest()
        self._changes = self.connection.total_changes

    def plant(self, write: Callable[[sqlite3.Connection, str], None], cause: bytes) -> None:
        """Call `write`, which adds rows, and rename the content."""
        write(self.connection, "main")
        self.follows(b"", cause)

    def reset(self) -> None:
        """Return to the base, byte for byte."""
        try:
            self.connection.execute("ROLLBACK TO episode")
        except sqlite3.Error:  # somebody has committed, or it came from a snapshot, perhaps a broken one: there is no way back
            self._load(self._base)
        else:
            self.connection.execute("ROLLBACK")
        self._begin_transaction()

    def _load(self, content: bytes) -> None:
        before, self.connection = self.connection, _copy(content)
        before.close()

    def snapshot(self) -> Snapshot:
        """Return the pages that differ from the base, by offset; offset -1 holds the length of the whole."""
        now, base = self.connection.serialize(), self._base
        changed = {
            start: now[start : start + _PAGE]
            for start in range(0, len(now), _PAGE)
            if now[start : start + _PAGE] != base[start : start + _PAGE]
        }
        return changed | {-1: len(now).to_bytes(8, "big")}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state in which `snapshot` was taken. Raises SnapshotError for one that is of no database."""
        size = int.from_bytes(snapshot.get(-1, b""), "big")
        if size > len(self._base) + _PAGE * len(snapshot):  # what is beyond the base differs from it, and is in the snapshot
            raise SnapshotError(f"a snapshot of {len(snapshot) - 1} pages cannot be of a database of {size} bytes")
        content = bytearray(self._base[:size].ljust(size, b"\0"))
        for start, page in snapshot.items():
            if start >= 0:
                content[start : start + len(page)] = page
        try:
            self._load(bytes(content))
        except sqlite3.Error as error:
            raise SnapshotError(f"the snapshot holds no database: {error}") from error
        digest = hashlib.sha256()
        for start in sorted(snapshot):
            digest.update(b"%d:" % start + snapshot[start])
        self._state, self._changes = digest.digest(), self.connection.total_changes

    def close(self) -> None:
        """Free the memory; the database cannot be used afterwards."""
        self.connection.close()


Parameters = Sequence[Any] | Mapping[str, Any]


def first(db: sqlite3.Connection, query: str, parameters: Parameters = ()) -> sqlite3.Row | None:
    """Return the first row of a query, None when there is none."""
    row: sqlite3.Row | None = db.execute(query, parameters).fetchone()
    return row


def one(db: sqlite3.Connection, query: str, parameters: Parameters = (), *, missing: str | None = None) -> sqlite3.Row:
    """Return the first row of a query. Raises werkzeug's NotFound with the text `missing` if there is none."""
    row = first(db, query, parameters)
    if row is None:
        raise NotFound(missing)
    return row


def value(db: sqlite3.Connection, query: str, parameters: Parameters = ()) -> Any:
    """Return the first column of the first row of a query, which has one."""
    return db.execute(query, parameters).fetchone()[0]


def insert(db: sqlite3.Connection, table: str, **values: Any) -> int:
    """Insert a row and return its id."""
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    row_id = db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())).lastrowid
    assert row_id is not None
    return row_id


def update(db: sqlite3.Connection, table: str, key: str, row_id: int | str, **values: Any) -> None:
    """Set columns of the row whose `key` is `row_id`."""
    changes = ", ".join(f"{name} = ?" for name in values)
    db.execute(f"UPDATE {table} SET {changes} WHERE {key} = ?", (*values.values(), row_id))


def _copy(content: bytes) -> sqlite3.Connection:
    """Return a database in memory with that content, byte for byte.

    SQLite's own copy is taken, since a database that is deserialized keeps its pages twice, and serializes only what is committed.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    with closing(sqlite3.connect(":memory:")) as source:
        source.deserialize(content)
        (version,) = source.execute("PRAGMA schema_version").fetchone()
        source.backup(connection)
    connection.execute(f"PRAGMA schema_version = {version}")  # the copy has counted it on
    return connection


def shows_aggregates(db: sqlite3.Connection) -> bool:
    """Return True if a site shows them."""
    return db.execute("SELECT 1 FROM world WHERE key = ? AND value = ?", NO_AGGREGATES).fetchone() is None


_ROWS = -2
"""The key of a snapshot for its rows, as JSON; the offsets of a snapshot of pages are 0 and more, or -1."""
_OPTIONS = "mode=rw&nolock=1"
_SETTINGS = ("cache_spill = OFF", "temp_store = MEMORY", "recursive_triggers = ON")
_SETTINGS_OF_EACH = ("journal_mode = MEMORY", "cache_size = -1000")  # KiB of pages that were read; the system has them all
_ROLLBACK = "ROLLBACK TRANSACTION -- to the file"  # nobody else writes it so, and finds it prepared
_PLANTED = "planted"  # the savepoint at which an episode with planted rows begins


class _Table(NamedTuple):
    """A table that an episode may write to."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def condition(self) -> str:
        """SQL condition on the row with a key."""
        return " AND ".join(f"{column} = ?" for column in self.key)

    @property
    def is_touched(self) -> str:
        """SQL condition on the rows of the table `{0}` that the episode has changed."""
        columns = ", ".join(f"{{0}}.{column}" for column in self.key)
        values = ", ".join(f"key ->> {place}" for place in range(len(self.key)))
        return f"({columns}) IN (SELECT {values} FROM temp.touched WHERE name = '{self.name}')"


_LAST_NUMBERS = _Table("sqlite_sequence", ("name", "seq"), ("name",))
"""SQLite's own table of the last number that each table has given, on which nobody may have triggers."""


class Overlay(Database):
    """A database that begins as the file `base` holds it, and can return to it or to a snapshot; the file is never written to.

    The file is shared by all episodes, on disk and in the system's cache. SQLite keeps the pages that a transaction has written
    in memory until it is committed, and here none ever is: the transaction is the overlay, and a reset is a rollback, so to
    commit or roll back is refused. Triggers note the keys of the rows that an episode touches, so a snapshot holds these rows,
    and to compare with the beginning means to compare them.

    The file is opened twice: the schema `main` is the episode's, the schema `base` is its beginning. What a task plants is
    written to both, in the same transaction, so that the beginning can be read and joined like the file itself.
    """

    def __init__(self, base: Path) -> None:
        address = f"{base.absolute().as_uri()}?{_OPTIONS}"
        self.connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("ATTACH ? AS base", (address,))
        pragmas = (f"{schema}.{setting}" for schema in ("main", "base") for setting in _SETTINGS_OF_EACH)
        for setting in (*_SETTINGS, *pragmas):
            self.connection.execute(f"PRAGMA {setting}")
        self._tables = {table.name: table for table in _tables(self.connection)}
        self._watch()
        if self.connection.execute("SELECT 1 FROM main.sqlite_schema WHERE name = ?", (_LAST_NUMBERS.name,)).fetchone():
            self._tables[_LAST_NUMBERS.name] = _LAST_NUMBERS
        self._guard = _Guard()
        self.connection.set_authorizer(self._guard)
        self._begin_transaction()

    def _watch(self) -> None:
        """Have the key of every row noted that is added, changed or removed, in a table that a rollback empties as well."""
        self.connection.execute("CREATE TEMP TABLE touched (name TEXT NOT NULL, key TEXT NOT NULL)")
        for table in self._tables.values():
            for event, sides in (("INSERT", ("new",)), ("UPDATE", ("old", "new")), ("DELETE", ("old",))):
                keys = (", ".join(f"{side}.{column}" for column in table.key) for side in sides)
                rows = ", ".join(f"('{table.name}', json_array({key}))" for key in keys)
                self.connection.execute(
                    f"CREATE TEMP TRIGGER {table.name}_{event} AFTER {event} ON main.{table.name}"
                    f" BEGIN INSERT INTO touched VALUES {rows}; END"
                )

    def _begin_transaction(self) -> None:
        self.connection.execute("BEGIN")
        self._state = b""
        self._planted: bytes | None = None  # the name of the beginning, where it has planted rows
        self._changes = self.connection.total_changes

    def touched(self) -> dict[str, str]:
        """Return the tables that the episode has written to, each with the SQL condition under which it has touched a row `{0}`."""
        names = [name for (name,) in self.connection.execute("SELECT DISTINCT name FROM temp.touched ORDER BY name")]
        return {name: self._tables[name].is_touched for name in names}

    def plant(self, write: Callable[[sqlite3.Connection, str], None], cause: bytes) -> None:
        """Have what `write` writes into a schema belong to the beginning; the database must be as good as new."""
        for schema in ("main", "base"):
            write(self.connection, schema)
        self.connection.execute("DELETE FROM temp.touched")
        self.connection.execute(f"SAVEPOINT {_PLANTED}")
        self.follows(b"", cause)
        self._planted = self._state

    def reset(self) -> None:
        """Return to the file's content, without planted rows."""
        self._guard.is_open = True
        try:
            if self.connection.in_transaction:  # SQLite itself may have rolled it back
                self.connection.execute(_ROLLBACK)
            self._begin_transaction()
        finally:
            self._guard.is_open = False

    def snapshot(self) -> Snapshot:
        """Return the rows that differ from those of the beginning, as they are now."""
        touched = ((name, key, self._row("main", name, key)) for name, key in self._keys())
        rows = [[name, key, row] for name, key, row in touched if row != self._row("base", name, key)]
        if _LAST_NUMBERS.name in self._tables:
            numbers = self.connection.execute("SELECT * FROM main.sqlite_sequence EXCEPT SELECT * FROM base.sqlite_sequence")
            rows += [[_LAST_NUMBERS.name, [name], [name, last]] for name, last in numbers]
        return {_ROWS: json.dumps(rows, separators=(",", ":")).encode()} if rows else {}

    def _keys(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the tables and the keys of the rows that the episode has touched, in order."""
        touched = self.connection.execute("SELECT DISTINCT name, key FROM temp.touched ORDER BY name, key").fetchall()
        return ((name, json.loads(key)) for name, key in touched)

    def _row(self, schema: str, name: str, key: list[Any]) -> list[Any] | None:
        """Return a row as JSON has it, None where there is none."""
        table = self._tables[name]
        query = f"SELECT {', '.join(table.columns)} FROM {schema}.{name} WHERE {table.condition}"
        row = self.connection.execute(query, key).fetchone()
        return None if row is None else [{"hex": value.hex()} if isinstance(value, bytes) else value for value in row]

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state in which `snapshot` was taken, of an episode with the same planted rows. Raises SnapshotError."""
        self._return()
        if not snapshot:
            return
        content = snapshot.get(_ROWS, b"")
        try:
            rows = [(name, key, row) for name, key, row in json.loads(content)]
            for name, key, _ in rows:
                self._put(name, key, None)
            for name, key, row in rows:
                self._put(name, key, row)
            self._settle({(name, json.dumps(key)): row for name, key, row in rows})
        except (sqlite3.Error, ValueError, TypeError, KeyError, RecursionError) as error:
            self._return()
            raise SnapshotError(f"the snapshot holds no rows of this database: {error!r}") from error
        self._state, self._changes = hashlib.sha256((self._planted or b"") + content).digest(), self.connection.total_changes

    def _return(self) -> None:
        """Return to the beginning, with what is planted there."""
        if self._planted is None:
            self.reset()
        else:
            self.connection.execute(f"ROLLBACK TO {_PLANTED}")
            self._state, self._changes = self._planted, self.connection.total_changes

    def _put(self, name: str, key: list[Any], row: list[Any] | None) -> None:
        """Write a row under a key in place of what is there; None removes it."""
        table = self._tables[name]
        self.connection.execute(f"DELETE FROM main.{name} WHERE {table.condition}", key)
        if row is not None:
            blanks, columns = ", ".join("?" * len(row)), ", ".join(table.columns)
            self.connection.execute(f"INSERT INTO main.{name} ({columns}) VALUES ({blanks})", [*map(_unpack, row)])

    def _settle(self, rows: Mapping[tuple[str, str], list[Any] | None]) -> None:
        """Undo what the site's own triggers have done to rows meanwhile, such as counting votes."""
        for name, key in list(self._keys()):
            row = rows.get((name, json.dumps(key)), self._row("base", name, key))
            if row is not None and self._row("main", name, key) not in (None, row):
                table = self._tables[name]
                values = ", ".join(f"{column} = ?" for column in table.columns)
                self.connection.execute(f"UPDATE main.{name} SET {values} WHERE {table.condition}", [*map(_unpack, row), *key])


class _Guard:
    """Refuses to end the transaction, since what is written outside of one goes to the file; a reset opens it for a moment."""

    is_open = False

    def __call__(self, action: int, what: str | None, *_: object) -> int:
        """Authorise or deny an operation of a statement, when SQLite prepares it."""
        is_refused = action == sqlite3.SQLITE_TRANSACTION and (what == "COMMIT" or (what == "ROLLBACK" and not self.is_open))
        return sqlite3.SQLITE_DENY if is_refused else sqlite3.SQLITE_OK


def _tables(connection: sqlite3.Connection) -> Iterator[_Table]:
    """Yield the tables of the file; those that only serve a search index follow from the others."""
    query = "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
    for name, has_no_rowid in connection.execute(query).fetchall():
        info = connection.execute("SELECT name, pk, type FROM pragma_table_info(?) ORDER BY cid", (name,)).fetchall()
        columns = [column for column, *_ in info]
        key: Sequence[str] = [column for _, column in sorted((place, column) for column, place, _ in info if place)]
        if not has_no_rowid:
            is_numbered = [kind.upper() for _, place, kind in info if place] == ["INTEGER"]
            columns, key = (columns, key) if is_numbered else (["rowid", *columns], ["rowid"])
        yield _Table(name, tuple(columns), tuple(key))


def _unpack(value: Any) -> Any:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
