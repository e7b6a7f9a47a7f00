"""Variables of applications: secrets, and clocks that stand still."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.own_application import STARTS, state_check, task
from tests.own_application import make as make
from tests.own_application import notes as notes
from webarena_gym import WebArenaLite
from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import close_all, launcher_of
from webarena_gym.applications.variables import clock_variables
from webarena_gym.tasks import Task, parse_task

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


needs_clock = pytest.mark.skipif(
    not list(Path("/usr/lib").glob("**/faketime/libfaketime.so.1")), reason="apt-get install libfaketime"
)


@needs_clock
def test_waiting_threads_do_not_spin_under_a_fixed_clock(notes, tmp_path):
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
def test_a_fixed_clock_applies_to_pages_and_files(opened, notes, start, monkeypatch):
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
