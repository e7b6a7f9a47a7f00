"""Posts in the forum about what is on other sites."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.catalogue import URLS
from webarena_gym.sites.reddit.texts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.routes import PROJECTS
from webarena_gym.templates.gitlab.ways import SEARCH_BOX, entry
from webarena_gym.templates.reddit.posting import forums_tagged, posted, submit
from webarena_gym.templates.reddit.routes import ME, open_forum
from webarena_gym.templates.several.routes import holds, is_clear, tabs, turn_to
from webarena_gym.templates.shopping.opinions import SAID
from webarena_gym.templates.shopping.routes import PER_PAGE, open_reviews
from webarena_gym.templates.ways import turn_pages
from webarena_gym.templates.wikipedia.routes import FILMS, open_article

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
    if len(found) > 1 and found[0]["stars"] == found[1]["stars"]:
        raise t.NothingToDraw("a project that stands out")
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
    if not is_clear(wanted, unwanted):
        raise t.NothingToDraw("titles that tell the reviews apart")
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
