"""The map: the ways through it, and the distances that it shows, computed as the map computes them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webarena_gym.sites.kit.database import shows_aggregates
from webarena_gym.sites.map.geometry import distance, duration
from webarena_gym.sites.map.queries import PLACES, PLURALS, by_distance, of_place
from webarena_gym.sites.map.routing import CAR, Mode, Roads, Route, Spot, load_roads
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts

TEXTS = read_texts("map")

SEARCH_BOX = "Search the map"
PER_PAGE = 10  # results of a search, places nearby
MARGIN = 1.1  # what is nearest must be nearer than the second by a tenth
LANDMARKS = "EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Opened')"
IN_TOWN = f"{LANDMARKS} AND category NOT IN ('airport', 'national park')"
Place = t.Row | Mapping[str, Any]
"""A row of a place or town, also with columns that a template has computed."""


class Near(NamedTuple):
    """A place of some kind around another one: its row, how far it is in a straight line, and the way there."""

    row: t.Row
    metres: float
    way: Route


def roads(world: t.Sampler) -> Roads:
    """Return the roads of the world."""
    return load_roads(world.rows)


def places(world: t.Sampler, where: str, *values: object) -> list[t.Row]:
    """Return the places that meet a condition."""
    return world.rows(PLACES + f"SELECT * FROM places p WHERE {where} ORDER BY place_id", *values)


def some_place(world: t.Sampler, where: str, *values: object) -> t.Row:
    """Return one of the places that meet a condition and share their name with no other. Raises NothingToDraw."""
    return world.pick(PLACES + f"SELECT * FROM places p WHERE {where} AND label = name ORDER BY place_id", *values)


def spot(row: Place) -> Spot:
    """Return where a place's door is."""
    return Spot(row["edge_id"], row["metres"])


def route(world: t.Sampler, mode: Mode, a: Place, b: Place) -> Route:
    """Return the way from one place to another."""
    return roads(world).route(mode, spot(a), spot(b))


def route_to(world: t.Sampler, row: Place, mode: Mode, goal: Place) -> Route:
    """Return the way from the place that was drawn to another."""
    return route(world, mode, row, goal)


def town_route(world: t.Sampler, row: Place, mode: Mode, goal: Place) -> Route:
    """Return the way from the town that was drawn to another."""
    return between_towns(world, mode, row, goal)


def between_towns(world: t.Sampler, mode: Mode, a: Place, b: Place) -> Route:
    """Return the way from the middle of one town to that of another."""
    net = roads(world)
    return net.route(mode, net.crossing(a["node_id"]), net.crossing(b["node_id"]))


def nearby(world: t.Sampler, category: str, centre: t.Row, walk: Mode, most: int = 2 * PER_PAGE) -> list[Near]:
    """Return the places of a kind around a place as the map lists them, the nearest first, with the ways there.

    Raises NothingToDraw where the list has no ways.
    """
    t.skip_if(not shows_aggregates(world.connection("map")), "a list with ways")
    found = around(world, category, centre, most)
    return [Near(row, metres, route(world, walk, centre, row)) for row, metres in found]


def around(world: t.Sampler, category: str, centre: t.Row, most: int) -> list[tuple[t.Row, float]]:
    """Return the places of a kind around a place as the map lists them, the nearest first, with their straight distances."""
    rows = {row["label"]: row for row in places(world, "category = ?", category) if row["label"] != centre["label"]}
    found = by_distance(roads(world), [of_place(row) for row in rows.values()], of_place(centre))[:most]
    return [(rows[one.label], one.metres or 0.0) for one in found]


def clearly_first(found: Sequence[Near]) -> Near:
    """Return the nearest place, if it is so by far, both in a straight line and on the road. Raises NothingToDraw."""
    t.skip_if(len(found) < 2, "a choice of places")
    best, others = found[0], found[1:]
    rivals = [one for one in others if one.metres < MARGIN * best.metres or one.way.metres < MARGIN * best.way.metres]
    t.skip_if(rivals, "one that is nearer than all others")
    t.skip_if(best.way.metres < 50, "one that is not next door")
    return best


def stated(metres: float) -> tuple[str, str]:
    """Return the unit in which the map gives a distance, in words, and the bare number.

    >>> stated(653), stated(3449)
    (('metres', '653'), ('kilometres', '3.4'))
    """
    number, _, unit = distance(metres).partition(" ")
    return {"m": "metres", "km": "kilometres"}[unit], number


def other_times(minutes: int, *more: int) -> list[str]:
    """Return durations that are wrong, each a likely mistake."""
    return [duration(each) for each in dict.fromkeys([minutes + 7, *more]) if each != minutes]


def open_place(name: str, thought: str = "") -> list[Step]:
    """Return the steps to the page of a place, town or state."""
    return [t.search(SEARCH_BOX, name), t.click(name, thought)]


def open_nearby(centre: t.Row, category: str) -> list[Step]:
    """Return the steps to the list of the places of a kind around a place."""
    return [*open_place(centre["name"]), t.click(link_to(category))]


def link_to(category: str) -> str:
    """Return the link on a place's page that leads to the places of a kind nearby."""
    plural = PLURALS[category]
    return f"{plural[0].upper()}{plural[1:]} nearby"


def open_route(start: str, goal: str, mode: Mode) -> list[Step]:
    """Return the steps to a route."""
    chosen = [] if mode is CAR else [t.choose("Travel by", mode.name)]
    return [t.click("Directions"), t.type_text("From", start), t.type_text("To", goal), *chosen, t.click("Get directions")]


def open_routes(start: str, goals: Sequence[str], mode: Mode) -> list[Step]:
    """Return the steps to the routes from one place to several, one after the other."""
    return [*open_route(start, goals[0], mode), *(step for goal in goals[1:] for step in change_route("To", goal))]


def change_route(label: str, name: str) -> list[Step]:
    """Return the steps from a route to one that has another place at one of its ends."""
    return [t.type_text(label, name), t.click("Get directions")]


def travel_by(mode: Mode) -> list[Step]:
    """Return the steps from a route to the same one by another way to travel."""
    return [t.choose("Travel by", mode.name), t.click("Get directions")]
