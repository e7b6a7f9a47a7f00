"""A web application of one's own as an env: three ways to start it, isolation, resets, forks, checks, side effects, deaths."""

import json
import math
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.notes_app import make_state
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.processes import close_all
from webarena_gym.errors import ApplicationError, SnapshotError, TaskError
from webarena_gym.servers.logins import Account, Login
from webarena_gym.tasks import load
from webarena_gym.tools.cli import main

HERE = Path(__file__).parent
STARTS = {
    "wsgi": {"wsgi": "notes_app:application", "environment": {"NOTES_DB": "{state}/notes.db"}},
    "asgi": {"asgi": "notes_app:asgi", "environment": {"NOTES_DB": "{state}/notes.db"}},
    "each time": {"wsgi": "notes_app:application", "environment": {"NOTES_DB": "{state}/notes.db"}, "loads": "each time"},
    "command": {"command": f"{sys.executable} notes_app.py {{state}}/notes.db {{port}}"},
}


DESCRIBED = (
    f'name = "notes"\nwsgi = "notes_app:application"\nfolder = "{HERE}"\nstate = "{{0}}/state"\ntasks = "t.json"\n'
    '[databases]\nnotes = "notes.db"\n[environment]\nNOTES_DB = "{{state}}/notes.db"\n'
)


def state_check(*titles):
    check = {"site": "notes", "query": "SELECT title FROM note ORDER BY id", "expected": [[title] for title in titles]}
    return {"eval_types": ["state"], "state": [check]}


def do(action, element, argument=None):
    told = f'argument="{argument}", ' if argument else ""
    return f'do(action="{action}", {told}element="{element}")'


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
        told = {
            "name": "notes", "folder": str(HERE), "state": str(folder / "state"), "databases": {"notes": "notes.db"},
            "incidental": ("session",), "account": Account("ann", "secret"), "tasks": str(folder / "tasks.json"),
            "login": Login("/login", '[name="user"]', '[name="password"]', "/"),
        }  # fmt: skip
        return Application(**{**told, **STARTS[start], **more})

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


@pytest.mark.parametrize("start", STARTS)
def test_each_episode_begins_in_the_same_state_signed_in(make, start):
    env, other = make(start), make(start)
    first, info = env.reset(options={"task": "add"})
    assert "Visit 1" in first, "a process of its own for each episode"
    assert info["url"] == "http://notes.test/"
    other.reset(options={"task": "add"})
    result = solve(env, "add")
    assert result[1] == 1.0, result[4]
    assert "Soap" not in other.step(do("Click", "Export"))[0]
    assert env.reset(options={"task": "add"})[0] == first


@pytest.mark.parametrize("browser", ["inprocess", "chromium"])
def test_checks_of_rows_json_and_files_on_both_browsers(make, browser):
    env = make(browser=browser)
    assert {task_id: solve(env, task_id)[1] for task_id in ("add", "json", "file")} == {"add": 1, "json": 1, "file": 1}
    env.reset(options={"task": "json"})
    verdict = env.step('exit(message="")')[4]["verdicts"][0]
    assert (verdict["passed"], verdict["why"]) == (False, "there is no '2' on the way 'notes.2.title'")


def test_changes_beyond_the_task_fail_it(make):
    env = make()
    env.reset(options={"task": "add"})
    for action in (do("Click", "Export"), do("Click", "Delete Tea"), *ADD[:3]):
        env.step(action)
    env.database("notes")
    assert [str(change) for change in env.changes()] == [
        "notes: note removed: title=Tea, body=green", "notes: note added: title=Soap, body=two bars",
        f"notes: file added: path=files/export.txt, digest={env.changes()[-1].after['digest']}",
    ]  # fmt: skip
    env.reset(options={"task": "file"})
    env.step(do("Click", "Delete Rope"))
    env.step(do("Click", "Export"))
    result = env.step('exit(message="")')
    assert result[1] == 0
    assert result[4]["side_effects"] == ["notes: note removed: title=Rope, body=12 m"]


def test_changes_of_the_schema_are_side_effects_too(make):
    env = make()
    for statement, told in (
        ("CREATE TABLE spare (a)", "notes: schema added: name=spare, sql=CREATE TABLE spare (a)"),
        ("DROP TABLE note", "notes: schema removed: name=note"),
        ("ALTER TABLE note ADD COLUMN size", "notes: schema note changed: sql CREATE TABLE note"),
    ):
        env.reset(options={"task": "add"})
        with sqlite3.connect(env._backend.files / "notes.db") as db:
            db.execute(statement)
        db.close()
        assert str(env.changes()[0]).startswith(told)


def _counted(texts):
    """Return texts without the number of visits, which the application keeps in memory."""
    return [re.sub(r"Visit \d", "Visit", text) for text in texts]


def test_a_snapshot_goes_on_anywhere_any_number_of_times(make):
    env, other = make(), make()
    env.reset(options={"task": "add"})
    env.step(ADD[0])
    env.step(do("Click", "Delete Tea"))
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    seen = [env.step(action)[0] for action in ADD[:3]]
    for again in (other, other, env):
        again.restore(snapshot)
        assert _counted([again.step(action)[0] for action in ADD[:3]]) == _counted(seen)
    embedded = WebArenaLite()
    embedded.reset(seed=0)
    with pytest.raises(SnapshotError, match="expected a snapshot of notes, got EmbeddedSnapshot"):
        env.restore(embedded.snapshot())


def test_what_keeps_state_in_memory_signs_in_each_time_and_is_not_saved(notes):
    env = WebArenaLite(application=notes(in_memory=True), elements="label")
    assert "Visit 1" not in env.reset()[0], "pages were visited to sign in"
    with pytest.raises(SnapshotError, match="notes keeps state in memory"):
        env.snapshot()
    env.close()


def test_commands_carry_what_is_outside_of_the_state_and_pages_are_warmed_before_a_fork(notes):
    copies = {"load": "cp {state}/files/old.txt {state}/files/loaded.txt", "save": "cp {state}/notes.db {state}/files/saved.db"}
    env = WebArenaLite(application=notes(warm=("/login",), **copies), elements="label")
    assert "Visit 1" in env.reset(options={"task": "add"})[0]
    assert (env._backend.files / "files" / "loaded.txt").read_text() == "old"
    env.step(do("Click", "Delete Tea"))
    env.restore(env.snapshot())
    with sqlite3.connect(env._backend.files / "files" / "saved.db") as saved:
        assert saved.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (3,)
    saved.close()
    env.close()
    with pytest.raises(ApplicationError, match="the command 'false' of notes has failed"):
        WebArenaLite(application=notes(load="false")).reset()


def test_the_death_of_a_process_is_never_a_zero(make):
    for path in ("Crash", "Broken"):
        env = make()
        env.reset(options={"task": "add"})
        env.step(do("Click", path))
        _, reward, _, truncated, info = env.step('exit(message="")')
        if path == "Crash":
            assert math.isnan(reward)
            assert truncated
            assert "gives no answer" in info["failure"]
        else:
            assert reward == 0.0, "an error page of the application is its own"
    env.reset(options={"task": "add"})
    host = env._backend._copy._host._process.pid
    os.kill(host, signal.SIGKILL)
    assert solve(env, "add")[1] == 1.0, "a killed host is started again"


def test_a_process_that_is_killed_leaves_no_files_behind(notes, tmp_path):
    code = (
        "import os, signal, sys; from webarena_gym import WebArenaLite; env = WebArenaLite(application=sys.argv[1]);"
        "env.reset(); print(env._backend._copy.folder.parent, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    make_state(tmp_path / "state")
    (tmp_path / "t.json").write_text(json.dumps([task("add", state_check("Tea"))]))
    (tmp_path / "webarena-app.toml").write_text(DESCRIBED.format(tmp_path))
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False)
    deadline = time.monotonic() + 20
    while Path(run.stdout.strip()).exists():
        assert time.monotonic() < deadline
    assert run.stdout.strip()


def test_tasks_are_named_by_their_ids(notes):
    env = WebArenaLite(application=notes(), tasks="json")
    assert [task.task_id for task in env.tasks] == ["json"]
    for wrong in (lambda: WebArenaLite(application=notes(), tasks=["jsn"]), lambda: env.reset(options={"task": "jsn"})):
        with pytest.raises(TaskError, match="did you mean 'json'"):
            wrong()


def test_pages_lead_nowhere_else_and_a_page_of_scripts_says_so(make):
    env = make()
    env.reset(options={"task": "add"})
    assert "elsewhere.test" in env.step(do("Click", "Elsewhere"))[0]
    assert "http://notes.test/" not in env.page.url
    env.reset(options={"task": "add"})
    text, *_ = env.step(do("Click", "Script"))
    assert "this page needs scripts" in text


@pytest.mark.parametrize(("key", "value", "message"), [
    ("name", "Notes!", "name is 'Notes!'; expected lower-case letters"),
    ("wsgi", "notes_app", "wsgi is 'notes_app'; expected \"module:name\""),
    ("command", "run {port}", "just one of wsgi, asgi and command"),
    ("state", "nowhere", "state is 'nowhere'; expected a folder"),
    ("databases", {"notes": "none.db"}, "the database notes is 'none.db'; expected a file in"),
    ("clock", "noon", "clock is 'noon'; expected a time"),
    ("loads", "twice", "loads is 'twice'; expected 'once' or 'each time'"),
    ("login", None, "account and login belong together"),
    ("incidental", ("a b c",), "incidental: 'a b c' declares nothing"),
    ("environment", {"A": "{stat}"}, "'{stat}' cannot be read"),
])  # fmt: skip
def test_a_wrong_description_says_what_was_expected(notes, key, value, message):
    with pytest.raises(ApplicationError) as caught:
        notes(**{key: value})
    assert message in str(caught.value)


def test_a_file_describes_it(notes, tmp_path):
    make_state(tmp_path / "state")
    described = DESCRIBED.format(tmp_path)
    (tmp_path / "webarena-app.toml").write_text(described)
    found = read_application(tmp_path)
    assert (found.url, found.tasks, found.state_folder) == ("http://notes.test", str(tmp_path / "t.json"), tmp_path / "state")
    for wrong, message in (
        ("nmae = 1", "unknown key 'nmae': did you mean 'name'?"),
        ("start_s = 'x'", "start_s is 'x'; expected a number"),
        ("name = [", "cannot be read"),
        ('account = {user = "a"}', "account is {'user': 'a'}"),
    ):
        (tmp_path / "webarena-app.toml").write_text(f"{wrong}\n{described if 'name' not in wrong else ''}")
        with pytest.raises(ApplicationError) as caught:
            read_application(tmp_path)
        assert message in str(caught.value)


def test_what_cannot_start_says_why(notes):
    for more, message in (
        ({"wsgi": "notes_app:nothing"}, "has no attribute 'nothing'"),
        ({"python": "/nowhere/python"}, "the interpreter '/nowhere/python' of notes cannot be run"),
    ):
        with pytest.raises(ApplicationError, match=message):
            WebArenaLite(application=notes(**more)).reset()
    kept = {"environment": {"NOTES_DB": "{state}/notes.db", "NOTES_KEEPS": "1"}}
    with pytest.raises(ApplicationError, match=r"it keeps notes.db.* open, which all episodes would share"):
        WebArenaLite(application=notes(**kept)).reset()
    open_page = Login("/login", '[name="user"]', '[name="password"]', "/open")
    with pytest.raises(ApplicationError, match="the page of proof '/open' shows itself to who is not signed in"):
        WebArenaLite(application=notes(login=open_page)).reset()
    failing = f"{sys.executable} -c 'raise SystemExit(7)' {{port}}"
    with pytest.raises(ApplicationError, match="notes has ended with 7 before it was ready"):
        WebArenaLite(application=notes("command", command=failing)).reset()
    with pytest.raises(TaskError, match="'shopping' is not the application notes"):
        WebArenaLite(application=notes(), tasks=["add"]).reset(options={"task": load("test")[0]})
    with pytest.raises(ValueError, match="give none of them"):
        WebArenaLite(application=notes(), world_seed=3)


def test_the_command_checks_it_proves_its_tasks_and_records_one(notes, tmp_path, capsys, monkeypatch):
    make_state(tmp_path / "state")
    (tmp_path / "tasks.json").write_text(json.dumps(TASKS))
    (tmp_path / "webarena-app.toml").write_text(
        f'name = "notes"\nwsgi = "notes_app:application"\nfolder = "{HERE}"\nstate = "{tmp_path}/state"\ntasks = "tasks.json"\n'
        'incidental = ["session"]\n[databases]\nnotes = "notes.db"\n[environment]\nNOTES_DB = "{state}/notes.db"\n'
        '[account]\nuser = "ann"\npassword = "secret"\n[login]\npath = "/login"\nuser = "[name=user]"\npassword = "[name=password]"\nproof = "/"\n'
    )
    assert main(["app", "check", str(tmp_path), "--resets", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["equal_resets"]
    assert found["need_scripts"] == ["http://notes.test/script"]
    assert set(found["tasks"].values()) == {"solved, and nothing cheaper earns it"}
    assert found["controls"]["text field"] >= 2
    lines = iter(["type Title Ink", "click Add", "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert main(["app", "record", str(tmp_path), "--goal", "Add Ink.", "--task-id", "ink"]) == 0
    recorded = json.loads((tmp_path / "tasks.json").read_text())[-1]
    assert recorded["eval"]["state"] == [
        {"site": "notes", "query": 'SELECT count(*) FROM "note" WHERE "title" = ?', "parameters": ["Ink"], "expected": [[1]]}
    ]
    env = WebArenaLite(application=tmp_path, elements="label")
    assert solve(env, "ink")[1] == 1.0
    env.close()
    assert main(["app", "new", str(tmp_path / "fresh"), "--name", "shop"]) == 0
    assert main(["app", "new", str(tmp_path / "fresh")]) == 2
    with pytest.raises(ApplicationError, match="expected a folder"):
        read_application(tmp_path / "fresh")
