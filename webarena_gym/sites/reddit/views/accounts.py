"""Logging in and out, and making an account."""

from collections.abc import Mapping

from webarena_gym.sites.kit.form_pages import Aside, FormPage
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import guests_only
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import NAME, current_user, site
from webarena_gym.sites.reddit.forms import EMAIL, USERNAME, Field

SHORTEST = 8  # characters of a password
LOGIN = FormPage(
    title="Log in",
    action="/login",
    fields={"username": Field("Username"), "password": Field("Password", limit=128, type="password")},
    button="Log in",
    aside=Aside("New here?", "/registration", "Make an account"),
)
REGISTRATION = FormPage(
    title="Sign up",
    action="",
    fields={
        "username": USERNAME,
        "email": EMAIL,
        "password": Field("Password", limit=128, type="password"),
        "password_confirmation": Field("Repeat password", limit=128, type="password"),
    },
    button="Sign up",
)


def password_complaints(values: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a new password and its repetition."""
    if len(values["password"]) < SHORTEST:
        return [f"Password: {SHORTEST} characters or more are needed."]
    return [] if values["password"] == values["password_confirmation"] else ["The two passwords are not the same."]


site.get("/login")(guests_only(LOGIN.show, current_user, "/"))


@site.post("/login")
def login(request: Request) -> str | Response:
    """Log a user in, and lead to the page that was asked for."""
    values, errors = LOGIN.read(request)
    user = queries.user_named(request.db, values["username"])
    if errors or user is None or user["password"] != values["password"]:
        return LOGIN.show(request, values, errors or ["The username or the password is not correct. Please try again."])
    return _welcome(request, user["user_id"])


def _welcome(request: Request, user_id: int) -> Response:
    request.session["user_id"] = user_id
    return redirect(request.session.pop("after_login", "/"))


@site.get("/logout")
def logout(request: Request) -> Response:
    """Log out."""
    if request.session.pop("user_id", None) is not None:
        request.session.clear()
        request.flash("You are logged out.")
    return redirect("/")


site.get("/registration")(REGISTRATION.show)


@site.post("/registration")
def registration(request: Request) -> str | Response:
    """Make an account and log its owner in."""
    values, errors = REGISTRATION.read(request)
    errors = errors or password_complaints(values)
    if not errors and queries.user_named(request.db, values["username"]):
        errors = ["Username: this name is taken."]
    if errors:
        return REGISTRATION.show(request, values, errors)
    user_id = request.db.execute(
        "INSERT INTO user (username, email, password, created_at) VALUES (?, ?, ?, ?)",
        (values["username"], values["email"], values["password"], request.stamp),
    ).lastrowid
    assert user_id is not None
    request.flash(f"Welcome to {NAME}, {values['username']}!")
    return _welcome(request, user_id)
