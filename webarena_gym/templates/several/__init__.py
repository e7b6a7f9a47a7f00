"""Helpers of tasks on several sites: start pages in tabs, and checks of texts that must contain values of another site."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.sites.catalogue import URLS
from webarena_gym.sites.country.geography import KINDS
from webarena_gym.sites.map.geometry import duration, metres_between
from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.map.routing import BICYCLE, CAR, Route
from webarena_gym.sites.reddit.world_posts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates import gitlab
from webarena_gym.templates.gitlab import ME as CODER
from webarena_gym.templates.gitlab import PROJECTS, entry, open_project
from webarena_gym.templates.map import (
    LANDMARKS,
    MARGIN,
    SEARCH_BOX,
    between_towns,
    open_place,
    open_route,
    other_times,
    places,
    roads,
    route,
    shows_route,
    some_place,
    spot,
    unit_and_number,
)
from webarena_gym.templates.reddit import ME, POSTS, forums_tagged, new_post, open_forum, thread_url, write_post
from webarena_gym.templates.shopping import GOODS, PER_PAGE, SAID, open_product, open_reviews
from webarena_gym.templates.shopping_admin import CUSTOMER_NAMES, open_customer
from webarena_gym.templates.ways import word
from webarena_gym.templates.wikipedia import (
    FACTS,
    FILMS,
    decades,
    director,
    draw_extreme,
    open_article,
    open_list,
    prize_universities,
    years_between,
)

FIND_PROJECT = gitlab.SEARCH_BOX


def tabs(*sites: str) -> str:
    """Return the start URL that opens a tab for each site.

    >>> tabs("map", "wikipedia")
    '__MAP__ |AND| __WIKIPEDIA__'
    """
    return " |AND| ".join(f"__{site.upper()}__" for site in sites)


def turn_to(index: int, thought: str = "") -> Step:
    """Return the step that switches to a tab by its index."""
    return Step(Action(Kind.SWITCH_TAB, argument=str(index)), thought)


def place_named(world: t.Sampler, name: str) -> t.Row:
    """Return the row of a place on the map by its name. Raises NothingToDraw."""
    return world.pick(PLACES + "SELECT * FROM places WHERE name = ?", name, site="map")


def address_on_map(world: t.Sampler, name: str) -> str:
    """Return the URL of the map's page of a place or town. Raises NothingToDraw."""
    return str(
        world.value(
            "SELECT 'place/' || place_id FROM place WHERE name = :name UNION ALL SELECT 'town/' || town_id FROM town WHERE name = :name",
            {"name": name},
            site="map",
        )
    )


def holds(column: str, required: Sequence[str], excluded: Sequence[str]) -> tuple[str, list[str]]:
    """Return two SQL expressions, with their parameters: the numbers of required and of excluded texts that a column contains.

    >>> holds("body", ["a", "b"], [])
    ('(SELECT count(*) FROM (VALUES (?), (?)) WHERE instr(body, column1) > 0), 0', ['a', 'b'])
    """

    def amount(texts: Sequence[str]) -> str:
        values = ", ".join(["(?)"] * len(texts))
        return f"(SELECT count(*) FROM (VALUES {values}) WHERE instr({column}, column1) > 0)" if texts else "0"

    return f"{amount(required)}, {amount(excluded)}", [*required, *excluded]


def is_clear(required: Sequence[str], excluded: Sequence[str]) -> bool:
    """Return True if no excluded text is part of a required one.

    >>> is_clear(["Too loud"], ["Loud"]), is_clear(["Too loud"], ["loud"])
    (True, False)
    """
    return not any(other in text for other in excluded for text in required)


def without_ties(rows: Sequence[t.Row], count: int, key: str) -> bool:
    """Return True if the first `count` rows differ from the rest in the column by which all are sorted."""
    values: list[Any] = [row[key] for row in rows[: count + 1]]
    return len(values) == count + 1 and values[-1] != values[-2]


def list_post(world: t.Sampler, forum: str, title: str, required: Sequence[str], excluded: Sequence[str]) -> dict[str, Any]:
    """Return a check that there is exactly one new post, by the current user, in a forum, with the required texts; the episode ends at it."""
    last = world.value("SELECT max(submission_id) FROM submission", site="reddit")
    condition, parameters = holds("s.body", required, excluded)
    return t.all_of(
        t.at_url(f"__REDDIT__/f/{forum}/{last + 1}/{slug(title)}"),
        t.state(
            f"""SELECT f.name, s.user_id, s.title, {condition} FROM submission s JOIN forum f USING (forum_id)
            WHERE s.submission_id > ? AND s.state = 'visible' ORDER BY s.submission_id""",
            *parameters,
            last,
            expected=[[forum, ME, title, len(required), 0]],
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
    ]


def project_url(row: t.Row) -> str:
    """Return the URL of a project in the browser."""
    return f"{URLS['__GITLAB__']}/{row['full_path']}"


def subject(description: str) -> str:
    """Return the subject of a project, from the end of its description."""
    return " ".join(description.split()[-2:])


def project_name(world: t.Sampler, *ends: str) -> str:
    """Draw a name that no project has."""
    return f"{word(world).lower()}-{world.rng.choice(ends)}"


def new_readme(world: t.Sampler, name: str, required: Sequence[str], excluded: Sequence[str]) -> dict[str, Any]:
    """Return a check that there is one new project of the current user, with a name, whose README contains the required texts only."""
    condition, parameters = holds("f.content", required, excluded)
    return t.state(
        f"""SELECT p.name, p.owner_id, f.path, {condition}
        FROM project p LEFT JOIN branch b ON b.project_id = p.project_id AND b.name = p.default_branch
            LEFT JOIN file f ON f.branch_id = b.branch_id
        WHERE p.project_id > ? ORDER BY p.project_id, f.path""",
        *parameters,
        world.value("SELECT max(project_id) FROM project"),
        expected=[[name, CODER, "README.md", len(required), 0]],
        site="gitlab",
    )


PRIZES = "label = 'Award' AND kind NOT IN ('film', 'novel', 'album')"
WINNERS = FACTS + f"SELECT title FROM facts WHERE {PRIZES} AND target = :prize"
TITLES = SAID + "SELECT title FROM said WHERE product_id = :product_id"


def bullets(*lines: str) -> str:
    """Return a list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def make_project(name: str, *lines: str) -> list[Step]:
    """Return the steps that create a project with a README of these lines."""
    return [
        t.click("New project"),
        t.click("Create blank project"),
        t.type_text("Project name", name),
        t.click("Initialize repository with a README", "I write the README myself."),
        t.click("Create project"),
        t.click("New file"),
        t.type_text("File name", "README.md"),
        t.type_text("File content", bullets(*lines)),
        t.click("Commit changes"),
    ]


MAPPED = tuple(kind for kind in KINDS if kind != "concert hall")  # of which the encyclopedia measures something


def two_parks(world: t.Sampler, town: t.Row) -> list[tuple[t.Row, float, Route]]:
    """Return the two parks nearest to a town, with the straight-line distances and the drives there. Raises NothingToDraw."""
    net = roads(world)
    middle = net.crossing(town["node_id"])
    parks = [
        (row, metres_between(net.point(middle), net.point(spot(row))), net.route(BICYCLE, middle, spot(row)))
        for row in places(world, "category = 'national park'")
    ]
    best, second = sorted(parks, key=lambda park: park[1])[:2]
    t.skip_if(
        second[1] < MARGIN * best[1]
        or any(best[2].metres * MARGIN > way.metres for row, _, way in parks if row is not best[0]),
        "a park that is nearer than all others",
    )
    return [best, second]


SETTLED = (
    CUSTOMER_NAMES
    + """SELECT * FROM people p WHERE city IS NOT NULL AND
    (SELECT count(*) FROM customer_address a WHERE a.customer_id = p.customer_id) = 1 ORDER BY customer_id"""
)
"""The customers with one address."""


def town(world: t.Sampler, name: str) -> t.Row:
    """Return the row of a town on the map by its name. Raises NothingToDraw."""
    return world.pick(PLACES + "SELECT * FROM towns WHERE name = ?", name)


def customer_route(world: t.Sampler) -> t.Draw:
    """Return a task to open the route to a customer and to answer with its duration."""
    customer = world.pick(SETTLED, site="shopping_admin")
    goal = town(world, customer["city"])
    start = world.pick(PLACES + "SELECT * FROM towns WHERE name != ? ORDER BY town_id", goal["name"])
    net = roads(world)
    ends = net.crossing(start["node_id"]), net.crossing(goal["node_id"])
    drive, ride = (net.route(mode, *ends).minutes for mode in (CAR, BICYCLE))
    return t.Draw(
        start_url=tabs("map", "shopping_admin"),
        slots={"start": start["name"], "customer": customer["name"]},
        eval=t.all_of(
            shows_route(start["name"], goal["name"], CAR),
            t.with_form(t.answer(fuzzy_match=duration(drive)), about=[goal["name"]]),
        ),
        solution=[
            turn_to(1),
            *open_customer(customer["name"], "Addresses"),
            turn_to(0, f"The address is in {goal['name']}."),
            *open_route(start["name"], goal["name"], CAR),
            t.end_task(duration(drive)),
        ],
        wrong_answers=other_times(drive, ride),
    )


LINES = "length(trim(f.content, char(10))) - length(replace(trim(f.content, char(10)), char(10), '')) + 1"
FOLDERS = ("news", "reading", "inbox", "links", "digest")


def address(row: t.Row) -> str:
    """Return the URL of a post's thread in the browser."""
    return thread_url(row).replace("__REDDIT__", URLS["__REDDIT__"])


def addresses(rows: Sequence[t.Row]) -> list[str]:
    """Return the URLs of the threads of posts."""
    return [address(row) for row in rows]


def mark(row: t.Row) -> str:
    """Return the part of the URL that identifies a post."""
    return f"/f/{row['forum']}/{row['submission_id']}/"


def a_forum(world: t.Sampler) -> str:
    """Draw the name of a forum that is not a prefix of another one."""
    query = """SELECT name FROM forum f WHERE NOT EXISTS (
        SELECT 1 FROM forum o WHERE o.name != f.name AND instr(lower(o.name), lower(f.name)) = 1) ORDER BY name"""
    return str(world.pick(query, site="reddit")["name"])


def forum_address(name: str) -> str:
    """Return the URL of a forum in the browser."""
    return f"{URLS['__REDDIT__']}/f/{name}"


def marks(world: t.Sampler, required: Sequence[t.Row]) -> tuple[list[str], list[str]]:
    """Return the parts of URLs that identify some posts, and those that identify all other posts of the forum."""
    entries = [mark(row) for row in required]
    return entries, [
        item
        for item in map(mark, world.rows(POSTS + "SELECT * FROM posts ORDER BY submission_id", site="reddit"))
        if item not in entries
    ]


def look_up(posts: Sequence[t.Row]) -> list[Step]:
    """Return the steps that open each of these posts from a list, to read its URL, and go back."""
    return [step for row in posts for step in (t.click(row["title"]), t.back(f"Its address is {address(row)}."))]


def posts_of(world: t.Sampler, order: str) -> list[t.Row]:
    """Return the posts of a forum without equal titles, in a given order."""
    forum = world.pick(
        POSTS
        + "SELECT forum FROM posts GROUP BY forum HAVING count(*) > 6 AND count(DISTINCT title) = count(*) ORDER BY forum",
        site="reddit",
    )["forum"]
    return world.rows(POSTS + f"SELECT * FROM posts WHERE forum = ? ORDER BY {order}", forum, site="reddit")


MAX_EXCLUDED = 1_000
"""Number of texts that a check of a file excludes; a forum of a large world has thousands of posts."""


def file_lists(world: t.Sampler, row: t.Row, path: str, required: Sequence[str], excluded: Sequence[str]) -> dict[str, Any]:
    """Return a check that there is one new file in a project with the required texts, each on its own line, and no excluded one.

    The number of lines excludes other texts on lines of their own, so that the first `MAX_EXCLUDED` texts are enough.
    """
    condition, parameters = holds("f.content", required, excluded[:MAX_EXCLUDED])
    before = world.value("SELECT count(*) FROM file WHERE branch_id = ?", row["trunk_id"])
    return t.state(
        f"""SELECT {condition}, {LINES}, (SELECT count(*) FROM file o WHERE o.branch_id = f.branch_id) FROM file f
            WHERE f.branch_id = ? AND f.path = ?""",
        *parameters,
        row["trunk_id"],
        path,
        expected=[[len(required), 0, len(required), before + 1]],
        site="gitlab",
    )


def project_and_folder(world: t.Sampler) -> tuple[t.Row, str]:
    """Draw a project of the current user and a name that none of its folders has."""
    project = world.pick(PROJECTS + "SELECT * FROM mine WHERE trunk_id IS NOT NULL ORDER BY project_id")
    folder = world.rng.choice(FOLDERS)
    t.skip_if(
        world.rows(
            "SELECT path FROM file WHERE branch_id = ? AND path LIKE ? ORDER BY path", project["trunk_id"], f"{folder}%"
        ),
        "a folder that is not there yet",
    )
    return project, folder


def company(world: t.Sampler, brand: str) -> t.Row:
    """Return the company of a brand, with its town and the year of its foundation. Raises NothingToDraw."""
    query = f"""{FACTS}SELECT a.title AS alias, h.title, h.target AS town, CAST(f.number AS INTEGER) AS founded,
            (SELECT title FROM article o WHERE o.kind = 'town' AND o.title != h.target ORDER BY o.title LIMIT 1) AS another_town
        FROM alias a JOIN facts h USING (article_id) JOIN facts f USING (article_id)
        WHERE a.title = ? AND h.kind = 'company' AND h.label = 'Headquarters' AND f.label = 'Founded'"""
    return world.pick(query, brand, site="wikipedia")


def by_age(one: t.Row, two: t.Row) -> list[t.Row]:
    """Return two companies, the older one first."""
    return sorted((one, two), key=lambda maker: int(maker["founded"]))
