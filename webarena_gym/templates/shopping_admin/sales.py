"""Questions that go over several orders, on the dashboard or in the list of orders."""

from webarena_gym.sites.country.formats import long_date, money
from webarena_gym.sites.kit import aggregates
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import difference_of, sum_of
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping_admin.routes import STATUSES, an_order, filtered, open_customer, open_menu
from webarena_gym.templates.ways import nth, question

RANKS = ("most recent", "second most recent", "third most recent", "fourth most recent")
SHOWN = 5  # orders that the dashboard shows


def latest(world: t.Sampler, condition: str, count: int) -> list[t.Row]:
    """Return the newest orders that meet a condition, the newest first."""
    rows = world.rows(f"SELECT * FROM sales_order WHERE {condition} ORDER BY created_at DESC, order_id DESC LIMIT ?", count)
    if len(rows) < count:
        raise t.NothingToDraw(condition)
    return rows


def total_of(rows: list[t.Row]) -> int:
    """Return what orders come to together, in cents."""
    return sum(row["grand_total_cents"] for row in rows)


def latest_of_status(world: t.Sampler) -> t.Draw:
    """Ask for the date of one of the newest orders in a status."""
    status, place = world.rng.choice(list(STATUSES)), world.rng.randrange(len(RANKS))
    rows = latest(world, f"status = '{status}'", place + 1)
    row, label = rows[place], STATUSES[status]
    day = long_date(row["created_at"])
    other = an_order(world, f"substr(created_at, 1, 10) != '{row['created_at'][:10]}'")
    return question(
        {"rank": RANKS[place], "status": label},
        day,
        way=[*open_menu("Sales", "Orders"), *filtered(t.choose("Status", label))],
        seen=f"The newest stand first; number {place + 1} is {row['increment_id']} of {day}.",
        wrong=[long_date(other["created_at"])],
    )


def latest_pieces(world: t.Sampler) -> t.Draw:
    """Ask for a sum over the orders that the dashboard shows; four draws in a world."""
    if not aggregates.are_shown(world.connection("shopping_admin")):
        raise t.NothingToDraw("a dashboard with the pieces of orders")
    count = world.rng.randint(2, SHOWN)
    pieces = [
        world.value("SELECT sum(qty_ordered) FROM order_item WHERE order_id = ?", row["order_id"])
        for row in latest(world, "1", count)
    ]
    total = str(sum(pieces))
    return t.Draw(
        slots={"count": count},
        grounds={total: sum_of(*map(str, pieces))},
        eval=t.answer(fuzzy_match=total),
        solution=[t.leave(total, f"The last {count} orders: {' + '.join(map(str, pieces))} = {total} items.")],
        wrong_answers=[str(sum(pieces) + 1)],
    )


def payment_difference(world: t.Sampler) -> t.Draw:
    """Compare two sums over the list of orders."""
    count = world.rng.randint(2, 4)
    one, other = world.rng.sample(("complete", "canceled", "closed", "pending", "processing"), 2)
    rows = [latest(world, f"status = '{status}'", count) for status in (one, other)]
    first, second = map(total_of, rows)
    sides = [[money(row["grand_total_cents"]) for row in side] for side in rows]
    difference = money(abs(first - second))
    return t.Draw(
        slots={"count": count, "first": STATUSES[one].lower(), "second": STATUSES[other].lower()},
        grounds={difference: difference_of(*sides)},
        eval=t.answer(fuzzy_match=difference),
        solution=[
            *open_menu("Sales", "Orders"),
            *filtered(t.choose("Status", STATUSES[one])),
            t.click("Filters", f"The first {count} come to {money(first)} together."),
            *filtered(t.choose("Status", STATUSES[other]))[1:],
            t.leave(difference, f"These {count} come to {money(second)}; the other sum was {money(first)}."),
        ],
        wrong_answers=[money(first + second)],
    )


def customer_latest_total(world: t.Sampler) -> t.Draw:
    """Ask for the sum of a customer's newest orders."""
    count = world.rng.randint(2, 4)
    customer = world.pick(
        """SELECT customer_id, c.firstname || ' ' || c.lastname AS name FROM customer c JOIN sales_order o USING (customer_id)
           GROUP BY customer_id HAVING count(*) > ? ORDER BY customer_id""",
        count,
    )
    rows = latest(world, f"customer_id = {customer['customer_id']}", count)
    total = money(total_of(rows))
    terms = " + ".join(money(row["grand_total_cents"]) for row in rows)
    return t.Draw(
        slots={"count": count, "customer": customer["name"]},
        grounds={total: sum_of(*(money(row["grand_total_cents"]) for row in rows))},
        eval=t.answer(fuzzy_match=total),
        solution=[*open_customer(customer["name"], "Orders"), t.leave(total, f"{terms} = {total}.")],
        wrong_answers=[money(total_of(rows[:-1]))],
    )


customer_canceled = Fact(
    """SELECT c.firstname || ' ' || c.lastname AS name, count(*) AS orders, sum(status = 'canceled') AS canceled
           FROM customer c JOIN sales_order o USING (customer_id)
           GROUP BY customer_id HAVING canceled > 0 AND orders BETWEEN 2 AND 20 ORDER BY customer_id""",
    "{canceled}",
    way=open_customer("{name}", "Orders"),
    seen="{canceled} of the {orders} orders are marked Canceled.",
    slots={"customer": "{name}"},
)


def largest_of_status(world: t.Sampler) -> t.Draw:
    """Ask who placed the largest order of a status, and for its page; there are as many draws as statuses."""
    status = world.rng.choice(list(STATUSES))
    rows = world.rows("SELECT * FROM sales_order WHERE status = ? ORDER BY grand_total_cents DESC, order_id DESC", status)
    if len(rows) < 2 or rows[0]["grand_total_cents"] == rows[1]["grand_total_cents"]:
        raise t.NothingToDraw(status)
    row, label = rows[0], STATUSES[status]
    others = [other["customer_name"] for other in rows if other["customer_name"] != row["customer_name"]]
    return t.Draw(
        slots={"status": label.lower()},
        eval=t.all_of(
            t.answer(fuzzy_match=row["customer_name"]),
            t.at_url(f"__SHOPPING_ADMIN__/sales/order/view/order_id/{row['order_id']}/"),
        ),
        solution=[
            *open_menu("Sales", "Orders"),
            *filtered(t.choose("Status", label)),
            t.click("Grand Total"),
            t.click("Grand Total", "The smallest come first now."),
            t.click(nth("View", 0), f"The largest is {row['increment_id']} with {money(row['grand_total_cents'])}."),
            t.leave(row["customer_name"], f"The customer of this order is {row['customer_name']}."),
        ],
        wrong_answers=others[:1],
    )
