"""Private messages between two users."""

import sqlite3

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import checked
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import PER_PAGE, members_only, site
from webarena_gym.sites.reddit.forms import Field
from webarena_gym.sites.reddit.views.users import find_user

FIELDS = {"message": Field("Message", limit=10_000)}
MY_THREADS = """
    SELECT t.thread_id, u.user_id AS other_id, u.username AS other, count(*) AS messages, max(m.message_id) AS last_id,
        max(m.created_at) AS last_at, sum(m.sender_id != :me AND NOT m.is_read) AS unread
    FROM message_thread t JOIN message m USING (thread_id)
        JOIN user u ON u.user_id = CASE t.sender_id WHEN :me THEN t.receiver_id ELSE t.sender_id END
    WHERE :me IN (t.sender_id, t.receiver_id)
"""


@site.get("/messages")
@members_only
def inbox(request: Request, user: sqlite3.Row) -> str:
    """Show the visitor's conversations, the latest first."""
    values = {"me": user["user_id"]}
    query = "SELECT count(*) FROM message_thread t WHERE :me IN (t.sender_id, t.receiver_id)"
    pager = Pager.of(request, request.db.execute(query, values).fetchone()[0], PER_PAGE)
    rows = request.db.execute(
        f"""SELECT x.*, substr(m.body, 1, 100) AS excerpt FROM ({MY_THREADS} GROUP BY t.thread_id) x
        JOIN message m ON m.message_id = x.last_id ORDER BY x.last_at DESC, x.thread_id DESC LIMIT :limit OFFSET :first""",
        values | {"limit": pager.limit, "first": pager.first},
    ).fetchall()
    return request.render("messages.html", threads=rows, pager=pager)


def _thread(request: Request, user: sqlite3.Row, thread_id: int) -> sqlite3.Row:
    values = {"me": user["user_id"], "thread_id": thread_id}
    return one(
        request.db,
        f"{MY_THREADS} AND t.thread_id = :thread_id GROUP BY t.thread_id",
        values,
        missing="There is no such conversation of yours.",
    )


@site.get("/messages/<int:thread_id>")
@members_only
def conversation(request: Request, user: sqlite3.Row, thread_id: int) -> str:
    """Show a conversation; what was unread is read now."""
    thread = _thread(request, user, thread_id)
    request.db.execute("UPDATE message SET is_read = 1 WHERE thread_id = ? AND sender_id != ?", (thread_id, user["user_id"]))
    return _page(request, thread, "", [])


@site.post("/messages/<int:thread_id>")
@members_only
def reply(request: Request, user: sqlite3.Row, thread_id: int) -> str | Response:
    """Write another message in a conversation."""
    thread = _thread(request, user, thread_id)
    values, errors = _typed(request, user, thread["other_id"])
    if errors:
        return _page(request, thread, values["message"], errors)
    _send(request, thread_id, user, values["message"])
    return redirect(f"/messages/{thread_id}")


def _page(request: Request, thread: sqlite3.Row, typed: str, errors: list[str]) -> str:
    rows = request.db.execute(
        "SELECT m.*, u.username AS sender FROM message m JOIN user u ON u.user_id = m.sender_id WHERE thread_id = ?"
        " ORDER BY message_id DESC LIMIT 100",
        (thread["thread_id"],),
    ).fetchall()
    return request.render("conversation.html", thread=thread, messages_sent=rows[::-1], typed=typed, errors=errors)


@site.get("/user/<username>/compose_message")
@members_only
def compose_form(request: Request, _: sqlite3.Row, username: str) -> str:
    """Ask for a message to somebody."""
    return request.render("compose.html", receiver=find_user(request, username), typed="", errors=[])


@site.post("/user/<username>/compose_message")
@members_only
def compose(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Send a message, which begins a conversation."""
    receiver = find_user(request, username)
    values, errors = _typed(request, user, receiver["user_id"])
    if errors:
        return request.render("compose.html", receiver=receiver, typed=values["message"], errors=errors)
    thread_id = request.db.execute(
        "INSERT INTO message_thread (sender_id, receiver_id) VALUES (?, ?)", (user["user_id"], receiver["user_id"])
    ).lastrowid
    assert thread_id is not None
    _send(request, thread_id, user, values["message"])
    return redirect(f"/messages/{thread_id}")


def _typed(request: Request, user: sqlite3.Row, receiver_id: int) -> tuple[dict[str, str], list[str]]:
    values, errors = checked(request, FIELDS)
    if receiver_id == user["user_id"]:
        errors = ["You cannot write to yourself."]
    elif queries.is_blocked(request.db, user["user_id"], receiver_id):
        errors = ["You have blocked this user. Unblock them to write to them."]
    elif queries.is_blocked(request.db, receiver_id, user["user_id"]):
        errors = ["This user does not take messages from you."]
    return values, errors


def _send(request: Request, thread_id: int, user: sqlite3.Row, body: str) -> None:
    request.db.execute(
        "INSERT INTO message (thread_id, sender_id, body, created_at) VALUES (?, ?, ?, ?)",
        (thread_id, user["user_id"], body, request.stamp),
    )
    request.flash("Your message was sent.")
