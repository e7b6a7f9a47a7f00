"""Things to post, into a forum that is named or one that fits. The place of a new post follows from its number and title."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.reddit.texts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit.routes import POSTS, open_forum, open_post, word
from webarena_gym.templates.reddit.subjects import DISCUSSIONS, FIELDS, ISSUES, MONTHS, PRODUCTS, QUESTIONS, REMARKS, TOPICS
from webarena_gym.templates.ways import instruction

TEMPLATES = t.Templates("reddit")


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


@TEMPLATES.define(
    'Find a forum on {topic} and post my question "{question}" there. The question is the title; leave the text empty.'
)
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


@TEMPLATES.define(
    'Post my question "{question}" in a forum where I am likely to get an answer. It is the title, with no text below.'
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


@TEMPLATES.define('I live in {town}. Post my question "{question}" as a title without text in the forum of my town.')
def ask_in_town(world: t.Sampler) -> t.Draw:
    """Ask a question in the forum of a town."""
    town = world.pick("SELECT name FROM forum JOIN forum_tag USING (forum_id) WHERE tag = 'cities' ORDER BY name")["name"]
    question = f"Does bus {world.rng.randint(2, 98)} still stop at the {word(world)} bridge?"
    return t.Draw(
        slots={"town": town, "question": question},
        eval=posted(world, [town], question),
        solution=submit(town, question),
    )


@TEMPLATES.define(
    'Post a review of what I read last, "{book}", in the forum books: the book is the title, and the text is "{remark}"'
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


@TEMPLATES.define(
    'Re-post the picture "{title}" from this forum to the forum {forum}, with the same title and the text "{note}"'
)
def repost_image(world: t.Sampler) -> t.Draw:
    """Post somebody's picture once more, elsewhere."""
    row = world.pick(POSTS + "SELECT * FROM posts WHERE image_id IS NOT NULL ORDER BY submission_id")
    forum = world.pick("SELECT name FROM forum WHERE forum_id != ? ORDER BY name", row["forum_id"])["name"]
    note = f"from /f/{row['forum']}"
    return t.Draw(
        start_url=f"__REDDIT__/f/{row['forum']}",
        slots={"title": row["title"], "forum": forum, "note": note},
        eval=posted(world, [forum], row["title"], note, image_id=row["image_id"]),
        solution=[
            *open_post(row["title"]),
            t.click("Submit", f"The address of the picture is /submission_images/{row['image_id']}.svg."),
            t.type_text("Image address", f"/submission_images/{row['image_id']}.svg"),
            t.type_text("Title", row["title"]),
            t.type_text("Body", note),
            t.choose("Forum", forum),
            t.click("Create submission"),
            t.leave("", f"The picture is in {forum}."),
        ],
    )


@TEMPLATES.define('Ask for advice about {issue} in a forum on relationships. Title: "{title}" Text: "{text}"')
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


@TEMPLATES.define(
    'Start a discussion with the title "{topic}" in a forum where it belongs; the text just asks for "your opinion"'
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


@TEMPLATES.define('Ask in the forum {forum} for recommendations: the title is "{title}", the text "{text}"')
def recommendation_in_forum(world: t.Sampler) -> t.Draw:
    """Ask what to buy, in a forum that is named."""
    forum = world.rng.choice(list(PRODUCTS))
    title, text = recommendation(world, PRODUCTS[forum][0])
    return t.Draw(
        slots={"forum": forum, "title": title, "text": text},
        eval=posted(world, [forum], title, text),
        solution=submit(forum, title, text),
    )


@TEMPLATES.define(
    'Ask in the forum that fits best which product to buy, namely {product}: the title is "{title}", the text "{text}"'
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


@TEMPLATES.define(
    "Post a notice in the forum {forum}, as a title without text: Virtual meetup for {interest} enthusiasts on {date}"
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


@TEMPLATES.define('Post to the forum {forum} under the title "What can {tool} do for {field}?" and with the text "{text}"')
def tool_for_field(world: t.Sampler) -> t.Draw:
    """Ask what a new tool is good for."""
    forum = world.rng.choice(list(FIELDS))
    tool = world.rng.choice(("machine learning", "speech recognition", "a chat program")) + f" such as {word(world)}"
    text = f"Who of you has tried it, and what came of it in {world.rng.randint(2, 9)} months?"
    slots = {"forum": forum, "tool": tool, "field": FIELDS[forum], "text": text}
    title = f"What can {tool} do for {FIELDS[forum]}?"
    return t.Draw(slots=slots, eval=posted(world, [forum], title, text), solution=submit(forum, title, text))


@TEMPLATES.define('Share the link {url} in the forum {forum} under the title "{title}"')
def share_link(world: t.Sampler) -> t.Draw:
    """Post a link, with no text."""
    forum = world.pick("SELECT name FROM forum ORDER BY name")["name"]
    name = word(world)
    url, title = f"https://{name.lower()}.example/news/{world.rng.randint(100, 999)}", f"A good read about {name}"
    return instruction(
        {"url": url, "forum": forum, "title": title},
        posted(world, [forum], title, url=url),
        way=[
            *open_forum(forum),
            t.click("Submit"),
            t.type_text("URL", url),
            t.type_text("Title", title),
            t.click("Create submission"),
        ],
        seen="The link is shared.",
    )


@TEMPLATES.define(
    'Look up the link that "{title}" shares, and share it in the forum {forum} under the same title, without text.'
)
def share_again(world: t.Sampler) -> t.Draw:
    """Post a link once more, elsewhere."""
    row = world.pick(POSTS + "SELECT * FROM posts WHERE url IS NOT NULL ORDER BY submission_id")
    forum = world.pick("SELECT name FROM forum WHERE forum_id != ? ORDER BY name", row["forum_id"])["name"]
    return instruction(
        {"title": row["title"], "forum": forum},
        posted(world, [forum], row["title"], url=row["url"]),
        way=[
            *open_post(row["title"]),
            t.click("Submit", f"The link is {row['url']}."),
            t.type_text("URL", row["url"]),
            t.type_text("Title", row["title"]),
            t.choose("Forum", forum),
            t.click("Create submission"),
        ],
        seen=f"The link is in {forum}.",
    )
