"""The episode server as programs are scored with it: a client of its interface, and a server begun beside the run."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from webarena_gym.errors import AgentError, ServerError
from webarena_gym.evaluation.plan import Trial
from webarena_gym.evaluation.programs import Judged
from webarena_gym.servers.rest import request_json

URL, EPISODE, TOKEN = "WEBARENA_GYM_URL", "WEBARENA_GYM_EPISODE", "WEBARENA_GYM_TOKEN"
"""The environment variables that tell a program of its episode."""

_SETTINGS = (
    "variation",
    "observation",
    "elements",
    "dialect",
    "history",
    "thoughts",
    "header",
    "window",
    "max_steps",
    "step_budget",
    "side_effects",
)


class ServedArena:
    """Episodes on a server, for the programs of a run.

    Args:
        env: keywords of the env; those that the server does not take are refused.
        mode: how programs play, by their own browser ("browse") or by actions ("step").
        url: where a server listens; one is begun in this process where none is given.
        token: what it asks for, if it does.

    """

    def __init__(self, env: Mapping[str, Any], mode: str = "browse", url: str = "", token: str = "") -> None:
        unknown = {
            name: value for name, value in env.items() if name not in _SETTINGS and (name, value) != ("browser", "inprocess")
        }
        if unknown:
            raise AgentError(f"the episode server takes no {next(iter(unknown))}; expected some of {', '.join(_SETTINGS)}")
        self._settings = {"mode": mode, **{name: value for name, value in env.items() if name in _SETTINGS}}
        self._token = token
        self._cleanup = ExitStack()
        self._url = (url or self._cleanup.enter_context(_begun())).rstrip("/")

    def begin(self, trial: Trial) -> Mapping[str, str]:
        """Begin an episode of a trial's task, which the server must know by its id. Raises ServerError."""
        told = self._ask("", {**self._settings, "task": trial.task.task_id})
        if told.get("task_id") != trial.task.task_id:
            raise ServerError(f"the episode server began {told.get('task_id')!r}; expected {trial.task.task_id!r}")
        return {URL: self._url, EPISODE: str(told["id"])} | ({TOKEN: self._token} if self._token else {})

    def outcome(self, episode: Mapping[str, str]) -> Judged | None:
        """Return how an episode ended; None where it goes on. Raises ServerError, also for an episode that was lost."""
        told = self._ask(f"/{episode[EPISODE]}")
        if told.get("failure"):
            raise ServerError(f"the episode was lost: {told['failure']}")
        return _judged(told["result"]) if told.get("result") else None

    def answer(self, episode: Mapping[str, str], answer: str) -> Judged:
        """Judge an episode with this answer. Raises ServerError."""
        return _judged(self._ask(f"/{episode[EPISODE]}/answer", {"answer": answer}))

    def end(self, episode: Mapping[str, str]) -> None:
        """Free an episode. Raises ServerError."""
        self._ask(f"/{episode[EPISODE]}", method="DELETE")

    def close(self) -> None:
        """End the server that was begun for the run."""
        self._cleanup.close()

    def _ask(self, path: str, payload: Any = None, method: str | None = None) -> dict[str, Any]:
        told = request_json(f"{self._url}/episodes{path}", payload, token=self._token, timeout_s=120.0, method=method)
        if not isinstance(told, dict):
            raise ServerError(f"the episode server answered {told!r:.200}; expected an object")
        return told


def _judged(result: Mapping[str, Any]) -> Judged:
    return Judged(
        "exited", float(result["reward"]), (), tuple(result.get("verdicts", ())), tuple(result.get("side_effects", ()))
    )


def _begun() -> Any:
    """Return a context in which a server listens, which gives its URL. Raises AgentError."""
    try:
        from webarena_gym.arena.server import arena  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise AgentError(f"command: needs the episode server: pip install 'webarena-gym[serve]' ({error})") from error
    return arena()
