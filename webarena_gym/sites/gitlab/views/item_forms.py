"""The forms of issues and merge requests: a new one, and everything about an old one."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.base import find_project, members_only, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.items import plan_of
from webarena_gym.sites.gitlab.ledger import Ledger
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, Kind, Named, Plan
from webarena_gym.sites.gitlab.rights import address, may_plan, require_edit, require_open
from webarena_gym.sites.gitlab.views.notes import ITEM, find_any_item
from webarena_gym.sites.kit.forms import checked, day, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect

TEXTS = {"title": Field("Title"), "description": Field("Description", required=False, limit=20_000)}
_MAX_ID = 10**9 - 1


class Choices:
    """What a form of a project's items offers: its labels, active milestones, members, and what an item has already."""

    def __init__(self, db: sqlite3.Connection, project: sqlite3.Row, plan: Plan) -> None:
        project_id = project["project_id"]
        labels = db.execute("SELECT label_id, name FROM label WHERE project_id = ? ORDER BY name COLLATE NOCASE", (project_id,))
        self.labels = [Named(*row) for row in labels]
        milestones = db.execute(
            """SELECT milestone_id, title FROM milestone
            WHERE project_id = ? AND (state = 'active' OR milestone_id = ?) ORDER BY title""",
            (project_id, plan.milestone.row_id if plan.milestone else None),
        )
        self.milestones = [Named(*row) for row in milestones]
        members = {row["user_id"]: row for row in queries.members(db, project_id)}
        for person in (*plan.assignees, *plan.reviewers):
            row = queries.user(db, person.row_id)
            if row:
                members.setdefault(person.row_id, row)
        self.people = [Named(user_id, row["username"]) for user_id, row in members.items()]
        self.people_labels = [(user_id, f"{row['name']} (@{row['username']})") for user_id, row in members.items()]


def read_plan(
    request: Request, kind: Kind, choices: Choices, before: Plan, *, user: sqlite3.Row, is_planning: bool
) -> tuple[Plan, list[str]]:
    """Return the plan that was posted, and what is wrong with it; without `is_planning` only texts are taken from the form."""
    values, errors = checked(request, TEXTS)
    plan = replace(before, title=" ".join(values["title"].split()), description=values["description"])
    if kind is ISSUE:
        plan = replace(plan, is_confidential="confidential" in request.form)
    else:
        plan = replace(plan, is_draft="draft" in request.form)
    if not is_planning:
        return plan, errors
    try:
        plan = replace(
            plan,
            labels=tuple(sorted(_chosen(request, "label", choices.labels), key=lambda label: label.name)),
            assignees=_chosen(request, "assignee", choices.people),
            milestone=next(iter(_chosen(request, "milestone", choices.milestones)), None),
        )
        if kind is MERGE_REQUEST:
            plan = replace(plan, reviewers=_chosen(request, "reviewer", choices.people))
    except LookupError as error:
        errors.append(str(error))
    if "assign_to_me" in request.form:
        plan = plan.assigned_to(Named(user["user_id"], user["username"]))
    if kind is ISSUE:
        typed = request.form.get("due_date", "").strip()
        due_on = day(typed) if typed else ""
        if due_on is None:
            errors.append(f"Due date: {typed[:40]!r} is no date. Write it as YYYY-MM-DD.")
        else:
            plan = replace(plan, due_on=due_on)
    return plan, errors


def _chosen(request: Request, name: str, options: Sequence[Named]) -> tuple[Named, ...]:
    """Return the options that a field names by id, each once. Raises LookupError for one that is not on offer."""
    by_id = {option.row_id: option for option in options}
    found: dict[int, Named] = {}
    for value in filter(None, request.form.getlist(name)[:100]):
        row_id = whole_number(value, 1, _MAX_ID)
        if row_id not in by_id:
            raise LookupError(f"The {name} that you chose does not exist in this project.")
        found[row_id] = by_id[row_id]
    return tuple(found.values())


def show_form(
    request: Request,
    kind: Kind,
    project: sqlite3.Row,
    plan: Plan,
    choices: Choices,
    *,
    item: sqlite3.Row | None = None,
    source_branch: str = "",
    errors: Sequence[str] = (),
) -> str:
    """Show the form of an item, or of a new one without `item`."""
    return request.render(
        "item_form.html",
        is_planning=may_plan(request, kind, project),
        kind=kind,
        project=project,
        plan=plan,
        choices=choices,
        item=item,
        source_branch=source_branch,
        errors=errors,
        base=address(kind, project),
    )


@site.get("/<namespace>/<path>/-/issues/new")
@members_only
def new_issue(request: Request, _: sqlite3.Row, namespace: str, path: str) -> str:
    """Show the form for a new issue; title and description may stand in the URL."""
    project, plan = _open_project(request, namespace, path), Plan(request.args.get("title", "")[:255])
    request.shows({"title": plan.title})
    return show_form(request, ISSUE, project, plan, Choices(request.db, project, plan))


@site.post("/<namespace>/<path>/-/issues")
@members_only
def create_issue(request: Request, user: sqlite3.Row, namespace: str, path: str) -> str | Response:
    """Open an issue."""
    project = _open_project(request, namespace, path)
    choices = Choices(request.db, project, Plan(""))
    is_planning = may_plan(request, ISSUE, project)
    plan, errors = read_plan(request, ISSUE, choices, Plan(""), user=user, is_planning=is_planning)
    if errors:
        return show_form(request, ISSUE, project, plan, choices, errors=errors)
    iid = Ledger(request.db, user, request.now).create(ISSUE, project, plan)
    return redirect(address(ISSUE, project, iid))


@site.get(f"{ITEM}/edit")
@members_only
def edit_item(request: Request, _: sqlite3.Row, namespace: str, path: str, segment: str, iid: int) -> str:
    """Show the form of an item."""
    kind, project, item = find_any_item(request, segment, namespace, path, iid)
    require_edit(request, kind, project, item)
    plan = plan_of(request.db, kind, item)
    return show_form(request, kind, project, plan, Choices(request.db, project, plan), item=item)


@site.post(f"{ITEM}/edit")
@members_only
def save_item(request: Request, user: sqlite3.Row, namespace: str, path: str, segment: str, iid: int) -> str | Response:
    """Change an item."""
    kind, project, item = find_any_item(request, segment, namespace, path, iid)
    require_edit(request, kind, project, item)
    before = plan_of(request.db, kind, item)
    choices = Choices(request.db, project, before)
    after, errors = read_plan(request, kind, choices, before, user=user, is_planning=may_plan(request, kind, project))
    if errors:
        return show_form(request, kind, project, after, choices, item=item, errors=errors)
    Ledger(request.db, user, request.now).change(kind, item, before, after)
    return redirect(address(kind, project, iid))


def _open_project(request: Request, namespace: str, path: str) -> sqlite3.Row:
    """Return the project of a URL, which must not be archived."""
    project = find_project(request, namespace, path)
    require_open(project)
    return project
