"""Visibility, addresses, and the queries that several pages share. SQL names a project p, a group g."""

import re
import sqlite3
from typing import Any

from webarena_gym.sites.gitlab.world_projects import rank
from webarena_gym.sites.kit.database import first

VISIBILITIES = ("private", "internal", "public")

VISIBLE = """(p.visibility = 'public' OR p.visibility = 'internal' AND :me IS NOT NULL
    OR p.project_id IN (SELECT project_id FROM membership WHERE user_id = :me))"""
"""Holds for a project p that the person :me (NULL for a stranger) may see."""

VISIBLE_GROUP = """(g.visibility = 'public' OR g.visibility = 'internal' AND :me IS NOT NULL
    OR g.group_id IN (SELECT group_id FROM current_group_member WHERE user_id = :me))"""
"""Holds for a group g that the person :me may see."""


def project_role(db: sqlite3.Connection, project_id: int, user_id: int | None) -> str:
    """Return somebody's highest role in a project, "" without any."""
    query = "SELECT role FROM membership WHERE project_id = ? AND user_id = ?"
    return max((row["role"] for row in db.execute(query, (project_id, user_id))), key=rank, default="")


def group_role(db: sqlite3.Connection, group_id: int, user_id: int | None) -> str:
    """Return somebody's role in a group, "" without any."""
    query = "SELECT role FROM current_group_member WHERE group_id = ? AND user_id = ?"
    row = db.execute(query, (group_id, user_id)).fetchone()
    return str(row["role"]) if row else ""


_SLUG = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?")


def slug(name: str) -> str:
    """Return the path that goes with a name.

    >>> slug("Do it myself!"), slug("awesome_llms 2.0")
    ('do-it-myself', 'awesome_llms-2.0')
    """
    return re.sub(r"[^a-z0-9_.]+", "-", name.lower()).strip("-.")


def is_slug(path: str) -> bool:
    """Say whether a text can be a path.

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

OPEN_WORK = {
    "issues": "SELECT count(*) FROM issue WHERE project_id = ? AND state = 'opened'",
    "merge_requests": "SELECT count(*) FROM merge_request WHERE project_id = ? AND state = 'opened'",
}


def user(db: sqlite3.Connection, user_id: int) -> sqlite3.Row | None:
    """Return a person's row."""
    return first(db, "SELECT * FROM user WHERE user_id = ?", (user_id,))


def user_named(db: sqlite3.Connection, username: str) -> sqlite3.Row | None:
    """Return the row of the person with that username."""
    return first(db, "SELECT * FROM user WHERE username = ? COLLATE NOCASE", (username,))


def project(db: sqlite3.Connection, namespace: str, path: str, me: int | None) -> sqlite3.Row | None:
    """Return the project at a full path, with PROJECT_COLUMNS, when `me` may see it."""
    return first(
        db,
        f"""SELECT {PROJECT_COLUMNS} FROM project p
        WHERE namespace = :namespace COLLATE NOCASE AND path = :path COLLATE NOCASE AND {VISIBLE}""",
        {"namespace": namespace, "path": path, "me": me},
    )


def group(db: sqlite3.Connection, path: str) -> sqlite3.Row | None:
    """Return the group with that path."""
    return first(db, "SELECT * FROM user_group WHERE path = ? COLLATE NOCASE", (path,))


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
