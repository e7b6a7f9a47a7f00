"""The front page with its map, the pictures, and a few pages of text."""

from typing import Any

from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.map import finding, queries
from webarena_gym.sites.map.base import argument, site, url
from webarena_gym.sites.map.categories import CATEGORIES
from webarena_gym.sites.map.drawing import HEIGHT, LEAST_ZOOM, LOOKS, MOST_ZOOM, WIDTH, Name, Window, draw, window_around
from webarena_gym.sites.map.geometry import Point
from webarena_gym.sites.map.routing import MODES
from webarena_gym.sites.map.steps import line
from webarena_gym.sites.map.units import read_coordinates
from webarena_gym.sites.map.windows import WHOLE, arguments, layer_of, picture, point_of, shrunk, size_of, window_of


@site.get("/")
def home(request: Request) -> str:
    """Show a window of the map, with links to move it."""
    window, layer = window_of(request.args), layer_of(request.args)
    request.shows({} if window == WHOLE else arguments(window))
    request.arranges({"layer": layer})
    return request.render(
        "home.html",
        window=window,
        layer=layer,
        layers=list(LOOKS),
        picture=picture(window, layer=layer),
        moves=_moves(window, layer),
        here=arguments(window),
        towns=queries.rows(request.db, "SELECT * FROM towns ORDER BY population DESC LIMIT 10"),
        states=request.db.execute("SELECT * FROM state ORDER BY name").fetchall(),
    )


def _moves(window: Window, layer: str) -> dict[str, str]:
    """Return the windows next to this one, by what the links to them say."""
    (latitude, longitude), zoom = window.centre, window.zoom
    high, wide = (degrees * pixels / 2 for degrees, pixels in zip(window.degrees, (HEIGHT, WIDTH), strict=True))
    moves = {"Zoom in": Window(window.centre, zoom + 1), "Zoom out": Window(window.centre, zoom - 1)}
    steps = {"Move north": (high, 0.0), "Move south": (-high, 0.0), "Move west": (0.0, -wide), "Move east": (0.0, wide)}
    for label, (north, east) in steps.items():
        moves[label] = Window(Point(max(-90, min(90, latitude + north)), max(-180, min(180, longitude + east))), zoom)
    more = {} if layer == "standard" else {"layer": layer}
    return {label: url("/", **arguments(move), **more) for label, move in moves.items() if LEAST_ZOOM <= move.zoom <= MOST_ZOOM}


@site.get("/export/map.svg")
def export(request: Request) -> Response:
    """Draw a window, or a route: in a window of its own, unless one is asked for as well."""
    roads = queries.roads(request.db)
    width, height = size_of(request.args)
    window, route = window_of(request.args)._replace(width=width, height=height), []
    if argument(request, "small"):
        window = shrunk(window)
    mode = MODES.get(argument(request, "mode"))
    if mode is not None:
        ends = [finding.find(request.db, argument(request, name))[:1] for name in ("from", "to")]
        spots = [one.spot for found in ends for one in found if one.spot is not None]
        if len(spots) == 2:
            route = line(roads, roads.route(mode, *spots))
            window = window if point_of(request.args) else window_around(route, window.width, window.height)
    at = read_coordinates(argument(request, "marker"))
    marker = Point(*at) if at else window.centre if argument(request, "marker") else None
    names = [Name(row["name"], Point(row["latitude"], row["longitude"]), "town") for row in _towns(request, window)]
    names += [Name(row["name"], Point(row["latitude"], row["longitude"]), "place") for row in _places(request, window)]
    svg = draw(roads, window, names, route=route, marker=marker, layer=layer_of(request.args))
    return Response(svg, content_type="image/svg+xml")


def _towns(request: Request, window: Window) -> list[Any]:
    """The towns that are named at that zoom, the largest first."""
    least = {6: 100_000, 7: 20_000}.get(window.zoom, 0)
    most_zoom = 14
    if window.zoom > most_zoom:
        return []
    return queries.rows(request.db, "SELECT * FROM towns WHERE population >= ? ORDER BY population DESC", least)


def _places(request: Request, window: Window) -> list[Any]:
    """The places that are named at that zoom: landmarks from afar, everything from near."""
    if window.zoom < 12:
        return []
    landmarks = (
        ""
        if window.zoom >= 16
        else "AND EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Opened')"
    )
    high, wide = window.degrees
    query = f"""
        SELECT * FROM places p WHERE latitude BETWEEN ? AND ? AND longitude BETWEEN ? AND ? {landmarks} ORDER BY place_id LIMIT 30
    """
    (latitude, longitude), (north, east) = window.centre, (high * window.height / 2, wide * window.width / 2)
    return queries.rows(request.db, query, latitude - north, latitude + north, longitude - east, longitude + east)


@site.get("/layers")
def layers(request: Request) -> str:
    """Show what the map can look like."""
    return request.render("layers.html", layers=list(LOOKS))


@site.get("/help")
def help_page(request: Request) -> str:
    """Say how to search and to get directions, and which kinds of places there are."""
    return request.render("help.html", categories=CATEGORIES)


@site.get("/about")
def about(request: Request) -> str:
    """Say what this map is, in numbers."""
    counts = {
        "towns": "SELECT count(*) FROM town",
        "streets": "SELECT count(*) FROM street WHERE kind != 'path'",
        "places": "SELECT count(*) FROM place",
        "notes": "SELECT count(*) FROM map_note",
    }
    return request.render(
        "about.html", counts={name: request.db.execute(query).fetchone()[0] for name, query in counts.items()}
    )
