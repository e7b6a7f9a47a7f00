"""Questions about one of my orders, named by its number."""

from webarena_gym.sites.country.formats import long_date, money
from webarena_gym.sites.shopping.queries import STATUS_LABELS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks, sum_of
from webarena_gym.templates.shopping.routes import ME, MINE, PER_PAGE, open_account, open_order, open_orders
from webarena_gym.templates.ways import impossible, on_page, question, turn_pages

TEMPLATES = t.Templates("shopping")


def any_order(world: t.Sampler) -> t.Row:
    """Return one of my orders."""
    return world.pick(MINE + "SELECT * FROM mine ORDER BY order_id")


@TEMPLATES.define("What is the status of my order {number}?")
def order_status(world: t.Sampler) -> t.Draw:
    """Ask for the status of an order by its number."""
    row = any_order(world)
    status = STATUS_LABELS[row["status"]]
    return question(
        {"number": row["increment_id"]},
        status,
        way=open_orders(world, row),
        seen=f"The row of {row['increment_id']} says {status}.",
        wrong=[world.rng.choice([label for label in STATUS_LABELS.values() if label != status])],
    )


@TEMPLATES.define("What was the total of order number {number}?")
def order_total(world: t.Sampler) -> t.Draw:
    """Ask for the total of an order by its number."""
    row = any_order(world)
    total = money(row["grand_total_cents"])
    return question(
        {"number": row["increment_id"]},
        total,
        way=open_orders(world, row),
        seen=f"The total of {row['increment_id']} is {total}.",
        wrong=[money(row["grand_total_cents"] + 500)],
    )


@TEMPLATES.define("On which day did I place order {number}?")
def order_date(world: t.Sampler) -> t.Draw:
    """Ask for the date of an order by its number."""
    row = any_order(world)
    day = long_date(row["created_at"])
    others = world.rows(
        MINE + "SELECT created_at FROM mine WHERE date(created_at) != date(?) ORDER BY order_id", row["created_at"]
    )
    return question(
        {"number": row["increment_id"]},
        day,
        way=open_orders(world, row),
        seen=f"Order {row['increment_id']} is of {day}.",
        wrong=[long_date(world.rng.choice(others)["created_at"])],
    )


@TEMPLATES.define("How did I choose to pay for order {number}?")
def order_payment(world: t.Sampler) -> t.Draw:
    """Ask for the payment method of an order."""
    row = any_order(world)
    others = world.rows(
        MINE + "SELECT DISTINCT payment_method FROM mine WHERE payment_method != ? ORDER BY 1", row["payment_method"]
    )
    return question(
        {"number": row["increment_id"]},
        row["payment_method"],
        way=open_order(world, row),
        seen=f"Payment Method: {row['payment_method']}.",
        wrong=[other["payment_method"] for other in others],
    )


@TEMPLATES.define("To which city was order {number} sent?")
def order_city(world: t.Sampler) -> t.Draw:
    """Ask where an order was to go."""
    row = world.pick(
        MINE
        + """SELECT m.*, a.city FROM mine m JOIN order_address a ON a.order_id = m.order_id AND a.kind = 'shipping'
        ORDER BY order_id"""
    )
    others = world.rows("SELECT DISTINCT city FROM order_address WHERE city != ? ORDER BY city", row["city"])
    return question(
        {"number": row["increment_id"]},
        row["city"],
        way=open_order(world, row),
        seen=f"The shipping address is in {row['city']}.",
        wrong=[world.rng.choice(others)["city"]],
    )


@TEMPLATES.define("What did I buy in order {number}? Give the full names of the products, separated by semicolons.")
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


@TEMPLATES.define("How many pieces of the {product} were in my order {number}?")
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


@TEMPLATES.define("How much discount did I get on order {number}? Say $0.00 if there was none.")
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


@TEMPLATES.define("Give me the tracking number of the parcel with my order {number}.")
def order_tracking(world: t.Sampler) -> t.Draw:
    """Ask for the tracking number of an order that was sent with one."""
    row = world.pick(
        MINE
        + """SELECT m.*, t.number FROM mine m JOIN shipment USING (order_id) JOIN shipment_track t USING (shipment_id)
        GROUP BY order_id HAVING count(*) = 1 ORDER BY order_id"""
    )
    return question(
        {"number": row["increment_id"]},
        row["number"],
        way=[*open_order(world, row), t.click("Order Shipments")],
        seen=f"It is {row['number']}.",
        wrong=[row["increment_id"], row["number"][:-1]],
    )


@TEMPLATES.define("What do my orders {first} and {second} come to together?")
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


@TEMPLATES.define("Open my order {number} and tell me how much I paid for its shipping.")
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


@TEMPLATES.define("Has my order {number} been sent yet? Tell me its status.")
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
