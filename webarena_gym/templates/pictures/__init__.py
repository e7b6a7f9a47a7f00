"""Tasks that require vision: their answers are only in the pictures of `sites.kit.pictures`, not in any text.

Rows and requested values are drawn before the pictures of the rows are read. With other pictures the same goal therefore has a different
answer, by which the audit proves that no text contains the answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webarena_gym.sites.kit.pictures import COLOURS, MONTHS, SHAPES, THINGS, facts
from webarena_gym.sites.layout import page_sizes
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import pictured
from webarena_gym.tasks.task import Step
from webarena_gym.templates import shopping_admin
from webarena_gym.templates.gitlab import PLANNING, PROJECTS, find_project, new_rows, open_by_stars, open_project, project_label
from webarena_gym.templates.gitlab.projects import STARRED, starred_with
from webarena_gym.templates.map import MINE, open_place, saved_become, some_place
from webarena_gym.templates.reddit import ME, PER_PAGE, POSTS, UNVOTED, open_forum, open_post, open_user, vote_becomes
from webarena_gym.templates.shopping import GOODS, WISHES, cart_holds, open_category, open_product, show_all
from webarena_gym.templates.shopping_admin import PRODUCTS, a_product, becomes, open_customer
from webarena_gym.templates.wikipedia import WATCHED, open_article

open_in_admin = shopping_admin.open_product
PAINTS, FORMS = ", ".join(COLOURS), ", ".join(SHAPES)
FEWEST = 7  # among which one is to be found
_CHOICES = {
    "box": list(COLOURS), "ribbon": list(COLOURS), "sticker": list(SHAPES), "shape": list(SHAPES), "emblem": list(SHAPES),
    "thing": list(THINGS),
}  # fmt: skip


def picture_facts(world: t.Sampler, site: str, kind: str, number: int) -> Mapping[str, Any]:
    """Return the facts that the picture of a row shows, by name."""
    return facts(world.connection(site), kind, number)


def the_one(world: t.Sampler, site: str, kind: str, key: str, rows: Sequence[t.Row], fact: str) -> dict[str, Any]:
    """Draw a value of a fact, and return the only row whose picture shows it, with the fact. Raises NothingToDraw."""
    t.skip_if(len(rows) < FEWEST, "so many that one is not guessed")
    target = world.rng.choice(_CHOICES[fact])
    candidates = [row for row in rows if picture_facts(world, site, kind, row[key])[fact] == target]
    t.skip_if(len(candidates) != 1, f"a single {target}")
    return {**dict(candidates[0]), fact: target}


def shelf(world: t.Sampler) -> list[t.Row]:
    """Draw a category whose products are all in stock and without options, and return its products."""
    category_id = world.pick(GOODS + "SELECT DISTINCT category_id FROM goods ORDER BY category_id")["category_id"]
    rows = world.rows(GOODS + "SELECT * FROM goods WHERE category_id = ? ORDER BY product_id", category_id)
    t.skip_if(len(rows) < FEWEST, "a full category")
    return rows


def open_shelf(world: t.Sampler, row: t.Row, count: int) -> list[Step]:
    """Return the steps to a category with all of its products on one page."""
    return [*open_category(row), *show_all(world, count)]


def wrapped_product(world: t.Sampler, fact: str) -> dict[str, Any]:
    """Return the only product of a category whose wrapping shows a fact, with the path to its page. Raises NothingToDraw."""
    rows = shelf(world)
    row = the_one(world, "shopping", "wrapping", "product_id", rows, fact)
    t.skip_if(not (row["is_salable"] and row["is_plain"]), "a product that can be bought as it is")
    return {**row, "to_it": [*open_shelf(world, rows[0], len(rows)), t.click(row["name"])]}


def in_boxes(world: t.Sampler) -> dict[str, Any]:
    """Draw three colours, and return the number of products of a category in boxes of each colour."""
    rows, colours = shelf(world), world.rng.sample(list(COLOURS), 3)
    boxes = [picture_facts(world, "shopping", "wrapping", row["product_id"])["box"] for row in rows]
    return {
        "category": rows[0]["category"],
        "colours": colours,
        "counts": [boxes.count(colour) for colour in colours],
        "pictures": [f"wrapping/{row['product_id']}" for row in rows],
        "to_list": open_shelf(world, rows[0], len(rows)),
    }


def wish_boxes(world: t.Sampler) -> t.Draw:
    """Return a task to add all products of a category in boxes of one colour to the wish list."""
    rows, colour = shelf(world), world.rng.choice(list(COLOURS))
    candidates = [row for row in rows if picture_facts(world, "shopping", "wrapping", row["product_id"])["box"] == colour]
    t.skip_if(not 2 <= len(candidates) <= 4, "a few boxes")
    wishes = [tuple(row) for row in world.rows(WISHES)]
    t.skip_if({row["sku"] for row in candidates} & {sku for sku, _ in wishes}, "products that are not wished for")
    check = t.state(WISHES, expected=[list(row) for row in sorted([*wishes, *((row["sku"], 1) for row in candidates)])])
    steps = [step for row in candidates for step in (*open_product(row["name"]), t.click("Add to Wish List"))]
    way = [*open_shelf(world, rows[0], len(rows)), *steps, t.end_task("", "All of them are on the list.")]
    return t.Draw({"colour": an(colour), "category": rows[0]["category"]}, check, way)


def links(world: t.Sampler, condition: str = "1") -> dict[str, Any]:
    """Return the only link of a forum with a photo of a thing, among the first page of the newest links. Raises NothingToDraw."""
    condition = f"{condition} AND url IS NOT NULL AND newest <= {page_sizes(PER_PAGE)[0]}"
    forum = world.pick(
        POSTS + f"SELECT forum FROM posts WHERE {condition} GROUP BY forum HAVING count(*) >= {FEWEST} ORDER BY forum"
    )
    rows = world.rows(POSTS + f"SELECT * FROM posts WHERE {condition} AND forum = ? ORDER BY newest", forum["forum"])
    shown = world.rows(POSTS + "SELECT * FROM posts WHERE url IS NOT NULL AND forum = ?", forum["forum"])
    match = the_one(world, "reddit", "photo", "submission_id", rows, "thing")
    visible = [picture_facts(world, "reddit", "photo", row["submission_id"])["thing"] for row in shown]
    t.skip_if(
        visible.count(match["thing"]) > 1 or "?" in match["title"], "a single photo of it, and a title that is no question"
    )
    return {**match, "others": [row["title"] for row in rows if row["title"] != match["title"]][:2]}


def commenters(world: t.Sampler) -> dict[str, Any]:
    """Draw a thread of one page, and return the only commenter with a badge of a shape. Raises NothingToDraw."""
    post = world.pick(POSTS + f"SELECT * FROM posts WHERE comments BETWEEN {FEWEST + 1} AND 15 ORDER BY submission_id")
    query = """SELECT DISTINCT c.user_id, u.username FROM comment c JOIN user u USING (user_id)
        WHERE submission_id = ? AND state = 'visible' ORDER BY 1"""
    rows = world.rows(query, post["submission_id"])
    match = the_one(world, "reddit", "badge", "user_id", rows, "shape")
    others = [row["username"] for row in rows if row["username"] != match["username"]][:2]
    return {**match, "title": post["title"], "others": others}


def with_logo(world: t.Sampler) -> dict[str, Any]:
    """Return the only one of the ten most starred projects with a logo of a shape. Raises NothingToDraw."""
    rows = world.rows(
        PROJECTS + "SELECT * FROM project_seen WHERE visibility != 'private' ORDER BY stars DESC, project_id LIMIT 11"
    )
    t.skip_if(rows[9]["stars"] == rows[10]["stars"], "ten projects that are the most starred")
    match = the_one(world, "gitlab", "badge", "project_id", rows[:10], "shape")
    t.skip_if(match["project_id"] in {row[0] for row in world.rows(STARRED)}, "a star to give")
    return {**match, "label": project_label(match), "to_list": open_by_stars()}  # type: ignore[arg-type]


def an(word: str) -> str:
    """Return a word with its article.

    >>> an("arrow"), an("cat")
    ('an arrow', 'a cat')
    """
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def on_to(project: t.Row) -> list[Step]:
    """Return the steps from one project to another."""
    return find_project(project)


def issue_titled(world: t.Sampler, row: t.Row, title: str) -> dict[str, Any]:
    """Return a check that the only new issue is in a project and has a title."""
    return new_rows(world, "issue", "project_id, title, state", [[row["project_id"], title, "opened"]])


def add_one(numbers: Sequence[int]) -> list[int]:
    """Return the numbers, each increased by one."""
    return [number + 1 for number in numbers]


def other_months(*months: str) -> list[str]:
    """Return the month after each of these months."""
    return [MONTHS[(MONTHS.index(month) + 1) % 12] for month in months]


def watch_flag(world: t.Sampler) -> t.Draw:
    """Return a task to watch the only one of seven towns whose flag shows an emblem."""
    towns = world.rows(f"SELECT * FROM article WHERE kind = 'town' AND title NOT IN ({WATCHED}) ORDER BY article_id")
    towns = world.rng.sample(towns, FEWEST)
    match = the_one(world, "wikipedia", "flag", "article_id", towns, "emblem")
    names = [town["title"] for town in towns]
    looks = [step for name in names[: names.index(match["title"]) + 1] for step in open_article(name)]
    watched = sorted([row[0] for row in world.rows(WATCHED)] + [match["title"]])
    check = t.state(WATCHED, expected=[[title] for title in watched])
    way = [*looks, t.click("Add to watchlist", "This is the flag."), t.end_task("", "It is on the watchlist.")]
    return t.Draw({"towns": f"{', '.join(names[:-1])} and {names[-1]}", "emblem": an(match["emblem"])}, check, way)
