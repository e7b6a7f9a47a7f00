"""The cart, its coupons and shipping estimate, and the checkout of customers and guests."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from webarena_gym.sites.kit.accounts import return_url
from webarena_gym.sites.kit.forms import clean, complaints, is_email, read, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.carts import (
    ADDRESS,
    PAYMENT_METHODS,
    Line,
    RefusedError,
    Totals,
    check_stock,
    place,
    save_address,
    valid_coupon,
)
from webarena_gym.sites.shopping.site import current_customer, site

NO_QUANTITY = f"Please enter a whole number from 1 to {carts.MOST} as the quantity."


@site.get("/checkout/cart/")
def show(request: Request) -> str:
    """Show what lies in the cart, and what it comes to."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    if not cart or not lines:
        return request.render("cart_empty.html")
    method = request.session.get("shipping_method")
    totals = carts.totals(request, cart, lines, method)
    rates = carts.rates(request, lines, totals.subtotal_cents - totals.discount_cents)
    return request.render("cart.html", lines=lines, totals=totals, rates=rates, method=method)


@site.post("/checkout/cart/add/")
def add(request: Request) -> Response:
    """Put a product into the cart; who has to choose options first is sent to the product."""
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
    except RefusedError as refusal:
        return request.redirect(page, str(refusal), "error")
    return request.redirect(return_url(request, page), f"You added {product['name']} to your shopping cart.")


@site.post("/checkout/cart/updatePost/")
def update(request: Request) -> Response:
    """Change the quantities; a quantity of 0 takes the row out."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    wanted = {line.item_id: whole_number(request.form.get(f"qty[{line.item_id}]"), 0, carts.MOST) for line in lines}
    pieces: dict[int, int] = {}
    for line in lines:
        quantity = wanted[line.item_id]
        if quantity is None:
            return request.redirect("/checkout/cart/", NO_QUANTITY, "error")
        pieces[line.product_id] = pieces.get(line.product_id, 0) + quantity
        if quantity > line.quantity and pieces[line.product_id] > line.available:
            return request.redirect("/checkout/cart/", f"The requested quantity of {line.name} is not available.", "error")
    for item_id, quantity in wanted.items():
        request.db.execute("UPDATE cart_item SET quantity = ? WHERE item_id = ?", (quantity, item_id))
    request.db.execute("DELETE FROM cart_item WHERE quantity = 0")
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/delete/")
def delete(request: Request) -> Response:
    """Take one row out of the cart."""
    cart = carts.find(request)
    if cart is not None:
        item_id = whole_number(request.form.get("item"), 1, 10**9 - 1)
        request.db.execute("DELETE FROM cart_item WHERE item_id = ? AND cart_id = ?", (item_id, cart["cart_id"]))
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/couponPost/")
def coupon(request: Request) -> Response:
    """Apply a coupon code, or cancel the one applied."""
    cart = carts.find(request)
    if cart is None:
        return redirect("/checkout/cart/")
    if request.form.get("remove") == "1":
        request.db.execute("UPDATE cart SET coupon_code = NULL WHERE cart_id = ?", (cart["cart_id"],))
        return request.redirect("/checkout/cart/", "You canceled the coupon code.")
    wanted = clean(request.form.get("coupon_code", ""))[:255]
    code = valid_coupon(request.db, request.now, wanted) if wanted else None
    if code is None:
        request.flash(f'The coupon code "{wanted}" is not valid.', "error")
    else:
        request.db.execute("UPDATE cart SET coupon_code = ? WHERE cart_id = ?", (code, cart["cart_id"]))
        request.flash(f'You used coupon code "{code}".')
    return redirect("/checkout/cart/")


@site.post("/checkout/cart/estimatePost/")
def estimate(request: Request) -> Response:
    """Keep the shipping method in mind that the totals should reckon with."""
    request.session["shipping_method"] = clean(request.form.get("shipping_method", ""))[:255]
    return redirect("/checkout/cart/")


def _content(request: Request, method: str | None) -> tuple[list[Line], Totals]:
    """Return what is to be ordered. Raises RefusedError when there is nothing, or more than the shop has."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    if cart is None or not lines:
        raise RefusedError("You have no items in your shopping cart.")
    check_stock(lines)
    return lines, carts.totals(request, cart, lines, method)


def _back_to_cart(request: Request, refusal: RefusedError) -> Response:
    return request.redirect("/checkout/cart/", str(refusal), "error")


@site.form("/checkout/")
def shipping(request: Request) -> str | Response:
    """Keep where to ship, and how, for the next step."""
    if request.method != "POST":
        kept = request.session.get("checkout", {})
        values = dict.fromkeys(ADDRESS, "") | {"country": queries.country(request.db)} | kept.get("address", {})
        return _shipping_page(request, values, kept.get("email", ""), [])
    customer = current_customer(request)
    email = customer["email"] if customer else clean(request.form.get("email", ""))
    method = clean(request.form.get("shipping_method", ""))
    try:
        lines, totals = _content(request, method)
    except RefusedError as refusal:
        return _back_to_cart(request, refusal)
    book = _book(request, customer)
    chosen = whole_number(request.form.get("address_id"), 1, 10**9 - 1)
    address = next((row for row in book if row["address_id"] == chosen), None)
    values = {name: address[name] for name in ADDRESS} if address else read(request, ADDRESS)
    errors = [] if is_email(email) else ["Please enter a valid email address, for example name@domain.com."]
    if address is None and book and "firstname" not in request.form:
        errors.append("Please select a shipping address.")
    elif address is None:
        errors += complaints(values, ADDRESS)
    if method not in carts.rates(request, lines, totals.subtotal_cents - totals.discount_cents):
        errors.append("Please select a shipping method.")
    if errors:
        return _shipping_page(request, values, email, errors)
    request.session["shipping_method"] = method
    request.session["checkout"] = {
        "email": email,
        "address": values,
        "is_to_be_saved": customer is not None and address is None and request.form.get("save_in_address_book") == "1",
    }
    return redirect("/checkout/payment/")


def _book(request: Request, customer: sqlite3.Row | None) -> list[sqlite3.Row]:
    return queries.addresses(request.db, customer["customer_id"]) if customer else []


def _shipping_page(request: Request, values: Mapping[str, str], email: str, errors: list[str]) -> str | Response:
    method = request.form.get("shipping_method") or request.session.get("shipping_method")
    try:
        lines, totals = _content(request, method)
    except RefusedError as refusal:
        return _back_to_cart(request, refusal)
    customer = current_customer(request)
    wants_new = request.args.get("address") == "new"
    request.shows({"address": "new" if wants_new else None})
    book = [] if wants_new else _book(request, customer)
    usual = next((row for row in book if row["is_default_shipping"]), book[0] if book else None)
    return request.render(
        "checkout.html",
        customer=customer,
        email=email,
        book=book,
        chosen=whole_number(request.form.get("address_id"), 1, 10**9 - 1) or (usual and usual["address_id"]),
        fields=ADDRESS,
        values=values,
        rates=carts.rates(request, lines, totals.subtotal_cents - totals.discount_cents),
        method=method,
        errors=errors,
    )


@site.form("/checkout/payment/")
def payment(request: Request) -> str | Response:
    """Place the order."""
    if request.method != "POST":
        return _payment_page(request, None, [])
    kept: dict[str, Any] | None = request.session.get("checkout")
    method = request.session.get("shipping_method")
    try:
        lines, totals = _content(request, method)
    except RefusedError as refusal:
        return _back_to_cart(request, refusal)
    if kept is None or totals.shipping_cents is None or method is None:
        return redirect("/checkout/")
    payment_method = clean(request.form.get("payment_method", ""))
    errors = [] if payment_method in PAYMENT_METHODS else ["Please select a payment method."]
    billing = None if request.form.get("billing_same_as_shipping") == "1" else read(request, ADDRESS)
    if billing is not None:
        is_asked = "firstname" in request.form
        errors += complaints(billing, ADDRESS) if is_asked else ["Please enter the billing address."]
        billing["country"] = billing["country"] if is_asked else queries.country(request.db)
    if errors:
        return _payment_page(request, billing, errors)
    if kept["is_to_be_saved"]:
        save_address(
            request.db,
            request.session["customer_id"],
            kept["address"],
            {"is_default_billing": False, "is_default_shipping": False},
        )
    number = place(
        request,
        lines,
        totals,
        email=kept["email"],
        addresses={"billing": billing or kept["address"], "shipping": kept["address"]},
        shipping_method=method,
        payment_method=payment_method,
    )
    for name in ("checkout", "shipping_method"):
        request.session.pop(name)
    request.session["last_order"] = number
    return redirect("/checkout/onepage/success/")


def _payment_page(request: Request, billing: Mapping[str, str] | None, errors: list[str]) -> str | Response:
    kept, method = request.session.get("checkout"), request.session.get("shipping_method")
    try:
        lines, totals = _content(request, method)
    except RefusedError as refusal:
        return _back_to_cart(request, refusal)
    if kept is None or totals.shipping_cents is None:
        return redirect("/checkout/")
    return request.render(
        "payment.html",
        address=kept["address"],
        method=method,
        lines=lines,
        totals=totals,
        payment_methods=PAYMENT_METHODS,
        chosen=request.form.get("payment_method") or PAYMENT_METHODS[0],
        fields=ADDRESS,
        billing=billing,
        errors=errors,
    )


@site.get("/checkout/onepage/success/")
def success(request: Request) -> str | Response:
    """Thank for the order placed last in this session."""
    number = request.session.get("last_order")
    if number is None:
        return redirect("/checkout/cart/")
    row = request.db.execute(
        "SELECT order_id, customer_id, customer_email FROM sales_order WHERE increment_id = ?", (number,)
    ).fetchone()
    return request.render("success.html", number=number, order=row)
