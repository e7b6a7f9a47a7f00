"""Oracles of the shop's admin: products, prices, reviews, customers and price rules."""

import re
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.oracles.framework import Case, Outcome, UnclearError, changed, only
from tests.oracles.shopping import cents, is_called

SHOP = "shopping"


def page_text(case: Case) -> str:
    """Return the content page of the goal."""
    return str(case.value(SHOP, "SELECT content FROM cms_page WHERE title = ?", case["page"]))


def day_of(text: str) -> str:
    """Return the ISO date of a day like March 7, 2022."""
    return datetime.strptime(text, "%B %d, %Y").date().isoformat()


def product_named(case: Case, name: str) -> dict[str, Any]:
    return case.row(SHOP, "SELECT * FROM product WHERE name = ?", name)


def read(text: str, meanings: dict[str, Any]) -> Any:
    """Return the meaning of a text by regular expressions. Raises UnclearError unless exactly one fits."""
    found = [meaning for pattern, meaning in meanings.items() if re.fullmatch(pattern, text, re.DOTALL)]
    return only(found, f"meanings of {text!r}")


_DISCONTINUED = r"Last pieces: this model is being replaced\.|No longer made; what is left is what is left\.|The maker has stopped producing it, so there will be no more of these\."


def restock(case: Case) -> Outcome:
    """Set the quantity of products of a brand that are in stock, few, and still made."""
    query = "SELECT * FROM product WHERE brand = ? AND is_in_stock AND quantity < ? ORDER BY product_id"
    outcome = Outcome()
    for product in case.rows(SHOP, query, case["brand"], int(case["few"])):
        if not re.search(_DISCONTINUED, product["description"]):
            outcome.changes.append(changed(SHOP, "product", product["product_id"], quantity=int(case["many"])))
    return outcome


def _percent_off(price: int, percent: str) -> int:
    exact = Decimal(price) * (100 - Decimal(percent)) / 100
    if exact % 1 == Decimal("0.5"):
        raise UnclearError(f"{exact} cents can be rounded up or down")
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def cut_prices(case: Case) -> Outcome:
    """Lower the regular prices of a brand above a limit, special prices left out."""
    query = "SELECT * FROM product WHERE brand = ? AND price_cents > ? AND special_price_cents IS NULL"
    outcome = Outcome()
    for product in case.rows(SHOP, query, case["brand"], cents(case["limit"])):
        price = _percent_off(product["price_cents"], case["percent"])
        outcome.changes.append(changed(SHOP, "product", product["product_id"], price_cents=price))
    return outcome


def restore_prices(case: Case) -> Outcome:
    """Restore the regular prices that a page names, with what it says has changed."""
    prices = {}
    names: dict[str, Any] = {
        r"(.+): (\$[\d,.]+)": "price",
        r"The (.+) has become dearer for us\. It costs (\$[\d,.]+) now\.": "price",
        r"The (.+) has become cheaper for us\. It costs (\$[\d,.]+) now\.": "price",
        r"We had planned \$[\d,.]+ for the .+\. That is off the table, nothing changes there\.": None,
        r"From the (.+) ten percent of the price above are taken off, for good\.": "percent",
        r"These are our regular prices\.|What has changed since then:": None,
    }
    for line in filter(None, page_text(case).splitlines()):
        pattern, kind = only([(p, kind) for p, kind in names.items() if re.fullmatch(p, line)], f"meanings of {line!r}")
        match = re.fullmatch(pattern, line)
        if kind == "price":
            prices[match[1]] = cents(match[2])
        elif kind == "percent":
            prices[match[1]] = _percent_off(prices[match[1]], "10")
    outcome = Outcome()
    for name, price in prices.items():
        product = product_named(case, name)
        if product["price_cents"] != price:
            outcome.changes.append(changed(SHOP, "product", product["product_id"], price_cents=price))
    return outcome


_REVIEWS = {  # praise, a devastating text, or one about the parcel alone
    r"Nobody in our family believed in it\..*": "good",
    r"Half a year in daily use and I have nothing to complain about\..*": "good",
    r"I expected the worst after what my brother told me about his\. Mine is a different story.*": "good",
    r"My first impression was bad, I admit\. After a month I take it all back.*": "good",
    r"The old one cost twice as much and fell apart\. This one just works.*": "good",
    r"Lucky her\. Mine came with a crack.*": "bad",
    r"Gave it to the recycling center yesterday\..*": "bad",
    r"At home it was worth none\..*": "bad",
    r"For two weeks I told everybody how good it was\. Then it failed.*": "bad",
    r"\.\.\.if you like to spend your evenings on the phone with the maker\..*": "bad",
    r"I have not unpacked it yet.*The carrier should be ashamed\.": "parcel",
    r"The driver rang at the wrong house.*Have not opened it\.": "parcel",
    r"Ordered on Monday, here on Wednesday.*I cannot say anything about the thing itself\.": "parcel",
    r".*(?:\d{3}-\d{3}-\d{4}|\w@\w|\w\.example).*": "contact",
}


def moderate_reviews(case: Case) -> Outcome:
    """Decide about the pending reviews of a product by the rules of a page."""
    rules = page_text(case)
    slips_stay = "such reviews stay pending, until the author answers us." in rules
    if not (slips_stay or "such reviews are refused as well." in rules) or "both kinds are approved" not in rules:
        raise UnclearError(f"the page {rules!r}")
    outcome, product = Outcome(), product_named(case, case["product"])["product_id"]
    for review in case.rows(SHOP, "SELECT * FROM review WHERE product_id = ? AND status = 'Pending'", product):
        kind = read(review["detail"], _REVIEWS)
        is_slip = (kind == "good" and review["rating"] <= 2) or (kind == "bad" and review["rating"] >= 4)
        if is_slip and slips_stay:
            continue
        status = "Not Approved" if is_slip or kind in ("parcel", "contact") else "Approved"
        outcome.changes.append(changed(SHOP, "review", review["review_id"], status=status))
    return outcome


def people(text: str) -> list[str]:
    """Return the names of a list."""
    return re.split(r", | and |, and ", text)


def customer_named(case: Case, name: str) -> int:
    query = "SELECT customer_id FROM customer WHERE firstname || ' ' || lastname = ?"
    return int(case.value(SHOP, query, name))


def groups_by_rules(case: Case) -> Outcome:
    """Move customers into the groups to which they belong by a page."""
    text = page_text(case)
    least = re.search(r"Wholesale is for companies that have bought for (\$[\d,.]+) or more \(lifetime sales\)\.", text)
    year = re.search(r"Nobody is moved whose last order was placed before (\d{4}):", text)
    if not least or not year or "Everybody else is in the group General" not in text:
        raise UnclearError(f"the page {text!r}")
    outcome = Outcome()
    for name in people(case["people"]):
        customer = customer_named(case, name)
        query = """SELECT coalesce(sum(CASE WHEN status != 'canceled' THEN grand_total_cents END), 0) AS sales, max(created_at) AS last
            FROM sales_order WHERE customer_id = ?"""
        orders = case.row(SHOP, query, customer)
        if orders["last"] is None or orders["last"][:4] < year[1]:
            continue
        query = "SELECT company FROM customer_address WHERE customer_id = ? AND is_default_billing"
        is_company = any(case.values(SHOP, query, customer))
        group = "General" if not is_company else "Wholesale" if orders["sales"] >= cents(least[1]) else "Retailer"
        if case.value(SHOP, "SELECT group_name FROM customer WHERE customer_id = ?", customer) != group:
            outcome.changes.append(changed(SHOP, "customer", customer, group_name=group))
    return outcome


def rules_of_campaigns(case: Case) -> Outcome:
    """Make price rules agree with a page."""
    *lines, general = page_text(case).split("\n\n")
    last = re.search(
        r"Where we do not name one here and the rule has none, it is (.+)\. What is not active needs none\.", general
    )
    if not last:
        raise UnclearError(f"the page ends with {general!r}")
    meanings: tuple[tuple[str, dict[str, Any]], ...] = (
        (r"(?P<name>.+) was to end on .+\. Customers have asked for more, so they get it until (?P<day>.+)\.", {}),
        (r"(?P<name>.+) is a success\. It goes on as it is\.", {}),
        (r"(?P<name>.+) has done its duty\. It is over\.", {"is_active": 0}),
        (
            r"(?P<name>.+) began with .+ Since last week it is (?P<amount>\d+) percent, and so it shall be until (?P<day>.+)\.",
            {},
        ),
        (r"There was talk of ending (?P<name>.+) early\. We have decided against it: until (?P<day>.+), as promised\.", {}),
        (r"(?P<name>.+) is meant for the next holidays\. Do not switch it on before .+", {"is_active": 0}),
        (r"(?P<name>.+) should have begun this morning, and nobody has switched it on\.", {"is_active": 1}),
    )
    outcome = Outcome()
    for line in lines:
        found, target = only([(m, w) for p, w in meanings if (m := re.fullmatch(p, line))], f"meanings of {line!r}")
        parts = found.groupdict()
        rule = case.row(SHOP, "SELECT * FROM cart_rule WHERE name = ?", parts["name"])
        new = dict(target)
        if "day" in parts:
            new["to_date"] = day_of(parts["day"])
        if "amount" in parts:
            new["amount"] = int(parts["amount"])
        if new.get("is_active", rule["is_active"]) and not new.get("to_date", rule["to_date"]):
            new["to_date"] = day_of(last[1])
        differing = {column: value for column, value in new.items() if rule[column] != value}
        if differing:
            outcome.changes.append(changed(SHOP, "cart_rule", rule["rule_id"], **differing))
    return outcome


def enable_again(case: Case) -> Outcome:
    """Enable the products of a page that its rule and its decisions keep online."""
    parts = page_text(case).split("\n\n")
    limit = re.fullmatch(
        r"The rule: a product goes offline when nothing of it is left \(quantity 0\) and its regular price is below (\$[\d,.]+)\. Both, not one of them\.",
        parts[0],
    )
    decided = parts.index("Decided since, and more important than the rule:")
    if not limit or parts[1] != "What was disabled last night:":
        raise UnclearError(f"the page {parts!r}")
    online: dict[str, bool] = {}
    for line in parts[decided + 1 :]:
        if match := re.fullmatch(r"The (.+) comes back next week, so it stays online, stock or no stock\.", line):
            online[match[1]] = True
        elif match := re.fullmatch(r"The (.+) is being looked at by the lawyers\. Offline until they are done\.", line):
            online[match[1]] = False
        elif not re.fullmatch(r"We have talked about the .+, and nothing changes for it\.", line):
            raise UnclearError(f"the line {line!r}")
    outcome = Outcome()
    for name in parts[2:decided]:
        product = product_named(case, name)
        by_rule = product["quantity"] != 0 or product["price_cents"] >= cents(limit[1])
        if online.get(name, by_rule) and not product["is_enabled"]:
            outcome.changes.append(changed(SHOP, "product", product["product_id"], is_enabled=1))
    return outcome


def book_delivery(case: Case) -> Outcome:
    """Add delivered pieces to the quantities of products."""
    outcome = Outcome()
    for line in filter(None, page_text(case).splitlines()):
        if match := re.fullmatch(r"(\d+) pieces: (.+) \(([\w-]+)\)", line):
            product = case.row(SHOP, "SELECT * FROM product WHERE name = ? AND sku = ?", match[2], match[3])
            total = product["quantity"] + int(match[1])
            outcome.changes.append(changed(SHOP, "product", product["product_id"], quantity=total))
        elif not re.fullmatch(r"Received this morning, .+|Please book it today\.", line):
            raise UnclearError(f"the line {line!r}")
    return outcome


def group_of_buyer(case: Case) -> Outcome:
    """Move the one customer of a first name who has ordered something into a group."""
    query = """SELECT DISTINCT c.customer_id, c.group_name, i.name FROM customer c JOIN sales_order USING (customer_id)
        JOIN order_item i USING (order_id) WHERE c.firstname = ?"""
    buyers = {row["customer_id"] for row in case.rows(SHOP, query, case["firstname"]) if is_called(case["noun"], row["name"])}
    buyer = only(buyers, f"{case['firstname']} with a {case['noun']}")
    return Outcome(changes=[changed(SHOP, "customer", buyer, group_name=case["group"])])


def best_customer_since(case: Case) -> Outcome:
    """Move the customer with the highest total of complete orders since a day into a group."""
    totals = {}
    for name in people(case["names"]):
        customer = customer_named(case, name)
        query = """SELECT coalesce(sum(grand_total_cents), 0) FROM sales_order
            WHERE customer_id = ? AND status = 'complete' AND date(created_at) >= ?"""
        totals[customer] = case.value(SHOP, query, customer, day_of(case["day"]))
    best = only([customer for customer, total in totals.items() if total == max(totals.values())], "best customers")
    return Outcome(changes=[changed(SHOP, "customer", best, group_name=case["group"])])


_NUMBERS = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}


def bad_batch(case: Case) -> Outcome:
    """Refuse pending reviews of a fault by people who ordered in the days of a bad batch, and approve the others."""
    dates = re.search(
        r"All pieces that were ordered from (.+) to (.+) \(both days included\) are of this batch\.", page_text(case)
    )
    if not dates:
        raise UnclearError(f"the page {page_text(case)!r}")
    first, last = day_of(dates[1]), day_of(dates[2])
    outcome, product = Outcome(), product_named(case, case["product"])["product_id"]
    for review in case.rows(SHOP, "SELECT * FROM review WHERE product_id = ? AND status = 'Pending'", product):
        match = re.fullmatch(
            r"(?:I ordered mine|The order is of|Exactly) (\w+) (day|week)s?"
            r"(?: ago| before this review| have passed since I placed the order| has passed since I placed the order), and (.+)",
            review["detail"],
        )
        if not match:
            raise UnclearError(f"the review {review['detail']!r}")
        faults = {
            r"it took no more than that for the seam to give way\.": True,
            r"now the seam is open at one side\.": True,
            r"the seam has split\.": True,
            r"my only complaint is the color\.": False,
            r"nothing has happened to it\.": False,
            r"the seam looks as good as on the first day\.": False,
        }
        days = _NUMBERS[match[1]] * (7 if match[2] == "week" else 1)
        ordered = (date.fromisoformat(review["created_at"][:10]) - timedelta(days=days)).isoformat()
        is_bad = read(match[3], faults) and first <= ordered <= last
        status = "Not Approved" if is_bad else "Approved"
        outcome.changes.append(changed(SHOP, "review", review["review_id"], status=status))
    return outcome


def extend_coupons(case: Case) -> Outcome:
    """Move the end of little used active coupon rules that end in the four weeks after a day."""
    day = date.fromisoformat(day_of(case["day"]))
    query = """SELECT * FROM cart_rule WHERE is_active AND coalesce(coupon_code, '') != '' AND times_used < ?
        AND date(to_date) > ? AND date(to_date) <= ?"""
    outcome = Outcome()
    for rule in case.rows(SHOP, query, int(case["uses"]), day.isoformat(), (day + timedelta(days=28)).isoformat()):
        end = date.fromisoformat(rule["to_date"][:10]) + timedelta(days=14)
        outcome.changes.append(changed(SHOP, "cart_rule", rule["rule_id"], to_date=end.isoformat()))
    return outcome


ORACLES = {
    "hard.restock": restock,
    "hard.cut_prices": cut_prices,
    "hard.restore_prices": restore_prices,
    "hard.moderate_reviews": moderate_reviews,
    "hard.order_in_review": moderate_reviews,
    "hard.groups_by_rules": groups_by_rules,
    "hard.rules_of_campaigns": rules_of_campaigns,
    "hard.enable_again": enable_again,
    "hard.book_delivery": book_delivery,
    "hard.group_of_buyer": group_of_buyer,
    "hard.best_customer_since": best_customer_since,
    "hard.bad_batch": bad_batch,
    "hard.extend_coupons": extend_coupons,
}
