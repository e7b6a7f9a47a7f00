"""Runs of `webarena-gym evaluate`: the trials of a plan, played in threads by agents of this process or by programs (see `programs`)."""

import argparse
import json
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import gymnasium

from webarena_gym import tasks as task_suite
from webarena_gym.applications.application import read_application
from webarena_gym.arguments import read_pairs
from webarena_gym.console import Progress
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, TaskError, WebArenaGymError
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
from webarena_gym.evaluation.programs import TOKEN, EpisodeClient, ProgramSeat, files_of_run, parse_command, why_open
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    EpisodesFile,
    Plan,
    Record,
    Trial,
    failed_outcome,
    record_of,
    sample,
    summarise,
    table,
    write_result,
)
from webarena_gym.options import HARD_STEPS
from webarena_gym.recording import play
from webarena_gym.servers.chat import ChatModel
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
            outcome = failed_outcome(f"{type(error).__name__}: {error}")
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
                return failed_outcome(str(step.info["failure"]))
            steps.append({"url": step.before["url"], "reply": step.reply, "action_error": step.info["action_error"]})
            seconds.append((replied_s - asked_s, time.perf_counter() - replied_s))
            if step.terminated or step.truncated:
                ending = "exited" if step.terminated else "truncated"
                told: dict[str, Any] = {name: step.info[name] for name in ("verdicts", "side_effects") if name in step.info}
                return {"ending": ending, "reward": float(step.reward), **told}
        return {"ending": "too_long", "reward": 0.0}


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


_RUNS = Path("runs/evaluate")
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
    source = plan.suite.get("application") or options.split
    folder = options.out or _RUNS / re.sub(r"[^\w.-]+", "-", f"{options.agent}-{source}")
    agent, make_seat, stop = _agent(options, plan)
    header = plan.header(agent)
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
        program, *_ = parse_command(command)
        if shutil.which(program) is None:
            raise AgentError(
                f"the program {program!r} is not there or cannot be executed; expected one on the PATH, or a path to one"
            )
        hidden = files_of_run(options.out or _RUNS, options.tasks, options.application)
        if why := why_open(hidden):
            print(f"webarena-gym: the program can read the files and processes of this run: {why}", file=sys.stderr)
        client = EpisodeClient(plan.env, options.mode, options.base_url or "", os.environ.get(TOKEN, ""))
        hint = "a program without a browser needs --mode step" if options.mode == "browse" else ""
        make_program = partial(ProgramSeat, command, client, options.timeout, hint, None if why else hidden)
        return {"name": name, "mode": options.mode}, make_program, client.close
    if name in _SCRIPTED:
        return {"name": name}, lambda: EnvSeat(_SCRIPTED[name](), plan.env), lambda: None
    make = load(name)
    return {"name": name, "digest": digest(name)}, lambda: EnvSeat(CallablePlayer(make(), name), plan.env), lambda: None
