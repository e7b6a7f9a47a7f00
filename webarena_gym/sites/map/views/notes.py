"""Notes that mappers leave on the map, and suggestions of new places."""

import sqlite3

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.kit.database import insert, one, update
from webarena_gym.sites.kit.forms import Field, Pager, checked, taken
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.geometry import Point
from webarena_gym.sites.map.site import argument, marked, members_only, point_of, site
from webarena_gym.sites.map.views.places import wanted_place

PER_PAGE = 15
STATUSES = ("open", "resolved", "all")
WHERE = "Where is it?"
FIELDS = {"where": Field(WHERE, limit=200), "text": Field("Note", limit=1000)}
COMMENT = {"text": Field("Comment", limit=1000)}


@site.get("/notes")
def show(request: Request) -> str:
    """Show the notes of a status, the newest first."""
    status = argument(request, "status")
    status = status if status in STATUSES else "open"
    request.shows({"status": None if status == "open" else status})
    notes = request.db.execute(
        """
        SELECT n.*, u.name AS author, (SELECT count(*) FROM note_comment c WHERE c.note_id = n.note_id) AS comments
        FROM map_note n JOIN user u USING (user_id) WHERE ? IN (n.status, 'all') ORDER BY n.created_at DESC, note_id DESC
        """,
        (status,),
    ).fetchall()
    pager = Pager.of(request, len(notes), PER_PAGE)
    return request.render("notes.html", notes=pager.cut(notes), pager=pager, status=status, statuses=STATUSES)


@site.form("/note/new", members_only)
def new(request: Request, user: sqlite3.Row) -> str | Response:
    """Put a note on the map."""
    if request.method != "POST":
        point = point_of(request.args)
        where = argument(request, "where") or (f"{point.latitude:.5f}, {point.longitude:.5f}" if point else "")
        request.shows({"where": where})
        return request.render("note_form.html", values={"where": where, "text": ""}, errors=[])
    values, errors = checked(request, FIELDS)
    found = [] if errors else queries.find(request.db, values["where"])
    exact = [one for one in found if one.is_exact] or found
    if not errors and len(exact) != 1:
        many = "several places are called that; add the town, or enter coordinates"
        errors.append(f"{WHERE} {values['where']}: {many if exact else 'there is no such place on the map'}.")
    if errors:
        return request.render("note_form.html", values=values, errors=errors)
    latitude, longitude = (round(degrees, 5) for degrees in exact[0].point)
    place = {"user_id": user["user_id"], "latitude": latitude, "longitude": longitude}
    note_id = insert(request.db, "map_note", **place, text=values["text"], status="open", created_at=request.stamp)
    return request.redirect(f"/note/{note_id}", "Your note is on the map.")


@site.get("/note/<int:note_id>")
def page(request: Request, note_id: int) -> str:
    """Show a note with all comments. Raises NotFound."""
    return _page(request, _note(request, note_id), "", [])


@site.post("/note/<int:note_id>/comment", members_only)
def comment(request: Request, user: sqlite3.Row, note_id: int) -> str | Response:
    """Say something about a note. Raises NotFound."""
    note = _note(request, note_id)
    values, errors = checked(request, COMMENT)
    if errors:
        return _page(request, note, values["text"], errors)
    insert(request.db, "note_comment", note_id=note_id, user_id=user["user_id"], text=values["text"], created_at=request.stamp)
    return request.redirect(f"/note/{note_id}", "You commented on the note.")


@site.post("/note/<int:note_id>/resolve", members_only)
def resolve(request: Request, _: sqlite3.Row, note_id: int) -> Response:
    """Mark a note as resolved; anybody who is signed in may. Raises NotFound."""
    _note(request, note_id)
    update(request.db, "map_note", "note_id", note_id, status="resolved")
    return request.redirect(f"/note/{note_id}", "The note is resolved.")


@site.post("/note/<int:note_id>/delete", members_only)
def delete(request: Request, user: sqlite3.Row, note_id: int) -> Response:
    """Take a note of one's own off the map. Raises NotFound and Forbidden."""
    if _note(request, note_id)["user_id"] != user["user_id"]:
        raise Forbidden("Only the author of a note can delete it.")
    request.db.execute("DELETE FROM note_comment WHERE note_id = ?", (note_id,))
    request.db.execute("DELETE FROM map_note WHERE note_id = ?", (note_id,))
    return request.redirect("/notes", "Your note is deleted.")


def _note(request: Request, note_id: int) -> sqlite3.Row:
    query = "SELECT n.*, u.name AS author FROM map_note n JOIN user u USING (user_id) WHERE note_id = ?"
    return one(request.db, query, (note_id,))


def _page(request: Request, note: sqlite3.Row, text: str, errors: list[str]) -> str:
    query = "SELECT c.*, u.name AS author FROM note_comment c JOIN user u USING (user_id) WHERE note_id = ? ORDER BY comment_id"
    point = Point(note["latitude"], note["longitude"])
    return request.render(
        "note.html",
        note=note,
        comments=request.db.execute(query, (note["note_id"],)).fetchall(),
        address=queries.nearest_address(request.db, point),
        picture=marked(point),
        text=text,
        errors=errors,
    )


SUGGESTIONS_PER_PAGE = 15
PARTS = ("Name", "Category", "Address", "Phone", "Website", "Opening hours")
SUGGESTION_FIELDS = {
    "field": Field("What is wrong?"),
    "value": Field("It should read", limit=300),
    "comment": Field("How do you know?", required=False, limit=1000),
}


@site.form("/place/<int:place_id>/edit", members_only)
def suggest(request: Request, user: sqlite3.Row, place_id: int) -> str | Response:
    """Keep a suggestion. Raises NotFound."""
    place = wanted_place(request, place_id)
    values, errors = taken(request, SUGGESTION_FIELDS, dict.fromkeys(SUGGESTION_FIELDS, ""))
    if errors == [] and values["field"] not in PARTS:
        errors = [f"What is wrong? Please choose one of {', '.join(PARTS)}."]
    if errors != []:
        return request.render("suggestion_form.html", place=place, parts=PARTS, values=values, errors=errors or [])
    of_user = {"user_id": user["user_id"], "place_id": place_id}
    insert(request.db, "suggestion", **of_user, **values, status="waiting", created_at=request.stamp)
    return request.redirect("/suggestions", "Thank you. The editors will look at your suggestion.")


@site.get("/suggestions", members_only)
def show_suggestion(request: Request, user: sqlite3.Row) -> str:
    """Show my own suggestions, the newest first."""
    query = "SELECT s.*, p.name FROM suggestion s JOIN place p USING (place_id) WHERE user_id = ? ORDER BY suggestion_id DESC"
    mine = request.db.execute(query, (user["user_id"],)).fetchall()
    pager = Pager.of(request, len(mine), SUGGESTIONS_PER_PAGE)
    return request.render("suggestions.html", suggestions=pager.cut(mine), pager=pager)


@site.post("/suggestion/<int:suggestion_id>/withdraw", members_only)
def withdraw(request: Request, user: sqlite3.Row, suggestion_id: int) -> Response:
    """Take a suggestion of one's own back. Raises NotFound and Forbidden."""
    row = one(request.db, "SELECT * FROM suggestion WHERE suggestion_id = ?", (suggestion_id,))
    if row["user_id"] != user["user_id"]:
        raise Forbidden("Only the author of a suggestion can withdraw it.")
    update(request.db, "suggestion", "suggestion_id", suggestion_id, status="withdrawn")
    return request.redirect("/suggestions", "The suggestion is withdrawn.")
