"""Questions about one order, with its invoices, shipments and refunds."""

from webarena_gym.sites.country.formats import long_date, money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping_admin.routes import EVERYTHING, KEYWORD, STATUSES, an_order, open_menu, open_order
from webarena_gym.templates.ways import impossible, question


def missing_number(world: t.Sampler, table: str) -> str:
    """Draw a number that no document of a table has yet."""
    last = world.value(f"SELECT max(CAST(increment_id AS INTEGER)) FROM {table}")
    return f"{last + world.rng.randint(40, 900):09d}"


def order_status(world: t.Sampler) -> t.Draw:
    """Ask for the status of an order; each status is as likely."""
    status = world.rng.choice(list(STATUSES))
    row = an_order(world, f"status = '{status}'")
    label, wrong = STATUSES[status], world.rng.choice([text for key, text in STATUSES.items() if key != status])
    return question(
        {"number": row["increment_id"]}, label, way=open_order(row), seen=f"The order status is {label}.", wrong=[wrong]
    )


order_total = Fact(
    an_order,
    "{grand_total_cents:money}",
    way=lambda _, row: open_order(row),
    seen="Under Order Totals, the grand total is {grand_total_cents:money}.",
    wrong=lambda _, row: [money(row["grand_total_cents"] + 1000)],
    slots={"number": "{increment_id}"},
)


order_date = Fact(
    an_order,
    "{created_at:long_date}",
    way=lambda _, row: open_order(row),
    seen="The order date is {created_at:long_date}.",
    wrong=lambda _, row: [long_date(row["other"]["created_at"])],
    also={"other": lambda world, row: an_order(world, f"substr(created_at, 1, 10) != '{row['created_at'][:10]}'")},
    slots={"number": "{increment_id}"},
)


order_customer = Fact(
    an_order,
    "{customer_name}, {customer_email}",
    way=lambda _, row: open_order(row),
    seen="The account information names {customer_name} with {customer_email}.",
    wrong=lambda _, row: [f"{row['customer_name']}, {row['other']['customer_email']}"],
    also={"other": lambda world, row: an_order(world, f"customer_email != '{row['customer_email']}'")},
    slots={"number": "{increment_id}"},
)


invoice_total = Fact(
    """SELECT i.increment_id, i.grand_total_cents, o.grand_total_cents AS other_cents
           FROM invoice i JOIN sales_order o USING (increment_id)
           WHERE i.grand_total_cents != o.grand_total_cents ORDER BY invoice_id""",
    "{grand_total_cents:money}",
    way=[*open_menu("Sales", "Invoices"), t.search(KEYWORD, "{increment_id}")],
    seen="The amount of invoice {increment_id} is {grand_total_cents:money}.",
    wrong=["{other_cents:money}"],
    slots={"number": "{increment_id}"},
)


def order_missing(world: t.Sampler) -> t.Draw:
    """Ask for an order that the shop does not have."""
    number = missing_number(world, "sales_order")
    return impossible(
        {"number": number},
        says("0 results"),
        way=[t.search(EVERYTHING, number)],
        seen=f"Nothing was found, so there is no order {number}.",
        wrong=["Complete"],
    )


def invoice_missing(world: t.Sampler) -> t.Draw:
    """Ask for an invoice that the shop does not have."""
    number = missing_number(world, "invoice")
    return impossible(
        {"number": number},
        says("0 records found"),
        way=[*open_menu("Sales", "Invoices"), t.search(KEYWORD, number)],
        seen=f"No record was found, so there is no invoice {number}.",
        wrong=["$0.00"],
    )


order_pieces = Fact(
    """SELECT o.*, sum(qty_ordered) AS pieces, count(*) AS lines FROM sales_order o JOIN order_item USING (order_id)
           GROUP BY order_id HAVING lines > 1 AND pieces > lines ORDER BY order_id""",
    "{pieces!s}",
    way=lambda _, row: open_order(row),
    seen="The quantities of the {lines} lines add up to {pieces!s}.",
    wrong=["{lines!s}"],
    slots={"number": "{increment_id}"},
)


order_refunded = Fact(
    """SELECT o.*, sum(d.grand_total_cents) AS refunded FROM sales_order o JOIN creditmemo d USING (order_id)
           GROUP BY order_id ORDER BY order_id""",
    "{refunded:money}",
    way=lambda _, row: open_order(row),
    seen="The total refunded is {refunded:money}.",
    wrong=lambda _, row: [money(row["refunded"] + 500)],
    slots={"number": "{increment_id}"},
)


def order_tracking(world: t.Sampler) -> t.Draw:
    """Ask how a parcel can be followed."""
    rows = world.rows(
        """SELECT o.*, max(number) AS number FROM sales_order o JOIN shipment USING (order_id)
           JOIN shipment_track USING (shipment_id) GROUP BY order_id HAVING count(*) = 1 ORDER BY order_id"""
    )
    row, other = world.rng.sample(rows, 2)
    return question(
        {"number": row["increment_id"]},
        row["number"],
        way=open_order(row),
        seen=f"The shipment has the tracking number {row['number']}.",
        wrong=[other["number"]],
    )


def days_to_invoice(world: t.Sampler) -> t.Draw:
    """Ask for the difference of two dates of one order; each difference that occurs is as likely."""
    rows = world.rows(
        """SELECT o.*, max(i.created_at) AS invoiced_at,
                  CAST(julianday(substr(max(i.created_at), 1, 10)) - julianday(substr(o.created_at, 1, 10)) AS INTEGER) AS days
           FROM sales_order o JOIN invoice i USING (order_id) GROUP BY order_id HAVING count(*) = 1 ORDER BY order_id"""
    )
    days = world.rng.choice(sorted({row["days"] for row in rows}))
    row = world.rng.choice([row for row in rows if row["days"] == days])
    return question(
        {"number": row["increment_id"]},
        days,
        way=open_order(row),
        seen=f"Ordered on {long_date(row['created_at'])}, invoiced on {long_date(row['invoiced_at'])}.",
    )
