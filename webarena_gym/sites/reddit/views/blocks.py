"""Blocking: what somebody whom the visitor has blocked writes is not shown, and they can send no messages."""

import sqlite3

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.reddit.base import members_only, site
from webarena_gym.sites.reddit.views.users import find_user


@site.post("/user/<username>/<any(block, unblock):change>")
@members_only
def block(request: Request, user: sqlite3.Row, username: str, change: str) -> Response:
    """Block somebody, or let them be seen again."""
    other = find_user(request, username)
    if other["user_id"] == user["user_id"]:
        raise Forbidden("You cannot block yourself.")
    if change == "block":
        request.db.execute(
            "INSERT OR IGNORE INTO user_block VALUES (?, ?, ?)", (user["user_id"], other["user_id"], request.stamp)
        )
    else:
        request.db.execute("DELETE FROM user_block WHERE user_id = ? AND blocked_id = ?", (user["user_id"], other["user_id"]))
    return request.redirect(return_url(request, f"/user/{other['username']}"), f"{other['username']} was {change}ed.")


@site.get("/user/<username>/block_list")
@members_only
def block_list(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Show whom the visitor has blocked."""
    if user["username"] != username:
        return redirect(f"/user/{user['username']}/block_list")
    rows = request.db.execute(
        """SELECT u.username, b.since FROM user_block b JOIN user u ON u.user_id = b.blocked_id
        WHERE b.user_id = ? ORDER BY u.username""",
        (user["user_id"],),
    ).fetchall()
    return request.render("blocks.html", blocks=rows)
