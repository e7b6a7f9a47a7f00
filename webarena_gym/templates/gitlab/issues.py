"""Issues: facts, lists to open, new issues, and work on those that are there."""

from datetime import date, timedelta
from typing import Any

from webarena_gym.sites.gitlab.planning import ISSUE, SORTS
from webarena_gym.sites.gitlab.site import day_label as day_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import (
    ME,
    PLANNING,
    REPORTER,
    TEXTS,
    entry,
    find_project,
    find_topic,
    item_url,
    new_rows,
    next_iid,
    open_item,
    open_list,
    option,
    people_of,
)
from webarena_gym.templates.ways import instruction

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


def issue_create(world: t.Sampler) -> t.Draw:
    """Open an issue with an assignee and a due date."""
    row = world.pick(PLANNING + f"SELECT * FROM place WHERE {MINE} ORDER BY project_id")
    due = today(world) + timedelta(days=world.rng.randint(10, 400))
    title = world.rng.choice(TEXTS["titles"])
    others = people_of(world, row["project_id"])
    person = world.rng.choice(others) if others and world.rng.random() < 0.5 else None
    iid = next_iid(world, "issue", row["project_id"])
    assignee = person["username"] if person else my_name(world)
    return instruction({
            "project": row["full_path"], "title": title, "person": person["name"] if person else "me",
            "date": f"{due:%B} {due.day}, {due.year}",
        }, t.all_of(
            t.at_url(item_url(ISSUE, row, iid)),
            issue_rows(world, [[row["project_id"], iid, title, str(due), "opened", assignee]]),
        ), way=[*open_list(ISSUE, row), t.click("New issue"), t.type_text("Title", title), t.choose("Assignee", option(person)) if person else t.click("Assign to me"), t.type_text("Due date (optional)", str(due)), t.click("Create issue")])  # fmt: skip


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


def column_holds(world: t.Sampler, row: t.Row, column: str, value: Any) -> dict[str, Any]:
    """A column must hold a value in an issue's row, and in the others of its project what it held at the start."""
    query = f"SELECT iid, {column} FROM issue WHERE project_id = ? ORDER BY iid"
    rows = world.rows(query, row["project_id"])
    expected = [[iid, value if iid == row["iid"] else old] for iid, old in rows]
    return t.state(query, row["project_id"], expected=expected)


def names_hold(world: t.Sampler, query: str, row: t.Row, names: list[str]) -> dict[str, Any]:
    """ASSIGNED or LABELLED must give these names for an issue, and for the others of its project those of the start."""
    rows = world.rows(query, row["project_id"])
    expected = [[iid, ",".join(sorted(names)) or None if iid == row["iid"] else old] for iid, old in rows]
    return t.state(query, row["project_id"], expected=expected)


def names_of(world: t.Sampler, query: str, row: t.Row) -> list[str]:
    """Return what ASSIGNED or LABELLED gives for an issue."""
    names = next(names for iid, names in world.rows(query, row["project_id"]) if iid == row["iid"])
    return names.split(",") if names else []


def issue_assign(world: t.Sampler) -> t.Draw:
    """Give an issue that nobody has to somebody, by what it is about."""
    free = [row for row in world.rows(OPEN_ONES) if not names_of(world, ASSIGNED, row)]
    row, topic = find_topic(world, ISSUE, free)
    others = people_of(world, row["project_id"])
    person = world.rng.choice(others) if others and world.rng.random() < 0.6 else None
    steps = (
        [t.click("Edit issue"), t.choose("Assignee", option(person)), t.click("Save changes")]
        if person
        else [t.click("Assign to me")]
    )
    return instruction(
        {"topic": topic, "project": row["full_path"], "person": person["name"] if person else "me"},
        names_hold(world, ASSIGNED, row, [person["username"] if person else my_name(world)]),
        way=[*open_item(world, ISSUE, row, f"Only this one is about {topic}."), *steps],
    )


def draw_several(world: t.Sampler, rows: list[t.Row]) -> list[t.Row]:
    """Return the two to four rows that belong to one project, the newest first. Raises NothingToDraw."""
    found: dict[int, list[t.Row]] = {}
    for row in sorted(rows, key=lambda row: (row["created_at"], row["issue_id"]), reverse=True):
        found.setdefault(row["project_id"], []).append(row)
    several = [found[project_id] for project_id in sorted(found) if 2 <= len(found[project_id]) <= 4]
    t.skip_if(not several, "a project with a few such issues")
    return world.rng.choice(several)


def in_turn(rows: list[t.Row], narrow: Step, change: Step) -> list[Step]:
    """Return the steps that open one issue of a project after the other, in a list narrowed down, and change each."""
    steps = find_project(rows[0])
    for row in rows:
        steps += [t.click("Issues"), narrow, t.click("Apply"), t.click(entry(row["title"])), change]
    return steps


def issues_assign_all(world: t.Sampler) -> t.Draw:
    """Take over every issue of a project that nobody has."""
    rows = draw_several(world, [row for row in world.rows(OPEN_ONES) if not names_of(world, ASSIGNED, row)])
    numbers = [row["iid"] for row in rows]
    old = world.rows(ASSIGNED, rows[0]["project_id"])
    return instruction(
        {"project": rows[0]["full_path"]},
        t.state(
            ASSIGNED, rows[0]["project_id"], expected=[[iid, my_name(world) if iid in numbers else names] for iid, names in old]
        ),
        way=in_turn(rows, t.choose("Assignee", "Nobody"), t.click("Assign to me")),
    )


def issues_close_all(world: t.Sampler) -> t.Draw:
    """Close all issues of a project that have a label."""
    label = world.rng.choice(("bug", "enhancement", "documentation", "question"))
    labelled = [row for row in world.rows(OPEN_ONES) if label in names_of(world, LABELLED, row)]
    rows = draw_several(world, labelled)
    numbers = [row["iid"] for row in rows]
    query = "SELECT iid, state FROM issue WHERE project_id = ? ORDER BY iid"
    old = world.rows(query, rows[0]["project_id"])
    return instruction(
        {"project": rows[0]["full_path"], "label": label},
        t.state(query, rows[0]["project_id"], expected=[[iid, "closed" if iid in numbers else before] for iid, before in old]),
        way=in_turn(rows, t.choose("Label", label), t.click("Close issue")),
    )
