#!/usr/bin/env bash
# openenv-core 0.3.0: what `session_timeout` does to a connected client.
#
# Guess: a session that was idle for longer is ended: the client's next step is an error, or goes to a new episode.
# Seen:  the environment is closed, and the client's next step runs on the closed environment, as if nothing had
#        happened. Its place counts as free: with max_concurrent_envs=1 a second client is let in while the first steps on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openenv-core==0.3.0 uvicorn
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import socket
import threading
import time

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation, State
from openenv.core.generic_client import GenericEnvClient

closed = threading.Event()


class Counter(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.count, self.is_closed = 0, False

    def reset(self, seed=None, episode_id=None, **kwargs):
        self.count = 0
        return Observation(metadata={"count": 0, "closed": self.is_closed}, done=False, reward=0.0)

    def step(self, action, timeout_s=None, **kwargs):
        self.count += 1
        return Observation(metadata={"count": self.count, "closed": self.is_closed}, done=False, reward=float(self.count + 100 * self.is_closed))

    @property
    def state(self):
        return State(step_count=self.count)

    def close(self):
        self.is_closed = True
        closed.set()


app = create_fastapi_app(Counter, Action, Observation, concurrency_config=ConcurrencyConfig(max_concurrent_envs=1, session_timeout=1.0))
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
web = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
threading.Thread(target=web.run, kwargs={"sockets": [listener]}, daemon=True).start()
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
while not web.started:
    time.sleep(0.05)


async def main():
    async with GenericEnvClient(base_url=url) as first:
        await first.reset()
        before = (await first.step({})).reward
        assert await asyncio.to_thread(closed.wait, 30), "the behaviour has changed: the idle environment is not closed"
        after = (await first.step({})).reward
        print("rewards: before the timeout", before, "after it", after, "(over 100: the environment was closed)")
        assert (before, after) == (1.0, 102.0), "the behaviour has changed"
        async with GenericEnvClient(base_url=url) as second:
            await second.reset()
            print("a second client steps:", (await second.step({})).reward, "and the first:", (await first.step({})).reward)


asyncio.run(main())
web.should_exit = True
PYTHON
