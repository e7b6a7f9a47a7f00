"""The dashboard, the lists of all projects and groups, people, snippets, and the search."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from werkzeug.exceptions import BadRequest, Forbidden, NotFound

from webarena_gym.sites.country.texts import fold_case
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, VISIBLE_ITEM, ItemKind
from webarena_gym.sites.gitlab.queries import VISIBILITIES, VISIBLE
from webarena_gym.sites.gitlab.site import Field, current_user, members_only, my_id, site
from webarena_gym.sites.gitlab.views import groups
from webarena_gym.sites.gitlab.views.groups import render_groups
from webarena_gym.sites.gitlab.views.items import COLUMNS
from webarena_gym.sites.gitlab.views.projects import list_projects
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.database import first, insert, row_or_404, update
from webarena_gym.sites.kit.forms import Pager, clean, complaints, read, tidy
from webarena_gym.sites.kit.requests import Request, Response, redirect

EXPLORE_TABS = (("/explore", "All projects"), ("/explore?sort=stars_desc", "Most starred"), ("/explore/groups", "All groups"))


@site.get("/explore")
def explore(request: Request) -> str:
    """Show all projects."""
    where = "p.visibility = 'public'" if my_id(request) is None else "p.visibility != 'private'"
    tabs = [(address, label, address == "/explore" and not request.args) for address, label in EXPLORE_TABS]
    listing = list_projects(request, where)
    return request.render("projects.html", title="Explore projects", tabs=tabs, listing=listing, address="/explore", group=None)


@site.get("/explore/groups")
def explore_groups(request: Request) -> str:
    """Show all groups."""
    tabs = [(address, label, address == "/explore/groups") for address, label in EXPLORE_TABS]
    return render_groups(request, "Explore groups", "1", tabs)


PROJECTS = {
    "contributed": "p.project_id IN (SELECT project_id FROM git_commit WHERE author_id = :whose)",
    "projects": "p.owner_id = :whose",
    "starred": "p.project_id IN (SELECT project_id FROM star WHERE user_id = :whose)",
}
OWN_TABS = {
    "": ("Yours", "p.project_id IN (SELECT project_id FROM membership WHERE user_id = :whose)"),
    "personal": ("Personal", PROJECTS["projects"]),
    "contributed": ("Contributed", PROJECTS["contributed"]),
    "starred": ("Starred", PROJECTS["starred"]),
}


@site.get("/")
def home(request: Request) -> str | Response:
    """Show the current user's projects, or all public projects without a login."""
    user = current_user(request)
    return explore(request) if user is None else own_projects(request, user)


@site.get("/dashboard/projects", members_only)
@site.get("/dashboard/projects/<any(personal, contributed, starred):tab>", members_only)
def own_projects(request: Request, user: sqlite3.Row, tab: str = "") -> str:
    """Show the projects of which the current user is a member, owner, contributor or stargazer."""
    label, where = OWN_TABS[tab]
    addresses = {name: f"/dashboard/projects/{name}".rstrip("/") for name in OWN_TABS}
    tabs = [(addresses[name], shown, name == tab) for name, (shown, _) in OWN_TABS.items()]
    listing = list_projects(request, where, whose=user["user_id"])
    title = f"{label} projects" if tab else "Projects"
    return request.render("projects.html", title=title, tabs=tabs, listing=listing, address=addresses[tab], group=None)


FIELDS = {
    "title": Field("Title"),
    "description": Field("Description", required=False, limit=5000),
    "file_name": Field("File name", required=False),
    "content": Field("Content", limit=20_000),
}
SNIPPETS = """FROM snippet s JOIN user u ON u.user_id = s.author_id
    WHERE (s.visibility = 'public' OR s.visibility = 'internal' AND :me IS NOT NULL OR s.author_id = :me)"""
"""The snippets s that the person :me may see, with their authors u."""


@site.get("/explore/snippets")
def explore_snippets(request: Request) -> str:
    """Show the snippets of all users."""
    return _list(request, "Explore snippets", "1")


@site.get("/-/snippets")
def own_snippets(request: Request) -> str | Response:
    """Show the current user's snippets."""
    return _list(request, "Your snippets", "s.author_id = :me") if current_user(request) else redirect("/explore/snippets")


def _list(request: Request, title: str, where: str) -> str:
    query = f"SELECT s.*, u.name, u.username {SNIPPETS} AND {where} ORDER BY s.created_at DESC, snippet_id DESC"
    rows = request.db.execute(query, {"me": my_id(request)}).fetchall()
    pager = Pager.of(request, len(rows), 20, "page")
    return request.render("snippets.html", title=title, snippets=pager.cut(rows), pager=pager)


@site.get("/-/snippets/new", members_only)
@site.post("/-/snippets", members_only)
@site.form("/-/snippets/<int:snippet_id>/edit", members_only)
def save_snippet(request: Request, user: sqlite3.Row, snippet_id: int | None = None) -> str | Response:
    """Create or change a snippet; whitespace around the content stays."""
    values = {"visibility": "private"} if snippet_id is None else dict(_own_snippet(request, snippet_id))
    errors: list[str] = []
    if request.method == "POST":
        values = read(request, FIELDS) | {"visibility": request.form.get("visibility", "")}
        errors = complaints(values, FIELDS)
        if values["visibility"] not in VISIBILITIES:
            errors.append("Choose a visibility level.")
        values["content"] = tidy(request.form.get("content", ""))
        if not errors:
            row = values | {"updated_at": request.stamp}
            if snippet_id is None:
                snippet_id = insert(request.db, "snippet", author_id=user["user_id"], created_at=request.stamp, **row)
            else:
                update(request.db, "snippet", "snippet_id", snippet_id, **row)
            return redirect(f"/-/snippets/{snippet_id}")
    values = {**dict.fromkeys(FIELDS, ""), "snippet_id": snippet_id or "", **values}
    return request.render("snippet_form.html", values=values, errors=errors)


@site.get("/-/snippets/<int:snippet_id>")
def show_snippet(request: Request, snippet_id: int) -> str:
    """Show a snippet."""
    snippet = _find(request, snippet_id)
    return request.render("snippet.html", snippet=snippet, is_mine=snippet["author_id"] == my_id(request))


@site.post("/-/snippets/<int:snippet_id>/delete", members_only)
def delete_snippet(request: Request, _: sqlite3.Row, snippet_id: int) -> Response:
    """Delete a snippet."""
    snippet = _own_snippet(request, snippet_id)
    request.db.execute("DELETE FROM snippet WHERE snippet_id = ?", (snippet_id,))
    return request.redirect("/-/snippets", f"The snippet {snippet['title']} was deleted.")


def _find(request: Request, snippet_id: int) -> sqlite3.Row:
    """Return a snippet with its author. Raises NotFound, also for snippets that the user may not see."""
    query = f"{SNIPPETS} AND snippet_id = :snippet_id"
    return row_or_404(request.db, f"SELECT s.*, u.name, u.username {query}", {"snippet_id": snippet_id, "me": my_id(request)})


def _own_snippet(request: Request, snippet_id: int) -> sqlite3.Row:
    """Return a snippet of the current user. Raises Forbidden for snippets of other users."""
    snippet = _find(request, snippet_id)
    if snippet["author_id"] != my_id(request):
        raise Forbidden("This is somebody else's snippet.")
    return snippet


TABS = {
    "activity": "Activity", "contributed": "Contributed projects", "projects": "Personal projects",
    "starred": "Starred projects", "snippets": "Snippets", "followers": "Followers", "following": "Following",
}  # fmt: skip
PEOPLE = {
    "followers": "SELECT follower_id FROM follow WHERE followed_id = :whose",
    "following": "SELECT followed_id FROM follow WHERE follower_id = :whose",
}


def _events(what: str, sign: str, place: str, source: str, condition: str = "1", by: str = "t") -> str:
    """Return the query of events about rows `t` of a project `p`. `by` is the alias with time and author, `place` the path in the project."""
    return f"""SELECT {by}.created_at, {what} AS what, {sign} AS sign, t.title, '/' || p.namespace || '/' || p.path || '/-/' || {place}
        AS address, p.namespace || '/' || p.path AS full_path FROM {source} JOIN project p USING (project_id)
        WHERE {by}.author_id = :whose AND {VISIBLE} AND {condition}"""


def _events_of(kind: ItemKind, moves: str) -> list[str]:
    place = (f"'{kind.mark}' || t.iid", f"'{kind.segment}/' || t.iid")
    noted = (
        f"note n JOIN {kind.table} t USING ({kind.key})",
        f"(NOT n.is_system OR n.body IN ({moves})) AND {VISIBLE_ITEM[kind]}",
    )
    return [
        _events(f"'opened {kind.noun}'", *place, f"{kind.table} t", VISIBLE_ITEM[kind]),
        _events(f"iif(n.is_system, n.body, 'commented on') || ' {kind.noun}'", *place, *noted, by="n"),
    ]


_DONE = _events_of(ISSUE, "'closed', 'reopened'"), _events_of(MERGE_REQUEST, "'closed', 'reopened', 'merged'")
_COMMITTED = _events("'committed'", "substr(t.sha, 1, 8)", "'commit/' || t.sha", "git_commit t")
EVENTS = (
    " UNION ALL ".join([query for pair in zip(*_DONE, strict=True) for query in pair] + [_COMMITTED]) + " ORDER BY 1 DESC, 5"
)
"""Query of the activity of a person :whose that the visitor :me may see, the newest first."""


@site.get("/<name>")
def namespace(request: Request, name: str) -> str | Response:
    """Show the user or group with a name. Raises NotFound."""
    user = queries.user_named(request.db, name)
    if user is None:
        return groups.in_group(groups.show_group)(request, path=name)
    request.shows(name=user["username"])
    shown: dict[str, Any] = {"projects": [], "events": []}
    if not _is_closed(request, user):
        me, whose, recent = my_id(request), user["user_id"], "p.last_activity_at DESC, p.project_id LIMIT 5"
        shown["projects"] = queries.find_projects(request.db, me, where=PROJECTS["projects"], order=recent, whose=whose)
        shown["events"] = request.db.execute(f"{EVENTS} LIMIT 8", {"whose": whose, "me": me}).fetchall()
    return _render(request, "user.html", user, "", **shown)


@site.get("/users/<username>")
def user_by_name(request: Request, username: str) -> Response:
    """Redirect to a user's profile."""
    return redirect(f"/{_find_user(request, username)['username']}")


@site.get(f"/users/<username>/<any({', '.join(TABS)}):tab>")
def user_tab(request: Request, username: str, tab: str) -> str:
    """Show a list of a profile."""
    db, user = request.db, _find_user(request, username)
    bound = {"whose": user["user_id"], "me": my_id(request)}
    if _is_closed(request, user):
        raise NotFound
    if tab in PROJECTS:
        order = "p.name, p.project_id"
        rows = queries.find_projects(db, bound["me"], where=PROJECTS[tab], order=order, whose=bound["whose"])
    else:
        query = EVENTS
        if tab in PEOPLE:
            query = f"SELECT * FROM user WHERE user_id IN ({PEOPLE[tab]}) ORDER BY name, user_id"
        elif tab == "snippets":
            snippet_query = f"SELECT s.*, u.name, u.username {SNIPPETS} AND author_id = :whose"
            query = f"{snippet_query} ORDER BY s.created_at DESC, snippet_id DESC"
        rows = db.execute(query, bound).fetchall()
    pager = Pager.of(request, len(rows), 20, "page")
    return _render(request, "user_tab.html", user, tab, rows=pager.cut(rows), pager=pager)


@site.post("/users/<username>/<any(follow, unfollow):action>", members_only)
def follow(request: Request, visitor: sqlite3.Row, username: str, action: str) -> Response:
    """Follow a user, or stop following."""
    user = _find_user(request, username)
    if user["user_id"] == visitor["user_id"]:
        raise BadRequest("You cannot follow yourself.")
    query, done = "INSERT OR IGNORE INTO follow VALUES (?, ?)", "now follow"
    if action == "unfollow":
        query, done = "DELETE FROM follow WHERE follower_id = ? AND followed_id = ?", "no longer follow"
    request.db.execute(query, (visitor["user_id"], user["user_id"]))
    return request.redirect(f"/{user['username']}", f"You {done} {user['name']}.")


def _find_user(request: Request, username: str) -> sqlite3.Row:
    user = queries.user_named(request.db, username)
    if user is None:
        raise NotFound
    request.shows(username=user["username"])
    return user


def _is_closed(request: Request, user: sqlite3.Row) -> bool:
    """True if the profile is private and not that of the current user."""
    return bool(user["is_profile_private"]) and user["user_id"] != my_id(request)


def _render(request: Request, template: str, user: sqlite3.Row, tab: str, **values: object) -> str:
    bound = {"whose": user["user_id"], "me": my_id(request)}
    count, follows = "SELECT count(*) FROM ({})", "SELECT 1 FROM follow WHERE follower_id = :me AND followed_id = :whose"
    return request.render(
        template,
        user=user,
        tab=tab,
        tabs=[("", "Overview"), *TABS.items()],
        counts={name: row_or_404(request.db, count.format(query), bound)[0] for name, query in PEOPLE.items()},
        is_followed=first(request.db, follows, bound) is not None,
        is_me=bound["whose"] == bound["me"],
        is_closed=_is_closed(request, user),
        **values,
    )


site.templates.filters["web_address"] = lambda text: text if text.startswith(("https://", "http://")) else f"https://{text}"


_LIMIT, _WORDS = 200, 10  # characters of a search, and words of it
_ABOUT = "t.title || ' ' || t.description"
_FULL_PATH = "p.namespace || '/' || p.path"
_OF_VISIBLE = f"JOIN project p USING (project_id) WHERE {VISIBLE}"


def _item_scope(kind: ItemKind) -> tuple[str, str, str, str, str]:
    source = f"FROM {kind.table} t JOIN user author ON author.user_id = t.author_id {_OF_VISIBLE} AND {VISIBLE_ITEM[kind]}"
    columns = COLUMNS.format(key=kind.key, table=kind.table)
    return f"{kind.noun.capitalize()}s", source, _ABOUT, columns, f"t.created_at DESC, t.{kind.key} DESC"


SCOPES = {
    "projects": (
        "Projects",
        f"FROM project p WHERE {VISIBLE}",
        f"{_FULL_PATH} || ' ' || p.name || ' ' || p.description || ' ' || p.topics",
        queries.PROJECT_COLUMNS,
        "stars DESC, p.project_id",
    ),
    "issues": _item_scope(ISSUE),
    "merge_requests": _item_scope(MERGE_REQUEST),
    "milestones": (
        "Milestones", f"FROM milestone t {_OF_VISIBLE}", _ABOUT, f"t.*, {_FULL_PATH} AS full_path", "t.title, t.milestone_id",
    ),
    "users": ("Users", "FROM user t WHERE 1", "t.name || ' ' || t.username", "t.*", "t.name, t.user_id"),
}  # fmt: skip
"""Scopes of a search: the label of its tab, its tables, the text in which all words must occur, its columns and their order."""
_TITLED = "lower(t.title) = lower(:text)"
_NAMED = f"lower(:text) IN (lower(p.path), lower(p.name), lower({_FULL_PATH}))"
INDEXES = {
    "projects": ("project_text", (8, 4, 2, 1), "p.project_id", _NAMED),
    "issues": ("issue_text", (4, 1), "t.issue_id", _TITLED),
    "merge_requests": ("merge_request_text", (4, 1), "t.merge_request_id", _TITLED),
}
"""Indexes of scopes, where the host has them: the table, how its columns count, the key, and when a row is meant exactly."""


@site.get("/search")
def search(request: Request) -> str:
    """Show the matches of a search that contain all words, by kind, with counts; in worlds with an index, matches by relevance."""
    text = clean(request.args.get("search", ""))[:_LIMIT]
    scope = request.args.get("scope", "")
    scope = scope if scope in SCOPES else "projects"
    words = text.split()[:_WORDS]
    request.shows({"search": " ".join(fold_case(word) for word in words), "scope": None if scope == "projects" else scope})
    bound: dict[str, Any] = {f"word{place}": word for place, word in enumerate(words)} | {"me": my_id(request)}
    fits = "".join(f" AND instr(lower({{0}}), lower(:word{place}))" for place in range(len(words)))
    sources = {name: tables + fits.format(content) for name, (_, tables, content, _, _) in SCOPES.items()}
    relevant = _relevant(request.db, text, bound) if words and ranking.has_index(request.db) else {}
    counts = dict.fromkeys(SCOPES, 0)
    for name in SCOPES if words else ():
        count = f"SELECT count(*) {sources[name]}"
        counts[name] = len(relevant[name]) if name in relevant else row_or_404(request.db, count, bound)[0]
    pager = Pager.of(request, counts[scope], 20, "page")
    _, tables, _, columns, order = SCOPES[scope]
    if scope in relevant:
        keys, key = pager.cut(relevant[scope]), INDEXES[scope][2]
        query = f"SELECT {columns} {tables} AND {key} IN (SELECT value FROM json_each(:keys))"
        rows = request.db.execute(query, {**bound, "keys": json.dumps(keys)}).fetchall()
        rows.sort(key=lambda row: keys.index(row[key.partition(".")[2]]))
    else:
        query = f"SELECT {columns} {sources[scope]} ORDER BY {order} LIMIT :limit OFFSET :first"
        bound |= {"limit": pager.limit if words else 0, "first": pager.first}
        rows = request.db.execute(query, bound).fetchall()
    tabs = [
        (f"/search?{urlencode({'search': text, 'scope': name})}", label, counts[name], name == scope)
        for name, (label, *_) in SCOPES.items()
    ]
    kind = {"issues": ISSUE, "merge_requests": MERGE_REQUEST}.get(scope)
    return request.render("search.html", text=text, scope=scope, kind=kind, rows=rows, tabs=tabs, pager=pager)


def _relevant(db: sqlite3.Connection, text: str, bound: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the keys of matches by kind, for kinds with an index: exact names first, then by relevance."""
    keys_by_scope = {}
    for name, (index, weights, key, exact) in INDEXES.items():
        relevances = ranking.rank_texts(db, index, text, weights)
        query = f"SELECT {key}, {exact} {SCOPES[name][1]} AND {key} IN (SELECT value FROM json_each(:keys))"
        sort_values = dict(map(tuple, db.execute(query, {**bound, "text": text, "keys": json.dumps(list(relevances))})))
        ranks = {key: not sort_values[key] for key in relevances if key in sort_values}  # 0 for exact matches
        keys_by_scope[name] = sorted(ranks, key=ranks.__getitem__)
    return keys_by_scope
