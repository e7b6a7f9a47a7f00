"""A small shop for tests of its admin: two years of orders in every state, drawn from one integer."""

import random
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

import webarena_gym.sites
from webarena_gym.sites.country.seeding import sign_in
from webarena_gym.sites.kit.database import Database

NOW = datetime(2023, 6, 15, 10, 0)
NAMES = ("Ada Brook", "Ben Cole", "Cleo Dunn", "Dora Éclair", "Emil Frost", "Fay O'Gray")
GOODS = ("Canvas Backpack", "Steel Bottle", "Wool Scarf", "Desk Lamp", "Chess Set", "Rain Jacket", "Tea Pot", "Yoga Mat")
STATES = ("pending", "processing", "complete", "complete", "canceled", "closed", "holded")


def small_shop(seed: int = 3, orders: int = 60) -> Database:
    """Return the shop's database."""
    db = sqlite3.connect(":memory:")
    schema = Path(webarena_gym.sites.__file__).parent / "shopping" / "schema.sql"
    db.executescript(schema.read_text(encoding="utf-8"))
    _settings(db, seed)
    _catalogue(db)
    dice = random.Random(seed)
    _people(db)
    for order_id in range(1, orders + 1):
        _order(db, dice, order_id)
    _marketing(db, dice)
    db.commit()
    content = db.serialize()
    db.close()
    return Database(content)


def signed_in(database: Database) -> str:
    """Return the id of a session in which the admin is signed in."""
    return sign_in(database.connection, admin_id=1)


def _settings(db: sqlite3.Connection, seed: int) -> None:
    db.executemany("INSERT INTO world VALUES (?, ?)", [("seed", str(seed)), ("now", str(NOW))])
    db.execute("INSERT INTO admin_user VALUES (1, 'admin', 'admin1234', 'Alex', 'Admin', 'admin@example.com')")
    db.executemany(
        "INSERT INTO store_config VALUES (?, ?, ?)",
        [
            ("general/store_information/name", "Store Name", "Corner Shop"),
            ("general/store_information/phone", "Phone", "555-0100"),
            ("general/store_information/country", "Country", "United States"),
        ],
    )
    db.execute("INSERT INTO theme VALUES (1, 'Plain', '', 'frontend/plain', 0), (2, 'Harbor', 'Plain', 'frontend/harbor', 1)")
    db.execute(
        "INSERT INTO cms_page VALUES (1, 'About us', 'about-us', 'About', 'Who we are', 1, '2022-01-01 00:00:00'),"
        " (2, 'Privacy', 'privacy', 'Privacy', 'What we keep', 1, '2022-01-01 00:00:00')"
    )


def _catalogue(db: sqlite3.Connection) -> None:
    db.execute(
        "INSERT INTO category VALUES (1, NULL, 'Home', 'home', 1), (2, 1, 'Things', 'home/things', 1), (3, 1, 'More', 'home/more', 2)"
    )
    for product_id, name in enumerate(GOODS, start=1):
        db.execute(
            "INSERT INTO product VALUES (?, ?, ?, ?, 'Acme', ?, ?, NULL, ?, 1, 1, 'Short', 'Long', '2022-01-01 00:00:00')",
            (
                product_id,
                f"AC-{product_id:03d}",
                name,
                name.lower().replace(" ", "-"),
                2 + product_id % 2,
                product_id * 1050,
                product_id * 4,
            ),
        )
    db.execute("INSERT INTO product_option VALUES (1, 6, 'Size', 1)")
    db.execute("INSERT INTO product_option_value VALUES (1, 1, 'S', 0, 1), (2, 1, 'M', 0, 2), (3, 1, 'L', 200, 3)")
    db.execute("INSERT INTO product_attribute VALUES (1, 'Brand', 'Acme', 1), (1, 'Material', 'Canvas', 2)")


def _people(db: sqlite3.Connection) -> None:
    for customer_id, name in enumerate(NAMES, start=1):
        first, last = name.split(" ")
        email = f"person{customer_id}@example.com"
        db.execute(
            "INSERT INTO customer VALUES (?, ?, ?, ?, 'secret123', ?, ?)",
            (
                customer_id,
                email,
                first,
                last,
                "Wholesale" if customer_id == 2 else "General",
                f"2022-0{customer_id}-01 08:00:00",
            ),
        )
        db.execute(
            "INSERT INTO customer_address VALUES (?, ?, ?, ?, '', '1 Elm St', 'Salem', 'Ohio', ?, 'United States', '555-0199', 1, 1)",
            (customer_id, customer_id, first, last, f"4400{customer_id}"),
        )
        db.execute("INSERT INTO newsletter_subscriber VALUES (?, ?, 'Subscribed', '2022-05-01 00:00:00')", (email, customer_id))
    db.execute("INSERT INTO newsletter_subscriber VALUES ('guest@example.com', NULL, 'Subscribed', '2022-05-01 00:00:00')")


def _order(db: sqlite3.Connection, dice: random.Random, order_id: int) -> None:
    state, customer_id = dice.choice(STATES), dice.randint(1, len(NAMES))
    moment = str(datetime(2022, 1, 1, 9) + timedelta(hours=dice.randrange(520 * 24)))
    goods = dice.sample(range(1, len(GOODS) + 1), dice.randint(1, 3))
    lines = [(product_id, dice.randint(1, 4)) for product_id in goods]
    subtotal = sum(product_id * 1050 * quantity for product_id, quantity in lines)
    has_coupon = dice.random() < 0.3
    discount, shipping = subtotal // 10 if has_coupon else 0, 500 * sum(quantity for _, quantity in lines)
    total, name = subtotal - discount + shipping, NAMES[customer_id - 1]
    db.execute(
        "INSERT INTO sales_order VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'Flat Rate - Fixed', 'Check / Money order')",
        (
            *(order_id, f"{order_id:09d}", customer_id, f"person{customer_id}@example.com", name, state, moment),
            *(subtotal, discount, "TEN" if has_coupon else None, shipping, total),
        ),
    )
    for kind in ("billing", "shipping"):
        db.execute(
            "INSERT INTO order_address VALUES (?, ?, ?, ?, '', '1 Elm St', 'Salem', 'Ohio', '44001', 'United States', '555-0199')",
            (order_id, kind, *name.split(" ")),
        )
    is_paid, is_shipped = state in ("processing", "complete", "closed"), state in ("complete", "closed")
    for product_id, quantity in lines:
        db.execute(
            """INSERT INTO order_item (order_id, product_id, sku, name, price_cents, qty_ordered, qty_invoiced, qty_shipped,
                                       qty_refunded, qty_canceled) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                *(order_id, product_id, f"AC-{product_id:03d}", GOODS[product_id - 1], product_id * 1050, quantity),
                *(quantity * holds for holds in (is_paid, is_shipped, state == "closed", state == "canceled")),
            ),
        )
    if is_paid:
        db.execute("INSERT INTO invoice VALUES (?1, ?2, ?1, ?3, ?4)", (order_id, f"{order_id:09d}", total, moment))
    if is_shipped:
        db.execute("INSERT INTO shipment VALUES (?1, ?2, ?1, ?3)", (order_id, f"{order_id:09d}", moment))
    if state == "closed":
        db.execute(
            "INSERT INTO creditmemo VALUES (?1, ?2, ?1, ?3, 0, ?4, ?5)", (order_id, f"{order_id:09d}", shipping, total, moment)
        )


def _marketing(db: sqlite3.Connection, dice: random.Random) -> None:
    db.execute("INSERT INTO cart_rule VALUES (1, 'Ten off', '', 'TEN', 'by_percent', 10, 1, NULL, '2023-12-31', 4)")
    for query_id, text in enumerate(("bag", "lamp", "tea", "gift <b>"), start=1):
        db.execute("INSERT INTO search_term VALUES (?, ?, ?, ?, ?)", (query_id, text, query_id, dice.randint(1, 40), str(NOW)))
    for review_id in range(1, 31):
        customer_id = dice.choice([None, 1, 2, 3])
        db.execute(
            "INSERT INTO review VALUES (?, ?, ?, 'Nick', ?, 'Fine <i>thing</i>', ?, ?, ?)",
            (
                *(review_id, dice.randint(1, len(GOODS)), customer_id, f"Review {review_id}", dice.randint(1, 5)),
                *(dice.choice(["Approved", "Pending", "Not Approved"]), f"2023-0{dice.randint(1, 5)}-10 12:00:00"),
            ),
        )
