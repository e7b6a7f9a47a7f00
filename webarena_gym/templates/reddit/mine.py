"""My biography, settings, posts, comments, subscriptions, forum and votes, to be changed."""

from collections.abc import Iterable
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit import ME, PER_PAGE, POSTS, TEXTS, comma_list, open_post, open_user, word
from webarena_gym.templates.ways import instruction, turn_pages

USER = "SELECT email, password, biography, night_mode, front_page FROM user WHERE user_id = ?"
ONE_LINE = "trim(replace(replace(replace(body, char(10), ' '), '  ', ' '), '  ', ' '))"
"""A text without its line breaks, so that it does not matter how many stand between two paragraphs."""


def add_line(world: t.Sampler) -> t.Draw:
    """Add to a post of mine."""
    posts = world.rows(f"SELECT * FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id")
    row, line = world.rng.choice(posts), world.rng.choice(TEXTS["lines"]).format(word=word(world))
    bodies = {post["submission_id"]: " ".join(post["body"].split()) for post in posts}
    bodies[row["submission_id"]] = f"{bodies[row['submission_id']]} {line}".strip()
    return instruction(
        {"title": row["title"], "line": line},
        t.state(
            f"SELECT submission_id, {ONE_LINE} FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id",
            expected=[list(item) for item in sorted(bodies.items())],
        ),
        way=[
            *open_post(row["title"]),
            t.click("Edit"),
            t.type_text("Body", f"{row['body']}\n{line}".strip(), "The old text stays."),
            t.click("Save"),
        ],
        seen="The line is added.",
    )


OWN_POSTS = f"SELECT submission_id FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id"
HIDDEN = f"SELECT submission_id FROM hidden_submission WHERE user_id = {ME} ORDER BY submission_id"
OWN_COMMENTS = f"SELECT comment_id FROM comment WHERE user_id = {ME} AND state = 'visible' ORDER BY comment_id"


SUBSCRIPTIONS = f"SELECT forum_id FROM subscription WHERE user_id = {ME} ORDER BY forum_id"
NOT_SUBSCRIBED = (
    f"SELECT f.* FROM forum f JOIN forum_tag USING (forum_id) WHERE tag = :tag AND forum_id NOT IN ({SUBSCRIPTIONS})"
)
OWN = f"SELECT f.* FROM forum f JOIN moderator m USING (forum_id) WHERE m.user_id = {ME} ORDER BY forum_id"
TOPICS = ("New", "Classic", "Questions", "Pictures", "Meetups", "Reviews", "Trades", "Random", "Events", "Recipes")


def create_forum(world: t.Sampler) -> t.Draw:
    """Make a forum."""
    subject = word(world)
    topics = world.rng.sample(TOPICS, world.rng.randint(3, 5))
    name, title = f"{subject}_{world.rng.choice(('fans', 'club', 'talk'))}", f"Friends of {subject}"
    description = world.rng.choice(TEXTS["descriptions"]).format(word=subject)
    conditions = " AND ".join(["sidebar LIKE ?"] * len(topics))
    return instruction(
        {"name": name, "title": title, "description": description, "topics": comma_list(topics)},
        t.state(
            f"SELECT name, title, description, {conditions} FROM forum WHERE forum_id > ? ORDER BY forum_id",
            *(f"%{topic}%" for topic in topics),
            world.value("SELECT max(forum_id) FROM forum"),
            expected=[[name, title, description, 1]],
        ),
        way=[
            t.click("Create forum"),
            t.type_text("Name", name),
            t.type_text("Title", title),
            t.type_text("Description", description),
            t.type_text("Sidebar", "\n".join(topics)),
            t.click("Create forum"),
        ],
        seen="The forum is there.",
    )


ORDINALS = ("first", "second", "third", "fourth", "fifth")
CHOICES = {1: "Upvote", -1: "Downvote"}
UNVOTED = f"""user_id != {ME}
    AND submission_id NOT IN (SELECT submission_id FROM submission_vote WHERE user_id = {ME})"""


def vote_becomes(world: t.Sampler, row: t.Row, choice: int) -> dict[str, Any]:
    """My vote on one post must be this; 0 is no vote."""
    return votes_are(world, {row["submission_id"]: choice})


def votes_are(world: t.Sampler, changes: dict[int, int], upvoted: Iterable[int] = ()) -> dict[str, Any]:
    """My votes on posts must be what they were but for `changes`, by post; 0 is no vote. On comments, `upvoted` must be all that is new.

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
        t.state(on_comments, expected=sorted([list(row) for row in world.rows(on_comments)] + [[each, 1] for each in upvoted])),
    )


def vote_on_all(world: t.Sampler, choice: int) -> t.Draw:
    """Vote on everything that somebody has posted to a forum."""
    picked = world.pick(
        POSTS
        + f"""SELECT user_id, author, forum_id, forum FROM posts WHERE user_id != {ME}
        GROUP BY user_id, forum_id HAVING count(*) BETWEEN 2 AND 5 ORDER BY user_id, forum_id"""
    )
    written = world.rows(
        """SELECT s.*, v.choice, row_number() OVER (ORDER BY s.created_at DESC, s.submission_id DESC) - 1 AS place
        FROM submission s LEFT JOIN submission_vote v ON v.submission_id = s.submission_id AND v.user_id = ?
        WHERE s.user_id = ? AND s.state = 'visible' ORDER BY place""",
        ME,
        picked["user_id"],
    )
    rows = [row for row in written if row["forum_id"] == picked["forum_id"] and row["choice"] != choice]
    t.skip_if(len(rows) < 2, picked["author"])
    return instruction(
        {"author": picked["author"], "forum": picked["forum"]},
        votes_are(world, {row["submission_id"]: choice for row in rows}),
        way=[*open_user(picked["author"]), t.click(f"Submissions ({len(written)})"), *_votes(world, rows, CHOICES[choice])],
        seen=f"These are all {len(rows)}.",
    )


def _votes(world: t.Sampler, rows: list[t.Row], label: str) -> list[Step]:
    """Return the steps that vote on rows of a list, from its first page on."""
    steps: list[Step] = []
    turned = 0
    for row in rows:
        turns = turn_pages(world, row["place"], PER_PAGE, "There are more on the next page.")
        steps += [*turns[turned:], t.click(f"{label} {row['title']}")]
        turned = len(turns)
    return steps
