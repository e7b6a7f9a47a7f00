"""Articles, the main page, and the pages about a page: what links to it, what is known of it."""

import sqlite3
from functools import partial

from markupsafe import Markup

from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import whole_number
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.wikipedia import markup, queries
from webarena_gym.sites.wikipedia.base import article, current_user, site, title

LINKS_PER_PAGE = 50
_SHELVES = ("Towns", "Universities", "Museums", "National parks", "Scientists", "Writers", "Film directors", "Films", "Novels",
            "Albums", "Companies", "Teams", "Prizes", "Disasters", "Festivals")  # fmt: skip


@site.get("/")
def main_page(request: Request) -> str:
    """Show the main page."""
    featured = request.db.execute("SELECT * FROM page WHERE is_featured ORDER BY article_id").fetchone()
    (total,) = request.db.execute("SELECT count(*) FROM article").fetchone()
    lists = request.db.execute(
        "SELECT title FROM article WHERE kind = 'list' AND title NOT LIKE 'List of films directed by%' ORDER BY title"
    ).fetchall()
    newest = request.db.execute(
        "SELECT a.title, r.created_at FROM revision r JOIN article a USING (article_id) ORDER BY r.created_at DESC, r.revision_id DESC LIMIT 5"
    ).fetchall()
    sizes = {row["name"]: row["size"] for row in queries.all_categories(request.db)}
    return request.render(
        "main_page.html",
        featured=featured,
        lead=_written(request, markup.sections(featured["text"])[0].body) if featured else "",
        total=total,
        lists=[row["title"] for row in lists],
        newest=newest,
        shelves=[(shelf, sizes[shelf]) for shelf in _SHELVES if shelf in sizes],
    )


@site.get("/wiki/Main_Page")
def main_page_by_name(_: Request) -> Response:
    """Lead to the main page."""
    return redirect("/")


@site.get("/wiki/<address>")
def show(request: Request, address: str) -> str | Response:
    """Show an article, as it is now or as an old revision has it; other names lead to the title."""
    page = article(request, address)
    if page["title"] != title(address):
        if page["title"].lower() != title(address).lower():
            request.flash(f"Redirected from {title(address)}.", "notice")
        return redirect(markup.path(page["title"]))
    wanted = request.args.get("oldid")
    revision = page if wanted is None else _revision(request, page, whole_number(wanted, 0, 10**9 - 1) or 0)
    request.shows({"oldid": None if wanted is None else revision["revision_id"]})
    lead, *parts = markup.sections(revision["text"])
    user = current_user(request)
    return request.render(
        "article.html",
        page=page,
        revision=revision,
        facts=[
            (row["label"], markup.inline(row["text"], partial(queries.exists, request.db)))
            for row in queries.facts(request.db, page["article_id"])
        ],
        lead=_written(request, lead.body),
        parts=[
            (part.heading, markup.anchor(part.heading, place), _written(request, part.body))
            for place, part in enumerate(parts, 1)
        ],
        categories=queries.categories(request.db, page["article_id"]),
        is_watched=user is not None and queries.is_watched(request.db, user["user_id"], page["article_id"]),
    )


def _written(request: Request, body: str) -> Markup:
    return markup.html(body, partial(queries.exists, request.db))


def _revision(request: Request, page: sqlite3.Row, revision_id: int) -> sqlite3.Row:
    """Return an old revision of a page. Raises NotFound."""
    return one(
        request.db,
        "SELECT *, created_at AS changed_at FROM revision WHERE revision_id = ? AND article_id = ?",
        (revision_id, page["article_id"]),
        missing=f"The article {page['title']} has no such revision.",
    )


@site.get("/links/<address>")
def links(request: Request, address: str) -> str:
    """Show what links to an article."""
    page = article(request, address)
    rows = queries.linking(request.db, page["title"])
    return request.render("links.html", page=page, rows=rows, pager=Pager.of(request, len(rows), LINKS_PER_PAGE, "page"))


@site.get("/info/<address>")
def info(request: Request, address: str) -> str:
    """Show what is known of an article as a page."""
    page = article(request, address)
    (watchers,) = request.db.execute("SELECT count(*) FROM watch WHERE article_id = ?", (page["article_id"],)).fetchone()
    return request.render(
        "info.html",
        page=page,
        history=queries.history(request.db, page["article_id"]),
        incoming=len(queries.linking(request.db, page["title"])),
        outgoing=len(markup.links(page["text"])),
        aliases=queries.aliases(request.db, page["article_id"]),
        watchers=watchers,
    )
