"""A web application of one's own as an env: three ways to start it, isolation, resets, forks, side effects, deaths."""

import math
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from tests import needs
from tests.clocks import until
from tests.errors import expect_error
from tests.own_application import ADD, STARTS, do, solve
from tests.own_application import folder as folder
from tests.own_application import make as make
from tests.own_application import notes as notes
from tests.processes import ends
from webarena_gym import WebArenaLite
from webarena_gym.addresses import Account
from webarena_gym.applications import processes
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import close_all, launcher_of
from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.errors import ApplicationError, SnapshotError, WebArenaGymError
from webarena_gym.logins import Login
from webarena_gym.tasks import Task, parse_task


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


def test_load_and_save_commands_and_warm_pages_of_forks(notes):
    copies = {"load": "cp {state}/files/old.txt {state}/files/loaded.txt", "save": "cp {state}/notes.db {state}/files/saved.db"}
    env = WebArenaLite(application=notes(warm=("/login",), **copies), elements="label")
    assert "Visit 1" in env.reset(options={"task": "add"})[0]
    assert (env.backend.files / "files" / "loaded.txt").read_text() == "old"
    env.step(do("Click", "Delete Tea"))
    env.restore(env.snapshot())
    with sqlite3.connect(env.backend.files / "files" / "saved.db") as saved:
        assert saved.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (3,)
    saved.close()
    env.close()
    with expect_error(ApplicationError, "notes", "'false'", "status 1"):
        WebArenaLite(application=notes(load="false")).reset()


def test_pages_are_warmed_for_who_is_signed_in_too(notes):
    env = WebArenaLite(application=notes(warm=("/",)), elements="label")
    first, _ = env.reset(options={"task": "add"})
    assert "Visit 2" in first, "that before the fork is counted in memory"
    env.step(do("Click", "Delete Tea"))
    assert env.reset(options={"task": "add"})[0] == first
    launcher_of(env.options.application)._host.close()
    assert env.reset(options={"task": "add"})[0] == first
    env.close()


def test_another_instance_takes_the_place_of_one_that_was_killed_during_its_start(make):
    env = make()
    first, _ = env.reset(options={"task": "add"})
    launcher = launcher_of(env.options.application)
    launcher._next.result().close()
    launcher._next = Future()
    launcher._next.set_exception(ApplicationError("notes exited with status -9 before it was ready"))
    assert env.reset(options={"task": "add"})[0] == first


@pytest.mark.parametrize(("login", "message"), [
    (Login("/login", "[name=user]", "[name=password]", "/nowhere"), "The proof page led to http://notes.test/nowhere .status 404."),
    (Login("/login", "[name=user]", "[name=password]", "/", "Welcome"), "It does not contain the word 'Welcome'."),
])  # fmt: skip
def test_a_failed_login_names_the_status_and_the_missing_word(notes, login, message):
    with pytest.raises(WebArenaGymError, match=message):
        WebArenaLite(application=notes(login=login)).reset(options={"task": "add"})


def test_a_state_outside_of_files_is_dumped_and_restored_for_each_episode(notes, tmp_path):
    store = tmp_path / "store"  # stands in for a server's databases
    store.mkdir()
    shell = {
        "load": f"cp {{state}}/notes.db {store}/{{env}}.db", "save": f"cp {store}/{{env}}.db {{state}}/notes.db", "drop": f"rm {store}/{{env}}.db"
    }  # fmt: skip
    served = {**shell, "command": f"{sys.executable} notes_app.py {store}/{{env}}.db {{port}}", "shared": (str(store),)}
    one, other = (WebArenaLite(application=notes("command", **served), elements="label") for _ in range(2))
    other.reset(options={"task": "add"})
    assert solve(one, "add")[1] == 1.0, "its dump is judged"
    snapshot = one.snapshot()
    assert "Soap" not in other.step(do("Click", "Export"))[0]
    assert one.restore(other.snapshot())[0].count("Soap") == 0
    assert "Soap: two bars" in one.restore(snapshot)[0]
    one.close()
    other.close()
    assert list(store.iterdir()) == []


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
    host = env.backend._current._host._process.pid
    os.kill(host, signal.SIGKILL)
    assert ends(host)
    assert solve(env, "add")[1] == 1.0, "a killed host is started again"


def test_closing_an_env_whose_application_has_ended_starts_none(make):
    env = make()
    env.reset()
    close_all()
    env.close()
    assert not processes._launchers


def test_a_process_that_is_killed_leaves_no_files_behind(folder):
    code = (
        "import os, signal, sys; from webarena_gym import WebArenaLite; env = WebArenaLite(application=sys.argv[1]);"
        "env.reset(); print(env.backend._current.folder.parent, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True, check=False)
    assert run.stdout.strip()
    until(lambda: not Path(run.stdout.strip()).exists())


def test_other_hosts_are_unreachable_and_pages_of_scripts_are_reported(make):
    env = make()
    env.reset(options={"task": "add"})
    assert "elsewhere.test" in env.step(do("Click", "Elsewhere"))[0]
    assert "http://notes.test/" not in env.page.url
    env.reset(options={"task": "add"})
    text, *_ = env.step(do("Click", "Script"))
    assert "this page needs scripts" in text
    empty = '<iframe id="preview"{}></iframe><script>fill()</script>'
    for source, is_filled in (("", True), (' src="about:blank"', True), (' src="/note"', False)):
        (note, *_) = Document(SavedDocument(empty.format(source).encode())).tree.notes
        assert ("parts that scripts fill" in "".join(note)) == is_filled


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
