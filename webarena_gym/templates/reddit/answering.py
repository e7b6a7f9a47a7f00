"""Threads to answer in."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.templates.reddit.routes import ME, PER_PAGE, POSTS, open_best, open_forum, thread_url, word
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction

OPEN_POSTS = POSTS + f"SELECT * FROM posts WHERE NOT is_locked AND user_id != {ME} "
REMARKS = (
    "???",
    "Thanks, {word} was a great tip.",
    "I saw the same thing in {word}.",
    "Sounds like what my aunt from {word} used to say.",
    "Could you tell us more about {word}?",
    "Agreed, and {word} proves it.",
    "I would not trust anybody from {word} on this.",
)


def remark(world: t.Sampler) -> str:
    """Return something to say."""
    return str(world.rng.choice(REMARKS).format(word=word(world)))


def answered(world: t.Sampler, row: t.Row, parent_id: int | None, text: str) -> dict[str, Any]:
    """Exactly one new comment must be there, and the episode must end at its thread."""
    return t.all_of(
        t.at_url(thread_url(row)),
        t.state(
            "SELECT submission_id, parent_id, user_id, body FROM comment WHERE comment_id > ? AND state = 'visible' ORDER BY 1",
            world.value("SELECT max(comment_id) FROM comment"),
            expected=[[row["submission_id"], parent_id, ME, text]],
        ),
    )


comment_here = Change(
    OPEN_POSTS + "ORDER BY submission_id",
    lambda world, row: answered(world, row, None, row["text"]),
    way=[t.type_text("Comment", "{text}"), t.click("Post")],
    seen="The comment stands below the post.",
    start_url=lambda _, row: thread_url(row),
    also={"text": lambda world, _row: remark(world)},
)


def comment_in_forum(world: t.Sampler) -> t.Draw:
    """Comment on a post that must be found by its place in a list."""
    place, rank, orders = world.rng.choice((("newest", "newest", ("New",)), ("highest rated", "best", ("Top", "All time"))))
    row = world.pick(
        OPEN_POSTS
        + f"""AND {rank} = 1 AND (SELECT count(*) FROM posts other WHERE other.forum_id = posts.forum_id
            AND other.score = posts.score) = 1 ORDER BY submission_id"""
    )
    text = remark(world)
    slots = {"place": place, "forum": row["forum"], "text": text}
    return instruction(
        slots,
        answered(world, row, None, text),
        way=[
            *open_forum(row["forum"], *orders),
            t.click(row["title"], "It stands first."),
            t.type_text("Comment", text),
            t.click("Post"),
        ],
        seen="The comment is there.",
    )


answer_comment = Change(
    lambda world: world.pick(
        POSTS
        + f"""SELECT p.*, c.comment_id, u.username AS speaker FROM posts p JOIN comment c USING (submission_id)
        JOIN user u ON u.user_id = c.user_id
        WHERE NOT p.is_locked AND c.state = 'visible' AND c.user_id NOT IN ({ME}, p.user_id) AND p.comments BETWEEN 2 AND ?
        GROUP BY submission_id, c.user_id HAVING count(*) = 1 ORDER BY c.comment_id""",
        PER_PAGE // 3,  # so few that every layout shows them on one page
    ),
    lambda world, row: answered(world, row, row["comment_id"], row["text"]),
    way=[t.click("Reply to {speaker}"), t.type_text("Reply to {speaker}'s comment", "{text}"), t.click("Post")],
    seen="The answer stands below the comment.",
    start_url=lambda _, row: thread_url(row),
    also={"text": lambda world, _row: remark(world)},
    slots={"author": "{speaker}"},
)


def open_and_subscribe(world: t.Sampler) -> t.Draw:
    """End at a thread, as a new subscriber of its forum."""
    row = world.pick(
        POSTS
        + f"""SELECT * FROM posts p WHERE best = 1 AND forum_id NOT IN (SELECT forum_id FROM subscription WHERE user_id = {ME})
        AND (SELECT count(*) FROM posts other WHERE other.forum_id = p.forum_id AND other.score = p.score) = 1
        ORDER BY submission_id"""
    )
    mine = [item[0] for item in world.rows(f"SELECT forum_id FROM subscription WHERE user_id = {ME}")]
    return instruction(
        {"forum": row["forum"]},
        t.all_of(
            t.at_url(thread_url(row)),
            t.state(
                f"SELECT forum_id FROM subscription WHERE user_id = {ME} ORDER BY forum_id",
                expected=[[forum_id] for forum_id in sorted([*mine, row["forum_id"]])],
            ),
        ),
        way=[
            *open_best(row["forum"]),
            t.click(row["title"], f"{row['score']} points are the most."),
            t.click(f"Subscribe to {row['forum']}"),
        ],
        seen="This is the thread.",
    )
