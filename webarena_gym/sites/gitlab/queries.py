"""Queries and changes that several pages share: visibility, names, and repositories with their branches, commits and merges.

In SQL, p is a project and g a group. Callers have checked the permissions of the user.
"""

import difflib
import hashlib
import re
import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab.world_projects import licenses, rank
from webarena_gym.sites.kit.database import first, insert, row_or_404, update, value

VISIBILITIES = ("private", "internal", "public")

VISIBLE = """(p.visibility = 'public' OR p.visibility = 'internal' AND :me IS NOT NULL
    OR p.project_id IN (SELECT project_id FROM membership WHERE user_id = :me))"""
"""Holds for a project p that the person :me (NULL for a stranger) may see."""

VISIBLE_GROUP = """(g.visibility = 'public' OR g.visibility = 'internal' AND :me IS NOT NULL
    OR g.group_id IN (SELECT group_id FROM current_group_member WHERE user_id = :me))"""
"""Holds for a group g that the person :me may see."""


def project_role(db: sqlite3.Connection, project_id: int, user_id: int | None) -> str:
    """Return the highest role of a user in a project, "" if there is none."""
    query = "SELECT role FROM membership WHERE project_id = ? AND user_id = ?"
    return max((row["role"] for row in db.execute(query, (project_id, user_id))), key=rank, default="")


def group_role(db: sqlite3.Connection, group_id: int, user_id: int | None) -> str:
    """Return the role of a user in a group, "" if there is none."""
    row = first(db, "SELECT role FROM current_group_member WHERE group_id = ? AND user_id = ?", (group_id, user_id))
    return str(row["role"]) if row else ""


_SLUG = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?")


def slug(name: str) -> str:
    """Return the path for a name.

    >>> slug("Do it myself!"), slug("awesome_llms 2.0")
    ('do-it-myself', 'awesome_llms-2.0')
    """
    return re.sub(r"[^a-z0-9_.]+", "-", name.lower()).strip("-.")


def is_slug(path: str) -> bool:
    """Return True if a text is a valid path.

    >>> is_slug("do-it"), is_slug("-it"), is_slug("a/b"), is_slug("notes.git")
    (True, False, False, False)
    """
    return _SLUG.fullmatch(path) is not None and not path.endswith((".git", ".atom"))


PROJECT_COLUMNS = """p.*, p.namespace || '/' || p.path AS full_path,
    coalesce((SELECT name FROM user_group g WHERE g.group_id = p.group_id), (SELECT name FROM user WHERE user_id = p.owner_id))
    AS namespace_name,
    (SELECT count(*) FROM star s WHERE s.project_id = p.project_id) AS stars,
    (SELECT count(*) FROM project f WHERE f.forked_from_id = p.project_id) AS forks"""
"""Query of a project as pages show it: its row, its full path, its owner's name, and its numbers of stars and forks."""

COMMITS = "SELECT c.*, u.username FROM git_commit c LEFT JOIN user u ON u.user_id = c.author_id"
"""Query of commits c with the usernames of their authors, as far as they have one."""


def user(db: sqlite3.Connection, user_id: int) -> sqlite3.Row | None:
    """Return a user's row."""
    return first(db, "SELECT * FROM user WHERE user_id = ?", (user_id,))


def user_named(db: sqlite3.Connection, username: str) -> sqlite3.Row | None:
    """Return the row of a user by username."""
    return first(db, "SELECT * FROM user WHERE username = ? COLLATE NOCASE", (username,))


def project(db: sqlite3.Connection, namespace: str, path: str, me: int | None) -> sqlite3.Row | None:
    """Return the project with a full path, with PROJECT_COLUMNS, if the user `me` may see it."""
    where = "namespace = :namespace COLLATE NOCASE AND path = :path COLLATE NOCASE"
    return next(iter(find_projects(db, me, where=where, namespace=namespace, path=path)), None)


def group(db: sqlite3.Connection, path: str) -> sqlite3.Row | None:
    """Return the group with a path."""
    return first(db, "SELECT * FROM user_group WHERE path = ? COLLATE NOCASE", (path,))


def find_projects(
    db: sqlite3.Connection, me: int | None, *, where: str = "1", order: str = "p.project_id", **values: object
) -> list[sqlite3.Row]:
    """Return the projects that `me` may see and that satisfy `where`, with PROJECT_COLUMNS, sorted by `order`."""
    query = f"SELECT {PROJECT_COLUMNS} FROM project p WHERE {VISIBLE} AND ({where}) ORDER BY {order}"
    return db.execute(query, {"me": me, **values}).fetchall()


def branches(db: sqlite3.Connection, project_id: int) -> list[sqlite3.Row]:
    """Return the branches of a project with their latest commits, by name."""
    query = """SELECT b.*, c.sha, c.title, c.author_name, c.created_at AS committed_at
        FROM branch b LEFT JOIN git_commit c ON c.commit_id = b.head_id WHERE b.project_id = ? ORDER BY b.name"""
    return db.execute(query, (project_id,)).fetchall()


def members(db: sqlite3.Connection, project_id: int) -> list[sqlite3.Row]:
    """Return the members of a project whose membership has not expired, by name and without repetitions."""
    query = "SELECT * FROM user WHERE user_id IN (SELECT user_id FROM membership WHERE project_id = ?) ORDER BY name, user_id"
    return db.execute(query, (project_id,)).fetchall()


LONGEST_FILE = 100_000  # characters
_BRANCH_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9_-])?")


def find_branch(db: sqlite3.Connection, project_id: int, name: str) -> sqlite3.Row | None:
    """Return a branch by its name."""
    return first(db, "SELECT * FROM branch WHERE project_id = ? AND name = ?", (project_id, name))


def branch_and_path(db: sqlite3.Connection, project: sqlite3.Row, address: str) -> tuple[sqlite3.Row, str]:
    """Return the branch with which a path such as `fix/dates/docs/start.md` begins, and the rest. Raises NotFound."""
    parts = address.strip("/").split("/")
    for length in range(len(parts), 0, -1):
        if branch := find_branch(db, project["project_id"], "/".join(parts[:length])):
            return branch, "/".join(parts[length:])
    raise NotFound


_FILES = "SELECT f.path, f.content, c.* FROM file f JOIN git_commit c USING (commit_id) WHERE branch_id = ?"


def files(db: sqlite3.Connection, branch_id: int) -> list[sqlite3.Row]:
    """Return the files of a branch with their last commits, by path."""
    return db.execute(f"{_FILES} ORDER BY path", (branch_id,)).fetchall()


def find_file(db: sqlite3.Connection, branch_id: int, path: str) -> sqlite3.Row:
    """Return a file of a branch with its last commit. Raises NotFound."""
    return row_or_404(db, f"{_FILES} AND path = ?", (branch_id, path))


def entries(db: sqlite3.Connection, branch_id: int, folder: str) -> list[dict[str, Any]]:
    """Return the entries of a folder ("": the top folder), folders first, each with the last commit that changed it."""
    start = f"{folder}/" if folder else ""
    entries_by_path: dict[tuple[bool, str], dict[str, Any]] = {}
    for row in files(db, branch_id):
        if not row["path"].startswith(start):
            continue
        name, slash, _ = row["path"].removeprefix(start).partition("/")
        known = entries_by_path.get((not slash, name))
        if known is None or known["created_at"] < row["created_at"]:
            entries_by_path[(not slash, name)] = dict(row) | {"name": name, "path": start + name, "is_folder": bool(slash)}
    return [entries_by_path[key] for key in sorted(entries_by_path)]


def branch_complaint(db: sqlite3.Connection, project_id: int, name: str) -> str:
    """Return the reason why a new branch cannot have a name, "" if it can."""
    if not name:
        return "Branch name can't be blank."
    if not _BRANCH_NAME.fullmatch(name) or "//" in name or ".." in name or name.endswith(".lock"):
        return f"The branch name {name[:100]} is not valid. Use letters, digits, dashes, dots and single slashes."
    if find_branch(db, project_id, name):
        return f"A branch called {name} already exists."
    for (other,) in db.execute("SELECT name FROM branch WHERE project_id = ? ORDER BY name", (project_id,)):
        if f"{other}/".startswith(f"{name}/") or name.startswith(f"{other}/"):
            return f"The branch name {name} is in the way of the branch {other}."
    return ""


def path_complaint(db: sqlite3.Connection, branch_id: int | None, path: str) -> str:
    """Return the reason why a new file cannot have a path, "" if it can. The branch is None if it does not exist yet."""
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
    """Add a branch with the content of another one, or an empty branch, and return it."""
    head_id = source["head_id"] if source else None
    branch_id = insert(db, "branch", project_id=project_id, name=name, head_id=head_id)
    if source:
        values = (branch_id, source["branch_id"])
        db.execute("INSERT INTO commit_branch SELECT ?, commit_id FROM commit_branch WHERE branch_id = ?", values)
        db.execute("INSERT INTO file SELECT ?, path, content, commit_id FROM file WHERE branch_id = ?", values)
    return row_or_404(db, "SELECT * FROM branch WHERE branch_id = ?", (branch_id,))


def commit(
    db: sqlite3.Connection, branch: sqlite3.Row, author: Mapping[str, Any] | sqlite3.Row, message: str,
    changes: Mapping[str, str | None], now: str,
) -> str:  # fmt: skip
    """Add a commit to a branch and return its hash. `changes` are the new texts by path, None for deleted files."""
    branch_id, project_id = branch["branch_id"], branch["project_id"]
    head = value(db, "SELECT head_id FROM branch WHERE branch_id = ?", (branch_id,))
    last = value(db, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'git_commit'")
    sha = hashlib.sha1(f"{project_id}/{head}/{last}/{now}/{message}".encode(), usedforsecurity=False).hexdigest()
    title, _, text = message.partition("\n")
    commit_id = insert(
        db, "git_commit", project_id=project_id, sha=sha, parent_id=head, author_id=author["user_id"], author_name=author["name"],
        author_email=author["email"], title=title[:255], message=text.strip(), created_at=now,
    )  # fmt: skip
    for path, after in sorted(changes.items()):
        row = first(db, "SELECT content FROM file WHERE branch_id = ? AND path = ?", (branch_id, path))
        kind = "deleted" if after is None else "modified" if row else "added"
        values = (commit_id, path, kind, row["content"] if row else "", after or "")
        db.execute("INSERT INTO file_change VALUES (?, ?, ?, ?, ?)", values)
        if after is None:
            db.execute("DELETE FROM file WHERE branch_id = ? AND path = ?", (branch_id, path))
        else:
            db.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?)", (branch_id, path, after, commit_id))
    insert(db, "commit_branch", branch_id=branch_id, commit_id=commit_id)
    update(db, "branch", "branch_id", branch_id, head_id=commit_id)
    update(db, "project", "project_id", project_id, last_activity_at=now)
    if "LICENSE" in changes:
        query = "UPDATE project SET license = ? WHERE project_id = ? AND default_branch = ?"
        db.execute(query, (license_of(changes["LICENSE"]), project_id, branch["name"]))
    return sha


def license_of(text: str | None) -> str:
    """Return the name of the license in the first line of a LICENSE file; "" if there is no such file.

    >>> license_of("MIT License"), license_of("All rights reserved"), license_of(None)
    ('MIT License', 'Custom license', '')
    """
    if text is None:
        return ""
    first = text.strip().partition("\n")[0].strip()
    return first if first in licenses() else "Custom license"


def copy_repository(db: sqlite3.Connection, source: sqlite3.Row, project_id: int) -> None:
    """Copy the default branch of a project to a new one, with all commits."""
    trunk = find_branch(db, source["project_id"], source["default_branch"])
    if trunk is None:
        return
    new_id: dict[int | None, int | None] = {None: None}
    query = "SELECT c.* FROM git_commit c JOIN commit_branch USING (commit_id) WHERE branch_id = ? ORDER BY commit_id"
    for row in db.execute(query, (trunk["branch_id"],)).fetchall():
        copied = dict(row) | {"project_id": project_id, "parent_id": new_id.get(row["parent_id"])}
        old = copied.pop("commit_id")
        new_id[old] = insert(db, "git_commit", **copied)
        changes = "INSERT INTO file_change SELECT ?, path, kind, before, after FROM file_change WHERE commit_id = ?"
        db.execute(changes, (new_id[old], old))
    head_id = new_id[trunk["head_id"]]
    branch_id = insert(db, "branch", project_id=project_id, name=trunk["name"], head_id=head_id, is_protected=1)
    db.executemany("INSERT INTO commit_branch VALUES (?, ?)", [(branch_id, new) for new in new_id.values() if new])
    files = "SELECT path, content, commit_id FROM file WHERE branch_id = ?"
    for path, content, old in db.execute(files, (trunk["branch_id"],)).fetchall():
        insert(db, "file", branch_id=branch_id, path=path, content=content, commit_id=new_id[old])


CONTEXT = 3  # unchanged lines around a change
MAX_LINES = 400  # of one file's diff


class Change(NamedTuple):
    """A change of a file: its text before and after, "" for added and deleted files."""

    path: str
    kind: str  # added, modified, deleted
    before: str
    after: str


def contents(db: sqlite3.Connection, item: sqlite3.Row) -> tuple[list[sqlite3.Row], list[Change]]:
    """Return the commits of a merge request, newest first, and their total changes of files by path.

    Those of one that was merged are the commit that merged it, or none when there is no record of it.
    """
    if item["state"] != "merged":
        commits = commits_between(db, item["project_id"], item["source_branch"], item["target_branch"])
    else:
        query = f"{COMMITS} WHERE c.project_id = ? AND c.title = ? AND c.created_at = ? ORDER BY c.commit_id DESC LIMIT 1"
        commits = db.execute(query, (item["project_id"], merge_title(item), item["merged_at"])).fetchall()
    earliest: dict[str, sqlite3.Row] = {}
    last: dict[str, sqlite3.Row] = {}
    for commit in reversed(commits):
        for row in db.execute("SELECT * FROM file_change WHERE commit_id = ? ORDER BY path", (commit["commit_id"],)):
            earliest.setdefault(row["path"], row)
            last[row["path"]] = row
    changes = []
    for path in sorted(earliest):
        before, after = earliest[path], last[path]
        existed, exists = before["kind"] != "added", after["kind"] != "deleted"
        if (existed or exists) and (before["before"], existed) != (after["after"], exists):
            kind = "deleted" if not exists else "modified" if existed else "added"
            changes.append(Change(path, kind, before["before"], after["after"]))
    return commits, changes


def commits_between(db: sqlite3.Connection, project_id: int, source: str, target: str) -> list[sqlite3.Row]:
    """Return the commits of the source branch that the target branch does not have, newest first."""
    of_branch = "SELECT commit_id FROM commit_branch JOIN branch USING (branch_id) WHERE project_id = :id AND name ="
    query = f"{COMMITS} WHERE c.commit_id IN ({of_branch} :source) AND c.commit_id NOT IN ({of_branch} :target)"
    bound = {"id": project_id, "source": source, "target": target}
    return db.execute(f"{query} ORDER BY c.created_at DESC, c.commit_id DESC", bound).fetchall()


def merge_title(item: sqlite3.Row) -> str:
    """Return the title of the commit that merges a request."""
    return f"Merge branch '{item['source_branch']}' into '{item['target_branch']}'"


def conflict(db: sqlite3.Connection, item: sqlite3.Row, changes: list[Change]) -> str:
    """Return the reason why a request cannot be merged, "" if there is none."""
    for role in ("source", "target"):
        if find_branch(db, item["project_id"], item[f"{role}_branch"]) is None:
            return f"The {role} branch {item[f'{role}_branch']} does not exist any more."
    if not changes:
        return "The source branch has no changes that the target branch has not."
    query = "SELECT path, content FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ?"
    present: dict[str, str] = dict(db.execute(query, (item["project_id"], item["target_branch"])).fetchall())
    clash = next((c.path for c in changes if present.get(c.path) != (None if c.kind == "added" else c.before)), "")
    return f"Both branches changed {clash}. Resolve the conflict before you merge." if clash else ""


def merge(db: sqlite3.Connection, item: sqlite3.Row, user: sqlite3.Row, now: str) -> None:
    """Merge the commits and changed files of the source branch into the target branch. There must be no conflict.

    That is one commit of the user's.
    """
    source, target = (find_branch(db, item["project_id"], item[f"{role}_branch"]) for role in ("source", "target"))
    assert source is not None
    assert target is not None
    of_branch, ids = "SELECT commit_id FROM commit_branch WHERE branch_id = ?", (source["branch_id"], target["branch_id"])
    query = (
        f"SELECT DISTINCT path FROM file_change WHERE commit_id IN ({of_branch}) AND commit_id NOT IN ({of_branch}) ORDER BY 1"
    )
    changed = db.execute(query, ids).fetchall()
    there, present = ({row["path"]: row["content"] for row in files(db, branch["branch_id"])} for branch in (source, target))
    changes = {path: there.get(path) for (path,) in changed if there.get(path) != present.get(path)}
    db.execute("INSERT OR IGNORE INTO commit_branch SELECT ?, commit_id FROM commit_branch WHERE branch_id = ?", ids[::-1])
    commit(db, target, user, f"{merge_title(item)}\n\n{item['title']}\n\nSee merge request !{item['iid']}", changes, now)


def diff_lines(change: Change) -> list[tuple[str, str]]:
    """Return a file's unified diff as pairs of the kind of a line (added, removed, hunk or same) and its text; long diffs are cut.

    >>> diff_lines(Change("a", "modified", "x", "y"))
    [('hunk', '@@ -1 +1 @@'), ('removed', '-x'), ('added', '+y')]
    """
    lines = [*difflib.unified_diff(change.before.split("\n"), change.after.split("\n"), lineterm="", n=CONTEXT)][2:]
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    shown = [(kinds.get(line[:1], "same"), line) for line in lines[:MAX_LINES]]
    return shown if len(lines) <= MAX_LINES else [*shown, ("hunk", f"{len(lines) - MAX_LINES} more lines")]


_ISSUES = "SELECT issue_id FROM issue WHERE project_id = :id"
_REQUESTS = "SELECT merge_request_id FROM merge_request WHERE project_id = :id"
_OF = dict.fromkeys(("todo", "note"), f"issue_id IN ({_ISSUES}) OR merge_request_id IN ({_REQUESTS})")
_OF |= dict.fromkeys(("issue_label", "issue_assignee"), f"issue_id IN ({_ISSUES})")
_OF |= {f"merge_request_{part}": f"merge_request_id IN ({_REQUESTS})" for part in ("label", "assignee", "reviewer")}
_OF |= dict.fromkeys(("issue", "merge_request", "milestone", "label", "star"), "project_id = :id")
_OF |= dict.fromkeys(("commit_branch", "file"), "branch_id IN (SELECT branch_id FROM branch WHERE project_id = :id)")
_OF |= {"file_change": "commit_id IN (SELECT commit_id FROM git_commit WHERE project_id = :id)"}
_OF |= dict.fromkeys(("branch", "git_commit", "project_member", "project"), "project_id = :id")
"""Conditions on the rows that belong to a project, by table, in the order in which they can be deleted."""


def open_count(db: sqlite3.Connection, kind: str, project_id: int) -> int:
    """Return the number of open issues or merge requests of a project (`kind` as in URLs)."""
    query = f"SELECT count(*) FROM {kind.removesuffix('s')} WHERE project_id = ? AND state = 'opened'"
    return int(value(db, query, (project_id,)))


def delete_project(db: sqlite3.Connection, project_id: int) -> None:
    """Delete a project. Its forks remain, without a source."""
    db.execute("UPDATE project SET forked_from_id = NULL WHERE forked_from_id = ?", (project_id,))
    for table, condition in _OF.items():
        db.execute(f"DELETE FROM {table} WHERE {condition}", {"id": project_id})
