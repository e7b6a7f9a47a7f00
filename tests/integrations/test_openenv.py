"""OpenEnv's server and client on our tasks: sessions side by side, and how they end."""

import asyncio
import math
import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("openenv.core", reason="make test-integrations")

import httpx
import uvicorn

from webarena_gym.actions import DIALECTS
from webarena_gym.env import WebArenaLite
from webarena_gym.integrations.openenv import WebArenaGymAction, WebArenaGymClient, WebArenaGymEnvironment, app
from webarena_gym.tasks import load

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
WEBRL = DIALECTS["webrl"]
NAMES = ("shopping.wish_list_add", "shopping.order_total", "gitlab.star_top", "map.save_place")
TASKS = [next(task for task in load("test") if task.template == name) for name in NAMES]


@contextmanager
def serving(**env):
    server = uvicorn.Server(uvicorn.Config(app({"elements": "label", **env}), port=0, log_level="error"))
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
            told = client.reset(seed=1, split=split, observation="axtree", max_steps=2).observation
            assert told.task_id in {task.task_id for task in load(split)}
            assert "RootWebArea" in told.text
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
        for path, body, told in (
            ("/step", {"action": {"reply": "x"}}, "WebSocket"),
            ("/reset", {"splt": "test"}, "splt"),
            ("/reset", {"task": "nothing/1/1"}, "nothing"),
            ("/tasks?split=tset", None, "tset"),
        ):
            answer = web.post(path, json=body) if body else web.get(path)
            assert answer.status_code == 422
            assert told in answer.json()["detail"]


def test_a_broken_episode_is_done_without_a_reward(monkeypatch):
    lost = "", math.nan, False, True, {"failure": "the browser is gone"}
    monkeypatch.setattr(WebArenaLite, "step", lambda *_: lost)
    env = WebArenaGymEnvironment()
    env.reset(seed=0)
    told = env.step(WebArenaGymAction(reply="x"))
    assert (told.done, told.reward, told.success, told.failure) == (True, None, None, "the browser is gone")
