"""The visitor's SSH keys."""

import re
import sqlite3
from collections.abc import Mapping, Sequence

from webarena_gym.sites.gitlab.base import members_only, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import checked, day
from webarena_gym.sites.kit.requests import Request, Response

PLACE = "/-/profile/keys"
FIELDS = {
    "content": Field("Key", limit=5000),
    "title": Field("Title", required=False),
    "expires_on": Field("Expiration date", required=False),
}
_KEY = re.compile(r"(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d+|sk-[\w@.-]+) [A-Za-z0-9+/]+=*(?: [^\n]*)?", re.ASCII)


@site.get(PLACE)
@members_only
def keys(request: Request, user: sqlite3.Row) -> str:
    """Show the visitor's keys and the form for a new one."""
    return _page(request, user, dict.fromkeys(FIELDS, ""))


@site.post(PLACE)
@members_only
def add_key(request: Request, user: sqlite3.Row) -> str | Response:
    """Add a key; it is called by the comment in it when it gets no title."""
    values, errors = checked(request, FIELDS)
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
        return _page(request, user, values, errors)
    request.db.execute(
        "INSERT INTO ssh_key (user_id, title, content, expires_on, created_at) VALUES (?, ?, ?, ?, ?)",
        (user["user_id"], title[:255], values["content"], day(values["expires_on"]), request.stamp),
    )
    return request.redirect(PLACE, f"The SSH key {title[:255]} was added.")


@site.post(f"{PLACE}/<int:key_id>/remove")
@members_only
def remove_key(request: Request, user: sqlite3.Row, key_id: int) -> Response:
    """Remove a key of the visitor's."""
    row = one(request.db, "SELECT title FROM ssh_key WHERE key_id = ? AND user_id = ?", (key_id, user["user_id"]))
    request.db.execute("DELETE FROM ssh_key WHERE key_id = ?", (key_id,))
    return request.redirect(PLACE, f"The SSH key {row['title']} was removed.")


def _page(request: Request, user: sqlite3.Row, values: Mapping[str, str], errors: Sequence[str] = ()) -> str:
    rows = request.db.execute("SELECT * FROM ssh_key WHERE user_id = ? ORDER BY key_id", (user["user_id"],)).fetchall()
    return request.render("keys.html", keys=rows, values=values, errors=errors)
