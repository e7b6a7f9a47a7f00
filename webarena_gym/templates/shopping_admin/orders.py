"""Orders: questions about one or several, and what is done with them from the first call to the last refund."""

from typing import Any

from webarena_gym.sites.country.texts import money
from webarena_gym.sites.kit.database import shows_aggregates
from webarena_gym.sites.shopping_admin.views.orders import CARRIERS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping_admin import ORDERS, TEXTS, becomes, open_customer, others_stay


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
NEWEST = "SELECT *, row_number() OVER (ORDER BY created_at DESC, order_id DESC) - 1 AS place FROM sales_order"
LATEST_TOTALS = "SELECT grand_total_cents FROM sales_order"


def has_pieces(world: t.Sampler) -> bool:
    """Tell whether the dashboard shows how many pieces orders have."""
    return shows_aggregates(world.connection("shopping_admin"))


def sum_up(numbers: list[Any], end: int = 10**9) -> int:
    """Return the sum of the first numbers."""
    return sum(map(int, numbers[:end]))


def amounts(cents: list[int]) -> list[str]:
    """Return amounts of money as pages write them."""
    return [money(each) for each in cents]
