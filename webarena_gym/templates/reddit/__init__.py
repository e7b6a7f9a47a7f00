"""The forum: queries of its templates, paths of solutions, and checks of posts, comments, votes and messages."""

from collections.abc import Iterable, Sequence
from typing import Any

from webarena_gym.sites.prose.grammar import enumerate_items
from webarena_gym.sites.reddit.queries import PERIODS, SORTS, WITH_PERIOD
from webarena_gym.sites.reddit.world_posts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import along, my_name, turn_pages, word

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
    """Return the URL of a post's thread."""
    return f"__REDDIT__/f/{row['forum']}/{row['submission_id']}/{row['slug']}"


def open_forum(name: str, *orders: str) -> list[Step]:
    """Return the steps to a forum's list of posts; `orders` are the labels of the links that sort it."""
    return [t.click("Forums"), t.search("Find forums", name), t.click(name), *map(t.click, orders)]


def open_rules(name: str) -> list[Step]:
    """Return the steps to the sidebar of a forum."""
    return [*open_forum(name), t.hover("Moderators", "The rules stand in the sidebar.")]


def open_best(name: str) -> list[Step]:
    """Return the steps to a forum's posts sorted by score of all time."""
    return open_forum(name, "Top", "All time")


def open_post(title: str) -> list[Step]:
    """Return the steps to a post's thread."""
    return [t.search("Search query", title), t.click(title)]


def turn_thread(world: t.Sampler, row: t.Row, comment_id: int | None = None) -> list[Step]:
    """Return the steps from the first page of a thread to the page with a comment, by default to the last page.

    A page holds so many first comments, each with all the answers below it.
    """
    query = "SELECT * FROM comment WHERE submission_id = ? AND state = 'visible' ORDER BY up - down DESC, comment_id"
    comments = world.rows(query, row["submission_id"])
    parents = {comment["comment_id"]: comment["parent_id"] for comment in comments}
    firsts = [comment for comment, parent in parents.items() if parent is None]
    first = firsts[-1] if comment_id is None else comment_id
    while parents[first] is not None:
        first = parents[first]
    return turn_pages(world, firsts.index(first), PER_PAGE, "There are more comments on the next page.")


def open_user(name: str) -> list[Step]:
    """Return the steps to a user's profile."""
    return [t.search("Search query", name), t.click(name)]


USER = "SELECT email, password, biography, night_mode, front_page FROM user WHERE user_id = ?"
ONE_LINE = "trim(replace(replace(replace(body, char(10), ' '), '  ', ' '), '  ', ' '))"
"""A text without line breaks, so that the number of blank lines between paragraphs does not matter."""


def line_appears(world: t.Sampler, row: t.Row, line: str) -> dict[str, Any]:
    """Return a check that a post of the current user has a new last line, and that the user's other posts are unchanged."""
    query = (
        f"SELECT submission_id, {ONE_LINE} FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id"
    )
    posts = world.rows(query.replace(ONE_LINE, "body"))
    bodies = {post["submission_id"]: " ".join(post["body"].split()) for post in posts}
    bodies[row["submission_id"]] = f"{bodies[row['submission_id']]} {line}".strip()
    return t.state(query, expected=[list(item) for item in sorted(bodies.items())])


OWN_POSTS = f"SELECT submission_id FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id"
HIDDEN = f"SELECT submission_id FROM hidden_submission WHERE user_id = {ME} ORDER BY submission_id"
OWN_COMMENTS = f"SELECT comment_id FROM comment WHERE user_id = {ME} AND state = 'visible' ORDER BY comment_id"


SUBSCRIPTIONS = f"SELECT forum_id FROM subscription WHERE user_id = {ME} ORDER BY forum_id"
NOT_SUBSCRIBED = (
    f"SELECT f.* FROM forum f JOIN forum_tag USING (forum_id) WHERE tag = :tag AND forum_id NOT IN ({SUBSCRIPTIONS})"
)
OWN = f"SELECT f.* FROM forum f JOIN moderator m USING (forum_id) WHERE m.user_id = {ME} ORDER BY forum_id"
TOPICS = ("New", "Classic", "Questions", "Pictures", "Meetups", "Reviews", "Trades", "Random", "Events", "Recipes")


def forum_appears(world: t.Sampler, name: str, title: str, description: str, topics: Sequence[str]) -> dict[str, Any]:
    """Return a check that there is one new forum, whose sidebar names the topics."""
    conditions = " AND ".join(["sidebar LIKE ?"] * len(topics))
    query = f"SELECT name, title, description, {conditions} FROM forum WHERE forum_id > ? ORDER BY forum_id"
    last = world.value("SELECT max(forum_id) FROM forum")
    return t.state(query, *(f"%{topic}%" for topic in topics), last, expected=[[name, title, description, 1]])


ORDINALS = ("first", "second", "third", "fourth", "fifth")
CHOICES = {1: "Upvote", -1: "Downvote"}
UNVOTED = f"""user_id != {ME}
    AND submission_id NOT IN (SELECT submission_id FROM submission_vote WHERE user_id = {ME})"""


def vote_becomes(world: t.Sampler, row: t.Row, choice: int) -> dict[str, Any]:
    """Return a check of the current user's vote on a post; 0 is no vote."""
    return votes_are(world, {row["submission_id"]: choice})


def votes_are(world: t.Sampler, changes: dict[int, int], upvoted: Iterable[int] = ()) -> dict[str, Any]:
    """Return a check that votes on posts have changed as in `changes`, by post (0 is no vote), and votes on comments as in `upvoted`.

    What its author has deleted does not count: whoever writes something votes for it, and takes that back with it.
    """
    on_posts, on_comments = (
        f"""SELECT {what}_id, choice FROM {what}_vote JOIN {what} USING ({what}_id)
        WHERE {what}_vote.user_id = {ME} AND state != 'deleted' ORDER BY {what}_id"""
        for what in ("submission", "comment")
    )
    votes = {row["submission_id"]: row["choice"] for row in world.rows(on_posts)} | changes
    return t.all_of(
        t.state(on_posts, expected=[[post, choice] for post, choice in sorted(votes.items()) if choice]),
        t.state(on_comments, expected=sorted([list(row) for row in world.rows(on_comments)] + [[item, 1] for item in upvoted])),
    )


def all_voted(world: t.Sampler, rows: Sequence[t.Row], choice: int) -> dict[str, Any]:
    """Return a check that the votes on these posts have a value, and that other votes are unchanged."""
    return votes_are(world, {row["submission_id"]: choice for row in rows})


def vote_on_each(world: t.Sampler, rows: Sequence[t.Row], choice: int) -> list[Step]:
    """Return the steps over the pages of a list of posts that vote on some of them."""
    return along(world, [(row["place"], [t.click(f"{CHOICES[choice]} {row['title']}")]) for row in rows], PER_PAGE)


def forums_tagged(world: t.Sampler, tag: str) -> list[str]:
    """Return the forums with a tag. Raises NothingToDraw."""
    names = [
        row["name"]
        for row in world.rows("SELECT name FROM forum JOIN forum_tag USING (forum_id) WHERE tag = ? ORDER BY name", tag)
    ]
    t.skip_if(not names, tag)
    return names


def new_post(
    world: t.Sampler, forums: Sequence[str], title: str, body: str = "", *, url: str = "", image_id: int = 0
) -> dict[str, Any]:
    """Return a check that there is exactly one new post, in one of the forums, and that the episode ends at it."""
    last = world.value("SELECT max(submission_id) FROM submission")
    places = [f"__REDDIT__/f/{forum}/{last + 1}/{slug(title)}" for forum in forums]
    fits = f"f.name IN ({', '.join('?' * len(forums))})"
    query = f"""
        SELECT s.title, s.body, coalesce(s.url, ''), coalesce(s.image_id, 0), {fits}
        FROM submission s JOIN forum f USING (forum_id)
        WHERE s.submission_id > ? AND s.state = 'visible' ORDER BY s.submission_id
    """
    return t.all_of(t.at_url(" |OR| ".join(places)), t.state(query, *forums, last, expected=[[title, body, url, image_id, 1]]))


def write_post(forum: str, title: str, body: str = "") -> list[Step]:
    """Return the steps from any page to a new text post."""
    texts = [t.type_text("Body", body)] if body else []
    return [*open_forum(forum), t.click("Submit"), t.type_text("Title", title), *texts, t.click("Create submission")]


def submit(forum: str, title: str, body: str = "") -> list[Step]:
    """Return the steps from any page to a new text post, and the end of the task."""
    return [*write_post(forum, title, body), t.end_task("", f"It is posted to {forum}.")]


MONTHS = ("March", "May", "July", "September", "November")


OPEN_POSTS = POSTS + f"SELECT * FROM posts WHERE NOT is_locked AND user_id != {ME} "


def remark(world: t.Sampler) -> str:
    """Draw the text of a new comment."""
    return str(world.rng.choice(TEXTS["comments"]).format(word=word(world)))


def new_comment(world: t.Sampler, row: t.Row, parent_id: int | None, text: str) -> dict[str, Any]:
    """Return a check that there is exactly one new comment, and that the episode ends at its thread."""
    return t.all_of(
        t.at_url(thread_url(row)),
        t.state(
            "SELECT submission_id, parent_id, user_id, body FROM comment WHERE comment_id > ? AND state = 'visible' ORDER BY 1",
            world.value("SELECT max(comment_id) FROM comment"),
            expected=[[row["submission_id"], parent_id, ME, text]],
        ),
    )


TEN = 10
NO_TIE = "(SELECT count(*) FROM posts other WHERE other.forum_id = p.forum_id AND other.score = p.score) = 1"


def best_of(world: t.Sampler, forum_id: int) -> list[t.Row]:
    """Return the ten best posts of a forum. Raises NothingToDraw for a tie at the tenth place."""
    rows = world.rows(POSTS + "SELECT * FROM posts WHERE forum_id = ? ORDER BY best LIMIT ?", forum_id, TEN + 1)
    t.skip_if(len(rows) <= TEN or rows[-1]["score"] == rows[-2]["score"], "the ten best")
    return rows[:TEN]


def mentions(rows: list[t.Row]) -> list[tuple[t.Row, str, str]]:
    """Return each post that contains a name which no other post has, with the name and a user who wrote another post."""
    return [
        (row, " ".join(pair), next(other["author"] for other in rows if other["author"] != row["author"]))
        for row in rows
        for pair in _names(row["body"])
        if sum(" ".join(pair) in f"{other['title']} {other['body']}" for other in rows) == 1
    ]


def _names(text: str) -> list[tuple[str, ...]]:
    """Return the names of two or more words within the sentences of a text."""
    names: list[tuple[str, ...]] = []
    for sentence in text.replace("\n", " ").split(". "):
        words = sentence.strip(" .?!").split()
        run: list[str] = []
        for item in [*words[1:], ""]:
            if item[:1].isupper() and item != "I":
                run.append(item.strip(",;:"))
            else:
                names += [tuple(run)] if len(run) > 1 else []
                run = []
    return names


def read_to(rows: list[t.Row], target: t.Row) -> list[Step]:
    """Return the steps that open the text posts of a list, one after the other, up to one of them."""
    before = [step for row in rows[: rows.index(target)] for step in (t.click(row["title"]), t.back("Nothing about it here."))]
    return [*before, t.click(target["title"])]


SPANS = {"week": "the past week", "month": "the past month", "year": "the past year", "all": "all time"}


UNREAD = f"{ME} IN (t.sender_id, t.receiver_id) AND m.sender_id != {ME} AND NOT m.is_read"
SHOWN = "c.user_id = :user_id AND c.state = 'visible' AND s.state = 'visible'"
NEWEST_AUTHORS = (
    POSTS
    + """SELECT p.*, (SELECT count(*) FROM comment c JOIN submission s USING (submission_id)
        WHERE c.user_id = p.user_id AND c.state = 'visible' AND s.state = 'visible' AND c.down > c.up) AS found
    FROM posts p WHERE newest = 1"""
)
"""The latest post of each forum, and how many comments of its author have a negative score."""
OF_TAG = """SELECT f.name, (SELECT count(*) FROM subscription x WHERE x.forum_id = f.forum_id) AS subscribers
    FROM forum f JOIN forum_tag USING (forum_id) WHERE tag = :tag ORDER BY subscribers DESC, f.name"""
SPEAKERS = """SELECT u.username, c.up - c.down AS score FROM comment c JOIN user u USING (user_id)
    WHERE submission_id = :submission_id AND state = 'visible' ORDER BY score DESC, comment_id"""
BLOCKED = f"SELECT blocked_id FROM user_block WHERE user_id = {ME} ORDER BY blocked_id"


def block_list(world: t.Sampler, user_id: int, *, is_added: bool) -> dict[str, Any]:
    """Return a check of the current user's block list, with or without one user, and otherwise unchanged."""
    others = [row[0] for row in world.rows(BLOCKED) if row[0] != user_id]
    return t.state(BLOCKED, expected=[[item] for item in sorted([*others, user_id] if is_added else others)])


def private_message(world: t.Sampler) -> str:
    """Draw the text of a private message."""
    return str(world.rng.choice(TEXTS["messages"]).format(word=word(world)))


def new_message(world: t.Sampler, other_id: int, text: str) -> dict[str, Any]:
    """Return a check that there is exactly one new message, by the current user, in a conversation with a user."""
    return t.state(
        """SELECT m.sender_id, m.body, ? IN (t.sender_id, t.receiver_id) FROM message m JOIN message_thread t USING (thread_id)
        WHERE m.message_id > ? ORDER BY m.message_id""",
        other_id,
        world.value("SELECT max(message_id) FROM message"),
        expected=[[ME, text, 1]],
    )
