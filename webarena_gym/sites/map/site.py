"""The map's `Site`, what its pages know about the visitor, and the window of the map that a page shows."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from webarena_gym.sites.country.geography import EAST, NORTH, SOUTH, WEST
from webarena_gym.sites.kit.accounts import members_of, visitor
from webarena_gym.sites.kit.forms import clean, line, whole_number
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.kit.site import Site
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.drawing import HEIGHT, LARGEST, LEAST_ZOOM, LOOKS, MOST_ZOOM, SMALL, SMALLEST, WIDTH, Window
from webarena_gym.sites.map.geometry import Point, coordinates, distance, duration, read_coordinates
from webarena_gym.sites.map.queries import PLURALS

BRAND = "Trailmark"

site = Site("map", __file__, sign_in="/login")
current_user = visitor()
members_only = members_of(current_user, site.sign_in, "Please sign in first.")


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


WHOLE = Window(Point((SOUTH + NORTH) / 2, (WEST + EAST) / 2), 8)
"""The window that shows all of the country."""


def point_of(values: Mapping[str, str]) -> Point | None:
    """Return the point that `lat` and `lon` say, or None when they say none."""
    found = read_coordinates(f"{values.get('lat', '')[:20]}, {values.get('lon', '')[:20]}")
    return Point(*found) if found else None


def window_of(values: Mapping[str, str]) -> Window:
    """Return the window that `lat`, `lon` and `zoom` say; what is missing or senseless is as on the front page."""
    point, zoom = point_of(values), whole_number(values.get("zoom"), LEAST_ZOOM, MOST_ZOOM)
    if point is None:
        return Window(WHOLE.centre, zoom or WHOLE.zoom)
    return Window(point, zoom or 15)


def size_of(values: Mapping[str, str]) -> tuple[int, int]:
    """Return the width and height in pixels that `width` and `height` say; the usual ones for what is missing or senseless."""
    width, height = (whole_number(values.get(name), SMALLEST, LARGEST) for name in ("width", "height"))
    return width or WIDTH, height or HEIGHT


def shrunk(window: Window) -> Window:
    """Return a window of a phone's size that shows about as much: it is half as wide, and one looks from twice as far."""
    return Window(window.centre, max(LEAST_ZOOM, window.zoom - 1), *SMALL)


def layer_of(values: Mapping[str, str]) -> str:
    """Return the layer that is asked for."""
    layer = values.get("layer", "")
    return layer if layer in LOOKS else "standard"


def arguments(window: Window) -> dict[str, object]:
    """Return a window as the arguments of a URL."""
    return {"zoom": window.zoom, "lat": f"{window.centre.latitude:.5f}", "lon": f"{window.centre.longitude:.5f}"}


def picture(window: Window, **more: object) -> str:
    """Return the address of the picture of a window."""
    return url("/export/map.svg", **arguments(window), **more)


def marked(point: Point, zoom: int = 15) -> str:
    """Return the address of the picture around a point, with a marker on it."""
    return picture(Window(point, zoom), marker=1)
