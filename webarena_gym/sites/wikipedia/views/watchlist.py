"""The watchlist: the articles whose changes a user follows."""

import sqlite3

from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.wikipedia.base import article, members_only, site

WATCHED_PER_PAGE = 50


@site.get("/watchlist")
@members_only
def watchlist(request: Request, user: sqlite3.Row) -> str:
    """Show the watched articles by title, with their last changes."""
    rows = request.db.execute(
        """
        SELECT p.title, p.changed_at, r.summary, u.username FROM watch w JOIN page p USING (article_id)
            JOIN revision r USING (revision_id) JOIN user u ON u.user_id = r.user_id
        WHERE w.user_id = ? ORDER BY p.title
        """,
        (user["user_id"],),
    ).fetchall()
    return request.render("watchlist.html", rows=rows, pager=Pager.of(request, len(rows), WATCHED_PER_PAGE, "page"))


@site.post("/watch/<address>")
@members_only
def watch(request: Request, user: sqlite3.Row, address: str) -> Response:
    """Put an article on the watchlist."""
    page = article(request, address)
    request.db.execute("INSERT OR IGNORE INTO watch VALUES (?, ?)", (user["user_id"], page["article_id"]))
    return request.redirect(return_url(request), f"{page['title']} was added to your watchlist.")


@site.post("/unwatch/<address>")
@members_only
def unwatch(request: Request, user: sqlite3.Row, address: str) -> Response:
    """Take an article off the watchlist."""
    page = article(request, address)
    request.db.execute("DELETE FROM watch WHERE user_id = ? AND article_id = ?", (user["user_id"], page["article_id"]))
    return request.redirect(return_url(request), f"{page['title']} was removed from your watchlist.")
