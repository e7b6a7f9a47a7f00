"""Things to post, into a forum that is named or one that fits. The place of a new post follows from its number and title."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.reddit.texts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit.routes import POSTS, open_forum, open_post, word
from webarena_gym.templates.reddit.subjects import DISCUSSIONS, FIELDS, ISSUES, MONTHS, PRODUCTS, QUESTIONS, REMARKS, TOPICS
from webarena_gym.templates.rows import Change


def forums_tagged(world: t.Sampler, tag: str) -> list[str]:
    """Return the forums with a tag. Raises NothingToDraw."""
    names = [
        row["name"]
        for row in world.rows("SELECT name FROM forum JOIN forum_tag USING (forum_id) WHERE tag = ? ORDER BY name", tag)
    ]
    if not names:
        raise t.NothingToDraw(tag)
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
    tag = world.rng.choice(list(TOPICS))
    forums = forums_tagged(world, tag)
    question = f"Has anybody here been to the {word(world)} fair?"
    return t.Draw(
        slots={"topic": TOPICS[tag], "question": question},
        eval=posted(world, forums, question),
        solution=submit(world.rng.choice(forums), question),
    )


def ask_where_answered(world: t.Sampler) -> t.Draw:
    """Ask a question in any forum that fits it."""
    tag = world.rng.choice(list(QUESTIONS))
    forums = forums_tagged(world, tag)
    question = QUESTIONS[tag].format(word=word(world))
    return t.Draw(
        slots={"question": question},
        eval=posted(world, forums, question),
        solution=submit(world.rng.choice(forums), question),
    )


def ask_in_town(world: t.Sampler) -> t.Draw:
    """Ask a question in the forum of a town."""
    town = world.pick("SELECT name FROM forum JOIN forum_tag USING (forum_id) WHERE tag = 'cities' ORDER BY name")["name"]
    question = f"Does bus {world.rng.randint(2, 98)} still stop at the {word(world)} bridge?"
    return t.Draw(
        slots={"town": town, "question": question},
        eval=posted(world, [town], question),
        solution=submit(town, question),
    )


def book_review(world: t.Sampler) -> t.Draw:
    """Review a book."""
    pattern = world.rng.choice(("The {} Letters", "A Winter in {}", "Daughters of {}", "The Last {}"))
    book, remark = pattern.format(word(world)), world.rng.choice(REMARKS)
    return t.Draw(
        slots={"book": book, "remark": remark},
        eval=posted(world, ["books"], book, remark),
        solution=submit("books", book, remark),
    )


repost_image = Change(
    POSTS + "SELECT * FROM posts WHERE image_id IS NOT NULL ORDER BY submission_id",
    lambda world, row: posted(world, [row["other"]["name"]], row["title"], f"from /f/{row['forum']}", image_id=row["image_id"]),
    way=[
        *open_post("{title}"),
        t.click("Submit", "The address of the picture is /submission_images/{image_id}.svg."),
        t.type_text("Image address", "/submission_images/{image_id}.svg"),
        t.type_text("Title", "{title}"),
        t.type_text("Body", "from /f/{forum}"),
        t.choose("Forum", "{other[name]}"),
        t.click("Create submission"),
    ],
    seen="The picture is in {other[name]}.",
    start_url="__REDDIT__/f/{forum}",
    other=(
        "SELECT name FROM forum WHERE forum_id != ? ORDER BY name",
        "forum_id",
    ),
    slots={"forum": "{other[name]}", "note": "from /f/{forum}"},
)


def relationship_advice(world: t.Sampler) -> t.Draw:
    """Ask people about love."""
    issue = world.rng.choice(list(ISSUES))
    title, text = f"Need advice about {issue}", ISSUES[issue].format(word=word(world))
    forums = forums_tagged(world, "relationships")
    return t.Draw(
        slots={"issue": issue, "title": title, "text": text},
        eval=posted(world, forums, title, text),
        solution=submit(world.rng.choice(forums), title, text),
    )


def discussion(world: t.Sampler) -> t.Draw:
    """Ask for opinions on a topic."""
    tag = world.rng.choice(list(DISCUSSIONS))
    topic = DISCUSSIONS[tag].format(word=word(world))
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
    forum = world.rng.choice(list(FIELDS))
    tool = world.rng.choice(("machine learning", "speech recognition", "a chat program")) + f" such as {word(world)}"
    text = f"Who of you has tried it, and what came of it in {world.rng.randint(2, 9)} months?"
    slots = {"forum": forum, "tool": tool, "field": FIELDS[forum], "text": text}
    title = f"What can {tool} do for {FIELDS[forum]}?"
    return t.Draw(slots=slots, eval=posted(world, [forum], title, text), solution=submit(forum, title, text))


share_link = Change(
    "SELECT name FROM forum ORDER BY name",
    lambda world, row: posted(world, [row["name"]], f"A good read about {row['new_name']}", url=row["url"]),
    way=[
        *open_forum("{name}"),
        t.click("Submit"),
        t.type_text("URL", "{url}"),
        t.type_text("Title", "A good read about {new_name}"),
        t.click("Create submission"),
    ],
    seen="The link is shared.",
    also={
        "new_name": lambda world, _row: word(world),
        "url": lambda world, row: f"https://{row['new_name'].lower()}.example/news/{world.rng.randint(100, 999)}",
    },
    slots={"forum": "{name}", "title": "A good read about {new_name}"},
)


share_again = Change(
    POSTS + "SELECT * FROM posts WHERE url IS NOT NULL ORDER BY submission_id",
    lambda world, row: posted(world, [row["other"]["name"]], row["title"], url=row["url"]),
    way=[
        *open_post("{title}"),
        t.click("Submit", "The link is {url}."),
        t.type_text("URL", "{url}"),
        t.type_text("Title", "{title}"),
        t.choose("Forum", "{other[name]}"),
        t.click("Create submission"),
    ],
    seen="The link is in {other[name]}.",
    other=(
        "SELECT name FROM forum WHERE forum_id != ? ORDER BY name",
        "forum_id",
    ),
    slots={"forum": "{other[name]}"},
)
