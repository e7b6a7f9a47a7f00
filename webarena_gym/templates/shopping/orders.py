"""Orders: questions about one or several, the cart, and orders to place."""

import json
from datetime import date
from typing import Any

from webarena_gym.sites.country.texts import long_date, money
from webarena_gym.sites.shopping.carts import FLAT, PAYMENT_METHODS, TABLE
from webarena_gym.sites.shopping.queries import STATUS_LABELS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks, number_of, sum_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping import (
    GOODS,
    ME,
    MINE,
    PER_PAGE,
    open_account,
    open_category,
    open_order,
    open_orders,
    open_product,
    sort_by_price,
)
from webarena_gym.templates.shopping.goods import ONE_PAGE
from webarena_gym.templates.ways import impossible, instruction, nth, on_page, question, turn_pages


def any_order(world: t.Sampler) -> t.Row:
    """Return one of my orders."""
    return world.pick(MINE + "SELECT * FROM mine ORDER BY order_id")


def order_discount(world: t.Sampler) -> t.Draw:
    """Ask for the discount of an order; none is as likely as some."""
    condition = world.rng.choice(("= 0", "> 0"))
    row = world.pick(MINE + f"SELECT * FROM mine WHERE discount_cents {condition} ORDER BY order_id")
    discount = money(row["discount_cents"])
    seen = f"The discount was {discount}." if row["discount_cents"] else "There is no line for a discount."
    return question(
        {"number": row["increment_id"]},
        discount,
        way=open_order(world, row),
        seen=seen,
        wrong=[money(row["discount_cents"] + 500)],
    )


def orders_sum(world: t.Sampler) -> t.Draw:
    """Ask for the sum of two orders that stand on one page."""
    first = any_order(world)
    second = world.pick(
        MINE + "SELECT * FROM mine WHERE place / ? = ? AND order_id != ? ORDER BY order_id",
        PER_PAGE,
        first["place"] // PER_PAGE,
        first["order_id"],
    )
    parts = [row["grand_total_cents"] for row in (first, second)]
    total = money(sum(parts))
    near, far = sorted((first, second), key=lambda row: on_page(world, row["place"], PER_PAGE)[0])
    between = on_page(world, far["place"], PER_PAGE)[0] - on_page(world, near["place"], PER_PAGE)[0]
    return question(
        {"first": first["increment_id"], "second": second["increment_id"]},
        total,
        way=[
            *open_orders(world, near),
            *[t.click("Next", f"{near['increment_id']} comes to {money(near['grand_total_cents'])}.")] * between,
        ],
        seen=f"{money(parts[0])} and {money(parts[1])} make {total}.",
        wrong=[money(max(parts)), money(sum(parts) + 100)],
        ground=sum_of(*map(money, parts)),
    )


def order_report(world: t.Sampler) -> t.Draw:
    """Ask for a fact and for the page that states it."""
    row = any_order(world)
    paid = money(row["shipping_cents"])
    return t.Draw(
        slots={"number": row["increment_id"]},
        eval=t.all_of(t.answer(fuzzy_match=paid), t.at_url(f"__SHOPPING__/sales/order/view/order_id/{row['order_id']}/")),
        solution=[*open_order(world, row), t.leave(paid, f"Shipping & Handling: {paid}.")],
        wrong_answers=[money(row["shipping_cents"] + 500)],
    )


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


def last_ordered(world: t.Sampler) -> t.Draw:
    """Ask when a product was ordered last, which was in one of the recent orders, by opening one after the other."""
    row = world.pick(
        MINE
        + """SELECT i.name, min(place) AS place, max(created_at) AS created_at FROM mine m JOIN order_item i USING (order_id)
        GROUP BY i.product_id HAVING min(place) < ? ORDER BY i.product_id""",
        RECENT,
    )
    day = long_date(row["created_at"])
    others = world.rows(
        MINE + "SELECT created_at FROM mine WHERE date(created_at) != date(?) ORDER BY place", row["created_at"]
    )
    looks: list[Step] = []
    for place in range(row["place"]):
        looks += [t.click(nth("View Order", place)), t.back("It is not in this order.")]
    return question(
        {"product": row["name"]},
        day,
        way=[*open_account(), *looks, t.click(nth("View Order", row["place"]))],
        seen=f"Here it is: {day}.",
        wrong=[long_date(others[0]["created_at"])],
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


def plain_product(world: t.Sampler) -> t.Row:
    """Return a product that can be bought without choosing options."""
    return world.pick(GOODS + "SELECT * FROM goods WHERE is_salable AND is_plain ORDER BY product_id")


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


def cart_add_two(world: t.Sampler) -> t.Draw:
    """Add two products to the cart."""
    first, second = plain_product(world), plain_product(world)
    t.skip_if(first["sku"] == second["sku"], "two different products")
    return instruction(
        {"first": first["name"], "second": second["name"]},
        cart_holds((first["sku"], {}, 1), (second["sku"], {}, 1)),
        way=[*buy(first["name"]), *buy(second["name"])],
        seen="Both are in the cart.",
    )


def cart_add_affordable(world: t.Sampler) -> t.Draw:
    """Add the dearest product of a category below a round price to the cart; it is on the first page when sorted."""
    row = world.pick(
        GOODS.rstrip()
        + """, shelf AS (
            SELECT *, cents / 500 * 500 + 500 AS budget, lag(cents) OVER w AS before, lead(cents) OVER w AS after,
                row_number() OVER w AS place
            FROM goods WINDOW w AS (PARTITION BY category_id ORDER BY cents, product_id)
        )
        SELECT * FROM shelf
        WHERE is_plain AND is_salable AND before < cents AND budget < after AND place < ? ORDER BY product_id""",
        ONE_PAGE,
    )
    return instruction(
        {"budget": money(row["budget"]), "category": row["category"]},
        cart_holds((row["sku"], {}, 1)),
        way=[
            *open_category(row),
            *sort_by_price(),
            *turn_pages(world, row["place"] - 1, ONE_PAGE, f"All on this page cost less than {money(row['budget'])}."),
            t.click(row["name"], f"It costs {money(row['cents'])}, the next one {money(row['after'])}."),
            t.click("Add to Cart"),
        ],
        seen="It is in the cart.",
    )


def reorder(world: t.Sampler) -> t.Draw:
    """Put everything from an order of mine into the cart once more."""
    row = world.pick(
        MINE
        + """SELECT m.* FROM mine m JOIN order_item i USING (order_id) JOIN product p USING (product_id)
        GROUP BY order_id HAVING min(p.is_enabled AND p.is_in_stock AND p.quantity >= i.qty_ordered) ORDER BY order_id"""
    )
    items = world.rows("SELECT sku, options, qty_ordered FROM order_item WHERE order_id = ?", row["order_id"])
    _, place = on_page(world, row["place"], PER_PAGE)
    return instruction(
        {"number": row["increment_id"]},
        cart_holds(*((item["sku"], json.loads(item["options"]), item["qty_ordered"]) for item in items)),
        way=[*open_orders(world, row), t.click(nth("Reorder", place), f"{row['increment_id']} is on this page.")],
        seen="The cart holds the same again.",
    )


def checkout(world: t.Sampler) -> t.Draw:
    """Place an order for one product."""
    row = plain_product(world)
    payment = world.rng.choice(PAYMENT_METHODS)
    method, carrier = world.rng.choice(((FLAT, "flatrate"), (TABLE, "tablerate")))
    cents = world.value(
        "SELECT CAST(round(100 * value) AS INTEGER) FROM store_config WHERE path = ?", f"carriers/{carrier}/price"
    )
    address = world.pick(f"SELECT * FROM customer_address WHERE customer_id = {ME} ORDER BY address_id")
    number = world.value("SELECT max(increment_id) FROM sales_order")
    shown = "{lastname}, {street}, {city}".format(**address)
    return instruction(
        {"product": row["name"], "street": address["street"], "method": method, "payment": payment},
        t.state(NEW_ORDERS, number, expected=[[ME, "pending", None, cents, payment, address["street"], row["sku"], "{}", 1]]),
        way=[
            *buy(row["name"]),
            t.click("My Cart"),
            t.click("Proceed to Checkout"),
            *([] if address["is_default_shipping"] else [t.click(shown)]),
            t.click(f"{method} {money(cents)}"),
            t.click("Next"),
            *([] if payment == PAYMENT_METHODS[0] else [t.click(payment)]),
            t.click("Place Order"),
        ],
        seen="The shop thanks for the purchase.",
    )
