"""Computed pieces, such as counts, sums and lists of table rows, and the decomposition of a text into pieces."""

from collections.abc import Collection
from functools import lru_cache
from operator import ge, gt, le, lt

from agents.models.pointer.goals import Goal, amount_of, date_of, format_like, parse_goal, shape_of, words_of
from agents.models.pointer.pages import PageTable, Piece, TableRow, page_pieces, tables_of

_MAX_LIST_LENGTH = 1_200  # characters
_MAX_COMPUTED = 400  # pieces of one page
_COMPARISONS = (("at most", le), ("below", lt), ("at least", ge), ("above", gt))
_SEPARATORS = ((", ", "commas"), ("; ", "semicolons"), ("\n", "lines"), ("\n- ", "bullets"))
_MAX_PARTS = 30


def _row_filters(table: PageTable, goal: Goal) -> list[tuple[str, str, tuple[TableRow, ...]]]:
    """Return the filters of a table's rows that the goal suggests, each as (filter, column, matching rows).

    Filters without matching rows are omitted, and so are repeated filters of one kind, column and result.
    """
    rows = table.rows
    named = tuple(
        row for row in rows if any(len(word) > 1 and word in goal.names for word in row.words) and _contains_name(row, goal)
    )
    fully_named = tuple(row for row in named if _contains_name(row, goal, words=2))
    dates = [next(filter(None, map(date_of, row.cells)), None) for row in rows]
    monthly = tuple(row for row, date in zip(rows, dates, strict=True) if date and date[:2] in goal.months)
    filters = [("all", "", rows), ("names", "", named), ("full names", "", fully_named), ("month", "", monthly)]
    for column_index, column in enumerate(table.columns):
        cells = [row.cells[column_index] if column_index < len(row.cells) else "" for row in rows]
        for value in dict.fromkeys(cells):
            value_words = " ".join(words_of(value))
            if value_words and len(value) < 40 and f" {value_words} " in goal.lowercase:
                equal_rows = tuple(row for row, cell in zip(rows, cells, strict=True) if cell == value)
                filters.append(("equal", column, equal_rows))
                filters.append(("month and equal", column, tuple(row for row in equal_rows if row in monthly)))
        figures = [
            (row, amount) for row, cell in zip(rows, cells, strict=True) if cell and (amount := amount_of(cell)) is not None
        ]
        if len(figures) >= max(1, len(rows) // 2):
            for number in goal.numbers[:4]:
                for test, compare in _COMPARISONS:
                    filters.append((test, column, tuple(row for row, amount in figures if compare(amount, number))))
                if number >= 1000 and number % 10 == 0:
                    filters.append(("decade", column, tuple(row for row, amount in figures if number <= amount < number + 10)))
            filters.append(("negative", column, tuple(row for row, amount in figures if amount < 0)))
    filters += [("first", "", rows[: int(number)]) for number in goal.numbers[:4] if 1 < number < len(rows) or number == 1]
    unique: dict[tuple[str, str, tuple[TableRow, ...]], tuple[str, str, tuple[TableRow, ...]]] = {}
    for test, column_name, matching in filters:
        if matching:
            unique.setdefault((test.partition(" ")[0], column_name, matching), (test, column_name, matching))
    return list(unique.values())


def _contains_name(row: TableRow, goal: Goal, words: int = 1) -> bool:
    """Return True if a row contains a name phrase of the goal with at least `words` words."""
    row_words = f" {' '.join(words_of(row.text))} "
    return any(f" {name} " in row_words for name in goal.name_phrases if name.count(" ") >= words - 1)


@lru_cache(maxsize=512)
def computed_pieces(goal_text: str, page_text: str) -> tuple[Piece, ...]:
    """Return pieces computed from the tables and lists of one page: counts of filtered rows, sums and lists of their columns."""
    goal = parse_goal(goal_text)
    pieces: list[Piece] = []
    for table in tables_of(page_text):
        for test, filter_column, rows in _row_filters(table, goal):
            pieces.append(Piece(str(len(rows)), "count", test, filter_column, "", "", "", table.heading, ""))
            if len(rows) < 2 and test == "all":
                continue
            for column_index, column in enumerate(table.columns):
                cells = [row.cells[column_index] for row in rows if column_index < len(row.cells) and row.cells[column_index]]
                if not cells or len(cells) != len(rows):
                    continue
                amounts = [amount_of(cell) for cell in cells]
                is_numeric = all(amount is not None for amount in amounts) and len(cells[0]) < 24 and not date_of(cells[0])
                if is_numeric and not cells[0].startswith("0000"):
                    total = sum(amount or 0.0 for amount in amounts)
                    pieces.append(
                        Piece(format_like(total, cells[0]), "sum", test, filter_column, "", "", "", table.heading, column)
                    )
                elif len(rows) <= 40 and len(cells[0]) < 80:
                    for separator, separator_name in _SEPARATORS:
                        joined = separator.join(cells)
                        if len(joined) <= _MAX_LIST_LENGTH and (len(cells) > 1 or separator == ", "):
                            pieces.append(
                                Piece(joined, f"list {separator_name}", test, filter_column, "", "", "", table.heading, column)
                            )
    return tuple(dict.fromkeys(pieces))[:_MAX_COMPUTED]


def multi_page_pieces(goal_text: str, pages: tuple[str, ...]) -> tuple[Piece, ...]:
    """Return pieces computed from several pages, newest last: differences of two sums, sums of two amounts, and counts over all pages."""
    pieces: list[Piece] = []
    page_sums = [[piece for piece in computed_pieces(goal_text, page) if piece.source == "sum"] for page in pages]
    newest_sums = page_sums[-1] if page_sums else []
    for earlier in page_sums[:-1]:
        for piece in newest_sums:
            for earlier_piece in earlier:
                is_comparable = (piece.column, piece.form, piece.left) == (
                    earlier_piece.column,
                    earlier_piece.form,
                    earlier_piece.left,
                )
                if is_comparable and piece.text[:1] == earlier_piece.text[:1] and piece.form != "all":
                    difference = format_like(
                        abs((amount_of(piece.text) or 0.0) - (amount_of(earlier_piece.text) or 0.0)), piece.text
                    )
                    pieces.append(piece._replace(text=difference, source="difference"))
    times = [
        piece for page in dict.fromkeys(pages) for piece in page_pieces(page)
        if piece.form == "whole" and shape_of(piece.text) in ("duration", "money") and piece.line_index >= 0 and not piece.column
    ][-12:]  # fmt: skip
    for index, piece in enumerate(times):
        for earlier_piece in times[:index]:
            total = (amount_of(piece.text) or 0.0) + (amount_of(earlier_piece.text) or 0.0)
            if piece.text[:1].isdigit() == earlier_piece.text[:1].isdigit():
                pieces.append(
                    Piece(format_like(total, piece.text), "sum of two", shape_of(piece.text), piece.above, earlier_piece.above)
                )
    counts: dict[tuple[str, str], int] = {}
    for page in dict.fromkeys(pages):
        for piece in computed_pieces(goal_text, page):
            if piece.source == "count" and piece.form != "all":
                key = (piece.form, piece.left)
                counts[key] = counts.get(key, 0) + int(piece.text)
    pieces += [Piece(str(count), "count over pages", form, left) for (form, left), count in counts.items()]
    return tuple(dict.fromkeys(pieces))


def decompose(text: str, pieces: Collection[str], constants: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the cheapest sequence of parts whose concatenation is `text`, and those of its parts that are literals.

    A part is a piece, a constant, or a literal, which is any other substring. A piece or constant costs 1, and a literal costs 1.5 plus
    0.3 per character, so pieces are preferred. The empty text is one piece. If there is no decomposition into at most
    30 parts, the whole text is returned as one literal.

    >>> decompose("Ann, Bob", {"Ann", "Bob"}, {", "})
    (['Ann', ', ', 'Bob'], [])
    """
    if text in pieces or text in constants or not text:
        return [text], []
    candidates = sorted(
        {piece for piece in (*pieces, *constants) if piece and len(piece) <= len(text) and piece in text}, key=len, reverse=True
    )
    starts: dict[int, list[str]] = {}
    for piece in candidates:
        start = text.find(piece)
        while start >= 0:
            starts.setdefault(start, []).append(piece)
            start = text.find(piece, start + 1)
    size = len(text)
    # Dynamic programming: the lowest cost of the text from each index on, and the first part of that decomposition.
    costs = [float("inf")] * (size + 1)
    choices: list[tuple[str, bool]] = [("", False)] * (size + 1)
    costs[size] = 0.0
    for start in range(size - 1, -1, -1):
        for piece in starts.get(start, ()):
            if _splits_token(text, start, start + len(piece)):
                continue
            cost = 1.0 + costs[start + len(piece)] - 0.001 * len(piece)
            if cost < costs[start]:
                costs[start], choices[start] = cost, (piece, False)
        for end in range(start + 1, min(size, start + 40) + 1):
            if not _splits_token(text, start, end):
                cost = 1.5 + 0.3 * (end - start) + costs[end]
                if cost < costs[start]:
                    costs[start], choices[start] = cost, (text[start:end], True)
    parts: list[str] = []
    literals: list[str] = []
    start = 0
    while start < size:
        part, is_literal = choices[start]
        parts.append(part)
        literals += [part] * is_literal
        start += len(part) or size
    return (parts, literals) if all(parts) and len(parts) <= _MAX_PARTS else ([text], [text])


def _splits_token(text: str, start: int, end: int) -> bool:
    """Return True if `start` or `end` lies between two letters or two digits of the text."""
    pairs = [text[index - 1 : index + 1] for index in (start, end) if 0 < index < len(text)]
    return any(pair.isalpha() or pair.isdigit() for pair in pairs)
