"""A list of products as a page shows it: filtered, sorted, cut into pages, with links to every other way of seeing it.

Pure: it works on rows that `queries.cards` gave and on the query part of the URL.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.kit.forms import whole_number
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.layout import PLAIN, Layout

LIMITS = (12, 24, 36)  # products on one page, in the plain layout
MOST_RANGES = 6  # price ranges on offer
STEPS = [digit * 10**zeros for zeros in range(3, 12) for digit in (1, 2, 5)]  # their widths, in cents
KEYS = ("price", "brand", "rating", "in_stock", "product_list_order", "product_list_dir", "product_list_limit")
SORT_KEYS: dict[str, Callable[[sqlite3.Row], Any]] = {
    "name": lambda row: row["name"].lower(),
    "price": lambda row: row["final_cents"],
}


class Choice(NamedTuple):
    """A link of the filter column: what it says, where it leads, how many products are behind it."""

    label: str
    url: str
    found: int


class Listing:
    """One page of products. `rows` come in the page's own order: a category's position, a search's relevance."""

    def __init__(
        self,
        path: str,
        args: Mapping[str, str],
        rows: Sequence[sqlite3.Row],
        *,
        by: str = "Position",
        keep: Sequence[str] = (),
        layout: Layout = PLAIN,
    ) -> None:
        self.limits = [layout.page_size(limit) for limit in LIMITS]
        self.path = path
        self.own_order = by
        self._args = {key: args[key] for key in (*keep, *KEYS) if args.get(key)}
        self.kept = {key: value for key, value in self._args.items() if not key.startswith("product_list_")}
        self.found = len(rows)
        self.active: list[Choice] = []
        self.filters: dict[str, object] = {}  # as the URL's values were understood
        rows = self._filtered(rows)
        self.facets = self._facets(rows)
        self.order = self._args.get("product_list_order", "")
        self.is_descending = self._args.get("product_list_dir") == "desc"
        key = SORT_KEYS.get(self.order)
        rows = sorted(rows, key=key, reverse=self.is_descending) if key else rows[:: -1 if self.is_descending else 1]
        limit = whole_number(self._args.get("product_list_limit"), 1, self.limits[-1])
        limit = limit if limit in self.limits else self.limits[0]
        self.pager = Pager(args.get("p"), len(rows), limit, lambda page: self.url(p=page if page > 1 else None))
        self.rows = self.pager.cut(rows)
        self.arrangement = {
            "product_list_order": self.order if key else None,
            "product_list_dir": "desc" if self.is_descending else "asc",
            "product_list_limit": limit,
            "p": self.pager.page,
        }

    def url(self, **changes: object) -> str:
        """Return the URL of this list with some arguments changed, or dropped when None; it starts at page 1 again."""
        args = {key: value for key, value in (self._args | changes).items() if value is not None}
        return f"{self.path}?{urlencode(args)}" if args else self.path

    @property
    def orders(self) -> list[tuple[str, str]]:
        """The ways to sort, as value and label."""
        return [("", self.own_order), ("name", "Product Name"), ("price", "Price")]

    @property
    def clear_url(self) -> str:
        """The URL of this list without filters."""
        return self.url(price=None, brand=None, rating=None, in_stock=None)

    def _filtered(self, rows: Sequence[sqlite3.Row]) -> Sequence[sqlite3.Row]:
        """Return the rows that pass the filters of the URL, and note those filters as active."""
        low, high = price_range(self._args.get("price"))
        bounds = ("" if bound is None else bound // 100 for bound in (low, high))
        brand, stars = self._args.get("brand"), whole_number(self._args.get("rating"), 1, 5)
        if low is not None or high is not None:
            rows = [row for row in rows if (low or 0) <= row["final_cents"] and (high is None or row["final_cents"] < high)]
            self._activate(f"Price: {range_label(low or 0, high)}", "price", "-".join(map(str, bounds)), len(rows))
        if brand:
            rows = [row for row in rows if row["brand"] == brand]
            self._activate(f"Brand: {brand}", "brand", brand, len(rows))
        if stars:
            rows = [row for row in rows if (row["rating"] or 0) >= stars]
            self._activate(f"Rating: {stars_label(stars)}", "rating", stars, len(rows))
        if self._args.get("in_stock") == "1":
            rows = [row for row in rows if row["is_salable"]]
            self._activate("Availability: In Stock", "in_stock", 1, len(rows))
        return rows

    def _activate(self, label: str, key: str, value: object, count: int) -> None:
        self.filters[key] = value
        self.active.append(Choice(label, self.url(**{key: None}), count))

    def _facets(self, rows: Sequence[sqlite3.Row]) -> dict[str, list[Choice]]:
        """Return the filters that can still be set, each with the choices that leave some products out."""
        facets: dict[str, list[Choice]] = {}
        if "price" not in self.filters:
            facets["Price"] = [
                Choice(range_label(low, high), self.url(price=f"{low // 100}-{high // 100}"), count)
                for low, high, count in price_ranges([row["final_cents"] for row in rows])
            ]
        if "brand" not in self.filters:
            brands = Counter(row["brand"] for row in rows)
            facets["Brand"] = [Choice(brand, self.url(brand=brand), brands[brand]) for brand in sorted(brands)]
        if "rating" not in self.filters:
            at_least = {stars: sum((row["rating"] or 0) >= stars for row in rows) for stars in (4, 3)}
            facets["Rating"] = [Choice(stars_label(stars), self.url(rating=stars), count) for stars, count in at_least.items()]
        if "in_stock" not in self.filters:
            facets["Availability"] = [Choice("In Stock", self.url(in_stock=1), sum(row["is_salable"] for row in rows))]
        narrowing = {title: [choice for choice in choices if 0 < choice.found < len(rows)] for title, choices in facets.items()}
        return {title: choices for title, choices in narrowing.items() if choices}


def price_range(value: str | None) -> tuple[int | None, int | None]:
    """Return the bounds in cents that a URL states in whole currency units, the upper one left out.

    >>> price_range("10-20"), price_range("50-"), price_range("cheap")
    ((1000, 2000), (5000, None), (None, None))
    """
    low, dash, high = (value or "").partition("-")
    bounds = [whole_number(text, 0, 10**9 - 1) for text in (low, high)]
    if not dash or any(text and bound is None for text, bound in zip((low, high), bounds, strict=True)):
        return None, None
    return bounds[0] and bounds[0] * 100, bounds[1] and bounds[1] * 100


def price_ranges(prices: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return equal ranges (low, high, count) in cents that hold the prices: the finest of which there are few.

    >>> price_ranges([499, 1250, 1899, 9900])
    [(0, 1000, 1), (1000, 2000, 2), (9000, 10000, 1)]
    """
    step = next(step for step in STEPS if len({price // step for price in prices}) <= MOST_RANGES)
    counts = Counter(price // step for price in prices)
    return [(index * step, (index + 1) * step, counts[index]) for index in sorted(counts)]


def range_label(low: int, high: int | None) -> str:
    """Return a price range in words.

    >>> range_label(1000, 2000), range_label(5000, None)
    ('$10.00 - $19.99', '$50.00 and above')
    """
    return f"{money(low)} and above" if high is None else f"{money(low)} - {money(max(high - 1, 0))}"


def stars_label(stars: int) -> str:
    """Return a lower bound of a rating in words."""
    return "5 stars" if stars == 5 else f"{stars} stars & up"
