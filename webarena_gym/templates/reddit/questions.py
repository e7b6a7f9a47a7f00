"""Questions about posts, people and forums; pages to open; messages to people, and blocking them."""

from typing import Any

from webarena_gym.sites.reddit.queries import PERIODS as PERIODS
from webarena_gym.sites.reddit.queries import SORTS as SORTS
from webarena_gym.sites.reddit.queries import WITH_PERIOD as WITH_PERIOD
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit import (
    ME,
    PER_PAGE,
    POSTS,
    TEXTS,
    my_name,
    open_best,
    open_forum,
    open_post,
    open_user,
    thread_url,
    turn_thread,
    word,
)
from webarena_gym.templates.ways import impossible, instruction, question, turn_pages, visit

TEN = 10
NO_TIE = "(SELECT count(*) FROM posts other WHERE other.forum_id = p.forum_id AND other.score = p.score) = 1"


def best_of(world: t.Sampler, forum_id: int) -> list[t.Row]:
    """Return the ten best posts of a forum. Raises NothingToDraw when a tie decides who is the tenth."""
    rows = world.rows(POSTS + "SELECT * FROM posts WHERE forum_id = ? ORDER BY best LIMIT ?", forum_id, TEN + 1)
    t.skip_if(len(rows) <= TEN or rows[-1]["score"] == rows[-2]["score"], "the ten best")
    return rows[:TEN]


def unpopular_comments(world: t.Sampler) -> t.Draw:
    """Count the comments with negative scores of the author of the newest post."""
    row = world.pick(POSTS + "SELECT * FROM posts WHERE newest = 1 ORDER BY submission_id")
    comments = world.rows(
        """SELECT c.* FROM comment c JOIN submission s USING (submission_id)
        WHERE c.user_id = ? AND c.state = 'visible' AND s.state = 'visible' ORDER BY c.created_at DESC, c.comment_id DESC""",
        row["user_id"],
    )
    found = sum(comment["down"] > comment["up"] for comment in comments)
    t.skip_if(not found, row["author"])
    return question(
        {"forum": row["forum"]},
        str(found),
        way=[
            *open_forum(row["forum"], "New"),
            t.click(row["author"], f"The newest post is by {row['author']}."),
            t.click(f"Comments ({len(comments)})"),
            *turn_pages(world, max(len(comments) - 1, 0), PER_PAGE, "I count the negative scores of each page."),
        ],
        seen=f"{found} comments have a negative score.",
        wrong=[str(found + 1)],
        about=[row["author"]],
    )


def mention(world: t.Sampler) -> t.Draw:
    """Find the one good post that speaks of something."""
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    rows = best_of(world, forum["forum_id"])
    found = [
        (row, " ".join(pair))
        for row in rows
        for pair in _names(row["body"])
        if sum(" ".join(pair) in f"{other['title']} {other['body']}" for other in rows) == 1
    ]
    t.skip_if(not found, forum["name"])
    row, name = world.rng.choice(found)
    return question(
        {"forum": forum["name"], "name": name},
        row["author"],
        way=[*open_best(forum["name"]), *_reading(rows, rows.index(row))],
        seen=f"{row['author']} mentions {name}.",
        wrong=[next(other["author"] for other in rows if other["author"] != row["author"])],
    )


def _names(text: str) -> list[tuple[str, ...]]:
    """Return the names of two words or more that a text has inside of its sentences."""
    names: list[tuple[str, ...]] = []
    for sentence in text.replace("\n", " ").split(". "):
        words = sentence.strip(" .?!").split()
        run: list[str] = []
        for each in [*words[1:], ""]:
            if each[:1].isupper() and each != "I":
                run.append(each.strip(",;:"))
            else:
                names += [tuple(run)] if len(run) > 1 else []
                run = []
    return names


def _reading(rows: list[t.Row], place: int) -> list[Step]:
    """Return the steps that open posts of a list that have a text, one after the other, up to one of them."""
    steps: list[Step] = []
    for row in rows[: place + 1]:
        steps += [t.click(row["title"])] if row is rows[place] else [t.click(row["title"]), t.back("Nothing about it here.")]
    return steps


def mention_of_nothing(world: t.Sampler) -> t.Draw:
    """Look for something that nobody has written about."""
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    rows, name = best_of(world, forum["forum_id"]), word(world)
    t.skip_if(any(name in f"{row['title']} {row['body']}" for row in rows), name)
    return impossible(
        {"forum": forum["name"], "name": f"The {name} Chronicles"},
        says("No submission and no comment has all of these words"),
        way=[t.search("Search query", f"The {name} Chronicles")],
        seen="Nobody has written about it at all.",
        wrong=[rows[0]["author"]],
    )


def favourite_forum(world: t.Sampler) -> t.Draw:
    """Count somebody's posts by forum."""
    user = world.pick(
        """SELECT u.user_id, u.username, count(*) AS posts FROM user u JOIN submission s USING (user_id)
        WHERE s.state = 'visible' GROUP BY u.user_id HAVING count(*) > 2 ORDER BY u.user_id"""
    )
    rows = world.rows(
        """SELECT f.name, count(*) AS posts FROM submission s JOIN forum f USING (forum_id)
        WHERE s.user_id = ? AND s.state = 'visible' GROUP BY forum_id ORDER BY posts DESC, f.name""",
        user["user_id"],
    )
    t.skip_if(len(rows) < 2 or rows[0]["posts"] == rows[1]["posts"], user["username"])
    return question(
        {"user": user["username"]},
        rows[0]["name"],
        way=[
            *open_user(user["username"]),
            t.click(f"Submissions ({user['posts']})"),
            *turn_pages(world, user["posts"] - 1, PER_PAGE, "I count by forum."),
        ],
        seen=f"{rows[0]['posts']} of {user['posts']} are in {rows[0]['name']}.",
        wrong=[rows[1]["name"]],
    )


def largest_of_tag(world: t.Sampler) -> t.Draw:
    """Compare the forums of a tag."""
    # Forums in the lead of several tags are left out, so that no two draws have the same answer.
    tag = world.pick(
        """WITH sized AS (
            SELECT tag, f.name, rank() OVER (PARTITION BY tag ORDER BY
                (SELECT count(*) FROM subscription x WHERE x.forum_id = f.forum_id) DESC) AS place
            FROM forum f JOIN forum_tag USING (forum_id)
        )
        SELECT tag FROM sized WHERE place = 1 AND tag IN (SELECT tag FROM forum_tag GROUP BY tag HAVING count(*) > 1)
        GROUP BY name HAVING count(*) = 1 ORDER BY tag"""
    )["tag"]
    rows = world.rows(
        """SELECT f.name, (SELECT count(*) FROM subscription x WHERE x.forum_id = f.forum_id) AS subscribers
        FROM forum f JOIN forum_tag USING (forum_id) WHERE tag = ? ORDER BY subscribers DESC, f.name""",
        tag,
    )
    t.skip_if(rows[0]["subscribers"] == rows[1]["subscribers"], tag)
    return question(
        {"tag": tag},
        rows[0]["name"],
        way=[t.click("Tags"), t.click(tag)],
        seen=f"{rows[0]['name']} has {rows[0]['subscribers']} subscribers.",
        wrong=[row["name"] for row in rows[1:] if row["name"] != tag][:1],  # the tag may be named beside the forum
    )


def best_comment(world: t.Sampler) -> t.Draw:
    """Ask for the author of the best comment of a thread."""
    row = world.pick(POSTS + "SELECT * FROM posts WHERE comments BETWEEN 4 AND ? ORDER BY submission_id", PER_PAGE)
    rows = world.rows(
        """SELECT u.username, c.up - c.down AS score FROM comment c JOIN user u USING (user_id)
        WHERE submission_id = ? AND state = 'visible' ORDER BY score DESC, comment_id""",
        row["submission_id"],
    )
    others = [other["username"] for other in rows if other["username"] != rows[0]["username"]]
    t.skip_if(rows[0]["score"] == rows[1]["score"] or not others, row["title"])
    return question(
        {"title": row["title"]},
        rows[0]["username"],
        way=[*open_post(row["title"]), *turn_thread(world, row)],
        seen=f"It has {rows[0]['score']} points.",
        wrong=others[:1],
    )


SPANS = {"week": "the past week", "month": "the past month", "year": "the past year", "all": "all time"}


def extreme_post(world: t.Sampler) -> t.Draw:
    """Open the best or the worst post of a forum."""
    is_best = world.rng.choice((True, False))
    row = world.pick(
        POSTS
        + """SELECT * FROM posts p WHERE best = (CASE WHEN ? THEN 1 ELSE in_forum END)
        AND (SELECT count(*) FROM posts other WHERE other.forum_id = p.forum_id AND other.score = p.score) = 1
        ORDER BY submission_id""",
        is_best,
    )
    return visit(
        {"place": "most" if is_best else "fewest", "forum": row["forum"]},
        thread_url(row),
        way=[
            *open_best(row["forum"]),
            *turn_pages(world, row["best"] - 1, PER_PAGE, "The list goes on."),
            t.click(row["title"], f"{row['score']} points."),
        ],
        seen="This is the post.",
    )


def own_page(world: t.Sampler) -> t.Draw:
    """Open a page of my account."""
    name = my_name(world)
    place, path, steps = world.rng.choice(
        (
            ("block list", f"user/{name}/block_list", ("Block list",)),
            ("list of hidden submissions", f"user/{name}/hidden_submissions", ("Hidden submissions",)),
            ("account settings", f"user/{name}/account", ("Account settings",)),
            ("profile", f"user/{name}", ()),
        )
    )
    return visit({"place": place}, f"__REDDIT__/{path}", way=[t.click(name), *map(t.click, steps)], seen="Here it is.")


BLOCKED = f"SELECT blocked_id FROM user_block WHERE user_id = {ME} ORDER BY blocked_id"


def blocked(world: t.Sampler, user_id: int, *, is_added: bool) -> dict[str, Any]:
    """Those whom I have blocked must be the same, with or without one."""
    others = [row[0] for row in world.rows(BLOCKED) if row[0] != user_id]
    return t.state(BLOCKED, expected=[[each] for each in sorted([*others, user_id] if is_added else others)])


def private_message(world: t.Sampler) -> str:
    """Return something to say to one person."""
    return str(world.rng.choice(TEXTS["messages"]).format(word=word(world)))


def sent(world: t.Sampler, other_id: int, text: str) -> dict[str, Any]:
    """Exactly one new message must be there, of mine, in a conversation with that user."""
    return t.state(
        """SELECT m.sender_id, m.body, ? IN (t.sender_id, t.receiver_id) FROM message m JOIN message_thread t USING (thread_id)
        WHERE m.message_id > ? ORDER BY m.message_id""",
        other_id,
        world.value("SELECT max(message_id) FROM message"),
        expected=[[ME, text, 1]],
    )


def answer_message(world: t.Sampler) -> t.Draw:
    """Answer the one unread message."""
    row = world.pick(
        f"""SELECT u.* FROM message m JOIN message_thread t USING (thread_id) JOIN user u ON u.user_id = m.sender_id
        WHERE {ME} IN (t.sender_id, t.receiver_id) AND m.sender_id != {ME} AND NOT m.is_read
        GROUP BY u.user_id ORDER BY u.user_id"""
    )
    unread = world.value(
        f"""SELECT count(*) FROM message m JOIN message_thread t USING (thread_id)
        WHERE {ME} IN (t.sender_id, t.receiver_id) AND m.sender_id != {ME} AND NOT m.is_read"""
    )
    text = world.rng.choice(TEXTS["messages"]).format(word=word(world))
    return instruction(
        {"text": text},
        sent(world, row["user_id"], text),
        way=[
            t.click(f"Messages ({unread})"),
            t.click(f"Conversation with {row['username']}"),
            t.type_text("Message", text),
            t.click("Reply"),
        ],
        seen="The answer is sent.",
    )
