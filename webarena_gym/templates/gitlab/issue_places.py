"""Lists of issues to open, and issues of mine to find."""

from urllib.parse import urlencode

from webarena_gym.sites.gitlab.planning import ISSUE, SORTS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import PER_PAGE, PLANNING, entry, item_url, open_list, open_project
from webarena_gym.templates.rows import Change, Visit
from webarena_gym.templates.ways import turn_pages

ORDERS = {
    "the oldest first": "created_asc",
    "the most recently updated first": "updated_desc",
    "the one that was left alone longest first": "updated_asc",
    "those that are due soonest first": "due_date",
}
"""Orders of a list that are not the usual one."""


labelled_issues_place = Visit(
    PLANNING
    + """SELECT place.*, l.name AS label, count(*) AS found FROM place JOIN label l USING (project_id)
        JOIN issue_label USING (label_id) JOIN issue i USING (issue_id) WHERE i.state = 'opened'
        GROUP BY l.label_id ORDER BY l.label_id""",
    lambda _, row: f"__GITLAB__/{row['full_path']}/-/issues?{urlencode({'state': 'opened', 'label_name[]': row['label']})}",
    way=lambda _, row: [*open_project(row), t.click("Labels"), t.click(f"Issues with {row['label']}")],
    slots={"project": "{full_path}"},
)


bugs_place = Visit(
    PLANNING
    + """SELECT DISTINCT place.* FROM place JOIN label l USING (project_id) JOIN issue_label USING (label_id)
        JOIN issue i USING (issue_id) WHERE l.name = 'bug' AND i.state = 'opened' ORDER BY project_id""",
    "__GITLAB__/{full_path}/-/issues?state=opened&label_name[]=bug",
    way=[t.click("Issues"), t.choose("Label", "bug"), t.click("Apply")],
    start_url="__GITLAB__/{full_path}",
    slots={"project": "{full_path}"},
)


recent_issues_place = Change(
    PLANNING
    + """SELECT place.*, min(iif(newest = 1, title, NULL)) AS title FROM place JOIN (
            SELECT project_id, title,
                row_number() OVER (PARTITION BY project_id ORDER BY created_at DESC, issue_id DESC) AS newest
            FROM problem WHERE state = 'opened'
        ) USING (project_id) GROUP BY project_id HAVING count(*) > 1 ORDER BY project_id""",
    t.all_of(
        t.at_url("__GITLAB__/{full_path}/-/issues"), t.page_shows("last", ".rows > li:first-child h2", exact_match="{title}")
    ),
    way=lambda _, row: open_list(ISSUE, row),
    seen="The newest come first.",
    slots={"project": "{full_path}"},
)


sorted_issues_place = Visit(
    PLANNING + "SELECT place.* FROM place JOIN problem USING (project_id) GROUP BY project_id HAVING count(*) > 2 ORDER BY 1",
    lambda _, row: f"__GITLAB__/{row['full_path']}/-/issues?state=opened&sort={ORDERS[row['order']]}",
    way=lambda _, row: [*open_list(ISSUE, row), t.choose("Sort by", SORTS[ORDERS[row["order"]]][0]), t.click("Apply")],
    also={"order": lambda world, _row: world.rng.choice(list(ORDERS))},
    slots={"project": "{full_path}"},
)


author_issues_place = Visit(
    PLANNING
    + """SELECT place.*, u.username, u.name AS person FROM place JOIN problem i USING (project_id)
        JOIN user u ON u.user_id = i.author_id GROUP BY place.project_id, u.user_id
        HAVING count(DISTINCT i.state) = 2 ORDER BY place.project_id, u.user_id""",
    "__GITLAB__/{full_path}/-/issues?state=all&author_username={username}",
    way=lambda _, row: [
        *open_list(ISSUE, row),
        t.click("All"),
        t.choose("Author", f"{row['person']} (@{row['username']})"),
        t.click("Apply"),
    ],
    slots={"project": "{full_path}"},
)


milestone_place = Visit(
    PLANNING + "SELECT place.*, m.title, m.iid, m.state FROM place JOIN milestone m USING (project_id) ORDER BY milestone_id",
    "__GITLAB__/{full_path}/-/milestones/{iid}",
    way=lambda _, row: [*open_project(row), t.click("Milestones"), *row["closed"], t.click(entry(row["title"]))],
    also={"closed": lambda _, row: [t.click("Closed", "It is not among the open ones.")] if row["state"] == "closed" else []},
    slots={"project": "{full_path}", "milestone": "{title}"},
)


def draw_own_issue(world: t.Sampler, column: str, order: str) -> t.Draw:
    """Return the task to find my newest issue by a column among those with a word in the title, and to tell its state."""
    issues = world.rows(PLANNING + f"SELECT * FROM problem WHERE author_id = {ME} ORDER BY {column} DESC, issue_id DESC")
    words = sorted({word for issue in issues for word in issue["title"].lower().split() if len(word) > 4 and word.isalpha()})
    hits = {word: [issue for issue in issues if word in issue["title"].lower()] for word in words}
    word = world.rng.choice(words)
    found = hits[word]
    if len(found) < 2 or found[0][column] == found[1][column]:
        raise t.NothingToDraw("a word in the titles of several issues of mine")
    row = found[0]
    is_closed = row["state"] == "closed"
    mentioned = [issue for issue in issues if word in issue["title"].lower() or word in issue["description"].lower()]
    turns = turn_pages(world, mentioned.index(row), PER_PAGE, "None of these has it in its title.")
    return t.Draw(
        slots={"word": word},
        grounds={"Yes" if is_closed else "No": says("Closed" if is_closed else "Open")},
        eval=t.all_of(
            t.told(t.answer(fuzzy_match="Yes" if is_closed else "No"), yes=["closed"], no=["open"]),
            t.at_url(item_url(ISSUE, row)),
        ),
        solution=[
            t.click("Assigned issues"),
            t.click("Created by me"),
            t.click("All"),
            t.type_text("Search issues", word),
            t.choose("Sort by", SORTS[order][0]),
            t.click("Apply"),
            *turns,
            t.click(entry(row["title"]), f'It is the first with "{word}" in its title.'),
            t.leave("Yes" if is_closed else "No", f"It is {row['state']}."),
        ],
        wrong_answers=["No" if is_closed else "Yes"],
    )


def updated_issue_state(world: t.Sampler) -> t.Draw:
    """Find my issue that was updated last, and tell its state."""
    return draw_own_issue(world, "updated_at", "updated_desc")


def created_issue_state(world: t.Sampler) -> t.Draw:
    """Find the issue that I created last, and tell its state."""
    return draw_own_issue(world, "created_at", "created_date")
