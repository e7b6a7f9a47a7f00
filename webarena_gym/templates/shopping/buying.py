"""Changes to the cart, and orders to place."""

import json
from typing import Any

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping.ordering import PAYMENT_METHODS
from webarena_gym.sites.shopping.pricing import FLAT, TABLE
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Change, Impossible
from webarena_gym.templates.shopping.routes import (
    GOODS,
    ME,
    MINE,
    PER_PAGE,
    open_category,
    open_orders,
    open_product,
    sort_by_price,
)
from webarena_gym.templates.shopping.shelves import ONE_PAGE
from webarena_gym.templates.ways import instruction, nth, on_page, turn_pages

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


cart_add = Change(
    plain_product,
    lambda _, row: cart_holds((row["sku"], {}, 1)),
    way=lambda _, row: buy(row["name"]),
    seen="It is in the cart.",
    slots={"product": "{name}"},
)


cart_add_several = Change(
    GOODS + "SELECT * FROM goods WHERE is_salable AND is_plain AND quantity > 5 ORDER BY product_id",
    lambda _, row: cart_holds((row["sku"], {}, row["quantity"])),
    way=[*open_product("{name}"), t.type_text("Qty", "{quantity!s}"), t.click("Add to Cart")],
    seen="There are {quantity} in the cart.",
    also={"quantity": lambda world, _row: world.rng.randint(2, 5)},
    slots={"product": "{name}"},
)


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
    if first["sku"] == second["sku"]:
        raise t.NothingToDraw("two different products")
    return instruction(
        {"first": first["name"], "second": second["name"]},
        cart_holds((first["sku"], {}, 1), (second["sku"], {}, 1)),
        way=[*buy(first["name"]), *buy(second["name"])],
        seen="Both are in the cart.",
    )


cart_show = Change(
    plain_product,
    lambda _, row: t.all_of(cart_holds((row["sku"], {}, 1)), t.at_url("__SHOPPING__/checkout/cart/")),
    way=lambda _, row: [*buy(row["name"]), t.click("My Cart")],
    seen="The cart shows it.",
    slots={"product": "{name}"},
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


cart_add_sold_out = Impossible(
    GOODS + "SELECT name FROM goods WHERE NOT is_salable ORDER BY product_id",
    says("Out of stock"),
    way=open_product("{name}"),
    seen="It is out of stock and has no button to add it.",
    slots={"product": "{name}"},
)


coupon_apply = Change(
    plain_product,
    lambda _, row: cart_holds((row["sku"], {}, 1), coupon=row["other"]["coupon_code"]),
    way=lambda _, row: [
        *buy(row["name"]),
        t.click("My Cart"),
        t.type_text("Discount Code", row["other"]["coupon_code"]),
        t.click("Apply Discount"),
    ],
    seen="The shop took the coupon {other[coupon_code]}.",
    other=(
        """SELECT coupon_code FROM cart_rule JOIN world ON key = 'now'
        WHERE is_active AND coupon_code != '' AND from_date <= date(value) AND coalesce(to_date, date(value)) >= date(value)
        ORDER BY rule_id""",
    ),
    slots={"product": "{name}", "code": "{other[coupon_code]}"},
)


reorder = Change(
    MINE
    + """SELECT m.* FROM mine m JOIN order_item i USING (order_id) JOIN product p USING (product_id)
        GROUP BY order_id HAVING min(p.is_enabled AND p.is_in_stock AND p.quantity >= i.qty_ordered) ORDER BY order_id""",
    lambda _, row: cart_holds(*((item["sku"], json.loads(item["options"]), item["qty_ordered"]) for item in row["items"])),
    way=lambda world, row: [
        *open_orders(world, row),
        t.click(nth("Reorder", on_page(world, row["place"], PER_PAGE)[1]), f"{row['increment_id']} is on this page."),
    ],
    seen="The cart holds the same again.",
    also={
        "items": lambda world, row: world.rows(
            "SELECT sku, options, qty_ordered FROM order_item WHERE order_id = ?", row["order_id"]
        )
    },
    slots={"number": "{increment_id}"},
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
        t.state(
            NEW_ORDERS,
            number,
            expected=[[ME, "pending", None, cents, payment, address["street"], row["sku"], "{}", 1]],
        ),
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
