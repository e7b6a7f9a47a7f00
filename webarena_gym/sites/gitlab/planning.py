"""Issues and merge requests: their plans, filters of their lists, permissions, and the ledger that writes changes.

The plan of an item contains the properties that its form can change.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import Forbidden

from webarena_gym.sites.country.texts import fold_case, long_date
from webarena_gym.sites.gitlab.queries import VISIBLE, Change, conflict
from webarena_gym.sites.gitlab.site import can, my_id
from webarena_gym.sites.kit.database import first, insert, update, value
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request

NONE = "None"
"""Words of the URL for "without a milestone" and "assigned to nobody"."""

_MENTION = re.compile(r"(?<![\w@./-])@([A-Za-z0-9_](?:[\w.-]*[\w])?)", re.ASCII)
_TEXT_LIMIT = 255  # characters of one filter
_WORDS_LIMIT = 10


class ItemKind(NamedTuple):
    """Issues or merge requests: their table, noun, the sign before their numbers, and their part of URLs."""

    table: str
    noun: str
    mark: str
    segment: str
    states: tuple[tuple[str, str], ...]  # value in URL and database, label of the tab
    roles: tuple[str, ...]  # of people

    @property
    def key(self) -> str:
        """The column that refers to a row of the table."""
        return f"{self.table}_id"


_STATES = (("opened", "Open"), ("merged", "Merged"), ("closed", "Closed"))
ISSUE = ItemKind("issue", "issue", "#", "issues", (_STATES[0], _STATES[2]), ("author", "assignee"))
MERGE_REQUEST = ItemKind("merge_request", "merge request", "!", "merge_requests", _STATES, ("author", "assignee", "reviewer"))


class NamedRow(NamedTuple):
    """A row with a name: a label, a milestone or a user."""

    row_id: int
    name: str


class ItemPlan(NamedTuple):
    """The editable properties of an item. `due_on` and `is_confidential` are for issues, the last three fields for merge requests."""

    title: str
    description: str = ""
    milestone: NamedRow | None = None
    labels: tuple[NamedRow, ...] = ()
    assignees: tuple[NamedRow, ...] = ()
    due_on: str = ""
    is_confidential: bool = False
    reviewers: tuple[NamedRow, ...] = ()
    is_draft: bool = False
    target_branch: str = ""

    def assigned_to(self, person: NamedRow) -> "ItemPlan":
        """Return the plan with an additional assignee."""
        return self if person in self.assignees else self._replace(assignees=(*self.assignees, person))


def changes(before: ItemPlan, after: ItemPlan) -> list[str]:
    """Return the changes from one plan to the next as system notes of the item.

    >>> ann, bug = NamedRow(1, "ann"), NamedRow(4, "bug")
    >>> changes(ItemPlan("A", assignees=(ann,)), ItemPlan("B", labels=(bug,), due_on="2030-01-03"))
    ['changed title from "A" to "B"', 'unassigned @ann', 'added the label bug', 'changed due date to January 3, 2030']
    """
    notes = []
    if before.title != after.title:
        notes.append(f'changed title from "{before.title}" to "{after.title}"')
    if before.description != after.description:
        notes.append("changed the description")
    if before.target_branch != after.target_branch:
        notes.append(f"changed target branch from {before.target_branch} to {after.target_branch}")
    notes += _moves(before.assignees, after.assignees, "assigned to @", "unassigned @")
    notes += _moves(before.reviewers, after.reviewers, "requested review from @", "removed review request for @")
    notes += _moves(before.labels, after.labels, "added the label ", "removed the label ")
    if before.milestone != after.milestone:
        notes.append(f"changed milestone to {after.milestone.name}" if after.milestone else "removed milestone")
    if before.due_on != after.due_on:
        notes.append(f"changed due date to {long_date(after.due_on)}" if after.due_on else "removed due date")
    if before.is_confidential != after.is_confidential:
        notes.append("made the issue confidential" if after.is_confidential else "made the issue visible to everyone")
    if before.is_draft != after.is_draft:
        notes.append(f"marked this merge request as {'draft' if after.is_draft else 'ready'}")
    return notes


def _moves(before: Sequence[NamedRow], after: Sequence[NamedRow], came: str, went: str) -> Iterator[str]:
    yield from (f"{came}{item.name}" for item in after if item not in before)
    yield from (f"{went}{item.name}" for item in before if item not in after)


def mentions(text: str) -> list[str]:
    """Return the usernames that a text mentions, in order and without repetitions.

    >>> mentions("@ann.lee and @bo, (@ann.lee.) not me@cy.org")
    ['ann.lee', 'bo']
    """
    return list(dict.fromkeys(_MENTION.findall(text)))


SORTS = {
    "created_date": ("Created date, newest first", "t.created_at DESC, t.{key} DESC"),
    "created_asc": ("Created date, oldest first", "t.created_at, t.{key}"),
    "updated_desc": ("Updated date, newest first", "t.updated_at DESC, t.{key} DESC"),
    "updated_asc": ("Updated date, oldest first", "t.updated_at, t.{key}"),
    "title_asc": ("Title", "t.title COLLATE NOCASE, t.{key}"),
    "due_date": ("Due date", "t.due_on IS NULL, t.due_on, t.{key}"),
}
"""The orders of a list: the value in the URL, the label and the SQL. The last one is of issues only."""


class Filters(NamedTuple):
    """Filters of a list of items, from its URL."""

    kind: ItemKind
    state: str  # one of the kind's states, or all
    search: str
    labels: tuple[str, ...]
    people: dict[str, str]  # user names by role
    milestone: str
    sort: str

    @classmethod
    def read(cls, arguments: MultiDict[str, str], kind: ItemKind) -> "Filters":
        """Return the filters of a URL; missing and invalid values become the defaults."""
        state, sort = arguments.get("state", ""), arguments.get("sort", "")
        return cls(
            kind,
            state if state in ("all", *dict(kind.states)) else "opened",
            _text(arguments.get("search")),
            tuple(dict.fromkeys(filter(None, map(_text, arguments.getlist("label_name[]")))))[:_WORDS_LIMIT],
            {role: name for role in kind.roles if (name := _text(arguments.get(f"{role}_username")))},
            _text(arguments.get("milestone_title")),
            sort if sort in cls.sorts(kind) else "created_date",
        )

    @staticmethod
    def sorts(kind: ItemKind) -> dict[str, str]:
        """Return the sort orders of a kind of items, with their labels."""
        return {name: label for name, (label, _) in SORTS.items() if kind is ISSUE or name != "due_date"}

    def where(self) -> tuple[str, dict[str, str]]:
        """Return the SQL condition on the table `t`, without the state, with its parameters."""
        table, key = self.kind.table, self.kind.key
        words = {f"word{place}": word for place, word in enumerate(self.search.split()[:_WORDS_LIMIT])}
        labels = {f"label{place}": name for place, name in enumerate(self.labels)}
        conditions = [
            f"(instr(lower(t.title), lower(:{word})) OR instr(lower(t.description), lower(:{word})))" for word in words
        ]
        labelled = f"t.{key} IN (SELECT {key} FROM {table}_label JOIN label USING (label_id) WHERE label.name = "
        conditions += [f"{labelled}:{label})" for label in labels]
        for role, name in self.people.items():
            if role == "author":
                conditions.append("t.author_id IN (SELECT user_id FROM user WHERE username = :author)")
            elif name == NONE:
                conditions.append(f"t.{key} NOT IN (SELECT {key} FROM {table}_{role})")
            else:
                conditions.append(
                    f"t.{key} IN (SELECT {key} FROM {table}_{role} JOIN user USING (user_id) WHERE username = :{role})"
                )
        if self.milestone == NONE:
            conditions.append("t.milestone_id IS NULL")
        elif self.milestone:
            conditions.append("t.milestone_id IN (SELECT milestone_id FROM milestone WHERE title = :milestone)")
        return " AND ".join(conditions) or "1", {**words, **labels, **self.people, "milestone": self.milestone}

    def pairs(self) -> list[tuple[str, str]]:
        """Return the query parameters without the page number."""
        people = [(f"{role}_username", name) for role, name in self.people.items()]
        parameters = [("search", self.search), *(("label_name[]", name) for name in self.labels), *people]
        parameters += [("milestone_title", self.milestone)]
        return [("sort", self.sort), ("state", self.state), *(pair for pair in parameters if pair[1])]

    def content(self) -> dict[str, object]:
        """Return the query parameters of the filters that differ from their defaults."""
        words = " ".join(sorted(set(fold_case(self.search).split())))
        shown: dict[str, object] = {f"{role}_username": name for role, name in self.people.items()}
        shown |= {"state": None if self.state == "opened" else self.state, "search": words}
        return shown | {"label_name[]": tuple(sorted(self.labels)), "milestone_title": self.milestone}

    def query(self, **changed: Any) -> str:
        """Return the query of the URL, with some filters changed."""
        return urlencode(self._replace(**changed).pairs())

    def removals(self) -> list[tuple[str, str]]:
        """Return the active filters: the description of each, and the query of the list without it."""
        gone = [(f'Search "{self.search}"', self.query(search=""))] if self.search else []
        for name in self.labels:
            gone.append((f"Label {name}", self.query(labels=tuple(other for other in self.labels if other != name))))
        for role, name in self.people.items():
            gone.append((f"{role.capitalize()} {name}", self.query(people=self.people | {role: ""})))
        return [*gone, (f"Milestone {self.milestone}", self.query(milestone=""))] if self.milestone else gone


def _text(value: str | None) -> str:
    return clean(value or "")[:_TEXT_LIMIT]


VISIBLE_ITEM = {
    MERGE_REQUEST: "1",
    ISSUE: """(NOT t.is_confidential OR t.author_id = :me
        OR EXISTS (SELECT 1 FROM issue_assignee a WHERE a.issue_id = t.issue_id AND a.user_id = :me)
        OR EXISTS (SELECT 1 FROM membership s WHERE s.project_id = t.project_id AND s.user_id = :me AND s.role <> 'Guest'))""",
}
"""Holds for an item t that the person :me may see in a project that this person may see: a confidential issue is for its
author, its assignees and the members of its project, but for guests."""


def plan_of(db: sqlite3.Connection, kind: ItemKind, item: sqlite3.Row) -> ItemPlan:
    """Return the present plan of an item, with labels and users by name."""

    def named_rows(relation: str, columns: str, table: str) -> tuple[NamedRow, ...]:
        query = f"SELECT {columns} FROM {kind.table}_{relation} JOIN {table} USING ({table}_id) WHERE {kind.key} = ? ORDER BY 2"
        return tuple(NamedRow(*row) for row in db.execute(query, (item[kind.key],)))

    milestone = first(db, "SELECT milestone_id, title FROM milestone WHERE milestone_id = ?", (item["milestone_id"],))
    plan = ItemPlan(
        item["title"],
        item["description"],
        milestone=NamedRow(*milestone) if milestone else None,
        labels=named_rows("label", "label_id, name", "label"),
        assignees=named_rows("assignee", "user_id, username", "user"),
    )
    if kind is ISSUE:
        return plan._replace(due_on=item["due_on"] or "", is_confidential=bool(item["is_confidential"]))
    reviewers = named_rows("reviewer", "user_id, username", "user")
    return plan._replace(reviewers=reviewers, is_draft=bool(item["is_draft"]), target_branch=item["target_branch"])


def may_plan(request: Request, kind: ItemKind, project: sqlite3.Row) -> bool:
    """Return True if the user may plan the items of a project."""
    return can(request, project, "Reporter" if kind is ISSUE else "Developer")


def may_edit(request: Request, kind: ItemKind, project: sqlite3.Row, item: sqlite3.Row) -> bool:
    """Return True if the user may edit, close and reopen an item."""
    is_author = item["author_id"] == my_id(request) and not project["is_archived"]
    return is_author or may_plan(request, kind, project)


def require_edit(request: Request, kind: ItemKind, project: sqlite3.Row, item: sqlite3.Row) -> None:
    """Raise Forbidden unless the user may change the item."""
    if not may_edit(request, kind, project, item):
        raise Forbidden(f"You cannot change this {kind.noun}: it is not yours, and your role in the project is too low.")


def merge_obstacle(request: Request, project: sqlite3.Row, item: sqlite3.Row, changes: list[Change]) -> str:
    """Return the reason why the user cannot merge a request, "" if there is none."""
    if item["state"] != "opened":
        return f"This merge request is {item['state']}."
    if item["is_draft"]:
        return "This merge request is a draft. Mark it as ready to merge it."
    query = "SELECT is_protected FROM branch WHERE project_id = ? AND name = ?"
    target = request.db.execute(query, (project["project_id"], item["target_branch"])).fetchone()
    role = "Maintainer" if target and target["is_protected"] else "Developer"
    if not can(request, project, role):
        return f"Somebody with the role {role} or a higher one can merge this."
    return conflict(request.db, item, changes)


def address(kind: ItemKind, project: sqlite3.Row, iid: int | None = None) -> str:
    """Return the path of an item's page, or of the project's list."""
    path = f"/{project['full_path']}/-/{kind.segment}"
    return path if iid is None else f"{path}/{iid}"


class Ledger:
    """Writes changes of issues and merge requests by one user at one time."""

    def __init__(self, request: Request, user: sqlite3.Row) -> None:
        self._db, self._user_id, self._now = request.db, user["user_id"], request.stamp

    def create(self, kind: ItemKind, project: sqlite3.Row, plan: ItemPlan, source_branch: str = "") -> int:
        """Store a new item and return its number in the project."""
        project_id = project["project_id"]
        iid = int(value(self._db, f"SELECT coalesce(max(iid), 0) + 1 FROM {kind.table} WHERE project_id = ?", (project_id,)))
        row = {"iid": iid, "title": plan.title, "author_id": self._user_id, "created_at": self._now, "updated_at": self._now}
        if kind is MERGE_REQUEST:
            row |= {"source_branch": source_branch, "target_branch": plan.target_branch}
        item_id = insert(self._db, kind.table, project_id=project_id, **row)
        self._write(kind, item_id, ItemPlan(plan.title, target_branch=plan.target_branch), plan)
        return iid

    def change(self, kind: ItemKind, item: sqlite3.Row, before: ItemPlan, after: ItemPlan) -> bool:
        """Change the plan of an item, add system notes, and return True if anything changed."""
        notes = changes(before, after)
        if notes:
            for body in notes:
                self._insert_note(kind, item, body, is_system=True)
            self._write(kind, item[kind.key], before, after)
        return bool(notes)

    def comment(self, kind: ItemKind, item: sqlite3.Row, body: str) -> int:
        """Add a comment, notify the users that it mentions, and return its id."""
        note_id = self._insert_note(kind, item, body, is_system=False)
        self._remind(kind, item[kind.key], "mentioned", self._people(mentions(body)))
        return note_id

    def move(self, kind: ItemKind, item: sqlite3.Row, state: str) -> None:
        """Open, close or merge an item."""
        values: dict[str, Any] = {"state": state, "closed_at": self._now if state == "closed" else None}
        if state == "merged":
            values["merged_at"] = self._now
        update(self._db, kind.table, kind.key, item[kind.key], **values)
        self._insert_note(kind, item, "reopened" if state == "opened" else state, is_system=True)

    def mark_to_do(self, kind: ItemKind, item_id: int, why: str = "marked", user_id: int | None = None) -> None:
        """Add an item to a user's to-do list, unless it is there; by default to the list of the user who makes the change."""
        bound = {"user_id": user_id or self._user_id, "author_id": self._user_id, "why": why, "id": item_id, "now": self._now}
        query = f"""
            INSERT INTO todo (user_id, author_id, kind, {kind.key}, created_at) SELECT :user_id, :author_id, :why, :id, :now
            WHERE NOT EXISTS (
                SELECT 1 FROM todo WHERE user_id = :user_id AND kind = :why AND {kind.key} = :id AND state = 'pending'
            )
            """
        self._db.execute(query, bound)

    def _write(self, kind: ItemKind, item_id: int, before: ItemPlan, after: ItemPlan) -> None:
        """Store a plan, and notify users with new to-do items."""
        milestone_id = after.milestone.row_id if after.milestone else None
        values: dict[str, Any] = {"title": after.title, "description": after.description, "milestone_id": milestone_id}
        if kind is ISSUE:
            values |= {"due_on": after.due_on or None, "is_confidential": int(after.is_confidential)}
        else:
            values |= {"is_draft": int(after.is_draft), "target_branch": after.target_branch}
            self._relate(kind, item_id, "reviewer", "user_id", after.reviewers)
        update(self._db, kind.table, kind.key, item_id, updated_at=self._now, **values)
        self._relate(kind, item_id, "assignee", "user_id", after.assignees)
        self._relate(kind, item_id, "label", "label_id", after.labels)
        mentioned = mentions(before.description)
        for why, who in (
            ("assigned", [person.row_id for person in after.assignees if person not in before.assignees]),
            ("review_requested", [person.row_id for person in after.reviewers if person not in before.reviewers]),
            ("mentioned", self._people(name for name in mentions(after.description) if name not in mentioned)),
        ):
            self._remind(kind, item_id, why, who)

    def _relate(self, kind: ItemKind, item_id: int, what: str, column: str, rows: Sequence[NamedRow]) -> None:
        self._db.execute(f"DELETE FROM {kind.table}_{what} WHERE {kind.key} = ?", (item_id,))
        query = f"INSERT OR IGNORE INTO {kind.table}_{what} ({kind.key}, {column}) VALUES (?, ?)"
        self._db.executemany(query, [(item_id, row.row_id) for row in rows])

    def _people(self, usernames: Iterable[str]) -> list[int]:
        """Return the ids of existing users by username."""
        query = "SELECT user_id FROM user WHERE username = ?"
        return [row["user_id"] for name in usernames if (row := first(self._db, query, (name,)))]

    def _remind(self, kind: ItemKind, item_id: int, why: str, who: Iterable[int]) -> None:
        """Add to-dos for other users who can see the item."""
        query = f"""SELECT 1 FROM {kind.table} t JOIN project p USING (project_id)
            WHERE t.{kind.key} = :item_id AND {VISIBLE} AND {VISIBLE_ITEM[kind]}"""
        for user_id in who:
            if user_id != self._user_id and first(self._db, query, {"item_id": item_id, "me": user_id}):
                self.mark_to_do(kind, item_id, why, user_id)

    def _insert_note(self, kind: ItemKind, item: sqlite3.Row, body: str, *, is_system: bool) -> int:
        item_id, values = item[kind.key], {"author_id": self._user_id, "body": body, "is_system": int(is_system)}
        update(self._db, kind.table, kind.key, item_id, updated_at=self._now)
        return insert(self._db, "note", **{kind.key: item_id}, **values, created_at=self._now)
