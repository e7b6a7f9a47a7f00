"""Questions about orders, invoices, shipments and refunds."""

from webarena_gym.sites.kit import long_date, money
from webarena_gym.tasks.shopping_admin.routes import KEYWORD, STATUSES, an_order, open_menu, open_order
from webarena_gym.tasks.template import Draw, Sampler, Templates, answer, leave, search

TEMPLATES = Templates("shopping_admin")


@TEMPLATES.define("What is the status of order {number}?")
def order_status(world: Sampler) -> Draw:
    """Ask for the status of an order; each status is as likely."""
    status = world.rng.choice(list(STATUSES))
    row = an_order(world, f"status = '{status}'")
    label, wrong = STATUSES[status], world.rng.choice([text for key, text in STATUSES.items() if key != status])
    return Draw(
        slots={"number": row["increment_id"]},
        eval=answer(fuzzy_match=label),
        solution=[*open_order(row), leave(label, f"The order status is {label}.")],
        wrong_answers=[wrong],
    )


@TEMPLATES.define("Tell me the grand total of order {number}.")
def order_total(world: Sampler) -> Draw:
    """Ask for what an order comes to."""
    row = an_order(world)
    total = money(row["grand_total_cents"])
    return Draw(
        slots={"number": row["increment_id"]},
        eval=answer(fuzzy_match=total),
        solution=[*open_order(row), leave(total, f"Under Order Totals, the grand total is {total}.")],
        wrong_answers=[money(row["grand_total_cents"] + 1000)],
    )


@TEMPLATES.define("On which date was order {number} placed?")
def order_date(world: Sampler) -> Draw:
    """Ask for the day of an order."""
    row = an_order(world)
    other = an_order(world, f"substr(created_at, 1, 10) != '{row['created_at'][:10]}'")
    day = long_date(row["created_at"])
    return Draw(
        slots={"number": row["increment_id"]},
        eval=answer(fuzzy_match=day),
        solution=[*open_order(row), leave(day, f"The order date is {day}.")],
        wrong_answers=[long_date(other["created_at"])],
    )


@TEMPLATES.define("Who placed order {number}? Give me the name and the e-mail address.")
def order_customer(world: Sampler) -> Draw:
    """Ask who has bought."""
    row = an_order(world)
    other = an_order(world, f"customer_email != '{row['customer_email']}'")
    return Draw(
        slots={"number": row["increment_id"]},
        eval=answer(fuzzy_match=f"{row['customer_name']}, {row['customer_email']}"),
        solution=[
            *open_order(row),
            leave(
                f"{row['customer_name']}, {row['customer_email']}",
                f"The account information names {row['customer_name']} with {row['customer_email']}.",
            ),
        ],
        wrong_answers=[f"{row['customer_name']}, {other['customer_email']}"],
    )


@TEMPLATES.define("What is the grand total of invoice {number}?")
def invoice_total(world: Sampler) -> Draw:
    """Ask for the amount of an invoice; the order of that number has another total."""
    row = world.pick(
        """SELECT i.increment_id, i.grand_total_cents, o.grand_total_cents AS other_cents
           FROM invoice i JOIN sales_order o USING (increment_id)
           WHERE i.grand_total_cents != o.grand_total_cents ORDER BY invoice_id"""
    )
    total = money(row["grand_total_cents"])
    return Draw(
        slots={"number": row["increment_id"]},
        eval=answer(fuzzy_match=total),
        solution=[
            *open_menu("Sales", "Invoices"),
            search(KEYWORD, row["increment_id"]),
            leave(total, f"The amount of invoice {row['increment_id']} is {total}."),
        ],
        wrong_answers=[money(row["other_cents"])],
    )
