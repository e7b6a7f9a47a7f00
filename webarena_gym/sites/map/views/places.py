"""The page of a place."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.base import current_user, site
from webarena_gym.sites.map.geometry import Point
from webarena_gym.sites.map.windows import marked

NEARBY = (
    "cafe", "restaurant", "hotel", "supermarket", "pharmacy", "bakery", "bookshop", "bank", "post office", "police station",
    "petrol station", "school", "library", "museum", "park", "cinema", "gym", "bus station", "hospital", "airport",
)  # fmt: skip
"""The kinds of places that a place's page leads to."""


def wanted_place(request: Request, place_id: int) -> sqlite3.Row:
    """Return the place that a URL names. Raises NotFound."""
    place = queries.place(request.db, place_id)
    if place is None:
        raise NotFound
    return place


@site.get("/place/<int:place_id>")
def show(request: Request, place_id: int) -> str:
    """Show all that the map knows about a place. Raises NotFound."""
    place = wanted_place(request, place_id)
    user = current_user(request)
    saved = request.db.execute(
        "SELECT * FROM saved_place WHERE user_id = ? AND place_id = ?", (user["user_id"] if user else 0, place_id)
    ).fetchone()
    details = request.db.execute("SELECT * FROM place_detail WHERE place_id = ? ORDER BY name", (place_id,)).fetchall()
    return request.render(
        "place.html",
        place=place,
        details=details,
        saved=saved,
        kinds=NEARBY,
        picture=marked(Point(place["latitude"], place["longitude"])),
    )
