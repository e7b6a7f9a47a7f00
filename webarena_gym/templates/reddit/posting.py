"""Posts and comments to write. The place of a new post follows from its number and title."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.reddit.world_posts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit import ME, POSTS, TEXTS, open_best, open_forum, thread_url, word
from webarena_gym.templates.ways import instruction


def forums_tagged(world: t.Sampler, tag: str) -> list[str]:
    """Return the forums with a tag. Raises NothingToDraw."""
    names = [
        row["name"]
        for row in world.rows("SELECT name FROM forum JOIN forum_tag USING (forum_id) WHERE tag = ? ORDER BY name", tag)
    ]
    t.skip_if(not names, tag)
    return names


def posted(
    world: t.Sampler, forums: Sequence[str], title: str, body: str = "", *, url: str = "", image_id: int = 0
) -> dict[str, Any]:
    """Exactly one new post must be there, in one of the forums, and the episode must end at it."""
    last = world.value("SELECT max(submission_id) FROM submission")
    places = [f"__REDDIT__/f/{forum}/{last + 1}/{slug(title)}" for forum in forums]
    fits = f"f.name IN ({', '.join('?' * len(forums))})"
    query = f"""
        SELECT s.title, s.body, coalesce(s.url, ''), coalesce(s.image_id, 0), {fits}
        FROM submission s JOIN forum f USING (forum_id)
        WHERE s.submission_id > ? AND s.state = 'visible' ORDER BY s.submission_id
    """
    return t.all_of(t.at_url(" |OR| ".join(places)), t.state(query, *forums, last, expected=[[title, body, url, image_id, 1]]))


def submit(forum: str, title: str, body: str = "") -> list[Step]:
    """Return the steps from anywhere to a new post of text."""
    texts = [t.type_text("Body", body)] if body else []
    return [
        *open_forum(forum),
        t.click("Submit"),
        t.type_text("Title", title),
        *texts,
        t.click("Create submission"),
        t.leave("", f"It is posted to {forum}."),
    ]


def ask_in_forum_on_topic(world: t.Sampler) -> t.Draw:
    """Ask a question where a topic is talked about."""
    tag = world.rng.choice(list(TEXTS["topics"]))
    forums = forums_tagged(world, tag)
    question = f"Has anybody here been to the {word(world)} fair?"
    return t.Draw(
        slots={"topic": TEXTS["topics"][tag], "question": question},
        eval=posted(world, forums, question),
        solution=submit(world.rng.choice(forums), question),
    )


def ask_where_answered(world: t.Sampler) -> t.Draw:
    """Ask a question in any forum that fits it."""
    tag = world.rng.choice(list(TEXTS["questions"]))
    forums = forums_tagged(world, tag)
    question = TEXTS["questions"][tag].format(word=word(world))
    return t.Draw(
        slots={"question": question}, eval=posted(world, forums, question), solution=submit(world.rng.choice(forums), question)
    )


def ask_in_town(world: t.Sampler) -> t.Draw:
    """Ask a question in the forum of a town."""
    town = world.pick("SELECT name FROM forum JOIN forum_tag USING (forum_id) WHERE tag = 'cities' ORDER BY name")["name"]
    question = f"Does bus {world.rng.randint(2, 98)} still stop at the {word(world)} bridge?"
    return t.Draw(
        slots={"town": town, "question": question}, eval=posted(world, [town], question), solution=submit(town, question)
    )


def book_review(world: t.Sampler) -> t.Draw:
    """Review a book."""
    pattern = world.rng.choice(("The {} Letters", "A Winter in {}", "Daughters of {}", "The Last {}"))
    book, remark = pattern.format(word(world)), world.rng.choice(TEXTS["remarks"])
    return t.Draw(
        slots={"book": book, "remark": remark},
        eval=posted(world, ["books"], book, remark),
        solution=submit("books", book, remark),
    )


def relationship_advice(world: t.Sampler) -> t.Draw:
    """Ask people about love."""
    issue = world.rng.choice(list(TEXTS["issues"]))
    title, text = f"Need advice about {issue}", TEXTS["issues"][issue].format(word=word(world))
    forums = forums_tagged(world, "relationships")
    return t.Draw(
        slots={"issue": issue, "title": title, "text": text},
        eval=posted(world, forums, title, text),
        solution=submit(world.rng.choice(forums), title, text),
    )


def discussion(world: t.Sampler) -> t.Draw:
    """Ask for opinions on a topic."""
    tag = world.rng.choice(list(TEXTS["discussions"]))
    topic = TEXTS["discussions"][tag].format(word=word(world))
    forums = forums_tagged(world, tag)
    slots = {"topic": f"{topic[0].upper()}{topic[1:]}"}
    return t.Draw(
        slots=slots,
        eval=posted(world, forums, slots["topic"], "your opinion"),
        solution=submit(world.rng.choice(forums), slots["topic"], "your opinion"),
    )


def recommendation(world: t.Sampler, product: str) -> tuple[str, str]:
    """Return title and text of a question for a product within a budget."""
    return f"Looking for {product} below ${world.rng.randrange(40, 400, 10)}", f"Something like my old {word(world)} would do."


def recommendation_in_forum(world: t.Sampler) -> t.Draw:
    """Ask what to buy, in a forum that is named."""
    forum = world.rng.choice(list(PRODUCTS))
    title, text = recommendation(world, PRODUCTS[forum][0])
    return t.Draw(
        slots={"forum": forum, "title": title, "text": text},
        eval=posted(world, [forum], title, text),
        solution=submit(forum, title, text),
    )


def recommendation_anywhere(world: t.Sampler) -> t.Draw:
    """Ask what to buy, in any forum that knows about it."""
    forum = world.rng.choice(list(PRODUCTS))
    product, tag = PRODUCTS[forum]
    forums = sorted({*forums_tagged(world, tag), forum})
    title, text = recommendation(world, product)
    return t.Draw(
        slots={"product": product, "title": title, "text": text},
        eval=posted(world, forums, title, text),
        solution=submit(forum, title, text),
    )


def meetup(world: t.Sampler) -> t.Draw:
    """Announce a meeting."""
    forum = world.pick(
        "SELECT name FROM forum JOIN forum_tag USING (forum_id) WHERE tag != 'cities' GROUP BY name ORDER BY name"
    )
    date = f"{world.rng.choice(MONTHS)} {world.rng.randint(1, 28)}"
    slots = {"forum": forum["name"], "interest": word(world), "date": date}
    title = f"Virtual meetup for {slots['interest']} enthusiasts on {date}"
    return t.Draw(slots=slots, eval=posted(world, [forum["name"]], title), solution=submit(forum["name"], title))


def tool_for_field(world: t.Sampler) -> t.Draw:
    """Ask what a new tool is good for."""
    forum = world.rng.choice(list(TEXTS["fields"]))
    tool = world.rng.choice(("machine learning", "speech recognition", "a chat program")) + f" such as {word(world)}"
    text = f"Who of you has tried it, and what came of it in {world.rng.randint(2, 9)} months?"
    slots = {"forum": forum, "tool": tool, "field": TEXTS["fields"][forum], "text": text}
    title = f"What can {tool} do for {TEXTS['fields'][forum]}?"
    return t.Draw(slots=slots, eval=posted(world, [forum], title, text), solution=submit(forum, title, text))


PRODUCTS = {
    "headphones": ("noise-cancelling headphones", "audio"),
    "running": ("running shoes", "fitness"),
    "DIY": ("a starter toolkit", "diy"),
    "consoles": ("a used game console", "consoles"),
    "gadgets": ("a pocket projector", "gadgets"),
    "gardening": ("a quiet lawn mower", "nature"),
    "Music": ("a first electric piano", "music"),
    "pets": ("a travel box for cats", "animals"),
    "books": ("an e-reader", "reading"),
}
"""Things to buy, by a forum that knows about them, and the tag of the forums that do."""

MONTHS = ("March", "May", "July", "September", "November")


OPEN_POSTS = POSTS + f"SELECT * FROM posts WHERE NOT is_locked AND user_id != {ME} "


def remark(world: t.Sampler) -> str:
    """Return something to say."""
    return str(world.rng.choice(TEXTS["comments"]).format(word=word(world)))


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
