"""Reading what people typed: nothing here trusts its input, and everything wrong becomes a message."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from webarena_gym.sites.kit import Request

_DROPPED = dict.fromkeys(
    [*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000)]
)  # control characters, halves of pairs
_NUMBER = re.compile(r"[0-9]{1,9}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SLASHED_DAY = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")


@dataclass(frozen=True, slots=True)
class Field:
    """One text field of a form."""

    label: str
    required: bool = True
    limit: int = 255

    def complaint(self, value: str) -> str:
        """Return what is wrong with the value, or nothing."""
        if self.required and not value:
            return f"{self.label} can't be blank."
        if len(value) > self.limit:
            return f"{self.label} is too long: {len(value)} characters, {self.limit} at most."
        return ""


def clean(value: str) -> str:
    r"""Return the text without surrounding blanks and control characters, lines ended by one newline.

    >>> clean(" a\r\nb\x00 ")
    'a\nb'
    """
    return tidy(value).strip()


def tidy(value: str) -> str:
    r"""Return the text without control characters, lines ended by one newline; blanks around it stay, as in a file.

    >>> tidy("  a\r\n")
    '  a\n'
    """
    return value.replace("\r\n", "\n").replace("\r", "\n").translate(_DROPPED)


def read(request: Request, fields: Mapping[str, Field]) -> dict[str, str]:
    """Return the posted text of each field, cleaned."""
    return {name: clean(request.form.get(name, "")) for name in fields}


def complaints(values: Mapping[str, str], fields: Mapping[str, Field]) -> list[str]:
    """Return what is wrong with the values, in the order of the fields."""
    return [complaint for name, field in fields.items() if (complaint := field.complaint(values[name]))]


def whole_number(value: str | None, low: int, high: int) -> int | None:
    """Return the number from `low` to `high` that was typed, or None.

    >>> whole_number(" 12 ", 1, 99), whole_number("-1", 1, 99), whole_number("1e9", 1, 99)
    (12, None, None)
    """
    text = (value or "").strip()
    number = int(text) if _NUMBER.fullmatch(text) and text.isascii() else None
    return number if number is not None and low <= number <= high else None


def day(value: str | None) -> str | None:
    """Return the date that was typed as YYYY-MM-DD, written so or as month/day/year; None for anything else.

    >>> day("2023-02-05"), day("2/5/2023"), day("2023-02-30"), day("")
    ('2023-02-05', '2023-02-05', None, None)
    """
    text = (value or "").strip()
    slashed = _SLASHED_DAY.fullmatch(text)
    if slashed:
        text = f"{slashed[3]}-{int(slashed[1]):02d}-{int(slashed[2]):02d}"
    if not _DAY.fullmatch(text):
        return None
    try:
        return str(date.fromisoformat(text))
    except ValueError:
        return None
