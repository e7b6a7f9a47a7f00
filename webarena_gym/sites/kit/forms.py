"""Form fields with validation, pages with one form, and pagination. Invalid input results in messages, never in exceptions."""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import ClassVar, NamedTuple, TypeVar
from urllib.parse import urlencode

from webarena_gym.sites.kit.requests import Request

SHORTEST_PASSWORD = 8  # characters
_DROPPED = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000)])  # control characters, surrogates
_EMAIL = re.compile(r"[^\s@<>\"',;]+@[^\s@<>\"',;]+\.[^\s@<>\"',;.]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_DAY = re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})")
_SLASHED_DAY = re.compile(r"(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})/(?P<year>[0-9]{4})")


@dataclass(frozen=True, slots=True)
class Field:
    """A text field of a form. The whole text must match `pattern`; `hint` is the message if it does not.

    `type` and `autocomplete` are the attributes of its element; the type "area" makes it a text area. Sites with other messages use a
    subclass.
    """

    label: str
    required: bool = True
    limit: int = 255
    pattern: re.Pattern[str] | None = None
    hint: str = ""
    type: str = "text"
    autocomplete: str = ""

    missing: ClassVar[str] = "{label} is a required field."
    too_long: ClassVar[str] = "{label} is too long: {length} characters, {limit} at most."

    def fits(self, value: str) -> bool:
        """Return True if the value matches the field's pattern."""
        return self.pattern is None or self.pattern.fullmatch(value) is not None

    @property
    def attributes(self) -> dict[str, object]:
        """Arguments of the template macro `field` besides name, label and value, without defaults."""
        values = {"type": self.type, "required": self.required, "autocomplete": self.autocomplete}
        usual = {"type": "text", "required": True, "autocomplete": ""}
        return {name: value for name, value in values.items() if value != usual[name]}

    def complaint(self, value: str) -> str:
        """Return the error message for a value, "" if it is valid."""
        if not value:
            return self.missing.format(label=self.label) if self.required else ""
        if len(value) > self.limit:
            return self.too_long.format(label=self.label, length=len(value), limit=self.limit)
        if not self.fits(value):
            return f"{self.label}: {self.hint}"
        return ""


EMAIL = Field(
    "Email", pattern=_EMAIL, hint="please enter a valid email address, for example name@domain.com.", autocomplete="email"
)

PASSWORD = Field("Password", type="password", autocomplete="current-password")
"""The password field of login forms."""


def clean(value: str | None) -> str:
    r"""Return the text without surrounding whitespace and control characters, with "\n" as line separator.

    >>> clean(" a\r\nb\x00 ")
    'a\nb'
    """
    return tidy(value or "").strip()


def tidy(value: str) -> str:
    r"""Return the text without control characters, with "\n" as line separator. Surrounding whitespace stays, as in a file.

    >>> tidy("  a\r\n")
    '  a\n'
    """
    return value.replace("\r\n", "\n").replace("\r", "\n").translate(_DROPPED)


def line(value: str | None, longest: int = 255) -> str:
    r"""Return the text of a single-line field, cut to `longest` characters.

    >>> line(" two \n words "), line("three words", longest=5)
    ('two words', 'three')
    """
    return " ".join(clean(value).split())[:longest]


def read(request: Request, fields: Mapping[str, Field]) -> dict[str, str]:
    """Return the posted text of each field, processed by `clean`."""
    return {name: clean(request.form.get(name)) for name in fields}


def complaints(values: Mapping[str, str], fields: Mapping[str, Field]) -> list[str]:
    """Return the error messages for invalid values, in the order of the fields."""
    return [complaint for name, field in fields.items() if (complaint := field.complaint(values[name]))]


def read_and_check(request: Request, fields: Mapping[str, Field]) -> tuple[dict[str, str], list[str]]:
    """Return the posted text of each field, processed by `clean`, and the error messages."""
    values = read(request, fields)
    return values, complaints(values, fields)


def form_values(
    request: Request, fields: Mapping[str, Field], start: Mapping[str, str] | sqlite3.Row
) -> tuple[dict[str, str], list[str] | None]:
    """Return the values of a form and the error messages: `read_and_check` for a POST request, else the initial values and None."""
    return read_and_check(request, fields) if request.method == "POST" else ({name: start[name] for name in fields}, None)


def password_complaints(values: Mapping[str, str]) -> list[str]:
    """Return the error messages for a new `password` and its `password_confirmation`."""
    if len(values["password"]) < SHORTEST_PASSWORD:
        return [f"A password needs {SHORTEST_PASSWORD} characters or more."]
    return [] if values["password"] == values["password_confirmation"] else ["The two passwords are not the same."]


def is_email(value: str) -> bool:
    """Return True if the text has the form of an email address.

    >>> is_email("ann@mail.test"), is_email("ann@mail")
    (True, False)
    """
    return bool(value) and not EMAIL.complaint(value)


def whole_number(value: str | None, low: int, high: int) -> int | None:
    """Return the number from `low` to `high` that a text consists of, or None.

    >>> whole_number(" 12 ", 1, 99), whole_number("-1", 1, 99), whole_number("1e9", 1, 99)
    (12, None, None)
    """
    text = (value or "").strip()
    number = int(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and low <= number <= high else None


def day(value: str | None) -> str | None:
    """Return a date as YYYY-MM-DD from a text in this form or as month/day/year; None for other texts and dates that do not exist.

    >>> day("2023-02-05"), day("2/5/2023"), day("2023-02-30"), day("")
    ('2023-02-05', '2023-02-05', None, None)
    """
    text = (value or "").strip()
    typed = _DAY.fullmatch(text) or _SLASHED_DAY.fullmatch(text)
    try:
        return str(date(int(typed["year"]), int(typed["month"]), int(typed["day"]))) if typed else None
    except ValueError:
        return None


class Aside(NamedTuple):
    """A question below a form, with a link, such as "No account?"."""

    question: str
    address: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPage:
    """A page with text fields and one button, which posts them to `action`."""

    title: str
    action: str
    fields: Mapping[str, Field]
    button: str
    aside: Aside | None = None

    def render(self, request: Request, values: Mapping[str, str] = MappingProxyType({}), errors: Sequence[str] = ()) -> str:
        """Return the HTML of the page, with values of its fields, except passwords, and error messages."""
        typed = {name: "" if field.type == "password" else values.get(name, "") for name, field in self.fields.items()}
        return request.render("form.html", title=self.title, form=self, values=typed, errors=errors)


T = TypeVar("T")


class Pager:
    """One page of a list of `total` rows: up to `limit` rows from index `first`.

    Args:
        number: Number of the page from the URL; other texts are page 1, larger numbers the last page.
        total: Number of rows of the list.
        limit: Largest number of rows of a page.
        url: Returns the URL of a page by its number.

    """

    def __init__(self, number: str | None, total: int, limit: int, url: Callable[[int], str]) -> None:
        self.total = total
        self.limit = limit
        self.url = url
        self.pages = max(1, -(-total // limit))
        self.page = min(whole_number(number, 1, 10**9 - 1) or 1, self.pages)
        self.first = (self.page - 1) * limit

    @classmethod
    def of(cls, request: Request, total: int, usual: int, argument: str = "p") -> "Pager":
        """Return the pager of a list whose page number is an argument of the URL; `usual` is its limit in the plain layout.

        URLs of other pages keep all other arguments. The URL of the first page does not contain the argument.
        """
        others = [(key, value) for key, value in request.args.items(multi=True) if key != argument]

        def url(page: int) -> str:
            query = urlencode([*others, (argument, page)] if page > 1 else others, errors="replace")
            return f"{request.path}?{query}" if query else request.path

        pager = cls(request.args.get(argument), total, request.layout.page_size(usual), url)
        request.arranges({argument: pager.page})
        return pager

    def select(self, db: sqlite3.Connection, query: str, values: Mapping[str, object]) -> list[sqlite3.Row]:
        """Return the rows of a query that are on this page."""
        limits = {"limit": self.limit, "first": self.first}
        return db.execute(f"{query} LIMIT :limit OFFSET :first", {**values, **limits}).fetchall()

    def cut(self, rows: Sequence[T]) -> list[T]:
        """Return the rows of a list that are on this page."""
        return list(rows[self.first : self.first + self.limit])

    @property
    def amount(self) -> str:
        """Text with the range of the items on this page."""
        if self.pages == 1:
            return f"{self.total} Item" if self.total == 1 else f"{self.total} Items"
        return f"Items {self.first + 1}-{min(self.first + self.limit, self.total)} of {self.total}"
