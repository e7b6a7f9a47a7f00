"""The ways through the code host that templates share, and the tables that they draw from."""

from datetime import date

from webarena_gym.sites.gitlab.access import VISIBLE, VISIBLE_GROUP
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.ways import turn_pages

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
"""What I can see: all projects, those whose name nobody else uses, and among these my own. is_mine: I am a member."""


def project_label(row: t.Row) -> str:
    """Return the label of the link to a project in lists."""
    return f"{row['namespace_name']} / {row['name']}"


def open_project(row: t.Row, *labels: str) -> list[Step]:
    """Return the steps to a page of a row of the projects, by the links to follow from its overview."""
    start = "Projects" if row["is_mine"] else "Explore"
    return [t.click(start), t.search("Filter by name", row["name"]), t.click(project_label(row)), *map(t.click, labels)]


def open_by_stars() -> list[Step]:
    """Return the steps to the list of all projects, the most starred first."""
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


def slashed(day: str) -> str:
    """Return a date as people type it.

    >>> slashed("2023-03-05")
    '3/5/2023'
    """
    value = date.fromisoformat(day[:10])
    return f"{value.month}/{value.day}/{value.year}"
