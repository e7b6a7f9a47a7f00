"""Goods: facts about them, shelves and their extremes, reviews, and pages to open."""

from typing import NamedTuple

from webarena_gym.answers import matches
from webarena_gym.sites.country.texts import money
from webarena_gym.sites.shopping.views.catalogue import LIMITS, TEXT, price_ranges, range_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping import (
    GOODS,
    PER_PAGE,
    SEARCH_BOX,
    open_account,
    open_category,
    open_product,
    sort_by_price,
)
from webarena_gym.templates.ways import impossible, question, turn_pages, visit

YES_NO = ("No", "Yes")


def product_attribute(world: t.Sampler) -> t.Draw:
    """Ask for a fact that the name of the product does not give away."""
    row = world.pick(
        GOODS
        + """SELECT g.name AS product, a.name, a.value FROM goods g JOIN product_attribute a USING (product_id)
        WHERE a.name != 'Brand' AND instr(g.name, a.value) = 0
            AND EXISTS (SELECT 1 FROM product_attribute b WHERE b.name = a.name AND b.value NOT LIKE '%' || a.value || '%')
        ORDER BY product_id, a.name"""
    )
    others = world.rows("SELECT DISTINCT value FROM product_attribute WHERE name = ? ORDER BY value", row["name"])
    return t.Draw(
        slots={"product": row["product"], "attribute": row["name"]},
        grounds={row["value"]: says(row["name"])} if row["value"] in YES_NO else {},
        eval=t.answer(fuzzy_match=row["value"]),
        solution=[*open_product(row["product"]), t.leave(row["value"], f"{row['name']}: {row['value']}.")],
        wrong_answers=[other["value"] for other in others if not matches(row["value"], other["value"])][:2],
    )


def two_of_a_category(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Return two products of one category that have different prices."""
    first = world.pick(GOODS + "SELECT * FROM goods ORDER BY product_id")
    others = GOODS + "SELECT * FROM goods WHERE category_id = ? AND cents != ? ORDER BY product_id"
    return first, world.pick(others, first["category_id"], first["cents"])


def missing_product(world: t.Sampler) -> t.Draw:
    """Ask for the price of something that this brand does not make."""
    row = world.pick(GOODS + "SELECT name, brand FROM goods ORDER BY product_id")
    brand = world.pick("SELECT DISTINCT brand FROM product WHERE brand != ? ORDER BY brand", row["brand"])["brand"]
    title = row["name"].removeprefix(row["brand"]).strip()
    t.skip_if(
        world.rows(f"SELECT 1 FROM product p WHERE {TEXT} LIKE ? AND {TEXT} LIKE ?", f"%{brand}%", f"%{kind_of(row)}%"), title
    )
    return impossible(
        {"product": f"{brand} {title}"},
        says("Your search returned no results"),
        way=[
            t.search(SEARCH_BOX, f"{brand} {title}"),
            t.search(SEARCH_BOX, f"{brand} {kind_of(row)}", "Nothing was found. I try fewer words."),
        ],
        seen="The shop has no such thing.",
    )


def kind_of(row: t.Row) -> str:
    """Return the last word of what a product is, in small letters: towel, sneakers."""
    return str(row["name"]).partition(",")[0].split()[-1].lower()


ONE_PAGE = 12  # products on one page of a list, in the plain layout


class Extreme(NamedTuple):
    """One end of a category's prices: the product there, the next one, what the end is called, and the way to it."""

    row: t.Row
    next_row: t.Row
    word: str
    is_dearest: bool

    @property
    def direction(self) -> str:
        """The direction of prices in which the product comes first, as addresses name it."""
        return "desc" if self.is_dearest else "asc"

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
    return question(
        {"brand": brand},
        span,
        way=[t.search(SEARCH_BOX, brand), *turn_pages(world, len(rows) - 1, ONE_PAGE, "There are more on the next page.")],
        seen=f"The {len(rows)} products cost {money(prices[0])} to {money(prices[-1])}.",
        wrong=[f"{money(prices[0])}, {money(max(price for price in prices if price != prices[-1]))}", money(prices[0])],
        ordered=True,
        labels=[list(words) for words in LOWEST_AND_HIGHEST],
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


ROOMS = {
    "wish list": ("wishlist/", [t.click("My Wish List")]),
    "address book": ("customer/address/", open_account("Address Book")),
    "list of past orders": ("sales/order/history/", open_account("My Orders")),
    "list of product reviews that I wrote": ("review/customer/", open_account("My Product Reviews")),
    "newsletter settings": ("newsletter/manage/", open_account("Newsletter Subscriptions")),
    "account page": ("customer/account/", open_account()),
    "name and email settings": ("customer/account/edit/", open_account("Account Information")),
    "shopping cart": ("checkout/cart/", [t.click("My Cart")]),
}
"""Pages of the account: what they are called, where they are, and the way there."""


def account_place(world: t.Sampler) -> t.Draw:
    """Open a page of the account."""
    place = world.rng.choice(list(ROOMS))
    path, steps = ROOMS[place]
    return visit({"place": place}, f"__SHOPPING__/{path}", way=steps)


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


def most_reviewed_place(world: t.Sampler) -> t.Draw:
    """Open the page of the product with the most reviews in a category."""
    row = world.pick(GOODS + "SELECT category_id, count(*) AS found FROM goods GROUP BY category_id ORDER BY category_id")
    best, second = world.rows(
        GOODS + "SELECT * FROM goods WHERE category_id = ? ORDER BY reviews DESC LIMIT 2", row["category_id"]
    )
    t.skip_if(best["reviews"] == second["reviews"], "one that has more reviews than all others")
    sizes = [world.layout.page_size(size) for size in LIMITS]
    size = next((size for size in sizes if size >= row["found"]), sizes[-1])
    whole_list = [t.choose("Show", str(size)), t.click("Apply")] if size > sizes[0] else []
    return visit(
        {"category": best["category"]},
        f"__SHOPPING__/{best['url_key']}.html",
        way=[
            *open_category(best),
            *whole_list,
            t.click(best["name"], f"{best['reviews']} reviews are more than any other has."),
        ],
    )
