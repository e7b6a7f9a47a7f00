"""Prepares an example: `python examples/prepare.py NAME` installs its application in an environment of its own and writes its state.

Each is the released package, pinned, as its own documentation sets it up; nothing of it is kept here. Only `desk` is a program of this folder.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = {
    "wagtail": ["wagtail==7.3.4", "Django==5.2.19"],
    "spirit": ["django-spirit==0.14.3", "Django==5.2.19", "setuptools==80.9.0"],
    "datasette": ["datasette==0.65.5"],
    "klaus": ["klaus==3.0.1", "setuptools==80.9.0"],
    "jupyterlab": ["jupyterlab==4.6.6"],
    "desk": [],  # needs a PostgreSQL server, and psql, createdb, dropdb and pg_dump on the path
}
ORCHARD = """
CREATE TABLE orchard (id INTEGER PRIMARY KEY, name TEXT, region TEXT);
CREATE TABLE tree (id INTEGER PRIMARY KEY, orchard_id INTEGER REFERENCES orchard (id), kind TEXT, planted INTEGER, kg INTEGER);
INSERT INTO orchard (name, region) VALUES ('Hill', 'North'), ('Brook', 'North'), ('Mill', 'South');
"""
KINDS = ("Cox", "Boskoop", "Elstar", "Gala", "Jonagold")
COMMITS = (
    ("README.md", "# Recipes\n", "Begin"), ("soup.txt", "leek\npotato\n", "Add a soup"),
    ("bread.txt", "flour\nsalt\n", "Add bread"), ("soup.txt", "leek\npotato\ncream\n", "More cream"),
)  # fmt: skip
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": ["# Levels"]},
        {"cell_type": "code", "id": "mean", "metadata": {}, "outputs": [], "execution_count": None, "source": ["mean = 405"]},
    ],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip
LAB_TIME = 1709283600  # 1 March 2024; folders do not matter
LAB_FILES = {
    "files/readme.md": "# Tide\n\nSea levels of the harbour, by Ann Lee.\n",
    "files/levels.csv": "day,cm\nMon,412\nTue,398\nWed,405\n",
    "files/todo.txt": "call the pilot\n",
    "files/levels.ipynb": json.dumps(NOTEBOOK),
    "files/old/2023.csv": "day,cm\nMon,388\n",
    "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings": '{"fetchNews": "false", "checkForUpdates": false}',
    "config/labconfig/page_config.json": json.dumps({"buildCheck": False, "disabledExtensions": {f"@jupyterlab/{name}-extension": True for name in ["audio", "celltags", "debugger", "extensionmanager", "hub", "imageviewer", "inspector", "logconsole", "lsp", "mathjax", "mermaid", "pdf", "pluginmanager", "terminal", "theme-dark", "theme-dark-high-contrast", "toc", "tooltip", "vega5", "video"]}}),
}  # fmt: skip


def wagtail(folder: Path, python: Path) -> None:
    """Start a project, make its database, an administrator and some pages."""
    _run(python.with_name("wagtail"), "start", "cms", folder / "site")
    _django(folder, python, "cms", "migrate")


def spirit(folder: Path, python: Path) -> None:
    """Start a project, make its database, users, categories and topics."""
    _run(python, "-m", "django", "startproject", "--template", _spirit_template(python), "forum", folder / "site")
    _django(folder, python, "forum", "spiritinstall")


def _spirit_template(python: Path) -> Path:
    return next(python.parents[1].glob("lib/*/site-packages/spirit/extra/project_template"))


def _django(folder: Path, python: Path, name: str, install: str) -> None:
    """Add the settings of an example to its project, make its database, and fill it."""
    shutil.copy(folder / "settings.py", folder / "site" / name / "settings" / "gym.py")
    variables = {"DJANGO_SETTINGS_MODULE": f"{name}.settings.gym", f"{name.upper()}_STATE": str(folder / "state")}
    _run(python, "manage.py", install, "--verbosity", "0", cwd=folder / "site", variables=variables)
    script = (folder / "contents.py").read_text()
    _run(python, "manage.py", "shell", "--verbosity", "0", "-c", script, cwd=folder / "site", variables=variables)


def datasette(folder: Path, python: Path) -> None:  # noqa: ARG001 - same signature as the others
    """Write a database of orchards."""
    with sqlite3.connect(folder / "state" / "orchards.db") as db:
        db.executescript(ORCHARD)
        for number in range(60):
            row = (1 + number % 3, KINDS[number * 7 % 5], 1980 + number * 13 % 40, 20 + number * 37 % 90)
            db.execute("INSERT INTO tree (orchard_id, kind, planted, kg) VALUES (?, ?, ?, ?)", row)
    db.close()


def klaus(folder: Path, python: Path) -> None:  # noqa: ARG001 - same signature as the others
    """Write a repository of a few commits and a tag."""
    repository = folder / "state" / "recipes"
    _run("git", "init", "--quiet", "--initial-branch=main", repository)
    for number, (name, text, message) in enumerate(COMMITS):
        (repository / name).write_text(text)
        when = f"2024-03-0{number + 1}T10:00:00+0000"
        author = {"GIT_AUTHOR_NAME": "Ann Lee", "GIT_AUTHOR_EMAIL": "ann@recipes.test", "GIT_AUTHOR_DATE": when}
        author |= {key.replace("AUTHOR", "COMMITTER"): value for key, value in author.items()}
        _run("git", "add", "--all", cwd=repository)
        _run("git", "commit", "--quiet", "--message", message, cwd=repository, variables=author)
    _run("git", "tag", "v1", cwd=repository)


def jupyterlab(folder: Path, python: Path) -> None:  # noqa: ARG001 - same signature as the others
    """Write files to work on, and the settings of a user without news and without extensions that tasks do not need."""
    for name, text in LAB_FILES.items():
        path = folder / "state" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (LAB_TIME, LAB_TIME))


def desk(folder: Path, python: Path) -> None:  # noqa: ARG001 - same signature as the others
    """Dump a PostgreSQL database of tickets, which is dropped afterwards."""
    _run("dropdb", "--if-exists", "desk_template")
    _run("createdb", "desk_template")
    _run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", "desk_template", "-f", folder / "schema.sql")
    _run("pg_dump", "-f", folder / "state" / "desk.sql", "desk_template")
    _run("dropdb", "desk_template")


def _run(*command: object, cwd: Path | None = None, variables: dict[str, str] | None = None) -> None:
    subprocess.run(list(map(str, command)), cwd=cwd, check=True, env={**os.environ, **(variables or {})})


def prepare(name: str) -> None:
    """Install one example and write its initial state."""
    folder = HERE / name
    python = folder / ".venv" / "bin" / "python"
    if REQUIREMENTS[name] and not python.exists():
        venv.create(folder / ".venv", with_pip=True)
        _run(python, "-m", "pip", "install", "--quiet", *REQUIREMENTS[name])
    for place in ("state", "site"):
        shutil.rmtree(folder / place, ignore_errors=True)
        (folder / place).mkdir()
    writers = {
        "wagtail": wagtail, "spirit": spirit, "datasette": datasette, "klaus": klaus, "jupyterlab": jupyterlab, "desk": desk,
    }  # fmt: skip
    writers[name](folder, python)
    print(f"prepared {folder}; next: webarena-gym app check {folder}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="+", choices=REQUIREMENTS)
    for chosen in parser.parse_args().name:
        prepare(chosen)
    sys.exit(0)
