"""Accounts: signing in and out, and making one."""

from webarena_gym.sites.kit.forms import EMAIL, Field, complaints, password_complaints, read
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.map.base import BRAND, current_user, site

SIGN_IN = {"email": Field("Email"), "password": Field("Password")}
SIGN_UP = {
    "name": Field("Name", limit=80),
    "email": EMAIL,
    "password": Field("Password", limit=128),
    "password_confirmation": Field("Confirm password", limit=128),
}


@site.get("/login")
def login_form(request: Request) -> str | Response:
    """Ask who it is."""
    if current_user(request) is not None:
        return redirect("/saved")
    return request.render("login.html", email="", errors=[])


@site.post("/login")
def login(request: Request) -> str | Response:
    """Sign somebody in, and lead to the page that was asked for."""
    values = read(request, SIGN_IN)
    errors = complaints(values, SIGN_IN)
    user = request.db.execute(
        "SELECT * FROM user WHERE email = ? COLLATE NOCASE AND password = ?", (values["email"], values["password"])
    ).fetchone()
    if user is None:
        errors = errors or ["The email or the password is not correct. Please try again."]
        return request.render("login.html", email=values["email"], errors=errors)
    return _welcome(request, user["user_id"])


@site.post("/logout")
def logout(request: Request) -> Response:
    """Sign out."""
    request.session.clear()
    request.flash("You are signed out.")
    return redirect("/")


@site.get("/signup")
def signup_form(request: Request) -> str:
    """Ask for a new mapper's data."""
    return request.render("signup.html", values=dict.fromkeys(SIGN_UP, ""), errors=[])


@site.post("/signup")
def signup(request: Request) -> str | Response:
    """Make an account and sign its owner in."""
    values = read(request, SIGN_UP)
    errors = complaints(values, SIGN_UP) or password_complaints(values)
    if not errors and request.db.execute("SELECT 1 FROM user WHERE email = ? COLLATE NOCASE", (values["email"],)).fetchone():
        errors.append("There is already an account with this email address.")
    if errors:
        return request.render("signup.html", values=values, errors=errors)
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
