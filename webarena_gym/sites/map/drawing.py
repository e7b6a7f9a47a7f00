"""Pictures of the map, as SVG: the roads, towns and places of a window, a route over them, and a marker."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import cos, radians
from typing import NamedTuple

from markupsafe import escape

from webarena_gym.sites.map.geometry import Point, along
from webarena_gym.sites.map.routing import Roads

WIDTH, HEIGHT = 720, 560  # pixels
SMALL = (360, 400)  # of a picture for a phone
SMALLEST, LARGEST = 100, 1200  # pixels of a side that is asked for
LEAST_ZOOM, MOST_ZOOM = 6, 18
MOST_NAMES = 40  # of streets or places that are written


class LayerColours(NamedTuple):
    """The colours of a layer: ground, roads by kind, footpaths, routes and text."""

    ground: str
    edge: str
    motorway: str
    road: str
    main: str
    street: str
    path: str
    route: str
    ink: str


LOOKS = {
    "standard": LayerColours("#f2efe6", "#b9b2a1", "#e58f6f", "#f6d58b", "#fbe8a6", "#ffffff", "#8fae7b", "#2b62c9", "#3a3a33"),
    "cycling": LayerColours("#eef3ea", "#b7c3b0", "#cfcfcf", "#9cc5e8", "#b8d8f0", "#ffffff", "#1f8a4c", "#b0307c", "#2c3a2c"),
    "night": LayerColours("#20252b", "#14181c", "#a35b43", "#7a6a3c", "#5d5640", "#414a54", "#56704a", "#7fb0ff", "#d8dde2"),
}
_WIDTHS = {"motorway": 6, "road": 5, "main": 6, "street": 4, "path": 2}


class Window(NamedTuple):
    """The view of a picture: its centre, zoom level (each level doubles the scale), and size in pixels."""

    centre: Point
    zoom: int
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def degrees(self) -> tuple[float, float]:
        """Degrees of latitude and longitude per pixel."""
        width = 360 / (256 * 2.0**self.zoom)
        return width * cos(radians(self.centre.latitude)), width

    def pixel(self, point: Point) -> tuple[float, float]:
        """Return the position of a point in pixels from the upper left corner."""
        high, wide = self.degrees
        x = self.width / 2 + (point.longitude - self.centre.longitude) / wide
        return round(x, 1), round(self.height / 2 - (point.latitude - self.centre.latitude) / high, 1)

    def shows(self, *points: Point) -> bool:
        """Return True if the bounding box of points overlaps the picture."""
        high, wide = self.degrees
        latitudes, longitudes = [point.latitude for point in points], [point.longitude for point in points]
        south, west = self.centre.latitude - high * self.height / 2, self.centre.longitude - wide * self.width / 2
        return (
            max(latitudes) >= south
            and min(latitudes) <= south + high * self.height
            and max(longitudes) >= west
            and min(longitudes) <= west + wide * self.width
        )


def window_around(points: Sequence[Point], width: int = WIDTH, height: int = HEIGHT) -> Window:
    """Return the window of a size, with the highest zoom level, that contains all points."""
    latitudes, longitudes = [point.latitude for point in points], [point.longitude for point in points]
    centre = Point((min(latitudes) + max(latitudes)) / 2, (min(longitudes) + max(longitudes)) / 2)
    for zoom in range(MOST_ZOOM - 1, LEAST_ZOOM, -1):
        window = Window(centre, zoom, width, height)
        high, wide = window.degrees
        if max(latitudes) - min(latitudes) < high * height * 0.9 and max(longitudes) - min(longitudes) < wide * width * 0.9:
            return window
    return Window(centre, LEAST_ZOOM, width, height)


def draw(
    roads: Roads,
    window: Window,
    names: Iterable[tuple[str, Point, str]],
    *,
    route: Sequence[Point] = (),
    marker: Point | None = None,
    layer: str = "standard",
) -> str:
    """Return the picture of a window with the `names` of towns and places (text, point, and "town" or "place").

    Streets that would be too small to see are left out.
    """
    look, (latitude, longitude), zoom, width, height = LOOKS[layer], *window
    letters = _Letters()
    written = _names(window, names, look, letters)
    parts = _streets(roads, window, look, letters)
    if route:
        pixels = [window.pixel(point) for point in route]
        path = "M" + "L".join(f"{x} {y}" for x, y in pixels)
        style = 'fill="none" stroke-linecap="round" stroke-linejoin="round" stroke-width="5" stroke-opacity=".8"'
        parts.append(f'<path d="{path}" stroke="{look.route}" {style}/>')
        for (x, y), colour in ((pixels[0], "#2d8a4e"), (pixels[-1], "#c43c31")):
            parts.append(f'<circle cx="{x}" cy="{y}" r="7" fill="{colour}" stroke="#fff" stroke-width="2"/>')
    parts += written
    if marker is not None:
        x, y = window.pixel(marker)
        drop = f"M{x} {y}l-9-15a10.5 10.5 0 1 1 18 0z"
        parts.append(f'<path d="{drop}" fill="#c43c31" stroke="{look.ground}" stroke-width="1.5"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'data-window="{latitude:.5f} {longitude:.5f} {zoom}" '
        f'font-family="Segoe UI, Helvetica Neue, Arial, sans-serif">'
        f'<path fill="{look.ground}" d="M0 0h{width}v{height}H0z"/>{"".join(parts)}</svg>'
    )


class _Letters:
    """The space of names in a picture. Names that would overlap are left out."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float, float]] = []

    def fit(self, x: float, y: float, text: str, size: int) -> bool:
        """Reserve the space of a text, and return True if it is free."""
        right, bottom = x + 0.55 * size * len(text), y + size
        if any(x < end and start < right and y < low and high < bottom for start, high, end, low in self._taken):
            return False
        self._taken.append((x, y, right, bottom))
        return True


def _streets(roads: Roads, window: Window, look: LayerColours, letters: _Letters) -> list[str]:
    """Draw the streets with dark edges, and the names of the larger ones."""
    least = {"motorway": 0, "road": 0, "main": 11, "street": 12, "path": 14}
    visible = [edge for edge in roads.edges.values() if window.zoom >= least[edge.kind] and window.shows(*roads.ends(edge))]
    scale = max(0.35, min(2.6, 2.0 ** (window.zoom - 15)))
    edges, fills, labels = [], [], []
    for _, pieces in groupby(visible, key=lambda edge: edge.street_id):
        chain = list(pieces)
        path, kind, last = "", chain[0].kind, 0
        for edge in chain:  # pen up where pieces between them are out of sight
            a, b = (window.pixel(point) for point in roads.ends(edge))
            path += f"{'' if edge.node_a == last else f'M{a[0]} {a[1]}'}L{b[0]} {b[1]}"
            last = edge.node_b
        width = max(1.2, _WIDTHS[kind] * scale)
        colour = getattr(look, kind)
        dash = ' stroke-dasharray="5 4"' if kind == "path" else ""
        if kind != "path":
            edges.append(
                f'<path d="{path}" stroke="{look.edge}" stroke-width="{width + (1.6 if window.zoom >= 11 else 1):.1f}"/>'
            )
        fills.append(f'<path d="{path}" stroke="{colour}" stroke-width="{width:.1f}"{dash}/>')
        if kind != "path" and window.zoom >= (15 if kind == "street" else 13 if kind == "main" else 10):
            middle = along(*roads.ends(chain[len(chain) // 2]), 0.5)
            x, y = window.pixel(middle)
            if window.shows(middle) and letters.fit(x, y, chain[0].name, 10):
                labels.append(f'<text x="{x}" y="{y}" font-size="10" fill="{look.ink}">{escape(chain[0].name)}</text>')
    group = '<g fill="none" stroke-linecap="round" stroke-linejoin="round">'
    return [group, *edges, *fills, "</g>", *labels[:MOST_NAMES]]


def _names(window: Window, names: Iterable[tuple[str, Point, str]], look: LayerColours, letters: _Letters) -> list[str]:
    parts = []
    for text, point, kind in [name for name in names if window.shows(name[1])][:MOST_NAMES]:
        x, y = window.pixel(point)
        size = 14 if kind == "town" else 11
        if not letters.fit(x, y, text, size):
            continue
        weight = ' font-weight="700"' if kind == "town" else ""
        parts.append(
            f'<circle cx="{x}" cy="{y}" r="3" fill="{look.ink}"/><text x="{x + 5}" y="{y - 4}" font-size="{size}"{weight} '
            f'fill="{look.ink}" stroke="{look.ground}" stroke-width="3" paint-order="stroke">{escape(text)}</text>'
        )
    return parts
