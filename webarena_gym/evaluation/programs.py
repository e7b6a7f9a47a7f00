"""Agents that are programs of their own: in any language, with a browser of their own or without one. They talk to an episode server.

A program is begun once for each episode, with its address in the environment variables:

- `WEBARENA_GYM_URL` and `WEBARENA_GYM_EPISODE`: the server, and the id of the episode; `WEBARENA_GYM_TOKEN` where the server asks for one.

It plays by the server's own interface, answers there, and ends with the status 0. One that ends otherwise, or takes too long, without
having answered has failed, and its episode says nothing; one that ends well without an answer is judged with an empty one.
"""

import os
import shlex
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from webarena_gym.errors import AgentError, ServerError, WebArenaGymError
from webarena_gym.evaluation.plan import Trial
from webarena_gym.evaluation.results import Record
from webarena_gym.evaluation.runner import record_of
from webarena_gym.server.schema import ENV_SETTINGS
from webarena_gym.servers.rest import request_json

_SAID = 500  # characters of what a program said last, in a failure

URL, EPISODE, TOKEN = "WEBARENA_GYM_URL", "WEBARENA_GYM_EPISODE", "WEBARENA_GYM_TOKEN"
"""The environment variables that tell a program of its episode."""


class EpisodeClient:
    """Episodes on a server, for the programs of a run.

    Args:
        env: keywords of the env; those that the server does not take are refused.
        mode: how programs play, by their own browser ("browse") or by actions ("step").
        url: where a server listens; one is begun in this process where none is given.
        token: what it asks for, if it does.

    """

    def __init__(self, env: Mapping[str, Any], mode: str = "browse", url: str = "", token: str = "") -> None:
        unknown = {
            name: value for name, value in env.items() if name not in ENV_SETTINGS and (name, value) != ("browser", "inprocess")
        }
        if unknown:
            raise AgentError(f"the episode server takes no {next(iter(unknown))}; expected some of {', '.join(ENV_SETTINGS)}")
        self._settings = {"mode": mode, **{name: value for name, value in env.items() if name in ENV_SETTINGS}}
        self._token = token
        self._cleanup = ExitStack()
        self._url = (url or self._cleanup.enter_context(_begun()).url).rstrip("/")

    def begin(self, trial: Trial) -> Mapping[str, str]:
        """Begin an episode of a trial's task, which the server must know by its id. Raises ServerError."""
        told = self._ask("", {**self._settings, "task": trial.task.task_id})
        if told.get("task_id") != trial.task.task_id:
            raise ServerError(f"the episode server began {told.get('task_id')!r}; expected {trial.task.task_id!r}")
        return {URL: self._url, EPISODE: str(told["id"])} | ({TOKEN: self._token} if self._token else {})

    def outcome(self, episode: Mapping[str, str]) -> dict[str, Any] | None:
        """Return how an episode ended; None where it goes on.

        Raises ServerError, also for an episode that was lost, and AgentError for one that was played on after it had been judged.
        """
        told = self._ask(f"/{episode[EPISODE]}")
        if told.get("failure"):
            raise ServerError(f"the episode was lost: {told['failure']}")
        if told["judged"] > 1:
            raise AgentError(f"the program had the episode judged {told['judged']} times, so its reward says nothing")
        if (result := told.get("result")) is None:
            return None
        judged = {"verdicts": result["verdicts"], "side_effects": result["side_effects"], "steps": told["steps"]}
        return {"ending": "truncated" if result["truncated"] else "exited", "reward": float(result["reward"]), **judged}

    def answer(self, episode: Mapping[str, str]) -> None:
        """Judge an episode with an empty answer. Raises ServerError."""
        self._ask(f"/{episode[EPISODE]}/answer", {"answer": ""})

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


class ProgramSeat:
    """Begins a program for each trial, and asks the server how its episode ended.

    Args:
        command: the program and its arguments, as on a command line; no shell reads it.
        client: the server; may be shared by seats.
        timeout_s: how long the program may take for an episode.
        hint: what to say when a program breaks.

    """

    def __init__(self, command: str, client: EpisodeClient, timeout_s: float, hint: str = "") -> None:
        self._command = parse_command(command)
        self._client = client
        self._timeout_s = timeout_s
        self._hint = hint

    def play(self, trial: Trial) -> Record:
        """Play a trial."""
        start = time.perf_counter()
        try:
            episode = self._client.begin(trial)
            try:
                outcome = self._outcome(episode)
            finally:
                self._client.end(episode)
        except WebArenaGymError as error:
            failure = f"{type(error).__name__}: {error}"
            return record_of(trial, ending="failed", reward=None, failure=failure, seconds=time.perf_counter() - start)
        return record_of(trial, **outcome, seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Nothing to free: the client is shared."""

    def _outcome(self, episode: Mapping[str, str]) -> dict[str, Any]:
        wrong = self._run(episode)
        if outcome := self._client.outcome(episode):
            return outcome
        if wrong:
            raise AgentError(f"{wrong}; {self._hint}" if self._hint else wrong)
        self._client.answer(episode)
        return self._client.outcome(episode) or {}

    def _run(self, episode: Mapping[str, str]) -> str:
        """Run the program to its end, and return what went wrong; nothing where it ended well."""
        program = self._command[0]
        try:
            done = subprocess.run(  # noqa: S603 - it is what the user wants to be run
                self._command,
                env={**os.environ, **episode},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=self._timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{program} did not end within {self._timeout_s:g} s, and had not answered"
        except OSError as error:
            raise AgentError(f"the program {program!r} cannot be run: {error}") from error
        said = done.stderr.decode("utf-8", "replace").strip()[-_SAID:]
        return f"{program} ended with status {done.returncode}, and had not answered: {said}" if done.returncode else ""


def parse_command(command: str) -> list[str]:
    """Return the program and its arguments. Raises AgentError."""
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise AgentError(f"the command {command!r} cannot be read: {error}") from error
    if not parts:
        raise AgentError("the command is empty; expected a program and its arguments after command:")
    return parts


def _begun() -> Any:
    """Return a context in which a server listens. Raises AgentError."""
    try:
        from webarena_gym.server.app import running  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise AgentError(f"command: needs the episode server: pip install 'webarena-gym[serve]' ({error})") from error
    return running()
