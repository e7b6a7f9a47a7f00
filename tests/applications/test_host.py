"""An application that tries to leave its episode: other hosts, files, processes, mounts, when it is loaded and when it is asked."""

import contextlib
import http.server
import json
import math
import os
import socket
import socketserver
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tests.errors import expect_error
from webarena_gym import WebArenaLite
from webarena_gym.applications import host, state
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import close_all, copies_folder, launcher_of
from webarena_gym.errors import ApplicationError
from webarena_gym.tasks import parse_task
from webarena_gym.tasks.template import answer


def look_at(site):
    record = {
        "task_id": "look",
        "intent": "Look.",
        "sites": [site],
        "start_url": f"__{site.upper()}__/",
        "require_login": False,
    }
    return record | {"eval": answer(exact_match="seen")}


REACHES = """
import http.server, os, sys, urllib.request
def application(environ, start_response):
    try:
        told = urllib.request.urlopen(os.environ["ELSEWHERE"], timeout=5).read()
    except OSError as error:
        told = b"refused"
    start_response("200 OK", [("Content-Type", "text/html")])
    return [told]
if __name__ == "__main__":
    from wsgiref.simple_server import make_server
    make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""


@pytest.mark.parametrize("start", [{"wsgi": "reaches:application"}, {"command": f"{sys.executable} reaches.py {{port}}"}])
@pytest.mark.skipif(sys.platform != "linux", reason="networks of their own are Linux's")
def test_an_application_reaches_itself_alone(tmp_path, start):
    (tmp_path / "reaches.py").write_text(REACHES)
    with socketserver.TCPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = {"ELSEWHERE": f"http://127.0.0.1:{server.server_address[1]}/"}
        for network, expected in ((False, "refused"), (True, "Directory listing")):
            application = Application(name="reaches", folder=str(tmp_path), environment=there, network=network, **start)
            env = WebArenaLite(application=application, tasks=[parse_task(look_at("reaches"))])
            assert expected in env.reset()[0]
            env.close()
        server.shutdown()
    close_all()


HOSTILE = """
import ctypes, glob, json, os, signal, socket, stat, sys
from wsgiref.simple_server import make_server

SEEN = os.environ["SEEN"].split(",")

def tried(attack, *values):
    try:
        return repr(attack(*values))
    except OSError as error:
        return error.strerror

def write(path):
    with open(path, "a") as file:
        return file.write("x")

def remount(path):
    library = ctypes.CDLL(None, use_errno=True)
    pid = os.fork()
    if pid == 0:
        for namespaces in (0, 0x10020000):  # none, users and mounts
            library.unshare(namespaces)
            if not (library.mount(None, path.encode(), None, 0x1020, None) and library.umount2(path.encode(), 2)):
                os._exit(0)
        os._exit(ctypes.get_errno())
    failed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if failed:
        raise OSError(failed, os.strerror(failed))

def attack():
    here, hidden = os.path.dirname(os.path.realpath(os.environ["STATE"])), os.environ["HIDDEN"]
    yield "own", tried(write, os.path.join(os.environ["STATE"], "own.txt"))
    yield "others", [path for path in glob.glob(hidden + "/*/*/*") if not path.startswith(here + "/")]
    yield "processes", len([name for name in os.listdir("/proc") if name.isdecimal()])
    yield "trainer", tried(os.kill, int(os.environ["TRAINER"]), 0)
    for path in SEEN:
        yield "write " + os.path.basename(path), tried(write, path)
    yield "tasks", tried(lambda: open(SEEN[0]).read())
    yield "variable", str(os.environ.get("SECRET_OF_THE_TRAINER"))
    yield "shared memory", os.listdir("/dev/shm")
    home = os.path.expanduser("~")
    yield "home", [name for name in os.listdir(home) if not os.path.isdir(os.path.join(home, name))] if os.path.isdir(home) else []
    yield "device", tried(os.mknod, os.path.join(here, "disk"), stat.S_IFBLK | 0o600, os.makedev(254, 0))
    yield "remount", tried(remount, "/")
    yield "read tasks again", tried(remount, SEEN[0])
    yield "unhide", tried(remount, hidden)
    yield "again", tried(write, SEEN[1])
    yield "foreign host", tried(socket.create_connection, ("192.0.2.1", 80), 3)
    yield "trainer's port", tried(socket.create_connection, ("127.0.0.1", int(os.environ["PORT"])), 3)
    own = ("127.0.0.1", 7171 + len(LISTENING))
    yield "another episode's port", tried(socket.create_connection, own, 3)
    LISTENING.append(socket.create_server(own))

LISTENING = []
LOADED = dict(attack())

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([LOADED, dict(attack())][environ["PATH_INFO"] == "/now":][0]).encode()]

if __name__ == "__main__":
    if not sys.argv[1].isdecimal():  # a command of the application
        if not os.fork():
            os.setsid()
            signal.pause()
        with open(sys.argv[1], "w") as report:
            json.dump(LOADED, report)
        sys.exit()
    make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""
STARTS = {
    "once": {"wsgi": "hostile:application"},
    "each time": {"wsgi": "hostile:application", "loads": "each time"},
    "command": {"command": f"{sys.executable} hostile.py {{port}}"},
}


def said_by(start, folder):
    """Return what a hostile application says that its attacks have done, when it was loaded and then; nothing where it is not closed off."""
    seen = [folder / "tasks.json", folder / "hostile.py", folder / "state" / "base.txt", Path.home() / "left.txt"]
    listening = socket.create_server(("127.0.0.1", 0))
    variables = {
        "SEEN": ",".join(map(str, seen)), "STATE": "{state}", "TRAINER": str(os.getppid()), "HIDDEN": str(copies_folder()),
        "PORT": str(listening.getsockname()[1]),
    }  # fmt: skip
    application = Application(
        name="hostile", folder=str(folder), state="state", tasks=str(seen[0]), environment=variables, **start
    )
    envs = [WebArenaLite(application=application) for _ in range(2)]
    for env in envs:
        env.reset()
    is_enclosed = launcher_of(application).is_isolated
    for env in envs:
        env.changes()
    pages = [f"http://hostile.test{path}" for path in ("/", "/now")]
    bodies = [json.loads(env.network.request("GET", page).body) for env in envs for page in pages if is_enclosed]
    for env in envs:
        env.close()
    close_all()
    listening.close()
    reports = sorted((folder / "reports").iterdir())
    return bodies + [json.loads(report.read_text()) for report in reports if is_enclosed]


@pytest.fixture
def folder():
    """Return a folder with a hostile application, which all users may read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "hostile.py").write_text(HOSTILE)
        (folder / "state").mkdir()
        (folder / "reports").mkdir()
        (folder / "reports").chmod(0o777)
        (folder / "tasks.json").write_text(json.dumps([look_at("hostile")]))
        yield folder


def assert_denied(reports, count=4):
    if not reports:
        pytest.skip("this system does not let processes create namespaces")
    denied = {
        "Read-only file system", "Operation not permitted", "Invalid argument", "Permission denied", "Network is unreachable", "Connection refused"
    }  # fmt: skip
    assert len(reports) == count
    for found in reports:
        assert found.pop("own") == "1"
        assert (found.pop("others"), found.pop("shared memory"), found.pop("tasks")) == ([], [], "''")
        assert found.pop("processes") <= 2, "itself, and what leads a socket to its port"
        assert (found.pop("trainer"), found.pop("variable")) == ("No such process", "None")
        assert found.pop("home") == [], "no file of the user lies at the top of the home folder"
        found.pop("write tasks.json")  # swallowed: what is read and written there is nothing
        assert {name: what for name, what in found.items() if what not in denied} == {}


@pytest.mark.parametrize("start", STARTS)
def test_a_hostile_application_reaches_its_own_files_and_processes_alone(folder, start):
    assert_denied(said_by(STARTS[start], folder))


def processes_naming(folder):
    """Return the command lines of the machine's processes that name a folder."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            lines.append(path.read_bytes())
    return [line for line in lines if str(folder).encode() in line]


@pytest.mark.parametrize("start", STARTS)
def test_commands_of_a_hostile_application_are_closed_off_as_it_is(folder, start, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_TRAINER", "hunter2")
    commands = {key: f"{sys.executable} hostile.py {folder}/reports/{key}-{{env}}" for key in ("load", "save", "drop")}
    reports = said_by({**STARTS[start], **commands, "shared": (str(folder / "reports"),)}, folder)
    names = sorted(path.name for path in (folder / "reports").iterdir())
    assert [name.partition("-")[0] for name in names] == ["drop"] * 2 + ["load"] * 2 + ["save"] * 2, "of two copies"
    assert_denied(reports, count=10)
    assert processes_naming(folder) == [], "processes in the background end with their command"


@pytest.mark.parametrize("start", ["once", "each time"])
def test_an_ordinary_user_closes_it_off_too(folder, start):
    if os.getuid():
        pytest.skip("not root: all tests here are those of an ordinary user")
    reads, nobody = ["-c", "import sys; open(sys.argv[1])", host.__file__], {"user": 65534, "group": 65534, "extra_groups": ()}
    found = []
    for python in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            found += [python] * (subprocess.run([python, *reads], check=False, **nobody).returncode == 0)
    if not found:
        pytest.skip("no interpreter that an ordinary user may run")
    said_by(STARTS[start], folder)  # imports what this process needs
    ready, status_pipe = os.pipe()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(status_pipe, json.dumps(said_by({**STARTS[start], "python": found[0]}, folder)).encode())
        os._exit(0)
    os.close(status_pipe)
    with open(ready) as report:
        reports = report.read()
    os.waitpid(pid, 0)
    assert_denied(json.loads(reports))


LINKS = """
import os
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    state = os.environ["STATE"]
    if environ["PATH_INFO"] == "/now":
        there = os.path.join(os.path.dirname(os.path.realpath(state)), "socket")
        os.rename(there, there + ".old")
        os.symlink(os.environ["ELSEWHERE"], there)
    return [b"own"]
"""


def test_a_link_in_the_place_of_its_socket_leads_nowhere(folder):
    (folder / "links.py").write_text(LINKS)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "elsewhere"))
        listening.listen()
        variables = {"STATE": "{state}", "ELSEWHERE": str(folder / "elsewhere")}
        application = Application(name="links", folder=str(folder), wsgi="links:application", environment=variables)
        env = WebArenaLite(application=application, tasks=[parse_task(look_at("links"))])
        env.reset()
        assert [env.network.request("GET", f"http://links.test{path}").body for path in ("/now", "/")] == [b"own", b"own"]
        assert (env.backend._current.folder / "socket").is_symlink()
        env.close()
    close_all()


def test_links_in_its_state_are_neither_read_nor_written_through(tmp_path):
    outside, base, now, again = (tmp_path / name for name in ("outside", "base", "now", "again"))
    for place in (outside, base, now, again):
        place.mkdir()
    (outside / "secret").write_text("secret")
    (base / "one").symlink_to(outside / "secret")
    (base / "all").symlink_to(outside)
    state.copy_folder(base, again)
    (now / "all").mkdir()
    for name in ("one", "all/secret", "kept"):
        (now / name).write_text("changed")
    (now / "read").symlink_to(outside / "secret")
    (now / "alias").symlink_to("kept")
    changed = state.difference(base, now)
    assert set(changed) == {"one", "all/", "all/secret", "kept", "alias"}
    state.apply(changed, again)
    assert (outside / "secret").read_text() == "secret"
    assert (again / "all" / "secret").read_text() == (again / "one").read_text() == "changed"


SWAPS = """
import os
def application(environ, start_response):
    state = os.environ["STATE"]
    if environ["PATH_INFO"] != "/":
        place = os.path.join(state, "data") if environ["PATH_INFO"] == "/folder" else os.path.join(state, "data", "notes.db")
        target = os.environ["ELSEWHERE"]
        os.rename(place, place + ".old")
        os.symlink(os.path.dirname(target) if environ["PATH_INFO"] == "/folder" else target, place)
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<a href=/file>file</a> <a href=/folder>folder</a>"]
"""


@pytest.mark.parametrize("way", ["file", "folder"])
def test_a_database_that_is_replaced_by_a_link_is_not_read_through_it(folder, way):
    (folder / "swaps.py").write_text(SWAPS)
    (folder / "elsewhere").mkdir()
    (folder / "state" / "data").mkdir()
    for place in ("state/data", "elsewhere"):
        with contextlib.closing(sqlite3.connect(folder / place / "notes.db")) as db, db:
            db.execute("CREATE TABLE note (title TEXT)")
            db.execute("INSERT INTO note VALUES (?)", [place])
    variables = {"STATE": "{state}", "ELSEWHERE": str(folder / "elsewhere" / "notes.db")}
    application = Application(
        name="swaps",
        folder=str(folder),
        wsgi="swaps:application",
        state="state",
        environment=variables,
        databases={"swaps": "data/notes.db"},
    )
    check = {"site": "", "query": "SELECT title FROM note", "parameters": [], "expected": [["elsewhere"]]}
    task = {**look_at("swaps"), "eval": {"eval_types": ["state"], "state": [check]}}
    env = WebArenaLite(application=application, tasks=[parse_task(task)], elements="label")
    env.reset()
    env.step(f'do(action="Click", element="{way}")')
    with expect_error(ApplicationError, "data/notes.db", "elsewhere/notes.db"):
        env.database("swaps")
    with expect_error(ApplicationError, "data/notes.db", "elsewhere/notes.db"):
        env.changes()
    _, reward, _, _, info = env.step('exit(message="x")')
    assert math.isnan(reward)
    assert "was replaced by a link" in info["failure"]
    env.close()
    close_all()


LOGS = """
import os, time
def application(environ, start_response):
    print("token", os.environ["TOKEN_OF_THE_TRAINER"], flush=True)
    log = os.path.join(os.path.dirname(os.path.realpath(os.environ["STATE"])), "log")
    if environ["PATH_INFO"] == "/link":
        os.rename(log, log + ".old")
        os.symlink(os.environ["ELSEWHERE"], log)
    if environ["PATH_INFO"] == "/pipe":
        os.rename(log, log + ".old")
        os.mkfifo(log)
    if environ["PATH_INFO"] != "/":
        os._exit(3)
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<a href=/end>end</a> <a href=/link>link</a> <a href=/pipe>pipe</a>"]
"""


@pytest.mark.parametrize("way", ["end", "link", "pipe"])
def test_the_log_in_an_error_contains_neither_secrets_nor_other_files(folder, monkeypatch, way):
    monkeypatch.setenv("SHORT_TOKEN", "hunter2")
    monkeypatch.setenv("TOKEN_OF_THE_TRAINER", "hunter2-and-more")
    (folder / "logs.py").write_text(LOGS)
    (folder / "elsewhere").write_text("hunter2 of another file")
    variables = {"STATE": "{state}", "ELSEWHERE": str(folder / "elsewhere")}
    application = Application(
        name="logs", folder=str(folder), wsgi="logs:application", environment=variables,
        inherits=("SHORT_TOKEN", "TOKEN_OF_THE_TRAINER"),
    )  # fmt: skip
    env = WebArenaLite(application=application, tasks=[parse_task(look_at("logs"))], elements="label")
    env.reset()
    env.step(f'do(action="Click", element="{way}")')
    _, reward, _, _, info = env.step('exit(message="x")')
    assert math.isnan(reward)
    assert "hunter2" not in info["failure"]
    assert "and-more" not in info["failure"]
    assert ("token $TOKEN_OF_THE_TRAINER" in info["failure"]) == (way == "end")
    env.close()
    close_all()
