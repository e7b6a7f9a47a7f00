"""Suggestions of how the page of a place should read; they wait for the map's editors."""

import sqlite3

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import Field, checked
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.map.base import members_only, site
from webarena_gym.sites.map.views.places import wanted_place

PER_PAGE = 15
PARTS = ("Name", "Category", "Address", "Phone", "Website", "Opening hours")
FIELDS = {
    "field": Field("What is wrong?"),
    "value": Field("It should read", limit=300),
    "comment": Field("How do you know?", required=False, limit=1000),
}


@site.get("/place/<int:place_id>/edit")
@members_only
def form(request: Request, _: sqlite3.Row, place_id: int) -> str:
    """Ask what should change. Raises NotFound."""
    place = wanted_place(request, place_id)
    return request.render("suggestion_form.html", place=place, parts=PARTS, values=dict.fromkeys(FIELDS, ""), errors=[])


@site.post("/place/<int:place_id>/edit")
@members_only
def suggest(request: Request, user: sqlite3.Row, place_id: int) -> str | Response:
    """Keep a suggestion. Raises NotFound."""
    place = wanted_place(request, place_id)
    values, errors = checked(request, FIELDS)
    if not errors and values["field"] not in PARTS:
        errors = [f"What is wrong? Please choose one of {', '.join(PARTS)}."]
    if errors:
        return request.render("suggestion_form.html", place=place, parts=PARTS, values=values, errors=errors)
    request.db.execute(
        "INSERT INTO suggestion (user_id, place_id, field, value, comment, status, created_at) VALUES (?, ?, ?, ?, ?, 'waiting', ?)",
        (user["user_id"], place_id, *(values[name] for name in FIELDS), request.stamp),
    )
    return request.redirect("/suggestions", "Thank you. The editors will look at your suggestion.")


@site.get("/suggestions")
@members_only
def show(request: Request, user: sqlite3.Row) -> str:
    """Show my own suggestions, the newest first."""
    mine = request.db.execute(
        "SELECT s.*, p.name FROM suggestion s JOIN place p USING (place_id) WHERE user_id = ? ORDER BY suggestion_id DESC",
        (user["user_id"],),
    ).fetchall()
    pager = Pager.of(request, len(mine), PER_PAGE)
    return request.render("suggestions.html", suggestions=pager.cut(mine), pager=pager)


@site.post("/suggestion/<int:suggestion_id>/withdraw")
@members_only
def withdraw(request: Request, user: sqlite3.Row, suggestion_id: int) -> Response:
    """Take a suggestion of one's own back. Raises NotFound and Forbidden."""
    row = one(request.db, "SELECT * FROM suggestion WHERE suggestion_id = ?", (suggestion_id,))
    if row["user_id"] != user["user_id"]:
        raise Forbidden("Only the author of a suggestion can withdraw it.")
    request.db.execute("UPDATE suggestion SET status = 'withdrawn' WHERE suggestion_id = ?", (suggestion_id,))
    return request.redirect("/suggestions", "The suggestion is withdrawn.")
