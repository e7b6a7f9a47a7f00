"""People, and pages of my own."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.templates.gitlab.issues import my_name
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import open_person, open_settings
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.ways import impossible, instruction, visit

PLACES = {
    "to-do list": ("dashboard/todos", [t.click("To-Do List")]),
    "list of issues assigned to me": ("dashboard/issues?assignee_username={me}", [t.click("Assigned issues")]),
    "list of issues that I created": (
        "dashboard/issues?author_username={me}",
        [t.click("Assigned issues"), t.click("Created by me")],
    ),
    "list of snippets": ("-/snippets", [t.click("Snippets")]),
    "SSH keys": ("-/profile/keys", open_settings("SSH keys")),
    "list of starred projects": ("users/{me}/starred", [t.click("My profile"), t.click("Starred projects")]),
    "list of followers": ("users/{me}/followers", [t.click("My profile"), t.click("Followers")]),
    "list of finished to-dos": ("dashboard/todos?state=done", [t.click("To-Do List"), t.click("Done")]),
}
"""Pages of my own: what they are called, where they are, and the way there."""


def others(world: t.Sampler) -> list[t.Row]:
    """Return everybody but me."""
    return world.rows(f"SELECT * FROM user WHERE user_id != {ME} ORDER BY user_id")


def own_place(world: t.Sampler) -> t.Draw:
    """Open a page of my own."""
    place = world.rng.choice(list(PLACES))
    path, steps = PLACES[place]
    return visit({"place": place}, f"__GITLAB__/{path.format(me=my_name(world))}", way=steps)


def people_follow(world: t.Sampler) -> t.Draw:
    """Follow two or three people whom I do not follow yet."""
    followed = f"SELECT followed_id FROM follow WHERE follower_id = {ME} ORDER BY followed_id"
    present = [row[0] for row in world.rows(followed)]
    chosen = world.rng.sample([row for row in others(world) if row["user_id"] not in present], world.rng.randint(2, 3))
    names = [row["name"] for row in chosen]
    return t.Draw(
        slots={"people": f"{', '.join(names[:-1])} and {names[-1]}"},
        eval=t.state(followed, expected=[[user_id] for user_id in sorted([*present, *(row["user_id"] for row in chosen)])]),
        solution=[step for name in names for step in (*open_person(name), t.click("Follow"))] + [t.leave()],
    )


def person_unfollow(world: t.Sampler) -> t.Draw:
    """Take back a follow."""
    followed = f"SELECT followed_id FROM follow WHERE follower_id = {ME} ORDER BY followed_id"
    row = world.pick(
        f"SELECT * FROM user WHERE user_id IN (SELECT followed_id FROM follow WHERE follower_id = {ME}) ORDER BY user_id"
    )
    return instruction(
        {"person": row["name"]},
        t.state(followed, expected=[[other[0]] for other in world.rows(followed) if other[0] != row["user_id"]]),
        way=[*open_person(row["name"]), t.click("Unfollow")],
    )


job_of = Fact(
    f"SELECT * FROM user WHERE job_title != '' AND NOT is_profile_private AND user_id != {ME} ORDER BY user_id",
    "{job_title}",
    way=open_person("{name}"),
    wrong=["{other}"],
    also={
        "other": lambda world, row: world.value(
            "SELECT job_title FROM user WHERE job_title NOT IN ('', ?) ORDER BY user_id", row["job_title"]
        )
    },
    slots={"person": "{name}"},
)


def username_of(world: t.Sampler) -> t.Draw:
    """Ask for somebody's user name."""
    rows = others(world)
    row = world.rng.choice(rows)
    return t.Draw(
        slots={"person": row["name"]},
        eval=t.answer(fuzzy_match=row["username"]),
        solution=[*open_person(row["name"]), t.leave(row["username"])],
        wrong_answers=[next(other["username"] for other in rows if other is not row)],
    )


def person_missing(world: t.Sampler) -> t.Draw:
    """Ask for somebody who has no account; the answer is N/A."""
    rows = others(world)
    names = [row["name"] for row in rows]
    first, last = world.rng.choice(names).split()[0], world.rng.choice(names).split()[-1]
    if f"{first} {last}" in names or any(name.startswith(first) and name.endswith(last) for name in names):
        raise t.NothingToDraw("a name that nobody has")
    return impossible(
        {"person": f"{first} {last}"},
        says("Nothing was found here"),
        way=open_person(f"{first} {last}")[:2],
        seen="Nobody has that name.",
    )
