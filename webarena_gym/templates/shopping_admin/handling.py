"""Changes to orders: what is done with them from the first call to the last refund."""

from webarena_gym.sites.country.formats import money
from webarena_gym.sites.shopping_admin.views.documents import CARRIERS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping_admin.ledgers import ORDER_ADDRESSES, ORDERS, becomes, others_stay
from webarena_gym.templates.shopping_admin.routes import STATUSES, an_order, filtered, open_customer, open_menu, open_order
from webarena_gym.templates.ways import instruction, nth

TEMPLATES = t.Templates("shopping_admin")
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


@TEMPLATES.define("Cancel order {number}.")
def cancel_order(world: t.Sampler) -> t.Draw:
    """Cancel an order of which nothing was invoiced or shipped."""
    row = an_order(world, _UNTOUCHED)
    return instruction(
        {"number": row["increment_id"]},
        becomes(world, ORDERS, row["increment_id"], status="canceled"),
        way=[*open_order(row), t.click("Cancel")],
        seen="The order is canceled.",
    )


@TEMPLATES.define("Put order {number} on hold.")
def hold_order(world: t.Sampler) -> t.Draw:
    """Stop work on an order."""
    row = an_order(world, "status IN ('pending', 'processing')")
    return instruction(
        {"number": row["increment_id"]},
        becomes(world, ORDERS, row["increment_id"], status="holded"),
        way=[*open_order(row), t.click("Hold")],
        seen="The order is on hold.",
    )


@TEMPLATES.define("Put order {number} on hold, then show me the list of all orders that are on hold.")
def hold_and_list(world: t.Sampler) -> t.Draw:
    """Stop work on an order, and open a filtered list."""
    row = an_order(world, "status IN ('pending', 'processing')")
    return instruction(
        {"number": row["increment_id"]},
        t.all_of(
            becomes(world, ORDERS, row["increment_id"], status="holded"),
            t.at_url("__SHOPPING_ADMIN__/sales/order/?status=holded"),
        ),
        way=[
            *open_order(row),
            t.click("Hold"),
            *open_menu("Sales", "Orders"),
            *filtered(t.choose("Status", STATUSES["holded"])),
        ],
        seen="The list shows the orders on hold.",
    )


@TEMPLATES.define("Order {number} may go on: release it from hold.")
def unhold_order(world: t.Sampler) -> t.Draw:
    """Let work on an order go on; a world has only a few orders on hold."""
    row = an_order(world, "status = 'holded'")
    has_begun = world.value("SELECT max(qty_invoiced + qty_shipped) > 0 FROM order_item WHERE order_id = ?", row["order_id"])
    return instruction(
        {"number": row["increment_id"]},
        becomes(world, ORDERS, row["increment_id"], status="processing" if has_begun else "pending"),
        way=[*open_order(row), t.click("Unhold")],
        seen="The order is not on hold any more.",
    )


@TEMPLATES.define('Add the comment "{note}" to order {number}, without sending it to the customer.')
def comment_order(world: t.Sampler) -> t.Draw:
    """Write a note on an order."""
    row, note = an_order(world), world.rng.choice(NOTES)
    return instruction(
        {"note": note, "number": row["increment_id"]},
        last_comment(world, row, note, is_notified=False),
        way=[*open_order(row), t.type_text("Comment", note), t.click("Submit Comment")],
        seen="The comment stands among the notes.",
    )


@TEMPLATES.define('Notify {customer} by e-mail, with a comment on the most recent pending order: "{note}"')
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


@TEMPLATES.define('Notify {customer} by e-mail, with a comment on the most recent pending order: "{note}"')
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


@TEMPLATES.define("Invoice order {number} completely.")
def invoice_order(world: t.Sampler) -> t.Draw:
    """Invoice all of an order of which nothing is invoiced."""
    row = an_order(world, _UNTOUCHED)
    return instruction(
        {"number": row["increment_id"]},
        t.all_of(becomes(world, ORDERS, row["increment_id"], status="processing", invoices=1), total_is(row, "invoice")),
        way=[*open_order(row), t.click("Invoice"), t.click("Submit Invoice", "All that is left is filled in already.")],
        seen="The invoice has been created.",
    )


@TEMPLATES.define("Ship everything of order {number} with {carrier}, tracking number {track}.")
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


@TEMPLATES.define("Add the {carrier} tracking number {track} to the shipment of order {number}.")
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


@TEMPLATES.define("Refund order {number} in full, shipping included.")
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


@TEMPLATES.define("Change the shipping address of order {number} to {street}, {city}, {region}, {postcode}.")
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
