"""A user's own settings: the biography, and the account."""

import sqlite3

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.kit.forms import checked
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.reddit.base import members_only, site
from webarena_gym.sites.reddit.forms import EMAIL, Field
from webarena_gym.sites.reddit.views.accounts import password_complaints

BIOGRAPHY = {"biography": Field("Biography", required=False, limit=2_000)}
NIGHT_MODES = {"auto": "Like my device", "off": "Off", "on": "On"}
FRONT_PAGES = {"subscribed": "Subscribed forums", "all": "All forums", "moderated": "Moderated forums"}
PASSWORDS = {
    "password": Field("New password", required=False, limit=128),
    "password_confirmation": Field("Repeat new password", required=False, limit=128),
}
ACCOUNT = {"email": EMAIL, "night_mode": Field("Night mode"), "front_page": Field("Front page"), **PASSWORDS}


def _own(user: sqlite3.Row, username: str) -> None:
    if user["username"].lower() != username.lower():
        raise Forbidden("These are the settings of somebody else.")


@site.get("/user/<username>/edit_biography")
@members_only
def biography_form(request: Request, user: sqlite3.Row, username: str) -> str:
    """Show the visitor's biography, to be changed."""
    _own(user, username)
    return request.render("biography.html", user=user, biography=user["biography"], errors=[])


@site.post("/user/<username>/edit_biography")
@members_only
def biography(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Change the visitor's biography."""
    _own(user, username)
    values, errors = checked(request, BIOGRAPHY)
    if errors:
        return request.render("biography.html", user=user, biography=values["biography"], errors=errors)
    request.db.execute("UPDATE user SET biography = ? WHERE user_id = ?", (values["biography"], user["user_id"]))
    return request.redirect(f"/user/{user['username']}", "Your biography was saved.")


@site.get("/user/<username>/account")
@members_only
def account_form(request: Request, user: sqlite3.Row, username: str) -> str:
    """Show the visitor's settings, to be changed."""
    _own(user, username)
    return _form(request, user, {name: user[name] for name in ("email", "night_mode", "front_page")}, [])


def _form(request: Request, user: sqlite3.Row, values: dict[str, str], errors: list[str]) -> str:
    return request.render(
        "account.html", user=user, values=values, errors=errors, night_modes=NIGHT_MODES, front_pages=FRONT_PAGES
    )


@site.post("/user/<username>/account")
@members_only
def account(request: Request, user: sqlite3.Row, username: str) -> str | Response:
    """Change the visitor's settings; the password stays when no new one is given."""
    _own(user, username)
    values, errors = checked(request, ACCOUNT)
    if values["night_mode"] not in NIGHT_MODES or values["front_page"] not in FRONT_PAGES:
        errors.append("Please choose one of the settings of the list.")
    if values["password"] or values["password_confirmation"]:
        errors += password_complaints(values)
    if errors:
        return _form(request, user, values, errors)
    values["password"] = values["password"] or user["password"]
    request.db.execute(
        """UPDATE user SET email = :email, night_mode = :night_mode, front_page = :front_page, password = :password
        WHERE user_id = :user_id""",
        {**values, "user_id": user["user_id"]},
    )
    return request.redirect(f"/user/{user['username']}/account", "Your settings were saved.")
