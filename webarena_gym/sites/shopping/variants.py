"""The variants of configurable products: each choice of options with a SKU and a stock of its own. Only large worlds have them."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webarena_gym.sites.shopping import queries


class Variant(NamedTuple):
    """One choice of a product's options."""

    variant_id: int
    product_id: int
    sku: str
    options: Mapping[str, str]
    quantity: int
    is_in_stock: bool

    @property
    def available(self) -> int:
        """How many can be bought."""
        return self.quantity if self.is_in_stock else 0


def of(db: sqlite3.Connection, product_ids: Sequence[int]) -> dict[tuple[int, str], Variant]:
    """Return the variants of products, by product and by the choice as carts hold it; none where choices share one stock."""
    if db.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'product_variant'").fetchone() is None:
        return {}
    query = f"SELECT * FROM product_variant WHERE product_id IN ({queries.marks(product_ids)}) ORDER BY variant_id"
    return {
        (row["product_id"], row["options"]): Variant(
            row["variant_id"],
            row["product_id"],
            row["sku"],
            json.loads(row["options"]),
            row["quantity"],
            bool(row["is_in_stock"]),
        )
        for row in db.execute(query, product_ids)
    }


def add(db: sqlite3.Connection, product_id: int, choice: str, pieces: int) -> None:
    """Put pieces of a choice into its stock, or take them when they are negative; nothing where it has no stock of its own."""
    variant = of(db, [product_id]).get((product_id, choice))
    if variant is not None:
        quantity = variant.quantity + pieces
        set_stock(db, variant, quantity, is_in_stock=quantity > 0 and (variant.is_in_stock or pieces > 0))


def set_stock(db: sqlite3.Connection, variant: Variant, quantity: int, *, is_in_stock: bool) -> None:
    """Write how many there are of a variant."""
    query = "UPDATE product_variant SET quantity = ?, is_in_stock = ? WHERE variant_id = ?"
    db.execute(query, (quantity, is_in_stock, variant.variant_id))


def remove(db: sqlite3.Connection, product_ids: Sequence[int]) -> None:
    """Delete the variants of products."""
    for variant in of(db, product_ids).values():
        db.execute("DELETE FROM product_variant WHERE variant_id = ?", (variant.variant_id,))
