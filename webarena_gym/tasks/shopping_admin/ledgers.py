"""What a change must leave behind: one row as wanted, and all other rows as they were."""

from typing import Any, NamedTuple

from webarena_gym.tasks.template import Sampler, all_of, state


class Ledger(NamedTuple):
    """A table to watch. `columns` are compared for the row that may change, `sums` over all the others."""

    table: str
    key: str
    columns: tuple[str, ...]
    sums: str


ORDERS = Ledger(
    """(SELECT o.*, (SELECT count(*) FROM invoice d WHERE d.order_id = o.order_id) AS invoices,
               (SELECT count(*) FROM shipment d WHERE d.order_id = o.order_id) AS shipments,
               (SELECT count(*) FROM shipment d JOIN shipment_track USING (shipment_id) WHERE d.order_id = o.order_id) AS tracks,
               (SELECT count(*) FROM creditmemo d WHERE d.order_id = o.order_id) AS refunds,
               (SELECT count(*) FROM order_comment d WHERE d.order_id = o.order_id) AS comments FROM sales_order o)""",
    "increment_id",
    ("status", "invoices", "shipments", "tracks", "refunds", "comments"),
    """sum(status = 'pending'), sum(status = 'processing'), sum(status = 'complete'), sum(status = 'closed'),
       sum(status = 'canceled'), sum(invoices), sum(shipments), sum(tracks), sum(refunds), sum(comments)""",
)
PRODUCTS = Ledger(
    "product",
    "sku",
    (
        "name", "brand", "category_id", "price_cents", "special_price_cents", "quantity", "is_in_stock", "is_enabled",
        "short_description", "description",
    ),
    """count(*), sum(price_cents), sum(special_price_cents), sum(quantity), sum(is_in_stock), sum(is_enabled),
       sum(length(name)), sum(length(short_description)), sum(length(description))""",
)  # fmt: skip
REVIEWS = Ledger(
    "review",
    "review_id",
    ("status", "rating", "nickname", "title", "detail"),
    "count(*), sum(status = 'Approved'), sum(status = 'Pending'), sum(rating), sum(length(title)), sum(length(detail))",
)
CUSTOMERS = Ledger(
    "customer",
    "customer_id",
    ("email", "firstname", "lastname", "group_name"),
    "count(*), sum(length(email)), sum(length(firstname)), sum(length(lastname)), sum(group_name = 'General')",
)


def becomes(world: Sampler, ledger: Ledger, key: Any, **changes: Any) -> dict[str, Any]:
    """The row with that key must have changed in these columns and in no other, and no other row must have changed."""
    query = f"SELECT {', '.join(ledger.columns)} FROM {ledger.table} WHERE {ledger.key} = ?"
    row = dict(world.rows(query, key)[0])
    if unknown := changes.keys() - row.keys():
        raise ValueError(f"the ledger does not watch {', '.join(unknown)}")
    return all_of(state(query, key, expected=[list((row | changes).values())]), others_stay(world, ledger, key))


def others_stay(world: Sampler, ledger: Ledger, *keys: Any) -> dict[str, Any]:
    """No row must have changed but those with these keys."""
    marks = ", ".join("?" * len(keys))
    return stays(world, f"SELECT {ledger.sums} FROM {ledger.table} WHERE {ledger.key} NOT IN ({marks})", *keys)


def stays(world: Sampler, query: str, *parameters: Any) -> dict[str, Any]:
    """The query must return what it returns now."""
    return state(query, *parameters, expected=[list(row) for row in world.rows(query, *parameters)])
