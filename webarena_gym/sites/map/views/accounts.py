"""Accounts: signing in and out, making one, and saved places."""

import sqlite3

from webarena_gym.sites.kit.accounts import guests_only, return_url, welcome
from webarena_gym.sites.kit.database import first, insert
from webarena_gym.sites.kit.forms import EMAIL, PASSWORD, Aside, Field, FormPage, Pager, checked, password_complaints
from webarena_gym.sites.kit.requests import Request, Response
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
    query = "SELECT * FROM user WHERE email = :email COLLATE NOCASE AND password = :password"
    user = first(request.db, query, values)
    if user is None:
        return SIGN_IN.show(request, values, errors or ["The email or the password is not correct. Please try again."])
    return welcome(request, user["user_id"], "/saved")


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
    if not errors and first(request.db, "SELECT 1 FROM user WHERE email = ? COLLATE NOCASE", (values["email"],)):
        errors.append("There is already an account with this email address.")
    if errors:
        return SIGN_UP.show(request, values, errors)
    del values["password_confirmation"]
    user_id = insert(request.db, "user", **values, created_at=request.stamp)
    request.flash(f"Welcome to {BRAND}, {values['name']}.")
    return welcome(request, user_id, "/saved")


PER_PAGE = 20
NOTE = {"note": Field("Note", required=False, limit=300)}


@site.get("/saved", members_only)
def show(request: Request, user: sqlite3.Row) -> str:
    """Show my saved places by name."""
    query = "SELECT places.*, note, saved_at FROM saved_place JOIN places USING (place_id) WHERE user_id = ? ORDER BY name"
    places = queries.fetch(request.db, query, user["user_id"])
    pager = Pager.of(request, len(places), PER_PAGE)
    return request.render("saved.html", places=pager.cut(places), pager=pager)


@site.post("/place/<int:place_id>/save", members_only)
def save(request: Request, user: sqlite3.Row, place_id: int) -> Response:
    """Save a place with a note, or change the note of a saved one. Raises NotFound."""
    place = wanted_place(request, place_id)
    values, errors = checked(request, NOTE)
    if errors:
        return request.redirect(f"/place/{place_id}", errors[0], "error")
    query = "INSERT INTO saved_place VALUES (?, ?, ?, ?) ON CONFLICT (user_id, place_id) DO UPDATE SET note = excluded.note"
    request.db.execute(query, (user["user_id"], place_id, values["note"], request.stamp))
    return request.redirect(f"/place/{place_id}", f"{place['name']} is in your saved places.")


@site.post("/place/<int:place_id>/forget", members_only)
def forget(request: Request, user: sqlite3.Row, place_id: int) -> Response:
    """Take a place off the list. Raises NotFound."""
    place = wanted_place(request, place_id)
    request.db.execute("DELETE FROM saved_place WHERE user_id = ? AND place_id = ?", (user["user_id"], place_id))
    return request.redirect(return_url(request, f"/place/{place_id}"), f"{place['name']} is no longer in your saved places.")
