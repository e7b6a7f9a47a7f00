"""Which sequences of pieces make a given text, and which texts remain that no piece gives."""

from collections.abc import Collection
from typing import NamedTuple

END = ""
_MAX_PIECES = 30


class Derivation(NamedTuple):
    """The texts of the pieces that make a text, in order; those in `literals` are no pieces."""

    parts: tuple[str, ...]
    literals: tuple[str, ...]


def derive(text: str, pieces: Collection[str], constants: Collection[str]) -> Derivation:
    """Return the derivation of a text with the fewest pieces, where a character that stands in none costs more than a piece.

    `constants` stand between or beside the others. The empty text is one piece.

    >>> derive("Ann, Bob", {"Ann", "Bob"}, {", "})
    Derivation(parts=('Ann', ', ', 'Bob'), literals=())
    """
    if text in pieces or text in constants or not text:
        return Derivation((text,), ())
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
    infinite = float("inf")
    best = [infinite] * (size + 1)
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
        if not part:
            return Derivation((text,), (text,))
        parts.append(part)
        if is_literal:
            literals.append(part)
        at += len(part)
    if len(parts) > _MAX_PIECES:
        return Derivation((text,), (text,))
    return Derivation(tuple(parts), tuple(literals))


def _breaks_word(text: str, start: int, end: int) -> bool:
    """Whether a cut lies between two letters or two digits."""
    return any(
        0 < place < len(text)
        and ((text[place - 1].isalpha() and text[place].isalpha()) or (text[place - 1].isdigit() and text[place].isdigit()))
        for place in (start, end)
    )
