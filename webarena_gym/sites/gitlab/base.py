"""The code host's `Site`, and what its pages know about the visitor: who is signed in, and what this person may see and do."""

import sqlite3
from datetime import date, datetime

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.country.formats import span
from webarena_gym.sites.country.texts import amount
from webarena_gym.sites.gitlab import access, queries
from webarena_gym.sites.gitlab.markdown import render_markdown
from webarena_gym.sites.kit import visits
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site

BRAND = "Codeyard"
RESERVED = (
    "admin", "api", "dashboard", "explore", "groups", "help", "projects", "search", "static", "users", "new",
)  # fmt: skip
"""What no user and no group can be called, since pages of our own are there."""

site = Site("gitlab", __file__, sign_in="/users/sign_in")


def current_user(request: Request) -> sqlite3.Row | None:
    """Return the signed-in person's row, if somebody is signed in."""
    user_id = request.session.get("user_id")
    return queries.user(request.db, user_id) if user_id is not None else None


def my_id(request: Request) -> int | None:
    """Return the id of who is signed in, None for a stranger; this is what queries call :me."""
    user = current_user(request)
    return user["user_id"] if user else None


members_only = visits.members_only(current_user, site.sign_in, "You need to sign in before continuing.")
"""Give the view the signed-in person's row; send everybody else to the sign-in page and back afterwards."""


def find_project(request: Request, namespace: str, path: str) -> sqlite3.Row:
    """Return the project at a full path, with `queries.PROJECT_COLUMNS`. Raises NotFound, also when it may not be seen."""
    project = queries.project(request.db, namespace, path, my_id(request))
    if project is None:
        raise NotFound
    request.shows(namespace=project["namespace"], path=project["path"])
    return project


def role_in(request: Request, project: sqlite3.Row) -> str:
    """Return the visitor's role in a project, "" without any."""
    return access.project_role(request.db, project["project_id"], my_id(request))


def can(request: Request, project: sqlite3.Row, role: str) -> bool:
    """Say whether the visitor has that role in a project or a higher one; nobody changes an archived project."""
    return not project["is_archived"] and access.rank(role_in(request, project)) >= access.rank(role)


def manages(request: Request, project: sqlite3.Row) -> bool:
    """Say whether the visitor sees a project's settings, also those of an archived one."""
    return access.rank(role_in(request, project)) >= access.rank("Maintainer")


def require_role(request: Request, project: sqlite3.Row, role: str, *, even_archived: bool = False) -> None:
    """Raise Forbidden unless the visitor has that role in a project or a higher one, and the project is not archived."""
    if access.rank(role_in(request, project)) < access.rank(role):
        raise Forbidden(f"You need the role {role} or a higher one in this project.")
    if project["is_archived"] and not even_archived:
        raise Forbidden("This project is archived. It can only be read.")


def ago(value: str, now: datetime) -> str:
    """Return how long ago a moment or a day was, or in how long it will be.

    >>> ago("2023-03-03 10:00:00", datetime(2023, 3, 5, 12)), ago("2023-03-06", datetime(2023, 3, 5, 12))
    ('2 days ago', 'tomorrow')
    """
    if len(value) == 10:
        days = (now.date() - date.fromisoformat(value)).days
        if abs(days) < 2:
            return {0: "today", 1: "yesterday", -1: "tomorrow"}[days]
        seconds = days * 86400
    else:
        seconds = int((now - datetime.fromisoformat(value)).total_seconds())
    size = span(abs(seconds), in_weeks=True)
    if not size:
        return "just now"
    return f"{size} ago" if seconds > 0 else f"in {size}"


def day_label(value: str) -> str:
    """Return a moment or a day as pages write it.

    >>> day_label("2023-03-05 10:00:00")
    'Mar 5, 2023'
    """
    moment = datetime.fromisoformat(value)
    return f"{moment:%b} {moment.day}, {moment.year}"


site.templates.filters.update(ago=ago, day=day_label, markdown=render_markdown, clean=clean, amount=amount)
site.templates.globals.update(
    brand=BRAND,
    can=can,
    manages=manages,
    current_user=current_user,
    open_count=queries.open_count,
    here=visits.here,
)
