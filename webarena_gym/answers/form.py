"""The form of an answer: what a task states about it, and the sentence that an agent reads about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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

UNIT_WORDS = {"kilometer": "km", "kilometre": "km", "km": "km", "meter": "m", "metre": "m", "mile": "mi", "minute": "min", "hour": "h",
              "day": "d", "week": "w", "second": "s", "dollar": "usd"}  # fmt: skip
"""The units of UNITS, and dollars, as goals name them in the singular."""


@dataclass(frozen=True)
class Form:
    """The form of a task's answer, as the key `asked` of its `eval` block states it.

    Attributes:
        type: one of TYPES, "list of " and one, or "record" for values of several types; "" reads it from the reference.
        ordered: True if the parts must have the reference's order, or with `labels` be named by them.
        unit: unit of a number without one.
        labels: the words that may name each part.
        about: names that a sentence may mention besides those of the goal.
        yes: phrases that mean yes.
        no: phrases that mean no.

    """

    type: str = ""
    ordered: bool = False
    unit: str = ""
    labels: tuple[tuple[str, ...], ...] = ()
    about: tuple[str, ...] = ()
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Return the instruction on the form of the answer, a sentence for agents.

        >>> Form("list of money", ordered=True).in_words()
        'Answer with a list, in order, separated as the goal says or by semicolons; each item is an amount of money, like $1,234.50.'
        """
        base = self.type.removeprefix("list of ")
        item = TYPES.get(base, "the value alone") + (f", in {self.unit} unless it has its unit" if self.unit else "")
        if self.type == "record":
            return "Answer in the form that the goal states, or with the values alone, separated by semicolons."
        if base != self.type:
            return f"Answer with a list{', in order' if self.ordered else ''}, separated as the goal says or by semicolons; each item is {item}."
        return f"Answer with {item}."


def read_form(record: object) -> Form:
    """Return the form in a task's `eval` block. Raises ValueError for unknown keys and invalid values."""
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


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
