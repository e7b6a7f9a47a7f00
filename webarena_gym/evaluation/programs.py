"""Programs as agents: their episodes on an episode server, and their isolation from the evaluation.

A program is started once for each episode, with these environment variables: `WEBARENA_GYM_URL`, the server; `WEBARENA_GYM_EPISODE`, the id
of the episode; `WEBARENA_GYM_TOKEN`, a token for the episode's sites and nothing else. It plays through the server's interface, answers
there, and exits with status 0. If it exits with another status or times out without an answer, the episode has failed and has no reward.
If it exits with status 0 without an answer, the episode is judged with an empty answer.

A program gets no verdict. Only the evaluation can open episodes and read results, because only it has the server's token. On Linux, where
the system permits it, the program runs in a PID and a mount namespace in which the evaluation's process and files do not exist.
"""

import json
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from webarena_gym.applications import host
from webarena_gym.applications.application import read_application
from webarena_gym.applications.processes import copies_folder
from webarena_gym.applications.suite import read_suite, suites_folder
from webarena_gym.arena.schema import ENV_SETTINGS
from webarena_gym.arguments import reason_of
from webarena_gym.clients.rest import request_json
from webarena_gym.errors import AbortedRunError, AgentError, RefusedError, ServerError, WebArenaGymError
from webarena_gym.evaluation.results import Record, Trial, failed_outcome, make_record
from webarena_gym.options import read_source
from webarena_gym.sites.world import cache_folder
from webarena_gym.vector import ResetMonitor

URL, EPISODE, TOKEN = "WEBARENA_GYM_URL", "WEBARENA_GYM_EPISODE", "WEBARENA_GYM_TOKEN"
"""The environment variables that name a program's episode. The evaluation itself reads the token of a server at `--base-url` from TOKEN."""

_MAX_OUTPUT = 500  # last characters of a program's error output in a failure


class EpisodeClient:
    """Client of an episode server that opens, judges and closes scored episodes.

    Args:
        env: keywords of the env.
        mode: "browse" for programs with their own browser, "step" for programs that send actions.
        url: address of the server; "" starts one in this process.
        token: token of the server at `url`. A server without a token would show verdicts to programs.

    Raises:
        AgentError: for a keyword that the server does not support, and for a URL without a token.

    """

    def __init__(self, env: Mapping[str, Any], mode: str = "browse", url: str = "", token: str = "") -> None:
        env = dict(env)
        source: dict[str, Any] = {name: env.pop(name) for name in ("application", "suite") if name in env}
        server_browser = read_suite(source["suite"]).browser if source.get("suite") else "inprocess"
        if env.get("browser") in ("inprocess", server_browser):
            del env["browser"]
        unknown = {name: value for name, value in env.items() if name not in ENV_SETTINGS}
        if unknown:
            raise AgentError(
                f"the episode server does not support the keyword {next(iter(unknown))}; expected some of {', '.join(ENV_SETTINGS)}"
            )
        if url and not token:
            raise AgentError(
                f"${TOKEN} is not set; expected the token of the episode server {url}. A server without a token shows verdicts to programs"
            )
        settings = {name: value for name, value in env.items() if name in ENV_SETTINGS}
        self._settings = {"mode": mode, "scored": True, **settings}
        self._token = token if url else secrets.token_urlsafe(16)
        self._cleanup = ExitStack()
        self._url = (url or self._cleanup.enter_context(_start_server(source, self._token)).url).rstrip("/")

    def open(self, trial: Trial) -> Mapping[str, str]:
        """Open an episode of a trial's task, and return the environment variables of its program.

        Raises ServerError, also if the server does not have the task.
        """
        state = self._request("", {**self._settings, "task": trial.task.task_id})
        if state.get("task_id") != trial.task.task_id:
            raise ServerError(f"the episode server opened the task {state.get('task_id')!r}; expected {trial.task.task_id!r}")
        return {URL: self._url, EPISODE: str(state["id"]), TOKEN: str(state["id"])}

    def outcome(self, episode: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the outcome of an episode for `make_record`; None while it runs. Raises ServerError, also for a lost episode."""
        state = self._request(f"/{episode[EPISODE]}")
        if state.get("failure"):
            raise ServerError(f"the episode was lost: {state['failure']}")
        if (result := state.get("result")) is None:
            return None
        details = {"verdicts": result["verdicts"], "side_effects": result["side_effects"], "steps": state["steps"]}
        return {"ending": "truncated" if result["truncated"] else "exited", "reward": float(result["reward"]), **details}

    def submit_empty_answer(self, episode: Mapping[str, str]) -> None:
        """End an episode with an empty answer, so that it is judged."""
        self._request(f"/{episode[EPISODE]}/answer", {"answer": ""})

    def delete(self, episode: Mapping[str, str]) -> None:
        self._request(f"/{episode[EPISODE]}", method="DELETE")

    def close(self) -> None:
        self._cleanup.close()

    def _request(self, path: str, payload: object = None, method: str | None = None) -> dict[str, Any]:
        try:
            response = request_json(f"{self._url}/episodes{path}", payload, token=self._token, timeout_s=120.0, method=method)
        except RefusedError as error:
            with suppress(ValueError, TypeError, KeyError):  # not an error of the episode server
                raise ServerError(str(json.loads(error.body)["error"])) from error
            raise
        if not isinstance(response, dict):
            raise ServerError(f"the episode server answered {response!r:.200}; expected an object")
        return response


class ProgramWorker:
    """Worker that starts a program, without a shell, for each trial, and reads the outcome of its episode from the server.

    Args:
        command: command line of the program.
        client: client of the episode server; workers may share it.
        timeout_s: time limit of an episode.
        resets: monitor of the resets of all workers.
        hint: advice that is added to the failure of a program.
        hidden: paths that the program sees as empty, in its own namespaces (see `host.run_program`); None runs it without isolation.

    """

    def __init__(
        self,
        command: str,
        client: EpisodeClient,
        timeout_s: float,
        resets: ResetMonitor,
        hint: str = "",
        hidden: Sequence[Path] | None = None,
    ) -> None:
        self._command = parse_command(command)
        self._client, self._timeout_s, self._resets, self._hint, self._hidden = client, timeout_s, resets, hint, hidden

    def play(self, trial: Trial) -> Record:
        """Play a trial and return its record. Raises AbortedRunError (see `ResetMonitor`)."""
        start, client = time.perf_counter(), self._client
        try:
            try:
                episode = client.open(trial)
            except ServerError as error:
                self._resets.record(str(error))
                raise
            self._resets.record()
            try:
                failure = self._run(episode)
                outcome = client.outcome(episode)
                if failure and not outcome:
                    raise AgentError(f"{failure}; {self._hint}" if self._hint else failure)
                if not outcome:
                    client.submit_empty_answer(episode)
                    outcome = client.outcome(episode) or {}
            finally:
                client.delete(episode)
        except AbortedRunError:
            raise
        except WebArenaGymError as error:
            outcome = failed_outcome(f"{type(error).__name__}: {error}")
        return make_record(trial, **outcome, seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Do nothing: workers share the client."""

    def _run(self, episode: Mapping[str, str]) -> str:
        """Run the program to its end, and return the error message of a failure; "" for exit status 0."""
        program = self._command[0]
        command = self._command if self._hidden is None else isolated_command(self._command, self._hidden)
        try:
            process = subprocess.run(  # noqa: S603 - the user's own command
                command, env={**os.environ, **episode}, timeout=self._timeout_s, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{program} did not end within {self._timeout_s:g} s, and had not answered"
        except OSError as error:
            raise AgentError(f"the program {program!r} cannot be run: {reason_of(error)}") from error
        output = process.stderr.decode("utf-8", "replace").strip()[-_MAX_OUTPUT:]
        return f"{program} ended with status {process.returncode}, and had not answered: {output}" if process.returncode else ""


def parse_command(command: str) -> list[str]:
    """Return the program and its arguments. Raises AgentError for an empty command, and for unbalanced quotes."""
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise AgentError(f"the command {command!r} cannot be parsed: {error}") from error
    if not parts:
        raise AgentError("the command is empty; expected a program and its arguments after command:")
    return parts


def isolated_command(command: Sequence[str], hidden: Sequence[Path]) -> list[str]:
    """Return the command line that runs a program in its own namespaces, in which it sees no other processes, and hidden paths are empty."""
    paths = [os.path.realpath(path) for path in hidden if path.exists()]
    return [sys.executable, host.__file__, json.dumps({"run": list(command), "hidden": paths})]


def isolation_problem(hidden: Sequence[Path]) -> str:
    """Return the reason why this system cannot isolate a program; "" if it can."""
    if sys.platform != "linux":
        return f"namespaces are a feature of Linux, and this is {sys.platform}"
    command = isolated_command([sys.executable, "-c", ""], hidden)
    process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    return "" if process.returncode == 0 else process.stderr.strip().rpartition("\n")[2][-_MAX_OUTPUT:]


def secret_paths(results: Sequence[Path], application: str | None = None, suite: str | None = None) -> list[Path]:
    """Return the paths that contain the expected outcomes of a run: its `results` and task file, worlds, copies of an application, and a suite.

    Raises AgentError if the current folder, in which programs run, is inside one of them.
    """
    paths = [*results, cache_folder()]
    if application:
        settings = read_application(application)
        paths += [Path(path) for path in (settings.tasks, settings.templates) if path]
        paths += [settings.state_folder] if settings.state else []
        paths.append(copies_folder())
    if suite:
        paths += [Path(read_suite(suite).folder), suites_folder(), copies_folder()]
    for path in paths:
        if Path.cwd().resolve().is_relative_to(path.resolve()):
            raise AgentError(
                f"programs run in the current folder, which is inside {path}, and that is hidden from them; pass another --out"
            )
    return paths


def _start_server(source: Mapping[str, Any], token: str) -> Any:
    """Return a context manager that runs an episode server. Raises AgentError without the optional packages."""
    try:
        from webarena_gym.arena.app import run_server  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional extra
        from webarena_gym.arena.service import ServerSettings  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise AgentError(f"command: needs the episode server: pip install 'webarena-gym[serve]' ({error})") from error
    return run_server(ServerSettings(operator=token), **read_source(**source))
