"""Stars and forks: questions about them, and giving and taking them."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import joined
from webarena_gym.templates.gitlab.routes import ME, PROJECTS, PROJECTS_PER_PAGE, open_by_stars, open_project, project_label
from webarena_gym.templates.rows import Change, Fact
from webarena_gym.templates.ways import instruction, question, turn_pages

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


star_count = Fact(
    PROJECTS + "SELECT * FROM seen WHERE stars > 1 ORDER BY project_id",
    "{stars}",
    way=lambda _, row: open_project(row),
    seen="The number is beside the button.",
    slots={"project": "{name}"},
)


def clone_command(world: t.Sampler) -> t.Draw:
    """Ask for the command that clones the best-liked project of a kind."""
    topics = world.rows("SELECT topics FROM project WHERE visibility = 'public' ORDER BY project_id")
    topic = world.rng.choice(sorted({topic for row in topics for topic in row["topics"].split(", ")}))
    listed = by_stars(world, "instr(lower(full_path || ' ' || name || ' ' || description || ' ' || topics), ?)", topic)
    fitting = [row for row in listed if topic in row["topics"].split(", ")]
    if len(fitting) < 2 or fitting[0]["stars"] == fitting[1]["stars"]:
        raise t.NothingToDraw("a topic with one best project")
    best = fitting[0]
    protocol = world.rng.choice(("SSH", "HTTPS"))
    commands = {
        name: f"git clone {start}{row['full_path']}.git"
        for row in fitting[:1]
        for name, start in (("SSH", "git@code.test:"), ("HTTPS", "https://code.test/"))
    }
    other = commands["SSH" if protocol == "HTTPS" else "HTTPS"]
    return t.Draw(
        slots={"topic": topic, "protocol": protocol},
        grounds={commands[protocol]: joined(commands[protocol].removeprefix("git clone "))},
        eval=t.answer(fuzzy_match=commands[protocol]),
        solution=[
            t.click("Explore"),
            t.search("Filter by name", topic),
            t.choose("Sort by", "Most stars"),
            t.click("Apply"),
            *turn_pages(world, listed.index(best), PROJECTS_PER_PAGE, "None of these has the topic."),
            t.click(project_label(best), f"It has the topic and {best['stars']} stars."),
            t.leave(commands[protocol]),
        ],
        wrong_answers=[other, commands[protocol].replace(best["full_path"], fitting[1]["full_path"])],
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
    if len(rows) <= count or rows[count - 1]["stars"] == rows[count]["stars"]:
        raise t.NothingToDraw("projects of mine with different numbers of stars")
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
    if rows[count - 1]["stars"] == rows[count]["stars"]:
        raise t.NothingToDraw("a place in the list that is not shared")
    mine = {row["project_id"] for row in world.rows(STARRED)}
    missing = [row for row in rows[:count] if row["project_id"] not in mine]
    if not missing:
        raise t.NothingToDraw("a star to give")
    steps = [step for row in missing for step in (*open_by_stars(), t.click(project_label(row)), t.click("Star"))]
    return instruction(
        {"count": count},
        starred_with(world, [row["project_id"] for row in missing]),
        way=steps,
        seen=f"The first {count} have my star.",
    )


star_one = Change(
    PROJECTS + f"SELECT * FROM seen WHERE project_id NOT IN ({STARRED}) ORDER BY project_id",
    lambda world, row: starred_with(world, [row["project_id"]]),
    way=lambda _, row: [*open_project(row), t.click("Star")],
    seen="The button says Unstar now.",
    slots={"project": "{name}"},
)


unstar = Change(
    PROJECTS + f"SELECT * FROM seen WHERE project_id IN ({STARRED}) ORDER BY project_id",
    lambda world, row: starred_with(world, [], removed=row["project_id"]),
    way=lambda _, row: [
        t.click("Projects"),
        t.click("Starred"),
        t.search("Filter by name", row["name"]),
        t.click(project_label(row)),
        t.click("Unstar"),
    ],
    slots={"project": "{name}"},
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
    if not fitting:
        raise t.NothingToDraw("somebody with two to four projects of their own")
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
