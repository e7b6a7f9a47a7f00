"""Posts and comments to write. The place of a new post follows from its number and title."""

from collections.abc import Sequence
from typing import Any

from webarena_gym.sites.reddit.world_posts import slug
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit import ME, POSTS, TEXTS, open_forum, thread_url, word


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


def write_post(forum: str, title: str, body: str = "") -> list[Step]:
    """Return the steps from anywhere to a new post of text."""
    texts = [t.type_text("Body", body)] if body else []
    return [*open_forum(forum), t.click("Submit"), t.type_text("Title", title), *texts, t.click("Create submission")]


def submit(forum: str, title: str, body: str = "") -> list[Step]:
    """Return the steps from anywhere to a new post of text, and the end of the task."""
    return [*write_post(forum, title, body), t.leave("", f"It is posted to {forum}.")]


PRODUCTS = (
    ("headphones", "noise-cancelling headphones", "audio"),
    ("running", "running shoes", "fitness"),
    ("DIY", "a starter toolkit", "diy"),
    ("consoles", "a used game console", "consoles"),
    ("gadgets", "a pocket projector", "gadgets"),
    ("gardening", "a quiet lawn mower", "nature"),
    ("Music", "a first electric piano", "music"),
    ("pets", "a travel box for cats", "animals"),
    ("books", "an e-reader", "reading"),
)
"""Forums, a thing to buy about which each knows, and the tag of the forums that do."""

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
