"""Writing issues and merge requests: what somebody changes about one, with the notes and to-dos that follow from it."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from webarena_gym.sites.gitlab.items import can_see, user_ids
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, Kind, Named, Plan, changes, mentions, newcomers


class Ledger:
    """Writes what one user does to issues and merge requests at one moment."""

    def __init__(self, db: sqlite3.Connection, user: sqlite3.Row, now: datetime) -> None:
        self._db = db
        self._user = user
        self._now = f"{now:%Y-%m-%d %H:%M:%S}"

    def create(self, kind: Kind, project: sqlite3.Row, plan: Plan, source_branch: str = "") -> int:
        """Store a new item and return its number in the project."""
        (iid,) = self._db.execute(
            f"SELECT coalesce(max(iid), 0) + 1 FROM {kind.table} WHERE project_id = ?", (project["project_id"],)
        ).fetchone()
        values = {"project_id": project["project_id"], "iid": iid, "title": plan.title, "author_id": self._user["user_id"]}
        values |= {"created_at": self._now, "updated_at": self._now}
        if kind is MERGE_REQUEST:
            values |= {"source_branch": source_branch, "target_branch": plan.target_branch}
        item_id = self._db.execute(
            f"INSERT INTO {kind.table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())
        ).lastrowid
        assert item_id is not None
        self._write(kind, item_id, plan)
        start = Plan(plan.title, target_branch=plan.target_branch)
        self._notify(kind, item_id, start, plan)
        return int(iid)

    def change(self, kind: Kind, item: sqlite3.Row, before: Plan, after: Plan) -> bool:
        """Carry an item from one plan to another, tell so in its history, and return whether anything changed."""
        said = changes(before, after)
        if said:
            self._write(kind, item[kind.key], after)
            for body in said:
                self._insert_note(kind, item[kind.key], body, is_system=True)
            self._notify(kind, item[kind.key], before, after)
            self._touch(kind, item)
        return bool(said)

    def comment(self, kind: Kind, item: sqlite3.Row, body: str) -> int:
        """Add a comment, tell those whom it mentions, and return its id."""
        note_id = self._insert_note(kind, item[kind.key], body, is_system=False)
        self._remind(kind, item[kind.key], "mentioned", user_ids(self._db, mentions(body)))
        self._touch(kind, item)
        return note_id

    def move(self, kind: Kind, item: sqlite3.Row, state: str) -> None:
        """Open, close or merge an item."""
        values: dict[str, Any] = {"state": state, "closed_at": self._now if state == "closed" else None}
        if state == "merged":
            values["merged_at"] = self._now
        self._update(kind, item[kind.key], values)
        self._insert_note(kind, item[kind.key], "reopened" if state == "opened" else state, is_system=True)
        self._touch(kind, item)

    def mark_to_do(self, kind: Kind, item: sqlite3.Row) -> None:
        """Put an item on the user's own list of things to do, once."""
        self._insert_todo(kind, item[kind.key], "marked", self._user["user_id"])

    def _write(self, kind: Kind, item_id: int, plan: Plan) -> None:
        values: dict[str, Any] = {
            "title": plan.title,
            "description": plan.description,
            "milestone_id": plan.milestone.row_id if plan.milestone else None,
        }
        if kind is ISSUE:
            values |= {"due_on": plan.due_on or None, "is_confidential": int(plan.is_confidential)}
        else:
            values |= {"is_draft": int(plan.is_draft), "target_branch": plan.target_branch}
            self._relate(kind, item_id, "reviewer", "user_id", plan.reviewers)
        self._update(kind, item_id, values)
        self._relate(kind, item_id, "assignee", "user_id", plan.assignees)
        self._relate(kind, item_id, "label", "label_id", plan.labels)

    def _update(self, kind: Kind, item_id: int, values: dict[str, Any]) -> None:
        assignments = ", ".join(f"{column} = ?" for column in values)
        self._db.execute(f"UPDATE {kind.table} SET {assignments} WHERE {kind.key} = ?", (*values.values(), item_id))

    def _relate(self, kind: Kind, item_id: int, what: str, column: str, rows: Sequence[Named]) -> None:
        self._db.execute(f"DELETE FROM {kind.table}_{what} WHERE {kind.key} = ?", (item_id,))
        self._db.executemany(
            f"INSERT OR IGNORE INTO {kind.table}_{what} ({kind.key}, {column}) VALUES (?, ?)",
            [(item_id, row.row_id) for row in rows],
        )

    def _notify(self, kind: Kind, item_id: int, before: Plan, after: Plan) -> None:
        self._remind(kind, item_id, "assigned", [person.row_id for person in newcomers(before.assignees, after.assignees)])
        self._remind(
            kind, item_id, "review_requested", [person.row_id for person in newcomers(before.reviewers, after.reviewers)]
        )
        fresh = [name for name in mentions(after.description) if name not in mentions(before.description)]
        self._remind(kind, item_id, "mentioned", user_ids(self._db, fresh))

    def _remind(self, kind: Kind, item_id: int, why: str, who: Iterable[int]) -> None:
        """Give others something to do, where they can see the item."""
        for user_id in who:
            if user_id != self._user["user_id"] and can_see(self._db, kind, item_id, user_id):
                self._insert_todo(kind, item_id, why, user_id)

    def _insert_todo(self, kind: Kind, item_id: int, why: str, user_id: int) -> None:
        self._db.execute(
            f"""
            INSERT INTO todo (user_id, author_id, kind, {kind.key}, created_at)
            SELECT :user_id, :author_id, :why, :item_id, :now
            WHERE NOT EXISTS (
                SELECT 1 FROM todo WHERE user_id = :user_id AND kind = :why AND {kind.key} = :item_id AND state = 'pending'
            )
            """,
            {"user_id": user_id, "author_id": self._user["user_id"], "why": why, "item_id": item_id, "now": self._now},
        )

    def _insert_note(self, kind: Kind, item_id: int, body: str, *, is_system: bool) -> int:
        note_id = self._db.execute(
            f"INSERT INTO note ({kind.key}, author_id, body, is_system, created_at) VALUES (?, ?, ?, ?, ?)",
            (item_id, self._user["user_id"], body, int(is_system), self._now),
        ).lastrowid
        assert note_id is not None
        return note_id

    def _touch(self, kind: Kind, item: sqlite3.Row) -> None:
        self._update(kind, item[kind.key], {"updated_at": self._now})
