"""The shop, used as a person would: by its labels, in the in-process browser, judged by what is in the database."""

import json
from importlib import resources

import pytest
from lxml.etree import fromstring

from tests.visitors import Visitor, rows_of, small_database
from webarena_gym.sites.country.seeding import sign_in
from webarena_gym.sites.shopping.views.catalogue import draw_image

HOST = "http://shop.test"
NOW = "2023-06-10 12:00:00"


@pytest.fixture(scope="module")
def base() -> bytes:
    """The database of a small shop, with sessions of Emma and Paul."""
    db = small_database("shopping", rows_of("shop_of_emma"))
    sign_in(db, site="shopping", customer_id=1)
    db.commit()
    return db.serialize()


class Shopper(Visitor):
    """Somebody in the shop."""

    def __init__(self, base: bytes) -> None:
        super().__init__("shop.test", "shopping", base)

    def sign_in(self, customer_id: int = 1) -> "Shopper":
        return super().sign_in(customer_id=customer_id)


@pytest.fixture
def visitor(base: bytes, opened) -> Shopper:
    return opened(Shopper(base))


@pytest.fixture
def emma(visitor: Shopper) -> Shopper:
    return visitor.sign_in()


def test_the_home_page_shows_new_and_best_selling_products(visitor):
    assert visitor.browser.page().title == "Corner Shop"
    assert visitor.names == ["Two Person Tent", "Red Kettle", "Iron Frying Pan", "Copper Frying Pan"]
    visitor.db.execute("UPDATE product SET created_at = '2021-01-01 00:00:00' WHERE product_id < 4")
    assert visitor.open("/").names[:2] == ["Copper Frying Pan", "Iron Frying Pan"]  # best sellers that are not new


def test_lists_of_a_category_are_sorted_filtered_and_paged(visitor):
    visitor.click("Kitchen").at("/kitchen.html").lists("Copper Frying Pan", "Iron Frying Pan", "Red Kettle")
    visitor.click("Kettles").at("/kitchen/kettles.html").lists("Red Kettle").sees("Out of stock")
    visitor.open("/kitchen.html").choose("Sort By", "Price").click("Apply")
    assert visitor.names == ["Red Kettle", "Iron Frying Pan", "Copper Frying Pan"]  # by what is paid, not by the old price
    visitor.click("Set Descending Direction")
    assert visitor.path == "/kitchen.html?product_list_order=price&product_list_limit=12&product_list_dir=desc"
    assert visitor.names == ["Copper Frying Pan", "Iron Frying Pan", "Red Kettle"]
    visitor.click("Set Ascending Direction").choose("Sort By", "Product Name").click("Apply")
    assert visitor.names == ["Copper Frying Pan", "Iron Frying Pan", "Red Kettle"]
    visitor.open("/kitchen.html").click("Alder").at("/kitchen.html?brand=Alder").lists("Copper Frying Pan", "Red Kettle")
    visitor.click("$10.00 - $19.99").lists("Red Kettle").click("Remove Brand: Alder").at("/kitchen.html?price=10-20")
    visitor.click("Clear All")
    assert len(visitor.names) == 3
    visitor.click("In Stock", "4 stars & up").lists("Copper Frying Pan")
    visitor.open("/outdoors.html?price=0-10&product_list_order=price&product_list_dir=desc").sees("Items 1-12 of 25")
    first = visitor.names
    visitor.click("Next")
    second = visitor.names
    visitor.click("Page 3")
    assert [*first, *second, *visitor.names] == [f"Tent Peg No. {n:02d}" for n in range(25, 0, -1)]
    visitor.choose("Show", "36").click("Apply").sees("25 Items")
    assert len(visitor.names) == 25


def test_a_search_ranks_counts_suggests_and_knows_no_wildcards(visitor):
    visitor.type(Search_entire_store="camping").click("Search").at("/catalogsearch/result/?q=camping")
    visitor.lists("Iron Frying Pan", "Two Person Tent").open("/catalogsearch/result/?q=PAN+birch").lists("Iron Frying Pan")
    assert visitor.open("/catalogsearch/result/?q=two+person+tent").names[0] == "Two Person Tent"
    visitor.open("/catalogsearch/result/?q=Tent").open("/catalogsearch/result/?q=tent&p=2")
    assert visitor.row("SELECT * FROM search_term WHERE query_text = 'tent'")["uses"] == 8
    assert visitor.row("SELECT * FROM search_term WHERE query_text = 'camping'")["num_results"] == 2
    visitor.open("/catalogsearch/result/?q=coper+fryng+pan").sees("Your search returned no results.")
    visitor.click("copper frying pan").lists("Copper Frying Pan")
    visitor.open("/catalogsearch/result/?q=zzzzzzz").lacks("Did you mean").open("/catalogsearch/result/?q=%25").lists()
    assert visitor.open("/catalogsearch/result/?q=no._01").names == []
    visitor.open("/catalogsearch/advanced/").type(Product_Name="pan", Price_to="30").click("Search by these fields")
    assert visitor.names == ["Iron Frying Pan"]
    visitor.open("/catalogsearch/advanced/").type(Price_from="cheap").click("Search by these fields").sees("cheap is no price")
    visitor.open("/catalogsearch/advanced/").click("Search by these fields").sees("Enter a search term and try again.")


def test_pages_of_products_and_of_text(visitor):
    visitor.open("/iron-frying-pan.html")
    visitor.sees("Special Price $24.00", "Regular Price $30.00", "3.0 (1)", "SKU: PAN-2", "In stock", "10 inch", "Birch")
    assert "Be the first to review this product" in visitor.open("/red-kettle.html").text
    assert visitor.open("/forgotten-tent.html").browser.page().title == "404 Not Found"
    visitor.open("/about-us").sees("About the Corner Shop", "And &lt;tents>.")
    assert "404" in visitor.open("/off/").browser.page().title


def test_add_to_cart_asks_for_options(visitor):
    visitor.open("/outdoors/tents.html").click("Add to Cart").at("/two-person-tent.html")
    assert "You need to choose options for your item: Color, Floor." in visitor.text
    visitor.choose("Color", "Sand").choose("Floor", "Heavy").type(Qty="2").click("Add to Cart")
    assert "You added Two Person Tent to your shopping cart." in visitor.text
    item = visitor.row("SELECT * FROM cart_item")
    assert (json.loads(item["options"]), item["quantity"]) == ({"Color": "Sand", "Floor": "Heavy"}, 2)
    visitor.click("My Cart").sees("$270.00")


def test_add_to_cart_from_a_list_stays_there_and_adds_up(visitor):
    visitor.open("/kitchen.html?brand=Alder").click("Add to Cart", "Add to Cart").at("/kitchen.html?brand=Alder")
    visitor.sees("My Cart</a> (2)").holds(2, "SELECT quantity FROM cart_item")


def test_no_more_than_in_stock(visitor):
    visitor.open("/iron-frying-pan.html").type(Qty="6").click("Add to Cart")
    assert "The requested quantity of Iron Frying Pan is not available." in visitor.text
    visitor.type(Qty="5").click("Add to Cart", "Add to Cart").sees("is not available")
    visitor.click("My Cart").type(Qty="6").click("Update Shopping Cart").sees("is not available")
    assert visitor.value("SELECT quantity FROM cart_item") == 5


def test_changing_the_cart(visitor):
    visitor.open("/kitchen.html").click("Add to Cart", "Add to Cart [2]", "My Cart")
    visitor.fill({"Qty": "3", "Qty [2]": "2"}).click("Update Shopping Cart").sees("$168.00")
    visitor.type(Qty="many").click("Update Shopping Cart").sees("Please enter a whole number").click("Remove").sees("$48.00")
    visitor.type(Qty="0").click("Update Shopping Cart").sees("You have no items in your shopping cart.")


def test_coupons(visitor):
    visitor.open("/kitchen.html").click("Add to Cart", "My Cart")
    for code in ("OVER", "NOTYET", "NONE"):
        visitor.type(Discount_Code=code).click("Apply Discount").sees(f'The coupon code "{code}" is not valid.')
    visitor.type(Discount_Code="tenoff").click("Apply Discount").sees('You used coupon code "TENOFF".', "-$4.00", "$36.00")
    visitor.click("Cancel Coupon").sees("You canceled the coupon code.")
    visitor.type(Discount_Code="FIVE").click("Apply Discount").sees("$35.00")


def test_shipping_is_free_above_the_threshold(visitor):
    visitor.open("/kitchen.html").click("Add to Cart", "My Cart").lacks("Free Shipping")
    visitor.choose("Estimate Shipping", "Flat Rate - Fixed").click("Estimate").sees("$45.00")
    visitor.type(Qty="3").click("Update Shopping Cart")
    visitor.choose("Estimate Shipping", "Free Shipping").click("Estimate").sees("<td>$0.00</td>")
    visitor.type(Qty="2").click("Update Shopping Cart").lacks("Free Shipping")


def test_a_customer_orders(emma):
    emma.open("/kitchen.html").click("Add to Cart", "Add to Cart [2]", "My Cart")
    emma.fill({"Qty": "2"}).click("Update Shopping Cart").type(Discount_Code="TENOFF").click("Apply Discount")
    emma.click("Proceed to Checkout", "Emma Lopez, 2 Oak St, Boston, Massachusetts 02101", "Flat Rate - Fixed $15.00", "Next")
    assert "$108.60" in emma.text  # 104.00 less 10 % and plus 15.00
    emma.click("Cash On Delivery", "Place Order").sees("Thank you for your purchase!")
    who = (4, "000000004", 1, "emma@mail.test", "Emma Lopez", "pending", NOW)
    paid = (10400, 1040, "TENOFF", 1500, 10860, "Flat Rate - Fixed", "Cash On Delivery")
    assert emma.rows("SELECT * FROM sales_order ORDER BY order_id DESC")[0] == (*who, *paid)
    items = emma.rows("SELECT sku, price_cents, qty_ordered, qty_invoiced FROM order_item WHERE order_id = 4 ORDER BY item_id")
    assert items == [("PAN-1", 4000, 2, 0), ("PAN-2", 2400, 1, 0)]
    addresses = emma.rows("SELECT kind, company, city FROM order_address WHERE order_id = 4 ORDER BY kind")
    assert addresses == [("billing", "Desk Co", "Boston"), ("shipping", "Desk Co", "Boston")]
    assert emma.value("SELECT quantity FROM product WHERE product_id = 1") == 8
    emma.holds(5, "SELECT times_used FROM cart_rule WHERE rule_id = 1").holds(0, "SELECT count(*) FROM cart_item")
    assert emma.click("000000004").browser.page().title == "Order # 000000004"


def test_a_guest_orders_and_finds_the_order_again(visitor):
    visitor.open("/red-kettle.html").open("/iron-frying-pan.html").type(Qty="5")
    visitor.click("Add to Cart", "My Cart", "Proceed to Checkout", "Next")
    visitor.sees("Please enter a valid email address", "Phone Number is a required field.", "Please select a shipping method.")
    visitor.type(Email_Address="gus@mail.test", First_Name="Gus", Last_Name="Ode", Street_Address="9 Bay Rd", City="Reno")
    visitor.type(Phone_Number="1")
    visitor.fill({"State/Province": "Nevada", "Zip/Postal Code": "89501"}).click("Best Way - Table Rate $15.00", "Next")
    visitor.click("My billing and shipping address are the same", "Place Order").sees("Please enter the billing address.")
    visitor.type(First_Name="Ann", Last_Name="Bill", Street_Address="1 Pay St", City="Reno", Phone_Number="2")
    visitor.fill({"State/Province": "Nevada", "Zip/Postal Code": "89501"}).click("Place Order")
    assert "Your order # is: 000000004" in visitor.text
    order = visitor.row("SELECT * FROM sales_order WHERE order_id = 4")
    assert (order["customer_id"], order["customer_name"], order["grand_total_cents"]) == (None, "Ann Bill", 13500)
    assert visitor.row("SELECT * FROM product WHERE product_id = 2")["is_in_stock"] == 0
    visitor.click("Orders and Returns").type(Order_ID="4", Billing_Last_Name="Ode", Email="gus@mail.test").click("Continue")
    assert "You entered incorrect data." in visitor.text
    visitor.type(Billing_Last_Name="bill").click("Continue").at("/sales/guest/view/").sees("1 Pay St")


def test_a_new_address_at_checkout_is_kept_if_wanted(emma):
    emma.open("/copper-frying-pan.html").click("Add to Cart").open("/checkout/").click("New Address")
    emma.type(First_Name="Emma", Last_Name="Lopez", Street_Address="5 New St", City="Troy", Phone_Number="5")
    emma.fill({"State/Province": "New York", "Zip/Postal Code": "12180"})
    emma.click("Best Way - Table Rate $15.00", "Next", "Place Order")
    assert emma.value("SELECT city FROM order_address WHERE order_id = 4 AND kind = 'shipping'") == "Troy"
    assert emma.value("SELECT count(*) FROM customer_address WHERE customer_id = 1 AND city = 'Troy'") == 1


def test_orders_and_what_a_reorder_still_takes(emma):
    emma.click("My Account", "My Orders")
    emma.sees("<td>000000002</td><td>2/5/23</td><td>Emma Lopez</td><td>$41.00</td><td>Pending</td>").click("View Order [2]")
    emma.sees("Order # 000000001", "Complete", "January 5, 2023", "-$4.00", "Left at the door.", "Check / Money order")
    emma.lacks("Internal note.").click("Order Shipments").sees("Tracking Number: DHL JD0149")
    emma.click("Invoices").sees("Grand Total: $41.00").lacks("Refunds")
    assert emma.open("/sales/order/view/order_id/3/").browser.page().title == "404 Not Found"
    emma.open("/sales/order/history/").click("Reorder").sees("Forgotten Tent is no longer for sale.")
    item = emma.row("SELECT * FROM cart_item")
    assert (item["product_id"], json.loads(item["options"])) == (4, {"Color": "Sand", "Floor": "Light"})


def test_wish_list(emma):
    emma.open("/copper-frying-pan.html").click("Add to Wish List").sees("Copper Frying Pan has been added to your Wish List.")
    emma.open("/two-person-tent.html").click("Add to Wish List")
    emma.fill({"Comment": "for mum", "Qty": "3"}).click("Update Wish List")
    item = emma.row("SELECT * FROM wishlist_item WHERE product_id = 1")
    assert (item["comment"], item["quantity"], item["customer_id"], item["added_at"]) == ("for mum", 3, 1, NOW)
    assert emma.click("Add All to Cart").row("SELECT * FROM cart_item")["quantity"] == 3
    emma.sees("You need to choose options").click("My Wish List", "Add to Cart").at("/two-person-tent.html")
    emma.click("My Wish List", "Remove").holds(0, "SELECT count(*) FROM wishlist_item")


def test_a_guest_is_asked_to_sign_in_and_led_back(visitor):
    visitor.open("/copper-frying-pan.html").click("Add to Cart", "Add to Wish List").at("/customer/account/login/")
    visitor.type(Email="emma@mail.test", Password="wrong").click("Sign In").sees("The email or the password is not correct.")
    visitor.type(Password="secret-1").click("Sign In").at("/copper-frying-pan.html")
    assert visitor.row("SELECT * FROM cart")["customer_id"] == 1
    visitor.click("Sign Out").sees("My Cart</a> (0)").click("My Account").at("/customer/account/login/")


def test_a_guests_cart_joins_the_customers(emma, visitor):
    emma.open("/copper-frying-pan.html").click("Add to Cart", "Sign Out")
    emma.open("/copper-frying-pan.html").click("Add to Cart", "Sign In")
    emma.type(Email="EMMA@mail.test", Password="secret-1").click("Sign In")
    emma.holds("2", "SELECT group_concat(quantity) FROM cart_item").holds(1, "SELECT count(*) FROM cart")


def test_a_review_waits_for_approval(emma):
    emma.open("/copper-frying-pan.html").click("Reviews").sees("Items 1-10 of 12")
    assert emma.text.index("Title 12") < emma.text.index("Title 11")
    emma.lacks("Hidden").click("Submit Review").sees("Please select a rating")
    emma.click("5 stars").type(Nickname="Em", Summary="Grand", Review="I <b>like</b> it.").click("Submit Review")
    assert "You submitted your review for moderation." in emma.text
    review = emma.row("SELECT * FROM review ORDER BY review_id DESC")
    assert (review["status"], review["rating"], review["customer_id"], review["nickname"]) == ("Pending", 5, 1, "Em")
    emma.open("/review/customer/").click("See Details").sees("I &lt;b>like&lt;/b> it.")


def test_compare(visitor):
    for page in ("copper-frying-pan", "iron-frying-pan"):
        visitor.open(f"/{page}.html").click("Add to Compare")
    assert "<tr><th>Material</th><td>Copper</td><td>Iron</td></tr>" in visitor.text
    assert "<tr><th>Diameter</th><td>N/A</td><td>10 inch</td></tr>" in visitor.text
    visitor.click("Remove Product").holds(2, "SELECT product_id FROM compare_item")
    visitor.click("Add to Cart", "Clear All").sees("You have no items to compare.").holds(2, "SELECT product_id FROM cart_item")


def test_addresses_and_account_information(emma):
    emma.open("/customer/address/").click("Edit [2]").type(City="Salem")
    emma.click("Use as my default shipping address", "Save Address")
    defaults = emma.rows("SELECT city, is_default_billing, is_default_shipping FROM customer_address WHERE customer_id = 1")
    assert defaults == [("Albany", 1, 0), ("Salem", 0, 1)]
    emma.click("Add New Address").type(Street_Address="7 Low St").click("Save Address").sees("City is a required field.")
    emma.type(City="Troy", Phone_Number="5").fill({"State/Province": "NY", "Zip/Postal Code": "1"})
    emma.click("Save Address", "Delete")
    emma.sees("You deleted the address.").holds(2, "SELECT count(*) FROM customer_address WHERE customer_id = 1")
    assert emma.open("/customer/address/edit/id/3/").browser.page().title == "404 Not Found"
    emma.open("/customer/account/edit/").type(First_Name="Emmy", Email="emmy@mail.test").click("Save")
    assert "The current password is not correct." in emma.text
    emma.type(Current_Password="secret-1", New_Password="longer-secret", Confirm_New_Password="longer-secret").click("Save")
    assert "You saved the account information." in emma.text
    customer = emma.row("SELECT * FROM customer WHERE customer_id = 1")
    assert (customer["firstname"], customer["email"], customer["password"]) == ("Emmy", "emmy@mail.test", "longer-secret")
    emma.open("/customer/account/edit/").type(Email="paul@mail.test", Current_Password="longer-secret").click("Save")
    assert "There is already an account with this email address." in emma.text


def test_create_an_account(visitor):
    visitor.click("Sign In", "Create an Account")
    visitor.type(First_Name="Zoe", Last_Name="Bo", Email="zoe@mail.test", Password="short")
    visitor.click("Create an Account").sees("Confirm Password is a required field.")
    visitor.type(Password="long-enough", Confirm_Password="long-enough").click("Sign Up for Newsletter", "Create an Account")
    assert visitor.path == "/customer/account/"
    assert visitor.row("SELECT * FROM newsletter_subscriber WHERE email = 'zoe@mail.test'")["customer_id"] == 3


def test_newsletter(emma):
    emma.type(Email_for_our_newsletter="new@mail.test").click("Subscribe").sees("Thank you for your subscription.")
    emma.type(Email_for_our_newsletter="New@mail.test").click("Subscribe").sees("This email address is already subscribed.")
    emma.open("/newsletter/manage/").click("General Subscription", "Save")
    assert emma.value("SELECT status FROM newsletter_subscriber WHERE customer_id = 1") == "Subscribed"
    emma.open("/newsletter/manage/").click("General Subscription", "Save")
    assert emma.value("SELECT status FROM newsletter_subscriber WHERE customer_id = 1") == "Unsubscribed"


def test_contact(visitor):
    visitor.click("Contact Us").type(Name="Ann", Email="nonsense").fill({"What's on your mind?": "Hello\nthere"})
    visitor.click("Submit").sees("valid email address").type(Email="ann@mail.test").click("Submit")
    message = visitor.row("SELECT * FROM contact_message")
    assert (message["name"], message["comment"], message["telephone"]) == ("Ann", "Hello\nthere", "")


def test_pictures_are_drawn_from_the_product_and_a_missing_one_shows_no_page(visitor):
    first, again, other, missing = (
        visitor.network.request("GET", f"{HOST}/media/catalog/{key}.svg")
        for key in ("red-kettle", "red-kettle", "copper-frying-pan", "none")
    )
    assert first.status == 200
    assert first.header("Content-Type").startswith("image/svg+xml")
    assert first.body == again.body != other.body
    assert (missing.status, missing.body) == (404, b"")


def test_pictures_are_of_what_the_name_says():
    catalogue = json.loads(resources.files("webarena_gym.sites.shopping").joinpath("catalogue.json").read_text("utf-8"))
    nouns = [kind[0] for leaves in catalogue["categories"].values() for leaf in leaves.values() for kind in leaf[2]]
    drawn = {
        noun: [path.get("d") for path in fromstring(draw_image(f"Brand {noun}").encode()).iter("{*}path")] for noun in nouns
    }
    other = drawn["Power Bank"]  # whose words say no shape
    assert sum(paths == other for paths in drawn.values()) <= len(nouns) // 20
    assert len({str(paths) for paths in drawn.values()}) >= 30
    assert all(len(paths) > 1 for paths in drawn.values())


def test_signing_in_as_somebody_else_does_not_carry_the_cart_over(emma):
    emma.open("/copper-frying-pan.html").click("Add to Cart")
    key = emma.find("Add to Wish List").getparent().find("input").get("value")
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"sid={emma.sid}"}
    body = f"form_key={key}&email=paul@mail.test&password=secret-2".encode()
    assert emma.network.request("POST", f"{HOST}/customer/account/login/", headers, body).status == 302
    emma.open("/").sees("My Cart</a> (0)").holds(1, "SELECT customer_id FROM cart")
