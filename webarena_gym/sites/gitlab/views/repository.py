"""A repository: branches, commits, files and their changes, and merge requests."""

import sqlite3
from collections import Counter
from functools import wraps
from itertools import groupby
from urllib.parse import quote

from werkzeug.exceptions import Conflict, Forbidden, NotFound

from webarena_gym.sites.country.texts import fold_case
from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.planning import MERGE_REQUEST, ItemKind, ItemPlan, Ledger, address, merge_obstacle
from webarena_gym.sites.gitlab.queries import Change, commits_between, contents, diff_lines
from webarena_gym.sites.gitlab.site import in_project, members_only, site
from webarena_gym.sites.gitlab.views.items import ask_plan, of_item
from webarena_gym.sites.gitlab.views.projects import folder_view
from webarena_gym.sites.gitlab.world_projects import licenses
from webarena_gym.sites.kit.database import first, row_or_404, value
from webarena_gym.sites.kit.forms import Pager, clean, tidy
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import View


@site.get("/<namespace>/<path>/-/branches", in_project())
def branches(request: Request, project: sqlite3.Row) -> str:
    """Show the branches, the default one first, with the numbers of commits ahead of it and behind it."""
    search = clean(request.args.get("search", ""))[:200]
    request.shows({"search": fold_case(search)})
    rows = [row for row in queries.branches(request.db, project["project_id"]) if search.lower() in row["name"].lower()]
    rows.sort(key=lambda row: (row["name"] != project["default_branch"], row["name"]))
    pager = Pager.of(request, len(rows), 20, "page")
    trunk = queries.find_branch(request.db, project["project_id"], project["default_branch"])
    shown = [(row, _only_in(request.db, row, trunk), _only_in(request.db, trunk, row)) for row in pager.cut(rows)]
    return request.render("branches.html", project=project, shown=shown, pager=pager, search=search)


def _only_in(db: sqlite3.Connection, branch: sqlite3.Row | None, other: sqlite3.Row | None) -> int:
    """Return the number of commits of a branch that another one does not have."""
    query = """SELECT count(*) FROM commit_branch WHERE branch_id = ?
        AND commit_id NOT IN (SELECT commit_id FROM commit_branch WHERE branch_id = ?)"""
    return int(value(db, query, (branch["branch_id"], other["branch_id"]))) if branch and other else 0


@site.form("/<namespace>/<path>/-/branches/new", members_only, in_project("Developer"))
def make_branch(request: Request, _: sqlite3.Row, project: sqlite3.Row) -> str | Response:
    """Create a branch."""
    values, errors = {"name": "", "source": project["default_branch"]}, []
    if request.method == "POST":
        values = {name: clean(request.form.get(name, "")) for name in values}
        source = queries.find_branch(request.db, project["project_id"], values["source"])
        complaint = queries.branch_complaint(request.db, project["project_id"], values["name"])
        errors = ([complaint] if complaint else []) + ([] if source else ["Select the branch to create from."])
        if not errors:
            queries.create_branch(request.db, project["project_id"], values["name"], source)
            return request.redirect(f"/{project['full_path']}/-/branches", f"The branch {values['name']} was created.")
    names = [row["name"] for row in queries.branches(request.db, project["project_id"])]
    return request.render("new_branch.html", project=project, values=values, names=names, errors=errors)


@site.post("/<namespace>/<path>/-/branches/delete", members_only, in_project("Developer"))
def remove_branch(request: Request, _: sqlite3.Row, project: sqlite3.Row) -> Response:
    """Delete a branch other than the default one. Raises NotFound and Forbidden."""
    branch = queries.find_branch(request.db, project["project_id"], request.form.get("name", ""))
    if branch is None:
        raise NotFound
    if branch["is_protected"] or branch["name"] == project["default_branch"]:
        raise Forbidden("The default branch and protected branches cannot be deleted.")
    for table in ("commit_branch", "file", "branch"):  # commits that only it had stay known by their names
        request.db.execute(f"DELETE FROM {table} WHERE branch_id = ?", (branch["branch_id"],))
    return request.redirect(f"/{project['full_path']}/-/branches", f"The branch {branch['name']} was deleted.")


def on_branch(view: View) -> View:
    """Return a decorator that passes the branch and path of the URL to a view; empty repositories redirect to the project."""

    @wraps(view)
    def wrapper(request: Request, project: sqlite3.Row, address: str) -> str | Response:
        if not queries.branches(request.db, project["project_id"]):
            return redirect(f"/{project['full_path']}")
        return view(request, project, *queries.branch_and_path(request.db, project, address))

    return wrapper


@site.get("/<namespace>/<path>/-/commits/<path:address>", in_project(), on_branch)
def commits(request: Request, project: sqlite3.Row, branch: sqlite3.Row, place: str) -> str:
    """Show the commits of a branch, latest first, filtered by path, author and text."""
    author, text = (clean(request.args.get(name, ""))[:200] for name in ("author", "search"))
    request.shows({"author": author, "search": fold_case(text)})
    query = """
        SELECT c.*, u.username, date(c.created_at) AS day FROM commit_branch b JOIN git_commit c USING (commit_id)
            LEFT JOIN user u ON u.user_id = c.author_id
        WHERE b.branch_id = :branch AND (:author = '' OR c.author_name = :author)
            AND (:text = '' OR instr(lower(c.title || ' ' || c.message), lower(:text)))
            AND (:place = '' OR EXISTS (
                SELECT 1 FROM file_change f WHERE f.commit_id = c.commit_id
                AND (f.path = :place OR substr(f.path, 1, length(:place) + 1) COLLATE NOCASE = :place || '/')
            ))
        ORDER BY c.created_at DESC, c.commit_id DESC
    """
    names = (
        "SELECT DISTINCT c.author_name FROM commit_branch JOIN git_commit c USING (commit_id) WHERE branch_id = ? ORDER BY 1"
    )
    bound = {"branch": branch["branch_id"], "author": author, "text": text, "place": place}
    rows = request.db.execute(query, bound).fetchall()
    pager = Pager.of(request, len(rows), 40, "page")
    counts = Counter(row["day"] for row in rows)
    return request.render(
        "commits.html",
        project=project,
        branch=branch,
        path=place,
        branches=queries.branches(request.db, project["project_id"]),
        days=[(day, counts[day], list(group)) for day, group in groupby(pager.cut(rows), key=lambda row: row["day"])],
        pager=pager,
        author=author,
        search=text,
        authors=[name for (name,) in request.db.execute(names, (branch["branch_id"],))],
    )


@site.get("/<namespace>/<path>/-/commit/<sha>", in_project())
def commit(request: Request, project: sqlite3.Row, sha: str) -> str:
    """Show a commit, by its hash or a prefix of at least seven digits, and its changes."""
    if not 7 <= len(sha) <= 40 or not set(sha) <= set("0123456789abcdef"):
        raise NotFound
    query = """SELECT c.*, u.username, p.sha AS parent_sha FROM git_commit c LEFT JOIN user u ON u.user_id = c.author_id
        LEFT JOIN git_commit p ON p.commit_id = c.parent_id
        WHERE c.project_id = ? AND substr(c.sha, 1, ?) = ? ORDER BY c.commit_id LIMIT 1"""
    row = row_or_404(request.db, query, (project["project_id"], len(sha), sha))
    files = "SELECT path, kind, before, after FROM file_change WHERE commit_id = ? ORDER BY path"
    changes = [Change(*change) for change in request.db.execute(files, (row["commit_id"],))]
    branches = "SELECT name FROM branch JOIN commit_branch USING (branch_id) WHERE commit_id = ? ORDER BY name"
    kinds = [kind for change in changes for kind, _ in diff_lines(change)]
    return request.render(
        "commit.html",
        project=project,
        commit=row,
        changes=changes,
        diff_lines=diff_lines,
        branches=[name for (name,) in request.db.execute(branches, (row["commit_id"],))],
        added=kinds.count("added"),
        removed=kinds.count("removed"),
    )


@site.get("/<namespace>/<path>/-/graphs/<path:address>", in_project(), on_branch)
def contributors(request: Request, project: sqlite3.Row, branch: sqlite3.Row, place: str) -> str:
    """Show the authors of commits to a branch, most active first."""
    if place:
        raise NotFound
    query = """
        SELECT c.author_name, c.author_email, u.username, count(*) AS commits, min(c.created_at) AS first,
            max(c.created_at) AS last
        FROM commit_branch b JOIN git_commit c USING (commit_id) LEFT JOIN user u ON u.user_id = c.author_id
        WHERE b.branch_id = ? GROUP BY c.author_email ORDER BY commits DESC, c.author_name
    """
    rows = request.db.execute(query, (branch["branch_id"],)).fetchall()
    pager, branches = Pager.of(request, len(rows), 30, "page"), queries.branches(request.db, project["project_id"])
    listed = {"rows": pager.cut(rows), "pager": pager, "total": sum(row["commits"] for row in rows)}
    return request.render("contributors.html", project=project, branch=branch, branches=branches, **listed)


SHOWN = 40_000  # characters of a file that its page shows


@site.get("/<namespace>/<path>/-/refs/switch", in_project())
def switch(request: Request, project: sqlite3.Row) -> Response:
    """Redirect to the same page of another branch."""
    branch = queries.find_branch(request.db, project["project_id"], request.args.get("branch", ""))
    kind, target = request.args.get("kind", ""), clean(request.args.get("path", ""))
    if branch is None or kind not in ("tree", "blob", "commits", "graphs"):
        raise NotFound
    names = [row["path"] for row in queries.files(request.db, branch["branch_id"])]
    is_there = any(name == target or name.startswith(f"{target}/") for name in names)
    if kind == "blob" and target not in names:
        kind = "tree"
    address = f"/{project['full_path']}/-/{kind}/{quote(branch['name'])}"
    return redirect(f"{address}/{quote(target)}" if target and is_there and kind != "graphs" else address)


@site.get("/<namespace>/<path>/-/tree/<path:address>", in_project(), on_branch)
def folder(request: Request, project: sqlite3.Row, branch: sqlite3.Row, place: str) -> str:
    """Show the content of a folder of a branch."""
    view = folder_view(request.db, project, branch, place)
    if place and not view["entries"]:
        raise NotFound
    return request.render("tree.html", project=project, branch=branch, path=place, **view)


@site.get("/<namespace>/<path>/-/blob/<path:address>", in_project())
def file(request: Request, project: sqlite3.Row, address: str) -> str:
    """Show a file of a branch."""
    branch, place = queries.branch_and_path(request.db, project, address)
    row = queries.find_file(request.db, branch["branch_id"], place)
    author = queries.user(request.db, row["author_id"]) if row["author_id"] else None
    more = {"shown": row["content"][:SHOWN], "username": author["username"] if author else ""}
    branches = queries.branches(request.db, project["project_id"])
    return request.render("blob.html", project=project, branch=branch, file=row, branches=branches, **more)


@site.get("/<namespace>/<path>/-/raw/<path:address>", in_project())
def raw(request: Request, project: sqlite3.Row, address: str) -> Response:
    """Return a file without formatting."""
    branch, place = queries.branch_and_path(request.db, project, address)
    content = queries.find_file(request.db, branch["branch_id"], place)["content"]
    return Response(content, content_type="text/plain; charset=utf-8")


@site.form("/<namespace>/<path>/-/<any(edit, new):mode>/<path:address>", members_only, in_project("Developer"))
def write_file(request: Request, user: sqlite3.Row, project: sqlite3.Row, mode: str, address: str) -> str | Response:
    """Commit a new or changed file; slashes in its name create folders. An empty repository gets its first branch."""
    db, project_id, is_new = request.db, project["project_id"], mode == "new"
    branch, place, before, errors = None, "", "", []
    if not is_new or queries.branches(db, project_id):
        branch, place = queries.branch_and_path(db, project, address)
    elif address.strip("/") != project["default_branch"]:
        raise NotFound
    if branch and not is_new:
        before = queries.find_file(db, branch["branch_id"], place)["content"]
    source = branch["name"] if branch else project["default_branch"]
    if request.method != "POST":
        text = licenses().get(request.args.get("license", ""), "")
        request.shows({"license": request.args.get("license") if text else None})
        text = text.replace("@y@", str(request.now.year)).replace("@a@", user["name"])
        message = "Add new file" if is_new else f"Update {place.rpartition('/')[2]}"
        values = {"content": text or before, "message": message, "branch": source, "file_name": "LICENSE" if text else ""}
    else:
        values = {name: clean(request.form.get(name, "")) for name in ("message", "branch", "file_name")}
        values["content"] = tidy(request.form.get("content", ""))
        name, full = values["branch"] or source, place
        target = queries.find_branch(db, project_id, name)
        errors = ["" if target else queries.branch_complaint(db, project_id, name)]
        if not 0 < len(values["message"]) <= 2000:
            wrong = "is too long: 2000 characters at most" if values["message"] else "can't be blank"
            errors.insert(0, f"Commit message {wrong}.")
        if len(values["content"]) > queries.LONGEST_FILE:
            errors.insert(-1, f"The file is too long: {queries.LONGEST_FILE:,} characters at most.")
        if is_new:
            full = f"{place}/{values['file_name']}" if place and values["file_name"] else values["file_name"]
            base = target or branch
            errors.append(queries.path_complaint(db, base["branch_id"] if base else None, full))
        elif not any(errors) and before == values["content"]:
            errors = ["There is nothing to commit: the text has not changed."]
        errors = [*filter(None, errors)]
        if not errors:
            target = target or queries.create_branch(db, project_id, name, branch)
            queries.commit(db, target, user, values["message"], {full: values["content"]}, request.stamp)
            done = "Your changes have been successfully committed."
            return request.redirect(f"/{project['full_path']}/-/blob/{quote(name)}/{quote(full)}", done)
    page = {"branch": source, "path": place, "values": values, "errors": errors, "is_new": is_new, "licenses": list(licenses())}
    return request.render("edit_file.html", project=project, **page)


@site.post("/<namespace>/<path>/-/delete/<path:address>", members_only, in_project("Developer"))
def delete_file(request: Request, user: sqlite3.Row, project: sqlite3.Row, address: str) -> Response:
    """Commit the deletion of a file."""
    branch, place = queries.branch_and_path(request.db, project, address)
    queries.find_file(request.db, branch["branch_id"], place)
    message = clean(request.form.get("message", ""))[:2000] or f"Delete {place.rpartition('/')[2]}"
    queries.commit(request.db, branch, user, message, {place: None}, request.stamp)
    tree = f"/{project['full_path']}/-/tree/{quote(branch['name'])}"
    return request.redirect(tree, "The file has been successfully deleted.")


ONE = "/<namespace>/<path>/-/<any(merge_requests):segment>/<int:iid>"


@site.get(f"{ONE}/<any(commits, diffs):part>", in_project(), of_item)
def merge_request_part(request: Request, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row, part: str) -> str:
    """Show the commits of a merge request, or its changes by file."""
    commits, changes = contents(request.db, item)
    more = {"base": address(kind, project, item["iid"]), "commits": commits, "changes": changes, "diff_lines": diff_lines}
    return request.render(f"merge_request_{part}.html", kind=kind, project=project, item=item, may_edit=False, **more)


@site.post(f"{ONE}/merge", members_only, in_project(), of_item)
def merge(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row) -> Response:
    """Merge the branches. Raises Conflict if there is an obstacle."""
    _, changes = contents(request.db, item)
    obstacle = merge_obstacle(request, project, item, changes)
    if obstacle:
        raise Conflict(obstacle)
    queries.merge(request.db, item, user, request.stamp)
    Ledger(request, user).move(kind, item, "merged")
    return request.redirect(address(kind, project, item["iid"]), "The changes were merged.")


@site.get("/<namespace>/<path>/-/merge_requests/new", members_only, in_project("Developer"))
def new_merge_request(request: Request, user: sqlite3.Row, project: sqlite3.Row) -> str:
    """Show the form for the branches of a merge request, then the form of the merge request."""
    source = clean(request.args.get("source_branch", ""))
    target = clean(request.args.get("target_branch", "")) or project["default_branch"]
    request.shows({"source_branch": source, "target_branch": target if "target_branch" in request.args else None})
    is_chosen = "target_branch" in request.args
    errors = _branch_complaints(request, project, source, target) if is_chosen else []
    if not source or errors or not is_chosen:
        names = [row["name"] for row in queries.branches(request.db, project["project_id"])]
        page = {"branches": names, "source": source, "target": target, "errors": errors}
        return request.render("merge_request_branches.html", project=project, **page)
    commits = commits_between(request.db, project["project_id"], source, target)
    words = source.replace("-", " ").replace("_", " ")
    title = commits[0]["title"] if len(commits) == 1 else (words[:1].upper() + words[1:])[:255]
    return str(ask_plan(request, user, MERGE_REQUEST, project, ItemPlan(title, target_branch=target), source_branch=source))


@site.post("/<namespace>/<path>/-/merge_requests", members_only, in_project("Developer"))
def create_merge_request(request: Request, user: sqlite3.Row, project: sqlite3.Row) -> str | Response:
    """Create a merge request."""
    source, target = (clean(request.form.get(name, "")) for name in ("source_branch", "target_branch"))
    errors = _branch_complaints(request, project, source, target)
    start = ItemPlan("", target_branch=target)
    plan = ask_plan(request, user, MERGE_REQUEST, project, start, source_branch=source, errors=errors)
    if isinstance(plan, str):
        return plan
    iid = Ledger(request, user).create(MERGE_REQUEST, project, plan, source)
    return redirect(address(MERGE_REQUEST, project, iid))


def _branch_complaints(request: Request, project: sqlite3.Row, source: str, target: str) -> list[str]:
    """Return the reasons why a merge request of two branches is not possible."""
    if not source:
        return ["Select a source branch."]
    branches = [row["name"] for row in queries.branches(request.db, project["project_id"])]
    for role, name in (("source", source), ("target", target)):
        if name not in branches:
            return [f"The {role} branch {name[:80]!r} does not exist."]
    if source == target:
        return ["Source and target must be different branches."]
    query = """SELECT iid FROM merge_request
        WHERE project_id = ? AND source_branch = ? AND target_branch = ? AND state = 'opened' ORDER BY iid"""
    other = first(request.db, query, (project["project_id"], source, target))
    return [f"There is already an open merge request for these branches: !{other['iid']}."] if other else []
