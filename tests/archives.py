"""Archives of an application, and their manifest."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.notes_app import make_state
from webarena_gym.applications.archive import FILE, MANIFEST, SUFFIX
from webarena_gym.applications.processes import close_all
from webarena_gym.tools.cli import main

TOML = """
name = "notes"
wsgi = "notes_app:application"
state = "state"
tasks = "tasks.json"
incidental = ["session"]
databases = { notes = "notes.db" }
environment = { NOTES_DB = "{state}/notes.db", NOTES_SOUND = "1" }
account = { user = "ann", password = "secret" }
login = { path = "/login", user = "[name=user]", password = "[name=password]", proof = "/" }
"""
TASK = {
    "task_id": "add", "sites": ["notes"], "start_url": "__NOTES__/", "intent": "Add a note with the title Soap.", "require_login": True,
    "eval": {"eval_types": ["state"], "state": [{"site": "notes", "query": "SELECT count(*) FROM note WHERE title = 'Soap'", "expected": [[1]]}]},
    "solution": [
        {"action": 'do(action="Type", argument="Soap", element="Title")'}, {"action": 'do(action="Click", element="Add")'}, {"action": 'exit(message="")'},
    ],
}  # fmt: skip
ONE_BROWSER = "--browser", "inprocess", "--resets", "2"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    close_all()


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Return a folder with an application that uses no file outside of its folder, and its archive, packed once for all tests."""
    place = tmp_path_factory.mktemp("packed")
    folder = place / "notes"
    make_state(folder / "state")
    (folder / "state" / "empty").mkdir()
    shutil.copy(Path(__file__).with_name("notes_app.py"), folder)
    (folder / FILE).write_text(TOML)
    (folder / "tasks.json").write_text(json.dumps([TASK]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEBARENA_GYM_CACHE", str(place / "cache"))
        assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(place / f"notes{SUFFIX}"), *ONE_BROWSER]) == 0
    return place


@pytest.fixture
def folder(packed, tmp_path):
    return shutil.copytree(packed / "notes", tmp_path / "notes")


@pytest.fixture
def archive(packed, tmp_path):
    return Path(shutil.copy(packed / f"notes{SUFFIX}", tmp_path))


def rewrite(archive, change=lambda manifest: None, extra=()):
    """Write an archive again with a changed manifest or more files."""
    with zipfile.ZipFile(archive) as opened:
        contents = {name: opened.read(name) for name in opened.namelist()}
    manifest = json.loads(contents[MANIFEST])
    change(manifest)
    contents |= {MANIFEST: json.dumps(manifest).encode(), **dict(extra)}
    with zipfile.ZipFile(archive, "w") as opened:
        for name, data in contents.items():
            opened.writestr(name, data)


def change(path):
    path.write_text(path.read_text() + "\n# changed")
