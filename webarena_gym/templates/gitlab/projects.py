"""Templates of projects with their members and groups, and of repositories with their branches, commits and files."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any

from webarena_gym.sites.gitlab.world_projects import licenses
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import BRANCHES_PER_PAGE, ME, PROJECTS, open_by_stars, open_project, project_label
from webarena_gym.templates.ways import turn_pages, word

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
    """Draw a name that no project has."""
    name = word(world).lower()
    return world.rng.choice(("awesome-{}", "{}-experiments", "my-{}-tools", "{}_reading_list", "{}-archive")).format(name)


def people(world: t.Sampler, count: int) -> list[Any]:
    """Return users other than the current one with unique names."""
    rows = world.rows("SELECT * FROM user WHERE user_id != ? GROUP BY name HAVING count(*) = 1 ORDER BY user_id", ME)
    return sorted(world.rng.sample(rows, count), key=lambda row: int(row["user_id"]))


def new_project(name: str, visibility: str, template: str = "") -> list[Step]:
    """Return the steps to the form of a new project."""
    way = ["Create from template", f"Use {template} template"] if template else ["Create blank project"]
    return [t.click("New project"), *map(t.click, way), t.type_text("Project name", name), t.click(visibility.capitalize())]


def settings_become(world: t.Sampler, row: t.Row, **changes: object) -> dict[str, Any]:
    """Return a check that the current user's projects have changed only in these columns of one of them."""
    rows = [dict(item) for item in world.rows(STATE)]
    return t.state(
        STATE, expected=[list((item | changes if item["project_id"] == row["project_id"] else item).values()) for item in rows]
    )


def public_topics(world: t.Sampler) -> list[str]:
    """Return the topics of public projects."""
    rows = world.rows("SELECT topics FROM project WHERE visibility = 'public' ORDER BY project_id")
    return sorted({topic for row in rows for topic in row["topics"].split(", ")})


def unused_topics(world: t.Sampler, row: t.Row) -> list[str]:
    """Return the topics that a project does not have."""
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
    """Return a check that the current user's stars are the present ones, with some added and without another."""
    before = {row["project_id"] for row in world.rows(STARRED)}
    return t.state(STARRED, expected=[[number] for number in sorted((before | {*added}) - {removed})])


def star_each(rows: Sequence[t.Row]) -> list[Step]:
    """Return the steps that star projects from the list of all projects."""
    return [step for row in rows for step in (*open_by_stars(), t.click(project_label(row)), t.click("Star"))]


def free_to_fork(world: t.Sampler, namespace: str) -> list[t.Row]:
    """Return projects of other users, with unique names, that can be forked into a namespace."""
    query = f"""{PROJECTS}SELECT * FROM seen WHERE visibility = 'public' AND NOT is_mine AND path NOT IN (
            SELECT path FROM project WHERE namespace = ?
        ) ORDER BY project_id"""
    return world.rows(query, namespace)


def fork_each(rows: Sequence[t.Row]) -> list[Step]:
    """Return the steps that fork projects into the current user's namespace."""
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
    """Return a check of a project's members with changes: role and expiration date by user id, None for removed ones."""
    members = {row["user_id"]: list(row) for row in world.rows(HELD, project_id)}
    for user_id, values in changes.items():
        members.pop(user_id, None)
        if values is not None:
            members[user_id] = [user_id, *values]
    return t.state(HELD, project_id, expected=[members[user_id] for user_id in sorted(members)])


def members_join(world: t.Sampler, row: t.Row, joining: Sequence[t.Row], role: str, expires: str | None) -> dict[str, Any]:
    """Return a check that users have become members of a project, until a date if it is given. Raises NothingToDraw if one is a member."""
    present = {member["user_id"] for member in world.rows(HELD, row["project_id"])}
    t.skip_if(any(person["user_id"] in present for person in joining), "people who are no members")
    return members_become(world, row["project_id"], {person["user_id"]: [role, expires] for person in joining})


def member_rows(joining: Sequence[t.Row], *columns: object) -> list[list[Any]]:
    """Return a row for each user: the id and the given values."""
    return [[person["user_id"], *columns] for person in joining]


def member_becomes(world: t.Sampler, row: t.Row, *role_and_end: object) -> dict[str, Any]:
    """Return a check that one member of a project has a role and expiration date, or is removed, and that others are unchanged."""
    return members_become(world, row["project_id"], {row["user_id"]: list(role_and_end) or None})


def a_day(world: t.Sampler) -> str:
    """Draw a date within a year from now."""
    today = date.fromisoformat(world.value("SELECT date(value) FROM world WHERE key = 'now'"))
    return str(today + timedelta(days=world.rng.randint(20, 360)))


JOINED = f"SELECT project_id FROM project_member WHERE user_id = {ME} ORDER BY project_id"
IN_GROUP = "SELECT user_id, role, expires_on FROM group_member WHERE group_id = ? ORDER BY user_id"
GROUPS_MADE = "SELECT path, name, visibility FROM user_group WHERE group_id > ? ORDER BY group_id"
MEMBERS_MADE = "SELECT user_id, role FROM group_member WHERE group_id > ? ORDER BY user_id"


def group_name(world: t.Sampler) -> str:
    """Draw a name that no group has."""
    return f"{word(world).lower()}-{world.rng.choice(('lab', 'team', 'circle', 'crew'))}"


BRANCHES = """SELECT b.name, (SELECT count(*) FROM commit_branch c WHERE c.branch_id = b.branch_id),
    (SELECT count(*) FROM file f WHERE f.branch_id = b.branch_id) FROM branch b WHERE b.project_id = ? ORDER BY b.name"""
TRUNK_HEAD = "SELECT title FROM git_commit JOIN branch ON head_id = commit_id WHERE branch_id = :trunk_id"
"""The title of the latest commit on the default branch of a row."""
MAY_WRITE = f"""s.project_id IN (
    SELECT project_id FROM membership WHERE user_id = {ME} AND role IN ('Developer', 'Maintainer', 'Owner')
) AND NOT s.is_archived"""
"""Holds for a project s whose files I may change."""


def branches_of(world: t.Sampler, project_id: int) -> list[list[Any]]:
    """Return the branches of a project by name, with their numbers of commits and files."""
    return [list(row) for row in world.rows(BRANCHES, project_id)]


def pick_branch(world: t.Sampler, condition: str) -> t.Row:
    """Draw a branch other than the default one, with its project, of the projects that satisfy a condition."""
    query = f"""{PROJECTS}SELECT s.*, b.name AS branch, b.branch_id, c.title, (
            SELECT count(*) FROM branch o WHERE o.project_id = s.project_id AND (o.name < b.name OR o.name = s.default_branch)
        ) AS place FROM seen s JOIN branch b USING (project_id) JOIN git_commit c ON c.commit_id = b.head_id
        WHERE b.name != s.default_branch AND ({condition}) ORDER BY b.branch_id"""
    return world.pick(query)


def open_branches(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the page of the branch list that contains a branch."""
    thought = f"{row['branch']} is not on this page."
    return [*open_project(row, "Branches"), *turn_pages(world, row["place"], BRANCHES_PER_PAGE, thought)]


def branch_appears(world: t.Sampler, row: t.Row, branch: str) -> dict[str, Any]:
    """Return a check that a project has its present branches and a new one with the files of the branch `source`."""
    before = branches_of(world, row["project_id"])
    source = next(entry for entry in before if entry[0] == row["source"])
    return t.state(BRANCHES, row["project_id"], expected=sorted([*before, [branch, *source[1:]]]))


MADE = (
    PROJECTS.rstrip()
    + """, made AS (
    SELECT s.*, c.commit_id, c.sha, c.title, c.author_name, c.author_email, c.created_at AS moment,
        date(c.created_at) AS day, substr(c.created_at, 1, 7) AS month,
        substr(c.created_at, 1, 4) AS year,
        c.commit_id IN (SELECT commit_id FROM commit_branch r WHERE r.branch_id = s.trunk_id) AS is_trunk
    FROM seen s JOIN git_commit c USING (project_id)
) """
)
"""The commits to projects that I can see; is_trunk: the default branch has it."""


def commits_of_author(world: t.Sampler, row: t.Row) -> list[t.Row]:
    """Return the commits of a project's list filtered by the author of a row, in order."""
    query = f"""{MADE}SELECT * FROM made WHERE project_id = ? AND author_name = ? AND is_trunk
        ORDER BY moment DESC, commit_id DESC"""
    return world.rows(query, row["project_id"], row["author_name"])


def open_commits_of(row: t.Row) -> list[Step]:
    """Return the steps to the commits of the author of a row."""
    return [*open_project(row, "Commits"), t.choose("Author", row["author_name"]), t.click("Filter commits")]


def fitting(world: t.Sampler, row: t.Row, column: str) -> dict[str, Any]:
    """Return the commits of a row's author in the row's day, month or year: the index of the last one, the hashes, the title of the
    latest one, and the number of all commits.
    """
    commits = commits_of_author(world, row)
    places = [place for place, commit in enumerate(commits) if commit[column] == row[column]]
    hashes = [commits[place]["sha"][:8] for place in places]
    return {"last": places[-1], "hashes": hashes, "latest": commits[places[0]]["title"], "all": len(commits)}


def month_of(day: str) -> str:
    """Return the month of a date in words."""
    return f"{date.fromisoformat(day):%B %Y}"


def two_by_total(world: t.Sampler) -> list[t.Row]:
    """Draw a number of commits, and two contributors of one project who have made that number together. Raises NothingToDraw."""
    query = f"""{MADE}SELECT *, count(*) AS found FROM made WHERE is_trunk GROUP BY project_id, author_email
        ORDER BY project_id, author_email"""
    pairs: dict[int, list[tuple[t.Row, t.Row]]] = {}
    for _, rows in groupby(world.rows(query), key=itemgetter("project_id")):
        people = list(rows)
        if len(people) > 2 and len({row["author_name"] for row in people}) == len(people):
            for one, other in combinations(people, 2):
                pairs.setdefault(one["found"] + other["found"], []).append((one, other))
    return world.rng.sample(world.rng.choice(pairs[world.rng.choice(sorted(pairs))]), 2)


def most_active(world: t.Sampler, least: int) -> list[t.Row]:
    """Draw a project with at least `least` contributors to its default branch, and return them by decreasing number of commits."""
    query = f"""{MADE}SELECT project_id FROM made WHERE is_trunk GROUP BY project_id
        HAVING count(DISTINCT author_email) >= ? AND count(DISTINCT author_name) = count(DISTINCT author_email)
        ORDER BY project_id"""
    project = world.pick(query, least)
    query = f"""{MADE}SELECT *, count(*) AS found, max(moment) AS last FROM made WHERE is_trunk AND project_id = ?
        GROUP BY author_email ORDER BY found DESC, author_name"""
    return world.rows(query, project["project_id"])


def top(world: t.Sampler, count: int) -> list[t.Row]:
    """Draw a project and return its contributors by number of commits, the first `count` of which are without ties. Raises NothingToDraw."""
    rows = most_active(world, count + 1)
    numbers = [row["found"] for row in rows[: count + 1]]
    t.skip_if(len(numbers) != len({*numbers}), "a project whose most active contributors have different numbers of commits")
    return rows


FILES = "SELECT path, trim(content, char(10)) FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ? ORDER BY path"
FOLDERS = ("minutes", "archive", "drafts", "letters", "plans", "lists")
FILE_NAMES = ("summary.txt", "agenda.md", "contacts.txt", "remarks.md", "ideas.txt", "urls.txt")


def missing_branch(world: t.Sampler) -> str:
    """Draw a name that no branch has."""
    return f"{world.rng.choice(('fix', 'try', 'new'))}-{word(world).lower()}"


def license_text(world: t.Sampler, name: str) -> str:
    """Return the text of a license with the current user's name."""
    me = world.value("SELECT name FROM user WHERE user_id = ?", ME)
    year = world.value("SELECT substr(value, 1, 4) FROM world WHERE key = 'now'")
    return str(licenses()[name].replace("@y@", year).replace("@a@", me))


def click_path(path: str) -> list[Step]:
    """Return the steps through the folders of a path to its file."""
    return [t.click(part) for part in path.split("/")]


def files_become(world: t.Sampler, row: t.Row, changes: Mapping[str, str | None]) -> dict[str, Any]:
    """Return a check that the default branch has its files with these changes (None: removed); trailing spaces are ignored."""
    branch = row["default_branch"]
    files = {entry[0]: entry[1] for entry in world.rows(FILES, row["project_id"], branch)}
    for path, content in changes.items():
        files.pop(path, None)
        if content is not None:
            files[path] = content.strip("\n")
    return t.state(FILES, row["project_id"], branch, expected=[[path, files[path]] for path in sorted(files)])


def file_becomes(world: t.Sampler, row: t.Row, path: str, text: str | None = None) -> dict[str, Any]:
    """Return a check that one file of the default branch has a text, or is removed, and that others are unchanged."""
    return files_become(world, row, {path: text})


def open_file(row: t.Row, path: str) -> list[Step]:
    """Return the steps to a file on the default branch."""
    return [*open_project(row), *click_path(path)]


def writable(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw a project that the current user may change."""
    return world.pick(PROJECTS + f"SELECT s.* FROM seen s WHERE {MAY_WRITE} AND ({condition}) ORDER BY project_id")
