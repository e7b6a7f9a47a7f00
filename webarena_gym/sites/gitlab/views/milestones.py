"""Milestones: what a project wants to reach by when."""

import sqlite3
from collections.abc import Mapping, Sequence

from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab.access import VISIBLE
from webarena_gym.sites.gitlab.base import can, find_project, members_only, my_id, require_role, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.kit.forms import complaints, day, read
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect

PER_PAGE = 20
PLACE = "/<namespace>/<path>/-/milestones"
STATES = {"active": "Open", "closed": "Closed", "all": "All"}
FIELDS = {
    "title": Field("Title"),
    "starts_on": Field("Start date", required=False),
    "due_on": Field("Due date", required=False),
    "description": Field("Description", required=False, limit=20_000),
}
COLUMNS = f"""m.*, p.namespace || '/' || p.path AS full_path,
    (SELECT count(*) FROM issue t WHERE t.milestone_id = m.milestone_id AND {VISIBLE_ITEM[ISSUE]}) AS issues,
    (SELECT count(*) FROM issue t WHERE t.milestone_id = m.milestone_id AND t.state = 'closed' AND {VISIBLE_ITEM[ISSUE]})
        AS closed_issues,
    (SELECT count(*) FROM merge_request t WHERE t.milestone_id = m.milestone_id) AS merge_requests"""


@site.get(PLACE)
def project_milestones(request: Request, namespace: str, path: str) -> str:
    """Show a project's milestones."""
    project = find_project(request, namespace, path)
    return _list(request, "m.project_id = :project_id", project)


@site.get("/dashboard/milestones")
@members_only
def my_milestones(request: Request, _: sqlite3.Row) -> str:
    """Show the milestones of the projects that the visitor belongs to."""
    return _list(request, "m.project_id IN (SELECT project_id FROM membership WHERE user_id = :me)", None)


def _list(request: Request, where: str, project: sqlite3.Row | None) -> str:
    state = request.args.get("state", "")
    state = state if state in STATES else "active"
    request.shows({"state": None if state == "active" else state})
    bound = {"me": my_id(request), "project_id": project["project_id"] if project else None}
    found = f"FROM milestone m JOIN project p USING (project_id) WHERE {where} AND {VISIBLE}"
    counts: dict[str, int] = dict(request.db.execute(f"SELECT m.state, count(*) {found} GROUP BY m.state", bound).fetchall())
    counts["all"] = sum(counts.values())
    pager = Pager.of(request, counts.get(state, 0), PER_PAGE, "page")
    rows = request.db.execute(
        f"""SELECT {COLUMNS} {found} AND :state IN (m.state, 'all')
        ORDER BY m.due_on IS NULL, m.due_on, m.milestone_id LIMIT :limit OFFSET :first""",
        {**bound, "state": state, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    tabs = [(f"{request.path}?state={value}", label, counts.get(value, 0), value == state) for value, label in STATES.items()]
    return request.render("milestones.html", project=project, milestones=rows, tabs=tabs, pager=pager)


@site.get(f"{PLACE}/<int:iid>")
def milestone(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show a milestone with what belongs to it."""
    project = find_project(request, namespace, path)
    row = _find(request, project, iid)
    bound = {"milestone_id": row["milestone_id"], "me": my_id(request)}
    items = {
        kind: request.db.execute(
            f"""SELECT t.iid, t.title, t.state, '{kind}' AS segment FROM {table} t
            WHERE t.milestone_id = :milestone_id AND {condition} ORDER BY t.iid DESC LIMIT 200""",
            bound,
        ).fetchall()
        for kind, table, condition in (
            ("issues", "issue", VISIBLE_ITEM[ISSUE]),
            ("merge_requests", "merge_request", "1"),
        )
    }
    return request.render(
        "milestone.html", project=project, milestone=row, items=items, may_plan=can(request, project, "Reporter")
    )


@site.get(f"{PLACE}/new")
@members_only
def new_milestone(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Show the form for a new milestone."""
    return _form(request, _planned_project(request, namespace, path), dict.fromkeys(FIELDS, ""))


@site.post(PLACE)
@members_only
def create_milestone(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Store a new milestone."""
    project = _planned_project(request, namespace, path)
    values, errors = _read(request, project)
    if errors:
        return _form(request, project, values, errors)
    query = "SELECT coalesce(max(iid), 0) + 1 FROM milestone WHERE project_id = ?"
    (iid,) = request.db.execute(query, (project["project_id"],)).fetchone()
    request.db.execute(
        "INSERT INTO milestone (project_id, iid, title, description, starts_on, due_on) VALUES (?, ?, ?, ?, ?, ?)",
        (
            project["project_id"],
            iid,
            values["title"],
            values["description"],
            values["starts_on"] or None,
            values["due_on"] or None,
        ),
    )
    return redirect(f"/{project['full_path']}/-/milestones/{iid}")


@site.get(f"{PLACE}/<int:iid>/edit")
@members_only
def edit_milestone(request: Request, _: sqlite3.Row, namespace: str, path: str, iid: int) -> str:
    """Show the form of a milestone."""
    project = _planned_project(request, namespace, path)
    return _form(request, project, {name: value or "" for name, value in dict(_find(request, project, iid)).items()})


@site.post(f"{PLACE}/<int:iid>/edit")
@members_only
def save_milestone(request: Request, _: sqlite3.Row, namespace: str, path: str, iid: int) -> str | Response:
    """Change a milestone."""
    project = _planned_project(request, namespace, path)
    row = _find(request, project, iid)
    values, errors = _read(request, project, row["milestone_id"])
    if errors:
        return _form(request, project, {**values, "iid": str(iid)}, errors)
    request.db.execute(
        "UPDATE milestone SET title = ?, description = ?, starts_on = ?, due_on = ? WHERE milestone_id = ?",
        (values["title"], values["description"], values["starts_on"] or None, values["due_on"] or None, row["milestone_id"]),
    )
    return redirect(f"/{project['full_path']}/-/milestones/{iid}")


@site.post(f"{PLACE}/<int:iid>/state")
@members_only
def move_milestone(request: Request, _: sqlite3.Row, namespace: str, path: str, iid: int) -> Response:
    """Close a milestone or open it again."""
    project = _planned_project(request, namespace, path)
    row = _find(request, project, iid)
    state = "closed" if request.form.get("state") == "closed" else "active"
    request.db.execute("UPDATE milestone SET state = ? WHERE milestone_id = ?", (state, row["milestone_id"]))
    request.flash(f"The milestone was {'closed' if state == 'closed' else 'reopened'}.")
    return redirect(f"/{project['full_path']}/-/milestones/{iid}")


@site.post(f"{PLACE}/<int:iid>/delete")
@members_only
def delete_milestone(request: Request, _: sqlite3.Row, namespace: str, path: str, iid: int) -> Response:
    """Delete a milestone; what belonged to it stays without one."""
    project = _planned_project(request, namespace, path)
    row = _find(request, project, iid)
    for table in ("issue", "merge_request"):
        request.db.execute(f"UPDATE {table} SET milestone_id = NULL WHERE milestone_id = ?", (row["milestone_id"],))
    request.db.execute("DELETE FROM milestone WHERE milestone_id = ?", (row["milestone_id"],))
    request.flash(f"The milestone {row['title']} was deleted.")
    return redirect(f"/{project['full_path']}/-/milestones")


def _planned_project(request: Request, namespace: str, path: str) -> sqlite3.Row:
    """Return the project of a URL, in which the visitor must be a reporter. Raises NotFound or Forbidden."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Reporter")
    return project


def _find(request: Request, project: sqlite3.Row, iid: int) -> sqlite3.Row:
    """Return a milestone of a project. Raises NotFound."""
    query = "SELECT * FROM milestone WHERE project_id = ? AND iid = ?"
    row: sqlite3.Row | None = request.db.execute(query, (project["project_id"], iid)).fetchone()
    if row is None:
        raise NotFound
    return row


def _read(request: Request, project: sqlite3.Row, milestone_id: int = 0) -> tuple[dict[str, str], list[str]]:
    """Return what was posted, dates as they are stored, and what is wrong with it."""
    values = read(request, FIELDS)
    values["title"] = " ".join(values["title"].split())
    errors = complaints(values, FIELDS)
    for name in ("starts_on", "due_on"):
        written = day(values[name])
        if values[name] and written is None:
            errors.append(f"{FIELDS[name].label}: {values[name][:40]!r} is no date. Write it as YYYY-MM-DD.")
        values[name] = written or values[name]
    if not errors and values["due_on"] and values["starts_on"] > values["due_on"]:
        errors.append("Due date must be after the start date.")
    query = "SELECT 1 FROM milestone WHERE project_id = ? AND title = ? AND milestone_id <> ?"
    if request.db.execute(query, (project["project_id"], values["title"], milestone_id)).fetchone():
        errors.append("Title has already been taken by another milestone of this project.")
    return values, errors


def _form(request: Request, project: sqlite3.Row, values: Mapping[str, object], errors: Sequence[str] = ()) -> str:
    return request.render("milestone_form.html", project=project, values={"iid": "", **values}, errors=errors)
