"""The way from one place to another, and what is near a place: how long, how far, which is nearest."""

from itertools import permutations

from webarena_gym.sites.map.geometry import distance, duration
from webarena_gym.sites.map.queries import PLACES, PLURALS
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Mode, Route, directions
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says, sum_of
from webarena_gym.templates.map import (
    IN_TOWN,
    LANDMARKS,
    MARGIN,
    PER_PAGE,
    Near,
    change_route,
    clearly_first,
    nearby,
    open_nearby,
    open_place,
    open_route,
    open_routes,
    other_times,
    places,
    roads,
    route,
    some_place,
    stated,
    travel_by,
)
from webarena_gym.templates.ways import impossible, question, turn_pages

YES_NO = ("No", "Yes")


def two_in_a_town(world: t.Sampler) -> tuple[t.Row, t.Row]:
    """Return a landmark and another place of its town."""
    first = some_place(world, IN_TOWN)
    second = some_place(
        world, "town_id = ? AND name != ? AND category NOT IN ('airport', 'national park')", first["town_id"], first["name"]
    )
    return first, second


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


def bicycle_time(world: t.Sampler) -> t.Draw:
    """Ask for the time by bicycle, also from town to town."""
    return ask_time(world, BICYCLE, world.rng.choice((two_far_apart, two_in_a_town))(world))


def hotel_drive(world: t.Sampler) -> t.Draw:
    """Ask for the driving time from a hotel to a landmark of its state."""
    hotel = some_place(world, "category = 'hotel'")
    return ask_time(world, CAR, (hotel, some_place(world, f"{LANDMARKS} AND state_id = ?", hotel["state_id"])))


def town_drive(world: t.Sampler) -> t.Draw:
    """Ask for the driving time between two towns."""
    first, second = world.rng.sample(world.rows(PLACES + "SELECT * FROM towns ORDER BY town_id"), 2)
    net = roads(world)
    ends = net.crossing(first["node_id"]), net.crossing(second["node_id"])
    minutes, cycling = net.route(CAR, *ends).minutes, net.route(BICYCLE, *ends).minutes
    return question(
        {"first": first["name"], "second": second["name"]},
        duration(minutes),
        way=open_route(first["name"], second["name"], CAR),
        wrong=other_times(minutes, cycling),
    )


def walk_or_drive(world: t.Sampler) -> t.Draw:
    """Ask for two times of one way."""
    first, second = two_in_a_town(world)
    walk, drive = (route(world, mode, first, second).minutes for mode in (FOOT, CAR))
    t.skip_if(walk < drive + 4, "a way that is quicker by car")
    truth = f"walking: {duration(walk)}; driving: {duration(drive)}"
    return question(
        {"first": first["name"], "second": second["name"]},
        truth,
        way=[*open_route(first["name"], second["name"], CAR), *travel_by(FOOT)],
        wrong=[f"walking: {duration(drive)}; driving: {duration(walk)}"],
    )


def every_way(world: t.Sampler) -> t.Draw:
    """Ask for the times by car, by bicycle and on foot."""
    first, second = two_in_a_town(world)
    car, bicycle, foot = (route(world, mode, first, second).minutes for mode in (CAR, BICYCLE, FOOT))
    t.skip_if(len({car, bicycle, foot}) < 3, "three different times")
    truth = f"car: {duration(car)}; bicycle: {duration(bicycle)}; foot: {duration(foot)}"
    return question(
        {"first": first["name"], "second": second["name"]},
        truth,
        way=[*open_route(first["name"], second["name"], CAR), *travel_by(BICYCLE), *travel_by(FOOT)],
        wrong=[f"car: {duration(foot)}; bicycle: {duration(bicycle)}; foot: {duration(car)}"],
    )


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


def walk_then_drive(world: t.Sampler) -> t.Draw:
    """Ask for the sum of a walk and a drive."""
    first, second = two_in_a_town(world)
    third = some_place(world, f"{LANDMARKS} AND name NOT IN (?, ?)", first["name"], second["name"])
    walk, drive = route(world, FOOT, first, second).minutes, route(world, CAR, second, third).minutes
    return question(
        {"first": first["name"], "second": second["name"], "third": third["name"]},
        duration(walk + drive),
        way=[*open_route(first["name"], second["name"], FOOT), *open_route(second["name"], third["name"], CAR)],
        seen=f"{duration(walk)} and {duration(drive)}.",
        wrong=other_times(walk + drive, walk, drive, route(world, CAR, first, third).minutes),
        ground=sum_of(duration(walk), duration(drive)),
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
STROLLS = (5, 8, 10, 12, 15, 20)  # minutes on foot


def nearest_of_a_kind(world: t.Sampler, kinds: tuple[str, ...] = KINDS) -> tuple[t.Row, str, Near, list[Near]]:
    """Return a landmark, a kind of places, the nearest of them, and all of them in order. Raises NothingToDraw."""
    centre, kind = some_place(world, IN_TOWN), world.rng.choice(kinds)
    found = nearby(world, kind, centre, FOOT)
    return centre, kind, clearly_first(found), found


def within_minutes(world: t.Sampler, kind: str, least: int, most: int) -> tuple[t.Row, int, list[Near], int]:
    """Return a landmark, a number of minutes, the places within that walk, and the index of the last one in the map's list.

    Nothing lies just beyond the limit, or on it. Raises NothingToDraw.
    """
    centre, limit = some_place(world, IN_TOWN), world.rng.choice(STROLLS)
    found = nearby(world, kind, centre, FOOT)
    inside = [index for index, one in enumerate(found) if one.walk.minutes <= limit]
    t.skip_if(
        not least <= len(inside) <= most or any(one.walk.minutes in (limit, limit + 1) for one in found),
        "places within such a walk",
    )
    return centre, limit, [found[index] for index in inside], max(inside, default=0)


def nearest_name(world: t.Sampler) -> t.Draw:
    """Ask for the nearest place of a kind."""
    centre, kind, best, found = nearest_of_a_kind(world)
    return question(
        {"kind": kind, "place": centre["name"]},
        best.row["name"],
        way=open_nearby(centre, kind),
        seen="It comes first.",
        wrong=[found[1].row["name"]],
    )


def nearest_walk(world: t.Sampler) -> t.Draw:
    """Ask for the nearest place of a kind and the walking distance."""
    centre, kind, best, found = nearest_of_a_kind(world)
    truth = f"{best.row['name']}; {distance(best.walk.metres)}"
    return question(
        {"kind": kind, "place": centre["name"]},
        truth,
        way=open_nearby(centre, kind),
        wrong=[f"{found[1].row['name']}; {distance(found[1].walk.metres)}", best.row["name"]],
    )


def nearest_time(world: t.Sampler) -> t.Draw:
    """Ask for the time to the nearest place of a kind, which lies some minutes away."""
    centre, kind, best, _ = nearest_of_a_kind(world)
    mode = world.rng.choice((CAR, BICYCLE))
    minutes = route(world, mode, centre, best.row).minutes
    t.skip_if(best.walk.minutes == minutes, "a place that is not next door")
    return question(
        {"kind": kind, "place": centre["name"], "way": mode.name.lower()},
        duration(minutes),
        way=[*open_nearby(centre, kind), *open_route(centre["name"], best.row["name"], mode)],
        seen=f"{best.row['name']} is the nearest.",
        wrong=other_times(minutes, best.walk.minutes),
        about=[best.row["name"]],
    )


def nearest_address(world: t.Sampler) -> t.Draw:
    """Ask for the address of the nearest place of a kind, which is within reach."""
    centre, kind, best, found = nearest_of_a_kind(world)
    limits = [limit for limit in STROLLS if limit > best.walk.minutes]
    t.skip_if(not limits, "one within a walk")
    return question(
        {"kind": kind, "place": centre["name"], "limit": limits[0]},
        best.row["address"],
        way=open_nearby(centre, kind),
        seen=f"{best.row['name']} is {duration(best.walk.minutes)} away.",
        wrong=[found[1].row["address"]],
        about=[best.row["name"]],
    )


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
    unit, number = stated(best.walk.metres)
    return question(
        {"chain": chain, "place": centre["name"], "unit": unit},
        number,
        way=[t.search("Search the map", f"{chain} near {centre['name']}"), *open_route(centre["name"], best.row["name"], FOOT)],
        seen=f"The closest is {best.row['name']}.",
        wrong=[stated(best.walk.metres * 1.3)[1]],
        about=[best.row["name"]],
    )


def all_within_walk(world: t.Sampler) -> t.Draw:
    """Ask for everything of a kind within a walk."""
    kind = world.rng.choice(("cafe", "restaurant", "hotel", "supermarket", "pharmacy", "bank"))
    centre, limit, inside, last = within_minutes(world, kind, 2, 4)
    names = [one.row["name"] for one in inside]
    return question(
        {"kinds": PLURALS[kind], "place": centre["name"], "limit": limit},
        "; ".join(names),
        way=[*open_nearby(centre, kind), *turn_pages(world, last, PER_PAGE)],
        wrong=[names[0], "; ".join(names[1:]) + "; The Swan"],
    )


def hotels_within_walk(world: t.Sampler) -> t.Draw:
    """Ask for the hotels within a walk and how far they are."""
    centre, limit, inside, last = within_minutes(world, "hotel", 1, 3)
    lines = [f"{one.row['name']}: {distance(one.walk.metres)}" for one in inside]
    wrong = [f"{one.row['name']}: {distance(one.walk.metres + 150)}" for one in inside]
    return question(
        {"place": centre["name"], "limit": limit},
        "; ".join(lines),
        way=[*open_nearby(centre, "hotel"), *turn_pages(world, last, PER_PAGE)],
        wrong=["; ".join(wrong)],
    )


def none_within_walk(world: t.Sampler) -> t.Draw:
    """Ask for what lies beyond a walk."""
    kind = world.rng.choice(("hotel", "bookshop", "cinema", "police station", "post office"))
    centre, limit, _, _ = within_minutes(world, kind, 0, 0)
    best = nearby(world, kind, centre, FOOT)[0]
    return impossible(
        {"kinds": PLURALS[kind], "place": centre["name"], "limit": limit},
        says(duration(best.walk.minutes)),
        way=open_nearby(centre, kind),
        seen=f"The nearest is {duration(best.walk.minutes)} away.",
        wrong=[best.row["name"]],
    )


def all_within_drive(world: t.Sampler) -> t.Draw:
    """Ask for the addresses of the few of a kind that are not too far by road."""
    kind = world.rng.choice(("airport", "airport", "national park", "zoo", "stadium", "theater", "concert hall"))
    centre = some_place(world, f"{LANDMARKS} AND category != ?", kind)
    ways = sorted(
        ((route(world, CAR, centre, row).metres, row) for row in places(world, "category = ?", kind)), key=lambda item: item[0]
    )
    count = world.rng.randint(1, min(2, len(ways) - 1))
    inner, outer = ways[count - 1][0], ways[count][0]
    limit = next((km for km in (5, 10, 20, 30, 50, 80, 100, 120, 150, 200) if inner * 1.05 < km * 1000 < outer / 1.05), 0)
    t.skip_if(not limit, "a distance between the near and the far")
    addresses = "; ".join(row["address"] for _, row in ways[:count])
    return question(
        {"kinds": PLURALS[kind], "limit": limit, "place": centre["name"]},
        addresses,
        way=[
            *open_routes(centre["name"], [row["name"] for _, row in ways[: count + 1]], CAR),
            t.search("Search the map", PLURALS[kind]),
        ],
        seen=f"The next one is {distance(outer)} away.",
        wrong=["; ".join(row["address"] for _, row in ways[: count + 1])],
    )


def arrival(world: t.Sampler) -> t.Draw:
    """Ask for a chain's hotel near an airport or a university, and for the way from there to a supermarket."""
    centre = some_place(world, "category IN ('airport', 'university', 'stadium')")
    hotels = [one for one in nearby(world, "hotel", centre, FOOT, most=60) if one.row["brand"]]
    chain = world.rng.choice(sorted({one.row["brand"] for one in hotels[:6]} or {""}))
    hotel = clearly_first([one for one in hotels if one.row["brand"] == chain]).row
    t.skip_if(hotel["town_id"] != centre["town_id"], "a hotel in the town")
    shop = clearly_first(nearby(world, "supermarket", hotel, FOOT))
    truth = f"{hotel['name']}; {distance(shop.walk.metres)}"
    return question(
        {"place": centre["name"], "chain": chain},
        truth,
        way=[
            t.search("Search the map", f"{chain} near {centre['name']}"),
            t.click(hotel["name"]),
            t.click("Supermarkets nearby"),
        ],
        seen=f"{shop.row['name']} is the nearest supermarket.",
        wrong=[hotel["name"], f"{hotel['name']}; {distance(shop.walk.metres + 170)}"],
        about=[shop.row["name"]],
    )


def around_the_hotel(world: t.Sampler) -> t.Draw:
    """Ask for what is around a hotel that must be found first."""
    centre = some_place(world, IN_TOWN)
    hotel = clearly_first(nearby(world, "hotel", centre, FOOT)).row
    kind, limit = world.rng.choice(("cafe", "restaurant", "supermarket", "pharmacy", "bank")), world.rng.choice(STROLLS)
    found = nearby(world, kind, hotel, FOOT)
    inside = [index for index, one in enumerate(found) if one.walk.minutes <= limit]
    t.skip_if(
        not 1 <= len(inside) <= 4 or any(one.walk.minutes in (limit, limit + 1) for one in found), "places within such a walk"
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


def quickest_landmark(world: t.Sampler) -> t.Draw:
    """Compare the drives to all landmarks of a kind."""
    kind = world.rng.choice(("airport", "zoo", "concert hall", "hospital", "theater"))
    centre = some_place(world, f"{LANDMARKS} AND category != ?", kind)
    goals = places(world, "category = ?", kind)
    ways = sorted(((route(world, CAR, centre, row).minutes, row) for row in goals), key=lambda item: item[0])
    t.skip_if(ways[1][0] <= 1.1 * ways[0][0] + 1, "one that is clearly the quickest to reach")
    best = ways[0][1]
    return question(
        {"kind": kind, "place": centre["name"]},
        best["name"],
        way=[
            t.search("Search the map", f"{PLURALS[kind]} near {centre['name']}"),
            *open_routes(centre["name"], [row["name"] for _, row in ways], CAR),
        ],
        seen=f"It takes {duration(ways[0][0])}.",
        wrong=[ways[1][1]["name"]],
    )


def two_walks(world: t.Sampler) -> t.Draw:
    """Ask for the sum of two walks, the second of which begins where the first ends."""
    centre, kind, best, _ = nearest_of_a_kind(world)
    second = world.rng.choice([each for each in KINDS if each != kind])
    then = clearly_first(nearby(world, second, best.row, FOOT))
    total = best.walk.minutes + then.walk.minutes
    return question(
        {"place": centre["name"], "kind": kind, "second": second},
        duration(total),
        way=[
            *open_place(centre["name"]),
            *open_nearby(centre, kind)[2:],
            t.click(best.row["name"]),
            *open_nearby(best.row, second)[2:],
        ],
        seen=f"{duration(best.walk.minutes)} and {duration(then.walk.minutes)}.",
        wrong=other_times(total, best.walk.minutes, then.walk.minutes),
        ground=sum_of(duration(best.walk.minutes), duration(then.walk.minutes)),
        about=[best.row["name"], then.row["name"]],
    )
