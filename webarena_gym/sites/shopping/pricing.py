"""What things cost: cart price rules, shipping rates and totals, in cents."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from webarena_gym.sites.shopping.forms import cents

FLAT, TABLE, FREE = "Flat Rate - Fixed", "Best Way - Table Rate", "Free Shipping"


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums below a cart or an order. `shipping_cents` is None until a method is chosen."""

    subtotal_cents: int
    discount_cents: int
    coupon_code: str | None
    shipping_cents: int | None

    @property
    def grand_total_cents(self) -> int:
        """What is to be paid."""
        return self.subtotal_cents - self.discount_cents + (self.shipping_cents or 0)


def rules(db: sqlite3.Connection, now: datetime, coupon_code: str | None) -> list[sqlite3.Row]:
    """Return the price rules in force: those without a coupon, and the one of the coupon, if it is valid."""
    return db.execute(
        """
        SELECT * FROM cart_rule
        WHERE is_active AND (coalesce(coupon_code, '') = '' OR coupon_code = :code COLLATE NOCASE)
            AND (coalesce(from_date, '') = '' OR substr(from_date, 1, 10) <= :today)
            AND (coalesce(to_date, '') = '' OR substr(to_date, 1, 10) >= :today)
        ORDER BY rule_id
        """,
        {"code": coupon_code or "", "today": f"{now:%Y-%m-%d}"},
    ).fetchall()


def coupon(db: sqlite3.Connection, now: datetime, code: str) -> str | None:
    """Return the coupon code as the rule spells it, or None when no rule in force has it."""
    return next((row["coupon_code"] for row in rules(db, now, code) if row["coupon_code"]), None)


def discount(rules_in_force: Sequence[sqlite3.Row], subtotal_cents: int) -> int:
    """Return what the rules take off, never more than the subtotal."""
    taken = 0
    for rule in rules_in_force:
        is_percent = rule["action"] == "by_percent"
        taken += (subtotal_cents * rule["amount"] + 50) // 100 if is_percent else rule["amount"]
    return min(taken, subtotal_cents)


def shipping_rates(db: sqlite3.Connection, quantity: int, discounted_cents: int) -> dict[str, int]:
    """Return the shipping methods on offer for that many pieces of that worth, with their prices."""
    settings = dict(db.execute("SELECT path, value FROM store_config WHERE path LIKE 'carriers/%'").fetchall())
    flat, table, threshold = (
        cents(settings.get(f"carriers/{name}"))
        for name in ("flatrate/price", "tablerate/price", "freeshipping/free_shipping_subtotal")
    )
    rates = {FLAT: (500 if flat is None else flat) * quantity, TABLE: 1500 if table is None else table}
    if threshold is not None and discounted_cents >= threshold:
        rates[FREE] = 0
    return rates
