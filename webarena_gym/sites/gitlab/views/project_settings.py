"""A project's settings: what it says of itself, who sees it, its path, archiving and the end of it."""

import sqlite3

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.gitlab import git, queries
from webarena_gym.sites.gitlab.access import VISIBILITIES, rank
from webarena_gym.sites.gitlab.base import find_project, members_only, require_role, role_in, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.removal import delete_project
from webarena_gym.sites.gitlab.views.new_project import path_complaint
from webarena_gym.sites.kit.forms import checked, clean
from webarena_gym.sites.kit.requests import Request, Response, redirect

FIELDS = {
    "name": Field("Project name"),
    "description": Field("Project description", required=False, limit=500),
    "topics": Field("Topics", required=False),
    "visibility": Field("Visibility level", required=False),
}


def _settled(request: Request, namespace: str, path: str, role: str = "Maintainer") -> sqlite3.Row:
    """Return a project whose settings the visitor may change. Raises NotFound, Forbidden."""
    project = find_project(request, namespace, path)
    require_role(request, project, role, even_archived=True)
    return project


def _page(request: Request, project: sqlite3.Row, values: dict[str, str], errors: list[str]) -> str:
    is_owner = rank(role_in(request, project)) >= rank("Owner")
    branches = queries.branches(request.db, project["project_id"])
    return request.render(
        "project_settings.html", project=project, values=values, errors=errors, is_owner=is_owner, branches=branches
    )


def _stored(project: sqlite3.Row) -> dict[str, str]:
    return {name: project[name] for name in (*FIELDS, "path")}


@site.get("/<namespace>/<path>/-/edit")
@members_only
def settings(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Show a project's settings."""
    project = _settled(request, namespace, path)
    return _page(request, project, _stored(project), [])


@site.post("/<namespace>/<path>/-/edit")
@members_only
def save(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Change a project's name, description, topics and visibility."""
    project = _settled(request, namespace, path)
    if project["is_archived"]:
        raise Forbidden("This project is archived. Unarchive it first.")
    values, errors = checked(request, FIELDS)
    topics = [topic.strip() for topic in values["topics"].split(",") if topic.strip()]
    values["topics"] = ", ".join(dict.fromkeys(topics))
    if values["visibility"] not in VISIBILITIES:
        errors.append("Select a visibility level.")
    if errors:
        return _page(request, project, values | {"path": project["path"]}, errors)
    request.db.execute(
        "UPDATE project SET name = ?, description = ?, topics = ?, visibility = ? WHERE project_id = ?",
        (*(values[name] for name in FIELDS), project["project_id"]),
    )
    return request.redirect(f"/{project['full_path']}/-/edit", f"Project '{values['name']}' was successfully updated.")


@site.post("/<namespace>/<path>/-/edit/default_branch")
@members_only
def set_default_branch(request: Request, _: sqlite3.Row, namespace: str, path: str) -> Response:
    """Make another branch the default one."""
    project = _settled(request, namespace, path)
    require_role(request, project, "Maintainer")
    branch = git.find_branch(request.db, project["project_id"], request.form.get("branch", ""))
    if branch is None:
        request.flash("There is no such branch.", "error")
    else:
        _protect(request, project, branch)
        request.flash(f"The default branch is now {branch['name']}.")
    return redirect(f"/{project['full_path']}/-/edit")


def _protect(request: Request, project: sqlite3.Row, branch: sqlite3.Row) -> None:
    text = request.db.execute(
        "SELECT content FROM file WHERE branch_id = ? AND path = 'LICENSE'", (branch["branch_id"],)
    ).fetchone()
    request.db.execute(
        "UPDATE project SET default_branch = ?, license = ? WHERE project_id = ?",
        (branch["name"], git.license_of(text["content"] if text else None), project["project_id"]),
    )
    request.db.execute(
        "UPDATE branch SET is_protected = branch_id = ? WHERE project_id = ?", (branch["branch_id"], project["project_id"])
    )


@site.post("/<namespace>/<path>/-/edit/path")
@members_only
def rename(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Change a project's path."""
    project = _settled(request, namespace, path, "Owner")
    wanted = clean(request.form.get("path", ""))
    complaint = "" if wanted == project["path"] else path_complaint(request.db, project["namespace"], wanted)
    if complaint:
        return _page(request, project, _stored(project) | {"path": wanted}, [complaint])
    request.db.execute("UPDATE project SET path = ? WHERE project_id = ?", (wanted, project["project_id"]))
    return request.redirect(f"/{project['namespace']}/{wanted}", "The path was changed.")


@site.post("/<namespace>/<path>/-/archive")
@members_only
def archive(request: Request, _: sqlite3.Row, namespace: str, path: str) -> Response:
    """Make a project read-only, or take that back."""
    project = _settled(request, namespace, path, "Owner")
    is_archived = request.form.get("archived") == "1"
    request.db.execute("UPDATE project SET is_archived = ? WHERE project_id = ?", (is_archived, project["project_id"]))
    return request.redirect(
        f"/{project['full_path']}", "The project was archived." if is_archived else "The project was unarchived."
    )


@site.post("/<namespace>/<path>/-/delete")
@members_only
def delete(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Delete a project, when its full path was typed to confirm it."""
    project = _settled(request, namespace, path, "Owner")
    if clean(request.form.get("confirmation", "")) != project["full_path"]:
        return _page(request, project, _stored(project), [f"To delete the project, type {project['full_path']} to confirm."])
    delete_project(request.db, project["project_id"])
    return request.redirect("/dashboard/projects", f"Project '{project['name']}' was deleted.")
