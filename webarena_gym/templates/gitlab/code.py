"""Repositories: branches, commits and files, to be asked for and changed."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from webarena_gym.sites.country.names import invented
from webarena_gym.sites.gitlab.world_projects import licenses
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab import BRANCHES_PER_PAGE, ME, PROJECTS, open_project
from webarena_gym.templates.ways import turn_pages

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
    query = f"""{PROJECTS}SELECT s.*, b.name AS branch, b.branch_id, c.title, (
            SELECT count(*) FROM branch o WHERE o.project_id = s.project_id AND (o.name < b.name OR o.name = s.default_branch)
        ) AS place FROM seen s JOIN branch b USING (project_id) JOIN git_commit c ON c.commit_id = b.head_id
        WHERE b.name != s.default_branch AND ({condition}) ORDER BY b.branch_id"""
    return world.pick(query)


def open_branches(world: t.Sampler, row: t.Row) -> list[Step]:
    """Return the steps to the page of the list of branches where the branch of a row stands."""
    thought = f"{row['branch']} is not on this page."
    return [*open_project(row, "Branches"), *turn_pages(world, row["place"], BRANCHES_PER_PAGE, thought)]


def branch_appears(world: t.Sampler, row: t.Row, branch: str) -> dict[str, Any]:
    """A project must have its branches and one more, which holds what the branch `source` does."""
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


def filtered(world: t.Sampler, row: t.Row) -> list[t.Row]:
    """Return the commits that a project's list shows when it is narrowed to the author of a row, in order."""
    query = f"""{MADE}SELECT * FROM made WHERE project_id = ? AND author_name = ? AND is_trunk
        ORDER BY moment DESC, commit_id DESC"""
    return world.rows(query, row["project_id"], row["author_name"])


def open_commits_of(row: t.Row) -> list[Step]:
    """Return the steps to the commits of the author of a row."""
    return [*open_project(row, "Commits"), t.choose("Author", row["author_name"]), t.click("Filter commits")]


def fitting(world: t.Sampler, row: t.Row, column: str) -> dict[str, Any]:
    """Return the commits of the author of a row in its day, month or year: the place of the last, their hashes, and how many there are of all."""
    commits = filtered(world, row)
    places = [place for place, commit in enumerate(commits) if commit[column] == row[column]]
    return {"last": places[-1], "hashes": [commits[place]["sha"][:8] for place in places], "all": len(commits)}


def month_of(day: str) -> str:
    """Return the month of a day as people write it."""
    return f"{date.fromisoformat(day):%B %Y}"


def ranked(world: t.Sampler, least: int) -> list[t.Row]:
    """Return the contributors to the default branch of a project with `least` of them or more, the most active first."""
    query = f"""{MADE}SELECT project_id FROM made WHERE is_trunk GROUP BY project_id
        HAVING count(DISTINCT author_email) >= ? AND count(DISTINCT author_name) = count(DISTINCT author_email)
        ORDER BY project_id"""
    project = world.pick(query, least)
    query = f"""{MADE}SELECT *, count(*) AS found, max(moment) AS last FROM made WHERE is_trunk AND project_id = ?
        GROUP BY author_email ORDER BY found DESC, author_name"""
    return world.rows(query, project["project_id"])


def top(world: t.Sampler, count: int) -> list[t.Row]:
    """Return the contributors of a project where the first `count` places are not shared. Raises NothingToDraw."""
    rows = ranked(world, count + 1)
    numbers = [row["found"] for row in rows[: count + 1]]
    t.skip_if(len(numbers) != len({*numbers}), "a project whose most active contributors have different numbers of commits")
    return rows


FILES = "SELECT path, trim(content, char(10)) FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ? ORDER BY path"
FOLDERS = ("minutes", "archive", "drafts", "letters", "plans", "lists")
FILE_NAMES = ("summary.txt", "agenda.md", "contacts.txt", "remarks.md", "ideas.txt", "urls.txt")


def missing_branch(world: t.Sampler) -> str:
    """Return the name of a branch that no project has."""
    seed, start = int(world.value("SELECT value FROM world WHERE key = 'seed'")), world.rng.choice(("fix", "try", "new"))
    return f"{start}-{invented(seed, world.rng.randrange(128), 'title').lower()}"


def license_text(world: t.Sampler, name: str) -> str:
    """Return the text of a license in my name."""
    me = world.value("SELECT name FROM user WHERE user_id = ?", ME)
    year = world.value("SELECT substr(value, 1, 4) FROM world WHERE key = 'now'")
    return str(licenses()[name].replace("@y@", year).replace("@a@", me))


def click_path(path: str) -> list[Step]:
    """Return the steps through the folders of a path to its file."""
    return [t.click(part) for part in path.split("/")]


def files_become(world: t.Sampler, row: t.Row, changes: Mapping[str, str | None]) -> dict[str, Any]:
    """The default branch must have its files with these changes (None: gone); blank ends are free."""
    branch = row["default_branch"]
    files = {entry[0]: entry[1] for entry in world.rows(FILES, row["project_id"], branch)}
    for path, content in changes.items():
        files.pop(path, None)
        if content is not None:
            files[path] = content.strip("\n")
    return t.state(FILES, row["project_id"], branch, expected=[[path, files[path]] for path in sorted(files)])


def file_becomes(world: t.Sampler, row: t.Row, path: str, text: str | None = None) -> dict[str, Any]:
    """One file of the default branch must hold a text, or be gone, and the others must be as they are."""
    return files_become(world, row, {path: text})


def open_file(row: t.Row, path: str) -> list[Step]:
    """Return the steps to a file on the default branch."""
    return [*open_project(row), *click_path(path)]


def writable(world: t.Sampler, condition: str = "1") -> t.Row:
    """Return a project that I may write to."""
    return world.pick(PROJECTS + f"SELECT s.* FROM seen s WHERE {MAY_WRITE} AND ({condition}) ORDER BY project_id")
