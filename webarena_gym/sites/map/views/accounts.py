"""Accounts: signing in and out, making one, and saved places."""

import sqlite3

from webarena_gym.sites.kit.accounts import guests_only, return_url
from webarena_gym.sites.kit.forms import EMAIL, PASSWORD, Aside, Field, FormPage, Pager, checked, password_complaints
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.site import BRAND, current_user, members_only, site
from webarena_gym.sites.map.views.places import wanted_place

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


PER_PAGE = 20
NOTE = {"note": Field("Note", required=False, limit=300)}


@site.get("/saved", members_only)
def show(request: Request, user: sqlite3.Row) -> str:
    """Show my saved places by name."""
    places = queries.fetch(
        request.db,
        "SELECT places.*, note, saved_at FROM saved_place JOIN places USING (place_id) WHERE user_id = ? ORDER BY name",
        user["user_id"],
    )
    pager = Pager.of(request, len(places), PER_PAGE)
    return request.render("saved.html", places=pager.cut(places), pager=pager)


@site.post("/place/<int:place_id>/save", members_only)
def save(request: Request, user: sqlite3.Row, place_id: int) -> Response:
    """Save a place with a note, or change the note of a saved one. Raises NotFound."""
    place = wanted_place(request, place_id)
    values, errors = checked(request, NOTE)
    if errors:
        return request.redirect(f"/place/{place_id}", errors[0], "error")
    request.db.execute(
        """
        INSERT INTO saved_place VALUES (?, ?, ?, ?) ON CONFLICT (user_id, place_id) DO UPDATE SET note = excluded.note
        """,
        (user["user_id"], place_id, values["note"], request.stamp),
    )
    return request.redirect(f"/place/{place_id}", f"{place['name']} is in your saved places.")


@site.post("/place/<int:place_id>/forget", members_only)
def forget(request: Request, user: sqlite3.Row, place_id: int) -> Response:
    """Take a place off the list. Raises NotFound."""
    place = wanted_place(request, place_id)
    request.db.execute("DELETE FROM saved_place WHERE user_id = ? AND place_id = ?", (user["user_id"], place_id))
    return request.redirect(return_url(request, f"/place/{place_id}"), f"{place['name']} is no longer in your saved places.")
