"""Pages to open, and projects to make, change and close."""

from typing import Any

from webarena_gym.sites.country.words import invented
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.routes import ME, PROJECTS, open_project
from webarena_gym.templates.rows import Change, Visit
from webarena_gym.templates.ways import instruction, visit

MADE = """SELECT namespace, name, visibility, (SELECT count(*) FROM file f JOIN branch b USING (branch_id)
    WHERE b.project_id = p.project_id) FROM project p WHERE project_id > ? ORDER BY project_id"""
INVITED = f"""SELECT m.user_id, m.role, m.expires_on FROM project_member m JOIN project p USING (project_id)
    WHERE p.project_id > ? AND m.user_id != {ME} ORDER BY m.user_id"""
DATA = "name, description, topics, visibility, is_archived, path"
STATE = f"SELECT project_id, {DATA} FROM project WHERE owner_id = {ME} ORDER BY project_id"
VISIBILITIES = ("private", "internal", "public")
LISTS: dict[str, tuple[str, list[Step]]] = {
    "Show me all public projects": ("explore", [t.click("Explore")]),
    "Show me the groups that are on this site": ("explore/groups", [t.click("Explore"), t.click("All groups")]),
    "Show me the groups that I am in": ("dashboard/groups", [t.click("Groups")]),
    "Show me the projects that I have starred": ("dashboard/projects/starred", [t.click("Projects"), t.click("Starred")]),
    "Show me the projects in my own namespace": ("dashboard/projects/personal", [t.click("Projects"), t.click("Personal")]),
    "Show me the projects that I have made commits to": (
        "dashboard/projects/contributed",
        [t.click("Projects"), t.click("Contributed")],
    ),
}
"""Lists: what they are, where they are, and the way there."""
PAGES = {
    "branches": "/-/branches",
    "members": "/-/project_members",
    "contributors": "/-/graphs/{branch}",
    "commits": "/-/commits/{branch}",
    "forks": "/-/forks",
    "stargazers": "/-/starrers",
}
TEMPLATES_OFFERED = {"Android": 3, "Plain HTML": 3, "Python package": 4, "Go service": 3, "Rust crate": 3, "Node service": 3}
"""Project templates, and how many files a project made from one has."""


def list_place(world: t.Sampler) -> t.Draw:
    """Open one of the site's lists."""
    request = world.rng.choice(list(LISTS))
    path, steps = LISTS[request]
    return visit({"request": request}, f"__GITLAB__/{path}", way=steps)


def sorted_place(world: t.Sampler) -> t.Draw:
    """Open the list of all projects in another order."""
    orders = {
        "those with the most stars": ("stars_desc", "Most stars"),
        "the newest": ("created_desc", "Newest"),
        "in the order of their names, A": ("name_asc", "Name"),
    }
    order = world.rng.choice(list(orders))
    value, label = orders[order]
    return visit(
        {"order": order},
        f"__GITLAB__/explore?sort={value}",
        way=[t.click("Explore"), t.choose("Sort by", label), t.click("Apply")],
    )


project_place = Visit(
    PROJECTS + "SELECT * FROM seen WHERE stars != 1 AND forks != 1 ORDER BY project_id",
    lambda _, row: f"__GITLAB__/{row['full_path']}{PAGES[row['page']].format(branch=row['default_branch'])}",
    way=lambda _, row: open_project(
        row,
        {"forks": f"{row['forks']} forks", "stargazers": f"{row['stars']} stars"}.get(row["page"], row["page"].capitalize()),
    ),
    also={"page": lambda world, _row: world.rng.choice(list(PAGES))},
    slots={"project": "{name}"},
)


def new_name(world: t.Sampler) -> str:
    """Return a name that no project has."""
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    word = invented(seed, world.rng.randrange(128), "title").lower()
    return world.rng.choice(("awesome-{}", "{}-experiments", "my-{}-tools", "{}_reading_list", "{}-archive")).format(word)


def people(world: t.Sampler, count: int) -> list[Any]:
    """Return people other than me whose name nobody else has."""
    rows = world.rows("SELECT * FROM user WHERE user_id != ? GROUP BY name HAVING count(*) = 1 ORDER BY user_id", ME)
    return sorted(world.rng.sample(rows, count), key=lambda row: int(row["user_id"]))


def project_empty(world: t.Sampler) -> t.Draw:
    """Make a project without a README."""
    me = world.value("SELECT username FROM user WHERE user_id = ?", ME)
    name, visibility = new_name(world), world.rng.choice(VISIBILITIES)
    last = world.value("SELECT max(project_id) FROM project")
    return instruction(
        {"visibility": visibility, "name": name},
        t.all_of(t.at_url(f"__GITLAB__/{me}/{name}"), t.state(MADE, last, expected=[[me, name, visibility, 0]])),
        way=[
            *_new_project(name, visibility),
            t.click("Initialize repository with a README", "It is ticked."),
            t.click("Create project"),
        ],
        seen="The repository is empty.",
    )


def _new_project(name: str, visibility: str, template: str = "") -> list[Step]:
    way = ["Create from template", f"Use {template} template"] if template else ["Create blank project"]
    return [t.click("New project"), *map(t.click, way), t.type_text("Project name", name), t.click(visibility.capitalize())]


def project_with_members(world: t.Sampler) -> t.Draw:
    """Make a project and invite people."""
    return _with_members(world, "")


def project_from_template(world: t.Sampler) -> t.Draw:
    """Make a project from a template and invite people."""
    return _with_members(world, world.rng.choice(list(TEMPLATES_OFFERED)))


def _with_members(world: t.Sampler, template: str) -> t.Draw:
    me = world.value("SELECT username FROM user WHERE user_id = ?", ME)
    name, visibility = new_name(world), world.rng.choice(VISIBILITIES)
    invited, role = people(world, world.rng.choice((2, 3))), world.rng.choice(("Reporter", "Developer", "Maintainer"))
    usernames = ", ".join(row["username"] for row in invited)
    last = world.value("SELECT max(project_id) FROM project")
    return instruction(
        {"visibility": visibility, "name": name, "template": template, "people": usernames, "role": role.lower()},
        t.all_of(
            t.state(MADE, last, expected=[[me, name, visibility, TEMPLATES_OFFERED.get(template, 1)]]),
            t.state(INVITED, last, expected=[[row["user_id"], role, None] for row in invited]),
        ),
        way=[
            *_new_project(name, visibility, template),
            t.click("Create project"),
            t.click("Members"),
            t.click("Invite members"),
            t.type_text("Username, name or email address", usernames),
            t.choose("Select a role", role),
            t.click("Invite"),
        ],
        seen="All of them are members.",
    )


def _settings(world: t.Sampler, project_id: int, **changes: Any) -> dict[str, Any]:
    """My projects must be as they are now, but for changes to one of them."""
    rows = [dict(row) for row in world.rows(STATE)]
    return t.state(STATE, expected=[list((row | changes if row["project_id"] == project_id else row).values()) for row in rows])


visibility_change = Change(
    PROJECTS + "SELECT * FROM mine ORDER BY project_id",
    lambda world, row: _settings(world, row["project_id"], visibility=row["wanted"]),
    way=lambda _, row: [*open_project(row, "Settings"), t.click(row["wanted"].capitalize()), t.click("Save changes")],
    also={"wanted": lambda world, row: world.rng.choice([value for value in VISIBILITIES if value != row["visibility"]])},
    slots={"project": "{name}", "visibility": "{wanted}"},
)


description_change = Change(
    PROJECTS + "SELECT * FROM mine ORDER BY project_id",
    lambda world, row: _settings(world, row["project_id"], description=row["text"]),
    way=lambda _, row: [
        *open_project(row, "Settings"),
        t.type_text("Project description (optional)", row["text"]),
        t.click("Save changes"),
    ],
    also={
        "text": lambda world, row: (
            f"{row['description']} ({world.rng.choice(('looking for helpers', 'under construction', 'no longer maintained'))})"
        )
    },
    slots={"project": "{name}"},
)


def topic_add(world: t.Sampler) -> t.Draw:
    """Add a topic."""
    row = world.pick(PROJECTS + "SELECT * FROM mine ORDER BY project_id")
    used = {topic for other in world.rows("SELECT topics FROM project ORDER BY project_id") for topic in other[0].split(", ")}
    topic = world.rng.choice(sorted(used - {"", *row["topics"].split(", ")}))
    topics = ", ".join(filter(None, (row["topics"], topic)))
    return instruction(
        {"topic": topic, "project": row["name"]},
        _settings(world, row["project_id"], topics=topics),
        way=[*open_project(row, "Settings"), t.type_text("Topics (optional)", topics), t.click("Save changes")],
    )


archive = Change(
    PROJECTS + "SELECT * FROM mine ORDER BY project_id",
    lambda world, row: _settings(world, row["project_id"], is_archived=1),
    way=lambda _, row: [*open_project(row, "Settings"), t.click("Archive project")],
    seen="The project is archived.",
    slots={"project": "{name}"},
)


project_delete = Change(
    PROJECTS + "SELECT * FROM mine ORDER BY project_id",
    lambda _, row: t.state(STATE, expected=row["rows"]),
    way=lambda _, row: [
        *open_project(row, "Settings"),
        t.type_text("Full path to confirm", row["full_path"]),
        t.click("Delete project"),
    ],
    seen="The project is deleted.",
    also={"rows": lambda world, row: [list(other) for other in world.rows(STATE) if other["project_id"] != row["project_id"]]},
    slots={"project": "{name}"},
)
