"""Languages: the replies that are allowed on one page, as texts, choices, lists and spans of given texts; and as a regular expression."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Union

_WORD = re.compile(r"\\.|\w+|[^\w\s\\]")
_SPECIAL = frozenset(r"\^$.|?*+()[]{}-/")


class Choice(NamedTuple):
    """Any one of the branches, at least one, each of which is a sequence."""

    branches: tuple["Language", ...]


class Spans(NamedTuple):
    """A run of whole words of one of the texts, as it stands there. Each text, at least one, has a word.

    Words are runs of letters and digits, single other characters, and escapes of a backslash and a character.
    """

    texts: tuple[str, ...]


class Listing(NamedTuple):
    """One item, or several with a joint between them."""

    item: "Node"
    joints: tuple[str, ...]


Node = Union[str, Choice, Spans, Listing]  # noqa: UP007 - a string cannot be joined to a forward reference by |
Language = tuple[Node, ...]
"""A sequence of parts."""


def words(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield where the words of a text begin and end.

    >>> [r'5 \" pipe'[start:end] for start, end in words(r'5 \" pipe')]
    ['5', '\\"', 'pipe']
    """
    return (match.span() for match in _WORD.finditer(text))


def one_of(texts: Sequence[str]) -> Choice:
    """Return a choice of texts."""
    return Choice(tuple((text,) for text in dict.fromkeys(texts)))


def regex(language: Language) -> str:
    r"""Return a regular expression for a language, in the common part of all syntaxes: groups, `|`, `?`, `*` and escapes.

    It has O(n log^2 n) characters for texts of n words in all.

    >>> regex(("go ", Choice((("up",), ("down",))), Spans(("a b.",))))
    'go (up|down)(((a|((b|\\.)|b\\.))|a (b|b\\.)))'
    """
    return "".join(map(_node, language))


def _node(node: Node) -> str:
    match node:
        case str():
            return _plain(node)
        case Choice(branches):
            written = [text for branch in branches if (text := regex(branch))]
            optional = "?" if len(written) < len(branches) else ""
            return f"({'|'.join(written)}){optional}" if written else ""
        case Spans(texts):
            return "(" + "|".join(_spans(text, list(words(text))) for text in texts) + ")"
        case Listing(item, joints):
            one = _node(item)
            return f"{one}(({'|'.join(map(_plain, joints))}){one})*"


def _spans(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return an expression for all runs of these words: those of either half, or an end of the first and a beginning of the second."""
    if len(places) == 1:
        return _piece(text, places, 0, 1)
    half = len(places) // 2
    left, right = places[:half], places[half:]
    within = f"({_spans(text, left)}|{_spans(text, right)})"
    return f"({within}|{_endings(text, left)}{_between(text, left, right)}{_beginnings(text, right)})"


def _beginnings(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return an expression for the runs of words that begin with the first."""
    if len(places) == 1:
        return _piece(text, places, 0, 1)
    half = len(places) // 2
    left, right = places[:half], places[half:]
    return f"({_beginnings(text, left)}|{_piece(text, left, 0, half)}{_between(text, left, right)}{_beginnings(text, right)})"


def _endings(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return an expression for the runs of words that end with the last."""
    if len(places) == 1:
        return _piece(text, places, 0, 1)
    half = len(places) // 2
    left, right = places[:half], places[half:]
    return f"({_endings(text, right)}|{_endings(text, left)}{_between(text, left, right)}{_piece(text, right, 0, len(right))})"


def _between(text: str, left: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]) -> str:
    return _plain(text[left[-1][1] : right[0][0]])


def _piece(text: str, places: Sequence[tuple[int, int]], first: int, end: int) -> str:
    return _plain(text[places[first][0] : places[end - 1][1]])


def _plain(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
