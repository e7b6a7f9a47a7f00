"""The front page, and the lists that span several forums."""

from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.reddit.base import current_user, members_only, my_id, site
from webarena_gym.sites.reddit.listing import Listing
from webarena_gym.sites.reddit.queries import SORTS

SCOPES = {
    "subscribed": ("Subscribed", "s.forum_id IN (SELECT forum_id FROM subscription WHERE user_id = :me)"),
    "all": ("All", "1"),
    "moderated": ("Moderated", "s.forum_id IN (SELECT forum_id FROM moderator WHERE user_id = :me)"),
}
"""Title and condition of the lists, by their part of the address."""

SORT = f"any({', '.join(SORTS)})"  # the converter for orders in routes


@site.get("/")
def front(request: Request) -> str:
    """Show the list that the visitor wants to see first; guests see all forums."""
    return _page(request, _home(request), "hot")


@site.get(f"/<{SORT}:sort>")
def front_sorted(request: Request, sort: str) -> str:
    """Show the front page in another order."""
    return _page(request, _home(request), sort)


def _home(request: Request) -> str:
    user = current_user(request)
    return str(user["front_page"]) if user else "all"


@site.get("/all")
def all_forums(request: Request) -> str:
    """Show what is hot in any forum."""
    return _page(request, "all", "hot")


@site.get(f"/all/<{SORT}:sort>")
def all_sorted(request: Request, sort: str) -> str:
    """Show the submissions to any forum in some order."""
    return _page(request, "all", sort)


@site.get("/<any(subscribed, moderated):scope>")
@members_only
def own_forums(request: Request, _: object, scope: str) -> str:
    """Show what is hot in the visitor's own forums."""
    return _page(request, scope, "hot")


@site.get(f"/<any(subscribed, moderated):scope>/<{SORT}:sort>")
@members_only
def own_sorted(request: Request, _: object, scope: str, sort: str) -> str | Response:
    """Show the submissions to the visitor's own forums in some order."""
    return _page(request, scope, sort)


def _page(request: Request, scope: str, sort: str) -> str:
    title, where = SCOPES[scope]
    request.stands_at(f"/{scope}/{sort}")
    listing = Listing(request, f"/{scope}", sort, where, {})
    subscriptions = request.db.execute(
        "SELECT f.name FROM forum f JOIN subscription USING (forum_id) WHERE user_id = ? ORDER BY f.name COLLATE NOCASE",
        (my_id(request),),
    ).fetchall()
    return request.render("front.html", listing=listing, scope=scope, scopes=SCOPES, title=title, subscriptions=subscriptions)
