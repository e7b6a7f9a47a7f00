"""An application of notes with its description, which tests change, and a task."""

import json
import sqlite3
from contextlib import closing

import pytest

from webarena_gym.applications.processes import close_all

NOTES = """
import os, sqlite3
from urllib.parse import parse_qs

def connect():
    return sqlite3.connect(os.environ["DATABASE"])

def app(environ, start_response):
    if environ["PATH_INFO"] == "/gone":
        start_response("404 Not Found", [("Content-Type", "text/html")])
    else:
        start_response("200 OK", [("Content-Type", "text/html")])
    with connect() as db:
        if environ["REQUEST_METHOD"] == "POST":
            form = parse_qs(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode())
            db.execute("INSERT INTO note VALUES (?)", form["title"])
    return [b"<a href=/>Home</a><form method=post action=/><input name=title aria-label=Title><button>Add</button></form>"]

def make_app():
    return app

async def asgi(scope, receive, send):
    pass
"""
TOML = {
    "name": "notes", "wsgi": "notes:app", "state": "state", "tasks": "tasks.json", "databases": {"notes": "db.sqlite3"},
    "environment": {"DATABASE": "{state}/db.sqlite3"},
}  # fmt: skip
CHECK = {"site": "notes", "query": "SELECT count(*) FROM note WHERE title = ?", "parameters": ["Milk"], "expected": [[1]]}
ACTIONS = ['do(action="Type", argument="Milk", element="Title")', 'do(action="Click", element="Add")', 'exit(message="")']
TASK = {
    "task_id": "milk", "sites": ["notes"], "start_url": "__NOTES__/", "require_login": False, "intent": "Add a note Milk.",
    "eval": {"eval_types": ["state"], "state": [CHECK]}, "solution": [{"action": action} for action in ACTIONS],
}  # fmt: skip


def toml(value):
    """Return a value as TOML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml(item)}' for key, item in value.items())} }}"
    return json.dumps(value)


@pytest.fixture
def describe(tmp_path):
    """Return a function that writes an application with other keys, None for a missing one, and returns its folder."""

    def write(keys=None, tasks=(TASK,), **files):
        (tmp_path / "state").mkdir()
        with closing(sqlite3.connect(tmp_path / "state" / "db.sqlite3")) as db, db:
            db.execute("CREATE TABLE note (title TEXT)")
        record = {key: value for key, value in {**TOML, **(keys or {})}.items() if value is not None}
        (tmp_path / "webarena-app.toml").write_text(
            "".join(f"{key} = {toml(value)}\n" for key, value in record.items()).replace("FOLDER", str(tmp_path))
        )
        (tmp_path / "tasks.json").write_text(json.dumps(list(tasks)))
        for name, text in {"notes": NOTES, **files}.items():
            (tmp_path / f"{name}.py").write_text(text)
        return tmp_path

    write.folder = tmp_path
    yield write
    close_all()
