"""Signing in and out, and making an account."""

import hashlib

from webarena_gym.sites.gitlab.base import current_user, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.names import username_complaint
from webarena_gym.sites.kit.forms import clean, complaints, is_email, read
from webarena_gym.sites.kit.requests import Request, Response, redirect

FIELDS = {
    "name": Field("Full name", limit=128),
    "username": Field("Username"),
    "email": Field("Email"),
    "password": Field("Password", limit=128),
}
SHORTEST_PASSWORD = 8


@site.get("/users/sign_in")
def sign_in_form(request: Request) -> str | Response:
    """Show the sign-in page."""
    return redirect("/") if current_user(request) else request.render("sign_in.html", login="", errors=[])


@site.post("/users/sign_in")
def sign_in(request: Request) -> str | Response:
    """Sign in with username or email and password, and go on to where the visitor was sent from."""
    login = clean(request.form.get("login", ""))
    user = request.db.execute(
        "SELECT * FROM user WHERE (username = :login COLLATE NOCASE OR email = :login COLLATE NOCASE) AND password = :password",
        {"login": login, "password": clean(request.form.get("password", ""))},
    ).fetchone()
    if user is None:
        return request.render("sign_in.html", login=login, errors=["Invalid login or password."])
    request.session["user_id"] = user["user_id"]
    return redirect(request.session.pop("after_login", "/"))


@site.get("/users/sign_out")
def sign_out(request: Request) -> Response:
    """Sign out."""
    request.session.pop("user_id", None)
    request.flash("You have signed out.", "notice")
    return redirect("/users/sign_in")


@site.get("/users/sign_up")
def sign_up_form(request: Request) -> str | Response:
    """Show the form for a new account."""
    if current_user(request):
        return redirect("/")
    return request.render("sign_up.html", values=dict.fromkeys(FIELDS, ""), errors=[])


@site.post("/users/sign_up")
def sign_up(request: Request) -> str | Response:
    """Make an account and sign in."""
    values = read(request, FIELDS)
    errors = complaints(values, FIELDS)
    if not errors:
        errors = [*filter(None, [username_complaint(request.db, values["username"])])]
        if not is_email(values["email"]):
            errors.append("Email must be a valid address, such as name@domain.com.")
        elif request.db.execute("SELECT 1 FROM user WHERE email = ? COLLATE NOCASE", (values["email"],)).fetchone():
            errors.append("Email has already been taken.")
        if len(values["password"]) < SHORTEST_PASSWORD:
            errors.append(f"Password is too short: {SHORTEST_PASSWORD} characters at least.")
    if errors:
        return request.render("sign_up.html", values=values, errors=errors)
    token = hashlib.sha256(f"feed/{values['username']}/{request.stamp}".encode()).hexdigest()[:20]
    request.session["user_id"] = request.db.execute(
        """
        INSERT INTO user (name, username, email, password, feed_token, created_at)
        VALUES (:name, :username, :email, :password, :token, :now)
        """,
        {**values, "token": token, "now": request.stamp},
    ).lastrowid
    request.flash(f"Welcome, {values['name']}!")
    return redirect("/")
