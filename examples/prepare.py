"""Prepares an example: `python examples/prepare.py NAME` installs its application in an environment of its own and writes its state.

Each is the released package, pinned, as its own documentation sets it up; nothing of it is kept here.
"""

import argparse
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
    "datasette": ["datasette==0.65.5"],
    "klaus": ["klaus==3.0.1"],
}
WAGTAIL_SETTINGS = """
import os
from .dev import *
DATABASES["default"]["NAME"] = os.environ["CMS_STATE"] + "/cms.sqlite3"
MEDIA_ROOT = os.environ["CMS_STATE"] + "/media"
LOGGING = {"version": 1}
"""
WAGTAIL_PAGES = """
from django.contrib.auth import get_user_model
from home.models import HomePage
from wagtail.models import Page, Site
get_user_model().objects.create_superuser("ann", "ann@cms.test", "correct horse")
home = Page.objects.get(slug="home")
for title in ("Opening hours", "Harbour tour", "Price list", "Staff", "Winter closing"):
    home.add_child(instance=HomePage(title=title))
"""
ORCHARD = """
CREATE TABLE orchard (id INTEGER PRIMARY KEY, name TEXT, region TEXT);
CREATE TABLE tree (id INTEGER PRIMARY KEY, orchard_id INTEGER REFERENCES orchard (id), kind TEXT, planted INTEGER, kg INTEGER);
INSERT INTO orchard (name, region) VALUES ('Hill', 'North'), ('Brook', 'North'), ('Mill', 'South');
"""
KINDS = ("Cox", "Boskoop", "Elstar", "Gala", "Jonagold")


def wagtail(folder: Path, python: Path) -> None:
    """Start a project, make its database, an administrator and some pages."""
    site = folder / "cms"
    site.mkdir()
    _run(python.with_name("wagtail"), "start", "cms", site)
    (site / "cms" / "settings" / "gym.py").write_text(WAGTAIL_SETTINGS)
    variables = {"DJANGO_SETTINGS_MODULE": "cms.settings.gym", "CMS_STATE": str(folder / "state")}
    _run(python, "manage.py", "migrate", "--verbosity", "0", cwd=site, variables=variables)
    _run(python, "manage.py", "shell", "--verbosity", "0", "-c", WAGTAIL_PAGES, cwd=site, variables=variables)


def datasette(folder: Path, python: Path) -> None:  # noqa: ARG001 - as all
    """Write a database of orchards."""
    with sqlite3.connect(folder / "state" / "orchards.db") as db:
        db.executescript(ORCHARD)
        for number in range(60):
            row = (1 + number % 3, KINDS[number * 7 % 5], 1980 + number * 13 % 40, 20 + number * 37 % 90)
            db.execute("INSERT INTO tree (orchard_id, kind, planted, kg) VALUES (?, ?, ?, ?)", row)
    db.close()


def klaus(folder: Path, python: Path) -> None:  # noqa: ARG001 - as all
    """Write a repository of a few commits and a tag."""
    repository = folder / "state" / "recipes"
    _run("git", "init", "--quiet", "--initial-branch=main", repository)
    for number, (name, text, message) in enumerate(
        (("README.md", "# Recipes\n", "Begin"), ("soup.txt", "leek\npotato\n", "Add a soup"), ("bread.txt", "flour\nsalt\n", "Add bread"), ("soup.txt", "leek\npotato\ncream\n", "More cream"))
    ):  # fmt: skip
        (repository / name).write_text(text)
        when = f"2024-03-0{number + 1}T10:00:00+0000"
        author = {"GIT_AUTHOR_NAME": "Ann Lee", "GIT_AUTHOR_EMAIL": "ann@recipes.test", "GIT_AUTHOR_DATE": when}
        author |= {key.replace("AUTHOR", "COMMITTER"): value for key, value in author.items()}
        _run("git", "add", "--all", cwd=repository)
        _run("git", "commit", "--quiet", "--message", message, cwd=repository, variables=author)
    _run("git", "tag", "v1", cwd=repository)


def _run(*command: object, cwd: Path | None = None, variables: dict[str, str] | None = None) -> None:
    subprocess.run(list(map(str, command)), cwd=cwd, check=True, env={**os.environ, **(variables or {})})


def prepare(name: str) -> None:
    """Install one example and write its state anew."""
    folder = HERE / name
    python = folder / ".venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / ".venv", with_pip=True)
        _run(python, "-m", "pip", "install", "--quiet", *REQUIREMENTS[name])
    for place in ("state", "cms"):
        shutil.rmtree(folder / place, ignore_errors=True)
    (folder / "state").mkdir()
    {"wagtail": wagtail, "datasette": datasette, "klaus": klaus}[name](folder, python)
    print(f"prepared {folder}; next: webarena-gym app check {folder}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="+", choices=REQUIREMENTS)
    for chosen in parser.parse_args().name:
        prepare(chosen)
    sys.exit(0)
