"""Runs of `webarena-gym evaluate`: the trials of a plan, played in threads by agents of this process or by programs that talk to an episode server.

A program is begun once for each episode, with its address in the environment variables `WEBARENA_GYM_URL` and `WEBARENA_GYM_EPISODE`: the
server, and the id of the episode; and with `WEBARENA_GYM_TOKEN` where the server asks for one. It plays by the server's own interface,
answers there, and ends with the status 0. One that ends otherwise, or takes too long, without having answered has failed, and its episode
says nothing; one that ends well without an answer is judged with an empty one.
"""

import argparse
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import gymnasium

from webarena_gym import tasks as task_suite
from webarena_gym.applications.application import read_application
from webarena_gym.arguments import read_pairs
from webarena_gym.console import Progress
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, ServerError, TaskError, WebArenaGymError
from webarena_gym.evaluation.agents import (
    CHAT,
    COMMAND,
    USED,
    CallablePlayer,
    ChatPlayer,
    ExpertPlayer,
    Player,
    RandomPlayer,
    digest,
    load,
)
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    EpisodesFile,
    Plan,
    Record,
    Trial,
    sample,
    summarise,
    table,
    write_result,
)
from webarena_gym.options import HARD_STEPS
from webarena_gym.recording import play
from webarena_gym.server.schema import ENV_SETTINGS
from webarena_gym.servers.chat import ChatModel
from webarena_gym.servers.rest import request_json
from webarena_gym.tasks import Task
from webarena_gym.vector import INFRASTRUCTURE_ERRORS

_WORST = 5  # failures in a row at which a run is given up in which nothing was judged yet; in another twice as many
_ENDING_S = 5.0


class EnvSeat:
    """A worker that plays one trial after the other with an agent, in an env of its own with these keywords."""

    def __init__(self, player: Player, env: Mapping[str, Any]) -> None:
        self._player = player
        self._arguments = env
        self._env: gymnasium.Env[str, str] | None = None

    def play(self, trial: Trial) -> Record:
        """Play a trial. What breaks through no fault of the agent's choices is a record that failed."""
        start = time.perf_counter()
        steps: list[dict[str, str]] = []
        seconds: list[tuple[float, float]] = []  # of each step, the agent's and the env's
        used: dict[str, Any] = {"steps": steps, "step_seconds": seconds, "agent_seconds": 0.0, **dict.fromkeys(USED)}
        try:
            outcome = self._play(trial, steps, seconds, used)
        except (WebArenaGymError, *INFRASTRUCTURE_ERRORS) as error:
            outcome = _failed(f"{type(error).__name__}: {error}")
            self.close()  # whatever state it is in
        return record_of(trial, **outcome, **used, seconds=time.perf_counter() - start)

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
        self._env = None

    def _play(self, trial: Trial, steps: list[Any], seconds: list[Any], used: dict[str, Any]) -> dict[str, Any]:
        if self._env is None:
            self._env = gymnasium.make("WebArenaLite-v0", tasks=[trial.task], disable_env_checker=True, **self._arguments)
        env = self._env
        behind = env.unwrapped
        assert isinstance(behind, WebArenaLite)
        first = env.reset(seed=trial.seed_of("env") % 2**31, options={"task": trial.task})
        self._player.begin(trial, behind)
        asked_s = replied_s = 0.0

        def choose(observation: str, info: Mapping[str, Any]) -> str | None:
            nonlocal asked_s, replied_s
            asked_s = time.perf_counter()
            reply = self._player.reply(observation, info)
            replied_s = time.perf_counter()
            used["agent_seconds"] += replied_s - asked_s
            used.update({name: (used[name] or 0) + more for name in USED if (more := getattr(reply, name)) is not None})
            return None if reply.too_long else reply.text

        for step in play(env, choose, *first):
            if "failure" in step.info:
                return _failed(str(step.info["failure"]))
            steps.append({"url": step.before["url"], "reply": step.reply, "action_error": step.info["action_error"]})
            seconds.append((replied_s - asked_s, time.perf_counter() - replied_s))
            if step.terminated or step.truncated:
                ending = "exited" if step.terminated else "truncated"
                told: dict[str, Any] = {name: step.info[name] for name in ("verdicts", "side_effects") if name in step.info}
                return {"ending": ending, "reward": float(step.reward), **told}
        return {"ending": "too_long", "reward": 0.0}


def _failed(failure: str) -> dict[str, Any]:
    return {"ending": "failed", "reward": None, "failure": failure}


def record_of(trial: Trial, **outcome: Any) -> Record:
    """Return the record of a trial with this outcome."""
    task = trial.task
    return Record(
        task_id=task.task_id,
        repeat=trial.repeat,
        sites=list(task.sites),
        checks=list(task.eval_types),
        reference_steps=len(task.solution) or None,
        **outcome,
    )


class GivenUpError(WebArenaGymError):
    """So many episodes failed one after the other that it makes no sense to go on."""


def run(
    trials: Iterable[Trial], make_seat: Callable[[], Any], jobs: int = 1, *, on_stop: Callable[[], None] = lambda: None
) -> Iterator[Record]:
    """Play the trials, `jobs` at a time, and yield the record of each as it ends.

    Each job has a seat of its own, made in its own thread: an `EnvSeat`, or another worker with its methods. When the iteration is left, by
    an error or by Ctrl-C, `on_stop` is called, which may cut short what seats wait for, and the episodes under way are dropped.
    Raises GivenUpError where many episodes failed one after the other, and whatever is raised by a seat.
    """
    waiting: SimpleQueue[Trial | None] = SimpleQueue()
    for trial in trials:
        waiting.put(trial)
    count = waiting.qsize()
    jobs = max(1, min(jobs, count))
    for _ in range(jobs):
        waiting.put(None)
    done: SimpleQueue[Record | BaseException] = SimpleQueue()
    stopped = threading.Event()

    def work() -> None:
        try:
            with closing(make_seat()) as seat:
                while not stopped.is_set() and (trial := waiting.get()) is not None:
                    done.put(seat.play(trial))
        except BaseException as error:  # noqa: BLE001 - it is raised where the records are read
            done.put(error)

    def finish() -> None:
        end = time.monotonic() + _ENDING_S
        for thread in threads:  # but not those that wait for a server: these end with the process
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    with ExitStack() as stack:
        stack.callback(finish)
        stack.callback(on_stop)
        stack.callback(stopped.set)
        for thread in threads:
            thread.start()
        failed, judged = 0, False
        for _ in range(count):
            record = done.get()
            if isinstance(record, BaseException):
                raise record
            judged = judged or record.is_judged
            failed = 0 if record.is_judged else failed + 1
            yield record
            if failed >= max(_WORST, 2 * jobs) * (2 if judged else 1):
                raise GivenUpError(
                    f"{failed} episodes failed one after the other, so the run was given up; the last: {record.failure}"
                )


_SAID = 500  # characters of what a program said last, in a failure

URL, EPISODE, TOKEN = "WEBARENA_GYM_URL", "WEBARENA_GYM_EPISODE", "WEBARENA_GYM_TOKEN"
"""The environment variables that tell a program of its episode."""


class EpisodeClient:
    """Episodes on a server at this URL, or on one that is begun in this process, for the programs of a run.

    Programs play by their own browser ("browse") or by actions ("step"). Raises AgentError for a keyword of the env that the server
    does not take.
    """

    def __init__(self, env: Mapping[str, Any], mode: str = "browse", url: str = "", token: str = "") -> None:
        env = dict(env)
        application = env.pop("application", None)
        unknown = {
            name: value for name, value in env.items() if name not in ENV_SETTINGS and (name, value) != ("browser", "inprocess")
        }
        if unknown:
            raise AgentError(f"the episode server takes no {next(iter(unknown))}; expected some of {', '.join(ENV_SETTINGS)}")
        self._settings = {"mode": mode, **{name: value for name, value in env.items() if name in ENV_SETTINGS}}
        self._token = token
        self._cleanup = ExitStack()
        self._url = (url or self._cleanup.enter_context(_begun(application)).url).rstrip("/")

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
        self._ask(f"/{episode[EPISODE]}/answer", {"answer": ""})

    def end(self, episode: Mapping[str, str]) -> None:
        self._ask(f"/{episode[EPISODE]}", method="DELETE")

    def close(self) -> None:
        self._cleanup.close()

    def _ask(self, path: str, payload: Any = None, method: str | None = None) -> dict[str, Any]:
        told = request_json(f"{self._url}/episodes{path}", payload, token=self._token, timeout_s=120.0, method=method)
        if not isinstance(told, dict):
            raise ServerError(f"the episode server answered {told!r:.200}; expected an object")
        return told


class ProgramSeat:
    """Begins a program, which no shell reads, for each trial, and asks the server how its episode ended.

    The server may be shared. The program may take `timeout_s` for an episode; where it breaks, the `hint` is said.
    """

    def __init__(self, command: str, client: EpisodeClient, timeout_s: float, hint: str = "") -> None:
        self._command = parse_command(command)
        self._client, self._timeout_s, self._hint = client, timeout_s, hint

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
            outcome = _failed(f"{type(error).__name__}: {error}")
        return record_of(trial, **outcome, seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Nothing to free: the client is shared."""

    def _run(self, episode: Mapping[str, str]) -> str:
        """Run the program to its end, and return what went wrong; nothing where it ended well."""
        program = self._command[0]
        try:
            done = subprocess.run(  # noqa: S603 - it is what the user wants to be run
                self._command, env={**os.environ, **episode}, timeout=self._timeout_s, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
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


def _begun(application: str | None) -> Any:
    """Return a context in which a server listens. Raises AgentError."""
    try:
        from webarena_gym.server.app import running  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise AgentError(f"command: needs the episode server: pip install 'webarena-gym[serve]' ({error})") from error
    return running(application=read_application(application) if application else None)


_FRESH_WORLD = 900_000  # the first of the worlds that --fresh-worlds adds
_STEPS = 30  # of an episode of the standard suite
_JOBS = {CHAT: 8, COMMAND: 4}  # where nothing is said
_SCRIPTED: Mapping[str, Callable[[], Player]] = {"random": RandomPlayer, "expert": ExpertPlayer}


def evaluate(options: argparse.Namespace) -> int:
    """Play what the options say and return the exit status: 0 when every episode was judged, else 1.

    Raises WebArenaGymError for bad input, and where nobody answers.
    """
    plan = _plan(options)
    try:
        WebArenaLite(tasks=plan.tasks[:1], **plan.env).close()
    except (TypeError, ValueError) as error:
        raise TaskError(f"no env can be made with {dict(plan.env)}: {error}") from error
    agent, make_seat, stop = _agent(options, plan)
    header = plan.header(agent)
    source = plan.suite.get("application") or options.split
    folder = options.out or Path("runs/evaluate") / re.sub(r"[^\w.-]+", "-", f"{options.agent}-{source}")
    if options.fresh:
        (folder / EPISODES).unlink(missing_ok=True)
    episodes = EpisodesFile(folder / EPISODES, header)
    judged = {key for key, record in episodes.records.items() if record.is_judged}
    trials = [trial for trial in plan.trials if trial.key not in judged]
    total = len(plan.trials)
    if len(trials) < total:
        print(
            f"{total - len(trials)} of {total} episodes are in {folder} already; --fresh would play them anew", file=sys.stderr
        )
    why = ""
    progress = Progress(total, "episodes played")
    progress.show(total - len(trials))
    waits = _Waits(progress)
    waits.log.addHandler(waits)
    try:
        jobs = options.jobs or next((jobs for kind, jobs in _JOBS.items() if options.agent.startswith(kind)), 1)
        for count, record in enumerate(run(trials, make_seat, jobs, on_stop=stop), total - len(trials) + 1):
            episodes.add(record)
            progress.show(count)
    except GivenUpError as error:
        why = str(error)
    except KeyboardInterrupt:
        progress.clear()
        print(f"{len(episodes.records)} of {total} episodes are in {folder}; the same command goes on", file=sys.stderr)
        raise
    finally:
        waits.log.removeHandler(waits)
        progress.clear()
        result = summarise(header, episodes.records.values(), ["webarena-gym", *options.given])
        write_result(folder / RESULT, result)
    print(table(result))
    print(f"figures: {folder / RESULT}; episodes: {folder / EPISODES}")
    if why:
        print(f"webarena-gym: {why}", file=sys.stderr)
    if result["judged"] < total:
        print("the same command plays those that were not judged again", file=sys.stderr)
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0 if result["judged"] == total else 1


class _Waits(logging.Handler):
    """Says what is asked again and why, beside the bar."""

    log = logging.getLogger("webarena_gym.servers")

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.clear()
        print(f"webarena-gym: {record.getMessage()}", file=sys.stderr)


def _plan(options: argparse.Namespace) -> Plan:
    """Return what is to be played. Raises TaskError for options that name nothing, and ValueError for other wrong ones."""
    tasks, source = _tasks(options)
    names = ("max_steps", "observation", "dialect", "elements", "history", "browser", "variation")
    if options.max_steps is None:
        options.max_steps = HARD_STEPS if options.split == "hard" and not options.tasks else _STEPS
    optional = {name: getattr(options, name) for name in ("scale", "step_budget", "application")}
    env = {name: getattr(options, name) for name in names} | {name: value for name, value in optional.items() if value}
    env |= read_pairs(options.env, "--env")
    return Plan(
        tasks=sample(tasks, options.limit, options.seed), suite=source, env=env, repeats=options.repeats, seed=options.seed
    )


def _tasks(options: argparse.Namespace) -> tuple[list[Task], dict[str, Any]]:
    source: dict[str, Any] = {"variation": options.variation, "templates": options.template or None, "limit": options.limit}
    application = read_application(options.application) if options.application else None
    source |= {"application": application.name} if application else {}
    if options.tasks:
        found: Iterable[Task] = task_suite.select(options.tasks, options.variation, application=application)
        source |= {"file": options.tasks.name}
    else:
        worlds = [options.world_seed, *range(_FRESH_WORLD, _FRESH_WORLD + options.fresh_worlds)]
        of: dict[str, Any] = {"variation": options.variation, "scale": options.scale, "application": application}
        found = [task for world in worlds for task in task_suite.load(options.split, world, **of)]
        source |= {"worlds": worlds} if application else {"split": options.split, "worlds": worlds}
    wanted = {template.name for template in task_suite.named(options.template or (), application)}
    tasks = [task for task in {task.task_id: task for task in found}.values() if not wanted or task.template in wanted]
    others = sorted(wanted - {task.template for task in tasks})
    for world in source.get("worlds", ()) if others else ():  # templates of other splits, and those that are in none
        if world is not None:
            tasks += task_suite.draw(others, world_seed=world, count=1, **of)
    missing = sorted(wanted - {task.template for task in tasks})
    if missing or not tasks:
        raise TaskError(
            f"no task of the {options.split} split is of the templates {', '.join(missing)}; "
            "give --world-seed to draw from templates that the split has not"
        )
    return tasks, source


def _agent(
    options: argparse.Namespace, plan: Plan
) -> tuple[dict[str, Any], Callable[[], EnvSeat | ProgramSeat], Callable[[], None]]:
    """Return what identifies the agent, what makes a seat with it, and what cuts short what it waits for. Raises AgentError."""
    name: str = options.agent
    if name.startswith(CHAT):
        more = read_pairs(options.option, "--option")
        model = ChatModel(
            name.removeprefix(CHAT),
            base_url=options.base_url,
            timeout_s=options.timeout,
            deadline_s=options.deadline,
            unreachable_s=4 * options.connect_timeout,
        )
        listed = model.models(options.connect_timeout)
        if listed and name.removeprefix(CHAT) not in listed:
            print(
                f"webarena-gym: the server does not list {name.removeprefix(CHAT)}, but {', '.join(listed[:8])}",
                file=sys.stderr,
            )
        wanted: dict[str, Any] = {"with_tools": options.tools, "is_doubt_lost": options.too_long == "lost"}
        described = {"name": name, "tools": options.tools, "options": more}  # wherever it is served
        return described, lambda: EnvSeat(ChatPlayer(model, more, **wanted), plan.env), model.stop
    if name.startswith(COMMAND):
        command = name.removeprefix(COMMAND)
        parse_command(command)
        client = EpisodeClient(plan.env, options.mode, options.base_url or "", os.environ.get(TOKEN, ""))
        hint = "a program without a browser needs --mode step" if options.mode == "browse" else ""
        return {"name": name, "mode": options.mode}, lambda: ProgramSeat(command, client, options.timeout, hint), client.close
    if name in _SCRIPTED:
        return {"name": name}, lambda: EnvSeat(_SCRIPTED[name](), plan.env), lambda: None
    make = load(name)
    return {"name": name, "digest": digest(name)}, lambda: EnvSeat(CallablePlayer(make(), name), plan.env), lambda: None
