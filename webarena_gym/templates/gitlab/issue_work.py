"""Issues that are there, to be changed."""

from datetime import timedelta
from typing import Any

from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.issues import MINE, my_name, today
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import (
    PLANNING,
    SPOKEN,
    entry,
    find_topic,
    new_rows,
    open_item,
    open_project,
    option,
    people_of,
)
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction

OPEN_ONES = PLANNING + f"SELECT * FROM problem WHERE state = 'opened' AND {MINE} ORDER BY issue_id"
ASSIGNED = """SELECT iid, (SELECT group_concat(username) FROM (
    SELECT username FROM issue_assignee a JOIN user USING (user_id) WHERE a.issue_id = issue.issue_id ORDER BY username
)) FROM issue WHERE project_id = ? ORDER BY iid"""
LABELLED = """SELECT iid, (SELECT group_concat(name) FROM (
    SELECT name FROM issue_label l JOIN label USING (label_id) WHERE l.issue_id = issue.issue_id ORDER BY name
)) FROM issue WHERE project_id = ? ORDER BY iid"""
REMARKS = ("Solved in the last release.", "This is a duplicate.", "Works for me now.", "Out of scope, sorry.")


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


issue_close = Change(
    OPEN_ONES,
    lambda world, row: t.all_of(
        column_holds(world, row, "state", "closed"),
        new_rows(
            world, "note", "issue_id, author_id, body", [[row["issue_id"], ME, row["remark"]]] if row["remark"] else [], SPOKEN
        ),
    ),
    way=lambda world, row: [
        *open_item(world, ISSUE, row),
        *(
            [t.type_text("Write a comment", row["remark"]), t.click("Comment and close issue")]
            if row["remark"]
            else [t.click("Close issue")]
        ),
    ],
    also={
        "remark": lambda world, _row: world.rng.choice(("", *REMARKS)),
        "comment": lambda _, row: f''' with the comment "{row["remark"]}"''' if row["remark"] else "",
    },
    slots={"project": "{full_path}"},
)


def issue_label(world: t.Sampler) -> t.Draw:
    """Add a label to an issue."""
    row = world.pick(OPEN_ONES)
    present = names_of(world, LABELLED, row)
    labels = world.rows("SELECT name FROM label WHERE project_id = ? ORDER BY name", row["project_id"])
    label = world.rng.choice([item["name"] for item in labels if item["name"] not in present])
    return instruction(
        {"label": label, "title": row["title"], "project": row["full_path"]},
        names_hold(world, LABELLED, row, [*present, label]),
        way=[*open_item(world, ISSUE, row), t.click("Edit issue"), t.click(label), t.click("Save changes")],
    )


def issue_due_date(world: t.Sampler) -> t.Draw:
    """Give an issue a due date, or another one."""
    row = world.pick(OPEN_ONES)
    due = today(world) + timedelta(days=world.rng.randint(5, 300))
    return instruction(
        {"title": row["title"], "project": row["full_path"], "date": f"{due:%B} {due.day}, {due.year}"},
        column_holds(world, row, "due_on", str(due)),
        way=[
            *open_item(world, ISSUE, row),
            t.click("Edit issue"),
            t.type_text("Due date (optional)", str(due)),
            t.click("Save changes"),
        ],
    )


issue_milestone = Change(
    PLANNING
    + f"""SELECT problem.*, m.title AS milestone, m.milestone_id AS wanted FROM problem JOIN milestone m USING (project_id)
        WHERE problem.state = 'opened' AND m.state = 'active' AND m.milestone_id IS NOT problem.milestone_id AND {MINE}
        ORDER BY issue_id, wanted""",
    lambda world, row: column_holds(world, row, "milestone_id", row["wanted"]),
    way=lambda world, row: [
        *open_item(world, ISSUE, row),
        t.click("Edit issue"),
        t.choose("Milestone", row["milestone"]),
        t.click("Save changes"),
    ],
    slots={"project": "{full_path}"},
)


issue_reopen = Change(
    PLANNING + f"SELECT * FROM problem WHERE state = 'closed' AND {MINE} ORDER BY issue_id",
    lambda world, row: column_holds(world, row, "state", "opened"),
    way=lambda world, row: [*open_item(world, ISSUE, row), t.click("Reopen issue")],
    slots={"project": "{full_path}"},
)


def draw_several(world: t.Sampler, rows: list[t.Row]) -> list[t.Row]:
    """Return the two to four rows that belong to one project, the newest first. Raises NothingToDraw."""
    found: dict[int, list[t.Row]] = {}
    for row in sorted(rows, key=lambda row: (row["created_at"], row["issue_id"]), reverse=True):
        found.setdefault(row["project_id"], []).append(row)
    several = [found[project_id] for project_id in sorted(found) if 2 <= len(found[project_id]) <= 4]
    if not several:
        raise t.NothingToDraw("a project with a few such issues")
    return world.rng.choice(several)


def in_turn(rows: list[t.Row], narrow: Step, change: Step) -> list[Step]:
    """Return the steps that open one issue of a project after the other, in a list narrowed down, and change each."""
    steps = open_project(rows[0])
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
            ASSIGNED,
            rows[0]["project_id"],
            expected=[[iid, my_name(world) if iid in numbers else names] for iid, names in old],
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
