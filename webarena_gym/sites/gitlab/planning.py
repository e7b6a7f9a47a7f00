"""Issues and merge requests: plans of them, filters of their lists, who may do what, and the ledger that writes changes.

An item's plan is all that its form can change.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import Forbidden

from webarena_gym.sites.country.texts import folded, long_date
from webarena_gym.sites.gitlab.queries import VISIBLE, Change, conflict
from webarena_gym.sites.gitlab.site import Field, can, in_project, members_only, my_id, site
from webarena_gym.sites.kit.database import first, insert, one, update
from webarena_gym.sites.kit.forms import clean, complaints, read
from webarena_gym.sites.kit.requests import Request, Response, redirect

NONE = "None"
"""Words of the URL for "without a milestone" and "assigned to nobody"."""

_MENTION = re.compile(r"(?<![\w@./-])@([A-Za-z0-9_](?:[\w.-]*[\w])?)", re.ASCII)
_TEXT_LIMIT = 255  # characters of one filter
_WORDS_LIMIT = 10


@dataclass(frozen=True)
class Kind:
    """Issues or merge requests: their table, the word for one, the sign before its number, and their part of the URL."""

    table: str
    noun: str
    mark: str
    segment: str
    states: tuple[tuple[str, str], ...]  # value in URL and database, label of the tab

    @property
    def key(self) -> str:
        """The column that refers to one."""
        return f"{self.table}_id"


ISSUE = Kind("issue", "issue", "#", "issues", (("opened", "Open"), ("closed", "Closed")))
MERGE_REQUEST = Kind(
    "merge_request", "merge request", "!", "merge_requests", (("opened", "Open"), ("merged", "Merged"), ("closed", "Closed"))
)


class Named(NamedTuple):
    """A row that is known by a name: a label, a milestone, or a person by user name."""

    row_id: int
    name: str


@dataclass(frozen=True)
class Plan:
    """Decisions about an item; `due_on` and `is_confidential` are of issues, the last three of merge requests."""

    title: str
    description: str = ""
    milestone: Named | None = None
    labels: tuple[Named, ...] = ()
    assignees: tuple[Named, ...] = ()
    due_on: str = ""
    is_confidential: bool = False
    reviewers: tuple[Named, ...] = ()
    is_draft: bool = False
    target_branch: str = ""

    def assigned_to(self, person: Named) -> "Plan":
        """Return the plan with one more assignee."""
        return self if person in self.assignees else replace(self, assignees=(*self.assignees, person))


def changes(before: Plan, after: Plan) -> list[str]:
    """Return what changed from one plan to the next, as the history of the item tells it.

    >>> ann, bug = Named(1, "ann"), Named(4, "bug")
    >>> changes(Plan("A", assignees=(ann,)), Plan("B", labels=(bug,), due_on="2030-01-03"))
    ['changed title from "A" to "B"', 'unassigned @ann', 'added the label bug', 'changed due date to January 3, 2030']
    """
    said = []
    if before.title != after.title:
        said.append(f'changed title from "{before.title}" to "{after.title}"')
    if before.description != after.description:
        said.append("changed the description")
    if before.target_branch != after.target_branch:
        said.append(f"changed target branch from {before.target_branch} to {after.target_branch}")
    said += _moves(before.assignees, after.assignees, "assigned to @", "unassigned @")
    said += _moves(before.reviewers, after.reviewers, "requested review from @", "removed review request for @")
    said += _moves(before.labels, after.labels, "added the label ", "removed the label ")
    if before.milestone != after.milestone:
        said.append(f"changed milestone to {after.milestone.name}" if after.milestone else "removed milestone")
    if before.due_on != after.due_on:
        said.append(f"changed due date to {long_date(after.due_on)}" if after.due_on else "removed due date")
    if before.is_confidential != after.is_confidential:
        said.append("made the issue confidential" if after.is_confidential else "made the issue visible to everyone")
    if before.is_draft != after.is_draft:
        said.append(f"marked this merge request as {'draft' if after.is_draft else 'ready'}")
    return said


def newcomers(before: Sequence[Named], after: Sequence[Named]) -> list[Named]:
    """Return who is in the second list and not in the first."""
    return [item for item in after if item not in before]


def _moves(before: Sequence[Named], after: Sequence[Named], came: str, went: str) -> Iterator[str]:
    yield from (f"{came}{item.name}" for item in newcomers(before, after))
    yield from (f"{went}{item.name}" for item in newcomers(after, before))


def mentions(text: str) -> list[str]:
    """Return the user names that a text speaks to, each once, in order.

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
"""The orders of a list: what the URL says, what the page says, and SQL. The last one is of issues only."""


@dataclass(frozen=True)
class Filters:
    """Filters of a list of items, as its URL says."""

    kind: Kind
    state: str = "opened"  # one of the kind's states, or all
    search: str = ""
    labels: tuple[str, ...] = ()
    people: dict[str, str] = field(default_factory=dict)  # author, assignee and reviewer, by role: user names
    milestone: str = ""
    sort: str = "created_date"

    @classmethod
    def read(cls, arguments: MultiDict[str, str], kind: Kind) -> "Filters":
        """Return the filters of a URL; what it does not say or says wrongly is left at the default."""
        state, sort = arguments.get("state", ""), arguments.get("sort", "")
        roles = ("author", "assignee", "reviewer") if kind is MERGE_REQUEST else ("author", "assignee")
        known = ("all", *(value for value, _ in kind.states))
        return cls(
            kind=kind,
            state=state if state in known else "opened",
            search=_text(arguments.get("search")),
            labels=tuple(dict.fromkeys(filter(None, map(_text, arguments.getlist("label_name[]")))))[:_WORDS_LIMIT],
            people={role: name for role in roles if (name := _text(arguments.get(f"{role}_username")))},
            milestone=_text(arguments.get("milestone_title")),
            sort=sort if sort in cls.sorts(kind) else "created_date",
        )

    @staticmethod
    def sorts(kind: Kind) -> dict[str, str]:
        """Return the orders that a kind of items has, with their labels."""
        return {name: label for name, (label, _) in SORTS.items() if kind is ISSUE or name != "due_date"}

    def where(self) -> tuple[str, dict[str, str]]:
        """Return the condition over the table `t`, whatever the state, with the values to bind."""
        table, key = self.kind.table, self.kind.key
        conditions, values = ["1"], {}
        for place, word in enumerate(self.search.split()[:_WORDS_LIMIT]):
            conditions.append(
                f"(instr(lower(t.title), lower(:word{place})) OR instr(lower(t.description), lower(:word{place})))"
            )
            values[f"word{place}"] = word
        for place, name in enumerate(self.labels):
            labelled = f"SELECT {key} FROM {table}_label JOIN label USING (label_id) WHERE label.name = :label{place}"
            conditions.append(f"t.{key} IN ({labelled})")
            values[f"label{place}"] = name
        for role, name in self.people.items():
            if role == "author":
                conditions.append("t.author_id IN (SELECT user_id FROM user WHERE username = :author)")
            elif name == NONE:
                conditions.append(f"t.{key} NOT IN (SELECT {key} FROM {table}_{role})")
            else:
                chosen = f"SELECT {key} FROM {table}_{role} JOIN user USING (user_id) WHERE username = :{role}"
                conditions.append(f"t.{key} IN ({chosen})")
            values[role] = name
        if self.milestone == NONE:
            conditions.append("t.milestone_id IS NULL")
        elif self.milestone:
            conditions.append("t.milestone_id IN (SELECT milestone_id FROM milestone WHERE title = :milestone)")
            values["milestone"] = self.milestone
        return " AND ".join(conditions), values

    @property
    def order(self) -> str:
        """The SQL order over the table `t`."""
        return SORTS[self.sort][1].format(key=self.kind.key)

    def pairs(self) -> list[tuple[str, str]]:
        """Return what the URL says, without the page."""
        people = [(f"{role}_username", name) for role, name in self.people.items()]
        given = [("search", self.search), *(("label_name[]", name) for name in self.labels), *people]
        given += [("milestone_title", self.milestone)]
        return [("sort", self.sort), ("state", self.state), *(pair for pair in given if pair[1])]

    def content(self) -> dict[str, object]:
        """Return what the URL says of the items that are shown, each only where it is not the default."""
        people = {f"{role}_username": name for role, name in self.people.items()}
        state = None if self.state == "opened" else self.state
        return people | {
            "state": state,
            "search": " ".join(sorted(set(folded(self.search).split()))),
            "label_name[]": tuple(sorted(self.labels)),
            "milestone_title": self.milestone,
        }

    def query(self, **changed: Any) -> str:
        """Return the query of the URL, with some filters changed."""
        return urlencode(replace(self, **changed).pairs())

    def removals(self) -> list[tuple[str, str]]:
        """Return the filters in force, each as its description and the query of the list without it."""
        gone = [(f'Search "{self.search}"', self.query(search=""))] if self.search else []
        gone += [(f"Label {name}", self.query(labels=_without(self.labels, name))) for name in self.labels]
        for role, name in self.people.items():
            gone.append((f"{role.capitalize()} {name}", self.query(people=dict(self.people) | {role: ""})))
        if self.milestone:
            gone.append((f"Milestone {self.milestone}", self.query(milestone="")))
        return gone


def _text(value: str | None) -> str:
    return clean(value or "")[:_TEXT_LIMIT]


def _without(names: Iterable[str], name: str) -> tuple[str, ...]:
    return tuple(other for other in names if other != name)


VISIBLE_ITEM = {
    MERGE_REQUEST: "1",
    ISSUE: """(NOT t.is_confidential OR t.author_id = :me
        OR EXISTS (SELECT 1 FROM issue_assignee a WHERE a.issue_id = t.issue_id AND a.user_id = :me)
        OR EXISTS (SELECT 1 FROM membership s WHERE s.project_id = t.project_id AND s.user_id = :me AND s.role <> 'Guest'))""",
}
"""Holds for an item t that the person :me may see in a project that this person may see: a confidential issue is for its
author, its assignees and the members of its project, but for guests."""


def item_numbered(db: sqlite3.Connection, kind: Kind, project_id: int, iid: int, me: int | None) -> sqlite3.Row | None:
    """Return the item with that number in a project, with its author's names, when `me` may see it."""
    return first(
        db,
        f"""
        SELECT t.*, author.username, author.name AS author_name,
            (SELECT count(*) FROM note n WHERE n.{kind.key} = t.{kind.key} AND NOT n.is_system) AS notes FROM {kind.table} t
        JOIN user author ON author.user_id = t.author_id
        WHERE t.project_id = :project_id AND t.iid = :iid AND {VISIBLE_ITEM[kind]}
        """,
        {"project_id": project_id, "iid": iid, "me": me},
    )


def plan_of(db: sqlite3.Connection, kind: Kind, item: sqlite3.Row) -> Plan:
    """Return the plan that an item follows now."""
    item_id = item[kind.key]
    milestone = first(db, "SELECT milestone_id, title FROM milestone WHERE milestone_id = ?", (item["milestone_id"],))
    labels = f"SELECT label_id, name FROM {kind.table}_label JOIN label USING (label_id) WHERE {kind.key} = ? ORDER BY name"
    plan = Plan(
        item["title"],
        item["description"],
        milestone=Named(*milestone) if milestone else None,
        labels=tuple(Named(*row) for row in db.execute(labels, (item_id,))),
        assignees=people_of(db, kind, item_id, "assignee"),
    )
    if kind is ISSUE:
        return replace(plan, due_on=item["due_on"] or "", is_confidential=bool(item["is_confidential"]))
    reviewers = people_of(db, kind, item_id, "reviewer")
    return replace(plan, reviewers=reviewers, is_draft=bool(item["is_draft"]), target_branch=item["target_branch"])


def people_of(db: sqlite3.Connection, kind: Kind, item_id: int, role: str) -> tuple[Named, ...]:
    """Return the assignees or reviewers of an item by user name."""
    query = (
        f"SELECT user_id, username FROM {kind.table}_{role} JOIN user USING (user_id) WHERE {kind.key} = ? ORDER BY username"
    )
    return tuple(Named(*row) for row in db.execute(query, (item_id,)))


def user_ids(db: sqlite3.Connection, usernames: Iterable[str]) -> list[int]:
    """Return the ids of those user names that exist."""
    rows = (db.execute("SELECT user_id FROM user WHERE username = ?", (name,)).fetchone() for name in usernames)
    return [row["user_id"] for row in rows if row]


def can_see(db: sqlite3.Connection, kind: Kind, item_id: int, user_id: int) -> bool:
    """Say whether a person may see an item."""
    query = f"""SELECT 1 FROM {kind.table} t JOIN project p USING (project_id)
        WHERE t.{kind.key} = :item_id AND {VISIBLE} AND {VISIBLE_ITEM[kind]}"""
    return db.execute(query, {"item_id": item_id, "me": user_id}).fetchone() is not None


def may_plan(request: Request, kind: Kind, project: sqlite3.Row) -> bool:
    """Say whether the visitor may plan the items of a project."""
    return can(request, project, "Reporter" if kind is ISSUE else "Developer")


def may_edit(request: Request, kind: Kind, project: sqlite3.Row, item: sqlite3.Row) -> bool:
    """Say whether the visitor may change the text of an item, close it and open it again."""
    is_author = item["author_id"] == my_id(request) and not project["is_archived"]
    return is_author or may_plan(request, kind, project)


def require_edit(request: Request, kind: Kind, project: sqlite3.Row, item: sqlite3.Row) -> None:
    """Raise Forbidden unless the visitor may change the item."""
    if not may_edit(request, kind, project, item):
        raise Forbidden(f"You cannot change this {kind.noun}: it is not yours, and your role in the project is too low.")


def merge_obstacle(request: Request, project: sqlite3.Row, item: sqlite3.Row, changes: list[Change]) -> str:
    """Return why the visitor cannot merge a request, or nothing."""
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


def address(kind: Kind, project: sqlite3.Row, iid: int | None = None) -> str:
    """Return the path of an item's page, or of the project's list."""
    path = f"/{project['full_path']}/-/{kind.segment}"
    return path if iid is None else f"{path}/{iid}"


class Ledger:
    """Writes what one user does to issues and merge requests at one moment."""

    def __init__(self, db: sqlite3.Connection, user: sqlite3.Row, now: datetime) -> None:
        self._db = db
        self._user = user
        self._now = f"{now:%Y-%m-%d %H:%M:%S}"

    def create(self, kind: Kind, project: sqlite3.Row, plan: Plan, source_branch: str = "") -> int:
        """Store a new item and return its number in the project."""
        query = f"SELECT coalesce(max(iid), 0) + 1 FROM {kind.table} WHERE project_id = ?"
        (iid,) = self._db.execute(query, (project["project_id"],)).fetchone()
        values = {"iid": iid, "title": plan.title, "author_id": self._user["user_id"], "created_at": self._now}
        if kind is MERGE_REQUEST:
            values |= {"source_branch": source_branch, "target_branch": plan.target_branch}
        item_id = insert(self._db, kind.table, project_id=project["project_id"], updated_at=self._now, **values)
        self._write(kind, item_id, plan)
        self._notify(kind, item_id, Plan(plan.title, target_branch=plan.target_branch), plan)
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
        update(self._db, kind.table, kind.key, item[kind.key], **values)
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
        update(self._db, kind.table, kind.key, item_id, **values)
        self._relate(kind, item_id, "assignee", "user_id", plan.assignees)
        self._relate(kind, item_id, "label", "label_id", plan.labels)

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
        values = {"author_id": self._user["user_id"], "body": body, "is_system": int(is_system), "created_at": self._now}
        return insert(self._db, "note", **{kind.key: item_id}, **values)

    def _touch(self, kind: Kind, item: sqlite3.Row) -> None:
        update(self._db, kind.table, kind.key, item[kind.key], updated_at=self._now)


Values = dict[str, str]


@dataclass(frozen=True)
class Part:
    """One kind of parts. `noun` is its table, and in the plural its part of the URL.

    `key` is the column by which an address names one: the table's own id, or `iid`, which counts in each project. `check` adds
    what is wrong with what was posted to the errors, and may rewrite it as it is stored. `forget` are the statements that take one off
    everything, before it is deleted.
    """

    noun: str
    key: str
    named_by: str
    fields: Mapping[str, Field]
    blank: Mapping[str, str]
    nullable: frozenset[str]
    check: Callable[[Values, list[str]], None]
    taken: str
    forget: Sequence[str]
    has_page: bool  # to which its forms lead; else they lead to the list

    def find(self, request: Request, project: sqlite3.Row, number: int) -> sqlite3.Row:
        """Return one of a project. Raises NotFound."""
        query = f"SELECT * FROM {self.noun} WHERE project_id = ? AND {self.key} = ?"
        return one(request.db, query, (project["project_id"], number))

    def register(self) -> None:
        """Register the views that create, change and delete one, for reporters of the project."""
        place, guards = f"/<namespace>/<path>/-/{self.noun}s", (members_only, in_project("Reporter"))
        site.get(f"{place}/new", *guards)(self._show)
        site.post(place, *guards)(self._save)
        site.get(f"{place}/<int:number>/edit", *guards)(self._show)
        site.post(f"{place}/<int:number>/edit", *guards)(self._save)
        site.post(f"{place}/<int:number>/delete", *guards)(self._delete)

    def _show(self, request: Request, _: sqlite3.Row, project: sqlite3.Row, number: int | None = None) -> str:
        """Show the form of one, or of a new one."""
        values = self.blank if number is None else dict(self.find(request, project, number))
        return self._form(request, project, {name: value or "" for name, value in values.items()})

    def _save(self, request: Request, _: sqlite3.Row, project: sqlite3.Row, number: int | None = None) -> str | Response:
        """Change one, or store a new one."""
        own = 0 if number is None else self.find(request, project, number)[f"{self.noun}_id"]
        values = read(request, self.fields)
        values[self.named_by] = " ".join(values[self.named_by].split())
        errors = complaints(values, self.fields)
        self.check(values, errors)
        query = f"SELECT 1 FROM {self.noun} WHERE project_id = ? AND {self.named_by} = ? AND {self.noun}_id <> ?"
        if request.db.execute(query, (project["project_id"], values[self.named_by], own)).fetchone():
            errors.append(self.taken)
        if errors:
            return self._form(request, project, {**values, self.key: number or ""}, errors)
        row: dict[str, Any] = {name: None if name in self.nullable and not value else value for name, value in values.items()}
        if number is not None:
            update(request.db, self.noun, f"{self.noun}_id", own, **row)
        else:
            if self.key == "iid":
                query = f"""
                    SELECT max(last_{self.noun}, coalesce((SELECT max(iid) FROM {self.noun} WHERE project_id = :id), 0)) + 1
                    FROM project WHERE project_id = :id
                """
                (number,) = request.db.execute(query, {"id": project["project_id"]}).fetchone()
                row["iid"] = number
            insert(request.db, self.noun, project_id=project["project_id"], **row)
        place = f"/{project['full_path']}/-/{self.noun}s"
        if self.has_page:
            return redirect(f"{place}/{number}")
        return request.redirect(place, f"The {self.noun} {row[self.named_by]} was {'saved' if own else 'created'}.")

    def _delete(self, request: Request, _: sqlite3.Row, project: sqlite3.Row, number: int) -> Response:
        """Delete one, and take it off everything."""
        row = self.find(request, project, number)
        if self.key == "iid":
            query = f"UPDATE project SET last_{self.noun} = max(last_{self.noun}, ?) WHERE project_id = ?"
            request.db.execute(query, (number, project["project_id"]))
        for statement in (*self.forget, f"DELETE FROM {self.noun} WHERE {self.noun}_id = ?"):
            request.db.execute(statement, (row[f"{self.noun}_id"],))
        return request.redirect(f"/{project['full_path']}/-/{self.noun}s", f"The {self.noun} {row[self.named_by]} was deleted.")

    def _form(self, request: Request, project: sqlite3.Row, values: Mapping[str, object], errors: Sequence[str] = ()) -> str:
        return request.render(f"{self.noun}_form.html", project=project, values={self.key: "", **values}, errors=errors)
