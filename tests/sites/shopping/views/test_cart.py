"""Cart, coupons, checkout, wish list, reviews and comparison."""

import json

NOW = "2023-06-10 12:00:00"


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


def test_wish_list(emma):
    emma.open("/copper-frying-pan.html").click("Add to Wish List").sees("Copper Frying Pan has been added to your Wish List.")
    emma.open("/two-person-tent.html").click("Add to Wish List")
    emma.fill({"Comment": "for mum", "Qty": "3"}).click("Update Wish List")
    item = emma.row("SELECT * FROM wishlist_item WHERE product_id = 1")
    assert (item["comment"], item["quantity"], item["customer_id"], item["added_at"]) == ("for mum", 3, 1, NOW)
    assert emma.click("Add All to Cart").row("SELECT * FROM cart_item")["quantity"] == 3
    emma.sees("You need to choose options").click("My Wish List", "Add to Cart").at("/two-person-tent.html")
    emma.click("My Wish List", "Remove").holds(0, "SELECT count(*) FROM wishlist_item")


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
