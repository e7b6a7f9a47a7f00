"""Accounts: login and logout, settings, profiles, blocked users and messages."""

import sqlite3
from collections.abc import Mapping

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.kit.accounts import return_url, sign_in_page, welcome
from webarena_gym.sites.kit.database import insert, row_or_404, update, value
from webarena_gym.sites.kit.forms import Aside, FormPage, Pager, form_values, read_and_check
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.queries import CARD, REMARK
from webarena_gym.sites.reddit.site import EMAIL, NAME, PER_PAGE, USERNAME, Field, current_user, members_only, my_id, site

SHORTEST = 8  # characters of a password
LOGIN = FormPage(
    title="Log in",
    action="/login",
    fields={"username": Field("Username"), "password": Field("Password", limit=128, type="password")},
    button="Log in",
    aside=Aside("New here?", "/registration", "Make an account"),
)
REGISTRATION = FormPage(
    title="Sign up",
    action="",
    fields={
        "username": USERNAME,
        "email": EMAIL,
        "password": Field("Password", limit=128, type="password"),
        "password_confirmation": Field("Repeat password", limit=128, type="password"),
    },
    button="Sign up",
)


def password_complaints(values: Mapping[str, str]) -> list[str]:
    """Return error messages for a new password and its repetition."""
    if len(values["password"]) < SHORTEST:
        return [f"Password: {SHORTEST} characters or more are needed."]
    return [] if values["password"] == values["password_confirmation"] else ["The two passwords are not the same."]


WRONG = "The username or the password is not correct. Please try again."
sign_in_page(site, LOGIN, current_user, "username = :username", WRONG)


@site.get("/logout")
def logout(request: Request) -> Response:
    """Log out."""
    if request.session.pop("user_id", None) is not None:
        request.session.clear()
        request.flash("You are logged out.")
    return redirect("/")


site.get("/registration")(REGISTRATION.render)


@site.post("/registration")
def registration(request: Request) -> str | Response:
    """Create an account and log in."""
    values, errors = read_and_check(request, REGISTRATION.fields)
    errors = errors or password_complaints(values)
    if not errors and queries.user_named(request.db, values["username"]):
        errors = ["Username: this name is taken."]
    if errors:
        return REGISTRATION.render(request, values, errors)
    del values["password_confirmation"]
    user_id = insert(request.db, "user", **values, created_at=request.stamp)
    request.flash(f"Welcome to {NAME}, {values['username']}!")
    return welcome(request, user_id)


BIOGRAPHY = {"biography": Field("Biography", required=False, limit=2_000)}
NIGHT_MODES = {"auto": "Like my device", "off": "Off", "on": "On"}
FRONT_PAGES = {"subscribed": "Subscribed forums", "all": "All forums", "moderated": "Moderated forums"}
PASSWORDS = {
    "password": Field("New password", required=False, limit=128),
    "password_confirmation": Field("Repeat new password", required=False, limit=128),
}
ACCOUNT = {"email": EMAIL, "night_mode": Field("Night mode"), "front_page": Field("Front page"), **PASSWORDS}


def _require_own(user: sqlite3.Row, username: str) -> None:
    if user["username"].lower() != username.lower():
        raise Forbidden("These are the settings of somebody else.")


@site.form("/user/<username>/edit_biography", members_only)
def biography(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Change the current user's biography."""
    _require_own(user, username)
    values, errors = form_values(request, BIOGRAPHY, user)
    if errors != []:
        return request.render("biography.html", user=user, **values, errors=errors or [])
    update(request.db, "user", "user_id", user["user_id"], **values)
    return request.redirect(f"/user/{user['username']}", "Your biography was saved.")


@site.form("/user/<username>/account", members_only)
def account(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Change the current user's settings; without a new password, the present one stays."""
    _require_own(user, username)
    values, errors = form_values(request, ACCOUNT, {**dict(user), "password_confirmation": ""})
    if errors is not None:
        if values["night_mode"] not in NIGHT_MODES or values["front_page"] not in FRONT_PAGES:
            errors.append("Please choose one of the settings of the list.")
        if values["password"] or values["password_confirmation"]:
            errors += password_complaints(values)
    if errors != []:
        choices = {"night_modes": NIGHT_MODES, "front_pages": FRONT_PAGES}
        return request.render("account.html", user=user, values=values, errors=errors or [], **choices)
    values["password"] = values["password"] or user["password"]
    del values["password_confirmation"]
    update(request.db, "user", "user_id", user["user_id"], **values)
    return request.redirect(f"/user/{user['username']}/account", "Your settings were saved.")


LATEST = 5  # submissions and comments on the overview
WRITTEN = {
    "submission": "submission s WHERE s.user_id = :author AND s.state = 'visible'",
    "comment": """comment c JOIN submission s USING (submission_id)
        WHERE c.user_id = :author AND c.state = 'visible' AND s.state = 'visible'""",
}
"""Contents of a profile."""


def find_user(request: Request, username: str) -> sqlite3.Row:
    """Return the user with a name. Raises NotFound."""
    query, missing = "SELECT * FROM user WHERE username = ?", f"There is no user called {username[:50]}."
    user = row_or_404(request.db, query, (username,), missing=missing)
    request.shows(username=user["username"])
    return user


@site.get("/user/<username>")
@site.get("/user/<username>/<any(submissions, comments):tab>")
def profile(request: Request, username: str, tab: str = "overview") -> str:
    """Show a user with the latest submissions and comments, or all of one kind, newest first."""
    user = find_user(request, username)
    values = {"me": my_id(request), "author": user["user_id"]}
    counts = {what: value(request.db, f"SELECT count(*) FROM {rows}", values) for what, rows in WRITTEN.items()}
    pager = Pager.of(request, counts["comment" if tab == "comments" else "submission"] if tab != "overview" else 0, PER_PAGE)
    shown = Pager(None, LATEST, LATEST, pager.url) if tab == "overview" else pager
    submissions = comments = []
    if tab != "comments":
        query = f"{CARD} WHERE s.user_id = :author AND s.state = 'visible' ORDER BY s.created_at DESC, s.submission_id DESC"
        submissions = shown.select(request.db, query, values)
    if tab != "submissions":
        query = f"""{REMARK} WHERE c.user_id = :author AND c.state = 'visible' AND s.state = 'visible'
            ORDER BY c.created_at DESC, c.comment_id DESC"""
        comments = shown.select(request.db, query, values)
    query = "SELECT f.name FROM forum f JOIN moderator USING (forum_id) WHERE user_id = ? ORDER BY f.name COLLATE NOCASE"
    moderated = request.db.execute(query, (user["user_id"],)).fetchall()
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


@site.get("/user/<username>/hidden_submissions", members_only)
def hidden_submissions(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Show the submissions that the current user has hidden."""
    if user["username"] != username:
        return redirect(f"/user/{user['username']}/hidden_submissions")
    condition = "s.state = 'visible' AND s.submission_id IN (SELECT submission_id FROM hidden_submission WHERE user_id = :me)"
    query = f"{CARD} WHERE {condition} ORDER BY s.submission_id DESC"
    rows = request.db.execute(query, {"me": user["user_id"]}).fetchall()
    pager = Pager.of(request, len(rows), PER_PAGE)
    return request.render("hidden.html", submissions=pager.cut(rows), pager=pager)


@site.post("/user/<username>/<any(block, unblock):change>", members_only)
def block(request: Request, user: sqlite3.Row, username: str, change: str) -> Response:
    """Block or unblock a user."""
    other = find_user(request, username)
    if other["user_id"] == user["user_id"]:
        raise Forbidden("You cannot block yourself.")
    query = {
        "block": "INSERT OR IGNORE INTO user_block VALUES (:me, :other, :now)",
        "unblock": "DELETE FROM user_block WHERE user_id = :me AND blocked_id = :other",
    }[change]
    request.db.execute(query, {"me": user["user_id"], "other": other["user_id"], "now": request.stamp})
    return request.redirect(return_url(request, f"/user/{other['username']}"), f"{other['username']} was {change}ed.")


@site.get("/user/<username>/block_list", members_only)
def block_list(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Show the users whom the current user has blocked."""
    if user["username"] != username:
        return redirect(f"/user/{user['username']}/block_list")
    query = """SELECT u.username, b.since FROM user_block b JOIN user u ON u.user_id = b.blocked_id
        WHERE b.user_id = ? ORDER BY u.username"""
    rows = request.db.execute(query, (user["user_id"],)).fetchall()
    return request.render("blocks.html", blocks=rows)


FIELDS = {"message": Field("Message", limit=10_000)}
MY_THREADS = """
    SELECT t.thread_id, u.user_id AS other_id, u.username AS other, count(*) AS messages, max(m.message_id) AS last_id,
        max(m.created_at) AS last_at, sum(m.sender_id != :me AND NOT m.is_read) AS unread
    FROM message_thread t JOIN message m USING (thread_id)
        JOIN user u ON u.user_id = CASE t.sender_id WHEN :me THEN t.receiver_id ELSE t.sender_id END
    WHERE :me IN (t.sender_id, t.receiver_id)
"""


@site.get("/messages", members_only)
def inbox(request: Request, user: sqlite3.Row) -> str:
    """Show the current user's conversations, latest first."""
    query = f"""SELECT x.*, substr(m.body, 1, 100) AS excerpt FROM ({MY_THREADS} GROUP BY t.thread_id) x
        JOIN message m ON m.message_id = x.last_id ORDER BY x.last_at DESC, x.thread_id DESC"""
    rows = request.db.execute(query, {"me": user["user_id"]}).fetchall()
    pager = Pager.of(request, len(rows), PER_PAGE)
    return request.render("messages.html", threads=pager.cut(rows), pager=pager)


@site.form("/messages/<int:thread_id>", members_only)
def reply(request: Request, user: sqlite3.Row, thread_id: int) -> str | Response:
    """Write a message in a conversation. Raises NotFound."""
    query = f"{MY_THREADS} AND t.thread_id = :thread_id GROUP BY t.thread_id"
    parties = {"me": user["user_id"], "thread_id": thread_id}
    thread = row_or_404(request.db, query, parties, missing="There is no such conversation of yours.")
    values, errors = _posted_message(request, user, thread["other_id"])
    if errors is None:
        read = "UPDATE message SET is_read = 1 WHERE thread_id = :thread_id AND sender_id != :me"
        request.db.execute(read, parties)
    if errors != []:
        rows = request.db.execute(
            "SELECT m.*, u.username AS sender FROM message m JOIN user u ON u.user_id = m.sender_id WHERE thread_id = ?"
            " ORDER BY message_id DESC LIMIT 100",
            (thread_id,),
        ).fetchall()
        shown = {"typed": values["message"], "errors": errors or []}
        return request.render("conversation.html", thread=thread, messages_sent=rows[::-1], **shown)
    _send(request, thread_id, user, values["message"])
    return redirect(f"/messages/{thread_id}")


@site.form("/user/<username>/compose_message", members_only)
def compose(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Send a message, which starts a conversation."""
    receiver = find_user(request, username)
    values, errors = _posted_message(request, user, receiver["user_id"])
    if errors != []:
        return request.render("compose.html", receiver=receiver, typed=values["message"], errors=errors or [])
    thread_id = insert(request.db, "message_thread", sender_id=user["user_id"], receiver_id=receiver["user_id"])
    _send(request, thread_id, user, values["message"])
    return redirect(f"/messages/{thread_id}")


def _posted_message(request: Request, user: sqlite3.Row, receiver_id: int) -> tuple[dict[str, str], list[str] | None]:
    """Return the posted message with error messages, also about its receiver; without a post, no errors (None)."""
    values, errors = form_values(request, FIELDS, {"message": ""})
    if errors is None:
        return values, None
    if receiver_id == user["user_id"]:
        errors = ["You cannot write to yourself."]
    elif queries.is_blocked(request.db, user["user_id"], receiver_id):
        errors = ["You have blocked this user. Unblock them to write to them."]
    elif queries.is_blocked(request.db, receiver_id, user["user_id"]):
        errors = ["This user does not take messages from you."]
    return values, errors


def _send(request: Request, thread_id: int, user: sqlite3.Row, body: str) -> None:
    insert(request.db, "message", thread_id=thread_id, sender_id=user["user_id"], body=body, created_at=request.stamp)
    request.flash("Your message was sent.")
