"""`play --session` and `serve`: an episode in a file, and a server that is told what to do on the command line."""

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from benchmarks.arena import Client, follow_solution, request
from webarena_gym.actions import DIALECTS, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.suite import load
from webarena_gym.tasks import Expert
from webarena_gym.tools.cli import main

TASKS = load("test")


@pytest.fixture
def command(capsys, tmp_path):
    """Runs `play --session` on a file; returns the status and what was printed."""

    def run(*words, options=()):
        status = main(["play", "--session", str(tmp_path / "episode.json"), *options, *words])
        found = capsys.readouterr()
        return status, found.out, found.err

    return run


def follow_in_commands(run, task):
    """Do a reference solution with one command a step; returns what the last one printed."""
    env = WebArenaLite(tasks=[task], max_steps=100)
    env.reset()
    expert, dialect = Expert(task), DIALECTS["webrl"]
    status, _, err = run("start", task.task_id)
    while status == 0:
        choice = expert.choose(env.page, env.observation)
        if choice.action.kind is Kind.EXIT:
            return run("submit", choice.action.argument or "")[1]
        reply = dialect.format(choice.action)
        env.step(reply)
        status, _, err = run("act", reply)
    pytest.fail(err)
    return ""


@pytest.mark.parametrize("task", TASKS[3::40], ids=lambda task: task.task_id)
def test_a_reference_solution_in_commands_is_rewarded(command, task):
    assert follow_in_commands(command, task).startswith("reward 1\nSolved.\n")


def test_sessions_accept_short_forms_and_report_invalid_actions(command, tmp_path):
    assert command("start", TASKS[0].task_id)[0] == 0
    status, out, _ = command("act", "nonsense")
    assert (status, out[:14]) == (0, "Action error: ")
    assert command("observe")[1] == out
    assert command("act", "down")[0] == 0
    assert json.loads((tmp_path / "episode.json").read_text())["replies"] == ["nonsense", 'do(action="Scroll Down")']
    assert command("act", "click")[0] == 2
    assert command("act", "exit nothing")[1].startswith("reward 0\nNot solved.\n")


def test_a_session_ends_with_its_answer_or_its_steps(command):
    command("start", TASKS[0].task_id, options=["--max-steps", "2"])
    assert "reward" not in command("act", "x")[1]
    assert command("act", "x")[1].startswith("reward 0\nNot solved.\n")
    for words in (("act", "x"), ("submit", "x")):
        status, _, err = command(*words)
        assert (status, "the session is over, with the reward 0" in err) == (2, True)


@pytest.mark.parametrize(("words", "message"), [
    (("act", "x"), "starts one"),
    (("dance",), "expected start [TASK], act ACTION"),
    (("act",), "expected start"),
    (("start", "nothing/1/0"), "no task 'nothing/1/0'"),
    (("submit", "a", "b"), "expected start"),
])  # fmt: skip
def test_impossible_commands_are_reported(command, words, message):
    status, _, err = command(*words)
    assert (status, message in err) == (2, True)


def test_invalid_and_modified_session_files_are_rejected(command, tmp_path):
    file, strange = tmp_path / "episode.json", '{"format": 1, "settings": {"x": 1}, "replies": [], "page": "", "result": null}'
    for content in ("", "[]", "{", '{"format": 1}', strange):
        file.write_text(content)
        assert command("observe")[0] == command("start")[0] == 2, content
    file.unlink()
    command("start", TASKS[0].task_id)
    command("act", 'do(action="Goto", argument="http://shop.test/wishlist/")')
    file.write_text(json.dumps(json.loads(file.read_text()) | {"replies": []}))
    status, _, err = command("observe")
    assert (status, "pages of the session differ" in err) == (2, True)


@contextmanager
def serving(*options):
    """The command `serve` as a process."""
    command = [sys.executable, "-m", "webarena_gym", "serve", *options]
    environment = {key: value for key, value in os.environ.items() if key != "WEBARENA_GYM_TOKEN"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_the_command_serves_sites_and_an_arena():
    port = free_port()
    with serving("--port", str(port)) as process:
        lines = [process.stdout.readline() for _ in range(8)]
        assert re.fullmatch(r"arena +http://127.0.0.1:\d+/docs\n", lines[-1])
        page = request("GET", f"http://127.0.0.1:{port}/customer/account/", {"Host": f"shop.localhost:{port}"})
        assert b"Sign Out" in page.body
        home = request("GET", f"http://127.0.0.1:{port}/")
        assert home.header("Content-Type") == "text/html; charset=utf-8"
        links = set(re.findall('href="([^"]*)"', home.body.decode()))
        assert links == {"/docs", "/openapi.json", *(line.split()[-1] for line in lines[:-1])}
        assert all(f"<code>{task.task_id}</code>".encode() in home.body for task in TASKS)
        for target in ("http://elsewhere/", f"http://shop.localhost:{port}/", "*"):
            with socket.create_connection(("127.0.0.1", port)) as sent:
                sent.sendall(f"GET {target} HTTP/1.1\r\nHost: shop.localhost:{port}\r\n\r\n".encode())
                assert sent.recv(100).startswith(b"HTTP/1.1 400 ")
        client = Client(f"http://127.0.0.1:{port}")
        episode = client.create_episode(task=TASKS[0].task_id)
        answer, url = follow_solution(episode, TASKS[0])
        assert client.answer(episode, answer, url)["success"]


def test_a_person_gets_a_task_to_play_at_ports_of_the_range():
    task, first = TASKS[0], free_port() // 100 * 100
    with serving("--port", str(free_port()), "--ports", f"{first}-{first + 99}", "--task", task.task_id) as process:
        assert process.stdout.readline().strip() == task.intent
        start = process.stdout.readline().removeprefix("open ").strip()
        assert first <= int(start.rpartition(":")[2].strip("/")) <= first + 99
        assert b"I am done" in request("GET", start).body


@pytest.mark.parametrize("name", ["gitlab.status_set/1000/0", "map.place_page/1000/0"])
def test_a_task_is_played_at_the_given_port(name):
    port = free_port()
    with serving("--port", str(port), "--task", name) as process:
        assert process.stdout.readline().strip() == next(task.intent for task in TASKS if task.task_id == name)
        start = process.stdout.readline().removeprefix("open ").strip()
        assert start.startswith(f"http://127.0.0.1:{port}/")
        assert b"I am done" in request("GET", start).body


@pytest.mark.parametrize(("options", "message"), [
    (["--host", "0.0.0.0"], "--name"),
    (["--ports", "5"], "FIRST-LAST"),
    (["--task", "nothing/1/0"], "no task"),
    (["--episodes", "0"], "episodes"),
])  # fmt: skip
def test_invalid_options_of_serve_are_reported(capsys, options, message):
    assert main(["serve", "--port", str(free_port()), *options]) == 2
    assert message in capsys.readouterr().err


def test_other_hosts_need_a_token_which_is_drawn():
    port = free_port()
    with serving("--host", "0.0.0.0", "--name", "box.example", "--port", str(port)) as process:
        arena, token = (process.stdout.readline().split()[-1] for _ in range(2))
        assert arena == f"http://box.example:{port}/docs"
        url = f"http://127.0.0.1:{port}"
        assert Client(url).ask("GET", "/episodes")[0] == 401
        assert b"<h2>Tasks" not in request("GET", f"{url}/").body  # without the token
        assert Client(url, token).ask("GET", "/episodes")[0] == 200
