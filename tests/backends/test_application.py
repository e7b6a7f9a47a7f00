"""Episodes on a user's application: checks, side effects, snapshots, logins and error responses."""

import pickle
import re
import sqlite3
from contextlib import closing

import pytest

from tests import needs
from tests.errors import expect_error
from tests.own_application import ADD, do, solve
from tests.own_application import folder as folder
from tests.own_application import make as make
from tests.own_application import notes as notes
from webarena_gym import WebArenaLite
from webarena_gym.addresses import Account
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import close_all
from webarena_gym.errors import SnapshotError, WebArenaGymError
from webarena_gym.logins import Login
from webarena_gym.tasks import Task, parse_task


@pytest.mark.parametrize("browser", ["inprocess", pytest.param("chromium", marks=needs.chromium)])
def test_checks_of_rows_json_and_files_on_both_browsers(make, browser):
    env = make(browser=browser)
    assert {task_id: solve(env, task_id)[1] for task_id in ("add", "json", "file")} == {"add": 1, "json": 1, "file": 1}
    env.reset(options={"task": "json"})
    verdict = env.step('exit(message="")')[4]["verdicts"][0]
    assert (verdict["passed"], verdict["why"]) == (False, "there is no '2' of the path 'notes.2.title'")


def test_changes_beyond_the_task_fail_it(make):
    env = make()
    env.reset(options={"task": "add"})
    for action in (do("Click", "Export"), do("Click", "Delete Tea"), *ADD[:3]):
        env.step(action)
    env.database("notes")
    changes = [str(change) for change in env.changes()]
    assert changes[:2] == ["notes: note removed: title=Tea, body=green", "notes: note added: title=Soap, body=two bars"]
    paths = ["files/.last-export", "files/export.txt", "files/export.zip"]
    assert [change.partition(", digest=")[0] for change in changes[2:]] == [f"notes: file added: path={path}" for path in paths]
    env.reset(options={"task": "file"})
    env.step(do("Click", "Delete Rope"))
    env.step(do("Click", "Export"))
    result = env.step('exit(message="")')
    assert result[1] == 0
    assert result[4]["side_effects"] == ["notes: note removed: title=Rope, body=12 m"]


def test_changes_of_the_schema_are_side_effects_too(make):
    env = make()
    for statement, expected in (
        ("CREATE TABLE spare (a)", "notes: schema added: name=spare, sql=CREATE TABLE spare (a)"),
        ("DROP TABLE note", "notes: schema removed: name=note"),
        ("ALTER TABLE note ADD COLUMN size", "notes: schema note changed: sql CREATE TABLE note"),
    ):
        env.reset(options={"task": "add"})
        with sqlite3.connect(env.backend.files / "notes.db") as db:
            db.execute(statement)
        db.close()
        assert str(env.changes()[0]).startswith(expected)


def test_a_snapshot_goes_on_anywhere_any_number_of_times(make):
    def counted(env):
        """Play, and return the texts without the number of visits, which the application keeps in memory."""
        return [re.sub(r"Visit \d", "Visit", env.step(action)[0]) for action in ADD[:3]]

    env, other = make(), make()
    env.reset(options={"task": "add"})
    env.step(ADD[0])
    env.step(do("Click", "Delete Tea"))
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    seen = counted(env)
    for again in (other, other, env):
        again.restore(snapshot)
        assert counted(again) == seen
    embedded = WebArenaLite()
    embedded.reset(seed=0)
    with expect_error(SnapshotError, "notes", "EmbeddedSnapshot"):
        env.restore(embedded.snapshot())


def test_in_memory_applications_log_in_at_each_reset_and_have_no_snapshots(opened, notes):
    env = opened(WebArenaLite(application=notes(in_memory=True), elements="label"))
    assert "Visit 1" not in env.reset()[0], "pages were visited to sign in"
    with expect_error(SnapshotError, "notes"):
        env.snapshot()


STORED = """
PAGES = {
    "/": "<p id=who></p><button onclick='delete localStorage.token; show()'>Leave</button>"
      "<script>(window.show = () => { who.textContent = localStorage.token === 'secret' ? 'Ann is in' : 'Nobody' })()</script>",
    "/login": "<form onsubmit='localStorage.token = password.value; location = `/`; return false'>"
      "<input name=user><input name=password id=password type=password><button>Go</button></form>",
}
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    return [PAGES.get(environ["PATH_INFO"], "").encode()]
"""


@needs.chromium
@pytest.mark.parametrize("in_memory", [False, True])
def test_a_log_in_that_scripts_store_is_where_episodes_begin(opened, tmp_path, in_memory):
    (tmp_path / "stored.py").write_text(STORED)
    check = {"eval_types": ["url_match"], "reference_url": "__STORED__/"}
    about = Task("look", ("stored",), "__STORED__/", "Look.", check, require_login=True)
    application = Application(
        name="stored", folder=str(tmp_path), wsgi="stored:application", account=Account("ann", "secret"), in_memory=in_memory,
        login=Login("/login", "[name=user]", "[name=password]", "/", "Ann is in"),
    )  # fmt: skip
    env = opened(WebArenaLite(application=application, tasks=[about], browser="chromium", elements="label"))
    for _ in range(2):
        assert "Ann is in" in env.reset()[0]
        assert "Nobody" in env.step(do("Click", "Leave"))[4]["page"]
    if not in_memory:
        left = env.snapshot()
        assert "Ann is in" in env.reset()[0]
        assert "Nobody" in env.restore(left)[1]["page"]
    close_all()


@pytest.mark.parametrize(("login", "message"), [
    (Login("/login", "[name=user]", "[name=password]", "/nowhere"), "The proof page led to http://notes.test/nowhere .status 404."),
    (Login("/login", "[name=user]", "[name=password]", "/", "Welcome"), "It does not contain the word 'Welcome'."),
])  # fmt: skip
def test_a_failed_login_names_the_status_and_the_missing_word(notes, login, message):
    with pytest.raises(WebArenaGymError, match=message):
        WebArenaLite(application=notes(login=login)).reset(options={"task": "add"})


FAULTY = """
def application(environ, start_response):
    ok = environ["PATH_INFO"] != "/faulty"
    start_response("200 OK" if ok else "500 Internal Server Error", [("Content-Type", "text/html")])
    return [b"<title>Desk</title><a href=/faulty>Faulty page</a><a href=/>Start page</a>"]
"""


@pytest.mark.parametrize("browser", ["inprocess", pytest.param("chromium", marks=needs.chromium)])
def test_statuses_of_500_are_in_the_info_and_the_episode_is_evaluated(tmp_path, browser):
    (tmp_path / "desk.py").write_text(FAULTY)
    application = Application(name="desk", folder=str(tmp_path), wsgi="desk:application")
    task = {
        "task_id": "t",
        "sites": ["desk"],
        "start_url": "__DESK__/",
        "require_login": False,
        "intent": "Do it.",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "right"}},
    }
    env = WebArenaLite(application=application, tasks=[parse_task(task)], elements="label", browser=browser)
    with closing(env):
        assert "site_errors" not in env.reset()[1]
        info = env.step(do("Click", "Faulty page"))[4]
        assert info["site_errors"] == ["GET http://desk.test/faulty: status 500 Internal Server Error"]
        snapshot = env.snapshot()
        _, reward, terminated, _, info = env.step('exit(message="wrong")')
        assert (reward, terminated, len(info["site_errors"]), "failure" in info) == (0.0, True, 1, False)
        assert "site_errors" not in env.reset()[1]
        assert env.restore(snapshot)[1]["site_errors"] == ["GET http://desk.test/faulty: status 500 Internal Server Error"]
        assert env.step('exit(message="right")')[1] == 1.0
