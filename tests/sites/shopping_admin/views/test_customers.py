"""Customers, reviews, price rules, subscribers and search terms of the admin."""


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
