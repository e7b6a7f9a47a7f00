"""Places that the encyclopedia tells about, to be found on the map."""

from collections.abc import Sequence

from webarena_gym.sites.country.geography import KINDS
from webarena_gym.sites.map.routing import CAR
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.map.pages import shows_route
from webarena_gym.templates.map.ways import LANDMARKS, open_place, open_route, some_place
from webarena_gym.templates.several.routes import MAP_AND_ENCYCLOPEDIA, address_on_map, tabs, turn_to
from webarena_gym.templates.wikipedia.routes import FACTS, draw_extreme, open_article

MAPPED = tuple(kind for kind in KINDS if kind != "concert hall")  # of which the encyclopedia measures something


def show_on_map(world: t.Sampler, slots: dict[str, str], place: str, way: Sequence[Step]) -> t.Draw:
    """Return a task that ends at the map's page of a place, by a way through the encyclopedia to its name."""
    return t.Draw(
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        slots=slots,
        eval=t.at_url(f"__MAP__/{address_on_map(world, place)}"),
        solution=[turn_to(1), *way, turn_to(0, f"It is {place}."), *open_place(place), t.leave("", f"The map shows {place}.")],
    )


def film_place(world: t.Sampler) -> t.Draw:
    """Show where a film was made."""
    row = world.pick(FACTS + "SELECT title, target FROM facts WHERE label = 'Filmed in' ORDER BY article_id", site="wikipedia")
    return show_on_map(world, {"film": row["title"]}, row["target"], open_article(row["title"]))


def birthplace_on_map(world: t.Sampler) -> t.Draw:
    """Show where somebody was born."""
    row = world.pick(
        FACTS + "SELECT title, kind, target FROM facts WHERE label = 'Birthplace' ORDER BY article_id", site="wikipedia"
    )
    return show_on_map(world, {"person": row["title"], "calling": row["kind"]}, row["target"], open_article(row["title"]))


def college_on_map(world: t.Sampler) -> t.Draw:
    """Go from a work to its maker, to the university, to the map."""
    label, maker = world.rng.choice((("Directed by", "director"), ("Author", "author")))
    row = world.pick(
        FACTS
        + """SELECT w.title, w.target AS maker, s.target FROM facts w JOIN facts s ON s.title = w.target
        WHERE w.label = ? AND s.label = 'Alma mater' ORDER BY w.article_id""",
        label,
        site="wikipedia",
    )
    return show_on_map(
        world,
        {"maker": maker, "title": row["title"]},
        row["target"],
        [*open_article(row["title"]), t.click(row["maker"], f"The {maker} is {row['maker']}.")],
    )


def extreme_on_map(world: t.Sampler) -> t.Draw:
    """Show the landmark at one end of a measure."""
    end = draw_extreme(world, MAPPED)
    return show_on_map(world, {"extreme": end.words}, end.row["title"], end.way)


def memorial_on_map(world: t.Sampler) -> t.Draw:
    """Go from an event to what links to it, to the map."""
    row = world.pick(
        FACTS
        + """SELECT target AS event, min(title) AS monument FROM facts WHERE label = 'Commemorates'
        GROUP BY target HAVING count(*) = 1 ORDER BY target""",
        site="wikipedia",
    )
    return show_on_map(
        world, {"event": row["event"]}, row["monument"], [*open_article(row["event"]), t.click("What links here")]
    )


def stadium_route(world: t.Sampler) -> t.Draw:
    """Show the way to where a team plays today."""
    row = world.pick(
        FACTS + "SELECT title, target FROM facts WHERE label = 'Home stadium' ORDER BY article_id", site="wikipedia"
    )
    return route_to_stadium(world, {"team": row["title"]}, row["target"])


def old_stadium_route(world: t.Sampler) -> t.Draw:
    """Show the way to where a team played in a decade of the past."""
    row = world.pick(
        FACTS
        + """, homes AS (SELECT title, target, number AS since, lead(number) OVER (PARTITION BY title ORDER BY number) AS until
        FROM facts WHERE label IN ('Home stadium', 'Former stadium'))
        SELECT * FROM homes o WHERE until IS NOT NULL ORDER BY title, since""",
        site="wikipedia",
    )
    decade = str(world.rng.choice(range(int(row["since"]), int(row["until"]), 10)))
    return route_to_stadium(world, {"team": row["title"], "decade": decade}, row["target"])


def route_to_stadium(world: t.Sampler, slots: dict[str, str], stadium: str) -> t.Draw:
    """Return a task that ends at the way from some landmark to a stadium."""
    start = some_place(world, f"{LANDMARKS} AND category != 'stadium'")["name"]
    return t.Draw(
        start_url=tabs(*MAP_AND_ENCYCLOPEDIA),
        slots=slots | {"place": start},
        eval=shows_route(start, stadium, CAR),
        solution=[
            turn_to(1, "The encyclopedia knows where the team plays."),
            *open_article(slots["team"]),
            turn_to(0, f"It is {stadium}."),
            *open_route(start, stadium, CAR),
            t.leave("", "This is the way."),
        ],
    )
