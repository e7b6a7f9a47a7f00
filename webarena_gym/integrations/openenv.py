"""OpenEnv (openenv-core 0.3): a server whose sessions play our tasks at the same time, and the client that goes with it.

`uvicorn --factory webarena_gym.integrations.openenv:app` serves; `WebArenaGymClient("http://...")` plays. Whether a task was done, and what broke
where it could not be judged, are fields of the observation: a broken episode is done without a reward.
"""

from collections.abc import Mapping
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from webarena_gym.env import WebArenaLite


class WebArenaGymAction(Action):  # type: ignore[misc]
    """A model's whole reply, with the action in it."""

    reply: str


class WebArenaGymObservation(Observation):  # type: ignore[misc]
    """What the agent is told, and at the end how it was judged."""

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
        self._env = WebArenaLite(**{**(env or {}), "on_failure": "nan"})
        self._state = State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task: str | None = None, **_: Any
    ) -> WebArenaGymObservation:
        """Begin a task, drawn by the seed where none is named."""
        text, info = self._env.reset(seed=seed, options=None if task is None else {"task": task})
        self._state = State(episode_id=episode_id, step_count=0)
        return _told(text, info)

    def step(self, action: WebArenaGymAction, timeout_s: float | None = None, **_: Any) -> WebArenaGymObservation:  # noqa: ARG002 - OpenEnv's
        """Do what a reply says."""
        text, reward, terminated, truncated, info = self._env.step(action.reply)
        self._state.step_count += 1
        told = _told(text, info)
        told.done = terminated or truncated
        told.reward = None if told.failure else reward
        return told

    @property
    def state(self) -> State:
        """How far the episode is."""
        return self._state

    def close(self) -> None:
        """Free the world."""
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
    return create_fastapi_app(
        lambda: WebArenaGymEnvironment(env), WebArenaGymAction, WebArenaGymObservation, max_concurrent_envs=sessions
    )
