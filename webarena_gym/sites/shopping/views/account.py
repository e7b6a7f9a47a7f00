"""Accounts with their data, address book, newsletter and orders, the orders of guests, and the shop's text pages."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from webarena_gym.sites.kit.accounts import return_url, sign_in_page
from webarena_gym.sites.kit.database import first, insert, row_or_404, update
from webarena_gym.sites.kit.forms import (
    EMAIL,
    PASSWORD,
    Aside,
    Field,
    FormPage,
    Pager,
    clean,
    is_email,
    password_complaints,
    read_and_check,
    whole_number,
)
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.carts import ADDRESS, RefusedError, save_address
from webarena_gym.sites.shopping.site import ID, current_customer, members_only, site


def is_subscribed(db: sqlite3.Connection, email: str) -> bool:
    """Return True if the address is subscribed to the newsletter."""
    query = "SELECT 1 FROM newsletter_subscriber WHERE email = ? COLLATE NOCASE AND status = 'Subscribed'"
    return first(db, query, (email,)) is not None


def subscribe(request: Request, email: str, customer_id: int | None) -> None:
    """Subscribe an address to the newsletter."""
    request.db.execute("DELETE FROM newsletter_subscriber WHERE email = ? COLLATE NOCASE", (email,))
    row = {"email": email, "customer_id": customer_id, "status": "Subscribed", "created_at": request.stamp}
    insert(request.db, "newsletter_subscriber", **row)


@site.post("/newsletter/subscriber/new/")
def new_subscriber(request: Request) -> Response:
    """Subscribe the address typed in the footer."""
    email = clean(request.form.get("email", ""))
    if not is_email(email):
        request.flash("Please enter a valid email address, for example name@domain.com.", "error")
    elif is_subscribed(request.db, email):
        request.flash("This email address is already subscribed.", "error")
    else:
        customer = current_customer(request)
        is_own = customer is not None and customer["email"].lower() == email.lower()
        subscribe(request, email, customer["customer_id"] if customer is not None and is_own else None)
        request.flash("Thank you for your subscription.")
    return redirect(return_url(request, "/"))


@site.form("/newsletter/manage/", members_only)
def manage(request: Request, customer: sqlite3.Row) -> str | Response:
    """Subscribe or unsubscribe the customer; the address remains stored as unsubscribed."""
    email, present = customer["email"], is_subscribed(request.db, customer["email"])
    if request.method != "POST":
        return request.render("newsletter.html", is_subscribed=present)
    is_wanted = request.form.get("is_subscribed") == "1"
    if is_wanted and not present:
        subscribe(request, email, customer["customer_id"])
        request.flash("We have saved your subscription.")
    elif present and not is_wanted:
        query = "UPDATE newsletter_subscriber SET status = 'Unsubscribed' WHERE email = ? COLLATE NOCASE"
        request.db.execute(query, (email,))
        request.flash("We have removed your newsletter subscription.")
    return redirect("/customer/account/")


LOGIN = FormPage(
    title="Customer Login",
    action="/customer/account/login/",
    fields={"email": Field("Email", autocomplete="email"), "password": PASSWORD},
    button="Sign In",
    aside=Aside("New here?", "/customer/account/create/", "Create an Account"),
)
NAMES = {"firstname": Field("First Name"), "lastname": Field("Last Name"), "email": EMAIL}
NEW_PASSWORD = {"password": Field("Password", limit=128), "password_confirmation": Field("Confirm Password", limit=128)}


def _welcome(request: Request, customer_id: int, home: str = "/customer/account/") -> Response:
    request.session.pop("checkout", None)
    carts.merge(request, customer_id)
    return redirect(request.session.pop("after_login", home))


WRONG, HOME = "The email or the password is not correct. Please try again.", "/customer/account/"
sign_in_page(site, LOGIN, current_customer, "email = :email COLLATE NOCASE", WRONG, HOME, table="customer", enter=_welcome)


@site.get("/customer/account/logout/")
def logout(request: Request) -> Response:
    """Sign out."""
    if request.session.pop("customer_id", None) is not None:
        request.session.clear()
        request.flash("You are signed out.")
    return redirect("/")


@site.form("/customer/account/create/")
def create(request: Request) -> str | Response:
    """Create an account and sign in."""
    values, errors = dict.fromkeys(NAMES, ""), list[str]()
    if request.method == "POST":
        values, errors = read_and_check(request, NAMES | NEW_PASSWORD)
        errors = errors or password_complaints(values)
        if not errors and _is_taken(request.db, values["email"], None):
            errors = ["There is already an account with this email address."]
        if not errors:
            row = {name: values[name] for name in (*NAMES, "password")}
            customer_id = insert(request.db, "customer", created_at=request.stamp, **row)
            if request.form.get("is_subscribed") == "1":
                subscribe(request, values["email"], customer_id)
            name = queries.config(request.db, "general/store_information/name", "our shop")
            request.flash(f"Thank you for registering with {name}.")
            return _welcome(request, customer_id)
    return request.render("create_account.html", values=values, errors=errors)


def _is_taken(db: sqlite3.Connection, email: str, customer_id: int | None) -> bool:
    query = "SELECT 1 FROM customer WHERE email = ? COLLATE NOCASE AND customer_id IS NOT ?"
    return first(db, query, (email, customer_id)) is not None


_ORDERS = """SELECT o.*, a.firstname || ' ' || a.lastname AS ship_to
    FROM sales_order o LEFT JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'shipping' WHERE o.customer_id = ?"""


@site.get("/customer/account/", members_only)
def dashboard(request: Request, customer: sqlite3.Row) -> str:
    """Show an overview of the account."""
    orders = request.db.execute(f"{_ORDERS} ORDER BY o.order_id DESC LIMIT 5", (customer["customer_id"],)).fetchall()
    book = queries.addresses(request.db, customer["customer_id"])
    defaults = {
        kind: next((address for address in book if address[f"is_default_{kind}"]), None) for kind in ("billing", "shipping")
    }
    present = is_subscribed(request.db, customer["email"])
    return request.render("account.html", customer=customer, orders=orders, is_subscribed=present, **defaults)


@site.form("/customer/account/edit/", members_only)
def edit(request: Request, customer: sqlite3.Row) -> str | Response:
    """Change name, email or password. Changes of the latter two require the current password."""
    values, errors = dict(customer), list[str]()
    if request.method == "POST":
        optional = {name: Field(field.label, required=False, limit=field.limit) for name, field in NEW_PASSWORD.items()}
        values, errors = read_and_check(
            request, NAMES | optional | {"current_password": Field("Current Password", required=False)}
        )
        is_new_password = bool(values["password"] or values["password_confirmation"])
        if is_new_password:
            errors += password_complaints(values)
        is_guarded = is_new_password or values["email"] != customer["email"]
        if is_guarded and values["current_password"] != customer["password"]:
            errors.append("The current password is not correct. It is needed to change the email or the password.")
        if not errors and _is_taken(request.db, values["email"], customer["customer_id"]):
            errors = ["There is already an account with this email address."]
        if not errors:
            row = {name: values[name] for name in (*NAMES, *(["password"] if is_new_password else []))}
            update(request.db, "customer", "customer_id", customer["customer_id"], **row)
            query = "UPDATE OR REPLACE newsletter_subscriber SET email = ? WHERE email = ?"
            request.db.execute(query, (values["email"], customer["email"]))
            return request.redirect("/customer/account/", "You saved the account information.")
    return request.render("account_edit.html", values=values, errors=errors)


DEFAULTS = ("is_default_billing", "is_default_shipping")


@site.get("/customer/address/", members_only)
def book(request: Request, customer: sqlite3.Row) -> str:
    """Show the address book."""
    return request.render("addresses.html", addresses=queries.addresses(request.db, customer["customer_id"]))


@site.form("/customer/address/new/", members_only)
@site.form(f"/customer/address/edit/id/<{ID}:address_id>/", members_only)
def save_own_address(request: Request, customer: sqlite3.Row, address_id: int = 0) -> str | Response:
    """Add or change an address of the book."""
    names = {"firstname": customer["firstname"], "lastname": customer["lastname"], "country": queries.country(request.db)}
    values: Mapping[str, str] = (
        dict(_own_address(request, customer, address_id)) if address_id else dict.fromkeys(ADDRESS, "") | names
    )
    defaults, errors = {name: bool(values.get(name)) for name in DEFAULTS}, list[str]()
    if request.method == "POST":
        values, errors = read_and_check(request, ADDRESS)
        defaults = {name: request.form.get(name) == "1" for name in DEFAULTS}
        if not errors:
            save_address(request.db, customer["customer_id"], values, defaults, address_id)
            return request.redirect("/customer/address/", "You saved the address.")
    return request.render("address_form.html", fields=ADDRESS, values=values, defaults=defaults, errors=errors)


@site.post("/customer/address/delete/", members_only)
def delete(request: Request, customer: sqlite3.Row) -> Response:
    """Delete an address of the book, except a default one."""
    address_id = whole_number(request.form.get("id"), 1, 10**9 - 1) or 0
    address = _own_address(request, customer, address_id)
    if any(address[name] for name in DEFAULTS):
        request.flash("A default address cannot be deleted.", "error")
    else:
        request.db.execute("DELETE FROM customer_address WHERE address_id = ?", (address_id,))
        request.flash("You deleted the address.")
    return redirect("/customer/address/")


def _own_address(request: Request, customer: sqlite3.Row, address_id: int) -> sqlite3.Row:
    query = "SELECT * FROM customer_address WHERE address_id = ? AND customer_id = ?"
    return row_or_404(request.db, query, (address_id, customer["customer_id"]))


PER_PAGE = 10
LOOKUP = FormPage(
    title="Orders and Returns",
    action="/sales/guest/form/",
    fields={"order_number": Field("Order ID", limit=32), "lastname": Field("Billing Last Name"), "email": Field("Email")},
    button="Continue",
)


@site.get("/sales/order/history/", members_only)
def history(request: Request, customer: sqlite3.Row) -> str:
    """Show the customer's orders, newest first."""
    query = f"{_ORDERS} ORDER BY o.created_at DESC, o.order_id DESC"
    orders = request.db.execute(query, (customer["customer_id"],)).fetchall()
    pager = Pager.of(request, len(orders), PER_PAGE)
    return request.render("orders.html", orders=pager.cut(orders), pager=pager)


@site.get(f"/sales/order/<any(view, invoice, shipment, creditmemo):tab>/order_id/<{ID}:order_id>/", members_only)
def order(request: Request, customer: sqlite3.Row, tab: str, order_id: int) -> str:
    """Show a tab of an order of the customer."""
    return _page(request, _own_order(request, customer, order_id), tab, "/sales/order/{}/order_id/" + f"{order_id}/")


def _own_order(request: Request, customer: sqlite3.Row, order_id: int | None) -> sqlite3.Row:
    query = "SELECT * FROM sales_order WHERE order_id = ? AND customer_id = ?"
    return row_or_404(request.db, query, (order_id, customer["customer_id"]))


def _page(request: Request, order: sqlite3.Row, tab: str, address: str) -> str:
    """Return a tab of an order; `address` is the pattern of the tabs' URLs."""
    db, order_id = request.db, order["order_id"]
    labels = {"invoice": "Invoices", "shipment": "Order Shipments", "creditmemo": "Refunds"}
    documents = "SELECT * FROM {} WHERE order_id = ? ORDER BY increment_id"
    tracks = "SELECT t.* FROM shipment_track t JOIN shipment USING (shipment_id) WHERE order_id = ? ORDER BY track_id"
    comments = "SELECT * FROM order_comment WHERE order_id = ? AND is_visible_on_front ORDER BY comment_id"
    return request.render(
        "order.html",
        order=order,
        tab=tab,
        address=address,
        tabs={name: (label, db.execute(documents.format(name), (order_id,)).fetchall()) for name, label in labels.items()},
        tracks=db.execute(tracks, (order_id,)).fetchall(),
        comments=db.execute(comments, (order_id,)).fetchall(),
        items=queries.order_items(db, order_id),
        addresses={row["kind"]: row for row in db.execute("SELECT * FROM order_address WHERE order_id = ?", (order_id,))},
    )


@site.post("/sales/order/reorder/", members_only)
def reorder(request: Request, customer: sqlite3.Row) -> Response:
    """Add the items of an order to the cart again, as far as they are available."""
    own_order = _own_order(request, customer, whole_number(request.form.get("order_id"), 1, 10**9 - 1))
    for item in queries.order_items(request.db, own_order["order_id"]):
        try:
            _add_again(request, item)
        except RefusedError as refusal:
            request.flash(str(refusal), "error")
    return redirect("/checkout/cart/")


def _add_again(request: Request, item: dict[str, Any]) -> None:
    product = queries.product(request.db, item["product_id"])
    if product is None:
        raise RefusedError(f"{item['name']} is no longer for sale.")
    chosen = {
        str(row["option_id"]): str(row["value_id"])
        for row in queries.options(request.db, [product["product_id"]])
        if item["options"].get(row["title"]) == row["label"]
    }
    options = carts.chosen_options(request.db, product["product_id"], chosen)
    carts.add(request.db, carts.obtain(request), product, item["qty_ordered"], options)


site.get("/sales/guest/form/")(LOOKUP.render)


@site.post("/sales/guest/form/")
def lookup(request: Request) -> str | Response:
    """Find an order by number, name and email, and show it in this session."""
    values, errors = read_and_check(request, LOOKUP.fields)
    query = """SELECT o.order_id FROM sales_order o JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'billing'
        WHERE o.increment_id = ? AND a.lastname = ? COLLATE NOCASE AND o.customer_email = ? COLLATE NOCASE"""
    number = values["order_number"].lstrip("#").strip().zfill(9)
    row = first(request.db, query, (number, values["lastname"], values["email"]))
    if row is None:
        return LOOKUP.render(request, values, errors or ["You entered incorrect data. Please try again."])
    request.session["guest_order"] = row["order_id"]
    return redirect("/sales/guest/view/")


@site.get("/sales/guest/<any(view, invoice, shipment, creditmemo):tab>/")
def guest_order(request: Request, tab: str) -> str | Response:
    """Show the order found by `lookup`."""
    row = first(request.db, "SELECT * FROM sales_order WHERE order_id = ?", (request.session.get("guest_order"),))
    return redirect("/sales/guest/form/") if row is None else _page(request, row, tab, "/sales/guest/{}/")


CONTACT = FormPage(
    title="Contact Us",
    action="/contact/",
    fields={
        "name": Field("Name"),
        "email": EMAIL,
        "telephone": Field("Phone Number", required=False, limit=64),
        "comment": Field("What's on your mind?", limit=20_000, type="area"),
    },
    button="Submit",
)


@site.form("/contact/")
def contact(request: Request) -> str | Response:
    """Store a message to the shop."""
    if request.method != "POST":
        customer = current_customer(request)
        known = {"name": f"{customer['firstname']} {customer['lastname']}", "email": customer["email"]} if customer else {}
        return CONTACT.render(request, known)
    values, errors = read_and_check(request, CONTACT.fields)
    if errors:
        return CONTACT.render(request, values, errors)
    insert(request.db, "contact_message", created_at=request.stamp, **values)
    return request.redirect("/contact/", "Thanks for contacting us with your comments and questions. We will answer very soon.")


@site.get("/<url_key>/")
def text_page(request: Request, url_key: str) -> str:
    """Show a text page of the shop."""
    page = row_or_404(request.db, "SELECT * FROM cms_page WHERE url_key = ? AND is_enabled", (url_key,))
    query = "SELECT title, url_key FROM cms_page WHERE is_enabled AND url_key NOT IN ('home', 'no-route', ?) ORDER BY page_id"
    return request.render("text_page.html", page=page, others=request.db.execute(query, (url_key,)).fetchall())
