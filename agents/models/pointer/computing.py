"""Computed texts: pieces that follow from rows (counts, sums, lists, also across pages), and derivations of a text from pieces."""

from collections.abc import Collection
from functools import lru_cache
from operator import ge, gt, le, lt

from agents.models.pointer.goals import Goal, amount_of, date_of, read_goal, shape_of, words_of, write_like
from agents.models.pointer.pages import Piece, Row, Table, page_pieces, tables_of

_LONGEST_LIST = 1_200  # characters
_MOST_COMPUTED = 400  # pieces of one page
_COMPARISONS = (("at most", le), ("below", lt), ("at least", ge), ("above", gt))
_SEPARATORS = ((", ", "commas"), ("; ", "semicolons"), ("\n", "lines"), ("\n- ", "bullets"))
_MAX_PIECES = 30


def _conditions(table: Table, goal: Goal) -> list[tuple[str, str, tuple[Row, ...]]]:
    """Return the tests that the goal suggests for the rows of a table: name, column, and the rows that meet it, different and some."""
    rows = table.rows
    named = tuple(
        row for row in rows if any(len(word) > 1 and word in goal.names for word in row.words) and _holds_name(row, goal)
    )
    full = tuple(row for row in named if _holds_name(row, goal, words=2))
    dates = [next(filter(None, map(date_of, row.cells)), None) for row in rows]
    monthly = tuple(row for row, date in zip(rows, dates, strict=True) if date and date[:2] in goal.months)
    found = [("all", "", rows), ("names", "", named), ("full names", "", full), ("month", "", monthly)]
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] if place < len(row.cells) else "" for row in rows]
        for value in dict.fromkeys(cells):
            plain = " ".join(words_of(value))
            if plain and len(value) < 40 and f" {plain} " in goal.lowered:
                same = tuple(row for row, cell in zip(rows, cells, strict=True) if cell == value)
                found.append(("equal", column, same))
                found.append(("month and equal", column, tuple(row for row in same if row in monthly)))
        figures = [
            (row, amount) for row, cell in zip(rows, cells, strict=True) if cell and (amount := amount_of(cell)) is not None
        ]
        if len(figures) >= max(1, len(rows) // 2):
            for number in goal.numbers[:4]:
                for test, meets in _COMPARISONS:
                    found.append((test, column, tuple(row for row, amount in figures if meets(amount, number))))
                if number >= 1000 and number % 10 == 0:
                    found.append(("decade", column, tuple(row for row, amount in figures if number <= amount < number + 10)))
            found.append(("negative", column, tuple(row for row, amount in figures if amount < 0)))
    found += [("first", "", rows[: int(number)]) for number in goal.numbers[:4] if 1 < number < len(rows) or number == 1]
    unique: dict[tuple[str, str, tuple[Row, ...]], tuple[str, str, tuple[Row, ...]]] = {}
    for test, about, kept in found:
        if kept:
            unique.setdefault((test.partition(" ")[0], about, kept), (test, about, kept))
    return list(unique.values())


def _holds_name(row: Row, goal: Goal, words: int = 1) -> bool:
    """Return whether a capitalised run of the goal of at least so many words, or a number, stands in a row."""
    plain = f" {' '.join(words_of(row.text))} "
    return any(f" {name} " in plain for name in goal.names_as_said if name.count(" ") >= words - 1)


@lru_cache(maxsize=512)
def computed_pieces(goal_text: str, text: str) -> tuple[Piece, ...]:
    """Return what can be computed from the rows of one page: counts, sums, and lists of a column."""
    goal = read_goal(goal_text)
    pieces: list[Piece] = []
    for table in tables_of(text):
        for test, about, rows in _conditions(table, goal):
            pieces.append(Piece(str(len(rows)), "count", test, about, "", "", "", table.heading, ""))
            if len(rows) < 2 and test == "all":
                continue
            for place, column in enumerate(table.columns):
                cells = [row.cells[place] for row in rows if place < len(row.cells) and row.cells[place]]
                if not cells or len(cells) != len(rows):
                    continue
                amounts = [amount_of(cell) for cell in cells]
                is_numeric = all(amount is not None for amount in amounts) and len(cells[0]) < 24 and not date_of(cells[0])
                if is_numeric and not cells[0].startswith("0000"):
                    total = sum(amount or 0.0 for amount in amounts)
                    pieces.append(Piece(write_like(total, cells[0]), "sum", test, about, "", "", "", table.heading, column))
                elif len(rows) <= 40 and len(cells[0]) < 80:
                    for separator, named in _SEPARATORS:
                        joined = separator.join(cells)
                        if len(joined) <= _LONGEST_LIST and (len(cells) > 1 or separator == ", "):
                            pieces.append(Piece(joined, f"list {named}", test, about, "", "", "", table.heading, column))
    return tuple(dict.fromkeys(pieces))[:_MOST_COMPUTED]


def pieces_across(goal_text: str, texts: tuple[str, ...]) -> tuple[Piece, ...]:
    """Return what can be computed from several pages, the newest last: sums of two times, differences of sums, counts over pages."""
    pieces: list[Piece] = []
    own = [[piece for piece in computed_pieces(goal_text, text) if piece.source == "sum"] for text in texts]
    newest = own[-1] if own else []
    for earlier in own[:-1]:
        for one in newest:
            for other in earlier:
                alike = (one.column, one.way, one.left) == (other.column, other.way, other.left)
                if alike and one.text[:1] == other.text[:1] and one.way != "all":
                    gap = write_like(abs((amount_of(one.text) or 0.0) - (amount_of(other.text) or 0.0)), one.text)
                    pieces.append(one._replace(text=gap, source="difference"))
    times = [
        piece for text in dict.fromkeys(texts) for piece in page_pieces(text)
        if piece.way == "whole" and shape_of(piece.text) in ("duration", "money") and piece.number >= 0 and not piece.column
    ][-12:]  # fmt: skip
    for place, one in enumerate(times):
        for other in times[:place]:
            total = (amount_of(one.text) or 0.0) + (amount_of(other.text) or 0.0)
            if one.text[:1].isdigit() == other.text[:1].isdigit():
                pieces.append(Piece(write_like(total, one.text), "sum of two", shape_of(one.text), one.above, other.above))
    counts: dict[tuple[str, str], int] = {}
    for text in dict.fromkeys(texts):
        for piece in computed_pieces(goal_text, text):
            if piece.source == "count" and piece.way != "all":
                key = (piece.way, piece.left)
                counts[key] = counts.get(key, 0) + int(piece.text)
    pieces += [Piece(str(count), "count over pages", way, left) for (way, left), count in counts.items()]
    return tuple(dict.fromkeys(pieces))


def derive(text: str, pieces: Collection[str], constants: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the fewest pieces that make a text, in order, and literals among them, a character of which costs more than a piece.

    `constants` stand between or beside the others. The empty text is one piece.

    >>> derive("Ann, Bob", {"Ann", "Bob"}, {", "})
    (['Ann', ', ', 'Bob'], [])
    """
    if text in pieces or text in constants or not text:
        return [text], []
    inside = sorted(
        {piece for piece in (*pieces, *constants) if piece and len(piece) <= len(text) and piece in text}, key=len, reverse=True
    )
    starts: dict[int, list[str]] = {}
    for piece in inside:
        at = text.find(piece)
        while at >= 0:
            starts.setdefault(at, []).append(piece)
            at = text.find(piece, at + 1)
    size = len(text)
    # The cost to the end from each place, outside of a literal and inside of one.
    best = [float("inf")] * (size + 1)
    ways: list[tuple[str, bool]] = [("", False)] * (size + 1)
    best[size] = 0.0
    for at in range(size - 1, -1, -1):
        for piece in starts.get(at, ()):
            if _breaks_word(text, at, at + len(piece)):
                continue
            cost = 1.0 + best[at + len(piece)] - 0.001 * len(piece)
            if cost < best[at]:
                best[at], ways[at] = cost, (piece, False)
        for end in range(at + 1, min(size, at + 40) + 1):
            if not _breaks_word(text, at, end):
                cost = 1.5 + 0.3 * (end - at) + best[end]
                if cost < best[at]:
                    best[at], ways[at] = cost, (text[at:end], True)
    parts: list[str] = []
    literals: list[str] = []
    at = 0
    while at < size:
        part, is_literal = ways[at]
        parts.append(part)
        literals += [part] * is_literal
        at += len(part) or size
    return (parts, literals) if all(parts) and len(parts) <= _MAX_PIECES else ([text], [text])


def _breaks_word(text: str, start: int, end: int) -> bool:
    """Return whether a cut lies between two letters or two digits."""
    pairs = [text[place - 1 : place + 1] for place in (start, end) if 0 < place < len(text)]
    return any(pair.isalpha() or pair.isdigit() for pair in pairs)
