"""Questions about many products at once: a category, a brand, what a search finds."""

from typing import NamedTuple

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping.views.search import TEXT
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping.goods import kind_of
from webarena_gym.templates.shopping.routes import GOODS, SEARCH_BOX, open_category, sort_by_price
from webarena_gym.templates.ways import question, turn_pages

ONE_PAGE = 12  # products on one page of a list, in the plain layout


class Extreme(NamedTuple):
    """One end of a category's prices: the product there, the next one, what the end is called, and the way to it."""

    row: t.Row
    next_row: t.Row
    word: str
    is_dearest: bool

    @property
    def way(self) -> list[Step]:
        """The steps to the category, sorted so that the product comes first."""
        return [*open_category(self.row), *sort_by_price(is_descending=self.is_dearest)]


def draw_extreme(world: t.Sampler) -> Extreme:
    """Draw the cheapest or the most expensive product of a category; there are no ties."""
    word, direction = world.rng.choice((("cheapest", "ASC"), ("most expensive", "DESC")))
    category_id = world.pick(GOODS + "SELECT DISTINCT category_id FROM goods ORDER BY category_id")["category_id"]
    rows = world.rows(GOODS + f"SELECT * FROM goods WHERE category_id = ? ORDER BY cents {direction}, product_id", category_id)
    if len(rows) < 2 or rows[0]["cents"] == rows[1]["cents"]:
        raise t.NothingToDraw(f"a single {word} product of category {category_id}")
    return Extreme(rows[0], rows[1], word, direction == "DESC")


def found_by(world: t.Sampler, word: str) -> list[t.Row]:
    """Return what a search for one word finds, the cheapest first."""
    return world.rows(GOODS + f"SELECT * FROM goods p WHERE {TEXT} LIKE ? ORDER BY cents, product_id", f"%{word}%")


def category_extreme(world: t.Sampler) -> t.Draw:
    """Ask for the product at either end of a category's prices."""
    end = draw_extreme(world)
    name = end.row["name"]
    return question(
        {"extreme": end.word, "category": end.row["category"]},
        name,
        way=end.way,
        seen=f"The first is the {name} for {money(end.row['cents'])}.",
        wrong=[end.next_row["name"]],
    )


LOWEST_AND_HIGHEST = (
    ("lowest", "cheapest", "minimum", "min", "low", "least"),
    ("highest", "dearest", "maximum", "max", "high", "expensive"),
)
"""The words by which an answer may tell the two ends of a span apart."""


def brand_prices(world: t.Sampler) -> t.Draw:
    """Ask for the price range of a brand whose products all fit on one page."""
    brand = world.pick(
        GOODS + "SELECT brand FROM goods GROUP BY brand HAVING count(*) BETWEEN 2 AND ? ORDER BY brand", ONE_PAGE
    )["brand"]
    rows = found_by(world, brand)
    prices = [row["cents"] for row in rows]
    if {row["brand"] for row in rows} != {brand} or len(set(prices)) < 3:
        raise t.NothingToDraw(f"a price range of {brand}")
    span = f"{money(prices[0])}, {money(prices[-1])}"
    return t.Draw(
        slots={"brand": brand},
        eval=t.told(t.answer(fuzzy_match=span), ordered=True, labels=[list(words) for words in LOWEST_AND_HIGHEST]),
        solution=[
            t.search(SEARCH_BOX, brand),
            *turn_pages(world, len(rows) - 1, ONE_PAGE, "There are more on the next page."),
            t.leave(span, f"The {len(rows)} products cost {money(prices[0])} to {money(prices[-1])}."),
        ],
        wrong_answers=[f"{money(prices[0])}, {money(max(price for price in prices if price != prices[-1]))}", money(prices[0])],
    )


def cheapest_found(world: t.Sampler) -> t.Draw:
    """Ask for the lowest price among the results of a search."""
    word = kind_of(world.pick(GOODS + "SELECT name FROM goods ORDER BY product_id"))
    rows = found_by(world, word)
    if len({row["cents"] for row in rows}) < 3:
        raise t.NothingToDraw(f"several prices for {word}")
    price = money(rows[0]["cents"])
    return question(
        {"word": word},
        price,
        way=[t.search(SEARCH_BOX, word), *sort_by_price()],
        seen=f"The {rows[0]['name']} is the cheapest.",
        wrong=[money(next(row["cents"] for row in rows if row["cents"] != rows[0]["cents"]))],
    )


brand_count = Fact(
    GOODS
    + "SELECT brand, category, department, division, count(*) AS found FROM goods GROUP BY category_id, brand ORDER BY url_path, brand",
    "{found}",
    way=lambda _, row: open_category(row),
    seen="The filter says {brand} ({found}).",
)
