"""The application of notes, as fixtures and tasks of the tests that play on it."""

import json
import sys
from pathlib import Path

import pytest

from tests.notes_app import make_state
from webarena_gym import WebArenaLite
from webarena_gym.addresses import Account
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import close_all
from webarena_gym.logins import Login

HERE = Path(__file__).parent
STARTS = {
    "wsgi": {"wsgi": "notes_app:application", "environment": {"NOTES_DB": "{state}/notes.db"}},
    "asgi": {"asgi": "notes_app:asgi", "environment": {"NOTES_DB": "{state}/notes.db"}},
    "each time": {"wsgi": "notes_app:application", "environment": {"NOTES_DB": "{state}/notes.db"}, "loads": "each time"},
    "command": {"command": f"{sys.executable} notes_app.py {{state}}/notes.db {{port}}"},
}
DESCRIBED = f"""
name = "notes"
wsgi = "notes_app:application"
folder = "{HERE}"
state = "{{0}}/state"
tasks = "tasks.json"
templates = "templates.toml"
incidental = ["session"]
databases = {{{{ notes = "notes.db" }}}}
environment = {{{{ NOTES_DB = "{{{{state}}}}/notes.db" }}}}
account = {{{{ user = "ann", password = "secret" }}}}
login = {{{{ path = "/login", user = "[name=user]", password = "[name=password]", proof = "/" }}}}
"""
TEMPLATES = """
[write]
intent = ["Add a note {fresh} beside {title}.", "Write a note with the title {fresh}, as there is {title}."]
query = "SELECT title FROM note ORDER BY id"
also = { fresh = { choice = [["Soap", "Ink", "Salt"]] } }
check = { state = ["SELECT count(*) FROM note WHERE title = ?", "{fresh}"], expected = [[1]] }
way = ["type Title | {fresh}", "wait", "click Add -- That is all."]

[body]
intent = "What does the note {title} say?"
type = "text"
query = "SELECT title, body FROM note WHERE body NOT LIKE '% m' ORDER BY id"
other = "SELECT body FROM note WHERE title <> :title ORDER BY id"
answer = "{body}"
wrong = ["{other[body]}"]
way = []
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder in which a file describes the application, with tasks and templates."""
    make_state(tmp_path / "state")
    (tmp_path / "tasks.json").write_text(json.dumps(TASKS))
    (tmp_path / "templates.toml").write_text(TEMPLATES)
    (tmp_path / "webarena-app.toml").write_text(DESCRIBED.format(tmp_path))
    yield tmp_path
    close_all()


def state_check(*titles):
    check = {"site": "notes", "query": "SELECT title FROM note ORDER BY id", "expected": [[title] for title in titles]}
    return {"eval_types": ["state"], "state": [check]}


def do(action, element, argument=None):
    argument_text = f'argument="{argument}", ' if argument else ""
    return f'do(action="{action}", {argument_text}element="{element}")'


ADD = [do("Type", "Title", "Soap"), do("Type", "Body", "two bars"), do("Click", "Add"), 'exit(message="")']


def task(task_id, evaluation, solution=()):
    return {
        "task_id": task_id, "sites": ["notes"], "start_url": "__NOTES__/", "intent": "Do it.", "eval": evaluation,
        "solution": [{"action": action} for action in solution],
    }  # fmt: skip


TASKS = [
    task("add", state_check("Tea", "Rope", "Soap"), ADD),
    task("json", {"eval_types": ["http"], "http": [{"url": "__NOTES__/notes.json", "path": "notes.2.title", "expected": "Soap"}]}, ADD),
    task("file", {"eval_types": ["file"], "file": [{"path": "files/export.txt", "contains": "notes"}]}, [do("Click", "Export"), 'exit(message="")']),
]  # fmt: skip


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """Return a function that describes the application, started in one of the ways."""
    folder = tmp_path_factory.mktemp("notes")
    make_state(folder / "state")
    (folder / "tasks.json").write_text(json.dumps(TASKS))

    def describe(start="wsgi", **more):
        settings = {
            "name": "notes", "folder": str(HERE), "state": str(folder / "state"), "databases": {"notes": "notes.db"},
            "incidental": ("session",), "account": Account("ann", "secret"), "tasks": str(folder / "tasks.json"),
            "login": Login("/login", '[name="user"]', '[name="password"]', "/"),
        }  # fmt: skip
        return Application(**{**settings, **STARTS[start], **more})

    yield describe
    close_all()


@pytest.fixture
def make(notes):
    made = []

    def make(start="wsgi", **keywords):
        made.append(WebArenaLite(application=notes(start), elements="label", **keywords))
        return made[-1]

    yield make
    for env in made:
        env.close()


def solve(env, task_id):
    env.reset(options={"task": task_id})
    for action in [step.to_json()["action"] for step in env.task.solution]:
        result = env.step(action)
        assert result[4]["action_error"] == ""
    return result
