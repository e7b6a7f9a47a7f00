"""Orders, addresses, accounts, newsletter and contact of customers and guests."""

import json

from tests.sites.shopping.shopper import HOST


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


def test_a_guest_is_asked_to_sign_in_and_led_back(visitor):
    visitor.open("/copper-frying-pan.html").click("Add to Cart", "Add to Wish List").at("/customer/account/login/")
    visitor.type(Email="emma@mail.test", Password="wrong").click("Sign In").sees("The email or the password is not correct.")
    visitor.type(Password="secret-1").click("Sign In").at("/copper-frying-pan.html")
    assert visitor.row("SELECT * FROM cart")["customer_id"] == 1
    visitor.click("Sign Out").sees("My Cart</a> (0)").click("My Account").at("/customer/account/login/")


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


def test_signing_in_as_somebody_else_does_not_carry_the_cart_over(emma):
    emma.open("/copper-frying-pan.html").click("Add to Cart")
    key = emma.find("Add to Wish List").getparent().find("input").get("value")
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"sid={emma.sid}"}
    body = f"form_key={key}&email=paul@mail.test&password=secret-2".encode()
    assert emma.network.request("POST", f"{HOST}/customer/account/login/", headers, body).status == 302
    emma.open("/").sees("My Cart</a> (0)").holds(1, "SELECT customer_id FROM cart")
