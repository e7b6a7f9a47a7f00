"""Issues and merge requests: their lists, forms, comments, states, labels and milestones."""

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from werkzeug.exceptions import Conflict, Forbidden, NotFound

from webarena_gym.sites.gitlab import queries
from webarena_gym.sites.gitlab.planning import (
    ISSUE,
    MERGE_REQUEST,
    NONE,
    VISIBLE_ITEM,
    Filters,
    Kind,
    Ledger,
    Named,
    Part,
    Plan,
    Values,
    address,
    item_numbered,
    may_edit,
    may_plan,
    merge_obstacle,
    plan_of,
    require_edit,
)
from webarena_gym.sites.gitlab.queries import VISIBLE, contents
from webarena_gym.sites.gitlab.site import Field, can, in_project, members_only, my_id, site
from webarena_gym.sites.kit.forms import Pager, checked, complaints, day, read, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import View

NOTES_PER_PAGE = 50
KINDS = {kind.segment: kind for kind in (ISSUE, MERGE_REQUEST)}
ITEM = "/<namespace>/<path>/-/<any(issues, merge_requests):segment>/<int:iid>"
NOTE_FIELDS = {"body": Field("Comment", limit=20_000)}


def of_item(view: View) -> View:
    """Give the view the kind and the item of the URL behind its project. Raises NotFound, also when the item may not be seen."""

    @wraps(view)
    def guarded(request: Request, *given: Any, segment: str, iid: int, **more: object) -> str | Response:
        kind, project = KINDS[segment], given[-1]
        item = item_numbered(request.db, kind, project["project_id"], iid, my_id(request))
        if item is None:
            raise NotFound
        return view(request, *given, kind, item, **more)

    return guarded


def show_item(
    request: Request, project: sqlite3.Row, kind: Kind, item: sqlite3.Row, *, body: str = "", errors: tuple[str, ...] = ()
) -> str:
    """Show an item with all that was planned and said; `body` is a comment that was refused because of `errors`."""
    (total,) = request.db.execute(f"SELECT count(*) FROM note WHERE {kind.key} = ?", (item[kind.key],)).fetchone()
    pager = Pager.of(request, total, NOTES_PER_PAGE, "page")
    notes = request.db.execute(
        f"""
        SELECT n.*, u.name, u.username FROM note n JOIN user u ON u.user_id = n.author_id
        WHERE n.{kind.key} = ? ORDER BY n.created_at, n.note_id LIMIT ? OFFSET ?
        """,
        (item[kind.key], pager.limit, pager.first),
    ).fetchall()
    more: dict[str, object] = {}
    if kind is MERGE_REQUEST:
        commits, changes = contents(request.db, item)
        more = {"commits": commits, "changes": changes, "obstacle": merge_obstacle(request, project, item, changes)}
    return request.render(
        f"{kind.table}.html",
        **more,
        kind=kind,
        project=project,
        item=item,
        base=address(kind, project, item["iid"]),
        facts=facts_of(request, kind, item),
        notes=notes,
        pager=pager,
        body=body,
        errors=errors,
        may_edit=may_edit(request, kind, project, item),
        may_plan=may_plan(request, kind, project),
        is_to_do=_is_to_do(request, kind, item),
    )


def facts_of(request: Request, kind: Kind, item: sqlite3.Row) -> dict[str, object]:
    """Return what the margin of an item's page tells: people, labels and the milestone, each with what pages show."""

    def people(role: str) -> list[sqlite3.Row]:
        query = f"SELECT u.* FROM {kind.table}_{role} r JOIN user u USING (user_id) WHERE r.{kind.key} = ? ORDER BY u.name"
        return request.db.execute(query, (item[kind.key],)).fetchall()

    labels = f"SELECT * FROM {kind.table}_label JOIN label USING (label_id) WHERE {kind.key} = ? ORDER BY name"
    return {
        "assignees": people("assignee"),
        "reviewers": people("reviewer") if kind is MERGE_REQUEST else [],
        "labels": request.db.execute(labels, (item[kind.key],)).fetchall(),
        "milestone": request.db.execute("SELECT * FROM milestone WHERE milestone_id = ?", (item["milestone_id"],)).fetchone(),
    }


def _is_to_do(request: Request, kind: Kind, item: sqlite3.Row) -> bool:
    query = f"SELECT 1 FROM todo WHERE user_id = ? AND {kind.key} = ? AND state = 'pending'"
    return request.db.execute(query, (my_id(request), item[kind.key])).fetchone() is not None


@site.post(f"{ITEM}/notes", members_only, in_project(""), of_item)
def write_note(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: Kind, item: sqlite3.Row) -> str | Response:
    """Add a comment, and close the item when the button said so."""
    values = read(request, NOTE_FIELDS)
    errors = tuple(complaints(values, NOTE_FIELDS))
    if errors:
        return show_item(request, project, kind, item, body=values["body"], errors=errors)
    wanted = request.form.get("state", "")
    if wanted:
        _require_move(request, kind, project, item, wanted)
    ledger = Ledger(request.db, user, request.now)
    note_id = ledger.comment(kind, item, values["body"])
    if wanted:
        _move(request, ledger, kind, item, wanted)
    (total,) = request.db.execute(f"SELECT count(*) FROM note WHERE {kind.key} = ?", (item[kind.key],)).fetchone()
    pages = Pager.of(request, total, NOTES_PER_PAGE, "page").pages
    query = f"?page={pages}" if pages > 1 else ""
    return redirect(f"{address(kind, project, item['iid'])}{query}#note_{note_id}")


@site.post(f"{ITEM}/state", members_only, in_project(), of_item)
def change_state(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: Kind, item: sqlite3.Row) -> Response:
    """Close an item or open it again."""
    wanted = request.form.get("state", "")
    _require_move(request, kind, project, item, wanted)
    _move(request, Ledger(request.db, user, request.now), kind, item, wanted)
    return redirect(address(kind, project, item["iid"]))


def _require_move(request: Request, kind: Kind, project: sqlite3.Row, item: sqlite3.Row, state: str) -> None:
    """Raise Forbidden unless the visitor may close or reopen an item, and Conflict when it is not in the other state."""
    require_edit(request, kind, project, item)
    if {"opened": "closed", "closed": "opened"}.get(item["state"]) != state:
        raise Conflict(f"This {kind.noun} is {item['state']}, so it cannot be {_done(state)}.")


def _move(request: Request, ledger: Ledger, kind: Kind, item: sqlite3.Row, state: str) -> None:
    ledger.move(kind, item, state)
    request.flash(f"The {kind.noun} was {_done(state)}.")


def _done(state: str) -> str:
    return "closed" if state == "closed" else "reopened"


@site.post(f"{ITEM}/assign_to_me", members_only, in_project(), of_item)
def assign_to_me(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: Kind, item: sqlite3.Row) -> Response:
    """Make the visitor the assignee of an item, beside those it has."""
    if not may_plan(request, kind, project):
        raise Forbidden(f"Your role in this project does not let you assign {kind.noun}s.")
    before = plan_of(request.db, kind, item)
    after = before.assigned_to(Named(user["user_id"], user["username"]))
    if Ledger(request.db, user, request.now).change(kind, item, before, after):
        request.flash(f"The {kind.noun} is assigned to you.")
    return redirect(address(kind, project, item["iid"]))


@site.post(f"{ITEM}/todo", members_only, in_project(), of_item)
def add_to_do(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: Kind, item: sqlite3.Row) -> Response:
    """Put an item on the visitor's to-do list."""
    if not _is_to_do(request, kind, item):
        Ledger(request.db, user, request.now).mark_to_do(kind, item)
    return request.redirect(address(kind, project, item["iid"]), f"The {kind.noun} is on your to-do list.")


@site.get(ITEM, in_project(), of_item)
def show_one(request: Request, project: sqlite3.Row, kind: Kind, item: sqlite3.Row) -> str:
    """Show an item with all that was said about it."""
    return show_item(request, project, kind, item)


PER_PAGE = 20
COLUMNS = """t.*, p.namespace || '/' || p.path AS full_path, author.name AS author_name, author.username,
    (SELECT title FROM milestone m WHERE m.milestone_id = t.milestone_id) AS milestone_title,
    (SELECT count(*) FROM note n WHERE n.{key} = t.{key} AND NOT n.is_system) AS comments,
    (SELECT json_group_array(json_array(name, color)) FROM (
        SELECT name, color FROM {table}_label l JOIN label USING (label_id) WHERE l.{key} = t.{key} ORDER BY name
    )) AS labels,
    (SELECT json_group_array(name) FROM (
        SELECT u.name FROM {table}_assignee a JOIN user u USING (user_id) WHERE a.{key} = t.{key} ORDER BY u.name
    )) AS assignees"""


@site.get("/<namespace>/<path>/-/<any(issues, merge_requests):segment>", in_project())
def project_items(request: Request, project: sqlite3.Row, segment: str) -> str:
    """Show a project's issues or merge requests."""
    kind = KINDS[segment]
    values = _listing(request, kind, "t.project_id = :project_id", project_id=project["project_id"])
    may_create = can(request, project, "Developer") if kind is MERGE_REQUEST else not project["is_archived"]
    choices = _choices(request.db, kind, project["project_id"])
    return request.render("item_list.html", project=project, may_create=may_create, choices=choices, **values)


@site.get("/dashboard/<any(issues, merge_requests):segment>", members_only)
def all_items(request: Request, user: sqlite3.Row, segment: str) -> str:
    """Show issues or merge requests of all projects, which links narrow down to the visitor's own."""
    kind, path = KINDS[segment], f"/dashboard/{segment}"
    values = _listing(request, kind, "1")
    people = values["filters"].people
    roles = {"assignee": "Assigned to me", "author": "Created by me"}
    roles |= {"reviewer": "Review requests for me"} if kind is MERGE_REQUEST else {}
    scopes = [
        (f"{path}?{urlencode({f'{role}_username': user['username']})}", label, people == {role: user["username"]})
        for role, label in roles.items()
    ]
    return request.render("item_list.html", scopes=[*scopes, (path, f"All {kind.noun}s", not people)], choices=[], **values)


def _listing(request: Request, kind: Kind, scope: str, **bound: Any) -> dict[str, Any]:
    """Return what the list needs: the filters, the tabs with their counts, one page of rows."""
    filters = Filters.read(request.args, kind)
    request.shows(filters.content())
    request.arranges({"sort": filters.sort})
    condition, values = filters.where()
    values_of_all = {**values, **bound, "me": my_id(request)}
    found = f"""FROM {kind.table} t JOIN project p USING (project_id) JOIN user author ON author.user_id = t.author_id
        WHERE {scope} AND {VISIBLE} AND {VISIBLE_ITEM[kind]} AND {condition}"""
    counts: dict[str, int] = dict(
        request.db.execute(f"SELECT t.state, count(*) {found} GROUP BY t.state", values_of_all).fetchall()
    )
    counts["all"] = sum(counts.values())
    pager = Pager.of(request, counts.get(filters.state, 0), PER_PAGE, "page")
    rows = request.db.execute(
        f"""SELECT {COLUMNS.format(key=kind.key, table=kind.table)} {found} AND :state IN (t.state, 'all')
        ORDER BY {filters.order} LIMIT :limit OFFSET :first""",
        {**values_of_all, "state": filters.state, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    tabs = [
        (f"{request.path}?{filters.query(state=state)}", label, counts.get(state, 0), state == filters.state)
        for state, label in (*kind.states, ("all", "All"))
    ]
    return {"kind": kind, "filters": filters, "tabs": tabs, "rows": rows, "pager": pager, "sorts": filters.sorts(kind)}


def _choices(db: sqlite3.Connection, kind: Kind, project_id: int) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the drop-down lists of the filter form: name in the URL, label, and options of value and text."""

    def people(role: str) -> list[tuple[str, str]]:
        source = "" if role == "author" else f"JOIN {kind.table}_{role} r USING ({kind.key})"
        column = "t.author_id" if role == "author" else "r.user_id"
        rows = db.execute(
            f"""SELECT DISTINCT u.username, u.name || ' (@' || u.username || ')' FROM {kind.table} t {source}
            JOIN user u ON u.user_id = {column} WHERE t.project_id = ? ORDER BY u.name, u.username""",
            (project_id,),
        )
        return [("", "Anybody"), *([] if role == "author" else [(NONE, "Nobody")]), *map(tuple, rows)]

    labels = db.execute("SELECT name, name FROM label WHERE project_id = ? ORDER BY name COLLATE NOCASE", (project_id,))
    milestones = db.execute("SELECT DISTINCT title, title FROM milestone WHERE project_id = ? ORDER BY title", (project_id,))
    reviewers = [("reviewer_username", "Reviewer", people("reviewer"))] if kind is MERGE_REQUEST else []
    return [
        ("label_name[]", "Label", [("", "Any label"), *map(tuple, labels)]),
        ("author_username", "Author", people("author")),
        ("assignee_username", "Assignee", people("assignee")),
        *reviewers,
        ("milestone_title", "Milestone", [("", "Any milestone"), (NONE, "No milestone"), *map(tuple, milestones)]),
    ]


site.templates.filters["from_json"] = json.loads


TEXTS = {"title": Field("Title"), "description": Field("Description", required=False, limit=20_000)}
_MAX_ID = 10**9 - 1


class Choices:
    """Choices in a form of a project's items: its labels, active milestones, members, and those that an item has already."""

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


def ask_plan(
    request: Request, user: sqlite3.Row, kind: Kind, project: sqlite3.Row, before: Plan, *, item: sqlite3.Row | None = None,
    source_branch: str = "", errors: Sequence[str] = (),
) -> Plan | str:  # fmt: skip
    """Return the plan that was posted, or the page with its form: when that is asked for, or when something is wrong."""
    choices, is_planning, plan = Choices(request.db, project, before), may_plan(request, kind, project), before
    if request.method == "POST":
        plan, wrong = read_plan(request, kind, choices, before, user=user, is_planning=is_planning)
        errors = [*errors, *wrong]
        if not errors:
            return plan
    page = {"is_planning": is_planning, "choices": choices, "item": item, "source_branch": source_branch, "errors": errors}
    return request.render("item_form.html", kind=kind, project=project, plan=plan, base=address(kind, project), **page)


@site.get("/<namespace>/<path>/-/issues/new", members_only, in_project(""))
@site.post("/<namespace>/<path>/-/issues", members_only, in_project(""))
def create_issue(request: Request, user: sqlite3.Row, project: sqlite3.Row) -> str | Response:
    """Open an issue; the title may stand in the URL of the form."""
    title = request.args.get("title", "")[:255] if request.method != "POST" else ""
    request.shows({"title": title})
    plan = ask_plan(request, user, ISSUE, project, Plan(title))
    if isinstance(plan, str):
        return plan
    iid = Ledger(request.db, user, request.now).create(ISSUE, project, plan)
    return redirect(address(ISSUE, project, iid))


@site.form(f"{ITEM}/edit", members_only, in_project(), of_item)
def save_item(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: Kind, item: sqlite3.Row) -> str | Response:
    """Change an item."""
    require_edit(request, kind, project, item)
    before = plan_of(request.db, kind, item)
    after = ask_plan(request, user, kind, project, before, item=item)
    if isinstance(after, str):
        return after
    Ledger(request.db, user, request.now).change(kind, item, before, after)
    return redirect(address(kind, project, item["iid"]))


LABELS_PER_PAGE = 50
LABEL_FIELDS = {
    "name": Field("Name"),
    "description": Field("Description", required=False, limit=1000),
    "color": Field("Color", limit=7),
}
_COLOR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
DEFAULT_COLOR = "#3d6b8f"


@site.get("/<namespace>/<path>/-/labels", in_project())
def labels(request: Request, project: sqlite3.Row) -> str:
    """Show a project's labels, with how many open issues and merge requests have them."""
    bound = {"project_id": project["project_id"], "me": my_id(request)}
    (total,) = request.db.execute("SELECT count(*) FROM label WHERE project_id = :project_id", bound).fetchone()
    pager = Pager.of(request, total, LABELS_PER_PAGE, "page")
    rows = request.db.execute(
        f"""
        SELECT l.*, (SELECT count(*) FROM issue_label i JOIN issue t USING (issue_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened' AND {VISIBLE_ITEM[ISSUE]}) AS issues,
            (SELECT count(*) FROM merge_request_label i JOIN merge_request t USING (merge_request_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened') AS merge_requests
        FROM label l WHERE l.project_id = :project_id ORDER BY l.name COLLATE NOCASE LIMIT :limit OFFSET :first
        """,
        {**bound, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    return request.render("labels.html", project=project, labels=rows, pager=pager, may_plan=can(request, project, "Reporter"))


def _check_label(values: Values, errors: list[str]) -> None:
    if values["color"] and not _COLOR.fullmatch(values["color"]):
        errors.append("Color must be written as '#' and six hexadecimal digits, such as #3d6b8f.")


LABEL = Part(
    noun="label",
    key="label_id",
    named_by="name",
    fields=LABEL_FIELDS,
    blank={"name": "", "description": "", "color": DEFAULT_COLOR},
    nullable=frozenset(),
    check=_check_label,
    taken="Name has already been taken.",
    forget=[f"DELETE FROM {table} WHERE label_id = ?" for table in ("issue_label", "merge_request_label")],
    has_page=False,
)
LABEL.register()


MILESTONES_PER_PAGE = 20
PLACE = "/<namespace>/<path>/-/milestones"
STATES = {"active": "Open", "closed": "Closed", "all": "All"}
FIELDS = {
    "title": Field("Title"),
    "starts_on": Field("Start date", required=False),
    "due_on": Field("Due date", required=False),
    "description": Field("Description", required=False, limit=20_000),
}
MILESTONE_COLUMNS = f"""m.*, p.namespace || '/' || p.path AS full_path,
    (SELECT count(*) FROM issue t WHERE t.milestone_id = m.milestone_id AND {VISIBLE_ITEM[ISSUE]}) AS issues,
    (SELECT count(*) FROM issue t WHERE t.milestone_id = m.milestone_id AND t.state = 'closed' AND {VISIBLE_ITEM[ISSUE]})
        AS closed_issues,
    (SELECT count(*) FROM merge_request t WHERE t.milestone_id = m.milestone_id) AS merge_requests"""


@site.get(PLACE, in_project())
def project_milestones(request: Request, project: sqlite3.Row) -> str:
    """Show a project's milestones."""
    return _list(request, "m.project_id = :project_id", project)


@site.get("/dashboard/milestones", members_only)
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
    pager = Pager.of(request, counts.get(state, 0), MILESTONES_PER_PAGE, "page")
    rows = request.db.execute(
        f"""SELECT {MILESTONE_COLUMNS} {found} AND :state IN (m.state, 'all')
        ORDER BY m.due_on IS NULL, m.due_on, m.milestone_id LIMIT :limit OFFSET :first""",
        {**bound, "state": state, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    tabs = [(f"{request.path}?state={value}", label, counts.get(value, 0), value == state) for value, label in STATES.items()]
    return request.render("milestones.html", project=project, milestones=rows, tabs=tabs, pager=pager)


@site.get(f"{PLACE}/<int:iid>", in_project())
def milestone(request: Request, project: sqlite3.Row, iid: int) -> str:
    """Show a milestone with what belongs to it."""
    row = MILESTONE.find(request, project, iid)
    bound = {"milestone_id": row["milestone_id"], "me": my_id(request)}
    items = {
        kind: request.db.execute(
            f"""SELECT t.iid, t.title, t.state, '{kind}' AS segment FROM {table} t
            WHERE t.milestone_id = :milestone_id AND {condition} ORDER BY t.iid DESC LIMIT 200""",
            bound,
        ).fetchall()
        for kind, table, condition in (("issues", "issue", VISIBLE_ITEM[ISSUE]), ("merge_requests", "merge_request", "1"))
    }
    return request.render(
        "milestone.html", project=project, milestone=row, items=items, may_plan=can(request, project, "Reporter")
    )


@site.post(f"{PLACE}/<int:iid>/state", members_only, in_project("Reporter"))
def move_milestone(request: Request, _: sqlite3.Row, project: sqlite3.Row, iid: int) -> Response:
    """Close a milestone or open it again."""
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
