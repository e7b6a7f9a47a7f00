"""The questions that several pages ask of the code host's database. Pages name a project p, a group g."""

import sqlite3
from typing import Any

from webarena_gym.sites.gitlab.access import VISIBLE

PROJECT_COLUMNS = """p.*, p.namespace || '/' || p.path AS full_path,
    coalesce((SELECT name FROM user_group g WHERE g.group_id = p.group_id), (SELECT name FROM user WHERE user_id = p.owner_id))
    AS namespace_name,
    (SELECT count(*) FROM star s WHERE s.project_id = p.project_id) AS stars,
    (SELECT count(*) FROM project f WHERE f.forked_from_id = p.project_id) AS forks"""
"""What pages show of a project: its row, its full path, its owner's name, and how many stars and forks it has."""

OPEN_WORK = {
    "issues": "SELECT count(*) FROM issue WHERE project_id = ? AND state = 'opened'",
    "merge_requests": "SELECT count(*) FROM merge_request WHERE project_id = ? AND state = 'opened'",
}


def user(db: sqlite3.Connection, user_id: int) -> sqlite3.Row | None:
    """Return a person's row."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM user WHERE user_id = ?", (user_id,)).fetchone()
    return row


def user_named(db: sqlite3.Connection, username: str) -> sqlite3.Row | None:
    """Return the row of the person with that username."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM user WHERE username = ? COLLATE NOCASE", (username,)).fetchone()
    return row


def project(db: sqlite3.Connection, namespace: str, path: str, me: int | None) -> sqlite3.Row | None:
    """Return the project at a full path, with PROJECT_COLUMNS, when `me` may see it."""
    row: sqlite3.Row | None = db.execute(
        f"""SELECT {PROJECT_COLUMNS} FROM project p
        WHERE namespace = :namespace COLLATE NOCASE AND path = :path COLLATE NOCASE AND {VISIBLE}""",
        {"namespace": namespace, "path": path, "me": me},
    ).fetchone()
    return row


def group(db: sqlite3.Connection, path: str) -> sqlite3.Row | None:
    """Return the group with that path."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM user_group WHERE path = ? COLLATE NOCASE", (path,)).fetchone()
    return row


def find_projects(
    db: sqlite3.Connection, me: int | None, *, where: str = "1", order: str = "p.project_id", **values: Any
) -> list[sqlite3.Row]:
    """Return the projects that `me` may see and that fulfil `where`, with PROJECT_COLUMNS, in the order of `order`."""
    return db.execute(
        f"SELECT {PROJECT_COLUMNS} FROM project p WHERE {VISIBLE} AND ({where}) ORDER BY {order}", {"me": me, **values}
    ).fetchall()


def branches(db: sqlite3.Connection, project_id: int) -> list[sqlite3.Row]:
    """Return a project's branches with their newest commits, by name."""
    return db.execute(
        """
        SELECT b.*, c.sha, c.title, c.author_name, c.created_at AS committed_at
        FROM branch b LEFT JOIN git_commit c ON c.commit_id = b.head_id WHERE b.project_id = ? ORDER BY b.name
        """,
        (project_id,),
    ).fetchall()


def members(db: sqlite3.Connection, project_id: int) -> list[sqlite3.Row]:
    """Return the people who belong to a project today, by name, each once."""
    return db.execute(
        "SELECT * FROM user WHERE user_id IN (SELECT user_id FROM membership WHERE project_id = ?) ORDER BY name, user_id",
        (project_id,),
    ).fetchall()


def open_count(db: sqlite3.Connection, kind: str, project_id: int) -> int:
    """Return how many issues or merge requests (`kind`, a key of OPEN_WORK) of a project are open."""
    return int(db.execute(OPEN_WORK[kind], (project_id,)).fetchone()[0])
