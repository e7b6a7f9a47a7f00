"""The visitor's access tokens, each shown once when it is made, and the token of the feeds."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence

from webarena_gym.sites.gitlab.base import members_only, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import complaints, day, read
from webarena_gym.sites.kit.requests import Request, Response

PLACE = "/-/profile/personal_access_tokens"
SCOPES = {
    "api": "complete access to the API",
    "read_api": "read access to the API",
    "read_user": "read access to your profile",
    "read_repository": "read access to repositories",
    "write_repository": "read and write access to repositories",
}
FIELDS = {"name": Field("Token name"), "expires_on": Field("Expiration date", required=False)}


@site.get(PLACE)
@members_only
def tokens(request: Request, user: sqlite3.Row) -> str:
    """Show the visitor's tokens and the form for a new one."""
    return _page(request, user, {"name": "", "expires_on": ""}, [])


@site.post(PLACE)
@members_only
def create_token(request: Request, user: sqlite3.Row) -> str | Response:
    """Make a token and show it once."""
    values = read(request, FIELDS)
    scopes = [scope for scope in SCOPES if scope in request.form.getlist("scopes")]
    errors = complaints(values, FIELDS)
    if values["expires_on"] and (day(values["expires_on"]) or "") <= f"{request.now:%Y-%m-%d}":
        errors.append("Expiration date must be a date in the future, written as YYYY-MM-DD.")
    if not scopes:
        errors.append("Choose one scope at least.")
    if errors:
        return _page(request, user, values, scopes, errors)
    (count,) = request.db.execute("SELECT count(*) FROM access_token").fetchone()
    token = "cyat-" + hashlib.sha256(f"token/{user['feed_token']}/{count}".encode()).hexdigest()[:20]
    request.db.execute(
        "INSERT INTO access_token (user_id, name, scopes, token, expires_on, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (user["user_id"], values["name"], ", ".join(scopes), token, day(values["expires_on"]), request.stamp),
    )
    return request.redirect(PLACE, f"Your new access token is {token}. Save it now: it will not be shown again.")


@site.post(f"{PLACE}/<int:token_id>/revoke")
@members_only
def revoke_token(request: Request, user: sqlite3.Row, token_id: int) -> Response:
    """Revoke a token of the visitor's."""
    row = one(
        request.db,
        "SELECT name FROM access_token WHERE token_id = ? AND user_id = ? AND NOT is_revoked",
        (token_id, user["user_id"]),
    )
    request.db.execute("UPDATE access_token SET is_revoked = 1 WHERE token_id = ?", (token_id,))
    return request.redirect(PLACE, f"The access token {row['name']} was revoked.")


@site.post("/-/profile/reset_feed_token")
@members_only
def reset_feed_token(request: Request, user: sqlite3.Row) -> Response:
    """Replace the visitor's feed token."""
    token = hashlib.sha256(f"feed/{user['feed_token']}".encode()).hexdigest()[:20]
    request.db.execute("UPDATE user SET feed_token = ? WHERE user_id = ?", (token, user["user_id"]))
    return request.redirect(PLACE, "The feed token was reset.")


def _page(
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
