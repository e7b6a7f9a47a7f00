"""A project at a glance, its stars and its forks."""

import sqlite3

from webarena_gym.sites.gitlab import git, queries
from webarena_gym.sites.gitlab.base import find_project, members_only, my_id, site
from webarena_gym.sites.gitlab.views.new_project import add_project, namespaces, path_complaint
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.visits import return_url


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


@site.post("/<namespace>/<path>/-/star")
@members_only
def star(request: Request, user: sqlite3.Row, namespace: str, path: str) -> Response:
    """Star a project."""
    project = find_project(request, namespace, path)
    request.db.execute("INSERT OR IGNORE INTO star VALUES (?, ?, ?)", (user["user_id"], project["project_id"], request.stamp))
    return redirect(return_url(request, f"/{project['full_path']}"))


@site.post("/<namespace>/<path>/-/unstar")
@members_only
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


@site.get("/<namespace>/<path>/-/forks/new")
@members_only
def fork_form(request: Request, user: sqlite3.Row, namespace: str, path: str) -> str:
    """Ask where a fork is to be."""
    project = find_project(request, namespace, path)
    values = {"namespace": user["username"], "visibility": project["visibility"]}
    return request.render("fork.html", project=project, namespaces=namespaces(request.db, user), values=values, errors=[])


@site.post("/<namespace>/<path>/-/forks/new")
@members_only
def fork(request: Request, user: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Fork a project."""
    project = find_project(request, namespace, path)
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
