"""Checkout in two steps: where and how to ship, then payment and the order itself."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from webarena_gym.sites.kit.forms import clean, complaints, is_email, read, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping import carts, pricing, queries
from webarena_gym.sites.shopping.addressing import ADDRESS, save_address
from webarena_gym.sites.shopping.base import current_customer, site
from webarena_gym.sites.shopping.carts import Line
from webarena_gym.sites.shopping.forms import RefusedError
from webarena_gym.sites.shopping.ordering import PAYMENT_METHODS, check_stock, place


def _content(request: Request, method: str | None) -> tuple[list[Line], pricing.Totals]:
    """Return what is to be ordered. Raises RefusedError when there is nothing, or more than the shop has."""
    cart = carts.find(request)
    lines = carts.lines(request.db, cart["cart_id"]) if cart else []
    if cart is None or not lines:
        raise RefusedError("You have no items in your shopping cart.")
    check_stock(lines)
    return lines, carts.totals(request, cart, lines, method)


def _back_to_cart(request: Request, refusal: RefusedError) -> Response:
    return request.redirect("/checkout/cart/", str(refusal), "error")


@site.get("/checkout/")
def shipping_form(request: Request) -> str | Response:
    """Ask where to ship, and how."""
    kept = request.session.get("checkout", {})
    values = dict.fromkeys(ADDRESS, "") | {"country": queries.country(request.db)} | kept.get("address", {})
    return _shipping_page(request, values, kept.get("email", ""), [])


@site.post("/checkout/")
def shipping(request: Request) -> str | Response:
    """Keep where to ship, and how, for the next step."""
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


@site.get("/checkout/payment/")
def payment_form(request: Request) -> str | Response:
    """Show what will be ordered, and ask how it will be paid."""
    return _payment_page(request, None, [])


@site.post("/checkout/payment/")
def payment(request: Request) -> str | Response:
    """Place the order."""
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
