"""Dumps of PostgreSQL and MySQL or MariaDB as SQLite databases, so that their rows are compared and queried as SQLite's are.

The dump is read as data: no statement of it is executed. It must be plain SQL by `pg_dump` with COPY, its default, or by `mysqldump` or
`mariadb-dump`. Tables, columns, primary keys and rows are read. Names of schemas other than `public` are prefixes: app_note.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from webarena_gym.errors import ApplicationError

SUFFIX = ".sql"
"""End of the name of a dump, among the databases of an application."""

_NAME = r'(?:"[^"\n]++"|`[^`\n]++`|[\w$]++)'
_CREATE = re.compile(rf"CREATE (?:UNLOGGED )?TABLE ({_NAME}(?:\.{_NAME})?) \(")
_COLUMN = re.compile(r"""("[^"\n]++"|`[^`\n]++`|[a-z_][a-z0-9_$]*+) (\w*+)""")  # constraints begin with a word in capitals
_KEY = re.compile(r"PRIMARY KEY \(([^()\n]++)\)")
_ALTER = re.compile(rf"ALTER TABLE ONLY ({_NAME}\.{_NAME})")
_COPY = re.compile(rf"COPY ({_NAME}\.{_NAME}) \(([^\n()]++)\) FROM stdin;")
_INSERT = re.compile(rf"INSERT INTO ({_NAME})(?: \(([^\n()]++)\))? VALUES")
_NAMES = re.compile(_NAME)
_VALUE = re.compile(r"(?:_binary )?'((?:[^'\\]++|\\.|'')*+)'?|([^\s,()';]++)|(\()")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "Z": "\x1a"}
_ESCAPE, _QUOTED_ESCAPE = re.compile(r"\\(.)"), re.compile(r"\\(.)|''")
_AFFINITY = {
    **dict.fromkeys(("int", "integer", "bigint", "smallint", "tinyint", "mediumint", "boolean"), "INTEGER"),
    **dict.fromkeys(("real", "double", "float"), "REAL"), **dict.fromkeys(("numeric", "decimal"), "NUMERIC"),
}  # fmt: skip
_BOOLEANS = {"t": 1, "f": 0}


_Table = tuple[dict[str, str], list[str], list[tuple[Sequence[str], list[Any]]]]
"""A table of a dump: the type of each column, the columns of its primary key, and its rows as columns with values."""


@lru_cache(maxsize=8)
def read_dump(content: bytes) -> bytes:
    """Return a dump as the bytes of a SQLite file. Raises ApplicationError for a dump that cannot be read."""
    tables: dict[str, _Table] = {}
    lines = iter(content.decode("utf-8", "backslashreplace").split("\n"))
    try:
        for line in lines:
            _read_statement(line, lines, tables)
        with closing(sqlite3.connect(":memory:")) as connection:
            for name, table in sorted(tables.items()):
                _write_table(connection, name, table)
            connection.commit()
            return connection.serialize()
    except (KeyError, ValueError, sqlite3.Error) as error:
        raise ApplicationError(
            f"the dump cannot be read ({error}); expected one of pg_dump, mysqldump or mariadb-dump"
        ) from error


def _read_statement(line: str, lines: Iterator[str], tables: dict[str, _Table]) -> None:
    """Read the statement that begins with a line, and the following lines of it."""
    if match := _CREATE.match(line):
        types, key_columns, _ = tables[_plain(match[1])] = {}, [], []
        for part in lines:
            if part.startswith(")"):
                break
            if key := _KEY.search(part):
                key_columns[:] = _columns(key[1])
            elif column := _COLUMN.match(part.strip()):
                types[_plain(column[1])] = column[2]
        else:
            raise ValueError(f"it ends within the table {match[1]}")
    elif match := _ALTER.match(line):
        if not line.endswith(";") and (key := _KEY.search(next(lines, ""))):
            tables[_plain(match[1])][1][:] = _columns(key[1])
    elif match := _COPY.match(line):
        (types, _, rows), columns = tables[_plain(match[1])], _columns(match[2])
        flags = [types[column] == "boolean" for column in columns]
        for row in lines:
            if row == "\\.":
                break
            values: list[Any] = [None if value == "\\N" else _unescape(value, _ESCAPE) for value in row.split("\t")]
            values = [_BOOLEANS.get(value, value) if flag else value for flag, value in zip(flags, values, strict=True)]
            rows.append((columns, values))
        else:
            raise ValueError(f"it ends within the rows of {match[1]}")
    elif match := _INSERT.match(line):
        _read_insert(tables[_plain(match[1])], match[2], line[match.end() :], lines)
    elif line.startswith("INSERT INTO"):
        raise ValueError(f"{line[:60]!r} is not a statement of mysqldump; with pg_dump, omit --inserts")


def _read_insert(table: _Table, names: str | None, part: str, lines: Iterator[str]) -> None:
    """Read the tuples of an INSERT statement of mysqldump, which ends with the line that ends with a semicolon."""
    types, _, rows = table
    columns = _columns(names) if names else list(types)
    while True:
        rows += [(columns, values) for values in _tuples(part)]
        if part.endswith(";"):
            return
        if (following := next(lines, None)) is None:
            raise ValueError(f"it ends within the rows of a table with the columns {', '.join(columns)}")
        part = following


def _tuples(text: str) -> Iterator[list[Any]]:
    """Yield the tuples of values of an INSERT statement of mysqldump."""
    values: list[Any] | None = None
    for match in _VALUE.finditer(text):
        if match[3]:
            if values is not None:
                yield values
            values = []
        elif values is not None:
            values.append(
                _unescape(match[1], _QUOTED_ESCAPE) if match[1] is not None else None if match[2] == "NULL" else match[2]
            )
    if values is not None:
        yield values


def _write_table(connection: sqlite3.Connection, name: str, table: _Table) -> None:
    types, key, rows = table
    parts = [f"{_quote(column)} {_AFFINITY.get(kind, 'TEXT')}" for column, kind in types.items()]
    if key:
        parts.append(f"PRIMARY KEY ({', '.join(map(_quote, key))})")
    connection.execute(f"CREATE TABLE {_quote(name)} ({', '.join(parts)})")
    exact = {column for column, kind in types.items() if _AFFINITY.get(kind) == "NUMERIC"}
    for columns, texts in rows:
        values = [_exact(text) if column in exact else text for column, text in zip(columns, texts, strict=True)]
        marks = ", ".join("?" * len(columns))
        connection.execute(f"INSERT INTO {_quote(name)} ({', '.join(map(_quote, columns))}) VALUES ({marks})", values)


def _exact(number: str | None) -> str | bytes | None:
    """Return a decimal number, as bytes if it has more digits than SQLite's numbers, which would round it.

    >>> _exact("12.50"), _exact("1234567890123456.78")
    ('12.50', b'1234567890123456.78')
    """
    try:
        decimal = Decimal(number or "0")
    except InvalidOperation:
        return number
    is_exact = (
        not decimal.is_finite()
        or (decimal == int(decimal) and abs(decimal) < 2**63)
        or Decimal(repr(float(decimal))) == decimal
    )
    return number if number is None or is_exact else number.encode()


def _unescape(text: str, escape: re.Pattern[str]) -> str:
    return escape.sub(lambda match: "'" if match[1] is None else _ESCAPES.get(match[1], match[1]), text)


def _columns(text: str) -> list[str]:
    return [_plain(name) for name in _NAMES.findall(text)]


def _plain(name: str) -> str:
    """Return a name without quotes, and without the schema `public`."""
    return "_".join(part.strip('"`') for part in _NAMES.findall(name.removeprefix("public.")))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
