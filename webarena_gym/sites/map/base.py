"""The map's `Site`, and what its pages know about the visitor: who is signed in, and where to go next."""

import sqlite3
from urllib.parse import quote, urlencode

from webarena_gym.sites.kit import visits
from webarena_gym.sites.kit.forms import clean, line
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.categories import PLURALS
from webarena_gym.sites.map.units import coordinates, distance, duration

BRAND = "Trailmark"

site = Site("map", __file__, sign_in="/login")


def current_user(request: Request) -> sqlite3.Row | None:
    """Return the signed-in mapper's row, if somebody is signed in."""
    user_id = request.session.get("user_id")
    return queries.user(request.db, user_id) if user_id is not None else None


members_only = visits.members_only(current_user, site.sign_in, "Please sign in first.")
"""Give the view the signed-in mapper's row; send everybody else to the sign-in page and back afterwards."""


def argument(request: Request, name: str) -> str:
    """Return an argument of the URL as one line of text."""
    return line(request.args.get(name), 200)


def capital(text: str) -> str:
    """Return the text with a capital first letter.

    >>> capital("petrol station")
    'Petrol station'
    """
    return text[:1].upper() + text[1:]


def url(path: str, **values: object) -> str:
    """Return an address with arguments.

    >>> url("/search", query="cafes in Town")
    '/search?query=cafes+in+Town'
    """
    return f"{path}?{urlencode(values, quote_via=quote).replace('%20', '+')}"


site.templates.filters.update(clean=clean, distance=distance, duration=duration, capital=capital)
site.templates.globals.update(
    brand=BRAND,
    coordinates=coordinates,
    current_user=current_user,
    country_name=lambda request: queries.country(request.db),
    plural=PLURALS.__getitem__,
    url=url,
)
