"""Accounts: signing in and out, the profile, SSH keys, access tokens and to-dos."""

import hashlib
import re
import sqlite3
from collections.abc import Mapping, Sequence

from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.planning import ISSUE, VISIBLE_ITEM
from webarena_gym.sites.gitlab.queries import VISIBLE
from webarena_gym.sites.gitlab.site import RESERVED, Field, current_user, members_only, site
from webarena_gym.sites.kit.accounts import guests_only
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import PASSWORD, Aside, FormPage, Pager, checked, clean, complaints, day, is_email, read
from webarena_gym.sites.kit.requests import Request, Response, redirect

_USERNAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,62}[a-z0-9_])?", re.ASCII | re.IGNORECASE)


def username_complaint(db: sqlite3.Connection, username: str, user_id: int | None = None) -> str:
    """Return why the person `user_id`, or a new one, cannot have a username, or nothing."""
    if not _USERNAME.fullmatch(username) or len(username) < 2:
        return "Username can hold 2 to 64 letters, digits, '_', '-' and '.', and cannot begin or end with '-' or '.'."
    holder = queries.user_named(db, username)
    if username.lower() in RESERVED or (holder and holder["user_id"] != user_id) or queries.group(db, username):
        return "Username has already been taken."
    return ""


SIGN_IN = FormPage(
    title="Sign in",
    action="/users/sign_in",
    fields={"login": Field("Username or email", autocomplete="username"), "password": PASSWORD},
    button="Sign in",
    aside=Aside("No account yet?", "/users/sign_up", "Register now"),
)
SIGN_UP_FIELDS = {
    "name": Field("Full name", limit=128),
    "username": Field("Username"),
    "email": Field("Email"),
    "password": Field("Password", limit=128),
}
SHORTEST_PASSWORD = 8


site.get("/users/sign_in")(guests_only(SIGN_IN.show, current_user, "/"))


@site.post("/users/sign_in")
def sign_in(request: Request) -> str | Response:
    """Sign in with username or email and password, and go on to where the visitor was sent from."""
    values, _ = SIGN_IN.read(request)
    user = request.db.execute(
        "SELECT * FROM user WHERE (username = :login COLLATE NOCASE OR email = :login COLLATE NOCASE) AND password = :password",
        values,
    ).fetchone()
    if user is None:
        return SIGN_IN.show(request, values, ["Invalid login or password."])
    request.session["user_id"] = user["user_id"]
    return redirect(request.session.pop("after_login", "/"))


@site.get("/users/sign_out")
def sign_out(request: Request) -> Response:
    """Sign out."""
    request.session.pop("user_id", None)
    return request.redirect("/users/sign_in", "You have signed out.", "notice")


@site.form("/users/sign_up")
def sign_up(request: Request) -> str | Response:
    """Make an account and sign in."""
    if request.method != "POST":
        if current_user(request):
            return redirect("/")
        return request.render("sign_up.html", values=dict.fromkeys(SIGN_UP_FIELDS, ""), errors=[])
    values, errors = checked(request, SIGN_UP_FIELDS)
    if not errors:
        errors = [*filter(None, [username_complaint(request.db, values["username"])])]
        if not is_email(values["email"]):
            errors.append("Email must be a valid address, such as name@domain.com.")
        elif request.db.execute("SELECT 1 FROM user WHERE email = ? COLLATE NOCASE", (values["email"],)).fetchone():
            errors.append("Email has already been taken.")
        if len(values["password"]) < SHORTEST_PASSWORD:
            errors.append(f"Password is too short: {SHORTEST_PASSWORD} characters at least.")
    if errors:
        return request.render("sign_up.html", values=values, errors=errors)
    token = hashlib.sha256(f"feed/{values['username']}/{request.stamp}".encode()).hexdigest()[:20]
    request.session["user_id"] = request.db.execute(
        """
        INSERT INTO user (name, username, email, password, feed_token, created_at)
        VALUES (:name, :username, :email, :password, :token, :now)
        """,
        {**values, "token": token, "now": request.stamp},
    ).lastrowid
    return request.redirect("/", f"Welcome, {values['name']}!")


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
    """Change the visitor's profile and status."""
    if request.method != "POST":
        return _profile_form(request, user)
    values = read(request, PROFILE_FIELDS)
    values = {name: value if name == "bio" else " ".join(value.split()) for name, value in values.items()}
    ticks = {name: int(name in request.form) for name in TICKS}
    emoji = request.form.get("status_emoji", "")
    errors = complaints(values, PROFILE_FIELDS)
    if values["website"] and not _WEBSITE.fullmatch(values["website"]):
        errors.append("Website is not a valid web address, such as https://example.com.")
    if emoji not in (*EMOJI, user["status_emoji"]):
        errors.append("Choose one of the emoji on offer.")
    if errors:
        return _profile_form(request, {**dict(user), **values, **ticks}, errors)
    changed = {**values, **ticks, "status_emoji": emoji}
    assignments = ", ".join(f"{column} = ?" for column in changed)
    request.db.execute(f"UPDATE user SET {assignments} WHERE user_id = ?", (*changed.values(), user["user_id"]))
    return request.redirect("/-/profile", "Profile was successfully updated.")


def _profile_form(request: Request, values: Mapping[str, object] | sqlite3.Row, errors: Sequence[str] = ()) -> str:
    own = str(values["status_emoji"])
    return request.render("profile.html", values=values, errors=errors, emoji={**EMOJI, own: EMOJI.get(own, own)}.items())


@site.get("/-/profile/account", members_only)
def account(request: Request, user: sqlite3.Row) -> str:
    """Show the form for another username."""
    return request.render("account.html", username=user["username"], errors=[])


@site.post("/-/profile/account", members_only)
def save_account(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the visitor's username, and with it the paths of personal projects."""
    username = clean(request.form.get("username", ""))
    complaint = username_complaint(request.db, username, user["user_id"])
    if complaint:
        return request.render("account.html", username=username, errors=[complaint])
    request.db.execute("UPDATE user SET username = ? WHERE user_id = ?", (username, user["user_id"]))
    request.db.execute("UPDATE project SET namespace = ? WHERE owner_id = ?", (username, user["user_id"]))
    return request.redirect("/-/profile/account", "Username was successfully changed.")


@site.get("/-/profile/password/edit", members_only)
def password(request: Request, _: sqlite3.Row) -> str:
    """Show the form for another password."""
    return request.render("password.html", errors=[])


@site.post("/-/profile/password/edit", members_only)
def save_password(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the visitor's password."""
    names = ("current_password", "new_password", "password_confirmation")
    current, new, again = (clean(request.form.get(name, "")) for name in names)
    errors = []
    if current != user["password"]:
        errors.append("Current password is not right.")
    if not SHORTEST_PASSWORD <= len(new) <= 128:
        errors.append(f"New password must have {SHORTEST_PASSWORD} to 128 characters.")
    if new != again:
        errors.append("Password confirmation is not the same as the new password.")
    if errors:
        return request.render("password.html", errors=errors)
    request.db.execute("UPDATE user SET password = ? WHERE user_id = ?", (new, user["user_id"]))
    return request.redirect("/-/profile/password/edit", "Password was successfully updated.")


@site.get("/-/profile/preferences", members_only)
def preferences(request: Request, user: sqlite3.Row) -> str:
    """Show the form of the visitor's preferences."""
    return request.render("preferences.html", theme=user["theme"], themes=THEMES, errors=[])


@site.post("/-/profile/preferences", members_only)
def save_preferences(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the visitor's preferences."""
    theme = request.form.get("theme", "")
    if theme not in THEMES:
        return request.render("preferences.html", theme=user["theme"], themes=THEMES, errors=["Choose a theme."])
    request.db.execute("UPDATE user SET theme = ? WHERE user_id = ?", (theme, user["user_id"]))
    return request.redirect("/-/profile/preferences", "Preferences saved.")


KEYS = "/-/profile/keys"
KEY_FIELDS = {
    "content": Field("Key", limit=5000),
    "title": Field("Title", required=False),
    "expires_on": Field("Expiration date", required=False),
}
_KEY = re.compile(r"(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d+|sk-[\w@.-]+) [A-Za-z0-9+/]+=*(?: [^\n]*)?", re.ASCII)


@site.get(KEYS, members_only)
def keys(request: Request, user: sqlite3.Row) -> str:
    """Show the visitor's keys and the form for a new one."""
    return _keys_page(request, user, dict.fromkeys(KEY_FIELDS, ""))


@site.post(KEYS, members_only)
def add_key(request: Request, user: sqlite3.Row) -> str | Response:
    """Add a key; it is called by the comment in it when it gets no title."""
    values, errors = checked(request, KEY_FIELDS)
    if values["content"] and not _KEY.fullmatch(values["content"]):
        errors.append("Key is not valid: it must begin with its kind, such as ssh-ed25519 or ssh-rsa.")
    elif request.db.execute("SELECT 1 FROM ssh_key WHERE content = ?", (values["content"],)).fetchone():
        errors.append("Key has already been taken.")
    if values["expires_on"] and (day(values["expires_on"]) or "") <= f"{request.now:%Y-%m-%d}":
        errors.append("Expiration date must be a date in the future, written as YYYY-MM-DD.")
    title = values["title"] or (values["content"].split(" ", 2)[2:] or [""])[0].strip()
    if not title and not errors:
        errors.append("Title can't be blank.")
    if errors:
        return _keys_page(request, user, values, errors)
    request.db.execute(
        "INSERT INTO ssh_key (user_id, title, content, expires_on, created_at) VALUES (?, ?, ?, ?, ?)",
        (user["user_id"], title[:255], values["content"], day(values["expires_on"]), request.stamp),
    )
    return request.redirect(KEYS, f"The SSH key {title[:255]} was added.")


@site.post(f"{KEYS}/<int:key_id>/remove", members_only)
def remove_key(request: Request, user: sqlite3.Row, key_id: int) -> Response:
    """Remove a key of the visitor's."""
    row = one(request.db, "SELECT title FROM ssh_key WHERE key_id = ? AND user_id = ?", (key_id, user["user_id"]))
    request.db.execute("DELETE FROM ssh_key WHERE key_id = ?", (key_id,))
    return request.redirect(KEYS, f"The SSH key {row['title']} was removed.")


def _keys_page(request: Request, user: sqlite3.Row, values: Mapping[str, str], errors: Sequence[str] = ()) -> str:
    rows = request.db.execute("SELECT * FROM ssh_key WHERE user_id = ? ORDER BY key_id", (user["user_id"],)).fetchall()
    return request.render("keys.html", keys=rows, values=values, errors=errors)


TOKENS = "/-/profile/personal_access_tokens"
SCOPES = {
    "api": "complete access to the API", "read_api": "read access to the API", "read_user": "read access to your profile",
    "read_repository": "read access to repositories", "write_repository": "read and write access to repositories",
}  # fmt: skip
TOKEN_FIELDS = {"name": Field("Token name"), "expires_on": Field("Expiration date", required=False)}


@site.get(TOKENS, members_only)
def tokens(request: Request, user: sqlite3.Row) -> str:
    """Show the visitor's tokens and the form for a new one."""
    return _tokens_page(request, user, {"name": "", "expires_on": ""}, [])


@site.post(TOKENS, members_only)
def create_token(request: Request, user: sqlite3.Row) -> str | Response:
    """Make a token and show it once."""
    values = read(request, TOKEN_FIELDS)
    scopes = [scope for scope in SCOPES if scope in request.form.getlist("scopes")]
    errors = complaints(values, TOKEN_FIELDS)
    if values["expires_on"] and (day(values["expires_on"]) or "") <= f"{request.now:%Y-%m-%d}":
        errors.append("Expiration date must be a date in the future, written as YYYY-MM-DD.")
    if not scopes:
        errors.append("Choose one scope at least.")
    if errors:
        return _tokens_page(request, user, values, scopes, errors)
    (count,) = request.db.execute("SELECT count(*) FROM access_token").fetchone()
    token = "cyat-" + hashlib.sha256(f"token/{user['feed_token']}/{count}".encode()).hexdigest()[:20]
    request.db.execute(
        "INSERT INTO access_token (user_id, name, scopes, token, expires_on, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (user["user_id"], values["name"], ", ".join(scopes), token, day(values["expires_on"]), request.stamp),
    )
    return request.redirect(TOKENS, f"Your new access token is {token}. Save it now: it will not be shown again.")


@site.post(f"{TOKENS}/<int:token_id>/revoke", members_only)
def revoke_token(request: Request, user: sqlite3.Row, token_id: int) -> Response:
    """Revoke a token of the visitor's."""
    row = one(
        request.db,
        "SELECT name FROM access_token WHERE token_id = ? AND user_id = ? AND NOT is_revoked",
        (token_id, user["user_id"]),
    )
    request.db.execute("UPDATE access_token SET is_revoked = 1 WHERE token_id = ?", (token_id,))
    return request.redirect(TOKENS, f"The access token {row['name']} was revoked.")


@site.post("/-/profile/reset_feed_token", members_only)
def reset_feed_token(request: Request, user: sqlite3.Row) -> Response:
    """Replace the visitor's feed token."""
    token = hashlib.sha256(f"feed/{user['feed_token']}".encode()).hexdigest()[:20]
    request.db.execute("UPDATE user SET feed_token = ? WHERE user_id = ?", (token, user["user_id"]))
    return request.redirect(TOKENS, "The feed token was reset.")


def _tokens_page(
    request: Request, user: sqlite3.Row, values: Mapping[str, str], scopes: Sequence[str], errors: Sequence[str] = ()
) -> str:
    rows = request.db.execute(
        "SELECT * FROM access_token WHERE user_id = ? AND NOT is_revoked ORDER BY created_at DESC, token_id DESC",
        (user["user_id"],),
    ).fetchall()
    today = f"{request.now:%Y-%m-%d}"
    return request.render(
        "tokens.html", user=user, tokens=rows, values=values, scopes=SCOPES, chosen=scopes, errors=errors, today=today
    )


TODO_LIST = "/dashboard/todos"
PER_PAGE = 20
STATES = (("pending", "To Do"), ("done", "Done"))
REASONS = {
    "": "Any reason", "assigned": "Assigned", "review_requested": "Review requested", "mentioned": "Mentioned",
    "marked": "Added by me",
}  # fmt: skip
TODOS = f"""
    SELECT d.*, 'issues' AS segment, '#' || t.iid AS sign, t.iid, t.title, t.state AS item_state, t.project_id
    FROM todo d JOIN issue t USING (issue_id) WHERE {VISIBLE_ITEM[ISSUE]}
    UNION ALL
    SELECT d.*, 'merge_requests', '!' || t.iid, t.iid, t.title, t.state, t.project_id
    FROM todo d JOIN merge_request t USING (merge_request_id)
"""


@site.get(TODO_LIST, members_only)
def todos(request: Request, user: sqlite3.Row) -> str:
    """Show what there is to do, or what was done, the newest first."""
    state = "done" if request.args.get("state") == "done" else "pending"
    reason = request.args.get("type", "")
    reason = reason if reason in REASONS else ""
    request.shows({"state": None if state == "pending" else state, "type": reason})
    bound = {"me": user["user_id"], "reason": reason}
    found = f"""FROM ({TODOS}) d JOIN project p USING (project_id) JOIN user author ON author.user_id = d.author_id
        WHERE d.user_id = :me AND {VISIBLE} AND :reason IN (d.kind, '')"""
    counts: dict[str, int] = dict(request.db.execute(f"SELECT d.state, count(*) {found} GROUP BY d.state", bound).fetchall())
    pager = Pager.of(request, counts.get(state, 0), PER_PAGE, "page")
    rows = request.db.execute(
        f"""SELECT d.*, p.namespace || '/' || p.path AS full_path, author.name, author.username {found} AND d.state = :state
        ORDER BY d.created_at DESC, d.todo_id DESC LIMIT :limit OFFSET :first""",
        {**bound, "state": state, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    kept = f"&type={reason}" if reason else ""
    tabs = [(f"{TODO_LIST}?state={value}{kept}", label, counts.get(value, 0), value == state) for value, label in STATES]
    return request.render("todos.html", todos=rows, pager=pager, tabs=tabs, state=state, reason=reason, reasons=REASONS)


@site.post(f"{TODO_LIST}/<int:todo_id>", members_only)
def change_todo(request: Request, user: sqlite3.Row, todo_id: int) -> Response:
    """Mark a thing as done, or put it back on the list."""
    state = "pending" if request.form.get("state") == "pending" else "done"
    changed = request.db.execute(
        "UPDATE todo SET state = ? WHERE todo_id = ? AND user_id = ?", (state, todo_id, user["user_id"])
    ).rowcount
    if not changed:
        raise NotFound
    return request.redirect(
        TODO_LIST if state == "done" else f"{TODO_LIST}?state=done",
        "Marked as done." if state == "done" else "Back on the list.",
    )


@site.post(f"{TODO_LIST}/all_done", members_only)
def finish_todos(request: Request, user: sqlite3.Row) -> Response:
    """Mark everything as done."""
    request.db.execute("UPDATE todo SET state = 'done' WHERE user_id = ?", (user["user_id"],))
    return request.redirect(TODO_LIST, "Everything is marked as done.")
