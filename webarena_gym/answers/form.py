"""The form of an answer: what a task tells about it, and what is taken off a reply before its value is compared.

An answer is the value alone, or an explanation whose last line is "Answer: " and the value. Explanations are not read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webarena_gym.answers.values import read

TYPES = {
    "money": "an amount of money, like $1,234.50",
    "number": "a number",
    "date": "a date, like March 5, 2023",
    "month": "a month of a year, like March 2023",
    "time": "a time of day, like 14:30",
    "hours": "opening hours, like 09:00-17:00",
    "duration": "a duration, like 1h 25min",
    "distance": "a distance, like 1.2 km",
    "percent": "a percentage, like 12%",
    "phone": "a phone number",
    "email": "an e-mail address",
    "url": "an address on the web",
    "code": "a number or code, character by character",
    "text": "the text alone, as the page shows it",
    "yes or no": '"yes" or "no"',
}
"""The types of one value, each with its description for people."""

UNITS = {"km": ("distance", 1000.0), "m": ("distance", 1.0), "mi": ("distance", 1609.344), "s": ("duration", 1.0), "min": ("duration", 60.0),
         "h": ("duration", 3600.0), "d": ("duration", 86400.0), "w": ("duration", 604800.0), "y": ("duration", 31536000.0)}  # fmt: skip
"""The units that a bare number can have, each with its type and its size in metres or seconds."""


@dataclass(frozen=True)
class Form:
    """The form of a task's answer, as the key `asked` of its `eval` block states it.

    `type` is one of TYPES, "list of " and one, or "record" for values of several types; empty where it is read off the reference.
    `ordered` says that the parts come in the reference's order, or with `labels`: the words that may name each part. `unit` is
    that of a bare number. `about` are names that an answer may mention beside those of the goal. `yes` and `no` are phrases for both.
    """

    type: str = ""
    ordered: bool = False
    unit: str = ""
    labels: tuple[tuple[str, ...], ...] = ()
    about: tuple[str, ...] = ()
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Return a sentence for an agent: how the answer is to be given.

        >>> Form("list of money", ordered=True).in_words()
        'Answer with a list, in order, separated as the goal says or by semicolons; each item is an amount of money, like $1,234.50.'
        """
        base = self.type.removeprefix("list of ")
        told = TYPES.get(base, "the value alone") + (f", in {self.unit} unless it has its unit" if self.unit else "")
        if self.type == "record":
            return "Answer in the form that the goal states, or with the values alone, separated by semicolons."
        if base != self.type:
            return f"Answer with a list{', in order' if self.ordered else ''}, separated as the goal says or by semicolons; each item is {told}."
        return f"Answer with {told}."


def read_form(record: Any) -> Form:
    """Return the form that a task's `eval` states. Raises ValueError for what is not known."""
    if not isinstance(record, Mapping):
        raise ValueError(f"expected an object, got {record!r}")  # noqa: TRY004 - all that is wrong in a record is one kind of error
    known = Form.__dataclass_fields__
    values: dict[str, Any] = {}
    for key, value in record.items():
        if key not in known:
            raise ValueError(f"there is no {key!r}; expected some of {', '.join(known)}")
        if key in ("about", "yes", "no") and not _are_texts(value):
            raise ValueError(f"{key} is {value!r}; expected a list of texts")
        if key == "labels" and not (isinstance(value, list | tuple) and all(map(_are_texts, value))):
            raise ValueError(f"labels is {value!r}; expected a list of lists of texts")
        if key == "ordered" and not isinstance(value, bool):
            raise ValueError(f"ordered is {value!r}; expected true or false")
        if key == "unit" and (not isinstance(value, str) or (value and value not in UNITS)):
            raise ValueError(f"unit is {value!r}; expected one of {', '.join(UNITS)}")
        if key == "type" and (
            not isinstance(value, str) or (value not in ("", "record") and value.removeprefix("list of ") not in TYPES)
        ):
            raise ValueError(f"type is {value!r}; expected record, or one of {', '.join(TYPES)}, or a list of one of these")
        values[key] = tuple(map(tuple, value)) if key == "labels" else tuple(value) if isinstance(value, list) else value
    return Form(**values)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


_TAIL = 20_000  # characters: a marked answer is looked for in the end of a text, however long it is
_ANSWER = re.compile(
    r"^[ \t>#*_`-]{0,12}(?:(?:so|thus|therefore|hence),? )?(?:(?:my|the|your|final|short|correct) ){0,3}answer(?: is)?[*_`]{0,3}[ \t]{0,4}[:=][*_`]{0,3}",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"^#{1,6} (?:final )?answer[ \t]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_BOXED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}]*)\}{1,2}|<answer>([^<]*)</answer>", re.IGNORECASE)
_FENCE = re.compile(r"\A```[a-z]{0,10}\n(.*)\n?```\Z", re.DOTALL)
_PAIRS = (("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"))  # fmt: skip
_POLITE_START = re.compile(
    r"\A(?:(?:sure|certainly|ok|okay|hi|hello|great|done)[!,.] )?(?:here (?:it is|is (?:the|your) answer|you go|you are)[:!.] ?)?", re.IGNORECASE
)  # fmt: skip
_POLITE_END = re.compile(
    r"\s(?:(?:please )?let me know if [^.!?\n]{1,80}|(?:i )?hope (?:this|that|it) helps|is there anything else [^.!?\n]{1,60}|thanks?(?: you)?)[.!?]{0,2}\Z",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,300}\)")
_MARKUP = re.compile(r"\*\*|`")


def unwrap(answer: str) -> str:
    r"""Return the value of an answer as text, without markup and politeness; only what is behind an "Answer:" counts.

    Raises ValueError for several different marked answers.

    >>> unwrap("I have added both orders up.\n**Answer:** `$12.50`")
    '$12.50'
    """
    text = answer.strip()[-_TAIL:]
    boxed = [(match[1] if match[2] is None else match[2]).strip() for match in _BOXED.finditer(text)]
    marks = [*_ANSWER.finditer(text), *_HEADING.finditer(text)]
    if boxed:
        end = [match.end() for match in _BOXED.finditer(text)][-1]
        if text[end:].strip(" .$*\\)]\n\t"):
            raise ValueError("something stands behind the marked answer")
        if len({each.casefold() for each in boxed}) > 1:
            raise ValueError("several answers are marked")
        text = boxed[-1]
    elif marks:
        ends = sorted((match.start(), match.end()) for match in marks)
        bodies = [
            text[end : ends[place + 1][0] if place + 1 < len(ends) else len(text)].strip(" \t\n*_`.")
            for place, (_, end) in enumerate(ends)
        ]
        if len({each.casefold() for each in bodies}) > 1:
            raise ValueError("several answers are marked")
        is_bold = set("*_`") & set(text[ends[-1][0] : ends[-1][1]])
        text = text[ends[-1][1] :].strip().rstrip("".join(is_bold))
    else:
        text = _POLITE_END.sub("", _POLITE_START.sub("", text))
    for _ in range(4):
        text = text.strip()
        fenced = _FENCE.match(text)
        if fenced:
            text = fenced[1]
            continue
        for opening, closing in _PAIRS:
            inner = text[len(opening) : len(text) - len(closing)]
            if (
                text.startswith(opening)
                and text.endswith(closing)
                and len(text) > len(opening) + len(closing)
                and closing not in inner
            ):
                text = inner
                break
        else:
            break
    return _MARKUP.sub("", _LINK.sub(r"\1", text)).replace("\\$", "$").strip()


REFUSED = frozenset([
    "not", "no", "never", "nor", "neither", "none", "nobody", "nothing", "or", "but", "except", "excluding", "without",
    "than", "either", "else", "unless", "if", "whether", "although", "though", "however", "instead", "rather", "maybe",
    "think", "guess", "believe", "suppose", "assume", "used", "perhaps", "possibly", "probably", "likely", "approximately",
    "roughly", "around", "almost", "nearly", "wrong", "false", "incorrect", "outdated", "untrue", "contrary", "hundred",
    "thousand", "million", "billion", "dozen", "half", "twice", "double", "percent", "other", "others", "another",
])  # fmt: skip
"""Words that leave an answer open or turn it round, wherever they stand."""

_LONGEST = 20_000  # characters of JSON or of a table
_RULE = re.compile(r"[ |:+-]{3,}")
_FIELD = re.compile(r"(?:[-*•] +)?([^\W\d][^:|\n]{0,40}?) ?: +(\S[^\n]*)")
_UNIT_KEYS = frozenset([
    "km", "kilometres", "kilometers", "m", "metres", "meters", "miles", "minutes", "min", "hours", "days", "seconds", "usd",
    "dollars",
])  # fmt: skip
_KEY = re.compile(r"[A-Z]{2,5}|[a-z](?:[A-Z_ ]?[a-z])*")  # other labels are read, for they may be values
_ANSWER_KEYS = ("answer", "final answer", "result", "value")
_DEEPEST = 4


@dataclass(frozen=True)
class Unfolding:
    """Text of an answer that is an object or a table.

    Of an object counts what stands under "answer"; else its values, without those that repeat the goal. A label is left out where
    the stems of all its words are `known`; others are read, for they may be values or say of what the value is. With `keeps_labels` all stay.
    """

    reference: str
    intent: str
    known: frozenset[str]
    neighbours: frozenset[tuple[str, str]]  # words of the goal that stand side by side
    keeps_labels: bool
    is_value: bool

    def text(self, answer: str) -> str:
        """Return an answer in JSON, as a Markdown table or as lines of labels and values as text, one item a line; others as they are."""
        if len(answer) > _LONGEST:
            return answer
        try:
            if answer[:1] in ("{", "["):
                return "\n".join(self._rows(json.loads(answer, object_pairs_hook=_unique), 0))
            return "\n".join(self._rows(_record(answer, 1 if self.is_value else 2), 0))
        except (ValueError, RecursionError):
            return answer

    def _rows(self, value: Any, depth: int) -> list[str]:
        if depth > _DEEPEST:
            raise ValueError("too deep")
        if value is None or isinstance(value, bool):
            return ["N/A" if value is None else "yes" if value else "no"]
        if isinstance(value, str | int | float):
            return [str(value)]
        if isinstance(value, Sequence):
            value = _without_numbering(value)
            return ["; ".join(self._rows(each, depth + 1)) for each in value]
        if {"value", "unit"} <= value.keys():
            return [f"{value['value']} {value['unit']}"]
        if any(not REFUSED.isdisjoint(re.findall("[a-z]+", key.lower())) for key in value):
            raise ValueError("a label turns the answer round")
        marked = [each for key, each in value.items() if key.lower().replace("_", " ") in _ANSWER_KEYS and each is not None]
        if marked:
            return self._rows(marked[0], depth + 1)
        return [row for key, each in value.items() for row in self._field(key, each, depth, is_alone=len(value) == 1)]

    def _field(self, key: str, value: Any, depth: int, *, is_alone: bool) -> list[str]:
        is_polar = self.reference.strip(". ").lower() in ("yes", "no")
        if not is_alone and (value is None or (isinstance(value, bool) and not is_polar)):
            return []
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key).replace("_", " ")
        label = name.lower()
        rows = self._rows(value, depth + 1)
        if type(value) in (int, float) and label.rpartition(" ")[2] in _UNIT_KEYS:
            rows = [f"{value} {label.rpartition(' ')[2]}"]
        words = label.split()
        is_known = all(stem(word) in self.known or word in _UNIT_KEYS for word in words)
        is_named = (
            not is_alone
            and len(rows) == 1
            and bool(rows[0].strip())
            and rows[0] in self.intent
            and rows[0] not in self.reference
        )
        if is_named and _KEY.fullmatch(key) and " or " not in self.intent:
            parts = rows[0].casefold().split()
            sides, is_code = {parts[0], parts[-1]}, len(parts) == 1 and any(map(str.isdigit, rows[0]))
            is_beside = any(one in sides and stem(other) in map(stem, words) for one, other in self.neighbours)
            is_other = self.is_value and _kinds(rows[0]).isdisjoint(_kinds(self.reference))
            if is_beside or ((is_other or is_known) and not is_code):
                return []
        if self.keeps_labels or is_polar or not _KEY.fullmatch(key) or not is_known:
            return [f"{name}: {'; '.join(rows)}"]
        return rows


def _kinds(text: str) -> set[str]:
    return {value.kind for value in read(text)}


def _without_numbering(rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows without a field that counts them: 1, 2, 3."""
    if len(rows) < 2 or not all(isinstance(row, Mapping) and len(row) > 1 for row in rows):
        return rows
    counts = [key for key in rows[0] if [str(row.get(key)) for row in rows] == [str(number + 1) for number in range(len(rows))]]
    return [{key: value for key, value in row.items() if key not in counts[:1]} for row in rows]


def _lowered(label: str) -> str:
    """Return a label of a table or of a line without its capital: "Grand total" as "grand total"."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as an object. Raises ValueError where a key stands twice."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _record(text: str, least: int) -> Any:
    """Return lines of labels with values, `least` or more, as an object, a Markdown table as a list of them; else raise ValueError."""
    lines = [line for line in text.splitlines() if line.strip()]
    fields = [match for match in map(_FIELD.fullmatch, lines) if match]
    if len(fields) == len(lines) >= least:
        return _unique([(_lowered(match[1]), match[2]) for match in fields])
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    if len(lines) > 2 and _RULE.fullmatch(lines[1]) and "|" in lines[1] and len({*map(len, cells)}) == 1:
        return [_unique(list(zip(map(_lowered, cells[0]), row, strict=True))) for row in cells[2:]]
    raise ValueError("no record")


def stem(word: str) -> str:
    """Return a word without its ending, so that its forms are equal."""
    for ending in ("ence", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending).rstrip("e")
    return word
