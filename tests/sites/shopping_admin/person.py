"""A person in front of the admin: fills in forms by their labels, and knows the rows of the database."""

import re
from functools import cached_property
from urllib.parse import urlencode

from lxml.html import HtmlElement

from tests.shopping_rows import small_shop
from tests.visitors import Visitor
from webarena_gym.pages.page import Response
from webarena_gym.sites.country.seeding import sign_in

HOST = "shop-admin.test"
HOME = f"http://{HOST}"


class Person(Visitor):
    """Someone who works at the admin through a browser and calls things by their labels."""

    def __init__(self, is_signed_in: bool = True) -> None:
        super().__init__(HOST, "shopping_admin", small_shop())
        self.use_session(sign_in(self.db, **({"admin_id": 1} if is_signed_in else {})))

    def sql(self, query: str, *values):
        """Return the first column of the answer, or its rows when there are more columns."""
        rows = [tuple(row) for row in self.db.execute(query, values)]
        return [row[0] for row in rows] if rows and len(rows[0]) == 1 else rows

    @property
    def root(self) -> HtmlElement:
        return self.browser.page().root

    @property
    def text(self) -> str:
        return " ".join(self.root.find("body").text_content().split())

    @property
    def messages(self) -> list[str]:
        return [message.text for message in self.root.find_class("message")]

    @property
    def table(self) -> list[list[str]]:
        rows = self.root.xpath("(//main//table)[1]/tbody/tr")
        return [[" ".join(cell.text_content().split()) for cell in row.xpath("td")] for row in rows]

    def shows_messages(self, *messages: str) -> "Person":
        assert self.messages == [*messages]
        return self

    def holds(self, expected, query: str, *values) -> "Person":
        """Assert that `sql` answers this."""
        assert self.sql(query, *values) == expected
        return self

    def find(self, label: str) -> HtmlElement:
        """Return the field of this label, or else the first link or button of this text."""
        found = self.root.xpath("//*[@aria-label=$label] | //*[@id=//label[.=$label]/@for]", label=label)
        pressed = "//main//*[self::a or self::button][normalize-space()=$label]"
        found = found or self.root.xpath(pressed, label=label)[:1]
        assert len(found) == 1, (label, found, self.text)
        return found[0]

    def order_in(self, status: str) -> int:
        return self.value("SELECT min(order_id) FROM sales_order WHERE status = ?", status)

    def status(self, order_id: int) -> str:
        return self.value("SELECT status FROM sales_order WHERE order_id = ?", order_id)

    def send(self, method: str, path: str, fields: dict[str, str] | None = None) -> Response:
        headers = {"Cookie": f"sid={self.sid}", "Content-Type": "application/x-www-form-urlencoded"}
        return self.network.request(method, HOME + path, headers, urlencode(fields or {}).encode())

    @cached_property
    def form_key(self) -> str:
        found = re.search(rb'name="form_key" value="(\w+)"', self.send("GET", "/admin/catalog/product/new/").body)
        assert found
        return found[1].decode()
