"""The shop's admin: what its pages show is checked against SQL, what they do against the database."""

import re
from datetime import date
from functools import cached_property
from urllib.parse import urlencode

import pytest
from lxml.html import HtmlElement

from tests.shopping_rows import GOODS, NOW, small_shop
from tests.visitors import Visitor
from webarena_gym.pages.page import Network, Response
from webarena_gym.sites.country.seeding import sign_in
from webarena_gym.sites.country.texts import money
from webarena_gym.sites.shopping_admin.grids import parse_cents, parse_count, parse_date
from webarena_gym.sites.shopping_admin.site import site
from webarena_gym.sites.world import load_site

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

    def one(self, query: str, *values):
        (value,) = self.sql(query, *values)
        return value

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

    def told(self, *messages: str) -> "Person":
        assert self.messages == [*messages]
        return self

    def holds(self, expected, query: str, *values) -> "Person":
        """Assert that `sql` answers this."""
        assert self.sql(query, *values) == expected
        return self

    def field(self, label: str) -> HtmlElement:
        found = self.root.xpath("//*[@aria-label=$label] | //*[@id=//label[.=$label]/@for]", label=label)
        assert len(found) == 1, (label, found)
        return found[0]

    def fill(self, **fields: str) -> "Person":
        for name, text in fields.items():
            self.browser.type(self.field(name.replace("_", " ")), text)
        return self

    def type(self, label: str, text: str) -> "Person":
        self.browser.type(self.field(label), text)
        return self

    def choose(self, label: str, option: str) -> "Person":
        self.browser.select(self.field(label), option)
        return self

    def tick(self, *labels: str) -> "Person":
        for label in labels:
            self.browser.click(self.field(label))
        return self

    def press(self, label: str) -> "Person":
        found = self.root.xpath("//main//*[self::a or self::button][normalize-space()=$label]", label=label)
        assert found, (label, self.text)
        self.browser.click(found[0])
        return self

    def order_in(self, status: str) -> int:
        return self.one("SELECT min(order_id) FROM sales_order WHERE status = ?", status)

    def status(self, order_id: int) -> str:
        return self.one("SELECT status FROM sales_order WHERE order_id = ?", order_id)

    def send(self, method: str, path: str, fields: dict[str, str] | None = None) -> Response:
        headers = {"Cookie": f"sid={self.sid}", "Content-Type": "application/x-www-form-urlencoded"}
        return self.network.request(method, HOME + path, headers, urlencode(fields or {}).encode())

    @cached_property
    def form_key(self) -> str:
        found = re.search(rb'name="form_key" value="(\w+)"', self.send("GET", "/admin/catalog/product/new/").body)
        assert found
        return found[1].decode()


@pytest.fixture
def person(opened) -> Person:
    return opened(Person())


# --- signing in ---


def test_login_is_needed_everywhere_and_works():
    person = Person(is_signed_in=False)
    assert person.path == "/admin/"
    for path in sorted(paths("GET")):
        answer = person.network.request("GET", HOME + path)
        is_open = path in ("/admin/", "/static/style.css") or path.startswith("/pictures/")
        assert answer.status == 302 or is_open, path
    person.fill(Username="admin", Password="wrong").press("Sign in")
    assert "incorrect" in person.messages[0]
    person.fill(Username="admin", Password="admin1234").press("Sign in").at("/admin/admin/dashboard/")
    person.open("/").at("/admin/admin/dashboard/").browser.click(person.root.xpath("//a[.='Sign Out']")[0])
    person.at("/admin/")
    assert person.open("/admin/sales/order/").path == "/admin/"


def test_cancel_needs_the_form_key_and_returns_goods_to_stock(person):
    order_id = person.order_in("pending")
    answer = person.send("POST", f"/admin/sales/order/cancel/order_id/{order_id}/", {"form_key": "0" * 16})
    assert answer.status == 400
    assert person.status(order_id) == "pending"
    order_id = person.order_in("pending")
    lines = person.sql("SELECT product_id, qty_ordered FROM order_item WHERE order_id = ?", order_id)
    stock = dict(person.sql("SELECT product_id, quantity FROM product"))
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").press("Cancel").told("You canceled the order.")
    assert person.status(order_id) == "canceled"
    for product_id, quantity in lines:
        assert person.one("SELECT quantity FROM product WHERE product_id = ?", product_id) == stock[product_id] + quantity
    again = person.send("POST", f"/admin/sales/order/cancel/order_id/{order_id}/", {"form_key": person.form_key})
    assert again.status == 302
    assert person.sql("SELECT quantity FROM product WHERE product_id = ?", lines[0][0]) == [stock[lines[0][0]] + lines[0][1]]


def test_menu_leads_to_every_page(person):
    for name in ("Dashboard", "Sales", "Catalog", "Customers", "Marketing", "Content", "Reports", "Stores"):
        person.browser.click(person.root.xpath("//nav[@class='menu']//a[.=$name]", name=name)[0])
        assert person.root.xpath("//nav//a[@class='current']")[0].text == name
        for link in person.root.xpath("//nav//ul/li/ul//a/@href"):
            assert person.send("GET", link).status == 200, link


def test_dashboard(person):
    sales = "FROM sales_order WHERE status != 'canceled'"
    assert money(person.one(f"SELECT sum(grand_total_cents) {sales}")) in person.text
    assert money(person.one(f"SELECT CAST(round(avg(grand_total_cents)) AS INTEGER) {sales}")) in person.text
    latest = "SELECT customer_name FROM sales_order ORDER BY created_at DESC, order_id DESC LIMIT 5"
    person.holds([row[0] for row in person.table], latest)
    assert person.sql(
        """SELECT name FROM order_item JOIN sales_order USING (order_id) WHERE status != 'canceled'
           GROUP BY product_id ORDER BY sum(qty_ordered) DESC, product_id LIMIT 5"""
    ) == person.root.xpath("(//table)[last()]/tbody/tr/td[1]/text()")
    person.type("Search everything", "person4@").press("Search").sees("Customer Dora Éclair")


# --- grids ---


def test_sorting_and_paging(person):
    person.open("/admin/sales/order/")
    expected = person.sql("SELECT increment_id FROM sales_order ORDER BY created_at DESC, order_id DESC")
    assert [row[0] for row in person.table] == expected[:20]
    person.press("Next page").press("Next page")
    assert [row[0] for row in person.table] == expected[40:]
    person.sees("60 records found, page 3 of 3").press("Grand Total")
    cheapest = person.sql("SELECT increment_id FROM sales_order ORDER BY grand_total_cents, order_id")
    assert [row[0] for row in person.table] == cheapest[:20]
    person.press("Grand Total").press("Next page")
    assert [row[0] for row in person.table] == cheapest[::-1][20:40]


@pytest.mark.parametrize("fields, where", [
    ({"Status": "On Hold"}, "status = 'holded'"),
    ({"ID": "00004"}, "increment_id LIKE '%00004%'"),
    ({"Bill-to Name": "éclair"}, "1 = 0"),  # SQLite folds the case of ASCII letters alone
    ({"Bill-to Name": "o'gray"}, "customer_name = 'Fay O''Gray'"),
    ({"Bill-to Name": "%"}, "1 = 0"),
    ({"Purchase Date from": "01/15/2022", "Purchase Date to": "2022-06-30"}, "date(created_at) BETWEEN '2022-01-15' AND '2022-06-30'"),
    ({"Grand Total from": "$200", "Grand Total to": "300.50"}, "grand_total_cents BETWEEN 20000 AND 30050"),
    ({"Status": "Complete", "Ship-to Name": "ben"}, "status = 'complete' AND customer_name LIKE 'Ben%'"),
])  # fmt: skip
def test_filters(person, fields, where):
    person.open("/admin/sales/order/").press("Filters")
    for label, text in fields.items():
        (person.choose if label == "Status" else person.type)(label, text)
    person.choose("Per page", "200").press("Apply Filters")
    expected = person.sql(f"SELECT increment_id FROM sales_order WHERE {where} ORDER BY created_at DESC, order_id DESC")
    assert [row[0] for row in person.table] == expected
    person.sees("Active filters: ").press("Clear all")
    assert len(person.table) == 20


def test_wrong_filters_are_explained_and_a_search_keeps_the_right_ones(person):
    person.open("/admin/sales/order/?created_at_from=yesterday&grand_total_to=x&status=odd&p=99999999999&sort=1;drop")
    assert len(person.messages) == 3
    assert "60 records found" in person.text
    person.open("/admin/catalog/product/?price_from=20").type("Search by keyword", "AC-00").press("Search")
    assert [row[1] for row in person.table] == [str(number) for number in range(2, 9)]


# --- orders ---


def test_order_page(person):
    order_id = person.one("SELECT min(order_id) FROM sales_order WHERE coupon_code IS NOT NULL AND status = 'closed'")
    person.open("/admin/sales/order/").open(f"/admin/sales/order/view/order_id/{order_id}/")
    columns = "customer_name, customer_email, subtotal_cents, discount_cents, grand_total_cents"
    (row,) = person.sql(f"SELECT {columns} FROM sales_order WHERE order_id = ?", order_id)
    person.sees(
        *row[:2], *map(money, (row[2], -row[3], row[4])), "1 Elm St", "Flat Rate - Fixed", f"Credit Memo #{order_id:09d}"
    )
    assert len(person.table) == person.one("SELECT count(*) FROM order_item WHERE order_id = ?", order_id)


@pytest.mark.parametrize("status", ["pending", "processing"])
def test_hold_and_unhold(person, status):
    order_id = person.order_in(status)
    assert person.open(f"/admin/sales/order/view/order_id/{order_id}/").press("Hold").status(order_id) == "holded"
    assert not person.root.xpath("//a[.='Invoice' or .='Ship']")
    assert person.press("Unhold").status(order_id) == status


@pytest.mark.parametrize("status", ["complete", "canceled", "closed", "holded"])
def test_finished_orders_refuse(person, status):
    order_id, key = person.order_in(status), {"form_key": person.form_key}
    for action in ("cancel", "hold"):
        person.send("POST", f"/admin/sales/order/{action}/order_id/{order_id}/", key)
    for path in ("sales/order_invoice", "admin/order_shipment"):
        person.send("POST", f"/admin/{path}/new/order_id/{order_id}/", key)
        assert person.send("GET", f"/admin/{path}/new/order_id/{order_id}/").status == 302
    assert person.status(order_id) == status


def test_invoice_ship_and_refund_the_whole_order(person):
    order_id = person.order_in("pending")
    url, total = f"/admin/sales/order/view/order_id/{order_id}/", person.one(
        "SELECT grand_total_cents FROM sales_order WHERE order_id = ?", order_id
    )  # fmt: skip
    person.open(url).press("Invoice").press("Submit Invoice").told("The invoice has been created.").at(url)
    assert person.sql("SELECT grand_total_cents, created_at FROM invoice WHERE order_id = ?", order_id) == [(total, str(NOW))]
    assert person.status(order_id) == "processing"
    person.press("Ship").choose("Carrier", "Federal Express").type("Number", "TR-77").press("Submit Shipment")
    assert person.status(order_id) == "complete"
    shipment_id = person.one("SELECT shipment_id FROM shipment WHERE order_id = ?", order_id)
    track = ("Federal Express", "Federal Express", "TR-77")
    assert person.sql("SELECT carrier, title, number FROM shipment_track WHERE shipment_id = ?", shipment_id) == [track]
    assert "Federal Express: TR-77" in person.text
    (product_id, bought), *_ = person.sql("SELECT product_id, qty_ordered FROM order_item WHERE order_id = ?", order_id)
    before = person.one("SELECT quantity FROM product WHERE product_id = ?", product_id)
    assert person.press("Credit Memo").press("Refund Offline").status(order_id) == "closed"
    assert person.sql("SELECT grand_total_cents FROM creditmemo WHERE order_id = ?", order_id) == [total]
    assert person.one("SELECT quantity FROM product WHERE product_id = ?", product_id) == before + bought


def test_parts_add_up_to_the_whole(person):
    order_id = person.one(
        """SELECT order_id FROM sales_order JOIN order_item USING (order_id) WHERE status = 'pending' AND coupon_code = 'TEN'
           GROUP BY order_id HAVING count(*) > 1 LIMIT 1"""
    )
    person.db.execute("UPDATE sales_order SET discount_cents = 1001, grand_total_cents = subtotal_cents + shipping_cents - 1001 WHERE order_id = ?", (order_id,))  # fmt: skip
    lines = person.sql("SELECT item_id, sku FROM order_item WHERE order_id = ?", order_id)
    for column, name, button in (
        ("invoiced", "Invoice", "Submit Invoice"),
        ("shipped", "Ship", "Submit Shipment"),
        ("refunded", "Credit Memo", "Refund Offline"),
    ):
        for place, (item_id, sku) in enumerate(lines):
            person.open(f"/admin/sales/order/view/order_id/{order_id}/").press(name)
            for other, other_sku in lines[place + 1 :]:
                person.type(f"Qty of {other_sku}", "0")
                assert person.one(f"SELECT qty_{column} FROM order_item WHERE item_id = ?", other) == 0
            person.press(button)
            is_done = person.one(f"SELECT qty_{column} = qty_ordered FROM order_item WHERE item_id = ?", item_id)
            assert is_done, (sku, person.messages)
    total = person.one("SELECT grand_total_cents FROM sales_order WHERE order_id = ?", order_id)
    assert person.sql("SELECT sum(grand_total_cents) FROM invoice WHERE order_id = ?", order_id) == [total]
    assert person.sql("SELECT sum(grand_total_cents) FROM creditmemo WHERE order_id = ?", order_id) == [total]
    assert person.status(order_id) == "closed"


def test_too_much_is_refused(person):
    order_id = person.order_in("processing")
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").press("Ship")
    sku = person.table[0][1]
    person.type(f"Qty of {sku}", "99").press("Submit Shipment")
    assert "can be at most" in person.messages[0]
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").press("Credit Memo")
    person.type("Refund Shipping", "9999").press("Refund Offline")
    assert "of shipping can be refunded" in person.messages[0]
    person.type("Refund Shipping", "0").type("Adjustment Refund", "9999").press("Refund Offline")
    assert person.messages[0].startswith("At most $")
    person.type("Adjustment Refund", "").type("Adjustment Fee", "99999").press("Refund Offline")
    assert "more than zero" in person.messages[0]
    person.type("Adjustment Fee", "-5").press("Refund Offline")
    assert "at least 0.00" in person.messages[0]
    assert not person.sql("SELECT 1 FROM creditmemo WHERE order_id = ?", order_id)
    assert person.status(order_id) == "processing"


def test_comment_tracking_number_and_address(person):
    order_id = person.order_in("complete")
    url = f"/admin/sales/order/view/order_id/{order_id}/"
    person.open(url).type("Comment", "Sorry <b>for</b> the wait").tick("Notify Customer by Email").press("Submit Comment")
    comment = ("complete", "Sorry <b>for</b> the wait", 1, 0, str(NOW))
    columns = "status, comment, is_customer_notified, is_visible_on_front, created_at"
    assert person.sql(f"SELECT {columns} FROM order_comment WHERE order_id = ?", order_id) == [comment]
    person.sees("Sorry <b>for</b> the wait").press("Submit Comment")
    assert "required" in person.messages[0]
    person.press(f"Shipment #{order_id:09d}").choose("Carrier", "DHL").type("Title", "Express").type("Number", "D 1")
    assert person.press("Add Tracking Number").table == [["DHL", "Express", "D 1"]]
    person.open(url).press("Edit Shipping Address").type("City", "").press("Save").told("City: this is a required field.")
    person.type("City", "Delft").press("Save").at(url)
    query = "SELECT kind, city FROM order_address WHERE order_id = ? ORDER BY kind"
    person.holds([("billing", "Salem"), ("shipping", "Delft")], query, order_id)


# --- catalogue ---


def test_product_form(person):
    person.open("/admin/catalog/product/edit/id/6/")
    person.type("Price", "1,234.5").type("Quantity", "7").choose("Stock Status", "Out of Stock").tick("Enable Product")
    person.choose("Category", "Home / More").type("Description", "Two\nlines & <more>").press("Save")
    assert person.messages == ["You saved the product."]
    columns = "name, price_cents, special_price_cents, quantity, is_in_stock, is_enabled, category_id, description"
    expected = ("Rain Jacket", 123450, None, 7, 0, 0, 3, "Two\nlines & <more>")
    assert person.sql(f"SELECT {columns} FROM product WHERE product_id = 6") == [expected]
    person.type("Price", "free").type("Quantity", "-1").type("Product Name", "").press("Save")
    assert len(person.messages) == 3
    assert person.field("Price").get("value") == "free"
    person.open("/admin/catalog/product/edit/id/1/").type("SKU", "AC-002").type("Special Price", "10.50").press("Save")
    assert len(person.messages) == 2
    person.type("SKU", "AC-001").type("Special Price", "9").fill(Material="Hemp", Brand="Acme Ltd").press("Save")
    assert person.sql("SELECT value FROM product_attribute WHERE product_id = 1 ORDER BY position") == ["Acme Ltd", "Hemp"]
    assert person.sql("SELECT brand, special_price_cents FROM product WHERE product_id = 1") == [("Acme Ltd", 900)]


def test_changes_show_in_the_shop(person):
    shop = Network({"shop.test": load_site("shopping").app(person.app.database)})
    person.open("/admin/catalog/product/edit/id/6/").fill(Price="77.70", Quantity="3").press("Save")
    assert b"$77.70" in shop.request("GET", "http://shop.test/rain-jacket.html").body
    person.tick("Enable Product").press("Save")
    assert shop.request("GET", "http://shop.test/rain-jacket.html").status == 404
    person.open("/admin/catalog/product/edit/id/1/").press("Delete")
    for order_id in person.sql("SELECT order_id FROM order_item WHERE product_id = 1"):
        assert person.send("GET", f"/admin/sales/order/view/order_id/{order_id}/").status == 200


def test_new_and_deleted_products(person):
    person.open("/admin/catalog/product/").press("Add New Product").type("Product Name", "Rain   Jacket!").type("SKU", "N-1")
    person.type("Price", "5").press("Save")
    person.holds([(9, "Rain Jacket!", "rain-jacket-2")], "SELECT product_id, name, url_key FROM product WHERE sku = 'N-1'")
    person.open("/admin/catalog/product/edit/id/8/").press("Delete").at("/admin/catalog/product/")
    assert not person.sql("SELECT 1 FROM review WHERE product_id = 8")
    person.open("/admin/catalog/product/edit/id/8/").sees("does not exist")


def test_options(person):
    person.open("/admin/catalog/product/edit/id/6/").type("Option", "size").type("Value", "XL").type("Extra Price", "3")
    person.press("Add Value").type("Option", "Color").type("Value", "Red").press("Add Value")
    person.type("Option", "Size").type("Value", "s").press("Add Value")
    assert "already" in person.messages[0]
    query = "SELECT title, label, price_delta_cents FROM product_option_value v JOIN product_option USING (option_id) ORDER BY v.value_id"
    assert person.sql(query)[3:] == [("Size", "XL", 300), ("Color", "Red", 0)]
    person.choose("Option Value", "Color: Red").press("Delete Value").holds(["Size"], "SELECT title FROM product_option")


def test_bulk_changes_of_products(person):
    person.open("/admin/catalog/product/?id=2&search=AC").tick("Select 2").choose("Actions", "Change status to Disable")
    person.press("Submit").at("/admin/catalog/product/?id=2&search=AC&p=1")
    assert person.sql("SELECT product_id FROM product WHERE NOT is_enabled") == [2]
    person.press("Submit").told("Please select items.")
    person.open("/admin/catalog/product/").tick("Select 1", "Select 3").choose("Actions", "Update attributes").press("Submit")
    person.sees(f"2 products: {GOODS[0]}; {GOODS[2]}").press("Save").told("Please fill in what should change.")
    person.type("Price", "19.99").choose("Stock Status", "Out of Stock").press("Save")
    assert person.sql("SELECT product_id FROM product WHERE price_cents = 1999 AND NOT is_in_stock AND quantity > 0") == [1, 3]
    person.tick("Select 1", "Select 3").choose("Actions", "Delete").press("Submit")
    assert person.sql("SELECT product_id FROM product ORDER BY product_id") == [2, 4, 5, 6, 7, 8]


# --- customers, marketing, content, stores ---


def test_customers(person):
    person.open("/admin/customer/index/?group=Wholesale")
    assert person.table == [["2", "Ben Cole", "person2@example.com", "Wholesale", "555-0199", "44002", "United States", "Ohio", "Feb 1, 2022, 8:00:00 AM", "Edit"]]  # fmt: skip
    person.press("Edit").press("Account Information").type("Email", "person3@example.com").press("Save Customer")
    assert "already exists" in person.messages[0]
    person.type("Email", "BEN@example.com").choose("Group", "General").press("Save Customer")
    assert person.sql("SELECT email, group_name FROM customer WHERE customer_id = 2") == [("ben@example.com", "General")]
    assert person.sql("SELECT email FROM newsletter_subscriber WHERE customer_id = 2") == ["ben@example.com"]
    person.open("/admin/customer/index/edit/id/2/?tab=addresses").press("Add New Address").tick("Default Billing Address")
    for label in ("Street Address", "City", "State/Province", "ZIP", "Phone Number"):
        person.type(label, f"new {label}")
    person.press("Save")
    defaults = "SELECT city, is_default_billing, is_default_shipping FROM customer_address WHERE customer_id = 2"
    person.holds([("Salem", 0, 1), ("new City", 1, 0)], defaults).press("Orders")
    assert len(person.table) == min(20, person.one("SELECT count(*) FROM sales_order WHERE customer_id = 2"))
    person.open("/admin/customer/index/edit/id/2/").press("Delete Customer")
    person.holds(
        [], "SELECT 1 FROM sales_order WHERE customer_id = 2 UNION SELECT 1 FROM customer_address WHERE customer_id = 2"
    )
    person.press("Add New Customer").fill(First_Name="Gus", Last_Name="Hart", Email="gus@example.com", Password="secret123")
    person.press("Save Customer").holds(["Gus"], "SELECT firstname FROM customer WHERE email = 'gus@example.com'")


def test_reviews(person):
    pending = person.sql("SELECT review_id FROM review WHERE status = 'Pending' ORDER BY created_at DESC, review_id DESC")
    person.open("/admin/review/product/pending/")
    assert [row[1] for row in person.table] == [str(review_id) for review_id in pending]
    assert person.table[0][6] == "Fine <i>thing</i>"
    first, second = pending[:2]
    person.tick(f"Select {first}", f"Select {second}").choose("Actions", "Update Status to Approved").press("Submit")
    assert person.messages == ["A total of 2 record(s) have been updated."]
    assert person.sql("SELECT status FROM review WHERE review_id IN (?, ?)", first, second) == ["Approved"] * 2
    person.open(f"/admin/review/product/edit/id/{first}/").choose("Status", "Not Approved").choose("Rating", "2 stars")
    person.fill(Nickname="Zed", Review="Changed").press("Save Review")
    expected = ("Not Approved", 2, "Zed", "Changed")
    assert person.sql("SELECT status, rating, nickname, detail FROM review WHERE review_id = ?", first) == [expected]
    person.open(f"/admin/review/product/edit/id/{second}/").press("Delete Review")
    assert not person.sql("SELECT 1 FROM review WHERE review_id = ?", second)


def test_cart_price_rules(person):
    person.open("/admin/sales_rule/promo_quote/").press("Add New Rule").type("Rule Name", "Spring").type("Coupon Code", "TEN")
    person.type("From", "03/01/2023").type("To", "02/01/2023").type("Discount Amount", "150").press("Save")
    assert len(person.messages) == 3
    person.fill(Coupon_Code="SPRING", To="2023-05-31").choose("Apply", "Fixed amount discount for whole cart").press("Save")
    columns = "name, coupon_code, action, amount, is_active, from_date, to_date"
    expected = ("Spring", "SPRING", "cart_fixed", 15000, 1, "2023-03-01", "2023-05-31")
    assert person.sql(f"SELECT {columns} FROM cart_rule WHERE rule_id = 2") == [expected]
    assert person.table[0][1:5] == ["Spring", "SPRING", "03/01/2023", "05/31/2023"]
    person.press("Edit").tick("Active").press("Save")
    assert person.sql("SELECT is_active, amount FROM cart_rule WHERE rule_id = 2") == [(0, 15000)]
    person.press("Edit").press("Delete").holds([1], "SELECT rule_id FROM cart_rule")


def test_subscribers_and_search_terms(person):
    person.open("/admin/newsletter/subscriber/").tick("Select guest@example.com").choose("Actions", "Unsubscribe")
    person.press("Submit").holds(["guest@example.com"], "SELECT email FROM newsletter_subscriber WHERE status = 'Unsubscribed'")
    person.tick("Select person1@example.com").choose("Actions", "Delete").press("Submit")
    assert not person.sql("SELECT 1 FROM newsletter_subscriber WHERE customer_id = 1")
    person.open("/admin/search/term/index/").tick("Select 4").choose("Actions", "Delete").press("Submit")
    assert person.sql("SELECT query_text FROM search_term ORDER BY 1") == ["bag", "lamp", "tea"]


def test_pages_themes_and_configuration(person):
    person.open("/admin/cms/page/edit/page_id/1/").fill(Page_Title="Who we are", URL_Key="Privacy!").press("Save")
    assert "hyphens" in person.messages[0]
    person.type("URL Key", "privacy").press("Save")
    assert "already" in person.messages[0]
    person.fill(URL_Key="who", Content="New <words>").tick("Enable Page").press("Save")
    expected = ("Who we are", "who", "New <words>", 0, str(NOW))
    assert person.sql("SELECT title, url_key, content, is_enabled, updated_at FROM cms_page WHERE page_id = 1") == [expected]
    person.press("Delete Page").press("Add New Page").type("Page Title", "Gift Cards").press("Save")
    assert person.sql("SELECT url_key FROM cms_page WHERE title = 'Gift Cards'") == ["gift-cards"]
    person.open("/admin/admin/system_design_theme/edit/id/1/").press("Apply Theme")
    assert person.sql("SELECT theme_id FROM theme WHERE is_applied") == [1]
    person.open("/admin/admin/system_config/").type("Phone", "555-0111").press("Save Config")
    assert person.sql("SELECT value FROM store_config") == ["United States", "Corner Shop", "555-0111"]
    assert "Corner Shop" in person.open("/admin/admin/system_store/").text


# --- reports ---


def test_sales_reports_by_month_and_of_one_status(person):
    person.open("/admin/reports/report_sales/sales/").choose("Period", "Month").fill(From="01/01/2022", To="03/31/2022")
    person.press("Show Report")
    rows = person.sql(
        """SELECT strftime('%m', created_at) + 0, count(*), sum(grand_total_cents), sum(discount_cents)
           FROM sales_order WHERE status != 'canceled' AND date(created_at) BETWEEN '2022-01-01' AND '2022-03-31' GROUP BY 1"""
    )
    shown = [(row[0], row[1], row[3], row[7]) for row in person.table]
    assert shown == [(f"{month}/2022", str(count), money(total), money(discount)) for month, count, total, discount in rows]
    totals = person.root.xpath("//tfoot//td/text()")
    assert totals[:2] == ["Total", str(sum(row[1] for row in rows))]
    assert money(sum(row[2] for row in rows)) in totals
    person.open("/admin/reports/report_sales/sales/?period_type=year&from=&to=&status=canceled")
    canceled = "SELECT strftime('%Y', created_at) + 0, count(*) FROM sales_order WHERE status = 'canceled' GROUP BY 1"
    person.holds([(int(row[0]), int(row[1])) for row in person.table], canceled)


def test_bestsellers_and_customers(person):
    person.open("/admin/reports/report_sales/bestsellers/?period_type=year&from=01/01/2022&to=12/31/2022")
    assert [(row[1], int(row[3])) for row in person.table] == person.sql(
        """SELECT name, sum(qty_ordered) AS sold FROM order_item JOIN sales_order USING (order_id)
           WHERE created_at LIKE '2022%' AND status != 'canceled' GROUP BY product_id ORDER BY sold DESC, product_id LIMIT 5"""
    )
    person.open("/admin/reports/report_customer/totals/?period_type=year&from=01/01/2022&to=12/31/2022")
    assert [(row[1], row[4]) for row in person.table] == [
        (name, money(total))
        for name, total in person.sql(
            """SELECT customer_name, sum(grand_total_cents) AS total FROM sales_order
               WHERE created_at LIKE '2022%' AND status != 'canceled' GROUP BY customer_email ORDER BY total DESC"""
        )
    ]


@pytest.mark.parametrize("kind, table", [("invoiced", "invoice"), ("refunded", "creditmemo")])
def test_money_reports(person, kind, table):
    person.open(f"/admin/reports/report_sales/{kind}/?period_type=day&from=2022-02-01&to=2022-12-31")
    assert [row[1:] for row in person.table] == [
        [str(count), money(total)]
        for _, count, total in person.sql(
            f"""SELECT date(d.created_at), count(DISTINCT order_id), sum(d.grand_total_cents) FROM {table} d JOIN sales_order o
                USING (order_id) WHERE date(d.created_at) BETWEEN '2022-02-01' AND '2022-12-31' AND status != 'canceled' GROUP BY 1"""
        )
    ]


def test_other_reports(person):
    person.open("/admin/reports/report_sales/coupons/?period_type=year&from=&to=")
    count = person.one("SELECT count(*) FROM sales_order WHERE coupon_code = 'TEN' AND status != 'canceled'")
    assert sum(int(row[3]) for row in person.table) == count
    person.open("/admin/reports/report_product/lowstock/")
    assert [row[1] for row in person.table] == ["AC-001", "AC-002"]
    person.open("/admin/reports/report_review/product/")
    person.holds([int(row[2]) for row in person.table], "SELECT count(*) AS n FROM review GROUP BY product_id ORDER BY n DESC")
    name = person.table[0][1]
    person.press("Show Reviews")
    assert {row[8] for row in person.table} == {name}
    assert {row[7] for row in person.table} <= {"1 star", "2 stars", "3 stars", "4 stars", "5 stars"}
    person.open("/admin/reports/report_sales/sales/?period_type=week&from=soon")
    assert len(person.messages) == 2
    person.open("/admin/reports/report_sales/sales/?period_type=day&from=01/01/1999&to=01/02/1999")
    assert "couldn't find any records" in person.text


# --- addresses and parsers ---


def paths(method: str, number: str = "1", word: str = "sales") -> set[str]:
    """Every route of that method, its slots filled in."""
    found = set()
    for rule in site._rules.iter_rules():
        if method not in rule.methods:
            continue
        choices = re.search(r"<any\(([^)]*)\)", rule.rule)
        for choice in choices[1].split(",") if choices else [""]:
            path = re.sub(r"<any\([^)]*\):\w+>", choice.strip(), rule.rule)
            found.add(re.sub(r"<int:\w+>", number, path).replace("<path:name>", "style.css").replace("<name>", word))
    return found


def test_parsers():
    assert [parse_cents(text) for text in ("0", ".5", "$1,000.25", "-7")] == [0, 50, 100025, -700]
    assert parse_date("2/29/2024") == date(2024, 2, 29).isoformat()
    for parse, text in (
        (parse_cents, "."),
        (parse_cents, "1.234"),
        (parse_cents, "1e5"),
        (parse_count, "1.0"),
        (parse_date, "2/29/2023"),
    ):
        with pytest.raises(ValueError, match="please enter"):
            parse(text)
