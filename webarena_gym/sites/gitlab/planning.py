"""What issues and merge requests have in common, as pure values: what was decided about one, what changed, how lists are cut.

Nothing here touches the database; `items` does. An item's plan is all that its form can change.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from webarena_gym.sites.country.formats import long_date
from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.kit.forms import clean

NONE = "None"
"""What the URL says for "without a milestone" and "assigned to nobody"."""

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
    """What people decided about an item; `due_on` and `is_confidential` are of issues, the last three of merge requests."""

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
    """How a list of items was narrowed down, as its URL says."""

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
