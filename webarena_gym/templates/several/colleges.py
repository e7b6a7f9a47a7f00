"""Ways between universities and parks that the encyclopedia tells about, measured on the map."""

from webarena_gym.sites.map.geometry import metres_between
from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import BICYCLE, CAR
from webarena_gym.sites.map.units import duration
from webarena_gym.tasks import template as t
from webarena_gym.templates.map.ways import (
    LANDMARKS,
    MARGIN,
    SEARCH_BOX,
    open_route,
    other_times,
    places,
    roads,
    route,
    some_place,
    spot,
    stated,
)
from webarena_gym.templates.several.routes import MAP_AND_ENCYCLOPEDIA, place_named, tabs, turn_to
from webarena_gym.templates.wikipedia.routes import FACTS, country, open_article, open_list


def drive_to_best_university(world: t.Sampler) -> t.Draw:
    """Find the best university of a state or the country, and measure the way there."""
    rows = world.rows(
        FACTS
        + """SELECT p.title, p.number, s.target AS state FROM facts p JOIN facts s USING (article_id)
        WHERE p.label = 'Prize winners' AND s.label = 'State' ORDER BY p.number DESC, p.title""",
        site="wikipedia",
    )
    land = country(world)
    region = world.rng.choice([land, *sorted({row["state"] for row in rows})])
    here = [row for row in rows if region in (land, row["state"])]
    if len(here) < 2 or here[0]["number"] == here[1]["number"]:
        raise t.NothingToDraw("a university that stands out")
    start = some_place(world, f"{LANDMARKS} AND category NOT IN ('university', 'national park')")
    way, other = (route(world, CAR, start, place_named(world, row["title"])) for row in here[:2])
    unit, number = stated(way.metres)
    if unit != "kilometres":
        raise t.NothingToDraw("a way of some length")
    return t.Draw(
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        slots={"place": start["name"], "region": region},
        eval=t.told(t.answer(fuzzy_match=number), about=[here[0]["title"]]),
        solution=[
            turn_to(1, "The encyclopedia has a list of universities."),
            *open_list(world, "universities"),
            turn_to(0, f"{here[0]['title']} has the most, {int(here[0]['number'])}. Now the way there."),
            *open_route(start["name"], here[0]["title"], CAR),
            t.leave(number, f"It is {number} {unit}."),
        ],
        wrong_answers=[each for each in (stated(other.metres)[1], stated(way.metres * 1.2)[1]) if each != number],
    )


def nearest_park(world: t.Sampler) -> t.Draw:
    """Find the birthplace of a person, the park that is nearest to it, and the time by bicycle."""
    person = world.pick(
        FACTS + "SELECT title, target FROM facts WHERE label = 'Birthplace' ORDER BY article_id", site="wikipedia"
    )
    town = world.pick(PLACES + "SELECT * FROM towns WHERE name = ?", person["target"])
    net = roads(world)
    middle = net.crossing(town["node_id"])
    parks = [
        (row, metres_between(net.point(middle), net.point(spot(row))), net.route(BICYCLE, middle, spot(row)))
        for row in places(world, "category = 'national park'")
    ]
    best, second = sorted(parks, key=lambda park: park[1])[:2]
    if second[1] < MARGIN * best[1] or any(best[2].metres * MARGIN > way.metres for row, _, way in parks if row is not best[0]):
        raise t.NothingToDraw("a park that is nearer than all others")
    name, time = best[0]["name"], duration(best[2].minutes)
    return t.Draw(
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        slots={"person": person["title"]},
        eval=t.told(t.answer(fuzzy_match=f"{name}; {time}"), about=[town["name"]]),
        solution=[
            turn_to(1),
            *open_article(person["title"]),
            turn_to(0, f"{person['title']} was born in {town['name']}."),
            t.search(SEARCH_BOX, f"national parks near {town['name']}"),
            *open_route(town["name"], name, BICYCLE),
            t.leave(f"{name}; {time}", f"{name} is the nearest, and it takes {time}."),
        ],
        wrong_answers=[
            f"{second[0]['name']}; {duration(second[2].minutes)}",
            *(f"{name}; {other}" for other in other_times(best[2].minutes)),
        ],
    )


def college_drive(world: t.Sampler) -> t.Draw:
    """Find two universities by their students, and the time that it takes from one to the other."""
    rows = world.rows(
        FACTS + "SELECT title, target FROM facts WHERE label = 'Alma mater' ORDER BY article_id", site="wikipedia"
    )
    one, other = world.rng.sample(rows, 2)
    if one["target"] == other["target"]:
        raise t.NothingToDraw("two universities")
    ends = [place_named(world, row["target"]) for row in (one, other)]
    drive, ride = (route(world, mode, *ends) for mode in (CAR, BICYCLE))
    if drive.minutes < 4:
        raise t.NothingToDraw("a way that takes some minutes")
    time = duration(drive.minutes)
    return t.Draw(
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        slots={"one": one["title"], "other": other["title"]},
        eval=t.told(t.answer(fuzzy_match=time), about=[one["target"], other["target"]]),
        solution=[
            turn_to(1),
            *open_article(one["title"]),
            *open_article(other["title"], f"The first one studied at {one['target']}."),
            turn_to(0, f"The other one studied at {other['target']}."),
            *open_route(one["target"], other["target"], CAR),
            t.leave(time),
        ],
        wrong_answers=other_times(drive.minutes, ride.minutes),
    )
