"""Marketing: cart price rules with their coupons, search terms, newsletter subscribers."""

import sqlite3
from typing import Any

from webarena_gym.sites.kit.database import insert, update
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping_admin.grids import (
    Column,
    Form,
    Grid,
    Link,
    back_to,
    selected,
    show,
    written_cents,
    written_date,
)
from webarena_gym.sites.shopping_admin.site import is_taken, members_only, one, site

RULES_URL = "/admin/sales_rule/promo_quote/"
TERMS_URL = "/admin/search/term/index/"
SUBSCRIBERS_URL = "/admin/newsletter/subscriber/"
APPLY = {"by_percent": "Percent of product price discount", "cart_fixed": "Fixed amount discount for whole cart"}
RULES = Grid(
    title="Cart Price Rules",
    section="Marketing",
    source="cart_rule",
    key="rule_id",
    columns=(
        Column("ID", "id", "rule_id", "id"), Column("Rule", "name", "name"), Column("Coupon Code", "coupon", "coupon_code"),
        Column("Start", "from_date", "from_date", "date"), Column("End", "to_date", "to_date", "date"),
        Column("Status", "status", "CAST(is_active AS TEXT)", "choice", {"1": "Active", "0": "Inactive"}),
        Column("Uses", "uses", "times_used", "number"),
    ),
    order="-id",
    row_link=Link("Edit", "/admin/sales_rule/promo_quote/edit/id/{}/"),
    add=Link("Add New Rule", "/admin/sales_rule/promo_quote/new/"),
)  # fmt: skip
TERMS = Grid(
    title="Search Terms",
    section="Marketing",
    source="search_term",
    key="query_id",
    columns=(
        Column("ID", "id", "query_id", "id"),
        Column("Search Query", "query", "query_text"),
        Column("Results", "results", "num_results", "number"),
        Column("Uses", "uses", "uses", "number"),
        Column("Updated", "updated_at", "updated_at", "date"),
    ),
    order="query",
    actions={"delete": "Delete"},
    action_url="/admin/search/term/mass/",
)
SUBSCRIBERS = Grid(
    title="Newsletter Subscribers",
    section="Marketing",
    source="newsletter_subscriber s LEFT JOIN customer c USING (customer_id)",
    key="s.email",
    columns=(
        Column("Email", "email", "s.email"),
        Column(
            "Type",
            "type",
            "iif(c.customer_id IS NULL, 'guest', 'customer')",
            "choice",
            {"guest": "Guest", "customer": "Customer"},
        ),
        Column("Customer Name", "name", "c.firstname || ' ' || c.lastname"),
        Column("Status", "status", "s.status", "choice", {"Subscribed": "Subscribed", "Unsubscribed": "Unsubscribed"}),
        Column("Since", "created_at", "s.created_at", "date"),
    ),
    order="email",
    keyword=("s.email", "c.firstname", "c.lastname"),
    actions={"unsubscribe": "Unsubscribe", "delete": "Delete"},
    action_url="/admin/newsletter/subscriber/mass/",
)


@site.get(RULES_URL, members_only)
def rules(request: Request) -> str:
    """The list of cart price rules."""
    return show(request, RULES)


def _rule_page(request: Request, rule: sqlite3.Row | None, typed: dict[str, str]) -> str:
    title = rule["name"] if rule else "New Cart Price Rule"
    return request.render("rule.html", title=title, section="Marketing", rule=rule, typed=typed, apply=APPLY)


def _find_rule(request: Request, rule_id: int) -> sqlite3.Row:
    return one(request.db, "SELECT * FROM cart_rule WHERE rule_id = ?", rule_id)


@site.get("/admin/sales_rule/promo_quote/edit/id/<int:rule_id>/", members_only)
def rule(request: Request, rule_id: int) -> str:
    """The form of one cart price rule."""
    row = _find_rule(request, rule_id)
    typed = {name: row[name] or "" for name in ("name", "description", "coupon_code", "action")}
    typed["amount"] = str(row["amount"]) if row["action"] == "by_percent" else written_cents(row["amount"])
    typed |= {name: written_date(row[name]) for name in ("from_date", "to_date")}
    return _rule_page(request, row, typed | ({"is_active": "1"} if row["is_active"] else {}))


def _read_rule(request: Request, form: Form, rule_id: int | None) -> dict[str, Any]:
    """The columns of the table that the rule's form holds; what is wrong collects in its errors."""
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


def _save_rule(request: Request, row: sqlite3.Row | None) -> str | Response:
    form, rule_id = Form(request), row["rule_id"] if row else None
    values = _read_rule(request, form, rule_id)
    if form.show_errors():
        return _rule_page(request, row, request.form.to_dict())
    if rule_id is None:
        insert(request.db, "cart_rule", **values)
    else:
        update(request.db, "cart_rule", "rule_id", rule_id, **values)
    return request.redirect(RULES_URL, "You saved the rule.")


@site.form("/admin/sales_rule/promo_quote/new/", members_only)
def create_rule(request: Request) -> str | Response:
    """Add a cart price rule."""
    if request.method != "POST":
        return _rule_page(request, None, {"is_active": "1"})
    return _save_rule(request, None)


@site.post("/admin/sales_rule/promo_quote/edit/id/<int:rule_id>/", members_only)
def save_rule(request: Request, rule_id: int) -> str | Response:
    """Change a cart price rule."""
    return _save_rule(request, _find_rule(request, rule_id))


@site.post("/admin/sales_rule/promo_quote/delete/id/<int:rule_id>/", members_only)
def delete_rule(request: Request, rule_id: int) -> Response:
    """Delete a cart price rule."""
    _find_rule(request, rule_id)
    request.db.execute("DELETE FROM cart_rule WHERE rule_id = ?", (rule_id,))
    return request.redirect(RULES_URL, "You deleted the rule.")


@site.get(TERMS_URL, members_only)
def search_terms(request: Request) -> str:
    """The list of what people searched for in the shop."""
    return show(request, TERMS)


@site.post("/admin/search/term/mass/", members_only)
def change_terms(request: Request) -> Response:
    """Delete all ticked search terms."""
    ids = selected(request)
    if request.form.get("action") != "delete" or not ids:
        request.flash("Please choose an action." if ids else "Please select searches.", "error")
    else:
        gone = request.db.executemany("DELETE FROM search_term WHERE query_id = ?", [(query_id,) for query_id in ids])
        request.flash(f"Total of {gone.rowcount} record(s) were deleted.")
    return back_to(request, TERMS_URL)


@site.get(SUBSCRIBERS_URL, members_only)
def subscribers(request: Request) -> str:
    """The list of newsletter subscribers."""
    return show(request, SUBSCRIBERS)


@site.post("/admin/newsletter/subscriber/mass/", members_only)
def change_subscribers(request: Request) -> Response:
    """Unsubscribe or delete all ticked subscribers."""
    emails = [(clean(email),) for email in request.form.getlist("selected")]
    action = request.form.get("action", "")
    if action not in SUBSCRIBERS.actions or not emails:
        request.flash("Please choose an action." if emails else "Please select one or more subscribers.", "error")
    else:
        sql = "DELETE FROM" if action == "delete" else "UPDATE"
        change = "" if action == "delete" else " SET status = 'Unsubscribed'"
        count = request.db.executemany(f"{sql} newsletter_subscriber{change} WHERE email = ?", emails).rowcount
        request.flash(f"A total of {count} record(s) were {'deleted' if action == 'delete' else 'updated'}.")
    return back_to(request, SUBSCRIBERS_URL)
