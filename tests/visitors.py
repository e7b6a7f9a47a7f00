"""Visitors of one site in the in-process browser: they name elements by their labels and read the site's database."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from werkzeug.test import Client, TestResponse

from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network
from webarena_gym.sites.catalogue import schema
from webarena_gym.sites.country.seeding import sign_in
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.world import load_site


def rows_of(name: str) -> dict[str, list[list[Any]]]:
    """Return the rows of a small site by table, from the folder `data`."""
    return json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text(encoding="utf-8"))


def small_database(site: str, rows: Mapping[str, Sequence[Sequence[Any]]]) -> sqlite3.Connection:
    """Return a database with a site's schema and these rows by table; a table may name its columns."""
    db = sqlite3.connect(":memory:")
    db.executescript(schema(site))
    for table, values in rows.items():
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
    db.commit()
    return db


def database_of(schema: str) -> Database:
    """Return a site's database that a script of SQL makes."""
    db = sqlite3.connect(":memory:")
    db.executescript(schema)
    return Database(db.serialize())


class Visitor:
    """Somebody at a site, not signed in at first; `db` is the site's database."""

    def __init__(self, host: str, site: str, content: bytes) -> None:
        self.host, self.home = host, f"http://{host}"
        database = Database(content)
        self.db = database.connection
        self.app = load_site(site).app(database)
        self.network = Network({host: self.app})
        self.browser = InProcessBrowser(self.network)
        self.browser.start([f"{self.home}/"], {})

    def sign_in(self, **account: int) -> Self:
        """Begin a session of an account, or one of nobody, on the first page."""
        return self.use_session(sign_in(self.db, **account))

    def use_session(self, sid: str) -> Self:
        self.sid = sid
        self.browser.start([f"{self.home}/"], {self.host: {"sid": sid}})
        self.client = Client(self.app)
        self.client.set_cookie("sid", sid, domain=self.host)
        return self

    def post(self, path: str, /, **fields: Any) -> TestResponse:
        """Post what no page may offer, with the right key."""
        key = hashlib.sha256(f"form/{self.sid}".encode()).hexdigest()[:16]
        body = urlencode({"form_key": key, **fields}, errors="surrogatepass")
        return self.client.post(path, self.home, data=body, content_type="application/x-www-form-urlencoded")

    def status(self, path: str, **query: Any) -> int:
        return self.client.get(path, query_string=query, base_url=self.home).status_code

    def open(self, path: str) -> Self:
        self.browser.goto(self.home + path)
        return self

    def find(self, label: str) -> Any:
        return observe(self.browser.page(), elements="label", window=10**6).nodes[label].element

    def click(self, *labels: str) -> Self:
        for label in labels:
            self.browser.click(self.find(label))
        return self

    def fill(self, texts: Mapping[str, str]) -> Self:
        for label, text in texts.items():
            self.browser.type(self.find(label), text)
        return self

    def type(self, **texts: str) -> Self:
        """Fill fields whose labels are written with underscores in place of blanks."""
        return self.fill({label.replace("_", " "): text for label, text in texts.items()})

    def choose(self, label: str, option: str) -> Self:
        self.browser.select(self.find(label), option)
        return self

    @property
    def text(self) -> str:
        return observe(self.browser.page(), elements="label", window=10**6).text

    @property
    def path(self) -> str:
        return self.browser.page().url.removeprefix(self.home)

    @property
    def title(self) -> str:
        return self.browser.page().title

    @property
    def names(self) -> list[str]:
        """The texts of the elements of the class "name", in order."""
        return [link.text_content().strip() for link in self.browser.page().root.find_class("name")]

    def sees(self, *texts: str) -> Self:
        """Assert that the page holds each of these texts."""
        text = self.text
        for part in texts:
            assert part in text, f"{part!r} is not in {text}"
        return self

    def lacks(self, *texts: str) -> Self:
        text = self.text
        for part in texts:
            assert part not in text, f"{part!r} is in {text}"
        return self

    def at(self, path: str) -> Self:
        """Assert that the page has this address."""
        assert self.path == path, f"{self.path} is not {path}"
        return self

    def lists(self, *names: str) -> Self:
        """Assert that the elements of the page's list are these, in this order."""
        assert self.names == [*names], f"{self.names} are not {names}"
        return self

    def holds(self, value: Any, query: str, *parameters: object) -> Self:
        """Assert that the database gives this value, the first of its first row."""
        assert self.value(query, *parameters) == value, f"{self.value(query, *parameters)!r} is not {value!r}: {query}"
        return self

    def rows(self, query: str, *parameters: object) -> list[Any]:
        return [tuple(row) for row in self.db.execute(query, parameters)]

    def row(self, query: str, *parameters: object) -> dict[str, Any]:
        return dict(self.db.execute(query, parameters).fetchone())

    def value(self, query: str, *parameters: object) -> Any:
        """Return the first value of the first row; None if there is no row."""
        row = self.db.execute(query, parameters).fetchone()
        return None if row is None else row[0]

    def close(self) -> None:
        self.db.close()
