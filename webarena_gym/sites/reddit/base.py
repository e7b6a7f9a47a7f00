"""The forum's `Site`, and what its pages know about the visitor: who is signed in, and where to go next."""

import sqlite3
from functools import wraps

from webarena_gym.sites.kit import Request, Response, Site, View, redirect
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.texts import ago, clean, count

NAME = "Plaza"

site = Site("reddit", __file__)


def current_user(request: Request) -> sqlite3.Row | None:
    """Return the signed-in user's row, if somebody is signed in."""
    user_id = request.session.get("user_id")
    return queries.user(request.db, user_id) if user_id is not None else None


def my_id(request: Request) -> int:
    """Return the id of the signed-in user, 0 for a guest."""
    user = current_user(request)
    return user["user_id"] if user else 0


def members_only(view: View) -> View:
    """Give the view the signed-in user's row; send everybody else to the sign-in page and back afterwards."""

    @wraps(view)
    def guarded(request: Request, **arguments: object) -> str | Response:
        user = current_user(request)
        if user is None:
            is_page = request.method == "GET"
            request.session["after_login"] = request.full_path.removesuffix("?") if is_page else return_url(request, "/")
            request.flash("Please log in first.", "notice")
            return redirect("/login")
        return view(request, user, **arguments)

    return guarded


def return_url(request: Request, default: str) -> str:
    """Return the page of this site that the posted form names in `return_url`, or `default`."""
    wanted = clean(request.form.get("return_url", ""))[:2000].replace("\n", "")
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_local else default


def timestamp(request: Request) -> str:
    """Return the world's time as the database writes it."""
    return f"{request.now:%Y-%m-%d %H:%M:%S}"


site.templates.filters.update(clean=clean, count=count)
site.templates.globals.update(
    site_name=NAME,
    ago=ago,
    current_user=current_user,
    unread_count=queries.unread_count,
    address=queries.address,
    sorts=queries.SORTS,
    periods=queries.PERIODS,
    here=lambda request: request.full_path.removesuffix("?"),
)
