"""Groups: questions, new ones, and who is in them."""

from typing import Any

from webarena_gym.sites.country.words import invented
from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab.projects import VISIBILITIES, people
from webarena_gym.templates.gitlab.routes import GROUP_SEEN, ME, PROJECTS, PROJECTS_PER_PAGE, open_group
from webarena_gym.templates.rows import Fact, Visit
from webarena_gym.templates.ways import instruction, question

IN_GROUP = "SELECT user_id, role, expires_on FROM group_member WHERE group_id = ? ORDER BY user_id"
MADE = "SELECT path, name, visibility FROM user_group WHERE group_id > ? ORDER BY group_id"
MEMBERS_MADE = "SELECT user_id, role FROM group_member WHERE group_id > ? ORDER BY user_id"


group_project_count = Fact(
    PROJECTS
    + """SELECT namespace_name AS name, count(*) AS found FROM project_seen WHERE group_id IS NOT NULL
        GROUP BY group_id ORDER BY group_id""",
    "{found}",
    way=lambda world, row: open_group(world, row["name"]),
    seen="All of them are listed.",
    slots={"group": "{name}"},
)


def group_best_project(world: t.Sampler) -> t.Draw:
    """Ask for the best-liked project of a group."""
    group = world.pick(PROJECTS + "SELECT DISTINCT group_id FROM project_seen WHERE group_id IS NOT NULL ORDER BY group_id")
    rows = world.rows(
        PROJECTS + "SELECT * FROM project_seen WHERE group_id = ? ORDER BY stars DESC, project_id", group["group_id"]
    )
    if len(rows) < 2 or rows[0]["stars"] == rows[1]["stars"] or len(rows) > PROJECTS_PER_PAGE:
        raise t.NothingToDraw("a group with one best project")
    return question(
        {"group": rows[0]["namespace_name"]},
        rows[0]["name"],
        way=[*open_group(world, rows[0]["namespace_name"]), t.choose("Sort by", "Most stars"), t.click("Apply")],
        seen=f"It has {rows[0]['stars']} stars.",
        wrong=[rows[1]["name"]],
    )


group_role_count = Fact(
    "SELECT g.name, m.role, count(*) AS found FROM user_group g JOIN group_member m USING (group_id)"
    f" WHERE {GROUP_SEEN} GROUP BY group_id, m.role ORDER BY group_id, m.role",
    "{found}",
    way=lambda world, row: [*open_group(world, row["name"]), t.click("Group members")],
    seen="{found} with that role.",
    slots={"group": "{name}"},
)


group_place = Visit(
    f"SELECT * FROM user_group g WHERE {GROUP_SEEN} ORDER BY group_id",
    "__GITLAB__/groups/{path}/-/group_members",
    way=lambda world, row: [*open_group(world, row["name"]), t.click("Group members")],
    slots={"group": "{name}"},
)


def _group_name(world: t.Sampler) -> str:
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    word = invented(seed, world.rng.randrange(128), "title").lower()
    return f"{word}-{world.rng.choice(('lab', 'team', 'circle', 'crew'))}"


def group_new(world: t.Sampler) -> t.Draw:
    """Make a group."""
    name, visibility = _group_name(world), world.rng.choice(VISIBILITIES)
    last = world.value("SELECT max(group_id) FROM user_group")
    return instruction(
        {"visibility": visibility, "name": name},
        t.all_of(t.at_url(f"__GITLAB__/groups/{name}"), t.state(MADE, last, expected=[[name, name, visibility]])),
        way=[t.click("New group"), t.type_text("Group name", name), t.click(visibility.capitalize()), t.click("Create group")],
    )


def group_with_members(world: t.Sampler) -> t.Draw:
    """Make a group and invite people to it."""
    name, role = _group_name(world), world.rng.choice(("Guest", "Reporter", "Developer", "Maintainer"))
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
    if any(member[0] == person["user_id"] for member in members):
        raise t.NothingToDraw("somebody who is no member")
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
