"""Signing in and out, and making an account."""

import hashlib

from webarena_gym.sites.gitlab.base import current_user, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.names import username_complaint
from webarena_gym.sites.kit.form_pages import Aside, FormPage
from webarena_gym.sites.kit.forms import PASSWORD, checked, is_email
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import guests_only

SIGN_IN = FormPage(
    title="Sign in",
    action="/users/sign_in",
    fields={"login": Field("Username or email", autocomplete="username"), "password": PASSWORD},
    button="Sign in",
    aside=Aside("No account yet?", "/users/sign_up", "Register now"),
)
FIELDS = {
    "name": Field("Full name", limit=128),
    "username": Field("Username"),
    "email": Field("Email"),
    "password": Field("Password", limit=128),
}
SHORTEST_PASSWORD = 8


site.get("/users/sign_in")(guests_only(SIGN_IN.show, current_user, "/"))


@site.post("/users/sign_in")
def sign_in(request: Request) -> str | Response:
    """Sign in with username or email and password, and go on to where the visitor was sent from."""
    values, _ = SIGN_IN.read(request)
    user = request.db.execute(
        "SELECT * FROM user WHERE (username = :login COLLATE NOCASE OR email = :login COLLATE NOCASE) AND password = :password",
        values,
    ).fetchone()
    if user is None:
        return SIGN_IN.show(request, values, ["Invalid login or password."])
    request.session["user_id"] = user["user_id"]
    return redirect(request.session.pop("after_login", "/"))


@site.get("/users/sign_out")
def sign_out(request: Request) -> Response:
    """Sign out."""
    request.session.pop("user_id", None)
    return request.redirect("/users/sign_in", "You have signed out.", "notice")


@site.get("/users/sign_up")
def sign_up_form(request: Request) -> str | Response:
    """Show the form for a new account."""
    if current_user(request):
        return redirect("/")
    return request.render("sign_up.html", values=dict.fromkeys(FIELDS, ""), errors=[])


@site.post("/users/sign_up")
def sign_up(request: Request) -> str | Response:
    """Make an account and sign in."""
    values, errors = checked(request, FIELDS)
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
    return request.redirect("/", f"Welcome, {values['name']}!")
