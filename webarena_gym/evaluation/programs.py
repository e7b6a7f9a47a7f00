"""Programs as agents: the episodes that they play on a server, and the files and processes that they cannot see.

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
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from webarena_gym.applications import host
from webarena_gym.applications.application import read_application
from webarena_gym.applications.processes import copies_folder
from webarena_gym.arguments import reason_of
from webarena_gym.errors import AgentError, ServerError, WebArenaGymError
from webarena_gym.evaluation.results import Record, Trial, failed_outcome, record_of
from webarena_gym.server.schema import ENV_SETTINGS
from webarena_gym.servers.rest import request_json
from webarena_gym.sites.world import cache_folder

URL, EPISODE, TOKEN = "WEBARENA_GYM_URL", "WEBARENA_GYM_EPISODE", "WEBARENA_GYM_TOKEN"
"""The environment variables that name a program's episode. The evaluation itself reads the token of a server at `--base-url` from TOKEN."""

_SAID = 500  # characters of what a program wrote last, in a failure


class EpisodeClient:
    """Opens, judges and closes scored episodes on the server at this URL, or on one that is started in this process.

    Programs play with a browser of their own ("browse") or by actions ("step"). Raises AgentError for a keyword of the env that the
    server does not take, and for a URL without a token: such a server shows verdicts to everybody.
    """

    def __init__(self, env: Mapping[str, Any], mode: str = "browse", url: str = "", token: str = "") -> None:
        env = dict(env)
        application = env.pop("application", None)
        unknown = {
            name: value for name, value in env.items() if name not in ENV_SETTINGS and (name, value) != ("browser", "inprocess")
        }
        if unknown:
            raise AgentError(f"the episode server takes no {next(iter(unknown))}; expected some of {', '.join(ENV_SETTINGS)}")
        if url and not token:
            raise AgentError(
                f"${TOKEN} is not set; expected the token of the episode server {url}. A server without a token shows verdicts to programs"
            )
        settings = {name: value for name, value in env.items() if name in ENV_SETTINGS}
        self._settings = {"mode": mode, "scored": True, **settings}
        self._token = token if url else secrets.token_urlsafe(16)
        self._cleanup = ExitStack()
        self._url = (url or self._cleanup.enter_context(_running(application, self._token)).url).rstrip("/")

    def begin(self, trial: Trial) -> Mapping[str, str]:
        """Open an episode of a trial's task, which the server must know by its id. Raises ServerError."""
        state = self._ask("", {**self._settings, "task": trial.task.task_id})
        if state.get("task_id") != trial.task.task_id:
            raise ServerError(f"the episode server began {state.get('task_id')!r}; expected {trial.task.task_id!r}")
        return {URL: self._url, EPISODE: str(state["id"]), TOKEN: str(state["id"])}

    def outcome(self, episode: Mapping[str, str]) -> dict[str, Any] | None:
        """Return how an episode ended; None if it has not. Raises ServerError, also for an episode that was lost."""
        state = self._ask(f"/{episode[EPISODE]}")
        if state.get("failure"):
            raise ServerError(f"the episode was lost: {state['failure']}")
        if (result := state.get("result")) is None:
            return None
        judged = {"verdicts": result["verdicts"], "side_effects": result["side_effects"], "steps": state["steps"]}
        return {"ending": "truncated" if result["truncated"] else "exited", "reward": float(result["reward"]), **judged}

    def answer(self, episode: Mapping[str, str]) -> None:
        self._ask(f"/{episode[EPISODE]}/answer", {"answer": ""})

    def end(self, episode: Mapping[str, str]) -> None:
        self._ask(f"/{episode[EPISODE]}", method="DELETE")

    def close(self) -> None:
        self._cleanup.close()

    def _ask(self, path: str, payload: Any = None, method: str | None = None) -> dict[str, Any]:
        answer = request_json(f"{self._url}/episodes{path}", payload, token=self._token, timeout_s=120.0, method=method)
        if not isinstance(answer, dict):
            raise ServerError(f"the episode server answered {answer!r:.200}; expected an object")
        return answer


class ProgramSeat:
    """Starts a program, without a shell, for each trial, and asks the server how its episode ended.

    The server may be shared. The program may take `timeout_s` for an episode; `hint` is added to the failure of one that breaks. With
    `hidden`, it runs closed off (see `host.run_program`), and those of the paths that exist are empty to it.
    """

    def __init__(
        self, command: str, client: EpisodeClient, timeout_s: float, hint: str = "", hidden: Sequence[Path] | None = None
    ) -> None:
        self._command = parse_command(command)
        self._client, self._timeout_s, self._hint, self._hidden = client, timeout_s, hint, hidden

    def play(self, trial: Trial) -> Record:
        start, client = time.perf_counter(), self._client
        try:
            episode = client.begin(trial)
            try:
                wrong = self._run(episode)
                outcome = client.outcome(episode)
                if wrong and not outcome:
                    raise AgentError(f"{wrong}; {self._hint}" if self._hint else wrong)
                if not outcome:
                    client.answer(episode)
                    outcome = client.outcome(episode) or {}
            finally:
                client.end(episode)
        except WebArenaGymError as error:
            outcome = failed_outcome(f"{type(error).__name__}: {error}")
        return record_of(trial, **outcome, seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Nothing to free: the client is shared."""

    def _run(self, episode: Mapping[str, str]) -> str:
        """Run the program to its end, and return what went wrong; nothing where it ended well."""
        program = self._command[0]
        command = self._command if self._hidden is None else closed_off(self._command, self._hidden)
        try:
            done = subprocess.run(  # noqa: S603 - it is what the user wants to be run
                command, env={**os.environ, **episode}, timeout=self._timeout_s, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{program} did not end within {self._timeout_s:g} s, and had not answered"
        except OSError as error:
            raise AgentError(f"the program {program!r} cannot be run: {reason_of(error)}") from error
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


def closed_off(command: Sequence[str], hidden: Sequence[Path]) -> list[str]:
    """Return the command line that runs a program closed off from all processes and from the hidden paths that exist."""
    paths = [os.path.realpath(path) for path in hidden if path.exists()]
    return [sys.executable, host.__file__, json.dumps({"run": list(command), "hidden": paths})]


def why_open(hidden: Sequence[Path]) -> str:
    """Return why this system does not let a program be closed off; empty if it does."""
    if sys.platform != "linux":
        return f"namespaces are a feature of Linux, and this is {sys.platform}"
    command = closed_off([sys.executable, "-c", ""], hidden)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2][-_SAID:]


def files_of_run(results: Path, tasks: Path | None = None, application: str | None = None) -> list[Path]:
    """Return the paths that hold what the tasks of a run expect: its results, its tasks, the worlds, and the copies of an application.

    Raises AgentError if the current folder, where programs run, is in one of them.
    """
    paths = [results, cache_folder()] + ([tasks] if tasks else [])
    if application:
        read = read_application(application)
        paths += [Path(path) for path in (read.tasks, read.templates) if path]
        paths += [read.state_folder] if read.state else []
        paths.append(copies_folder())
    for path in paths:
        if Path.cwd().resolve().is_relative_to(path.resolve()):
            raise AgentError(
                f"programs run in the current folder, which is in {path}, and that is hidden from them; give another --out"
            )
    return paths


def _running(application: str | None, token: str) -> Any:
    """Return a context in which a server listens. Raises AgentError."""
    try:
        from webarena_gym.server.app import running  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional extra
        from webarena_gym.server.service import Address  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise AgentError(f"command: needs the episode server: pip install 'webarena-gym[serve]' ({error})") from error
    return running(Address(operator=token), application=read_application(application) if application else None)
