"""Repositories: commits, branches, forks, merges, and deleting a project. Callers have checked that the person may do it."""

import difflib
import hashlib
import re
import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab.world_projects import licenses
from webarena_gym.sites.kit.database import first, insert, one

LONGEST_FILE = 100_000  # characters
_BRANCH_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9_-])?")


class Entry(NamedTuple):
    """A file or folder of a listing, with the last commit that changed it or something in it."""

    name: str
    path: str
    is_folder: bool
    sha: str
    title: str
    created_at: str


def find_branch(db: sqlite3.Connection, project_id: int, name: str) -> sqlite3.Row | None:
    """Return a branch by its name."""
    return first(db, "SELECT * FROM branch WHERE project_id = ? AND name = ?", (project_id, name))


def branch_and_path(db: sqlite3.Connection, project: sqlite3.Row, address: str) -> tuple[sqlite3.Row, str]:
    """Return the branch that an address such as `fix/dates/docs/start.md` begins with, and the rest. Raises NotFound."""
    parts = address.strip("/").split("/")
    for length in range(len(parts), 0, -1):
        branch = find_branch(db, project["project_id"], "/".join(parts[:length]))
        if branch is not None:
            return branch, "/".join(parts[length:])
    raise NotFound


def files(db: sqlite3.Connection, branch_id: int) -> list[sqlite3.Row]:
    """Return the files of a branch with their last commits, by path."""
    query = "SELECT f.path, f.content, c.* FROM file f JOIN git_commit c USING (commit_id) WHERE branch_id = ? ORDER BY path"
    return db.execute(query, (branch_id,)).fetchall()


def find_file(db: sqlite3.Connection, branch_id: int, path: str) -> sqlite3.Row:
    """Return a file of a branch with its last commit. Raises NotFound."""
    query = "SELECT f.path, f.content, c.* FROM file f JOIN git_commit c USING (commit_id) WHERE branch_id = ? AND path = ?"
    return one(db, query, (branch_id, path))


def entries(db: sqlite3.Connection, branch_id: int, folder: str) -> list[Entry]:
    """Return what is in a folder ("" is the top one): folders first, by name."""
    start = f"{folder}/" if folder else ""
    found: dict[tuple[bool, str], Entry] = {}
    for row in files(db, branch_id):
        if not row["path"].startswith(start):
            continue
        name, slash, _ = row["path"].removeprefix(start).partition("/")
        entry = Entry(name, start + name, bool(slash), row["sha"], row["title"], row["created_at"])
        known = found.get((not slash, name))
        if known is None or known.created_at < entry.created_at:
            found[(not slash, name)] = entry
    return [found[key] for key in sorted(found)]


def branch_complaint(db: sqlite3.Connection, project_id: int, name: str) -> str:
    """Return why a new branch cannot have that name, "" if it can."""
    if not name:
        return "Branch name can't be blank."
    if not _BRANCH_NAME.fullmatch(name) or "//" in name or ".." in name or name.endswith(".lock"):
        return f"The branch name {name[:100]} is not valid. Use letters, digits, dashes, dots and single slashes."
    if find_branch(db, project_id, name):
        return f"A branch called {name} already exists."
    rows = db.execute("SELECT name FROM branch WHERE project_id = ? ORDER BY name", (project_id,))
    clash = next(
        (row["name"] for row in rows if f"{row['name']}/".startswith(f"{name}/") or name.startswith(f"{row['name']}/")), ""
    )
    return f"The branch name {name} is in the way of the branch {clash}." if clash else ""


def path_complaint(db: sqlite3.Connection, branch_id: int | None, path: str) -> str:
    """Return why there can be no new file at a path, "" if there can; a branch that is yet to come is None."""
    if not path:
        return "File name can't be blank."
    parts = path.split("/")
    if len(path) > 255 or "\n" in path or "\\" in path or any(part.strip() in ("", ".", "..") for part in parts):
        return "The file name is not valid. Write folders and the file with single slashes between them, such as docs/notes.md."
    for row in db.execute("SELECT path FROM file WHERE branch_id = ? ORDER BY path", (branch_id,)):
        if row["path"] == path:
            return f"A file called {path} already exists."
        if row["path"].startswith(f"{path}/"):
            return f"A folder called {path} already exists."
        if path.startswith(f"{row['path']}/"):
            return f"{row['path']} is a file, so there can be no folder of that name."
    return ""


def create_branch(db: sqlite3.Connection, project_id: int, name: str, source: sqlite3.Row | None) -> sqlite3.Row:
    """Add a branch with everything that another one has, or an empty one, and return it."""
    head_id = source["head_id"] if source else None
    db.execute("INSERT INTO branch (project_id, name, head_id) VALUES (?, ?, ?)", (project_id, name, head_id))
    branch = find_branch(db, project_id, name)
    assert branch is not None
    if source:
        values = (branch["branch_id"], source["branch_id"])
        db.execute("INSERT INTO commit_branch SELECT ?, commit_id FROM commit_branch WHERE branch_id = ?", values)
        db.execute("INSERT INTO file SELECT ?, path, content, commit_id FROM file WHERE branch_id = ?", values)
    return branch


def delete_branch(db: sqlite3.Connection, branch_id: int) -> None:
    """Remove a branch; commits that only it had stay known by their names."""
    for table in ("commit_branch", "file", "branch"):
        db.execute(f"DELETE FROM {table} WHERE branch_id = ?", (branch_id,))


def commit(
    db: sqlite3.Connection, branch: sqlite3.Row, author: Mapping[str, Any] | sqlite3.Row, message: str,
    changes: Mapping[str, str | None], now: str,
) -> str:  # fmt: skip
    """Add a commit to a branch and return its name. `changes` has the new text of each file, None for one that goes."""
    project_id, title = branch["project_id"], message.partition("\n")[0][:255]
    head = db.execute("SELECT head_id FROM branch WHERE branch_id = ?", (branch["branch_id"],)).fetchone()["head_id"]
    (last,) = db.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'git_commit'").fetchone()
    sha = hashlib.sha1(f"{project_id}/{head}/{last}/{now}/{message}".encode(), usedforsecurity=False).hexdigest()
    commit_id = db.execute(
        """
        INSERT INTO git_commit (project_id, sha, parent_id, author_id, author_name, author_email, title, message, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            *(project_id, sha, head, author["user_id"], author["name"], author["email"]),
            *(title, message.partition("\n")[2].strip(), now),
        ),
    ).lastrowid
    for path, after in sorted(changes.items()):
        key = (branch["branch_id"], path)
        row = db.execute("SELECT content FROM file WHERE branch_id = ? AND path = ?", key).fetchone()
        kind = "deleted" if after is None else "modified" if row else "added"
        values = (commit_id, path, kind, row["content"] if row else "", after or "")
        db.execute("INSERT INTO file_change VALUES (?, ?, ?, ?, ?)", values)
        if after is None:
            db.execute("DELETE FROM file WHERE branch_id = ? AND path = ?", key)
        else:
            db.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?)", (*key, after, commit_id))
    db.execute("INSERT INTO commit_branch VALUES (?, ?)", (branch["branch_id"], commit_id))
    db.execute("UPDATE branch SET head_id = ? WHERE branch_id = ?", (commit_id, branch["branch_id"]))
    db.execute("UPDATE project SET last_activity_at = ? WHERE project_id = ?", (now, project_id))
    if "LICENSE" in changes:
        db.execute(
            "UPDATE project SET license = ? WHERE project_id = ? AND default_branch = ?",
            (license_of(changes["LICENSE"]), project_id, branch["name"]),
        )
    return sha


def license_of(text: str | None) -> str:
    """Return the name of the license that a LICENSE file states in its first line; "" without a file.

    >>> license_of("MIT License"), license_of("All rights reserved"), license_of(None)
    ('MIT License', 'Custom license', '')
    """
    if text is None:
        return ""
    first = text.strip().partition("\n")[0].strip()
    return first if first in licenses() else "Custom license"


def copy_repository(db: sqlite3.Connection, source: sqlite3.Row, project_id: int) -> None:
    """Give a new project the default branch of another, commit by commit."""
    trunk = find_branch(db, source["project_id"], source["default_branch"])
    if trunk is None:
        return
    new_id: dict[int | None, int | None] = {None: None}
    rows = db.execute(
        "SELECT c.* FROM git_commit c JOIN commit_branch USING (commit_id) WHERE branch_id = ? ORDER BY commit_id",
        (trunk["branch_id"],),
    ).fetchall()
    for row in rows:
        values = (project_id, row["sha"], new_id.get(row["parent_id"]), *tuple(row)[4:])
        new_id[row["commit_id"]] = db.execute(
            """
            INSERT INTO git_commit (project_id, sha, parent_id, author_id, author_name, author_email, title, message, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            values,
        ).lastrowid
        db.execute(
            "INSERT INTO file_change SELECT ?, path, kind, before, after FROM file_change WHERE commit_id = ?",
            (new_id[row["commit_id"]], row["commit_id"]),
        )
    branch_id = insert(
        db, "branch", project_id=project_id, name=trunk["name"], head_id=new_id[trunk["head_id"]], is_protected=1
    )
    db.executemany("INSERT INTO commit_branch VALUES (?, ?)", [(branch_id, new_id[row["commit_id"]]) for row in rows])
    for row in db.execute("SELECT path, content, commit_id FROM file WHERE branch_id = ?", (trunk["branch_id"],)).fetchall():
        db.execute("INSERT INTO file VALUES (?, ?, ?, ?)", (branch_id, row["path"], row["content"], new_id[row["commit_id"]]))


def merge(db: sqlite3.Connection, source: sqlite3.Row, target: sqlite3.Row, author: sqlite3.Row, message: str, now: str) -> str:
    """Bring a branch's commits and the files that they changed into another by one merge commit, and return its name."""
    changed = db.execute(
        """
        SELECT DISTINCT path FROM file_change
        WHERE commit_id IN (SELECT commit_id FROM commit_branch WHERE branch_id = ?)
            AND commit_id NOT IN (SELECT commit_id FROM commit_branch WHERE branch_id = ?)
        ORDER BY path
        """,
        (source["branch_id"], target["branch_id"]),
    ).fetchall()
    there = {row["path"]: row["content"] for row in files(db, source["branch_id"])}
    present = {row["path"]: row["content"] for row in files(db, target["branch_id"])}
    changes = {row["path"]: there.get(row["path"]) for row in changed if there.get(row["path"]) != present.get(row["path"])}
    db.execute(
        "INSERT OR IGNORE INTO commit_branch SELECT ?, commit_id FROM commit_branch WHERE branch_id = ?",
        (target["branch_id"], source["branch_id"]),
    )
    return commit(db, target, author, message, changes, now)


CONTEXT = 3  # unchanged lines around a change
MAX_LINES = 400  # of one file's diff


class Change(NamedTuple):
    """Change of one file: its whole text before and after; added and deleted files are empty on one side."""

    path: str
    kind: str  # added, modified, deleted
    before: str
    after: str


def contents(db: sqlite3.Connection, item: sqlite3.Row) -> tuple[list[sqlite3.Row], list[Change]]:
    """Return the commits of a merge request, the newest first, and what they do to files all together."""
    if item["state"] == "merged":
        commits = merged_commit(db, item)
    else:
        commits = commits_between(db, item["project_id"], item["source_branch"], item["target_branch"])
    return commits, net_changes(db, commits)


def commits_between(db: sqlite3.Connection, project_id: int, source: str, target: str) -> list[sqlite3.Row]:
    """Return the commits of the source branch that the target branch has not, the newest first."""
    return db.execute(
        """
        SELECT c.*, u.username FROM git_commit c LEFT JOIN user u ON u.user_id = c.author_id
        WHERE c.commit_id IN (
            SELECT commit_id FROM commit_branch JOIN branch USING (branch_id) WHERE project_id = :id AND name = :source
        ) AND c.commit_id NOT IN (
            SELECT commit_id FROM commit_branch JOIN branch USING (branch_id) WHERE project_id = :id AND name = :target
        ) ORDER BY c.created_at DESC, c.commit_id DESC
        """,
        {"id": project_id, "source": source, "target": target},
    ).fetchall()


def net_changes(db: sqlite3.Connection, commits: list[sqlite3.Row]) -> list[Change]:
    """Return what commits, the newest first, do to files all together, by path."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    existed: dict[str, bool] = {}
    exists: dict[str, bool] = {}
    for commit in reversed(commits):
        rows = db.execute("SELECT * FROM file_change WHERE commit_id = ? ORDER BY path", (commit["commit_id"],))
        for row in rows:
            first.setdefault(row["path"], row["before"])
            existed.setdefault(row["path"], row["kind"] != "added")
            last[row["path"]], exists[row["path"]] = row["after"], row["kind"] != "deleted"
    kinds = {(False, True): "added", (True, True): "modified", (True, False): "deleted"}
    return [
        Change(path, kinds[existed[path], exists[path]], first[path], last[path])
        for path in sorted(first)
        if (existed[path] or exists[path]) and (first[path], existed[path]) != (last[path], exists[path])
    ]


def merged_commit(db: sqlite3.Connection, item: sqlite3.Row) -> list[sqlite3.Row]:
    """Return the commit that merged a request, in a list that is empty when there is no record of it."""
    return db.execute(
        """
        SELECT c.*, u.username FROM git_commit c LEFT JOIN user u ON u.user_id = c.author_id
        WHERE c.project_id = ? AND c.title = ? AND c.created_at = ? ORDER BY c.commit_id DESC LIMIT 1
        """,
        (item["project_id"], merge_title(item), item["merged_at"]),
    ).fetchall()


def merge_title(item: sqlite3.Row) -> str:
    """Return the title of the commit that merges a request."""
    return f"Merge branch '{item['source_branch']}' into '{item['target_branch']}'"


def conflict(db: sqlite3.Connection, item: sqlite3.Row, changes: list[Change]) -> str:
    """Return why a request cannot be merged, or nothing."""
    for role in ("source", "target"):
        if find_branch(db, item["project_id"], item[f"{role}_branch"]) is None:
            return f"The {role} branch {item[f'{role}_branch']} does not exist any more."
    if not changes:
        return "The source branch has no changes that the target branch has not."
    query = "SELECT path, content FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ?"
    present: dict[str, str] = dict(db.execute(query, (item["project_id"], item["target_branch"])).fetchall())
    clash = next((c.path for c in changes if present.get(c.path) != (None if c.kind == "added" else c.before)), "")
    return f"Both branches changed {clash}. Resolve the conflict before you merge." if clash else ""


def merge_item(db: sqlite3.Connection, item: sqlite3.Row, user: sqlite3.Row, now: str) -> None:
    """Bring the source into the target branch, which must not conflict, by a commit of the user's."""
    source, target = (find_branch(db, item["project_id"], item[f"{role}_branch"]) for role in ("source", "target"))
    assert source is not None
    assert target is not None
    merge(db, source, target, user, f"{merge_title(item)}\n\n{item['title']}\n\nSee merge request !{item['iid']}", now)


def diff_lines(change: Change) -> list[tuple[str, str]]:
    """Return a file's unified diff as pairs of what a line is (added, removed, hunk or same) and its text, cut when it is long.

    >>> diff_lines(Change("a", "modified", "x", "y"))
    [('hunk', '@@ -1 +1 @@'), ('removed', '-x'), ('added', '+y')]
    """
    lines = list(
        difflib.unified_diff(change.before.split("\n"), change.after.split("\n"), lineterm="", n=CONTEXT)
    )[2:]  # fmt: skip
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    shown = [(kinds.get(line[:1], "same"), line) for line in lines[:MAX_LINES]]
    return shown if len(lines) <= MAX_LINES else [*shown, ("hunk", f"{len(lines) - MAX_LINES} more lines")]


_ISSUES = "SELECT issue_id FROM issue WHERE project_id = :id"
_REQUESTS = "SELECT merge_request_id FROM merge_request WHERE project_id = :id"
_STATEMENTS = (
    f"DELETE FROM todo WHERE issue_id IN ({_ISSUES}) OR merge_request_id IN ({_REQUESTS})",
    f"DELETE FROM note WHERE issue_id IN ({_ISSUES}) OR merge_request_id IN ({_REQUESTS})",
    *(f"DELETE FROM issue_{part} WHERE issue_id IN ({_ISSUES})" for part in ("label", "assignee")),
    *(
        f"DELETE FROM merge_request_{part} WHERE merge_request_id IN ({_REQUESTS})"
        for part in ("label", "assignee", "reviewer")
    ),
    *(f"DELETE FROM {table} WHERE project_id = :id" for table in ("issue", "merge_request", "milestone", "label", "star")),
    "DELETE FROM commit_branch WHERE branch_id IN (SELECT branch_id FROM branch WHERE project_id = :id)",
    "DELETE FROM file WHERE branch_id IN (SELECT branch_id FROM branch WHERE project_id = :id)",
    "DELETE FROM file_change WHERE commit_id IN (SELECT commit_id FROM git_commit WHERE project_id = :id)",
    *(f"DELETE FROM {table} WHERE project_id = :id" for table in ("branch", "git_commit", "project_member")),
    "UPDATE project SET forked_from_id = NULL WHERE forked_from_id = :id",
    "DELETE FROM project WHERE project_id = :id",
)


def delete_project(db: sqlite3.Connection, project_id: int) -> None:
    """Delete a project; its forks stay, on their own."""
    for statement in _STATEMENTS:
        db.execute(statement, {"id": project_id})
