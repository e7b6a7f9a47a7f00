"""Postal addresses: their fields, and keeping one in a customer's book."""

import sqlite3
from collections.abc import Mapping

from webarena_gym.sites.kit.forms import Field
from webarena_gym.sites.shopping.queries import marks

ADDRESS = {
    "firstname": Field("First Name"),
    "lastname": Field("Last Name"),
    "company": Field("Company", required=False),
    "street": Field("Street Address"),
    "city": Field("City"),
    "region": Field("State/Province"),
    "postcode": Field("Zip/Postal Code", limit=32),
    "country": Field("Country"),
    "telephone": Field("Phone Number", limit=64),
}


def save_address(
    db: sqlite3.Connection,
    customer_id: int,
    values: Mapping[str, str],
    defaults: Mapping[str, bool],
    address_id: int | None = None,
) -> None:
    """Write an address into a customer's book, in place of `address_id` if given.

    There is one default of each kind at most: a new one takes over, and the first address of a book is both.
    """
    is_first = db.execute("SELECT 1 FROM customer_address WHERE customer_id = ?", (customer_id,)).fetchone() is None
    texts = [values[name] for name in ADDRESS]
    if address_id is None:
        query = f"INSERT INTO customer_address (customer_id, {', '.join(ADDRESS)}) VALUES (?, {marks(ADDRESS)})"
        address_id = db.execute(query, (customer_id, *texts)).lastrowid
    else:
        changes = ", ".join(f"{name} = ?" for name in ADDRESS)
        db.execute(f"UPDATE customer_address SET {changes} WHERE address_id = ?", (*texts, address_id))
    for name, is_default in defaults.items():
        if is_default or is_first:
            db.execute(
                f"UPDATE customer_address SET {name} = (address_id = ?) WHERE customer_id = ?", (address_id, customer_id)
            )
