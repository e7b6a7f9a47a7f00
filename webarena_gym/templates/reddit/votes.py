"""Votes to give and to take back."""

from collections.abc import Iterable
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit.routes import ME, PER_PAGE, POSTS, open_best, open_forum, open_post, open_user
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction, turn_pages

ORDINALS = ("first", "second", "third", "fourth", "fifth")
CHOICES = {1: "Upvote", -1: "Downvote"}
UNVOTED = f"""user_id != {ME}
    AND submission_id NOT IN (SELECT submission_id FROM submission_vote WHERE user_id = {ME})"""


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


def vote_newest(world: t.Sampler) -> t.Draw:
    """Vote on the latest post of a forum."""
    choice = world.rng.choice(list(CHOICES))
    row = world.pick(POSTS + f"SELECT * FROM posts WHERE newest = 1 AND {UNVOTED} ORDER BY submission_id")
    return instruction(
        {"choice": CHOICES[choice], "forum": row["forum"]},
        votes_are(world, {row["submission_id"]: choice}),
        way=[*open_forum(row["forum"], "New"), t.click(f"{CHOICES[choice]} {row['title']}", "It stands first.")],
        seen="The vote is counted.",
    )


def vote_best(world: t.Sampler) -> t.Draw:
    """Vote on one of the best posts of a forum."""
    choice = world.rng.choice(list(CHOICES))
    row = world.pick(
        POSTS
        + f"""SELECT * FROM posts p WHERE best <= 5 AND {UNVOTED}
        AND (SELECT count(*) FROM posts other WHERE other.forum_id = p.forum_id AND other.score = p.score) = 1
        ORDER BY submission_id"""
    )
    return instruction(
        {"choice": CHOICES[choice], "place": ORDINALS[row["best"] - 1], "forum": row["forum"]},
        votes_are(world, {row["submission_id"]: choice}),
        way=[*open_best(row["forum"]), t.click(f"{CHOICES[choice]} {row['title']}", f"It is number {row['best']}.")],
        seen="The vote is counted.",
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
    if len(rows) < 2:
        raise t.NothingToDraw(picked["author"])
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


def like_all(world: t.Sampler) -> t.Draw:
    """Vote for everything that somebody has posted to a forum."""
    return vote_on_all(world, 1)


def dislike_all(world: t.Sampler) -> t.Draw:
    """Vote against everything that somebody has posted to a forum."""
    return vote_on_all(world, -1)


retract = Change(
    POSTS
    + f"""SELECT p.*, v.choice FROM posts p JOIN submission_vote v USING (submission_id)
        WHERE v.user_id = {ME} AND p.user_id != {ME} ORDER BY submission_id""",
    lambda world, row: votes_are(world, {row["submission_id"]: 0}),
    way=lambda _, row: [*open_post(row["title"]), t.click(f"Retract {CHOICES[row['choice']].lower()} of {row['title']}")],
    seen="The vote is gone.",
)
