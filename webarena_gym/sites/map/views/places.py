"""The map itself, towns and streets, and the page of a place."""

import sqlite3

from webarena_gym.sites.kit.database import first, one, value
from webarena_gym.sites.kit.forms import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.drawing import HEIGHT, LEAST_ZOOM, LOOKS, MOST_ZOOM, WIDTH, Name, Window, draw, window_around
from webarena_gym.sites.map.geometry import NUMBERS, Point, read_coordinates
from webarena_gym.sites.map.queries import CATEGORIES, PLACES
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
    rows = {"town": _towns(request, window), "place": _places(request, window)}
    names = [Name(row["name"], Point(row["latitude"], row["longitude"]), kind) for kind, found in rows.items() for row in found]
    svg = draw(roads, window, names, route=route, marker=marker, layer=layer_of(request.args))
    return Response(svg, content_type="image/svg+xml")


def _towns(request: Request, window: Window) -> list[sqlite3.Row]:
    """Return the towns that are named at that zoom, the largest first."""
    least = 10**9 if window.zoom > 14 else {6: 100_000, 7: 20_000}.get(window.zoom, 0)
    return queries.fetch(request.db, "SELECT * FROM towns WHERE population >= ? ORDER BY population DESC", least)


def _places(request: Request, window: Window) -> list[sqlite3.Row]:
    """Return the places that are named at that zoom: landmarks from afar, everything from near."""
    if window.zoom < 12:
        return []
    opened = "EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Opened')"
    query = f"""
        SELECT * FROM places p WHERE latitude BETWEEN ? AND ? AND longitude BETWEEN ? AND ?
        AND {"TRUE" if window.zoom >= 16 else opened} ORDER BY place_id LIMIT 30
    """
    (latitude, longitude), (high, wide) = window.centre, window.degrees
    north, east = high * window.height / 2, wide * window.width / 2
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
    return request.render("about.html", counts={name: value(request.db, query) for name, query in counts.items()})


PER_PAGE = 20  # streets of a town, places of a street


@site.get("/state/<int:state_id>")
def state(request: Request, state_id: int) -> str:
    """Show a state: its towns, its capital and its neighbours. Raises NotFound."""
    row = one(request.db, "SELECT * FROM state WHERE state_id = ?", (state_id,))
    query = "SELECT n.* FROM state_border b JOIN state n ON n.state_id = b.neighbour_id WHERE b.state_id = ? ORDER BY n.name"
    towns = queries.fetch(request.db, "SELECT * FROM towns WHERE state_id = ? ORDER BY population DESC", state_id)
    return request.render(
        "state.html",
        state=row,
        neighbours=request.db.execute(query, (state_id,)).fetchall(),
        towns=towns,
        capital=next(town for town in towns if town["name"] == row["capital"]),
        population=sum(town["population"] for town in towns),
        picture=picture(Window(Point(row["latitude"], row["longitude"]), 9)),
    )


@site.get("/town/<int:town_id>")
def town(request: Request, town_id: int) -> str:
    """Show a town: its people, what there is, and its streets. Raises NotFound."""
    row = one(request.db, f"{PLACES} SELECT * FROM towns WHERE town_id = ?", (town_id,))
    streets = queries.fetch(request.db, "SELECT * FROM streets WHERE town_id = ? ORDER BY name", town_id)
    query = "SELECT category, count(*) AS found FROM places WHERE town_id = ? GROUP BY category ORDER BY category"
    pager = Pager.of(request, len(streets), PER_PAGE)
    return request.render(
        "town.html",
        town=row,
        counts=queries.fetch(request.db, query, town_id),
        is_capital=first(request.db, "SELECT 1 FROM state WHERE capital = ?", (row["name"],)) is not None,
        streets=pager.cut(streets),
        pager=pager,
        picture=marked(Point(row["latitude"], row["longitude"]), {"city": 13, "town": 14}.get(row["kind"], 15)),
    )


@site.get("/street/<int:street_id>")
def street(request: Request, street_id: int) -> str:
    """Show a street: how long it is, and what stands there. Raises NotFound."""
    row = one(request.db, f"{PLACES} SELECT * FROM streets WHERE street_id = ?", (street_id,))
    places = queries.fetch(request.db, "SELECT * FROM places WHERE street_id = ? ORDER BY number", street_id)
    middle = queries.of_street(request.db, row, NUMBERS // 2).point
    pager, picture = Pager.of(request, len(places), PER_PAGE), marked(middle, 14)
    return request.render("street.html", street=row, middle=middle, picture=picture, places=pager.cut(places), pager=pager)


NEARBY = (
    "cafe", "restaurant", "hotel", "supermarket", "pharmacy", "bakery", "bookshop", "bank", "post office", "police station",
    "petrol station", "school", "library", "museum", "park", "cinema", "gym", "bus station", "hospital", "airport",
)  # fmt: skip
"""The kinds of places that a place's page leads to."""


def wanted_place(request: Request, place_id: int) -> sqlite3.Row:
    """Return the place that a URL names. Raises NotFound."""
    return one(request.db, f"{PLACES} SELECT * FROM places WHERE place_id = ?", (place_id,))


@site.get("/place/<int:place_id>")
def show(request: Request, place_id: int) -> str:
    """Show all that the map knows about a place. Raises NotFound."""
    place = wanted_place(request, place_id)
    user = current_user(request)
    of_user = (user["user_id"] if user else 0, place_id)
    return request.render(
        "place.html",
        place=place,
        details=request.db.execute("SELECT * FROM place_detail WHERE place_id = ? ORDER BY name", (place_id,)).fetchall(),
        saved=first(request.db, "SELECT * FROM saved_place WHERE user_id = ? AND place_id = ?", of_user),
        kinds=NEARBY,
        picture=marked(Point(place["latitude"], place["longitude"])),
    )
