"""Questions about the way from one place to another: how long, how far, which is nearer, and in which order."""

from itertools import permutations

from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Mode, Route
from webarena_gym.sites.map.steps import directions
from webarena_gym.sites.map.units import duration
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says, sum_of
from webarena_gym.templates.map.ways import (
    IN_TOWN,
    LANDMARKS,
    MARGIN,
    change_route,
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
from webarena_gym.templates.ways import question

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


def ask_time(world: t.Sampler, mode: Mode, first: t.Row, second: t.Row) -> t.Draw:
    """Return a question for how long a way takes."""
    way = route(world, mode, first, second)
    if way.minutes < 4:
        raise t.NothingToDraw("a way that takes some minutes")
    others = [route(world, other, first, second).minutes for other in (CAR, FOOT) if other is not mode]
    return t.Draw(
        slots={"first": first["name"], "second": second["name"]},
        eval=t.answer(fuzzy_match=duration(way.minutes)),
        solution=[*open_route(first["name"], second["name"], mode), t.leave(duration(way.minutes))],
        wrong_answers=other_times(way.minutes, *others),
    )


def ask_distance(world: t.Sampler, mode: Mode, first: t.Row, second: t.Row) -> t.Draw:
    """Return a question for how far a way is."""
    way = route(world, mode, first, second)
    unit, number = stated(way.metres)
    if way.metres < 200:
        raise t.NothingToDraw("places that are not next to each other")
    return t.Draw(
        slots={"first": first["name"], "second": second["name"], "unit": unit},
        eval=t.answer(fuzzy_match=number),
        solution=[*open_route(first["name"], second["name"], mode), t.leave(number)],
        wrong_answers=[stated(way.metres * 1.2)[1]],
    )


def drive_time(world: t.Sampler) -> t.Draw:
    """Ask for a driving time."""
    return ask_time(world, CAR, *two_far_apart(world))


def walk_time(world: t.Sampler) -> t.Draw:
    """Ask for a walking time."""
    return ask_time(world, FOOT, *two_in_a_town(world))


def bicycle_time(world: t.Sampler) -> t.Draw:
    """Ask for the time by bicycle, also from town to town."""
    return ask_time(world, BICYCLE, *world.rng.choice((two_far_apart, two_in_a_town))(world))


def hotel_drive(world: t.Sampler) -> t.Draw:
    """Ask for the driving time from a hotel to a landmark of its state."""
    hotel = some_place(world, "category = 'hotel'")
    return ask_time(world, CAR, hotel, some_place(world, f"{LANDMARKS} AND state_id = ?", hotel["state_id"]))


def town_drive(world: t.Sampler) -> t.Draw:
    """Ask for the driving time between two towns."""
    first, second = world.rng.sample(world.rows(PLACES + "SELECT * FROM towns ORDER BY town_id"), 2)
    net = roads(world)
    ends = net.crossing(first["node_id"]), net.crossing(second["node_id"])
    minutes, cycling = net.route(CAR, *ends).minutes, net.route(BICYCLE, *ends).minutes
    return t.Draw(
        slots={"first": first["name"], "second": second["name"]},
        eval=t.answer(fuzzy_match=duration(minutes)),
        solution=[*open_route(first["name"], second["name"], CAR), t.leave(duration(minutes))],
        wrong_answers=other_times(minutes, cycling),
    )


def drive_distance(world: t.Sampler) -> t.Draw:
    """Ask for a driving distance."""
    return ask_distance(world, CAR, *two_far_apart(world))


def walk_distance(world: t.Sampler) -> t.Draw:
    """Ask for a walking distance."""
    return ask_distance(world, FOOT, *two_in_a_town(world))


def walk_or_drive(world: t.Sampler) -> t.Draw:
    """Ask for two times of one way."""
    first, second = two_in_a_town(world)
    walk, drive = (route(world, mode, first, second).minutes for mode in (FOOT, CAR))
    if walk < drive + 4:
        raise t.NothingToDraw("a way that is quicker by car")
    truth = f"walking: {duration(walk)}; driving: {duration(drive)}"
    return t.Draw(
        slots={"first": first["name"], "second": second["name"]},
        eval=t.answer(fuzzy_match=truth),
        solution=[*open_route(first["name"], second["name"], CAR), *travel_by(FOOT), t.leave(truth)],
        wrong_answers=[f"walking: {duration(drive)}; driving: {duration(walk)}"],
    )


def every_way(world: t.Sampler) -> t.Draw:
    """Ask for the times by car, by bicycle and on foot."""
    first, second = two_in_a_town(world)
    car, bicycle, foot = (route(world, mode, first, second).minutes for mode in (CAR, BICYCLE, FOOT))
    if len({car, bicycle, foot}) < 3:
        raise t.NothingToDraw("three different times")
    truth = f"car: {duration(car)}; bicycle: {duration(bicycle)}; foot: {duration(foot)}"
    return t.Draw(
        slots={"first": first["name"], "second": second["name"]},
        eval=t.answer(fuzzy_match=truth),
        solution=[*open_route(first["name"], second["name"], CAR), *travel_by(BICYCLE), *travel_by(FOOT), t.leave(truth)],
        wrong_answers=[f"car: {duration(foot)}; bicycle: {duration(bicycle)}; foot: {duration(car)}"],
    )


def within_reach(world: t.Sampler) -> t.Draw:
    """Ask whether a drive is short enough; both answers are as likely, and none is a close call."""
    is_near = world.rng.randrange(2)
    first, second = two_far_apart(world)
    minutes = route(world, CAR, first, second).minutes
    hours = world.rng.choice((1, 1.5, 2))
    if bool(is_near) != (minutes < 60 * hours) or not 1.1 < max(minutes / hours / 60, hours * 60 / minutes) < 2.2:
        raise t.NothingToDraw("a drive of about that time")
    limit = {1: "one hour", 1.5: "one and a half hours", 2: "two hours"}[hours]
    return t.Draw(
        slots={"first": first["name"], "second": second["name"], "limit": limit},
        grounds={YES_NO[is_near]: says(duration(minutes))},
        eval=t.told(
            t.answer(fuzzy_match=YES_NO[is_near]),
            yes=["reached", "reachable", "within reach", "possible"],
            no=["out of reach", "unreachable", "impossible", "too far", "not enough"],
        ),
        solution=[*open_route(first["name"], second["name"], CAR), t.leave(YES_NO[is_near], f"It takes {duration(minutes)}.")],
        wrong_answers=[YES_NO[1 - is_near]],
    )


def walk_then_drive(world: t.Sampler) -> t.Draw:
    """Ask for the sum of a walk and a drive."""
    first, second = two_in_a_town(world)
    third = some_place(world, f"{LANDMARKS} AND name NOT IN (?, ?)", first["name"], second["name"])
    walk, drive = route(world, FOOT, first, second).minutes, route(world, CAR, second, third).minutes
    return t.Draw(
        slots={"first": first["name"], "second": second["name"], "third": third["name"]},
        grounds={duration(walk + drive): sum_of(duration(walk), duration(drive))},
        eval=t.answer(fuzzy_match=duration(walk + drive)),
        solution=[
            *open_route(first["name"], second["name"], FOOT),
            *open_route(second["name"], third["name"], CAR),
            t.leave(duration(walk + drive), f"{duration(walk)} and {duration(drive)}."),
        ],
        wrong_answers=other_times(walk + drive, walk, drive, route(world, CAR, first, third).minutes),
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
    if total(orders[1]) < MARGIN * total(orders[0]):
        raise t.NothingToDraw("an order that is clearly the best")
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
    if far.metres < MARGIN * near.metres or far.minutes <= near.minutes:
        raise t.NothingToDraw("one that is clearly nearer")
    return t.Draw(
        slots={
            "first": first["name"],
            "second": second["name"],
            "third": third["name"],
            "way": {FOOT: "walk", CAR: "drive"}[mode],
        },
        eval=t.answer(fuzzy_match=nearer["name"]),
        solution=[
            *open_route(first["name"], second["name"], mode),
            *change_route("To", third["name"]),
            t.leave(nearer["name"]),
        ],
        wrong_answers=[farther["name"]],
    )


def longest_street(world: t.Sampler) -> t.Draw:
    """Read the steps of a route."""
    first, second = two_in_a_town(world)
    steps = sorted(directions(roads(world), route(world, FOOT, first, second)), key=lambda step: -step.metres)
    names = [step.text.partition(" on ")[2] or step.text.partition(" onto ")[2] for step in steps]
    if not 3 <= len(steps) <= 20 or steps[1].metres * MARGIN > steps[0].metres or len(set(names)) < len(names):
        raise t.NothingToDraw("a way with one long street")
    return question(
        {"first": first["name"], "second": second["name"]},
        names[0],
        way=open_route(first["name"], second["name"], FOOT),
        seen=f"{steps[0].text}: {steps[0].metres} m.",
        wrong=[names[1]],
    )
