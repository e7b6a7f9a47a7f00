"""Customers: the list, and one customer's account, addresses and orders."""

import sqlite3
from dataclasses import replace

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping_admin.base import get, post
from webarena_gym.sites.shopping_admin.fields import Form
from webarena_gym.sites.shopping_admin.grids import Column, Grid, Link, show
from webarena_gym.sites.shopping_admin.queries import insert, is_taken, one, update
from webarena_gym.sites.shopping_admin.views.orders import GRID as ORDERS

LIST_URL = "/admin/customer/index/"
EDIT_URL = "/admin/customer/index/edit/id/{}/"
GROUPS = {name: name for name in ("General", "Wholesale", "Retailer")}
NAME = "c.firstname || ' ' || c.lastname"
GRID = Grid(
    title="Customers",
    section="Customers",
    source="customer c LEFT JOIN customer_address a ON a.customer_id = c.customer_id AND a.is_default_billing",
    key="c.customer_id",
    columns=(
        Column("ID", "id", "c.customer_id", "id"),
        Column("Name", "name", NAME),
        Column("Email", "email", "c.email"),
        Column("Group", "group", "c.group_name", "choice", GROUPS),
        Column("Phone", "phone", "a.telephone"),
        Column("ZIP", "zip", "a.postcode"),
        Column("Country", "country", "a.country"),
        Column("State/Province", "region", "a.region"),
        Column("Customer Since", "created_at", "c.created_at", "date"),
    ),
    order="id",
    keyword=(NAME, "c.email", "a.telephone", "a.postcode"),
    row_link=Link("Edit", EDIT_URL),
    add=Link("Add New Customer", "/admin/customer/index/new/"),
)
TABS = {"view": "Customer View", "account": "Account Information", "addresses": "Addresses"}


@get(LIST_URL)
def customers(request: Request) -> str:
    """The list of customers."""
    return show(request, GRID)


@get("/admin/customer/index/edit/id/<int:customer_id>/")
def customer(request: Request, customer_id: int) -> str:
    """One customer: an overview, the account's form or the addresses, by tab."""
    tab = request.args.get("tab", "view")
    if tab not in TABS:
        raise NotFound
    row = one(request.db, "SELECT * FROM customer WHERE customer_id = ?", customer_id)
    request.shows({"tab": None if tab == "view" else tab})
    return _page(request, row, tab, {name: row[name] for name in ("firstname", "lastname", "email", "group_name")})


def _page(request: Request, row: sqlite3.Row, tab: str, typed: dict[str, str]) -> str:
    db, customer_id = request.db, row["customer_id"]
    addresses = db.execute("SELECT * FROM customer_address WHERE customer_id = ? ORDER BY address_id", (customer_id,))
    return request.render(
        "customer.html",
        title=f"{row['firstname']} {row['lastname']}",
        section="Customers",
        row=row,
        tab=tab,
        tabs=TABS,
        typed=typed,
        groups=GROUPS | {row["group_name"]: row["group_name"]},
        addresses=addresses.fetchall(),
        sums=one(
            db,
            """SELECT count(*) AS orders, coalesce(sum(grand_total_cents), 0) AS total, max(created_at) AS latest,
                      (SELECT status FROM newsletter_subscriber s WHERE s.email = ?2) AS newsletter
               FROM sales_order WHERE customer_id = ?1 AND status != 'canceled'""",
            customer_id,
            row["email"],
        ),
    )


@get("/admin/customer/index/orders/id/<int:customer_id>/")
def customer_orders(request: Request, customer_id: int) -> str:
    """The orders of one customer."""
    row = one(request.db, "SELECT firstname, lastname FROM customer WHERE customer_id = ?", customer_id)
    grid = replace(ORDERS, title=f"Orders of {row['firstname']} {row['lastname']}", section="Customers")
    return show(request, grid, "o.customer_id = ?", (customer_id,), (Link("Back", EDIT_URL.format(customer_id)),))


def _read(request: Request, form: Form, groups: dict[str, str], customer_id: int | None) -> dict[str, str]:
    """The columns of the table that the account form holds; what is wrong collects in its errors."""
    values = {
        "firstname": form.text("firstname", "First Name", limit=60),
        "lastname": form.text("lastname", "Last Name", limit=60),
        "email": form.email("email", "Email"),
        "group_name": form.choice("group_name", "Group", groups),
    }
    if is_taken(request.db, "customer", "email", values["email"], customer_id):
        form.errors.append("A customer with the same email address already exists.")
    return values


@post("/admin/customer/index/edit/id/<int:customer_id>/")
def save_customer(request: Request, customer_id: int) -> str | Response:
    """Change a customer's account; the subscription to the newsletter moves with the e-mail address."""
    row, form = one(request.db, "SELECT * FROM customer WHERE customer_id = ?", customer_id), Form(request)
    values = _read(request, form, GROUPS | {row["group_name"]: row["group_name"]}, customer_id)
    if form.show_errors():
        return _page(request, row, "account", request.form.to_dict())
    update(request.db, "customer", "customer_id", customer_id, **values)
    request.db.execute(
        "UPDATE OR REPLACE newsletter_subscriber SET email = ? WHERE customer_id = ?", (values["email"], customer_id)
    )
    return request.redirect(LIST_URL, "You saved the customer.")


def _new_page(request: Request, typed: dict[str, str]) -> str:
    return request.render("new_customer.html", title="New Customer", section="Customers", typed=typed, groups=GROUPS)


@get("/admin/customer/index/new/")
def new_customer(request: Request) -> str:
    """The form for a new customer."""
    return _new_page(request, {})


@post("/admin/customer/index/new/")
def create_customer(request: Request) -> str | Response:
    """Add a customer."""
    form = Form(request)
    values = _read(request, form, GROUPS, None)
    password = form.text("password", "Password")
    if form.show_errors():
        return _new_page(request, request.form.to_dict())
    insert(request.db, "customer", password=password, created_at=str(request.now), **values)
    return request.redirect(LIST_URL, "You saved the customer.")


@post("/admin/customer/index/delete/id/<int:customer_id>/")
def delete_customer(request: Request, customer_id: int) -> Response:
    """Delete a customer; orders and reviews stay, as a guest's."""
    db = request.db
    one(db, "SELECT 1 FROM customer WHERE customer_id = ?", customer_id)
    db.execute("DELETE FROM cart_item WHERE cart_id IN (SELECT cart_id FROM cart WHERE customer_id = ?)", (customer_id,))
    for table in ("cart", "wishlist_item", "customer_address", "newsletter_subscriber", "customer"):
        db.execute(f"DELETE FROM {table} WHERE customer_id = ?", (customer_id,))
    for table in ("sales_order", "review"):
        update(db, table, "customer_id", customer_id, customer_id=None)
    db.execute("UPDATE session SET data = '{}' WHERE json_extract(data, '$.customer_id') = ?", (customer_id,))
    return request.redirect(LIST_URL, "You deleted the customer.")
