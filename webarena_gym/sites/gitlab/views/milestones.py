"""Milestones: what a project wants to reach by when."""

import sqlite3

from webarena_gym.sites.gitlab.access import VISIBLE
from webarena_gym.sites.gitlab.base import can, find_project, members_only, my_id, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.plan_parts import Part, Values, planned_project
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.kit.forms import day
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response

PER_PAGE = 20
PLACE = "/<namespace>/<path>/-/milestones"
STATES = {"active": "Open", "closed": "Closed", "all": "All"}
FIELDS = {
    "title": Field("Title"),
    "starts_on": Field("Start date", required=False),
    "due_on": Field("Due date", required=False),
    "description": Field("Description", required=False, limit=20_000),
}
COLUMNS = f"""m.*, p.namespace || '/' || p.path AS full_path,
    (SELECT count(*) FROM issue t WHERE t.milestone_id = m.milestone_id AND {VISIBLE_ITEM[ISSUE]}) AS issues,
    (SELECT count(*) FROM issue t WHERE t.milestone_id = m.milestone_id AND t.state = 'closed' AND {VISIBLE_ITEM[ISSUE]})
        AS closed_issues,
    (SELECT count(*) FROM merge_request t WHERE t.milestone_id = m.milestone_id) AS merge_requests"""


@site.get(PLACE)
def project_milestones(request: Request, namespace: str, path: str) -> str:
    """Show a project's milestones."""
    project = find_project(request, namespace, path)
    return _list(request, "m.project_id = :project_id", project)


@site.get("/dashboard/milestones")
@members_only
def my_milestones(request: Request, _: sqlite3.Row) -> str:
    """Show the milestones of the projects that the visitor belongs to."""
    return _list(request, "m.project_id IN (SELECT project_id FROM membership WHERE user_id = :me)", None)


def _list(request: Request, where: str, project: sqlite3.Row | None) -> str:
    state = request.args.get("state", "")
    state = state if state in STATES else "active"
    request.shows({"state": None if state == "active" else state})
    bound = {"me": my_id(request), "project_id": project["project_id"] if project else None}
    found = f"FROM milestone m JOIN project p USING (project_id) WHERE {where} AND {VISIBLE}"
    counts: dict[str, int] = dict(request.db.execute(f"SELECT m.state, count(*) {found} GROUP BY m.state", bound).fetchall())
    counts["all"] = sum(counts.values())
    pager = Pager.of(request, counts.get(state, 0), PER_PAGE, "page")
    rows = request.db.execute(
        f"""SELECT {COLUMNS} {found} AND :state IN (m.state, 'all')
        ORDER BY m.due_on IS NULL, m.due_on, m.milestone_id LIMIT :limit OFFSET :first""",
        {**bound, "state": state, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    tabs = [(f"{request.path}?state={value}", label, counts.get(value, 0), value == state) for value, label in STATES.items()]
    return request.render("milestones.html", project=project, milestones=rows, tabs=tabs, pager=pager)


@site.get(f"{PLACE}/<int:iid>")
def milestone(request: Request, namespace: str, path: str, iid: int) -> str:
    """Show a milestone with what belongs to it."""
    project = find_project(request, namespace, path)
    row = MILESTONE.find(request, project, iid)
    bound = {"milestone_id": row["milestone_id"], "me": my_id(request)}
    items = {
        kind: request.db.execute(
            f"""SELECT t.iid, t.title, t.state, '{kind}' AS segment FROM {table} t
            WHERE t.milestone_id = :milestone_id AND {condition} ORDER BY t.iid DESC LIMIT 200""",
            bound,
        ).fetchall()
        for kind, table, condition in (
            ("issues", "issue", VISIBLE_ITEM[ISSUE]),
            ("merge_requests", "merge_request", "1"),
        )
    }
    return request.render(
        "milestone.html", project=project, milestone=row, items=items, may_plan=can(request, project, "Reporter")
    )


@site.post(f"{PLACE}/<int:iid>/state")
@members_only
def move_milestone(request: Request, _: sqlite3.Row, namespace: str, path: str, iid: int) -> Response:
    """Close a milestone or open it again."""
    project = planned_project(request, namespace, path)
    row = MILESTONE.find(request, project, iid)
    state = "closed" if request.form.get("state") == "closed" else "active"
    request.db.execute("UPDATE milestone SET state = ? WHERE milestone_id = ?", (state, row["milestone_id"]))
    return request.redirect(
        f"/{project['full_path']}/-/milestones/{iid}", f"The milestone was {'closed' if state == 'closed' else 'reopened'}."
    )


def _check(values: Values, errors: list[str]) -> None:
    """Add what is wrong with dates, and write them as they are stored."""
    for name in ("starts_on", "due_on"):
        written = day(values[name])
        if values[name] and written is None:
            errors.append(f"{FIELDS[name].label}: {values[name][:40]!r} is no date. Write it as YYYY-MM-DD.")
        values[name] = written or values[name]
    if not errors and values["due_on"] and values["starts_on"] > values["due_on"]:
        errors.append("Due date must be after the start date.")


MILESTONE = Part(
    noun="milestone",
    key="iid",
    named_by="title",
    fields=FIELDS,
    blank=dict.fromkeys(FIELDS, ""),
    nullable=frozenset({"starts_on", "due_on"}),
    check=_check,
    taken="Title has already been taken by another milestone of this project.",
    forget=[f"UPDATE {table} SET milestone_id = NULL WHERE milestone_id = ?" for table in ("issue", "merge_request")],
    has_page=True,
)
MILESTONE.register()
