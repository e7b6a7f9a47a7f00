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


@pytest.fixture
def person(opened) -> Person:
    return opened(Person())


def test_login_is_needed_everywhere_and_works():
    person = Person(is_signed_in=False)
    assert person.path == "/admin/"
    for path in sorted(paths("GET")):
        answer = person.network.request("GET", HOME + path)
        is_open = path in ("/admin/", "/static/style.css") or path.startswith("/pictures/")
        assert answer.status == 302 or is_open, path
    person.type(Username="admin", Password="wrong").click("Sign in")
    assert "incorrect" in person.messages[0]
    person.type(Username="admin", Password="admin1234").click("Sign in").at("/admin/admin/dashboard/")
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
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Cancel").told("You canceled the order.")
    assert person.status(order_id) == "canceled"
    for product_id, quantity in lines:
        assert person.value("SELECT quantity FROM product WHERE product_id = ?", product_id) == stock[product_id] + quantity
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
    assert money(person.value(f"SELECT sum(grand_total_cents) {sales}")) in person.text
    assert money(person.value(f"SELECT CAST(round(avg(grand_total_cents)) AS INTEGER) {sales}")) in person.text
    latest = "SELECT customer_name FROM sales_order ORDER BY created_at DESC, order_id DESC LIMIT 5"
    person.holds([row[0] for row in person.table], latest)
    assert person.sql(
        """SELECT name FROM order_item JOIN sales_order USING (order_id) WHERE status != 'canceled'
           GROUP BY product_id ORDER BY sum(qty_ordered) DESC, product_id LIMIT 5"""
    ) == person.root.xpath("(//table)[last()]/tbody/tr/td[1]/text()")
    person.fill({"Search everything": "person4@"}).click("Search").sees("Customer Dora Éclair")


def test_sorting_and_paging(person):
    person.open("/admin/sales/order/")
    expected = person.sql("SELECT increment_id FROM sales_order ORDER BY created_at DESC, order_id DESC")
    assert [row[0] for row in person.table] == expected[:20]
    person.click("Next page", "Next page")
    assert [row[0] for row in person.table] == expected[40:]
    person.sees("60 records found, page 3 of 3").click("Grand Total")
    cheapest = person.sql("SELECT increment_id FROM sales_order ORDER BY grand_total_cents, order_id")
    assert [row[0] for row in person.table] == cheapest[:20]
    person.click("Grand Total", "Next page")
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
    person.open("/admin/sales/order/").click("Filters")
    for label, text in fields.items():
        person.choose(label, text) if label == "Status" else person.fill({label: text})
    person.choose("Per page", "200").click("Apply Filters")
    expected = person.sql(f"SELECT increment_id FROM sales_order WHERE {where} ORDER BY created_at DESC, order_id DESC")
    assert [row[0] for row in person.table] == expected
    person.sees("Active filters: ").click("Clear all")
    assert len(person.table) == 20


def test_wrong_filters_are_explained_and_a_search_keeps_the_right_ones(person):
    person.open("/admin/sales/order/?created_at_from=yesterday&grand_total_to=x&status=odd&p=99999999999&sort=1;drop")
    assert len(person.messages) == 3
    assert "60 records found" in person.text
    person.open("/admin/catalog/product/?price_from=20").fill({"Search by keyword": "AC-00"}).click("Search")
    assert [row[1] for row in person.table] == [str(number) for number in range(2, 9)]


def test_order_page(person):
    order_id = person.value("SELECT min(order_id) FROM sales_order WHERE coupon_code IS NOT NULL AND status = 'closed'")
    person.open("/admin/sales/order/").open(f"/admin/sales/order/view/order_id/{order_id}/")
    columns = "customer_name, customer_email, subtotal_cents, discount_cents, grand_total_cents"
    (row,) = person.sql(f"SELECT {columns} FROM sales_order WHERE order_id = ?", order_id)
    person.sees(
        *row[:2], *map(money, (row[2], -row[3], row[4])), "1 Elm St", "Flat Rate - Fixed", f"Credit Memo #{order_id:09d}"
    )
    assert len(person.table) == person.value("SELECT count(*) FROM order_item WHERE order_id = ?", order_id)


@pytest.mark.parametrize("status", ["pending", "processing"])
def test_hold_and_unhold(person, status):
    order_id = person.order_in(status)
    assert person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Hold").status(order_id) == "holded"
    assert not person.root.xpath("//a[.='Invoice' or .='Ship']")
    assert person.click("Unhold").status(order_id) == status


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
    url, total = f"/admin/sales/order/view/order_id/{order_id}/", person.value(
        "SELECT grand_total_cents FROM sales_order WHERE order_id = ?", order_id
    )  # fmt: skip
    person.open(url).click("Invoice", "Submit Invoice").told("The invoice has been created.").at(url)
    assert person.sql("SELECT grand_total_cents, created_at FROM invoice WHERE order_id = ?", order_id) == [(total, str(NOW))]
    assert person.status(order_id) == "processing"
    person.click("Ship").choose("Carrier", "Federal Express").fill({"Number": "TR-77"}).click("Submit Shipment")
    assert person.status(order_id) == "complete"
    shipment_id = person.value("SELECT shipment_id FROM shipment WHERE order_id = ?", order_id)
    track = ("Federal Express", "Federal Express", "TR-77")
    assert person.sql("SELECT carrier, title, number FROM shipment_track WHERE shipment_id = ?", shipment_id) == [track]
    assert "Federal Express: TR-77" in person.text
    (product_id, bought), *_ = person.sql("SELECT product_id, qty_ordered FROM order_item WHERE order_id = ?", order_id)
    before = person.value("SELECT quantity FROM product WHERE product_id = ?", product_id)
    assert person.click("Credit Memo", "Refund Offline").status(order_id) == "closed"
    assert person.sql("SELECT grand_total_cents FROM creditmemo WHERE order_id = ?", order_id) == [total]
    assert person.value("SELECT quantity FROM product WHERE product_id = ?", product_id) == before + bought


def test_parts_add_up_to_the_whole(person):
    order_id = person.value(
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
            person.open(f"/admin/sales/order/view/order_id/{order_id}/").click(name)
            for other, other_sku in lines[place + 1 :]:
                person.fill({f"Qty of {other_sku}": "0"})
                assert person.value(f"SELECT qty_{column} FROM order_item WHERE item_id = ?", other) == 0
            person.click(button)
            is_done = person.value(f"SELECT qty_{column} = qty_ordered FROM order_item WHERE item_id = ?", item_id)
            assert is_done, (sku, person.messages)
    total = person.value("SELECT grand_total_cents FROM sales_order WHERE order_id = ?", order_id)
    assert person.sql("SELECT sum(grand_total_cents) FROM invoice WHERE order_id = ?", order_id) == [total]
    assert person.sql("SELECT sum(grand_total_cents) FROM creditmemo WHERE order_id = ?", order_id) == [total]
    assert person.status(order_id) == "closed"


def test_too_much_is_refused(person):
    order_id = person.order_in("processing")
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Ship")
    sku = person.table[0][1]
    person.fill({f"Qty of {sku}": "99"}).click("Submit Shipment")
    assert "can be at most" in person.messages[0]
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Credit Memo")
    person.fill({"Refund Shipping": "9999"}).click("Refund Offline")
    assert "of shipping can be refunded" in person.messages[0]
    person.fill({"Refund Shipping": "0", "Adjustment Refund": "9999"}).click("Refund Offline")
    assert person.messages[0].startswith("At most $")
    person.fill({"Adjustment Refund": "", "Adjustment Fee": "99999"}).click("Refund Offline")
    assert "more than zero" in person.messages[0]
    person.fill({"Adjustment Fee": "-5"}).click("Refund Offline")
    assert "at least 0.00" in person.messages[0]
    assert not person.sql("SELECT 1 FROM creditmemo WHERE order_id = ?", order_id)
    assert person.status(order_id) == "processing"


def test_comment_tracking_number_and_address(person):
    order_id = person.order_in("complete")
    url = f"/admin/sales/order/view/order_id/{order_id}/"
    person.open(url).fill({"Comment": "Sorry <b>for</b> the wait"}).click("Notify Customer by Email", "Submit Comment")
    comment = ("complete", "Sorry <b>for</b> the wait", 1, 0, str(NOW))
    columns = "status, comment, is_customer_notified, is_visible_on_front, created_at"
    assert person.sql(f"SELECT {columns} FROM order_comment WHERE order_id = ?", order_id) == [comment]
    person.sees("Sorry <b>for</b> the wait").click("Submit Comment")
    assert "required" in person.messages[0]
    person.click(f"Shipment #{order_id:09d}").choose("Carrier", "DHL").fill({"Title": "Express", "Number": "D 1"})
    assert person.click("Add Tracking Number").table == [["DHL", "Express", "D 1"]]
    person.open(url).click("Edit Shipping Address").fill({"City": ""}).click("Save").told("City: this is a required field.")
    person.fill({"City": "Delft"}).click("Save").at(url)
    query = "SELECT kind, city FROM order_address WHERE order_id = ? ORDER BY kind"
    person.holds([("billing", "Salem"), ("shipping", "Delft")], query, order_id)


def test_product_form(person):
    person.open("/admin/catalog/product/edit/id/6/")
    person.fill({"Price": "1,234.5", "Quantity": "7"}).choose("Stock Status", "Out of Stock").click("Enable Product")
    person.choose("Category", "Home / More").fill({"Description": "Two\nlines & <more>"}).click("Save")
    assert person.messages == ["You saved the product."]
    columns = "name, price_cents, special_price_cents, quantity, is_in_stock, is_enabled, category_id, description"
    expected = ("Rain Jacket", 123450, None, 7, 0, 0, 3, "Two\nlines & <more>")
    assert person.sql(f"SELECT {columns} FROM product WHERE product_id = 6") == [expected]
    person.fill({"Price": "free", "Quantity": "-1", "Product Name": ""}).click("Save")
    assert len(person.messages) == 3
    assert person.find("Price").get("value") == "free"
    person.open("/admin/catalog/product/edit/id/1/").fill({"SKU": "AC-002", "Special Price": "10.50"}).click("Save")
    assert len(person.messages) == 2
    person.fill({"SKU": "AC-001", "Special Price": "9"}).type(Material="Hemp", Brand="Acme Ltd").click("Save")
    assert person.sql("SELECT value FROM product_attribute WHERE product_id = 1 ORDER BY position") == ["Acme Ltd", "Hemp"]
    assert person.sql("SELECT brand, special_price_cents FROM product WHERE product_id = 1") == [("Acme Ltd", 900)]


def test_changes_show_in_the_shop(person):
    shop = Network({"shop.test": load_site("shopping").app(person.app.database)})
    person.open("/admin/catalog/product/edit/id/6/").type(Price="77.70", Quantity="3").click("Save")
    assert b"$77.70" in shop.request("GET", "http://shop.test/rain-jacket.html").body
    person.click("Enable Product", "Save")
    assert shop.request("GET", "http://shop.test/rain-jacket.html").status == 404
    person.open("/admin/catalog/product/edit/id/1/").click("Delete")
    for order_id in person.sql("SELECT order_id FROM order_item WHERE product_id = 1"):
        assert person.send("GET", f"/admin/sales/order/view/order_id/{order_id}/").status == 200


def test_new_and_deleted_products(person):
    person.open("/admin/catalog/product/").click("Add New Product").fill({"Product Name": "Rain   Jacket!", "SKU": "N-1"})
    person.fill({"Price": "5"}).click("Save")
    person.holds([(9, "Rain Jacket!", "rain-jacket-2")], "SELECT product_id, name, url_key FROM product WHERE sku = 'N-1'")
    person.open("/admin/catalog/product/edit/id/8/").click("Delete").at("/admin/catalog/product/")
    assert not person.sql("SELECT 1 FROM review WHERE product_id = 8")
    person.open("/admin/catalog/product/edit/id/8/").sees("does not exist")


def test_options(person):
    person.open("/admin/catalog/product/edit/id/6/").fill({"Option": "size", "Value": "XL", "Extra Price": "3"})
    person.click("Add Value").fill({"Option": "Color", "Value": "Red"}).click("Add Value")
    person.fill({"Option": "Size", "Value": "s"}).click("Add Value")
    assert "already" in person.messages[0]
    query = "SELECT title, label, price_delta_cents FROM product_option_value v JOIN product_option USING (option_id) ORDER BY v.value_id"
    assert person.sql(query)[3:] == [("Size", "XL", 300), ("Color", "Red", 0)]
    person.choose("Option Value", "Color: Red").click("Delete Value").holds(["Size"], "SELECT title FROM product_option")


def test_bulk_changes_of_products(person):
    person.open("/admin/catalog/product/?id=2&search=AC").click("Select 2").choose("Actions", "Change status to Disable")
    person.click("Submit").at("/admin/catalog/product/?id=2&search=AC&p=1")
    assert person.sql("SELECT product_id FROM product WHERE NOT is_enabled") == [2]
    person.click("Submit").told("Please select items.")
    person.open("/admin/catalog/product/").click("Select 1", "Select 3").choose("Actions", "Update attributes").click("Submit")
    person.sees(f"2 products: {GOODS[0]}; {GOODS[2]}").click("Save").told("Please fill in what should change.")
    person.fill({"Price": "19.99"}).choose("Stock Status", "Out of Stock").click("Save")
    assert person.sql("SELECT product_id FROM product WHERE price_cents = 1999 AND NOT is_in_stock AND quantity > 0") == [1, 3]
    person.click("Select 1", "Select 3").choose("Actions", "Delete").click("Submit")
    assert person.sql("SELECT product_id FROM product ORDER BY product_id") == [2, 4, 5, 6, 7, 8]


def test_customers(person):
    person.open("/admin/customer/index/?group=Wholesale")
    assert person.table == [["2", "Ben Cole", "person2@example.com", "Wholesale", "555-0199", "44002", "United States", "Ohio", "Feb 1, 2022, 8:00:00 AM", "Edit"]]  # fmt: skip
    person.click("Edit", "Account Information").fill({"Email": "person3@example.com"}).click("Save Customer")
    assert "already exists" in person.messages[0]
    person.fill({"Email": "BEN@example.com"}).choose("Group", "General").click("Save Customer")
    assert person.sql("SELECT email, group_name FROM customer WHERE customer_id = 2") == [("ben@example.com", "General")]
    assert person.sql("SELECT email FROM newsletter_subscriber WHERE customer_id = 2") == ["ben@example.com"]
    person.open("/admin/customer/index/edit/id/2/?tab=addresses").click("Add New Address", "Default Billing Address")
    for label in ("Street Address", "City", "State/Province", "ZIP", "Phone Number"):
        person.fill({label: f"new {label}"})
    person.click("Save")
    defaults = "SELECT city, is_default_billing, is_default_shipping FROM customer_address WHERE customer_id = 2"
    person.holds([("Salem", 0, 1), ("new City", 1, 0)], defaults).click("Orders")
    assert len(person.table) == min(20, person.value("SELECT count(*) FROM sales_order WHERE customer_id = 2"))
    person.open("/admin/customer/index/edit/id/2/").click("Delete Customer")
    person.holds(
        [], "SELECT 1 FROM sales_order WHERE customer_id = 2 UNION SELECT 1 FROM customer_address WHERE customer_id = 2"
    )
    person.click("Add New Customer").type(First_Name="Gus", Last_Name="Hart", Email="gus@example.com", Password="secret123")
    person.click("Save Customer").holds(["Gus"], "SELECT firstname FROM customer WHERE email = 'gus@example.com'")


def test_reviews(person):
    pending = person.sql("SELECT review_id FROM review WHERE status = 'Pending' ORDER BY created_at DESC, review_id DESC")
    person.open("/admin/review/product/pending/")
    assert [row[1] for row in person.table] == [str(review_id) for review_id in pending]
    assert person.table[0][6] == "Fine <i>thing</i>"
    first, second = pending[:2]
    person.click(f"Select {first}", f"Select {second}").choose("Actions", "Update Status to Approved").click("Submit")
    assert person.messages == ["A total of 2 record(s) have been updated."]
    assert person.sql("SELECT status FROM review WHERE review_id IN (?, ?)", first, second) == ["Approved"] * 2
    person.open(f"/admin/review/product/edit/id/{first}/").choose("Status", "Not Approved").choose("Rating", "2 stars")
    person.type(Nickname="Zed", Review="Changed").click("Save Review")
    expected = ("Not Approved", 2, "Zed", "Changed")
    assert person.sql("SELECT status, rating, nickname, detail FROM review WHERE review_id = ?", first) == [expected]
    person.open(f"/admin/review/product/edit/id/{second}/").click("Delete Review")
    assert not person.sql("SELECT 1 FROM review WHERE review_id = ?", second)


def test_cart_price_rules(person):
    person.open("/admin/sales_rule/promo_quote/").click("Add New Rule").fill({"Rule Name": "Spring", "Coupon Code": "TEN"})
    person.fill({"From": "03/01/2023", "To": "02/01/2023", "Discount Amount": "150"}).click("Save")
    assert len(person.messages) == 3
    person.type(Coupon_Code="SPRING", To="2023-05-31").choose("Apply", "Fixed amount discount for whole cart").click("Save")
    columns = "name, coupon_code, action, amount, is_active, from_date, to_date"
    expected = ("Spring", "SPRING", "cart_fixed", 15000, 1, "2023-03-01", "2023-05-31")
    assert person.sql(f"SELECT {columns} FROM cart_rule WHERE rule_id = 2") == [expected]
    assert person.table[0][1:5] == ["Spring", "SPRING", "03/01/2023", "05/31/2023"]
    person.click("Edit", "Active", "Save")
    assert person.sql("SELECT is_active, amount FROM cart_rule WHERE rule_id = 2") == [(0, 15000)]
    person.click("Edit", "Delete").holds([1], "SELECT rule_id FROM cart_rule")


def test_subscribers_and_search_terms(person):
    person.open("/admin/newsletter/subscriber/").click("Select guest@example.com").choose("Actions", "Unsubscribe")
    person.click("Submit").holds(["guest@example.com"], "SELECT email FROM newsletter_subscriber WHERE status = 'Unsubscribed'")
    person.click("Select person1@example.com").choose("Actions", "Delete").click("Submit")
    assert not person.sql("SELECT 1 FROM newsletter_subscriber WHERE customer_id = 1")
    person.open("/admin/search/term/index/").click("Select 4").choose("Actions", "Delete").click("Submit")
    assert person.sql("SELECT query_text FROM search_term ORDER BY 1") == ["bag", "lamp", "tea"]


def test_pages_themes_and_configuration(person):
    person.open("/admin/cms/page/edit/page_id/1/").type(Page_Title="Who we are", URL_Key="Privacy!").click("Save")
    assert "hyphens" in person.messages[0]
    person.fill({"URL Key": "privacy"}).click("Save")
    assert "already" in person.messages[0]
    person.type(URL_Key="who", Content="New <words>").click("Enable Page", "Save")
    expected = ("Who we are", "who", "New <words>", 0, str(NOW))
    assert person.sql("SELECT title, url_key, content, is_enabled, updated_at FROM cms_page WHERE page_id = 1") == [expected]
    person.click("Delete Page", "Add New Page").fill({"Page Title": "Gift Cards"}).click("Save")
    assert person.sql("SELECT url_key FROM cms_page WHERE title = 'Gift Cards'") == ["gift-cards"]
    person.open("/admin/admin/system_design_theme/edit/id/1/").click("Apply Theme")
    assert person.sql("SELECT theme_id FROM theme WHERE is_applied") == [1]
    person.open("/admin/admin/system_config/").fill({"Phone": "555-0111"}).click("Save Config")
    assert person.sql("SELECT value FROM store_config") == ["United States", "Corner Shop", "555-0111"]
    assert "Corner Shop" in person.open("/admin/admin/system_store/").text


def test_sales_reports_by_month_and_of_one_status(person):
    person.open("/admin/reports/report_sales/sales/").choose("Period", "Month").type(From="01/01/2022", To="03/31/2022")
    person.click("Show Report")
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
    count = person.value("SELECT count(*) FROM sales_order WHERE coupon_code = 'TEN' AND status != 'canceled'")
    assert sum(int(row[3]) for row in person.table) == count
    person.open("/admin/reports/report_product/lowstock/")
    assert [row[1] for row in person.table] == ["AC-001", "AC-002"]
    person.open("/admin/reports/report_review/product/")
    person.holds([int(row[2]) for row in person.table], "SELECT count(*) AS n FROM review GROUP BY product_id ORDER BY n DESC")
    name = person.table[0][1]
    person.click("Show Reviews")
    assert {row[8] for row in person.table} == {name}
    assert {row[7] for row in person.table} <= {"1 star", "2 stars", "3 stars", "4 stars", "5 stars"}
    person.open("/admin/reports/report_sales/sales/?period_type=week&from=soon")
    assert len(person.messages) == 2
    person.open("/admin/reports/report_sales/sales/?period_type=day&from=01/01/1999&to=01/02/1999")
    assert "couldn't find any records" in person.text


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
    for parse, *texts in ((parse_cents, ".", "1.234", "1e5"), (parse_count, "1.0"), (parse_date, "2/29/2023")):
        for text in texts:
            with pytest.raises(ValueError, match="please enter"):
                parse(text)
