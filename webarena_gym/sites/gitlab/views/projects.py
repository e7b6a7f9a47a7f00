"""Projects: overview, stars and forks, creation and settings."""

import json
import sqlite3
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.country.texts import fold_case
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.queries import VISIBILITIES, delete_project, is_slug, slug
from webarena_gym.sites.gitlab.site import Field, in_project, members_only, my_id, role_in, site
from webarena_gym.sites.gitlab.world_projects import rank
from webarena_gym.sites.kit.accounts import return_url
from webarena_gym.sites.kit.database import first, insert, row_or_404, update
from webarena_gym.sites.kit.forms import Pager, clean, complaints, read, read_and_check
from webarena_gym.sites.kit.requests import Request, Response, redirect

ORDERS = {
    "latest_activity_desc": ("Last updated", "p.last_activity_at DESC, p.project_id"),
    "stars_desc": ("Most stars", "stars DESC, p.project_id"),
    "name_asc": ("Name", "p.name COLLATE NOCASE, p.project_id"),
    "created_desc": ("Newest", "p.created_at DESC, p.project_id DESC"),
}


def list_projects(request: Request, where: str = "1", **values: object) -> dict[str, Any]:
    """Return a page of the visible projects that satisfy `where`, with the filters and sort order of the request."""
    name, topic = (clean(request.args.get(key, ""))[:200] for key in ("name", "topic"))
    sort, me = request.args.get("sort", ""), my_id(request)
    sort = sort if sort in ORDERS else next(iter(ORDERS))
    request.shows({"name": fold_case(name), "topic": fold_case(topic)})
    request.arranges({"sort": sort})
    condition = f"""({where}) AND (:name = '' OR instr(lower(p.namespace || '/' || p.path || ' ' || p.name || ' ' || p.description
        || ' ' || p.topics), lower(:name)))
        AND (:topic = '' OR instr(', ' || lower(p.topics) || ',', ', ' || lower(:topic) || ','))"""
    rows = queries.find_projects(request.db, me, where=condition, order=ORDERS[sort][1], name=name, topic=topic, **values)
    pager = Pager.of(request, len(rows), 20, "page")
    orders = [(key, label) for key, (label, _) in ORDERS.items()]
    return {"rows": pager.cut(rows), "pager": pager, "name": name, "topic": topic, "sort": sort, "orders": orders}


NEW_PROJECT_FIELDS = {
    "name": Field("Project name"), "path": Field("Project slug", required=False, limit=100), "namespace": Field("Namespace", required=False),
    "description": Field("Project description", required=False, limit=500),
    "visibility": Field("Visibility level", required=False), "template": Field("Template", required=False),
}  # fmt: skip


@cache
def project_templates() -> Any:
    """Return the project templates by name: a description, and texts of files by path."""
    return json.loads((Path(__file__).parent.parent / "project_templates.json").read_text(encoding="utf-8"))


def namespaces(db: sqlite3.Connection, user: sqlite3.Row) -> list[str]:
    """Return the namespaces in which a user may create projects: the user's own and the groups that the user maintains."""
    rows = db.execute(
        "SELECT g.path, m.role FROM user_group g JOIN current_group_member m USING (group_id) WHERE m.user_id = ? ORDER BY path",
        (user["user_id"],),
    )
    return [user["username"], *(row["path"] for row in rows if rank(row["role"]) >= rank("Maintainer"))]


def path_complaint(db: sqlite3.Connection, namespace: str, path: str) -> str:
    """Return the reason why a project cannot have a path, "" if it can."""
    if not is_slug(path):
        return "Project slug can contain only letters, digits, '_', '-' and '.'. It must not start with '-' or end in '.'."
    existing = db.execute("SELECT 1 FROM project WHERE namespace = ? AND path = ? COLLATE NOCASE", (namespace, path)).fetchone()
    return f"The path {namespace}/{path} has already been taken." if existing else ""


def add_project(request: Request, user: sqlite3.Row, values: Mapping[str, Any]) -> int:
    """Add a project without a repository and return its id. In a personal namespace, its owner is the current user."""
    db, now = request.db, request.stamp
    group = queries.group(db, values["namespace"])
    owner = {"group_id": group["group_id"]} if group else {"owner_id": user["user_id"]}
    names = ("namespace", "path", "name", "description", "topics", "visibility", "default_branch", "license", "forked_from_id")
    options = {"topics": "", "default_branch": "main", "license": ""} | {name: values[name] for name in names if name in values}
    project_id = insert(db, "project", created_at=now, last_activity_at=now, **owner, **options)
    if not group:
        insert(db, "project_member", project_id=project_id, user_id=user["user_id"], role="Owner", created_at=now)
    return project_id


site.get("/projects/new", members_only)(lambda request, _: request.render("new_project.html"))
site.get("/projects/new/template", members_only)(
    lambda request, _: request.render("project_templates.html", templates=project_templates())
)


@site.form("/projects/new/blank", members_only)
def create(request: Request, user: sqlite3.Row) -> str | Response:
    """Create a project, with the files of a template, or optionally with a README."""
    db, errors, readme, spaces = request.db, list[str](), True, namespaces(request.db, user)
    if request.method != "POST":
        values = dict.fromkeys(NEW_PROJECT_FIELDS, "") | {"visibility": "private", "namespace": user["username"]}
        for name in ("template", "namespace"):
            values[name] = clean(request.args.get(name, values[name]))
        request.shows({"template": values["template"], "namespace": values["namespace"]})
    else:
        values, readme = read(request, NEW_PROJECT_FIELDS), request.form.get("readme") == "1"
        values["path"] = values["path"] or slug(values["name"])
        errors = complaints(values, NEW_PROJECT_FIELDS)
        if values["namespace"] not in spaces:
            errors.append("Select a namespace where you may create projects.")
        if values["visibility"] not in VISIBILITIES:
            errors.append("Select a visibility level.")
        if values["template"] and values["template"] not in project_templates():
            errors.append("There is no such template.")
        errors = errors or [*filter(None, [path_complaint(db, values["namespace"], values["path"])])]
        if not errors:
            project_id, about = add_project(request, user, values), values["description"]
            files = {"README.md": f"# {values['name']}\n" + (f"\n{about}\n" if about else "")} if readme else {}
            if values["template"]:
                files = project_templates()[values["template"]]["files"]
            if files:
                branch = queries.create_branch(db, project_id, "main", None)
                update(db, "branch", "branch_id", branch["branch_id"], is_protected=1)
                queries.commit(db, branch, user, "Initial commit", files, request.stamp)
            message = f"Project '{values['name']}' was successfully created."
            return request.redirect(f"/{values['namespace']}/{values['path']}", message)
    values["template"] = values["template"] if values["template"] in project_templates() else ""
    return request.render("new_blank.html", values=values, readme=readme, errors=errors, namespaces=spaces)


@site.get("/<namespace>/<path>", in_project())
def overview(request: Request, project: sqlite3.Row) -> str:
    """Show a project: its description, its source if the user may see it, its files and its README."""
    db, project_id, me = request.db, project["project_id"], my_id(request)
    branch = queries.find_branch(db, project_id, project["default_branch"])
    sources = queries.find_projects(db, me, where="p.project_id = :source", source=project["forked_from_id"])
    host = request.host.partition(":")[0]
    commits = "SELECT count(*) FROM commit_branch WHERE branch_id = ?"
    return request.render(
        "project.html",
        project=project,
        is_starred=first(db, "SELECT 1 FROM star WHERE user_id IS ? AND project_id = ?", (me, project_id)) is not None,
        ssh=f"git@{host}:{project['full_path']}.git",
        https=f"https://{host}/{project['full_path']}.git",
        source=sources[0] if sources else None,
        commit_count=row_or_404(db, commits, (branch["branch_id"],))[0] if branch else 0,
        branch_count=len(queries.branches(db, project_id)),
        branch=branch,
        **folder_view(db, project, branch, ""),
    )


def folder_view(db: sqlite3.Connection, project: sqlite3.Row, branch: sqlite3.Row | None, folder: str) -> dict[str, object]:
    """Return the values for the page of a folder: its entries, the last commit and its README."""
    if branch is None:
        return {"entries": [], "last": None, "readme": None, "branches": []}
    entries = queries.entries(db, branch["branch_id"], folder)
    readme = next((entry for entry in entries if not entry["is_folder"] and entry["name"].lower() == "readme.md"), None)
    last = f"{queries.COMMITS} WHERE commit_id = (SELECT head_id FROM branch WHERE branch_id = ?)"
    return {
        "entries": entries,
        "last": first(db, last, (branch["branch_id"],)),
        "readme": queries.find_file(db, branch["branch_id"], readme["path"]) if readme else None,
        "branches": queries.branches(db, project["project_id"]),
    }


@site.post("/<namespace>/<path>/-/<any(star, unstar):action>", members_only, in_project())
def star(request: Request, user: sqlite3.Row, project: sqlite3.Row, action: str) -> Response:
    """Star a project, or remove the star."""
    query = "DELETE FROM star WHERE user_id = :me AND project_id = :project"
    if action == "star":
        query = "INSERT OR IGNORE INTO star VALUES (:me, :project, :now)"
    request.db.execute(query, {"me": user["user_id"], "project": project["project_id"], "now": request.stamp})
    return redirect(return_url(request, f"/{project['full_path']}"))


@site.get("/<namespace>/<path>/-/starrers", in_project())
def starrers(request: Request, project: sqlite3.Row) -> str:
    """Show the users who have starred a project, latest first."""
    query = """SELECT u.*, s.created_at AS starred_at FROM star s JOIN user u USING (user_id) WHERE project_id = ?
        ORDER BY starred_at DESC, user_id DESC"""
    rows = request.db.execute(query, (project["project_id"],)).fetchall()
    pager = Pager.of(request, len(rows), 30, "page")
    return request.render("starrers.html", project=project, rows=pager.cut(rows), pager=pager)


@site.get("/<namespace>/<path>/-/forks", in_project())
def forks(request: Request, project: sqlite3.Row) -> str:
    """Show the forks of a project."""
    where, order = "p.forked_from_id = :source", "p.created_at DESC, p.project_id"
    rows = queries.find_projects(request.db, my_id(request), where=where, order=order, source=project["project_id"])
    return request.render("forks.html", project=project, rows=rows)


@site.form("/<namespace>/<path>/-/forks/new", members_only, in_project())
def fork(request: Request, user: sqlite3.Row, project: sqlite3.Row) -> str | Response:
    """Fork a project."""
    spaces, errors = namespaces(request.db, user), []
    values = {"namespace": user["username"], "visibility": project["visibility"]}
    if request.method == "POST":
        values = {name: clean(request.form.get(name, "")) for name in values}
        if values["namespace"] not in spaces:
            errors.append("Select a namespace where you may create projects.")
        elif complaint := path_complaint(request.db, values["namespace"], project["path"]):
            errors.append(complaint)
        if values["visibility"] not in _fork_visibilities(project):
            errors.append("A fork cannot be more visible than its source.")
        if not errors:
            shared = {key: project[key] for key in ("path", "name", "description", "topics", "default_branch", "license")}
            project_id = add_project(request, user, values | shared | {"forked_from_id": project["project_id"]})
            queries.copy_repository(request.db, project, project_id)
            return request.redirect(f"/{values['namespace']}/{project['path']}", "The project was forked.")
    return request.render("fork.html", project=project, namespaces=spaces, values=values, errors=errors)


def _fork_visibilities(project: sqlite3.Row) -> tuple[str, ...]:
    """Return the visibilities that a fork may have."""
    return VISIBILITIES[: VISIBILITIES.index(project["visibility"]) + 1]


site.templates.globals.update(allowed_visibilities=_fork_visibilities)


FIELDS = {
    "name": Field("Project name"),
    "description": Field("Project description", required=False, limit=500),
    "topics": Field("Topics", required=False),
    "visibility": Field("Visibility level", required=False),
}


def _page(request: Request, project: sqlite3.Row, typed: dict[str, str], errors: list[str]) -> str:
    values = {name: project[name] for name in (*FIELDS, "path")} | typed
    is_owner = rank(role_in(request, project)) >= rank("Owner")
    more = {"is_owner": is_owner, "branches": queries.branches(request.db, project["project_id"])}
    return request.render("project_settings.html", project=project, values=values, errors=errors, **more)


@site.form("/<namespace>/<path>/-/edit", members_only, in_project("Maintainer", even_archived=True))
def settings(request: Request, _: sqlite3.Row, project: sqlite3.Row) -> str | Response:
    """Change a project's name, description, topics and visibility."""
    if request.method != "POST":
        return _page(request, project, {}, [])
    if project["is_archived"]:
        raise Forbidden("This project is archived. Unarchive it first.")
    values, errors = read_and_check(request, FIELDS)
    topics = [topic.strip() for topic in values["topics"].split(",") if topic.strip()]
    values["topics"] = ", ".join(dict.fromkeys(topics))
    if values["visibility"] not in VISIBILITIES:
        errors.append("Select a visibility level.")
    if errors:
        return _page(request, project, values, errors)
    update(request.db, "project", "project_id", project["project_id"], **values)
    return request.redirect(f"/{project['full_path']}/-/edit", f"Project '{values['name']}' was successfully updated.")


@site.post("/<namespace>/<path>/-/edit/default_branch", members_only, in_project("Maintainer"))
def set_default_branch(request: Request, _: sqlite3.Row, project: sqlite3.Row) -> Response:
    """Set the default branch, which is then protected; the project's license is that of the new branch."""
    db, project_id = request.db, project["project_id"]
    branch = queries.find_branch(db, project_id, request.form.get("branch", ""))
    if branch is None:
        return request.redirect(f"/{project['full_path']}/-/edit", "There is no such branch.", "error")
    text = first(db, "SELECT content FROM file WHERE branch_id = ? AND path = 'LICENSE'", (branch["branch_id"],))
    named = queries.license_of(text["content"] if text else None)
    update(db, "project", "project_id", project_id, default_branch=branch["name"], license=named)
    db.execute("UPDATE branch SET is_protected = branch_id = ? WHERE project_id = ?", (branch["branch_id"], project_id))
    return request.redirect(f"/{project['full_path']}/-/edit", f"The default branch is now {branch['name']}.")


@site.post("/<namespace>/<path>/-/edit/path", members_only, in_project("Owner", even_archived=True))
def rename(request: Request, _: sqlite3.Row, project: sqlite3.Row) -> str | Response:
    """Change a project's path."""
    new_path = clean(request.form.get("path", ""))
    complaint = "" if new_path == project["path"] else path_complaint(request.db, project["namespace"], new_path)
    if complaint:
        return _page(request, project, {"path": new_path}, [complaint])
    update(request.db, "project", "project_id", project["project_id"], path=new_path)
    return request.redirect(f"/{project['namespace']}/{new_path}", "The path was changed.")


@site.post("/<namespace>/<path>/-/archive", members_only, in_project("Owner", even_archived=True))
def archive(request: Request, _: sqlite3.Row, project: sqlite3.Row) -> Response:
    """Archive a project, which makes it read-only, or restore it."""
    is_archived = request.form.get("archived") == "1"
    update(request.db, "project", "project_id", project["project_id"], is_archived=is_archived)
    return request.redirect(f"/{project['full_path']}", f"The project was {'archived' if is_archived else 'unarchived'}.")


@site.post("/<namespace>/<path>/-/delete", members_only, in_project("Owner", even_archived=True))
def delete(request: Request, _: sqlite3.Row, project: sqlite3.Row) -> str | Response:
    """Delete a project. The form must contain its full path."""
    if clean(request.form.get("confirmation", "")) != project["full_path"]:
        return _page(request, project, {}, [f"To delete the project, type {project['full_path']} to confirm."])
    delete_project(request.db, project["project_id"])
    return request.redirect("/dashboard/projects", f"Project '{project['name']}' was deleted.")
