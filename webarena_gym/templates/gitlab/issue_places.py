"""Lists of issues to open, and issues of mine to find."""

from urllib.parse import urlencode

from webarena_gym.sites.gitlab.planning import ISSUE, SORTS
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import PER_PAGE, PLANNING, entry, item_url, open_list, open_project
from webarena_gym.templates.ways import instruction, turn_pages, visit

TEMPLATES = t.Templates("gitlab")
ORDERS = {
    "the oldest first": "created_asc",
    "the most recently updated first": "updated_desc",
    "the one that was left alone longest first": "updated_asc",
    "those that are due soonest first": "due_date",
}
"""Orders of a list that are not the usual one."""


@TEMPLATES.define('Show me the open issues of {project} that have the label "{label}".')
def labelled_issues_place(world: t.Sampler) -> t.Draw:
    """Open a project's issues, filtered by a label."""
    row = world.pick(
        PLANNING
        + """SELECT place.*, l.name AS label, count(*) AS found FROM place JOIN label l USING (project_id)
        JOIN issue_label USING (label_id) JOIN issue i USING (issue_id) WHERE i.state = 'opened'
        GROUP BY l.label_id ORDER BY l.label_id"""
    )
    query = urlencode({"state": "opened", "label_name[]": row["label"]})
    return visit(
        {"project": row["full_path"], "label": row["label"]},
        f"__GITLAB__/{row['full_path']}/-/issues?{query}",
        way=[*open_project(row), t.click("Labels"), t.click(f"Issues with {row['label']}")],
    )


@TEMPLATES.define("List all open issues of {project} that report bugs.")
def bugs_place(world: t.Sampler) -> t.Draw:
    """Start at a project and open its issues with the label for bugs."""
    row = world.pick(
        PLANNING
        + """SELECT DISTINCT place.* FROM place JOIN label l USING (project_id) JOIN issue_label USING (label_id)
        JOIN issue i USING (issue_id) WHERE l.name = 'bug' AND i.state = 'opened' ORDER BY project_id"""
    )
    return instruction(
        {"project": row["full_path"]},
        t.at_url(f"__GITLAB__/{row['full_path']}/-/issues?state=opened&label_name[]=bug"),
        way=[t.click("Issues"), t.choose("Label", "bug"), t.click("Apply")],
        start_url=f"__GITLAB__/{row['full_path']}",
    )


@TEMPLATES.define("Check out the most recent open issues of {project}.")
def recent_issues_place(world: t.Sampler) -> t.Draw:
    """Open a project's issues in the usual order."""
    row = world.pick(
        PLANNING
        + """SELECT place.*, min(iif(newest = 1, title, NULL)) AS title FROM place JOIN (
            SELECT project_id, title,
                row_number() OVER (PARTITION BY project_id ORDER BY created_at DESC, issue_id DESC) AS newest
            FROM problem WHERE state = 'opened'
        ) USING (project_id) GROUP BY project_id HAVING count(*) > 1 ORDER BY project_id"""
    )
    return instruction(
        {"project": row["full_path"]},
        t.all_of(
            t.at_url(f"__GITLAB__/{row['full_path']}/-/issues"),
            t.page_shows("last", ".rows > li:first-child h2", exact_match=row["title"]),
        ),
        way=open_list(ISSUE, row),
        seen="The newest come first.",
    )


@TEMPLATES.define("List the open issues of {project}, {order}.")
def sorted_issues_place(world: t.Sampler) -> t.Draw:
    """Open a project's issues in another order."""
    row = world.pick(
        PLANNING
        + "SELECT place.* FROM place JOIN problem USING (project_id) GROUP BY project_id HAVING count(*) > 2 ORDER BY 1"
    )
    order = world.rng.choice(list(ORDERS))
    return visit(
        {"project": row["full_path"], "order": order},
        f"__GITLAB__/{row['full_path']}/-/issues?state=opened&sort={ORDERS[order]}",
        way=[*open_list(ISSUE, row), t.choose("Sort by", SORTS[ORDERS[order]][0]), t.click("Apply")],
    )


@TEMPLATES.define("Which issues has {person} opened in {project}? Show me all of them, also those that are closed.")
def author_issues_place(world: t.Sampler) -> t.Draw:
    """Open a project's issues of one author, in all states."""
    row = world.pick(
        PLANNING
        + """SELECT place.*, u.username, u.name AS person FROM place JOIN problem i USING (project_id)
        JOIN user u ON u.user_id = i.author_id GROUP BY place.project_id, u.user_id
        HAVING count(DISTINCT i.state) = 2 ORDER BY place.project_id, u.user_id"""
    )
    return visit(
        {"project": row["full_path"], "person": row["person"]},
        f"__GITLAB__/{row['full_path']}/-/issues?state=all&author_username={row['username']}",
        way=[
            *open_list(ISSUE, row),
            t.click("All"),
            t.choose("Author", f"{row['person']} (@{row['username']})"),
            t.click("Apply"),
        ],
    )


@TEMPLATES.define('Open the milestone "{milestone}" of {project}.')
def milestone_place(world: t.Sampler) -> t.Draw:
    """Open a milestone's page."""
    row = world.pick(
        PLANNING
        + "SELECT place.*, m.title, m.iid, m.state FROM place JOIN milestone m USING (project_id) ORDER BY milestone_id"
    )
    closed = [t.click("Closed", "It is not among the open ones.")] if row["state"] == "closed" else []
    return visit(
        {"project": row["full_path"], "milestone": row["title"]},
        f"__GITLAB__/{row['full_path']}/-/milestones/{row['iid']}",
        way=[*open_project(row), t.click("Milestones"), *closed, t.click(entry(row["title"]))],
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


@TEMPLATES.define(
    'Of the issues that I opened, open the one that was updated last among those with the word "{word}" in the title,'
    " and tell me whether it is closed (yes or no)."
)
def updated_issue_state(world: t.Sampler) -> t.Draw:
    """Find my issue that was updated last, and tell its state."""
    return draw_own_issue(world, "updated_at", "updated_desc")


@TEMPLATES.define('Open the latest issue that I created with "{word}" in its title. Is it closed? Answer yes or no.')
def created_issue_state(world: t.Sampler) -> t.Draw:
    """Find the issue that I created last, and tell its state."""
    return draw_own_issue(world, "created_at", "created_date")
