"""Logging in and out, and making an account."""

from collections.abc import Mapping

from webarena_gym.sites.kit.forms import complaints, read
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import NAME, current_user, site
from webarena_gym.sites.reddit.forms import EMAIL, USERNAME, Field

SHORTEST = 8  # characters of a password
LOGIN = {"username": Field("Username"), "password": Field("Password", limit=128)}
REGISTRATION = {
    "username": USERNAME,
    "email": EMAIL,
    "password": Field("Password", limit=128),
    "password_confirmation": Field("Repeat password", limit=128),
}


def password_complaints(values: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a new password and its repetition."""
    if len(values["password"]) < SHORTEST:
        return [f"Password: {SHORTEST} characters or more are needed."]
    return [] if values["password"] == values["password_confirmation"] else ["The two passwords are not the same."]


@site.get("/login")
def login_form(request: Request) -> str | Response:
    """Ask who it is."""
    return redirect("/") if current_user(request) else request.render("login.html", username="", errors=[])


@site.post("/login")
def login(request: Request) -> str | Response:
    """Log a user in, and lead to the page that was asked for."""
    values = read(request, LOGIN)
    errors = complaints(values, LOGIN)
    user = queries.user_named(request.db, values["username"])
    if errors or user is None or user["password"] != values["password"]:
        errors = errors or ["The username or the password is not correct. Please try again."]
        return request.render("login.html", username=values["username"], errors=errors)
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


@site.get("/registration")
def registration_form(request: Request) -> str:
    """Ask for a new user's data."""
    return request.render("registration.html", values=dict.fromkeys(REGISTRATION, ""), errors=[])


@site.post("/registration")
def registration(request: Request) -> str | Response:
    """Make an account and log its owner in."""
    values = read(request, REGISTRATION)
    errors = complaints(values, REGISTRATION) or password_complaints(values)
    if not errors and queries.user_named(request.db, values["username"]):
        errors = ["Username: this name is taken."]
    if errors:
        return request.render("registration.html", values=values, errors=errors)
    user_id = request.db.execute(
        "INSERT INTO user (username, email, password, created_at) VALUES (?, ?, ?, ?)",
        (values["username"], values["email"], values["password"], request.stamp),
    ).lastrowid
    assert user_id is not None
    request.flash(f"Welcome to {NAME}, {values['username']}!")
    return _welcome(request, user_id)
