"""Adapter to OpenEnv (openenv-core 0.3): a server with concurrent sessions, its client, and its environment folder.

Start the server with `uvicorn --factory webarena_gym.integrations.openenv:app`, and connect with `WebArenaGymClient("http://...")`. A
session over the WebSocket keeps its episode. OpenEnv's POST /reset and /step create a new env for each request, so they cannot continue an
episode. The success and any infrastructure failure are fields of the observation; an episode with such a failure is done without a reward.

`python -m webarena_gym.integrations.openenv DIR` writes the environment folder for `openenv validate`, `build` and `push`.
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
from webarena_gym.arena.schema import ENV_SETTINGS, Limits
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ArenaError, WebArenaGymError
from webarena_gym.integrations.session import NAME, select_tasks, source_of

SETTINGS = frozenset({"split", "world_seed", *ENV_SETTINGS})
"""The keywords of `WebArenaLite` that a client may set. Those that give access to files, servers or browsers are set by the server only."""

SESSION_TIMEOUT_S = Limits().idle_s
"""Default seconds without a reset or a step after which a session is closed: half an hour, as for an episode of the arena."""

_SPACE = f"{NAME}_env"  # name of the package in the folder that `write` creates


class WebArenaGymAction(Action):  # type: ignore[misc]
    """A model's complete reply, which contains the action."""

    reply: str


class WebArenaGymObservation(Observation):  # type: ignore[misc]
    """The observation of the agent, and at the end the verdicts."""

    text: str = Field(description="the task, the history and the current page")
    messages: list[dict[str, str]] = Field(default_factory=list, description="the same as a chat, with the system prompt")
    goal: str = ""
    task_id: str = ""
    url: str = ""
    action_error: str = ""
    success: bool | None = Field(
        default=None, description="whether the task is solved; null before the end, and after an infrastructure failure"
    )
    verdicts: list[dict[str, Any]] = Field(default_factory=list)
    side_effects: list[str] = Field(default_factory=list)
    tools: dict[str, int] = Field(default_factory=dict, description="calls of tools, failed ones, and those left")
    failure: str = Field(
        default="", description="description of an infrastructure failure, with which the episode has no reward"
    )


class WebArenaGymEnvironment(Environment[WebArenaGymAction, WebArenaGymObservation, State]):  # type: ignore[misc]
    """One session, with a separate env. `env` contains the server's keywords of `WebArenaLite`."""

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
        """Start an episode.

        Args:
            seed: seed with which a task is drawn, if `task` is None.
            episode_id: id of the episode in the state.
            task: id of the task.
            settings: values for `SETTINGS` that replace those of the server in this episode.

        Raises:
            ValueError: for other settings.
            ArenaError: if the session was closed.

        """
        self._expect_open()
        if unknown := sorted(settings.keys() - SETTINGS):
            raise ValueError(
                f"reset has no setting {', '.join(unknown)}; expected seed, episode_id, task, {', '.join(sorted(SETTINGS))}"
            )
        if settings != self._settings:
            env = self._make(settings)
            self._env.close()
            self._env, self._settings = env, settings
        text, info = self._env.reset(seed=seed, options=None if task is None else {"task": task})
        self._state = State(episode_id=episode_id, step_count=0)
        return _build_observation(text, info)

    def _make(self, settings: Mapping[str, Any]) -> WebArenaLite:
        defaults = {name: value for name, value in self._arguments.items() if name != "tasks" or "split" not in settings}
        return WebArenaLite(**{**defaults, **settings, "on_failure": "nan"})

    def step(self, action: WebArenaGymAction, timeout_s: float | None = None, **_: Any) -> WebArenaGymObservation:  # noqa: ARG002 - OpenEnv's
        self._expect_open()
        text, reward, terminated, truncated, info = self._env.step(action.reply)
        self._state.step_count += 1
        observation = _build_observation(text, info)
        observation.done = terminated or truncated
        observation.reward = None if observation.failure else reward
        return observation

    @property
    def state(self) -> State:
        return self._state

    def close(self) -> None:
        self._is_closed = True
        self._env.close()

    def _expect_open(self) -> None:
        """Raise ArenaError if OpenEnv has closed the session after its timeout. OpenEnv does not close the connection."""
        if self._is_closed:
            raise ArenaError("the session was closed because it sent no request for too long; connect again", 410)


def _build_observation(text: str, info: Mapping[str, Any]) -> WebArenaGymObservation:
    fields = {name: info[name] for name in WebArenaGymObservation.model_fields if name in info}
    return WebArenaGymObservation(text=text, **fields)


class WebArenaGymClient(EnvClient[WebArenaGymAction, WebArenaGymObservation, State]):  # type: ignore[misc]
    """Client of the server: `await client.reset(task=...)`, `await client.step(WebArenaGymAction(reply=...))`; `.sync()` for sync code."""

    def _step_payload(self, action: WebArenaGymAction) -> dict[str, Any]:
        return {"reply": action.reply}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[WebArenaGymObservation]:
        fields = {**payload["observation"], "done": payload.get("done", False), "reward": payload.get("reward")}
        observation = WebArenaGymObservation.model_validate(fields)
        return StepResult(observation=observation, reward=observation.reward, done=observation.done)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State.model_validate(payload)


def app(env: Mapping[str, Any] | None = None, sessions: int = 64, session_timeout_s: float = SESSION_TIMEOUT_S) -> Any:
    """Return the server's ASGI application, with OpenEnv's web interface if `ENABLE_WEB_INTERFACE` is true.

    Args:
        env: keywords of `WebArenaLite`.
        sessions: maximum number of concurrent sessions.
        session_timeout_s: seconds without a reset or a step after which a session is closed. OpenEnv checks at intervals of a quarter of
            it, and at least 5 s.

    """
    application = create_app(
        lambda: WebArenaGymEnvironment(env),
        WebArenaGymAction,
        WebArenaGymObservation,
        env_name=_SPACE,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=session_timeout_s),
    )

    def tasks(split: str = "", sites: str = "", templates: str = "") -> list[dict[str, Any]]:
        """List the tasks of a split, by default that of the envs; `sites` and `templates` are comma-separated names."""
        filters: dict[str, Any] = {
            key: [name for name in names.split(",") if name] for key, names in (("sites", sites), ("templates", templates))
        }
        selection = select_tasks(split or (env or {}).get("split", "test"), **source_of(env or {}), **filters)
        return [{"task": task.task_id, "goal": task.intent, "sites": task.sites} for task in selection]

    def handle_error(_: Any, error: Exception) -> JSONResponse:
        hint = f"{error}; over HTTP each request has a new env: use the WebSocket /ws, as the client does"
        return JSONResponse({"detail": hint if isinstance(error, ResetNeeded) else str(error)}, status_code=422)

    application.get("/tasks")(tasks)
    for kind in (ResetNeeded, TypeError, ValueError, WebArenaGymError):
        application.add_exception_handler(kind, handle_error)
    return application


_FILES: Mapping[str, str] = {
    "openenv.yaml": f"spec_version: 1\nname: {_SPACE}\ntype: space\nruntime: fastapi\napp: server.app:app\nport: 8000\n",
    "server/app.py": '''\
"""OpenEnv server of webarena-gym."""

import uvicorn

from webarena_gym.integrations.openenv import app as make_app

app = make_app()


def main() -> None:
    """Serve on port 8000 of all interfaces."""
    uvicorn.run(app, host="0.0.0.0", port=8000)


if __name__ == "__main__":
    main()
''',
    "server/__init__.py": '"""OpenEnv server of webarena-gym."""\n',
    "__init__.py": '"""OpenEnv environment of webarena-gym."""\n',
    # OpenEnv's AutoEnv and AutoAction derive these names from the name of the package.
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

Web tasks on six sites as an OpenEnv environment. An action is a model's complete reply, in the format of the system prompt in `messages`.
At the end, `observation.success` is true if the task is solved.
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
dependencies = {dependencies}

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
    """Write an OpenEnv environment folder with a copy of this package. Then run `uv lock` in it.

    Raises FileExistsError if the folder exists.
    """
    shutil.copytree(Path(webarena_gym.__file__).parent, folder / NAME, ignore=shutil.ignore_patterns("__pycache__"))
    packages = sorted(".".join(path.parent.relative_to(folder).parts) for path in (folder / NAME).rglob("__init__.py"))
    dependencies = [
        "openenv-core>=0.3",
        "uvicorn>=0.31.1",
        *(requirement for requirement in requires("webarena-gym") or () if "extra ==" not in requirement),
    ]
    project = _PROJECT.format(
        space=_SPACE,
        name=NAME,
        version=webarena_gym.__version__,
        dependencies=json.dumps(dependencies, indent=4),
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
