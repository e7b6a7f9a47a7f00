"""Deleting a project with everything that belongs to it."""

import sqlite3

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
