"""Runs of `webarena-gym evaluate`: threads play the trials of a plan, with agents of this process or programs (see `programs`)."""

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

from webarena_gym import suite as task_suite
from webarena_gym.arguments import read_pairs
from webarena_gym.clients.chat import ChatModel
from webarena_gym.console import lock_folder
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AbortedRunError, AgentError, TaskError, WebArenaGymError
from webarena_gym.evaluation.agents import (
    CHAT,
    COMMAND,
    USAGE_FIELDS,
    AgentAdapter,
    CallableAgent,
    ChatAgent,
    ExpertAgent,
    RandomAgent,
    agent_digest,
    load_agent,
)
from webarena_gym.evaluation.programs import (
    TOKEN,
    EpisodeClient,
    ProgramWorker,
    isolation_problem,
    parse_command,
    secret_paths,
)
from webarena_gym.evaluation.results import (
    EPISODES,
    RESULT,
    EpisodesFile,
    EvaluationPlan,
    Record,
    Trial,
    failed_outcome,
    make_record,
    sample,
    summarise,
    table,
    write_result,
)
from webarena_gym.options import EVALUATION_STEPS, HARD_STEPS, read_source
from webarena_gym.progress import Progress
from webarena_gym.recording import play
from webarena_gym.tasks import Task
from webarena_gym.vector import INFRASTRUCTURE_ERRORS, ResetMonitor

_MAX_FAILURES = 5  # consecutive failures that abort a run without any judged episode; twice as many abort other runs
_JOIN_TIMEOUT_S = 5.0


class EnvWorker:
    """Worker that plays one trial after another with an agent, in its own env.

    Args:
        agent: the agent.
        env: keywords of the env, besides `tasks`.
        resets: monitor of the resets of all workers.

    """

    def __init__(self, agent: AgentAdapter, env: Mapping[str, Any], resets: ResetMonitor) -> None:
        self._agent, self._resets = agent, resets
        self._arguments = env
        self._env: gymnasium.Env[str, str] | None = None

    def play(self, trial: Trial) -> Record:
        """Play a trial and return its record. An infrastructure error gives a failed record. Raises AbortedRunError (see `ResetMonitor`)."""
        start = time.perf_counter()
        steps: list[dict[str, str]] = []
        seconds: list[tuple[float, float]] = []  # of the agent and of the env, for each step
        usage: dict[str, Any] = {"steps": steps, "step_seconds": seconds, "agent_seconds": 0.0, **dict.fromkeys(USAGE_FIELDS)}
        try:
            outcome = self._play(trial, steps, seconds, usage)
        except AbortedRunError:
            raise
        except (WebArenaGymError, *INFRASTRUCTURE_ERRORS) as error:
            outcome = failed_outcome(f"{type(error).__name__}: {error}")
            self.close()  # the env may be in any state
        return make_record(trial, **outcome, **usage, seconds=time.perf_counter() - start)

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
        self._env = None

    def _play(self, trial: Trial, steps: list[Any], seconds: list[Any], usage: dict[str, Any]) -> dict[str, Any]:
        """Play a trial, add to `steps`, `seconds` and `usage`, and return the outcome for `make_record`."""
        if self._env is None:
            self._env = gymnasium.make("WebArenaLite-v0", tasks=[trial.task], disable_env_checker=True, **self._arguments)
        env = self._env
        unwrapped = env.unwrapped
        assert isinstance(unwrapped, WebArenaLite)
        try:
            first = env.reset(seed=trial.derive_seed("env") % 2**31, options={"task": trial.task})
        except INFRASTRUCTURE_ERRORS as error:
            self._resets.record(f"{type(error).__name__}: {error}")
            raise
        self._resets.record()
        self._agent.start_episode(trial, unwrapped)
        request_s = reply_s = 0.0

        def choose(observation: str, info: Mapping[str, Any]) -> str | None:
            nonlocal request_s, reply_s
            request_s = time.perf_counter()
            reply = self._agent.reply(observation, info)
            reply_s = time.perf_counter()
            usage["agent_seconds"] += reply_s - request_s
            usage.update(
                {name: (usage[name] or 0) + value for name in USAGE_FIELDS if (value := getattr(reply, name)) is not None}
            )
            return None if reply.too_long else reply.text

        for step in play(env, choose, *first):
            if "failure" in step.info:
                return failed_outcome(str(step.info["failure"]))
            steps.append({"url": step.before["url"], "reply": step.reply, "action_error": step.info["action_error"]})
            seconds.append((reply_s - request_s, time.perf_counter() - reply_s))
            if step.terminated or step.truncated:
                ending = "exited" if step.terminated else "truncated"
                details: dict[str, Any] = {name: step.info[name] for name in ("verdicts", "side_effects") if name in step.info}
                return {"ending": ending, "reward": float(step.reward), **details}
        return {"ending": "too_long", "reward": 0.0}


def run_trials(
    trials: Iterable[Trial], make_worker: Callable[[], Any], jobs: int = 1, *, on_stop: Callable[[], None] = lambda: None
) -> Iterator[Record]:
    """Play trials in parallel threads, and yield the record of each when it ends.

    If the iteration ends early, by an error or by Ctrl-C, unfinished episodes are dropped.

    Args:
        trials: the trials.
        make_worker: creates the worker of a thread, in that thread: an `EnvWorker`, or another class with its methods.
        jobs: number of threads.
        on_stop: called when the iteration ends; may cancel requests of workers.

    Raises:
        AbortedRunError: after too many consecutive failures of episodes, or of resets (see `ResetMonitor`).
        BaseException: any exception of a worker.

    """
    queue: SimpleQueue[Trial | None] = SimpleQueue()
    for trial in trials:
        queue.put(trial)
    count = queue.qsize()
    jobs = max(1, min(jobs, count))
    for _ in range(jobs):
        queue.put(None)
    results: SimpleQueue[Record | BaseException] = SimpleQueue()
    stopped = threading.Event()

    def work() -> None:
        try:
            with closing(make_worker()) as worker:
                while not stopped.is_set() and (trial := queue.get()) is not None:
                    results.put(worker.play(trial))
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer of the results
            results.put(error)

    def join_threads() -> None:
        end = time.monotonic() + _JOIN_TIMEOUT_S
        for thread in threads:  # those that still wait for a server end with the process
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    with ExitStack() as stack:
        stack.callback(join_threads)
        stack.callback(on_stop)
        stack.callback(stopped.set)
        for thread in threads:
            thread.start()
        failed, judged = 0, False
        for _ in range(count):
            record = results.get()
            if isinstance(record, BaseException):
                raise record
            judged = judged or record.is_judged
            failed = 0 if record.is_judged else failed + 1
            yield record
            if failed >= max(_MAX_FAILURES, 2 * jobs) * (2 if judged else 1):
                raise AbortedRunError(
                    f"the run was aborted after {failed} consecutive failed episodes; the last: {record.failure}"
                )


_RUNS = Path("runs/evaluate")
_DEFAULT_JOBS = {CHAT: 8, COMMAND: 4}
_SCRIPTED: Mapping[str, Callable[[], AgentAdapter]] = {"random": RandomAgent, "expert": ExpertAgent}


def evaluate(options: argparse.Namespace) -> int:
    """Run the command `evaluate` and return its exit status: 0 if every episode was judged, else 1.

    Raises WebArenaGymError for invalid options and for a model server that does not respond, and ValueError if another process writes to the
    folder of the results.
    """
    plan = _plan(options)
    try:
        WebArenaLite(tasks=plan.tasks, **plan.env).close()
    except (TypeError, ValueError) as error:
        raise TaskError(f"{error}; cannot create an env with {dict(plan.env)}") from error
    split = "-".join(filter(None, (options.suite, options.split)))
    source = plan.suite.get("application") or (options.tasks.stem if options.tasks else split)
    folder = options.out or _RUNS / re.sub(r"[^\w.-]+", "-", f"{options.agent}-{source}")
    jobs = options.jobs or next((jobs for prefix, jobs in _DEFAULT_JOBS.items() if options.agent.startswith(prefix)), 1)
    agent, make_worker, stop = _agent(options, plan, ResetMonitor(jobs))
    header = plan.header(agent)
    lock_folder(folder)
    if options.fresh:
        (folder / EPISODES).unlink(missing_ok=True)
    episodes = EpisodesFile(folder / EPISODES, header)
    judged = {key for key, record in episodes.records.items() if record.is_judged}
    trials = [trial for trial in plan.trials if trial.key not in judged]
    total = len(plan.trials)
    if len(trials) < total:
        print(
            f"{total - len(trials)} of {total} episodes are already in {folder}; use --fresh to play them again",
            file=sys.stderr,
        )
    abort_message = ""
    progress = Progress(total, "episodes played")
    progress.update(total - len(trials))
    retry_printer = _RetryPrinter(progress)
    retry_printer.log.addHandler(retry_printer)
    try:
        for count, record in enumerate(run_trials(trials, make_worker, jobs, on_stop=stop), total - len(trials) + 1):
            episodes.add(record)
            progress.update(count)
    except AbortedRunError as error:
        abort_message = str(error)
    except KeyboardInterrupt:
        progress.clear()
        print(f"{len(episodes.records)} of {total} episodes are in {folder}; the same command resumes the run", file=sys.stderr)
        raise
    finally:
        retry_printer.log.removeHandler(retry_printer)
        progress.clear()
        result = summarise(header, episodes.records.values(), ["webarena-gym", *options.given])
        write_result(folder / RESULT, result)
    print(table(result))
    print(f"results: {folder / RESULT}; episodes: {folder / EPISODES}")
    if abort_message:
        print(f"webarena-gym: {abort_message}", file=sys.stderr)
    if result["judged"] < total:
        print("the same command plays the episodes that were not judged", file=sys.stderr)
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0 if result["judged"] == total else 1


class _RetryPrinter(logging.Handler):
    """Prints warnings about retried requests above the progress bar."""

    log = logging.getLogger("webarena_gym.clients")

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.clear()
        print(f"webarena-gym: {record.getMessage()}", file=sys.stderr)


def _plan(options: argparse.Namespace) -> EvaluationPlan:
    """Return the plan of a run. Raises TaskError for options that select no task, and ValueError for other invalid options."""
    _check_source(options)
    tasks, source = _tasks(options)
    names = ("max_steps", "observation", "dialect", "elements", "history", "browser", "variation")
    if options.max_steps is None:
        options.max_steps = HARD_STEPS if options.split == "hard" and not options.tasks else EVALUATION_STEPS
    optional = {name: getattr(options, name) for name in ("scale", "step_budget", "application", "suite")}
    env = {name: getattr(options, name) for name in names} | {name: value for name, value in optional.items() if value}
    if options.tasks and options.world_seed is not None:
        env["world_seed"] = options.world_seed
    env |= read_pairs(options.env, "--env")
    return EvaluationPlan(
        tasks=sample(tasks, options.limit, options.seed), suite=source, env=env, repeats=options.repeats, seed=options.seed
    )


def _check_source(options: argparse.Namespace) -> None:
    """Set the default of `--split`. Raises TaskError for options that the source of the tasks does not use."""
    source = next((name for name in ("tasks", "application") if getattr(options, name)), None)
    if source and options.split:
        raise TaskError(f"--split {options.split} has no effect with --{source}; omit one of them")
    if options.tasks and options.fresh_worlds:
        raise TaskError("--fresh-worlds has no effect with --tasks: the tasks of a file are not drawn again; omit one of them")
    options.split = options.split or "test"


def _tasks(options: argparse.Namespace) -> tuple[list[Task], dict[str, Any]]:
    """Return the selected tasks, and their source for the header. Raises TaskError."""
    source: dict[str, Any] = {"variation": options.variation, "templates": options.template or None, "limit": options.limit}
    other = read_source(options.application, options.suite)
    source |= {name: item.name for name, item in other.items()}
    if "suite" in other and other["suite"].browser == "chromium":
        options.browser = "chromium"
    names = {template.name for template in task_suite.select_templates(options.template or (), **other)}
    if options.tasks:
        candidates: Iterable[Task] = task_suite.select(options.tasks, options.variation, **other)
        source |= {"file": options.tasks.name}
    else:
        first = task_suite.FIRST_FRESH_WORLD
        worlds = [options.world_seed, *range(first, first + options.fresh_worlds)]
        settings: dict[str, Any] = {"variation": options.variation, "scale": options.scale, **other}
        candidates = [task for world in worlds for task in task_suite.load(options.split, world, names=names, **settings)]
        source |= {"worlds": worlds} if "application" in other else {"split": options.split, "worlds": worlds}
    tasks = [task for task in {task.task_id: task for task in candidates}.values() if not names or task.template in names]
    absent = sorted(names - {task.template for task in tasks})
    for world in source.get("worlds", ()) if absent else ():  # draws from templates that are not in the split
        if world is not None:
            tasks += task_suite.draw(absent, world_seed=world, count=1, **settings)
    missing = sorted(names - {task.template for task in tasks})
    if missing or not tasks:
        if options.tasks:
            raise TaskError(f"no task of {options.tasks} is of the templates {', '.join(missing)}")
        raise TaskError(
            f"no task of the {options.split} split is of the templates {', '.join(missing)}; "
            "pass --world-seed to draw from templates that are not in the split"
        )
    return tasks, source


def _agent(
    options: argparse.Namespace, plan: EvaluationPlan, resets: ResetMonitor
) -> tuple[dict[str, Any], Callable[[], EnvWorker | ProgramWorker], Callable[[], None]]:
    """Return the identity of the agent for the header, a function that creates its workers, and one that cancels their requests.

    Raises AgentError for an agent that cannot be loaded.
    """
    name: str = options.agent
    if name.startswith(CHAT):
        fields = read_pairs(options.option, "--option")
        model = ChatModel(
            name.removeprefix(CHAT),
            base_url=options.base_url,
            timeout_s=options.timeout,
            deadline_s=options.deadline,
            unreachable_s=4 * options.connect_timeout,
        )
        models = model.models(options.connect_timeout)
        if models and name.removeprefix(CHAT) not in models:
            print(
                f"webarena-gym: the server does not list {name.removeprefix(CHAT)}, but {', '.join(models[:8])}",
                file=sys.stderr,
            )
        settings: dict[str, Any] = {"with_tools": options.tools, "lose_if_unclear": options.too_long == "lost"}
        identity = {"name": name, "tools": options.tools, "options": fields}  # without the server's address
        return identity, lambda: EnvWorker(ChatAgent(model, fields, **settings), plan.env, resets), model.stop
    if name.startswith(COMMAND):
        command = name.removeprefix(COMMAND)
        program, *_ = parse_command(command)
        if shutil.which(program) is None:
            raise AgentError(
                f"the program {program!r} is not there or cannot be executed; expected one on the PATH, or a path to one"
            )
        hidden = secret_paths(options.out or _RUNS, options.tasks, options.application, options.suite)
        if problem := isolation_problem(hidden):
            print(f"webarena-gym: the program can read the files and processes of this run: {problem}", file=sys.stderr)
        client = EpisodeClient(plan.env, options.mode, options.base_url or "", os.environ.get(TOKEN, ""))
        hint = "a program without a browser needs --mode step" if options.mode == "browse" else ""
        make_worker = partial(ProgramWorker, command, client, options.timeout, resets, hint, None if problem else hidden)
        return {"name": name, "mode": options.mode}, make_worker, client.close
    if name in _SCRIPTED:
        return {"name": name}, lambda: EnvWorker(_SCRIPTED[name](), plan.env, resets), lambda: None
    create = load_agent(name)
    identity = {"name": name, "digest": agent_digest(name)}
    return identity, lambda: EnvWorker(CallableAgent(create(), name), plan.env, resets), lambda: None
