"""Facts about one place, town or state, pages and routes to open, saved places, notes and suggestions."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from webarena_gym.sites.country.texts import capitalised as capitalised
from webarena_gym.sites.map.geometry import Point, coordinates
from webarena_gym.sites.map.queries import CATEGORIES, PLACES, by_distance, of_place
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Mode, Spot
from webarena_gym.tasks import template as t
from webarena_gym.templates.map import places, roads, some_place

DAYS = {"weekdays": "from Monday to Friday", "saturday": "on Saturdays", "sunday": "on Sundays"}
TOWNS = PLACES + "SELECT * FROM towns ORDER BY town_id"


def absent(kinds: Sequence[str]) -> list[str]:
    """Return the kinds of places that are not among these."""
    return [each.name for each in CATEGORIES if each.name not in kinds]


def two_places(world: t.Sampler, where: str = "1", column: str = "name") -> list[t.Row]:
    """Return two places that differ in a column. Raises NothingToDraw."""
    first, second = world.rng.sample(places(world, f"({where}) AND label = name"), 2)
    t.skip_if(first[column] == second[column], "two that differ")
    return [first, second]


def place_alone(world: t.Sampler) -> dict[str, Any]:
    """Return a place that no other place is as near to as it is, its point, and the next one. Raises NothingToDraw."""
    row = some_place(world, "1")
    here = Point(row["latitude"], row["longitude"])
    centre = of_place(row)._replace(table="point", point=here)
    first, second = by_distance(roads(world), [of_place(each) for each in places(world, "1")], centre)[:2]
    t.skip_if(first.label != row["name"] or (second.metres or 0) < 1.5 * (first.metres or 0) + 10, "a place that stands alone")
    return {"name": row["name"], "point": coordinates(*here), "next": second.label}


def middle_of(world: t.Sampler, row: t.Row) -> str:
    """Return the point in the middle of a block, which has one street alone near it. Raises NothingToDraw."""
    net = roads(world)
    here = Point(*(round(degrees, 5) for degrees in net.point(Spot(row["edge_id"], row["length"] // 2))))
    t.skip_if(net.edges[net.nearest(here).edge_id].street_id != row["street_id"], "a point on a street of its own")
    return coordinates(*here)


BY = {CAR: "by car", BICYCLE: "by bicycle", FOOT: "on foot"}


def shows_route(start: str, goal: str, mode: Mode) -> dict[str, Any]:
    """The episode must end at a route between these places, however they were typed."""
    return t.all_of(
        t.at_url(f"__MAP__/directions?{urlencode({'from': start, 'to': goal, 'mode': mode.key})}"),
        t.page_shows("last", "#route-from", exact_match=start),
        t.page_shows("last", "#route-to", exact_match=goal),
    )


def beginning(text: str) -> str:
    """Return the first words of a text."""
    return " ".join(text.split()[:6])


ME = 1  # the mapper who is signed in when a task starts
NOTES_PER_PAGE = 15
SAVED = f"SELECT place_id, note FROM saved_place WHERE user_id = {ME} ORDER BY place_id"
MINE = f"EXISTS (SELECT 1 FROM saved_place s WHERE s.place_id = p.place_id AND user_id = {ME})"


def saved_are(wanted: dict[int, str]) -> dict[str, Any]:
    """My saved places must be exactly these, with these notes."""
    return t.state(SAVED, expected=[list(item) for item in sorted(wanted.items())])


def saved(world: t.Sampler) -> dict[int, str]:
    """Return the notes of my saved places."""
    return {row["place_id"]: row["note"] for row in world.rows(SAVED)}


def saved_become(world: t.Sampler, row: t.Row, note: str | None = None) -> dict[str, Any]:
    """A place must be among my saved ones with that note, or be gone, and the others must be as they are."""
    notes = {**saved(world), row["place_id"]: note}
    return saved_are({key: each for key, each in notes.items() if each is not None})
