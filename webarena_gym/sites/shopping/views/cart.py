"""Cart and checkout of customers and guests, and a customer's reviews, wish list and product comparison."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.accounts import return_url
from webarena_gym.sites.kit.database import first, insert, row_or_404, update
from webarena_gym.sites.kit.forms import Field, Pager, clean, complaints, is_email, read, read_and_check, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.site import ID, current_customer, members_only, site

NO_QUANTITY = f"Please enter a whole number from 1 to {carts.MOST} as the quantity."


@site.get("/checkout/cart/")
def show_cart(request: Request) -> str:
    """Show the rows and totals of the cart."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    if not cart or not lines:
        return request.render("cart_empty.html")
    method = request.session.get("shipping_method")
    totals = carts.totals(request, cart, lines, method)
    rates = carts.rates(request, lines, totals.subtotal_cents - totals.discount_cents)
    return request.render("cart.html", lines=lines, totals=totals, rates=rates, method=method)


@site.post("/checkout/cart/add/")
def add_to_cart(request: Request) -> Response:
    """Add a product to the cart. Products with unselected options redirect to their page."""
    product = queries.product(request.db, whole_number(request.form.get("product"), 1, 10**9 - 1))
    if product is None:
        return request.redirect("/checkout/cart/", "We can't find that product.", "error")
    page = f"/{product['url_key']}.html"
    quantity = whole_number(request.form.get("qty", "1"), 1, carts.MOST)
    if quantity is None:
        return request.redirect(page, NO_QUANTITY, "error")
    prefix = "options["
    chosen = {key[len(prefix) : -1]: value for key, value in request.form.items() if key.startswith(prefix)}
    try:
        options = carts.chosen_options(request.db, product["product_id"], chosen)
        carts.add(request.db, carts.obtain(request), product, quantity, options)
    except carts.RefusedError as refusal:
        return request.redirect(page, str(refusal), "error")
    return request.redirect(return_url(request, page), f"You added {product['name']} to your shopping cart.")


@site.post("/checkout/cart/updatePost/")
def update_cart(request: Request) -> Response:
    """Change the quantities; 0 removes a row."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    quantities = {line.item_id: whole_number(request.form.get(f"qty[{line.item_id}]"), 0, carts.MOST) for line in lines}
    pieces: dict[int, int] = {}
    for line in lines:
        quantity = quantities[line.item_id]
        if quantity is None:
            return request.redirect("/checkout/cart/", NO_QUANTITY, "error")
        pieces[line.product_id] = pieces.get(line.product_id, 0) + quantity
        if quantity > line.quantity and pieces[line.product_id] > line.available:
            return request.redirect("/checkout/cart/", f"The requested quantity of {line.name} is not available.", "error")
    for item_id, quantity in quantities.items():
        request.db.execute("UPDATE cart_item SET quantity = ? WHERE item_id = ?", (quantity, item_id))
    request.db.execute("DELETE FROM cart_item WHERE quantity = 0")
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/delete/")
def delete_from_cart(request: Request) -> Response:
    """Remove a row from the cart."""
    cart = carts.find(request)
    if cart is not None:
        item_id = whole_number(request.form.get("item"), 1, 10**9 - 1)
        request.db.execute("DELETE FROM cart_item WHERE item_id = ? AND cart_id = ?", (item_id, cart["cart_id"]))
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/couponPost/")
def coupon(request: Request) -> Response:
    """Apply a coupon code, or remove the applied one."""
    cart = carts.find(request)
    if cart is None:
        return redirect("/checkout/cart/")
    if request.form.get("remove") == "1":
        request.db.execute("UPDATE cart SET coupon_code = NULL WHERE cart_id = ?", (cart["cart_id"],))
        return request.redirect("/checkout/cart/", "You canceled the coupon code.")
    coupon_code = clean(request.form.get("coupon_code", ""))[:255]
    rules = carts.rules_in_force(request.db, request.now, coupon_code) if coupon_code else []
    code = next((rule["coupon_code"] for rule in rules if rule["coupon_code"]), None)  # as the rule spells it
    if code is None:
        request.flash(f'The coupon code "{coupon_code}" is not valid.', "error")
    else:
        request.db.execute("UPDATE cart SET coupon_code = ? WHERE cart_id = ?", (code, cart["cart_id"]))
        request.flash(f'You used coupon code "{code}".')
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/estimatePost/")
def estimate(request: Request) -> Response:
    """Store the shipping method for the totals."""
    request.session["shipping_method"] = clean(request.form.get("shipping_method", ""))[:255]
    return redirect("/checkout/cart/")


def _content(request: Request, method: str | None) -> tuple[list[carts.CartLine], carts.Totals]:
    """Return the content of an order. Raises RefusedError if there is none or if the stock is too small."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    if cart is None or not lines:
        raise carts.RefusedError("You have no items in your shopping cart.")
    carts.check_stock(lines)
    return lines, carts.totals(request, cart, lines, method)


@site.form("/checkout/")
def shipping(request: Request) -> str | Response:
    """Store the shipping address and method for the next step."""
    customer, method = current_customer(request), clean(request.form.get("shipping_method", ""))
    try:
        lines, totals = _content(request, method)
    except carts.RefusedError as refusal:
        return request.redirect("/checkout/cart/", str(refusal), "error")
    rates = carts.rates(request, lines, totals.subtotal_cents - totals.discount_cents)
    book = queries.addresses(request.db, customer["customer_id"]) if customer else []
    chosen = whole_number(request.form.get("address_id"), 1, 10**9 - 1)
    checkout, errors = request.session.get("checkout", {}), list[str]()
    values = dict.fromkeys(carts.ADDRESS, "") | {"country": queries.country(request.db)} | checkout.get("address", {})
    email = checkout.get("email", "")
    if request.method == "POST":
        email = customer["email"] if customer else clean(request.form.get("email", ""))
        address = next((row for row in book if row["address_id"] == chosen), None)
        values = {name: address[name] for name in carts.ADDRESS} if address else read(request, carts.ADDRESS)
        errors = [] if is_email(email) else ["Please enter a valid email address, for example name@domain.com."]
        if address is None and book and "firstname" not in request.form:
            errors.append("Please select a shipping address.")
        elif address is None:
            errors += complaints(values, carts.ADDRESS)
        if method not in rates:
            errors.append("Please select a shipping method.")
        if not errors:
            is_new = customer is not None and address is None
            is_to_be_saved = is_new and request.form.get("save_in_address_book") == "1"
            request.session["shipping_method"] = method
            request.session["checkout"] = {"email": email, "address": values, "is_to_be_saved": is_to_be_saved}
            return redirect("/checkout/payment/")
    wants_new = request.args.get("address") == "new"
    request.shows({"address": "new" if wants_new else None})
    book = [] if wants_new else book
    usual = next((row for row in book if row["is_default_shipping"]), book[0] if book else None)
    return request.render(
        "checkout.html",
        customer=customer,
        email=email,
        book=book,
        chosen=chosen or (usual and usual["address_id"]),
        fields=carts.ADDRESS,
        values=values,
        rates=rates,
        method=request.form.get("shipping_method") or request.session.get("shipping_method"),
        errors=errors,
    )


@site.form("/checkout/payment/")
def payment(request: Request) -> str | Response:
    """Place the order."""
    checkout, method = request.session.get("checkout"), request.session.get("shipping_method")
    try:
        lines, totals = _content(request, method)
    except carts.RefusedError as refusal:
        return request.redirect("/checkout/cart/", str(refusal), "error")
    if checkout is None or totals.shipping_cents is None or method is None:
        return redirect("/checkout/")
    billing, errors, chosen = None, list[str](), clean(request.form.get("payment_method", ""))
    if request.method == "POST":
        errors = [] if chosen in carts.PAYMENT_METHODS else ["Please select a payment method."]
        if request.form.get("billing_same_as_shipping") != "1":
            billing, is_asked = read(request, carts.ADDRESS), "firstname" in request.form
            errors += complaints(billing, carts.ADDRESS) if is_asked else ["Please enter the billing address."]
            billing["country"] = billing["country"] if is_asked else queries.country(request.db)
        if not errors:
            address = checkout["address"]
            if checkout["is_to_be_saved"]:
                defaults = {"is_default_billing": False, "is_default_shipping": False}
                carts.save_address(request.db, request.session["customer_id"], address, defaults)
            addresses = {"billing": billing or address, "shipping": address}
            how = {"shipping_method": method, "payment_method": chosen}
            request.session["last_order"] = carts.place(
                request, lines, totals, email=checkout["email"], addresses=addresses, **how
            )
            for name in ("checkout", "shipping_method"):
                request.session.pop(name)
            return redirect("/checkout/onepage/success/")
    return request.render(
        "payment.html",
        address=checkout["address"],
        method=method,
        lines=lines,
        totals=totals,
        payment_methods=carts.PAYMENT_METHODS,
        chosen=request.form.get("payment_method") or carts.PAYMENT_METHODS[0],
        fields=carts.ADDRESS,
        billing=billing,
        errors=errors,
    )


@site.get("/checkout/onepage/success/")
def success(request: Request) -> str | Response:
    """Show the confirmation of the latest order in this session."""
    number = request.session.get("last_order")
    if number is None:
        return redirect("/checkout/cart/")
    query = "SELECT order_id, customer_id, customer_email FROM sales_order WHERE increment_id = ?"
    return request.render("success.html", number=number, order=first(request.db, query, (number,)))


PER_PAGE = 10
FIELDS = {"nickname": Field("Nickname", limit=128), "title": Field("Summary"), "detail": Field("Review", limit=20_000)}


@site.form(f"/review/product/list/id/<{ID}:product_id>/")
def write_review(request: Request, product_id: int) -> str | Response:
    """Store a review, which needs approval."""
    product, customer = queries.product(request.db, product_id), current_customer(request)
    if product is None:
        raise NotFound
    values, errors, rating = dict.fromkeys(FIELDS, ""), list[str](), None
    values["nickname"] = customer["firstname"] if customer else ""
    if request.method == "POST":
        rating = whole_number(request.form.get("rating"), 1, 5)
        values, errors = read_and_check(request, FIELDS)
        if rating is None:
            errors.insert(0, "Please select a rating of 1 to 5 stars.")
        if not errors:
            row = {**values, "rating": rating, "status": "Pending", "created_at": request.stamp}
            insert(request.db, "review", product_id=product_id, customer_id=customer and customer["customer_id"], **row)
            return request.redirect(f"/{product['url_key']}.html", "You submitted your review for moderation.")
    pager = Pager.of(request, product["review_count"], PER_PAGE)
    query = """SELECT * FROM review WHERE product_id = ? AND status = 'Approved'
        ORDER BY created_at DESC, review_id DESC LIMIT ? OFFSET ?"""
    page = {"reviews": request.db.execute(query, (product_id, pager.limit, pager.first)).fetchall(), "pager": pager}
    return request.render("reviews.html", product=product, values=values, rating=rating, errors=errors, **page)


_REVIEWS = "SELECT r.*, p.name, p.url_key FROM review r JOIN product p USING (product_id) WHERE r.customer_id = ?"


@site.get("/review/customer/", members_only)
def own_reviews(request: Request, customer: sqlite3.Row) -> str:
    """Show the customer's reviews."""
    query = f"{_REVIEWS} ORDER BY r.created_at DESC, r.review_id DESC"
    reviews = request.db.execute(query, (customer["customer_id"],)).fetchall()
    pager = Pager.of(request, len(reviews), PER_PAGE)
    return request.render("own_reviews.html", reviews=pager.cut(reviews), pager=pager)


@site.get(f"/review/customer/view/id/<{ID}:review_id>/", members_only)
def own_review(request: Request, customer: sqlite3.Row, review_id: int) -> str:
    """Show a review of the customer."""
    review = row_or_404(request.db, f"{_REVIEWS} AND r.review_id = ?", (customer["customer_id"], review_id))
    return request.render("own_review.html", review=review)


LONGEST = 1000  # characters of a comment


@site.get("/wishlist/", members_only)
def wish_list(request: Request, customer: sqlite3.Row) -> str:
    """Show the wish list."""
    return request.render("wishlist.html", items=_items(request.db, customer["customer_id"]))


def _items(db: sqlite3.Connection, customer_id: int) -> list[sqlite3.Row]:
    query = f"""
        SELECT w.*, p.name, p.url_key, {queries.FINAL_PRICE} AS final_cents, p.is_in_stock AND p.quantity > 0 AS is_salable
        FROM wishlist_item w JOIN product p USING (product_id)
        WHERE w.customer_id = ? AND p.is_enabled ORDER BY w.item_id
        """
    return db.execute(query, (customer_id,)).fetchall()


def _posted_item(request: Request, customer: sqlite3.Row) -> sqlite3.Row | None:
    """Return the item of the customer's wish list that the posted form names."""
    item_id = whole_number(request.form.get("item"), 1, 10**9 - 1)
    return next((item for item in _items(request.db, customer["customer_id"]) if item["item_id"] == item_id), None)


@site.post("/wishlist/index/add/")
def add_to_wish_list(request: Request) -> Response:
    """Add a product to the wish list, after a login if necessary."""
    product = queries.product(request.db, whole_number(request.form.get("product"), 1, 10**9 - 1))
    if product is None:
        return request.redirect("/wishlist/", "We can't find that product.", "error")
    customer = current_customer(request)
    if customer is None:
        request.session["after_login"] = f"/{product['url_key']}.html"
        return request.redirect(
            "/customer/account/login/", "You must sign in or create an account to add items to your wish list.", "error"
        )
    request.db.execute(
        """
        INSERT INTO wishlist_item (customer_id, product_id, quantity, added_at) VALUES (?, ?, 1, ?)
        ON CONFLICT (customer_id, product_id) DO UPDATE SET quantity = quantity + 1
        """,
        (customer["customer_id"], product["product_id"], request.stamp),
    )
    return request.redirect(return_url(request, "/wishlist/"), f"{product['name']} has been added to your Wish List.")


@site.post("/wishlist/index/update/", members_only)
def update_wish_list(request: Request, customer: sqlite3.Row) -> Response:
    """Change quantities and comments."""
    complaint = f"the quantity must be 1 to {carts.MOST}, the comment {LONGEST} characters at most"
    refused = False
    for item in _items(request.db, customer["customer_id"]):
        quantity = whole_number(request.form.get(f"qty[{item['item_id']}]"), 1, carts.MOST)
        comment = clean(request.form.get(f"description[{item['item_id']}]", ""))
        if quantity is None or len(comment) > LONGEST:
            refused = True
            request.flash(f"{item['name']}: {complaint}.", "error")
        else:
            update(request.db, "wishlist_item", "item_id", item["item_id"], quantity=quantity, comment=comment)
    if not refused:
        request.flash("Your Wish List has been updated.")
    return redirect("/wishlist/")


@site.post("/wishlist/index/remove/", members_only)
def remove_from_wish_list(request: Request, customer: sqlite3.Row) -> Response:
    """Remove an item from the wish list."""
    item = _posted_item(request, customer)
    if item is None:
        return redirect("/wishlist/")
    request.db.execute("DELETE FROM wishlist_item WHERE item_id = ?", (item["item_id"],))
    return request.redirect("/wishlist/", f"{item['name']} has been removed from your Wish List.")


@site.post("/wishlist/index/cart/", members_only)
def to_cart(request: Request, customer: sqlite3.Row) -> Response:
    """Move an item to the cart. Products with unselected options redirect to their page."""
    item = _posted_item(request, customer)
    return redirect("/wishlist/" if item is None or _move(request, item) else f"/{item['url_key']}.html")


@site.post("/wishlist/index/allcart/", members_only)
def all_to_cart(request: Request, customer: sqlite3.Row) -> Response:
    """Move all items to the cart that need no options."""
    moved = [_move(request, item) for item in _items(request.db, customer["customer_id"])]
    return redirect("/checkout/cart/" if any(moved) else "/wishlist/")


def _move(request: Request, item: sqlite3.Row) -> bool:
    """Move an item from the wish list to the cart. Return True if that was possible."""
    product = queries.product(request.db, item["product_id"])
    assert product is not None
    try:
        options = carts.chosen_options(request.db, item["product_id"], {})
        carts.add(request.db, carts.obtain(request), product, item["quantity"], options)
    except carts.RefusedError as refusal:
        request.flash(str(refusal), "error")
        return False
    request.db.execute("DELETE FROM wishlist_item WHERE item_id = ?", (item["item_id"],))
    request.flash(f"You added {item['name']} to your shopping cart.")
    return True


@site.get("/catalog/product_compare/")
@site.get("/catalog/product_compare/index/")
def compare(request: Request) -> str:
    """Show the compared products as columns of a table."""
    db = request.db
    chosen = db.execute("SELECT product_id FROM compare_item WHERE session_id = ? ORDER BY item_id", (request.session_id,))
    products = [product for (product_id,) in chosen.fetchall() if (product := queries.product(db, product_id)) is not None]
    ids = [product["product_id"] for product in products]
    query = f"SELECT * FROM product_attribute WHERE product_id IN ({queries.marks(ids)}) ORDER BY position, name"
    values: dict[str, dict[int, str]] = {}
    for row in db.execute(query, ids):
        values.setdefault(row["name"], {})[row["product_id"]] = row["value"]
    return request.render("compare.html", products=products, values=values)


@site.post("/catalog/product_compare/add/")
def add_to_compare(request: Request) -> Response:
    """Add a product to the comparison."""
    product = queries.product(request.db, whole_number(request.form.get("product"), 1, 10**9 - 1))
    if product is None:
        return request.redirect("/catalog/product_compare/", "We can't find that product.", "error")
    request.db.execute(
        "INSERT OR IGNORE INTO compare_item (session_id, product_id) VALUES (?, ?)", (request.session_id, product["product_id"])
    )
    return request.redirect(
        return_url(request, "/catalog/product_compare/"), f"You added product {product['name']} to the comparison list."
    )


@site.post("/catalog/product_compare/<any(remove, clear):change>/")
def remove_from_compare(request: Request, change: str) -> Response:
    """Remove a product, or all products, from the comparison."""
    query, notice = "DELETE FROM compare_item WHERE session_id = :session", "cleared the comparison list"
    if change == "remove":
        query, notice = f"{query} AND product_id = :product", "removed a product from the comparison list"
    product_id = whole_number(request.form.get("product"), 1, 10**9 - 1)
    request.db.execute(query, {"session": request.session_id, "product": product_id})
    return request.redirect("/catalog/product_compare/", f"You {notice}.")
