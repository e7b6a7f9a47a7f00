"""The visitor's own settings: profile and status, username, password, theme."""

import re
import sqlite3
from collections.abc import Mapping, Sequence

from webarena_gym.sites.gitlab.base import members_only, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.names import username_complaint
from webarena_gym.sites.gitlab.views.sessions import SHORTEST_PASSWORD
from webarena_gym.sites.kit.forms import clean, complaints, read
from webarena_gym.sites.kit.requests import Request, Response

FIELDS = {
    "name": Field("Full name", limit=128),
    "status_message": Field("Status message", required=False, limit=100),
    "pronouns": Field("Pronouns", required=False, limit=50),
    "website": Field("Website", required=False),
    "location": Field("Location", required=False),
    "job_title": Field("Job title", required=False),
    "organization": Field("Organization", required=False),
    "bio": Field("Bio", required=False, limit=250),
}
TICKS = ("is_busy", "is_profile_private")
EMOJI = {
    "": "No emoji",
    "💬": "💬 speech balloon",
    "🌴": "🌴 palm tree",
    "🎯": "🎯 bullseye",
    "🏠": "🏠 house",
    "🤒": "🤒 sick",
    "📅": "📅 calendar",
    "☕": "☕ coffee",
    "🎉": "🎉 party",
    "🚀": "🚀 rocket",
    "🔥": "🔥 fire",
    "💤": "💤 asleep",
}
THEMES = (
    "Indigo",
    "Blue",
    "Green",
    "Red",
    "Light indigo",
    "Light blue",
    "Light green",
    "Light red",
    "Gray",
    "Light gray",
    "Dark",
)
_WEBSITE = re.compile(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+(?::\d{1,5})?(?:[/?#][^\s<>\"]*)?", re.IGNORECASE)


@site.get("/-/profile")
@members_only
def profile(request: Request, user: sqlite3.Row) -> str:
    """Show the form of the visitor's profile."""
    return _profile_form(request, user)


@site.post("/-/profile")
@members_only
def save_profile(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the visitor's profile and status."""
    values = read(request, FIELDS)
    values = {name: value if name == "bio" else " ".join(value.split()) for name, value in values.items()}
    ticks = {name: int(name in request.form) for name in TICKS}
    emoji = request.form.get("status_emoji", "")
    errors = complaints(values, FIELDS)
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


@site.get("/-/profile/account")
@members_only
def account(request: Request, user: sqlite3.Row) -> str:
    """Show the form for another username."""
    return request.render("account.html", username=user["username"], errors=[])


@site.post("/-/profile/account")
@members_only
def save_account(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the visitor's username, and with it the paths of personal projects."""
    username = clean(request.form.get("username", ""))
    complaint = username_complaint(request.db, username, user["user_id"])
    if complaint:
        return request.render("account.html", username=username, errors=[complaint])
    request.db.execute("UPDATE user SET username = ? WHERE user_id = ?", (username, user["user_id"]))
    request.db.execute("UPDATE project SET namespace = ? WHERE owner_id = ?", (username, user["user_id"]))
    return request.redirect("/-/profile/account", "Username was successfully changed.")


@site.get("/-/profile/password/edit")
@members_only
def password(request: Request, _: sqlite3.Row) -> str:
    """Show the form for another password."""
    return request.render("password.html", errors=[])


@site.post("/-/profile/password/edit")
@members_only
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


@site.get("/-/profile/preferences")
@members_only
def preferences(request: Request, user: sqlite3.Row) -> str:
    """Show the form of the visitor's preferences."""
    return request.render("preferences.html", theme=user["theme"], themes=THEMES, errors=[])


@site.post("/-/profile/preferences")
@members_only
def save_preferences(request: Request, user: sqlite3.Row) -> str | Response:
    """Change the visitor's preferences."""
    theme = request.form.get("theme", "")
    if theme not in THEMES:
        return request.render("preferences.html", theme=user["theme"], themes=THEMES, errors=["Choose a theme."])
    request.db.execute("UPDATE user SET theme = ? WHERE user_id = ?", (theme, user["user_id"]))
    return request.redirect("/-/profile/preferences", "Preferences saved.")
