"""Queries that several pages of the shop share."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from webarena_gym.sites.kit.database import first

STATUS_LABELS = {
    "pending": "Pending", "processing": "Processing", "complete": "Complete", "canceled": "Canceled", "closed": "Closed",
    "holded": "On Hold",
}  # fmt: skip
FINAL_PRICE = "min(p.price_cents, coalesce(p.special_price_cents, p.price_cents))"


def status_label(status: str) -> str:
    """Return the label of an order status."""
    return STATUS_LABELS.get(status, status)


def config(db: sqlite3.Connection, path: str, default: str) -> str:
    """Return one setting of the store."""
    row = db.execute("SELECT value FROM store_config WHERE path = ?", (path,)).fetchone()
    return str(row["value"]) if row else default


def country(db: sqlite3.Connection) -> str:
    """Return the country of the store, the initial value of new addresses."""
    return config(db, "general/store_information/country", "")


def customer(db: sqlite3.Connection, customer_id: int) -> sqlite3.Row | None:
    """Return a customer's row."""
    return first(db, "SELECT * FROM customer WHERE customer_id = ?", (customer_id,))


def subcategories(db: sqlite3.Connection, parent_id: int | None) -> list[sqlite3.Row]:
    """Return the direct subcategories of a category, or the top categories."""
    return db.execute("SELECT * FROM category WHERE parent_id IS ? ORDER BY position, category_id", (parent_id,)).fetchall()


def category_path(db: sqlite3.Connection, category_id: int) -> list[sqlite3.Row]:
    """Return a category and its ancestors, the top one first."""
    return db.execute(
        """
        WITH RECURSIVE above(category_id, parent_id, name, url_path, depth) AS (
            SELECT category_id, parent_id, name, url_path, 0 FROM category WHERE category_id = ?
            UNION ALL
            SELECT c.category_id, c.parent_id, c.name, c.url_path, depth + 1
            FROM category c JOIN above ON c.category_id = above.parent_id
        )
        SELECT * FROM above ORDER BY depth DESC
        """,
        (category_id,),
    ).fetchall()


def cards(db: sqlite3.Connection, condition: str, parameters: Sequence[Any]) -> list[sqlite3.Row]:
    """Return the data of list entries for the enabled products `p` that satisfy an SQL condition, by product_id."""
    return db.execute(
        f"""
        SELECT p.product_id, p.name, p.sku, p.brand, p.url_key, p.price_cents, {FINAL_PRICE} AS final_cents,
            p.is_in_stock AND p.quantity > 0 AS is_salable, avg(r.rating) AS rating, count(r.review_id) AS review_count
        FROM product p LEFT JOIN review r ON r.product_id = p.product_id AND r.status = 'Approved'
        WHERE p.is_enabled AND {condition}
        GROUP BY p.product_id
        """,
        parameters,
    ).fetchall()


def category_cards(db: sqlite3.Connection, category_id: int) -> list[sqlite3.Row]:
    """Return the data of list entries for the products in a category and its subcategories."""
    return cards(
        db,
        """p.category_id IN (
            WITH RECURSIVE below(category_id) AS (
                VALUES (?) UNION ALL SELECT c.category_id FROM category c JOIN below ON c.parent_id = below.category_id
            )
            SELECT category_id FROM below
        )""",
        (category_id,),
    )


def cards_by_id(db: sqlite3.Connection, product_ids: Sequence[int]) -> list[sqlite3.Row]:
    """Return the data of list entries for products, in the given order, without those that are not for sale."""
    by_id = {row["product_id"]: row for row in cards(db, f"p.product_id IN ({marks(product_ids)})", product_ids)}
    return [by_id[product_id] for product_id in product_ids if product_id in by_id]


def product(db: sqlite3.Connection, value: int | str | None, column: str = "product_id") -> sqlite3.Row | None:
    """Return the enabled product whose column has a value, with its final price, approved rating, and whether it can be bought."""
    query = f"""
        SELECT p.*, {FINAL_PRICE} AS final_cents, p.is_in_stock AND p.quantity > 0 AS is_salable,
            (SELECT avg(rating) FROM review r WHERE r.product_id = p.product_id AND r.status = 'Approved') AS rating,
            (SELECT count(*) FROM review r WHERE r.product_id = p.product_id AND r.status = 'Approved') AS review_count
        FROM product p WHERE p.is_enabled AND p.{column} = ?
        """
    return first(db, query, (value,))


def options(db: sqlite3.Connection, product_ids: Sequence[int]) -> list[sqlite3.Row]:
    """Return a row for each selectable value of an option of these products, in the order of the form."""
    query = f"""
        SELECT o.product_id, o.option_id, o.title, v.value_id, v.label, v.price_delta_cents
        FROM product_option o JOIN product_option_value v USING (option_id)
        WHERE o.product_id IN ({marks(product_ids)})
        ORDER BY o.product_id, o.position, o.option_id, v.position, v.value_id
        """
    return db.execute(query, product_ids).fetchall()


def addresses(db: sqlite3.Connection, customer_id: int) -> list[sqlite3.Row]:
    """Return a customer's address book."""
    return db.execute("SELECT * FROM customer_address WHERE customer_id = ? ORDER BY address_id", (customer_id,)).fetchall()


def order_items(db: sqlite3.Connection, order_id: int) -> list[dict[str, Any]]:
    """Return an order's items, with `options` as a mapping, and `url_key`, which is None for products that are not for sale."""
    query = """
        SELECT i.*, p.url_key FROM order_item i LEFT JOIN product p ON p.product_id = i.product_id AND p.is_enabled
        WHERE i.order_id = ? ORDER BY i.item_id
        """
    rows = db.execute(query, (order_id,))
    return [dict(row) | {"options": json.loads(row["options"])} for row in rows]


def next_increment_id(db: sqlite3.Connection, table: str) -> str:
    """Return the number of the next order, invoice, shipment or credit memo."""
    (number,) = db.execute(f"SELECT coalesce(max(CAST(increment_id AS INTEGER)), 0) + 1 FROM {table}").fetchone()
    return f"{number:09d}"


def marks(values: Collection[Any]) -> str:
    """Return SQL question marks for a number of values."""
    return ", ".join("?" * len(values))
