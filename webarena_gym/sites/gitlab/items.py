"""Reading issues and merge requests: which ones somebody may see, one by its number, and the plan that stands for it."""

import sqlite3
from collections.abc import Iterable

from webarena_gym.sites.gitlab.access import VISIBLE
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, Kind, Named, Plan

VISIBLE_ITEM = {
    MERGE_REQUEST: "1",
    ISSUE: """(NOT t.is_confidential OR t.author_id = :me
        OR EXISTS (SELECT 1 FROM issue_assignee a WHERE a.issue_id = t.issue_id AND a.user_id = :me)
        OR EXISTS (SELECT 1 FROM membership s WHERE s.project_id = t.project_id AND s.user_id = :me AND s.role <> 'Guest'))""",
}
"""Holds for an item t that the person :me may see in a project that this person may see: a confidential issue is for its
author, its assignees and the members of its project, but for guests."""


def find(db: sqlite3.Connection, kind: Kind, project_id: int, iid: int, me: int | None) -> sqlite3.Row | None:
    """Return the item with that number in a project, with its author's names, when `me` may see it."""
    row: sqlite3.Row | None = db.execute(
        f"""
        SELECT t.*, author.username, author.name AS author_name,
            (SELECT count(*) FROM note n WHERE n.{kind.key} = t.{kind.key} AND NOT n.is_system) AS notes FROM {kind.table} t
        JOIN user author ON author.user_id = t.author_id
        WHERE t.project_id = :project_id AND t.iid = :iid AND {VISIBLE_ITEM[kind]}
        """,
        {"project_id": project_id, "iid": iid, "me": me},
    ).fetchone()
    return row


def plan_of(db: sqlite3.Connection, kind: Kind, item: sqlite3.Row) -> Plan:
    """Return the plan that an item follows now."""
    milestone = db.execute(
        "SELECT milestone_id, title FROM milestone WHERE milestone_id = ?", (item["milestone_id"],)
    ).fetchone()
    plan = {
        "title": item["title"],
        "description": item["description"],
        "milestone": Named(*milestone) if milestone else None,
        "labels": labels_of(db, kind, item[kind.key]),
        "assignees": people_of(db, kind, item[kind.key], "assignee"),
    }
    if kind is ISSUE:
        return Plan(**plan, due_on=item["due_on"] or "", is_confidential=bool(item["is_confidential"]))
    return Plan(
        **plan,
        reviewers=people_of(db, kind, item[kind.key], "reviewer"),
        is_draft=bool(item["is_draft"]),
        target_branch=item["target_branch"],
    )


def labels_of(db: sqlite3.Connection, kind: Kind, item_id: int) -> tuple[Named, ...]:
    """Return the labels of an item by name."""
    rows = db.execute(
        f"SELECT label_id, name FROM {kind.table}_label JOIN label USING (label_id) WHERE {kind.key} = ? ORDER BY name",
        (item_id,),
    )
    return tuple(Named(*row) for row in rows)


def people_of(db: sqlite3.Connection, kind: Kind, item_id: int, role: str) -> tuple[Named, ...]:
    """Return the assignees or reviewers of an item by user name."""
    rows = db.execute(
        f"SELECT user_id, username FROM {kind.table}_{role} JOIN user USING (user_id) WHERE {kind.key} = ? ORDER BY username",
        (item_id,),
    )
    return tuple(Named(*row) for row in rows)


def user_ids(db: sqlite3.Connection, usernames: Iterable[str]) -> list[int]:
    """Return the ids of those user names that exist."""
    rows = (db.execute("SELECT user_id FROM user WHERE username = ?", (name,)).fetchone() for name in usernames)
    return [row["user_id"] for row in rows if row]


def can_see(db: sqlite3.Connection, kind: Kind, item_id: int, user_id: int) -> bool:
    """Say whether a person may see an item."""
    query = f"""SELECT 1 FROM {kind.table} t JOIN project p USING (project_id)
        WHERE t.{kind.key} = :item_id AND {VISIBLE} AND {VISIBLE_ITEM[kind]}"""
    return db.execute(query, {"item_id": item_id, "me": user_id}).fetchone() is not None
