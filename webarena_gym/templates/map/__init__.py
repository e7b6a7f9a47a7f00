"""The map: queries of its templates, distances computed as by the map, paths of solutions, and checks of saved places."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from webarena_gym.sites.country.texts import capitalize
from webarena_gym.sites.kit.database import shows_aggregates
from webarena_gym.sites.map.geometry import Point, coordinates, distance, duration
from webarena_gym.sites.map.queries import CATEGORIES, PLACES, PLURALS, by_distance, of_place
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Mode, Roads, Route, Spot, directions, load_roads
from webarena_gym.sites.map.routing import Step as Instruction
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import question

TEXTS = read_texts("map")

SEARCH_BOX = "Search the map"
PER_PAGE = 10  # results of a search, places nearby
MARGIN = 1.1  # what is nearest must be nearer than the second by a tenth
LANDMARKS = "EXISTS (SELECT 1 FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Opened')"
IN_TOWN = f"{LANDMARKS} AND category NOT IN ('airport', 'national park')"
Place = t.Row | Mapping[str, Any]
"""A row of a place or town, also with columns that a template has computed."""


class Near(NamedTuple):
    """A place near another one: its row, the straight-line distance, and the route to it."""

    row: t.Row
    metres: float
    way: Route


def roads(world: t.Sampler) -> Roads:
    """Return the road graph of the world."""
    return load_roads(world.rows)


def places(world: t.Sampler, where: str, *values: object) -> list[t.Row]:
    """Return the places that satisfy a condition."""
    return world.rows(PLACES + f"SELECT * FROM places p WHERE {where} ORDER BY place_id", *values)


def some_place(world: t.Sampler, where: str, *values: object) -> t.Row:
    """Draw a place with a unique name that satisfies a condition. Raises NothingToDraw."""
    return world.pick(PLACES + f"SELECT * FROM places p WHERE {where} AND label = name ORDER BY place_id", *values)


def spot(row: Place) -> Spot:
    """Return the position of a place's door on the road graph."""
    return Spot(row["edge_id"], row["metres"])


def route(world: t.Sampler, mode: Mode, a: Place, b: Place) -> Route:
    """Return the route from one place to another."""
    return roads(world).route(mode, spot(a), spot(b))


def route_to(world: t.Sampler, row: Place, mode: Mode, goal: Place) -> Route:
    """Return the route from the drawn place to another."""
    return route(world, mode, row, goal)


def town_route(world: t.Sampler, row: Place, mode: Mode, goal: Place) -> Route:
    """Return the route from the drawn town to another."""
    return between_towns(world, mode, row, goal)


def between_towns(world: t.Sampler, mode: Mode, a: Place, b: Place) -> Route:
    """Return the route between the centres of two towns."""
    net = roads(world)
    return net.route(mode, net.crossing(a["node_id"]), net.crossing(b["node_id"]))


def nearby(world: t.Sampler, category: str, centre: t.Row, walk: Mode, most: int = 2 * PER_PAGE) -> list[Near]:
    """Return the places of a category around a place as listed by the map, nearest first, with the routes to them.

    Raises NothingToDraw where the list has no ways.
    """
    t.skip_if(not shows_aggregates(world.connection("map")), "a list with ways")
    hits = around(world, category, centre, most)
    return [Near(row, metres, route(world, walk, centre, row)) for row, metres in hits]


def around(world: t.Sampler, category: str, centre: t.Row, most: int) -> list[tuple[t.Row, float]]:
    """Return the places of a category around a place as listed by the map, nearest first, with straight-line distances."""
    rows = {row["label"]: row for row in places(world, "category = ?", category) if row["label"] != centre["label"]}
    hits = by_distance(roads(world), [of_place(row) for row in rows.values()], of_place(centre))[:most]
    return [(rows[one.label], one.metres or 0.0) for one in hits]


def clearly_first(hits: Sequence[Near]) -> Near:
    """Return the nearest place, if it is nearest by a margin, both in a straight line and by road. Raises NothingToDraw."""
    t.skip_if(len(hits) < 2, "a choice of places")
    best, others = hits[0], hits[1:]
    rivals = [one for one in others if one.metres < MARGIN * best.metres or one.way.metres < MARGIN * best.way.metres]
    t.skip_if(rivals, "one that is nearer than all others")
    t.skip_if(best.way.metres < 50, "one that is not next door")
    return best


def unit_and_number(metres: float) -> tuple[str, str]:
    """Return the unit of a distance as shown by the map, in words, and the number.

    >>> unit_and_number(653), unit_and_number(3449)
    (('metres', '653'), ('kilometres', '3.4'))
    """
    number, _, unit = distance(metres).partition(" ")
    return {"m": "metres", "km": "kilometres"}[unit], number


def other_times(minutes: int, *more: int) -> list[str]:
    """Return wrong durations that result from likely mistakes."""
    return [duration(item) for item in dict.fromkeys([minutes + 7, *more]) if item != minutes]


def open_place(name: str, thought: str = "") -> list[Step]:
    """Return the steps to the page of a place, town or state."""
    return [t.search(SEARCH_BOX, name), t.click(name, thought)]


def open_nearby(centre: t.Row, category: str) -> list[Step]:
    """Return the steps to the list of places of a category around a place."""
    return [*open_place(centre["name"]), t.click(link_to(category))]


def link_to(category: str) -> str:
    """Return the label of the link on a place's page to the nearby places of a category."""
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
    """Return the steps from a route to a route with a different place at one end."""
    return [t.type_text(label, name), t.click("Get directions")]


def travel_by(mode: Mode) -> list[Step]:
    """Return the steps from a route to the same route with a different mode of travel."""
    return [t.choose("Travel by", mode.name), t.click("Get directions")]


YES_NO = ("No", "Yes")


def two_in_a_town(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Return a landmark and another place of its town."""
    first = some_place(world, IN_TOWN)
    second = some_place(
        world, "town_id = ? AND name != ? AND category NOT IN ('airport', 'national park')", first["town_id"], first["name"]
    )
    return first, second


def two_ends(world: t.Sampler, mode: Mode) -> tuple[t.Row, t.Row]:
    """Draw two places for a route: in one town if it is on foot, else in different towns."""
    return (two_in_a_town if mode is FOOT else two_far_apart)(world)


def two_far_apart(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Draw landmarks of two towns."""
    first = some_place(world, LANDMARKS)
    return first, some_place(world, f"{LANDMARKS} AND town_id != ?", first["town_id"])


def ask_time(world: t.Sampler, mode: Mode, ends: tuple[t.Row, t.Row]) -> t.Draw:
    """Return a question for the duration of a route."""
    first, second = ends
    way = route(world, mode, first, second)
    t.skip_if(way.minutes < 4, "a way that takes some minutes")
    others = [route(world, other, first, second).minutes for other in (CAR, FOOT) if other is not mode]
    return question(
        {"first": first["name"], "second": second["name"]},
        duration(way.minutes),
        way=open_route(first["name"], second["name"], mode),
        wrong=other_times(way.minutes, *others),
    )


def ask_distance(world: t.Sampler, mode: Mode, ends: tuple[t.Row, t.Row]) -> t.Draw:
    """Return a question for the length of a route."""
    first, second = ends
    way = route(world, mode, first, second)
    unit, number = unit_and_number(way.metres)
    t.skip_if(way.metres < 200, "places that are not next to each other")
    slots = {"first": first["name"], "second": second["name"], "unit": unit}
    return question(
        slots, number, way=open_route(first["name"], second["name"], mode), wrong=[unit_and_number(way.metres * 1.2)[1]]
    )


def ranked_orders(world: t.Sampler, row: Place, stops: Sequence[t.Row]) -> list[str]:
    """Return the best order of stops from the drawn place, the second best, the worst, and the duration of the best.

    Raises NothingToDraw where the next takes less than a tenth more.
    """

    def total(order: tuple[Place, ...]) -> int:
        return sum(route(world, CAR, a, b).minutes for a, b in zip((row, *order), order, strict=False))

    orders = sorted(permutations(stops), key=total)
    t.skip_if(total(orders[1]) < MARGIN * total(orders[0]), "an order that is clearly the best")
    written = [" > ".join(place["name"] for place in (row, *order)) for order in orders]
    return [written[0], written[1], written[-1], duration(total(orders[0]))]


def walk_by_streets(world: t.Sampler, row: Place, goal: Place) -> list[tuple[Instruction, str]]:
    """Return the steps of a walk by street, longest first. Raises NothingToDraw unless one is longest by a margin."""
    steps = sorted(directions(roads(world), route(world, FOOT, row, goal)), key=lambda step: -step.metres)
    names = [step.text.partition(" on ")[2] or step.text.partition(" onto ")[2] for step in steps]
    is_unfit = not 3 <= len(steps) <= 20 or steps[1].metres * MARGIN > steps[0].metres or len(set(names)) < len(names)
    t.skip_if(is_unfit, "a way with one long street")
    return list(zip(steps, names, strict=True))


STROLLS = [5, 8, 10, 12, 15, 20]  # minutes on foot


def nearest_of_a_kind(world: t.Sampler) -> dict[str, Any]:
    """Draw a landmark and a category, and return the nearest place, and all places in order. Raises NothingToDraw."""
    centre, kind = some_place(world, IN_TOWN), world.rng.choice(TEXTS["kinds"])
    hits = nearby(world, kind, centre, FOOT)
    return {"centre": centre, "kind": kind, "best": clearly_first(hits), "found": hits}


def within_minutes(world: t.Sampler, kind: str, least: int, most: int) -> dict[str, Any]:
    """Draw a landmark and a limit in minutes, and return the places within such a walk (`within_walk`).

    Nothing lies just beyond the limit, or on it. Raises NothingToDraw.
    """
    centre, limit = some_place(world, IN_TOWN), world.rng.choice(STROLLS)
    return {"centre": centre, "limit": limit, **within_walk(nearby(world, kind, centre, FOOT), limit, least, most)}


def within_walk(hits: Sequence[Near], limit: int, least: int, most: int) -> dict[str, Any]:
    """Return the places within a walk of `limit` minutes, the nearest place, the next one, and the index of the last one in the map's list.

    Nothing lies just beyond the limit, or on it. Raises NothingToDraw.
    """
    inside = [index for index, one in enumerate(hits) if one.way.minutes <= limit]
    is_unfit = not least <= len(inside) <= most or any(one.way.minutes in (limit, limit + 1) for one in hits)
    t.skip_if(is_unfit, "places within such a walk")
    last = max(inside, default=0)
    walks = [hits[index] for index in inside]
    return {"nearest": hits[0], "inside": walks, "last": last, "next": hits[last + 1 : last + 2]}


def names_of(hits: Sequence[Near], start: int = 0) -> list[str]:
    """Return the names of places from an index on."""
    return [one.row["name"] for one in hits[start:]]


def with_distances(hits: Sequence[Near], more: int = 0) -> str:
    """Return the names of places with their distances on foot plus a number of metres."""
    return "; ".join(f"{one.row['name']}: {distance(one.way.metres + more)}" for one in hits)


def ways_to(world: t.Sampler, row: Place, mode: Mode, goals: Sequence[t.Row], by: Literal["metres", "minutes"]) -> list[Near]:
    """Return the routes from the drawn place to others, shortest or quickest first."""
    hits = [Near(item, 0, route(world, mode, row, item)) for item in goals]
    return sorted(hits, key=lambda one: float(getattr(one.way, by)))


def drives_to(world: t.Sampler, row: Place, kind: str, by: Literal["metres", "minutes"]) -> list[Near]:
    """Return the drives from the drawn place to all places of a category, shortest or quickest first."""
    return ways_to(world, row, CAR, places(world, "category = ?", kind), by)


def in_chains(hits: Sequence[Near]) -> list[Near]:
    """Return the places that belong to a chain."""
    return [one for one in hits if one.row["brand"]]


def chains(hits: Sequence[Near]) -> list[str]:
    """Return the chains of places, or [""] if there is none."""
    return sorted({one.row["brand"] for one in in_chains(hits)} or {""})


def of_chain(hits: Sequence[Near], chain: str) -> list[Near]:
    """Return the places of a chain."""
    return [one for one in hits if one.row["brand"] == chain]


def addresses_of(hits: Sequence[Near]) -> list[str]:
    """Return the addresses of places."""
    return [one.row["address"] for one in hits]


DAYS = {"weekdays": "from Monday to Friday", "saturday": "on Saturdays", "sunday": "on Sundays"}
TOWNS = PLACES + "SELECT * FROM towns ORDER BY town_id"


def absent(kinds: Sequence[str]) -> list[str]:
    """Return the categories that are not among these."""
    return [item.name for item in CATEGORIES if item.name not in kinds]


def two_places(world: t.Sampler, where: str = "1", column: str = "name") -> list[t.Row]:
    """Draw two places that differ in a column. Raises NothingToDraw."""
    first, second = world.rng.sample(places(world, f"({where}) AND label = name"), 2)
    t.skip_if(first[column] == second[column], "two that differ")
    return [first, second]


def place_alone(world: t.Sampler) -> dict[str, Any]:
    """Draw a place with no other place nearby; return it with its point and the next place. Raises NothingToDraw."""
    row = some_place(world, "1")
    here = Point(row["latitude"], row["longitude"])
    centre = of_place(row)._replace(table="point", point=here)
    first, second = by_distance(roads(world), [of_place(item) for item in places(world, "1")], centre)[:2]
    t.skip_if(first.label != row["name"] or (second.metres or 0) < 1.5 * (first.metres or 0) + 10, "a place that stands alone")
    return {"name": row["name"], "point": coordinates(*here), "next": second.label}


def middle_of(world: t.Sampler, row: t.Row) -> str:
    """Draw the point in the middle of a block that is close to one street only. Raises NothingToDraw."""
    net = roads(world)
    here = Point(*(round(degrees, 5) for degrees in net.point(Spot(row["edge_id"], row["length"] // 2))))
    t.skip_if(net.edges[net.nearest(here).edge_id].street_id != row["street_id"], "a point on a street of its own")
    return coordinates(*here)


BY = {CAR: "by car", BICYCLE: "by bicycle", FOOT: "on foot"}


def shows_route(start: str, goal: str, mode: Mode) -> dict[str, Any]:
    """Return a check that the episode ends at a route between these places, in any spelling."""
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


def saved_are(targets: dict[int, str]) -> dict[str, Any]:
    """Return a check that the current user's saved places and notes are exactly these."""
    return t.state(SAVED, expected=[list(item) for item in sorted(targets.items())])


def saved_notes(world: t.Sampler) -> dict[int, str]:
    """Return the notes of the current user's saved places, by place."""
    return {row["place_id"]: row["note"] for row in world.rows(SAVED)}


def saved_become(world: t.Sampler, row: t.Row, note: str | None = None) -> dict[str, Any]:
    """Return a check that a place is saved with a note, or not saved (None), and that the other saved places are unchanged."""
    notes = {**saved_notes(world), row["place_id"]: note}
    return saved_are({key: item for key, item in notes.items() if item is not None})
