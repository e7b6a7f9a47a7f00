"""OpenEnv's server and client on our tasks: sessions side by side, and how they end; and the folder for its own commands."""

import asyncio
import math
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

pytest.importorskip("openenv.core", reason="make test-integrations")

import httpx
import uvicorn
from openenv.cli.__main__ import app as openenv
from openenv.cli.commands import push
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed

from tests.errands import ERRANDS, SOLVED
from webarena_gym.actions import DIALECTS
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ArenaError
from webarena_gym.integrations.openenv import WebArenaGymAction, WebArenaGymClient, WebArenaGymEnvironment, app
from webarena_gym.suite import load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
WEBRL = DIALECTS["webrl"]
NAMES = ("shopping.wish_list_add", "shopping.order_total", "gitlab.star_top", "map.save_place")
TASKS = [next(task for task in load("test") if task.template == name) for name in NAMES]


@contextmanager
def serving(options=None, **env):
    made = app({"elements": "label", **env}, **(options or {}))
    server = uvicorn.Server(uvicorn.Config(made, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < end
        threading.Event().wait(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


async def solve(address, task):
    async with WebArenaGymClient(base_url=address) as client:
        result = await client.reset(task=task.task_id)
        assert (result.observation.goal, result.observation.success) == (task.intent, None)
        for step in task.solution:
            assert not result.done
            result = await client.step(WebArenaGymAction(reply=WEBRL.format(step.action)))
        return result


def test_calls_of_tools_are_counted_in_observations():
    env = WebArenaGymEnvironment({"elements": "label"})
    first = env.reset(task=TASKS[0].task_id, tools=["lookup"], tool_budget=2)
    assert first.tools == {"calls": 0, "failed": 0, "left": 2}
    observation = env.step(WebArenaGymAction(reply='lookup(query="town", k=1)'))
    assert observation.tools == {"calls": 1, "failed": 0, "left": 1}
    assert "<information>" in observation.text
    env.close()


def test_a_task_of_a_suite_is_played_and_the_suite_s_splits_are_listed():
    with serving(suite=str(ERRANDS / "suite.toml"), split="easy") as address:
        assert [row["task"] for row in httpx.get(f"{address}/tasks?split=served").json()] == ["shelf.jam"]
        with WebArenaGymClient(base_url=address).sync() as client:
            assert client.reset(split="served").observation.task_id == "shelf.jam"
            results = [client.step(WebArenaGymAction(reply=action)) for action in SOLVED]
    assert (results[-1].reward, results[-1].done) == (1.0, True)


def test_sessions_play_side_by_side_and_the_expert_succeeds():
    async def play(address):
        return await asyncio.gather(*(solve(address, task) for task in TASKS * 2))

    with serving() as address:
        results = asyncio.run(play(address))
    assert [(result.reward, result.done, result.observation.success) for result in results] == [(1.0, True, True)] * 8


def test_a_lost_task_and_a_wrong_reply():
    with serving() as address, WebArenaGymClient(base_url=address).sync() as client:
        client.reset(seed=3)
        result = client.step(WebArenaGymAction(reply="???"))
        assert result.observation.action_error
        result = client.step(WebArenaGymAction(reply='exit(message="nonsense")'))
        assert (result.reward, result.done, result.observation.success) == (0.0, True, False)
        assert result.observation.verdicts


def test_settings_of_an_episode_are_the_client_s_and_unknown_ones_are_refused():
    with serving(tasks=[TASKS[1]]) as address, WebArenaGymClient(base_url=address).sync() as client:
        assert client.reset(seed=1).observation.task_id == TASKS[1].task_id
        for split in ("test", "train", "hard"):
            observation = client.reset(seed=1, split=split, observation="axtree", max_steps=2).observation
            assert observation.task_id in {task.task_id for task in load(split)}
            assert "RootWebArea" in observation.text
        for _ in range(2):
            result = client.step(WebArenaGymAction(reply="???"))
        assert (result.done, result.reward) == (True, 0.0)
        wrong = {"splt": "test", "tasks": "/etc/passwd", "sites": "environment", "split": "tset", "max_steps": "x"}
        for name, value in wrong.items():
            with pytest.raises(RuntimeError, match=name):
                client.reset(seed=1, **{name: value})
        assert client.reset(seed=1).observation.task_id == TASKS[1].task_id


def test_over_http_wrong_requests_are_refused_and_tasks_are_listed():
    with serving() as address, httpx.Client(base_url=address) as web:
        listed = web.get("/tasks", params={"split": "hard", "sites": "map"}).json()
        assert {row["task"] for row in listed} == {task.task_id for task in load("hard") if task.sites == ("map",)}
        begun = web.post("/reset", json={"task": TASKS[1].task_id, "elements": "id"}).json()
        assert begun["observation"]["goal"] == TASKS[1].intent
        for path, body, expected in (
            ("/step", {"action": {"reply": "x"}}, "WebSocket"),
            ("/reset", {"splt": "test"}, "splt"),
            ("/reset", {"task": "nothing/1/1"}, "nothing"),
            ("/tasks?split=tset", None, "tset"),
        ):
            answer = web.post(path, json=body) if body else web.get(path)
            assert answer.status_code == 422
            assert expected in answer.json()["detail"]


def test_a_broken_episode_is_done_without_a_reward(monkeypatch):
    lost = "", math.nan, False, True, {"failure": "the browser is gone"}
    monkeypatch.setattr(WebArenaLite, "step", lambda *_: lost)
    env = WebArenaGymEnvironment()
    env.reset(seed=0)
    result = env.step(WebArenaGymAction(reply="x"))
    assert (result.done, result.reward, result.success, result.failure) == (True, None, None, "the browser is gone")


def test_the_place_of_a_silent_client_is_freed_and_its_session_stays_closed():
    with (
        serving({"sessions": 1, "session_timeout_s": 0.5}) as address,
        WebArenaGymClient(base_url=address).sync() as silent,
    ):
        silent.reset(seed=1)
        end = time.monotonic() + 120
        while True:  # until it is freed; OpenEnv looks every 5 s
            assert time.monotonic() < end
            try:
                with WebArenaGymClient(base_url=address).sync() as other:
                    assert other.reset(seed=2).observation.goal
                    break
            except (ConnectionClosed, RuntimeError):
                threading.Event().wait(0.05)
        for request in (lambda: silent.step(WebArenaGymAction(reply="x")), lambda: silent.reset(seed=1)):
            with pytest.raises(RuntimeError, match="connect again"):
                request()


def test_a_session_has_a_timeout_by_default(monkeypatch):
    config = Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr("webarena_gym.integrations.openenv.ConcurrencyConfig", config)
    with pytest.raises(KeyboardInterrupt):
        app()
    config.assert_called_once_with(max_concurrent_envs=64, session_timeout=1800.0)


def test_a_closed_environment_refuses_requests():
    env = WebArenaGymEnvironment()
    env.reset(seed=0)
    env.close()
    for request in (lambda: env.reset(seed=0), lambda: env.step(WebArenaGymAction(reply="x"))):
        with pytest.raises(ArenaError, match="connect again"):
            request()


def do(*command, cwd):
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The written environment folder, with its lock file."""
    parent = tmp_path_factory.mktemp("openenv")
    do(sys.executable, "-m", "webarena_gym.integrations.openenv", "webarena_gym_env", cwd=parent)
    do(Path(sys.executable).with_name("uv"), "lock", cwd=parent / "webarena_gym_env")
    return parent / "webarena_gym_env"


def test_openenv_finds_the_written_folder_valid(folder):
    output = do(Path(sys.executable).with_name("openenv"), "validate", "--verbose", cwd=folder)
    assert "Ready for multi-mode deployment" in output
    assert output.count("[YES]") == 4
    again = subprocess.run(
        [sys.executable, "-m", "webarena_gym.integrations.openenv", folder], capture_output=True, text=True, check=False
    )
    assert (again.returncode, "exists" in again.stderr) == (2, True)


def test_openenv_pushes_the_written_folder(folder, monkeypatch):
    uploaded = {}

    def upload(folder_path, **options):
        uploaded.update({str(path.relative_to(folder_path)): path for path in Path(folder_path).rglob("*")}, **options)
        uploaded["text"] = (Path(folder_path) / "Dockerfile").read_text()

    monkeypatch.setattr(push, "whoami", lambda: {"name": "somebody"})
    monkeypatch.setattr(push, "HfApi", lambda: Mock(upload_folder=upload))
    done = CliRunner().invoke(openenv, ["push", str(folder)])
    assert done.exit_code == 0, done.output
    assert uploaded["repo_id"] == "somebody/webarena_gym_env"
    assert "ENABLE_WEB_INTERFACE=true" in uploaded["text"]
    assert {"README.md", "uv.lock", "server/app.py", "webarena_gym/suite/data/test.json"} <= uploaded.keys()


def test_the_written_folder_installs_serves_and_is_found_by_its_name(folder):
    do(Path(sys.executable).with_name("uv"), "sync", "--frozen", "--no-dev", "--no-editable", "--quiet", cwd=folder)
    code = """
from openenv.auto import AutoAction, AutoEnv
from starlette.testclient import TestClient
from webarena_gym_env.server.app import app

client, action = AutoEnv.get_env_class("webarena_gym"), AutoAction.from_env("webarena_gym")
with TestClient(app) as web, web.websocket_connect("/ws") as session:
    session.send_json({"type": "reset", "data": {"seed": 1}})
    print(client.__name__, action.__name__, bool(session.receive_json()["data"]["observation"]["goal"]))
"""
    assert (
        do(folder / ".venv" / "bin" / "python", "-c", code, cwd=folder.parent) == "WebArenaGymClient WebArenaGymAction True\n"
    )
