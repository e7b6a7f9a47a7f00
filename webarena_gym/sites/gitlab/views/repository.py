"""A repository: branches, commits, files and their changes, and merge requests."""

import sqlite3
from itertools import groupby
from urllib.parse import quote

from werkzeug.exceptions import Conflict, Forbidden, NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import git, queries
from webarena_gym.sites.gitlab.git import Change, commits_between, contents, diff_lines, merge_item
from webarena_gym.sites.gitlab.planning import MERGE_REQUEST, Ledger, Plan, address, find_item, merge_obstacle
from webarena_gym.sites.gitlab.site import find_project, members_only, require_role, site
from webarena_gym.sites.gitlab.views.items import Choices, read_plan, show_form, show_item
from webarena_gym.sites.gitlab.views.projects import folder_view
from webarena_gym.sites.gitlab.world_projects import licenses
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import Pager, clean, tidy
from webarena_gym.sites.kit.requests import Request, Response, redirect


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


@site.form("/<namespace>/<path>/-/branches/new", members_only)
def make_branch(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Make a branch."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    if request.method != "POST":
        return _form(request, project, {"name": "", "source": project["default_branch"]}, [])
    values = {name: clean(request.form.get(name, "")) for name in ("name", "source")}
    source = git.find_branch(request.db, project["project_id"], values["source"])
    complaint = git.branch_complaint(request.db, project["project_id"], values["name"])
    errors = ([complaint] if complaint else []) + ([] if source else ["Select the branch to create from."])
    if errors:
        return _form(request, project, values, errors)
    git.create_branch(request.db, project["project_id"], values["name"], source)
    return request.redirect(f"/{project['full_path']}/-/branches", f"The branch {values['name']} was created.")


@site.post("/<namespace>/<path>/-/branches/delete", members_only)
def remove_branch(request: Request, _: sqlite3.Row, namespace: str, path: str) -> Response:
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


PER_PAGE = 40


@site.get("/<namespace>/<path>/-/commits/<path:address>")
def commits(request: Request, namespace: str, path: str, address: str) -> str | Response:
    """Show the commits of a branch, the latest first; a path, an author and a text narrow them."""
    project = find_project(request, namespace, path)
    if not queries.branches(request.db, project["project_id"]):
        return redirect(f"/{project['full_path']}")
    branch, place = git.branch_and_path(request.db, project, address)
    author, text = (clean(request.args.get(name, ""))[:200] for name in ("author", "search"))
    request.shows({"author": author, "search": folded(text)})
    rows = request.db.execute(
        """
        SELECT c.*, u.username, date(c.created_at) AS day FROM commit_branch b JOIN git_commit c USING (commit_id)
            LEFT JOIN user u ON u.user_id = c.author_id
        WHERE b.branch_id = :branch AND (:author = '' OR c.author_name = :author)
            AND (:text = '' OR instr(lower(c.title || ' ' || c.message), lower(:text)))
            AND (:place = '' OR EXISTS (
                SELECT 1 FROM file_change f WHERE f.commit_id = c.commit_id AND (f.path = :place OR f.path LIKE :inside ESCAPE '\\')
            ))
        ORDER BY c.created_at DESC, c.commit_id DESC
        """,
        {"branch": branch["branch_id"], "author": author, "text": text, "place": place, "inside": _inside(place)},
    ).fetchall()
    pager = Pager.of(request, len(rows), PER_PAGE, "page")
    counts = {day: len(list(group)) for day, group in groupby(rows, key=lambda row: row["day"])}
    shown = pager.cut(rows)
    names = request.db.execute(
        """
        SELECT DISTINCT c.author_name FROM commit_branch b JOIN git_commit c USING (commit_id) WHERE b.branch_id = ?
        ORDER BY c.author_name
        """,
        (branch["branch_id"],),
    ).fetchall()
    return request.render(
        "commits.html",
        project=project,
        branch=branch,
        path=place,
        branches=queries.branches(request.db, project["project_id"]),
        days=[(day, counts[day], list(group)) for day, group in groupby(shown, key=lambda row: row["day"])],
        pager=pager,
        author=author,
        search=text,
        authors=[row["author_name"] for row in names],
    )


def _inside(place: str) -> str:
    """Return the pattern of what is in a folder."""
    return place.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "/%"


def find_commit(db: sqlite3.Connection, project_id: int, sha: str) -> sqlite3.Row:
    """Return a commit by its name or the first seven digits or more. Raises NotFound."""
    if not 7 <= len(sha) <= 40 or not set(sha) <= set("0123456789abcdef"):
        raise NotFound
    return one(
        db,
        """
        SELECT c.*, u.username, p.sha AS parent_sha FROM git_commit c LEFT JOIN user u ON u.user_id = c.author_id
            LEFT JOIN git_commit p ON p.commit_id = c.parent_id
        WHERE c.project_id = ? AND substr(c.sha, 1, ?) = ? ORDER BY c.commit_id LIMIT 1
        """,
        (project_id, len(sha), sha),
    )


@site.get("/<namespace>/<path>/-/commit/<sha>")
def commit(request: Request, namespace: str, path: str, sha: str) -> str:
    """Show a commit and what it changed."""
    project = find_project(request, namespace, path)
    row = find_commit(request.db, project["project_id"], sha)
    rows = request.db.execute("SELECT * FROM file_change WHERE commit_id = ? ORDER BY path", (row["commit_id"],)).fetchall()
    changes = [Change(change["path"], change["kind"], change["before"], change["after"]) for change in rows]
    branches = request.db.execute(
        "SELECT name FROM branch JOIN commit_branch USING (branch_id) WHERE commit_id = ? ORDER BY name", (row["commit_id"],)
    ).fetchall()
    kinds = [kind for change in changes for kind, _ in diff_lines(change)]
    return request.render(
        "commit.html",
        project=project,
        commit=row,
        changes=changes,
        diff_lines=diff_lines,
        branches=[branch["name"] for branch in branches],
        added=kinds.count("added"),
        removed=kinds.count("removed"),
    )


@site.get("/<namespace>/<path>/-/graphs/<path:address>")
def contributors(request: Request, namespace: str, path: str, address: str) -> str | Response:
    """Show who made commits to a branch, the most active first."""
    project = find_project(request, namespace, path)
    if not queries.branches(request.db, project["project_id"]):
        return redirect(f"/{project['full_path']}")
    branch, place = git.branch_and_path(request.db, project, address)
    if place:
        raise NotFound
    rows = request.db.execute(
        """
        SELECT c.author_name, c.author_email, u.username, count(*) AS commits, min(c.created_at) AS first,
            max(c.created_at) AS last
        FROM commit_branch b JOIN git_commit c USING (commit_id) LEFT JOIN user u ON u.user_id = c.author_id
        WHERE b.branch_id = ? GROUP BY c.author_email ORDER BY commits DESC, c.author_name
        """,
        (branch["branch_id"],),
    ).fetchall()
    pager = Pager.of(request, len(rows), 30, "page")
    return request.render(
        "contributors.html",
        project=project,
        branch=branch,
        branches=queries.branches(request.db, project["project_id"]),
        rows=pager.cut(rows),
        pager=pager,
        total=sum(row["commits"] for row in rows),
    )


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


@site.form("/<namespace>/<path>/-/edit/<path:address>", members_only)
def edit(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> str | Response:
    """Commit a file's new text."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    if request.method != "POST":
        branch, place = git.branch_and_path(request.db, project, address)
        row = git.find_file(request.db, branch["branch_id"], place)
        content = _license_text(request, user) or row["content"]
        values = {"content": content, "message": f"Update {place.rpartition('/')[2]}", "branch": branch["name"]}
        return _editor(request, project, branch["name"], place, values, [], is_new=False)
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


@site.form("/<namespace>/<path>/-/new/<path:address>", members_only)
def create_file(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> str | Response:
    """Commit a new file; slashes in its name make folders."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    if request.method != "POST":
        branch, place = _starting_point(request, project, address)
        name = branch["name"] if branch else project["default_branch"]
        content = _license_text(request, user)
        values = {"content": content, "message": "Add new file", "branch": name, "file_name": "LICENSE" if content else ""}
        return _editor(request, project, name, place, values, [], is_new=True)
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


@site.post("/<namespace>/<path>/-/delete/<path:address>", members_only)
def delete_file(request: Request, user: sqlite3.Row, namespace: str, path: str, address: str) -> Response:
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


ONE = "/<namespace>/<path>/-/merge_requests/<int:iid>"


@site.get(ONE)
def merge_request(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show a merge request with all that was said about it."""
    project, item = find_item(request, MERGE_REQUEST, namespace, path, iid)
    return show_item(request, MERGE_REQUEST, project, item)


@site.get(f"{ONE}/commits")
def merge_request_commits(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show the commits of a merge request."""
    return _part(request, "merge_request_commits.html", namespace, path, iid)


@site.get(f"{ONE}/diffs")
def merge_request_diffs(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show what a merge request changes, file by file."""
    return _part(request, "merge_request_diffs.html", namespace, path, iid)


def _part(request: Request, template: str, namespace: str, path: str, iid: int) -> str:
    """Show one of the pages beside the overview."""
    project, item = find_item(request, MERGE_REQUEST, namespace, path, iid)
    commits, changes = contents(request.db, item)
    return request.render(
        template,
        kind=MERGE_REQUEST,
        project=project,
        item=item,
        base=address(MERGE_REQUEST, project, iid),
        commits=commits,
        changes=changes,
        diff_lines=diff_lines,
        may_edit=False,
    )


@site.post(f"{ONE}/merge", members_only)
def merge(request: Request, user: sqlite3.Row, namespace: str, path: str, iid: int) -> Response:
    """Merge the branches. Raises Conflict when something is in the way."""
    project, item = find_item(request, MERGE_REQUEST, namespace, path, iid)
    _, changes = contents(request.db, item)
    obstacle = merge_obstacle(request, project, item, changes)
    if obstacle:
        raise Conflict(obstacle)
    merge_item(request.db, item, user, request.stamp)
    Ledger(request.db, user, request.now).move(MERGE_REQUEST, item, "merged")
    return request.redirect(address(MERGE_REQUEST, project, iid), "The changes were merged.")


@site.get("/<namespace>/<path>/-/merge_requests/new", members_only)
def new_merge_request(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Ask for the branches of a new merge request, then show its form."""
    project = _project_to_change(request, namespace, path)
    source = clean(request.args.get("source_branch", ""))
    target = clean(request.args.get("target_branch", "")) or project["default_branch"]
    request.shows({"source_branch": source, "target_branch": target if "target_branch" in request.args else None})
    errors = _branch_complaints(request, project, source, target) if "target_branch" in request.args else []
    if not source or errors or "target_branch" not in request.args:
        branches = [row["name"] for row in queries.branches(request.db, project["project_id"])]
        return request.render(
            "merge_request_branches.html", project=project, branches=branches, source=source, target=target, errors=errors
        )
    commits = commits_between(request.db, project["project_id"], source, target)
    plan = Plan(commits[0]["title"] if len(commits) == 1 else _title(source), target_branch=target)
    return show_form(request, MERGE_REQUEST, project, plan, Choices(request.db, project, plan), source_branch=source)


@site.post("/<namespace>/<path>/-/merge_requests", members_only)
def create_merge_request(request: Request, user: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Open a merge request."""
    project = _project_to_change(request, namespace, path)
    source, target = (clean(request.form.get(name, "")) for name in ("source_branch", "target_branch"))
    start = Plan("", target_branch=target)
    choices = Choices(request.db, project, start)
    plan, errors = read_plan(request, MERGE_REQUEST, choices, start, user=user, is_planning=True)
    errors = _branch_complaints(request, project, source, target) + errors
    if errors:
        return show_form(request, MERGE_REQUEST, project, plan, choices, source_branch=source, errors=errors)
    iid = Ledger(request.db, user, request.now).create(MERGE_REQUEST, project, plan, source)
    return redirect(address(MERGE_REQUEST, project, iid))


def _project_to_change(request: Request, namespace: str, path: str) -> sqlite3.Row:
    """Return the project of a URL, in which the visitor must be a developer. Raises NotFound or Forbidden."""
    project = find_project(request, namespace, path)
    require_role(request, project, "Developer")
    return project


def _branch_complaints(request: Request, project: sqlite3.Row, source: str, target: str) -> list[str]:
    """Return why no merge request can be made of two branches."""
    if not source:
        return ["Select a source branch."]
    branches = [row["name"] for row in queries.branches(request.db, project["project_id"])]
    for role, name in (("source", source), ("target", target)):
        if name not in branches:
            return [f"The {role} branch {name[:80]!r} does not exist."]
    if source == target:
        return ["Source and target must be different branches."]
    other = request.db.execute(
        """SELECT iid FROM merge_request
        WHERE project_id = ? AND source_branch = ? AND target_branch = ? AND state = 'opened' ORDER BY iid""",
        (project["project_id"], source, target),
    ).fetchone()
    return [f"There is already an open merge request for these branches: !{other['iid']}."] if other else []


def _title(branch: str) -> str:
    """Return a title made of a branch's name.

    >>> _title("feature/dark-mode")
    'Feature/dark mode'
    """
    words = branch.replace("-", " ").replace("_", " ")
    return (words[:1].upper() + words[1:])[:255]
