"""What is said about an issue or a merge request, and the buttons beside it: close, reopen, assign to me, add a to-do."""

import sqlite3

from werkzeug.exceptions import Conflict, Forbidden

from webarena_gym.sites.gitlab import merging
from webarena_gym.sites.gitlab.base import members_only, my_id, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.items import plan_of
from webarena_gym.sites.gitlab.ledger import Ledger
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, Kind, Named
from webarena_gym.sites.gitlab.rights import address, find_item, may_edit, may_plan, merge_obstacle, require_edit, require_open
from webarena_gym.sites.kit.forms import complaints, read
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect

PER_PAGE = 50
KINDS = {kind.segment: kind for kind in (ISSUE, MERGE_REQUEST)}
ITEM = "/<namespace>/<path>/-/<any(issues, merge_requests):segment>/<int:iid>"
FIELDS = {"body": Field("Comment", limit=20_000)}


def find_any_item(request: Request, segment: str, namespace: str, path: str, iid: int) -> tuple[Kind, sqlite3.Row, sqlite3.Row]:
    """Return the kind, the project and the item of a URL. Raises NotFound as `find_item` does."""
    kind = KINDS[segment]
    return kind, *find_item(request, kind, namespace, path, iid)


def show_item(
    request: Request, kind: Kind, project: sqlite3.Row, item: sqlite3.Row, *, body: str = "", errors: tuple[str, ...] = ()
) -> str:
    """Show an item with all that was planned and said; `body` is a comment that was refused because of `errors`."""
    (total,) = request.db.execute(f"SELECT count(*) FROM note WHERE {kind.key} = ?", (item[kind.key],)).fetchone()
    pager = Pager.of(request, total, PER_PAGE, "page")
    notes = request.db.execute(
        f"""
        SELECT n.*, u.name, u.username FROM note n JOIN user u ON u.user_id = n.author_id
        WHERE n.{kind.key} = ? ORDER BY n.created_at, n.note_id LIMIT ? OFFSET ?
        """,
        (item[kind.key], pager.limit, pager.first),
    ).fetchall()
    more: dict[str, object] = {}
    if kind is MERGE_REQUEST:
        commits, changes = merging.contents(request.db, item)
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


@site.post(f"{ITEM}/notes")
@members_only
def write_note(request: Request, user: sqlite3.Row, namespace: str, path: str, segment: str, iid: int) -> str | Response:
    """Add a comment, and close the item when the button said so."""
    kind, project, item = find_any_item(request, segment, namespace, path, iid)
    require_open(project)
    values = read(request, FIELDS)
    errors = tuple(complaints(values, FIELDS))
    if errors:
        return show_item(request, kind, project, item, body=values["body"], errors=errors)
    wanted = request.form.get("state", "")
    if wanted:
        _require_move(request, kind, project, item, wanted)
    ledger = Ledger(request.db, user, request.now)
    note_id = ledger.comment(kind, item, values["body"])
    if wanted:
        _move(request, ledger, kind, item, wanted)
    (total,) = request.db.execute(f"SELECT count(*) FROM note WHERE {kind.key} = ?", (item[kind.key],)).fetchone()
    pages = Pager.of(request, total, PER_PAGE, "page").pages
    query = f"?page={pages}" if pages > 1 else ""
    return redirect(f"{address(kind, project, iid)}{query}#note_{note_id}")


@site.post(f"{ITEM}/state")
@members_only
def change_state(request: Request, user: sqlite3.Row, namespace: str, path: str, segment: str, iid: int) -> Response:
    """Close an item or open it again."""
    kind, project, item = find_any_item(request, segment, namespace, path, iid)
    wanted = request.form.get("state", "")
    _require_move(request, kind, project, item, wanted)
    _move(request, Ledger(request.db, user, request.now), kind, item, wanted)
    return redirect(address(kind, project, iid))


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


@site.post(f"{ITEM}/assign_to_me")
@members_only
def assign_to_me(request: Request, user: sqlite3.Row, namespace: str, path: str, segment: str, iid: int) -> Response:
    """Make the visitor the assignee of an item, beside those it has."""
    kind, project, item = find_any_item(request, segment, namespace, path, iid)
    if not may_plan(request, kind, project):
        raise Forbidden(f"Your role in this project does not let you assign {kind.noun}s.")
    before = plan_of(request.db, kind, item)
    after = before.assigned_to(Named(user["user_id"], user["username"]))
    if Ledger(request.db, user, request.now).change(kind, item, before, after):
        request.flash(f"The {kind.noun} is assigned to you.")
    return redirect(address(kind, project, iid))


@site.post(f"{ITEM}/todo")
@members_only
def add_to_do(request: Request, user: sqlite3.Row, namespace: str, path: str, segment: str, iid: int) -> Response:
    """Put an item on the visitor's to-do list."""
    kind, project, item = find_any_item(request, segment, namespace, path, iid)
    if not _is_to_do(request, kind, item):
        Ledger(request.db, user, request.now).mark_to_do(kind, item)
    return request.redirect(address(kind, project, iid), f"The {kind.noun} is on your to-do list.")
