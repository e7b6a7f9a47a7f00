"""Profiles: who somebody is, and what they have written."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import PER_PAGE, members_only, my_id, site
from webarena_gym.sites.reddit.queries import CARD, REMARK

LATEST = 5  # submissions and comments on the overview
WRITTEN = {
    "submission": "submission s WHERE s.user_id = :author AND s.state = 'visible'",
    "comment": """comment c JOIN submission s USING (submission_id)
        WHERE c.user_id = :author AND c.state = 'visible' AND s.state = 'visible'""",
}
"""What stands on a profile."""


def find_user(request: Request, username: str) -> sqlite3.Row:
    """Return the user of that name. Raises NotFound."""
    user = queries.user_named(request.db, username)
    if user is None:
        raise NotFound(f"There is no user called {username[:50]}.")
    request.shows(username=user["username"])
    return user


@site.get("/user/<username>")
def overview(request: Request, username: str) -> str:
    """Show a user with the latest of what they wrote."""
    return _page(request, username, "overview")


@site.get("/user/<username>/<any(submissions, comments):tab>")
def tab_page(request: Request, username: str, tab: str) -> str:
    """Show a user's submissions or comments, the newest first."""
    return _page(request, username, tab)


def _page(request: Request, username: str, tab: str) -> str:
    user = find_user(request, username)
    values = {"me": my_id(request), "author": user["user_id"]}
    counts = {what: request.db.execute(f"SELECT count(*) FROM {rows}", values).fetchone()[0] for what, rows in WRITTEN.items()}
    pager = Pager.of(request, counts["comment" if tab == "comments" else "submission"] if tab != "overview" else 0, PER_PAGE)
    limits = {"limit": LATEST, "first": 0} if tab == "overview" else {"limit": pager.limit, "first": pager.first}
    submissions = comments = []
    if tab != "comments":
        submissions = request.db.execute(
            f"""{CARD} WHERE s.user_id = :author AND s.state = 'visible'
            ORDER BY s.created_at DESC, s.submission_id DESC LIMIT :limit OFFSET :first""",
            values | limits,
        ).fetchall()
    if tab != "submissions":
        comments = request.db.execute(
            f"""{REMARK} WHERE c.user_id = :author AND c.state = 'visible' AND s.state = 'visible'
            ORDER BY c.created_at DESC, c.comment_id DESC LIMIT :limit OFFSET :first""",
            values | limits,
        ).fetchall()
    moderated = request.db.execute(
        "SELECT f.name FROM forum f JOIN moderator USING (forum_id) WHERE user_id = ? ORDER BY f.name COLLATE NOCASE",
        (user["user_id"],),
    ).fetchall()
    return request.render(
        "user.html",
        user=user,
        tab=tab,
        counts=counts,
        submissions=submissions,
        comments=comments,
        pager=pager,
        moderated=moderated,
        is_me=user["user_id"] == my_id(request),
        is_blocked=queries.is_blocked(request.db, my_id(request), user["user_id"]),
    )


@site.get("/user/<username>/hidden_submissions")
@members_only
def hidden_submissions(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Show what the visitor has hidden from lists."""
    if user["username"] != username:
        return redirect(f"/user/{user['username']}/hidden_submissions")
    condition = "s.state = 'visible' AND s.submission_id IN (SELECT submission_id FROM hidden_submission WHERE user_id = :me)"
    values = {"me": user["user_id"]}
    pager = Pager.of(
        request, request.db.execute(f"SELECT count(*) FROM submission s WHERE {condition}", values).fetchone()[0], PER_PAGE
    )
    rows = request.db.execute(
        f"{CARD} WHERE {condition} ORDER BY s.submission_id DESC LIMIT :limit OFFSET :first",
        values | {"limit": pager.limit, "first": pager.first},
    ).fetchall()
    return request.render("hidden.html", submissions=rows, pager=pager)
