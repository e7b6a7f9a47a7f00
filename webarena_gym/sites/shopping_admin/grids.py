"""Forms and lists of the admin: fields, columns, filters, search, sorting, paging and bulk actions.

The state of a list is in the query string only.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode

from webarena_gym.sites.country.texts import date_time, fold_case, money, read_data
from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.forms import clean, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect

_AMOUNT = re.compile(r"(-?)\$?([0-9]{1,9})?(?:\.([0-9]{1,2}))?")
_Value = TypeVar("_Value")


def parse_cents(text: str) -> int:
    """Return an amount in cents. Raises ValueError with a message for the user.

    >>> parse_cents("$1,234.5"), parse_cents("-3")
    (123450, -300)
    """
    match = _AMOUNT.fullmatch(text.replace(",", ""))
    if not match or not (match[2] or match[3]):
        raise ValueError("please enter an amount such as 12.50.")
    cents = int(match[2] or 0) * 100 + int((match[3] or "").ljust(2, "0"))
    return -cents if match[1] else cents


def parse_count(text: str) -> int:
    """Return an integer, 0 or more. Raises ValueError with a message for the user."""
    count = forms.whole_number(text, 0, 10**9 - 1)
    if count is None:
        raise ValueError("please enter a whole number, 0 or more.")
    return count


def parse_date(text: str) -> str:
    """Return a date as YYYY-MM-DD. Raises ValueError with a message for the user.

    >>> parse_date("3/5/2023"), parse_date("2023-03-05")
    ('2023-03-05', '2023-03-05')
    """
    if value := forms.day(text):
        return value
    raise ValueError("please enter a date as MM/DD/YYYY.")


def written_cents(cents: int | None) -> str:
    """Return an amount in the format of form fields; "" for None.

    >>> written_cents(123450), written_cents(None)
    ('1234.50', '')
    """
    return "" if cents is None else f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def written_date(day: str | None) -> str:
    """Return a date (YYYY-MM-DD) in the format of form fields; "" for None.

    >>> written_date("2023-03-05")
    '03/05/2023'
    """
    return f"{day[5:7]}/{day[8:10]}/{day[:4]}" if day else ""


class Form:
    """The fields of a form, by default of the posted one. `errors` collects messages for the user."""

    def __init__(self, request: Request, data: Mapping[str, str] | None = None) -> None:
        self.request = request
        self.data = request.form if data is None else data
        self.errors: list[str] = []

    def show_errors(self) -> bool:
        """Show the errors on the next page. Return True if there are any."""
        for error in self.errors:
            self.request.flash(error, "error")
        return bool(self.errors)

    def text(self, name: str, label: str, *, required: bool = True, limit: int = 255, lines: bool = False) -> str:
        """Return a text, by default of a single line."""
        value = forms.clean(self.data.get(name))
        if not lines:
            value = " ".join(value.split())
        if required and not value:
            self.errors.append(f"{label}: this is a required field.")
        if len(value) > limit:
            self.errors.append(f"{label}: please use at most {limit} characters.")
        return value

    def email(self, name: str, label: str) -> str:
        """Return an e-mail address in lower case."""
        value = self.text(name, label)
        if value and not forms.is_email(value):
            self.errors.append(f"{label}: please enter an e-mail address such as name@example.com.")
            return ""
        return value.lower()

    def cents(self, name: str, label: str) -> int:
        """Return a required amount in cents, 0 or more."""
        return self.optional_cents(name, label, required=True) or 0

    def optional_cents(self, name: str, label: str, *, required: bool = False) -> int | None:
        """Return an amount in cents, 0 or more; None for an empty field."""
        cents = self._parse(name, label, parse_cents, required=required)
        if cents is not None and cents < 0:
            self.errors.append(f"{label}: please enter an amount of at least 0.00.")
        return cents

    def count(self, name: str, label: str) -> int:
        """Return a required whole number, 0 or more."""
        return self._parse(name, label, parse_count, required=True) or 0

    def optional_count(self, name: str, label: str) -> int | None:
        """Return an integer; None for an empty field."""
        return self._parse(name, label, parse_count)

    def optional_date(self, name: str, label: str) -> str | None:
        """Return a date as YYYY-MM-DD; None for an empty field."""
        return self._parse(name, label, parse_date)

    def choice(self, name: str, label: str, options: Collection[str]) -> str:
        """Return one of the options."""
        value = self.data.get(name, "")
        if value not in options:
            self.errors.append(f"{label}: please choose one of the options.")
        return value

    def is_ticked(self, name: str) -> bool:
        """Return True if a checkbox is ticked."""
        return name in self.data

    def _parse(self, name: str, label: str, parse: Callable[[str], _Value], *, required: bool = False) -> _Value | None:
        """Return the parsed value; None for an empty or invalid field."""
        value = self.text(name, label, required=required)
        if not value:
            return None
        try:
            return parse(value)
        except ValueError as error:
            self.errors.append(f"{label}: {error}")
            return None


Kind = Literal["text", "id", "number", "money", "date", "choice"]
USUAL_SIZE = 20  # rows of a page, in the plain layout
LARGER_SIZES = (30, 50, 100, 200)  # rows that one can ask for
_RANGES: dict[str, Callable[[str], int | str]] = {"number": parse_count, "money": parse_cents, "date": parse_date}
_LONGEST = 200  # characters of a filter's text


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or only a filter if `is_shown` is False. `kind` determines how values are filtered, sorted and formatted."""

    label: str
    name: str
    sql: str
    kind: Kind = "text"
    choices: Mapping[str, str] = field(default_factory=dict)
    is_shown: bool = True

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The names and labels of the column's fields in the filter form."""
        if self.kind in _RANGES:
            return (f"{self.name}_from", f"{self.label} from"), (f"{self.name}_to", f"{self.label} to")
        return ((self.name, self.label),)

    def format_value(self, value: Any) -> str:
        """Return a cell's text."""
        if value is None:
            return ""
        if self.kind == "money":
            return money(value)
        if self.kind == "date":
            return date_time(value) if len(value) > len("2023-03-05") else f"{value[5:7]}/{value[8:10]}/{value[:4]}"
        return self.choices.get(value, str(value)) if self.kind == "choice" else str(value)

    def condition(self, name: str, typed: str) -> tuple[str, int | str]:
        """Return the SQL condition of a filter field, with its parameter. Raises ValueError with a message for the user."""
        if self.kind in _RANGES:
            value = _RANGES[self.kind](typed)
            if name.endswith("_from"):
                return f"{self.sql} >= ?", value
            return f"{self.sql} <= ?", f"{value} 23:59:59" if self.kind == "date" else value
        if self.kind == "id":
            return f"{self.sql} = ?", parse_count(typed)
        if self.kind == "choice":
            if typed not in self.choices:
                raise ValueError("please choose one of the options.")
            return f"{self.sql} = ?", typed
        return f"instr(lower({self.sql}), lower(?))", typed

    def understood(self, typed: str) -> str:
        """Return the canonical text of a filter value. Raises ValueError as `condition` does."""
        if self.kind == "money":
            return written_cents(parse_cents(typed))
        if self.kind == "date":
            return parse_date(typed)
        if self.kind in ("number", "id"):
            return str(parse_count(typed))
        return typed if self.kind == "choice" else fold_case(typed)


class Link(NamedTuple):
    """A label and its URL."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A list of the rows of `source`, SQL after FROM. `order` is the initial sort column, with "-" for descending order."""

    title: str
    section: str
    source: str
    key: str
    columns: tuple[Column, ...]
    order: str
    keyword: tuple[str, ...] = ()
    row_link: Link | None = None
    actions: Mapping[str, str] = field(default_factory=dict)
    action_url: str = ""
    add: Link | None = None
    note: str = ""

    @property
    def first_sort(self) -> tuple[str, bool]:
        """The initial sort column, and True for descending order."""
        return self.order.lstrip("-"), self.order.startswith("-")

    def choices(self, name: str) -> dict[str, str]:
        """Return the choices of a column."""
        return next(dict(column.choices) for column in self.columns if column.name == name)

    @property
    def table_columns(self) -> list[Column]:
        """The columns of the table, without those that are only filters."""
        return [column for column in self.columns if column.is_shown]


def _grid(entry: Mapping[str, Any]) -> Grid:
    links = {name: Link(*entry[name]) for name in ("row_link", "add") if name in entry}
    columns = tuple(Column(*item) for item in entry["columns"])
    return Grid(**{**entry, **links, "columns": columns})


LISTS = {name: _grid(entry) for name, entry in read_data(Path(__file__).parent / "lists.toml").items()}
"""The lists of the admin, by their names."""


class Listing:
    """A page of a grid as requested by the query string, among the rows that satisfy the SQL condition `where`.

    `typed` are the texts of filter fields, `content` the canonical values of the filters, both by name.
    """

    def __init__(self, request: Request, grid: Grid, where: str, values: Sequence[Any]) -> None:
        query: Mapping[str, str] = request.args
        self.grid = grid
        self.typed: dict[str, str] = {}
        self.content: dict[str, object] = {}
        self.active: list[str] = []
        self.errors: list[str] = []
        conditions, bound = [where], list(values)
        for column in grid.columns:
            for name, label in column.fields:
                text = clean(query.get(name, ""))[:_LONGEST]
                if not text:
                    continue
                self.typed[name] = self.content[name] = text
                try:
                    condition, value = column.condition(name, text)
                except ValueError as error:
                    self.errors.append(f"{label}: {error}")
                    continue
                self.content[name] = column.understood(text)
                conditions.append(condition)
                bound.append(value)
                self.active.append(f"{label}: {column.choices.get(text, text)}")
        self.search = clean(query.get("search", ""))[:_LONGEST] if grid.keyword else ""
        self.content["search"] = fold_case(self.search)
        if self.search:
            words = " || ' ' || ".join(f"coalesce({sql}, '')" for sql in grid.keyword)
            conditions.append(f"instr(lower({words}), lower(?))")
            bound.append(self.search)
            self.active.append(f"Keyword: {self.search}")
        self.is_form_open = "filters" in query or bool(self.errors)

        by_name = {column.name: column for column in grid.table_columns}
        self.sort, self.is_descending = grid.first_sort
        if query.get("sort") in by_name:
            self.sort, self.is_descending = query["sort"], query.get("dir") == "desc"
        self.sizes = (request.layout.page_size(USUAL_SIZE), *LARGER_SIZES)
        self.size = next((size for size in self.sizes if query.get("limit") == str(size)), self.sizes[0])
        from_clause = f"FROM {grid.source} WHERE {' AND '.join(conditions)}"
        (self.total,) = request.db.execute(f"SELECT count(*) {from_clause}", bound).fetchone()
        self.pages = max(1, -(-self.total // self.size))
        self.page = min(whole_number(query.get("p"), 1, 10**9 - 1) or 1, self.pages)
        order = by_name[self.sort].sql + (" COLLATE NOCASE" if by_name[self.sort].kind == "text" else "")
        direction = "DESC" if self.is_descending else "ASC"
        rows = request.db.execute(
            f"SELECT {grid.key}, {', '.join(column.sql for column in grid.table_columns)} {from_clause} "
            f"ORDER BY {order} {direction}, {grid.key} {direction} LIMIT ? OFFSET ?",
            [*bound, self.size, (self.page - 1) * self.size],
        )  # each with its key, for links and checkboxes, and its cells' texts
        self.rows = [
            (key, [column.format_value(value) for column, value in zip(grid.table_columns, cells, strict=True)])
            for key, *cells in rows
        ]

    @property
    def query_parameters(self) -> dict[str, str]:
        """The query parameters of filters and order, without defaults and paging."""
        query = dict(self.typed)
        if self.search:
            query["search"] = self.search
        if (self.sort, self.is_descending) != self.grid.first_sort:
            query |= {"sort": self.sort, "dir": "desc" if self.is_descending else "asc"}
        return query | ({"limit": str(self.size)} if self.size != self.sizes[0] else {})

    def url(self, **changes: object) -> str:
        """Return the URL of this list with some parameters changed."""
        return "?" + urlencode(self.query_parameters | changes)

    def sort_url(self, column: Column) -> str:
        """Return the URL of this list sorted by a column; the direction is reversed if it is sorted by it already."""
        return self.url(sort=column.name, dir="desc" if column.name == self.sort and not self.is_descending else "asc")


def render_grid(request: Request, grid: Grid, where: str = "1", values: Sequence[Any] = (), tabs: Sequence[Link] = ()) -> str:
    """Return the page of a grid."""
    listing = Listing(request, grid, where, values)
    request.shows(listing.content)
    direction = "desc" if listing.is_descending else "asc"
    form = 1 if listing.is_form_open else None
    request.arranges({"sort": listing.sort, "dir": direction, "limit": listing.size, "p": listing.page, "filters": form})
    page = {"title": grid.title, "section": grid.section, "sizes": {size: size for size in listing.sizes}, "tabs": tabs}
    return request.render("grid.html", grid=grid, listing=listing, **page)


def selected_ids(request: Request) -> list[int]:
    """Return the ids of the selected rows of a bulk action."""
    return [
        int(value) for value in request.form.getlist("selected") if value.isdecimal() and value.isascii() and len(value) < 16
    ]


def back_to(request: Request, url: str) -> Response:
    """Redirect to the grid of a bulk action, with its filters and order."""
    query = urlencode(parse_qsl(request.form.get("query", "")[1:2000]))
    return redirect(f"{url}?{query}" if query else url)
