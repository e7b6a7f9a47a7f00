"""Changes to orders: what is done with them from the first call to the last refund."""

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping_admin.views.documents import CARRIERS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Change
from webarena_gym.templates.shopping_admin.ledgers import ORDER_ADDRESSES, ORDERS, becomes, others_stay
from webarena_gym.templates.shopping_admin.routes import STATUSES, an_order, filtered, open_customer, open_menu, open_order
from webarena_gym.templates.ways import instruction, nth

NOTES = (
    "The parcel leaves our warehouse tomorrow.",
    "Your order is being packed right now.",
    "One item is late, sorry for the wait.",
    "We have added a small gift.",
    "Please call us about your delivery address.",
    "The customer asked for a gift wrap.",
)
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
_UNTOUCHED = """status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM order_item i WHERE i.order_id = o.order_id AND qty_invoiced + qty_shipped + qty_canceled > 0)"""
_PAID = """status = 'processing' AND NOT EXISTS (
    SELECT 1 FROM order_item i WHERE i.order_id = o.order_id AND (qty_invoiced < qty_ordered OR qty_shipped > 0))"""


def last_comment(world: t.Sampler, order: t.Row, comment: str, *, is_notified: bool) -> dict[str, object]:
    """The order must have got this comment, and nothing else must have changed."""
    count = world.value("SELECT count(*) FROM order_comment WHERE order_id = ?", order["order_id"])
    return t.all_of(
        becomes(world, ORDERS, order["increment_id"], comments=count + 1),
        t.state(
            """SELECT comment, is_customer_notified FROM order_comment WHERE order_id = ?
               ORDER BY comment_id DESC LIMIT 1""",
            order["order_id"],
            expected=[[comment, int(is_notified)]],
        ),
    )


def total_is(order: t.Row, table: str) -> dict[str, object]:
    """The one document of the order in a table must be about the order's whole total."""
    query = f"SELECT grand_total_cents FROM {table} WHERE order_id = ?"
    return t.state(query, order["order_id"], expected=[[order["grand_total_cents"]]])


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


def track_is(order: t.Row, carrier: str, number: str) -> dict[str, object]:
    """The newest tracking number of the order must be this one."""
    query = """SELECT carrier, number FROM shipment_track JOIN shipment USING (shipment_id) WHERE order_id = ?
               ORDER BY track_id DESC LIMIT 1"""
    return t.state(query, order["order_id"], expected=[[carrier, number]])


cancel_order = Change(
    lambda world: an_order(world, _UNTOUCHED),
    lambda world, row: becomes(world, ORDERS, row["increment_id"], status="canceled"),
    way=lambda _, row: [*open_order(row), t.click("Cancel")],
    seen="The order is canceled.",
    slots={"number": "{increment_id}"},
)


hold_order = Change(
    lambda world: an_order(world, "status IN ('pending', 'processing')"),
    lambda world, row: becomes(world, ORDERS, row["increment_id"], status="holded"),
    way=lambda _, row: [*open_order(row), t.click("Hold")],
    seen="The order is on hold.",
    slots={"number": "{increment_id}"},
)


hold_and_list = Change(
    lambda world: an_order(world, "status IN ('pending', 'processing')"),
    lambda world, row: t.all_of(
        becomes(world, ORDERS, row["increment_id"], status="holded"), t.at_url("__SHOPPING_ADMIN__/sales/order/?status=holded")
    ),
    way=lambda _, row: [
        *open_order(row),
        t.click("Hold"),
        *open_menu("Sales", "Orders"),
        *filtered(t.choose("Status", STATUSES["holded"])),
    ],
    seen="The list shows the orders on hold.",
    slots={"number": "{increment_id}"},
)


unhold_order = Change(
    lambda world: an_order(world, "status = 'holded'"),
    lambda world, row: becomes(world, ORDERS, row["increment_id"], status="processing" if row["has_begun"] else "pending"),
    way=lambda _, row: [*open_order(row), t.click("Unhold")],
    seen="The order is not on hold any more.",
    also={
        "has_begun": lambda world, row: world.value(
            "SELECT max(qty_invoiced + qty_shipped) > 0 FROM order_item WHERE order_id = ?", row["order_id"]
        )
    },
    slots={"number": "{increment_id}"},
)


comment_order = Change(
    an_order,
    lambda world, row: last_comment(world, row, row["note"], is_notified=False),
    way=lambda _, row: [*open_order(row), t.type_text("Comment", row["note"]), t.click("Submit Comment")],
    seen="The comment stands among the notes.",
    also={"note": lambda world, _row: world.rng.choice(NOTES)},
    slots={"number": "{increment_id}"},
)


def notify_customer(world: t.Sampler) -> t.Draw:
    """Write to the customer of a pending order."""
    order = an_order(world, "status = 'pending' AND customer_id IS NOT NULL")
    rows = world.rows(
        "SELECT * FROM sales_order WHERE customer_id = ? ORDER BY created_at DESC, order_id DESC", order["customer_id"]
    )
    place = next(place for place, row in enumerate(rows) if row["status"] == "pending")
    row, note = rows[place], world.rng.choice(NOTES)
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
        slots={"customer": row["name"], "note": world.rng.choice(NOTES)},
        grounds={"N/A": lacks([f"Orders of {row['name']}", f"{row['orders']} records found"], [])},
        eval=t.all_of(t.not_achievable(), others_stay(world, ORDERS)),
        solution=[
            *open_customer(row["name"], "Orders"),
            t.leave("N/A", f"None of the orders of {row['name']} is pending."),
        ],
    )


invoice_order = Change(
    lambda world: an_order(world, _UNTOUCHED),
    lambda world, row: t.all_of(
        becomes(world, ORDERS, row["increment_id"], status="processing", invoices=1), total_is(row, "invoice")
    ),
    way=lambda _, row: [
        *open_order(row),
        t.click("Invoice"),
        t.click("Submit Invoice", "All that is left is filled in already."),
    ],
    seen="The invoice has been created.",
    slots={"number": "{increment_id}"},
)


def ship_order(world: t.Sampler) -> t.Draw:
    """Ship an order that is paid, with a tracking number."""
    row, (carrier, number) = an_order(world, _PAID), track(world)
    return instruction(
        {"number": row["increment_id"], "carrier": carrier, "track": number},
        t.all_of(
            becomes(world, ORDERS, row["increment_id"], status="complete", shipments=1, tracks=1),
            track_is(row, carrier, number),
        ),
        way=[
            *open_order(row),
            t.click("Ship"),
            *enter_track(carrier, number),
            t.click("Submit Shipment", "All quantities are filled in already."),
        ],
        seen="The shipment has been created.",
    )


def add_track(world: t.Sampler) -> t.Draw:
    """Add a tracking number to a shipment that has none."""
    row = world.pick(
        """SELECT o.*, max(s.increment_id) AS shipment FROM sales_order o JOIN shipment s USING (order_id)
           LEFT JOIN shipment_track USING (shipment_id) GROUP BY order_id HAVING count(*) = 1 AND count(track_id) = 0
           ORDER BY order_id"""
    )
    carrier, number = track(world)
    return instruction(
        {"carrier": carrier, "track": number, "number": row["increment_id"]},
        t.all_of(becomes(world, ORDERS, row["increment_id"], tracks=1), track_is(row, carrier, number)),
        way=[
            *open_order(row),
            t.click(f"Shipment #{row['shipment']}"),
            *enter_track(carrier, number),
            t.click("Add Tracking Number"),
        ],
        seen="The tracking number is in the list.",
    )


def refund_order(world: t.Sampler) -> t.Draw:
    """Pay a whole order back."""
    row = an_order(world, "status = 'complete' AND NOT EXISTS (SELECT 1 FROM creditmemo d WHERE d.order_id = o.order_id)")
    paid = world.value("SELECT sum(grand_total_cents) FROM invoice WHERE order_id = ?", row["order_id"])
    if paid != row["grand_total_cents"]:
        raise t.NothingToDraw(row["increment_id"])
    return instruction(
        {"number": row["increment_id"]},
        t.all_of(becomes(world, ORDERS, row["increment_id"], status="closed", refunds=1), total_is(row, "creditmemo")),
        way=[
            *open_order(row),
            t.click("Credit Memo"),
            t.click("Refund Offline", "All quantities and the shipping are filled in already."),
        ],
        seen=f"The total refunded is {money(row['grand_total_cents'])}.",
    )


def order_address(world: t.Sampler) -> t.Draw:
    """Change where an order goes."""
    row = an_order(world, "status IN ('pending', 'processing', 'holded')")
    place = an_address(world)
    return instruction(
        {"number": row["increment_id"], **place},
        becomes(world, ORDER_ADDRESSES, f"{row['increment_id']} shipping", **place),
        way=[*open_order(row), t.click("Edit Shipping Address"), *enter_address(place)],
        seen="The order has the new shipping address.",
    )
