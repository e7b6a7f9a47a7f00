"""The history of a branch, single commits with what they changed, and who contributed how much."""

import sqlite3
from itertools import groupby

from werkzeug.exceptions import NotFound

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.gitlab import git, merging, queries
from webarena_gym.sites.gitlab.base import find_project, site
from webarena_gym.sites.kit.database import one
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect

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
    changes = [merging.Change(change["path"], change["kind"], change["before"], change["after"]) for change in rows]
    branches = request.db.execute(
        "SELECT name FROM branch JOIN commit_branch USING (branch_id) WHERE commit_id = ? ORDER BY name", (row["commit_id"],)
    ).fetchall()
    kinds = [kind for change in changes for kind, _ in merging.diff_lines(change)]
    return request.render(
        "commit.html",
        project=project,
        commit=row,
        changes=changes,
        diff_lines=merging.diff_lines,
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
