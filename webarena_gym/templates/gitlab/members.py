"""Who belongs to a project: questions, inviting people, changing and removing them."""

from datetime import date, timedelta
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab.projects import people
from webarena_gym.templates.gitlab.routes import ME, PROJECTS, open_project, slashed
from webarena_gym.templates.rows import Change, Fact
from webarena_gym.templates.ways import instruction, question

HELD = "SELECT user_id, role, expires_on FROM project_member WHERE project_id = ? ORDER BY user_id"
ROLES = ("Guest", "Reporter", "Developer", "Maintainer")
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


def _others(world: t.Sampler, row: t.Row) -> list[t.Row]:
    return world.rows(OTHERS + "SELECT * FROM others WHERE project_id = ? ORDER BY username", row["project_id"])


def _day(world: t.Sampler) -> str:
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


role_of = Fact(
    PROJECTS
    + """SELECT s.*, u.name AS person, m.role FROM seen s JOIN project_member m USING (project_id) JOIN user u USING (user_id)
        WHERE m.user_id NOT IN (SELECT user_id FROM group_member g WHERE g.group_id IS s.group_id) ORDER BY project_id, user_id""",
    "{role}",
    way=lambda _, row: open_project(row, "Members"),
    seen="{person} is a {role}.",
    wrong=lambda _, row: ["Guest" if row["role"] != "Guest" else "Reporter"],
    slots={"project": "{name}"},
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


def _invite(world: t.Sampler, count: int, expires: str | None) -> t.Draw:
    row = world.pick(PROJECTS + "SELECT * FROM mine ORDER BY project_id")
    present = {member["user_id"] for member in world.rows(HELD, row["project_id"])}
    invited = people(world, count)
    if any(person["user_id"] in present for person in invited):
        raise t.NothingToDraw("people who are no members")
    role = world.rng.choice(ROLES)
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


def invite_one(world: t.Sampler) -> t.Draw:
    """Invite somebody."""
    return _invite(world, 1, None)


def invite_two(world: t.Sampler) -> t.Draw:
    """Invite two people at once."""
    return _invite(world, 2, None)


def invite_until(world: t.Sampler) -> t.Draw:
    """Invite somebody for some time."""
    return _invite(world, 1, _day(world))


role_change = Change(
    OTHERS + "SELECT * FROM others ORDER BY project_id, user_id",
    lambda world, row: members_become(world, row["project_id"], {row["user_id"]: [row["new_role"], row["expires_on"]]}),
    way=lambda _, row: [
        *open_project(row, "Members"),
        t.choose(f"Role of {row['person']}", row["new_role"]),
        t.click(f"Update {row['person']}"),
    ],
    seen="The role is changed.",
    also={"new_role": lambda world, row: world.rng.choice([role for role in ROLES if role != row["role"]])},
    slots={"project": "{name}", "role": "{new_role:lower}"},
)


def expiry_change(world: t.Sampler) -> t.Draw:
    """Set the last day of somebody's place; the role stays."""
    row = world.pick(OTHERS + "SELECT * FROM others ORDER BY project_id, user_id")
    expires = _day(world)
    if expires == row["expires_on"]:
        raise t.NothingToDraw("another day")
    return instruction(
        {"person": row["person"], "project": row["name"], "day": slashed(expires)},
        members_become(world, row["project_id"], {row["user_id"]: [row["role"], expires]}),
        way=[
            *open_project(row, "Members"),
            t.type_text(f"Expiration date of {row['person']}", expires),
            t.click(f"Update {row['person']}"),
        ],
        seen="The day is set.",
    )


member_remove = Change(
    OTHERS + "SELECT * FROM others ORDER BY project_id, user_id",
    lambda world, row: members_become(world, row["project_id"], {row["user_id"]: None}),
    way=lambda _, row: [*open_project(row, "Members"), t.click(f"Remove {row['person']}")],
    seen="The person is gone.",
    slots={"project": "{name}"},
)


def leave_project(world: t.Sampler) -> t.Draw:
    """Give up a place in somebody else's project."""
    mine = f"SELECT project_id FROM project_member WHERE user_id = {ME} ORDER BY project_id"
    row = world.pick(PROJECTS + f"SELECT * FROM seen WHERE owner_id != {ME} AND project_id IN ({mine}) ORDER BY project_id")
    left = [[other["project_id"]] for other in world.rows(mine) if other["project_id"] != row["project_id"]]
    return instruction(
        {"project": row["name"]},
        t.state(mine, expected=left),
        way=[*open_project(row, "Members"), t.click("Leave project")],
        seen="I am no member any more.",
    )
