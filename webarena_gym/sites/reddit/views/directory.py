"""Finding forums: the list of all, by order, by words and by tag."""

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import folded, like
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.reddit.base import PER_PAGE, my_id, site
from webarena_gym.sites.reddit.queries import FORUM

ORDERS = {
    "by_title": ("title", "f.title COLLATE NOCASE, f.name"),
    "by_name": ("name", "f.name COLLATE NOCASE"),
    "by_subscribers": ("subscribers", "subscribers DESC, f.name"),
    "by_submissions": ("submissions", "submissions DESC, f.name"),
}
"""Label and SQL of the orders, by their part of the address."""


@site.get("/forums")
def forums(request: Request) -> str:
    """Show all forums, or those that have all words of `q` in their texts or tags."""
    return _page(request, "by_title")


@site.get(f"/forums/<any({', '.join(ORDERS)}):order>")
def forums_ordered(request: Request, order: str) -> str:
    """Show the forums in some order."""
    return _page(request, order)


def _page(request: Request, order: str) -> str:
    phrase = clean(request.args.get("q", ""))[:100]
    request.shows({"q": folded(phrase)})
    request.stands_at(f"/forums/{order}")
    conditions, values = ["1"], {}
    for place, word in enumerate(phrase.split()[:10]):
        values[f"word{place}"] = like(word)
        conditions.append(
            rf"""(f.name || ' ' || f.title || ' ' || f.description || ' ' || coalesce(
                (SELECT group_concat(tag, ' ') FROM forum_tag t WHERE t.forum_id = f.forum_id), '')) LIKE :word{place} ESCAPE '\'"""
        )
    return _show(request, "List of forums", order, " AND ".join(conditions), values, phrase=phrase, tag="")


@site.get("/tags")
def tags(request: Request) -> str:
    """Show all tags, with the number of forums that have them."""
    rows = request.db.execute("SELECT tag, count(*) AS forums FROM forum_tag GROUP BY tag ORDER BY tag").fetchall()
    return request.render("tags.html", tags=rows)


@site.get("/tag/<tag>")
def tagged(request: Request, tag: str) -> str:
    """Show the forums with a tag."""
    if not request.db.execute("SELECT 1 FROM forum_tag WHERE tag = ?", (tag,)).fetchone():
        raise NotFound(f"No forum has the tag {tag[:50]}.")
    where = "f.forum_id IN (SELECT forum_id FROM forum_tag WHERE tag = :tag)"
    return _show(request, f"Forums tagged {tag}", "by_title", where, {"tag": tag}, phrase="", tag=tag)


def _show(request: Request, title: str, order: str, where: str, values: dict[str, str], *, phrase: str, tag: str) -> str:
    (total,) = request.db.execute(f"SELECT count(*) FROM forum f WHERE {where}", values).fetchone()
    pager = Pager.of(request, total, PER_PAGE)
    rows = request.db.execute(
        f"{FORUM} WHERE {where} ORDER BY {ORDERS[order][1]} LIMIT :limit OFFSET :first",
        {**values, "me": my_id(request), "limit": pager.limit, "first": pager.first},
    ).fetchall()
    return request.render(
        "forums.html", title=title, forums=rows, pager=pager, order=order, orders=ORDERS, phrase=phrase, tag=tag
    )
