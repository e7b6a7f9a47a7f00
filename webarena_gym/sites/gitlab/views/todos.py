"""The visitor's list of things to do."""

import sqlite3

from werkzeug.exceptions import NotFound

from webarena_gym.sites.gitlab.access import VISIBLE
from webarena_gym.sites.gitlab.base import members_only, site
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response

PLACE = "/dashboard/todos"
PER_PAGE = 20
STATES = (("pending", "To Do"), ("done", "Done"))
REASONS = {
    "": "Any reason",
    "assigned": "Assigned",
    "review_requested": "Review requested",
    "mentioned": "Mentioned",
    "marked": "Added by me",
}
TODOS = f"""
    SELECT d.*, 'issues' AS segment, '#' || t.iid AS sign, t.iid, t.title, t.state AS item_state, t.project_id
    FROM todo d JOIN issue t USING (issue_id) WHERE {VISIBLE_ITEM[ISSUE]}
    UNION ALL
    SELECT d.*, 'merge_requests', '!' || t.iid, t.iid, t.title, t.state, t.project_id
    FROM todo d JOIN merge_request t USING (merge_request_id)
"""


@site.get(PLACE)
@members_only
def todos(request: Request, user: sqlite3.Row) -> str:
    """Show what there is to do, or what was done, the newest first."""
    state = "done" if request.args.get("state") == "done" else "pending"
    reason = request.args.get("type", "")
    reason = reason if reason in REASONS else ""
    request.shows({"state": None if state == "pending" else state, "type": reason})
    bound = {"me": user["user_id"], "reason": reason}
    found = f"""FROM ({TODOS}) d JOIN project p USING (project_id) JOIN user author ON author.user_id = d.author_id
        WHERE d.user_id = :me AND {VISIBLE} AND :reason IN (d.kind, '')"""
    counts: dict[str, int] = dict(request.db.execute(f"SELECT d.state, count(*) {found} GROUP BY d.state", bound).fetchall())
    pager = Pager.of(request, counts.get(state, 0), PER_PAGE, "page")
    rows = request.db.execute(
        f"""SELECT d.*, p.namespace || '/' || p.path AS full_path, author.name, author.username {found} AND d.state = :state
        ORDER BY d.created_at DESC, d.todo_id DESC LIMIT :limit OFFSET :first""",
        {**bound, "state": state, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    kept = f"&type={reason}" if reason else ""
    tabs = [(f"{PLACE}?state={value}{kept}", label, counts.get(value, 0), value == state) for value, label in STATES]
    return request.render("todos.html", todos=rows, pager=pager, tabs=tabs, state=state, reason=reason, reasons=REASONS)


@site.post(f"{PLACE}/<int:todo_id>")
@members_only
def change_todo(request: Request, user: sqlite3.Row, todo_id: int) -> Response:
    """Mark a thing as done, or put it back on the list."""
    state = "pending" if request.form.get("state") == "pending" else "done"
    changed = request.db.execute(
        "UPDATE todo SET state = ? WHERE todo_id = ? AND user_id = ?", (state, todo_id, user["user_id"])
    ).rowcount
    if not changed:
        raise NotFound
    return request.redirect(
        PLACE if state == "done" else f"{PLACE}?state=done", "Marked as done." if state == "done" else "Back on the list."
    )


@site.post(f"{PLACE}/all_done")
@members_only
def finish_todos(request: Request, user: sqlite3.Row) -> Response:
    """Mark everything as done."""
    request.db.execute("UPDATE todo SET state = 'done' WHERE user_id = ?", (user["user_id"],))
    return request.redirect(PLACE, "Everything is marked as done.")
