"""Making projects: blank ones, and from templates."""

import json
import sqlite3
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from webarena_gym.sites.gitlab import git, queries
from webarena_gym.sites.gitlab.access import VISIBILITIES, rank
from webarena_gym.sites.gitlab.base import members_only, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.slugs import is_slug, slug
from webarena_gym.sites.kit.forms import clean, complaints, read
from webarena_gym.sites.kit.requests import Request, Response

NAME = Field("Project name")
FIELDS = {
    "name": NAME,
    "path": Field("Project slug", required=False, limit=100),
    "namespace": Field("Namespace", required=False),
    "description": Field("Project description", required=False, limit=500),
    "visibility": Field("Visibility level", required=False),
    "template": Field("Template", required=False),
}


@cache
def project_templates() -> dict[str, dict[str, Any]]:
    """Return the templates by their names: a description, and texts of files by path."""
    file = Path(__file__).parent.parent / "project_templates.json"
    content: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return content


def namespaces(db: sqlite3.Connection, user: sqlite3.Row) -> list[str]:
    """Return where somebody may put projects: the own namespace and the groups that the person maintains."""
    rows = db.execute(
        "SELECT g.path, m.role FROM user_group g JOIN current_group_member m USING (group_id) WHERE m.user_id = ? ORDER BY path",
        (user["user_id"],),
    )
    return [user["username"], *(row["path"] for row in rows if rank(row["role"]) >= rank("Maintainer"))]


def path_complaint(db: sqlite3.Connection, namespace: str, path: str) -> str:
    """Return why a project cannot have a path, "" if it can."""
    if not is_slug(path):
        return "Project slug can contain only letters, digits, '_', '-' and '.'. It must not start with '-' or end in '.'."
    taken = db.execute("SELECT 1 FROM project WHERE namespace = ? AND path = ? COLLATE NOCASE", (namespace, path)).fetchone()
    return f"The path {namespace}/{path} has already been taken." if taken else ""


def add_project(request: Request, user: sqlite3.Row, values: Mapping[str, Any]) -> int:
    """Add a project without a repository; who makes it in the own namespace owns it. Return its id."""
    db, now = request.db, request.stamp
    group = queries.group(db, values["namespace"])
    project_id = db.execute(
        """
        INSERT INTO project (namespace, owner_id, group_id, path, name, description, topics, visibility, default_branch,
            forked_from_id, license, created_at, last_activity_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            *(values["namespace"], None if group else user["user_id"], group["group_id"] if group else None, values["path"]),
            *(values["name"], values["description"], values.get("topics", ""), values["visibility"]),
            *(values.get("default_branch", "main"), values.get("forked_from_id"), values.get("license", ""), now, now),
        ),
    ).lastrowid
    assert project_id is not None
    if not group:
        db.execute("INSERT INTO project_member VALUES (?, ?, 'Owner', NULL, ?)", (project_id, user["user_id"], now))
    return project_id


@site.get("/projects/new")
@members_only
def choose(request: Request, _: sqlite3.Row) -> str:
    """Ask how a new project is to begin."""
    return request.render("new_project.html")


@site.get("/projects/new/template")
@members_only
def choose_template(request: Request, _: sqlite3.Row) -> str:
    """Ask which template a new project is to begin with."""
    return request.render("project_templates.html", templates=project_templates())


@site.get("/projects/new/blank")
@members_only
def blank_form(request: Request, user: sqlite3.Row) -> str:
    """Ask for a new project's data; the URL may name a template and a namespace."""
    values = dict.fromkeys(FIELDS, "") | {"visibility": "private", "namespace": user["username"]}
    for name in ("template", "namespace"):
        values[name] = clean(request.args.get(name, values[name]))
    request.shows({"template": values["template"], "namespace": values["namespace"]})
    return _form(request, user, values, readme=True, errors=[])


def _form(request: Request, user: sqlite3.Row, values: dict[str, str], *, readme: bool, errors: list[str]) -> str:
    template = values["template"] if values["template"] in project_templates() else ""
    return request.render(
        "new_blank.html",
        values=values | {"template": template},
        readme=readme,
        errors=errors,
        namespaces=namespaces(request.db, user),
    )


@site.post("/projects/new/blank")
@members_only
def create(request: Request, user: sqlite3.Row) -> str | Response:
    """Make a project."""
    values, readme = read(request, FIELDS), request.form.get("readme") == "1"
    values["path"] = values["path"] or slug(values["name"])
    errors = complaints(values, FIELDS)
    if values["namespace"] not in namespaces(request.db, user):
        errors.append("Select a namespace where you may create projects.")
    if values["visibility"] not in VISIBILITIES:
        errors.append("Select a visibility level.")
    if values["template"] and values["template"] not in project_templates():
        errors.append("There is no such template.")
    if not errors and (complaint := path_complaint(request.db, values["namespace"], values["path"])):
        errors = [complaint]
    if errors:
        return _form(request, user, values, readme=readme, errors=errors)
    project_id = add_project(request, user, values)
    files = _first_files(values, readme=readme)
    if files:
        branch = git.create_branch(request.db, project_id, "main", None)
        request.db.execute("UPDATE branch SET is_protected = 1 WHERE branch_id = ?", (branch["branch_id"],))
        git.commit(request.db, branch, user, "Initial commit", files, request.stamp)
    return request.redirect(f"/{values['namespace']}/{values['path']}", f"Project '{values['name']}' was successfully created.")


def _first_files(values: Mapping[str, str], *, readme: bool) -> dict[str, str | None]:
    """Return the files that a new project begins with."""
    if values["template"]:
        return dict(project_templates()[values["template"]]["files"])
    text = f"# {values['name']}\n" + (f"\n{values['description']}\n" if values["description"] else "")
    return {"README.md": text} if readme else {}
