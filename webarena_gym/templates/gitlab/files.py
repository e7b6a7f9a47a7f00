"""Changes to files."""

from collections.abc import Mapping
from typing import Any

from webarena_gym.sites.gitlab.world.pools import licenses
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.repositories import MAY_WRITE
from webarena_gym.templates.gitlab.routes import ME, PROJECTS, open_project
from webarena_gym.templates.ways import instruction

TEMPLATES = t.Templates("gitlab")
FILES = "SELECT path, trim(content, char(10)) FROM file JOIN branch USING (branch_id) WHERE project_id = ? AND name = ? ORDER BY path"
NOTES = (
    "Open every morning from nine to noon.",
    "Call before you come, the bell is broken.",
    "The next meeting is on the first Monday of the month.",
    "Send photos to the usual address, one per mail.",
    "All numbers are rounded to the next ten.",
    "Backups run at night and take an hour.",
    "Ask in the chat before you change this.",
    "Version two will need a new key.",
)
"""Texts for new files."""
FOLDERS = ("minutes", "archive", "drafts", "letters", "plans", "lists")
FILE_NAMES = ("summary.txt", "agenda.md", "contacts.txt", "remarks.md", "ideas.txt", "urls.txt")


def files_become(world: t.Sampler, row: t.Row, changes: Mapping[str, str | None]) -> dict[str, Any]:
    """The default branch must have its files with these changes (None: gone); blank ends are free."""
    branch = row["default_branch"]
    files = {entry[0]: entry[1] for entry in world.rows(FILES, row["project_id"], branch)}
    for path, content in changes.items():
        files.pop(path, None)
        if content is not None:
            files[path] = content.strip("\n")
    return t.state(FILES, row["project_id"], branch, expected=[[path, files[path]] for path in sorted(files)])


def open_file(row: t.Row, path: str) -> list[Step]:
    """Return the steps to a file on the default branch."""
    return [*open_project(row), *map(t.click, path.split("/"))]


def writable(world: t.Sampler, condition: str = "1") -> t.Row:
    """Return a project that I may write to."""
    return world.pick(PROJECTS + f"SELECT s.* FROM seen s WHERE {MAY_WRITE} AND ({condition}) ORDER BY project_id")


@TEMPLATES.define("In {project}, add a file {path} to the default branch that says: {text}")
def file_new(world: t.Sampler) -> t.Draw:
    """Make a file in a new folder; the page of the file is shown at the end."""
    row = writable(world)
    path = f"{world.rng.choice(FOLDERS)}/{world.rng.choice(FILE_NAMES)}"
    text = world.rng.choice(NOTES)
    return instruction(
        {"project": row["name"], "path": path, "text": text},
        t.all_of(
            t.at_url(f"__GITLAB__/{row['full_path']}/-/blob/{row['default_branch']}/{path}"),
            files_become(world, row, {path: text}),
        ),
        way=[
            *open_project(row, "New file"),
            t.type_text("File name", path, "The slash makes the folder."),
            t.type_text("File content", text),
            t.click("Commit changes"),
        ],
        seen="The file is there.",
    )


@TEMPLATES.define(
    "Make a folder called {folder} in {project} with two files in it: {first} containing the name of the project's owner or "
    "group as its page shows it, and {second} containing the number of its stars. The default branch is the place."
)
def folder_new(world: t.Sampler) -> t.Draw:
    """Make two files in one folder, with what is to be read on the project's page."""
    row = writable(world)
    folder = world.rng.choice(FOLDERS)
    first, second = world.rng.sample(FILE_NAMES, 2)
    changes = {f"{folder}/{first}": row["namespace_name"], f"{folder}/{second}": str(row["stars"])}
    steps: list[Step] = []
    for path, text in changes.items():
        steps += [t.click("Project overview"), t.click("New file"), t.type_text("File name", path)]
        steps += [t.type_text("File content", text), t.click("Commit changes")]
    return instruction(
        {"folder": folder, "project": row["name"], "first": first, "second": second},
        files_become(world, row, changes),
        way=[*open_project(row), *steps],
        seen="Both files are there.",
    )


@TEMPLATES.define(
    "Change the title of my website {project} to {title}: the title element in its index.html, nothing else there."
)
def website_title(world: t.Sampler) -> t.Draw:
    """Replace one line of a page of my website."""
    row = world.pick(
        PROJECTS
        + """SELECT m.*, f.content FROM mine m JOIN file f ON f.branch_id = m.trunk_id AND f.path = 'index.html'
        WHERE f.content LIKE '%<title>%' ORDER BY project_id"""
    )
    topic = world.pick("SELECT name FROM user WHERE user_id > 1 ORDER BY user_id")["name"]
    title = world.rng.choice((f"The friends of {topic}", f"Letters to {topic}", f"A room for {topic}"))
    before, _, rest = row["content"].partition("<title>")
    content = f"{before}<title>{title}</title>{rest.partition('</title>')[2]}"
    return instruction(
        {"project": row["name"], "title": title},
        files_become(world, row, {"index.html": content}),
        way=[
            *open_file(row, "index.html"),
            t.click("Edit file"),
            t.type_text("File content", content, "Only the title differs."),
            t.click("Commit changes"),
        ],
        seen="The title is changed.",
    )


@TEMPLATES.define(
    "Put my project {project} under the {license}: its LICENSE file must hold the site's template of that license."
)
def license_change(world: t.Sampler) -> t.Draw:
    """Replace the license by a template."""
    row = world.pick(PROJECTS + "SELECT * FROM mine WHERE license != '' ORDER BY project_id")
    name = world.rng.choice([name for name in licenses() if name != row["license"]])
    me = world.value("SELECT name FROM user WHERE user_id = ?", ME)
    year = world.value("SELECT substr(value, 1, 4) FROM world WHERE key = 'now'")
    text = licenses()[name].replace("@y@", year).replace("@a@", me)
    return instruction(
        {"project": row["name"], "license": name},
        t.all_of(
            files_become(world, row, {"LICENSE": text}),
            t.state("SELECT license FROM project WHERE project_id = ?", row["project_id"], expected=[[name]]),
        ),
        way=[
            *open_file(row, "LICENSE"),
            t.click("Edit file"),
            t.choose("License template", name),
            t.click("Apply template"),
            t.click("Commit changes"),
        ],
        seen=f"The license is the {name} now.",
    )


@TEMPLATES.define("Replace the whole README of {project} by this one line: {text}")
def readme_replace(world: t.Sampler) -> t.Draw:
    """Replace a README."""
    row = writable(world)
    text = world.rng.choice(NOTES)
    return instruction(
        {"project": row["name"], "text": text},
        files_become(world, row, {"README.md": text}),
        way=[*open_file(row, "README.md"), t.click("Edit file"), t.type_text("File content", text), t.click("Commit changes")],
        seen="The README is replaced.",
    )


@TEMPLATES.define("Delete the file {path} from the default branch of {project}.")
def file_delete(world: t.Sampler) -> t.Draw:
    """Remove a file."""
    row = writable(world)
    path = world.pick("SELECT path FROM file WHERE branch_id = ? ORDER BY path", row["trunk_id"])["path"]
    return instruction(
        {"path": path, "project": row["name"]},
        files_become(world, row, {path: None}),
        way=[*open_file(row, path), t.click("Delete file")],
        seen="The file is gone.",
    )
