"""Posts in the forum and projects on the code host that hold what is on other sites."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.catalogue import URLS
from webarena_gym.sites.country.names import WORDS_PER_WORLD, invented
from webarena_gym.sites.reddit.world_posts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import ME as CODER
from webarena_gym.templates.gitlab import PROJECTS, SEARCH_BOX, entry
from webarena_gym.templates.reddit import ME, forums_tagged, open_forum, posted, submit
from webarena_gym.templates.several import holds, is_clear, tabs, turn_to
from webarena_gym.templates.shopping import PER_PAGE, SAID, open_reviews
from webarena_gym.templates.ways import turn_pages
from webarena_gym.templates.wikipedia import FACTS, FILMS, open_article

WITH_CODE = ("reddit", "gitlab")
WITH_SHOP = ("reddit", "shopping")
WITH_ENCYCLOPEDIA = ("reddit", "wikipedia")


def listed(world: t.Sampler, forum: str, title: str, wanted: Sequence[str], unwanted: Sequence[str]) -> dict[str, Any]:
    """Exactly one new post must be there, by me, in that forum and with a text that holds what is wanted; the episode ends at it."""
    last = world.value("SELECT max(submission_id) FROM submission", site="reddit")
    found, parameters = holds("s.body", wanted, unwanted)
    return t.all_of(
        t.at_url(f"__REDDIT__/f/{forum}/{last + 1}/{slug(title)}"),
        t.state(
            f"""SELECT f.name, s.user_id, s.title, {found} FROM submission s JOIN forum f USING (forum_id)
            WHERE s.submission_id > ? AND s.state = 'visible' ORDER BY s.submission_id""",
            *parameters,
            last,
            expected=[[forum, ME, title, len(wanted), 0]],
            site="reddit",
        ),
    )


def share(forum: str, title: str, url: str) -> list[Step]:
    """Return the steps that share a link in a forum."""
    return [
        *open_forum(forum),
        t.click("Submit"),
        t.type_text("URL", url),
        t.type_text("Title", title),
        t.click("Create submission"),
        t.leave("", f"The link is shared in {forum}."),
    ]


def project_url(row: t.Row) -> str:
    """Return the address of a project as the browser shows it."""
    return f"{URLS['__GITLAB__']}/{row['full_path']}"


def promote_project(world: t.Sampler) -> t.Draw:
    """Share a project under its description."""
    row = world.pick(
        PROJECTS + "SELECT * FROM seen WHERE description != '' AND visibility = 'public' ORDER BY project_id", site="gitlab"
    )
    forum = world.pick("SELECT name FROM forum ORDER BY name")["name"]
    return t.Draw(
        start_url=tabs(*WITH_CODE),
        slots={"project": row["full_path"], "forum": forum},
        eval=posted(world, [forum], row["description"], url=project_url(row)),
        solution=[
            turn_to(1),
            t.search(SEARCH_BOX, row["path"]),
            t.click(entry(f"{row['namespace_name']} / {row['name']}")),
            turn_to(0, f"It is described as: {row['description']}. The address is {project_url(row)}."),
            *share(forum, row["description"], project_url(row)),
        ],
    )


def share_repository(world: t.Sampler) -> t.Draw:
    """Share the most starred project that deals with something, in any forum that fits."""
    rows = world.rows(
        PROJECTS + "SELECT * FROM project_seen WHERE description != '' ORDER BY stars DESC, project_id", site="gitlab"
    )
    topic = " ".join(world.rng.choice(rows)["description"].split()[-2:])
    found = [row for row in rows if topic in row["description"]]
    t.skip_if(len(found) > 1 and found[0]["stars"] == found[1]["stars"], "a project that stands out")
    best = found[0]
    title = f"A project that may help with {topic}"
    forums = forums_tagged(world, "programming")
    return t.Draw(
        start_url=tabs(*WITH_CODE),
        slots={"topic": topic, "title": title},
        eval=posted(world, forums, title, url=project_url(best)),
        solution=[
            turn_to(1),
            t.search(SEARCH_BOX, topic),
            t.click(entry(f"{best['namespace_name']} / {best['name']}"), f"It has {best['stars']} stars."),
            turn_to(0, f"The address is {project_url(best)}."),
            *share(world.rng.choice(forums), title, project_url(best)),
        ],
    )


def review_titles(world: t.Sampler) -> t.Draw:
    """Post what unhappy or happy buyers say of a product."""
    least, most, words = world.rng.choice(
        ((1, 1, "1 star"), (1, 2, "2 stars or fewer"), (1, 3, "3 stars or fewer"), (5, 5, "5 stars"))
    )
    product = world.pick(
        SAID
        + """SELECT g.* FROM goods g JOIN said s USING (product_id) WHERE g.reviews BETWEEN 3 AND ?
        GROUP BY product_id HAVING sum(s.stars BETWEEN ? AND ?) BETWEEN 2 AND 6 ORDER BY product_id""",
        2 * PER_PAGE,
        least,
        most,
        site="shopping",
    )
    reviews = world.rows(
        SAID + "SELECT * FROM said WHERE product_id = ? ORDER BY place", product["product_id"], site="shopping"
    )
    wanted = list(dict.fromkeys(row["title"] for row in reviews if least <= row["stars"] <= most))
    unwanted = list(dict.fromkeys(row["title"] for row in reviews if not least <= row["stars"] <= most))
    t.skip_if(not is_clear(wanted, unwanted), "titles that tell the reviews apart")
    forum = world.rng.choice(("gadgets", "technology", "DIY", "food", "fitness", "Showerthoughts"))
    name = product["name"].partition(",")[0]
    title = f"What buyers say about the {name}"
    return t.Draw(
        start_url=tabs(*WITH_SHOP),
        slots={"product": product["name"], "stars": words, "forum": forum, "title": title},
        eval=listed(world, forum, title, wanted, unwanted),
        solution=[
            turn_to(1),
            *open_reviews(product),
            *turn_pages(world, product["reviews"] - 1, PER_PAGE, "There are more on the next page."),
            turn_to(0, f"{len(wanted)} titles: {'; '.join(wanted)}."),
            *submit(forum, title, "\n".join(f"- {each}" for each in wanted)),
        ],
    )


def films_post(world: t.Sampler) -> t.Draw:
    """Post the films of a director."""
    person = world.pick(
        FILMS + "SELECT director FROM films GROUP BY director HAVING count(*) > 2 ORDER BY director", site="wikipedia"
    )["director"]
    films = world.rows(FILMS + "SELECT title, director FROM films ORDER BY year, title", site="wikipedia")
    own = [row["title"] for row in films if row["director"] == person]
    forum = world.rng.choice(("movies", "television", "Showerthoughts"))
    title = world.rng.choice(("Everything that {} has made", "All films by {}", "The films of {}, one by one")).format(person)
    return t.Draw(
        start_url=tabs(*WITH_ENCYCLOPEDIA),
        slots={"forum": forum, "director": person, "title": title},
        eval=listed(world, forum, title, own, [row["title"] for row in films if row["director"] != person]),
        solution=[
            turn_to(1),
            *open_article(f"List of films directed by {person}"),
            turn_to(0, f"There are {len(own)}."),
            *submit(forum, title, "\n".join(f"- {each}" for each in own)),
        ],
    )


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
        expected=[[name, CODER, "README.md", len(wanted), 0]],
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
    t.skip_if(not wanted or not is_clear(wanted, others), "something to list")
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
    t.skip_if(not absent, "a year between two films that has none")
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
