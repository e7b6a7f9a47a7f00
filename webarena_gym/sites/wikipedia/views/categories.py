"""Categories and the index of all articles."""

from werkzeug.exceptions import NotFound

from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.wikipedia import queries
from webarena_gym.sites.wikipedia.base import site, title

MEMBERS_PER_PAGE = 100
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@site.get("/wiki/Category:<address>")
def category(request: Request, address: str) -> str:
    """Show the articles of a category."""
    name = title(address)
    rows = queries.members(request.db, name)
    if not rows:
        raise NotFound(f"There is no category with the name {name[:200]}.")
    request.shows(address=name.replace(" ", "_"))
    return request.render(
        "category.html", category=name, rows=rows, pager=Pager.of(request, len(rows), MEMBERS_PER_PAGE, "page")
    )


@site.get("/categories")
def categories(request: Request) -> str:
    """Show all categories with their sizes."""
    rows = queries.all_categories(request.db)
    return request.render("categories.html", rows=rows, pager=Pager.of(request, len(rows), MEMBERS_PER_PAGE, "page"))


@site.get("/contents")
def contents(request: Request) -> str:
    """Show the articles that begin with a letter, or with a digit."""
    letter = (request.args.get("letter") or "A")[:1].upper()
    rows = request.db.execute("SELECT title, substr(upper(title), 1, 1) AS letter FROM article ORDER BY title").fetchall()
    request.shows({"letter": (letter if letter in _LETTERS else "0") if letter != "A" else None})
    chosen = [row for row in rows if (row["letter"] == letter if letter in _LETTERS else row["letter"] not in _LETTERS)]
    return request.render(
        "contents.html",
        letters=[*_LETTERS, "0"],
        letter=letter if letter in _LETTERS else "0",
        rows=chosen,
        pager=Pager.of(request, len(chosen), MEMBERS_PER_PAGE, "page"),
    )
