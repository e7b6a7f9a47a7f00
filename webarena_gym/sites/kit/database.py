"""The database of a site in one episode: a copy of its world's, in memory, that returns to it in no time.

All that an episode writes stays in one transaction that is never committed. So a reset takes back those pages alone, and what
SQLite has read and prepared stays good.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol

from werkzeug.exceptions import NotFound

from webarena_gym.errors import SnapshotError

Snapshot = dict[int, bytes]
_PAGE = 4096  # bytes; SQLite's page size, fixed for every world


class EpisodeDatabase(Protocol):
    """The database of a site in one episode, which can return to its beginning: a `Database`, or an `Overlay` of a large world."""

    @property
    def connection(self) -> sqlite3.Connection:
        """What reads and writes the database."""

    @property
    def state(self) -> bytes | None:
        """A name of the content; see `Database.state`."""

    def follows(self, before: bytes | None, cause: bytes) -> None:
        """Name the content anew; see `Database.follows`."""

    def plant(self, write: Callable[[sqlite3.Connection, str], None], cause: bytes) -> None:
        """Have what `write` writes into a schema of a connection belong to the beginning, which `cause` names."""

    def reset(self) -> None:
        """Return to the world's content, without planted rows."""

    def snapshot(self) -> Snapshot:
        """Return what differs from the world, or from the beginning."""

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state in which `snapshot` was taken, of an episode with the same planted rows. Raises SnapshotError."""

    def close(self) -> None:
        """Free the memory."""


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
        self._begin()

    def _begin(self) -> None:
        self.connection.execute("SAVEPOINT episode")
        self._state, self._changes = b"", self.connection.total_changes

    @property
    def state(self) -> bytes | None:
        """A name of the content: two databases of one base with one name hold the same.

        None when rows were written that `follows` was not told of, until the next `reset` or `restore`.
        """
        return self._state if self.connection.total_changes == self._changes else None

    def follows(self, before: bytes | None, cause: bytes) -> None:
        """Name the content anew: what a `cause`, such as a request, has made of the state named `before`."""
        self._state = None if before is None else hashlib.sha256(before + cause).digest()
        self._changes = self.connection.total_changes

    def plant(self, write: Callable[[sqlite3.Connection, str], None], cause: bytes) -> None:
        """Let `write` add to the content, and name it anew."""
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
        self._begin()

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


def one(
    db: sqlite3.Connection, query: str, parameters: Sequence[Any] | Mapping[str, Any] = (), *, missing: str | None = None
) -> sqlite3.Row:
    """Return the first row of a query. Raises werkzeug's NotFound when there is none, which says what is `missing`."""
    row: sqlite3.Row | None = db.execute(query, parameters).fetchone()
    if row is None:
        raise NotFound(missing)
    return row


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
