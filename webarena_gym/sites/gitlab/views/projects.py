"""Projects: the overview of one, stars and forks, new ones and their settings."""

import json
import sqlite3
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from werkzeug.exceptions import Forbidden

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import git, queries
from webarena_gym.sites.gitlab.git import delete_project
from webarena_gym.sites.gitlab.queries import VISIBILITIES, is_slug, slug
from webarena_gym.sites.gitlab.site import Field, find_project, members_only, my_id, require_role, role_in, site
from webarena_gym.sites.gitlab.world_projects import rank
from webarena_gym.sites.kit.accounts import return_url
from webarena_gym.sites.kit.forms import Pager, checked, clean, complaints, read
from webarena_gym.sites.kit.requests import Request, Response, redirect

ORDERS = {
    "latest_activity_desc": ("Last updated", "p.last_activity_at DESC, p.project_id"),
    "stars_desc": ("Most stars", "stars DESC, p.project_id"),
    "name_asc": ("Name", "p.name COLLATE NOCASE, p.project_id"),
    "created_desc": ("Newest", "p.created_at DESC, p.project_id DESC"),
}
PER_PAGE = 20


class Listing(NamedTuple):
    """One page of a list of projects, and what it was filtered and sorted by."""

    rows: list[sqlite3.Row]
    pager: Pager
    name: str
    topic: str
    sort: str
    orders: list[tuple[str, str]]


def list_projects(request: Request, where: str = "1", **values: Any) -> Listing:
    """Return the page that the request asks for of the visible projects that fulfil `where`."""
    name, topic = (clean(request.args.get(key, ""))[:200] for key in ("name", "topic"))
    sort = request.args.get("sort", "")
    sort = sort if sort in ORDERS else next(iter(ORDERS))
    request.shows({"name": folded(name), "topic": folded(topic)})
    request.arranges({"sort": sort})
    wanted = f"""({where}) AND (:name = '' OR instr(lower(p.namespace || '/' || p.path || ' ' || p.name || ' ' || p.description
        || ' ' || p.topics), lower(:name)))
        AND (:topic = '' OR instr(', ' || lower(p.topics) || ',', ', ' || lower(:topic) || ','))"""
    rows = queries.find_projects(
        request.db, my_id(request), where=wanted, order=ORDERS[sort][1], name=name, topic=topic, **values
    )
    pager = Pager.of(request, len(rows), PER_PAGE, "page")
    orders = [(key, label) for key, (label, _) in ORDERS.items()]
    return Listing(pager.cut(rows), pager, name, topic, sort, orders)


NAME = Field("Project name")
NEW_PROJECT_FIELDS = {
    "name": NAME, "path": Field("Project slug", required=False, limit=100), "namespace": Field("Namespace", required=False),
    "description": Field("Project description", required=False, limit=500),
    "visibility": Field("Visibility level", required=False), "template": Field("Template", required=False),
}  # fmt: skip


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


@site.get("/projects/new", members_only)
def choose(request: Request, _: sqlite3.Row) -> str:
    """Ask how a new project is to begin."""
    return request.render("new_project.html")


@site.get("/projects/new/template", members_only)
def choose_template(request: Request, _: sqlite3.Row) -> str:
    """Ask which template a new project is to begin with."""
    return request.render("project_templates.html", templates=project_templates())


def _form(request: Request, user: sqlite3.Row, values: dict[str, str], *, readme: bool, errors: list[str]) -> str:
    template = values["template"] if values["template"] in project_templates() else ""
    return request.render(
        "new_blank.html",
        values=values | {"template": template},
        readme=readme,
        errors=errors,
        namespaces=namespaces(request.db, user),
    )


@site.form("/projects/new/blank", members_only)
def create(request: Request, user: sqlite3.Row) -> str | Response:
    """Make a project."""
    if request.method != "POST":
        values = dict.fromkeys(NEW_PROJECT_FIELDS, "") | {"visibility": "private", "namespace": user["username"]}
        for name in ("template", "namespace"):
            values[name] = clean(request.args.get(name, values[name]))
        request.shows({"template": values["template"], "namespace": values["namespace"]})
        return _form(request, user, values, readme=True, errors=[])
    values, readme = read(request, NEW_PROJECT_FIELDS), request.form.get("readme") == "1"
    values["path"] = values["path"] or slug(values["name"])
    errors = complaints(values, NEW_PROJECT_FIELDS)
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


@site.get("/<namespace>/<path>")
def overview(request: Request, namespace: str, path: str) -> str:
    """Show a project: what it is, its files and its README."""
    project = find_project(request, namespace, path)
    branch = git.find_branch(request.db, project["project_id"], project["default_branch"])
    me = my_id(request)
    is_starred = request.db.execute(
        "SELECT 1 FROM star WHERE user_id IS ? AND project_id = ?", (me, project["project_id"])
    ).fetchone()
    host = request.host.partition(":")[0]
    return request.render(
        "project.html",
        project=project,
        is_starred=is_starred is not None,
        ssh=f"git@{host}:{project['full_path']}.git",
        https=f"https://{host}/{project['full_path']}.git",
        source=_source(request.db, project, me),
        commit_count=_commit_count(request.db, branch),
        branch_count=len(queries.branches(request.db, project["project_id"])),
        branch=branch,
        **folder_view(request.db, project, branch, ""),
    )


def _source(db: sqlite3.Connection, project: sqlite3.Row, me: int | None) -> sqlite3.Row | None:
    """Return what a project was forked from, as far as it may be seen."""
    rows = queries.find_projects(db, me, where="p.project_id = :source", source=project["forked_from_id"])
    return rows[0] if rows else None


def _commit_count(db: sqlite3.Connection, branch: sqlite3.Row | None) -> int:
    if branch is None:
        return 0
    row = db.execute("SELECT count(*) FROM commit_branch WHERE branch_id = ?", (branch["branch_id"],)).fetchone()
    return int(row[0])


def folder_view(db: sqlite3.Connection, project: sqlite3.Row, branch: sqlite3.Row | None, folder: str) -> dict[str, object]:
    """Return what a page needs to show a folder: its entries, the last commit, its README."""
    if branch is None:
        return {"entries": [], "last": None, "readme": None, "branches": []}
    entries = git.entries(db, branch["branch_id"], folder)
    readme = next((entry for entry in entries if not entry.is_folder and entry.name.lower() == "readme.md"), None)
    last = db.execute(
        """
        SELECT c.*, u.username FROM git_commit c LEFT JOIN user u ON u.user_id = c.author_id
        WHERE commit_id = (SELECT head_id FROM branch WHERE branch_id = ?)
        """,
        (branch["branch_id"],),
    ).fetchone()
    return {
        "entries": entries,
        "last": last,
        "readme": git.find_file(db, branch["branch_id"], readme.path) if readme else None,
        "branches": queries.branches(db, project["project_id"]),
    }


@site.post("/<namespace>/<path>/-/star", members_only)
def star(request: Request, user: sqlite3.Row, namespace: str, path: str) -> Response:
    """Star a project."""
    project = find_project(request, namespace, path)
    request.db.execute("INSERT OR IGNORE INTO star VALUES (?, ?, ?)", (user["user_id"], project["project_id"], request.stamp))
    return redirect(return_url(request, f"/{project['full_path']}"))


@site.post("/<namespace>/<path>/-/unstar", members_only)
def unstar(request: Request, user: sqlite3.Row, namespace: str, path: str) -> Response:
    """Take a star back."""
    project = find_project(request, namespace, path)
    request.db.execute("DELETE FROM star WHERE user_id = ? AND project_id = ?", (user["user_id"], project["project_id"]))
    return redirect(return_url(request, f"/{project['full_path']}"))


@site.get("/<namespace>/<path>/-/starrers")
def starrers(request: Request, namespace: str, path: str) -> str:
    """Show who has starred a project, the latest first."""
    project = find_project(request, namespace, path)
    rows = request.db.execute(
        "SELECT u.*, s.created_at AS starred_at FROM star s JOIN user u USING (user_id) WHERE project_id = ? ORDER BY 2, 1",
        (project["project_id"],),
    ).fetchall()
    rows.sort(key=lambda row: (row["starred_at"], row["user_id"]), reverse=True)
    pager = Pager.of(request, len(rows), 30, "page")
    return request.render("starrers.html", project=project, rows=pager.cut(rows), pager=pager)


@site.get("/<namespace>/<path>/-/forks")
def forks(request: Request, namespace: str, path: str) -> str:
    """Show the forks of a project."""
    project = find_project(request, namespace, path)
    rows = queries.find_projects(
        request.db,
        my_id(request),
        where="p.forked_from_id = :source",
        order="p.created_at DESC, p.project_id",
        source=project["project_id"],
    )
    return request.render("forks.html", project=project, rows=rows)


@site.form("/<namespace>/<path>/-/forks/new", members_only)
def fork(request: Request, user: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Fork a project."""
    project = find_project(request, namespace, path)
    if request.method != "POST":
        values = {"namespace": user["username"], "visibility": project["visibility"]}
        return request.render("fork.html", project=project, namespaces=namespaces(request.db, user), values=values, errors=[])
    choices = namespaces(request.db, user)
    values = {name: clean(request.form.get(name, "")) for name in ("namespace", "visibility")}
    errors = []
    if values["namespace"] not in choices:
        errors.append("Select a namespace where you may create projects.")
    elif complaint := path_complaint(request.db, values["namespace"], project["path"]):
        errors.append(complaint)
    if values["visibility"] not in _allowed(project):
        errors.append("A fork cannot be more visible than its source.")
    if errors:
        return request.render("fork.html", project=project, namespaces=choices, values=values, errors=errors)
    shared = {key: project[key] for key in ("path", "name", "description", "topics", "default_branch", "license")}
    project_id = add_project(request, user, values | shared | {"forked_from_id": project["project_id"]})
    git.copy_repository(request.db, project, project_id)
    return request.redirect(f"/{values['namespace']}/{project['path']}", "The project was forked.")


def _allowed(project: sqlite3.Row) -> tuple[str, ...]:
    """Return the visibilities that a fork may have."""
    return {"public": ("private", "internal", "public"), "internal": ("private", "internal")}.get(
        project["visibility"], ("private",)
    )


site.templates.globals.update(allowed_visibilities=_allowed)


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


@site.get("/<namespace>/<path>/-/edit", members_only)
def settings(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Show a project's settings."""
    project = _settled(request, namespace, path)
    return _page(request, project, _stored(project), [])


@site.post("/<namespace>/<path>/-/edit", members_only)
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


@site.post("/<namespace>/<path>/-/edit/default_branch", members_only)
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


@site.post("/<namespace>/<path>/-/edit/path", members_only)
def rename(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Change a project's path."""
    project = _settled(request, namespace, path, "Owner")
    wanted = clean(request.form.get("path", ""))
    complaint = "" if wanted == project["path"] else path_complaint(request.db, project["namespace"], wanted)
    if complaint:
        return _page(request, project, _stored(project) | {"path": wanted}, [complaint])
    request.db.execute("UPDATE project SET path = ? WHERE project_id = ?", (wanted, project["project_id"]))
    return request.redirect(f"/{project['namespace']}/{wanted}", "The path was changed.")


@site.post("/<namespace>/<path>/-/archive", members_only)
def archive(request: Request, _: sqlite3.Row, namespace: str, path: str) -> Response:
    """Make a project read-only, or take that back."""
    project = _settled(request, namespace, path, "Owner")
    is_archived = request.form.get("archived") == "1"
    request.db.execute("UPDATE project SET is_archived = ? WHERE project_id = ?", (is_archived, project["project_id"]))
    return request.redirect(
        f"/{project['full_path']}", "The project was archived." if is_archived else "The project was unarchived."
    )


@site.post("/<namespace>/<path>/-/delete", members_only)
def delete(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Delete a project, when its full path was typed to confirm it."""
    project = _settled(request, namespace, path, "Owner")
    if clean(request.form.get("confirmation", "")) != project["full_path"]:
        return _page(request, project, _stored(project), [f"To delete the project, type {project['full_path']} to confirm."])
    delete_project(request.db, project["project_id"])
    return request.redirect("/dashboard/projects", f"Project '{project['name']}' was deleted.")
