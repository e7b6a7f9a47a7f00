"""Merge requests to make, to talk about, to close and to merge."""

from typing import Any

from webarena_gym.sites.gitlab.planning import MERGE_REQUEST
from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import (
    DEVELOPER,
    MAINTAINER,
    PER_PAGE,
    PLANNING,
    SPOKEN,
    entry,
    find_topic,
    item_url,
    new_rows,
    next_iid,
    open_item,
    open_list,
    option,
    people_of,
)
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction, turn_pages

MINE = f"rank >= {DEVELOPER} AND NOT is_archived"
WORDS = (
    "Good idea",
    "Thanks, I am on it",
    "Please rebase this first",
    "Can we merge this today?",
    "Nice work, just one test is missing",
)

REVIEWED = """SELECT iid, (SELECT group_concat(username) FROM (
    SELECT username FROM merge_request_reviewer r JOIN user USING (user_id)
    WHERE r.merge_request_id = merge_request.merge_request_id ORDER BY username
)) FROM merge_request WHERE project_id = ? ORDER BY iid"""
MERGEABLE = (
    PLANNING
    + f"""SELECT * FROM request r
    WHERE state = 'opened' AND NOT is_draft AND NOT is_archived AND rank >= {MAINTAINER} AND NOT EXISTS (
        SELECT 1 FROM branch s JOIN commit_branch c USING (branch_id) JOIN file_change f USING (commit_id)
            JOIN branch t ON t.project_id = s.project_id AND t.name = r.target_branch
            JOIN commit_branch d ON d.branch_id = t.branch_id
            JOIN file_change g ON g.commit_id = d.commit_id AND g.path = f.path
        WHERE s.project_id = r.project_id AND s.name = r.source_branch
            AND NOT EXISTS (SELECT 1 FROM commit_branch x WHERE x.branch_id = t.branch_id AND x.commit_id = c.commit_id)
            AND NOT EXISTS (SELECT 1 FROM commit_branch x WHERE x.branch_id = s.branch_id AND x.commit_id = d.commit_id)
    ) ORDER BY merge_request_id"""
)
"""The requests that nothing is in the way of: their files are as their branches found them, and I may merge them."""
STATES = "SELECT iid, state FROM merge_request WHERE project_id = ? ORDER BY iid"


def request_create(world: t.Sampler) -> t.Draw:
    """Open a merge request between two branches, with a reviewer."""
    row = world.pick(
        PLANNING
        + f"""SELECT place.*, b.name AS source, c.name AS target
        FROM place JOIN branch b USING (project_id) JOIN branch c USING (project_id)
        WHERE {MINE} AND b.name != place.default_branch AND c.name != b.name AND NOT EXISTS (
            SELECT 1 FROM merge_request r WHERE r.project_id = place.project_id AND r.source_branch = b.name
                AND r.target_branch = c.name AND r.state = 'opened'
        ) ORDER BY project_id, source, target"""
    )
    others = people_of(world, row["project_id"])
    if not others:
        raise t.NothingToDraw("somebody to ask for a review")
    person = world.rng.choice(others)
    iid = next_iid(world, "merge_request", row["project_id"])
    columns = """project_id, iid, source_branch, target_branch, state,
        (SELECT group_concat(username) FROM merge_request_reviewer r JOIN user USING (user_id)
            WHERE r.merge_request_id = t.merge_request_id)"""
    expected = [[row["project_id"], iid, row["source"], row["target"], "opened", person["username"]]]
    return instruction(
        {"project": row["full_path"], "source": row["source"], "target": row["target"], "person": person["name"]},
        t.all_of(t.at_url(item_url(MERGE_REQUEST, row, iid)), new_rows(world, "merge_request", columns, expected)),
        way=[
            *open_list(MERGE_REQUEST, row),
            t.click("New merge request"),
            t.choose("Source branch", row["source"]),
            t.choose("Target branch", row["target"]),
            t.click("Compare branches and continue"),
            t.choose("Reviewer", option(person)),
            t.click("Create merge request"),
        ],
    )


def comment_is(world: t.Sampler, row: t.Row, body: str) -> dict[str, Any]:
    """The one new comment must be this one, on that merge request and by me; a full stop more or less does not matter."""
    columns = "merge_request_id, author_id, rtrim(lower(trim(body)), '.! ')"
    return new_rows(world, "note", columns, [[row["merge_request_id"], ME, body.lower().rstrip(".! ")]], SPOKEN)


def request_comment(world: t.Sampler) -> t.Draw:
    """Comment on a merge request, by what it is about."""
    rows = world.rows(PLANNING + "SELECT * FROM request WHERE NOT is_archived ORDER BY merge_request_id")
    row, topic = find_topic(world, MERGE_REQUEST, rows)
    words = world.rng.choice(WORDS)
    return instruction(
        {"words": words, "topic": topic, "project": row["full_path"]},
        comment_is(world, row, words),
        way=[
            *open_item(world, MERGE_REQUEST, row, f"Only this one is about {topic}."),
            t.type_text("Write a comment", words),
            t.click("Comment"),
        ],
    )


def review_reply(world: t.Sampler) -> t.Draw:
    """Thank or remind the author of a request that I have to review."""
    rows = world.rows(
        PLANNING
        + f"""SELECT request.*, (
            SELECT author_id FROM note n WHERE n.merge_request_id = request.merge_request_id AND NOT n.is_system
            ORDER BY created_at DESC, note_id DESC LIMIT 1
        ) AS last_id FROM request JOIN merge_request_reviewer r USING (merge_request_id)
        WHERE r.user_id = {ME} AND state = 'opened' AND NOT is_archived ORDER BY created_at DESC, merge_request_id DESC"""
    )
    row, topic = find_topic(world, MERGE_REQUEST, [row for row in rows if row["last_id"] and row["author_id"] != ME])
    if sum(topic.removeprefix("the ") in other["title"].lower() for other in rows) > 1:
        raise t.NothingToDraw("a topic that one of my reviews alone is about")
    is_answered = row["last_id"] == row["author_id"]
    reply = "Thank you" if is_answered else f"@{row['author_username']}"
    turns = turn_pages(world, rows.index(row), PER_PAGE, f"None of these is about {topic}.")
    return instruction(
        {"topic": topic},
        comment_is(world, row, reply),
        way=[
            t.click("Review requests"),
            *turns,
            t.click(entry(row["title"])),
            t.type_text(
                "Write a comment", reply, f"{row['author']} wrote {'the last comment' if is_answered else 'no answer'}."
            ),
            t.click("Comment"),
        ],
    )


def value_holds(world: t.Sampler, query: str, row: t.Row, value: str) -> dict[str, Any]:
    """A query over a project's merge requests must give a value for this one, and for the others what it gave at the start."""
    expected = [[iid, value if iid == row["iid"] else old] for iid, old in world.rows(query, row["project_id"])]
    return t.state(query, row["project_id"], expected=expected)


def request_reviewer(world: t.Sampler) -> t.Draw:
    """Set the reviewer of a request that has none."""
    row = world.pick(
        PLANNING
        + f"""SELECT * FROM request WHERE state = 'opened' AND {MINE}
        AND merge_request_id NOT IN (SELECT merge_request_id FROM merge_request_reviewer) ORDER BY merge_request_id"""
    )
    others = [person for person in people_of(world, row["project_id"]) if person["user_id"] != row["author_id"]]
    if not others:
        raise t.NothingToDraw("somebody to ask for a review")
    person = world.rng.choice(others)
    return instruction(
        {"person": person["name"], "title": row["title"], "project": row["full_path"]},
        value_holds(world, REVIEWED, row, person["username"]),
        way=[
            *open_item(world, MERGE_REQUEST, row),
            t.click("Edit merge request"),
            t.choose("Reviewer", option(person)),
            t.click("Save changes"),
        ],
    )


request_close = Change(
    PLANNING + f"SELECT * FROM request WHERE state = 'opened' AND {MINE} ORDER BY merge_request_id",
    lambda world, row: value_holds(world, STATES, row, "closed"),
    way=lambda world, row: [*open_item(world, MERGE_REQUEST, row), t.click("Close merge request")],
    slots={"project": "{full_path}"},
)


request_merge = Change(
    MERGEABLE,
    lambda world, row: value_holds(world, STATES, row, "merged"),
    way=lambda world, row: [*open_item(world, MERGE_REQUEST, row), t.click("Merge")],
    slots={"project": "{full_path}"},
)
