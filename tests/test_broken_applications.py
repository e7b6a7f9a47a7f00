"""Applications that cannot be used: they exit or hang at their start, or from some reset on. A run on them ends soon, with their log."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from agents import evaluate as agents_evaluate
from tests import needs
from tests.chat_server import serving_chat
from tests.errors import expect_error
from webarena_gym import WebArenaLite
from webarena_gym.applications import processes
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.processes import AppLauncher, close_all, launcher_of
from webarena_gym.errors import AbortedRunError, ApplicationError
from webarena_gym.tasks import parse_task
from webarena_gym.tools.cli import main

APPLICATION = """
import os, sys, time

os.makedirs("starts", exist_ok=True)
open(f"starts/{time.monotonic_ns()}", "w").close()
number = len(os.listdir("starts"))
if number > int(sys.argv[2]):
    print("no licence file: /etc/desk.lic", flush=True)
    if sys.argv[3] == "hangs":
        time.sleep(60)
    sys.exit(7)

from wsgiref.simple_server import make_server

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<title>Desk</title><h1>Desk</h1><a href=/>Again</a>"]

make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""
TOML = """
name = "desk"
command = "{python} desk.py {{port}} {sound} {end}"
shared = ["starts"]
start_s = {start_s}
tasks = "tasks.json"
"""
TASK = {
    "sites": ["desk"], "start_url": "__DESK__/", "require_login": False,
    "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "Desk"}},
}  # fmt: skip
TASKS = 40


@pytest.fixture
def desk(tmp_path):
    """Return a function that writes an application which starts `sound` times, and then exits or hangs; it returns the folder."""

    def write(sound=0, end="exits"):
        (tmp_path / "starts").mkdir()
        (tmp_path / "desk.py").write_text(APPLICATION)
        tasks = [{**TASK, "task_id": f"desk.{number}", "intent": f"Title number {number}?"} for number in range(TASKS)]
        (tmp_path / "tasks.json").write_text(json.dumps(tasks))
        start_s = 3 if end == "hangs" else 20
        (tmp_path / "webarena-app.toml").write_text(TOML.format(python=sys.executable, sound=sound, end=end, start_s=start_s))
        return tmp_path

    yield write
    close_all()


def starts(folder):
    return len(list((folder / "starts").iterdir()))


@pytest.mark.parametrize(("options", "end"), [
    (["--agent", "random"], "exits"), (["--agent", "random"], "hangs"), (["--agent", "random", "--jobs", "4"], "exits"),
    (["--agent", "command:true"], "exits"),
])  # fmt: skip
def test_webarena_gym_evaluate_ends_after_three_failed_resets_and_shows_the_log(desk, capfd, options, end):
    folder = desk(end=end)
    out = folder / "runs"
    mode = ["--mode", "step"] if "command:true" in options else []
    assert main(["evaluate", "--application", str(folder), "--out", str(out), "--max-steps", "2", *options, *mode]) == 1
    captured = capfd.readouterr().err
    assert "the run was aborted after 3 consecutive failed resets" in captured
    assert "no licence file: /etc/desk.lic" in captured
    assert "exited with status 7" in captured or "was not ready within 3 s" in captured
    assert starts(folder) <= 8


@pytest.mark.parametrize(
    ("options", "end"),
    [({}, "exits"), pytest.param({}, "hangs", marks=pytest.mark.slow), ({"workers": 2}, "exits"), ({"processes": 2}, "exits")],
)
def test_agents_evaluate_ends_after_three_failed_resets_and_shows_the_log(desk, options, end):
    folder = desk(end=end)
    words = [word for name, value in {"num_envs": 4, **options}.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    with pytest.raises(AbortedRunError, match=r"3 consecutive failed resets(.|\n)*no licence file: /etc/desk\.lic"):
        agents_evaluate.main(["--policy", "random", "--application", str(folder), "--max-steps", "2", *words])
    assert starts(folder) <= 16  # some start at the same time, in several processes


def test_runs_abort_after_repeated_failed_resets_and_keep_their_episodes(desk, capfd):
    folder = desk(sound=6)
    out = folder / "runs"
    assert main(["evaluate", "--application", str(folder), "--agent", "random", "--max-steps", "2", "--out", str(out)]) == 1
    captured = capfd.readouterr()
    assert "the run was aborted after 6 consecutive failed resets" in captured.err
    records = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()[1:]]
    assert [record["reward"] for record in records] == [0.0] * 5 + [None] * 5  # the sixth start is that of the login


def test_failures_of_a_chat_model_do_not_count_as_failed_resets(desk, capsys, monkeypatch):
    folder = desk(sound=1000)
    with serving_chat(fault=lambda *_: 400) as (_, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        arguments = ["--policy", "chat:good", "--application", str(folder), "--max-steps", "2", "--num-envs", "4"]
        assert agents_evaluate.main([*arguments, "--limit", "20"]) == 1
    assert "20 of 20 episodes failed" in capsys.readouterr().out


HANGING = """
import sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STATE, PUTS = [b"{}"], []

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content = STATE[0] if self.path == "/api/state" else b"<title>Desk</title><h1>Desk</h1>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_PUT(self):
        PUTS.append(1)
        if len(PUTS) >= 2:
            time.sleep(60)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_an_instance_that_hangs_in_a_reset_is_replaced_by_another(tmp_path):
    (tmp_path / "hanging.py").write_text(HANGING)
    command = f"{sys.executable} hanging.py {{port}}"
    application = Application(name="desk", folder=str(tmp_path), command=command, client_state="/api/state", answer_s=1.0)
    with closing(
        WebArenaLite(application=application, tasks=[parse_task({**TASK, "task_id": "a", "intent": "Title?"})])
    ) as env:
        env.reset()
        env.reset()
        with expect_error(ApplicationError, "desk", "TimeoutError"):
            env.reset()
        assert "Desk" in env.reset()[0]
    close_all()


LATE = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STATES = []
PAGE = b"<p>Desk</p><script>setTimeout(() => fetch('/api/state', {method: 'PUT', body: '{}'}), 20000)</script>"

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        is_state = self.path == "/api/state"
        content = (STATES or [b""])[-1] if is_state else PAGE
        self.send_response(200 if content else 404)
        self.send_header("Content-Type", "application/json" if is_state else "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_PUT(self):
        STATES.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@needs.chromium
def test_the_first_episode_waits_for_the_state_of_a_slow_page(tmp_path):
    (tmp_path / "late.py").write_text(LATE)
    options = {"command": f"{sys.executable} late.py {{port}}", "client_state": "/api/state", "virtual_time": True}
    application = Application(name="desk", folder=str(tmp_path), **options)
    task = parse_task({**TASK, "task_id": "a", "intent": "Title?"})
    with closing(WebArenaLite(application=application, tasks=[task], browser="chromium")) as env:
        assert "Desk" in env.reset()[0]
    close_all()


def test_threads_that_begin_at_once_share_the_launcher_of_an_application(desk, monkeypatch):
    application = read_application(desk(sound=1000))
    barrier, closed = Barrier(4), []

    class SlowLauncher(AppLauncher):
        def __init__(self, application):
            super().__init__(application)
            barrier.wait(20)  # until each thread has one

        def close(self):
            super().close()
            closed.append(self)

    monkeypatch.setattr(processes, "AppLauncher", SlowLauncher)
    with ThreadPoolExecutor(4) as executor:
        launchers = list(executor.map(lambda _: launcher_of(application), range(4)))
    assert len(set(launchers)) == 1
    assert len(closed) == 3
    assert not any(launcher.base.exists() for launcher in closed)
    assert launchers[0].base.is_dir()
