"""Issues and merge requests: their lists, forms, comments, states, labels and milestones."""

import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple
from urllib.parse import urlencode

from werkzeug.exceptions import Conflict, Forbidden

from webarena_gym.sites.gitlab import planning, queries
from webarena_gym.sites.gitlab.planning import (
    ISSUE,
    MERGE_REQUEST,
    VISIBLE_ITEM,
    ItemKind,
    ItemPlan,
    Ledger,
    NamedRow,
    address,
    may_plan,
)
from webarena_gym.sites.gitlab.queries import VISIBLE, contents
from webarena_gym.sites.gitlab.site import Field, by_state, can, in_project, members_only, my_id, site
from webarena_gym.sites.kit.database import first, insert, row_or_404, update, value
from webarena_gym.sites.kit.forms import Pager, complaints, day, read, read_and_check, whole_number
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.kit.site import View

NOTES_PER_PAGE = 50
KINDS = {kind.segment: kind for kind in (ISSUE, MERGE_REQUEST)}
ITEM = "/<namespace>/<path>/-/<any(issues, merge_requests):segment>/<int:iid>"
NOTE_FIELDS = {"body": Field("Comment", limit=20_000)}


def of_item(view: View) -> View:
    """Return a decorator that passes the kind and item of the URL, with its author's names, to a view after the project.

    Raises NotFound, also when the item may not be seen.
    """

    @wraps(view)
    def wrapper(request: Request, *arguments: Any, segment: str, iid: int, **more: object) -> str | Response:
        kind, project = KINDS[segment], arguments[-1]
        query = f"""
            SELECT t.*, author.username, author.name AS author_name,
                (SELECT count(*) FROM note n WHERE n.{kind.key} = t.{kind.key} AND NOT n.is_system) AS notes
            FROM {kind.table} t JOIN user author ON author.user_id = t.author_id
            WHERE t.project_id = :project_id AND t.iid = :iid AND {VISIBLE_ITEM[kind]}
        """
        item = row_or_404(request.db, query, {"project_id": project["project_id"], "iid": iid, "me": my_id(request)})
        return view(request, *arguments, kind, item, **more)

    return wrapper


@site.get(ITEM, in_project(), of_item)
def show_item(
    request: Request, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row, body: str = "", errors: Sequence[str] = ()
) -> str:
    """Show an item with its plan and comments; `body` is a comment that was rejected because of `errors`."""
    db, item_id = request.db, item[kind.key]
    pager = _note_pager(request, kind, item)
    notes = f"""SELECT n.*, u.name, u.username FROM note n JOIN user u ON u.user_id = n.author_id
        WHERE n.{kind.key} = :id ORDER BY n.created_at, n.note_id"""
    people = f"SELECT u.* FROM {kind.table}_{{}} r JOIN user u USING (user_id) WHERE r.{kind.key} = ? ORDER BY u.name"
    labels = f"SELECT * FROM {kind.table}_label JOIN label USING (label_id) WHERE {kind.key} = ? ORDER BY name"
    facts: dict[str, object] = {
        f"{role}s": db.execute(people.format(role), (item_id,)).fetchall() for role in kind.roles if role != "author"
    }
    facts["labels"] = db.execute(labels, (item_id,)).fetchall()
    facts["milestone"] = first(db, "SELECT * FROM milestone WHERE milestone_id = ?", (item["milestone_id"],))
    more: dict[str, object] = {"facts": facts, "notes": pager.select(db, notes, {"id": item_id}), "pager": pager}
    if kind is MERGE_REQUEST:
        commits, changes = contents(db, item)
        more |= {"commits": commits, "changes": changes, "obstacle": planning.merge_obstacle(request, project, item, changes)}
    return request.render(
        f"{kind.table}.html",
        **more,
        kind=kind,
        project=project,
        item=item,
        base=address(kind, project, item["iid"]),
        body=body,
        errors=errors,
        may_edit=planning.may_edit(request, kind, project, item),
        may_plan=may_plan(request, kind, project),
        is_to_do=_is_to_do(request, kind, item),
    )


def _note_pager(request: Request, kind: ItemKind, item: sqlite3.Row) -> Pager:
    total = value(request.db, f"SELECT count(*) FROM note WHERE {kind.key} = ?", (item[kind.key],))
    return Pager.of(request, total, NOTES_PER_PAGE, "page")


def _is_to_do(request: Request, kind: ItemKind, item: sqlite3.Row) -> bool:
    query = f"SELECT 1 FROM todo WHERE user_id = ? AND {kind.key} = ? AND state = 'pending'"
    return first(request.db, query, (my_id(request), item[kind.key])) is not None


@site.post(f"{ITEM}/notes", members_only, in_project(""), of_item)
def write_note(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row) -> str | Response:
    """Add a comment, and close the item if that button was pressed."""
    values, errors = read_and_check(request, NOTE_FIELDS)
    if errors:
        return show_item(request, project, kind, item, values["body"], errors)
    body = values["body"]
    if request.form.get("state"):
        note_id = _move(request, user, project, kind, item, body)
    else:
        note_id = Ledger(request, user).comment(kind, item, body)
    pages = _note_pager(request, kind, item).pages
    query = f"?page={pages}" if pages > 1 else ""
    return redirect(f"{address(kind, project, item['iid'])}{query}#note_{note_id}")


@site.post(f"{ITEM}/state", members_only, in_project(), of_item)
def change_state(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row) -> Response:
    """Close or reopen an item."""
    _move(request, user, project, kind, item)
    return redirect(address(kind, project, item["iid"]))


def _move(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row, body: str = "") -> int:
    """Close or reopen an item as posted, with an optional comment, whose id is returned.

    Raises Forbidden unless the visitor may, and Conflict when the item is not in the other state.
    """
    planning.require_edit(request, kind, project, item)
    state, ledger = request.form.get("state", ""), Ledger(request, user)
    done = "closed" if state == "closed" else "reopened"
    if {"opened": "closed", "closed": "opened"}.get(item["state"]) != state:
        raise Conflict(f"This {kind.noun} is {item['state']}, so it cannot be {done}.")
    note_id = ledger.comment(kind, item, body) if body else 0
    ledger.move(kind, item, state)
    request.flash(f"The {kind.noun} was {done}.")
    return note_id


@site.post(f"{ITEM}/assign_to_me", members_only, in_project(), of_item)
def assign_to_me(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row) -> Response:
    """Add the current user to the assignees of an item."""
    if not may_plan(request, kind, project):
        raise Forbidden(f"Your role in this project does not let you assign {kind.noun}s.")
    before = planning.plan_of(request.db, kind, item)
    if Ledger(request, user).change(kind, item, before, before.assigned_to(NamedRow(user["user_id"], user["username"]))):
        request.flash(f"The {kind.noun} is assigned to you.")
    return redirect(address(kind, project, item["iid"]))


@site.post(f"{ITEM}/todo", members_only, in_project(), of_item)
def add_to_do(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row) -> Response:
    """Add an item to the current user's to-do list."""
    if not _is_to_do(request, kind, item):
        Ledger(request, user).mark_to_do(kind, item[kind.key])
    return request.redirect(address(kind, project, item["iid"]), f"The {kind.noun} is on your to-do list.")


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
    """Show issues or merge requests of all projects, with links to those of the current user."""
    kind, path = KINDS[segment], f"/dashboard/{segment}"
    values = _listing(request, kind, "1")
    people, role_names = values["filters"].people, ("assignee", "author", "reviewer")
    words = {"assignee": "Assigned to me", "author": "Created by me", "reviewer": "Review requests for me"}
    scopes = [
        (f"{path}?{urlencode({f'{role}_username': user['username']})}", words[role], people == {role: user["username"]})
        for role in role_names
        if role in kind.roles
    ]
    return request.render("item_list.html", scopes=[*scopes, (path, f"All {kind.noun}s", not people)], choices=[], **values)


def _listing(request: Request, kind: ItemKind, scope: str, **bound: object) -> dict[str, Any]:
    """Return the values for the list: filters, tabs with counts, and one page of rows."""
    filters = planning.Filters.read(request.args, kind)
    request.shows(filters.content())
    request.arranges({"sort": filters.sort})
    condition, values = filters.where()
    source = f"""FROM {kind.table} t JOIN project p USING (project_id) JOIN user author ON author.user_id = t.author_id
        WHERE {scope} AND {VISIBLE} AND {VISIBLE_ITEM[kind]} AND {condition}"""
    tabs = [(state, label, filters.query(state=state)) for state, label in (*kind.states, ("all", "All"))]
    columns, order = COLUMNS.format(key=kind.key, table=kind.table), planning.SORTS[filters.sort][1].format(key=kind.key)
    listed = by_state(request, columns, source, order, {**values, **bound}, filters.state, tabs)
    return {"kind": kind, "filters": filters, "sorts": filters.sorts(kind), **listed}


def _choices(db: sqlite3.Connection, kind: ItemKind, project_id: int) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the selects of the filter form: parameter of the URL, label, and options as (value, text)."""

    def options(query: str, *before: tuple[str, str]) -> list[tuple[str, str]]:
        return [*before, *map(tuple, db.execute(query, (project_id,)))]

    labels = "SELECT name, name FROM label WHERE project_id = ? ORDER BY name COLLATE NOCASE"
    milestones = "SELECT DISTINCT title, title FROM milestone WHERE project_id = ? ORDER BY title"
    choices = [("label_name[]", "Label", options(labels, ("", "Any label")))]
    for role in kind.roles:
        is_author = role == "author"
        query = f"""SELECT DISTINCT u.username, u.name || ' (@' || u.username || ')' FROM {kind.table} t
            {"" if is_author else f"JOIN {kind.table}_{role} r USING ({kind.key})"}
            JOIN user u ON u.user_id = {"t.author_id" if is_author else "r.user_id"} WHERE t.project_id = ? ORDER BY u.name, u.username"""
        nobody = [] if is_author else [(planning.NONE, "Nobody")]
        choices.append((f"{role}_username", role.capitalize(), options(query, ("", "Anybody"), *nobody)))
    any_or_none = (("", "Any milestone"), (planning.NONE, "No milestone"))
    return [*choices, ("milestone_title", "Milestone", options(milestones, *any_or_none))]


site.templates.filters["from_json"] = json.loads


TEXTS = {"title": Field("Title"), "description": Field("Description", required=False, limit=20_000)}
_MAX_ID = 10**9 - 1


class Choices:
    """Options in a form of a project's items: its labels, active milestones and members, and those that the item already has."""

    def __init__(self, db: sqlite3.Connection, project: sqlite3.Row, plan: ItemPlan) -> None:
        project_id, milestone_id = project["project_id"], plan.milestone.row_id if plan.milestone else None
        labels = "SELECT label_id, name FROM label WHERE project_id = ? ORDER BY name COLLATE NOCASE"
        milestones = """SELECT milestone_id, title FROM milestone
            WHERE project_id = ? AND (state = 'active' OR milestone_id = ?) ORDER BY title"""
        self.labels = [NamedRow(*row) for row in db.execute(labels, (project_id,))]
        self.milestones = [NamedRow(*row) for row in db.execute(milestones, (project_id, milestone_id))]
        members = {row["user_id"]: row for row in queries.members(db, project_id)}
        for person in (*plan.assignees, *plan.reviewers):
            if row := queries.user(db, person.row_id):
                members.setdefault(person.row_id, row)
        self.people = [NamedRow(user_id, row["username"]) for user_id, row in members.items()]
        self.people_labels = [(user_id, f"{row['name']} (@{row['username']})") for user_id, row in members.items()]


def read_plan(
    request: Request, kind: ItemKind, choices: Choices, before: ItemPlan, *, user: sqlite3.Row, is_planning: bool
) -> tuple[ItemPlan, list[str]]:
    """Return the posted plan and error messages. Unless `is_planning`, only texts are read from the form."""
    values, errors = read_and_check(request, TEXTS)
    plan = before._replace(title=" ".join(values["title"].split()), description=values["description"])
    is_confidential = kind is ISSUE and "confidential" in request.form
    plan = plan._replace(is_confidential=is_confidential, is_draft=kind is MERGE_REQUEST and "draft" in request.form)
    if not is_planning:
        return plan, errors
    try:
        plan = plan._replace(
            labels=tuple(sorted(_posted_rows(request, "label", choices.labels), key=lambda label: label.name)),
            assignees=_posted_rows(request, "assignee", choices.people),
            milestone=next(iter(_posted_rows(request, "milestone", choices.milestones)), None),
        )
        if kind is MERGE_REQUEST:
            plan = plan._replace(reviewers=_posted_rows(request, "reviewer", choices.people))
    except LookupError as error:
        errors.append(str(error))
    if "assign_to_me" in request.form:
        plan = plan.assigned_to(NamedRow(user["user_id"], user["username"]))
    if kind is ISSUE:
        typed = request.form.get("due_date", "").strip()
        due_on = day(typed) if typed else ""
        if due_on is None:
            errors.append(f"Due date: {typed[:40]!r} is no date. Write it as YYYY-MM-DD.")
        else:
            plan = plan._replace(due_on=due_on)
    return plan, errors


def _posted_rows(request: Request, name: str, options: Sequence[NamedRow]) -> tuple[NamedRow, ...]:
    """Return the options that a field names by id, without repetitions. Raises LookupError for other ids."""
    by_id = {option.row_id: option for option in options}
    ids = [whole_number(typed, 1, _MAX_ID) for typed in request.form.getlist(name)[:100] if typed]
    if not by_id.keys() >= set(ids):
        raise LookupError(f"The {name} that you chose does not exist in this project.")
    return tuple(by_id[row_id] for row_id in dict.fromkeys(ids) if row_id)


def ask_plan(
    request: Request, user: sqlite3.Row, kind: ItemKind, project: sqlite3.Row, before: ItemPlan, *, item: sqlite3.Row | None = None,
    source_branch: str = "", errors: Sequence[str] = (),
) -> ItemPlan | str:  # fmt: skip
    """Return the posted plan, or the page with its form for GET requests and invalid values."""
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
    """Create an issue. The URL of the form may contain the title."""
    title = request.args.get("title", "")[:255] if request.method != "POST" else ""
    request.shows({"title": title})
    plan = ask_plan(request, user, ISSUE, project, ItemPlan(title))
    if isinstance(plan, str):
        return plan
    return redirect(address(ISSUE, project, Ledger(request, user).create(ISSUE, project, plan)))


@site.form(f"{ITEM}/edit", members_only, in_project(), of_item)
def save_item(request: Request, user: sqlite3.Row, project: sqlite3.Row, kind: ItemKind, item: sqlite3.Row) -> str | Response:
    """Change an item."""
    planning.require_edit(request, kind, project, item)
    before = planning.plan_of(request.db, kind, item)
    after = ask_plan(request, user, kind, project, before, item=item)
    if isinstance(after, str):
        return after
    Ledger(request, user).change(kind, item, before, after)
    return redirect(address(kind, project, item["iid"]))


@site.get("/<namespace>/<path>/-/labels", in_project())
def labels(request: Request, project: sqlite3.Row) -> str:
    """Show a project's labels, with their numbers of open issues and merge requests."""
    query = f"""
        SELECT l.*, (SELECT count(*) FROM issue_label i JOIN issue t USING (issue_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened' AND {VISIBLE_ITEM[ISSUE]}) AS issues,
            (SELECT count(*) FROM merge_request_label i JOIN merge_request t USING (merge_request_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened') AS merge_requests
        FROM label l WHERE l.project_id = :project_id ORDER BY l.name COLLATE NOCASE
    """
    rows = request.db.execute(query, {"project_id": project["project_id"], "me": my_id(request)}).fetchall()
    pager, may_plan = Pager.of(request, len(rows), 50, "page"), can(request, project, "Reporter")
    return request.render("labels.html", project=project, labels=pager.cut(rows), pager=pager, may_plan=may_plan)


PLACE = "/<namespace>/<path>/-/milestones"
STATES = {"active": "Open", "closed": "Closed", "all": "All"}
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
    """Show the milestones of the projects of which the current user is a member."""
    return _list(request, "m.project_id IN (SELECT project_id FROM membership WHERE user_id = :me)", None)


def _list(request: Request, where: str, project: sqlite3.Row | None) -> str:
    state = request.args.get("state", "")
    state = state if state in STATES else "active"
    request.shows({"state": None if state == "active" else state})
    bound = {"project_id": project["project_id"] if project else None}
    source = f"FROM milestone m JOIN project p USING (project_id) WHERE {where} AND {VISIBLE}"
    order, tabs = (
        "m.due_on IS NULL, m.due_on, m.milestone_id",
        [(name, label, f"state={name}") for name, label in STATES.items()],
    )
    listed = by_state(request, MILESTONE_COLUMNS, source, order, bound, state, tabs)
    return request.render("milestones.html", project=project, **listed)


@site.get(f"{PLACE}/<int:iid>", in_project())
def milestone(request: Request, project: sqlite3.Row, iid: int) -> str:
    """Show a milestone with its issues and merge requests."""
    row = _find_part(request, project, "milestone", iid)
    bound = {"id": row["milestone_id"], "me": my_id(request)}
    query = "SELECT iid, title, state FROM {} t WHERE milestone_id = :id AND {} ORDER BY iid DESC LIMIT 200"
    items = {
        kind.segment: request.db.execute(query.format(kind.table, VISIBLE_ITEM[kind]), bound).fetchall()
        for kind in (ISSUE, MERGE_REQUEST)
    }
    may_plan = can(request, project, "Reporter")
    return request.render("milestone.html", project=project, milestone=row, items=items, may_plan=may_plan)


@site.post(f"{PLACE}/<int:iid>/state", members_only, in_project("Reporter"))
def move_milestone(request: Request, _: sqlite3.Row, project: sqlite3.Row, iid: int) -> Response:
    """Close or reopen a milestone."""
    row = _find_part(request, project, "milestone", iid)
    state, done = ("closed", "closed") if request.form.get("state") == "closed" else ("active", "reopened")
    update(request.db, "milestone", "milestone_id", row["milestone_id"], state=state)
    return request.redirect(f"/{project['full_path']}/-/milestones/{iid}", f"The milestone was {done}.")


class Part(NamedTuple):
    """A kind of parts of a project's planning: labels or milestones.

    `key` is the column in its URLs: the id of the table, or `iid`, which counts from 1 in each project. `named_by` is the field of its
    name, `duplicate` the error for a name that another part has. `forget` are the statements that remove references before it is deleted.
    """

    key: str
    named_by: str
    fields: Mapping[str, Field]
    duplicate: str
    forget: Sequence[str]


DEFAULT_COLOR = "#3d6b8f"
PARTS = {
    "label": Part(
        "label_id",
        "name",
        {"name": Field("Name"), "description": Field("Description", required=False, limit=1000), "color": Field("Color", limit=7)},
        "Name has already been taken.",
        [f"DELETE FROM {table} WHERE label_id = ?" for table in ("issue_label", "merge_request_label")],
    ),
    "milestone": Part(
        "iid",
        "title",
        {
            "title": Field("Title"), "starts_on": Field("Start date", required=False),
            "due_on": Field("Due date", required=False), "description": Field("Description", required=False, limit=20_000),
        },
        "Title has already been taken by another milestone of this project.",
        [f"UPDATE {table} SET milestone_id = NULL WHERE milestone_id = ?" for table in ("issue", "merge_request")],
    ),
}  # fmt: skip
_PART = "/<namespace>/<path>/-/<any(labels, milestones):parts>"
_COLOR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
_FOR_REPORTERS: tuple[Callable[[View], View], ...] = (members_only, in_project("Reporter"))


def _find_part(request: Request, project: sqlite3.Row, noun: str, number: int) -> sqlite3.Row:
    """Return a label or a milestone of a project. Raises NotFound."""
    query = f"SELECT * FROM {noun} WHERE project_id = ? AND {PARTS[noun].key} = ?"
    return row_or_404(request.db, query, (project["project_id"], number))


@site.get(f"{_PART}/new", *_FOR_REPORTERS)
@site.post(_PART, *_FOR_REPORTERS)
@site.form(f"{_PART}/<int:number>/edit", *_FOR_REPORTERS)
def save_part(request: Request, _: sqlite3.Row, project: sqlite3.Row, parts: str, number: int | None = None) -> str | Response:
    """Change or create a label or milestone."""
    noun, place = parts.removesuffix("s"), f"/{project['full_path']}/-/{parts}"
    key, named_by, fields, complaint = PARTS[noun][:4]
    stored = {"color": DEFAULT_COLOR} if number is None else dict(_find_part(request, project, noun, number))
    values, errors = {name: stored.get(name) or "" for name in fields}, list[str]()
    if request.method == "POST":
        row_id = stored.get(f"{noun}_id", 0)
        values = read(request, fields)
        values[named_by] = name = " ".join(values[named_by].split())
        errors = [*complaints(values, fields), *_complaints(values)]
        query = f"SELECT 1 FROM {noun} WHERE project_id = ? AND {named_by} = ? AND {noun}_id <> ?"
        if first(request.db, query, (project["project_id"], name, row_id)):
            errors.append(complaint)
        if not errors:
            row: dict[str, Any] = {name: None if name.endswith("_on") and not text else text for name, text in values.items()}
            if number is not None:
                update(request.db, noun, f"{noun}_id", row_id, **row)
            else:
                if key == "iid":
                    query = """SELECT max(last_milestone, coalesce((SELECT max(iid) FROM milestone WHERE project_id = :id), 0)) + 1
                        FROM project WHERE project_id = :id"""
                    row["iid"] = number = value(request.db, query, {"id": project["project_id"]})
                insert(request.db, noun, project_id=project["project_id"], **row)
            if noun == "milestone":
                return redirect(f"{place}/{number}")
            return request.redirect(place, f"The label {name} was {'saved' if row_id else 'created'}.")
    return request.render(f"{noun}_form.html", project=project, values={key: number or "", **values}, errors=errors)


def _complaints(values: dict[str, str]) -> list[str]:
    """Return error messages for colors and dates, and convert valid ones to the format of the database."""
    if "color" in values:
        is_fine = not values["color"] or _COLOR.fullmatch(values["color"])
        return [] if is_fine else ["Color must be written as '#' and six hexadecimal digits, such as #3d6b8f."]
    errors = []
    for name, label in (("starts_on", "Start date"), ("due_on", "Due date")):
        written = day(values[name])
        if values[name] and written is None:
            errors.append(f"{label}: {values[name][:40]!r} is no date. Write it as YYYY-MM-DD.")
        values[name] = written or values[name]
    if not errors and values["due_on"] and values["starts_on"] > values["due_on"]:
        errors.append("Due date must be after the start date.")
    return errors


@site.post(f"{_PART}/<int:number>/delete", *_FOR_REPORTERS)
def delete_part(request: Request, _: sqlite3.Row, project: sqlite3.Row, parts: str, number: int) -> Response:
    """Delete a label or milestone, and remove it from all items."""
    noun = parts.removesuffix("s")
    row, part = _find_part(request, project, noun, number), PARTS[noun]
    if part.key == "iid":
        query = "UPDATE project SET last_milestone = max(last_milestone, ?) WHERE project_id = ?"
        request.db.execute(query, (number, project["project_id"]))
    for statement in (*part.forget, f"DELETE FROM {noun} WHERE {noun}_id = ?"):
        request.db.execute(statement, (row[f"{noun}_id"],))
    return request.redirect(f"/{project['full_path']}/-/{parts}", f"The {noun} {row[part.named_by]} was deleted.")
