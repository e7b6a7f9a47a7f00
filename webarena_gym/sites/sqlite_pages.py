"""The rows on pages that differ between two states of a SQLite file, by the file format: https://sqlite.org/fileformat2.html.

A comparison of two states need look at these rows only. Reading the pages takes a fraction of the time of joining whole tables.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import lru_cache
from typing import NamedTuple

PAGE_SIZE = 4096
"""Bytes of a page in the files that this module reads."""
_SCHEMA_COOKIE = slice(40, 44)  # of the file's header; each change of the schema changes it, and VACUUM
_ENCODING, _UTF8 = slice(56, 60), (1).to_bytes(4, "big")
_TABLE_INTERIOR, _TABLE_LEAF, _INDEX_INTERIOR, _INDEX_LEAF = 0x05, 0x0D, 0x02, 0x0A  # first byte of a page
_MIN_LOCAL = (PAGE_SIZE - 12) * 32 // 255 - 23  # bytes of a long row that are on its page at least
_MAX_LOCAL = {_TABLE_LEAF: PAGE_SIZE - 35} | dict.fromkeys((_INDEX_INTERIOR, _INDEX_LEAF), (PAGE_SIZE - 12) * 64 // 255 - 23)
_PAGE_NUMBER = 4  # bytes of a page number, as of the first overflow page or the child of an interior page
_INTEGER_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type
_MAX_KEYS = 5_000  # of a table, which is compared as a whole if more rows are on changed pages

Value = int | str
Key = tuple[Value, ...]


class ChangedPages:
    """The pages that differ between two states of a file.

    Attributes:
        tables: the tables to which a changed page of the first state belongs, also a page of an index.

    """

    def __init__(self, base: bytes, now: bytes, uses: Mapping[int, "PageUse"]) -> None:
        self._base, self._now, self._uses = base, now, uses
        starts = range(0, len(base), PAGE_SIZE)
        changed = [start for start in starts if _page(base, start) != _page(now, start) and start in uses]
        self._changed: dict[str, list[int]] = {}
        for start in changed:
            self._changed.setdefault(uses[start].tree, []).append(start)
        self.tables = frozenset(uses[start].table for start in changed)
        self._with_overflow = frozenset(uses[start].table for start in changed if uses[start].type == "overflow")

    def rows(self, table: str, key_columns: int) -> frozenset[Key] | None:
        """Return the keys of the rows of a table that have changed; None if any row may have changed.

        The keys may include rows that have not changed. A row that was added or changed is always included. A removed one may be missing,
        since SQLite does not write to pages that it frees; then the numbers of rows show that.

        Args:
            table: name of the table.
            key_columns: number of columns of its primary key if it has no rowids, otherwise 0, for keys with the rowid alone.

        """
        if table in self._with_overflow or (key_columns and self._base[_ENCODING] != _UTF8):
            return None
        types = (_INDEX_LEAF, _INDEX_INTERIOR) if key_columns else (_TABLE_LEAF,)
        changed = [start for start in self._changed.get(table, ()) if start]
        try:
            before = (_cells(_page(self._base, start), types) for start in changed)
            after = (_cells(_page(self._now, start), types) for start in (*changed, *self._added_pages(table, changed)))
            cells = set[bytes]().union(*before) ^ set[bytes]().union(*after)
            keys = {_primary_key(cell, key_columns) if key_columns else _rowid(cell) for cell in cells}
        except (IndexError, ValueError):
            return None
        return frozenset(key for key in keys if key) if len(keys) <= _MAX_KEYS else None

    def _added_pages(self, tree: str, changed: Iterable[int]) -> list[int]:
        """Return the pages that belong to a tree now and did not before. Changed pages or other added ones link to them."""
        added: dict[int, None] = {}  # a set in order
        pending = list(changed)
        while pending:
            for child in _children(_page(self._now, pending.pop())):
                if (child not in self._uses or self._uses[child].tree != tree) and child not in added:
                    added[child] = None
                    pending.append(child)
        return list(added)


def _page(file: bytes, start: int) -> bytes:
    return file[start : start + PAGE_SIZE]


def changed_pages(base: bytes, now: bytes) -> ChangedPages | None:
    """Return the pages that differ between two states of a SQLite file.

    Returns None if pages cannot be assigned to tables: the file has pages of another size, its tables were created, deleted or moved
    (also by VACUUM), or SQLite was built without `dbstat`.
    """
    has_same_tables = base[_SCHEMA_COOKIE] == now[_SCHEMA_COOKIE]
    uses = page_uses(base) if has_same_tables and int.from_bytes(base[16:18], "big") == PAGE_SIZE else {}
    return ChangedPages(base, now, uses) if uses else None


def _children(page: bytes) -> Iterator[int]:
    """Yield the offsets of the pages below an interior page."""
    if page and page[0] in (_TABLE_INTERIOR, _INDEX_INTERIOR):
        cells = range(12, 12 + 2 * int.from_bytes(page[3:5], "big"), 2)
        for place in (8, *(int.from_bytes(page[cell : cell + 2], "big") for cell in cells)):
            yield (int.from_bytes(page[place : place + _PAGE_NUMBER], "big") - 1) * PAGE_SIZE


def _cells(page: bytes, types: tuple[int, ...]) -> set[bytes]:
    """Return the rows or index entries on a page as bytes, without what is on overflow pages; none if it has another type."""
    if not page or page[0] not in types:
        return set()
    max_local = _MAX_LOCAL[page[0]]
    header, skipped = (12, _PAGE_NUMBER) if page[0] == _INDEX_INTERIOR else (8, 0)
    cells = set()
    for place in range(header, header + 2 * int.from_bytes(page[3:5], "big"), 2):
        start = (page[place] << 8) + page[place + 1] + skipped
        size, end = (page[start], start + 1) if page[start] < 0x80 else _read_varint(page, start)
        if page[0] == _TABLE_LEAF:
            _, end = _read_varint(page, end)
        if size > max_local:
            local = _MIN_LOCAL + (size - _MIN_LOCAL) % (PAGE_SIZE - _PAGE_NUMBER)
            size = (local if local <= max_local else _MIN_LOCAL) + _PAGE_NUMBER
        cells.add(page[start : end + size])
    return cells


def _rowid(cell: bytes) -> Key:
    _, place = _read_varint(cell, 0)
    number, _ = _read_varint(cell, place)
    return (number - (1 << 64) if number >> 63 else number,)


def _primary_key(cell: bytes, columns: int) -> Key:
    """Return the first columns of a row in a table without rowids, which is stored like an entry of an index; () for other entries.

    Raises:
        ValueError: if they are not integers or texts, or continue on an overflow page.

    """
    row_size, start = _read_varint(cell, 0)
    header_size, place = _read_varint(cell, start)
    types: list[int] = []
    while len(types) < columns and place < start + header_size:
        serial_type, place = _read_varint(cell, place)
        types.append(serial_type)
    if len(types) < columns or 0 in types:
        return ()  # the primary key of a table without rowids has all columns, and none is NULL
    key: list[Value] = []
    place = start + header_size
    for serial_type in types:
        value, place = _read_value(cell, place, serial_type)
        key.append(value)
    if place > min(start + row_size, len(cell) - _PAGE_NUMBER * (len(cell) - start != row_size)):
        raise ValueError("the key continues on an overflow page")
    return tuple(key)


def _read_varint(page: bytes, place: int) -> tuple[int, int]:
    """Return a variable-length integer and the offset after it."""
    number = 0
    for _ in range(8):
        byte = page[place]
        place += 1
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place
    return number << 8 | page[place], place + 1


def _read_value(page: bytes, place: int, serial_type: int) -> tuple[Value, int]:
    """Return an integer or text and the offset after it. Raises ValueError for other types, and for texts with NUL characters."""
    if serial_type in (8, 9):
        return serial_type - 8, place
    if serial_type in _INTEGER_SIZES:
        end = place + _INTEGER_SIZES[serial_type]
        return int.from_bytes(page[place:end], "big", signed=True), end
    if serial_type >= 13 and serial_type % 2:
        end = place + (serial_type - 13) // 2
        text = page[place:end].decode()
        if "\0" in text:
            raise ValueError("a key contains a NUL character")
        return text, end
    raise ValueError(f"a key has the serial type {serial_type}; expected an integer or text")


class PageUse(NamedTuple):
    """The use of a page: the tree that it belongs to, of a table or index, the tree's table, and its type.

    The type is "leaf", "internal" or "overflow".
    """

    tree: str
    table: str
    type: str


@lru_cache(maxsize=64)
def page_uses(base: bytes) -> Mapping[int, PageUse]:
    """Return the use of each page by its offset; empty if SQLite was built without `dbstat`."""
    with closing(sqlite3.connect(":memory:")) as connection, suppress(sqlite3.OperationalError):
        connection.deserialize(base)
        query = "SELECT (s.pageno - 1) * ?, name, m.tbl_name, s.pagetype FROM dbstat s LEFT JOIN sqlite_schema m USING (name)"
        return {start: PageUse(tree, table or tree, use) for start, tree, table, use in connection.execute(query, (PAGE_SIZE,))}
    return {}
