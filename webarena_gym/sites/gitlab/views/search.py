"""The search over projects, issues, merge requests, milestones and people."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.access import VISIBLE
from webarena_gym.sites.gitlab.base import my_id, site
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST
from webarena_gym.sites.gitlab.views.item_lists import COLUMNS
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request

PER_PAGE = 20
_LIMIT, _WORDS = 200, 10  # characters of a search, and words of it
_ITEM = "FROM {table} t JOIN project p USING (project_id) JOIN user author ON author.user_id = t.author_id WHERE {seen} AND "
_ABOUT = "t.title || ' ' || t.description"
SCOPES = {
    "projects": (
        "Projects",
        f"FROM project p WHERE {VISIBLE}",
        "p.namespace || '/' || p.path || ' ' || p.name || ' ' || p.description || ' ' || p.topics",
    ),
    "issues": ("Issues", _ITEM.format(table="issue", seen=VISIBLE_ITEM[ISSUE]) + VISIBLE, _ABOUT),
    "merge_requests": ("Merge requests", _ITEM.format(table="merge_request", seen="1") + VISIBLE, _ABOUT),
    "milestones": ("Milestones", f"FROM milestone t JOIN project p USING (project_id) WHERE {VISIBLE}", _ABOUT),
    "users": ("Users", "FROM user t WHERE 1", "t.name || ' ' || t.username"),
}
"""What can be searched: the label of its tab, where it is, and the text in which all words must occur."""


class Index(NamedTuple):
    """An index of what can be searched, where the host has one: how its columns count, the key, and when a row is meant exactly."""

    name: str
    weights: tuple[float, ...]
    key: str
    exact: str


_TITLED = "lower(t.title) = lower(:text)"
INDEXES = {
    "projects": Index(
        "project_text",
        (8, 4, 2, 1),
        "p.project_id",
        "lower(:text) IN (lower(p.path), lower(p.name), lower(p.namespace || '/' || p.path))",
    ),
    "issues": Index("issue_text", (4, 1), "t.issue_id", _TITLED),
    "merge_requests": Index("merge_request_text", (4, 1), "t.merge_request_id", _TITLED),
}


@site.get("/search")
def search(request: Request) -> str:
    """Show what holds all words of a search, by kind, and how much of each kind there is; where there is an index, what is relevant."""
    text = clean(request.args.get("search", ""))[:_LIMIT]
    scope = request.args.get("scope", "")
    scope = scope if scope in SCOPES else "projects"
    words = text.split()[:_WORDS]
    request.shows({"search": " ".join(folded(word) for word in words), "scope": None if scope == "projects" else scope})
    bound: dict[str, Any] = {f"word{place}": word for place, word in enumerate(words)} | {"me": my_id(request)}
    found = {
        name: " AND ".join([where, *(f"instr(lower({content}), lower(:word{place}))" for place in range(len(words)))])
        for name, (_, where, content) in SCOPES.items()
    }
    relevant = _relevant(request.db, text, bound) if words and ranking.has_index(request.db) else {}
    counts = dict.fromkeys(SCOPES, 0)
    if words:
        counts |= {
            name: request.db.execute(f"SELECT count(*) {query}", bound).fetchone()[0]
            for name, query in found.items()
            if name not in relevant
        }
        counts |= {name: len(keys) for name, keys in relevant.items()}
    pager = Pager.of(request, counts[scope], PER_PAGE, "page")
    columns, order = _shown(scope)
    if scope in relevant:
        rows = _rows(request.db, scope, pager.cut(relevant[scope]), bound)
    else:
        rows = request.db.execute(
            f"SELECT {columns} {found[scope]} ORDER BY {order} LIMIT :limit OFFSET :first",
            {**bound, "limit": pager.limit if words else 0, "first": pager.first},
        ).fetchall()
    tabs = [
        (f"/search?{urlencode({'search': text, 'scope': name})}", label, counts[name], name == scope)
        for name, (label, _, _) in SCOPES.items()
    ]
    kind = {"issues": ISSUE, "merge_requests": MERGE_REQUEST}.get(scope)
    return request.render("search.html", text=text, scope=scope, kind=kind, rows=rows, tabs=tabs, pager=pager)


def _relevant(db: sqlite3.Connection, text: str, bound: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the keys of what fits a text, by kind, for those that have an index: what is called so first, then by relevance."""
    found = {}
    for name, index in INDEXES.items():
        relevances = ranking.ranked(db, index.name, text, index.weights)
        query = f"SELECT {index.key}, {index.exact} {SCOPES[name][1]} AND {index.key} IN (SELECT value FROM json_each(:keys))"
        seen = dict(map(tuple, db.execute(query, {**bound, "text": text, "keys": json.dumps(list(relevances))})))
        found[name] = sorted((key for key in relevances if key in seen), key=lambda key, seen=seen: not seen[key])  # type: ignore[misc]
    return found


def _rows(db: sqlite3.Connection, scope: str, keys: list[int], bound: Mapping[str, Any]) -> list[sqlite3.Row]:
    """Return the rows with these keys, in their order."""
    key = INDEXES[scope].key
    query = f"SELECT {_shown(scope)[0]} {SCOPES[scope][1]} AND {key} IN (SELECT value FROM json_each(:keys))"
    rows = db.execute(query, {**bound, "keys": json.dumps(keys)}).fetchall()
    return sorted(rows, key=lambda row: keys.index(row[key.partition(".")[2]]))


def _shown(scope: str) -> tuple[str, str]:
    """Return the columns that the list of a kind shows, and its order."""
    if scope == "projects":
        return queries.PROJECT_COLUMNS, "stars DESC, p.project_id"
    if scope == "users":
        return "t.*", "t.name, t.user_id"
    if scope == "milestones":
        return "t.*, p.namespace || '/' || p.path AS full_path", "t.title, t.milestone_id"
    kind = ISSUE if scope == "issues" else MERGE_REQUEST
    return COLUMNS.format(key=kind.key, table=kind.table), f"t.created_at DESC, t.{kind.key} DESC"
