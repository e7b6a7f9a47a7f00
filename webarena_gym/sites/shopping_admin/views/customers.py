"""Customers: the list, one customer's account, addresses and orders, and the moderation of reviews."""

from dataclasses import replace
from functools import partial
from typing import Any

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.database import insert, update
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping_admin import grids
from webarena_gym.sites.shopping_admin.grids import LISTS
from webarena_gym.sites.shopping_admin.site import is_taken, members_only, record_or_404, site, store
from webarena_gym.sites.shopping_admin.views.orders import ORDER_URL as ORDER_URL

LIST_URL = "/admin/customer/index/"
EDIT_URL = "/admin/customer/index/edit/id/{}/"
GROUPS = LISTS["customers"].choices("group")
TABS = {"view": "Customer View", "account": "Account Information", "addresses": "Addresses"}


site.get(LIST_URL, members_only)(partial(grids.render_grid, grid=LISTS["customers"]))


@site.get("/admin/customer/index/orders/id/<int:customer_id>/", members_only)
def customer_orders(request: Request, customer_id: int) -> str:
    """The orders of one customer."""
    row = record_or_404(request.db, "SELECT firstname, lastname FROM customer WHERE customer_id = ?", customer_id)
    grid = replace(LISTS["orders"], title=f"Orders of {row['firstname']} {row['lastname']}", section="Customers")
    return grids.render_grid(
        request, grid, "o.customer_id = ?", (customer_id,), (grids.Link("Back", EDIT_URL.format(customer_id)),)
    )


def _read(request: Request, form: grids.Form, groups: dict[str, str], customer_id: int | None) -> dict[str, str]:
    """Return the columns of the account form; error messages are in the form's `errors`."""
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
    """Change a customer's account; a newsletter subscription moves to the new email address."""
    db, tab = request.db, request.args.get("tab", "view")
    if request.method != "POST" and tab not in TABS:
        raise NotFound
    row = record_or_404(db, "SELECT * FROM customer WHERE customer_id = ?", customer_id)
    groups, typed = GROUPS | {row["group_name"]: row["group_name"]}, dict(row)
    if request.method == "POST":
        form = grids.Form(request)
        values = _read(request, form, groups, customer_id)
        if not form.show_errors():
            update(db, "customer", "customer_id", customer_id, **values)
            query = "UPDATE OR REPLACE newsletter_subscriber SET email = ? WHERE customer_id = ?"
            db.execute(query, (values["email"], customer_id))
            return request.redirect(LIST_URL, "You saved the customer.")
        tab, typed = "account", request.form.to_dict()
    else:
        request.shows({"tab": None if tab == "view" else tab})
    addresses = db.execute("SELECT * FROM customer_address WHERE customer_id = ? ORDER BY address_id", (customer_id,))
    query = """SELECT count(*) AS orders, coalesce(sum(grand_total_cents), 0) AS total, max(created_at) AS latest,
                  (SELECT status FROM newsletter_subscriber s WHERE s.email = ?) AS newsletter
           FROM sales_order WHERE customer_id = ? AND status != 'canceled'"""
    sums = record_or_404(db, query, row["email"], customer_id)
    page = {"title": f"{row['firstname']} {row['lastname']}", "section": "Customers", "tabs": TABS, "groups": groups}
    return request.render("customer.html", row=row, tab=tab, typed=typed, addresses=addresses.fetchall(), sums=sums, **page)


@site.form("/admin/customer/index/new/", members_only)
def create_customer(request: Request) -> str | Response:
    """Add a customer."""
    if request.method == "POST":
        form = grids.Form(request)
        values = _read(request, form, GROUPS, None) | {"password": form.text("password", "Password")}
        if not form.show_errors():
            insert(request.db, "customer", created_at=str(request.now), **values)
            return request.redirect(LIST_URL, "You saved the customer.")
    typed = request.form.to_dict()
    return request.render("new_customer.html", title="New Customer", section="Customers", typed=typed, groups=GROUPS)


@site.post("/admin/customer/index/delete/id/<int:customer_id>/", members_only)
def delete_customer(request: Request, customer_id: int) -> Response:
    """Delete a customer; orders and reviews remain as those of a guest."""
    db = request.db
    record_or_404(db, "SELECT 1 FROM customer WHERE customer_id = ?", customer_id)
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


def _address_page(request: Request, title: str, section: str, back: str, **values: object) -> str | Response:
    return request.render("address.html", title=title, section=section, fields=FIELDS, back=back, **values)


def _read_address(form: grids.Form) -> dict[str, str]:
    """Values of the form; its errors name missing fields."""
    return {name: form.text(name, label, required=name != "company") for name, label in FIELDS.items()}


@site.form("/admin/sales/order/address/order_id/<int:order_id>/<any(billing, shipping):kind>/", members_only)
def save_order_address(request: Request, order_id: int, kind: str) -> str | Response:
    """Change an order's billing or shipping address."""
    typed = dict(record_or_404(request.db, "SELECT * FROM order_address WHERE order_id = ? AND kind = ?", order_id, kind))
    if request.method == "POST":
        form = grids.Form(request)
        values = _read_address(form)
        if not form.show_errors():
            changes = ", ".join(f"{name} = ?" for name in values)
            query = f"UPDATE order_address SET {changes} WHERE order_id = ? AND kind = ?"
            request.db.execute(query, (*values.values(), order_id, kind))
            return request.redirect(ORDER_URL.format(order_id), "You updated the order address.")
        typed = request.form.to_dict()
    back = ORDER_URL.format(order_id)
    return _address_page(request, f"Edit {kind.title()} Address", "Sales", back, typed=typed, defaults={})


@site.form("/admin/customer/address/edit/id/<int:address_id>/", members_only)
@site.form("/admin/customer/address/new/customer_id/<int:customer_id>/", members_only)
def save_customer_address(request: Request, customer_id: int = 0, address_id: int | None = None) -> str | Response:
    """Change or add an address of a customer; a new default address replaces the previous one."""
    db, title, kinds = request.db, "Edit Address", ("billing", "shipping")
    if address_id is not None:
        typed = dict(record_or_404(db, "SELECT * FROM customer_address WHERE address_id = ?", address_id))
        customer_id, defaults = typed["customer_id"], {kind: bool(typed[f"is_default_{kind}"]) for kind in kinds}
    else:
        row = record_or_404(db, "SELECT firstname, lastname FROM customer WHERE customer_id = ?", customer_id)
        title = title if request.method == "POST" else "Add New Address"
        typed = dict.fromkeys(FIELDS, "") | dict(row) | {"country": queries.country(db)}
        defaults = dict.fromkeys(kinds, False)
    back = CUSTOMER_URL.format(customer_id)
    if request.method == "POST":
        form, typed = grids.Form(request), request.form.to_dict()
        values: dict[str, Any] = {**_read_address(form)}
        defaults = {kind: form.is_ticked(kind) for kind in kinds}
        if not form.show_errors():
            for kind, is_default in defaults.items():
                if is_default:
                    update(db, "customer_address", "customer_id", customer_id, **{f"is_default_{kind}": 0})
            values |= {f"is_default_{kind}": is_default for kind, is_default in defaults.items()}
            store(db, "customer_address", "address_id", address_id, customer_id=customer_id, **values)
            return request.redirect(back, "The customer address was saved.")
    return _address_page(request, title, "Customers", back, typed=typed, defaults=defaults)


@site.post("/admin/customer/address/delete/id/<int:address_id>/", members_only)
def delete_customer_address(request: Request, address_id: int) -> Response:
    """Delete a customer's address."""
    row = record_or_404(request.db, "DELETE FROM customer_address WHERE address_id = ? RETURNING customer_id", address_id)
    return request.redirect(CUSTOMER_URL.format(row["customer_id"]), "The customer address was deleted.")


REVIEWS_URL = "/admin/review/product/index/"
STATUSES, RATINGS = (LISTS["reviews"].choices(name) for name in ("status", "rating"))


site.get(REVIEWS_URL, members_only)(partial(grids.render_grid, grid=LISTS["reviews"]))
site.get("/admin/review/product/pending/", members_only)(
    partial(grids.render_grid, grid=replace(LISTS["reviews"], title="Pending Reviews"), where="r.status = 'Pending'")
)


@site.form("/admin/review/product/edit/id/<int:review_id>/", members_only)
def save_review(request: Request, review_id: int) -> str | Response:
    """Change a review."""
    query = """SELECT r.*, p.name, c.email FROM review r JOIN product p USING (product_id)
        LEFT JOIN customer c ON c.customer_id = r.customer_id WHERE review_id = ?"""
    row = record_or_404(request.db, query, review_id)
    typed = dict(row)
    if request.method == "POST":
        form, typed = grids.Form(request), request.form.to_dict()
        values = {
            "status": form.choice("status", "Status", STATUSES),
            "rating": form.choice("rating", "Rating", RATINGS),
            "nickname": form.text("nickname", "Nickname", limit=128),
            "title": form.text("title", "Summary of Review"),
            "detail": form.text("detail", "Review", limit=10000, lines=True),
        }
        if not form.show_errors():
            update(request.db, "review", "review_id", review_id, **values)
            return request.redirect(REVIEWS_URL, "You saved the review.")
    page = {"title": "Edit Review", "section": "Marketing", "statuses": STATUSES, "ratings": RATINGS}
    return request.render("review.html", row=row, typed=typed, **page)


@site.post("/admin/review/product/delete/id/<int:review_id>/", members_only)
def delete_review(request: Request, review_id: int) -> Response:
    """Delete a review."""
    record_or_404(request.db, "DELETE FROM review WHERE review_id = ? RETURNING 1", review_id)
    return request.redirect(REVIEWS_URL, "The review has been deleted.")


@site.post("/admin/review/product/mass/", members_only)
def change_reviews(request: Request) -> Response:
    """Delete all selected reviews, or set their status."""
    ids, action = grids.selected_ids(request), request.form.get("action", "")
    if action not in LISTS["reviews"].actions or not ids:
        request.flash("Please choose an action." if ids else "Please select review(s).", "error")
    else:
        change = "DELETE FROM review" if action == "delete" else "UPDATE review SET status = :status"
        values = [{"review_id": review_id, "status": action} for review_id in ids]
        count = request.db.executemany(f"{change} WHERE review_id = :review_id", values).rowcount
        request.flash(f"A total of {count} record(s) have been {'deleted' if action == 'delete' else 'updated'}.")
    return grids.back_to(request, REVIEWS_URL)


RULES_URL = "/admin/sales_rule/promo_quote/"
TERMS_URL = "/admin/search/term/index/"
SUBSCRIBERS_URL = "/admin/newsletter/subscriber/"
APPLY = {"by_percent": "Percent of product price discount", "cart_fixed": "Fixed amount discount for whole cart"}


site.get(RULES_URL, members_only)(partial(grids.render_grid, grid=LISTS["cart_rules"]))
site.get(TERMS_URL, members_only)(partial(grids.render_grid, grid=LISTS["search_terms"]))
site.get(SUBSCRIBERS_URL, members_only)(partial(grids.render_grid, grid=LISTS["subscribers"]))


def _read_rule(request: Request, form: grids.Form, rule_id: int | None) -> dict[str, Any]:
    """Return the columns of the rule form; error messages are in the form's `errors`."""
    values: dict[str, Any] = {
        "name": form.text("name", "Rule Name"),
        "description": form.text("description", "Description", required=False, limit=2000, lines=True),
        "is_active": form.is_ticked("is_active"),
        "coupon_code": form.text("coupon_code", "Coupon Code", required=False, limit=60) or None,
        "from_date": form.optional_date("from_date", "From"),
        "to_date": form.optional_date("to_date", "To"),
        "action": form.choice("action", "Apply", APPLY),
    }
    if values["action"] == "by_percent":
        values["amount"] = form.count("amount", "Discount Amount")
        if values["amount"] > 100:
            form.errors.append("Discount Amount: please enter at most 100 percent.")
    else:
        values["amount"] = form.cents("amount", "Discount Amount")
    if values["from_date"] and values["to_date"] and values["from_date"] > values["to_date"]:
        form.errors.append("The end date must not be before the start date.")
    if values["coupon_code"] and is_taken(request.db, "cart_rule", "coupon_code", values["coupon_code"], rule_id):
        form.errors.append("Coupon Code: another rule has this code already.")
    return values


@site.form("/admin/sales_rule/promo_quote/new/", members_only)
@site.form("/admin/sales_rule/promo_quote/edit/id/<int:rule_id>/", members_only)
def save_rule(request: Request, rule_id: int | None = None) -> str | Response:
    """Add or change a cart price rule."""
    row = None if rule_id is None else record_or_404(request.db, "SELECT * FROM cart_rule WHERE rule_id = ?", rule_id)
    typed = {"is_active": "1"}
    if request.method == "POST":
        form, typed = grids.Form(request), request.form.to_dict()
        values = _read_rule(request, form, rule_id)
        if not form.show_errors():
            store(request.db, "cart_rule", "rule_id", rule_id, **values)
            return request.redirect(RULES_URL, "You saved the rule.")
    elif row:
        typed = {name: row[name] or "" for name in ("name", "description", "coupon_code", "action")}
        typed["amount"] = str(row["amount"]) if row["action"] == "by_percent" else grids.written_cents(row["amount"])
        typed |= {name: grids.written_date(row[name]) for name in ("from_date", "to_date")}
        typed |= {"is_active": "1"} if row["is_active"] else {}
    title = row["name"] if row else "New Cart Price Rule"
    return request.render("rule.html", title=title, section="Marketing", rule=row, typed=typed, apply=APPLY)


@site.post("/admin/sales_rule/promo_quote/delete/id/<int:rule_id>/", members_only)
def delete_rule(request: Request, rule_id: int) -> Response:
    """Delete a cart price rule."""
    record_or_404(request.db, "DELETE FROM cart_rule WHERE rule_id = ? RETURNING 1", rule_id)
    return request.redirect(RULES_URL, "You deleted the rule.")


@site.post("/admin/search/term/mass/", members_only)
def change_terms(request: Request) -> Response:
    """Delete all selected search terms."""
    ids = grids.selected_ids(request)
    if request.form.get("action") != "delete" or not ids:
        request.flash("Please choose an action." if ids else "Please select searches.", "error")
    else:
        gone = request.db.executemany("DELETE FROM search_term WHERE query_id = ?", [(query_id,) for query_id in ids])
        request.flash(f"Total of {gone.rowcount} record(s) were deleted.")
    return grids.back_to(request, TERMS_URL)


@site.post("/admin/newsletter/subscriber/mass/", members_only)
def change_subscribers(request: Request) -> Response:
    """Unsubscribe or delete all selected subscribers."""
    emails = [(clean(email),) for email in request.form.getlist("selected")]
    action = request.form.get("action", "")
    if action not in LISTS["subscribers"].actions or not emails:
        request.flash("Please choose an action." if emails else "Please select one or more subscribers.", "error")
    else:
        sql = "DELETE FROM" if action == "delete" else "UPDATE"
        change = "" if action == "delete" else " SET status = 'Unsubscribed'"
        count = request.db.executemany(f"{sql} newsletter_subscriber{change} WHERE email = ?", emails).rowcount
        request.flash(f"A total of {count} record(s) were {'deleted' if action == 'delete' else 'updated'}.")
    return grids.back_to(request, SUBSCRIBERS_URL)
