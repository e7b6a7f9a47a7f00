"""Changing articles: the text of a section, the history of a page, and what somebody wrote."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import clean, line, whole_number
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.wikipedia import markup, queries
from webarena_gym.sites.wikipedia.base import article, members_only, site
from webarena_gym.sites.wikipedia.markup import Section

LONGEST = 20_000  # characters of a section
HISTORY_PER_PAGE = 25


@site.get("/edit/<address>")
@members_only
def edit_form(request: Request, _: sqlite3.Row, address: str) -> str:
    """Show the text of a section to be changed; the lead is section 0."""
    page = article(request, address)
    place, part = _section(request, page)
    return _form(request, page, place, part.body, "", [])


@site.post("/edit/<address>")
@members_only
def edit(request: Request, user: sqlite3.Row, address: str) -> str | Response:
    """Save the changed text of a section as a new revision."""
    page = article(request, address)
    place, part = _section(request, page)
    text, summary = clean(request.form.get("text", "")), line(request.form.get("summary"))
    complaint = _complaint(text, part.body)
    if complaint:
        return _form(request, page, place, text, summary, [complaint])
    parts = markup.sections(page["text"])
    parts[place] = Section(part.heading, text)
    _save(request, page["article_id"], user["user_id"], markup.whole(parts), summary)
    return request.redirect(markup.path(page["title"]), "Your edit was saved.")


def _section(request: Request, page: sqlite3.Row) -> tuple[int, Section]:
    """Return the section that the address names, with its place. Raises NotFound."""
    parts = markup.sections(page["text"])
    place = whole_number(request.args.get("section"), 0, 10**9 - 1) or 0
    if place >= len(parts):
        raise NotFound(f"The article {page['title']} has no section {place}.")
    request.shows({"section": place or None})
    return place, parts[place]


def _complaint(text: str, before: str) -> str:
    """Return what is wrong with a changed text, or nothing."""
    if not text:
        return "A section must not be empty."
    if len(text) > LONGEST:
        return f"The text is too long: {len(text)} characters, {LONGEST} at most."
    return "Nothing was changed." if text == before else ""


def _form(request: Request, page: sqlite3.Row, place: int, text: str, summary: str, errors: list[str]) -> str:
    part = markup.sections(page["text"])[place]
    return request.render("edit.html", page=page, place=place, heading=part.heading, text=text, summary=summary, errors=errors)


def _save(request: Request, article_id: int, user_id: int, text: str, summary: str) -> None:
    """Write a new revision and the links of its text."""
    request.db.execute(
        "INSERT INTO revision (article_id, user_id, text, summary, created_at) VALUES (?, ?, ?, ?, ?)",
        (article_id, user_id, text, summary, request.stamp),
    )
    targets = [*markup.links(text), *(fact["target"] for fact in queries.facts(request.db, article_id) if fact["target"])]
    request.db.execute("DELETE FROM link WHERE article_id = ?", (article_id,))
    request.db.executemany("INSERT OR IGNORE INTO link VALUES (?, ?)", [(article_id, target) for target in targets])


@site.get("/history/<address>")
def history(request: Request, address: str) -> str:
    """Show the revisions of an article."""
    page = article(request, address)
    rows = queries.history(request.db, page["article_id"])
    return request.render("history.html", page=page, rows=rows, pager=Pager.of(request, len(rows), HISTORY_PER_PAGE, "page"))


@site.get("/user/<username>")
def contributions(request: Request, username: str) -> str:
    """Show what a user has written."""
    author = one(
        request.db,
        "SELECT * FROM user WHERE username = ?",
        (username,),
        missing=f"There is no user with the name {username[:100]}.",
    )
    rows = request.db.execute(
        "SELECT r.*, a.title FROM revision r JOIN article a USING (article_id) WHERE user_id = ? ORDER BY r.created_at DESC, revision_id DESC",
        (author["user_id"],),
    ).fetchall()
    return request.render("user.html", author=author, rows=rows, pager=Pager.of(request, len(rows), HISTORY_PER_PAGE, "page"))
