"""Submissions: the thread of one, its picture, changing and deleting one's own, and hiding what one has seen enough of."""

import sqlite3
from collections.abc import Sequence

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import checked
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.reddit import images, queries
from webarena_gym.sites.reddit.base import PER_PAGE, members_only, my_id, site
from webarena_gym.sites.reddit.forms import Field
from webarena_gym.sites.reddit.queries import REMARK
from webarena_gym.sites.reddit.views.forums import find_forum, sidebar

BODY = Field("Body", required=False, limit=40_000)

Thread = dict[int | None, list[sqlite3.Row]]
"""Comments by the one that they answer, the best first."""


def find_submission(request: Request, submission_id: int) -> sqlite3.Row:
    """Return a submission that can be seen: removed ones only by their author and by moderators. Raises NotFound."""
    row = queries.submission(request.db, submission_id, my_id(request))
    if row is None or row["state"] == "deleted":
        raise NotFound("There is no such submission.")
    if row["state"] == "removed" and row["user_id"] != my_id(request) and not find_forum(request, row["forum"])["is_moderated"]:
        raise NotFound("This submission was removed by a moderator.")
    return row


def own_submission(request: Request, submission_id: int) -> sqlite3.Row:
    """Return one of the visitor's own submissions. Raises NotFound and Forbidden."""
    row = find_submission(request, submission_id)
    if row["user_id"] != my_id(request):
        raise Forbidden("Only its author may do that.")
    return row


def thread_of(request: Request, submission_id: int) -> Thread:
    """Return the comments on a submission. One that is gone stays as a gap as long as something answers it."""
    rows = request.db.execute(
        f"{REMARK} WHERE c.submission_id = :submission_id ORDER BY score DESC, c.comment_id",
        {"me": my_id(request), "submission_id": submission_id},
    ).fetchall()
    answered: set[int | None] = set()
    for row in sorted(rows, key=lambda row: -row["comment_id"]):
        if row["state"] == "visible" or row["comment_id"] in answered:
            answered.add(row["parent_id"])
    thread: Thread = {}
    for row in rows:
        if row["state"] == "visible" or row["comment_id"] in answered:
            thread.setdefault(row["parent_id"], []).append(row)
    return thread


def show(request: Request, row: sqlite3.Row, *, typed: str = "", errors: Sequence[str] = ()) -> str:
    """Return the page of a submission; `typed` is a comment that was refused because of `errors`."""
    thread = thread_of(request, row["submission_id"])
    first = thread.get(None, [])
    pager = Pager.of(request, len(first), PER_PAGE)
    return request.render(
        "submission.html",
        submission=row,
        thread=thread,
        first=pager.cut(first),
        pager=pager,
        typed=typed,
        errors=errors,
        **sidebar(request, find_forum(request, row["forum"])),
    )


@site.get("/f/<name>/<int:submission_id>")
@site.get("/f/<name>/<int:submission_id>/<slug>")
def submission_page(request: Request, name: str, submission_id: int, slug: str = "") -> str | Response:
    """Show a submission with its comments, under its one true address."""
    row = find_submission(request, submission_id)
    if (name, slug) != (row["forum"], row["slug"]):
        return redirect(queries.address(row))
    return show(request, row)


@site.get("/submission_images/<int:image_id>.svg")
def picture(request: Request, image_id: int) -> Response:
    """Serve a picture."""
    row = one(request.db, "SELECT description FROM image WHERE image_id = ?", (image_id,))
    return Response(images.draw(row["description"]), content_type="image/svg+xml")


@site.get("/f/<name>/<int:submission_id>/<slug>/edit")
@members_only
def edit_form(request: Request, _: sqlite3.Row, submission_id: int, **__: str) -> str:
    """Show the text of one's own submission, to be changed."""
    row = own_submission(request, submission_id)
    return request.render("submission_edit.html", submission=row, body=row["body"], errors=[])


@site.post("/f/<name>/<int:submission_id>/<slug>/edit")
@members_only
def edit(request: Request, _: sqlite3.Row, submission_id: int, **__: str) -> str | Response:
    """Change the text of one's own submission."""
    row = own_submission(request, submission_id)
    fields = {"body": BODY}
    values, errors = checked(request, fields)
    if errors:
        return request.render("submission_edit.html", submission=row, body=values["body"], errors=errors)
    request.db.execute(
        "UPDATE submission SET body = ?, edited_at = ? WHERE submission_id = ?",
        (values["body"], request.stamp, submission_id),
    )
    return request.redirect(queries.address(row), "Your submission was edited.")


@site.post("/f/<name>/<int:submission_id>/<slug>/delete")
@members_only
def delete(request: Request, _: sqlite3.Row, submission_id: int, **__: str) -> Response:
    """Delete one's own submission."""
    row = own_submission(request, submission_id)
    request.db.execute("UPDATE submission SET state = 'deleted' WHERE submission_id = ?", (submission_id,))
    return request.redirect(f"/f/{row['forum']}", "The submission was deleted.")


@site.post("/submission/<int:submission_id>/<any(hide, unhide):change>")
@members_only
def hide(request: Request, user: sqlite3.Row, submission_id: int, change: str) -> Response:
    """Leave a submission out of the visitor's lists, or show it there again."""
    row = find_submission(request, submission_id)
    query = {
        "hide": "INSERT OR IGNORE INTO hidden_submission VALUES (?, ?)",
        "unhide": "DELETE FROM hidden_submission WHERE user_id = ? AND submission_id = ?",
    }[change]
    request.db.execute(query, (user["user_id"], submission_id))
    return request.redirect(
        return_url(request, queries.address(row)),
        f"“{row['title']}” is {'hidden from' if change == 'hide' else 'back in'} your lists.",
    )
