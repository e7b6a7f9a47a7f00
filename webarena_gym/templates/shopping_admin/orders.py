"""Orders: questions about one or several, and what is done with them from the first call to the last refund."""

from webarena_gym.sites.country.texts import long_date, money
from webarena_gym.sites.kit.database import shows_aggregates
from webarena_gym.sites.shopping_admin.views.orders import CARRIERS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import difference_of, lacks, sum_of
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping_admin import (
    ORDERS,
    STATUSES,
    TEXTS,
    an_order,
    becomes,
    filtered,
    open_customer,
    open_menu,
    others_stay,
)
from webarena_gym.templates.ways import instruction, nth, question


def missing_number(world: t.Sampler, table: str) -> str:
    """Draw a number that no document of a table has yet."""
    last = world.value(f"SELECT max(CAST(increment_id AS INTEGER)) FROM {table}")
    return f"{last + world.rng.randint(40, 900):09d}"


STREETS = (
    "12 Lakeview Terrace",
    "77 Orchard Lane",
    "409 Mill Road",
    "1501 Harbor Street",
    "260 Linden Avenue",
    "8 Quarry Hill",
)
CITIES = (
    ("Denver", "Colorado", "80202"), ("Portland", "Oregon", "97205"), ("Austin", "Texas", "78701"),
    ("Boston", "Massachusetts", "02110"), ("Madison", "Wisconsin", "53703"), ("Tucson", "Arizona", "85701"),
)  # fmt: skip
UNTOUCHED = """status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM order_item i WHERE i.order_id = o.order_id AND qty_invoiced + qty_shipped + qty_canceled > 0)"""
PAID = """status = 'processing' AND NOT EXISTS (
    SELECT 1 FROM order_item i WHERE i.order_id = o.order_id AND (qty_invoiced < qty_ordered OR qty_shipped > 0))"""


def last_comment(world: t.Sampler, row: t.Row, comment: str, *, is_notified: bool) -> dict[str, object]:
    """The order must have got this comment, and nothing else must have changed."""
    count = world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", row["order_id"])
    return t.all_of(
        becomes(world, ORDERS, row["increment_id"], comments=count + 1),
        t.state(
            """SELECT comment, is_customer_notified FROM order_comment WHERE order_id = ?
               ORDER BY comment_id DESC LIMIT 1""",
            row["order_id"],
            expected=[[comment, int(is_notified)]],
        ),
    )


def total_is(row: t.Row, table: str) -> dict[str, object]:
    """The one document of the order in a table must be about the order's whole total."""
    query = f"SELECT grand_total_cents FROM {table} WHERE order_id = ?"
    return t.state(query, row["order_id"], expected=[[row["grand_total_cents"]]])


def an_address(world: t.Sampler) -> dict[str, str]:
    """Draw an address, by the columns of the tables of addresses."""
    street, (city, region, postcode) = world.rng.choice(STREETS), world.rng.choice(CITIES)
    return {"street": street, "city": city, "region": region, "postcode": postcode}


def enter_address(address: dict[str, str]) -> list[Step]:
    """Return the steps that fill in the form of an address and save it."""
    labels = {"street": "Street Address", "city": "City", "region": "State/Province", "postcode": "ZIP"}
    return [*(t.type_text(label, address[column]) for column, label in labels.items()), t.click("Save")]


def track(world: t.Sampler) -> tuple[str, str]:
    """Draw a carrier and a tracking number."""
    return world.rng.choice(CARRIERS[1:]), str(world.rng.randrange(10**11, 10**12))


def enter_track(carrier: str, number: str) -> list[Step]:
    """Return the steps that fill in a tracking number."""
    return [t.choose("Carrier", carrier), t.type_text("Number", number)]


def track_is(row: t.Row, carrier: str, number: str) -> dict[str, object]:
    """The newest tracking number of the order must be this one."""
    query = """SELECT carrier, number FROM shipment_track JOIN shipment USING (shipment_id) WHERE order_id = ?
               ORDER BY track_id DESC LIMIT 1"""
    return t.state(query, row["order_id"], expected=[[carrier, number]])


def notify_customer(world: t.Sampler) -> t.Draw:
    """Write to the customer of a pending order."""
    order = an_order(world, "status = 'pending' AND customer_id IS NOT NULL")
    rows = world.rows(
        "SELECT * FROM sales_order WHERE customer_id = ? ORDER BY created_at DESC, order_id DESC", order["customer_id"]
    )
    place = next(place for place, row in enumerate(rows) if row["status"] == "pending")
    row, note = rows[place], world.rng.choice(TEXTS["notes"])
    return instruction(
        {"customer": row["customer_name"], "note": note},
        last_comment(world, row, note, is_notified=True),
        way=[
            *open_customer(row["customer_name"], "Orders"),
            t.click(nth("View", place), f"The first pending order in the list is {row['increment_id']}."),
            t.type_text("Comment", note),
            t.click("Notify Customer by Email"),
            t.click("Submit Comment"),
        ],
        seen="The comment stands among the notes, and the customer was notified.",
    )


def notify_nobody(world: t.Sampler) -> t.Draw:
    """Write to a customer who has no pending order, which cannot be done."""
    row = world.pick(
        """SELECT c.firstname || ' ' || c.lastname AS name, count(*) AS orders
           FROM customer c JOIN sales_order USING (customer_id)
           GROUP BY customer_id HAVING sum(status = 'pending') = 0 AND orders <= 10 ORDER BY customer_id"""
    )
    return t.Draw(
        slots={"customer": row["name"], "note": world.rng.choice(TEXTS["notes"])},
        grounds={"N/A": lacks([f"Orders of {row['name']}", f"{row['orders']} records found"], [])},
        eval=t.all_of(t.not_achievable(), others_stay(world, ORDERS)),
        solution=[*open_customer(row["name"], "Orders"), t.leave("N/A", f"None of the orders of {row['name']} is pending.")],
    )


INVOICED = """SELECT o.*, max(i.created_at) AS invoiced_at,
    CAST(julianday(substr(max(i.created_at), 1, 10)) - julianday(substr(o.created_at, 1, 10)) AS INTEGER) AS days
FROM sales_order o JOIN invoice i USING (order_id) GROUP BY order_id HAVING count(*) = 1"""
"""Orders with one invoice, and the days from one to the other."""


RANKS = ("most recent", "second most recent", "third most recent", "fourth most recent")
SHOWN = 5  # orders that the dashboard shows


def latest(world: t.Sampler, condition: str, count: int) -> list[t.Row]:
    """Return the newest orders that meet a condition, the newest first."""
    rows = world.rows(f"SELECT * FROM sales_order WHERE {condition} ORDER BY created_at DESC, order_id DESC LIMIT ?", count)
    t.skip_if(len(rows) < count, condition)
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
    t.skip_if(not shows_aggregates(world.connection("shopping_admin")), "a dashboard with the pieces of orders")
    count = world.rng.randint(2, SHOWN)
    pieces = [
        world.value("SELECT sum(qty_ordered) FROM order_item WHERE order_id = ?", row["order_id"])
        for row in latest(world, "1", count)
    ]
    total = str(sum(pieces))
    return question(
        {"count": count},
        total,
        way=[],
        seen=f"The last {count} orders: {' + '.join(map(str, pieces))} = {total} items.",
        wrong=[str(sum(pieces) + 1)],
        ground=sum_of(*map(str, pieces)),
    )


def payment_difference(world: t.Sampler) -> t.Draw:
    """Compare two sums over the list of orders."""
    count = world.rng.randint(2, 4)
    one, other = world.rng.sample(("complete", "canceled", "closed", "pending", "processing"), 2)
    rows = [latest(world, f"status = '{status}'", count) for status in (one, other)]
    first, second = map(total_of, rows)
    sides = [[money(row["grand_total_cents"]) for row in side] for side in rows]
    difference = money(abs(first - second))
    return question(
        {"count": count, "first": STATUSES[one].lower(), "second": STATUSES[other].lower()},
        difference,
        way=[
            *open_menu("Sales", "Orders"),
            *filtered(t.choose("Status", STATUSES[one])),
            t.click("Filters", f"The first {count} come to {money(first)} together."),
            *filtered(t.choose("Status", STATUSES[other]))[1:],
        ],
        seen=f"These {count} come to {money(second)}; the other sum was {money(first)}.",
        wrong=[money(first + second)],
        ground=difference_of(*sides),
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
    return question(
        {"count": count, "customer": customer["name"]},
        total,
        way=open_customer(customer["name"], "Orders"),
        seen=f"{terms} = {total}.",
        wrong=[money(total_of(rows[:-1]))],
        ground=sum_of(*(money(row["grand_total_cents"]) for row in rows)),
    )


def largest_of_status(world: t.Sampler) -> t.Draw:
    """Ask who placed the largest order of a status, and for its page; there are as many draws as statuses."""
    status = world.rng.choice(list(STATUSES))
    rows = world.rows("SELECT * FROM sales_order WHERE status = ? ORDER BY grand_total_cents DESC, order_id DESC", status)
    t.skip_if(len(rows) < 2 or rows[0]["grand_total_cents"] == rows[1]["grand_total_cents"], status)
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
