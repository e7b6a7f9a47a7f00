"""Goals parsed into words, numbers, names, dates and copyable spans, and features of the overlap of other texts with a goal."""

import re
from calendar import monthrange
from functools import lru_cache
from typing import NamedTuple

from webarena_gym.answers.values import MONTHS

_MONTH = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
_WORD = re.compile(r"\S+")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r'"([^"]+)"')
_PUNCTUATION = ".,;:!?\"'()"
_NAME_PATTERN = r"(?:[A-Z][\w'&./-]*|\d[\w.:/-]*)"
_RUN = re.compile(rf"{_NAME_PATTERN}(?:,? (?:(?:of|of the|and|the|&|x|for) )?{_NAME_PATTERN})*(?:(?<=\d) [a-z]{{1,5}}\b(?!'))?")
_MAX_SPAN_WORDS = 12  # words of a span without quotation marks
_FUNCTION_WORDS = frozenset(
    "a an and as at be by for from has have how i in is it its me my of on or our that the their them "  # noqa: SIM905
    "then this to was what which who will with you your".split()
)
_DATE = re.compile(r"\b([A-Z][a-z]{2,8}) (\d{1,2}),? (\d{4})\b")
_MONTH_YEAR = re.compile(r"\b([A-Z][a-z]{2,8}) (\d{4})\b")
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{2,4})\b")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_SMALL_NUMBERS = {word: number for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}  # noqa: SIM905
_ORDINALS = {word: number for number, word in enumerate("first second third fourth fifth sixth".split(), 1)}  # noqa: SIM905
MONEY = r"\$\d[\d,]*(?:\.\d\d)?"
DURATION = r"\d+h \d+min|\d+ ?min|\d+h"
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_TIME = re.compile(r"(?:(\d+)h ?)?(?:(\d+) ?min)?")
_SHAPES = (
    (MONEY, "money"), (DURATION, "duration"), (r"\d{1,4}", "number"), (r"\d+", "digits"), (r"[\d.,:/ -]+", "figures"), ("(?s).*@.*", "mail"),
    ("(?s).*://.*", "address"), (r"[\d.,]+ k?m", "distance"),
)  # fmt: skip
MATCH_FEATURES = 8
_NO_MATCH_FEATURES = (0.0,) * MATCH_FEATURES


class Span(NamedTuple):
    """A text that may be copied from the goal, or a form derived from a part of the goal, and the words around it."""

    text: str
    form: str  # "quoted", "span", or the name of a derived form such as "first day"
    before: str  # the two words before it
    after: str  # the word after it
    start: int  # index of its first character in the goal


class Goal(NamedTuple):
    """A parsed goal."""

    text: str
    lowercase: str  # the words of `words_of`, joined by spaces, with a space at both ends
    words: frozenset[str]
    names: frozenset[str]  # words that are capitalised within a sentence or contain a digit, in lower case
    quotations: tuple[str, ...]
    numbers: tuple[float, ...]
    months: frozenset[tuple[int, int]]  # (year, month)
    days: frozenset[tuple[int, int, int]]  # (year, month, day)
    spans: tuple[Span, ...]
    ordinal: int  # 2 for "second"; 1 if the goal contains no ordinal
    runs: frozenset[tuple[int, int]]  # (start, end) of sequences of names and numbers
    name_phrases: tuple[str, ...]  # spans that start with a capital letter or a digit, as words of `words_of`


@lru_cache(maxsize=100_000)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without the final "s" of plurals.

    >>> words_of("3 Reviews of O'Neil")
    ('3', 'review', 'of', 'o', 'neil')
    """
    words = _ALPHANUMERIC.findall(text.lower())
    return tuple(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words)


@lru_cache(maxsize=100_000)
def date_of(text: str) -> tuple[int, int, int] | None:
    """Return (year, month, day) of the first date in a text, or None. The day is 0 if the text has only a month and a year.

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
def parse_goal(text: str) -> Goal:
    """Return a goal with its words, names, numbers, dates and spans."""
    tokens = [(match.start(), match.group()) for match in _WORD.finditer(text)]
    names: set[str] = set()
    starts_sentence = True
    for _, token in tokens:
        bare = token.strip(_PUNCTUATION)
        if any(map(str.isdigit, bare)) or (bare[:1].isupper() and not starts_sentence and bare != "I"):
            names.update(words_of(bare))
        starts_sentence = token.endswith((".", "?", "!", ":")) and len(bare) > 1
    numbers = [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)", text)]
    numbers += [float(_SMALL_NUMBERS[word]) for word in _ALPHANUMERIC.findall(text.lower()) if word in _SMALL_NUMBERS]
    spans = [
        Span(match[1], "quoted", *_adjacent_words(text, *match.span()), match.start(1)) for match in _QUOTED.finditer(text)
    ]
    spans += _plain_spans(text, tokens)
    months: set[tuple[int, int]] = set()
    days: set[tuple[int, int, int]] = set()
    for match in _MONTH_YEAR.finditer(text):
        if match[1] in MONTHS:
            month, year = MONTHS.index(match[1]) + 1, int(match[2])
            months.add((year, month))
            adjacent = _adjacent_words(text, *match.span())
            spans.append(Span(f"{month:02}/01/{year}", "first day", *adjacent, match.start()))
            spans.append(Span(f"{month:02}/{monthrange(year, month)[1]}/{year}", "last day", *adjacent, match.start()))
    for pattern in (_DATE, _SLASHED):
        for match in pattern.finditer(text):
            if date := date_of(match.group()):
                year, month, day = date
                days.add(date)
                adjacent = _adjacent_words(text, *match.span())
                spans.append(Span(f"{year}-{month:02}-{day:02}", "iso date", *adjacent, match.start()))
                spans.append(Span(f"{month:02}/{day:02}/{year}", "us date", *adjacent, match.start()))
    unique: dict[tuple[str, int], Span] = {}
    for span in spans:
        unique.setdefault((span.text, span.start), span)
    lowercase = f" {' '.join(words_of(text))} "
    return Goal(
        text, lowercase, frozenset(words_of(text)), frozenset(names), tuple(_QUOTED.findall(text)), tuple(dict.fromkeys(numbers)),
        frozenset(months), frozenset(days), tuple(unique.values()),
        max((_ORDINALS.get(word, 1) for word in words_of(text)), default=1),
        frozenset((match.start(), match.start() + len(match.group().rstrip(".,:/-"))) for match in _RUN.finditer(text)),
        tuple(dict.fromkeys(
            " ".join(words_of(span.text)) for span in spans
            if span.form in ("span", "quoted") and len(span.text) > 3 and (span.text[0].isupper() or span.text[0].isdigit())
        )),
    )  # fmt: skip


def _adjacent_words(text: str, start: int, end: int) -> tuple[str, str]:
    before = " ".join(_ALPHANUMERIC.findall(text[max(0, start - 40) : start])[-2:]).lower()
    after = " ".join(_ALPHANUMERIC.findall(text[end : end + 30])[:1]).lower()
    return before, after


def _plain_spans(text: str, tokens: list[tuple[int, str]]) -> list[Span]:
    """Return the spans within a sentence that neither start nor end with a function word, and the text after the last colon.

    `tokens` are the goal's words with their start indices.
    """
    spans: list[Span] = []
    for first, (start, token) in enumerate(tokens):
        lead = len(token) - len(token.lstrip("\"'("))
        if token[lead:].strip(_PUNCTUATION).lower() in _FUNCTION_WORDS and not token[lead : lead + 1].isupper():
            continue
        for last in range(first, min(first + _MAX_SPAN_WORDS, len(tokens))):
            begin, final = tokens[last]
            bare = final.rstrip(_PUNCTUATION)
            if bare.strip(_PUNCTUATION).lower() not in _FUNCTION_WORDS or last == first:
                ends = [begin + len(bare)]
                if bare.endswith("'s"):
                    ends.append(begin + len(bare) - 2)
                if final.endswith((".", ")", "!", "?")):
                    ends.append(begin + len(final.rstrip('"')))
                for end in ends:
                    if end > start + lead:
                        spans += _span_forms(text, start + lead, end, last - first + 1)
            if final.endswith((";", ":")) or (final.endswith((".", "?", "!")) and len(bare) > 2 and "." not in bare):
                break
    colon = text.rfind(": ")
    if colon >= 0:
        spans.append(Span(text[colon + 2 :].strip(), "after colon", *_adjacent_words(text, colon + 2, len(text)), colon + 2))
    return spans


def _span_forms(text: str, start: int, end: int, words: int) -> list[Span]:
    """Return the span from `start` to `end`, which has `words` words, and its derived forms, such as its plural."""
    piece, around = text[start:end], _adjacent_words(text, start, end)
    spans = [Span(piece, "span", *around, start)]
    if words == 1 and "/" in piece and "//" not in piece:
        cut = piece.rfind("/") + 1
        spans.append(Span(piece[cut:], "last part", *around, start + cut))
    if words == 1 and piece.startswith("$"):
        spans.append(Span(piece[1:], "amount", *around, start + 1))
    if words < 3 and piece.islower() and piece[-1:].isalpha():
        spans.append(Span(f"{piece}s", "plural", *around, start))
    if words == 1 and piece[:1].isupper() and piece[1:].islower():
        spans.append(Span(piece.lower(), "lowered", *around, start))
    elif words == 1 and piece.isdecimal():
        spans.append(Span(str(int(piece)), "number", *around, start))
    return spans


@lru_cache(maxsize=50_000)
def shape_of(text: str) -> str:
    """Return the shape of a text, for example "money", "date" or "sentence".

    >>> [shape_of(text) for text in ("$5.20", "14 min", "12", "Ann Lee", "blue")]
    ['money', 'duration', 'number', 'names', 'word']
    """
    if not text:
        return "empty"
    if shape := next((shape for pattern, shape in _SHAPES if re.fullmatch(pattern, text)), ""):
        return shape
    if date_of(text):
        return "date"
    if "\n" in text:
        return "lines"
    tokens = text.split()
    if all(token[:1].isupper() for token in tokens):
        return "name" if len(tokens) == 1 else "names"
    if len(tokens) == 1:
        return "word"
    return "phrase" if len(tokens) < 6 else "sentence"


@lru_cache(maxsize=50_000)
def amount_of(text: str) -> float | None:
    """Return the amount in a text: minutes of a duration, metres of a distance, or the first number. Return None without a number.

    >>> amount_of("1h 5min"), amount_of("1.2 km"), amount_of("$1,200.50"), amount_of("none")
    (65.0, 1200.0, 1200.5, None)
    """
    if match := re.fullmatch(DURATION, text.strip()):
        parts = _TIME.fullmatch(match.group())
        if parts:
            return 60.0 * int(parts[1] or 0) + int(parts[2] or 0)
    match = _NUMBER.search(text)
    if not match:
        return None
    number = float(match.group().replace(",", ""))
    return 1000 * number if text[match.end() :].startswith(" km") else number


def format_like(amount: float, like: str) -> str:
    """Return an amount in the format of another text: money, duration or number.

    >>> format_like(1234.5, "$3.00"), format_like(65, "4 min"), format_like(7, "3")
    ('$1,234.50', '1h 5min', '7')
    """
    if like.startswith("$"):
        return f"${amount:,.2f}"
    if re.fullmatch(DURATION, like):
        hours, minutes = divmod(round(amount), 60)
        return f"{hours}h {minutes}min" if hours else f"{minutes} min"
    return f"{round(amount):,}" if "," in like else str(round(amount)) if amount == round(amount) else f"{amount:.2f}"


def match_features(goal: Goal, text: str) -> tuple[float, ...]:
    """Return features of the overlap between the words of a text and a goal, as `MATCH_FEATURES` numbers from 0 to 1.

    They are: share of the text's words in the goal, share of the goal's names in the text, whether the text is a phrase of the goal,
    whether this phrase has several words, number of names in the text (4 or more are 1), Dice coefficient of the words, whether the text
    is a quotation of the goal, and whether it contains a name phrase of the goal.
    """
    words = words_of(text)
    if goal.words.isdisjoint(words):
        return _NO_MATCH_FEATURES
    distinct = set(words)
    common = distinct & goal.words
    matched_names = distinct & goal.names
    phrase = f" {' '.join(words)} "
    is_contained = phrase in goal.lowercase
    return (
        len(common) / len(distinct), len(matched_names) / max(len(goal.names), 1), float(is_contained), float(is_contained and len(words) > 1),
        min(len(matched_names), 4) / 4, 2 * len(common) / (len(distinct) + len(goal.words)), float(text in goal.quotations),
        float(bool(matched_names) and any(f" {name} " in phrase for name in goal.name_phrases)),
    )  # fmt: skip


def context_words(goal: Goal, text: str) -> str:
    """Return the goal's two words before and the word after a text as marked tokens, or an empty string if the goal lacks the text."""
    plain = " ".join(words_of(text))
    at = goal.lowercase.find(f" {plain} ") if plain else -1
    if at < 0:
        return ""
    before, after = goal.lowercase[:at].split()[-2:], goal.lowercase[at + len(plain) + 1 :].split()[:1]
    return " ".join(["#before_" + word for word in before] + ["#after_" + word for word in after])


def name_context(goal: Goal, line: str) -> str:
    """Return the context words (see `context_words`) of the goal's longest name phrase that a line contains."""
    plain = f" {' '.join(words_of(line))} "
    name = max((name for name in goal.name_phrases if f" {name} " in plain), key=len, default="")
    return context_words(goal, name)
