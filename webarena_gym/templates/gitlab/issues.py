"""Issues and milestones to make."""

from datetime import date, timedelta

from webarena_gym.sites.gitlab.base import day_label
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import (
    PLANNING,
    REPORTER,
    item_url,
    new_rows,
    next_iid,
    open_list,
    open_project,
    option,
    people_of,
)
from webarena_gym.templates.ways import instruction

MINE = f"rank >= {REPORTER} AND NOT is_archived"
PROBLEMS = (
    "connection refused", "blank page after the update", "404 on the download link", "disk quota exceeded",
    "broken umlauts in exports",
    "timeouts behind a proxy", "a memory leak overnight", "permission denied on start", "wrong time zone in reports",
)  # fmt: skip
TITLES = (
    "Links in the footer are dead", "401 bad gateway at night", "Numbers are cut off in print", "Menu covers the first line",
    "Cannot paste long paths", "Sorting forgets its direction", "Icons are blurred on large screens", "Upload stops at half",
)  # fmt: skip
EVENTS = (
    "product launch",
    "code review week",
    "user survey",
    "bug bash",
    "documentation sprint",
    "conference demo",
    "team offsite",
)
IDEAS = ("offline maps", "a plugin system", "voice control", "nightly builds", "a public roadmap", "end-to-end encryption")


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
    title = world.rng.choice(TITLES)
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


def issue_report(world: t.Sampler) -> t.Draw:
    """Report a problem in a project, in words of one's own."""
    row = world.pick(PLANNING + "SELECT * FROM place WHERE NOT is_archived ORDER BY project_id")
    problem = world.rng.choice(PROBLEMS)
    iid = next_iid(world, "issue", row["project_id"])
    columns = "project_id, iid, instr(lower(title || ' ' || description), lower(?)) > 0"
    last = world.value("SELECT max(issue_id) FROM issue")
    return instruction(
        {"project": row["full_path"], "problem": problem},
        t.all_of(
            t.at_url(item_url(ISSUE, row, iid)),
            t.state(f"SELECT {columns} FROM issue WHERE issue_id > ?", problem, last, expected=[[row["project_id"], iid, 1]]),
        ),
        way=[*open_list(ISSUE, row), t.click("New issue"), t.type_text("Title", f"Report: {problem}"), t.click("Create issue")],
    )


def issue_propose(world: t.Sampler) -> t.Draw:
    """Propose something, with a label."""
    row = world.pick(
        PLANNING + f"SELECT place.*, l.name AS label FROM place JOIN label l USING (project_id) WHERE {MINE} ORDER BY label_id"
    )
    idea = world.rng.choice(IDEAS)
    iid = next_iid(world, "issue", row["project_id"])
    columns = """project_id, iid, instr(lower(title || ' ' || description), ?) > 0,
        (SELECT group_concat(name) FROM issue_label l JOIN label USING (label_id) WHERE l.issue_id = issue.issue_id)"""
    last = world.value("SELECT max(issue_id) FROM issue")
    return instruction(
        {"project": row["full_path"], "idea": idea, "label": row["label"]},
        t.all_of(
            t.at_url(item_url(ISSUE, row, iid)),
            t.state(
                f"SELECT {columns} FROM issue WHERE issue_id > ?",
                idea,
                last,
                expected=[[row["project_id"], iid, 1, row["label"]]],
            ),
        ),
        way=[
            *open_list(ISSUE, row),
            t.click("New issue"),
            t.type_text("Title", f"Implementation of {idea}"),
            t.click(row["label"]),
            t.click("Create issue"),
        ],
    )


def milestone_create(world: t.Sampler) -> t.Draw:
    """Make a milestone with both dates; the second may be given in days after the first."""
    row = world.pick(PLANNING + f"SELECT * FROM place WHERE {MINE} ORDER BY project_id")
    event = world.rng.choice(EVENTS)
    start = today(world) + timedelta(days=world.rng.randint(1, 120))
    days = world.rng.randint(7, 40)
    end = start + timedelta(days=days)
    iid = next_iid(world, "milestone", row["project_id"])
    last = world.value("SELECT coalesce(max(milestone_id), 0) FROM milestone")
    query = "SELECT project_id, iid, instr(lower(title), ?) > 0, starts_on, due_on FROM milestone WHERE milestone_id > ?"
    return instruction(
        {
            "project": row["full_path"],
            "event": event,
            "start": day_label(str(start)),
            "end": world.rng.choice((f"on {day_label(str(end))}", f"{days} days later")),
        },
        t.all_of(
            t.at_url(f"__GITLAB__/{row['full_path']}/-/milestones/{iid}"),
            t.state(query, event, last, expected=[[row["project_id"], iid, 1, str(start), str(end)]]),
        ),
        way=[
            *open_project(row),
            t.click("Milestones"),
            t.click("New milestone"),
            t.type_text("Title", event),
            t.type_text("Start date (optional)", str(start)),
            t.type_text("Due date (optional)", str(end)),
            t.click("Create milestone"),
        ],
    )
