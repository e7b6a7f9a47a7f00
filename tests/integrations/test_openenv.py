"""OpenEnv's server and client on our tasks: sessions side by side, and how they end."""

import asyncio
import math
import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("openenv.core", reason="make test-integrations")

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


def test_a_broken_episode_is_done_without_a_reward(monkeypatch):
    lost = "", math.nan, False, True, {"failure": "the browser is gone"}
    monkeypatch.setattr(WebArenaLite, "step", lambda *_: lost)
    env = WebArenaGymEnvironment()
    env.reset(seed=0)
    told = env.step(WebArenaGymAction(reply="x"))
    assert (told.done, told.reward, told.success, told.failure) == (True, None, None, "the browser is gone")
