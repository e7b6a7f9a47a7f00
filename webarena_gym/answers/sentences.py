"""Sentences of words, values and references: an answer as a sequence of tokens.

A reference's text is found as a sequence of words, whatever the punctuation between them; it and every typed value become one
token each, so that what is inside of a name or number is never looked at again.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from webarena_gym.answers.lexicon import CONTRACTED, FIELDS, FUNCTION, NUMBER_WORDS, STREETS, word_set
from webarena_gym.answers.markup import Line
from webarena_gym.answers.values import Value, in_digits, read, split_minutes

_TOKEN = re.compile(r"\w+(?:[.'_@+-]\w+)*|[^\w\s]")
_ABBREVIATIONS = word_set("mr mrs ms dr no st vs approx min mins hr hrs e.g i.e etc ca prof inc ltd co nr")
_TIES = frozenset(",()-/&:'\".;[]>|%#@*+")
_LOOSE = word_set("and in with the of size state zip postcode code street town city postal region colour color a pack")
_MOST_LOOSE = 3


class Token(NamedTuple):
    """A word, a mark of punctuation, a typed value or a reference; `norm` is compared, `ref` is the reference's place or -1."""

    text: str
    norm: str
    start: int
    kind: str  # "word", "mark", "value", "ref", "option", "echo"
    value: Value | None = None
    ref: int = -1


@dataclass
class Sentence:
    """Tokens of one sentence; `kind` is its line's, `at` its line's number; `opens` says that it begins the line."""

    tokens: list[Token]
    kind: str = "text"
    at: int = 0
    opens: bool = True
    is_question: bool = False
    depths: list[int] = field(default_factory=list)  # of parentheses, by token

    def __post_init__(self) -> None:
        depth = 0
        for token in self.tokens:
            depth += token.norm in ("(", "[")
            self.depths.append(depth)
            depth -= token.norm in (")", "]") and depth > 0


class Pattern(NamedTuple):
    """A reference as words; `loose` tells behind which of them the reference has a mark, so that filling words may stand there.

    `last` is the mark at its end, if that would end a sentence.
    """

    words: tuple[str, ...]
    loose: tuple[str, ...]  # the mark, empty without one
    last: str = ""


def fold(word: str) -> str:
    """Return a word as it is compared: without case, possessive, and what differs between spellings of English.

    >>> fold("Cancelled"), fold("Keller's"), fold("Three")
    ('canceled', 'keller', '3')
    """
    word = word.casefold()
    if word not in CONTRACTED:
        word = word.removesuffix("'s").removesuffix("'")
    if word.endswith(("lled", "lling")):
        word = word.replace("lled", "led").replace("lling", "ling")
    if word == "licence":
        return "license"
    number = NUMBER_WORDS.get(word)
    return word.replace("colour", "color") if number is None else str(number)


def stem(word: str) -> str:
    """Return a noun without its plural's ending."""
    word = fold(word)
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def words(text: str) -> list[str]:
    """Return the words of a text, folded."""
    return [token.norm for token in _plain(text, list(split_minutes(read(text)))) if token.kind == "word"]


def has_part(longer: Sequence[str], part: Sequence[str]) -> bool:
    """Say whether words stand in others, one behind the other."""
    return any(longer[start : start + len(part)] == part for start in range(len(longer) - len(part) + 1))


def field_end(tokens: Sequence[Token], start: int) -> int:
    """Return where the field of a row ends that a token at `start` belongs to: at a semicolon, or with the row."""
    return next((index for index in range(start, len(tokens)) if tokens[index].norm == ";"), len(tokens))


def field_around(tokens: Sequence[Token], index: int) -> tuple[int, int]:
    """Return where the field of a row begins and ends that a token belongs to."""
    start = next((place for place in range(index, 0, -1) if tokens[place - 1].norm == ";"), 0)
    return start, field_end(tokens, index)


def pattern(text: str) -> Pattern:
    """Return what finds a text in sentences."""
    folded: list[str] = []
    loose: list[str] = []
    text = in_digits(text)
    for token in _plain(text, list(split_minutes(read(text)))):
        if token.kind == "word":
            if loose and len(token.norm) > 3 and token.norm.isdigit():
                loose[-1] = loose[-1] or ","  # a postcode may have its name before it
            folded.append(token.norm)
            loose.append("")
        elif folded and token.text in ",/&(;:|":
            loose[-1] = "/" if token.text in "/&|" else ","
    if folded and folded[0] in ("the", "a", "an") and len(folded) > 2:
        folded, loose = folded[1:], loose[1:]
    return Pattern(tuple(folded), tuple(loose), text[-1] if text[-1:] in ("?", "!", ".") else "")


def sentences(
    lines: Iterable[Line], wanted: Sequence[Pattern], options: Sequence[Pattern] = (), echoes: Sequence[Pattern] = ()
) -> list[Sentence]:
    """Return the sentences of some lines, with patterns found in them as tokens: what is wanted, what else could be, what the goal has."""
    patterns = [*wanted, *options, *echoes]
    kinds = ["ref"] * len(wanted) + ["option"] * len(options) + ["echo"] * len(echoes)
    found: list[Sentence] = []
    for at, line in enumerate(lines):
        tokens = _tokens(in_digits(line.text), patterns, kinds)
        start = 0
        for index, token in enumerate(tokens):
            if token.norm in ".!?" and token.kind == "mark" and _ends(tokens, index):
                _add(found, tokens[start : index + 1], line, at, opens=start == 0)
                start = index + 1
        _add(found, tokens[start:], line, at, opens=start == 0)
    return found


def _add(found: list[Sentence], tokens: list[Token], line: Line, at: int, *, opens: bool) -> None:
    if any(token.kind != "mark" for token in tokens):
        found.append(Sentence(tokens, line.kind, at, opens, line.kind != "row" and _asks(tokens)))


def _asks(tokens: list[Token]) -> bool:
    return any(token.norm == "?" for token in tokens[-3:])


def _ends(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if index + 1 == len(tokens):
        return True
    if token.norm in "!?":
        return tokens[index + 1].start > token.start + 1 or tokens[index + 1].norm in "\"')?!"
    following, before = tokens[index + 1], tokens[index - 1] if index else None
    if following.start == token.start + 1:
        return following.norm in ")\"'" and index + 2 == len(tokens)
    if before is None or before.start + len(before.text) != token.start:
        return True
    if before.kind == "value" and before.norm.endswith(("min", "mins", "hr", "hrs", "km")):
        return not following.text[0].islower()
    if before.kind == "word" and before.norm in _ABBREVIATIONS:
        return before.norm in ("min", "mins", "hr", "hrs", "no") and following.text[0].isupper()
    return not (
        before.kind == "word"
        and len(before.text) == 1
        and before.text.isupper()
        and before.text != "I"
        and (index < 2 or tokens[index - 2].norm != "/")
    )


def _plain(text: str, values: Sequence[Value]) -> list[Token]:
    """Words and marks; a word that has a value's begin or end inside is cut there."""
    cuts = sorted({place for value in values for place in (value.start, value.end)})
    plain: list[Token] = []
    at = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        while at < len(cuts) and cuts[at] <= start:
            at += 1
        bounds = [start]
        ahead = at
        while ahead < len(cuts) and cuts[ahead] < end:
            bounds.append(cuts[ahead])
            ahead += 1
        for first, last in pairwise([*bounds, end]):
            for piece in _TOKEN.finditer(text, first, last) if len(bounds) > 1 else (match,):
                word = piece.group()
                plain.append(Token(word, fold(word), piece.start(), "word" if word[0].isalnum() or word[0] == "_" else "mark"))
    return plain


def _tokens(text: str, patterns: Sequence[Pattern], kinds: Sequence[str]) -> list[Token]:
    found = list(split_minutes(read(text)))
    plain = _plain(text, found)
    taken = {
        place: match
        for place, match in _places(plain, patterns).items()
        if kinds[match[0]] != "echo" or not any(value.start < plain[place].start < value.end for value in found)
    }
    values = {value.start: value for value in found}
    merged: list[Token] = []
    index, skip_to = 0, -1
    while index < len(plain):
        token = plain[index]
        if index in taken:
            ref, end = taken[index]
            last = plain[end - 1]
            stop = last.start + len(last.text)
            merged.append(Token(text[token.start : stop], "", token.start, kinds[ref], None, ref))
            index, skip_to = end, stop
            continue
        value = values.get(token.start)
        if value is not None and token.start >= skip_to and not _is_taken(plain, index, value.end, taken):
            merged.append(
                Token(text[value.start : value.end], text[value.start : value.end].casefold(), value.start, "value", value)
            )
            skip_to = value.end
        elif token.start >= skip_to:
            merged.append(token)
        index += 1
    return merged


def _is_taken(plain: list[Token], index: int, end: int, taken: dict[int, tuple[int, int]]) -> bool:
    """Whether a reference begins inside of a value."""
    while index < len(plain) and plain[index].start < end:
        if index in taken:
            return True
        index += 1
    return False


def _places(tokens: list[Token], patterns: Sequence[Pattern]) -> dict[int, tuple[int, int]]:
    """The references in a line: by the index of their first token, which one it is and where it ends; the longest first."""
    at_word: dict[str, list[int]] = {}
    for place, each in enumerate(patterns):
        if each.words:
            at_word.setdefault(each.words[0], []).append(place)
    for places in at_word.values():
        places.sort(key=lambda place: -len(patterns[place].words))
    taken: dict[int, tuple[int, int]] = {}
    index = 0
    while index < len(tokens):
        end = index + 1
        norm = tokens[index].norm
        for place in at_word.get(norm, ()) or _inflected(at_word, norm, patterns):
            stop = _match(tokens, index, patterns[place])
            if stop:
                taken[index] = (place, stop)
                end = stop
                break
        index = end
    return taken


def _inflected(at_word: dict[str, list[int]], norm: str, patterns: Sequence[Pattern]) -> list[int]:
    """The patterns of one word, such as "complete", that a word is the participle of."""
    if "-" in norm:  # "cash-on-delivery" is three words
        return [place for place in at_word.get(norm.partition("-")[0], ()) if list(patterns[place].words) == norm.split("-")]
    return [place for place in at_word.get(norm[:-1], ()) if norm.endswith("ed") and len(patterns[place].words) == 1]


def _match(tokens: list[Token], index: int, wanted: Pattern) -> int:
    """The end of a reference that begins at `index`, 0 when it does not."""
    place = index + 1
    if "-" in tokens[index].norm and tokens[index].norm != wanted.words[0]:
        return place
    for before, word in enumerate(wanted.words[1:]):
        fillers = _MOST_LOOSE if wanted.loose[before] else 0
        while place < len(tokens) and tokens[place].norm != word and STREETS.get(tokens[place].norm) != word:
            norm = tokens[place].norm
            if tokens[place].kind == "mark" and norm in _TIES:
                place += 1
            elif fillers and (
                norm in _LOOSE or (norm == "or" and wanted.loose[before] == "/") or (norm in FIELDS and norm not in FUNCTION)
            ):
                fillers -= 1
                place += 1
            else:
                return 0
        if place >= len(tokens):
            return 0
        place += 1
    if wanted.last and place < len(tokens) and tokens[place].norm == wanted.last:
        place += 1
    return place
