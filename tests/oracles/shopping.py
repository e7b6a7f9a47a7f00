"""Oracles of the shop: products that fit, carts, orders and coupons."""

import json
import re
from datetime import datetime, timedelta
from typing import Any

from tests.oracles.framework import Case, Demand, Outcome, UnclearError, added, changed, only, removed

ME = 1  # the signed-in customer

BUYABLE = "p.is_enabled AND p.is_in_stock AND p.quantity > 0"
NO_OPTIONS = "NOT EXISTS (SELECT 1 FROM product_option o WHERE o.product_id = p.product_id)"
TODAY = "coalesce(p.special_price_cents, p.price_cents)"
CANCELED = "status != 'canceled'"


def products(case: Case, condition: str, *parameters: Any) -> list[dict[str, Any]]:
    """Return products with today's price in cents, their average stars as pages show them, and their number of reviews."""
    query = f"""SELECT p.*, {TODAY} AS today,
        (SELECT avg(rating) FROM review r WHERE r.product_id = p.product_id AND r.status = 'Approved') AS stars,
        (SELECT count(*) FROM review r WHERE r.product_id = p.product_id AND r.status = 'Approved') AS reviews
        FROM product p JOIN category c USING (category_id) WHERE {condition} ORDER BY p.product_id"""
    found = case.rows("shopping", query, *parameters)
    return [product | {"stars": float(f"{product['stars'] or 0:.1f}")} for product in found]


def product_named(case: Case, name: str) -> dict[str, Any]:
    return dict(only(products(case, "p.name = ?", name), f"products called {name!r}"))


def cents(text: str) -> int:
    """Return an amount like $1,151.41 in cents."""
    return round(float(text.replace("$", "").replace(",", "")) * 100)


def cheapest(candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the product with the lowest price today. Raises UnclearError for two."""
    if not candidates:
        raise UnclearError("no product fits")
    price = min(product["today"] for product in candidates)
    return dict(only([product for product in candidates if product["today"] == price], "cheapest products"))


def wish(case: Case, product: dict[str, Any]) -> Outcome:
    """Demand a product on the wish list."""
    if case.values(
        "shopping", "SELECT 1 FROM wishlist_item WHERE customer_id = ? AND product_id = ?", ME, product["product_id"]
    ):
        raise UnclearError("the product is on the wish list already")
    return Outcome(changes=[added("shopping", "wishlist_item", customer_id=ME, product_id=product["product_id"])])


def cart_items(case: Case) -> list[dict[str, Any]]:
    query = "SELECT i.* FROM cart_item i JOIN cart USING (cart_id) WHERE customer_id = ?"
    return case.rows("shopping", query, ME)


def into_cart(case: Case, quantities: dict[int, int]) -> list[Demand]:
    """Demand pieces of products without options in the cart, beside what is there."""
    demands, there = [], {item["product_id"]: item for item in cart_items(case) if item["options"] == "{}"}
    for product, quantity in quantities.items():
        if product in there:
            total = there[product]["quantity"] + quantity
            demands.append(changed("shopping", "cart_item", there[product]["item_id"], quantity=total))
        else:
            demands.append(added("shopping", "cart_item", product_id=product, quantity=quantity, options="{}"))
    return demands


def day_of(text: str) -> str:
    return datetime.strptime(text, "%B %d, %Y").date().isoformat()


_NEEDS = {  # conditions on the lines of a product page
    r"with a warranty of more than two years, but less than five": ("Warranty", {"3 years", "4 years"}),
    r"with a warranty of exactly two years": ("Warranty", {"2 years"}),
    r"whose warranty is over after twelve months.*": ("Warranty", {"1 year"}),
    r"that the maker still has to replace if it breaks four years from now": ("Warranty", {"5 years"}),
    r"that keeps? for exactly a year": ("Shelf Life", {"12 months"}),
    r"that (?:may|can) go anywhere in the dishwasher": ("Dishwasher Safe", {"Yes"}),
    r"that I do not have to put together": ("Assembly", {"None needed"}),
    r"without any sugar in it": ("Sugar", {"None"}),
    r"that keeps? for a year and a half": ("Shelf Life", {"18 months"}),
    r"that I can simply throw into the washing machine": ("Care", {"Machine washable"}),
}


def cheapest_with(case: Case, category: str, need: str) -> dict[str, Any]:
    """Return the cheapest product of a category in stock that has a property."""
    needs = [meaning for pattern, meaning in _NEEDS.items() if re.fullmatch(pattern, need)]
    if match := re.fullmatch(r"that survives (\d+) degrees Fahrenheit in the oven", need):
        needs.append(("Oven Safe", {f"Up to {degrees} F" for degrees in range(int(match[1]), 1000)}))
    if match := re.fullmatch(r"made in (\w+)", need):
        needs.append(("Made In", {match[1]}))
    if match := re.fullmatch(r"made of ([\w ]+)", need):
        needs.append(("Material", {match[1].title()}))
    name, values = only(needs, f"meanings of {need!r}")
    fitting = []
    for product in products(case, f"c.name = ? AND {BUYABLE}", category):
        query = "SELECT value FROM product_attribute WHERE product_id = ? AND name = ?"
        if values & set(case.values("shopping", query, product["product_id"], name)):
            fitting.append(product)
    return cheapest(fitting)


def need_on_wish_list(case: Case) -> Outcome:
    """Wish for the cheapest product of a category in stock that has a property."""
    return wish(case, cheapest_with(case, case["category"], case["need"]))


def cart_from_wishes(case: Case) -> Outcome:
    """Put what is commented on the wish list into the cart as the comments say."""
    expected: dict[int, int] = {}
    patterns = (
        r"if sold out, the (.+) will do",
        r"should it be out of stock, take the (.+)",
        r"otherwise the (.+?), and if that is gone as well, the (.+)",
        r"instead: the (.+), but a single one is enough then",
    )
    query = "SELECT * FROM wishlist_item WHERE customer_id = ? AND comment != ''"
    for item in case.rows("shopping", query, ME):
        text, quantity = item["comment"], item["quantity"]
        if re.fullmatch(r"do not buy, .+ has got me one", text):
            continue
        names = [match.groups() for pattern in patterns if (match := re.fullmatch(pattern, text))]
        if not names and text not in ("this one or nothing", "green paper, please", "for the kitchen", "finally"):
            raise UnclearError(f"the comment {text!r}")
        own = only(products(case, "p.product_id = ?", item["product_id"]))
        for place, choice in enumerate([own, *(product_named(case, name) for group in names for name in group)]):
            if choice["is_in_stock"] and choice["quantity"] > 0 and choice["is_enabled"]:
                pieces = 1 if place and text.startswith("instead:") else quantity
                expected[choice["product_id"]] = expected.get(choice["product_id"], 0) + pieces
                break
        else:
            if not names and text != "this one or nothing":
                raise UnclearError(f"{own['name']} is sold out, and the comment is {text!r}")
    return Outcome(changes=into_cart(case, expected))


def _ordered_since(case: Case, since: str) -> list[dict[str, Any]]:
    """Return the items of the customer's orders since a day, canceled ones left out."""
    query = f"""SELECT i.*, o.created_at FROM order_item i JOIN sales_order o USING (order_id)
        WHERE customer_id = ? AND {CANCELED} AND date(o.created_at) >= ?"""
    return case.rows("shopping", query, ME, since)


def _simple_buyable(case: Case) -> dict[int, dict[str, Any]]:
    return {product["product_id"]: product for product in products(case, f"{BUYABLE} AND {NO_OPTIONS}")}


def cheaper_than_then(case: Case) -> Outcome:
    """Put one piece of each product into the cart that costs less today than in an order since a day."""
    available = _simple_buyable(case)
    cheaper = {
        item["product_id"]: 1
        for item in _ordered_since(case, day_of(case["day"]))
        if item["product_id"] in available and available[item["product_id"]]["today"] < item["price_cents"]
    }
    return Outcome(changes=into_cart(case, cheaper))


def bought_repeatedly(case: Case) -> Outcome:
    """Put one piece of each product into the cart that two orders or more have since a day."""
    orders: dict[int, set[int]] = {}
    for item in _ordered_since(case, day_of(case["day"])):
        orders.setdefault(item["product_id"], set()).add(item["order_id"])
    available = _simple_buyable(case)
    expected = {product: 1 for product, of in orders.items() if len(of) >= 2 and product in available}
    return Outcome(changes=into_cart(case, expected))


def _unit_price(case: Case, item: dict[str, Any]) -> int:
    """Return today's price of one piece of a cart item with its options, in cents."""
    product = only(products(case, "p.product_id = ?", item["product_id"]))
    deltas = 0
    for title, label in json.loads(item["options"]).items():
        query = """SELECT price_delta_cents FROM product_option_value JOIN product_option USING (option_id)
            WHERE product_id = ? AND title = ? AND label = ?"""
        deltas += case.value("shopping", query, item["product_id"], title, label)
    return int(product["today"]) + deltas


def top_up(case: Case) -> Outcome:
    """Add the one product of a category that brings the subtotal to a limit with the least excess."""
    subtotal = sum(_unit_price(case, item) * item["quantity"] for item in cart_items(case))
    candidates = [
        product
        for product in products(case, f"c.name = ? AND {BUYABLE} AND {NO_OPTIONS}", case["category"])
        if product["stars"] >= float(case["stars"]) and subtotal + product["today"] >= cents(case["limit"])
    ]
    best = cheapest(candidates)
    return Outcome(changes=into_cart(case, {best["product_id"]: 1}))


def well_reviewed_each(case: Case) -> Outcome:
    """Put the cheapest well reviewed product of each category into the cart."""
    expected = {}
    for category in re.split(r", | and (?=[^,]*$)", case["categories"]):
        fitting = products(case, f"c.name = ? AND {BUYABLE} AND {NO_OPTIONS} AND reviews >= ?", category, int(case["reviews"]))
        fitting = [product for product in fitting if product["stars"] >= float(case["stars"])]
        expected[cheapest(fitting)["product_id"]] = 1
    return Outcome(changes=into_cart(case, expected))


def wishes_on_sale(case: Case) -> Outcome:
    """Put one piece of each wish into the cart that is far enough below its regular price."""
    condition = f"""{BUYABLE} AND p.product_id IN (SELECT product_id FROM wishlist_item WHERE customer_id = ?)
        AND p.special_price_cents * 100 <= p.price_cents * (100 - ?)"""
    fitting = products(case, condition, ME, int(case["percent"]))
    return Outcome(changes=into_cart(case, {product["product_id"]: 1 for product in fitting}))


def sum_of_returns(case: Case) -> Outcome:
    """Add up what the shop's page on returns gives back for the customer's orders."""
    text = case.value("shopping", "SELECT content FROM cms_page WHERE title LIKE '%Returns%'")
    days = re.search(r"We take back what was ordered at most (\d+) days ago; the day of the order counts", text)
    least = re.search(r"Things that cost less than (\$[\d.,]+) a piece are not taken back", text)
    if not (days and least and "The order must be complete." in text and "without the shipping" in text):
        raise UnclearError(f"the page {text!r}")
    first = (case.today - timedelta(days=int(days[1]))).isoformat()
    query = """SELECT i.*, o.discount_cents FROM order_item i JOIN sales_order o USING (order_id)
        WHERE customer_id = ? AND status = 'complete' AND date(o.created_at) >= ? AND i.price_cents >= ?"""
    items = case.rows("shopping", query, ME, first, cents(least[1]))
    if any(item["discount_cents"] for item in items):
        raise UnclearError("the page does not tell what is paid back for an order with a coupon")
    return Outcome(sum(item["price_cents"] * (item["qty_ordered"] - item["qty_refunded"]) for item in items) / 100)


def order_despite_sold_out(case: Case) -> Outcome:
    """Order the cart, with sold out things replaced by the cheapest ones of their category."""
    outcome, lines = Outcome(), dict[int, int]()
    outcome.changes.append(removed("shopping", "cart", customer_id=ME))
    for item in cart_items(case):
        product = only(products(case, "p.product_id = ?", item["product_id"]))
        outcome.changes.append(removed("shopping", "cart_item", product_id=item["product_id"]))
        if not product["is_in_stock"] or product["quantity"] <= 0:
            condition = f"p.category_id = ? AND {BUYABLE} AND {NO_OPTIONS} AND p.quantity >= ?"
            product = cheapest(products(case, condition, product["category_id"], item["quantity"]))
        lines[product["product_id"]] = lines.get(product["product_id"], 0) + item["quantity"]
    bought = {number: only(products(case, "p.product_id = ?", number)) for number in lines}
    subtotal = sum(bought[number]["today"] * quantity for number, quantity in lines.items())
    order = {
        "customer_id": ME,
        "subtotal_cents": subtotal,
        "shipping_method": case["method"],
        "payment_method": case["payment"],
    }
    outcome.changes.append(added("shopping", "sales_order", **order))
    address = case.row("shopping", "SELECT * FROM customer_address WHERE customer_id = ? AND is_default_shipping", ME)
    for kind in ("billing", "shipping"):
        outcome.changes.append(added("shopping", "order_address", kind=kind, street=address["street"], city=address["city"]))
    for number, quantity in lines.items():
        item_of = {"product_id": number, "qty_ordered": quantity, "price_cents": bought[number]["today"]}
        outcome.changes.append(added("shopping", "order_item", **item_of))
        left = bought[number]["quantity"] - quantity
        outcome.changes.append(changed("shopping", "product", number, quantity=left))
    return outcome


def _lines(case: Case) -> dict[int, int]:
    """Return products and quantities of a list like "2 of the A and 1 of the B"."""
    found = re.findall(r"(\d+) of the (.+?)(?=, \d+ of the | and \d+ of the |$)", case["lines"])
    return {product_named(case, name)["product_id"]: int(quantity) for quantity, name in found}


def _subtotal(case: Case, lines: dict[int, int]) -> int:
    there = sum(_unit_price(case, item) * item["quantity"] for item in cart_items(case))
    return there + sum(only(products(case, "p.product_id = ?", number))["today"] * count for number, count in lines.items())


def _discount(case: Case, code: str, subtotal: int) -> int:
    """Return what a coupon takes off, in cents; 0 if it is not valid today."""
    query = """SELECT * FROM cart_rule WHERE upper(coupon_code) = upper(?) AND is_active
        AND (from_date IS NULL OR date(from_date) <= ?) AND (to_date IS NULL OR date(to_date) >= ?)"""
    today = case.today.isoformat()
    rules = case.rows("shopping", query, code, today, today)
    if not rules:
        return 0
    rule = only(rules)
    off = round(subtotal * rule["amount"] / 100) if rule["action"] == "by_percent" else rule["amount"]
    return min(int(off), subtotal)


def best_coupon(case: Case) -> Outcome:
    """Put things into the cart with the coupon that takes off most."""
    lines = _lines(case)
    subtotal = _subtotal(case, lines)
    discounts = {code: _discount(case, code, subtotal) for code in re.split(r", | and ", case["codes"])}
    best = only([code for code, off in discounts.items() if off == max(discounts.values())], "best coupons")
    cart = case.value("shopping", "SELECT cart_id FROM cart WHERE customer_id = ?", ME)
    return Outcome(changes=[*into_cart(case, lines), changed("shopping", "cart", cart, coupon_code=best)])


def within_budget(case: Case) -> Outcome:
    """Fill the cart and apply a coupon; without all pieces of one product if the order would cost more than a limit."""
    lines, extra = _lines(case), product_named(case, case["extra"])["product_id"]
    cart = case.row("shopping", "SELECT * FROM cart WHERE customer_id = ?", ME)
    there = cart_items(case)
    if extra not in lines or extra in {item["product_id"] for item in there}:
        raise UnclearError("what may be left out is not among what is wanted, or was in the cart before")
    for number, count in lines.items():
        if not products(case, f"p.product_id = ? AND {BUYABLE} AND p.quantity >= ?", number, count):
            return Outcome("N/A")
    subtotal = _subtotal(case, lines)
    discount = _discount(case, case["code"], subtotal)
    if not discount:
        return Outcome("N/A")
    config = dict(case.connect("shopping").execute("SELECT path, value FROM store_config").fetchall())
    pieces = sum(lines.values()) + sum(item["quantity"] for item in there)
    shipping = [cents(config["carriers/flatrate/price"]) * pieces, cents(config["carriers/tablerate/price"])]
    if subtotal - discount >= cents(config["carriers/freeshipping/free_shipping_subtotal"]):
        shipping.append(0)
    if subtotal - discount + min(shipping) > cents(case["limit"]):
        del lines[extra]
    changes = into_cart(case, lines)
    if cart["coupon_code"] != case["code"]:
        changes.append(changed("shopping", "cart", cart["cart_id"], coupon_code=case["code"]))
    return Outcome(changes=changes)


def is_called(noun: str, name: str) -> bool:
    """Return True if a noun is the last word of a product's name without its measures: a desk organizer is no desk."""
    return name.partition(",")[0].lower().rpartition(" ")[2] == noun.lower()


def review_of_bought(case: Case) -> Outcome:
    """Review the thing of some kind that was bought in a month."""
    month = datetime.strptime(case["month"], "%B %Y").strftime("%Y-%m")
    query = """SELECT DISTINCT i.product_id, i.name FROM order_item i JOIN sales_order o USING (order_id)
        WHERE customer_id = ? AND strftime('%Y-%m', o.created_at) = ?"""
    bought = {row["product_id"] for row in case.rows("shopping", query, ME, month) if is_called(case["noun"], row["name"])}
    product = only(bought, f"{case['noun']} bought in {case['month']}")
    rating = int(re.match(r"(\d) stars?", case["stars"])[1])
    review = {"product_id": product, "title": case["summary"], "detail": case["text"], "rating": rating}
    return Outcome(changes=[added("shopping", "review", customer_id=ME, **review)])


def _order(case: Case, number: str) -> dict[str, Any]:
    return case.row("shopping", "SELECT * FROM sales_order WHERE increment_id = ?", number)


def cart_as_ordered(case: Case) -> Outcome:
    """Make the cart equal to an order."""
    outcome, expected = Outcome(), dict[tuple[int, str], int]()
    for item in case.rows("shopping", "SELECT * FROM order_item WHERE order_id = ?", _order(case, case["number"])["order_id"]):
        key = item["product_id"], item["options"]
        expected[key] = expected.get(key, 0) + item["qty_ordered"]
    for item in cart_items(case):
        quantity = expected.pop((item["product_id"], item["options"]), 0)
        if not quantity:
            outcome.changes.append(removed("shopping", "cart_item", product_id=item["product_id"], options=item["options"]))
        elif quantity != item["quantity"]:
            outcome.changes.append(changed("shopping", "cart_item", item["item_id"], quantity=quantity))
    for (product, options), quantity in expected.items():
        outcome.changes.append(added("shopping", "cart_item", product_id=product, options=options, quantity=quantity))
    return outcome


def pieces_before(case: Case) -> Outcome:
    """Count the pieces ordered in the days before an order."""
    day = datetime.fromisoformat(_order(case, case["number"])["created_at"]).date()
    first = day - timedelta(days=int(case["days"]))
    query = f"""SELECT coalesce(sum(qty_ordered), 0) FROM order_item i JOIN sales_order o USING (order_id)
        WHERE customer_id = ? AND {CANCELED} AND date(o.created_at) >= ? AND date(o.created_at) < ?"""
    return Outcome(case.value("shopping", query, ME, first.isoformat(), day.isoformat()))


def order_by_memory(case: Case) -> Outcome:
    """Find the order with two things of some kind."""
    orders: dict[str, list[str]] = {}
    query = "SELECT increment_id, name FROM sales_order JOIN order_item USING (order_id) WHERE customer_id = ?"
    for row in case.rows("shopping", query, ME):
        orders.setdefault(row["increment_id"], []).append(row["name"])
    fitting = [
        number
        for number, names in orders.items()
        if any(
            is_called(case["first"], one) and is_called(case["second"], other)
            for place, one in enumerate(names)
            for other in names[:place] + names[place + 1 :]
        )
    ]
    return Outcome(str(only(fitting, "orders with both")))


ORACLES = {
    "hard.need_on_wish_list": need_on_wish_list,
    "hard.praise_in_description": need_on_wish_list,
    "hard.cart_from_wishes": cart_from_wishes,
    "hard.cheaper_than_then": cheaper_than_then,
    "hard.bought_repeatedly": bought_repeatedly,
    "hard.top_up": top_up,
    "hard.well_reviewed_each": well_reviewed_each,
    "hard.wishes_on_sale": wishes_on_sale,
    "hard.sum_of_returns": sum_of_returns,
    "hard.order_despite_sold_out": order_despite_sold_out,
    "hard.best_coupon": best_coupon,
    "hard.review_of_bought": review_of_bought,
    "hard.cart_as_ordered": cart_as_ordered,
    "hard.pieces_before": pieces_before,
    "hard.within_budget": within_budget,
    "hard.order_by_memory": order_by_memory,
}
