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
from webarena_gym.templates.ways import impossible, question

TEMPLATES = t.Templates("map")
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


@TEMPLATES.define(
    "What is the full address of {place}? Give it as the map does, with number, street, town, state and postcode."
)
def place_address(world: t.Sampler) -> t.Draw:
    """Ask for an address."""
    row, other = two_places(world)
    return one_fact(row, "address", other)


@TEMPLATES.define("Which postcode does {place} have?")
def place_postcode(world: t.Sampler) -> t.Draw:
    """Ask for the postcode of a landmark."""
    row, other = two_places(world, LANDMARKS, "postcode")
    return one_fact(row, "postcode", other)


@TEMPLATES.define(
    "Give me the coordinates of {place} in decimal degrees, latitude first, with all the digits that the map has."
)
def place_coordinates(world: t.Sampler) -> t.Draw:
    """Ask where a place is."""
    row, other = two_places(world)
    truth = coordinates(row["latitude"], row["longitude"])
    return question(
        {"place": row["name"]},
        truth,
        way=open_place(row["name"]),
        seen=f"The page says {truth}.",
        wrong=[coordinates(other["latitude"], other["longitude"])],
    )


@TEMPLATES.define("I want to call {place}. Which number do I dial?")
def place_phone(world: t.Sampler) -> t.Draw:
    """Ask for a telephone number."""
    row, other = two_places(world, "phone != ''")
    return one_fact(row, "phone", other)


@TEMPLATES.define("What is the telephone number of {place}? Answer N/A if the map does not know it.")
def phone_unknown(world: t.Sampler) -> t.Draw:
    """Ask for a telephone number that the map does not know."""
    row = some_place(world, "phone = ''")
    return impossible(
        {"place": row["name"]},
        says("not known"),
        way=open_place(row["name"]),
        seen="The page says that the phone is not known.",
        wrong=[some_place(world, "phone != '' AND town_id = ?", row["town_id"])["phone"]],
    )


@TEMPLATES.define("Which website does {place} have?")
def place_website(world: t.Sampler) -> t.Draw:
    """Ask for a website; it is not always what the name would make one guess."""
    row, other = two_places(world, "website != ''")
    return one_fact(row, "website", other)


@TEMPLATES.define("What are the opening hours of {place} {day}? Write them like 09:00-17:00.")
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


@TEMPLATES.define("Until what time is {place} open {day}? Answer with the time alone, like 17:00.")
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


@TEMPLATES.define("How many stars does {place} have?")
def hotel_stars(world: t.Sampler) -> t.Draw:
    """Ask for a detail of a hotel's page."""
    row = some_place(world, "category = 'hotel'")
    stars = world.value("SELECT value FROM place_detail WHERE place_id = ? AND name = 'Stars'", row["place_id"])
    return t.Draw(
        slots={"place": row["name"]},
        eval=t.answer(fuzzy_match=stars),
        solution=[*open_place(row["name"]), t.leave(stars)],
        wrong_answers=[str(int(stars) + 1)],
    )


@TEMPLATES.define("How many people live in {town}?")
def town_population(world: t.Sampler) -> t.Draw:
    """Ask for the population of a town."""
    row, other = world.rng.sample(world.rows(TOWNS), 2)
    truth = f"{row['population']:,}"
    return t.Draw(
        slots={"town": row["name"]},
        eval=t.answer(fuzzy_match=truth),
        solution=[*open_place(row["name"]), t.leave(truth)],
        wrong_answers=[f"{other['population']:,}"],
    )


@TEMPLATES.define("Which has more inhabitants, {first} or {second}?")
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


@TEMPLATES.define("Which states share a border with {state}? Touching at a corner does not count.")
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


@TEMPLATES.define(
    "What is the capital of the state of {state}, and how many people live there? Answer with the name and the number."
)
def state_capital(world: t.Sampler) -> t.Draw:
    """Ask for a state's capital and its size."""
    row = world.pick(
        PLACES
        + "SELECT c.name AS state, t.name, population FROM state c JOIN towns t ON t.name = c.capital ORDER BY c.state_id"
    )
    other = world.pick(PLACES + "SELECT * FROM towns WHERE name != ? ORDER BY town_id", row["name"])
    return t.Draw(
        slots={"state": row["state"]},
        eval=t.answer(fuzzy_match=f"{row['name']}; {row['population']}"),
        solution=[*open_place(row["state"]), t.click(row["name"]), t.leave(f"{row['name']}; {row['population']}")],
        wrong_answers=[f"{other['name']}; {other['population']}", row["name"]],
    )


@TEMPLATES.define("How many {kinds} does the map know in {town}?")
def count_in_town(world: t.Sampler) -> t.Draw:
    """Count the places of a kind in a town, of which there are several."""
    row = world.pick(
        PLACES
        + """SELECT town, category, count(*) AS found FROM places GROUP BY town, category HAVING count(*) > 2
        ORDER BY town, category"""
    )
    kinds = PLURALS[row["category"]]
    return question(
        {"kinds": kinds, "town": row["town"]},
        row["found"],
        way=[t.search(SEARCH_BOX, f"{kinds} in {row['town']}")],
        seen="The list says how many there are.",
    )


@TEMPLATES.define("What is there at the coordinates {point}? Answer with the name of the place.")
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


@TEMPLATES.define("In which town and on which street is the point {point}? Answer with the street, then the town.")
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


@TEMPLATES.define("What is the telephone number of the {kind} in {town}? Answer N/A if there is none.")
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
