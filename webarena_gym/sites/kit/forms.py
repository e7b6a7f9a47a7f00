"""Reading forms, pages of one form, and long lists cut into pages. Nothing here trusts its input; everything wrong becomes a message."""

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
_DROPPED = dict.fromkeys(
    [*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000)]
)  # control characters, halves of pairs
_EMAIL = re.compile(r"[^\s@<>\"',;]+@[^\s@<>\"',;]+\.[^\s@<>\"',;.]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_DAY = re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})")
_SLASHED_DAY = re.compile(r"(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})/(?P<year>[0-9]{4})")


@dataclass(frozen=True, slots=True)
class Field:
    """One text field of a form; the whole text must match `pattern`, which `hint` describes in words.

    `type` and `autocomplete` are the attributes of its element; the type "area" makes it a text area. A site that complains in
    other words has a subclass.
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
        """Attributes of a template's `field` besides name, label and value."""
        values = {"type": self.type, "required": self.required, "autocomplete": self.autocomplete}
        usual = {"type": "text", "required": True, "autocomplete": ""}
        return {name: value for name, value in values.items() if value != usual[name]}

    def complaint(self, value: str) -> str:
        """Return what is wrong with the value, or nothing."""
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
"""The password of somebody who signs in."""


def clean(value: str | None) -> str:
    r"""Return the text without surrounding blanks and control characters, lines ended by one newline.

    >>> clean(" a\r\nb\x00 ")
    'a\nb'
    """
    return tidy(value or "").strip()


def tidy(value: str) -> str:
    r"""Return the text without control characters, lines ended by one newline; blanks around it stay, as in a file.

    >>> tidy("  a\r\n")
    '  a\n'
    """
    return value.replace("\r\n", "\n").replace("\r", "\n").translate(_DROPPED)


def line(value: str | None, longest: int = 255) -> str:
    r"""Return the text of a field of one line, cut when it is too long.

    >>> line(" two \n words "), line("three words", longest=5)
    ('two words', 'three')
    """
    return " ".join(clean(value).split())[:longest]


def read(request: Request, fields: Mapping[str, Field]) -> dict[str, str]:
    """Return the posted text of each field, cleaned."""
    return {name: clean(request.form.get(name)) for name in fields}


def complaints(values: Mapping[str, str], fields: Mapping[str, Field]) -> list[str]:
    """Return what is wrong with the values, in the order of the fields."""
    return [complaint for name, field in fields.items() if (complaint := field.complaint(values[name]))]


def checked(request: Request, fields: Mapping[str, Field]) -> tuple[dict[str, str], list[str]]:
    """Return the posted text of each field, cleaned, and what is wrong with them."""
    values = read(request, fields)
    return values, complaints(values, fields)


def taken(
    request: Request, fields: Mapping[str, Field], start: Mapping[str, str] | sqlite3.Row
) -> tuple[dict[str, str], list[str] | None]:
    """Return the posted text of each field, cleaned, and what is wrong with them; before that, what the form starts with, and None."""
    return checked(request, fields) if request.method == "POST" else ({name: start[name] for name in fields}, None)


def password_complaints(values: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a new `password` and its `password_confirmation`."""
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
    """Return the number from `low` to `high` that was typed, or None.

    >>> whole_number(" 12 ", 1, 99), whole_number("-1", 1, 99), whole_number("1e9", 1, 99)
    (12, None, None)
    """
    text = (value or "").strip()
    number = int(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and low <= number <= high else None


def day(value: str | None) -> str | None:
    """Return the date that was typed as YYYY-MM-DD, written so or as month/day/year; None for anything else.

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
    """A question below a form, and the link that answers it."""

    question: str
    address: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPage:
    """A page of text fields and one button, which posts them to `action`. A page of more has a template of its own."""

    title: str
    action: str
    fields: Mapping[str, Field]
    button: str
    aside: Aside | None = None

    def show(self, request: Request, values: Mapping[str, str] = MappingProxyType({}), errors: Sequence[str] = ()) -> str:
        """Return the page with what was typed, but for passwords, and what is wrong with it."""
        typed = {name: "" if field.type == "password" else values.get(name, "") for name, field in self.fields.items()}
        return request.render("form.html", title=self.title, form=self, values=typed, errors=errors)


T = TypeVar("T")


class Pager:
    """The page with a `number`, from the URL, of a list of `total` rows: `limit` rows from row `first` on.

    `url` gives the address of another page.
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
        """Return the pager of a list whose page is an argument of the URL; `usual` is its limit in the plain layout.

        The other pages keep all other arguments. The first page has one address only, without the argument.
        """
        others = [(key, value) for key, value in request.args.items(multi=True) if key != argument]

        def url(page: int) -> str:
            query = urlencode([*others, (argument, page)] if page > 1 else others, errors="replace")
            return f"{request.path}?{query}" if query else request.path

        pager = cls(request.args.get(argument), total, request.layout.page_size(usual), url)
        request.arranges({argument: pager.page})
        return pager

    def select(self, db: sqlite3.Connection, query: str, values: Mapping[str, object]) -> list[sqlite3.Row]:
        """Return those rows of a query that are on this page."""
        limits = {"limit": self.limit, "first": self.first}
        return db.execute(f"{query} LIMIT :limit OFFSET :first", {**values, **limits}).fetchall()

    def cut(self, rows: Sequence[T]) -> list[T]:
        """Return those of all rows that are on this page."""
        return list(rows[self.first : self.first + self.limit])

    @property
    def amount(self) -> str:
        """Range of the items that are shown, in words."""
        if self.pages == 1:
            return f"{self.total} Item" if self.total == 1 else f"{self.total} Items"
        return f"Items {self.first + 1}-{min(self.first + self.limit, self.total)} of {self.total}"
