"""Accounts: signing in and out, making one, the dashboard and the account's own data."""

import sqlite3

from webarena_gym.sites.kit.form_pages import Aside, FormPage
from webarena_gym.sites.kit.forms import EMAIL, PASSWORD, Field, checked, password_complaints
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import guests_only
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.base import current_customer, members_only, site
from webarena_gym.sites.shopping.views.newsletter import is_subscribed, subscribe

LOGIN = FormPage(
    title="Customer Login",
    action="/customer/account/login/",
    fields={"email": Field("Email", autocomplete="email"), "password": PASSWORD},
    button="Sign In",
    aside=Aside("New here?", "/customer/account/create/", "Create an Account"),
)
NAMES = {"firstname": Field("First Name"), "lastname": Field("Last Name"), "email": EMAIL}
NEW_PASSWORD = {"password": Field("Password", limit=128), "password_confirmation": Field("Confirm Password", limit=128)}


site.get("/customer/account/login/")(guests_only(LOGIN.show, current_customer, "/customer/account/"))


@site.post("/customer/account/login/")
def login(request: Request) -> str | Response:
    """Sign a customer in, and lead to the page that was asked for."""
    values, errors = LOGIN.read(request)
    customer = request.db.execute(
        "SELECT * FROM customer WHERE email = ? COLLATE NOCASE AND password = ?", (values["email"], values["password"])
    ).fetchone()
    if customer is None:
        return LOGIN.show(request, values, errors or ["The email or the password is not correct. Please try again."])
    return _welcome(request, customer["customer_id"])


def _welcome(request: Request, customer_id: int) -> Response:
    request.session.pop("checkout", None)
    carts.merge(request, customer_id)
    return redirect(request.session.pop("after_login", "/customer/account/"))


@site.get("/customer/account/logout/")
def logout(request: Request) -> Response:
    """Sign out."""
    if request.session.pop("customer_id", None) is not None:
        request.session.clear()
        request.flash("You are signed out.")
    return redirect("/")


@site.get("/customer/account/create/")
def create_form(request: Request) -> str:
    """Ask for a new customer's data."""
    return request.render("create_account.html", values=dict.fromkeys(NAMES, ""), errors=[])


@site.post("/customer/account/create/")
def create(request: Request) -> str | Response:
    """Make an account and sign its owner in."""
    fields = NAMES | NEW_PASSWORD
    values, errors = checked(request, fields)
    errors = errors or password_complaints(values)
    if not errors and _is_taken(request.db, values["email"], None):
        errors = ["There is already an account with this email address."]
    if errors:
        return request.render("create_account.html", values=values, errors=errors)
    customer_id = request.db.execute(
        "INSERT INTO customer (email, firstname, lastname, password, created_at) VALUES (?, ?, ?, ?, ?)",
        (values["email"], values["firstname"], values["lastname"], values["password"], request.stamp),
    ).lastrowid
    assert customer_id is not None
    if request.form.get("is_subscribed") == "1":
        subscribe(request, values["email"], customer_id)
    request.flash(f"Thank you for registering with {queries.config(request.db, 'general/store_information/name', 'our shop')}.")
    return _welcome(request, customer_id)


def _is_taken(db: sqlite3.Connection, email: str, customer_id: int | None) -> bool:
    query = "SELECT 1 FROM customer WHERE email = ? COLLATE NOCASE AND customer_id IS NOT ?"
    return db.execute(query, (email, customer_id)).fetchone() is not None


@site.get("/customer/account/")
@members_only
def dashboard(request: Request, customer: sqlite3.Row) -> str:
    """Show the account at a glance."""
    orders = request.db.execute(
        """
        SELECT o.*, a.firstname || ' ' || a.lastname AS ship_to
        FROM sales_order o LEFT JOIN order_address a ON a.order_id = o.order_id AND a.kind = 'shipping'
        WHERE o.customer_id = ? ORDER BY o.order_id DESC LIMIT 5
        """,
        (customer["customer_id"],),
    ).fetchall()
    book = queries.addresses(request.db, customer["customer_id"])
    return request.render(
        "account.html",
        customer=customer,
        orders=orders,
        is_subscribed=is_subscribed(request.db, customer["email"]),
        billing=next((address for address in book if address["is_default_billing"]), None),
        shipping=next((address for address in book if address["is_default_shipping"]), None),
    )


@site.get("/customer/account/edit/")
@members_only
def edit_form(request: Request, customer: sqlite3.Row) -> str:
    """Show the account's own data, to be changed."""
    return request.render("account_edit.html", values=customer, errors=[])


@site.post("/customer/account/edit/")
@members_only
def edit(request: Request, customer: sqlite3.Row) -> str | Response:
    """Change name, email or password; the latter two need the current password."""
    optional = {name: Field(field.label, required=False, limit=field.limit) for name, field in NEW_PASSWORD.items()}
    fields = NAMES | optional | {"current_password": Field("Current Password", required=False)}
    values, errors = checked(request, fields)
    is_new_password = bool(values["password"] or values["password_confirmation"])
    if is_new_password:
        errors += password_complaints(values)
    if (is_new_password or values["email"] != customer["email"]) and values["current_password"] != customer["password"]:
        errors.append("The current password is not correct. It is needed to change the email or the password.")
    if not errors and _is_taken(request.db, values["email"], customer["customer_id"]):
        errors = ["There is already an account with this email address."]
    if errors:
        return request.render("account_edit.html", values=values, errors=errors)
    password = values["password"] if is_new_password else customer["password"]
    request.db.execute(
        "UPDATE customer SET firstname = ?, lastname = ?, email = ?, password = ? WHERE customer_id = ?",
        (values["firstname"], values["lastname"], values["email"], password, customer["customer_id"]),
    )
    request.db.execute(
        "UPDATE OR REPLACE newsletter_subscriber SET email = ? WHERE email = ?", (values["email"], customer["email"])
    )
    return request.redirect("/customer/account/", "You saved the account information.")
