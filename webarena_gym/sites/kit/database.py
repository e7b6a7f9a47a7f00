"""The database of a site in one episode, with fast resets to the content of its world.

In a standard world it is a copy in memory, in a large world an overlay: the world's file, and the pages that the episode has changed.
An episode writes in one transaction that is never committed. A reset rolls back only the changed pages, and SQLite keeps its cache and
its prepared statements.
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
    """An in-memory SQLite database that starts as a copy of `base`, and can be reset to it or restored from a snapshot.

    A snapshot contains the pages that differ from the base. It can be restored in any database with the same base. `reset` and
    `restore` may replace `connection`; reading from a cursor of the old one then raises an error of sqlite3.
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
        """A digest of the content: databases with the same base and equal digests have equal contents.

        None after writes without a call of `follows`, until the next `reset` or `restore`.
        """
        return self._state if self.connection.total_changes == self._changes else None

    def follows(self, before: bytes | None, cause: bytes) -> None:
        """Set the digest of a content that `cause`, such as a request, has produced from the content with the digest `before`."""
        self._state = None if before is None else hashlib.sha256(before + cause).digest()
        self._changes = self.connection.total_changes

    def plant(self, write: Callable[[sqlite3.Connection, str], None], cause: bytes) -> None:
        """Call `write`, which adds rows to a schema of a connection, and set the digest of the content."""
        write(self.connection, "main")
        self.follows(b"", cause)

    def reset(self) -> None:
        """Reset the content to the bytes of the base."""
        try:
            self.connection.execute("ROLLBACK TO episode")
        except sqlite3.Error:  # committed, or loaded from a snapshot: the transaction is gone
            self._load(self._base)
        else:
            self.connection.execute("ROLLBACK")
        self._begin_transaction()

    def _load(self, content: bytes) -> None:
        before, self.connection = self.connection, _copy(content)
        before.close()

    def snapshot(self) -> Snapshot:
        """Return the pages that differ from the base, by offset in bytes; -1 contains the size of the database in bytes."""
        now, base = self.connection.serialize(), self._base
        changed = {
            start: now[start : start + _PAGE]
            for start in range(0, len(now), _PAGE)
            if now[start : start + _PAGE] != base[start : start + _PAGE]
        }
        return changed | {-1: len(now).to_bytes(8, "big")}

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot. Raises SnapshotError if it does not contain a database."""
        size = int.from_bytes(snapshot.get(-1, b""), "big")
        if size > len(self._base) + _PAGE * len(snapshot):  # pages beyond the base are in the snapshot
            raise SnapshotError(f"a snapshot with {len(snapshot) - 1} pages cannot contain a database of {size} bytes")
        content = bytearray(self._base[:size].ljust(size, b"\0"))
        for start, page in snapshot.items():
            if start >= 0:
                content[start : start + len(page)] = page
        try:
            self._load(bytes(content))
        except sqlite3.Error as error:
            raise SnapshotError(f"the snapshot does not contain a valid database: {error}") from error
        digest = hashlib.sha256()
        for start in sorted(snapshot):
            digest.update(b"%d:" % start + snapshot[start])
        self._state, self._changes = digest.digest(), self.connection.total_changes

    def close(self) -> None:
        """Free the memory; the database cannot be used afterwards."""
        self.connection.close()


Parameters = Sequence[Any] | Mapping[str, Any]


def first(db: sqlite3.Connection, query: str, parameters: Parameters = ()) -> sqlite3.Row | None:
    """Return the first row of a query, or None if there is none."""
    row: sqlite3.Row | None = db.execute(query, parameters).fetchone()
    return row


def row_or_404(db: sqlite3.Connection, query: str, parameters: Parameters = (), *, missing: str | None = None) -> sqlite3.Row:
    """Return the first row of a query. Raises werkzeug's NotFound, with the description `missing`, if there is none."""
    row = first(db, query, parameters)
    if row is None:
        raise NotFound(missing)
    return row


def value(db: sqlite3.Connection, query: str, parameters: Parameters = ()) -> Any:
    """Return the first column of the first row of a query, which must have a row."""
    return db.execute(query, parameters).fetchone()[0]


def insert(db: sqlite3.Connection, table: str, **values: object) -> int:
    """Insert a row and return its id."""
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    row_id = db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())).lastrowid
    assert row_id is not None
    return row_id


def update(db: sqlite3.Connection, table: str, key: str, row_id: int | str, **values: object) -> None:
    """Set columns of the row whose column `key` is `row_id`."""
    changes = ", ".join(f"{name} = ?" for name in values)
    db.execute(f"UPDATE {table} SET {changes} WHERE {key} = ?", (*values.values(), row_id))


def _copy(content: bytes) -> sqlite3.Connection:
    """Return an in-memory database with the bytes of `content`.

    It is made by SQLite's backup, because a deserialized database stores its pages twice and serializes only committed changes.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    with closing(sqlite3.connect(":memory:")) as source:
        source.deserialize(content)
        (version,) = source.execute("PRAGMA schema_version").fetchone()
        source.backup(connection)
    connection.execute(f"PRAGMA schema_version = {version}")  # the backup has increased it
    return connection


def shows_aggregates(db: sqlite3.Connection) -> bool:
    """Return True if a site shows sums and counts, which large worlds do not."""
    return db.execute("SELECT 1 FROM world WHERE key = ? AND value = ?", NO_AGGREGATES).fetchone() is None


_ROWS = -2
"""Key of the rows, as JSON, in a snapshot of an overlay. The keys of other snapshots are -1 and offsets from 0."""
_OPTIONS = "mode=rw&nolock=1"
_SETTINGS = ("cache_spill = OFF", "temp_store = MEMORY", "recursive_triggers = ON")
_SETTINGS_OF_EACH = ("journal_mode = MEMORY", "cache_size = -1000")  # 1,000 KiB of pages; the system caches the file
_ROLLBACK = "ROLLBACK TRANSACTION -- to the file"  # the comment makes it a prepared statement of its own, which `_Guard` allows
_PLANTED = "planted"  # savepoint after the planted rows of an episode


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
"""SQLite's table of the last id of each table, which cannot have triggers."""


class Overlay(Database):
    """A database over the file `base`, which can be reset to it or restored from a snapshot. The file is never changed.

    All episodes share the file, on disk and in the system's cache. SQLite keeps the pages that a transaction has changed in memory
    until it is committed. Here it never is: the transaction is the overlay, a reset is a rollback, and statements that commit or roll
    back are rejected. Triggers record the keys of changed rows, so snapshots and comparisons read only these rows.

    The file is opened twice: the schema `main` is the current content, `base` the initial one. Planted rows of a task are written to
    both, in the same transaction, so queries can join the two.
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
        """Create triggers that record the key of every inserted, updated or deleted row in a table, which a rollback empties too."""
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
        self._planted: bytes | None = None  # digest of the initial content, if it has planted rows
        self._changes = self.connection.total_changes

    def touched_tables(self) -> dict[str, str]:
        """Return the changed tables, each with an SQL condition that is true for changed rows of the table or alias `{0}`."""
        names = [name for (name,) in self.connection.execute("SELECT DISTINCT name FROM temp.touched ORDER BY name")]
        return {name: self._tables[name].is_touched for name in names}

    def plant(self, write: Callable[[sqlite3.Connection, str], None], cause: bytes) -> None:
        """Call `write` for both schemas, so its rows belong to the initial content. The database must be unchanged."""
        for schema in ("main", "base"):
            write(self.connection, schema)
        self.connection.execute("DELETE FROM temp.touched")
        self.connection.execute(f"SAVEPOINT {_PLANTED}")
        self.follows(b"", cause)
        self._planted = self._state

    def reset(self) -> None:
        """Reset the content to that of the file, without planted rows."""
        self._guard.is_open = True
        try:
            if self.connection.in_transaction:  # SQLite itself may have rolled it back
                self.connection.execute(_ROLLBACK)
            self._begin_transaction()
        finally:
            self._guard.is_open = False

    def snapshot(self) -> Snapshot:
        """Return the rows that differ from the initial content, as JSON."""
        touched = ((name, key, self._row("main", name, key)) for name, key in self._keys())
        rows = [[name, key, row] for name, key, row in touched if row != self._row("base", name, key)]
        if _LAST_NUMBERS.name in self._tables:
            numbers = self.connection.execute("SELECT * FROM main.sqlite_sequence EXCEPT SELECT * FROM base.sqlite_sequence")
            rows += [[_LAST_NUMBERS.name, [name], [name, last]] for name, last in numbers]
        return {_ROWS: json.dumps(rows, separators=(",", ":")).encode()} if rows else {}

    def _keys(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the table and key of each row that the episode has changed, in order."""
        touched = self.connection.execute("SELECT DISTINCT name, key FROM temp.touched ORDER BY name, key").fetchall()
        return ((name, json.loads(key)) for name, key in touched)

    def _row(self, schema: str, name: str, key: list[Any]) -> list[Any] | None:
        """Return a row in the form of a snapshot, or None if there is none."""
        table = self._tables[name]
        query = f"SELECT {', '.join(table.columns)} FROM {schema}.{name} WHERE {table.condition}"
        row = self.connection.execute(query, key).fetchone()
        return None if row is None else [{"hex": value.hex()} if isinstance(value, bytes) else value for value in row]

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of an episode with the same planted rows. Raises SnapshotError if it does not fit the database."""
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
            raise SnapshotError(f"the snapshot does not contain rows of this database: {error!r}") from error
        self._state, self._changes = hashlib.sha256((self._planted or b"") + content).digest(), self.connection.total_changes

    def _return(self) -> None:
        """Reset to the initial content, with planted rows."""
        if self._planted is None:
            self.reset()
        else:
            self.connection.execute(f"ROLLBACK TO {_PLANTED}")
            self._state, self._changes = self._planted, self.connection.total_changes

    def _put(self, name: str, key: list[Any], row: list[Any] | None) -> None:
        """Replace the row with a key; None deletes it."""
        table = self._tables[name]
        self.connection.execute(f"DELETE FROM main.{name} WHERE {table.condition}", key)
        if row is not None:
            blanks, columns = ", ".join("?" * len(row)), ", ".join(table.columns)
            self.connection.execute(f"INSERT INTO main.{name} ({columns}) VALUES ({blanks})", [*map(_unpack, row)])

    def _settle(self, rows: Mapping[tuple[str, str], list[Any] | None]) -> None:
        """Undo changes by triggers of the site, such as counts of votes, during a restore."""
        for name, key in list(self._keys()):
            row = rows.get((name, json.dumps(key)), self._row("base", name, key))
            if row is not None and self._row("main", name, key) not in (None, row):
                table = self._tables[name]
                values = ", ".join(f"{column} = ?" for column in table.columns)
                self.connection.execute(f"UPDATE main.{name} SET {values} WHERE {table.condition}", [*map(_unpack, row), *key])


class _Guard:
    """An authorizer that rejects the end of the transaction, because later writes would change the file. A reset sets `is_open`."""

    is_open = False

    def __call__(self, action: int, what: str | None, *_: object) -> int:
        """Allow or deny an operation of a statement; SQLite calls this when it prepares the statement."""
        is_refused = action == sqlite3.SQLITE_TRANSACTION and (what == "COMMIT" or (what == "ROLLBACK" and not self.is_open))
        return sqlite3.SQLITE_DENY if is_refused else sqlite3.SQLITE_OK


def _tables(connection: sqlite3.Connection) -> Iterator[_Table]:
    """Yield the tables of the file, without the internal tables of search indices."""
    query = "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
    for name, has_no_rowid in connection.execute(query).fetchall():
        info = connection.execute("SELECT name, pk, type FROM pragma_table_info(?) ORDER BY cid", (name,)).fetchall()
        columns = [column for column, *_ in info]
        key: Sequence[str] = [column for _, column in sorted((place, column) for column, place, _ in info if place)]
        if not has_no_rowid:
            is_numbered = [kind.upper() for _, place, kind in info if place] == ["INTEGER"]
            columns, key = (columns, key) if is_numbered else (["rowid", *columns], ["rowid"])
        yield _Table(name, tuple(columns), tuple(key))


def _unpack(value: object) -> Any:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
