"""The shop, used as a person would: by its labels, in the in-process browser, judged by what is in the database."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.network import Network
from webarena_gym.observation import observe
from webarena_gym.sites import shopping
from webarena_gym.sites.kit import Database, sign_in

HOST = "http://shop.test"
NOW = "2023-06-10 12:00:00"

ROWS: dict[str, list[tuple[Any, ...]]] = {
    "world": [("now", NOW), ("seed", "1")],
    "store_config": [
        ("general/store_information/name", "Store Name", "Corner Shop"),
        ("carriers/freeshipping/free_shipping_subtotal", "Free Shipping from Subtotal", "100.00"),
    ],
    "category": [
        (1, None, "Kitchen", "kitchen", 1),
        (2, 1, "Cookware", "kitchen/cookware", 1),
        (3, 1, "Kettles", "kitchen/kettles", 2),
        (4, None, "Outdoors", "outdoors", 2),
        (5, 4, "Tents", "outdoors/tents", 1),
    ],
    # id, sku, name, url_key, brand, category, price, special price, quantity, in stock, enabled, short, long, created
    "product": [
        (
            1,
            "PAN-1",
            "Copper Frying Pan",
            "copper-frying-pan",
            "Alder",
            2,
            4000,
            None,
            10,
            1,
            1,
            "A pan.",
            "For eggs & more.",
            "2023-01-01 00:00:00",
        ),
        (
            2,
            "PAN-2",
            "Iron Frying Pan",
            "iron-frying-pan",
            "Birch",
            2,
            3000,
            2400,
            5,
            1,
            1,
            "Heavy.",
            "Good for camping.",
            "2023-01-02 00:00:00",
        ),
        (
            3,
            "KET-1",
            "Red Kettle",
            "red-kettle",
            "Alder",
            3,
            1999,
            None,
            0,
            1,
            1,
            "Whistles.",
            "Red enamel.",
            "2023-01-03 00:00:00",
        ),
        (
            4,
            "TEN-1",
            "Two Person Tent",
            "two-person-tent",
            "Cedar",
            5,
            12000,
            None,
            3,
            1,
            1,
            "Dry.",
            "For camping trips.",
            "2023-01-04 00:00:00",
        ),
        (
            5,
            "OLD-1",
            "Forgotten Tent",
            "forgotten-tent",
            "Cedar",
            5,
            100,
            None,
            9,
            1,
            0,
            "Gone.",
            "Gone.",
            "2023-01-05 00:00:00",
        ),
        *(
            (
                10 + n,
                f"PEG-{n}",
                f"Tent Peg No. {n:02d}",
                f"tent-peg-{n}",
                "Birch",
                5,
                100 + n,
                None,
                50,
                1,
                1,
                "A peg.",
                "Steel.",
                f"2022-01-{n:02d} 00:00:00",
            )
            for n in range(1, 26)
        ),
    ],
    "product_attribute": [(1, "Material", "Copper", 1), (2, "Material", "Iron", 1), (2, "Diameter", "10 inch", 2)],
    "product_option": [(1, 4, "Color", 1), (2, 4, "Floor", 2)],
    "product_option_value": [(1, 1, "Green", 0, 1), (2, 1, "Sand", 0, 2), (3, 2, "Light", 0, 1), (4, 2, "Heavy", 1500, 2)],
    "customer": [
        (1, "emma@mail.test", "Emma", "Lopez", "secret-1", "General", "2022-01-01 00:00:00"),
        (2, "paul@mail.test", "Paul", "Kim", "secret-2", "General", "2022-01-01 00:00:00"),
    ],
    "customer_address": [
        (1, 1, "Emma", "Lopez", "", "1 Elm St", "Albany", "New York", "12203", "United States", "5551234567", 1, 1),
        (2, 1, "Emma", "Lopez", "Desk Co", "2 Oak St", "Boston", "Massachusetts", "02101", "United States", "5551234567", 0, 0),
        (3, 2, "Paul", "Kim", "", "3 Fir St", "Austin", "Texas", "73301", "United States", "5557654321", 1, 1),
    ],
    "newsletter_subscriber": [("paul@mail.test", 2, "Subscribed", NOW)],
    "review": [
        *(
            (n, 1, None, f"Reader {n}", f"Title {n}", f"Detail {n}", 4, "Approved", f"2023-02-{n:02d} 00:00:00")
            for n in range(1, 13)
        ),
        (20, 1, 1, "Emma", "Hidden", "Not yet", 1, "Pending", "2023-03-01 00:00:00"),
        (21, 2, 1, "Emma", "Fine", "It is fine.", 3, "Approved", "2023-03-02 00:00:00"),
    ],
    "sales_order": [
        (
            n,
            f"{n:09d}",
            1,
            "emma@mail.test",
            "Emma Lopez",
            status,
            f"2023-0{n}-05 10:00:00",
            4000,
            400,
            "TENOFF",
            500,
            4100,
            "Flat Rate",
            "Check / Money order",
        )
        for n, status in ((1, "complete"), (2, "pending"))
    ]
    + [
        (
            3,
            "000000003",
            None,
            "guest@mail.test",
            "Gail Guest",
            "holded",
            "2023-03-05 10:00:00",
            2400,
            0,
            None,
            500,
            2900,
            "Flat Rate",
            "Check / Money order",
        )
    ],
    "order_address": [
        (n, kind, first, last, "", "1 Elm St", "Albany", "New York", "12203", "United States", "5551234567")
        for n, first, last in ((1, "Emma", "Lopez"), (2, "Emma", "Lopez"), (3, "Gail", "Guest"))
        for kind in ("billing", "shipping")
    ],
    "order_item": [
        (1, 1, 1, "PAN-1", "Copper Frying Pan", "{}", 4000, 1, 1, 1, 0, 0),
        (2, 2, 4, "TEN-1", "Two Person Tent", '{"Color": "Sand", "Floor": "Light"}', 12000, 1, 0, 0, 0, 0),
        (3, 2, 5, "OLD-1", "Forgotten Tent", "{}", 100, 2, 0, 0, 0, 0),
        (4, 3, 2, "PAN-2", "Iron Frying Pan", "{}", 2400, 1, 0, 0, 0, 0),
    ],
    "invoice": [(1, "000000001", 1, 4100, "2023-01-06 10:00:00")],
    "shipment": [(1, "000000001", 1, "2023-01-07 10:00:00")],
    "shipment_track": [(1, 1, "DHL", "DHL", "JD0149")],
    "order_comment": [(1, 1, "complete", "Left at the door.", 1, 1, NOW), (2, 1, "complete", "Internal note.", 0, 0, NOW)],
    "cart_rule": [
        (1, "Ten off", "", "TENOFF", "by_percent", 10, 1, "2023-01-01", None, 4),
        (2, "Over", "", "OVER", "by_percent", 50, 1, "2022-01-01", "2022-02-01", 0),
        (3, "Switched off", "", "NOTYET", "cart_fixed", 500, 0, None, None, 0),
        (4, "Five", "", "FIVE", "cart_fixed", 500, 1, None, None, 0),
    ],
    "search_term": [(1, "tent", 26, 7, "2023-01-01 00:00:00")],
    "cms_page": [
        (1, "About Us", "about-us", "About the Corner Shop", "We sell pans.\n\nAnd <tents>.", 1, NOW),
        (2, "Off", "off", "Off", "Off", 0, NOW),
    ],
}


@pytest.fixture(scope="module")
def base() -> bytes:
    """The database of a small shop, with sessions of Emma and Paul."""
    db = sqlite3.connect(":memory:")
    db.executescript((Path(shopping.__file__).parent / "schema.sql").read_text())
    for table, rows in ROWS.items():
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    sign_in(db, site="shopping", customer_id=1)
    db.commit()
    return db.serialize()


class Visitor:
    """Somebody in the shop; `db` is what the shop keeps."""

    def __init__(self, base: bytes) -> None:
        database = Database(base)
        self.db = database.connection
        self.network = Network({"shop.test": shopping.create_app(database)})
        self.browser = InProcessBrowser(self.network)
        self.browser.start([f"{HOST}/"], {})

    def sign_in(self, customer_id: int = 1) -> "Visitor":
        session_id = sign_in(self.db, customer_id=customer_id)
        self.browser.start([f"{HOST}/"], {"shop.test": {"sid": session_id}})
        return self

    def open(self, path: str) -> "Visitor":
        self.browser.goto(HOST + path)
        return self

    def find(self, label: str) -> Any:
        return observe(self.browser.page(), elements="label", window=10**6).nodes[label].element

    def click(self, *labels: str) -> "Visitor":
        for label in labels:
            self.browser.click(self.find(label))
        return self

    def type(self, **texts: str) -> "Visitor":
        return self.fill({label.replace("_", " "): text for label, text in texts.items()})

    def fill(self, texts: dict[str, str]) -> "Visitor":
        for label, text in texts.items():
            self.browser.type(self.find(label), text)
        return self

    def choose(self, label: str, option: str) -> "Visitor":
        self.browser.select(self.find(label), option)
        return self

    @property
    def text(self) -> str:
        return observe(self.browser.page(), elements="label", window=10**6).text

    @property
    def path(self) -> str:
        return self.browser.page().url.removeprefix(HOST)

    @property
    def names(self) -> list[str]:
        """The products of the grid, in order."""
        return [link.text_content().strip() for link in self.browser.page().root.find_class("name")]

    def row(self, query: str, *parameters: object) -> dict[str, Any]:
        return dict(self.db.execute(query, parameters).fetchone())

    def value(self, query: str, *parameters: object) -> Any:
        row = self.db.execute(query, parameters).fetchone()
        return None if row is None else row[0]


@pytest.fixture
def visitor(base: bytes) -> Iterator[Visitor]:
    visitor = Visitor(base)
    yield visitor
    visitor.db.close()


@pytest.fixture
def emma(visitor: Visitor) -> Visitor:
    return visitor.sign_in()
