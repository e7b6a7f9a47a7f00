"""Reading what people typed: nothing here trusts its input, and everything wrong becomes a message."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.kit import Request

_DROPPED = dict.fromkeys([*range(10), *range(11, 32), 127])  # control characters, but for the newline
_EMAIL = re.compile(r"[^\s@<>\"',;]+@[^\s@<>\"',;]+\.[^\s@<>\"',;.]+")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Field:
    """One text field of a form."""

    label: str
    required: bool = True
    limit: int = 255
    is_email: bool = False

    def complaint(self, value: str) -> str:
        """Return what is wrong with the value, or nothing."""
        if not value:
            return f"{self.label} is a required field." if self.required else ""
        if len(value) > self.limit:
            return f"{self.label} is too long: {len(value)} characters, {self.limit} at most."
        if self.is_email and not is_email(value):
            return f"{self.label}: please enter a valid email address, for example name@domain.com."
        return ""


def clean(value: str) -> str:
    r"""Return the text without surrounding blanks and control characters, lines ended by one newline.

    >>> clean(" a\r\nb\x00 ")
    'a\nb'
    """
    return value.replace("\r\n", "\n").translate(_DROPPED).strip()


def read(request: Request, fields: Mapping[str, Field]) -> dict[str, str]:
    """Return the posted text of each field, cleaned."""
    return {name: clean(request.form.get(name, "")) for name in fields}


def complaints(values: Mapping[str, str], fields: Mapping[str, Field]) -> list[str]:
    """Return what is wrong with the values, in the order of the fields."""
    return [complaint for name, field in fields.items() if (complaint := field.complaint(values[name]))]


def is_email(value: str) -> bool:
    """Tell whether the text has the shape of an email address.

    >>> is_email("ann@mail.test"), is_email("ann@mail")
    (True, False)
    """
    return len(value) <= 255 and _EMAIL.fullmatch(value) is not None


def whole_number(value: str | None, low: int, high: int) -> int | None:
    """Return the number from `low` to `high` that was typed, or None.

    >>> whole_number(" 12 ", 1, 99), whole_number("-1", 1, 99), whole_number("1e9", 1, 99)
    (12, None, None)
    """
    text = (value or "").strip()
    number = int(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and low <= number <= high else None
