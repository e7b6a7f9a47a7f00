"""The places that somebody saved, each with a note."""

import sqlite3

from webarena_gym.sites.kit.forms import Field, checked
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.base import members_only, site
from webarena_gym.sites.map.views.places import wanted_place

PER_PAGE = 20
NOTE = {"note": Field("Note", required=False, limit=300)}


@site.get("/saved")
@members_only
def show(request: Request, user: sqlite3.Row) -> str:
    """Show my saved places by name."""
    places = queries.rows(
        request.db,
        "SELECT places.*, note, saved_at FROM saved_place JOIN places USING (place_id) WHERE user_id = ? ORDER BY name",
        user["user_id"],
    )
    pager = Pager.of(request, len(places), PER_PAGE)
    return request.render("saved.html", places=pager.cut(places), pager=pager)


@site.post("/place/<int:place_id>/save")
@members_only
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


@site.post("/place/<int:place_id>/forget")
@members_only
def forget(request: Request, user: sqlite3.Row, place_id: int) -> Response:
    """Take a place off the list. Raises NotFound."""
    place = wanted_place(request, place_id)
    request.db.execute("DELETE FROM saved_place WHERE user_id = ? AND place_id = ?", (user["user_id"], place_id))
    return request.redirect(return_url(request, f"/place/{place_id}"), f"{place['name']} is no longer in your saved places.")
