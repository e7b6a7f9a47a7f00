"""OpenEnv (openenv-core 0.3): a server whose sessions play our tasks at the same time, the client that goes with it, and its folder.

`uvicorn --factory webarena_gym.integrations.openenv:app` serves; `WebArenaGymClient("http://...")` plays. A session keeps its episode over
the WebSocket; OpenEnv's POST /reset and /step have an env of their own for each request, so no episode goes on there. Whether a task
was done, and what broke where it could not be judged, are fields of the observation: a broken episode is done without a reward.

`python -m webarena_gym.integrations.openenv DIR` writes the environment folder that `openenv validate`, `build` and `push` work on.
"""

import argparse
import json
import shutil
from collections.abc import Mapping
from importlib.metadata import requires
from pathlib import Path
from typing import Any

from fastapi.responses import JSONResponse
from gymnasium.error import ResetNeeded
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation, State
from pydantic import Field

import webarena_gym
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ArenaError, WebArenaGymError
from webarena_gym.integrations.session import NAME, choose
from webarena_gym.server.schema import ENV_SETTINGS, Limits

SETTINGS = frozenset({"split", "world_seed", *ENV_SETTINGS})
"""The keywords of `WebArenaLite` that a client may set; what reaches files, servers or browsers is the server's own."""

SESSION_TIMEOUT_S = Limits().idle_s
"""Default seconds without a reset or a step after which a session is closed: the same as for an episode of the arena, half an hour."""

_SPACE = f"{NAME}_env"  # the package in the folder that `write` makes


class WebArenaGymAction(Action):  # type: ignore[misc]
    """A model's whole reply, with the action in it."""

    reply: str


class WebArenaGymObservation(Observation):  # type: ignore[misc]
    """The observation of the agent, and at the end the verdict."""

    text: str = Field(description="the task, the history and the newest page")
    messages: list[dict[str, str]] = Field(default_factory=list, description="the same as a chat, with the system prompt")
    goal: str = ""
    task_id: str = ""
    url: str = ""
    action_error: str = ""
    success: bool | None = Field(default=None, description="whether the task was done; none before the end, and where it broke")
    verdicts: list[dict[str, Any]] = Field(default_factory=list)
    side_effects: list[str] = Field(default_factory=list)
    failure: str = Field(default="", description="what broke through no fault of the agent; the episode has no reward then")


class WebArenaGymEnvironment(Environment[WebArenaGymAction, WebArenaGymObservation, State]):  # type: ignore[misc]
    """One session: an env of its own, in a world of its own."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._arguments = dict(env or {})
        self._settings: dict[str, Any] = {}
        self._env = self._make({})
        self._is_closed = False
        self._state = State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task: str | None = None, **settings: Any
    ) -> WebArenaGymObservation:
        """Begin a task, drawn by the seed where none is named.

        `settings` are those of `SETTINGS` that this episode has in place of the server's. Raises ValueError for others, and ArenaError
        if the session was closed.
        """
        self._expect_open()
        if unknown := sorted(settings.keys() - SETTINGS):
            raise ValueError(
                f"reset takes no {', '.join(unknown)}; expected seed, episode_id, task, {', '.join(sorted(SETTINGS))}"
            )
        if settings != self._settings:
            env = self._make(settings)
            self._env.close()
            self._env, self._settings = env, settings
        text, info = self._env.reset(seed=seed, options=None if task is None else {"task": task})
        self._state = State(episode_id=episode_id, step_count=0)
        return _told(text, info)

    def _make(self, settings: Mapping[str, Any]) -> WebArenaLite:
        own = {name: value for name, value in self._arguments.items() if name != "tasks" or "split" not in settings}
        return WebArenaLite(**{**own, **settings, "on_failure": "nan"})

    def step(self, action: WebArenaGymAction, timeout_s: float | None = None, **_: Any) -> WebArenaGymObservation:  # noqa: ARG002 - OpenEnv's
        self._expect_open()
        text, reward, terminated, truncated, info = self._env.step(action.reply)
        self._state.step_count += 1
        told = _told(text, info)
        told.done = terminated or truncated
        told.reward = None if told.failure else reward
        return told

    @property
    def state(self) -> State:
        return self._state

    def close(self) -> None:
        self._is_closed = True
        self._env.close()

    def _expect_open(self) -> None:
        """Raise ArenaError if OpenEnv has closed the session, whose connection it leaves open, and given its place to another."""
        if self._is_closed:
            raise ArenaError("the session was closed because it sent no request for too long; connect again", 410)


def _told(text: str, info: Mapping[str, Any]) -> WebArenaGymObservation:
    known = {name: info[name] for name in WebArenaGymObservation.model_fields if name in info}
    return WebArenaGymObservation(text=text, **known)


class WebArenaGymClient(EnvClient[WebArenaGymAction, WebArenaGymObservation, State]):  # type: ignore[misc]
    """Plays on a server: `await client.reset(task=...)`, `await client.step(WebArenaGymAction(reply=...))`; `.sync()` for plain code."""

    def _step_payload(self, action: WebArenaGymAction) -> dict[str, Any]:
        return {"reply": action.reply}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[WebArenaGymObservation]:
        told = {**payload["observation"], "done": payload.get("done", False), "reward": payload.get("reward")}
        observation = WebArenaGymObservation.model_validate(told)
        return StepResult(observation=observation, reward=observation.reward, done=observation.done)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State.model_validate(payload)


def app(env: Mapping[str, Any] | None = None, sessions: int = 64, session_timeout_s: float = SESSION_TIMEOUT_S) -> Any:
    """Return the server's ASGI application, with OpenEnv's web interface if `ENABLE_WEB_INTERFACE` is true.

    Args:
        env: keywords of `WebArenaLite`.
        sessions: number of sessions that may be open at once.
        session_timeout_s: seconds without a reset or a step after which a session is closed and its place is free. OpenEnv looks every
            quarter of it, and not more often than every 5 s.

    """
    served = create_app(
        lambda: WebArenaGymEnvironment(env),
        WebArenaGymAction,
        WebArenaGymObservation,
        env_name=_SPACE,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=session_timeout_s),
    )

    def tasks(split: str = "test", sites: str = "", templates: str = "") -> list[dict[str, Any]]:
        """List the tasks of a split; `sites` and `templates` are names with commas between them."""
        wanted = {
            key: [name for name in names.split(",") if name] for key, names in (("sites", sites), ("templates", templates))
        }
        chosen = choose(split, application=(env or {}).get("application"), **wanted)
        return [{"task": task.task_id, "goal": task.intent, "sites": task.sites} for task in chosen]

    def refuse(_: Any, error: Exception) -> JSONResponse:
        told = f"{error}; over HTTP each request has an env of its own: play over the WebSocket /ws, as the client does"
        return JSONResponse({"detail": told if isinstance(error, ResetNeeded) else str(error)}, status_code=422)

    served.get("/tasks")(tasks)
    for kind in (ResetNeeded, TypeError, ValueError, WebArenaGymError):
        served.add_exception_handler(kind, refuse)
    return served


_FILES: Mapping[str, str] = {
    "openenv.yaml": f"spec_version: 1\nname: {_SPACE}\ntype: space\nruntime: fastapi\napp: server.app:app\nport: 8000\n",
    "server/app.py": '''\
"""OpenEnv server of webarena-gym."""

import uvicorn

from webarena_gym.integrations.openenv import app as make_app

app = make_app()


def main() -> None:
    """Serve at port 8000 of all interfaces."""
    uvicorn.run(app, host="0.0.0.0", port=8000)


if __name__ == "__main__":
    main()
''',
    "server/__init__.py": '"""OpenEnv server of webarena-gym."""\n',
    "__init__.py": '"""OpenEnv environment of webarena-gym."""\n',
    # OpenEnv's AutoEnv and AutoAction derive these names from that of the package.
    "client.py": "from webarena_gym.integrations.openenv import WebArenaGymAction as WebarenaGymAction\n"
    "from webarena_gym.integrations.openenv import WebArenaGymClient as WebarenaGymEnv\n"
    "from webarena_gym.integrations.openenv import WebArenaGymObservation as WebarenaGymObservation\n",
    "models.py": "from webarena_gym.integrations.openenv import WebArenaGymAction as WebarenaGymAction\n"
    "from webarena_gym.integrations.openenv import WebArenaGymObservation as WebarenaGymObservation\n",
    "README.md": """\
---
title: webarena-gym
sdk: docker
app_port: 8000
base_path: /web
tags: [openenv]
---

# webarena-gym

Web tasks on six sites as an OpenEnv environment. An action is a model's whole reply, as the system prompt in `messages` asks for it;
`observation.success` says at the end whether the task was done.
""",
    "Dockerfile": """\
FROM python:3.12-slim
RUN useradd --create-home --uid 1000 user
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir uv && uv sync --frozen --no-dev --no-editable --no-cache
USER user
EXPOSE 8000
HEALTHCHECK CMD .venv/bin/python -c "import urllib.request; urllib.request.urlopen('http://localhost:8000/health')"
CMD [".venv/bin/uvicorn", "server.app:app", "--host", "0.0.0.0", "--port", "8000"]
""",
    ".dockerignore": ".venv\n",
}


_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "openenv-{space}"
version = "{version}"
description = "Web tasks on six sites as an OpenEnv environment"
requires-python = ">=3.11"
dependencies = {needs}

[project.scripts]
server = "{space}.server.app:main"

[tool.setuptools]
packages = {packages}
package-dir = {{ {space} = ".", "{space}.server" = "server" }}

[tool.setuptools.package-data]
{space} = ["openenv.yaml"]
{name} = ["**/*"]
"""


def write(folder: Path) -> None:
    """Write an OpenEnv environment folder with a copy of this package; `uv lock` in it completes it.

    Raises FileExistsError if the folder exists.
    """
    shutil.copytree(Path(webarena_gym.__file__).parent, folder / NAME, ignore=shutil.ignore_patterns("__pycache__"))
    packages = sorted(".".join(path.parent.relative_to(folder).parts) for path in (folder / NAME).rglob("__init__.py"))
    needs = [
        "openenv-core>=0.3",
        "uvicorn>=0.31.1",
        *(need for need in requires("webarena-gym") or () if "extra ==" not in need),
    ]
    project = _PROJECT.format(
        space=_SPACE,
        name=NAME,
        version=webarena_gym.__version__,
        needs=json.dumps(needs, indent=4),
        packages=json.dumps([_SPACE, f"{_SPACE}.server", *packages], indent=4),
    )
    for name, text in {**_FILES, "pyproject.toml": project}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=write.__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    if arguments.folder.exists():
        parser.error(f"{arguments.folder} exists; expected the name of a new folder")
    write(arguments.folder)
