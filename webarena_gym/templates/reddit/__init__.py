"""The forum: the posts that its templates draw from, and the ways through it."""

from collections.abc import Sequence

from webarena_gym.sites.country.names import WORDS_PER_WORLD, invented
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import turn_pages

TEXTS = read_texts("reddit")

ME = 1  # the user who is signed in when a task starts
PER_PAGE = 25  # rows of a list in the plain layout

POSTS = f"""
WITH posts AS (
    SELECT s.*, s.up - s.down AS score, f.name AS forum, u.username AS author,
        (SELECT count(*) FROM comment c WHERE c.submission_id = s.submission_id AND c.state = 'visible') AS comments,
        row_number() OVER (PARTITION BY s.forum_id ORDER BY s.created_at DESC, s.submission_id DESC) AS newest,
        row_number() OVER (PARTITION BY s.forum_id ORDER BY s.up - s.down DESC, s.submission_id DESC) AS best,
        count(*) OVER (PARTITION BY s.forum_id) AS in_forum
    FROM submission s JOIN forum f USING (forum_id) JOIN user u USING (user_id)
    WHERE s.state = 'visible' AND s.submission_id NOT IN (SELECT submission_id FROM hidden_submission WHERE user_id = {ME})
        AND s.user_id NOT IN (SELECT blocked_id FROM user_block WHERE user_id = {ME})
) """
"""Query of the posts that I can see, with each post's rank in its forum: 1 is the newest, and the best of all time."""


def thread_url(row: t.Row) -> str:
    """Return the address of a post's thread."""
    return f"__REDDIT__/f/{row['forum']}/{row['submission_id']}/{row['slug']}"


def word(world: t.Sampler) -> str:
    """Return an invented word that no other world has."""
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    return invented(seed, world.rng.randrange(WORDS_PER_WORLD), "title")


def my_name(world: t.Sampler) -> str:
    """Return my username."""
    return str(world.value(f"SELECT username FROM user WHERE user_id = {ME}"))


def open_forum(name: str, *orders: str) -> list[Step]:
    """Return the steps to a forum's list of submissions, in the order that the links `orders` lead to."""
    return [t.click("Forums"), t.search("Find forums", name), t.click(name), *map(t.click, orders)]


def open_rules(name: str) -> list[Step]:
    """Return the steps to a forum, and to its sidebar below the list of submissions."""
    return [*open_forum(name), t.hover("Moderators", "The rules stand in the sidebar.")]


def open_best(name: str) -> list[Step]:
    """Return the steps to the best submissions of all time of a forum."""
    return open_forum(name, "Top", "All time")


def open_post(title: str) -> list[Step]:
    """Return the steps to a post's thread."""
    return [t.search("Search query", title), t.click(title)]


def turn_thread(world: t.Sampler, row: t.Row, comment_id: int | None = None) -> list[Step]:
    """Return the steps from the first page of a post's thread to the one with a comment, by default to the last page.

    A page holds so many first comments, each with all the answers below it.
    """
    comments = world.rows(
        "SELECT * FROM comment WHERE submission_id = ? AND state = 'visible' ORDER BY up - down DESC, comment_id",
        row["submission_id"],
    )
    parents = {comment["comment_id"]: comment["parent_id"] for comment in comments}
    firsts = [comment for comment, parent in parents.items() if parent is None]
    first = firsts[-1] if comment_id is None else comment_id
    while parents[first] is not None:
        first = parents[first]
    return turn_pages(world, firsts.index(first), PER_PAGE, "There are more comments on the next page.")


def open_user(name: str) -> list[Step]:
    """Return the steps to somebody's profile."""
    return [t.search("Search query", name), t.click(name)]


def comma_list(items: Sequence[str]) -> str:
    """Return items as a sentence names them.

    >>> comma_list(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else items[0]
