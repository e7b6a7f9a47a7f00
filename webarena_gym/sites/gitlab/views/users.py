"""People: their profiles with what they made, starred and did, and following them."""

import sqlite3
from typing import Any

from werkzeug.exceptions import BadRequest, NotFound

from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.access import VISIBLE
from webarena_gym.sites.gitlab.base import members_only, my_id, site
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.gitlab.views import groups
from webarena_gym.sites.gitlab.views.snippets import VISIBLE_SNIPPET
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect

PER_PAGE = 20
TABS = {
    "activity": "Activity",
    "contributed": "Contributed projects",
    "projects": "Personal projects",
    "starred": "Starred projects",
    "snippets": "Snippets",
    "followers": "Followers",
    "following": "Following",
}
PROJECTS = {
    "contributed": "p.project_id IN (SELECT project_id FROM git_commit WHERE author_id = :whose)",
    "projects": "p.owner_id = :whose",
    "starred": "p.project_id IN (SELECT project_id FROM star WHERE user_id = :whose)",
}
PEOPLE = {
    "followers": "SELECT follower_id FROM follow WHERE followed_id = :whose",
    "following": "SELECT followed_id FROM follow WHERE follower_id = :whose",
}
EVENTS = f"""
    SELECT t.created_at, 'opened issue' AS what, '#' || t.iid AS sign, t.title,
        '/' || p.namespace || '/' || p.path || '/-/issues/' || t.iid AS address, p.namespace || '/' || p.path AS full_path
    FROM issue t JOIN project p USING (project_id) WHERE t.author_id = :whose AND {VISIBLE} AND {VISIBLE_ITEM[ISSUE]}
    UNION ALL
    SELECT t.created_at, 'opened merge request', '!' || t.iid, t.title,
        '/' || p.namespace || '/' || p.path || '/-/merge_requests/' || t.iid, p.namespace || '/' || p.path
    FROM merge_request t JOIN project p USING (project_id) WHERE t.author_id = :whose AND {VISIBLE}
    UNION ALL
    SELECT n.created_at, iif(n.is_system, n.body, 'commented on') || ' issue', '#' || t.iid, t.title,
        '/' || p.namespace || '/' || p.path || '/-/issues/' || t.iid, p.namespace || '/' || p.path
    FROM note n JOIN issue t USING (issue_id) JOIN project p USING (project_id)
    WHERE n.author_id = :whose AND (NOT n.is_system OR n.body IN ('closed', 'reopened')) AND {VISIBLE} AND {VISIBLE_ITEM[ISSUE]}
    UNION ALL
    SELECT n.created_at, iif(n.is_system, n.body, 'commented on') || ' merge request', '!' || t.iid, t.title,
        '/' || p.namespace || '/' || p.path || '/-/merge_requests/' || t.iid, p.namespace || '/' || p.path
    FROM note n JOIN merge_request t USING (merge_request_id) JOIN project p USING (project_id)
    WHERE n.author_id = :whose AND (NOT n.is_system OR n.body IN ('closed', 'reopened', 'merged')) AND {VISIBLE}
    UNION ALL
    SELECT c.created_at, 'committed', substr(c.sha, 1, 8), c.title,
        '/' || p.namespace || '/' || p.path || '/-/commit/' || c.sha, p.namespace || '/' || p.path
    FROM git_commit c JOIN project p USING (project_id) WHERE c.author_id = :whose AND {VISIBLE}
    ORDER BY 1 DESC, 5
"""
"""What a person :whose did that the visitor :me may see, the newest first."""


def user_page(request: Request, user: sqlite3.Row) -> str:
    """Show a person's profile."""
    bound = {"whose": user["user_id"], "me": my_id(request)}
    shown: dict[str, Any] = {"projects": [], "events": []}
    if not _is_closed(request, user):
        recent = "p.last_activity_at DESC, p.project_id LIMIT 5"
        shown["projects"] = queries.find_projects(
            request.db, my_id(request), where=PROJECTS["projects"], order=recent, whose=user["user_id"]
        )
        shown["events"] = request.db.execute(f"{EVENTS} LIMIT 8", bound).fetchall()
    return _render(request, "user.html", user, "", **shown)


@site.get("/<name>")
def namespace(request: Request, name: str) -> str | Response:
    """Show the person or the group of that name. Raises NotFound."""
    user = queries.user_named(request.db, name)
    if user is None:
        return groups.show(request, name)
    request.shows(name=user["username"])
    return user_page(request, user)


@site.get("/users/<username>")
def user_by_name(request: Request, username: str) -> Response:
    """Lead to a person's profile."""
    return redirect(f"/{_find(request, username)['username']}")


@site.get(f"/users/<username>/<any({', '.join(TABS)}):tab>")
def user_tab(request: Request, username: str, tab: str) -> str:
    """Show one list of a profile."""
    user = _find(request, username)
    bound = {"whose": user["user_id"], "me": my_id(request)}
    if _is_closed(request, user):
        raise NotFound
    if tab in PROJECTS:
        rows = queries.find_projects(
            request.db, bound["me"], where=PROJECTS[tab], order="p.name, p.project_id", whose=bound["whose"]
        )
    elif tab in PEOPLE:
        rows = request.db.execute(
            f"SELECT * FROM user WHERE user_id IN ({PEOPLE[tab]}) ORDER BY name, user_id", bound
        ).fetchall()
    elif tab == "snippets":
        rows = request.db.execute(
            f"SELECT s.*, u.name, u.username FROM snippet s JOIN user u ON u.user_id = s.author_id"
            f" WHERE author_id = :whose AND {VISIBLE_SNIPPET} ORDER BY s.created_at DESC, snippet_id DESC",
            bound,
        ).fetchall()
    else:
        rows = request.db.execute(EVENTS, bound).fetchall()
    pager = Pager.of(request, len(rows), PER_PAGE, "page")
    rows = pager.cut(rows)
    return _render(request, "user_tab.html", user, tab, rows=rows, pager=pager)


@site.post("/users/<username>/<any(follow, unfollow):action>")
@members_only
def follow(request: Request, visitor: sqlite3.Row, username: str, action: str) -> Response:
    """Follow a person, or stop it."""
    user = _find(request, username)
    if user["user_id"] == visitor["user_id"]:
        raise BadRequest("You cannot follow yourself.")
    query = "INSERT OR IGNORE INTO follow VALUES (?, ?)"
    if action == "unfollow":
        query = "DELETE FROM follow WHERE follower_id = ? AND followed_id = ?"
    request.db.execute(query, (visitor["user_id"], user["user_id"]))
    return request.redirect(
        f"/{user['username']}", f"You {'now follow' if action == 'follow' else 'no longer follow'} {user['name']}."
    )


def _find(request: Request, username: str) -> sqlite3.Row:
    user = queries.user_named(request.db, username)
    if user is None:
        raise NotFound
    request.shows(username=user["username"])
    return user


def _is_closed(request: Request, user: sqlite3.Row) -> bool:
    """Whether the profile is private and somebody else's."""
    return bool(user["is_profile_private"]) and user["user_id"] != my_id(request)


def _render(request: Request, template: str, user: sqlite3.Row, tab: str, **values: Any) -> str:
    counts = {
        name: request.db.execute(f"SELECT count(*) FROM ({query})", {"whose": user["user_id"]}).fetchone()[0]
        for name, query in PEOPLE.items()
    }
    is_followed = request.db.execute(
        "SELECT 1 FROM follow WHERE follower_id = ? AND followed_id = ?", (my_id(request), user["user_id"])
    ).fetchone()
    return request.render(
        template,
        user=user,
        tab=tab,
        tabs=[("", "Overview"), *TABS.items()],
        counts=counts,
        is_followed=is_followed is not None,
        is_me=user["user_id"] == my_id(request),
        is_closed=_is_closed(request, user),
        **values,
    )


site.templates.filters["web_address"] = lambda text: text if text.startswith(("https://", "http://")) else f"https://{text}"
