"""Labels: what issues and merge requests of a project are marked with."""

import re
import sqlite3
from collections.abc import Mapping, Sequence

from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab.base import can, find_project, members_only, my_id, require_role, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.kit.forms import complaints, read
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect

PER_PAGE = 50
PLACE = "/<namespace>/<path>/-/labels"
FIELDS = {
    "name": Field("Name"),
    "description": Field("Description", required=False, limit=1000),
    "color": Field("Color", limit=7),
}
_COLOR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
DEFAULT_COLOR = "#3d6b8f"


@site.get(PLACE)
def labels(request: Request, namespace: str, path: str) -> str:
    """Show a project's labels, with how many open issues and merge requests have them."""
    project = find_project(request, namespace, path)
    bound = {"project_id": project["project_id"], "me": my_id(request)}
    (total,) = request.db.execute("SELECT count(*) FROM label WHERE project_id = :project_id", bound).fetchone()
    pager = Pager.of(request, total, PER_PAGE, "page")
    rows = request.db.execute(
        f"""
        SELECT l.*, (SELECT count(*) FROM issue_label i JOIN issue t USING (issue_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened' AND {VISIBLE_ITEM[ISSUE]}) AS issues,
            (SELECT count(*) FROM merge_request_label i JOIN merge_request t USING (merge_request_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened') AS merge_requests
        FROM label l WHERE l.project_id = :project_id ORDER BY l.name COLLATE NOCASE LIMIT :limit OFFSET :first
        """,
        {**bound, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    return request.render("labels.html", project=project, labels=rows, pager=pager, may_plan=can(request, project, "Reporter"))


@site.get(f"{PLACE}/new")
@members_only
def new_label(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Show the form for a new label."""
    return _form(request, _planned_project(request, namespace, path), {"name": "", "description": "", "color": DEFAULT_COLOR})


@site.post(PLACE)
@members_only
def create_label(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Store a new label."""
    project = _planned_project(request, namespace, path)
    values, errors = _read(request, project)
    if errors:
        return _form(request, project, values, errors)
    request.db.execute(
        "INSERT INTO label (project_id, name, description, color) VALUES (?, ?, ?, ?)",
        (project["project_id"], *values.values()),
    )
    request.flash(f"The label {values['name']} was created.")
    return redirect(f"/{project['full_path']}/-/labels")


@site.get(f"{PLACE}/<int:label_id>/edit")
@members_only
def edit_label(request: Request, _: sqlite3.Row, namespace: str, path: str, label_id: int) -> str:
    """Show the form of a label."""
    project = _planned_project(request, namespace, path)
    return _form(request, project, dict(_find(request, project, label_id)))


@site.post(f"{PLACE}/<int:label_id>/edit")
@members_only
def save_label(request: Request, _: sqlite3.Row, namespace: str, path: str, label_id: int) -> str | Response:
    """Change a label."""
    project = _planned_project(request, namespace, path)
    _find(request, project, label_id)
    values, errors = _read(request, project, label_id)
    if errors:
        return _form(request, project, {**values, "label_id": label_id}, errors)
    query = "UPDATE label SET name = ?, description = ?, color = ? WHERE label_id = ?"
    request.db.execute(query, (*values.values(), label_id))
    request.flash(f"The label {values['name']} was saved.")
    return redirect(f"/{project['full_path']}/-/labels")


@site.post(f"{PLACE}/<int:label_id>/delete")
@members_only
def delete_label(request: Request, _: sqlite3.Row, namespace: str, path: str, label_id: int) -> Response:
    """Delete a label, and take it off everything."""
    project = _planned_project(request, namespace, path)
    row = _find(request, project, label_id)
    for table in ("issue_label", "merge_request_label", "label"):
        request.db.execute(f"DELETE FROM {table} WHERE label_id = ?", (label_id,))
    request.flash(f"The label {row['name']} was deleted.")
    return redirect(f"/{project['full_path']}/-/labels")


def _planned_project(request: Request, namespace: str, path: str) -> sqlite3.Row:
    """Return the project of a URL, in which the visitor must be a reporter. Raises NotFound or Forbidden."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Reporter")
    return project


def _find(request: Request, project: sqlite3.Row, label_id: int) -> sqlite3.Row:
    """Return a label of a project. Raises NotFound."""
    query = "SELECT * FROM label WHERE project_id = ? AND label_id = ?"
    row: sqlite3.Row | None = request.db.execute(query, (project["project_id"], label_id)).fetchone()
    if row is None:
        raise NotFound
    return row


def _read(request: Request, project: sqlite3.Row, label_id: int = 0) -> tuple[dict[str, str], list[str]]:
    """Return what was posted, and what is wrong with it."""
    values = read(request, FIELDS)
    values["name"] = " ".join(values["name"].split())
    errors = complaints(values, FIELDS)
    if values["color"] and not _COLOR.fullmatch(values["color"]):
        errors.append("Color must be written as '#' and six hexadecimal digits, such as #3d6b8f.")
    query = "SELECT 1 FROM label WHERE project_id = ? AND name = ? AND label_id <> ?"
    if request.db.execute(query, (project["project_id"], values["name"], label_id)).fetchone():
        errors.append("Name has already been taken.")
    return values, errors


def _form(request: Request, project: sqlite3.Row, values: Mapping[str, object], errors: Sequence[str] = ()) -> str:
    return request.render("label_form.html", project=project, values={"label_id": "", **values}, errors=errors)
