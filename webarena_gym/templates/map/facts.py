"""Questions about one place, town or state."""

from webarena_gym.sites.map.categories import CATEGORIES, PLURALS
from webarena_gym.sites.map.finding import by_distance, of_place
from webarena_gym.sites.map.geometry import Point
from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import Spot
from webarena_gym.sites.map.units import coordinates
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.map.ways import LANDMARKS, SEARCH_BOX, open_place, places, roads, some_place
from webarena_gym.templates.rows import Fact, Impossible
from webarena_gym.templates.ways import impossible, question

DAYS = {"weekdays": "from Monday to Friday", "saturday": "on Saturdays", "sunday": "on Sundays"}
TOWNS = PLACES + "SELECT * FROM towns ORDER BY town_id"


def one_fact(row: t.Row, column: str, other: t.Row) -> t.Draw:
    """Return a question that one line of a place's page answers; another place's line is a wrong answer."""
    return question(
        {"place": row["name"]},
        row[column],
        way=open_place(row["name"]),
        seen=f"The page says {row[column]}.",
        wrong=[other[column]],
    )


def two_places(world: t.Sampler, where: str = "1", column: str = "name") -> list[t.Row]:
    """Return two places that differ in a column. Raises NothingToDraw."""
    first, second = world.rng.sample(places(world, f"({where}) AND label = name"), 2)
    if first[column] == second[column]:
        raise t.NothingToDraw("two that differ")
    return [first, second]


def place_address(world: t.Sampler) -> t.Draw:
    """Ask for an address."""
    row, other = two_places(world)
    return one_fact(row, "address", other)


def place_postcode(world: t.Sampler) -> t.Draw:
    """Ask for the postcode of a landmark."""
    row, other = two_places(world, LANDMARKS, "postcode")
    return one_fact(row, "postcode", other)


place_coordinates = Fact(
    two_places,
    "{truth}",
    way=open_place("{name}"),
    seen="The page says {truth}.",
    wrong=lambda _, row: [coordinates(row["other"]["latitude"], row["other"]["longitude"])],
    also={"truth": lambda _, row: coordinates(row["latitude"], row["longitude"])},
    slots={"place": "{name}"},
)


def place_phone(world: t.Sampler) -> t.Draw:
    """Ask for a telephone number."""
    row, other = two_places(world, "phone != ''")
    return one_fact(row, "phone", other)


phone_unknown = Impossible(
    lambda world: some_place(world, "phone = ''"),
    says("not known"),
    way=open_place("{name}"),
    seen="The page says that the phone is not known.",
    wrong=lambda world, row: [some_place(world, "phone != '' AND town_id = ?", row["town_id"])["phone"]],
    slots={"place": "{name}"},
)


def place_website(world: t.Sampler) -> t.Draw:
    """Ask for a website; it is not always what the name would make one guess."""
    row, other = two_places(world, "website != ''")
    return one_fact(row, "website", other)


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


hotel_stars = Fact(
    lambda world: some_place(world, "category = 'hotel'"),
    "{stars}",
    way=open_place("{name}"),
    wrong=lambda _, row: [str(int(row["stars"]) + 1)],
    also={
        "stars": lambda world, row: world.value(
            "SELECT value FROM place_detail WHERE place_id = ? AND name = 'Stars'", row["place_id"]
        )
    },
    slots={"place": "{name}"},
)


town_population = Fact(
    TOWNS, "{population:,}", way=open_place("{name}"), wrong=["{other[population]:,}"], pair=True, slots={"town": "{name}"}
)


def larger_town(world: t.Sampler) -> t.Draw:
    """Compare the populations of two towns of one kind."""
    kind = world.rng.choice(("city", "town", "village"))
    first, second = world.rng.sample([row for row in world.rows(TOWNS) if row["kind"] == kind], 2)
    larger, smaller = sorted((first, second), key=lambda row: -row["population"])
    return question(
        {"first": first["name"], "second": second["name"]},
        larger["name"],
        way=[*open_place(first["name"]), *open_place(second["name"], f"{first['name']} has {first['population']:,}.")],
        seen=f"{second['name']} has {second['population']:,}.",
        wrong=[smaller["name"]],
    )


def state_borders(world: t.Sampler) -> t.Draw:
    """Ask for a state's neighbours."""
    states = {row["state_id"]: row["name"] for row in world.rows("SELECT * FROM state ORDER BY state_id")}
    chosen = world.rng.choice(list(states))
    rows = world.rows("SELECT neighbour_id FROM state_border WHERE state_id = ? ORDER BY 1", chosen)
    names = [states[row["neighbour_id"]] for row in rows]
    others = [name for key, name in states.items() if key != chosen]
    return t.Draw(
        slots={"state": states[chosen]},
        eval=t.answer(fuzzy_match=", ".join(names)),
        solution=[*open_place(states[chosen]), t.leave(", ".join(names))],
        wrong_answers=[names[0], ", ".join(others)],
    )


state_capital = Fact(
    PLACES + "SELECT c.name AS state, t.name, population FROM state c JOIN towns t ON t.name = c.capital ORDER BY c.state_id",
    "{name}; {population}",
    way=[*open_place("{state}"), t.click("{name}")],
    wrong=["{other[name]}; {other[population]}", "{name}"],
    other=(
        PLACES + "SELECT * FROM towns WHERE name != ? ORDER BY town_id",
        "name",
    ),
)


count_in_town = Fact(
    PLACES
    + """SELECT town, category, count(*) AS found FROM places GROUP BY town, category HAVING count(*) > 2
        ORDER BY town, category""",
    "{found}",
    way=[t.search(SEARCH_BOX, "{kinds} in {town}")],
    seen="The list says how many there are.",
    also={"kinds": lambda _, row: PLURALS[row["category"]]},
)


def place_at_point(world: t.Sampler) -> t.Draw:
    """Look up a point; it is a place's own, and no other place is as near."""
    row = some_place(world, "1")
    everything = [of_place(each) for each in places(world, "1")]
    here = Point(row["latitude"], row["longitude"])
    centre = of_place(row)._replace(table="point", point=here)
    first, second = by_distance(roads(world), everything, centre)[:2]
    if first.label != row["name"] or (second.metres or 0) < 1.5 * (first.metres or 0) + 10:
        raise t.NothingToDraw("a place that stands alone")
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
    if found.street_id != row["street_id"]:
        raise t.NothingToDraw("a point on a street of its own")
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
    if not absent:
        raise t.NothingToDraw("something that the town has not")
    kind = world.rng.choice(absent)
    elsewhere = [row["phone"] for row in places(world, "category = ? AND phone != ''", kind)]
    return impossible(
        {"kind": kind, "town": town["name"]},
        says("Nothing was found"),
        way=[t.search(SEARCH_BOX, f"{PLURALS[kind]} in {town['name']}")],
        seen="Nothing was found.",
        wrong=elsewhere[:2],
    )
