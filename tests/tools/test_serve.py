"""The command `serve`: the sites and an arena at ports of this machine."""

import os
import re
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from benchmarks.arena import Client, follow_solution, request
from webarena_gym.suite import load
from webarena_gym.tools.cli import main
from webarena_gym.tools.serve import WorldSites

TASKS = load("test")


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


def test_sites_are_selected_by_host_and_sign_visitors_in():
    sites = WorldSites(8000, 0)
    answer = sites.request("GET", "http://shop.localhost:8000/customer/account/")
    assert answer.status == 200
    assert b"My Account" in answer.body
    cookie = answer.header("Set-Cookie").partition(";")[0]
    assert not sites.request("GET", "http://shop.localhost:8000/", {"cookie": cookie}).header("Set-Cookie")
    assert sites.request("GET", "http://shop-admin.localhost:8000/admin/sales/order/").status == 200
