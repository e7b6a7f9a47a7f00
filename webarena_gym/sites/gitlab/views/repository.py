"""Folders and files of a repository: reading them, and changing one by one commit."""

import sqlite3
from urllib.parse import quote

from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab import git, queries
from webarena_gym.sites.gitlab.base import find_project, members_only, require_role, site
from webarena_gym.sites.gitlab.views.projects import folder_view
from webarena_gym.sites.gitlab.world.pools import licenses
from webarena_gym.sites.kit.forms import clean, tidy
from webarena_gym.sites.kit.requests import Request, Response, redirect

SHOWN = 40_000  # characters of a file that its page shows


@site.get("/<namespace>/<path>/-/refs/switch")
def switch(request: Request, namespace: str, path: str) -> Response:
    """Lead to the same kind of page on another branch."""
    project = find_project(request, namespace, path)
    branch = git.find_branch(request.db, project["project_id"], request.args.get("branch", ""))
    kind, wanted = request.args.get("kind", ""), clean(request.args.get("path", ""))
    if branch is None or kind not in ("tree", "blob", "commits", "graphs"):
        raise NotFound
    names = [row["path"] for row in git.files(request.db, branch["branch_id"])]
    is_there = any(name == wanted or name.startswith(f"{wanted}/") for name in names)
    if kind == "blob" and wanted not in names:
        kind = "tree"
    address = f"/{project['full_path']}/-/{kind}/{quote(branch['name'])}"
    return redirect(f"{address}/{quote(wanted)}" if wanted and is_there and kind != "graphs" else address)


@site.get("/<namespace>/<path>/-/tree/<path:address>")
def folder(request: Request, namespace: str, path: str, address: str) -> str | Response:
    """Show what is in a folder of a branch."""
    project = find_project(request, namespace, path)
    if not queries.branches(request.db, project["project_id"]):
        return redirect(f"/{project['full_path']}")
    branch, place = git.branch_and_path(request.db, project, address)
    view = folder_view(request.db, project, branch, place)
    if place and not view["entries"]:
        raise NotFound
    return request.render("tree.html", project=project, branch=branch, path=place, **view)


@site.get("/<namespace>/<path>/-/blob/<path:address>")
def file(request: Request, namespace: str, path: str, address: str) -> str:
    """Show a file of a branch."""
    project = find_project(request, namespace, path)
    branch, place = git.branch_and_path(request.db, project, address)
    row = git.find_file(request.db, branch["branch_id"], place)
    author = queries.user(request.db, row["author_id"]) if row["author_id"] else None
    return request.render(
        "blob.html",
        project=project,
        branch=branch,
        file=row,
        shown=row["content"][:SHOWN],
        username=author["username"] if author else "",
        branches=queries.branches(request.db, project["project_id"]),
    )


@site.get("/<namespace>/<path>/-/raw/<path:address>")
def raw(request: Request, namespace: str, path: str, address: str) -> Response:
    """Return a file as it is."""
    project = find_project(request, namespace, path)
    branch, place = git.branch_and_path(request.db, project, address)
    content = git.find_file(request.db, branch["branch_id"], place)["content"]
    return Response(content, content_type="text/plain; charset=utf-8")


def _editor(
    request: Request, project: sqlite3.Row, branch: str, path: str, values: dict[str, str], errors: list[str], *, is_new: bool
) -> str:
    return request.render(
        "edit_file.html",
        project=project,
        branch=branch,
        path=path,
        values=values,
        errors=errors,
        is_new=is_new,
        licenses=list(licenses()),
    )


def _license_text(request: Request, user: sqlite3.Row) -> str:
    """Return the text of the license that the URL names, made out to the signed-in person; "" without one."""
    text = licenses().get(request.args.get("license", ""), "")
    request.shows({"license": request.args.get("license") if text else None})
    return text.replace("@y@", str(request.now.year)).replace("@a@", user["name"])


@site.get("/<namespace>/<path>/-/edit/<path:address>")
@members_only
def edit_form(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> str:
    """Ask for a file's new text."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    branch, place = git.branch_and_path(request.db, project, address)
    row = git.find_file(request.db, branch["branch_id"], place)
    content = _license_text(request, user) or row["content"]
    values = {"content": content, "message": f"Update {place.rpartition('/')[2]}", "branch": branch["name"]}
    return _editor(request, project, branch["name"], place, values, [], is_new=False)


def _posted(request: Request) -> tuple[dict[str, str], list[str]]:
    """Return what was typed into the editor, and what is wrong with it."""
    values = {name: clean(request.form.get(name, "")) for name in ("message", "branch", "file_name")}
    values["content"] = tidy(request.form.get("content", ""))
    errors = []
    if not values["message"]:
        errors.append("Commit message can't be blank.")
    if len(values["message"]) > 2000:
        errors.append("Commit message is too long: 2000 characters at most.")
    if len(values["content"]) > git.LONGEST_FILE:
        errors.append(f"The file is too long: {git.LONGEST_FILE:,} characters at most.")
    return values, errors


def _target(
    request: Request, project: sqlite3.Row, source: sqlite3.Row | None, name: str
) -> tuple[sqlite3.Row | None, list[str]]:
    """Return the branch to commit to, and what is wrong with its name; a branch that is not there yet is to be made."""
    wanted = name or (source["name"] if source else project["default_branch"])
    branch = git.find_branch(request.db, project["project_id"], wanted)
    if branch is not None:
        return branch, []
    complaint = git.branch_complaint(request.db, project["project_id"], wanted)
    return None, [complaint] if complaint else []


def _save(
    request: Request, user: sqlite3.Row, project: sqlite3.Row, source: sqlite3.Row | None, values: dict[str, str],
    changes: dict[str, str | None],
) -> str:  # fmt: skip
    """Commit changes to the branch that was asked for, made from `source` when it is new, and return its name."""
    name = values["branch"] or (source["name"] if source else project["default_branch"])
    branch = git.find_branch(request.db, project["project_id"], name)
    if branch is None:
        branch = git.create_branch(request.db, project["project_id"], name, source)
    git.commit(request.db, branch, user, values["message"], changes, request.stamp)
    request.flash("Your changes have been successfully committed.")
    return str(branch["name"])


@site.post("/<namespace>/<path>/-/edit/<path:address>")
@members_only
def edit(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> str | Response:
    """Commit a file's new text."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    source, place = git.branch_and_path(request.db, project, address)
    row = git.find_file(request.db, source["branch_id"], place)
    values, errors = _posted(request)
    errors += _target(request, project, source, values["branch"])[1]
    if not errors and row["content"] == values["content"]:
        errors = ["There is nothing to commit: the text has not changed."]
    if errors:
        return _editor(request, project, source["name"], place, values, errors, is_new=False)
    name = _save(request, user, project, source, values, {place: values["content"]})
    return redirect(f"/{project['full_path']}/-/blob/{quote(name)}/{quote(place)}")


def _starting_point(request: Request, project: sqlite3.Row, address: str) -> tuple[sqlite3.Row | None, str]:
    """Return the branch and folder for a new file; an empty repository has no branch yet. Raises NotFound."""
    if queries.branches(request.db, project["project_id"]):
        return git.branch_and_path(request.db, project, address)
    if address.strip("/") != project["default_branch"]:
        raise NotFound
    return None, ""


@site.get("/<namespace>/<path>/-/new/<path:address>")
@members_only
def new_form(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> str:
    """Ask for a new file's name and text."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    branch, place = _starting_point(request, project, address)
    name = branch["name"] if branch else project["default_branch"]
    content = _license_text(request, user)
    values = {"content": content, "message": "Add new file", "branch": name, "file_name": "LICENSE" if content else ""}
    return _editor(request, project, name, place, values, [], is_new=True)


@site.post("/<namespace>/<path>/-/new/<path:address>")
@members_only
def create(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> str | Response:
    """Commit a new file; slashes in its name make folders."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    source, place = _starting_point(request, project, address)
    values, errors = _posted(request)
    target, complaints = _target(request, project, source, values["branch"])
    full = f"{place}/{values['file_name']}" if place and values["file_name"] else values["file_name"]
    base = target or source
    complaint = git.path_complaint(request.db, base["branch_id"] if base else None, full)
    errors += complaints + ([complaint] if complaint else [])
    if errors:
        name = source["name"] if source else project["default_branch"]
        return _editor(request, project, name, place, values, errors, is_new=True)
    name = _save(request, user, project, source, values, {full: values["content"]})
    return redirect(f"/{project['full_path']}/-/blob/{quote(name)}/{quote(full)}")


@site.post("/<namespace>/<path>/-/delete/<path:address>")
@members_only
def delete(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> Response:
    """Delete a file by a commit."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    branch, place = git.branch_and_path(request.db, project, address)
    git.find_file(request.db, branch["branch_id"], place)
    message = clean(request.form.get("message", ""))[:2000] or f"Delete {place.rpartition('/')[2]}"
    git.commit(request.db, branch, user, message, {place: None}, request.stamp)
    return request.redirect(
        f"/{project['full_path']}/-/tree/{quote(branch['name'])}", "The file has been successfully deleted."
    )
