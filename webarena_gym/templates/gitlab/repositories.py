"""Branches and what is in repositories: questions, pages to open, and branches to make and remove."""

from typing import Any

from webarena_gym.sites.country.words import invented
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.routes import BRANCHES_PER_PAGE, ME, PROJECTS, open_project
from webarena_gym.templates.rows import Change, Fact, Impossible, Visit
from webarena_gym.templates.ways import instruction, turn_pages

BRANCHES = """SELECT b.name, (SELECT count(*) FROM commit_branch c WHERE c.branch_id = b.branch_id),
    (SELECT count(*) FROM file f WHERE f.branch_id = b.branch_id) FROM branch b WHERE b.project_id = ? ORDER BY b.name"""
MAY_WRITE = f"""s.project_id IN (
    SELECT project_id FROM membership WHERE user_id = {ME} AND role IN ('Developer', 'Maintainer', 'Owner')
) AND NOT s.is_archived"""
"""Holds for a project s whose files I may change."""


def branches_of(world: t.Sampler, project_id: int) -> list[list[Any]]:
    """Return the branches of a project with their numbers of commits and files, by name."""
    return [list(row) for row in world.rows(BRANCHES, project_id)]


def pick_branch(world: t.Sampler, condition: str) -> t.Row:
    """Return a branch that is not the default one, with its project, of the projects that fulfil a condition."""
    return world.pick(
        PROJECTS
        + f"""SELECT s.*, b.name AS branch, b.branch_id, c.title, (
            SELECT count(*) FROM branch o WHERE o.project_id = s.project_id AND (o.name < b.name OR o.name = s.default_branch)
        ) AS place FROM seen s JOIN branch b USING (project_id) JOIN git_commit c ON c.commit_id = b.head_id
        WHERE b.name != s.default_branch AND ({condition}) ORDER BY b.branch_id"""
    )


def _open_branches(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the page of the list of branches where the branch of a row stands."""
    thought = f"{row['branch']} is not on this page."
    return [*open_project(row, "Branches"), *turn_pages(world, row["place"], BRANCHES_PER_PAGE, thought)]


branch_count = Fact(
    PROJECTS
    + """SELECT s.*, count(*) AS found FROM seen s JOIN branch USING (project_id) GROUP BY project_id
        HAVING found > 1 ORDER BY project_id""",
    "{found!s}",
    way=lambda _, row: open_project(row, "Branches"),
    seen="There are {found!s}.",
    wrong=lambda _, row: [str(row["found"] - 1)],
    slots={"project": "{name}"},
)


branch_head = Fact(
    lambda world: pick_branch(
        world,
        "c.title != (SELECT title FROM git_commit d JOIN branch t ON t.head_id = d.commit_id WHERE t.branch_id = s.trunk_id)",
    ),
    "{title}",
    way=_open_branches,
    seen="It is below {branch}.",
    wrong=["{trunk}"],
    also={
        "trunk": lambda world, row: world.value(
            "SELECT title FROM git_commit JOIN branch ON head_id = commit_id WHERE branch_id = ?", row["trunk_id"]
        )
    },
    slots={"project": "{name}"},
)


license_name = Fact(
    PROJECTS + "SELECT * FROM seen WHERE license != '' ORDER BY project_id",
    "{license}",
    way=lambda _, row: open_project(row),
    seen="It stands above the files.",
    wrong=["{other}"],
    also={
        "other": lambda world, row: world.value(
            "SELECT license FROM project WHERE license NOT IN ('', ?) ORDER BY license", row["license"]
        )
    },
    slots={"project": "{name}"},
)


branch_missing = Impossible(
    PROJECTS + "SELECT * FROM seen ORDER BY project_id",
    lacks(["{default_branch}"], ["{branch}"]),
    way=lambda _, row: open_project(row, "Branches"),
    seen="There is no {branch}.",
    wrong=["0", "1"],
    also={
        "seed": lambda world, _row: int(world.value("SELECT value FROM world WHERE key = 'seed'")),
        "branch": lambda world, row: (
            f"{world.rng.choice(('fix', 'try', 'new'))}-{invented(row['seed'], world.rng.randrange(128), 'title').lower()}"
        ),
    },
    slots={"project": "{name}"},
)


file_place = Visit(
    lambda world: pick_branch(world, "1"),
    "__GITLAB__/{full_path}/-/blob/{branch}/{other[path]}",
    way=lambda _, row: [
        *open_project(row),
        t.choose("Branch", row["branch"]),
        t.click("Switch branch"),
        *(t.click(part) for part in row["other"]["path"].split("/")),
    ],
    other=(
        "SELECT path FROM file WHERE branch_id = ? ORDER BY path",
        "branch_id",
    ),
    slots={"path": "{other[path]}", "project": "{name}"},
)


def branch_new(world: t.Sampler) -> t.Draw:
    """Make a branch."""
    row = world.pick(
        PROJECTS
        + f"SELECT s.*, b.name AS source FROM seen s JOIN branch b USING (project_id) WHERE {MAY_WRITE} ORDER BY branch_id"
    )
    seed = int(world.value("SELECT value FROM world WHERE key = 'seed'"))
    branch = f"{world.rng.choice(('fix', 'try', 'new'))}-{invented(seed, world.rng.randrange(128), 'title').lower()}"
    before = branches_of(world, row["project_id"])
    source = next(entry for entry in before if entry[0] == row["source"])
    return instruction(
        {"branch": branch, "project": row["name"], "source": row["source"]},
        t.state(BRANCHES, row["project_id"], expected=sorted([*before, [branch, *source[1:]]])),
        way=[
            *open_project(row, "Branches", "New branch"),
            t.type_text("Branch name", branch),
            t.choose("Create from", row["source"]),
            t.click("Create branch"),
        ],
        seen="The branch is in the list.",
    )


branch_delete = Change(
    lambda world: pick_branch(world, MAY_WRITE),
    lambda _, row: t.state(
        BRANCHES, row["project_id"], expected=[entry for entry in row["before"] if entry[0] != row["branch"]]
    ),
    way=lambda world, row: [*_open_branches(world, row), t.click(f"Delete branch {row['branch']}")],
    seen="The branch is gone.",
    also={"before": lambda world, row: branches_of(world, row["project_id"])},
    slots={"project": "{name}"},
)
