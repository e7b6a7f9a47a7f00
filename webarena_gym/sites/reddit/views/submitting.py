"""Posting: links, texts, and pictures that are on this site already; a link to such a picture is the picture."""

import re
import sqlite3

from webarena_gym.sites.kit.forms import complaints, read
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.reddit.base import members_only, site
from webarena_gym.sites.reddit.forms import Field
from webarena_gym.sites.reddit.texts import slug
from webarena_gym.sites.reddit.views.forums import find_forum
from webarena_gym.sites.reddit.views.submissions import BODY

FIELDS = {
    "url": Field(
        "URL", required=False, limit=2_000, pattern=re.compile(r"https?://[^\s/\"<>][^\s\"<>]*"),
        hint="an address begins with http:// or https://.",
    ),
    "image": Field(
        "Image address", required=False, limit=300, pattern=re.compile(r"(?:https?://[^\s/]+)?/submission_images/[0-9]{1,9}\.svg"),
        hint="only pictures of this site can be posted, such as /submission_images/1.svg.",
    ),
    "title": Field("Title", limit=300),
    "body": BODY,
    "forum": Field("Forum", limit=25),
}  # fmt: skip


@site.get("/submit")
@members_only
def submit_form(request: Request, _: sqlite3.Row) -> str:
    """Ask what to post, and where."""
    return _form(request, dict.fromkeys(FIELDS, ""), [])


@site.get("/submit/<name>")
@members_only
def submit_to_form(request: Request, _: sqlite3.Row, name: str) -> str:
    """Ask what to post to a forum."""
    return _form(request, dict.fromkeys(FIELDS, "") | {"forum": find_forum(request, name)["name"]}, [])


def _form(request: Request, values: dict[str, str], errors: list[str]) -> str:
    forums = request.db.execute("SELECT name FROM forum ORDER BY name COLLATE NOCASE").fetchall()
    return request.render("submit.html", values=values, forums=forums, errors=errors)


@site.post("/submit")
@members_only
def submit(request: Request, user: sqlite3.Row) -> str | Response:
    """Post what was typed; its author is the first to vote for it."""
    values = read(request, FIELDS)
    values["title"] = " ".join(values["title"].split())
    errors = complaints(values, FIELDS)
    forum = request.db.execute("SELECT * FROM forum WHERE name = ?", (values["forum"],)).fetchone()
    if values["forum"] and forum is None:
        errors.append(f"Forum: there is no forum called {values['forum'][:25]}.")
    if values["url"] and values["image"]:
        errors.append("Give either a URL or an image address, not both.")
    picture = values["image"] or values["url"]
    image_id = None if errors or not FIELDS["image"].fits(picture) else _image_id(request, picture)
    if values["image"] and not errors and image_id is None:
        errors.append("Image address: there is no such picture here.")
    if errors:
        return _form(request, values, errors)
    name = slug(values["title"])
    submission_id = request.db.execute(
        """INSERT INTO submission (forum_id, user_id, title, slug, url, image_id, body, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(forum["forum_id"], user["user_id"], values["title"], name),
            *(None if image_id else values["url"] or None, image_id, values["body"], request.stamp),
        ),
    ).lastrowid
    request.db.execute("INSERT INTO submission_vote VALUES (?, ?, 1)", (submission_id, user["user_id"]))
    return redirect(f"/f/{forum['name']}/{submission_id}/{name}")


def _image_id(request: Request, address: str) -> int | None:
    """Return which picture of this site an address means, or None."""
    host, _, number = address.removesuffix(".svg").rpartition("/submission_images/")
    if host.partition("://")[2] not in ("", request.host) or not number:
        return None
    row = request.db.execute("SELECT image_id FROM image WHERE image_id = ?", (int(number),)).fetchone()
    return row["image_id"] if row else None
