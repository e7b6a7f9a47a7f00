"""Lists of merge requests to open, and questions about them."""

from webarena_gym.sites.gitlab.planning import MERGE_REQUEST
from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab.issues import my_name
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import PER_PAGE, PLANNING, entry, item_url, open_item, open_list
from webarena_gym.templates.rows import Fact, Visit
from webarena_gym.templates.ways import turn_pages, visit

PLACES = {
    "merge requests assigned to me": ("assignee", "Assigned merge requests", ""),
    "merge requests that require my review": ("reviewer", "Review requests", ""),
    "merge requests that I created": ("author", "Assigned merge requests", "Created by me"),
}
"""Lists of my own: what they are called, whom the URL names, and the way there."""


def own_requests_place(world: t.Sampler) -> t.Draw:
    """Open one of my lists of merge requests."""
    place = world.rng.choice(list(PLACES))
    role, *labels = PLACES[place]
    return visit(
        {"place": place},
        f"__GITLAB__/dashboard/merge_requests?{role}_username={my_name(world)}",
        way=[*map(t.click, filter(None, labels))],
    )


merged_requests_place = Visit(
    PLANNING + "SELECT * FROM request WHERE state = 'merged' GROUP BY project_id ORDER BY project_id",
    "__GITLAB__/{full_path}/-/merge_requests?state=merged",
    way=lambda _, row: [*open_list(MERGE_REQUEST, row), t.click("Merged")],
    slots={"project": "{full_path}"},
)


changes_place = Visit(
    PLANNING + "SELECT * FROM request WHERE state = 'opened' ORDER BY merge_request_id",
    lambda _, row: f"{item_url(MERGE_REQUEST, row)}/diffs",
    way=lambda world, row: [*open_item(world, MERGE_REQUEST, row), t.click("Changes")],
    slots={"project": "{full_path}"},
)


def request_author(world: t.Sampler) -> t.Draw:
    """Open the newest or the oldest of my merge requests, and tell who made it."""
    role, label, reason = world.rng.choice(
        (("reviewer", "Review requests", "wait for my review"), ("assignee", "Assigned merge requests", "are assigned to me"))
    )
    rows = world.rows(
        PLANNING
        + f"""SELECT * FROM request JOIN merge_request_{role} r USING (merge_request_id)
        WHERE r.user_id = {ME} AND state = 'opened' ORDER BY created_at DESC, merge_request_id DESC"""
    )
    if not 2 <= len(rows) <= PER_PAGE or rows[0]["author"] == rows[-1]["author"]:
        raise t.NothingToDraw("two merge requests of different people that are mine to handle")
    end = world.rng.choice(("newest", "oldest"))
    row, other = (rows[0], rows[-1]) if end == "newest" else (rows[-1], rows[0])
    return t.Draw(
        slots={"end": end, "reason": reason},
        eval=t.all_of(t.answer(fuzzy_match=row["author"]), t.at_url(item_url(MERGE_REQUEST, row))),
        solution=[
            t.click(label),
            *turn_pages(world, rows.index(row), PER_PAGE),
            t.click(entry(row["title"]), f"It is the {end}."),
            t.leave(row["author"]),
        ],
        wrong_answers=[other["author"]],
    )


comment_count = Fact(
    PLANNING
    + """SELECT request.*, (
            SELECT count(*) FROM note n WHERE n.merge_request_id = request.merge_request_id AND NOT n.is_system
        ) AS found FROM request ORDER BY merge_request_id""",
    "{found}",
    way=lambda world, row: open_item(world, MERGE_REQUEST, row),
    seen="There are {found} under Overview.",
    slots={"project": "{full_path}"},
)


request_merger = Fact(
    PLANNING
    + """SELECT request.*, u.name AS merger
        FROM request JOIN note n USING (merge_request_id) JOIN user u ON u.user_id = n.author_id
        WHERE n.is_system AND n.body = 'merged' AND n.author_id != request.author_id ORDER BY merge_request_id""",
    "{merger}",
    way=lambda world, row: open_item(world, MERGE_REQUEST, row),
    seen="{merger} merged it.",
    wrong=["{author}"],
    slots={"project": "{full_path}"},
)


def changed_files(world: t.Sampler) -> t.Draw:
    """Ask for the files that an open request changes."""
    row = world.pick(
        PLANNING
        + """SELECT request.*, group_concat(DISTINCT f.path) AS paths FROM request
        JOIN branch s ON s.project_id = request.project_id AND s.name = request.source_branch
        JOIN branch t ON t.project_id = request.project_id AND t.name = request.target_branch
        JOIN commit_branch c ON c.branch_id = s.branch_id JOIN file_change f USING (commit_id)
        WHERE request.state = 'opened'
            AND f.commit_id NOT IN (SELECT commit_id FROM commit_branch x WHERE x.branch_id = t.branch_id)
        GROUP BY merge_request_id HAVING count(DISTINCT f.path) BETWEEN 1 AND 4 ORDER BY merge_request_id"""
    )
    paths = sorted(row["paths"].split(","))
    return t.Draw(
        slots={"title": row["title"], "project": row["full_path"]},
        eval=t.answer(fuzzy_match=", ".join(paths)),
        solution=[*open_item(world, MERGE_REQUEST, row), t.click("Changes"), t.leave(", ".join(paths))],
        wrong_answers=[", ".join(paths[1:] or ["README.txt"])],
    )
