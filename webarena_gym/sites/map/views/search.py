"""The search, what is near a place or at a point, and directions."""

from collections.abc import Sequence
from typing import NamedTuple

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.kit.database import shows_aggregates
from webarena_gym.sites.kit.forms import Pager, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.map import queries
from webarena_gym.sites.map.geometry import read_coordinates
from webarena_gym.sites.map.queries import PLURALS, Found, category_of
from webarena_gym.sites.map.routing import CAR, FOOT, MODES, MOST, directions
from webarena_gym.sites.map.site import argument, marked, point_of, site, url

PER_PAGE = 10
AT_A_POINT = 5  # places that are named around a point


@site.get("/search")
def results(request: Request) -> str | Response:
    """Show what a search finds, the best match or the nearest first."""
    text = argument(request, "query")
    if not text:
        return request.redirect("/", "Please enter what to search for.", "notice")
    point = read_coordinates(text)
    if point is not None:
        return redirect(url("/query", lat=f"{point[0]:.5f}", lon=f"{point[1]:.5f}"))
    title, found = queries.search(request.db, text)
    request.shows({"query": folded(title)})
    pager = Pager.of(request, len(found), PER_PAGE)
    return request.render("search.html", text=text, title=title, found=pager.cut(found), pager=pager)


@site.get("/nearby")
def nearby(request: Request) -> str:
    """Show the places of a kind around a place, by straight distance, and in standard worlds how far they are on foot. Raises NotFound."""
    place = queries.place(request.db, whole_number(request.args.get("place"), 1, 10**9 - 1) or 0)
    category = category_of(argument(request, "category"))
    if place is None or category is None:
        raise NotFound
    request.shows({"place": place["place_id"], "category": category})
    centre = queries.of_place(place)
    found = queries.near(request.db, category, centre)
    pager = Pager.of(request, len(found), PER_PAGE)
    roads, shown, has_walks = queries.roads(request.db), pager.cut(found), shows_aggregates(request.db)
    walks = [roads.route(FOOT, centre.spot, one.spot) if has_walks and centre.spot and one.spot else None for one in shown]
    return request.render(
        "nearby.html",
        place=place,
        title=f"{PLURALS[category]} near {place['name']}",
        found=list(zip(shown, walks, strict=True)),
        has_walks=has_walks,
        pager=pager,
    )


@site.get("/query")
def query(request: Request) -> str | Response:
    """Show what is at a point: the nearest address, and the places around it."""
    point = point_of(request.args)
    if point is None:
        return request.redirect("/", "A point is written as decimal degrees, such as 42.12345, -29.54321.", "error")
    request.shows({"lat": f"{point.latitude:.5f}", "lon": f"{point.longitude:.5f}"})
    address, roads = queries.nearest_address(request.db, point), queries.roads(request.db)
    places = [queries.of_place(row) for row in queries.fetch(request.db, "SELECT * FROM places")]
    places = queries.by_distance(roads, places, queries.at_point(roads, point))[:AT_A_POINT]
    return request.render("query.html", point=point, address=address, places=places, picture=marked(point, 16))


MOST_CHOICES = 10
LABELS = {"from": "From", "to": "To"}


class End(NamedTuple):
    """One end of a route as it was typed: the place it is, or those to choose from, or what is wrong with it."""

    label: str
    place: Found | None = None
    choices: Sequence[tuple[Found, str]] = ()  # with the address of the page that has chosen it
    complaint: str = ""


@site.get("/directions")
def show(request: Request) -> str | Response:
    """Show the form, and below it the route when both ends are clear."""
    values = {name: argument(request, name) for name in ("from", "to", "mode")}
    values["mode"] = values["mode"] if values["mode"] in MODES else CAR.key
    if "reverse" in request.args:
        return redirect(url("/directions", **{"from": values["to"], "to": values["from"], "mode": values["mode"]}))
    ends = [_end(request, name, values) for name in LABELS] if values["from"] or values["to"] else []
    start, goal = (ends[0].place, ends[1].place) if ends else (None, None)
    understood = {name: folded(end.place.label if end.place else values[name]) for name, end in zip(LABELS, ends, strict=False)}
    request.shows({**understood, "mode": values["mode"] if ends else None})
    if start is None or goal is None or start.spot is None or goal.spot is None:
        return request.render("directions.html", values=values, modes=MODES, ends=ends, route=None)
    roads = queries.roads(request.db)
    route = roads.route(MODES[values["mode"]], start.spot, goal.spot)
    steps = directions(roads, route)
    return request.render(
        "directions.html",
        values=values,
        modes=MODES,
        ends=ends,
        route=route,
        steps=steps[:MOST],
        left_out=len(steps) - MOST,
        picture=url("/export/map.svg", **{"from": start.label, "to": goal.label, "mode": values["mode"]}),
    )


def _end(request: Request, name: str, values: dict[str, str]) -> End:
    """Return what one end of the route is."""
    label, text = LABELS[name], values[name]
    if not text:
        return End(label, complaint=f"{label}: please enter a place, an address or coordinates.")
    found = queries.find(request.db, text)
    exact = [one for one in found if one.is_exact] or found
    if not found:
        return End(label, complaint=f"{label}: nothing is called {text}. Check the spelling, or search for it.")
    if len(exact) > 1:
        choices = [(one, url("/directions", **(values | {name: one.label}))) for one in exact[:MOST_CHOICES]]
        return End(label, choices=choices)
    if exact[0].spot is None:
        return End(label, complaint=f"{label}: {exact[0].label} is a whole state. Please enter a town or a place in it.")
    return End(label, exact[0])
