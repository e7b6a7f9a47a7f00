"""Projects on the code host whose README holds what the encyclopedia knows."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.country.words import WORDS_PER_WORLD, invented
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.several.routes import holds, is_clear, tabs, turn_to
from webarena_gym.templates.wikipedia.routes import FACTS, FILMS, open_article

SITES = ("gitlab", "wikipedia")


def project_name(world: t.Sampler, *ends: str) -> str:
    """Return a name that no project has yet."""
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    return f"{invented(seed, world.rng.randrange(WORDS_PER_WORLD), 'title').lower()}-{world.rng.choice(ends)}"


def new_readme(world: t.Sampler, name: str, wanted: Sequence[str], unwanted: Sequence[str]) -> dict[str, Any]:
    """There must be one new project, mine and of that name, whose README holds what is wanted and nothing unwanted."""
    found, parameters = holds("f.content", wanted, unwanted)
    return t.state(
        f"""SELECT p.name, p.owner_id, f.path, {found}
        FROM project p LEFT JOIN branch b ON b.project_id = p.project_id AND b.name = p.default_branch
            LEFT JOIN file f ON f.branch_id = b.branch_id
        WHERE p.project_id > ? ORDER BY p.project_id, f.path""",
        *parameters,
        world.value("SELECT max(project_id) FROM project"),
        expected=[[name, ME, "README.md", len(wanted), 0]],
        site="gitlab",
    )


def make_project(name: str, lines: Sequence[str]) -> list[Step]:
    """Return the steps that make a project with a README of these lines."""
    return [
        t.click("New project"),
        t.click("Create blank project"),
        t.type_text("Project name", name),
        t.click("Initialize repository with a README", "I write the README myself."),
        t.click("Create project"),
        t.click("New file"),
        t.type_text("File name", "README.md"),
        t.type_text("File content", "\n".join(f"- {line}" for line in lines)),
        t.click("Commit changes"),
        t.leave("", f"The project {name} has its README."),
    ]


def draw_readme(
    world: t.Sampler, slots: dict[str, Any], name: str, source: str, wanted: Sequence[str], others: Sequence[str]
) -> t.Draw:
    """Return a task whose README lists what an article of the encyclopedia names."""
    if not wanted or not is_clear(wanted, others):
        raise t.NothingToDraw("something to list")
    return t.Draw(
        start_url=tabs(*SITES),
        slots=slots | {"name": name},
        eval=new_readme(world, name, wanted, others),
        solution=[
            turn_to(1),
            *open_article(source),
            turn_to(0, f"There are {len(wanted)}: {', '.join(wanted)}."),
            *make_project(name, wanted),
        ],
    )


def director(world: t.Sampler, condition: str = "count(*) > 2") -> str:
    """Draw a director whose films meet a condition. Raises NothingToDraw."""
    query = FILMS + f"SELECT director FROM films GROUP BY director HAVING {condition} ORDER BY director"
    return str(world.pick(query, site="wikipedia")["director"])


def _films(world: t.Sampler) -> list[t.Row]:
    return world.rows(FILMS + "SELECT * FROM films ORDER BY year, title", site="wikipedia")


def _titles_but(films: Sequence[t.Row], wanted: Sequence[str]) -> list[str]:
    """Return the titles of all other films, which a list of the wanted ones must not hold."""
    return [row["title"] for row in films if row["title"] not in wanted]


def films_readme(world: t.Sampler) -> t.Draw:
    """List all films of a director."""
    person = director(world)
    films = _films(world)
    wanted = [row["title"] for row in films if row["director"] == person]
    return draw_readme(
        world,
        {"director": person},
        project_name(world, "fans", "films", "cinema"),
        f"List of films directed by {person}",
        wanted,
        _titles_but(films, wanted),
    )


def films_of_time_readme(world: t.Sampler) -> t.Draw:
    """List the films of a director before or after a year."""
    person = director(world)
    films = _films(world)
    years = [row["year"] for row in films if row["director"] == person]
    absent = [each for each in range(years[0] + 1, years[-1]) if each not in years]
    if not absent:
        raise t.NothingToDraw("a year between two films that has none")
    year = world.rng.choice(absent)
    when = world.rng.choice(("before", "after"))
    wanted = [row["title"] for row in films if row["director"] == person and (row["year"] < year) is (when == "before")]
    return draw_readme(
        world,
        {"director": person, "when": when, "year": year},
        project_name(world, "old-fans", "new-fans", "archive"),
        f"List of films directed by {person}",
        wanted,
        _titles_but(films, wanted),
    )


def prized_films_readme(world: t.Sampler) -> t.Draw:
    """List the films of a director that won something."""
    person = director(world, "sum(is_awarded) BETWEEN 1 AND count(*) - 1")
    films = _films(world)
    wanted = [row["title"] for row in films if row["director"] == person and row["is_awarded"]]
    return draw_readme(
        world,
        {"director": person},
        project_name(world, "prizes", "winners", "laurels"),
        f"List of films directed by {person}",
        wanted,
        _titles_but(films, wanted),
    )


def winners_readme(world: t.Sampler) -> t.Draw:
    """List the winners of a prize in a decade."""
    row = world.pick(
        FACTS
        + """SELECT target AS prize, CAST(number AS INTEGER) / 10 * 10 AS decade FROM facts WHERE label = 'Award'
        AND kind NOT IN ('film', 'novel', 'album') GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 1, 2""",
        site="wikipedia",
    )
    winners = world.rows(
        FACTS
        + """SELECT title, number BETWEEN ?1 AND ?1 + 9 AS is_wanted FROM facts WHERE label = 'Award' AND target = ?2
        AND kind NOT IN ('film', 'novel', 'album') ORDER BY number""",
        row["decade"],
        row["prize"],
        site="wikipedia",
    )
    return draw_readme(
        world,
        {"prize": row["prize"], "decade": row["decade"]},
        project_name(world, "hall-of-fame", "laureates", "honors"),
        row["prize"],
        [winner["title"] for winner in winners if winner["is_wanted"]],
        [winner["title"] for winner in winners if not winner["is_wanted"]],
    )
