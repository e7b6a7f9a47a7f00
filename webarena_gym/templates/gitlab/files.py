"""Changes to files."""

from collections.abc import Mapping
from typing import Any

from webarena_gym.sites.gitlab.world.pools import licenses
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.repositories import MAY_WRITE
from webarena_gym.templates.gitlab.routes import ME, PROJECTS, open_project
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction

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


file_new = Change(
    writable,
    lambda world, row: t.all_of(
        t.at_url(f"__GITLAB__/{row['full_path']}/-/blob/{row['default_branch']}/{row['path']}"),
        files_become(world, row, {row["path"]: row["text"]}),
    ),
    way=lambda _, row: [
        *open_project(row, "New file"),
        t.type_text("File name", row["path"], "The slash makes the folder."),
        t.type_text("File content", row["text"]),
        t.click("Commit changes"),
    ],
    seen="The file is there.",
    also={
        "path": lambda world, _row: f"{world.rng.choice(FOLDERS)}/{world.rng.choice(FILE_NAMES)}",
        "text": lambda world, _row: world.rng.choice(NOTES),
    },
    slots={"project": "{name}"},
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


readme_replace = Change(
    writable,
    lambda world, row: files_become(world, row, {"README.md": row["text"]}),
    way=lambda _, row: [
        *open_file(row, "README.md"),
        t.click("Edit file"),
        t.type_text("File content", row["text"]),
        t.click("Commit changes"),
    ],
    seen="The README is replaced.",
    also={"text": lambda world, _row: world.rng.choice(NOTES)},
    slots={"project": "{name}"},
)


file_delete = Change(
    writable,
    lambda world, row: files_become(world, row, {row["other"]["path"]: None}),
    way=lambda _, row: [*open_file(row, row["other"]["path"]), t.click("Delete file")],
    seen="The file is gone.",
    other=(
        "SELECT path FROM file WHERE branch_id = ? ORDER BY path",
        "trunk_id",
    ),
    slots={"path": "{other[path]}", "project": "{name}"},
)
