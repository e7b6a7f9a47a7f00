"""Questions that lists and categories answer: extremes, sums and counts."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks, sum_of
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.ways import question
from webarena_gym.templates.wikipedia.routes import FACTS, country, draw_extreme, open_category, open_list

TOWNS = (
    FACTS.rstrip()
    + """, towns AS (
    SELECT p.title, CAST(p.number AS INTEGER) AS population, s.target AS state
    FROM facts p JOIN facts s USING (article_id) WHERE p.kind = 'town' AND p.label = 'Population' AND s.label = 'State'
) """
)
"""The towns with their people and states."""


def extreme_landmark(world: t.Sampler) -> t.Draw:
    """Ask for the landmark at one end of a measure."""
    end = draw_extreme(world)
    return question(
        {"extreme": end.words, "country": country(world)},
        end.row["title"],
        way=end.way,
        seen=f"{end.row['title']} has {end.shown}.",
        wrong=[end.other],
    )


def extreme_town(world: t.Sampler) -> t.Draw:
    """Ask for the town of a state at one end, or next to it."""
    place, index = world.rng.choice((("largest", 0), ("second largest", 1), ("smallest", -1)))
    state = world.pick("SELECT title FROM article WHERE kind = 'state' ORDER BY title")["title"]
    towns = [
        row["title"]
        for row in world.rows(TOWNS + "SELECT title FROM towns WHERE state = ? ORDER BY population DESC, title", state)
    ]
    if len(towns) < 3:
        raise t.NothingToDraw("a state with some towns")
    return question(
        {"state": state, "place": place},
        towns[index],
        way=open_list(world, "towns"),
        seen=f"Of {len(towns)} towns in {state} it is {towns[index]}.",
        wrong=[town for town in (towns[0], towns[1], towns[-1]) if town != towns[index]],
    )


def population_sum(world: t.Sampler) -> t.Draw:
    """Add the populations of two towns."""
    one, other = world.rng.sample(world.rows(TOWNS + "SELECT * FROM towns ORDER BY title"), 2)
    total = one["population"] + other["population"]
    return t.Draw(
        slots={"one": one["title"], "other": other["title"]},
        grounds={f"{total:,}": sum_of(f"{one['population']:,}", f"{other['population']:,}")},
        eval=t.answer(fuzzy_match=f"{total:,}"),
        solution=[
            *open_list(world, "towns"),
            t.leave(f"{total:,}", f"{one['population']:,} and {other['population']:,} are {total:,}."),
        ],
        wrong_answers=[f"{one['population']:,}", f"{total + 1000:,}"],
    )


def towns_above(world: t.Sampler) -> t.Draw:
    """Count the towns above a number of people."""
    limit = world.rng.choice((3_000, 5_000, 10_000, 20_000, 40_000, 60_000, 80_000, 150_000))
    found = world.value(TOWNS + "SELECT count(*) FROM towns WHERE population > ?", limit)
    return question(
        {"country": country(world), "limit": f"{limit:,}"},
        str(found),
        way=open_list(world, "towns"),
        seen=f"{found} of the towns have more than {limit:,} people.",
        wrong=[str(found + 1), str(found - 1)],
    )


category_size = Fact(
    "SELECT name, count(*) AS size FROM category GROUP BY name HAVING size > 1 ORDER BY name",
    "{size!s}",
    way=lambda world, row: open_category(world, row["name"]),
    seen="{other[title]} and others, {size} in all.",
    wrong=lambda _, row: [str(row["size"] + 1), str(row["size"] - 1)],
    other=(
        "SELECT title FROM category JOIN article USING (article_id) WHERE name = ? ORDER BY title",
        "name",
    ),
    slots={"category": "{name}"},
)


def prized_university(world: t.Sampler) -> t.Draw:
    """Ask for the university with the most prize winners, in a state or in the whole country."""
    rows = world.rows(
        FACTS
        + """SELECT p.title, p.number, s.target AS state FROM facts p JOIN facts s USING (article_id)
        WHERE p.label = 'Prize winners' AND s.label = 'State' ORDER BY p.number DESC, p.title"""
    )
    land = country(world)
    place = world.rng.choice([land, *sorted({row["state"] for row in rows})])
    here = [row for row in rows if place in (land, row["state"])]
    if len(here) < 2 or here[0]["number"] == here[1]["number"]:
        raise t.NothingToDraw("a university that stands out")
    return question(
        {"place": place},
        here[0]["title"],
        way=open_list(world, "universities"),
        seen=f"It has {int(here[0]['number'])} prize winners.",
        wrong=[here[1]["title"]],
    )


def landmarks_of_state(world: t.Sampler) -> t.Draw:
    """List the landmarks of one kind in a state, or find that there are none."""
    kind, kinds = world.rng.choice(
        (("museum", "museums"), ("hospital", "hospitals"), ("monument", "monuments"), ("bridge", "bridges"), ("zoo", "zoos"),
         ("university", "universities"), ("national park", "national parks"))
    )  # fmt: skip
    state = world.pick("SELECT title FROM article WHERE kind = 'state' ORDER BY title")["title"]
    rows = world.rows(FACTS + "SELECT title, target FROM facts WHERE kind = ? AND label = 'State' ORDER BY title", kind)
    here, elsewhere = ([row["title"] for row in rows if (row["target"] == state) is wanted] for wanted in (True, False))
    if len(here) == 1:
        raise t.NothingToDraw("an answer that is a list")
    shown = ", ".join(here) or "N/A"
    wrong = [", ".join([*here, *elsewhere[:1]]), ", ".join(here[1:])]
    return t.Draw(
        slots={"kinds": kinds, "state": state},
        grounds={"N/A": lacks(elsewhere, [])} if not here else {},
        eval=t.answer(fuzzy_match=shown),
        solution=[*open_list(world, kinds), t.leave(shown, f"{len(here)} of {len(rows)} are in {state}.")],
        wrong_answers=[each for each in wrong if each not in ("", shown)],
    )
