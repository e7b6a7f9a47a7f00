"""Branches: the list of them, new ones, and removing one."""

import sqlite3

from werkzeug.exceptions import Forbidden, NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import git, queries
from webarena_gym.sites.gitlab.base import find_project, members_only, require_role, site
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response


@site.get("/<namespace>/<path>/-/branches")
def branches(request: Request, namespace: str, path: str) -> str:
    """Show the branches, the default one first, with how far they are ahead of it and behind it."""
    project = find_project(request, namespace, path)
    search = clean(request.args.get("search", ""))[:200]
    request.shows({"search": folded(search)})
    rows = [row for row in queries.branches(request.db, project["project_id"]) if search.lower() in row["name"].lower()]
    rows.sort(key=lambda row: (row["name"] != project["default_branch"], row["name"]))
    pager = Pager.of(request, len(rows), 20, "page")
    trunk = git.find_branch(request.db, project["project_id"], project["default_branch"])
    shown = [(row, _only_in(request.db, row, trunk), _only_in(request.db, trunk, row)) for row in pager.cut(rows)]
    return request.render("branches.html", project=project, shown=shown, pager=pager, search=search)


def _only_in(db: sqlite3.Connection, branch: sqlite3.Row | None, other: sqlite3.Row | None) -> int:
    """Return how many commits a branch has that another has not."""
    query = """SELECT count(*) FROM commit_branch WHERE branch_id = ?
        AND commit_id NOT IN (SELECT commit_id FROM commit_branch WHERE branch_id = ?)"""
    if branch is None or other is None:
        return 0
    return int(db.execute(query, (branch["branch_id"], other["branch_id"])).fetchone()[0])


def _form(request: Request, project: sqlite3.Row, values: dict[str, str], errors: list[str]) -> str:
    names = [row["name"] for row in queries.branches(request.db, project["project_id"])]
    return request.render("new_branch.html", project=project, values=values, names=names, errors=errors)


@site.get("/<namespace>/<path>/-/branches/new")
@members_only
def new_form(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Ask for a new branch's name and where it starts."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    return _form(request, project, {"name": "", "source": project["default_branch"]}, [])


@site.post("/<namespace>/<path>/-/branches/new")
@members_only
def create(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Make a branch."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    values = {name: clean(request.form.get(name, "")) for name in ("name", "source")}
    source = git.find_branch(request.db, project["project_id"], values["source"])
    complaint = git.branch_complaint(request.db, project["project_id"], values["name"])
    errors = ([complaint] if complaint else []) + ([] if source else ["Select the branch to create from."])
    if errors:
        return _form(request, project, values, errors)
    git.create_branch(request.db, project["project_id"], values["name"], source)
    return request.redirect(f"/{project['full_path']}/-/branches", f"The branch {values['name']} was created.")


@site.post("/<namespace>/<path>/-/branches/delete")
@members_only
def delete(request: Request, _: sqlite3.Row, namespace: str, path: str) -> Response:
    """Remove a branch that is not the default one. Raises NotFound, Forbidden."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    branch = git.find_branch(request.db, project["project_id"], request.form.get("name", ""))
    if branch is None:
        raise NotFound
    if branch["is_protected"] or branch["name"] == project["default_branch"]:
        raise Forbidden("The default branch and protected branches cannot be deleted.")
    git.delete_branch(request.db, branch["branch_id"])
    return request.redirect(f"/{project['full_path']}/-/branches", f"The branch {branch['name']} was deleted.")
