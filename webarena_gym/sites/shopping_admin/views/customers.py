"""Customers: the list, one customer's account, addresses and orders, and the moderation of reviews."""

import sqlite3
from dataclasses import replace

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.database import insert, update
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping_admin.grids import Column, Form, Grid, Link, back_to, selected, show
from webarena_gym.sites.shopping_admin.site import is_taken, members_only, one, site
from webarena_gym.sites.shopping_admin.views.orders import GRID as ORDERS
from webarena_gym.sites.shopping_admin.views.orders import ORDER_URL as ORDER_URL

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
        Column("ID", "id", "c.customer_id", "id"), Column("Name", "name", NAME), Column("Email", "email", "c.email"),
        Column("Group", "group", "c.group_name", "choice", GROUPS), Column("Phone", "phone", "a.telephone"),
        Column("ZIP", "zip", "a.postcode"), Column("Country", "country", "a.country"),
        Column("State/Province", "region", "a.region"), Column("Customer Since", "created_at", "c.created_at", "date"),
    ),
    order="id",
    keyword=(NAME, "c.email", "a.telephone", "a.postcode"),
    row_link=Link("Edit", EDIT_URL),
    add=Link("Add New Customer", "/admin/customer/index/new/"),
)  # fmt: skip
TABS = {"view": "Customer View", "account": "Account Information", "addresses": "Addresses"}


@site.get(LIST_URL, members_only)
def customers(request: Request) -> str:
    """The list of customers."""
    return show(request, GRID)


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


@site.get("/admin/customer/index/orders/id/<int:customer_id>/", members_only)
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


@site.form("/admin/customer/index/edit/id/<int:customer_id>/", members_only)
def save_customer(request: Request, customer_id: int) -> str | Response:
    """Change a customer's account; the subscription to the newsletter moves with the e-mail address."""
    if request.method != "POST":
        tab = request.args.get("tab", "view")
        if tab not in TABS:
            raise NotFound
        row = one(request.db, "SELECT * FROM customer WHERE customer_id = ?", customer_id)
        request.shows({"tab": None if tab == "view" else tab})
        return _page(request, row, tab, {name: row[name] for name in ("firstname", "lastname", "email", "group_name")})
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


@site.form("/admin/customer/index/new/", members_only)
def create_customer(request: Request) -> str | Response:
    """Add a customer."""
    if request.method != "POST":
        return _new_page(request, {})
    form = Form(request)
    values = _read(request, form, GROUPS, None)
    password = form.text("password", "Password")
    if form.show_errors():
        return _new_page(request, request.form.to_dict())
    insert(request.db, "customer", password=password, created_at=str(request.now), **values)
    return request.redirect(LIST_URL, "You saved the customer.")


@site.post("/admin/customer/index/delete/id/<int:customer_id>/", members_only)
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


FIELDS = {
    "firstname": "First Name", "lastname": "Last Name", "company": "Company", "street": "Street Address", "city": "City",
    "region": "State/Province", "postcode": "ZIP", "country": "Country", "telephone": "Phone Number",
}  # fmt: skip
CUSTOMER_URL = "/admin/customer/index/edit/id/{}/?tab=addresses"


def _read_address(form: Form) -> dict[str, str]:
    """Values of the form; its errors say what is missing."""
    return {name: form.text(name, label, required=name != "company") for name, label in FIELDS.items()}


def _address_page(
    request: Request, title: str, section: str, back: str, typed: dict[str, str], defaults: dict[str, bool]
) -> str:
    return request.render(
        "address.html", title=title, section=section, fields=FIELDS, back=back, typed=typed, defaults=defaults
    )


@site.form("/admin/sales/order/address/order_id/<int:order_id>/<any(billing, shipping):kind>/", members_only)
def save_order_address(request: Request, order_id: int, kind: str) -> str | Response:
    """Change an order's billing or shipping address."""
    if request.method != "POST":
        row = one(request.db, "SELECT * FROM order_address WHERE order_id = ? AND kind = ?", order_id, kind)
        return _address_page(request, f"Edit {kind.title()} Address", "Sales", ORDER_URL.format(order_id), dict(row), {})
    one(request.db, "SELECT 1 FROM order_address WHERE order_id = ? AND kind = ?", order_id, kind)
    form = Form(request)
    values = _read_address(form)
    if form.show_errors():
        return _address_page(
            request, f"Edit {kind.title()} Address", "Sales", ORDER_URL.format(order_id), request.form.to_dict(), {}
        )
    changes = ", ".join(f"{name} = ?" for name in values)
    request.db.execute(
        f"UPDATE order_address SET {changes} WHERE order_id = ? AND kind = ?", (*values.values(), order_id, kind)
    )
    return request.redirect(ORDER_URL.format(order_id), "You updated the order address.")


def _save(request: Request, customer_id: int, address_id: int | None) -> str | Response:
    """Store a customer's address; an address that becomes a default takes the place of the one before."""
    form, back = Form(request), CUSTOMER_URL.format(customer_id)
    values = _read_address(form)
    defaults = {kind: form.is_ticked(kind) for kind in ("billing", "shipping")}
    if form.show_errors():
        return _address_page(request, "Edit Address", "Customers", back, request.form.to_dict(), defaults)
    for kind, is_default in defaults.items():
        if is_default:
            update(request.db, "customer_address", "customer_id", customer_id, **{f"is_default_{kind}": 0})
    columns = {**values, **{f"is_default_{kind}": is_default for kind, is_default in defaults.items()}}
    if address_id is None:
        insert(request.db, "customer_address", customer_id=customer_id, **columns)
    else:
        update(request.db, "customer_address", "address_id", address_id, **columns)
    return request.redirect(back, "The customer address was saved.")


@site.form("/admin/customer/address/edit/id/<int:address_id>/", members_only)
def save_customer_address(request: Request, address_id: int) -> str | Response:
    """Change a customer's address."""
    if request.method != "POST":
        row = one(request.db, "SELECT * FROM customer_address WHERE address_id = ?", address_id)
        defaults = {kind: bool(row[f"is_default_{kind}"]) for kind in ("billing", "shipping")}
        return _address_page(request, "Edit Address", "Customers", CUSTOMER_URL.format(row["customer_id"]), dict(row), defaults)
    row = one(request.db, "SELECT customer_id FROM customer_address WHERE address_id = ?", address_id)
    return _save(request, row["customer_id"], address_id)


@site.form("/admin/customer/address/new/customer_id/<int:customer_id>/", members_only)
def create_customer_address(request: Request, customer_id: int) -> str | Response:
    """Add an address to a customer."""
    if request.method != "POST":
        row = one(request.db, "SELECT firstname, lastname FROM customer WHERE customer_id = ?", customer_id)
        typed = dict.fromkeys(FIELDS, "") | dict(row) | {"country": queries.country(request.db)}
        back = CUSTOMER_URL.format(customer_id)
        return _address_page(request, "Add New Address", "Customers", back, typed, {"billing": False, "shipping": False})
    one(request.db, "SELECT 1 FROM customer WHERE customer_id = ?", customer_id)
    return _save(request, customer_id, None)


@site.post("/admin/customer/address/delete/id/<int:address_id>/", members_only)
def delete_customer_address(request: Request, address_id: int) -> Response:
    """Delete a customer's address."""
    row = one(request.db, "SELECT customer_id FROM customer_address WHERE address_id = ?", address_id)
    request.db.execute("DELETE FROM customer_address WHERE address_id = ?", (address_id,))
    return request.redirect(CUSTOMER_URL.format(row["customer_id"]), "The customer address was deleted.")


REVIEWS_URL = "/admin/review/product/index/"
STATUSES = {name: name for name in ("Approved", "Pending", "Not Approved")}
RATINGS = {"1": "1 star"} | {str(stars): f"{stars} stars" for stars in range(2, 6)}
REVIEW_GRID = Grid(
    title="Reviews",
    section="Marketing",
    source="review r JOIN product p USING (product_id)",
    key="r.review_id",
    columns=(
        Column("ID", "id", "r.review_id", "id"), Column("Created", "created_at", "r.created_at", "date"),
        Column("Status", "status", "r.status", "choice", STATUSES), Column("Title", "title", "r.title"),
        Column("Nickname", "nickname", "r.nickname"), Column("Review", "detail", "r.detail"),
        Column("Rating", "rating", "CAST(r.rating AS TEXT)", "choice", RATINGS), Column("Product", "name", "p.name"),
        Column("SKU", "sku", "p.sku"), Column("Product ID", "product_id", "p.product_id", "id", is_shown=False),
    ),
    order="-created_at",
    keyword=("r.title", "r.nickname", "r.detail", "p.name", "p.sku"),
    row_link=Link("Edit", "/admin/review/product/edit/id/{}/"),
    actions={"delete": "Delete"} | {status: f"Update Status to {status}" for status in STATUSES},
    action_url="/admin/review/product/mass/",
)  # fmt: skip


@site.get(REVIEWS_URL, members_only)
def reviews(request: Request) -> str:
    """The list of all reviews."""
    return show(request, REVIEW_GRID)


@site.get("/admin/review/product/pending/", members_only)
def pending_reviews(request: Request) -> str:
    """The list of reviews that wait for a decision."""
    return show(request, replace(REVIEW_GRID, title="Pending Reviews"), "r.status = 'Pending'")


def _find(request: Request, review_id: int) -> sqlite3.Row:
    return one(
        request.db,
        """SELECT r.*, p.name, c.email FROM review r JOIN product p USING (product_id)
           LEFT JOIN customer c ON c.customer_id = r.customer_id WHERE review_id = ?""",
        review_id,
    )


def _review_page(request: Request, row: sqlite3.Row, typed: dict[str, str]) -> str:
    return request.render(
        "review.html", title="Edit Review", section="Marketing", row=row, typed=typed, statuses=STATUSES, ratings=RATINGS
    )


@site.form("/admin/review/product/edit/id/<int:review_id>/", members_only)
def save_review(request: Request, review_id: int) -> str | Response:
    """Change a review."""
    if request.method != "POST":
        row = _find(request, review_id)
        return _review_page(
            request, row, {name: str(row[name]) for name in ("status", "rating", "nickname", "title", "detail")}
        )
    row, form = _find(request, review_id), Form(request)
    values = {
        "status": form.choice("status", "Status", STATUSES),
        "rating": form.choice("rating", "Rating", RATINGS),
        "nickname": form.text("nickname", "Nickname", limit=128),
        "title": form.text("title", "Summary of Review"),
        "detail": form.text("detail", "Review", limit=10000, lines=True),
    }
    if form.show_errors():
        return _review_page(request, row, request.form.to_dict())
    update(request.db, "review", "review_id", review_id, **values)
    return request.redirect(REVIEWS_URL, "You saved the review.")


@site.post("/admin/review/product/delete/id/<int:review_id>/", members_only)
def delete_review(request: Request, review_id: int) -> Response:
    """Delete a review."""
    _find(request, review_id)
    request.db.execute("DELETE FROM review WHERE review_id = ?", (review_id,))
    return request.redirect(REVIEWS_URL, "The review has been deleted.")


@site.post("/admin/review/product/mass/", members_only)
def change_reviews(request: Request) -> Response:
    """Delete all ticked reviews, or set their status."""
    ids, action = selected(request), request.form.get("action", "")
    if action not in REVIEW_GRID.actions or not ids:
        request.flash("Please choose an action." if ids else "Please select review(s).", "error")
    else:
        change = "DELETE FROM review" if action == "delete" else "UPDATE review SET status = ?2"
        values = [(review_id, action)[: 1 if action == "delete" else 2] for review_id in ids]
        count = request.db.executemany(f"{change} WHERE review_id = ?1", values).rowcount
        request.flash(f"A total of {count} record(s) have been {'deleted' if action == 'delete' else 'updated'}.")
    return back_to(request, REVIEWS_URL)
