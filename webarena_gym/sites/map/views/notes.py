"""Notes that mappers leave on the map, and what others say to them."""

import sqlite3

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import Field, checked
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.map import finding
from webarena_gym.sites.map.base import argument, members_only, site
from webarena_gym.sites.map.geometry import Point
from webarena_gym.sites.map.windows import marked, point_of

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


@site.get("/note/new")
@members_only
def new_form(request: Request, _: sqlite3.Row) -> str:
    """Ask what is wrong with the map, and where."""
    point = point_of(request.args)
    where = argument(request, "where") or (f"{point.latitude:.5f}, {point.longitude:.5f}" if point else "")
    request.shows({"where": where})
    return request.render("note_form.html", values={"where": where, "text": ""}, errors=[])


@site.post("/note/new")
@members_only
def new(request: Request, user: sqlite3.Row) -> str | Response:
    """Put a note on the map."""
    values, errors = checked(request, FIELDS)
    found = [] if errors else finding.find(request.db, values["where"])
    exact = [one for one in found if one.is_exact] or found
    if not errors and len(exact) != 1:
        say = (
            "several places are called that; add the town, or enter coordinates"
            if exact
            else "there is no such place on the map"
        )
        errors.append(f"{WHERE} {values['where']}: {say}.")
    if errors:
        return request.render("note_form.html", values=values, errors=errors)
    point = exact[0].point
    note_id = request.db.execute(
        "INSERT INTO map_note (user_id, latitude, longitude, text, status, created_at) VALUES (?, ?, ?, ?, 'open', ?)",
        (
            user["user_id"],
            round(point.latitude, 5),
            round(point.longitude, 5),
            values["text"],
            request.stamp,
        ),
    ).lastrowid
    return request.redirect(f"/note/{note_id}", "Your note is on the map.")


@site.get("/note/<int:note_id>")
def page(request: Request, note_id: int) -> str:
    """Show a note with all comments. Raises NotFound."""
    return _page(request, _note(request, note_id), "", [])


@site.post("/note/<int:note_id>/comment")
@members_only
def comment(request: Request, user: sqlite3.Row, note_id: int) -> str | Response:
    """Say something about a note. Raises NotFound."""
    note = _note(request, note_id)
    values, errors = checked(request, COMMENT)
    if errors:
        return _page(request, note, values["text"], errors)
    request.db.execute(
        "INSERT INTO note_comment (note_id, user_id, text, created_at) VALUES (?, ?, ?, ?)",
        (note_id, user["user_id"], values["text"], request.stamp),
    )
    return request.redirect(f"/note/{note_id}", "You commented on the note.")


@site.post("/note/<int:note_id>/resolve")
@members_only
def resolve(request: Request, _: sqlite3.Row, note_id: int) -> Response:
    """Mark a note as resolved; anybody who is signed in may. Raises NotFound."""
    _note(request, note_id)
    request.db.execute("UPDATE map_note SET status = 'resolved' WHERE note_id = ?", (note_id,))
    return request.redirect(f"/note/{note_id}", "The note is resolved.")


@site.post("/note/<int:note_id>/delete")
@members_only
def delete(request: Request, user: sqlite3.Row, note_id: int) -> Response:
    """Take a note of one's own off the map. Raises NotFound and Forbidden."""
    if _note(request, note_id)["user_id"] != user["user_id"]:
        raise Forbidden("Only the author of a note can delete it.")
    request.db.execute("DELETE FROM note_comment WHERE note_id = ?", (note_id,))
    request.db.execute("DELETE FROM map_note WHERE note_id = ?", (note_id,))
    return request.redirect("/notes", "Your note is deleted.")


def _note(request: Request, note_id: int) -> sqlite3.Row:
    return one(
        request.db, "SELECT n.*, u.name AS author FROM map_note n JOIN user u USING (user_id) WHERE note_id = ?", (note_id,)
    )


def _page(request: Request, note: sqlite3.Row, text: str, errors: list[str]) -> str:
    comments = request.db.execute(
        "SELECT c.*, u.name AS author FROM note_comment c JOIN user u USING (user_id) WHERE note_id = ? ORDER BY comment_id",
        (note["note_id"],),
    ).fetchall()
    point = Point(note["latitude"], note["longitude"])
    return request.render(
        "note.html",
        note=note,
        comments=comments,
        address=finding.nearest_address(request.db, point),
        picture=marked(point),
        text=text,
        errors=errors,
    )
