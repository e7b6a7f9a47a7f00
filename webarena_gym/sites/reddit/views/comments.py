"""Comments: writing, answering, changing and deleting them."""

import sqlite3

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.kit.forms import checked
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import members_only, my_id, site
from webarena_gym.sites.reddit.forms import Field
from webarena_gym.sites.reddit.views.forums import find_forum, sidebar
from webarena_gym.sites.reddit.views.submissions import find_submission, show, thread_of

FIELDS = {"comment": Field("Comment", limit=10_000)}
_THREAD = "/f/<name>/<int:submission_id>/<slug>"
_COMMENT = f"{_THREAD}/comment/<int:comment_id>"


def find_comment(request: Request, submission_id: int, comment_id: int) -> tuple[sqlite3.Row, sqlite3.Row]:
    """Return a submission and a comment on it that can be seen. Raises NotFound."""
    submission = find_submission(request, submission_id)
    row = queries.comment(request.db, comment_id, my_id(request))
    if row is None or row["submission_id"] != submission_id or row["state"] != "visible":
        raise NotFound("There is no such comment.")
    return submission, row


def _own_comment(request: Request, submission_id: int, comment_id: int) -> sqlite3.Row:
    row = find_comment(request, submission_id, comment_id)[1]
    if row["user_id"] != my_id(request):
        raise Forbidden("Only its author may do that.")
    return row


@site.post(f"{_THREAD}/comment")
@members_only
def write(request: Request, user: sqlite3.Row, submission_id: int, **_: str) -> str | Response:
    """Write a comment on a submission."""
    submission = find_submission(request, submission_id)
    values, errors = _typed(request, submission)
    if errors:
        return show(request, submission, typed=values["comment"], errors=errors)
    return _insert(request, submission, user, None, values["comment"])


@site.get(_COMMENT)
def comment_page(request: Request, submission_id: int, comment_id: int, **_: str) -> str:
    """Show one comment with what answers it, and a form for another answer."""
    submission, row = find_comment(request, submission_id, comment_id)
    return _page(request, submission, row)


@site.post(_COMMENT)
@members_only
def answer(request: Request, user: sqlite3.Row, submission_id: int, comment_id: int, **_: str) -> str | Response:
    """Answer a comment."""
    submission, row = find_comment(request, submission_id, comment_id)
    values, errors = _typed(request, submission)
    if errors:
        return _page(request, submission, row, values["comment"], errors)
    return _insert(request, submission, user, comment_id, values["comment"])


def _page(request: Request, submission: sqlite3.Row, row: sqlite3.Row, typed: str = "", errors: list[str] | None = None) -> str:
    return request.render(
        "comment.html",
        submission=submission,
        comment=row,
        thread=thread_of(request, submission["submission_id"]),
        typed=typed,
        errors=errors or [],
        **sidebar(request, find_forum(request, submission["forum"])),
    )


def _typed(request: Request, submission: sqlite3.Row) -> tuple[dict[str, str], list[str]]:
    values, errors = checked(request, FIELDS)
    if submission["is_locked"] and not find_forum(request, submission["forum"])["is_moderated"]:
        errors = ["This submission is locked. No new comments can be posted."]
    return values, errors


def _insert(request: Request, submission: sqlite3.Row, user: sqlite3.Row, parent_id: int | None, body: str) -> Response:
    """Store a comment, for which its author votes, and return to the thread."""
    comment_id = request.db.execute(
        "INSERT INTO comment (submission_id, parent_id, user_id, body, created_at) VALUES (?, ?, ?, ?, ?)",
        (submission["submission_id"], parent_id, user["user_id"], body, request.stamp),
    ).lastrowid
    request.db.execute("INSERT INTO comment_vote VALUES (?, ?, 1)", (comment_id, user["user_id"]))
    return request.redirect(f"{queries.address(submission)}#comment_{comment_id}", "Your comment was posted.")


@site.get(f"{_COMMENT}/edit")
@members_only
def edit_form(request: Request, _: sqlite3.Row, submission_id: int, comment_id: int, **__: str) -> str:
    """Show one's own comment, to be changed."""
    row = _own_comment(request, submission_id, comment_id)
    return request.render("comment_edit.html", comment=row, body=row["body"], errors=[])


@site.post(f"{_COMMENT}/edit")
@members_only
def edit(request: Request, _: sqlite3.Row, submission_id: int, comment_id: int, **__: str) -> str | Response:
    """Change one's own comment."""
    row = _own_comment(request, submission_id, comment_id)
    values, errors = checked(request, FIELDS)
    if errors:
        return request.render("comment_edit.html", comment=row, body=values["comment"], errors=errors)
    request.db.execute(
        "UPDATE comment SET body = ?, edited_at = ? WHERE comment_id = ?", (values["comment"], request.stamp, comment_id)
    )
    return request.redirect(f"{queries.address(row)}#comment_{comment_id}", "Your comment was edited.")


@site.post(f"{_COMMENT}/delete")
@members_only
def delete(request: Request, _: sqlite3.Row, submission_id: int, comment_id: int, **__: str) -> Response:
    """Delete one's own comment."""
    row = _own_comment(request, submission_id, comment_id)
    request.db.execute("UPDATE comment SET state = 'deleted' WHERE comment_id = ?", (comment_id,))
    return request.redirect(queries.address(row), "The comment was deleted.")
