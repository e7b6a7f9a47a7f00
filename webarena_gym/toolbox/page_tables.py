"""The bundled tool `table_sql`: SQL over the tables of the pages that the episode has visited.

Queries run in an in-memory SQLite database that contains only these tables. An authorizer admits nothing but SELECT on them and a list of
deterministic functions without side effects, and the number of instructions and the length of values are limited.
"""

import re
import sqlite3
import weakref
from collections.abc import Sequence
from typing import NamedTuple

from lxml.html import HtmlElement

from webarena_gym.pages.dom import is_excluded
from webarena_gym.pages.page import Page
from webarena_gym.pages.reading import visible_text
from webarena_gym.pages.tables import span_of
from webarena_gym.texts import cut

Value = str | int | float | None
Content = tuple[tuple[str, ...], tuple[tuple[Value, ...], ...]]
"""The names of the columns of a table, and its rows."""

_MAX_TABLES, _MAX_ROWS, _MAX_COLUMNS, _MAX_CELL = 64, 2_000, 40, 300
_MAX_QUERY = 2_000  # characters
_MAX_SELECTS = 8  # each reference to a common table expression copies it, so that n of them could become 2 to the power of n
_MAX_RESULT_ROWS = 100
_MAX_CALLBACKS = 200  # of the progress handler, which SQLite calls after _INSTRUCTIONS instructions of its virtual machine
_INSTRUCTIONS = 1_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 20_000, sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000, sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 60,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 8, sqlite3.SQLITE_LIMIT_VDBE_OP: 20_000, sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 60, sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}  # fmt: skip
_FUNCTIONS = frozenset((
    "abs", "avg", "ceil", "ceiling", "coalesce", "count", "dense_rank", "exp", "first_value", "floor", "glob", "group_concat",
    "ifnull", "iif", "instr", "lag", "last_value", "lead", "length", "like", "ln", "log", "lower", "ltrim", "max", "min", "mod",
    "nth_value", "ntile", "nullif", "pow", "power", "rank", "replace", "round", "row_number", "rtrim", "sign", "sqrt", "substr",
    "substring", "sum", "total", "trim", "trunc", "typeof", "unicode", "upper",
))  # fmt: skip  # no random numbers, and no dates, which could read the clock
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
_SELECT = re.compile(r"\b(?:select|values)\b", re.IGNORECASE)
_NAME = re.compile(r"[^a-z0-9]+")
_NUMBER = re.compile(r"([^\s\w.-]?)([+-]?)\s?([^\s\w.-]?)(\d{1,3}(?:,\d{3})+|0|[1-9]\d*|(?=\.\d))(\.\d+)?(\s?%|\s[a-z]{1,10})?")
"""A number with an optional currency sign and an optional unit. A number with leading zeros, such as that of an order, is a text."""


class Table(NamedTuple):
    """A table of a visited page: the page's URL and title, the names of the columns, and the rows."""

    url: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


class PageTables:
    """The tables of the pages that an episode has visited, as tables t1, t2, ... of a database, in the order of the visits."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, int], Table] = {}  # by URL and index in the page
        self._database: sqlite3.Connection | None = None  # of the tables; None after a visit that changed them
        self._finalizer: weakref.finalize[..., PageTables] | None = None  # closes the database

    def visit_page(self, page: Page) -> None:
        """Add the tables of a page, in place of those of an earlier visit."""
        if "tables" not in page.cache:
            page.cache["tables"] = _tables_of(page.root)
        url, title = cut(page.url, _MAX_CELL), cut(page.title, _MAX_CELL)
        for index, (columns, rows) in enumerate(page.cache["tables"]):
            key, table = (url, index), Table(url, title, columns, rows)
            if self._tables.get(key) != table and (key in self._tables or len(self._tables) < _MAX_TABLES):
                self._tables[key] = table
                self._close()

    def snapshot(self) -> dict[tuple[str, int], Table]:
        return dict(self._tables)

    def restore(self, snapshot: dict[tuple[str, int], Table]) -> None:
        self._tables = dict(snapshot)
        self._close()

    def _close(self) -> None:
        """Close the database of tables that have changed."""
        if self._finalizer is not None:
            self._finalizer()
            self._database = self._finalizer = None

    def table_sql(self, query: str) -> str:
        """Run a SELECT of SQLite over the tables of the pages visited in this task. The tables are named t1, t2, ... in the order in which they
        were seen, and the table `tables` lists them: name, title and url of the page, columns, and number of rows. Columns of numbers have
        numbers without signs of currencies and units.

        Args:
            query: one SELECT statement

        """
        if len(query) > _MAX_QUERY:
            raise ValueError(f"the query has {len(query):,} characters; expected at most {_MAX_QUERY:,}")
        if len(_SELECT.findall(query)) > _MAX_SELECTS:
            raise ValueError(f"the query has more than {_MAX_SELECTS} SELECTs")
        if self._database is None:
            self._database = _load(list(self._tables.values()))
            self._finalizer = weakref.finalize(self, self._database.close)  # an env that is closed drops this object
        callbacks = 0

        def count() -> bool:
            nonlocal callbacks
            callbacks += 1
            return callbacks > _MAX_CALLBACKS

        self._database.set_progress_handler(count, _INSTRUCTIONS)
        try:
            cursor = self._database.execute(query)
            names = [str(column[0]) for column in cursor.description or ()]
            rows = cursor.fetchmany(_MAX_RESULT_ROWS + 1)
            cursor.close()
        except sqlite3.Error as error:
            if callbacks > _MAX_CALLBACKS:
                raise ValueError("the query takes too long; expected fewer rows or joins") from None
            raise ValueError(f"{error}{self._hint(str(error))}") from None
        lines = [" | ".join(names), *(" | ".join(map(_text_of, row)) for row in rows[:_MAX_RESULT_ROWS])]
        return "\n".join(lines + ["..."] * (len(rows) > _MAX_RESULT_ROWS))

    def _hint(self, error: str) -> str:
        """Return the names of the tables or their columns, if a query has used others."""
        if "no such table" in error:
            return f"; the tables are tables{''.join(f', t{number}' for number in range(1, len(self._tables) + 1))}"
        if "no such column" in error:
            tables = (f"t{number}({', '.join(table.columns)})" for number, table in enumerate(self._tables.values(), 1))
            return cut("; the tables are " + ", ".join(tables), _MAX_CELL)
        return "; expected one SELECT over the tables" if "not authorized" in error else ""


def _load(tables: Sequence[Table]) -> sqlite3.Connection:
    """Return a read-only database with the tables."""
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.execute("CREATE TABLE tables (name TEXT, title TEXT, url TEXT, columns TEXT, rows INTEGER)")
    names = {"tables"}
    for number, table in enumerate(tables, 1):
        name = f"t{number}"
        names.add(name)
        columns = ", ".join(f'"{column}"' for column in table.columns)
        database.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(table.columns))
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", table.rows)
        listed = (name, table.title, table.url, ", ".join(table.columns), len(table.rows))
        database.execute("INSERT INTO tables VALUES (?, ?, ?, ?, ?)", listed)

    def authorize(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
        is_allowed = action in _READS and (action != sqlite3.SQLITE_READ or first in names)
        if action == sqlite3.SQLITE_FUNCTION:
            is_allowed = second in _FUNCTIONS
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    database.execute("PRAGMA query_only = ON")
    for limit, value in _LIMITS.items():
        database.setlimit(limit, value)
    database.set_authorizer(authorize)
    return database


def _tables_of(root: HtmlElement) -> list[Content]:
    """Return the columns and rows of the tables of a page."""
    tables: list[Content] = []
    for element in root.iter("table"):
        if len(tables) == _MAX_TABLES or is_excluded(element):
            continue
        header, rows = _cells_of(element)
        width = min(max([len(header), *map(len, rows)], default=0), _MAX_COLUMNS)
        if width and rows:
            columns = _column_names(header[:width], width)
            values = [_values([row[index] if index < len(row) else "" for row in rows]) for index in range(width)]
            tables.append((columns, tuple(zip(*values, strict=True))))
    return tables


def _cells_of(table: HtmlElement) -> tuple[list[str], list[list[str]]]:
    """Return the texts of the header, if the first row is one, and of the other rows. A cell that spans columns fills all of them."""
    header: list[str] = []
    rows: list[list[str]] = []
    for row in table.iter("tr"):
        if len(rows) == _MAX_ROWS or next(row.iterancestors("table"), None) is not table or is_excluded(row):
            continue
        texts: list[str] = []
        for cell in row.iterchildren("td", "th"):
            if len(texts) < _MAX_COLUMNS:
                texts += [cut(visible_text(cell), _MAX_CELL)] * min(span_of(cell, "colspan"), _MAX_COLUMNS)
        is_header = not rows and not header and all(cell.tag == "th" for cell in row)
        if texts and is_header:
            header = texts
        elif texts:
            rows.append(texts)
    return header, rows


def _column_names(header: Sequence[str], width: int) -> tuple[str, ...]:
    """Return different names of columns.

    >>> _column_names(["Order #", "Ship-to Name", "", "Order"], 5)
    ('order', 'ship_to_name', 'c3', 'order_2', 'c5')
    """
    names: list[str] = []
    for number in range(1, width + 1):
        text = header[number - 1] if number <= len(header) else ""
        base = _NAME.sub("_", text.lower()).strip("_")[:40] or f"c{number}"
        name, count = base, 1
        while name in names:
            count += 1
            name = f"{base}_{count}"
        names.append(name)
    return tuple(names)


def _values(texts: Sequence[str]) -> list[Value]:
    """Return the cells of a column: numbers if all cells are numbers of one unit, otherwise texts; empty cells are None.

    >>> _values(["$1,204.50", "", "-$3"]), _values(["2 km", "3 m"]), _values(["0012"])
    ([1204.5, None, -3], ['2 km', '3 m'], ['0012'])
    """
    matches = [_NUMBER.fullmatch(text) for text in texts if text]
    units = {((match[1] or match[3]), (match[6] or "").strip()) for match in matches if match}
    if not all(matches) or len(units) > 1:
        return [text or None for text in texts]
    numbers: list[Value] = []
    for text in texts:
        match = _NUMBER.fullmatch(text)
        if match is None:
            numbers.append(None)
        else:
            digits = f"{match[2]}{match[4].replace(',', '')}"
            is_whole = match[5] is None and len(digits) < 18  # SQLite's integers have 64 bits
            numbers.append(int(digits) if is_whole else float(digits + (match[5] or "")))
    return numbers


def _text_of(value: object) -> str:
    """Return a value of a result as text, on one line.

    >>> _text_of(None), _text_of(0.1 + 0.2), _text_of(3.0), _text_of(b"x")
    ('', '0.3', '3', 'x')
    """
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else " ".join(str(value).split())
