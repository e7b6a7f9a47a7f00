"""Questions about one order, with its invoices, shipments and refunds."""

from webarena_gym.sites.country.formats import long_date, money
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.shopping_admin.routes import EVERYTHING, KEYWORD, STATUSES, an_order, open_menu, open_order
from webarena_gym.templates.ways import impossible, question

TEMPLATES = t.Templates("shopping_admin")


def missing_number(world: t.Sampler, table: str) -> str:
    """Draw a number that no document of a table has yet."""
    last = world.value(f"SELECT max(CAST(increment_id AS INTEGER)) FROM {table}")
    return f"{last + world.rng.randint(40, 900):09d}"


@TEMPLATES.define("What is the status of order {number}?")
def order_status(world: t.Sampler) -> t.Draw:
    """Ask for the status of an order; each status is as likely."""
    status = world.rng.choice(list(STATUSES))
    row = an_order(world, f"status = '{status}'")
    label, wrong = STATUSES[status], world.rng.choice([text for key, text in STATUSES.items() if key != status])
    return question(
        {"number": row["increment_id"]}, label, way=open_order(row), seen=f"The order status is {label}.", wrong=[wrong]
    )


@TEMPLATES.define("Tell me the grand total of order {number}.")
def order_total(world: t.Sampler) -> t.Draw:
    """Ask for what an order comes to."""
    row = an_order(world)
    total = money(row["grand_total_cents"])
    return question(
        {"number": row["increment_id"]},
        total,
        way=open_order(row),
        seen=f"Under Order Totals, the grand total is {total}.",
        wrong=[money(row["grand_total_cents"] + 1000)],
    )


@TEMPLATES.define("On which date was order {number} placed?")
def order_date(world: t.Sampler) -> t.Draw:
    """Ask for the day of an order."""
    row = an_order(world)
    other = an_order(world, f"substr(created_at, 1, 10) != '{row['created_at'][:10]}'")
    day = long_date(row["created_at"])
    return question(
        {"number": row["increment_id"]},
        day,
        way=open_order(row),
        seen=f"The order date is {day}.",
        wrong=[long_date(other["created_at"])],
    )


@TEMPLATES.define("Who placed order {number}? Give me the name and the e-mail address.")
def order_customer(world: t.Sampler) -> t.Draw:
    """Ask who has bought."""
    row = an_order(world)
    other = an_order(world, f"customer_email != '{row['customer_email']}'")
    return question(
        {"number": row["increment_id"]},
        f"{row['customer_name']}, {row['customer_email']}",
        way=open_order(row),
        seen=f"The account information names {row['customer_name']} with {row['customer_email']}.",
        wrong=[f"{row['customer_name']}, {other['customer_email']}"],
    )


@TEMPLATES.define("What is the grand total of invoice {number}?")
def invoice_total(world: t.Sampler) -> t.Draw:
    """Ask for the amount of an invoice; the order of that number has another total."""
    row = world.pick(
        """SELECT i.increment_id, i.grand_total_cents, o.grand_total_cents AS other_cents
           FROM invoice i JOIN sales_order o USING (increment_id)
           WHERE i.grand_total_cents != o.grand_total_cents ORDER BY invoice_id"""
    )
    total = money(row["grand_total_cents"])
    return question(
        {"number": row["increment_id"]},
        total,
        way=[*open_menu("Sales", "Invoices"), t.search(KEYWORD, row["increment_id"])],
        seen=f"The amount of invoice {row['increment_id']} is {total}.",
        wrong=[money(row["other_cents"])],
    )


@TEMPLATES.define("What is the status of order {number}?")
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


@TEMPLATES.define("What is the grand total of invoice {number}?")
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


@TEMPLATES.define("How many items were ordered in total with order {number}? Count every piece.")
def order_pieces(world: t.Sampler) -> t.Draw:
    """Ask for the sum of the quantities of an order with several lines."""
    row = world.pick(
        """SELECT o.*, sum(qty_ordered) AS pieces, count(*) AS lines FROM sales_order o JOIN order_item USING (order_id)
           GROUP BY order_id HAVING lines > 1 AND pieces > lines ORDER BY order_id"""
    )
    pieces = str(row["pieces"])
    return question(
        {"number": row["increment_id"]},
        pieces,
        way=open_order(row),
        seen=f"The quantities of the {row['lines']} lines add up to {pieces}.",
        wrong=[str(row["lines"])],
    )


@TEMPLATES.define("How much has been refunded for order {number} so far?")
def order_refunded(world: t.Sampler) -> t.Draw:
    """Ask for what a buyer got back."""
    row = world.pick(
        """SELECT o.*, sum(d.grand_total_cents) AS refunded FROM sales_order o JOIN creditmemo d USING (order_id)
           GROUP BY order_id ORDER BY order_id"""
    )
    refunded = money(row["refunded"])
    return question(
        {"number": row["increment_id"]},
        refunded,
        way=open_order(row),
        seen=f"The total refunded is {refunded}.",
        wrong=[money(row["refunded"] + 500)],
    )


@TEMPLATES.define("I need the tracking number of the parcel with order {number}.")
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


@TEMPLATES.define("How many days after it was placed was order {number} invoiced? Compare the dates and answer with a number.")
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
