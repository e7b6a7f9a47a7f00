"""Orders: questions about one or several, the cart, and orders to place."""

import json
from datetime import date
from typing import Any

from webarena_gym.sites.country.texts import long_date, money
from webarena_gym.sites.shopping.carts import FLAT as FLAT
from webarena_gym.sites.shopping.carts import PAYMENT_METHODS as PAYMENT_METHODS
from webarena_gym.sites.shopping.carts import TABLE as TABLE
from webarena_gym.sites.shopping.queries import STATUS_LABELS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks, number_of, sum_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping import GOODS, ME, MINE, PER_PAGE, open_account, open_orders, open_product
from webarena_gym.templates.ways import impossible, instruction, nth, on_page, question, turn_pages


def open_both(world: t.Sampler, row: t.Row, other: t.Row) -> list[Step]:
    """Return the steps to the list of my orders and over its pages, on which two of them stand."""
    near, far = sorted((row, other), key=lambda each: on_page(world, each["place"], PER_PAGE)[0])
    between = on_page(world, far["place"], PER_PAGE)[0] - on_page(world, near["place"], PER_PAGE)[0]
    thought = f"{near['increment_id']} comes to {money(near['grand_total_cents'])}."
    return [*open_orders(world, near), *[t.click("Next", thought)] * between]


def look_into_orders(place: int) -> list[Step]:
    """Return the steps that open one order of this page after the other, up to one place."""
    looks = [step for each in range(place) for step in (t.click(nth("View Order", each)), t.back("It is not in this order."))]
    return [*looks, t.click(nth("View Order", place))]


def missing_order(world: t.Sampler) -> t.Draw:
    """Ask about an order that is not mine."""
    query = "SELECT increment_id FROM sales_order WHERE customer_id IS NOT ? ORDER BY order_id"
    number = world.pick(query, ME)["increment_id"]
    mine = [row["grand_total_cents"] for row in world.rows(MINE + "SELECT grand_total_cents FROM mine ORDER BY place")]
    return impossible(
        {"number": number},
        lacks([money(cents) for cents in mine], [number]),
        way=[*open_account("My Orders"), *turn_pages(world, len(mine) - 1, PER_PAGE, f"{number} is not on this page.")],
        seen=f"I have no order {number}.",
    )


RECENT = 5  # orders that the account page shows
RANKS = ("latest", "second latest", "third latest", "fourth latest", "fifth latest")


def latest_in_status(world: t.Sampler) -> t.Row:
    """Return my newest order in some status."""
    status = world.pick(MINE + "SELECT DISTINCT status FROM mine ORDER BY status")["status"]
    return world.rows(MINE + "SELECT * FROM mine WHERE status = ? ORDER BY place LIMIT 1", status)[0]


def look_for(world: t.Sampler, row: t.Row, status: str) -> list[Step]:
    """Return the steps to the page of my orders on which the first of a status stands."""
    return [*open_account("My Orders"), *turn_pages(world, row["place"], PER_PAGE, f"None on this page is {status}.")]


def read_month(world: t.Sampler, rows: list[t.Row]) -> list[Step]:
    """Return the steps over the pages of my orders on which these orders of one month stand."""
    first, last = (on_page(world, row["place"], PER_PAGE)[0] for row in (rows[0], rows[-1]))
    thought = f"There is no order of {month_name(rows[0])} on this page yet."
    steps = [*open_account("My Orders"), *turn_pages(world, rows[0]["place"], PER_PAGE, thought)]
    for page in range(first, last):
        seen = (money(row["grand_total_cents"]) for row in rows if on_page(world, row["place"], PER_PAGE)[0] <= page)
        steps.append(t.click("Next", f"So far: {', '.join(seen)}."))
    return steps


def months(world: t.Sampler, condition: str) -> list[list[t.Row]]:
    """Return my orders that meet a condition, the newest first, in one list for each month."""
    found: dict[str, list[t.Row]] = {}
    for row in world.rows(MINE + f"SELECT * FROM mine WHERE {condition} ORDER BY place"):
        found.setdefault(row["created_at"][:7], []).append(row)
    return list(found.values())


def month_name(row: t.Row) -> str:
    """Return the month of an order as people write it."""
    return f"{date.fromisoformat(row['created_at'][:10]):%B %Y}"


def status_count(world: t.Sampler) -> t.Draw:
    """Ask how many orders are in a status; there are as many draws as statuses."""
    status = world.pick(MINE + "SELECT DISTINCT status FROM mine ORDER BY status")["status"]
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    size = world.layout.page_size(PER_PAGE)
    found = [sum(row["status"] == status for row in rows[at : at + size]) for at in range(0, len(rows), size)]
    pages = [t.click("Next", f"{count} {STATUS_LABELS[status]} on this page.") for count in found[:-1]]
    return question(
        {"status": STATUS_LABELS[status]},
        str(sum(found)),
        way=[*open_account("My Orders"), *pages],
        seen=f"{' + '.join(map(str, found))} = {sum(found)}.",
        wrong=[str(sum(found) + 1)],
        ground=number_of(*(row["increment_id"] for row in rows if row["status"] == status)),
    )


def month_count(world: t.Sampler) -> t.Draw:
    """Ask how many orders are of a month."""
    rows = world.rng.choice(months(world, "true"))
    return question(
        {"month": month_name(rows[0])},
        str(len(rows)),
        way=read_month(world, rows),
        seen=f"They are {', '.join(row['increment_id'] for row in rows)}.",
        wrong=[str(len(rows) + 1)],
        ground=number_of(*(row["increment_id"] for row in rows)),
    )


def month_spending(world: t.Sampler) -> t.Draw:
    """Ask for a sum over the orders of a month, among which others may be canceled."""
    rows = world.rng.choice(months(world, "status = 'complete'"))
    parts = [row["grand_total_cents"] for row in rows]
    total = money(sum(parts))
    return question(
        {"month": month_name(rows[0])},
        total,
        way=read_month(world, rows),
        seen=f"{' + '.join(map(money, parts))} = {total}.",
        wrong=[money(sum(parts) + 1500)],
        ground=sum_of(*map(money, parts)),
    )


def date_by_rank(world: t.Sampler) -> t.Draw:
    """Ask for the date of the first order ever, or of one of the latest; there are six draws in a world."""
    rows = world.rows(MINE + "SELECT * FROM mine ORDER BY place")
    place = world.rng.choice([*range(len(RANKS)), len(rows) - 1])
    day = long_date(rows[place]["created_at"])
    others = [long_date(row["created_at"]) for row in rows if long_date(row["created_at"]) != day]
    is_first = place == len(rows) - 1
    steps = [*open_account("My Orders"), *turn_pages(world, place, PER_PAGE, "The oldest order is on the last page.")]
    return question(
        {"rank": "very first" if is_first else RANKS[place]},
        day,
        way=steps if is_first else open_account(),
        seen=f"That is {rows[place]['increment_id']}, of {day}.",
        wrong=[world.rng.choice(others)],
    )


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
    """My cart must hold exactly these lines (SKU, options, quantity), with that coupon."""
    return t.state(CART, expected=sorted([sku, json.dumps(options), quantity, coupon] for sku, options, quantity in lines))


def buy(name: str) -> list[Step]:
    """Return the steps that put a plain product into the cart."""
    return [*open_product(name), t.click("Add to Cart")]


def cart_add_option(world: t.Sampler) -> t.Draw:
    """Add a product with a choice to the cart."""
    row = world.pick(
        GOODS
        + """SELECT name, sku, product_id FROM goods g JOIN product_option USING (product_id)
        WHERE is_salable GROUP BY product_id ORDER BY product_id"""
    )
    chosen = {}
    steps = []
    for option in world.rows("SELECT * FROM product_option WHERE product_id = ? ORDER BY position", row["product_id"]):
        value = world.pick("SELECT * FROM product_option_value WHERE option_id = ? ORDER BY position", option["option_id"])
        chosen[option["title"]] = value["label"]
        extra = f" +{money(value['price_delta_cents'])}" if value["price_delta_cents"] else ""
        steps.append(t.choose(option["title"], value["label"] + extra))
    return instruction(
        {"product": row["name"], "choice": " and ".join(f"{title} {label}" for title, label in chosen.items())},
        cart_holds((row["sku"], chosen, 1)),
        way=[*open_product(row["name"]), *steps, t.click("Add to Cart")],
        seen="It is in the cart.",
    )
