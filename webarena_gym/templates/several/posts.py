"""Posts in the forum and projects on the code host that hold what is on other sites."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.catalogue import URLS
from webarena_gym.sites.country.names import WORDS_PER_WORLD, invented
from webarena_gym.sites.reddit.world_posts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import ME as CODER
from webarena_gym.templates.gitlab import PROJECTS, entry
from webarena_gym.templates.gitlab import SEARCH_BOX as FIND_PROJECT
from webarena_gym.templates.reddit import ME, forums_tagged, open_forum, posted
from webarena_gym.templates.reddit import write_post as write_post
from webarena_gym.templates.several import holds, tabs, turn_to
from webarena_gym.templates.shopping import PER_PAGE as PER_PAGE
from webarena_gym.templates.shopping import SAID
from webarena_gym.templates.shopping import open_reviews as open_reviews
from webarena_gym.templates.wikipedia import FACTS, FILMS

WITH_CODE = ("reddit", "gitlab")


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
    ]


def project_url(row: t.Row) -> str:
    """Return the address of a project as the browser shows it."""
    return f"{URLS['__GITLAB__']}/{row['full_path']}"


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
    forum = world.rng.choice(forums)
    return t.Draw(
        start_url=tabs(*WITH_CODE),
        slots={"topic": topic, "title": title},
        eval=posted(world, forums, title, url=project_url(best)),
        solution=[
            turn_to(1),
            t.search(FIND_PROJECT, topic),
            t.click(entry(f"{best['namespace_name']} / {best['name']}"), f"It has {best['stars']} stars."),
            turn_to(0, f"The address is {project_url(best)}."),
            *share(forum, title, project_url(best)),
            t.leave("", f"The link is shared in {forum}."),
        ],
    )


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


def years_between(years: Sequence[int]) -> list[int]:
    """Return the years between the first and the last one that are not among them."""
    return [year for year in range(years[0] + 1, years[-1]) if year not in years]


PRIZES = "label = 'Award' AND kind NOT IN ('film', 'novel', 'album')"
WINNERS = FACTS + f"SELECT title FROM facts WHERE {PRIZES} AND target = :prize"
TITLES = SAID + "SELECT title FROM said WHERE product_id = :product_id"


def bullets(*lines: str) -> str:
    """Return a list as people write it."""
    return "\n".join(f"- {line}" for line in lines)


def make_project(name: str, *lines: str) -> list[Step]:
    """Return the steps that make a project with a README of these lines."""
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


def director(world: t.Sampler, condition: str = "count(*) > 2") -> str:
    """Draw a director whose films meet a condition. Raises NothingToDraw."""
    query = FILMS + f"SELECT director FROM films GROUP BY director HAVING {condition} ORDER BY director"
    return str(world.pick(query, site="wikipedia")["director"])
