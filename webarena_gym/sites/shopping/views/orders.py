"""Orders of customers and guests, ordering again, and the pages of the shop's own texts with the contact form."""

import sqlite3
from typing import Any

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import EMAIL, Field, FormPage, Pager, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.carts import RefusedError
from webarena_gym.sites.shopping.site import ID, current_customer, members_only, site

PER_PAGE = 10
LOOKUP = FormPage(
    title="Orders and Returns",
    action="/sales/guest/form/",
    fields={"order_number": Field("Order ID", limit=32), "lastname": Field("Billing Last Name"), "email": Field("Email")},
    button="Continue",
)


@site.get("/sales/order/history/", members_only)
def history(request: Request, customer: sqlite3.Row) -> str:
    """Show the customer's orders, the newest first."""
    (total,) = request.db.execute(
        "SELECT count(*) FROM sales_order WHERE customer_id = ?", (customer["customer_id"],)
    ).fetchone()
    pager = Pager.of(request, total, PER_PAGE)
    orders = request.db.execute(
        """
        SELECT o.*, a.firstname || ' ' || a.lastname AS ship_to
        FROM sales_order o LEFT JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'shipping'
        WHERE o.customer_id = ? ORDER BY o.created_at DESC, o.order_id DESC LIMIT ? OFFSET ?
        """,
        (customer["customer_id"], pager.limit, pager.first),
    ).fetchall()
    return request.render("orders.html", orders=orders, pager=pager)


@site.get(f"/sales/order/<any(view, invoice, shipment, creditmemo):tab>/order_id/<{ID}:order_id>/", members_only)
def order(request: Request, customer: sqlite3.Row, tab: str, order_id: int) -> str:
    """Show one order of the customer's: its items, or one of its other tabs."""
    return _page(request, _own(request, customer, order_id), tab, "/sales/order/{}/order_id/" + f"{order_id}/")


def _own(request: Request, customer: sqlite3.Row, order_id: int | None) -> sqlite3.Row:
    return one(
        request.db, "SELECT * FROM sales_order WHERE order_id = ? AND customer_id = ?", (order_id, customer["customer_id"])
    )


def _page(request: Request, found: sqlite3.Row, tab: str, address: str) -> str:
    """Render one tab of an order; `address` is the pattern of the tabs' URLs."""
    order_id = found["order_id"]
    tabs: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "invoice": ("Invoices", _documents(request.db, "invoice", order_id)),
        "shipment": ("Order Shipments", _documents(request.db, "shipment", order_id)),
        "creditmemo": ("Refunds", _documents(request.db, "creditmemo", order_id)),
    }
    tracks = request.db.execute(
        "SELECT t.* FROM shipment_track t JOIN shipment USING (shipment_id) WHERE order_id = ? ORDER BY track_id", (order_id,)
    ).fetchall()
    comments = request.db.execute(
        "SELECT * FROM order_comment WHERE order_id = ? AND is_visible_on_front ORDER BY comment_id", (order_id,)
    ).fetchall()
    return request.render(
        "order.html",
        order=found,
        tab=tab,
        address=address,
        tabs=tabs,
        tracks=tracks,
        comments=comments,
        items=queries.order_items(request.db, order_id),
        addresses=queries.order_addresses(request.db, order_id),
    )


def _documents(db: sqlite3.Connection, table: str, order_id: int) -> list[dict[str, Any]]:
    return [dict(row) for row in db.execute(f"SELECT * FROM {table} WHERE order_id = ? ORDER BY increment_id", (order_id,))]


@site.post("/sales/order/reorder/", members_only)
def reorder(request: Request, customer: sqlite3.Row) -> Response:
    """Put what an order held into the cart once more, as far as it is to be had."""
    found = _own(request, customer, whole_number(request.form.get("order_id"), 1, 10**9 - 1))
    for item in queries.order_items(request.db, found["order_id"]):
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


site.get("/sales/guest/form/")(LOOKUP.show)


@site.post("/sales/guest/form/")
def lookup(request: Request) -> str | Response:
    """Find an order by number, name and email, and show it from now on in this session."""
    values, errors = LOOKUP.read(request)
    row = request.db.execute(
        """
        SELECT o.order_id FROM sales_order o JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'billing'
        WHERE o.increment_id = ? AND a.lastname = ? COLLATE NOCASE AND o.customer_email = ? COLLATE NOCASE
        """,
        (values["order_number"].lstrip("#").strip().zfill(9), values["lastname"], values["email"]),
    ).fetchone()
    if row is None:
        return LOOKUP.show(request, values, errors or ["You entered incorrect data. Please try again."])
    request.session["guest_order"] = row["order_id"]
    return redirect("/sales/guest/view/")


@site.get("/sales/guest/<any(view, invoice, shipment, creditmemo):tab>/")
def guest_order(request: Request, tab: str) -> str | Response:
    """Show the order that was found by `lookup`."""
    row = request.db.execute("SELECT * FROM sales_order WHERE order_id = ?", (request.session.get("guest_order"),)).fetchone()
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
    """Keep the message for the shop's people."""
    if request.method != "POST":
        customer = current_customer(request)
        if customer is None:
            return CONTACT.show(request)
        return CONTACT.show(request, {"name": f"{customer['firstname']} {customer['lastname']}", "email": customer["email"]})
    values, errors = CONTACT.read(request)
    if errors:
        return CONTACT.show(request, values, errors)
    request.db.execute(
        "INSERT INTO contact_message (name, email, telephone, comment, created_at) VALUES (?, ?, ?, ?, ?)",
        (*values.values(), request.stamp),
    )
    return request.redirect("/contact/", "Thanks for contacting us with your comments and questions. We will answer very soon.")


@site.get("/<url_key>/")
def text_page(request: Request, url_key: str) -> str:
    """Show one of the shop's pages of text."""
    page = one(request.db, "SELECT * FROM cms_page WHERE url_key = ? AND is_enabled", (url_key,))
    others = request.db.execute(
        "SELECT title, url_key FROM cms_page WHERE is_enabled AND url_key NOT IN ('home', 'no-route', ?) ORDER BY page_id",
        (url_key,),
    ).fetchall()
    return request.render("text_page.html", page=page, others=others)
