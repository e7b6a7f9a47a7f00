"""References as what they are: values with a type, texts, and lists and records of these."""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webarena_gym.answers.goal import Goal
from webarena_gym.answers.sentences import Pattern, pattern
from webarena_gym.answers.values import Amount, Value, in_digits, read, split_minutes

_MULTIPLE = {"km": ("distance", 1000.0), "m": ("distance", 1.0), "mi": ("distance", 1609.344), "min": ("duration", 60.0), "h": ("duration", 3600.0),
             "d": ("duration", 86400.0), "w": ("duration", 604800.0), "s": ("duration", 1.0), "y": ("duration", 31536000.0)}  # fmt: skip
_HOURS = re.compile(r"(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})")
_LABEL = re.compile(r"([^:;\n]{1,80}):\s+(\S.*)")
_LONGEST_NUMBER = 9  # digits; what is longer, such as the number of a parcel, is a code


@dataclass(frozen=True)
class Asked:
    """What a task says about its answer beside the reference.

    `about` are the names that a right answer may mention beside those in the goal and the reference; with it, even an empty one,
    every other name is a contradiction. `ordered` says that the parts of a list must come in the reference's order, or stand with
    their labels. `labels` are the words by which an answer may tell the parts apart: one list for each label of the reference,
    or each part of an ordered one. `yes` and `no` are the ways to say what a goal of yes or no asks. `unit` is that of a bare
    number. `slots` are the names and texts of what the task was drawn with, which tell the asked thing from others of its kind.
    """

    about: tuple[str, ...] | None = None
    ordered: bool = False
    labels: tuple[tuple[str, ...], ...] = ()
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    unit: str = ""
    slots: tuple[tuple[str, str], ...] = ()


class Part(NamedTuple):
    """One part of a reference: a typed value, or a text with its pattern (`value` is None).

    `scale` is what a bare number is multiplied with to be such a value, 0 where it needs its unit.
    """

    source: str
    value: Value | None = None
    pattern: Pattern = Pattern((), ())
    scale: float = 0.0
    label: Pattern = Pattern((), ())

    @property
    def kind(self) -> str:
        return self.value.kind if self.value else "text"


@dataclass(frozen=True)
class Reference:
    """A reference as its parts. `kind` is "na", "yes", "no", "parts" or "pairs"; in the last each part's value has a label."""

    source: str
    kind: str
    parts: list[Part] = field(default_factory=list)
    ordered: bool = False


def read_asked(record: Any) -> Asked:
    """Read what a task's `eval` says about its answer. Raises ValueError for what is not known."""
    if not isinstance(record, dict):
        raise ValueError(f"expected an object, got {record!r}")  # noqa: TRY004 - all that is wrong in a record is one kind of error
    texts: dict[str, tuple[str, ...]] = {}
    known = ("about", "ordered", "labels", "yes", "no", "unit", "slots")
    for key, value in record.items():
        if key not in known:
            raise ValueError(f"there is no {key!r}; expected some of {', '.join(known)}")
        if key in ("about", "yes", "no") and not (
            isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
        ):
            raise ValueError(f"{key} is {value!r}; expected a list of texts")
        if key in ("about", "yes", "no"):
            texts[key] = tuple(value)
    ordered, unit, labels = record.get("ordered", False), record.get("unit", ""), record.get("labels", ())
    if not isinstance(ordered, bool):
        raise ValueError(f"ordered is {ordered!r}; expected true or false")  # noqa: TRY004
    if not isinstance(unit, str) or (unit and unit not in _MULTIPLE):
        raise ValueError(f"unit is {unit!r}; expected one of {', '.join(_MULTIPLE)}")
    if not isinstance(labels, list | tuple) or not all(
        isinstance(each, list | tuple) and all(isinstance(word, str) for word in each) for each in labels
    ):
        raise ValueError(f"labels is {labels!r}; expected a list of lists of texts")
    slots = record.get("slots", {})
    if not isinstance(slots, dict) or not all(isinstance(text, str) for pair in slots.items() for text in pair):
        raise ValueError(f"slots is {slots!r}; expected an object of texts")
    return Asked(
        texts.get("about"),
        ordered,
        tuple(map(tuple, labels)),
        texts.get("yes", ()),
        texts.get("no", ()),
        unit,
        tuple(slots.items()),
    )


def readings(text: str, goal: Goal, asked: Asked) -> list[Reference]:
    """Return the ways to read a reference: one with commas is one text, or a list."""
    read = read_reference(text, goal, asked)
    if (
        read.kind == "parts"
        and len(read.parts) > 1
        and ";" not in text
        and not read.ordered
        and all(part.value is None for part in read.parts)
    ):
        return [Reference(read.source, "parts", [Part(read.source, None, pattern(read.source))]), read]
    return [read]


def read_reference(text: str, goal: Goal, asked: Asked) -> Reference:
    """Return what a reference says, as an answer to a goal."""
    text = text.strip()
    low = text.strip("\"'. ").lower()
    if low in ("n/a", "na"):
        return Reference(text, "na")
    if low in ("yes", "no"):
        return Reference(text, low)
    items = [item.strip() for item in re.split(r"[;\n]", text) if item.strip()]
    if len(items) > 1 or (":" in text and not _HOURS.search(text)):
        pairs = [_pair(item, goal) for item in items]
        if all(pairs):
            return Reference(text, "pairs", [pair for pair in pairs if pair], asked.ordered)
    if len(items) == 1:
        chain = [item.strip() for item in text.split(" > ")]
        if len(chain) > 1:
            return Reference(text, "parts", [_part(item, goal, asked) for item in chain], ordered=True)
        whole = _part(text, goal, asked)
        if whole.value is not None or not re.search(r",\s", text):
            return Reference(text, "parts", [whole])
        items = [item.strip() for item in re.split(r",\s+(?:and\s+)?", text) if item.strip()]
        parts = [_part(item, goal, asked) for item in items]
        if all(part.kind == "number" for part in parts) and len(parts) == 2:
            return Reference(text, "parts", parts, ordered=True)
        return Reference(text, "parts", parts, asked.ordered)
    return Reference(text, "parts", [_part(item, goal, asked) for item in items], asked.ordered)


def _pair(text: str, goal: Goal) -> Part | None:
    """A label with its value, such as "walking: 30 min"."""
    match = _LABEL.fullmatch(text)
    if not match:
        return None
    part = _part(match[2], goal, Asked())
    return part._replace(source=text, label=pattern(match[1])) if part.value else None


def _part(text: str, goal: Goal, asked: Asked) -> Part:
    value = _typed(text, asked.unit or goal.unit)
    if value:
        kind, amount, scale = value
        return Part(text, Value(kind, amount, 0, len(text), "usd" if kind == "money" else ""), scale=scale)
    return Part(text, None, pattern(text))


def _typed(text: str, unit: str) -> tuple[str, Amount, float] | None:
    """The kind and value of a text that is one value and nothing else, and what a bare number is multiplied with."""
    hours = _HOURS.fullmatch(text)
    if hours:
        first, second = (value.amount for value in read(f"{hours[1]} {hours[2]}"))
        return "hours", (float(first), float(second)), 0.0  # type: ignore[arg-type]
    body = text.removeprefix("#").rstrip(".") if re.fullmatch(r"#?\d+\.?", text) else text
    if re.fullmatch(r"\d+", body) and (len(body) > _LONGEST_NUMBER or (body[0] == "0" and len(body) > 1)):
        return "code", body.lstrip("0") if len(body) <= _LONGEST_NUMBER else body, 0.0
    body = in_digits(body)
    found = list(split_minutes(read(body)))
    if len(found) != 1 or found[0].start != 0 or found[0].end != len(body):
        return None
    kind, amount = found[0].kind, found[0].amount
    if kind == "number" and unit in _MULTIPLE:
        kind, scale = _MULTIPLE[unit]
        return kind, round(float(amount) * scale, 3), scale  # type: ignore[arg-type]
    if kind == "number" and unit == "usd":
        kind = "money"
    return kind, amount, float(kind == "money")
