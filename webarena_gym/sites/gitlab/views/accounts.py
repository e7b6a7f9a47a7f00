"""Accounts: login and logout, the profile, SSH keys, access tokens and to-dos."""

import hashlib
import re
import sqlite3
from typing import Any

from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, VISIBLE_ITEM
from webarena_gym.sites.gitlab.queries import VISIBLE
from webarena_gym.sites.gitlab.site import RESERVED, Field, by_state, current_user, members_only, site
from webarena_gym.sites.kit import forms
from webarena_gym.sites.kit.accounts import sign_in_page
from webarena_gym.sites.kit.database import first, insert, row_or_404, update, value
from webarena_gym.sites.kit.forms import SHORTEST_PASSWORD, clean, complaints, day, read, read_and_check
from webarena_gym.sites.kit.requests import Request, Response, redirect

_USERNAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,62}[a-z0-9_])?", re.ASCII | re.IGNORECASE)


def username_complaint(db: sqlite3.Connection, username: str, user_id: int | None = None) -> str:
    """Return the reason why the user `user_id`, or a new one, cannot have a username, "" if it is valid."""
    if not _USERNAME.fullmatch(username) or len(username) < 2:
        return "Username can hold 2 to 64 letters, digits, '_', '-' and '.', and cannot begin or end with '-' or '.'."
    holder = queries.user_named(db, username)
    if username.lower() in RESERVED or (holder and holder["user_id"] != user_id) or queries.group(db, username):
        return "Username has already been taken."
    return ""


SIGN_IN = forms.FormPage(
    title="Sign in",
    action="/users/sign_in",
    fields={"login": Field("Username or email", autocomplete="username"), "password": forms.PASSWORD},
    button="Sign in",
    aside=forms.Aside("No account yet?", "/users/sign_up", "Register now"),
)
SIGN_UP_FIELDS = {
    "name": Field("Full name", limit=128), "username": Field("Username"), "email": Field("Email"),
    "password": Field("Password", limit=128),
}  # fmt: skip


FITS = ":login COLLATE NOCASE IN (username, email)"
sign_in_page(site, SIGN_IN, current_user, FITS, "Invalid login or password.", tells_errors=False)


@site.get("/users/sign_out")
def sign_out(request: Request) -> Response:
    """Sign out."""
    request.session.pop("user_id", None)
    return request.redirect("/users/sign_in", "You have signed out.", "notice")


@site.form("/users/sign_up")
def sign_up(request: Request) -> str | Response:
    """Create an account and sign in."""
    values, errors = dict.fromkeys(SIGN_UP_FIELDS, ""), list[str]()
    if request.method == "POST":
        values, errors = read_and_check(request, SIGN_UP_FIELDS)
        if not errors:
            errors = [*filter(None, [username_complaint(request.db, values["username"])])]
            if not forms.is_email(values["email"]):
                errors.append("Email must be a valid address, such as name@domain.com.")
            elif first(request.db, "SELECT 1 FROM user WHERE email = ? COLLATE NOCASE", (values["email"],)):
                errors.append("Email has already been taken.")
            if len(values["password"]) < SHORTEST_PASSWORD:
                errors.append(f"Password is too short: {SHORTEST_PASSWORD} characters at least.")
        if not errors:
            token = hashlib.sha256(f"feed/{values['username']}/{request.stamp}".encode()).hexdigest()[:20]
            request.session["user_id"] = insert(request.db, "user", feed_token=token, created_at=request.stamp, **values)
            return request.redirect("/", f"Welcome, {values['name']}!")
    elif current_user(request):
        return redirect("/")
    return request.render("sign_up.html", values=values, errors=errors)


PROFILE_FIELDS = {
    "name": Field("Full name", limit=128), "status_message": Field("Status message", required=False, limit=100),
    "pronouns": Field("Pronouns", required=False, limit=50), "website": Field("Website", required=False),
    "location": Field("Location", required=False), "job_title": Field("Job title", required=False),
    "organization": Field("Organization", required=False), "bio": Field("Bio", required=False, limit=250),
}  # fmt: skip
TICKS = ("is_busy", "is_profile_private")
EMOJI = {
    "": "No emoji", "💬": "💬 speech balloon", "🌴": "🌴 palm tree", "🎯": "🎯 bullseye", "🏠": "🏠 house", "🤒": "🤒 sick",
    "📅": "📅 calendar", "☕": "☕ coffee", "🎉": "🎉 party", "🚀": "🚀 rocket", "🔥": "🔥 fire", "💤": "💤 asleep",
}  # fmt: skip
THEMES = (
    "Indigo", "Blue", "Green", "Red", "Light indigo", "Light blue", "Light green", "Light red", "Gray", "Light gray", "Dark",
)  # fmt: skip
_WEBSITE = re.compile(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+(?::\d{1,5})?(?:[/?#][^\s<>\"]*)?", re.IGNORECASE)


@site.form("/-/profile", members_only)
def save_profile(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the current user's profile and status."""
    values, errors = dict(user), []
    if request.method == "POST":
        typed = read(request, PROFILE_FIELDS)
        changed: dict[str, Any] = {name: text if name == "bio" else " ".join(text.split()) for name, text in typed.items()}
        errors = complaints(changed, PROFILE_FIELDS)
        if changed["website"] and not _WEBSITE.fullmatch(changed["website"]):
            errors.append("Website is not a valid web address, such as https://example.com.")
        emoji = request.form.get("status_emoji", "")
        if emoji not in (*EMOJI, user["status_emoji"]):
            errors.append("Choose one of the emoji on offer.")
        changed |= {name: int(name in request.form) for name in TICKS}
        if not errors:
            update(request.db, "user", "user_id", user["user_id"], status_emoji=emoji, **changed)
            return request.redirect("/-/profile", "Profile was successfully updated.")
        values |= changed
    current = user["status_emoji"]
    return request.render(
        "profile.html", values=values, errors=errors, emoji={**EMOJI, current: EMOJI.get(current, current)}.items()
    )


@site.form("/-/profile/account", members_only)
def save_account(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the current user's username, and with it the paths of personal projects."""
    username, user_id, complaint = user["username"], user["user_id"], ""
    if request.method == "POST":
        username = clean(request.form.get("username", ""))
        complaint = username_complaint(request.db, username, user_id)
        if not complaint:
            update(request.db, "user", "user_id", user_id, username=username)
            update(request.db, "project", "owner_id", user_id, namespace=username)
            return request.redirect("/-/profile/account", "Username was successfully changed.")
    return request.render("account.html", username=username, errors=[complaint] if complaint else [])


@site.form("/-/profile/password/edit", members_only)
def save_password(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the current user's password."""
    errors = []
    if request.method == "POST":
        names = ("current_password", "new_password", "password_confirmation")
        current, new, again = (clean(request.form.get(name, "")) for name in names)
        faults = {
            "Current password is not right.": current != user["password"],
            f"New password must have {SHORTEST_PASSWORD} to 128 characters.": not SHORTEST_PASSWORD <= len(new) <= 128,
            "Password confirmation is not the same as the new password.": new != again,
        }
        errors = [fault for fault, is_there in faults.items() if is_there]
        if not errors:
            update(request.db, "user", "user_id", user["user_id"], password=new)
            return request.redirect("/-/profile/password/edit", "Password was successfully updated.")
    return request.render("password.html", errors=errors)


@site.form("/-/profile/preferences", members_only)
def save_preferences(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the current user's preferences."""
    theme = request.form.get("theme", "")
    if theme in THEMES:
        update(request.db, "user", "user_id", user["user_id"], theme=theme)
        return request.redirect("/-/profile/preferences", "Preferences saved.")
    errors = ["Choose a theme."] if request.method == "POST" else []
    return request.render("preferences.html", theme=user["theme"], themes=THEMES, errors=errors)


def _expiry(request: Request, typed: str, errors: list[str]) -> str | None:
    """Return the posted expiration date of a key or token, and add error messages to `errors`."""
    expires = day(typed)
    if typed and (expires or "") <= f"{request.now:%Y-%m-%d}":
        errors.append("Expiration date must be a date in the future, written as YYYY-MM-DD.")
    return expires


KEYS = "/-/profile/keys"
KEY_FIELDS = {
    "content": Field("Key", limit=5000), "title": Field("Title", required=False),
    "expires_on": Field("Expiration date", required=False),
}  # fmt: skip
_KEY = re.compile(r"(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d+|sk-[\w@.-]+) [A-Za-z0-9+/]+=*(?: [^\n]*)?", re.ASCII)


@site.form(KEYS, members_only)
def keys(request: Request, user: sqlite3.Row) -> str | Response:
    """Show the current user's SSH keys, or add one, whose title is by default its comment."""
    values, errors = dict.fromkeys(KEY_FIELDS, ""), list[str]()
    if request.method == "POST":
        values, errors = read_and_check(request, KEY_FIELDS)
        if values["content"] and not _KEY.fullmatch(values["content"]):
            errors.append("Key is not valid: it must begin with its kind, such as ssh-ed25519 or ssh-rsa.")
        elif first(request.db, "SELECT 1 FROM ssh_key WHERE content = ?", (values["content"],)):
            errors.append("Key has already been taken.")
        row = values | {"expires_on": _expiry(request, values["expires_on"], errors)}
        row["title"] = title = (values["title"] or (values["content"].split(" ", 2)[2:] or [""])[0].strip())[:255]
        if not title and not errors:
            errors.append("Title can't be blank.")
        if not errors:
            insert(request.db, "ssh_key", user_id=user["user_id"], created_at=request.stamp, **row)
            return request.redirect(KEYS, f"The SSH key {title} was added.")
    rows = request.db.execute("SELECT * FROM ssh_key WHERE user_id = ? ORDER BY key_id", (user["user_id"],)).fetchall()
    return request.render("keys.html", keys=rows, values=values, errors=errors)


@site.post(f"{KEYS}/<int:key_id>/remove", members_only)
def remove_key(request: Request, user: sqlite3.Row, key_id: int) -> Response:
    """Remove an SSH key of the current user."""
    row = row_or_404(request.db, "SELECT title FROM ssh_key WHERE key_id = ? AND user_id = ?", (key_id, user["user_id"]))
    request.db.execute("DELETE FROM ssh_key WHERE key_id = ?", (key_id,))
    return request.redirect(KEYS, f"The SSH key {row['title']} was removed.")


TOKENS = "/-/profile/personal_access_tokens"
SCOPES = {
    "api": "complete access to the API", "read_api": "read access to the API", "read_user": "read access to your profile",
    "read_repository": "read access to repositories", "write_repository": "read and write access to repositories",
}  # fmt: skip
TOKEN_FIELDS = {"name": Field("Token name"), "expires_on": Field("Expiration date", required=False)}


@site.form(TOKENS, members_only)
def tokens(request: Request, user: sqlite3.Row) -> str | Response:
    """Show the current user's tokens, or create one, which is shown once."""
    values, errors, chosen, user_id = dict.fromkeys(TOKEN_FIELDS, ""), list[str](), list[str](), user["user_id"]
    if request.method == "POST":
        values, errors = read_and_check(request, TOKEN_FIELDS)
        chosen = [scope for scope in SCOPES if scope in request.form.getlist("scopes")]
        row: dict[str, Any] = {"name": values["name"], "expires_on": _expiry(request, values["expires_on"], errors)}
        if not chosen:
            errors.append("Choose one scope at least.")
        if not errors:
            count = value(request.db, "SELECT count(*) FROM access_token")
            token = "cyat-" + hashlib.sha256(f"token/{user['feed_token']}/{count}".encode()).hexdigest()[:20]
            row |= {"scopes": ", ".join(chosen), "token": token, "created_at": request.stamp}
            insert(request.db, "access_token", user_id=user_id, **row)
            return request.redirect(TOKENS, f"Your new access token is {token}. Save it now: it will not be shown again.")
    query = "SELECT * FROM access_token WHERE user_id = ? AND NOT is_revoked ORDER BY created_at DESC, token_id DESC"
    shown = {"user": user, "tokens": request.db.execute(query, (user_id,)).fetchall(), "today": f"{request.now:%Y-%m-%d}"}
    return request.render("tokens.html", **shown, values=values, scopes=SCOPES, chosen=chosen, errors=errors)


@site.post(f"{TOKENS}/<int:token_id>/revoke", members_only)
def revoke_token(request: Request, user: sqlite3.Row, token_id: int) -> Response:
    """Revoke a token of the current user."""
    query = "SELECT name FROM access_token WHERE token_id = ? AND user_id = ? AND NOT is_revoked"
    row = row_or_404(request.db, query, (token_id, user["user_id"]))
    update(request.db, "access_token", "token_id", token_id, is_revoked=1)
    return request.redirect(TOKENS, f"The access token {row['name']} was revoked.")


@site.post("/-/profile/reset_feed_token", members_only)
def reset_feed_token(request: Request, user: sqlite3.Row) -> Response:
    """Replace the current user's feed token."""
    token = hashlib.sha256(f"feed/{user['feed_token']}".encode()).hexdigest()[:20]
    update(request.db, "user", "user_id", user["user_id"], feed_token=token)
    return request.redirect(TOKENS, "The feed token was reset.")


TODO_LIST = "/dashboard/todos"
REASONS = {
    "": "Any reason", "assigned": "Assigned", "review_requested": "Review requested", "mentioned": "Mentioned",
    "marked": "Added by me",
}  # fmt: skip
TODOS = " UNION ALL ".join(
    f"""SELECT d.*, '{kind.segment}' AS segment, '{kind.mark}' || t.iid AS sign, t.iid, t.title, t.state AS item_state, t.project_id
    FROM todo d JOIN {kind.table} t USING ({kind.key}) WHERE {VISIBLE_ITEM[kind]}"""
    for kind in (ISSUE, MERGE_REQUEST)
)


@site.get(TODO_LIST, members_only)
def todos(request: Request, _: sqlite3.Row) -> str:
    """Show pending or completed to-dos, newest first."""
    state = "done" if request.args.get("state") == "done" else "pending"
    reason = request.args.get("type", "")
    reason = reason if reason in REASONS else ""
    request.shows({"state": None if state == "pending" else state, "type": reason})
    source = f"""FROM ({TODOS}) d JOIN project p USING (project_id) JOIN user author ON author.user_id = d.author_id
        WHERE d.user_id = :me AND {VISIBLE} AND :reason IN (d.kind, '')"""
    columns = "d.*, p.namespace || '/' || p.path AS full_path, author.name, author.username"
    query_suffix = f"&type={reason}" if reason else ""
    tabs = [(name, label, f"state={name}{query_suffix}") for name, label in (("pending", "To Do"), ("done", "Done"))]
    listed = by_state(request, columns, source, "created_at DESC, todo_id DESC", {"reason": reason}, state, tabs)
    return request.render("todos.html", state=state, reason=reason, reasons=REASONS, **listed)


@site.post(f"{TODO_LIST}/<int:todo_id>", members_only)
def change_todo(request: Request, user: sqlite3.Row, todo_id: int) -> Response:
    """Mark a to-do as done or pending."""
    state, place, notice = "done", TODO_LIST, "Marked as done."
    if request.form.get("state") == "pending":
        state, place, notice = "pending", f"{TODO_LIST}?state=done", "Back on the list."
    row_or_404(request.db, "SELECT 1 FROM todo WHERE todo_id = ? AND user_id = ?", (todo_id, user["user_id"]))
    update(request.db, "todo", "todo_id", todo_id, state=state)
    return request.redirect(place, notice)


@site.post(f"{TODO_LIST}/all_done", members_only)
def finish_todos(request: Request, user: sqlite3.Row) -> Response:
    """Mark all to-dos as done."""
    update(request.db, "todo", "user_id", user["user_id"], state="done")
    return request.redirect(TODO_LIST, "Everything is marked as done.")
