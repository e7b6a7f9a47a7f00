"""The net changes of a database: the rows of an episode's copy that differ from those of its world.

Changes that page visits cause, and consequences of other changes, are declared as incidental in the `schema.sql` of each site, by lines
such as

    -- incidental: session
    -- incidental: product.views
    -- incidental: *.*_at
    -- incidental: +cart WHERE coupon_code IS NULL

which match a table, columns (* matches any name), and added rows of a table, all or those that meet a condition. A condition may call
`is_replaced(before, after, next)` with three versions of a text.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, NamedTuple

from webarena_gym.changes import LABELS, Change
from webarena_gym.sites.catalogue import schema
from webarena_gym.sites.sqlite_pages import ChangedPages, changed_pages

_LINE = re.compile(r"^-- incidental: (.+?)(?:  -- .*)?$", re.MULTILINE)
_DECLARED = re.compile(r"(\+?)([\w*]+)(?:\.([\w*]+))?(?: WHERE (.+))?")
_ROWID = ("_rowid_",)

Row = tuple[Any, ...]


class Incidental(NamedTuple):
    """Changes of a site's databases that are not reported."""

    tables: frozenset[str]
    columns: tuple[str, ...]  # patterns such as *.*_at
    added: Mapping[str, str]  # SQL condition of added rows that are not reported, by table

    def covers(self, table: str, column: str) -> bool:
        """Return True if changes of a column are not reported."""
        return any(fnmatchcase(f"{table}.{column}", pattern) for pattern in self.columns)


@lru_cache(maxsize=64)
def incidental(declared: tuple[str, ...]) -> Incidental:
    """Return the incidental changes that lines declare. Raises ValueError for a malformed line."""
    tables: set[str] = set()
    columns: list[str] = []
    added: dict[str, str] = {}
    for line in declared:
        match = _DECLARED.fullmatch(line)
        if match is None:
            raise ValueError(f"{line!r} is not a declaration; expected a table, table.column, +table or +table WHERE condition")
        plus, table, column, condition = match.groups()
        if plus:
            added[table] = " OR ".join(filter(None, (added.get(table), f"({condition or 'TRUE'})")))
        elif column:
            columns.append(f"{table}.{column}")
        else:
            tables.add(table)
    return Incidental(frozenset(tables), tuple(columns), added)


@cache
def declared_by(site: str) -> tuple[str, ...]:
    """Return the declarations of incidental changes in the schema of a site."""
    return tuple(_LINE.findall(schema(site)))


class _Table(NamedTuple):
    """The properties of a table that a comparison needs."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]  # the columns that identify a row
    is_numbered: bool  # the key is a number assigned by the database
    stored_key: tuple[str, ...]  # the columns by which its pages are ordered; () if a column hides the rowid
    compared: tuple[int, ...]  # indices of the compared columns
    parents: Mapping[str, str]  # the tables that columns point to
    uncounted: str  # SQL condition of added rows that are not reported


def net_changes(name: str, base: bytes, now: bytes, declared: tuple[str, ...], without: Collection[str] = ()) -> list[Change]:
    """Return the differences between two states of a site's database, both as the bytes of a SQLite file.

    The lines `declared` list incidental changes. Tables `without` are not compared.
    """
    touched = changed_pages(base, now)
    known = (table for table in _tables(declared, base) if table.name not in without)
    tables = [table for table in known if touched is None or table.name in touched.tables]
    if not tables:
        return []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("ATTACH ':memory:' AS base")
        connection.deserialize(now)
        connection.deserialize(base, name="base")
        return [change for table in tables for change in _compare(name, connection, table, _among(table, touched))]


def _among(table: _Table, touched: ChangedPages | None) -> str:
    """Return the SQL condition on the rows of a table or alias `{0}` that may have changed."""
    if touched is None or not table.stored_key:
        return "TRUE"
    keys = touched.rows(table.name, 0 if table.stored_key == _ROWID else len(table.stored_key))
    if keys is None:
        return "TRUE"
    columns = ", ".join(f"{{0}}.{_quote(column)}" for column in table.stored_key)
    values = ", ".join(f"value ->> {place}" for place in range(len(table.stored_key)))
    rows = json.dumps(sorted(keys, key=repr), separators=(",", ":")).replace("'", "''").replace("{", "{{").replace("}", "}}")
    return f"({columns}) IN (SELECT {values} FROM json_each('{rows}'))"


def overlay_changes(name: str, connection: sqlite3.Connection, touched: Mapping[str, str]) -> list[Change]:
    """Return the differences between the schemas `base` and `main` of a connection to a site's database.

    `touched` are the changed tables, each with an SQL condition for its changed rows (`Overlay.touched_tables`).
    """
    declared = incidental(declared_by(name))
    return [
        change
        for table in sorted(set(touched) - declared.tables)
        for change in _compare(name, connection, _table(declared, connection, table), touched[table])
    ]


@lru_cache(maxsize=64)
def _tables(lines: tuple[str, ...], base: bytes) -> tuple[_Table, ...]:
    """Return the tables of a database, except those declared as incidental."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(base)
        query = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        declared = incidental(lines)
        names = [table for (table,) in connection.execute(query) if table not in declared.tables]
        return tuple(_table(declared, connection, table) for table in names)


def _table(declared: Incidental, connection: sqlite3.Connection, name: str) -> _Table:
    info = connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid', (name,)).fetchall()
    parents = dict(connection.execute('SELECT "from", "table" FROM pragma_foreign_key_list(?)', (name,)).fetchall())
    columns = [column for column, *_ in info]
    key = [column for _, column in sorted((place, column) for column, _, _, place in info if place)]
    (has_rowid,) = connection.execute(
        "SELECT NOT wr FROM pragma_table_list WHERE name = ? AND schema = 'main'", (name,)
    ).fetchone()
    stored_key = tuple(key) if not has_rowid else () if _ROWID[0] in columns else _ROWID
    is_numbered = not key or (len(key) == 1 and {row[0]: row[1] for row in info}[key[0]] == "INTEGER" and key[0] not in parents)
    if not key:
        columns, key = ["rowid", *columns], ["rowid"]
    numbered_key = key if is_numbered else []
    compared = [
        place for place, column in enumerate(columns) if column not in numbered_key and not declared.covers(name, column)
    ]
    return _Table(
        name, tuple(columns), tuple(key), is_numbered, stored_key, tuple(compared), parents, declared.added.get(name, "FALSE")
    )


def is_replaced(before: str | None, after: str, following: str) -> bool:
    r"""Return True if the next version of a text lacks a line that this version added, and does not restore the version before it.

    >>> is_replaced("a", "a\nwrong", "a\nright"), is_replaced("a", "a\nb", "a\nb\nc"), is_replaced("a", "wrong", "a")
    (True, False, False)
    """
    old, inserted, new = ({line.strip() for line in (text or "").splitlines()} for text in (before, after, following))
    return following != before and not inserted <= old | new


def _compare(site: str, connection: sqlite3.Connection, table: _Table, among: str = "TRUE") -> Iterator[Change]:
    """Yield the changes of a table. `among` is an SQL condition on the rows of the table or alias `{0}` to compare."""
    added, removed, changed = _differences(connection, table, among)
    connection.create_function("is_replaced", 3, is_replaced, deterministic=True)
    uncounted = (
        f"SELECT 1 FROM main.{_quote(table.name)} WHERE {_join_columns(' AND ', '{0} = ?', table.key)} AND ({table.uncounted})"
    )
    added = [row for row in added if connection.execute(uncounted, _key(table, row)).fetchone() is None]
    if table.is_numbered:  # a removed row that was added again with another number is unchanged
        for row in list(added):
            twin = next((gone for gone in removed if all(gone[place] == row[place] for place in table.compared)), None)
            if twin is not None:
                added.remove(row)
                removed.remove(twin)
    pairs: list[tuple[Row | None, Row | None]] = [*((row, None) for row in removed), *((None, row) for row in added), *changed]
    for before, after in pairs:
        shown = after if before is None else before
        assert shown is not None
        contents = [
            None if row is None else {table.columns[place]: row[place] for place in table.compared} for row in (before, after)
        ]
        if contents[0] != contents[1]:
            places = {column: shown[table.columns.index(column)] for column in table.parents}
            names = {column: _row_label(connection, table.parents[column], key) for column, key in places.items()}
            labels = {column: name for column, name in names.items() if name}
            yield Change(site, table.name, _key(table, shown), contents[0], contents[1], labels)


def _differences(
    connection: sqlite3.Connection, table: _Table, among: str
) -> tuple[list[Row], list[Row], list[tuple[Row, Row]]]:
    """Return the added rows, the removed rows, and the changed rows before and after the change."""
    columns, same = len(table.columns), _join_columns(" AND ", "now.{0} = was.{0}", table.key)
    column_list = ", ".join(_join_columns(", ", f"{schema}.{{0}}", table.columns) for schema in ("now", "was"))
    unlike = _join_columns(" OR ", "now.{0} IS NOT was.{0} COLLATE BINARY", table.columns)
    rows: list[Row] = connection.execute(
        f"SELECT {column_list} FROM main.{_quote(table.name)} now LEFT JOIN base.{_quote(table.name)} was ON {same}"
        f" WHERE {among.format('now')} AND ({unlike})"
    ).fetchall()
    place = table.columns.index(table.key[0])
    added = [row[:columns] for row in rows if row[columns + place] is None]
    changed = [(row[columns:], row[:columns]) for row in rows if row[columns + place] is not None]
    removed: list[Row] = []
    counts = (f"SELECT count(*) FROM {schema}.{_quote(table.name)}" for schema in ("main", "base"))
    now, before = (connection.execute(query).fetchone()[0] for query in counts)
    if among != "TRUE" or now - len(added) != before:
        removed = connection.execute(
            f"SELECT {_join_columns(', ', 'was.{0}', table.columns)} FROM base.{_quote(table.name)} was WHERE {among.format('was')}"
            f" AND NOT EXISTS (SELECT 1 FROM main.{_quote(table.name)} now WHERE {same})"
        ).fetchall()
        removed = [tuple(row) for row in removed]
    if now - len(added) != before - len(removed) and among != "TRUE":  # rows were removed with their pages
        return _differences(connection, table, "TRUE")
    return added, removed, changed


def _join_columns(by: str, form: str, columns: Iterable[str]) -> str:
    return by.join(form.format(_quote(column)) for column in columns)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _key(table: _Table, row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(row[table.columns.index(column)] for column in table.key)


def _row_label(connection: sqlite3.Connection, table: str, key: object) -> str:
    """Return the name of a row that other rows refer to, "" if its table has no column of `LABELS`."""
    info = connection.execute("SELECT name, pk FROM pragma_table_info(?)", (table,)).fetchall()
    label = next((column for column in LABELS if column in (name for name, _ in info)), None)
    key_column = next((name for name, place in info if place), None)
    if label is None or key_column is None or key is None:
        return ""
    for side in ("main", "base"):
        if not connection.execute("SELECT 1 FROM pragma_table_info(?, ?) WHERE name = ?", (table, side, label)).fetchone():
            continue
        row = connection.execute(
            f"SELECT {label} FROM {side}.{_quote(table)} WHERE {_quote(key_column)} = ?", (key,)
        ).fetchone()
        if row:
            return str(row[0])
    return ""
