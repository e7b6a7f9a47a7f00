"""Accounts: signing in and out, and making one."""

from webarena_gym.sites.kit.form_pages import Aside, FormPage
from webarena_gym.sites.kit.forms import EMAIL, PASSWORD, Field, password_complaints
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import guests_only
from webarena_gym.sites.map.base import BRAND, current_user, site

SIGN_IN = FormPage(
    title="Sign in",
    action="/login",
    fields={"email": Field("Email", autocomplete="email"), "password": PASSWORD},
    button=f"Sign in to {BRAND}",
    aside=Aside("New here?", "/signup", "Create an account"),
)
SIGN_UP = FormPage(
    title="Create an account",
    action="/signup",
    fields={
        "name": Field("Name", limit=80, autocomplete="name"),
        "email": EMAIL,
        "password": Field("Password", limit=128, type="password", autocomplete="new-password"),
        "password_confirmation": Field("Confirm password", limit=128, type="password", autocomplete="new-password"),
    },
    button="Sign up",
)


site.get("/login")(guests_only(SIGN_IN.show, current_user, "/saved"))


@site.post("/login")
def login(request: Request) -> str | Response:
    """Sign somebody in, and lead to the page that was asked for."""
    values, errors = SIGN_IN.read(request)
    user = request.db.execute(
        "SELECT * FROM user WHERE email = ? COLLATE NOCASE AND password = ?", (values["email"], values["password"])
    ).fetchone()
    if user is None:
        return SIGN_IN.show(request, values, errors or ["The email or the password is not correct. Please try again."])
    return _welcome(request, user["user_id"])


@site.post("/logout")
def logout(request: Request) -> Response:
    """Sign out."""
    request.session.clear()
    return request.redirect("/", "You are signed out.")


site.get("/signup")(SIGN_UP.show)


@site.post("/signup")
def signup(request: Request) -> str | Response:
    """Make an account and sign its owner in."""
    values, errors = SIGN_UP.read(request)
    errors = errors or password_complaints(values)
    if not errors and request.db.execute("SELECT 1 FROM user WHERE email = ? COLLATE NOCASE", (values["email"],)).fetchone():
        errors.append("There is already an account with this email address.")
    if errors:
        return SIGN_UP.show(request, values, errors)
    user_id = request.db.execute(
        "INSERT INTO user (name, email, password, created_at) VALUES (?, ?, ?, ?)",
        (values["name"], values["email"], values["password"], request.stamp),
    ).lastrowid
    assert user_id is not None
    request.flash(f"Welcome to {BRAND}, {values['name']}.")
    return _welcome(request, user_id)


def _welcome(request: Request, user_id: int) -> Response:
    request.session["user_id"] = user_id
    return redirect(request.session.pop("after_login", "/saved"))
