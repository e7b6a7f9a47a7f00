"""Who may see and do what: visibility and roles.

A public project is for everybody, an internal one for all who are signed in, a private one for its members. Members of a
project are those who were invited to it, its owner, and the members of its group. A membership ends on the day it expires.
"""

import sqlite3

ROLES = ("Guest", "Reporter", "Developer", "Maintainer", "Owner")
"""The roles, each of which may do all that the ones before it may."""
VISIBILITIES = ("private", "internal", "public")

VISIBLE = """(p.visibility = 'public' OR p.visibility = 'internal' AND :me IS NOT NULL
    OR p.project_id IN (SELECT project_id FROM membership WHERE user_id = :me))"""
"""Holds for a project p that the person :me (NULL for a stranger) may see."""

VISIBLE_GROUP = """(g.visibility = 'public' OR g.visibility = 'internal' AND :me IS NOT NULL
    OR g.group_id IN (SELECT group_id FROM current_group_member WHERE user_id = :me))"""
"""Holds for a group g that the person :me may see."""


def rank(role: str) -> int:
    """Return how much a role may do, from 1 for a guest to 5 for an owner; 0 for somebody without a role.

    >>> rank("Developer") > rank("Reporter"), rank("")
    (True, 0)
    """
    return ROLES.index(role) + 1 if role in ROLES else 0


def project_role(db: sqlite3.Connection, project_id: int, user_id: int | None) -> str:
    """Return somebody's highest role in a project, "" without any."""
    query = "SELECT role FROM membership WHERE project_id = ? AND user_id = ?"
    return max((row["role"] for row in db.execute(query, (project_id, user_id))), key=rank, default="")


def group_role(db: sqlite3.Connection, group_id: int, user_id: int | None) -> str:
    """Return somebody's role in a group, "" without any."""
    query = "SELECT role FROM current_group_member WHERE group_id = ? AND user_id = ?"
    row = db.execute(query, (group_id, user_id)).fetchone()
    return str(row["role"]) if row else ""
