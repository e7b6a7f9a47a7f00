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
from webarena_gym.templates.ways import instruction, on_page, turn_pages, visit

TEMPLATES = t.Templates("map")
BY = {CAR: "by car", BICYCLE: "by bicycle", FOOT: "on foot"}


def shows_route(start: str, goal: str, mode: Mode) -> dict[str, Any]:
    """The episode must end at a route between these places, however they were typed."""
    return t.all_of(
        t.at_url(f"__MAP__/directions?{urlencode({'from': start, 'to': goal, 'mode': mode.key})}"),
        t.page_shows("last", "#route-from", exact_match=start),
        t.page_shows("last", "#route-to", exact_match=goal),
    )


@TEMPLATES.define("Pull up the map's page about {place}.")
def place_page(world: t.Sampler) -> t.Draw:
    """Open the page of a place."""
    row = some_place(world, LANDMARKS)
    return visit({"place": row["name"]}, f"__MAP__/place/{row['place_id']}", way=open_place(row["name"]))


@TEMPLATES.define("Show me the page of {street} in {town}.")
def street_page(world: t.Sampler) -> t.Draw:
    """Open the page of a street."""
    row = world.pick(PLACES + "SELECT * FROM streets WHERE kind IN ('main', 'street') ORDER BY street_id")
    name = f"{row['name']}, {row['town']}"
    return visit({"street": row["name"], "town": row["town"]}, f"__MAP__/street/{row['street_id']}", way=open_place(name))


@TEMPLATES.define("Find the page of the {kind} that stands at {address}.")
def page_by_address(world: t.Sampler) -> t.Draw:
    """Open the page of a place of which only the address is known."""
    row = some_place(world, "category NOT IN ('national park', 'airport')")
    street = f"{row['street']}, {row['town']}"
    before = places(world, "street_id = ? AND number < ?", row["street_id"], row["number"])
    return visit(
        {"kind": row["category"], "address": f"{row['number']} {row['street']}, {row['town']}"},
        f"__MAP__/place/{row['place_id']}",
        way=[
            *open_place(street),
            *turn_pages(world, len(before), 20),
            t.click(row["name"], f"It has the number {row['number']}."),
        ],
    )


@TEMPLATES.define("Get me directions from {first} to {second} {way}.")
def route_page(world: t.Sampler) -> t.Draw:
    """Show a route."""
    mode = world.rng.choice((CAR, BICYCLE, FOOT))
    first, second = (two_in_a_town if mode is FOOT else two_far_apart)(world)
    return instruction(
        {"first": first["name"], "second": second["name"], "way": BY[mode]},
        shows_route(first["name"], second["name"], mode),
        way=open_route(first["name"], second["name"], mode),
    )


@TEMPLATES.define("I have driven from {first} to {second}. Now show me the way back, {way}.")
def way_back(world: t.Sampler) -> t.Draw:
    """Show a route in the other direction."""
    mode = world.rng.choice((CAR, BICYCLE))
    first, second = two_far_apart(world)
    return instruction(
        {"first": first["name"], "second": second["name"], "way": BY[mode]},
        shows_route(second["name"], first["name"], mode),
        way=[*open_route(first["name"], second["name"], mode), t.click("Reverse directions")],
    )


@TEMPLATES.define("Show me the walk from {place} to the closest {kind}.")
def walk_to_nearest(world: t.Sampler) -> t.Draw:
    """Show the walk to a place that must be found first."""
    centre, kind, best, _ = nearest_of_a_kind(world)
    return instruction(
        {"place": centre["name"], "kind": kind},
        shows_route(centre["name"], best.row["name"], FOOT),
        way=[*open_nearby(centre, kind), *open_route(centre["name"], best.row["name"], FOOT)],
        seen=f"{best.row['name']} is the closest.",
    )


@TEMPLATES.define("Find the {kinds} around {place}.")
def kind_around(world: t.Sampler) -> t.Draw:
    """Show the places of a kind around a landmark, by the search or by its page."""
    row = some_place(world, LANDMARKS)
    kinds = PLURALS[world.rng.choice(("hotel", "restaurant", "cafe", "supermarket", "pharmacy", "museum", "bank"))]
    title = f"{capital(kinds)} near {row['name']}"
    return instruction(
        {"kinds": kinds, "place": row["name"]},
        t.page_shows("last", "main h1", exact_match=title),
        way=[t.search(SEARCH_BOX, f"{kinds} near {row['name']}")],
    )


@TEMPLATES.define("Which {kind} is the nearest to the town of {town} by road? Show me its page.")
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


@TEMPLATES.define("Show me all {kinds} in {town}, and turn to the last page of the list.")
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


@TEMPLATES.define("Among my saved places is a {kind} in {town}. Open its page.")
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
