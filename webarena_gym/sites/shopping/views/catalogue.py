"""The home page, categories, products with their pictures, and the search."""

import difflib
import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import fold_case, like, money, read_data
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.database import first
from webarena_gym.sites.kit.forms import Pager, clean, whole_number
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping.carts import cents
from webarena_gym.sites.shopping.site import site

_SHAPES = read_data(Path(__file__).parent / "shapes.toml")["shapes"]
_PAINTS = {"b": "url(#b)", "m": "url(#m)", "l": "hsl(40 30% 95%)", "g": "hsl(128 34% 38%)"}


def draw_image(name: str) -> str:
    """Return an SVG drawing of a product. The words of its name determine the shape, and the whole name the colour."""
    dice = hashlib.sha256(name.encode()).digest()
    hue, strong, light = dice[0] * 360 // 256, 16 + dice[1] % 38, 36 + dice[2] % 26
    paints = _PAINTS | {"d": f"hsl({hue} {strong}% {light - 22}%)", "a": f"hsl({(hue + 30) % 360} {strong}% {light + 14}%)"}
    words_of_name = f" {name.lower()} ".replace("-", " ").replace(",", " ")
    parts = next(parts for words, parts in _SHAPES if any(f" {word}" in words_of_name for word in words.split("|")))
    paths = "".join(f'<path fill="{paints[part[0]]}" fill-rule="evenodd" d="{part[1:]}"/>' for part in parts.split("|"))
    stops = [(0, light + 20), (38, light + 4), (100, light - 14)]
    body = "".join(f'<stop offset="{at}%" stop-color="hsl({hue} {strong}% {level}%)"/>' for at, level in stops)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 240"><defs>'
        f'<linearGradient id="b" x2="1" y2=".6">{body}</linearGradient>'
        '<linearGradient id="m" y2="1" x2=".4"><stop stop-color="#f4f5f6"/><stop offset=".5" stop-color="#9aa1a8"/>'
        '<stop offset="1" stop-color="#d5d9dc"/></linearGradient>'
        f'<radialGradient id="w" cy=".42" r=".75"><stop stop-color="#fff"/><stop offset="1" stop-color="hsl({hue} 14% 86%)"/>'
        '</radialGradient><radialGradient id="s"><stop stop-opacity=".38"/><stop offset="1" stop-opacity="0"/></radialGradient></defs>'
        '<path fill="url(#w)" d="M0 0h240v240H0z"/><ellipse cx="124" cy="198" rx="104" ry="15" fill="url(#s)"/>'
        f"{paths}</svg>"
    )


LIMITS = (12, 24, 36)  # products on one page, in the plain layout
MOST_RANGES = 6  # price ranges on offer
STEPS = [digit * 10**zeros for zeros in range(3, 12) for digit in (1, 2, 5)]  # their widths, in cents
KEYS = ("price", "brand", "rating", "in_stock", "product_list_order", "product_list_dir", "product_list_limit")
SORT_KEYS: dict[str, Callable[[sqlite3.Row], Any]] = {
    "name": lambda row: row["name"].lower(),
    "price": lambda row: row["final_cents"],
}


Choice = tuple[str, str, int]
"""A link of the filter column: its label, its URL, and the number of products."""


class Listing:
    """A page of a product list. `rows` are in the default order: position in the category, or relevance."""

    def __init__(
        self, request: Request, rows: Sequence[sqlite3.Row], *, by: str = "Position", keep: Sequence[str] = ()
    ) -> None:
        path, args, layout = request.path, request.args, request.layout
        self.limits = [layout.page_size(limit) for limit in LIMITS]
        self.path = path
        self.own_order = by
        self._args = {key: args[key] for key in (*keep, *KEYS) if args.get(key)}
        self.kept = {key: value for key, value in self._args.items() if not key.startswith("product_list_")}
        self.found = len(rows)
        self.active: list[Choice] = []
        self.filters: dict[str, object] = {}  # as the URL's values were understood
        rows = self._apply_filters(rows)
        self.facets = self._facets(rows)
        self.order = self._args.get("product_list_order", "")
        self.is_descending = self._args.get("product_list_dir") == "desc"
        key = SORT_KEYS.get(self.order)
        rows = sorted(rows, key=key, reverse=self.is_descending) if key else rows[:: -1 if self.is_descending else 1]
        limit = whole_number(self._args.get("product_list_limit"), 1, self.limits[-1])
        limit = limit if limit in self.limits else self.limits[0]
        self.pager = Pager(args.get("p"), len(rows), limit, lambda page: self.url(p=page if page > 1 else None))
        self.rows = self.pager.cut(rows)
        request.shows(self.filters)
        request.arranges(
            {
                "product_list_order": self.order if key else None,
                "product_list_dir": "desc" if self.is_descending else "asc",
                "product_list_limit": limit,
                "p": self.pager.page,
            }
        )

    def url(self, **changes: object) -> str:
        """Return the URL of this list with some arguments changed, or removed if None; it leads to page 1."""
        args = {key: value for key, value in (self._args | changes).items() if value is not None}
        return f"{self.path}?{urlencode(args)}" if args else self.path

    @property
    def orders(self) -> list[tuple[str, str]]:
        """Sort orders, as value and label."""
        return [("", self.own_order), ("name", "Product Name"), ("price", "Price")]

    @property
    def clear_url(self) -> str:
        """The URL of this list without filters."""
        return self.url(price=None, brand=None, rating=None, in_stock=None)

    def _apply_filters(self, rows: Sequence[sqlite3.Row]) -> Sequence[sqlite3.Row]:
        """Return the rows that match the filters of the URL, and store these filters as active."""
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
        self.active.append((label, self.url(**{key: None}), count))

    def _facets(self, rows: Sequence[sqlite3.Row]) -> dict[str, list[Choice]]:
        """Return the inactive filters, each with the values that exclude some products."""
        facets: dict[str, list[Choice]] = {}
        if "price" not in self.filters:
            facets["Price"] = [
                (range_label(low, high), self.url(price=f"{low // 100}-{high // 100}"), count)
                for low, high, count in price_ranges([row["final_cents"] for row in rows])
            ]
        if "brand" not in self.filters:
            brands = Counter(row["brand"] for row in rows)
            facets["Brand"] = [(brand, self.url(brand=brand), brands[brand]) for brand in sorted(brands)]
        if "rating" not in self.filters:
            at_least = {stars: sum((row["rating"] or 0) >= stars for row in rows) for stars in (4, 3)}
            facets["Rating"] = [(stars_label(stars), self.url(rating=stars), count) for stars, count in at_least.items()]
        if "in_stock" not in self.filters:
            facets["Availability"] = [("In Stock", self.url(in_stock=1), sum(row["is_salable"] for row in rows))]
        narrowing = {title: [choice for choice in choices if 0 < choice[2] < len(rows)] for title, choices in facets.items()}
        return {title: choices for title, choices in narrowing.items() if choices}


def price_range(value: str | None) -> tuple[int | None, int | None]:
    """Return the bounds in cents of a price filter in a URL, in whole currency units; the upper bound is exclusive.

    >>> price_range("10-20"), price_range("50-"), price_range("cheap")
    ((1000, 2000), (5000, None), (None, None))
    """
    low, dash, high = (value or "").partition("-")
    bounds = [whole_number(text, 0, 10**9 - 1) for text in (low, high)]
    if not dash or any(text and bound is None for text, bound in zip((low, high), bounds, strict=True)):
        return None, None
    return bounds[0] and bounds[0] * 100, bounds[1] and bounds[1] * 100


def price_ranges(prices: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return ranges (low, high, count) in cents of equal size that contain the prices, the finest with few ranges.

    >>> price_ranges([499, 1250, 1899, 9900])
    [(0, 1000, 1), (1000, 2000, 2), (9000, 10000, 1)]
    """
    step = next(step for step in STEPS if len({price // step for price in prices}) <= MOST_RANGES)
    counts = Counter(price // step for price in prices)
    return [(index * step, (index + 1) * step, counts[index]) for index in sorted(counts)]


def range_label(low: int, high: int | None) -> str:
    """Return the label of a price range.

    >>> range_label(1000, 2000), range_label(5000, None)
    ('$10.00 - $19.99', '$50.00 and above')
    """
    return f"{money(low)} and above" if high is None else f"{money(low)} - {money(max(high - 1, 0))}"


def stars_label(stars: int) -> str:
    """Return the label of a minimum rating."""
    return "5 stars" if stars == 5 else f"{stars} stars & up"


ON_HOME = 4  # products in each row of the home page


@site.get("/")
def home(request: Request) -> str:
    """Show new products and bestsellers."""
    db = request.db
    newest = "SELECT product_id FROM product WHERE is_enabled ORDER BY created_at DESC, product_id DESC LIMIT ?"
    best = "SELECT product_id FROM order_item GROUP BY product_id ORDER BY sum(qty_ordered) DESC, product_id LIMIT ?"
    arrivals = [product_id for (product_id,) in db.execute(newest, (ON_HOME,))]
    sellers = [product_id for (product_id,) in db.execute(best, (ON_HOME * 4,)) if product_id not in arrivals]
    rows = {"Best Sellers": queries.cards_by_id(db, sellers)[:ON_HOME], "New Arrivals": queries.cards_by_id(db, arrivals)}
    welcome = first(db, "SELECT content_heading, content FROM cms_page WHERE url_key = 'home'")
    return request.render("home.html", welcome=welcome, rows=rows)


@site.get("/<path:url_path>.html")
def catalogue_page(request: Request, url_path: str) -> str:
    """Show the category or product with a URL."""
    category = first(request.db, "SELECT * FROM category WHERE url_path = ?", (url_path,))
    if category is not None:
        return category_page(request, category)
    product = queries.product(request.db, url_path, "url_key")
    if product is None:
        raise NotFound
    return product_page(request, product)


def category_page(request: Request, category: sqlite3.Row) -> str:
    """Show a category with its subcategories and products."""
    listing = Listing(request, queries.category_cards(request.db, category["category_id"]))
    above = queries.category_path(request.db, category["category_id"])[:-1]
    below = queries.subcategories(request.db, category["category_id"])
    return request.render("category.html", category=category, above=above, below=below, listing=listing)


def product_page(request: Request, product: sqlite3.Row) -> str:
    """Show a product."""
    options: dict[tuple[int, str], list[sqlite3.Row]] = {}
    for row in queries.options(request.db, [product["product_id"]]):
        options.setdefault((row["option_id"], row["title"]), []).append(row)
    query = "SELECT name, value FROM product_attribute WHERE product_id = ? ORDER BY position, name"
    attributes = request.db.execute(query, (product["product_id"],)).fetchall()
    above = queries.category_path(request.db, product["category_id"])
    return request.render("product.html", product=product, above=above, options=options, attributes=attributes)


@site.get("/media/catalog/<url_key>.svg")
def picture(request: Request, url_key: str) -> Response:
    """Return the drawing of a product. Missing pictures are empty 404 responses, which do not consume flashed messages."""
    row = first(request.db, "SELECT name FROM product WHERE url_key = ?", (url_key,))
    if row is None:
        return Response(status=404)
    response = Response(draw_image(row["name"]), content_type="image/svg+xml")
    response.cache_control.max_age = 86400
    return response


LONGEST = 128  # characters of a search that count
MOST_WORDS = 12
WEIGHTS = (8, 8, 4, 2, 1)  # of the columns of product_text
TITLE = "p.name || ' ' || p.sku || ' ' || p.brand"
TEXT = f"{TITLE} || ' ' || p.short_description || ' ' || p.description"


@site.get("/catalogsearch/result/")
def results(request: Request) -> str | Response:
    """Show the results of a search, best match first."""
    phrase = clean(request.args.get("q", "")).replace("\n", " ")[:LONGEST]
    if not phrase:
        return request.redirect("/", "Please enter what to search for.", "notice")
    rows = find(request.db, phrase)
    if set(request.args) == {"q"}:
        values = (len(rows), request.stamp, phrase)  # one more use of the term
        query = "UPDATE search_term SET uses = uses + 1, num_results = ?, updated_at = ? WHERE query_text = ? COLLATE NOCASE"
        if request.db.execute(query, values).rowcount == 0:
            query = "INSERT INTO search_term (num_results, uses, updated_at, query_text) VALUES (?, 1, ?, ?)"
            request.db.execute(query, values)
    listing = Listing(request, rows, by="Relevance", keep=["q"])
    request.shows({"q": fold_case(phrase)})
    return request.render(
        "search.html", phrase=phrase, listing=listing, suggestions=[] if rows else suggestions(request.db, phrase)
    )


def find(db: sqlite3.Connection, phrase: str) -> list[sqlite3.Row]:
    """Return the products that contain all words of a phrase: first in name, SKU or brand, then also in the description.

    Where the shop has an index, these are the most relevant products.
    """
    if ranking.has_index(db):
        relevances = ranking.rank_texts(db, "product_text", phrase, WEIGHTS)
        rows = queries.cards(db, "p.product_id IN (SELECT value FROM json_each(?))", [json.dumps(list(relevances))])
        return sorted(
            rows, key=lambda row: (_rank(row, phrase.lower(), []) > 1, -relevances[row["product_id"]], row["product_id"])
        )
    words = _words(phrase)
    patterns = [like(word) for word in words]
    if not words:
        return []
    rows = queries.cards(db, " AND ".join([rf"{TEXT} LIKE ? ESCAPE '\'"] * len(words)), patterns)
    return sorted(rows, key=lambda row: _rank(row, phrase.lower(), words))


def _words(phrase: str) -> list[str]:
    return list(dict.fromkeys(phrase.lower().split()))[:MOST_WORDS]


def _rank(row: sqlite3.Row, phrase: str, words: list[str]) -> int:
    """Return the rank of a match: 0 for the exact name or SKU, 1 for the phrase in the name, 2 for all words in the title, 3 otherwise."""
    title = f"{row['name']} {row['sku']} {row['brand']}".lower()
    if phrase in (row["name"].lower(), row["sku"].lower()):
        return 0
    if phrase in row["name"].lower():
        return 1
    return 2 if all(word in title for word in words) else 3


def suggestions(db: sqlite3.Connection, phrase: str, most: int = 3) -> list[str]:
    """Return similar search phrases with results, the most similar first."""
    rows = db.execute("SELECT name || ' ' || brand AS title FROM product WHERE is_enabled")
    known = sorted({word for row in rows for word in re.findall(r"[^\W_]{3,}", row["title"].lower())})
    phrases = [""]
    for word in _words(phrase)[:4]:
        spellings = [word] if word in known else difflib.get_close_matches(word, known, n=most, cutoff=0.7) or [word]
        phrases = [f"{start} {spelling}".strip() for start in phrases for spelling in spellings][: 2 * most]
    return [other for other in phrases if other != phrase.lower() and find(db, other)][:most]


ADVANCED = {
    "name": ("Product Name", "p.name"),
    "sku": ("SKU", "p.sku"),
    "description": ("Description", "p.description"),
    "short_description": ("Short Description", "p.short_description"),
}


@site.get("/catalogsearch/advanced/")
def advanced_search(request: Request) -> str:
    """Show the form of the advanced search."""
    request.shows({key: request.args.get(key) for key in (*ADVANCED, "price[from]", "price[to]")})
    return request.render("advanced.html", fields=ADVANCED, values=request.args, errors=[])


@site.get("/catalogsearch/advanced/result/")
def advanced_results(request: Request) -> str:
    """Show the products that match all fields of the advanced search."""
    criteria, conditions, parameters, errors = [], [], [], []
    understood: dict[str, object] = {}
    for key, (label, column) in ADVANCED.items():
        text = clean(request.args.get(key, ""))[:LONGEST]
        if text:
            understood[key] = fold_case(text)
            criteria.append(f"{label}: {text}")
            conditions.append(rf"{column} LIKE ? ESCAPE '\'")
            parameters.append(like(text))
    for key, label, sign in (("price[from]", "Price from", ">="), ("price[to]", "Price to", "<=")):
        text = clean(request.args.get(key, ""))[:20]
        amount = cents(text)
        understood[key] = text if amount is None else f"{amount / 100:.2f}"
        if amount is not None:
            criteria.append(f"{label}: {text}")
            conditions.append(f"{queries.FINAL_PRICE} {sign} {amount}")
        elif text:
            errors.append(f"{label}: {text} is no price. Please enter a number such as 12.50.")
    request.shows(understood)
    if not conditions and not errors:
        errors.append("Enter a search term and try again.")
    if errors:
        return request.render("advanced.html", fields=ADVANCED, values=request.args, errors=errors)
    rows = queries.cards(request.db, " AND ".join(conditions), parameters)
    listing = Listing(request, rows, keep=[*ADVANCED, "price[from]", "price[to]"])
    return request.render("advanced_result.html", criteria=criteria, listing=listing)
