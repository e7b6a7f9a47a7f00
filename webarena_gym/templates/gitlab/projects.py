"""Projects: questions about them, new ones, settings, stars and forks; their members, and groups."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from webarena_gym.sites.country.names import invented
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import ME, PROJECTS, open_by_stars, open_project, project_label

PROJECTS_MADE = """SELECT namespace, name, visibility, (SELECT count(*) FROM file f JOIN branch b USING (branch_id)
    WHERE b.project_id = p.project_id) FROM project p WHERE project_id > ? ORDER BY project_id"""
INVITED = f"""SELECT m.user_id, m.role, m.expires_on FROM project_member m JOIN project p USING (project_id)
    WHERE p.project_id > ? AND m.user_id != {ME} ORDER BY m.user_id"""
DATA = "name, description, topics, visibility, is_archived, path"
STATE = f"SELECT project_id, {DATA} FROM project WHERE owner_id = {ME} ORDER BY project_id"
VISIBILITIES = ("private", "internal", "public")
TEMPLATES_OFFERED = {"Android": 3, "Plain HTML": 3, "Python package": 4, "Go service": 3, "Rust crate": 3, "Node service": 3}
"""Project templates, and how many files a project made from one has."""


def new_name(world: t.Sampler) -> str:
    """Return a name that no project has."""
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    word = invented(seed, world.rng.randrange(128), "title").lower()
    return world.rng.choice(("awesome-{}", "{}-experiments", "my-{}-tools", "{}_reading_list", "{}-archive")).format(word)


def people(world: t.Sampler, count: int) -> list[Any]:
    """Return people other than me whose name nobody else has."""
    rows = world.rows("SELECT * FROM user WHERE user_id != ? GROUP BY name HAVING count(*) = 1 ORDER BY user_id", ME)
    return sorted(world.rng.sample(rows, count), key=lambda row: int(row["user_id"]))


def new_project(name: str, visibility: str, template: str = "") -> list[Step]:
    """Return the steps into the form of a new project."""
    way = ["Create from template", f"Use {template} template"] if template else ["Create blank project"]
    return [t.click("New project"), *map(t.click, way), t.type_text("Project name", name), t.click(visibility.capitalize())]


def settings_become(world: t.Sampler, row: t.Row, **changes: Any) -> dict[str, Any]:
    """My projects must be as they are now, but for changes to one of them."""
    rows = [dict(each) for each in world.rows(STATE)]
    return t.state(
        STATE, expected=[list((each | changes if each["project_id"] == row["project_id"] else each).values()) for each in rows]
    )


def public_topics(world: t.Sampler) -> list[str]:
    """Return the topics of public projects."""
    rows = world.rows("SELECT topics FROM project WHERE visibility = 'public' ORDER BY project_id")
    return sorted({topic for row in rows for topic in row["topics"].split(", ")})


def unused_topics(world: t.Sampler, row: t.Row) -> list[str]:
    """Return the topics of projects that a project has not."""
    used = {topic for other in world.rows("SELECT topics FROM project ORDER BY project_id") for topic in other[0].split(", ")}
    return sorted(used - {"", *row["topics"].split(", ")})


CONTRIBUTED = (
    PROJECTS
    + f"""SELECT * FROM project_seen WHERE project_id IN (SELECT project_id FROM git_commit WHERE author_id = {ME})
    ORDER BY stars DESC, project_id"""
)
STARRED = f"SELECT project_id FROM star WHERE user_id = {ME} ORDER BY project_id"
FORKED = """SELECT namespace, path, forked_from_id, (SELECT count(*) FROM file f JOIN branch b USING (branch_id)
    WHERE b.project_id = p.project_id) > 0 FROM project p WHERE project_id > ? ORDER BY path, namespace"""


def starred_with(world: t.Sampler, added: list[int], removed: int = 0) -> dict[str, Any]:
    """My stars must be those that I have now, with some more, without another."""
    before = {row["project_id"] for row in world.rows(STARRED)}
    return t.state(STARRED, expected=[[number] for number in sorted((before | {*added}) - {removed})])


def star_each(rows: Sequence[t.Row]) -> list[Step]:
    """Return the steps that star projects, each out of the list of all."""
    return [step for row in rows for step in (*open_by_stars(), t.click(project_label(row)), t.click("Star"))]


def free_to_fork(world: t.Sampler, namespace: str) -> list[t.Row]:
    """Return the projects of others, with unique names, that can be forked into a namespace."""
    query = f"""{PROJECTS}SELECT * FROM seen WHERE visibility = 'public' AND NOT is_mine AND path NOT IN (
            SELECT path FROM project WHERE namespace = ?
        ) ORDER BY project_id"""
    return world.rows(query, namespace)


def fork_each(rows: Sequence[t.Row]) -> list[Step]:
    """Return the steps that fork projects into my namespace."""
    return [step for row in rows for step in (*open_project(row, "Fork"), t.click("Fork project"))]


HELD = "SELECT user_id, role, expires_on FROM project_member WHERE project_id = ? ORDER BY user_id"
GIVEN_ROLES = ("Guest", "Reporter", "Developer", "Maintainer")
OTHERS = (
    PROJECTS.rstrip()
    + f""", others AS (
    SELECT m.*, k.user_id, k.role, k.expires_on, u.username, u.name AS person
    FROM mine m JOIN project_member k USING (project_id) JOIN user u USING (user_id) WHERE k.user_id != {ME}
) """
)
"""Those who are members of my own projects besides me."""


def members_become(world: t.Sampler, project_id: int, changes: dict[int, list[Any] | None]) -> dict[str, Any]:
    """The members of a project must be those it has, with these changes: role and last day by user id, None for gone."""
    members = {row["user_id"]: list(row) for row in world.rows(HELD, project_id)}
    for user_id, values in changes.items():
        members.pop(user_id, None)
        if values is not None:
            members[user_id] = [user_id, *values]
    return t.state(HELD, project_id, expected=[members[user_id] for user_id in sorted(members)])


def members_join(world: t.Sampler, row: t.Row, joining: Sequence[t.Row], role: str, expires: str | None) -> dict[str, Any]:
    """People must have become members of a project, until a day if there is one. Raises NothingToDraw where one is a member."""
    present = {member["user_id"] for member in world.rows(HELD, row["project_id"])}
    t.skip_if(any(person["user_id"] in present for person in joining), "people who are no members")
    return members_become(world, row["project_id"], {person["user_id"]: [role, expires] for person in joining})


def member_rows(joining: Sequence[t.Row], *columns: Any) -> list[list[Any]]:
    """Return a row for each person, with these values behind the number."""
    return [[person["user_id"], *columns] for person in joining]


def member_becomes(world: t.Sampler, row: t.Row, *role_and_end: Any) -> dict[str, Any]:
    """One member of a project must have this role and last day, or be gone, and the others must be as they are."""
    return members_become(world, row["project_id"], {row["user_id"]: list(role_and_end) or None})


def a_day(world: t.Sampler) -> str:
    """Return a day within a year from now."""
    today = date.fromisoformat(world.value("SELECT date(value) FROM world WHERE key = 'now'"))
    return str(today + timedelta(days=world.rng.randint(20, 360)))


JOINED = f"SELECT project_id FROM project_member WHERE user_id = {ME} ORDER BY project_id"
IN_GROUP = "SELECT user_id, role, expires_on FROM group_member WHERE group_id = ? ORDER BY user_id"
GROUPS_MADE = "SELECT path, name, visibility FROM user_group WHERE group_id > ? ORDER BY group_id"
MEMBERS_MADE = "SELECT user_id, role FROM group_member WHERE group_id > ? ORDER BY user_id"


def group_name(world: t.Sampler) -> str:
    """Return a name that no group has."""
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    word = invented(seed, world.rng.randrange(128), "title").lower()
    return f"{word}-{world.rng.choice(('lab', 'team', 'circle', 'crew'))}"
