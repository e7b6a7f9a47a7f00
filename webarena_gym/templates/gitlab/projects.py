"""Projects: questions about them, new ones, settings, stars and forks; their members, and groups."""

from datetime import date, timedelta
from typing import Any

from webarena_gym.sites.country.names import invented
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import joined
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import (
    ME,
    PROJECTS,
    PROJECTS_PER_PAGE,
    TEXTS,
    open_by_stars,
    open_group,
    open_project,
    project_label,
    slashed,
)
from webarena_gym.templates.ways import instruction, question, turn_pages, visit

PROJECTS_MADE = """SELECT namespace, name, visibility, (SELECT count(*) FROM file f JOIN branch b USING (branch_id)
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


def with_members(world: t.Sampler, template: str) -> t.Draw:
    """Make a project, from a template or blank, and invite people."""
    me = world.value("SELECT username FROM user WHERE user_id = ?", ME)
    name, visibility = new_name(world), world.rng.choice(VISIBILITIES)
    invited, role = people(world, world.rng.choice((2, 3))), world.rng.choice(("Reporter", "Developer", "Maintainer"))
    usernames = ", ".join(row["username"] for row in invited)
    last = world.value("SELECT max(project_id) FROM project")
    return instruction(
        {"visibility": visibility, "name": name, "template": template, "people": usernames, "role": role.lower()},
        t.all_of(
            t.state(PROJECTS_MADE, last, expected=[[me, name, visibility, TEMPLATES_OFFERED.get(template, 1)]]),
            t.state(INVITED, last, expected=[[row["user_id"], role, None] for row in invited]),
        ),
        way=[
            *new_project(name, visibility, template),
            t.click("Create project"),
            t.click("Members"),
            t.click("Invite members"),
            t.type_text("Username, name or email address", usernames),
            t.choose("Select a role", role),
            t.click("Invite"),
        ],
        seen="All of them are members.",
    )


def project_place(world: t.Sampler) -> t.Draw:
    """Open a list of a project."""
    row = world.pick(PROJECTS + "SELECT * FROM seen WHERE stars != 1 AND forks != 1 ORDER BY project_id")
    page = world.rng.choice(list(TEXTS["pages"]))
    link = {"forks": f"{row['forks']} forks", "stargazers": f"{row['stars']} stars"}.get(page, page.capitalize())
    path = TEXTS["pages"][page].format(branch=row["default_branch"])
    return visit({"page": page, "project": row["name"]}, f"__GITLAB__/{row['full_path']}{path}", way=open_project(row, link))


def settings_become(world: t.Sampler, row: t.Row, **changes: Any) -> dict[str, Any]:
    """My projects must be as they are now, but for changes to one of them."""
    rows = [dict(each) for each in world.rows(STATE)]
    return t.state(
        STATE, expected=[list((each | changes if each["project_id"] == row["project_id"] else each).values()) for each in rows]
    )


def topic_add(world: t.Sampler) -> t.Draw:
    """Add a topic."""
    row = world.pick(PROJECTS + "SELECT * FROM mine ORDER BY project_id")
    used = {topic for other in world.rows("SELECT topics FROM project ORDER BY project_id") for topic in other[0].split(", ")}
    topic = world.rng.choice(sorted(used - {"", *row["topics"].split(", ")}))
    topics = ", ".join(filter(None, (row["topics"], topic)))
    return instruction(
        {"topic": topic, "project": row["name"]},
        settings_become(world, row, topics=topics),
        way=[*open_project(row, "Settings"), t.type_text("Topics (optional)", topics), t.click("Save changes")],
    )


STARRED = f"SELECT project_id FROM star WHERE user_id = {ME} ORDER BY project_id"
FORKED = """SELECT namespace, path, forked_from_id, (SELECT count(*) FROM file f JOIN branch b USING (branch_id)
    WHERE b.project_id = p.project_id) > 0 FROM project p WHERE project_id > ? ORDER BY path, namespace"""


def by_stars(world: t.Sampler, condition: str, *values: Any) -> list[t.Row]:
    """Return the projects that are not private and fulfil a condition, the most starred first."""
    return world.rows(
        PROJECTS
        + f"SELECT * FROM project_seen WHERE visibility != 'private' AND ({condition}) ORDER BY stars DESC, project_id",
        *values,
    )


def starred_with(world: t.Sampler, added: list[int], removed: int = 0) -> dict[str, Any]:
    """My stars must be those that I have now, with some more, without another."""
    before = {row["project_id"] for row in world.rows(STARRED)}
    return t.state(STARRED, expected=[[number] for number in sorted((before | {*added}) - {removed})])


def clone_command(world: t.Sampler) -> t.Draw:
    """Ask for the command that clones the best-liked project of a kind."""
    topics = world.rows("SELECT topics FROM project WHERE visibility = 'public' ORDER BY project_id")
    topic = world.rng.choice(sorted({topic for row in topics for topic in row["topics"].split(", ")}))
    listed = by_stars(world, "instr(lower(full_path || ' ' || name || ' ' || description || ' ' || topics), ?)", topic)
    fitting = [row for row in listed if topic in row["topics"].split(", ")]
    t.skip_if(len(fitting) < 2 or fitting[0]["stars"] == fitting[1]["stars"], "a topic with one best project")
    best = fitting[0]
    protocol = world.rng.choice(("SSH", "HTTPS"))
    commands = {
        name: f"git clone {start}{row['full_path']}.git"
        for row in fitting[:1]
        for name, start in (("SSH", "git@code.test:"), ("HTTPS", "https://code.test/"))
    }
    other = commands["SSH" if protocol == "HTTPS" else "HTTPS"]
    return question(
        {"topic": topic, "protocol": protocol},
        commands[protocol],
        way=[
            t.click("Explore"),
            t.search("Filter by name", topic),
            t.choose("Sort by", "Most stars"),
            t.click("Apply"),
            *turn_pages(world, listed.index(best), PROJECTS_PER_PAGE, "None of these has the topic."),
            t.click(project_label(best), f"It has the topic and {best['stars']} stars."),
        ],
        wrong=[other, commands[protocol].replace(best["full_path"], fitting[1]["full_path"])],
        ground=joined(commands[protocol].removeprefix("git clone ")),
    )


def contributed_most_starred(world: t.Sampler) -> t.Draw:
    """Ask for the best-liked projects that I have worked on."""
    count = world.rng.choice((2, 3, 4))
    rows = world.rows(
        PROJECTS
        + """SELECT * FROM project_seen WHERE project_id IN (SELECT project_id FROM git_commit WHERE author_id = ?)
        ORDER BY stars DESC, project_id""",
        ME,
    )
    t.skip_if(
        len(rows) <= count or rows[count - 1]["stars"] == rows[count]["stars"],
        "projects of mine with different numbers of stars",
    )
    names = [row["name"] for row in rows]
    return question(
        {"count": count},
        ", ".join(names[:count]),
        way=[t.click("Projects"), t.click("Contributed"), t.choose("Sort by", "Most stars"), t.click("Apply")],
        seen="They come first.",
        wrong=[", ".join(names[1 : count + 1]), names[0]],
    )


def star_top(world: t.Sampler) -> t.Draw:
    """Star the first few projects of the list; some may have my star already."""
    count = world.rng.choice((2, 3, 4, 5))
    rows = by_stars(world, "1")
    t.skip_if(rows[count - 1]["stars"] == rows[count]["stars"], "a place in the list that is not shared")
    mine = {row["project_id"] for row in world.rows(STARRED)}
    missing = [row for row in rows[:count] if row["project_id"] not in mine]
    t.skip_if(not missing, "a star to give")
    steps = [step for row in missing for step in (*open_by_stars(), t.click(project_label(row)), t.click("Star"))]
    return instruction(
        {"count": count},
        starred_with(world, [row["project_id"] for row in missing]),
        way=steps,
        seen=f"The first {count} have my star.",
    )


def free_to_fork(world: t.Sampler, namespace: str) -> list[t.Row]:
    """Return the projects of others, with unique names, that can be forked into a namespace."""
    return world.rows(
        PROJECTS
        + """SELECT * FROM seen WHERE visibility = 'public' AND NOT is_mine AND path NOT IN (
            SELECT path FROM project WHERE namespace = ?
        ) ORDER BY project_id""",
        namespace,
    )


def fork(world: t.Sampler) -> t.Draw:
    """Fork a project into my namespace or a group of mine."""
    me = world.value("SELECT username FROM user WHERE user_id = ?", ME)
    groups = world.rows(
        "SELECT g.path, g.name FROM user_group g JOIN group_member m USING (group_id) "
        "WHERE m.user_id = ? AND m.role IN ('Owner', 'Maintainer') ORDER BY g.path",
        ME,
    )
    path, place = world.rng.choice([(me, "my own namespace"), *((g["path"], f"the group {g['name']}") for g in groups)])
    row = world.rng.choice(free_to_fork(world, path))
    last = world.value("SELECT max(project_id) FROM project")
    return instruction(
        {"project": row["name"], "place": place},
        t.state(FORKED, last, expected=[[path, row["path"], row["project_id"], 1]]),
        way=[*open_project(row, "Fork"), t.choose("Project namespace", path), t.click("Fork project")],
        seen="The fork is there.",
    )


def fork_all(world: t.Sampler) -> t.Draw:
    """Fork the two to four projects of a person."""
    me = world.value("SELECT username FROM user WHERE user_id = ?", ME)
    free = {row["project_id"] for row in free_to_fork(world, me)}
    owners: dict[str, list[t.Row]] = {}
    for row in by_stars(world, "owner_id != ? AND visibility = 'public' AND forked_from_id IS NULL AND NOT is_archived", ME):
        owners.setdefault(row["namespace"], []).append(row)
    fitting = sorted(
        name for name, rows in owners.items() if 2 <= len(rows) <= 4 and all(row["project_id"] in free for row in rows)
    )
    t.skip_if(not fitting, "somebody with two to four projects of their own")
    username = world.rng.choice(fitting)
    rows = sorted(owners[username], key=lambda row: str(row["path"]))
    last = world.value("SELECT max(project_id) FROM project")
    steps = [step for row in rows for step in (*open_project(row, "Fork"), t.click("Fork project"))]
    return instruction(
        {"person": rows[0]["namespace_name"], "username": username},
        t.state(FORKED, last, expected=[[me, row["path"], row["project_id"], 1] for row in rows]),
        way=[t.click("Explore"), t.search("Filter by name", username), *steps],
        seen=f"All {len(rows)} are forked.",
    )


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


def member_becomes(world: t.Sampler, row: t.Row, *role_and_end: Any) -> dict[str, Any]:
    """One member of a project must have this role and last day, or be gone, and the others must be as they are."""
    return members_become(world, row["project_id"], {row["user_id"]: list(role_and_end) or None})


def _others(world: t.Sampler, row: t.Row) -> list[t.Row]:
    return world.rows(OTHERS + "SELECT * FROM others WHERE project_id = ? ORDER BY username", row["project_id"])


def a_day(world: t.Sampler) -> str:
    """Return a day within a year from now."""
    today = date.fromisoformat(world.value("SELECT date(value) FROM world WHERE key = 'now'"))
    return str(today + timedelta(days=world.rng.randint(20, 360)))


def access_list(world: t.Sampler) -> t.Draw:
    """Ask who is a member."""
    row = world.pick(OTHERS + "SELECT * FROM others GROUP BY project_id HAVING count(*) BETWEEN 2 AND 7 ORDER BY project_id")
    names = [other["username"] for other in _others(world, row)]
    me = world.value("SELECT username FROM user WHERE user_id = ?", ME)
    return question(
        {"project": row["name"]},
        ", ".join(names),
        way=open_project(row, "Members"),
        seen=f"There are {len(names)} others.",
        wrong=[", ".join([*names, me]), "nobody"],
    )


def expiry_of(world: t.Sampler) -> t.Draw:
    """Ask when somebody's place ends."""
    row = world.pick(
        PROJECTS
        + """SELECT s.*, u.name AS person, m.expires_on FROM seen s JOIN project_member m USING (project_id)
        JOIN user u USING (user_id) WHERE m.expires_on IS NOT NULL ORDER BY project_id, user_id"""
    )
    wrong = str(date.fromisoformat(row["expires_on"]) + timedelta(days=7))
    return t.Draw(
        slots={"person": row["person"], "project": row["name"]},
        eval=t.answer(fuzzy_match=row["expires_on"]),
        solution=[*open_project(row, "Members"), t.leave(slashed(row["expires_on"]), "The day stands behind the role.")],
        wrong_answers=[slashed(wrong)],
    )


def invite(world: t.Sampler, count: int, expires: str | None = None) -> t.Draw:
    """Invite some people to a project of mine, for good or until a day."""
    row = world.pick(PROJECTS + "SELECT * FROM mine ORDER BY project_id")
    present = {member["user_id"] for member in world.rows(HELD, row["project_id"])}
    invited = people(world, count)
    t.skip_if(any(person["user_id"] in present for person in invited), "people who are no members")
    role = world.rng.choice(GIVEN_ROLES)
    until = [t.type_text("Access expiration date (optional)", expires)] if expires else []
    return instruction(
        {
            "people": " and ".join(person["name"] for person in invited),
            "project": row["name"],
            "role": role.lower(),
            "day": slashed(expires) if expires else "",
        },
        members_become(world, row["project_id"], {person["user_id"]: [role, expires] for person in invited}),
        way=[
            *open_project(row, "Members"),
            t.click("Invite members"),
            t.type_text("Username, name or email address", ", ".join(person["name"] for person in invited)),
            t.choose("Select a role", role),
            *until,
            t.click("Invite"),
        ],
        seen="They are in the list.",
    )


JOINED = f"SELECT project_id FROM project_member WHERE user_id = {ME} ORDER BY project_id"
IN_GROUP = "SELECT user_id, role, expires_on FROM group_member WHERE group_id = ? ORDER BY user_id"
GROUPS_MADE = "SELECT path, name, visibility FROM user_group WHERE group_id > ? ORDER BY group_id"
MEMBERS_MADE = "SELECT user_id, role FROM group_member WHERE group_id > ? ORDER BY user_id"


def group_best_project(world: t.Sampler) -> t.Draw:
    """Ask for the best-liked project of a group."""
    group = world.pick(PROJECTS + "SELECT DISTINCT group_id FROM project_seen WHERE group_id IS NOT NULL ORDER BY group_id")
    rows = world.rows(
        PROJECTS + "SELECT * FROM project_seen WHERE group_id = ? ORDER BY stars DESC, project_id", group["group_id"]
    )
    t.skip_if(
        len(rows) < 2 or rows[0]["stars"] == rows[1]["stars"] or len(rows) > PROJECTS_PER_PAGE, "a group with one best project"
    )
    return question(
        {"group": rows[0]["namespace_name"]},
        rows[0]["name"],
        way=[*open_group(world, rows[0]["namespace_name"]), t.choose("Sort by", "Most stars"), t.click("Apply")],
        seen=f"It has {rows[0]['stars']} stars.",
        wrong=[rows[1]["name"]],
    )


def group_name(world: t.Sampler) -> str:
    """Return a name that no group has."""
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    word = invented(seed, world.rng.randrange(128), "title").lower()
    return f"{word}-{world.rng.choice(('lab', 'team', 'circle', 'crew'))}"


def group_with_members(world: t.Sampler) -> t.Draw:
    """Make a group and invite people to it."""
    name, role = group_name(world), world.rng.choice(("Guest", "Reporter", "Developer", "Maintainer"))
    invited = people(world, world.rng.choice((2, 3, 4)))
    usernames = ", ".join(row["username"] for row in invited)
    last = world.value("SELECT max(group_id) FROM user_group")
    return instruction(
        {"name": name, "people": usernames, "role": role.lower()},
        t.all_of(
            t.state("SELECT name FROM user_group WHERE group_id > ? ORDER BY group_id", last, expected=[[name]]),
            t.state(MEMBERS_MADE, last, expected=[[ME, "Owner"], *([row["user_id"], role] for row in invited)]),
        ),
        way=[
            t.click("New group"),
            t.type_text("Group name", name),
            t.click("Create group"),
            t.click("Group members"),
            t.click("Invite members"),
            t.type_text("Username, name or email address", usernames),
            t.choose("Select a role", role),
            t.click("Invite"),
        ],
        seen="All of them are in the group.",
    )


def group_invite(world: t.Sampler) -> t.Draw:
    """Invite somebody to my own group."""
    group = world.pick(
        "SELECT g.* FROM user_group g JOIN group_member m USING (group_id) WHERE m.user_id = ? AND m.role = 'Owner' ORDER BY 1",
        ME,
    )
    members: list[list[Any]] = [list(row) for row in world.rows(IN_GROUP, group["group_id"])]
    person, role = people(world, 1)[0], world.rng.choice(("Guest", "Reporter", "Developer", "Maintainer"))
    t.skip_if(any(member[0] == person["user_id"] for member in members), "somebody who is no member")
    return instruction(
        {"person": person["name"], "group": group["name"], "role": role.lower()},
        t.state(IN_GROUP, group["group_id"], expected=sorted([*members, [person["user_id"], role, None]], key=_user_id)),
        way=[
            *open_group(world, group["name"]),
            t.click("Group members"),
            t.click("Invite members"),
            t.type_text("Username, name or email address", person["name"]),
            t.choose("Select a role", role),
            t.click("Invite"),
        ],
        seen="The person is a member now.",
    )


def _user_id(row: list[Any]) -> int:
    return int(row[0])
