"""The code host: queries of its templates, paths of solutions, and checks of added rows."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from webarena_gym.pages.reading import MAX_LABEL, single_line
from webarena_gym.sites.gitlab.planning import ISSUE, MERGE_REQUEST, VISIBLE_ITEM, ItemKind
from webarena_gym.sites.gitlab.queries import VISIBLE, VISIBLE_GROUP
from webarena_gym.sites.gitlab.site import BRAND
from webarena_gym.sites.gitlab.world_projects import ROLES, pools
from webarena_gym.sites.prose.issues import parts_of_programs
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import turn_pages

TEXTS = read_texts("gitlab")

ME = 1  # the person who is signed in when a task starts
PROJECTS_PER_PAGE = 20
COMMITS_PER_PAGE = 40
BRANCHES_PER_PAGE = 20
GROUPS_PER_PAGE = 20
GROUP_SEEN = VISIBLE_GROUP.replace(":me", str(ME))
"""Holds for a group g that I can see."""

PROJECTS = f"""
WITH me(id) AS (VALUES ({ME})), project_seen AS (
    SELECT p.*, p.namespace || '/' || p.path AS full_path,
        coalesce((SELECT name FROM user_group g WHERE g.group_id = p.group_id),
            (SELECT name FROM user u WHERE u.user_id = p.owner_id)) AS namespace_name,
        (SELECT count(*) FROM star s WHERE s.project_id = p.project_id) AS stars,
        (SELECT count(*) FROM project f WHERE f.forked_from_id = p.project_id) AS forks,
        p.project_id IN (SELECT project_id FROM membership WHERE user_id = {ME}) AS is_mine,
        (SELECT branch_id FROM branch b WHERE b.project_id = p.project_id AND b.name = p.default_branch) AS trunk_id
    FROM project p WHERE {VISIBLE.replace(":me", str(ME))}
), seen AS (
    SELECT * FROM project_seen WHERE name IN (SELECT name FROM project GROUP BY name HAVING count(*) = 1)
), mine AS (SELECT * FROM seen WHERE owner_id = {ME} AND NOT is_archived)
"""
"""Queries of the projects that I can see: all, those whose name nobody else uses, and among these my own. is_mine: I am a member."""


def project_label(row: t.Row) -> str:
    """Return the label of the link to a project in lists."""
    return f"{row['namespace_name']} / {row['name']}"


def open_project(row: t.Row, *labels: str) -> list[Step]:
    """Return the steps to a page of a project, by the labels of the links from its overview."""
    start = "Projects" if row["is_mine"] else "Explore"
    return [t.click(start), t.search("Filter by name", row["name"]), t.click(project_label(row)), *map(t.click, labels)]


def open_by_stars() -> list[Step]:
    """Return the steps to the list of all projects, sorted by stars."""
    return [t.click("Explore"), t.choose("Sort by", "Most stars"), t.click("Apply")]


def open_group(world: t.Sampler, name: str) -> list[Step]:
    """Return the steps to a group's page, by its name."""
    names = [
        row["name"] for row in world.rows(f"SELECT name FROM user_group g WHERE {GROUP_SEEN} ORDER BY name COLLATE NOCASE")
    ]
    thought = f"{name} is not on this page."
    return [
        t.click("Explore"),
        t.click("All groups"),
        *turn_pages(world, names.index(name), GROUPS_PER_PAGE, thought),
        t.click(name),
    ]


def slash_date(day: str) -> str:
    """Return a date as month/day/year without leading zeros.

    >>> slash_date("2023-03-05")
    '3/5/2023'
    """
    value = date.fromisoformat(day[:10])
    return f"{value.month}/{value.day}/{value.year}"


SEARCH_BOX = f"Search {BRAND}"
PER_PAGE = 20  # issues or merge requests on one page of the plain layout
GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = range(1, len(ROLES) + 1)

_RANK = " ".join(f"WHEN '{role}' THEN {place}" for place, role in enumerate(ROLES, 1))
PLANNING = f"""
WITH place AS (
    SELECT p.*, p.namespace || '/' || p.path AS full_path,
        coalesce((SELECT name FROM user_group g WHERE g.group_id = p.group_id),
            (SELECT name FROM user WHERE user_id = p.owner_id)) AS namespace_name,
        coalesce((SELECT max(CASE role {_RANK} END) FROM membership m
            WHERE m.project_id = p.project_id AND m.user_id = :me), 0) AS rank
    FROM project p WHERE {VISIBLE}
), problem AS (
    SELECT t.*, place.full_path, place.path, place.name, place.namespace_name, place.rank, place.is_archived, u.name AS author
    FROM issue t JOIN place USING (project_id) JOIN user u ON u.user_id = t.author_id WHERE {VISIBLE_ITEM[ISSUE]}
), request AS (
    SELECT t.*, place.full_path, place.path, place.name, place.namespace_name, place.rank, place.is_archived,
        u.name AS author, u.username AS author_username
    FROM merge_request t JOIN place USING (project_id) JOIN user u ON u.user_id = t.author_id
) """.replace(":me", str(ME))
"""The projects (`place`), issues (`problem`) and merge requests (`request`) that I can see; `rank` is my role there."""

_VIEWS = {ISSUE: "problem", MERGE_REQUEST: "request"}
_TABS = {"opened": "Open", "merged": "Merged", "closed": "Closed"}


def entry(text: str) -> str:
    """Return the label of a link with a text; long texts are cut."""
    return single_line(text, MAX_LABEL)


def find_project(row: t.Row) -> list[Step]:
    """Return the steps to a project from any page. The row has the columns path, name and namespace_name."""
    return [t.search(SEARCH_BOX, row["path"]), t.click(entry(project_label(row)))]


def open_list(kind: ItemKind, row: t.Row) -> list[Step]:
    """Return the steps to the open issues or merge requests of a row's project."""
    return [*find_project(row), t.click("Issues" if kind is ISSUE else "Merge requests")]


def open_item(world: t.Sampler, kind: ItemKind, row: t.Row, thought: str = "") -> list[Step]:
    """Return the steps to the page of an issue or merge request, a row of PLANNING."""
    state_tab = [] if row["state"] == "opened" else [t.click(_TABS[row["state"]], "It is not among the open ones.")]
    query = f"""{PLANNING}SELECT {kind.key} AS item_id FROM {_VIEWS[kind]} WHERE project_id = ? AND state = ?
        ORDER BY created_at DESC, item_id DESC"""
    others = world.rows(query, row["project_id"], row["state"])
    place = [other["item_id"] for other in others].index(row[kind.key])
    turns = turn_pages(world, place, PER_PAGE, "It is not on this page.")
    return [*open_list(kind, row), *state_tab, *turns, t.click(entry(row["title"]), thought)]


def open_person(name: str) -> list[Step]:
    """Return the steps to a user's profile."""
    return [t.search(SEARCH_BOX, name), t.click("Users"), t.click(name)]


def open_settings(*labels: str) -> list[Step]:
    """Return the steps to a page of the current user's settings."""
    return [t.click("Preferences"), *map(t.click, labels)]


def next_iid(world: t.Sampler, table: str, project_id: int) -> int:
    """Return the number of the next issue or merge request of a project."""
    return int(world.value(f"SELECT coalesce(max(iid), 0) + 1 FROM {table} WHERE project_id = ?", project_id))


def topics_known() -> dict[str, str]:
    """Return the topics of issues and merge requests, each with the words that name it in titles."""
    known = pools()
    topics = {f"the {word}": word for word in known["components"]}
    topics |= {word: word for word in (*known["bug_objects"], *known["feature_objects"])}
    return topics | {f"the {part}": part for part in parts_of_programs()}  # what issues of large worlds are about


def absent_topic(world: t.Sampler, row: t.Row) -> str:
    """Draw a topic that no issue of a project mentions. Raises NothingToDraw."""
    query = "SELECT lower(title || ' ' || description) FROM issue WHERE project_id = ? ORDER BY iid"
    texts = [text for (text,) in world.rows(query, row["project_id"])]
    return world.rng.choice([topic for topic, words in topics_known().items() if not any(words in text for text in texts)])


def about(world: t.Sampler, kind: ItemKind, query: str) -> dict[str, Any]:
    """Draw an item of a query, and its `topic`, which no other item of its project mentions. Raises NothingToDraw."""
    topics, rows = topics_known(), world.rows(query)
    for row in world.rng.sample(rows, len(rows)):
        others = world.rows(f"SELECT title FROM {kind.table} WHERE project_id = ? ORDER BY iid", row["project_id"])
        titles = [item["title"].lower() for item in others]
        matching = [topic for topic, word in topics.items() if word in row["title"].lower()]
        single = [topic for topic in matching if sum(topics[topic] in title for title in titles) == 1]
        if single:
            return {**dict(row), "topic": world.rng.choice(single)}
    raise t.NothingToDraw("an item that is the only one of its project about something")


def people_of(world: t.Sampler, project_id: int) -> list[t.Row]:
    """Return the members of a project except the current user, by name."""
    query = f"""SELECT user_id, username, name FROM user WHERE user_id IN (SELECT user_id FROM membership WHERE project_id = ?)
        AND user_id != {ME} ORDER BY name"""
    return world.rows(query, project_id)


def option(person: t.Row) -> str:
    """Return the label of a user in lists of users."""
    return f"{person['name']} (@{person['username']})"


SPOKEN = "NOT is_system"
"""The condition for notes written by users; system notes record actions, including those that were undone."""


def new_rows(world: t.Sampler, table: str, columns: str, expected: list[list[Any]], condition: str = "1") -> dict[str, Any]:
    """Return a check that the rows added to a table, among those that satisfy a condition, have these values."""
    key = f"{table}_id"
    last = world.value(f"SELECT coalesce(max({key}), 0) FROM {table}")
    query = f"SELECT {columns} FROM {table} t WHERE {key} > ? AND {condition} ORDER BY {key}"
    return t.state(query, last, expected=expected)


def value_holds(world: t.Sampler, query: str, row: t.Row, value: object, numbers: Sequence[int] = ()) -> dict[str, Any]:
    """Return a check of a query over a project's items: it must return a value for the given items, and its present values for others."""
    target = numbers or [row["iid"]]
    expected = [[iid, value if iid in target else old] for iid, old in world.rows(query, row["project_id"])]
    return t.state(query, row["project_id"], expected=expected)
