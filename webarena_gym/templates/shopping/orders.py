"""Questions about one of my orders, named by its number."""

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping.queries import STATUS_LABELS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks, sum_of
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping.routes import ME, MINE, PER_PAGE, open_account, open_order, open_orders
from webarena_gym.templates.ways import impossible, on_page, question, turn_pages


def any_order(world: t.Sampler) -> t.Row:
    """Return one of my orders."""
    return world.pick(MINE + "SELECT * FROM mine ORDER BY order_id")


order_status = Fact(
    any_order,
    "{new_status}",
    way=open_orders,
    seen="The row of {increment_id} says {new_status}.",
    wrong=lambda world, row: [world.rng.choice([label for label in STATUS_LABELS.values() if label != row["new_status"]])],
    also={"new_status": lambda _, row: STATUS_LABELS[row["status"]]},
    slots={"number": "{increment_id}"},
)


order_total = Fact(
    any_order,
    "{grand_total_cents:money}",
    way=open_orders,
    seen="The total of {increment_id} is {grand_total_cents:money}.",
    wrong=lambda _, row: [money(row["grand_total_cents"] + 500)],
    slots={"number": "{increment_id}"},
)


order_date = Fact(
    any_order,
    "{created_at:long_date}",
    way=open_orders,
    seen="Order {increment_id} is of {created_at:long_date}.",
    wrong=["{other[created_at]:long_date}"],
    other=(
        MINE + "SELECT created_at FROM mine WHERE date(created_at) != date(?) ORDER BY order_id",
        "created_at",
    ),
    slots={"number": "{increment_id}"},
)


order_payment = Fact(
    any_order,
    "{payment_method}",
    way=open_order,
    seen="Payment Method: {payment_method}.",
    wrong=lambda _, row: [other["payment_method"] for other in row["others"]],
    also={
        "others": lambda world, row: world.rows(
            MINE + "SELECT DISTINCT payment_method FROM mine WHERE payment_method != ? ORDER BY 1", row["payment_method"]
        )
    },
    slots={"number": "{increment_id}"},
)


order_city = Fact(
    MINE
    + """SELECT m.*, a.city FROM mine m JOIN order_address a ON a.order_id = m.order_id AND a.kind = 'shipping'
        ORDER BY order_id""",
    "{city}",
    way=open_order,
    seen="The shipping address is in {city}.",
    wrong=["{other[city]}"],
    other=(
        "SELECT DISTINCT city FROM order_address WHERE city != ? ORDER BY city",
        "city",
    ),
    slots={"number": "{increment_id}"},
)


def order_content(world: t.Sampler) -> t.Draw:
    """Ask for all products of an order."""
    row = world.pick(
        MINE
        + """SELECT m.* FROM mine m JOIN order_item i USING (order_id)
        GROUP BY order_id HAVING count(*) BETWEEN 2 AND 4 ORDER BY order_id"""
    )
    items = world.rows("SELECT name FROM order_item WHERE order_id = ? ORDER BY item_id", row["order_id"])
    names = "; ".join(item["name"] for item in items)
    return question(
        {"number": row["increment_id"]},
        names,
        way=open_order(world, row),
        seen=f"The order has {len(items)} lines.",
        wrong=[items[0]["name"]],
    )


def order_quantity(world: t.Sampler) -> t.Draw:
    """Ask how many of one product were ordered; more than one is as likely as one."""
    condition = world.rng.choice(("= 1", "> 1"))
    row = world.pick(
        MINE
        + f"""SELECT m.*, i.name, i.qty_ordered AS quantity FROM mine m JOIN order_item i USING (order_id)
        WHERE i.qty_ordered {condition} ORDER BY item_id"""
    )
    quantity = row["quantity"]
    return question(
        {"number": row["increment_id"], "product": row["name"]},
        quantity,
        way=open_order(world, row),
        seen=f"Ordered: {quantity}.",
    )


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


order_tracking = Fact(
    MINE
    + """SELECT m.*, t.number FROM mine m JOIN shipment USING (order_id) JOIN shipment_track t USING (shipment_id)
        GROUP BY order_id HAVING count(*) = 1 ORDER BY order_id""",
    "{number}",
    way=lambda world, row: [*open_order(world, row), t.click("Order Shipments")],
    seen="It is {number}.",
    wrong=lambda _, row: [row["increment_id"], row["number"][:-1]],
    slots={"number": "{increment_id}"},
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
    return t.Draw(
        slots={"first": first["increment_id"], "second": second["increment_id"]},
        grounds={total: sum_of(*map(money, parts))},
        eval=t.answer(fuzzy_match=total),
        solution=[
            *open_orders(world, near),
            *[t.click("Next", f"{near['increment_id']} comes to {money(near['grand_total_cents'])}.")] * between,
            t.leave(total, f"{money(parts[0])} and {money(parts[1])} make {total}."),
        ],
        wrong_answers=[money(max(parts)), money(sum(parts) + 100)],
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
