"""The home page, categories, products with their pictures, and the search."""

import difflib
import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import folded, like, money
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.database import first
from webarena_gym.sites.kit.forms import Pager, clean, whole_number
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping.carts import cents
from webarena_gym.sites.shopping.site import site

_SHAPES: tuple[tuple[str, str], ...] = (  # how words of a name begin (whole words with a space), and what is drawn: paths with a paint of `_PAINTS` before each
    ("notebook|planner|sketchbook", "dM56 44h20v152H56z|bM70 44h104a10 10 0 0 1 10 10v132a10 10 0 0 1-10 10H70z|lM92 78h70v38H92z|aM102 90h50v5h-50zM102 102h34v5h-34z"),
    ("pen |pens|pencils|highlighters|poles|wand|curtain rod", "bM50 176l70-136 16 8-70 136-18 12z|aM90 180l60-140 17 7-60 140-17 9z|dM132 182l44-144 18 5-44 144-16 10z"),
    ("flower pot|planter|window box|garden bed", "gM120 116c-4-40-30-58-54-60 2 28 20 52 54 60zM120 116c2-48 26-66 56-66 0 32-22 56-56 66zM112 116c-4-30-2-60 8-84 12 26 14 54 8 84z|bM68 124h104l-12 72H80z|dM62 112h116v18H62z"),
    ("game|puzzle|teaser set|blocks|marble|model|organizer|file box|bin |tool box|pods|kit |dollhouse", "bM44 84l100 14v98L44 176z|dM144 98l52-22v92l-52 28z|aM44 84l54-20 98 12-52 22z|lM60 106l64 9v42l-64-11z"),
    ("speaker|soundbar|radio", "bM70 44h100a14 14 0 0 1 14 14v124a14 14 0 0 1-14 14H70a14 14 0 0 1-14-14V58a14 14 0 0 1 14-14z|dM84 144a36 36 0 1 0 72 0a36 36 0 1 0-72 0zM104 78a16 16 0 1 0 32 0a16 16 0 1 0-32 0z|mM104 144a16 16 0 1 0 32 0a16 16 0 1 0-32 0z"),
    ("headphone|headset|earbud|earphone", "dM52 140v-20a68 68 0 0 1 136 0v20h-14v-20a54 54 0 0 0-108 0v20z|bM44 128h30a8 8 0 0 1 8 8v52a8 8 0 0 1-8 8H60a16 16 0 0 1-16-16zM196 128h-30a8 8 0 0 0-8 8v52a8 8 0 0 0 8 8h14a16 16 0 0 0 16-16z|mM74 128h8v68h-8zM158 128h8v68h-8z"),
    ("keyboard|wrist", "bM28 104h184a10 10 0 0 1 10 10l8 72a10 10 0 0 1-10 10H20a10 10 0 0 1-10-10l8-72a10 10 0 0 1 10-10z|lM34 116h24v14H34zM66 116h24v14H66zM98 116h24v14H98zM130 116h24v14h-24zM162 116h44v14h-44zM30 138h32v14H30zM70 138h24v14H70zM102 138h24v14h-24zM134 138h24v14h-24zM166 138h44v14h-44zM66 162h108v16H66z"),
    ("frame|mirror|wall clock|print|mouse pad|board|chess|tiles", "bM48 44h144v152H48z|lM62 58h116v124H62z|aM76 72h88v96H76z|dM76 168l34-44 24 26 14-16 16 34zM132 92a10 10 0 1 0 20 0a10 10 0 1 0-20 0z"),
    ("lamp|headlamp|light|lantern", "lM64 108h112l10 16H54z|bM88 44h64l28 64H60z|mM115 108h10v76h-10z|dM84 182h72a12 12 0 0 1 12 14H72a12 12 0 0 1 12-14z"),
    ("sleeping|mat |rug|roller|pad ", "bM46 104h140a28 46 0 0 1 0 92H46z|aM120 104h22v92h-22z|dM18 150a28 46 0 1 0 56 0a28 46 0 1 0-56 0z|lM32 150a14 26 0 1 0 28 0a14 26 0 1 0-28 0z|dM40 150a6 12 0 1 0 12 0a6 12 0 1 0-12 0z"),
    ("pan |saucepan|wok|dutch oven|stove|baking sheet|muffin|pie dish", "dM156 122l70-22a7 7 0 0 1 5 14l-70 24z|bM20 132a76 30 0 0 1 152 0v20a76 44 0 0 1-152 0z|mM20 132a76 30 0 1 0 152 0a76 30 0 1 0-152 0z|dM30 133a66 24 0 1 0 132 0a66 24 0 1 0-132 0z"),
    ("bowl|pet fountain|feeder|scale", "bM36 112h168c0 54-36 84-84 84s-84-30-84-84z|dM36 112a84 22 0 1 0 168 0a84 22 0 1 0-168 0z|aM48 113a72 16 0 1 0 144 0a72 16 0 1 0-144 0z"),
    ("mug|kettle|teapot|tumbler|watering can", "dM160 98h20a28 28 0 0 1 0 64h-26v-14h24a14 14 0 0 0 0-36h-20z|bM56 76h112l-8 108a12 12 0 0 1-12 12H76a12 12 0 0 1-12-12z|dM56 76a56 13 0 1 0 112 0a56 13 0 1 0-112 0z|aM64 78a48 9 0 1 0 96 0a48 9 0 1 0-96 0z"),
    ("cream|balm|honey|butter|salts|powder|instant|fish food", "bM60 92h120v88a16 16 0 0 1-16 16H76a16 16 0 0 1-16-16z|dM54 62h132v32H54z|lM60 118h120v46H60z|aM76 134h60v5H76zM76 146h40v5H76z"),
    ("bottle|gel |lotion|sunscreen|shampoo|conditioner|oil |sauce|concentrate|toothpaste|flosser", "bM102 62h36v20c22 10 30 26 30 46v52a16 16 0 0 1-16 16H88a16 16 0 0 1-16-16v-52c0-20 8-36 30-46z|dM98 36h44v28H98z|lM72 128h96v44H72z|aM86 142h50v5H86zM86 154h34v5H86z"),
    ("beans|tea |trail mix|bars|chocolate|crackers|popcorn|pasta|treats|litter", "bM70 52h100l10 132a12 12 0 0 1-12 12H72a12 12 0 0 1-12-12z|dM66 40h108v16H66z|lM82 122a38 38 0 1 0 76 0a38 38 0 1 0-76 0z|aM98 122a22 22 0 1 0 44 0a22 22 0 1 0-44 0z"),
    ("backpack|bag |basket", "dM96 56a24 24 0 0 1 48 0h-10a14 14 0 0 0-28 0z|bM66 100a54 54 0 0 1 108 0v84a12 12 0 0 1-12 12H78a12 12 0 0 1-12-12z|aM82 128h76v52a8 8 0 0 1-8 8H90a8 8 0 0 1-8-8z|dM82 128h76v7H82zM94 92h52v5H94z"),
    ("tent", "bM120 48l100 148H20z|dM120 48l34 148H86z|aM120 48l6 148h-12z"),
    ("helmet|beanie", "bM32 168a88 108 0 0 1 176 0v10H32z|dM26 168h188a14 14 0 0 1 0 28H26a14 14 0 0 1 0-28z|aM112 62h16v98h-16zM70 92l14-10 8 76H76zM170 92l-14-10-8 76h16z"),
    ("plush|doll |puppet|chew toy", "bM64 70a22 22 0 1 0 44 0a22 22 0 1 0-44 0zM132 70a22 22 0 1 0 44 0a22 22 0 1 0-44 0zM68 164a52 40 0 1 0 104 0a52 40 0 1 0-104 0z|bM68 102a52 48 0 1 0 104 0a52 48 0 1 0-104 0z|lM96 118a24 18 0 1 0 48 0a24 18 0 1 0-48 0z|dM92 92a6 6 0 1 0 12 0a6 6 0 1 0-12 0zM136 92a6 6 0 1 0 12 0a6 6 0 1 0-12 0zM112 112a8 6 0 1 0 16 0a8 6 0 1 0-16 0z"),
    ("jacket|vest|coat|robe|bathrobe", "bM88 44c10 14 54 14 64 0l50 28-16 94-24-4 2 34H76l2-34-24 4-16-94z|dM88 44c10 14 54 14 64 0l-10-6c-10 10-34 10-44 0zM117 56h6v140h-6z|aM84 132h24v6H84zM132 132h24v6h-24z"),
    ("shirt", "bM88 48c10 14 54 14 64 0l50 28-18 42-22-10v88H78v-88l-22 10-18-42z|dM88 48c10 14 54 14 64 0l-8-6c-10 12-38 12-48 0z"),
    ("shoes|boots|sneakers|slippers", "bM26 180c-2-34 8-60 20-76l46 8c10 20 30 32 60 36 40 4 62 10 62 32z|aM46 104l46 8-6 14-44-8z|lM22 176h194a10 10 0 0 1 0 20H32a10 10 0 0 1-10-10zM100 122l22-6 3 7-18 6zM112 134l22-8 4 7-18 7zM128 142l20-8 4 7-16 6z"),
    ("pillow |cushion|dog bed", "bM40 92c40-16 120-16 160 0 10 30 10 62 0 92-40 16-120 16-160 0-10-30-10-62 0-92z|aM56 104c36-10 92-10 128 0 5 22 5 46 0 68-36 10-92 10-128 0-5-22-5-46 0-68z"),
    ("sock|scarf|towel|sheet|cover|blanket|curtain|glove|pillowcase|protector|soap", "bM42 156h156a20 20 0 0 1 0 40H42a20 20 0 0 1 0-40z|aM48 114h148a20 20 0 0 1 0 42H48a20 20 0 0 1 0-42z|bM46 72h146a20 20 0 0 1 0 42H46a20 20 0 0 1 0-42z|dM60 90h120v4H60zM60 132h120v4H60zM60 174h120v4H60z"),
    ("cable|rope|bands|leash|harness|belt|hose|sprinkler|drip", "bM28 132a92 64 0 1 0 184 0a92 64 0 1 0-184 0zM58 132a62 38 0 1 1 124 0a62 38 0 1 1-124 0z|dM40 132a80 53 0 1 0 160 0a80 53 0 1 0-160 0zM46 132a74 48 0 1 1 148 0a74 48 0 1 1-148 0z|mM186 60h34v20h-34z"),
    ("chair|stool", "mM80 136h10v60H80zM150 136h10v60h-10z|bM78 40h84a8 8 0 0 1 8 8v66H70V48a8 8 0 0 1 8-8z|dM60 116h120a12 12 0 0 1 0 24H60a12 12 0 0 1 0-24z"),
    ("table|desk |shelf|bookshelf|floating|stand|tree|post |tray", "dM44 96h12v100H44zM184 96h12v100h-12z|bM32 80h176v18H32z|bM56 142h128v12H56z|aM76 50h30v30H76zM110 60h12v20h-12z"),
    ("drill|sander|jigsaw|heat gun|dryer|pump|nozzle", "mM172 74h40v16h-40z|bM40 60h122a14 14 0 0 1 14 14v22a10 10 0 0 1-10 10h-44l10 66H88l-12-66H40a16 16 0 0 1-16-16V76a16 16 0 0 1 16-16z|dM78 172h68a6 6 0 0 1 6 6v18H78z|aM50 74h60v6H50zM50 86h60v6H50z"),
    ("hammer|wrench|pliers|dumbbell", "bM110 88h20l4 98a12 12 0 0 1-28 0z|mM64 46h88c20 0 32 10 34 30l-24 4c-2-8-8-10-14-10h-84a12 12 0 0 1 0-24z"),
    ("knife|toothbrush|peeler|screwdriver|shears|trowel|fork|brush|scraper|caliper", "mM112 128l-6-96c26 14 38 52 36 96z|bM106 126h38v54a19 16 0 0 1-38 0z|dM106 126h38v8h-38zM121 150a4 4 0 1 0 8 0a4 4 0 1 0-8 0zM121 168a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"),
    ("", "bM76 40h88a16 16 0 0 1 16 16v124a16 16 0 0 1-16 16H76a16 16 0 0 1-16-16V56a16 16 0 0 1 16-16z|dM76 60h88v56H76z|mM88 146h64v5H88z|lM112 170a8 8 0 1 0 16 0a8 8 0 1 0-16 0z"),
)  # fmt: skip
_PAINTS = {"b": "url(#b)", "m": "url(#m)", "l": "hsl(40 30% 95%)", "g": "hsl(128 34% 38%)"}


def draw_image(name: str) -> str:
    """Return an SVG drawing of a product: the words of its name give the shape, and all of the name the colour."""
    dice = hashlib.sha256(name.encode()).digest()
    hue, strong, light = dice[0] * 360 // 256, 16 + dice[1] % 38, 36 + dice[2] % 26
    paints = _PAINTS | {"d": f"hsl({hue} {strong}% {light - 22}%)", "a": f"hsl({(hue + 30) % 360} {strong}% {light + 14}%)"}
    said = f" {name.lower()} ".replace("-", " ").replace(",", " ")
    parts = next(parts for words, parts in _SHAPES if any(f" {word}" in said for word in words.split("|")))
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
"""A link of the filter column: what it says, where it leads, how many products are behind it."""


class Listing:
    """One page of products. `rows` come in the page's own order: a category's position, a search's relevance."""

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
        self.active.append((label, self.url(**{key: None}), count))

    def _facets(self, rows: Sequence[sqlite3.Row]) -> dict[str, list[Choice]]:
        """Return the filters that can still be set, each with the choices that leave some products out."""
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


ON_HOME = 4  # products in each row of the home page


@site.get("/")
def home(request: Request) -> str:
    """Show what is new and what sells best."""
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
    """Show the category or the product at that address."""
    category = first(request.db, "SELECT * FROM category WHERE url_path = ?", (url_path,))
    if category is not None:
        return category_page(request, category)
    product = queries.product(request.db, url_path, "url_key")
    if product is None:
        raise NotFound
    return product_page(request, product)


def category_page(request: Request, category: sqlite3.Row) -> str:
    """Show a category: the ones below it, and its products."""
    listing = Listing(request, queries.category_cards(request.db, category["category_id"]))
    return request.render(
        "category.html",
        category=category,
        above=queries.category_path(request.db, category["category_id"])[:-1],
        below=queries.subcategories(request.db, category["category_id"]),
        listing=listing,
    )


def product_page(request: Request, product: sqlite3.Row) -> str:
    """Show one product."""
    options: dict[tuple[int, str], list[sqlite3.Row]] = {}
    for row in queries.options(request.db, [product["product_id"]]):
        options.setdefault((row["option_id"], row["title"]), []).append(row)
    attributes = request.db.execute(
        "SELECT name, value FROM product_attribute WHERE product_id = ? ORDER BY position, name", (product["product_id"],)
    ).fetchall()
    return request.render(
        "product.html",
        product=product,
        above=queries.category_path(request.db, product["category_id"]),
        options=options,
        attributes=attributes,
    )


@site.get("/media/catalog/<url_key>.svg")
def picture(request: Request, url_key: str) -> Response:
    """Draw a product. A picture that does not exist is an empty 404, so that it shows nobody's pending messages."""
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
    """Show what a search finds, the best match first."""
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
    request.shows({"q": folded(phrase)})
    return request.render(
        "search.html", phrase=phrase, listing=listing, suggestions=[] if rows else suggestions(request.db, phrase)
    )


def find(db: sqlite3.Connection, phrase: str) -> list[sqlite3.Row]:
    """Return the products that have all words of the phrase: first in name, SKU or brand, then in the description too.

    Where the shop has an index, these are the most relevant products.
    """
    if ranking.has_index(db):
        found = ranking.ranked(db, "product_text", phrase, WEIGHTS)
        rows = queries.cards(db, "p.product_id IN (SELECT value FROM json_each(?))", [json.dumps(list(found))])
        return sorted(rows, key=lambda row: (_rank(row, phrase.lower(), []) > 1, -found[row["product_id"]], row["product_id"]))
    words = _words(phrase)
    patterns = [like(word) for word in words]
    if not words:
        return []
    rows = queries.cards(db, " AND ".join([rf"{TEXT} LIKE ? ESCAPE '\'"] * len(words)), patterns)
    return sorted(rows, key=lambda row: _rank(row, phrase.lower(), words))


def _words(phrase: str) -> list[str]:
    return list(dict.fromkeys(phrase.lower().split()))[:MOST_WORDS]


def _rank(row: sqlite3.Row, phrase: str, words: list[str]) -> int:
    """Return 0 for the very name or SKU, 1 for the phrase in the name, 2 for all words in the title, 3 for the rest."""
    title = f"{row['name']} {row['sku']} {row['brand']}".lower()
    if phrase in (row["name"].lower(), row["sku"].lower()):
        return 0
    if phrase in row["name"].lower():
        return 1
    return 2 if all(word in title for word in words) else 3


def suggestions(db: sqlite3.Connection, phrase: str, most: int = 3) -> list[str]:
    """Return other spellings of the phrase that do find something, the nearest first."""
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
def advanced(request: Request) -> str:
    """Ask what to search for, field by field."""
    request.shows({key: request.args.get(key) for key in (*ADVANCED, "price[from]", "price[to]")})
    return request.render("advanced.html", fields=ADVANCED, values=request.args, errors=[])


@site.get("/catalogsearch/advanced/result/")
def advanced_results(request: Request) -> str:
    """Show the products that meet every field that was filled in."""
    criteria, conditions, parameters, errors = [], [], [], []
    understood: dict[str, object] = {}
    for key, (label, column) in ADVANCED.items():
        text = clean(request.args.get(key, ""))[:LONGEST]
        if text:
            understood[key] = folded(text)
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
