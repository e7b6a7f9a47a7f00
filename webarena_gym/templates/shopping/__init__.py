"""The shop: queries of its templates on products and the current user's orders, paths of solutions, and checks of the cart."""

import json
from datetime import date
from typing import Any

from webarena_gym.answers import matches
from webarena_gym.sites.country.texts import money
from webarena_gym.sites.shopping.carts import FLAT, PAYMENT_METHODS, TABLE
from webarena_gym.sites.shopping.queries import FINAL_PRICE, STATUS_LABELS
from webarena_gym.sites.shopping.views.catalogue import LIMITS, TEXT, price_ranges, range_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import Ground, says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import amounts, nth, on_page, turn_pages

TEXTS = read_texts("shopping")

SEARCH_BOX = "Search entire store"
ME = 1  # the customer who is signed in when a task starts
PER_PAGE = 10  # orders or reviews on one page, in the plain layout

GOODS = f"""
WITH rated AS (
    SELECT product_id, avg(rating) AS rating, count(*) AS reviews FROM review WHERE status = 'Approved' GROUP BY product_id
), goods AS (
    SELECT p.*, {FINAL_PRICE} AS cents, p.is_in_stock AND p.quantity > 0 AS is_salable, rating, coalesce(reviews, 0) AS reviews,
        NOT EXISTS (SELECT 1 FROM product_option o WHERE o.product_id = p.product_id) AS is_plain,
        c.name AS category, c.url_path, top.name AS department, above.name AS division
    FROM product p JOIN category c USING (category_id) JOIN category top ON top.category_id = c.parent_id
        LEFT JOIN category above ON above.category_id = top.parent_id
        LEFT JOIN rated USING (product_id)
    WHERE p.is_enabled
) """
"""Query of the products that the shop shows, one row each. A product is plain when a buyer has nothing to choose."""

MINE = f"""
WITH mine AS (
    SELECT o.*, row_number() OVER (ORDER BY created_at DESC, order_id DESC) - 1 AS place
    FROM sales_order o WHERE customer_id = {ME}
) """
"""My orders, with their place in the list of orders, where the newest comes first."""


OPTIONS = (
    GOODS
    + """SELECT o.option_id, is_salable, (SELECT group_concat(label, ', ') FROM (
        SELECT label FROM product_option_value v WHERE v.option_id = o.option_id ORDER BY position)) AS labels
    FROM goods JOIN product_option o USING (product_id)"""
)
"""The options of the goods, each with all its labels as one text."""


def open_product(name: str) -> list[Step]:
    """Return the steps to a product's page."""
    return [t.search(SEARCH_BOX, name), t.click(name)]


def open_category(row: t.Row) -> list[Step]:
    """Return the steps to the category of a product."""
    return [t.click(row[name]) for name in ("division", "department", "category") if row[name]]


def sort_by_price(*, is_descending: bool = False) -> list[Step]:
    """Return the steps that sort the list of products on this page."""
    turn = [t.click("Set Descending Direction", "The cheapest come first now.")] if is_descending else []
    return [t.choose("Sort By", "Price"), t.click("Apply"), *turn]


PLAIN = GOODS + "SELECT * FROM goods WHERE is_salable AND is_plain ORDER BY product_id"
"""The products that can be bought without choosing options."""
WISHES = f"SELECT sku, w.quantity FROM wishlist_item w JOIN product USING (product_id) WHERE customer_id = {ME} ORDER BY sku"
WISHED = f"SELECT name AS value FROM wishlist_item JOIN product USING (product_id) WHERE customer_id = {ME} AND is_enabled ORDER BY item_id LIMIT 1"
NOT_WISHED = GOODS + f"SELECT name, sku FROM goods WHERE sku NOT IN (SELECT sku FROM ({WISHES})) ORDER BY product_id"
COMPARED = "SELECT sku FROM compare_item JOIN product USING (product_id) ORDER BY sku"
ADDRESS = (
    "firstname, lastname, company, street, city, region, postcode, country, telephone, is_default_billing, is_default_shipping"
)
BOOK = f"SELECT {ADDRESS} FROM customer_address WHERE customer_id = {ME} ORDER BY street"
"""My address book."""


def open_account(*labels: str) -> list[Step]:
    """Return the steps to a page of the current user's account, by the labels of the links."""
    return [t.click("My Account"), *map(t.click, labels)]


def open_orders(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the page of the current user's order list that contains an order."""
    turns = turn_pages(world, row["place"], PER_PAGE, f"{row['increment_id']} is not on this page.")
    return [*open_account("My Orders"), *turns]


def open_order(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to an order's page."""
    _, place = on_page(world, row["place"], PER_PAGE)
    thought = f"{row['increment_id']} is number {place + 1} on this page."
    return [*open_orders(world, row), click_order(world, row, "View Order", thought)]


def click_order(world: t.Sampler, row: t.Row, label: str, thought: str) -> Step:
    """Return the step that clicks a link of an order on its page of the order list."""
    return t.click(nth(label, on_page(world, row["place"], PER_PAGE)[1]), thought)


def open_reviews(row: t.Row) -> list[Step]:
    """Return the steps to the first page of a product's reviews."""
    return [*open_product(row["name"]), t.click("Reviews" if row["reviews"] else "Be the first to review this product")]


def remove_wishes(world: t.Sampler) -> list[Step]:
    """Return the steps that remove the present items from the current user's wish list, where they come first."""
    return [t.click("Remove", f"{count} to take off.") for count in range(len(world.rows(WISHES)), 0, -1)]


YES_NO = ("No", "Yes")


def says_yes_or_no(row: t.Row) -> Ground | None:
    """Return the derivation of an answer from an attribute whose value is yes or no."""
    return says(row["attribute"]) if row["value"] in YES_NO else None


def unlike(value: str, others: list[str]) -> list[str]:
    """Return two texts that differ in meaning from a text."""
    return [other for other in others if not matches(value, other)][:2]


def two_of_a_category(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Draw two products of one category with different prices."""
    first = world.pick(GOODS + "SELECT * FROM goods ORDER BY product_id")
    others = GOODS + "SELECT * FROM goods WHERE category_id = ? AND cents != ? ORDER BY product_id"
    return first, world.pick(others, first["category_id"], first["cents"])


def kind_of(row: t.Row) -> str:
    """Return the last word of a product's noun in lower case, such as towel or sneakers."""
    return str(row["name"]).partition(",")[0].split()[-1].lower()


def phone_on_page(world: t.Sampler, row: t.Row) -> str:
    """Plant the brand's phone number on the page of a product, and return the number."""
    phone = f"({world.rng.randint(201, 989)}) 555-{world.rng.randint(0, 9999):04d}"
    last = world.value("SELECT max(position) FROM product_attribute WHERE product_id = ?", row["product_id"])
    world.plant("product_attribute", product_id=row["product_id"], name="Phone", value=phone, position=(last or 0) + 1)
    return phone


ONE_PAGE = 12  # products on one page of a list, in the plain layout


def draw_extreme(world: t.Sampler) -> dict[str, Any]:
    """Draw the cheapest or most expensive product of a category, without ties, with the path to it and the name of the next one."""
    word, direction = world.rng.choice((("cheapest", "asc"), ("most expensive", "desc")))
    category_id = world.pick(GOODS + "SELECT DISTINCT category_id FROM goods ORDER BY category_id")["category_id"]
    rows = world.rows(GOODS + f"SELECT * FROM goods WHERE category_id = ? ORDER BY cents {direction}, product_id", category_id)
    t.skip_if(len(rows) < 2 or rows[0]["cents"] == rows[1]["cents"], f"a single {word} product of category {category_id}")
    to_list = [*open_category(rows[0]), *sort_by_price(is_descending=direction == "desc")]
    more = {"extreme": word, "direction": direction, "next_name": rows[1]["name"], "to_list": to_list}
    return {**dict(rows[0]), **more}


FOUND = GOODS.rstrip() + f", found AS (SELECT * FROM goods p WHERE {TEXT} LIKE '%' || :word || '%') "
"""The goods, and what a search for one word finds."""


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
    """Return the reviews of a product in the order of its review pages."""
    return world.rows(SAID + "SELECT * FROM said WHERE product_id = ? ORDER BY place", row["product_id"])


def same_on_first_page(world: t.Sampler, row: t.Row) -> int:
    """Return the number of reviews on the first page with the same number of stars."""
    return sum(item["stars"] == row["stars"] for item in reviews_of(world, row)[: world.layout.page_size(PER_PAGE)])


def another_reviewer(world: t.Sampler, row: t.Row) -> str:
    """Return a reviewer with a different name."""
    names = (review["nickname"] for review in reviews_of(world, row))
    return next((name for name in names if not matches(row["nickname"], name)), "Nobody")


def search_words(row: t.Row) -> str:
    """Return a product's noun, without its brand, in lower case."""
    return str(row["name"]).partition(",")[0].removeprefix(row["brand"]).strip().lower()


def show_all(world: t.Sampler, count: int) -> list[Step]:
    """Return the steps that show `count` products on one page, or as many as possible."""
    sizes = [world.layout.page_size(size) for size in LIMITS]
    size = next((size for size in sizes if size >= count), sizes[-1])
    return [t.choose("Show", str(size)), t.click("Apply")] if size > sizes[0] else []


def open_both(world: t.Sampler, row: t.Row, other: t.Row) -> list[Step]:
    """Return the steps to my order list and over its pages that contain two orders."""
    near, far = sorted((row, other), key=lambda item: on_page(world, item["place"], PER_PAGE)[0])
    between = on_page(world, far["place"], PER_PAGE)[0] - on_page(world, near["place"], PER_PAGE)[0]
    thought = f"{near['increment_id']} comes to {money(near['grand_total_cents'])}."
    return [*open_orders(world, near), *[t.click("Next", thought)] * between]


def look_into_orders(place: int) -> list[Step]:
    """Return the steps that open the orders of a page, one after the other, up to an index."""
    looks = [step for item in range(place) for step in (t.click(nth("View Order", item)), t.back("It is not in this order."))]
    return [*looks, t.click(nth("View Order", place))]


RECENT = 5  # orders that the account page shows
RANKS = ("latest", "second latest", "third latest", "fourth latest", "fifth latest")


def latest_in_status(world: t.Sampler) -> t.Row:
    """Return the current user's newest order with a status."""
    status = world.pick(MINE + "SELECT DISTINCT status FROM mine ORDER BY status")["status"]
    return world.rows(MINE + "SELECT * FROM mine WHERE status = ? ORDER BY place LIMIT 1", status)[0]


def look_for(world: t.Sampler, row: t.Row, status: str) -> list[Step]:
    """Return the steps to the page of the order list with the first order that has a status."""
    return [*open_account("My Orders"), *turn_pages(world, row["place"], PER_PAGE, f"None on this page is {status}.")]


def read_month(world: t.Sampler, rows: list[t.Row]) -> list[Step]:
    """Return the steps over the pages of the order list that contain the given orders of one month."""
    first, last = (on_page(world, row["place"], PER_PAGE)[0] for row in (rows[0], rows[-1]))
    thought = f"There is no order of {month_name(rows[0])} on this page yet."
    steps = [*open_account("My Orders"), *turn_pages(world, rows[0]["place"], PER_PAGE, thought)]
    for page in range(first, last):
        visible = (money(row["grand_total_cents"]) for row in rows if on_page(world, row["place"], PER_PAGE)[0] <= page)
        steps.append(t.click("Next", f"So far: {', '.join(visible)}."))
    return steps


def months(world: t.Sampler, condition: str) -> list[list[t.Row]]:
    """Return the current user's orders that satisfy a condition, newest first, as a list for each month."""
    candidates: dict[str, list[t.Row]] = {}
    for row in world.rows(MINE + f"SELECT * FROM mine WHERE {condition} ORDER BY place"):
        candidates.setdefault(row["created_at"][:7], []).append(row)
    return list(candidates.values())


def month_by_count(world: t.Sampler) -> list[t.Row]:
    """Draw a number of orders per month, and then the orders of a month with this number."""
    candidates = months(world, "true")
    count = world.rng.choice(sorted({len(orders) for orders in candidates}))
    return world.rng.choice([orders for orders in candidates if len(orders) == count])


def month_name(row: t.Row) -> str:
    """Return the month of an order in words."""
    return f"{date.fromisoformat(row['created_at'][:10]):%B %Y}"


def counts_by_page(world: t.Sampler, status: str) -> list[str]:
    """Return the number of orders with a status on each page of the order list."""
    rows, size = world.rows(MINE + "SELECT * FROM mine ORDER BY place"), world.layout.page_size(PER_PAGE)
    return [str(sum(row["status"] == status for row in rows[at : at + size])) for at in range(0, len(rows), size)]


def turn_each(counts: list[str], words: str) -> list[Step]:
    """Return the steps over the pages of a list; the thoughts contain the numbers found on each page."""
    return [t.click("Next", f"{count} {words}") for count in counts[:-1]]


CART = f"""
SELECT p.sku, i.options, i.quantity, c.coupon_code
FROM cart c JOIN cart_item i USING (cart_id) JOIN product p USING (product_id) WHERE c.customer_id = {ME} ORDER BY p.sku, i.options
"""
NEW_ORDERS = """
SELECT o.customer_id, o.status, o.coupon_code, o.shipping_cents, o.payment_method, a.street, i.sku, i.options, i.qty_ordered
FROM sales_order o JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'shipping' JOIN order_item i ON i.order_id = o.order_id
WHERE o.increment_id > ? ORDER BY o.order_id, i.sku
"""


def cart_holds(*lines: tuple[str, dict[str, str], int], coupon: str | None = None) -> dict[str, Any]:
    """Return a check that the current user's cart contains exactly these lines (SKU, options, quantity), with a coupon."""
    return t.state(CART, expected=sorted([sku, json.dumps(options), quantity, coupon] for sku, options, quantity in lines))


def buy(name: str) -> list[Step]:
    """Return the steps that add a product without options to the cart."""
    return [*open_product(name), t.click("Add to Cart")]


def choose_options(world: t.Sampler, row: t.Row) -> tuple[dict[str, str], list[str], list[Step]]:
    """Draw a value of each option of a product; return them by title of the option, in words, and as steps."""
    chosen, steps = {}, []
    for option in world.rows("SELECT * FROM product_option WHERE product_id = ? ORDER BY position", row["product_id"]):
        value = world.pick("SELECT * FROM product_option_value WHERE option_id = ? ORDER BY position", option["option_id"])
        chosen[option["title"]] = value["label"]
        extra = f" +{money(value['price_delta_cents'])}" if value["price_delta_cents"] else ""
        steps.append(t.choose(option["title"], value["label"] + extra))
    return chosen, [f"{title} {label}" for title, label in chosen.items()], steps
