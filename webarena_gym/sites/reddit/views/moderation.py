"""What moderators do: removing, locking and pinning submissions, removing comments, and naming more moderators."""

import sqlite3

from webarena_gym.sites.kit.forms import checked
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import members_only, site
from webarena_gym.sites.reddit.forms import Field
from webarena_gym.sites.reddit.views.comments import find_comment
from webarena_gym.sites.reddit.views.forums import find_forum, moderated_forum, sidebar
from webarena_gym.sites.reddit.views.submissions import find_submission

CHANGES = {
    "remove": ("state = 'removed'", "The submission was removed."),
    "restore": ("state = 'visible'", "The submission was restored."),
    "lock": ("is_locked = 1", "The submission was locked."),
    "unlock": ("is_locked = 0", "The submission was unlocked."),
    "pin": ("is_sticky = 1", "The submission was made sticky."),
    "unpin": ("is_sticky = 0", "The submission is no longer sticky."),
}
"""What can be done with a submission: the SQL, and what is said afterwards."""


@site.post(f"/submission/<int:submission_id>/<any({', '.join(CHANGES)}):change>")
@members_only
def moderate(request: Request, _: sqlite3.Row, submission_id: int, change: str) -> Response:
    """Change a submission to a forum that the visitor moderates."""
    submission = find_submission(request, submission_id)
    moderated_forum(request, submission["forum"])
    assignment, message = CHANGES[change]
    request.db.execute(f"UPDATE submission SET {assignment} WHERE submission_id = ?", (submission_id,))
    return request.redirect(return_url(request, queries.address(submission)), message)


@site.post("/f/<name>/<int:submission_id>/<slug>/comment/<int:comment_id>/remove")
@members_only
def remove_comment(request: Request, _: sqlite3.Row, submission_id: int, comment_id: int, **__: str) -> Response:
    """Remove a comment in a forum that the visitor moderates."""
    submission, _row = find_comment(request, submission_id, comment_id)
    moderated_forum(request, submission["forum"])
    request.db.execute("UPDATE comment SET state = 'removed' WHERE comment_id = ?", (comment_id,))
    return request.redirect(queries.address(submission), "The comment was removed.")


@site.get("/f/<name>/moderators")
def moderators(request: Request, name: str) -> str:
    """Show who moderates a forum, and let moderators add one."""
    return _page(request, find_forum(request, name), "", [])


@site.post("/f/<name>/moderators")
@members_only
def add_moderator(request: Request, _: sqlite3.Row, name: str) -> str | Response:
    """Make somebody a moderator."""
    forum = moderated_forum(request, name)
    fields = {"username": Field("Username", limit=25)}
    values, errors = checked(request, fields)
    user = queries.user_named(request.db, values["username"])
    if not errors and user is None:
        errors.append("Username: there is no user of this name.")
    if errors or user is None:
        return _page(request, forum, values["username"], errors)
    request.db.execute("INSERT OR IGNORE INTO moderator VALUES (?, ?, ?)", (forum["forum_id"], user["user_id"], request.stamp))
    return request.redirect(f"/f/{forum['name']}/moderators", f"{user['username']} is a moderator of {forum['name']}.")


def _page(request: Request, forum: sqlite3.Row, username: str, errors: list[str]) -> str:
    return request.render("moderators.html", username=username, errors=errors, **sidebar(request, forum))
