"""The way from one place to another, and what is near a place: how long, how far, which is nearest."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Literal

from webarena_gym.sites.map.geometry import distance, duration
from webarena_gym.sites.map.routing import CAR, FOOT, Mode, directions
from webarena_gym.sites.map.routing import Step as Instruction
from webarena_gym.tasks import template as t
from webarena_gym.templates.map import (
    IN_TOWN,
    LANDMARKS,
    MARGIN,
    TEXTS,
    Near,
    Place,
    clearly_first,
    nearby,
    open_route,
    other_times,
    places,
    roads,
    route,
    some_place,
    stated,
)
from webarena_gym.templates.ways import question

YES_NO = ("No", "Yes")


def two_in_a_town(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Return a landmark and another place of its town."""
    first = some_place(world, IN_TOWN)
    second = some_place(
        world, "town_id = ? AND name != ? AND category NOT IN ('airport', 'national park')", first["town_id"], first["name"]
    )
    return first, second


def two_ends(world: t.Sampler, mode: Mode) -> tuple[t.Row, t.Row]:
    """Return two places between which one goes that way: in a town on foot, and else from town to town."""
    return (two_in_a_town if mode is FOOT else two_far_apart)(world)


def two_far_apart(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Return landmarks of two towns."""
    first = some_place(world, LANDMARKS)
    return first, some_place(world, f"{LANDMARKS} AND town_id != ?", first["town_id"])


def ask_time(world: t.Sampler, mode: Mode, ends: tuple[t.Row, t.Row]) -> t.Draw:
    """Return a question for how long a way takes."""
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
    """Return a question for how far a way is."""
    first, second = ends
    way = route(world, mode, first, second)
    unit, number = stated(way.metres)
    t.skip_if(way.metres < 200, "places that are not next to each other")
    slots = {"first": first["name"], "second": second["name"], "unit": unit}
    return question(slots, number, way=open_route(first["name"], second["name"], mode), wrong=[stated(way.metres * 1.2)[1]])


def ranked_orders(world: t.Sampler, row: Place, stops: Sequence[t.Row]) -> list[str]:
    """Return the best order of stops from the place that was drawn, the next, the worst, and the time that the best takes.

    Raises NothingToDraw where the next takes less than a tenth more.
    """

    def total(order: tuple[Place, ...]) -> int:
        return sum(route(world, CAR, a, b).minutes for a, b in zip((row, *order), order, strict=False))

    orders = sorted(permutations(stops), key=total)
    t.skip_if(total(orders[1]) < MARGIN * total(orders[0]), "an order that is clearly the best")
    written = [" > ".join(place["name"] for place in (row, *order)) for order in orders]
    return [written[0], written[1], written[-1], duration(total(orders[0]))]


def walk_by_streets(world: t.Sampler, row: Place, goal: Place) -> list[tuple[Instruction, str]]:
    """Return the steps of a walk with their streets, the longest first. Raises NothingToDraw without one that is clearly the longest."""
    steps = sorted(directions(roads(world), route(world, FOOT, row, goal)), key=lambda step: -step.metres)
    names = [step.text.partition(" on ")[2] or step.text.partition(" onto ")[2] for step in steps]
    is_unfit = not 3 <= len(steps) <= 20 or steps[1].metres * MARGIN > steps[0].metres or len(set(names)) < len(names)
    t.skip_if(is_unfit, "a way with one long street")
    return list(zip(steps, names, strict=True))


STROLLS = [5, 8, 10, 12, 15, 20]  # minutes on foot


def nearest_of_a_kind(world: t.Sampler) -> dict[str, Any]:
    """Return a landmark, a kind of places, the nearest of them, and all of them in order. Raises NothingToDraw."""
    centre, kind = some_place(world, IN_TOWN), world.rng.choice(TEXTS["kinds"])
    found = nearby(world, kind, centre, FOOT)
    return {"centre": centre, "kind": kind, "best": clearly_first(found), "found": found}


def within_minutes(world: t.Sampler, kind: str, least: int, most: int) -> dict[str, Any]:
    """Return a landmark, a number of minutes, the places within that walk, the nearest, and the last one's index in the map's list.

    Nothing lies just beyond the limit, or on it. Raises NothingToDraw.
    """
    centre, limit = some_place(world, IN_TOWN), world.rng.choice(STROLLS)
    return {"centre": centre, "limit": limit, **reached(nearby(world, kind, centre, FOOT), limit, least, most)}


def reached(found: Sequence[Near], limit: int, least: int, most: int) -> dict[str, Any]:
    """Return the places within a walk, the nearest of all and the next one, and the index of the last one in the map's list.

    Nothing lies just beyond the limit, or on it. Raises NothingToDraw.
    """
    inside = [index for index, one in enumerate(found) if one.way.minutes <= limit]
    is_unfit = not least <= len(inside) <= most or any(one.way.minutes in (limit, limit + 1) for one in found)
    t.skip_if(is_unfit, "places within such a walk")
    last = max(inside, default=0)
    walks = [found[index] for index in inside]
    return {"nearest": found[0], "inside": walks, "last": last, "next": found[last + 1 : last + 2]}


def names_of(found: Sequence[Near], start: int = 0) -> list[str]:
    """Return the names of places from one of them on."""
    return [one.row["name"] for one in found[start:]]


def with_distances(found: Sequence[Near], more: int = 0) -> str:
    """Return the names of places with their distances on foot, and so many metres more."""
    return "; ".join(f"{one.row['name']}: {distance(one.way.metres + more)}" for one in found)


def ways_to(world: t.Sampler, row: Place, mode: Mode, goals: Sequence[t.Row], by: Literal["metres", "minutes"]) -> list[Near]:
    """Return the ways from the place that was drawn to others, the shortest or quickest first."""
    found = [Near(each, 0, route(world, mode, row, each)) for each in goals]
    return sorted(found, key=lambda one: float(getattr(one.way, by)))


def drives_to(world: t.Sampler, row: Place, kind: str, by: Literal["metres", "minutes"]) -> list[Near]:
    """Return the drives from the place that was drawn to all of a kind, the shortest or quickest first."""
    return ways_to(world, row, CAR, places(world, "category = ?", kind), by)


def branded(found: Sequence[Near]) -> list[Near]:
    """Return the places that belong to a chain."""
    return [one for one in found if one.row["brand"]]


def chains(found: Sequence[Near]) -> list[str]:
    """Return the chains that places belong to, or "" where there is none."""
    return sorted({one.row["brand"] for one in branded(found)} or {""})


def of_chain(found: Sequence[Near], chain: str) -> list[Near]:
    """Return the places of a chain."""
    return [one for one in found if one.row["brand"] == chain]


def addresses_of(found: Sequence[Near]) -> list[str]:
    """Return the addresses of places."""
    return [one.row["address"] for one in found]
