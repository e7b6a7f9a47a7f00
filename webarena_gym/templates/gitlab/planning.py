"""Templates of issues, merge requests, reviews, people, to-do items and settings."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from webarena_gym.sites.gitlab.planning import SORTS
from webarena_gym.sites.gitlab.site import day_label
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import (
    DEVELOPER,
    MAINTAINER,
    ME,
    PER_PAGE,
    PLANNING,
    REPORTER,
    SPOKEN,
    entry,
    find_project,
    new_rows,
    open_person,
    option,
    people_of,
    value_holds,
)
from webarena_gym.templates.ways import my_name

MINE = f"rank >= {REPORTER} AND NOT is_archived"


def today(world: t.Sampler) -> date:
    """Return the current date of the world."""
    return date.fromisoformat(world.value("SELECT date(value) FROM world WHERE key = 'now'"))


def issue_rows(world: t.Sampler, expected: list[list[object]]) -> dict[str, object]:
    """Return a check of the added issues: project, number, title, due date, state and usernames of assignees."""
    columns = """project_id, iid, title, due_on, state,
        (SELECT group_concat(username) FROM issue_assignee a JOIN user USING (user_id) WHERE a.issue_id = t.issue_id)"""
    return new_rows(world, "issue", columns, expected)


def anybody(world: t.Sampler, row: t.Row, share: float) -> dict[str, Any]:
    """Draw another member of a project with a probability, or else the current user, and the step that assigns an issue in its form."""
    others = people_of(world, row["project_id"])
    if others and world.rng.random() < share:
        person = world.rng.choice(others)
        return {**dict(person), "is_other": True, "steps": [t.choose("Assignee", option(person))]}
    return {"name": "me", "username": my_name(world), "is_other": False, "steps": [t.click("Assign to me")]}


ORDERS = {
    "the oldest first": "created_asc",
    "the most recently updated first": "updated_desc",
    "the one that was left alone longest first": "updated_asc",
    "those that are due soonest first": "due_date",
}
"""Orders of a list that are not the usual one."""


def own_words(world: t.Sampler) -> list[str]:
    """Return the longer words in the titles of the current user's issues."""
    titles = world.rows(PLANNING + f"SELECT title FROM problem WHERE author_id = {ME} ORDER BY issue_id")
    return sorted({word for (title,) in titles for word in title.lower().split() if len(word) > 4 and word.isalpha()})


def sort_label(sort: str) -> str:
    """Return the label of a sort order of the list."""
    return SORTS[sort][0]


def closed_tab(row: t.Row) -> list[Step]:
    """Return the step to the closed milestones if the list contains a closed one."""
    return [t.click("Closed", "It is not among the open ones.")] if row["state"] == "closed" else []


OPEN_ONES = PLANNING + f"SELECT * FROM problem WHERE state = 'opened' AND {MINE} ORDER BY issue_id"
ASSIGNED = """SELECT iid, (SELECT group_concat(username) FROM (
    SELECT username FROM issue_assignee a JOIN user USING (user_id) WHERE a.issue_id = issue.issue_id ORDER BY username
)) FROM issue WHERE project_id = ? ORDER BY iid"""
LABELLED = """SELECT iid, (SELECT group_concat(name) FROM (
    SELECT name FROM issue_label l JOIN label USING (label_id) WHERE l.issue_id = issue.issue_id ORDER BY name
)) FROM issue WHERE project_id = ? ORDER BY iid"""


def names_hold(world: t.Sampler, query: str, row: t.Row, names: list[str]) -> dict[str, Any]:
    """Return a check that ASSIGNED or LABELLED returns these names for an issue, and its present names for the project's other issues."""
    return value_holds(world, query, row, ",".join(sorted(names)) or None)


def names_of(world: t.Sampler, query: str, row: t.Row) -> list[str]:
    """Return the names of ASSIGNED or LABELLED for an issue."""
    names = next(names for iid, names in world.rows(query, row["project_id"]) if iid == row["iid"])
    return names.split(",") if names else []


def in_turn(rows: Sequence[t.Row], label: str, choice: str, change: str) -> list[Step]:
    """Return the steps that open issues of a filtered list, one after the other, and change each."""
    steps = find_project(rows[0])
    for row in rows:
        steps += [t.click("Issues"), t.choose(label, choice), t.click("Apply"), t.click(entry(row["title"])), t.click(change)]
    return steps


MERGEABLE_BY_ME = f"rank >= {DEVELOPER} AND NOT is_archived"

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


def comment_is(world: t.Sampler, row: t.Row, body: str) -> dict[str, Any]:
    """Return a check that the only new comment is by the current user on a merge request, with this text; a final full stop is optional."""
    columns = "merge_request_id, author_id, rtrim(lower(trim(body)), '.! ')"
    return new_rows(world, "note", columns, [[row["merge_request_id"], ME, body.lower().rstrip(".! ")]], SPOKEN)


REVIEWS = (
    PLANNING
    + f"""SELECT request.*, row_number() OVER (ORDER BY request.created_at DESC, merge_request_id DESC) - 1 AS place, (
        SELECT author_id FROM note n WHERE n.merge_request_id = request.merge_request_id AND NOT n.is_system
        ORDER BY created_at DESC, note_id DESC LIMIT 1
    ) AS last_id FROM request JOIN merge_request_reviewer r USING (merge_request_id)
    WHERE r.user_id = {ME} AND state = 'opened' AND NOT is_archived"""
)
"""The requests that I have to review, with their place in the list and whoever wrote the last comment."""


def both_ends(rows: Sequence[t.Row], end: str) -> list[t.Row]:
    """Return the newest and the oldest merge request of a page, the requested one first. They must have different authors."""
    is_unfit = not 2 <= len(rows) <= PER_PAGE or rows[0]["author"] == rows[-1]["author"]
    t.skip_if(is_unfit, "two merge requests of different people that are mine to handle")
    return [rows[0], rows[-1]] if end == "newest" else [rows[-1], rows[0]]


FOLLOWED = f"SELECT followed_id FROM follow WHERE follower_id = {ME} ORDER BY followed_id"


def follow_each(names: Sequence[str]) -> list[Step]:
    """Return the steps that follow users, one after the other."""
    return [step for name in names for step in (*open_person(name), t.click("Follow"))]


def mix_names(one: str, two: str) -> str:
    """Return a name with the first word of one name and the last word of another."""
    return f"{one.split(maxsplit=1)[0]} {two.rsplit(maxsplit=1)[-1]}"


TODO = f"""SELECT d.*, coalesce(i.title, r.title) AS title FROM todo d LEFT JOIN issue i USING (issue_id)
    LEFT JOIN merge_request r ON r.merge_request_id = d.merge_request_id
    WHERE d.user_id = {ME} AND d.state = 'pending' ORDER BY d.created_at DESC, todo_id DESC"""


def todos_hold(world: t.Sampler, *, added: list[list[Any]] | None = None, done: int = 0) -> dict[str, Any]:
    """Return a check that the current user's pending to-dos are the present ones, with some added and one done."""
    query = f"SELECT issue_id, merge_request_id, kind FROM todo WHERE user_id = {ME} AND state = 'pending' ORDER BY todo_id"
    rows = world.rows(query.replace("SELECT", "SELECT todo_id,", 1))
    return t.state(query, expected=[list(row)[1:] for row in rows if row["todo_id"] != done] + (added or []))


PROFILE = ("name", "bio", "website", "location", "job_title", "organization", "pronouns", "status_message", "is_busy")
"""The columns of a profile; emoji are left to taste."""

JOBS = ("Release manager", "Data engineer", "Technical lead", "Accessibility expert", "Compiler writer", "Security analyst")
SITES = ("helloworld.xyz", "egg-tart.example.com", "my-notes.example.org", "blue-bicycle.net", "garden-of-code.dev")
SNIPPETS = (
    ("Clean up merged branches", "clean.sh", "git branch --merged | grep -v main | xargs git branch -d"),
    ("Find large files", "large.sh", "find . -size +10M -print"),
    ("Read lines lazily", "lines.py", "for line in open(path): print(line.rstrip())"),
    ("Center a box", "center.css", ".box { margin: 0 auto; }"),
)
TOKENS = f"SELECT name FROM access_token WHERE user_id = {ME} AND NOT is_revoked ORDER BY name"


def profile_holds(world: t.Sampler, **changed: object) -> dict[str, Any]:
    """Return a check that the current user's profile has changed only in these columns. Websites may start with or without https://."""
    site = "rtrim(replace(replace(website, 'https://', ''), 'http://', ''), '/')"
    columns = ", ".join(site if name == "website" else name for name in PROFILE)
    query = f"SELECT {columns} FROM user WHERE user_id = {ME}"
    before = dict(zip(PROFILE, world.rows(query)[0], strict=True))
    return t.state(query, expected=[list((before | changed).values())])
