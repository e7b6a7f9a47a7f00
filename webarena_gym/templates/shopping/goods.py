"""Goods: facts about them, shelves and their extremes, reviews, and pages to open."""

from typing import Any

from webarena_gym.answers import matches
from webarena_gym.sites.country.texts import money
from webarena_gym.sites.shopping.views.catalogue import LIMITS, TEXT, price_ranges, range_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import Ground, says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping import GOODS, PER_PAGE, SEARCH_BOX, open_category, sort_by_price
from webarena_gym.templates.ways import question, turn_pages, visit

YES_NO = ("No", "Yes")


def says_yes_or_no(row: t.Row) -> Ground | None:
    """Return what an attribute that is yes or no follows from."""
    return says(row["attribute"]) if row["value"] in YES_NO else None


def unlike(value: str, others: list[str]) -> list[str]:
    """Return two texts that do not mean the same as another."""
    return [other for other in others if not matches(value, other)][:2]


def two_of_a_category(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Return two products of one category that have different prices."""
    first = world.pick(GOODS + "SELECT * FROM goods ORDER BY product_id")
    others = GOODS + "SELECT * FROM goods WHERE category_id = ? AND cents != ? ORDER BY product_id"
    return first, world.pick(others, first["category_id"], first["cents"])


def kind_of(row: t.Row) -> str:
    """Return the last word of what a product is, in small letters: towel, sneakers."""
    return str(row["name"]).partition(",")[0].split()[-1].lower()


ONE_PAGE = 12  # products on one page of a list, in the plain layout


def draw_extreme(world: t.Sampler) -> dict[str, Any]:
    """Draw the cheapest or the most expensive product of a category, without ties, with the way to it and the name of the next one."""
    word, direction = world.rng.choice((("cheapest", "asc"), ("most expensive", "desc")))
    category_id = world.pick(GOODS + "SELECT DISTINCT category_id FROM goods ORDER BY category_id")["category_id"]
    rows = world.rows(GOODS + f"SELECT * FROM goods WHERE category_id = ? ORDER BY cents {direction}, product_id", category_id)
    t.skip_if(len(rows) < 2 or rows[0]["cents"] == rows[1]["cents"], f"a single {word} product of category {category_id}")
    to_list = [*open_category(rows[0]), *sort_by_price(is_descending=direction == "desc")]
    more = {"extreme": word, "direction": direction, "next_name": rows[1]["name"], "to_list": to_list}
    return {**dict(rows[0]), **more}


FOUND = GOODS.rstrip() + f", found AS (SELECT * FROM goods p WHERE {TEXT} LIKE '%' || :word || '%') "
"""The goods, and what a search for one word finds."""


def brand_prices(world: t.Sampler) -> t.Draw:
    """Ask for the price range of a brand whose products all fit on one page."""
    brand = world.pick(
        GOODS + "SELECT brand FROM goods GROUP BY brand HAVING count(*) BETWEEN 2 AND ? ORDER BY brand", ONE_PAGE
    )["brand"]
    rows = world.rows(FOUND + "SELECT * FROM found ORDER BY cents, product_id", {"word": brand})
    prices = [row["cents"] for row in rows]
    t.skip_if({row["brand"] for row in rows} != {brand} or len(set(prices)) < 3, f"a price range of {brand}")
    span = f"{money(prices[0])}, {money(prices[-1])}"
    return question(
        {"brand": brand},
        span,
        way=[t.search(SEARCH_BOX, brand), *turn_pages(world, len(rows) - 1, ONE_PAGE, "There are more on the next page.")],
        seen=f"The {len(rows)} products cost {money(prices[0])} to {money(prices[-1])}.",
        wrong=[f"{money(prices[0])}, {money(max(price for price in prices if price != prices[-1]))}", money(prices[0])],
        ordered=True,
        labels=[
            ["lowest", "cheapest", "minimum", "min", "low", "least"],
            ["highest", "dearest", "maximum", "max", "high", "expensive"],
        ],
    )


MANY = 2 * PER_PAGE  # reviews that one can still read through

SAID = (
    GOODS.rstrip()
    + """, said AS (
    SELECT r.product_id, r.nickname, r.title, r.rating AS stars,
        row_number() OVER (PARTITION BY product_id ORDER BY created_at DESC, review_id DESC) - 1 AS place
    FROM review r WHERE status = 'Approved'
) """
)
"""The goods, and the reviews that can be read, with their place in the list of a product's reviews."""


def reviews_of(world: t.Sampler, row: t.Row) -> list[t.Row]:
    """Return the reviews of a row of the goods, as they stand on its pages."""
    return world.rows(SAID + "SELECT * FROM said WHERE product_id = ? ORDER BY place", row["product_id"])


def same_on_first_page(world: t.Sampler, row: t.Row) -> int:
    """Return how many of the first page of reviews give as many stars."""
    return sum(each["stars"] == row["stars"] for each in reviews_of(world, row)[: world.layout.page_size(PER_PAGE)])


def another_reviewer(world: t.Sampler, row: t.Row) -> str:
    """Return a reviewer of another name."""
    names = (review["nickname"] for review in reviews_of(world, row))
    return next((name for name in names if not matches(row["nickname"], name)), "Nobody")


def search_words(row: t.Row) -> str:
    """Return what a product is, without its brand and in small letters."""
    return str(row["name"]).partition(",")[0].removeprefix(row["brand"]).strip().lower()


def price_filter_place(world: t.Sampler) -> t.Draw:
    """Open a category, filtered by one of the ranges of prices on offer."""
    row = world.pick(
        GOODS + "SELECT DISTINCT category_id, category, department, division, url_path FROM goods ORDER BY url_path"
    )
    goods = world.rows(GOODS + "SELECT cents FROM goods WHERE category_id = ? ORDER BY cents", row["category_id"])
    low, high, found = world.rng.choice(price_ranges([product["cents"] for product in goods]))
    t.skip_if(found == len(goods), "a range that leaves something out")
    label = range_label(low, high)
    return visit(
        {"category": row["category"], "range": label},
        f"__SHOPPING__/{row['url_path']}.html?price={low // 100}-{high // 100}",
        way=[*open_category(row), t.click(label)],
        seen=f"These are the {found} from {label}.",
    )


def show_all(world: t.Sampler, found: int) -> list[Step]:
    """Return the steps that show so many products on one page, or as many as can be."""
    sizes = [world.layout.page_size(size) for size in LIMITS]
    size = next((size for size in sizes if size >= found), sizes[-1])
    return [t.choose("Show", str(size)), t.click("Apply")] if size > sizes[0] else []
