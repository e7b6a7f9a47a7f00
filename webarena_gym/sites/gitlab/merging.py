"""What a merge request would bring: its commits, the files they change, and the merge itself.

The commits of a request are those of its source branch that the target branch has not. A merge adds them to the target branch,
with a commit of its own that records the net changes; a merged request shows what that commit recorded.
"""

import difflib
import sqlite3
from typing import NamedTuple

from webarena_gym.sites.gitlab import git

CONTEXT = 3  # unchanged lines around a change
MAX_LINES = 400  # of one file's diff


class Change(NamedTuple):
    """What happens to one file: its whole text before and after; added and deleted files are empty on one side."""

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
        if git.find_branch(db, item["project_id"], item[f"{role}_branch"]) is None:
            return f"The {role} branch {item[f'{role}_branch']} does not exist any more."
    if not changes:
        return "The source branch has no changes that the target branch has not."
    query = "SELECT path, content FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ?"
    present: dict[str, str] = dict(db.execute(query, (item["project_id"], item["target_branch"])).fetchall())
    clash = next((c.path for c in changes if present.get(c.path) != (None if c.kind == "added" else c.before)), "")
    return f"Both branches changed {clash}. Resolve the conflict before you merge." if clash else ""


def merge(db: sqlite3.Connection, item: sqlite3.Row, user: sqlite3.Row, now: str) -> None:
    """Bring the source into the target branch, which must not conflict, by a commit of the user's."""
    source, target = (git.find_branch(db, item["project_id"], item[f"{role}_branch"]) for role in ("source", "target"))
    assert source is not None
    assert target is not None
    git.merge(db, source, target, user, f"{merge_title(item)}\n\n{item['title']}\n\nSee merge request !{item['iid']}", now)


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
