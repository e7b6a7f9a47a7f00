"""Products of the admin: their form, options and variants, and changes of several at once."""

from tests.shopping_rows import GOODS
from webarena_gym.pages.page import Network
from webarena_gym.sites.world import load_site


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
    person.click("Submit").shows_messages("Please select items.")
    person.open("/admin/catalog/product/").click("Select 1", "Select 3").choose("Actions", "Update attributes").click("Submit")
    person.sees(f"2 products: {GOODS[0]}; {GOODS[2]}").click("Save").shows_messages("Please fill in what should change.")
    person.fill({"Price": "19.99"}).choose("Stock Status", "Out of Stock").click("Save")
    assert person.sql("SELECT product_id FROM product WHERE price_cents = 1999 AND NOT is_in_stock AND quantity > 0") == [1, 3]
    person.click("Select 1", "Select 3").choose("Actions", "Delete").click("Submit")
    assert person.sql("SELECT product_id FROM product ORDER BY product_id") == [2, 4, 5, 6, 7, 8]
