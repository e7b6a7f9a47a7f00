"""Goals read as words, numbers, names and dates, with the spans that may be copied out of them."""

import re
from calendar import monthrange
from functools import lru_cache
from typing import NamedTuple

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
_WORD = re.compile(r"\S+")
_PLAIN = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r'"([^"]+)"')
_EDGE = ".,;:!?\"'()"
_NAMED = r"(?:[A-Z][\w'&./-]*|\d[\w.:/-]*)"
_RUN = re.compile(rf"{_NAMED}(?:,? (?:(?:of|of the|and|the|&|x|for) )?{_NAMED})*(?:(?<=\d) [a-z]{{1,5}}\b(?!'))?")
_LONGEST = 12  # words of a span that is no quotation
_SMALL = frozenset(
    [
        "a",
        "an",
        "and",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "that",
        "the",
        "their",
        "them",
        "then",
        "this",
        "to",
        "was",
        "what",
        "which",
        "who",
        "will",
        "with",
        "you",
        "your",
    ]
)
_DATE = re.compile(r"\b([A-Z][a-z]{2,8}) (\d{1,2}),? (\d{4})\b")
_MONTH_YEAR = re.compile(r"\b([A-Z][a-z]{2,8}) (\d{4})\b")
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{2,4})\b")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_SMALL_NUMBERS = {word: number for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}  # noqa: SIM905


_ORDINALS = {word: number for number, word in enumerate("first second third fourth fifth sixth".split(), 1)}  # noqa: SIM905


class Span(NamedTuple):
    """A text that may be copied from the goal, the words around it, and how it was made of them."""

    text: str
    way: str  # quoted, span, or the name of a form such as "first day"
    before: str  # the two words before it
    after: str  # the word after it
    place: int  # of its first character


class Goal(NamedTuple):
    """A goal as it was said, and what it holds."""

    text: str
    lowered: str  # with a blank at both ends
    words: frozenset[str]
    names: frozenset[str]  # lowered words that are capitalised within a sentence, or hold a digit
    quotations: tuple[str, ...]
    numbers: tuple[float, ...]
    months: frozenset[tuple[int, int]]  # years and months
    days: frozenset[tuple[int, int, int]]
    spans: tuple[Span, ...]
    ordinal: int  # 2 for "second", 1 where none is named
    runs: frozenset[tuple[int, int]]  # where names and numbers that stand together begin and end
    names_as_said: tuple[str, ...]  # the plain words of spans that begin with a capital letter or a digit


@lru_cache(maxsize=100_000)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, the "s" of plurals left out.

    >>> words_of("3 Reviews of O'Neil")
    ('3', 'review', 'of', 'o', 'neil')
    """
    found = _PLAIN.findall(text.lower())
    return tuple(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found)


@lru_cache(maxsize=100_000)
def date_of(text: str) -> tuple[int, int, int] | None:
    """Return year, month and day of the first date in a text, day 0 for a month alone.

    >>> date_of("Nov 30, 2023, 8:20:54 AM"), date_of("12/20/22"), date_of("July 2022")
    ((2023, 11, 30), (2022, 12, 20), (2022, 7, 0))
    """
    if (match := _DATE.search(text)) and (month := _MONTH.get(match[1][:3].lower())):
        return int(match[3]), month, int(match[2])
    if match := _SLASHED.search(text):
        year = int(match[3])
        return year + 2000 if year < 100 else year, int(match[1]), int(match[2])
    if match := _ISO.search(text):
        return int(match[1]), int(match[2]), int(match[3])
    if (match := _MONTH_YEAR.search(text)) and (month := _MONTH.get(match[1][:3].lower())):
        return int(match[2]), month, 0
    return None


@lru_cache(maxsize=4_096)
def read_goal(text: str) -> Goal:
    """Return what a goal holds."""
    tokens = [(match.start(), match.group()) for match in _WORD.finditer(text)]
    names: set[str] = set()
    starts_sentence = True
    for _, token in tokens:
        bare = token.strip(_EDGE)
        if any(map(str.isdigit, bare)) or (bare[:1].isupper() and not starts_sentence and bare != "I"):
            names.update(words_of(bare))
        starts_sentence = token.endswith((".", "?", "!", ":")) and len(bare) > 1
    quotations = tuple(_QUOTED.findall(text))
    numbers = [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)", text)]
    numbers += [float(_SMALL_NUMBERS[word]) for word in _PLAIN.findall(text.lower()) if word in _SMALL_NUMBERS]
    spans = [*_quoted_spans(text), *_plain_spans(text, tokens)]
    months = {(int(match[2]), _MONTH[match[1][:3].lower()]) for match in _MONTH_YEAR.finditer(text) if match[1] in MONTHS}
    days = {found for match in _DATE.finditer(text) if (found := date_of(match.group()))}
    days |= {found for match in _SLASHED.finditer(text) if (found := date_of(match.group()))}
    spans += _made_of_dates(text)
    unique: dict[tuple[str, int], Span] = {}
    for span in spans:
        unique.setdefault((span.text, span.place), span)
    lowered = f" {' '.join(words_of(text))} "
    return Goal(
        text, lowered, frozenset(words_of(text)), frozenset(names), quotations, tuple(dict.fromkeys(numbers)),
        frozenset(months), frozenset(days), tuple(unique.values()),
        max((_ORDINALS.get(word, 1) for word in words_of(text)), default=1),
        frozenset((match.start(), match.start() + len(match.group().rstrip(".,:/-"))) for match in _RUN.finditer(text)),
        tuple(dict.fromkeys(
            " ".join(words_of(span.text)) for span in spans
            if span.way in ("span", "quoted") and len(span.text) > 3 and (span.text[0].isupper() or span.text[0].isdigit())
        )),
    )  # fmt: skip


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    before = " ".join(_PLAIN.findall(text[max(0, start - 40) : start])[-2:]).lower()
    after = " ".join(_PLAIN.findall(text[end : end + 30])[:1]).lower()
    return before, after


def _quoted_spans(text: str) -> list[Span]:
    return [Span(match[1], "quoted", *_around(text, *match.span()), match.start(1)) for match in _QUOTED.finditer(text)]


def _plain_spans(text: str, tokens: list[tuple[int, str]]) -> list[Span]:
    """Return runs of words within a sentence that neither begin nor end with a small word, and what stands after the last colon."""
    spans: list[Span] = []
    for first, (start, token) in enumerate(tokens):
        lead = len(token) - len(token.lstrip("\"'("))
        if token[lead:].strip(_EDGE).lower() in _SMALL and not token[lead : lead + 1].isupper():
            continue
        for last in range(first, min(first + _LONGEST, len(tokens))):
            begin, final = tokens[last]
            bare = final.rstrip(_EDGE)
            if bare.strip(_EDGE).lower() not in _SMALL or last == first:
                ends = [begin + len(bare)]
                if bare.endswith("'s"):
                    ends.append(begin + len(bare) - 2)
                if final.endswith((".", ")", "!", "?")):
                    ends.append(begin + len(final.rstrip('"')))
                for end in ends:
                    if end > start + lead:
                        piece = text[start + lead : end]
                        spans.append(Span(piece, "span", *_around(text, start + lead, end), start + lead))
                        if last == first and "/" in piece and "//" not in piece:
                            cut = piece.rfind("/") + 1
                            spans.append(Span(piece[cut:], "last part", *_around(text, start + lead, end), start + lead + cut))
                        if piece.startswith("$") and last == first:
                            spans.append(Span(piece[1:], "amount", *_around(text, start + lead, end), start + lead + 1))
                        if piece.islower() and piece[-1:].isalpha() and last - first < 2:
                            spans.append(Span(f"{piece}s", "plural", *_around(text, start + lead, end), start + lead))
                        if last == first and piece[:1].isupper() and piece[1:].islower():
                            spans.append(Span(piece.lower(), "lowered", *_around(text, start + lead, end), start + lead))
                        elif last == first and piece.isdecimal():
                            spans.append(Span(str(int(piece)), "number", *_around(text, start + lead, end), start + lead))
            if final.endswith((";", ":")) or (final.endswith((".", "?", "!")) and len(bare) > 2 and "." not in bare):
                break
    colon = text.rfind(": ")
    if colon >= 0:
        spans.append(Span(text[colon + 2 :].strip(), "after colon", *_around(text, colon + 2, len(text)), colon + 2))
    return spans


def _made_of_dates(text: str) -> list[Span]:
    spans: list[Span] = []
    for match in _MONTH_YEAR.finditer(text):
        if match[1] in MONTHS:
            month, year = MONTHS.index(match[1]) + 1, int(match[2])
            around = _around(text, *match.span())
            spans.append(Span(f"{month:02}/01/{year}", "first day", *around, match.start()))
            spans.append(Span(f"{month:02}/{monthrange(year, month)[1]}/{year}", "last day", *around, match.start()))
    for pattern in (_DATE, _SLASHED):
        for match in pattern.finditer(text):
            if found := date_of(match.group()):
                year, month, day = found
                around = _around(text, *match.span())
                spans.append(Span(f"{year}-{month:02}-{day:02}", "iso date", *around, match.start()))
                spans.append(Span(f"{month:02}/{day:02}/{year}", "us date", *around, match.start()))
    return spans
