"""A web application of one's own as an env: three ways to start it, isolation, resets, forks, checks, side effects, deaths."""

import asyncio
import json
import math
import os
import pickle
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import gymnasium
import pytest

from agents import demonstrations, evaluate, report, train_bc, train_rl
from agents.data.trajectories import read_trajectories
from agents.evaluation.report.episodes import Replayer
from agents.evaluation.report.sources import task_of
from tests import needs
from tests.chat_server import serving_chat
from tests.clocks import until
from tests.notes_app import make_state
from tests.processes import ends
from webarena_gym import WebArenaLite
from webarena_gym.addresses import Account
from webarena_gym.applications import processes, state
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.processes import close_all, launcher_of
from webarena_gym.applications.variables import clock_variables
from webarena_gym.arena.app import run_server
from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.mcp_tools import McpTools
from webarena_gym.arena.schema import NewEpisode
from webarena_gym.browsers import http
from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.clients.rest import request_json
from webarena_gym.errors import ApplicationError, SnapshotError, TaskError, WebArenaGymError
from webarena_gym.evaluation.results import read_result
from webarena_gym.integrations.session import dataset_rows
from webarena_gym.integrations.trl import environment
from webarena_gym.integrations.vagen import WebArenaGym
from webarena_gym.logins import Login
from webarena_gym.suite import draw, find, load
from webarena_gym.tasks import Task, parse_task
from webarena_gym.tools.cli import main

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
    for statement, told in (
        ("CREATE TABLE spare (a)", "notes: schema added: name=spare, sql=CREATE TABLE spare (a)"),
        ("DROP TABLE note", "notes: schema removed: name=note"),
        ("ALTER TABLE note ADD COLUMN size", "notes: schema note changed: sql CREATE TABLE note"),
    ):
        env.reset(options={"task": "add"})
        with sqlite3.connect(env.backend.files / "notes.db") as db:
            db.execute(statement)
        db.close()
        assert str(env.changes()[0]).startswith(told)


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
    with pytest.raises(SnapshotError, match="expected a snapshot of notes, got EmbeddedSnapshot"):
        env.restore(embedded.snapshot())


def test_what_keeps_state_in_memory_signs_in_each_time_and_is_not_saved(opened, notes):
    env = opened(WebArenaLite(application=notes(in_memory=True), elements="label"))
    assert "Visit 1" not in env.reset()[0], "pages were visited to sign in"
    with pytest.raises(SnapshotError, match="notes keeps state in memory"):
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


def test_commands_carry_what_is_outside_of_the_state_and_pages_are_warmed_before_a_fork(notes):
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
    with pytest.raises(ApplicationError, match="the command 'false' of notes has failed"):
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


@pytest.mark.parametrize("start", ["wsgi", "each time", "command"])
def test_pages_that_tell_where_the_state_is_are_the_same_each_time(make, start):
    about = task("about", state_check("Tea"), ()) | {"start_url": "__NOTES__/about"}
    env, other = make(start, tasks=[parse_task(about)]), make(start, tasks=[parse_task(about)])
    texts = [each.reset()[0].partition(" <a")[0] for each in (env, env, other)]
    assert len(set(texts)) == 1
    place = "/proc/self/cwd/state" if start == "wsgi" else "/webarena-gym/notes/state"
    assert f"{place}/notes.db" in texts[0]
    assert place in env.page.root.xpath("string(//a/@href)").replace("%2F", "/")
    assert env.backend._current.wsgi  # the same way leads back
    found = env.network.request("GET", f"http://notes.test/about?at={place}/notes.db")
    assert found.status == 200
    assert f"at={place}/notes.db".encode() in found.body


@pytest.mark.parametrize("start", STARTS)
def test_the_query_of_a_url_reaches_the_application(make, start):
    env = make(start)
    env.reset(options={"task": "add"})
    assert b"a=1+2&amp;b=%C3%A9&amp;b" in env.network.request("GET", "http://notes.test/about?a=1+2&b=%C3%A9&b").body
    assert b"a=" not in env.network.request("GET", "http://notes.test/about").body.partition(b"</a>")[2]


CURIOUS = """
import json, os, socket

def can_read(path):
    try:
        return bool(os.listdir(path) if os.path.isdir(path) else open(path, "rb").read())
    except OSError:
        return False

def can_reach(path):
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
        return True
    except OSError:
        return False

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    home = os.path.expanduser("~")
    files = ["/etc/shadow", *(os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names)]
    found = {"environment": dict(os.environ), "files": list(filter(can_read, files)), "reached": can_reach(os.environ["SOCKET"])}
    return [json.dumps(found).encode()]
"""


@pytest.mark.parametrize("network", [False, True])
def test_an_application_sees_no_secrets_of_its_user(tmp_path, monkeypatch, network):
    home = tmp_path / "home"
    names = (
        ".ssh/id",
        ".netrc",
        ".config/unknown/token",
        "notes.txt",
        "data/words.txt",
        "data/.netrc",
        ".tool/bin/helper",
        ".tool/lib/a.txt",
    )
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("a secret")
    (home / ".tool/bin/helper").chmod(0o755)
    (home / "link").symlink_to("notes.txt")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "curious.py").write_text(CURIOUS)
    search_path = f"{home}/.tool/bin:{os.environ['PATH']}"
    for name, value in {
        "HOME": str(home),
        "PATH": search_path,
        "API_KEY": "a secret",
        "WANTED": "yes",
        "LANG": "C.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    place = tempfile.mkdtemp(dir="/run" if os.access("/run", os.W_OK) else None)
    with socket.socket(socket.AF_UNIX) as service, ExitStack() as stack:
        stack.callback(shutil.rmtree, place)
        service.bind(f"{place}/service")
        service.listen()
        application = Application(
            name="curious", folder=str(tmp_path / "app"), wsgi="curious:application", network=network, inherits=("WANTED", "ABSENT"),
            environment={"SOCKET": f"{place}/service", "WORDS": str(home / "notes.txt")} if network else {"SOCKET": f"{place}/service"},
            readable=(str(home / "data"),) if network else (),
        )  # fmt: skip
        about = {"eval_types": ["url_match"], "reference_url": "__CURIOUS__/"}
        tasks = [Task("one", ("curious",), "__CURIOUS__/", "Look.", about, require_login=False)]
        env = stack.enter_context(closing(WebArenaLite(application=application, tasks=tasks)))
        env.reset()
        found = json.loads(env.network.request("GET", "http://curious.test/").body)
        assert (found["environment"].get("WANTED"), found["environment"]["LANG"]) == ("yes", "C.UTF-8")
        assert "a secret" not in found["environment"].values()
        if launcher_of(application).is_isolated:
            visible = (
                ["notes.txt", "data/words.txt", "data/.netrc", ".tool/bin/helper", ".tool/lib/a.txt"]
                if network
                else [".tool/bin/helper", ".tool/lib/a.txt"]
            )
            assert set(found["files"]) == {str(home / name) for name in visible}, "what its description and PATH name"
            assert found["reached"] == (network or not place.startswith("/run"))
    close_all()


def test_a_body_that_an_application_does_not_read_is_answered_all_the_same(tmp_path):
    (tmp_path / "deaf.py").write_text(
        "def application(environ, start_response):\n    start_response('404 Not Found', [('Content-Type', 'text/html')])\n    return [b'<p>No']\n"
    )
    application = Application(name="deaf", folder=str(tmp_path), wsgi="deaf:application")
    about = {"eval_types": ["url_match"], "reference_url": "__DEAF__/"}
    tasks = [Task("one", ("deaf",), "__DEAF__/", "Look.", about, require_login=False)]
    with closing(WebArenaLite(application=application, tasks=tasks)) as env:
        env.reset()
        for _ in range(50):
            assert env.network.request("POST", "http://deaf.test/", body=bytes(300_000)).status == 404
    close_all()


needs_clock = pytest.mark.skipif(
    not list(Path("/usr/lib").glob("**/faketime/libfaketime.so.1")), reason="apt-get install libfaketime"
)


@needs_clock
def test_threads_that_wait_do_not_spin_where_a_clock_stands(notes, tmp_path):
    code = """
import threading, time
def work(): return sum(number * number for number in range(1_000_000))
def cpu(threads):
    start = time.process_time()
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    return time.process_time() - start
alone = sum(cpu([threading.Thread(target=work)]) for _ in range(3))
print(cpu([threading.Thread(target=work) for _ in range(3)]) / alone)
"""
    environment = {**os.environ, **clock_variables(notes(clock="2001-03-05 09:00:00"), tmp_path)}
    assert float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout) < 2


@needs_clock
@pytest.mark.parametrize("start", STARTS)
def test_a_clock_stands_still_for_its_pages_and_its_files(opened, notes, start, monkeypatch):
    about = task("about", state_check("Tea"), ()) | {"start_url": "__NOTES__/about"}
    env = opened(WebArenaLite(application=notes(start, clock="2001-03-05 09:00:00", in_memory=True), tasks=[parse_task(about)]))
    first, _ = env.reset()
    assert (first.count("2001-03-05 08:59:59."), first.count("2001-03-05 09:00:00")) == (2, 1), "folder and file are older"
    (env.backend.files / "files" / "new.txt").write_text("new")
    env.network.request("GET", "http://notes.test/open")
    assert state.difference(launcher_of(env.options.application).base, env.backend.files)["files/new.txt"] == b"new"
    assert "2001-03-05" in env.network.request("GET", "http://notes.test/about").body.decode()
    monkeypatch.setattr(Path, "glob", None)  # its library was found once
    assert env.reset()[0] == first


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
    empty = '<iframe id="preview"{}></iframe><script>fill()</script>'
    for source, is_filled in (("", True), (' src="about:blank"', True), (' src="/note"', False)):
        (note, *_) = Document(SavedDocument(empty.format(source).encode())).tree.notes
        assert ("parts that scripts fill" in "".join(note)) == is_filled


@pytest.mark.parametrize(("key", "value", "message"), [
    ("name", "Notes!", "name is 'Notes!'; expected lower-case letters"),
    ("wsgi", "notes_app", "wsgi is 'notes_app'; expected \"module:name\""),
    ("command", "run {port}", "exactly one of wsgi, asgi and command"),
    ("state", "nowhere", "state is 'nowhere'; expected a folder"),
    ("databases", {"notes": "none.db"}, "the database notes is 'none.db'; expected a file in"),
    ("clock", "noon", "clock is 'noon'; expected a time"),
    ("loads", "twice", "loads is 'twice'; expected 'once' or 'each time'"),
    ("login", None, "account and login must be set together"),
    ("incidental", ("a b c",), "incidental: 'a b c' is not a declaration; expected a table, table.column, +table or +table WHERE condition, or files as in /cache/*"),
    ("environment", {"A": "{stat}"}, "environment: A is '{stat}', with the unknown placeholder {stat}"),
    ("environment", {"A": "{env}"}, 'differs between episodes; expected loads = "each time"'),
])  # fmt: skip
def test_a_wrong_description_says_what_was_expected(notes, key, value, message):
    with pytest.raises(ApplicationError) as caught:
        notes(**{key: value})
    assert message in str(caught.value)


LISTS = [item.name for item in fields(Application) if str(item.type).startswith("tuple")]


def test_a_file_describes_it(folder):
    assert {"warm", "shared", "hidden", "incidental", "inherits", "exclude"} <= {*LISTS}
    found = read_application(folder)
    assert (found.url, found.tasks, found.state_folder) == ("http://notes.test", str(folder / "tasks.json"), folder / "state")
    for wrong, message in (
        ("nmae = 1", "unknown key 'nmae': did you mean 'name'?"),
        ("start_s = 'x'", "start_s is 'x'; expected a number"),
        ("name = [", "cannot be read"),
        ("databases = {a = 1}", "'a' of databases is 1; expected a string"),
        ("login = {path = 1}", "'path' of login is 1; expected a string"),
        *((f"{key} = [1]", f"{key} is [1]; expected a list of strings") for key in LISTS),
        *(
            (f"wsgi = 'a:b'\nexclude = ['/a', {text!r}]", f"exclude contains {text!r}; expected a pattern such as '/runs'")
            for text in ("runs", "", "/runs/", "./a")
        ),
        ('account = {user = "a"}', "account has the keys user; expected user, password"),
        ('login = {path = "/"}', "login has the keys path; expected path, user, password, proof, word (optional)"),
    ):
        named = "" if "name" in wrong else "name = 'notes'"
        (folder / "webarena-app.toml").write_text(f"{wrong}\n{named}")
        with pytest.raises(ApplicationError) as caught:
            read_application(folder)
        assert message in str(caught.value)


def test_what_cannot_start_says_why(notes):
    for more, message in (
        (
            {"wsgi": "notes_app:nothing"},
            r"notes_app:nothing \(wsgi\) could not be loaded in the folder .*: there is no 'nothing'; expected one of .*'application'",
        ),
        ({"wsgi": "nowhere:app"}, r"nowhere:app \(wsgi\) could not be loaded in the folder .*: there is no module 'nowhere'"),
        ({"wsgi": "", "command": "no-program {port}"}, "the program 'no-program' cannot be run: No such file"),
        ({"python": "/nowhere/python"}, "the interpreter '/nowhere/python' of notes cannot be run"),
    ):
        with pytest.raises(ApplicationError, match=message):
            WebArenaLite(application=notes(**more)).reset()
    broken = {"environment": {"NOTES_DB": "{state}/notes.db", "NOTES_BREAKS": "1"}}
    with pytest.raises(ApplicationError) as caught:
        WebArenaLite(application=notes(**broken)).reset()
    told, raised = str(caught.value), r"""    raise KeyError\("SECRET_KEY"\)\nKeyError: 'SECRET_KEY'"""
    assert re.search(
        rf'could not be loaded in the folder .*: Traceback.*\n  File ".*notes_app.py".*\n{raised}', told, re.DOTALL
    )
    assert "host.py" not in told
    assert "Its log:\nthe settings are read" in told
    kept = {"environment": {"NOTES_DB": "{state}/notes.db", "NOTES_KEEPS": "1"}}
    with pytest.raises(ApplicationError, match=r"it keeps notes.db.* open, which all episodes would share"):
        WebArenaLite(application=notes(**kept)).reset()
    open_page = Login("/login", '[name="user"]', '[name="password"]', "/open")
    with pytest.raises(ApplicationError, match="the proof page '/open' also opens for signed-out users"):
        WebArenaLite(application=notes(login=open_page)).reset()
    failing = f"{sys.executable} -c 'raise SystemExit(7)' {{port}}"
    with pytest.raises(ApplicationError, match="notes exited with status 7 before it was ready"):
        WebArenaLite(application=notes("command", command=failing)).reset()
    with pytest.raises(TaskError, match="has the site 'shopping'; expected 'notes'"):
        WebArenaLite(application=notes(), tasks=["add"]).reset(options={"task": load("test")[0]})
    with pytest.raises(ValueError, match="omit them with application="):
        WebArenaLite(application=notes(), scale="large")


def test_the_command_checks_it_proves_its_tasks_and_records_one(folder, capsys, monkeypatch):
    described = folder / "webarena-app.toml"
    assert main(["app", "check", str(folder), "--resets", "3", "--json", "--browser", "inprocess"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert any(
        "GET http://notes.test/crash: ApplicationError: notes gives no answer" in problem for problem in report["problems"]
    )
    described.write_text(described.read_text().replace("{ NOTES_DB", '{ NOTES_SOUND = "1", NOTES_DB'))
    assert main(["app", "check", str(folder), "--resets", "3", "--json", "--browser", "inprocess"]) == 0
    found = json.loads(capsys.readouterr().out)["browsers"]["inprocess"]
    assert found["equal_resets"]
    assert re.search("Visit 2.* and .*Visit 1", found["in_memory"]), "visits are lost when an episode is restored"
    assert found["need_scripts"] == ["http://notes.test/script"]
    assert found["statuses"] == {"200": 3}
    assert {"/files/export.txt"} <= set(found["changed"]), "by looking at it"
    assert set(found["tasks"].values()) == {"solved, and no cheaper attempt earns it"}
    assert found["controls"]["text field"] >= 2
    lines = iter(["type Title Ink", "click Add", "click Export", "exit", "click Export", "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert main(["app", "record", str(folder), "--goal", "Add Ink.", "--task-id", "ink"]) == 0
    assert 'click "Add to Cart"' in capsys.readouterr().out, "elements are named as they are then typed"
    recorded = json.loads((folder / "tasks.json").read_text())[-1]
    assert recorded["eval"]["eval_types"] == ["state"], "what was typed, and no file that came with it"
    query = 'SELECT count(*) FROM "note" WHERE "title" = ? AND "body" = ?'
    assert recorded["eval"]["state"] == [{"site": "notes", "query": query, "parameters": ["Ink", ""], "expected": [[1]]}]
    assert main(["app", "record", str(folder), "--goal", "Export.", "--task-id", "export"]) == 0
    checks = json.loads((folder / "tasks.json").read_text())[-1]["eval"]["file"]
    assert checks == [{"path": "files/export.txt", "contains": "all notes"}], "no archive, and nothing that is hidden"
    env = WebArenaLite(application=folder, elements="label")
    assert [solve(env, name)[1] for name in ("ink", "export")] == [1.0, 1.0]
    env.close()
    for told in ("[]", None, "[{"):
        (folder / "tasks.json").unlink() if told is None else (folder / "tasks.json").write_text(told)
        (folder / "templates.toml").unlink(missing_ok=True)
        described = (folder / "webarena-app.toml").read_text().replace('templates = "templates.toml"\n', "")
        (folder / "webarena-app.toml").write_text(described)
        assert main(["app", "check", str(folder), "--resets", "2"]) == {"[]": 0, None: 1, "[{": 2}[told], (
            "before there are any tasks"
        )
    printed = capsys.readouterr()
    assert "tasks.json'; expected an existing file" in printed.out
    assert "is not valid JSON" in printed.err
    (folder / "tasks.json").write_text('{"tasks": []}')
    assert main(["app", "record", str(folder), "--goal", "Add Ink.", "--task-id", "ink"]) == 2
    assert "expected a JSON list" in capsys.readouterr().err
    assert main(["app", "new", str(folder / "fresh"), "--name", "shop"]) == 0
    assert main(["app", "new", str(folder / "fresh")]) == 2
    assert main(["app", "new", str(folder / "other"), "--name", "shop", "--wsgi", "shop.web:make_app()"]) == 0
    assert tomllib.loads((folder / "other" / "webarena-app.toml").read_text())["wsgi"] == "shop.web:make_app()"
    with pytest.raises(ApplicationError, match="expected a folder"):
        read_application(folder / "fresh")


def test_templates_draw_tasks_from_its_database(folder):
    env = WebArenaLite(application=folder, elements="label")
    ids = [task.task_id for task in env.tasks]
    assert ids == ["add", "json", "file", *(f"notes.write/0/{draw}" for draw in range(3)), "notes.body/0/0"]
    assert {task.intent.split()[0] for task in draw(world_seed=2, count=9, application=read_application(folder))} == {
        "Add", "Write", "What",
    }  # fmt: skip
    assert [solve(env, name)[1] for name in ids[-2:]] == [1.0, 1.0]
    _, info = env.reset(options={"task": "notes.write/77/5"})
    assert info["goal"] == env.task.intent == find("notes.write/77/5", application=read_application(folder)).intent
    assert {task.task_id.split("/")[1] for task in WebArenaLite(application=folder, world_seed=4).tasks} == {"4"}
    env.close()
    for wrong, message in (
        ("[write]\nintent = 'Do.'", "templates.toml: write lacks `way`; expected both `intent` and `way`"),
        ("[write]\nintent = 'Do.'\nquery = 'SELECT x'\ntype = 'code'\nway = []\nanswer = '1'", "the template notes.write cannot be drawn in world 0.*no such column"),
        ("[write\n", "templates.toml cannot be read: .* line 1"),
    ):  # fmt: skip
        (folder / "templates.toml").write_text(wrong)
        with pytest.raises(TaskError, match=message):
            WebArenaLite(application=folder)


def test_the_command_audits_it_and_acts_at_random(folder, capsys, monkeypatch):
    assert main(["app", "audit", str(folder), "--resets", "2", "--jobs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["tasks"], found["solved"], found["attacks_rewarded"]) == (7, 7, 0)
    assert found["right_answers"] > 10
    assert found["attacks"] > 100
    wrong = task("wrong", state_check("Tea", "Rope", "Soap"), ['exit(message="")'])
    asked = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "Tea"}}
    wasteful = task("wasteful", asked, [do("Click", "Export"), 'exit(message="Tea")'])
    (folder / "tasks.json").write_text(json.dumps([wrong, task("empty", state_check("Tea", "Rope"), ADD[-1:]), wasteful]))
    assert main(["app", "audit", str(folder), "--resets", "2", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "unsolved: wrong: not rewarded" in out
    assert "exit rewarded: empty" in out
    assert "changed: wasteful: notes: file added: path=files/.last-export" in out
    (folder / "tasks.json").write_text(json.dumps(TASKS[:1]))
    replays = iter(["", "", "too early", ""])
    monkeypatch.setattr("webarena_gym.tools.audit.replay", lambda *_: next(replays, ""))
    assert main(["app", "audit", str(folder), "--resets", "2", "--jobs", "1", "--repeats", "4"]) == 1
    assert "not always: add: 1 of 4 replays, too early" in capsys.readouterr().out
    assert main(["app", "fuzz", str(folder), "--steps", "120", "--seed", "1", "--jobs", "1"]) == 1
    assert "/crash: ApplicationError: notes gives no answer" in capsys.readouterr().out  # what kills it


@needs.chromium
@pytest.mark.usefixtures("one_chromium")
def test_both_browsers_play_it_and_a_difference_is_found(folder, monkeypatch, capsys):
    described = folder / "webarena-app.toml"
    described.write_text(described.read_text().replace("{ NOTES_DB", '{ NOTES_SOUND = "1", NOTES_DB'))
    arguments = ["fuzz", "--application", str(folder), "--steps", "40", "--seed", "1", "--jobs", "1"]
    assert main(arguments) == 0, capsys.readouterr().out
    assert "on both browsers, 0 faults" in capsys.readouterr().out
    monkeypatch.setattr(http, "referrer_for", lambda *_: "")
    assert main(arguments) == 1
    assert ": requests: ('" in capsys.readouterr().out


def evaluated(folder):
    played = ["--agent", "expert", "--application", str(folder), "--template", "notes.write", "--out", str(folder / "scores")]
    assert main(["evaluate", *played]) == 0
    return read_result(folder / "scores" / "result.json")["success"]["success"]


def played_by_a_program(folder):
    (folder / "player.py").write_text(
        "import json, os\nfrom urllib.request import Request, urlopen\n"
        "url = f\"{os.environ['WEBARENA_GYM_URL']}/episodes/{os.environ['WEBARENA_GYM_EPISODE']}/step\"\n"
        f"for action in {ADD!r}:\n"
        "    urlopen(Request(url, json.dumps({'action': action}).encode(), {'Content-Type': 'application/json'})).read()\n"
    )
    (folder / "one.json").write_text(json.dumps(TASKS[:1]))
    own = ["--application", str(folder), "--tasks", str(folder / "one.json"), "--out", str(folder / "scores")]
    agent = ["--agent", f"command:{sys.executable} {folder / 'player.py'}", "--mode", "step", "--elements", "label"]
    assert main(["evaluate", *agent, *own]) == 0
    return read_result(folder / "scores" / "result.json")["success"]["success"]


def vectorised(folder):
    envs = gymnasium.make_vec("WebArenaLite-v0", num_envs=2, workers=2, application=folder, elements="label")
    envs.reset(options={"task": "add"})
    rewards = [envs.step([action, action])[1] for action in ADD][-1]
    envs.close()
    return rewards.mean()


def stepped_in_an_arena(folder):
    with run_server(application=read_application(folder)) as service:
        listed = request_json(f"{service.url}/tasks")
        assert [each["task_id"] for each in listed][:3] == ["add", "json", "file"]
        begun = request_json(f"{service.url}/episodes", {"mode": "step", "task": "add", "elements": "label"})
        for action in ADD:
            told = request_json(f"{service.url}/episodes/{begun['id']}/step", {"action": action})
    return told["reward"]


def served_to_a_person(folder):
    command = [sys.executable, "-m", "webarena_gym", "app", "serve", str(folder), "--task", "add", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        goal, url = (server.stdout.readline().strip() for _ in range(2))
        assert goal == "Do it."
        url = url.removeprefix("open ")
        for form, told in ((None, "I am done"), ({"title": "Soap", "body": "two bars"}, "Soap: two bars")):
            with urlopen(url, form and urlencode(form).encode()) as page:
                assert told in page.read().decode()
        with urlopen(f"{url}.arena/done", b"answer=") as page:
            text = page.read().decode()
        server.terminate()
    return float("Solved." in text)


def adapted(folder):
    rows = dataset_rows(templates="notes.write", application=folder)
    assert rows[0]["task"] == "notes.write/0/0"
    player = environment({"application": folder, "elements": "label"})()
    assert "Title" in player.reset(task="file")
    player.click(element="Export")
    return player.get_reward()


def played_by_mcp(folder):
    settings = NewEpisode(elements="label", task="add")
    played = McpTools(EpisodeStore(application=read_application(folder)), settings, names_episodes=False)
    played.call("reset", {})
    for name, arguments in (
        ("type", {"element": "Title", "argument": "Soap"}), ("type", {"element": "Body", "argument": "two bars"}), ("click", {"element": "Add"}),
    ):  # fmt: skip
        assert not played.call(name, arguments).is_error
    return float(played.call("submit", {"answer": ""}).result["success"])


def trained_by_vagen(folder):
    async def play():
        env = WebArenaGym({"application": folder, "elements": "label", "tasks": ["add"]})
        await env.reset(seed=1)
        told = [await env.step(action) for action in ADD]
        await env.close()
        return told[-1][1]

    return asyncio.run(play())


def asked_of_a_chat_model(folder):
    def say(payload):
        return {"content": ADD[sum(message["role"] == "assistant" for message in payload["messages"])]}

    (folder / "tasks.json").write_text(json.dumps(TASKS[:1]))
    described = folder / "webarena-app.toml"
    described.write_text(described.read_text().replace("templates =", "# templates ="))
    with serving_chat(say) as (_, address), pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", address)
        options = ["--application", str(folder), "--elements", "label", "--save", str(folder / "episodes.jsonl")]
        evaluate.main(["--policy", "chat:good", *options])
    return read_trajectories(folder / "episodes.jsonl")[0].reward


def trained_by_skyrl(folder):
    pytest.importorskip("skyrl_gym", reason="make test-integrations")
    from webarena_gym.integrations import skyrl  # noqa: PLC0415 - where it is installed

    row = next(row for row in skyrl.dataset_rows(application=folder) if row["task"] == "add")
    env = skyrl.WebArenaGymEnv({"application": folder, "elements": "label"}, row)
    env.init([])
    reward = [env.step(action) for action in ADD][-1]["reward"]
    env.close()
    return reward


def served_by_openenv(folder):
    pytest.importorskip("openenv.core", reason="make test-integrations")
    from webarena_gym.integrations.openenv import WebArenaGymAction, WebArenaGymEnvironment  # noqa: PLC0415

    env = WebArenaGymEnvironment({"application": folder, "elements": "label"})
    env.reset(task="add")
    reward = [env.step(WebArenaGymAction(reply=action)) for action in ADD][-1].reward
    env.close()
    return reward


DOORS = [
    evaluated, played_by_a_program, vectorised, stepped_in_an_arena, served_to_a_person, adapted, played_by_mcp, trained_by_vagen,
    asked_of_a_chat_model, trained_by_skyrl, served_by_openenv,
]  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_whoever_plays_on_it_is_judged(folder, door):
    assert door(folder) == 1.0


def test_agents_learn_from_it_and_are_scored_and_shown_on_it(folder):
    own, runs = ["--application", str(folder)], folder / "runs"
    demonstrations.main([*own, "--worlds", "1", "--per-template", "1", "--out", str(runs / "steps.jsonl")])
    steps = (runs / "steps.jsonl").read_text().splitlines()
    assert {json.loads(line)["template"] for line in steps} == {"notes.write", "notes.body"}
    small = ["--worlds", "1", "--per-template", "1", "--updates", "1"]
    train_bc.main(["--model", "pointer", *own, *small, "--width", "8", "--hidden", "8", "--out", str(runs / "bc")])
    few = ["--tasks-per-update", "1", "--group-size", "2", "--jobs", "1"]
    train_rl.main(["--method", "grpo", "--model", str(runs / "bc"), *own, *small, *few, "--out", str(runs / "grpo")])
    episodes = runs / "episodes.jsonl"
    evaluate.main(["--policy", str(runs / "grpo"), "--limit", "2", "--jobs", "1", "--save", str(episodes)])
    played = read_trajectories(episodes)
    assert {episode.env.application for episode in played} == {str(folder)}, "it is scored where it has learned"
    with Replayer() as replayer:
        assert [replayer.replay(task_of(episode), episode).problem for episode in played] == ["", ""]
    report.main([str(episodes), "--out", str(runs / "report.html")])
    assert "Write a note" in (runs / "report.html").read_text() or "Add a note" in (runs / "report.html").read_text()


BY_HOST = """
import sys
from wsgiref.simple_server import make_server

def application(environ, start_response):
    status = "200 OK" if environ["HTTP_HOST"] == "desk.test" else "500 Internal Server Error"
    start_response(status, [("Content-Type", "text/html")])
    return [b"<!doctype html><p>Open"]

make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""


def test_an_application_that_answers_its_own_host_only_is_found_ready(tmp_path):
    (tmp_path / "app.py").write_text(BY_HOST)
    command = f"{sys.executable} app.py {{port}}"
    application = Application(name="desk", folder=str(tmp_path), command=command)
    visit = {**task("look", {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}), "sites": ["desk"]}
    env = WebArenaLite(application=application, tasks=[parse_task({**visit, "start_url": "__DESK__/", "require_login": False})])
    assert "Open" in env.reset()[0]
    env.close()
    close_all()


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


def test_options_that_an_application_does_not_use_are_refused(notes, folder):
    for application, options, message in (
        (notes(), {"split": "test"}, "split='test' has no effect with application=; omit one of them"),
        (notes(), {"world_seed": 7}, "world_seed=7 has no effect: the application notes has no templates"),
        (
            read_application(folder),
            {"world_seed": 7, "tasks": ["add"]},
            "world_seed=7 has no effect with application= and tasks=",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            WebArenaLite(application=application, **options)
    with closing(WebArenaLite(application=read_application(folder), world_seed=7)) as env:
        assert {task.world_seed for task in env.tasks} == {7}
