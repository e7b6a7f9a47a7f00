"""My list of things to do."""

from typing import Any

from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST
from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import PER_PAGE, PLANNING, open_item
from webarena_gym.templates.ways import instruction, question, turn_pages, visit

REASONS = {
    "mentioned": ("in which somebody mentioned me", "Mentioned"),
    "review_requested": ("that ask me for a review", "Review requested"),
    "assigned": ("that were assigned to me", "Assigned"),
}
"""Why things are on my list: how a task says it, and what the page calls it."""
TODO = f"""SELECT d.*, coalesce(i.title, r.title) AS title FROM todo d LEFT JOIN issue i USING (issue_id)
    LEFT JOIN merge_request r ON r.merge_request_id = d.merge_request_id
    WHERE d.user_id = {ME} AND d.state = 'pending' ORDER BY d.created_at DESC, todo_id DESC"""


def todos_place(world: t.Sampler) -> t.Draw:
    """Open the part of my to-do list that has one reason."""
    kind = world.rng.choice(list(REASONS))
    reason, label = REASONS[kind]
    return visit(
        {"reason": reason},
        f"__GITLAB__/dashboard/todos?state=pending&type={kind}",
        way=[t.click("To-Do List"), t.choose("Reason", label), t.click("Apply")],
    )


def todos_hold(world: t.Sampler, *, added: list[list[Any]] | None = None, done: int = 0) -> dict[str, Any]:
    """My pending to-dos must be those of the start, with some added and one done."""
    query = f"SELECT issue_id, merge_request_id, kind FROM todo WHERE user_id = {ME} AND state = 'pending' ORDER BY todo_id"
    rows = world.rows(query.replace("SELECT", "SELECT todo_id,", 1))
    return t.state(query, expected=[list(row)[1:] for row in rows if row["todo_id"] != done] + (added or []))


def todo_add(world: t.Sampler) -> t.Draw:
    """Add an issue or a merge request to my list that is not on it."""
    kind, view = world.rng.choice(((ISSUE, "problem"), (MERGE_REQUEST, "request")))
    row = world.pick(
        PLANNING
        + f"""SELECT * FROM {view} t WHERE state = 'opened' AND {kind.key} NOT IN (
            SELECT {kind.key} FROM todo WHERE user_id = {ME} AND state = 'pending' AND {kind.key} IS NOT NULL
        ) ORDER BY {kind.key}"""
    )
    added = [row[kind.key], None, "marked"] if kind is ISSUE else [None, row[kind.key], "marked"]
    return instruction(
        {"noun": kind.noun, "title": row["title"], "project": row["full_path"]},
        todos_hold(world, added=[added]),
        way=[*open_item(world, kind, row), t.click("Add a to do")],
    )


def todo_done(world: t.Sampler) -> t.Draw:
    """Finish something that is on my list once."""
    rows = world.rows(TODO)
    titles = [row["title"] for row in rows]
    chosen = [row for row in rows if titles.count(row["title"]) == 1 and len(row["title"]) < 60]
    if not chosen:
        raise t.NothingToDraw("something to do that is on the list once")
    row = world.rng.choice(chosen)
    turns = turn_pages(world, titles.index(row["title"]), PER_PAGE, "It is not on this page.")
    return instruction(
        {"title": row["title"]},
        todos_hold(world, done=row["todo_id"]),
        way=[t.click("To-Do List"), *turns, t.click(f"Mark as done: {row['title']}")],
    )


def review_todo_count(world: t.Sampler) -> t.Draw:
    """Count my pending to-dos of one reason; there is one draw in a world."""
    found = sum(row["kind"] == "review_requested" for row in world.rows(TODO))
    if not found:
        raise t.NothingToDraw("a review to do")
    return question(
        {},
        found,
        way=[t.click("To-Do List"), t.choose("Reason", "Review requested"), t.click("Apply")],
        seen=f"The tab says {found}.",
    )
