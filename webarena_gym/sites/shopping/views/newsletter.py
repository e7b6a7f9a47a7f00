"""The newsletter: subscribing in the footer, and the subscription of an account."""

import sqlite3

from webarena_gym.sites.kit.forms import clean, is_email
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.shopping.base import current_customer, members_only, site


def is_subscribed(db: sqlite3.Connection, email: str) -> bool:
    """Tell whether the newsletter goes to that address."""
    query = "SELECT 1 FROM newsletter_subscriber WHERE email = ? COLLATE NOCASE AND status = 'Subscribed'"
    return db.execute(query, (email,)).fetchone() is not None


def subscribe(request: Request, email: str, customer_id: int | None) -> None:
    """Send the newsletter to that address from now on."""
    request.db.execute("DELETE FROM newsletter_subscriber WHERE email = ? COLLATE NOCASE", (email,))
    request.db.execute(
        "INSERT INTO newsletter_subscriber (email, customer_id, status, created_at) VALUES (?, ?, 'Subscribed', ?)",
        (email, customer_id, request.stamp),
    )


def unsubscribe(db: sqlite3.Connection, email: str) -> None:
    """Send it no more; the address is remembered as unsubscribed."""
    db.execute("UPDATE newsletter_subscriber SET status = 'Unsubscribed' WHERE email = ? COLLATE NOCASE", (email,))


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


@site.get("/newsletter/manage/")
@members_only
def manage_form(request: Request, customer: sqlite3.Row) -> str:
    """Show whether the customer gets the newsletter."""
    return request.render("newsletter.html", is_subscribed=is_subscribed(request.db, customer["email"]))


@site.post("/newsletter/manage/")
@members_only
def manage(request: Request, customer: sqlite3.Row) -> Response:
    """Subscribe or unsubscribe the customer."""
    wanted, present = request.form.get("is_subscribed") == "1", is_subscribed(request.db, customer["email"])
    if wanted and not present:
        subscribe(request, customer["email"], customer["customer_id"])
        request.flash("We have saved your subscription.")
    elif present and not wanted:
        unsubscribe(request.db, customer["email"])
        request.flash("We have removed your newsletter subscription.")
    return redirect("/customer/account/")
