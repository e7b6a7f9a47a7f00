"""The way from one place to another, and what is near a place: how long, how far, which is nearest."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Literal

from webarena_gym.sites.map.geometry import distance, duration
from webarena_gym.sites.map.queries import PLURALS
from webarena_gym.sites.map.routing import CAR, FOOT, Mode, Route, directions
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.map import (
    IN_TOWN,
    LANDMARKS,
    MARGIN,
    PER_PAGE,
    Near,
    Place,
    change_route,
    clearly_first,
    nearby,
    open_nearby,
    open_route,
    open_routes,
    other_times,
    places,
    roads,
    route,
    some_place,
    stated,
)
from webarena_gym.templates.ways import question, turn_pages

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
    return question(
        {"first": first["name"], "second": second["name"], "unit": unit},
        number,
        way=open_route(first["name"], second["name"], mode),
        wrong=[stated(way.metres * 1.2)[1]],
    )


def hotel_drive(world: t.Sampler) -> t.Draw:
    """Ask for the driving time from a hotel to a landmark of its state."""
    hotel = some_place(world, "category = 'hotel'")
    return ask_time(world, CAR, (hotel, some_place(world, f"{LANDMARKS} AND state_id = ?", hotel["state_id"])))


def within_reach(world: t.Sampler) -> t.Draw:
    """Ask whether a drive is short enough; both answers are as likely, and none is a close call."""
    is_near = world.rng.randrange(2)
    first, second = two_far_apart(world)
    minutes = route(world, CAR, first, second).minutes
    hours = world.rng.choice((1, 1.5, 2))
    t.skip_if(
        bool(is_near) != (minutes < 60 * hours) or not 1.1 < max(minutes / hours / 60, hours * 60 / minutes) < 2.2,
        "a drive of about that time",
    )
    limit = {1: "one hour", 1.5: "one and a half hours", 2: "two hours"}[hours]
    return question(
        {"first": first["name"], "second": second["name"], "limit": limit},
        YES_NO[is_near],
        way=open_route(first["name"], second["name"], CAR),
        seen=f"It takes {duration(minutes)}.",
        wrong=[YES_NO[1 - is_near]],
        ground=says(duration(minutes)),
        yes=["reached", "reachable", "within reach", "possible"],
        no=["out of reach", "unreachable", "impossible", "too far", "not enough"],
    )


def best_order(world: t.Sampler) -> t.Draw:
    """Ask for the best order of three places; the next best takes a tenth more."""
    first = some_place(world, LANDMARKS)
    stops = world.rng.sample(places(world, f"{LANDMARKS} AND town_id != ?", first["town_id"]), 3)
    ways = {
        (a["name"], b["name"]): route(world, CAR, a, b).minutes
        for a in (first, *stops)
        for b in stops
        if a["name"] != b["name"]
    }

    def total(order: tuple[t.Row, ...]) -> int:
        return sum(ways[a["name"], b["name"]] for a, b in zip((first, *order), order, strict=False))

    orders = sorted(permutations(stops), key=total)
    t.skip_if(total(orders[1]) < MARGIN * total(orders[0]), "an order that is clearly the best")
    written = [" > ".join(row["name"] for row in (first, *order)) for order in orders]
    return question(
        {"first": first["name"]} | dict(zip(("second", "third", "fourth"), (row["name"] for row in stops), strict=True)),
        written[0],
        way=[
            *open_routes(first["name"], [row["name"] for row in stops], CAR),
            *change_route("From", stops[0]["name"]),
            *change_route("From", stops[1]["name"]),
            *change_route("To", stops[0]["name"]),
        ],
        seen=f"That takes {duration(total(orders[0]))} of driving.",
        wrong=[written[1], written[-1]],
    )


def which_is_nearer(world: t.Sampler) -> t.Draw:
    """Compare the ways to two places."""
    mode = world.rng.choice((FOOT, CAR))
    first = some_place(world, IN_TOWN)
    where = (
        "town_id = ? AND place_id != ? AND category NOT IN ('airport')"
        if mode is FOOT
        else f"{LANDMARKS} AND town_id != ? AND place_id != ?"
    )
    second, third = world.rng.sample(places(world, where, first["town_id"], first["place_id"]), 2)
    ways: list[tuple[Route, t.Row]] = sorted(
        ((route(world, mode, first, row), row) for row in (second, third)), key=lambda item: item[0].metres
    )
    (near, nearer), (far, farther) = ways
    t.skip_if(far.metres < MARGIN * near.metres or far.minutes <= near.minutes, "one that is clearly nearer")
    return question(
        {"first": first["name"], "second": second["name"], "third": third["name"], "way": {FOOT: "walk", CAR: "drive"}[mode]},
        nearer["name"],
        way=[*open_route(first["name"], second["name"], mode), *change_route("To", third["name"])],
        wrong=[farther["name"]],
    )


def longest_street(world: t.Sampler) -> t.Draw:
    """Read the steps of a route."""
    first, second = two_in_a_town(world)
    steps = sorted(directions(roads(world), route(world, FOOT, first, second)), key=lambda step: -step.metres)
    names = [step.text.partition(" on ")[2] or step.text.partition(" onto ")[2] for step in steps]
    t.skip_if(
        not 3 <= len(steps) <= 20 or steps[1].metres * MARGIN > steps[0].metres or len(set(names)) < len(names),
        "a way with one long street",
    )
    return question(
        {"first": first["name"], "second": second["name"]},
        names[0],
        way=open_route(first["name"], second["name"], FOOT),
        seen=f"{steps[0].text}: {steps[0].metres} m.",
        wrong=[names[1]],
    )


KINDS = (
    "cafe",
    "restaurant",
    "hotel",
    "supermarket",
    "pharmacy",
    "bank",
    "post office",
    "petrol station",
    "police station",
    "school",
    "park",
)
"""Kinds of places of which every larger town has several."""
STROLLS = [5, 8, 10, 12, 15, 20]  # minutes on foot


def nearest_of_a_kind(world: t.Sampler) -> dict[str, Any]:
    """Return a landmark, a kind of places, the nearest of them, and all of them in order. Raises NothingToDraw."""
    centre, kind = some_place(world, IN_TOWN), world.rng.choice(KINDS)
    found = nearby(world, kind, centre, FOOT)
    return {"centre": centre, "kind": kind, "best": clearly_first(found), "found": found}


def within_minutes(world: t.Sampler, kind: str, least: int, most: int) -> dict[str, Any]:
    """Return a landmark, a number of minutes, the places within that walk, the nearest, and the last one's index in the map's list.

    Nothing lies just beyond the limit, or on it. Raises NothingToDraw.
    """
    centre, limit = some_place(world, IN_TOWN), world.rng.choice(STROLLS)
    found = nearby(world, kind, centre, FOOT)
    inside = [index for index, one in enumerate(found) if one.way.minutes <= limit]
    t.skip_if(
        not least <= len(inside) <= most or any(one.way.minutes in (limit, limit + 1) for one in found),
        "places within such a walk",
    )
    walks = [found[index] for index in inside]
    return {"centre": centre, "limit": limit, "nearest": found[0], "inside": walks, "last": max(inside, default=0)}


def names_of(found: Sequence[Near], start: int = 0) -> list[str]:
    """Return the names of places from one of them on."""
    return [one.row["name"] for one in found[start:]]


def with_distances(found: Sequence[Near], more: int = 0) -> str:
    """Return the names of places with their distances on foot, and so many metres more."""
    return "; ".join(f"{one.row['name']}: {distance(one.way.metres + more)}" for one in found)


def drives_to(world: t.Sampler, row: Place, kind: str, by: Literal["metres", "minutes"]) -> list[Near]:
    """Return the drives from the place that was drawn to all of a kind, the shortest or quickest first."""
    found = [Near(each, 0, route(world, CAR, row, each)) for each in places(world, "category = ?", kind)]
    return sorted(found, key=lambda one: float(getattr(one.way, by)))


def nearest_branch(world: t.Sampler) -> t.Draw:
    """Ask for the walking distance to the nearest branch of a chain."""
    centre, kind = (
        some_place(world, IN_TOWN),
        world.rng.choice(("supermarket", "pharmacy", "bank", "petrol station", "hotel", "cafe")),
    )
    found = nearby(world, kind, centre, FOOT, most=60)
    chain = world.rng.choice(sorted({one.row["brand"] for one in found[:PER_PAGE] if one.row["brand"]} or {""}))
    branches = [one for one in found if one.row["brand"] == chain]
    best = clearly_first(branches)
    t.skip_if(not chain or best.row["town_id"] != centre["town_id"], "a branch in this town")
    unit, number = stated(best.way.metres)
    return question(
        {"chain": chain, "place": centre["name"], "unit": unit},
        number,
        way=[t.search("Search the map", f"{chain} near {centre['name']}"), *open_route(centre["name"], best.row["name"], FOOT)],
        seen=f"The closest is {best.row['name']}.",
        wrong=[stated(best.way.metres * 1.3)[1]],
        about=[best.row["name"]],
    )


def all_within_drive(world: t.Sampler) -> t.Draw:
    """Ask for the addresses of the few of a kind that are not too far by road."""
    kind = world.rng.choice(("airport", "airport", "national park", "zoo", "stadium", "theater", "concert hall"))
    centre = some_place(world, f"{LANDMARKS} AND category != ?", kind)
    ways = drives_to(world, centre, kind, "metres")
    count = world.rng.randint(1, min(2, len(ways) - 1))
    inner, outer = ways[count - 1].way.metres, ways[count].way.metres
    limit = next((km for km in (5, 10, 20, 30, 50, 80, 100, 120, 150, 200) if inner * 1.05 < km * 1000 < outer / 1.05), 0)
    t.skip_if(not limit, "a distance between the near and the far")
    addresses = [one.row["address"] for one in ways]
    return question(
        {"kinds": PLURALS[kind], "limit": limit, "place": centre["name"]},
        "; ".join(addresses[:count]),
        way=[*open_routes(centre["name"], names_of(ways[: count + 1]), CAR), t.search("Search the map", PLURALS[kind])],
        seen=f"The next one is {distance(outer)} away.",
        wrong=["; ".join(addresses[: count + 1])],
    )


def arrival(world: t.Sampler) -> t.Draw:
    """Ask for a chain's hotel near an airport or a university, and for the way from there to a supermarket."""
    centre = some_place(world, "category IN ('airport', 'university', 'stadium')")
    hotels = [one for one in nearby(world, "hotel", centre, FOOT, most=60) if one.row["brand"]]
    chain = world.rng.choice(sorted({one.row["brand"] for one in hotels[:6]} or {""}))
    hotel = clearly_first([one for one in hotels if one.row["brand"] == chain]).row
    t.skip_if(hotel["town_id"] != centre["town_id"], "a hotel in the town")
    shop = clearly_first(nearby(world, "supermarket", hotel, FOOT))
    truth = f"{hotel['name']}; {distance(shop.way.metres)}"
    return question(
        {"place": centre["name"], "chain": chain},
        truth,
        way=[
            t.search("Search the map", f"{chain} near {centre['name']}"),
            t.click(hotel["name"]),
            t.click("Supermarkets nearby"),
        ],
        seen=f"{shop.row['name']} is the nearest supermarket.",
        wrong=[hotel["name"], f"{hotel['name']}; {distance(shop.way.metres + 170)}"],
        about=[shop.row["name"]],
    )


def around_the_hotel(world: t.Sampler) -> t.Draw:
    """Ask for what is around a hotel that must be found first."""
    centre = some_place(world, IN_TOWN)
    hotel = clearly_first(nearby(world, "hotel", centre, FOOT)).row
    kind, limit = world.rng.choice(("cafe", "restaurant", "supermarket", "pharmacy", "bank")), world.rng.choice(STROLLS)
    found = nearby(world, kind, hotel, FOOT)
    inside = [index for index, one in enumerate(found) if one.way.minutes <= limit]
    t.skip_if(
        not 1 <= len(inside) <= 4 or any(one.way.minutes in (limit, limit + 1) for one in found), "places within such a walk"
    )
    names = [found[index].row["name"] for index in inside]
    return question(
        {"place": centre["name"], "kinds": PLURALS[kind], "limit": limit},
        "; ".join(names),
        way=[
            *open_nearby(centre, "hotel"),
            t.click(hotel["name"]),
            *open_nearby(hotel, kind)[2:],
            *turn_pages(world, max(inside), PER_PAGE),
        ],
        wrong=[found[max(inside) + 1].row["name"]],
        about=[hotel["name"]],
    )
