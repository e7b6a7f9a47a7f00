"""Facts about one place, town or state, pages and routes to open, saved places, notes and suggestions."""

from typing import Any
from urllib.parse import urlencode

from webarena_gym.sites.map.geometry import Point, coordinates
from webarena_gym.sites.map.queries import CATEGORIES, PLACES, PLURALS, by_distance, of_place
from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Mode, Spot
from webarena_gym.sites.map.site import capital
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.map import (
    MARGIN,
    PER_PAGE,
    SEARCH_BOX,
    open_nearby,
    open_place,
    open_route,
    open_routes,
    places,
    roads,
    route,
    some_place,
)
from webarena_gym.templates.map.travel import nearest_of_a_kind, two_far_apart, two_in_a_town
from webarena_gym.templates.ways import (
    impossible,
    instruction,
    on_page,
    question,
    turn_pages,
    visit,
)

DAYS = {"weekdays": "from Monday to Friday", "saturday": "on Saturdays", "sunday": "on Sundays"}
TOWNS = PLACES + "SELECT * FROM towns ORDER BY town_id"


def two_places(world: t.Sampler, where: str = "1", column: str = "name") -> list[t.Row]:
    """Return two places that differ in a column. Raises NothingToDraw."""
    first, second = world.rng.sample(places(world, f"({where}) AND label = name"), 2)
    t.skip_if(first[column] == second[column], "two that differ")
    return [first, second]


def place_hours(world: t.Sampler) -> t.Draw:
    """Ask when a place is open on one kind of day."""
    column = world.rng.choice(list(DAYS))
    row = some_place(world, f"{column} LIKE '__:__-__:__'")
    others = [row[name] for name in DAYS if row[name] != row[column]]
    other = some_place(world, f"{column} LIKE '__:__-__:__' AND {column} != ?", row[column])[column]
    return question(
        {"place": row["name"], "day": DAYS[column]},
        row[column],
        way=open_place(row["name"]),
        seen=f"It is open {row[column]} {DAYS[column]}.",
        wrong=[other, *others[:1]],
    )


def closing_time(world: t.Sampler) -> t.Draw:
    """Ask when a place closes."""
    column = world.rng.choice(list(DAYS))
    row = some_place(world, f"{column} LIKE '__:__-__:__'")
    opens, _, closes = row[column].partition("-")
    return question(
        {"place": row["name"], "day": DAYS[column]},
        closes,
        way=open_place(row["name"]),
        seen=f"It is open {row[column]}.",
        wrong=[opens],
    )


def place_at_point(world: t.Sampler) -> t.Draw:
    """Look up a point; it is a place's own, and no other place is as near."""
    row = some_place(world, "1")
    everything = [of_place(each) for each in places(world, "1")]
    here = Point(row["latitude"], row["longitude"])
    centre = of_place(row)._replace(table="point", point=here)
    first, second = by_distance(roads(world), everything, centre)[:2]
    t.skip_if(first.label != row["name"] or (second.metres or 0) < 1.5 * (first.metres or 0) + 10, "a place that stands alone")
    return question(
        {"point": coordinates(*here)},
        row["name"],
        way=[t.search(SEARCH_BOX, coordinates(*here))],
        seen="It is the nearest place.",
        wrong=[second.label],
    )


def street_at_point(world: t.Sampler) -> t.Draw:
    """Look up a point in the middle of a block, which has one street alone near it."""
    row = world.pick(
        PLACES
        + """SELECT e.*, s.name, s.town FROM edge e JOIN streets s USING (street_id)
        WHERE s.kind IN ('main', 'street') AND e.length > 120 ORDER BY edge_id"""
    )
    net = roads(world)
    here = Point(*(round(degrees, 5) for degrees in net.point(Spot(row["edge_id"], row["length"] // 2))))
    found = net.edges[net.nearest(here).edge_id]
    t.skip_if(found.street_id != row["street_id"], "a point on a street of its own")
    other = world.pick(
        PLACES + "SELECT * FROM streets WHERE town = ? AND name != ? ORDER BY street_id", row["town"], row["name"]
    )
    return question(
        {"point": coordinates(*here)},
        f"{row['name']}, {row['town']}",
        way=[t.search(SEARCH_BOX, coordinates(*here))],
        seen="It is in the nearest address.",
        wrong=[f"{other['name']}, {other['town']}"],
    )


def nothing_there(world: t.Sampler) -> t.Draw:
    """Ask for a kind of place that a town has not."""
    town = world.pick(TOWNS)
    present = {row["category"] for row in places(world, "town_id = ?", town["town_id"])}
    absent = [each.name for each in CATEGORIES if each.name not in present]
    t.skip_if(not absent, "something that the town has not")
    kind = world.rng.choice(absent)
    elsewhere = [row["phone"] for row in places(world, "category = ? AND phone != ''", kind)]
    return impossible(
        {"kind": kind, "town": town["name"]},
        says("Nothing was found"),
        way=[t.search(SEARCH_BOX, f"{PLURALS[kind]} in {town['name']}")],
        seen="Nothing was found.",
        wrong=elsewhere[:2],
    )


BY = {CAR: "by car", BICYCLE: "by bicycle", FOOT: "on foot"}


def shows_route(start: str, goal: str, mode: Mode) -> dict[str, Any]:
    """The episode must end at a route between these places, however they were typed."""
    return t.all_of(
        t.at_url(f"__MAP__/directions?{urlencode({'from': start, 'to': goal, 'mode': mode.key})}"),
        t.page_shows("last", "#route-from", exact_match=start),
        t.page_shows("last", "#route-to", exact_match=goal),
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


def nearest_page(world: t.Sampler) -> t.Draw:
    """Open the page of the nearest landmark of a kind; it is the nearest in a straight line, too."""
    town = some_place(world, "category = 'bus station'")
    kind = world.rng.choice(("national park", "zoo", "concert hall", "stadium", "airport"))
    ways = sorted(
        ((route(world, CAR, town, row).metres, row) for row in places(world, "category = ?", kind)), key=lambda item: item[0]
    )
    t.skip_if(ways[1][0] < MARGIN * MARGIN * ways[0][0] or ways[1][0] - ways[0][0] < 6000, "one that is clearly the nearest")
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


def forget_kind(world: t.Sampler) -> t.Draw:
    """Remove all saved places of a kind."""
    kind = some_place(world, MINE)["category"]
    rows = sorted(places(world, f"{MINE} AND category = ?", kind), key=lambda row: str(row["name"]))
    gone = {row["place_id"] for row in rows}
    return instruction(
        {"kind": kind},
        saved_are({key: note for key, note in saved(world).items() if key not in gone}),
        way=[t.click("Saved places"), *(t.click(f"Remove {row['name']}") for row in rows)],
    )


def resolve_note(world: t.Sampler) -> t.Draw:
    """Resolve an open note of the newest ones."""
    rows = world.rows(
        "SELECT n.*, name FROM map_note n JOIN user USING (user_id) WHERE status = 'open' ORDER BY n.created_at DESC, note_id DESC"
    )
    row = world.rng.choice(rows[:NOTES_PER_PAGE])
    beginning = " ".join(row["text"].split()[:6])
    t.skip_if(sum(each["text"].startswith(beginning) and each["name"] == row["name"] for each in rows) > 1, "a note of its own")
    resolved = world.rows("SELECT note_id FROM map_note WHERE status = 'resolved' ORDER BY note_id")
    expected = sorted([each["note_id"] for each in resolved] + [row["note_id"]])
    return instruction(
        {"author": row["name"], "beginning": beginning},
        t.state(
            "SELECT note_id FROM map_note WHERE status = 'resolved' ORDER BY note_id", expected=[[each] for each in expected]
        ),
        way=[
            t.click("Notes"),
            *turn_pages(world, rows.index(row), NOTES_PER_PAGE),
            t.click(f"Note {row['note_id']}"),
            t.click("Resolve note"),
        ],
    )


def comment_note(world: t.Sampler) -> t.Draw:
    """Say something about one of the notes, which is found in the list of all."""
    rows = world.rows("SELECT note_id FROM map_note ORDER BY created_at DESC, note_id DESC")
    place = world.rng.randrange(len(rows))
    number, text = (
        rows[place]["note_id"],
        world.rng.choice(("I have seen it, too.", "Thank you for telling us.", "Is this still so?")),
    )
    return instruction(
        {"text": text, "number": number},
        t.state(
            "SELECT note_id, user_id, text FROM note_comment ORDER BY comment_id LIMIT -1 OFFSET ?",
            world.value("SELECT count(*) FROM note_comment"),
            expected=[[number, ME, text]],
        ),
        way=[
            t.click("Notes"),
            t.click("Show all"),
            *turn_pages(world, place, NOTES_PER_PAGE),
            t.click(f"Note {number}"),
            t.type_text("Comment", text),
            t.click("Add comment"),
        ],
    )


def suggest_edit(world: t.Sampler) -> t.Draw:
    """Suggest how a place's page should read."""
    row, other = some_place(world, "phone != '' AND website != ''"), some_place(world, "phone != '' AND website != ''")
    part = world.rng.choice(("Phone", "Website"))
    value = {"Phone": other["phone"], "Website": f"{row['website'].removesuffix('.example')}-new.example"}[part]
    t.skip_if(value == row[part.lower()], "something else")
    return instruction(
        {"part": part.lower(), "place": row["name"], "value": value},
        t.state(
            "SELECT user_id, place_id, field, value, status FROM suggestion WHERE status != 'withdrawn' ORDER BY suggestion_id",
            expected=[[ME, row["place_id"], part, value, "waiting"]],
        ),
        way=[
            *open_place(row["name"]),
            t.click("Suggest an edit"),
            t.choose("What is wrong?", part),
            t.type_text("It should read", value),
            t.click("Send suggestion"),
        ],
    )
