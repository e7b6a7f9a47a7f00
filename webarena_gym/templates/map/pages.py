"""Pages and routes to open."""

from typing import Any
from urllib.parse import urlencode

from webarena_gym.sites.map.base import capital
from webarena_gym.sites.map.categories import PLURALS
from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Mode
from webarena_gym.tasks import template as t
from webarena_gym.templates.map.nearest import nearest_of_a_kind
from webarena_gym.templates.map.travel import two_far_apart, two_in_a_town
from webarena_gym.templates.map.ways import (
    LANDMARKS,
    MARGIN,
    PER_PAGE,
    SEARCH_BOX,
    open_nearby,
    open_place,
    open_route,
    open_routes,
    places,
    route,
    some_place,
)
from webarena_gym.templates.rows import Change, Visit
from webarena_gym.templates.ways import instruction, on_page, turn_pages, visit

BY = {CAR: "by car", BICYCLE: "by bicycle", FOOT: "on foot"}


def shows_route(start: str, goal: str, mode: Mode) -> dict[str, Any]:
    """The episode must end at a route between these places, however they were typed."""
    return t.all_of(
        t.at_url(f"__MAP__/directions?{urlencode({'from': start, 'to': goal, 'mode': mode.key})}"),
        t.page_shows("last", "#route-from", exact_match=start),
        t.page_shows("last", "#route-to", exact_match=goal),
    )


place_page = Visit(
    lambda world: some_place(world, LANDMARKS), "__MAP__/place/{place_id}", way=open_place("{name}"), slots={"place": "{name}"}
)


street_page = Visit(
    PLACES + "SELECT * FROM streets WHERE kind IN ('main', 'street') ORDER BY street_id",
    "__MAP__/street/{street_id}",
    way=open_place("{name}, {town}"),
    slots={"street": "{name}"},
)


page_by_address = Visit(
    lambda world: some_place(world, "category NOT IN ('national park', 'airport')"),
    "__MAP__/place/{place_id}",
    way=lambda world, row: [
        *open_place(f"{row['street']}, {row['town']}"),
        *turn_pages(world, len(row["before"]), 20),
        t.click(row["name"], f"It has the number {row['number']}."),
    ],
    also={"before": lambda world, row: places(world, "street_id = ? AND number < ?", row["street_id"], row["number"])},
    slots={"kind": "{category}", "address": "{number} {street}, {town}"},
)


def route_page(world: t.Sampler) -> t.Draw:
    """Show a route."""
    mode = world.rng.choice((CAR, BICYCLE, FOOT))
    first, second = (two_in_a_town if mode is FOOT else two_far_apart)(world)
    return instruction(
        {"first": first["name"], "second": second["name"], "way": BY[mode]},
        shows_route(first["name"], second["name"], mode),
        way=open_route(first["name"], second["name"], mode),
    )


def way_back(world: t.Sampler) -> t.Draw:
    """Show a route in the other direction."""
    mode = world.rng.choice((CAR, BICYCLE))
    first, second = two_far_apart(world)
    return instruction(
        {"first": first["name"], "second": second["name"], "way": BY[mode]},
        shows_route(second["name"], first["name"], mode),
        way=[*open_route(first["name"], second["name"], mode), t.click("Reverse directions")],
    )


def walk_to_nearest(world: t.Sampler) -> t.Draw:
    """Show the walk to a place that must be found first."""
    centre, kind, best, _ = nearest_of_a_kind(world)
    return instruction(
        {"place": centre["name"], "kind": kind},
        shows_route(centre["name"], best.row["name"], FOOT),
        way=[*open_nearby(centre, kind), *open_route(centre["name"], best.row["name"], FOOT)],
        seen=f"{best.row['name']} is the closest.",
    )


kind_around = Change(
    lambda world: some_place(world, LANDMARKS),
    lambda _, row: t.page_shows("last", "main h1", exact_match=f"{capital(row['kinds'])} near {row['name']}"),
    way=[t.search(SEARCH_BOX, "{kinds} near {name}")],
    also={
        "kinds": lambda world, _row: PLURALS[
            world.rng.choice(("hotel", "restaurant", "cafe", "supermarket", "pharmacy", "museum", "bank"))
        ]
    },
    slots={"place": "{name}"},
)


def nearest_page(world: t.Sampler) -> t.Draw:
    """Open the page of the nearest landmark of a kind; it is the nearest in a straight line, too."""
    town = some_place(world, "category = 'bus station'")
    kind = world.rng.choice(("national park", "zoo", "concert hall", "stadium", "airport"))
    ways = sorted(
        ((route(world, CAR, town, row).metres, row) for row in places(world, "category = ?", kind)), key=lambda item: item[0]
    )
    if ways[1][0] < MARGIN * MARGIN * ways[0][0] or ways[1][0] - ways[0][0] < 6000:
        raise t.NothingToDraw("one that is clearly the nearest")
    best = ways[0][1]
    return visit(
        {"kind": kind, "town": town["town"]},
        f"__MAP__/place/{best['place_id']}",
        way=[*open_routes(town["town"], [row["name"] for _, row in ways[:2]], CAR), *open_place(best["name"])],
    )


def last_page(world: t.Sampler) -> t.Draw:
    """Turn to the end of a list."""
    row = world.pick(
        PLACES
        + """SELECT town, category, count(*) AS found FROM places GROUP BY town, category HAVING count(*) > ?
        ORDER BY town, category""",
        PER_PAGE,
    )
    kinds, last = PLURALS[row["category"]], on_page(world, row["found"] - 1, PER_PAGE)[0] + 1
    wanted = f"{kinds} in {row['town']}"
    return instruction(
        {"kinds": kinds, "town": row["town"]},
        t.all_of(
            t.at_url(f"__MAP__/search?{urlencode({'query': wanted, 'p': last})}"),
            t.page_shows("last", "main h1", exact_match=f"{capital(kinds)} in {row['town']}"),
        ),
        way=[t.search(SEARCH_BOX, wanted), *turn_pages(world, row["found"] - 1, PER_PAGE, "")],
    )


def saved_page(world: t.Sampler) -> t.Draw:
    """Open one of my saved places."""
    mine = "EXISTS (SELECT 1 FROM saved_place s WHERE s.place_id = p.place_id AND user_id = 1)"
    row = some_place(world, mine)
    same = places(world, f"{mine} AND category = ? AND town_id = ?", row["category"], row["town_id"])
    if len(same) > 1:
        raise t.NothingToDraw("a saved place of its own kind")
    return visit(
        {"kind": row["category"], "town": row["town"]},
        f"__MAP__/place/{row['place_id']}",
        way=[t.click("Saved places"), t.click(row["name"])],
    )
