"""The search, and what is near a place or at a point."""

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.kit import aggregates
from webarena_gym.sites.kit.forms import whole_number
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.map import finding, queries
from webarena_gym.sites.map.base import argument, site, url
from webarena_gym.sites.map.categories import PLURALS, category_of
from webarena_gym.sites.map.finding import Found
from webarena_gym.sites.map.geometry import Point
from webarena_gym.sites.map.routing import FOOT
from webarena_gym.sites.map.units import read_coordinates
from webarena_gym.sites.map.windows import marked, point_of

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
    title, found = finding.search(request.db, text)
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
    centre = finding.of_place(place)
    found = finding.near(request.db, category, centre)
    pager = Pager.of(request, len(found), PER_PAGE)
    roads, shown, has_walks = queries.roads(request.db), pager.cut(found), aggregates.are_shown(request.db)
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
    address = finding.nearest_address(request.db, point)
    return request.render("query.html", point=point, address=address, places=_around(request, point), picture=marked(point, 16))


def _around(request: Request, point: Point) -> list[Found]:
    roads = queries.roads(request.db)
    places = [finding.of_place(row) for row in queries.rows(request.db, "SELECT * FROM places")]
    return finding.by_distance(roads, places, finding.at_point(roads, point))[:AT_A_POINT]
