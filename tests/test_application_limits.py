"""Limits of applications, tried by one that takes all it can, and what an archive or a suite of other people may do when it is trusted."""

import hashlib
import json
import shlex
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.archives import ONE_BROWSER, TOML, archive, cache, folder, packed, rewrite
from tests.errors import expect_error
from tests.suites import errands, play
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.archive import FILE
from webarena_gym.applications.groups import create_group, remove_group
from webarena_gym.applications.processes import close_all, launcher_of
from webarena_gym.applications.suite import add_suite, read_suite
from webarena_gym.applications.trust import add_trust, data_folder, expect_trust
from webarena_gym.errors import ApplicationError
from webarena_gym.tasks import parse_task
from webarena_gym.tools.cli import main

__all__ = ["archive", "cache", "errands", "folder", "packed"]  # fixtures

GREEDY = """
import json, os, sys, time
from wsgiref.simple_server import make_server

def taken(kind):
    if kind == "processes":
        children = []
        try:
            while len(children) < 50:
                child = os.fork()
                if not child:
                    time.sleep(600)
                    os._exit(0)
                children.append(child)
        except BlockingIOError:
            pass
        return len(children)
    if kind == "memory":
        held = []
        try:
            while len(held) < 1024:
                held.append(bytearray(1 << 20))
        except MemoryError:
            pass
        return len(held)
    return len(os.sched_getaffinity(0))

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(taken(environ["PATH_INFO"][1:])).encode()]

if __name__ == "__main__":
    make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""
STARTS = {"once": {"wsgi": "greedy:application"}, "command": {"command": f"{sys.executable} greedy.py {{port}}"}}
LOOK = {
    "task_id": "look", "intent": "Look.", "sites": ["greedy"], "start_url": "__GREEDY__/cpu", "require_login": False,
    "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "seen"}},
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")
@pytest.mark.parametrize("start", STARTS)
def test_an_application_takes_no_more_than_its_limits(tmp_path, start):
    (tmp_path / "greedy.py").write_text(GREEDY)
    limits = {"memory": "200M", "cpu": 1}
    application = Application(name="greedy", folder=str(tmp_path), limits=limits, **STARTS[start])
    with closing(WebArenaLite(application=application, tasks=[parse_task(LOOK)])) as env:
        env.reset()
        taken = {kind: json.loads(env.network.request("GET", f"http://greedy.test/{kind}").body) for kind in ("memory", "cpu")}
        assert 50 < taken["memory"] < 200
        assert taken["cpu"] == 1
        assert env.step('do(action="Wait")')[4]["page"]  # it goes on
    close_all()


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are those of Linux")
@pytest.mark.parametrize("start", STARTS)
def test_an_application_starts_no_more_processes_than_its_limit(tmp_path, start):
    (tmp_path / "greedy.py").write_text(GREEDY)
    application = Application(name="greedy", folder=str(tmp_path), limits={"processes": 20}, **STARTS[start])
    try:
        remove_group(create_group(0))
    except ApplicationError as error:
        pytest.skip(str(error))
    with closing(WebArenaLite(application=application, tasks=[parse_task(LOOK)])) as env:
        for _ in range(2):
            env.reset()
            taken = json.loads(env.network.request("GET", "http://greedy.test/processes").body)
            assert 10 < taken < 20
    group = launcher_of(application)._group
    close_all()
    assert not group.exists()


def use_groups(monkeypatch, groups, folder):
    """Let the control groups of this process be `groups`, mounted at a folder."""
    texts = {"/proc/self/cgroup": groups, "/proc/self/mountinfo": f"1 2 0:3 / {folder} rw - cgroup cgroup rw,pids"}
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, **words: texts[str(path)] if str(path) in texts else read(path, **words)
    )


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are those of Linux")
def test_unused_groups_of_ended_processes_are_removed_also_if_their_id_is_that_of_another(tmp_path, monkeypatch):
    use_groups(monkeypatch, "1:pids:/", tmp_path)
    first = create_group(0)
    *parts, start, _ = first.name.split("-")
    ended = first.with_name("-".join([*parts, str(int(start) - 1), "0"]))  # its process had the same id before
    ended.mkdir()
    second = create_group(1)
    assert sorted(tmp_path.iterdir()) == sorted([first, second])


@pytest.mark.parametrize(("groups", "message"), [("", "it has none for processes"), ("1:pids:/nowhere", "No such file")])
def test_without_control_groups_a_limit_of_processes_is_refused(tmp_path, monkeypatch, groups, message):
    use_groups(monkeypatch, groups, tmp_path)
    with pytest.raises(ApplicationError, match=message):
        create_group(0)


LEAVING = """
import os, time

def verify(server_url):
    others = len([name for name in os.listdir("/proc") if name.isdecimal()])
    for _ in range(20):
        if not os.fork():
            os.setsid()
            time.sleep(600)
            os._exit(0)
    return others < 10, f"{others} processes"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are those of Linux")
def test_the_processes_that_a_verifier_leaves_behind_end_with_its_call(errands):
    (errands.parent / "verify_crash.py").write_text(LEAVING)
    with closing(WebArenaLite(suite=errands, split="broken")) as env:
        for _ in range(2):
            result = play(env, "shelf.crash", ["exit()"])
            if not env.backend._verifiers.is_isolated:
                pytest.skip("this system does not let processes create namespaces")
            assert result[1] == 1.0, result[4]


@pytest.mark.parametrize(("limits", "values"), [
    ({"memory": 512}, ("memory", 512)),
    ({"memory": "512"}, ("memory", "'512'")),
    ({"memory": "0M"}, ("memory", "'0M'")),
    ({"cpu": 0}, ("cpu", 0)),
    ({"cpu": "1"}, ("cpu", "'1'")),
    ({"cpu": True}, ("cpu", True)),
    ({"processes": "5"}, ("processes", "'5'", 0)),
    ({"discs": 1}, ("'discs'",)),
])  # fmt: skip
def test_an_invalid_limit_is_refused(limits, values):
    with expect_error(ApplicationError, *values):
        Application(name="x", wsgi="x:y", limits=limits)


def test_the_limits_of_a_file_are_read(folder):
    (folder / FILE).write_text('limits = { memory = "2G", cpu = 2 }\n' + TOML)
    assert read_application(folder).limit_numbers == {"memory": 2 << 30, "cpu": 2}


GRANTS = [
    ('python = "bin/python"\n', "python = 'bin/python' starts with your rights"),
    ("network = true\n", "network = true reaches other hosts"),
    ('inherits = ["SECRET"]\n', "inherits = ['SECRET'] reads environment variables"),
    ('shared = ["{0}"]\n', "shared = '{0}' writes a folder outside of its own"),
    ('uploads = "{0}"\n', "uploads = '{0}' reads a folder outside of its own"),
]


@pytest.mark.parametrize(("line", "grant"), GRANTS)
def test_an_archive_that_reaches_out_of_its_isolation_is_trusted_first(
    folder, archive, tmp_path, monkeypatch, capsys, line, grant
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    text = (line.format(elsewhere) + TOML).encode()

    def change(manifest):
        manifest["files"][FILE][0] = hashlib.sha256(text).hexdigest()

    rewrite(archive, change, {FILE: text})
    with pytest.raises(ApplicationError) as raised:
        read_application(archive)
    assert grant.format(elsewhere) in str(raised.value)
    assert f"app verify {archive} --trust" in str(raised.value)
    assert main(["app", "verify", str(archive), *ONE_BROWSER]) == 2
    assert grant.format(elsewhere) in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


def test_an_archive_is_trusted_once_and_as_it_is(folder, archive, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (folder / FILE).write_text("network = true\n" + TOML)
    assert main(["app", "pack", str(folder), "--licence", "MIT", "-o", str(archive), *ONE_BROWSER]) == 0
    with expect_error(ApplicationError, archive, "network = true"):
        read_application(archive)
    assert main(["app", "verify", str(archive), "--trust", *ONE_BROWSER]) == 0
    assert read_application(archive).network
    copy = shutil.copy(archive, tmp_path / f"copy-{archive.name}")
    assert read_application(copy).network, "its content is trusted, not its name"
    rewrite(archive, lambda manifest: manifest.update(version="2"))
    with expect_error(ApplicationError, archive, "network = true"):
        read_application(archive)


def test_a_suite_that_reaches_out_of_its_isolation_is_trusted_first(errands, tmp_path, capsys):
    (tmp_path / "was-here").mkdir()
    (tmp_path / "was-there").mkdir()
    errands.write_text(errands.read_text().replace("in_memory = true", f'in_memory = true\nshared = ["{tmp_path}/was-here"]'))
    assert main(["suite", "add", "errands", str(errands)]) == 2
    assert f"shelf: shared = '{tmp_path}/was-here' writes a folder outside of its own" in capsys.readouterr().err
    with expect_error(ApplicationError, "errands", f"'{tmp_path}/was-here'"):
        read_suite(errands)
    assert main(["suite", "add", "errands", str(errands), "--trust"]) == 0
    with closing(WebArenaLite(suite="errands", split="served")) as env:
        assert play(env, "shelf.jam", ["exit()"])[1] == 0.0
    read_suite(errands)
    errands.write_text(errands.read_text().replace("was-here", "was-there"))
    with expect_error(ApplicationError, "errands", f"'{tmp_path}/was-there'"):
        add_suite("errands", errands)
    assert read_suite("errands").name == "errands"


@pytest.mark.parametrize("name", ["plain", "with space", "semi;colon", "quote'"])
def test_the_proposed_command_names_the_path_as_one_word(errands, tmp_path, name):
    errands.write_text(errands.read_text().replace("in_memory = true", "in_memory = true\nnetwork = true"))
    file = shutil.copytree(errands.parent, tmp_path / name) / errands.name
    for use in (lambda: read_suite(file), lambda: add_suite("errands", file)):
        with pytest.raises(ApplicationError) as raised:
            use()
        command = str(raised.value).split("run `")[1].removesuffix("` once")
        assert shlex.split(command) == ["webarena-gym", "suite", "add", "errands", str(file), "--trust"]


def test_decisions_of_concurrent_processes_are_all_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    contents = [str(number).encode() for number in range(64)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda content: add_trust(content, ["network"]), contents))
    for content in contents:
        expect_trust("it", content, ["network"], ["trust"])
    with expect_error(ApplicationError, "it", "network; python", "webarena-gym trust"):
        expect_trust("it", contents[0], ["network", "python"], ["trust"])


def test_a_decision_that_cannot_be_written_names_its_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    data_folder().write_text("a file where the folder belongs")
    with expect_error(ApplicationError, data_folder()):
        add_trust(b"", ["network"])
    with expect_error(ApplicationError, "it", "network", "webarena-gym trust"):
        expect_trust("it", b"", ["network"], ["trust"])


SHOW = """
import json, os, sys

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"path": sys.path} | {name: os.environ.get(name) for name in ("PYTHONPATH", "LD_PRELOAD", "TZ")}).encode()]
"""
LEAK = """
import pathlib
try:
    pathlib.Path({0!r}, "was-here").touch()
except OSError:
    pass  # read-only in the isolation
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the isolation is that of Linux")
@pytest.mark.parametrize("start", [{"wsgi": "show:application"}, {"wsgi": "show:application", "loads": "each time"}])
def test_no_variable_of_an_application_takes_effect_before_the_isolation(tmp_path, start):
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "app"
    (folder / "state").mkdir(parents=True)
    (folder / "show.py").write_text(SHOW)
    (folder / "state" / "sitecustomize.py").write_text(LEAK.format(str(tmp_path / "elsewhere")))
    variables = {"PYTHONPATH": "{state}", "LD_PRELOAD": "state/library.so", "TZ": "Asia/Tokyo"}
    application = Application(name="greedy", folder=str(folder), state="state", environment=variables, **start)
    with closing(WebArenaLite(application=application, tasks=[parse_task(LOOK)])) as env:
        env.reset()
        host = env.backend._current._host
        seen = json.loads(env.network.request("GET", "http://greedy.test/").body)
        assert seen["TZ"] == "Asia/Tokyo"
        assert seen["PYTHONPATH"].endswith("/state")
        assert any(path.endswith("/state") for path in seen["path"])
        assert list((tmp_path / "elsewhere").iterdir()) == []
        names = {
            line.partition(b"=")[0].decode() for line in Path(f"/proc/{host._process.pid}/environ").read_bytes().split(b"\0")
        }
        assert not names & {"PYTHONPATH", "LD_PRELOAD"}
    close_all()
