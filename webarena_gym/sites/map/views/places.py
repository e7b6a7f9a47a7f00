"""The map itself, towns and streets, and the page of a place."""

import sqlite3
from typing import Any

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.forms import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.drawing import HEIGHT, LEAST_ZOOM, LOOKS, MOST_ZOOM, WIDTH, Name, Window, draw, window_around
from webarena_gym.sites.map.geometry import NUMBERS, Point, read_coordinates
from webarena_gym.sites.map.queries import CATEGORIES
from webarena_gym.sites.map.routing import MODES, line
from webarena_gym.sites.map.site import (
    WHOLE,
    argument,
    arguments,
    current_user,
    layer_of,
    marked,
    picture,
    point_of,
    shrunk,
    site,
    size_of,
    url,
    window_of,
)


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
        towns=queries.fetch(request.db, "SELECT * FROM towns ORDER BY population DESC LIMIT 10"),
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
        ends = [queries.find(request.db, argument(request, name))[:1] for name in ("from", "to")]
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
    return queries.fetch(request.db, "SELECT * FROM towns WHERE population >= ? ORDER BY population DESC", least)


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
    return queries.fetch(request.db, query, latitude - north, latitude + north, longitude - east, longitude + east)


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


PER_PAGE = 20  # streets of a town, places of a street


def _found(row: sqlite3.Row | None) -> sqlite3.Row:
    if row is None:
        raise NotFound
    return row


@site.get("/state/<int:state_id>")
def state(request: Request, state_id: int) -> str:
    """Show a state: its towns, its capital and its neighbours. Raises NotFound."""
    row = _found(request.db.execute("SELECT * FROM state WHERE state_id = ?", (state_id,)).fetchone())
    neighbours = request.db.execute(
        "SELECT n.* FROM state_border b JOIN state n ON n.state_id = b.neighbour_id WHERE b.state_id = ? ORDER BY n.name",
        (state_id,),
    ).fetchall()
    towns = queries.fetch(request.db, "SELECT * FROM towns WHERE state_id = ? ORDER BY population DESC", state_id)
    return request.render(
        "state.html",
        state=row,
        neighbours=neighbours,
        towns=towns,
        capital=next(town for town in towns if town["name"] == row["capital"]),
        population=sum(town["population"] for town in towns),
        picture=picture(Window(Point(row["latitude"], row["longitude"]), 9)),
    )


@site.get("/town/<int:town_id>")
def town(request: Request, town_id: int) -> str:
    """Show a town: its people, what there is, and its streets. Raises NotFound."""
    row = _found(queries.row(request.db, "SELECT * FROM towns WHERE town_id = ?", town_id))
    streets = queries.fetch(request.db, "SELECT * FROM streets WHERE town_id = ? ORDER BY name", town_id)
    counts = queries.fetch(
        request.db,
        "SELECT category, count(*) AS found FROM places WHERE town_id = ? GROUP BY category ORDER BY category",
        town_id,
    )
    return request.render(
        "town.html", town=row, counts=counts, is_capital=_is_capital(request, row), **_page(request, "streets", streets),
        picture=marked(Point(row["latitude"], row["longitude"]), {"city": 13, "town": 14}.get(row["kind"], 15)),
    )  # fmt: skip


@site.get("/street/<int:street_id>")
def street(request: Request, street_id: int) -> str:
    """Show a street: how long it is, and what stands there. Raises NotFound."""
    row = _found(queries.row(request.db, "SELECT * FROM streets WHERE street_id = ?", street_id))
    places = queries.fetch(request.db, "SELECT * FROM places WHERE street_id = ? ORDER BY number", street_id)
    middle = queries.of_street(request.db, row, NUMBERS // 2).point
    return request.render(
        "street.html", street=row, middle=middle, picture=marked(middle, 14), **_page(request, "places", places)
    )


def _page(request: Request, name: str, rows: list[sqlite3.Row]) -> dict[str, Any]:
    """Return what a template needs to show a page of rows."""
    pager = Pager.of(request, len(rows), PER_PAGE)
    return {name: pager.cut(rows), "pager": pager}


def _is_capital(request: Request, town: sqlite3.Row) -> bool:
    return request.db.execute("SELECT 1 FROM state WHERE capital = ?", (town["name"],)).fetchone() is not None


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
