"""The forum's `Site`, and what its pages know about the visitor: who is signed in, and where to go next."""

import sqlite3

from webarena_gym.sites.country.texts import amount
from webarena_gym.sites.kit import visits
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.texts import ago

NAME = "Plaza"
PER_PAGE = 25  # rows of a list, in the plain layout

site = Site("reddit", __file__, sign_in="/login")


def current_user(request: Request) -> sqlite3.Row | None:
    """Return the signed-in user's row, if somebody is signed in."""
    user_id = request.session.get("user_id")
    return queries.user(request.db, user_id) if user_id is not None else None


def my_id(request: Request) -> int:
    """Return the id of the signed-in user, 0 for a guest."""
    user = current_user(request)
    return user["user_id"] if user else 0


members_only = visits.members_only(current_user, site.sign_in, "Please log in first.")
"""Give the view the signed-in user's row; send everybody else to the sign-in page and back afterwards."""

site.templates.filters.update(clean=clean, count=amount)
site.templates.globals.update(
    site_name=NAME,
    ago=ago,
    current_user=current_user,
    unread_count=queries.unread_count,
    address=queries.address,
    sorts=queries.SORTS,
    periods=queries.PERIODS,
    here=visits.here,
)
