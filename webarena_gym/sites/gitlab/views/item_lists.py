"""Lists of issues and merge requests: of one project, and of all projects on the dashboard."""

import json
import sqlite3
from typing import Any
from urllib.parse import urlencode

from webarena_gym.sites.gitlab.access import VISIBLE
from webarena_gym.sites.gitlab.base import can, find_project, members_only, my_id, site
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, NONE, Filters, Kind
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request

PER_PAGE = 20
COLUMNS = """t.*, p.namespace || '/' || p.path AS full_path, author.name AS author_name, author.username,
    (SELECT title FROM milestone m WHERE m.milestone_id = t.milestone_id) AS milestone_title,
    (SELECT count(*) FROM note n WHERE n.{key} = t.{key} AND NOT n.is_system) AS comments,
    (SELECT json_group_array(json_array(name, color)) FROM (
        SELECT name, color FROM {table}_label l JOIN label USING (label_id) WHERE l.{key} = t.{key} ORDER BY name
    )) AS labels,
    (SELECT json_group_array(name) FROM (
        SELECT u.name FROM {table}_assignee a JOIN user u USING (user_id) WHERE a.{key} = t.{key} ORDER BY u.name
    )) AS assignees"""


@site.get("/<namespace>/<path>/-/issues")
def project_issues(request: Request, namespace: str, path: str) -> str:
    """Show a project's issues."""
    return _project_list(request, ISSUE, find_project(request, namespace, path))


@site.get("/<namespace>/<path>/-/merge_requests")
def project_merge_requests(request: Request, namespace: str, path: str) -> str:
    """Show a project's merge requests."""
    return _project_list(request, MERGE_REQUEST, find_project(request, namespace, path))


@site.get("/dashboard/issues")
@members_only
def my_issues(request: Request, user: sqlite3.Row) -> str:
    """Show issues of all projects, which links narrow down to the visitor's own."""
    return _dashboard(request, ISSUE, user)


@site.get("/dashboard/merge_requests")
@members_only
def my_merge_requests(request: Request, user: sqlite3.Row) -> str:
    """Show merge requests of all projects, which links narrow down to the visitor's own."""
    return _dashboard(request, MERGE_REQUEST, user)


def _project_list(request: Request, kind: Kind, project: sqlite3.Row) -> str:
    values = _listing(request, kind, "t.project_id = :project_id", project_id=project["project_id"])
    may_create = can(request, project, "Developer") if kind is MERGE_REQUEST else not project["is_archived"]
    choices = _choices(request.db, kind, project["project_id"])
    return request.render("item_list.html", project=project, may_create=may_create, choices=choices, **values)


def _dashboard(request: Request, kind: Kind, user: sqlite3.Row) -> str:
    values = _listing(request, kind, "1")
    roles = {"assignee": "Assigned to me", "author": "Created by me", "reviewer": "Review requests for me"}
    path, people = f"/dashboard/{kind.segment}", values["filters"].people
    scopes = [
        (f"{path}?{urlencode({f'{role}_username': user['username']})}", label, people == {role: user["username"]})
        for role, label in roles.items()
        if kind is MERGE_REQUEST or role != "reviewer"
    ]
    return request.render("item_list.html", scopes=[*scopes, (path, f"All {kind.noun}s", not people)], choices=[], **values)


def _listing(request: Request, kind: Kind, scope: str, **bound: Any) -> dict[str, Any]:
    """Return what the list needs: the filters, the tabs with their counts, one page of rows."""
    filters = Filters.read(request.args, kind)
    request.shows(filters.content())
    request.arranges({"sort": filters.sort})
    condition, values = filters.where()
    values_of_all = {**values, **bound, "me": my_id(request)}
    found = f"""FROM {kind.table} t JOIN project p USING (project_id) JOIN user author ON author.user_id = t.author_id
        WHERE {scope} AND {VISIBLE} AND {VISIBLE_ITEM[kind]} AND {condition}"""
    counts: dict[str, int] = dict(
        request.db.execute(f"SELECT t.state, count(*) {found} GROUP BY t.state", values_of_all).fetchall()
    )
    counts["all"] = sum(counts.values())
    pager = Pager.of(request, counts.get(filters.state, 0), PER_PAGE, "page")
    rows = request.db.execute(
        f"""SELECT {COLUMNS.format(key=kind.key, table=kind.table)} {found} AND :state IN (t.state, 'all')
        ORDER BY {filters.order} LIMIT :limit OFFSET :first""",
        {**values_of_all, "state": filters.state, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    tabs = [
        (f"{request.path}?{filters.query(state=state)}", label, counts.get(state, 0), state == filters.state)
        for state, label in (*kind.states, ("all", "All"))
    ]
    return {"kind": kind, "filters": filters, "tabs": tabs, "rows": rows, "pager": pager, "sorts": filters.sorts(kind)}


def _choices(db: sqlite3.Connection, kind: Kind, project_id: int) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the drop-down lists of the filter form: name in the URL, label, and options of value and text."""

    def people(role: str) -> list[tuple[str, str]]:
        source = "" if role == "author" else f"JOIN {kind.table}_{role} r USING ({kind.key})"
        column = "t.author_id" if role == "author" else "r.user_id"
        rows = db.execute(
            f"""SELECT DISTINCT u.username, u.name || ' (@' || u.username || ')' FROM {kind.table} t {source}
            JOIN user u ON u.user_id = {column} WHERE t.project_id = ? ORDER BY u.name, u.username""",
            (project_id,),
        )
        return [("", "Anybody"), *([] if role == "author" else [(NONE, "Nobody")]), *map(tuple, rows)]

    labels = db.execute("SELECT name, name FROM label WHERE project_id = ? ORDER BY name COLLATE NOCASE", (project_id,))
    milestones = db.execute("SELECT DISTINCT title, title FROM milestone WHERE project_id = ? ORDER BY title", (project_id,))
    reviewers = [("reviewer_username", "Reviewer", people("reviewer"))] if kind is MERGE_REQUEST else []
    return [
        ("label_name[]", "Label", [("", "Any label"), *map(tuple, labels)]),
        ("author_username", "Author", people("author")),
        ("assignee_username", "Assignee", people("assignee")),
        *reviewers,
        ("milestone_title", "Milestone", [("", "Any milestone"), (NONE, "No milestone"), *map(tuple, milestones)]),
    ]


site.templates.filters["from_json"] = json.loads
