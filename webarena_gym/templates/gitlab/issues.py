"""Issues: facts, lists to open, new issues, and work on those that are there."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from webarena_gym.sites.gitlab.planning import SORTS
from webarena_gym.sites.gitlab.site import day_label as day_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import ME, PLANNING, REPORTER, entry, find_project, new_rows, option, people_of, value_holds

MINE = f"rank >= {REPORTER} AND NOT is_archived"


def my_name(world: t.Sampler) -> str:
    """Return my user name."""
    return str(world.value(f"SELECT username FROM user WHERE user_id = {ME}"))


def today(world: t.Sampler) -> date:
    """Return the day on which tasks are done."""
    return date.fromisoformat(world.value("SELECT date(value) FROM world WHERE key = 'now'"))


def issue_rows(world: t.Sampler, expected: list[list[object]]) -> dict[str, object]:
    """The issues added since the start must be these: project, number, title, due date, state, and user names of assignees."""
    columns = """project_id, iid, title, due_on, state,
        (SELECT group_concat(username) FROM issue_assignee a JOIN user USING (user_id) WHERE a.issue_id = t.issue_id)"""
    return new_rows(world, "issue", columns, expected)


def anybody(world: t.Sampler, row: t.Row, share: float) -> dict[str, Any]:
    """Draw another member of a row's project, in that share of draws, or me, with the step that assigns an issue in its form."""
    others = people_of(world, row["project_id"])
    if others and world.rng.random() < share:
        person = world.rng.choice(others)
        return {**dict(person), "is_other": True, "steps": [t.choose("Assignee", option(person))]}
    return {"name": "me", "username": my_name(world), "is_other": False, "steps": [t.click("Assign to me")]}


ORDERS = {
    "the oldest first": "created_asc",
    "the most recently updated first": "updated_desc",
    "the one that was left alone longest first": "updated_asc",
    "those that are due soonest first": "due_date",
}
"""Orders of a list that are not the usual one."""


def own_words(world: t.Sampler) -> list[str]:
    """Return the longer words in the titles of my issues."""
    titles = world.rows(PLANNING + f"SELECT title FROM problem WHERE author_id = {ME} ORDER BY issue_id")
    return sorted({word for (title,) in titles for word in title.lower().split() if len(word) > 4 and word.isalpha()})


def sort_label(sort: str) -> str:
    """Return the name of an order of the list."""
    return SORTS[sort][0]


def closed_tab(row: t.Row) -> list[Step]:
    """Return the step to the closed milestones, where a row is among them."""
    return [t.click("Closed", "It is not among the open ones.")] if row["state"] == "closed" else []


OPEN_ONES = PLANNING + f"SELECT * FROM problem WHERE state = 'opened' AND {MINE} ORDER BY issue_id"
ASSIGNED = """SELECT iid, (SELECT group_concat(username) FROM (
    SELECT username FROM issue_assignee a JOIN user USING (user_id) WHERE a.issue_id = issue.issue_id ORDER BY username
)) FROM issue WHERE project_id = ? ORDER BY iid"""
LABELLED = """SELECT iid, (SELECT group_concat(name) FROM (
    SELECT name FROM issue_label l JOIN label USING (label_id) WHERE l.issue_id = issue.issue_id ORDER BY name
)) FROM issue WHERE project_id = ? ORDER BY iid"""


def names_hold(world: t.Sampler, query: str, row: t.Row, names: list[str]) -> dict[str, Any]:
    """ASSIGNED or LABELLED must give these names for an issue, and for the others of its project those of the start."""
    return value_holds(world, query, row, ",".join(sorted(names)) or None)


def names_of(world: t.Sampler, query: str, row: t.Row) -> list[str]:
    """Return what ASSIGNED or LABELLED gives for an issue."""
    names = next(names for iid, names in world.rows(query, row["project_id"]) if iid == row["iid"])
    return names.split(",") if names else []


def in_turn(rows: Sequence[t.Row], label: str, choice: str, change: str) -> list[Step]:
    """Return the steps that open one issue of a project after the other, in a list narrowed down, and change each."""
    steps = find_project(rows[0])
    for row in rows:
        steps += [t.click("Issues"), t.choose(label, choice), t.click("Apply"), t.click(entry(row["title"])), t.click(change)]
    return steps
