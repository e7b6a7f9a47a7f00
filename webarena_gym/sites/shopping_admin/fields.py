"""Reading what people type: amounts, dates, whole numbers, text. Wrong input becomes a message, never an exception that escapes."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.requests import Request

_AMOUNT = re.compile(r"(-?)\$?([0-9]{1,9})?(?:\.([0-9]{1,2}))?")
_Value = TypeVar("_Value")


def parse_cents(text: str) -> int:
    """Return an amount in cents. Raises ValueError with a message for people.

    >>> parse_cents("$1,234.5"), parse_cents("-3")
    (123450, -300)
    """
    found = _AMOUNT.fullmatch(text.replace(",", ""))
    if not found or not (found[2] or found[3]):
        raise ValueError("please enter an amount such as 12.50.")
    cents = int(found[2] or 0) * 100 + int((found[3] or "").ljust(2, "0"))
    return -cents if found[1] else cents


def parse_count(text: str) -> int:
    """Return a whole number, 0 or more. Raises ValueError with a message for people."""
    count = forms.whole_number(text, 0, 10**9 - 1)
    if count is None:
        raise ValueError("please enter a whole number, 0 or more.")
    return count


def parse_date(text: str) -> str:
    """Return a date as YYYY-MM-DD. Raises ValueError with a message for people.

    >>> parse_date("3/5/2023"), parse_date("2023-03-05")
    ('2023-03-05', '2023-03-05')
    """
    if found := forms.day(text):
        return found
    raise ValueError("please enter a date as MM/DD/YYYY.")


def parse_email(text: str) -> str:
    """Return an e-mail address in lower case. Raises ValueError with a message for people."""
    if not forms.is_email(text):
        raise ValueError("please enter an e-mail address such as name@example.com.")
    return text.lower()


def written_cents(cents: int | None) -> str:
    """Return an amount as a field of a form holds it; nothing for None.

    >>> written_cents(123450), written_cents(None)
    ('1234.50', '')
    """
    return "" if cents is None else f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def written_date(day: str | None) -> str:
    """Return a YYYY-MM-DD date as a field of a form holds it; nothing for None.

    >>> written_date("2023-03-05")
    '03/05/2023'
    """
    return f"{day[5:7]}/{day[8:10]}/{day[:4]}" if day else ""


class Form:
    """The fields of a form, posted unless `data` is given. What is wrong with them collects in `errors`, in words for people."""

    def __init__(self, request: Request, data: Mapping[str, str] | None = None) -> None:
        self.request = request
        self.data = request.form if data is None else data
        self.errors: list[str] = []

    def show_errors(self) -> bool:
        """Put what is wrong on the next page; return whether anything is."""
        for error in self.errors:
            self.request.flash(error, "error")
        return bool(self.errors)

    def text(self, name: str, label: str, *, required: bool = True, limit: int = 255, lines: bool = False) -> str:
        """Return a text; of one line unless `lines`."""
        value = forms.clean(self.data.get(name))
        if not lines:
            value = " ".join(value.split())
        if required and not value:
            self.errors.append(f"{label}: this is a required field.")
        if len(value) > limit:
            self.errors.append(f"{label}: please use at most {limit} characters.")
        return value

    def email(self, name: str, label: str) -> str:
        """Return an e-mail address."""
        return self._parsed(name, label, parse_email) or ""

    def cents(self, name: str, label: str, *, low: int = 0) -> int:
        """Return a required amount in cents, not below `low`."""
        return self._at_least(low, self._parsed(name, label, parse_cents), label) or 0

    def optional_cents(self, name: str, label: str) -> int | None:
        """Return an amount in cents, 0 or more, or None when the field is empty."""
        return self._at_least(0, self._parsed(name, label, parse_cents, required=False), label)

    def count(self, name: str, label: str) -> int:
        """Return a required whole number, 0 or more."""
        return self._parsed(name, label, parse_count) or 0

    def optional_count(self, name: str, label: str) -> int | None:
        """Return a whole number, or None when the field is empty."""
        return self._parsed(name, label, parse_count, required=False)

    def optional_date(self, name: str, label: str) -> str | None:
        """Return a date as YYYY-MM-DD, or None when the field is empty."""
        return self._parsed(name, label, parse_date, required=False)

    def choice(self, name: str, label: str, options: Collection[str]) -> str:
        """Return one of the options."""
        value = self.data.get(name, "")
        if value not in options:
            self.errors.append(f"{label}: please choose one of the options.")
        return value

    def is_ticked(self, name: str) -> bool:
        """Return whether a checkbox is ticked."""
        return name in self.data

    def _parsed(self, name: str, label: str, parse: Callable[[str], _Value], *, required: bool = True) -> _Value | None:
        """The parsed value, or None when the field is empty or wrong."""
        value = self.text(name, label, required=required)
        if not value:
            return None
        try:
            return parse(value)
        except ValueError as error:
            self.errors.append(f"{label}: {error}")
            return None

    def _at_least(self, low: int, cents: int | None, label: str) -> int | None:
        if cents is not None and cents < low:
            self.errors.append(f"{label}: please enter an amount of at least {written_cents(low)}.")
        return cents
