"""OpenEnv (openenv-core 0.3): a server whose sessions play our tasks at the same time, and the client that goes with it.

`uvicorn --factory webarena_gym.integrations.openenv:app` serves; `WebArenaGymClient("http://...")` plays. A session keeps its episode over
the WebSocket; OpenEnv's POST /reset and /step have an env of their own for each request, so no episode goes on there. Whether a task
was done, and what broke where it could not be judged, are fields of the observation: a broken episode is done without a reward.
"""

from collections.abc import Mapping
from typing import Any

from fastapi.responses import JSONResponse
from gymnasium.error import ResetNeeded
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from webarena_gym.env import WebArenaLite
from webarena_gym.errors import WebArenaGymError
from webarena_gym.integrations.session import choose
from webarena_gym.server.schema import ENV_SETTINGS

SETTINGS = frozenset({"split", "world_seed", *ENV_SETTINGS})
"""The keywords of `WebArenaLite` that a client may set; what reaches files, servers or browsers is the server's own."""


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
        self._state = State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task: str | None = None, **settings: Any
    ) -> WebArenaGymObservation:
        """Begin a task, drawn by the seed where none is named.

        `settings` are those of `SETTINGS` that this episode has in place of the server's. Raises ValueError for others.
        """
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
        self._env.close()


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


def app(env: Mapping[str, Any] | None = None, sessions: int = 64) -> Any:
    """Return the server's ASGI application; `env` are keywords of `WebArenaLite`, `sessions` how many may play at once."""
    served = create_fastapi_app(
        lambda: WebArenaGymEnvironment(env), WebArenaGymAction, WebArenaGymObservation, max_concurrent_envs=sessions
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
