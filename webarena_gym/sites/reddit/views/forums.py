"""One forum: its list of submissions, subscribing to it, making one and changing it."""

import re
import sqlite3

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.kit.forms import checked
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url
from webarena_gym.sites.reddit import queries
from webarena_gym.sites.reddit.base import members_only, my_id, site
from webarena_gym.sites.reddit.forms import Field
from webarena_gym.sites.reddit.listing import Listing
from webarena_gym.sites.reddit.views.fronts import SORT

MOST_TAGS = 10
FIELDS = {
    "name": Field("Name", limit=25, pattern=re.compile(r"[A-Za-z0-9_]{3,25}"), hint="3 to 25 letters, digits and underscores."),
    "title": Field("Title", limit=100),
    "description": Field("Description", limit=300),
    "sidebar": Field("Sidebar", limit=5_000),
    "tags": Field("Forum tags", required=False, limit=300),
}
_TAG = re.compile(r"[a-z0-9_-]{1,30}")


def find_forum(request: Request, name: str) -> sqlite3.Row:
    """Return the forum of that name. Raises NotFound."""
    forum = queries.forum_named(request.db, name, my_id(request))
    if forum is None:
        raise NotFound(f"There is no forum called {name[:50]}.")
    request.shows(name=forum["name"])
    return forum


def moderated_forum(request: Request, name: str) -> sqlite3.Row:
    """Return the forum of that name, which the visitor must moderate. Raises NotFound and Forbidden."""
    forum = find_forum(request, name)
    if not forum["is_moderated"]:
        raise Forbidden(f"Only moderators of {forum['name']} may do that.")
    return forum


def sidebar(request: Request, forum: sqlite3.Row) -> dict[str, object]:
    """Return what the column beside a forum's pages shows."""
    return {
        "forum": forum,
        "tags": queries.tags(request.db, forum["forum_id"]),
        "moderators": queries.moderators(request.db, forum["forum_id"]),
    }


@site.get("/f/<name>")
def forum_page(request: Request, name: str) -> str | Response:
    """Show what is hot in a forum."""
    return _list(request, name, "hot")


@site.get(f"/f/<name>/<{SORT}:sort>")
def forum_sorted(request: Request, name: str, sort: str) -> str | Response:
    """Show a forum's submissions in some order."""
    return _list(request, name, sort)


def _list(request: Request, name: str, sort: str) -> str | Response:
    forum = find_forum(request, name)
    if forum["name"] != name:
        return redirect(request.full_path.removesuffix("?").replace(f"/f/{name}", f"/f/{forum['name']}", 1))
    request.stands_at(f"/f/{name}/{sort}")
    where, values = "s.forum_id = :forum_id", {"forum_id": forum["forum_id"]}
    listing = Listing(request, f"/f/{name}", sort, where, values, sticky_first=True)
    return request.render("forum.html", listing=listing, **sidebar(request, forum))


@site.post("/f/<name>/<any(subscribe, unsubscribe):change>")
@members_only
def subscribe(request: Request, user: sqlite3.Row, name: str, change: str) -> Response:
    """Add a forum to the visitor's own, or take it off."""
    forum = find_forum(request, name)
    query = {
        "subscribe": "INSERT OR IGNORE INTO subscription VALUES (?, ?)",
        "unsubscribe": "DELETE FROM subscription WHERE forum_id = ? AND user_id = ?",
    }[change]
    request.db.execute(query, (forum["forum_id"], user["user_id"]))
    return redirect(return_url(request, f"/f/{forum['name']}"))


@site.get("/create_forum")
@members_only
def create_form(request: Request, _: sqlite3.Row) -> str:
    """Ask for a new forum's name and texts."""
    return request.render("forum_form.html", forum=None, values=dict.fromkeys(FIELDS, ""), errors=[])


@site.post("/create_forum")
@members_only
def create(request: Request, user: sqlite3.Row) -> str | Response:
    """Make a forum, which its maker moderates and subscribes to."""
    values, errors = _typed(request, None)
    if errors:
        return request.render("forum_form.html", forum=None, values=values, errors=errors)
    forum_id = request.db.execute(
        "INSERT INTO forum (name, title, description, sidebar, created_at) VALUES (:name, :title, :description, :sidebar, :now)",
        {**values, "now": request.stamp},
    ).lastrowid
    _write_tags(request, forum_id, values["tags"])
    request.db.execute("INSERT INTO moderator VALUES (?, ?, ?)", (forum_id, user["user_id"], request.stamp))
    request.db.execute("INSERT INTO subscription VALUES (?, ?)", (forum_id, user["user_id"]))
    return redirect(f"/f/{values['name']}")


@site.get("/f/<name>/edit")
@members_only
def edit_form(request: Request, _: sqlite3.Row, name: str) -> str:
    """Show a forum's name and texts, to be changed by a moderator."""
    forum = moderated_forum(request, name)
    values = {**dict(forum), "tags": ", ".join(queries.tags(request.db, forum["forum_id"]))}
    return request.render("forum_form.html", forum=forum, values=values, errors=[])


@site.post("/f/<name>/edit")
@members_only
def edit(request: Request, _: sqlite3.Row, name: str) -> str | Response:
    """Change a forum's name and texts."""
    forum = moderated_forum(request, name)
    values, errors = _typed(request, forum["forum_id"])
    if errors:
        return request.render("forum_form.html", forum=forum, values=values, errors=errors)
    request.db.execute(
        """UPDATE forum SET name = :name, title = :title, description = :description, sidebar = :sidebar
        WHERE forum_id = :forum_id""",
        {**values, "forum_id": forum["forum_id"]},
    )
    _write_tags(request, forum["forum_id"], values["tags"])
    return request.redirect(f"/f/{values['name']}/edit", "The forum was updated.")


def _typed(request: Request, forum_id: int | None) -> tuple[dict[str, str], list[str]]:
    """Return what was typed, and what is wrong with it."""
    values, errors = checked(request, FIELDS)
    taken = "SELECT 1 FROM forum WHERE name = ? AND forum_id IS NOT ?"
    if not errors and request.db.execute(taken, (values["name"], forum_id)).fetchone():
        errors.append("Name: there is already a forum of this name.")
    tags = _split_tags(values["tags"])
    if len(tags) > MOST_TAGS or not all(map(_TAG.fullmatch, tags)):
        errors.append(
            f"Forum tags: {MOST_TAGS} words at most, of letters, digits, dashes and underscores, separated by commas."
        )
    return values, errors


def _split_tags(text: str) -> list[str]:
    return sorted({tag for part in text.lower().split(",") if (tag := part.strip())})


def _write_tags(request: Request, forum_id: int | None, text: str) -> None:
    request.db.execute("DELETE FROM forum_tag WHERE forum_id = ?", (forum_id,))
    request.db.executemany("INSERT INTO forum_tag VALUES (?, ?)", [(forum_id, tag) for tag in _split_tags(text)])
