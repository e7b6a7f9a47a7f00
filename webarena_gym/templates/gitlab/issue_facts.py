"""Questions about issues and milestones, and one about an issue that does not exist."""

from collections import Counter

from webarena_gym.sites.gitlab.base import day_label
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks
from webarena_gym.templates.gitlab.issues import MINE
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import PER_PAGE, PLANNING, entry, open_item, open_list, open_project, option
from webarena_gym.templates.rows import Fact, Impossible
from webarena_gym.templates.ways import question, turn_pages

issue_assign_missing = Impossible(
    PLANNING + f"SELECT * FROM place WHERE {MINE} ORDER BY project_id",
    lambda _, row: lacks([row["full_path"].rpartition("/")[2], *row["titles"]], [row["topic"]]),
    way=lambda _, row: [*open_list(ISSUE, row), t.click("All")],
    seen="No issue is about the {topic}.",
    also={
        "topic": lambda world, _row: world.rng.choice(
            ("carrier pigeon interface", "quantum printer", "holographic display", "steam engine driver", "tea kettle sensor")
        ),
        "titles": lambda world, row: [
            issue["title"]
            for issue in world.rows(
                PLANNING + "SELECT title FROM problem WHERE project_id = ? ORDER BY created_at DESC LIMIT 5", row["project_id"]
            )
        ],
    },
    slots={"project": "{full_path}"},
)


labelled_issue_count = Fact(
    PLANNING
    + """SELECT problem.*, l.name AS label, count(*) AS found FROM problem JOIN issue_label USING (issue_id)
        JOIN label l USING (label_id) WHERE problem.state = 'opened' GROUP BY label_id ORDER BY label_id""",
    "{found}",
    way=lambda _, row: [*open_project(row), t.click("Labels")],
    seen="{found} open issues have it.",
    slots={"project": "{full_path}"},
)


def busiest_author(world: t.Sampler) -> t.Draw:
    """Ask who opened the most issues of a project."""
    row = world.pick(
        PLANNING + "SELECT * FROM problem GROUP BY project_id HAVING count(*) BETWEEN 4 AND ? ORDER BY project_id",
        PER_PAGE,
    )
    authors = world.rows(PLANNING + "SELECT author FROM problem WHERE project_id = ? ORDER BY issue_id", row["project_id"])
    (name, most), (other, second) = [*Counter(author["author"] for author in authors).most_common(2), ("Nobody", 0)][:2]
    if most == second:
        raise t.NothingToDraw("somebody who opened more issues than all others")
    return question(
        {"project": row["full_path"]},
        name,
        way=[*open_list(ISSUE, row), t.click("All"), *turn_pages(world, len(authors) - 1, PER_PAGE)],
        seen=f"{name} opened {most} of them.",
        wrong=[other],
    )


issue_assignee = Fact(
    PLANNING
    + f"""SELECT problem.*, min(u.name) AS assignee
        FROM problem JOIN issue_assignee a USING (issue_id) JOIN user u USING (user_id)
        GROUP BY issue_id HAVING count(*) = 1 AND min(a.user_id) != {ME} AND min(u.name) != author ORDER BY issue_id""",
    "{assignee}",
    way=lambda world, row: open_item(world, ISSUE, row),
    seen="{assignee} is to do it.",
    wrong=["{author}"],
    slots={"project": "{full_path}"},
)


def oldest_issue(world: t.Sampler) -> t.Draw:
    """Ask for the issue that has been open longest."""
    row = world.pick(
        PLANNING + "SELECT * FROM problem WHERE state = 'opened' GROUP BY project_id HAVING count(*) > 2 ORDER BY project_id"
    )
    first, second = world.rows(
        PLANNING + "SELECT title FROM problem WHERE state = 'opened' AND project_id = ? ORDER BY created_at, issue_id LIMIT 2",
        row["project_id"],
    )
    return question(
        {"project": row["full_path"]},
        first["title"],
        way=[*open_list(ISSUE, row), t.choose("Sort by", "Created date, oldest first"), t.click("Apply")],
        seen="It comes first now.",
        wrong=[second["title"]],
    )


def milestone_facts(world: t.Sampler) -> t.Draw:
    """Ask for the date and the open issues of a milestone."""
    row = world.pick(
        PLANNING
        + """SELECT place.*, m.title, m.due_on, m.state, (
            SELECT count(*) FROM problem WHERE problem.milestone_id = m.milestone_id AND problem.state = 'opened'
        ) AS found FROM place JOIN milestone m USING (project_id) WHERE m.due_on IS NOT NULL ORDER BY m.milestone_id"""
    )
    shown = day_label(row["due_on"])
    closed = [t.click("Closed", "It is not among the open ones.")] if row["state"] == "closed" else []
    return question(
        {"milestone": row["title"], "project": row["full_path"]},
        f"{shown}; {row['found']}",
        way=[*open_project(row), t.click("Milestones"), *closed, t.click(entry(row["title"]))],
        seen=f"{row['found']} of its issues are open.",
        wrong=[f"{shown}; {row['found'] + 1}"],
    )


own_issue_count = Fact(
    PLANNING
    + f"""SELECT problem.*, count(*) AS found FROM problem JOIN issue_assignee a USING (issue_id)
        WHERE a.user_id = {ME} AND problem.state = 'opened' GROUP BY project_id ORDER BY project_id""",
    "{found}",
    way=lambda _, row: [*open_list(ISSUE, row), t.choose("Assignee", option(row["me"])), t.click("Apply")],
    seen="The tab says {found}.",
    also={"me": lambda world, _row: world.rows(f"SELECT name, username FROM user WHERE user_id = {ME}")[0]},
    slots={"project": "{full_path}"},
)
