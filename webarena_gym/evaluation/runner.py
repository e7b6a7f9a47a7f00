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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, Literal

import gymnasium

from webarena_gym import suite as task_suite
from webarena_gym.applications.suite import read_suite
from webarena_gym.arguments import read_pairs
from webarena_gym.clients.chat import ChatModel
from webarena_gym.console import lock_folder
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AbortedRunError, AgentError, TaskError, WebArenaGymError
from webarena_gym.evaluation.agents import (
    CHAT,
    COMMAND,
    USAGE_FIELDS,
    Agent,
    AgentAdapter,
    CallableAgent,
    ChatAgent,
    ExpertAgent,
    RandomAgent,
    agent_digest,
    identify,
    instance_of,
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
    EvaluationReport,
    Record,
    Trial,
    failed_outcome,
    make_record,
    sample,
    summarise,
    write_result,
)
from webarena_gym.options import EVALUATION_STEPS, HARD_STEPS, EnvOptions, read_source
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


TaskSelection = str | Path | Sequence[str | Task]
"""The path of a task file, a task id, or a list of task ids and tasks."""

_RUNS = Path("runs/evaluate")
_DEFAULT_JOBS = {CHAT: 8, COMMAND: 4}
_SCRIPTED: Mapping[str, Callable[[], AgentAdapter]] = {"random": RandomAgent, "expert": ExpertAgent}
_RECORDED = ("max_steps", "observation", "dialect", "elements", "history", "browser", "variation")
"""Keywords of the env that the header of a run contains also where they are the defaults."""


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """Options of the agents `chat:MODEL` and `command:PROGRAM`."""

    base_url: str | None = None
    """address of the model server or of the episode server; by default that of the environment variable `OPENAI_BASE_URL`, or a new server"""
    tools: bool = False
    """offer the actions to the model as tools"""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """further fields of each request, such as the temperature"""
    too_long: Literal["failed", "lost"] = "failed"
    """result of an episode whose prompt or reply is probably too long for the model"""
    timeout_s: float = 300.0
    """time limit of one request, and of a program"""
    deadline_s: float = 900.0
    """time limit of one reply of a chat model with all retries"""
    connect_timeout_s: float = 5.0
    """time after which a server without a response counts as unreachable"""
    mode: Literal["browse", "step"] = "browse"
    """interface of a program: its own browser, or actions"""


def evaluate(
    agent: str | Agent | type[Agent],
    *,
    split: str | None = None,
    tasks: TaskSelection | None = None,
    templates: Sequence[str] = (),
    limit: int | None = None,
    world_seed: int | None = None,
    fresh_worlds: int = 0,
    repeats: int = 1,
    seed: int = 0,
    jobs: int | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    env: Mapping[str, Any] | None = None,
    agent_options: AgentOptions | None = None,
) -> EvaluationReport:
    """Play tasks with an agent and return its scores, as `webarena-gym evaluate` does.

    Progress and warnings are printed on standard error.

    Args:
        agent: a function (observation, info) -> reply, a class of which each job has an instance, or one of the command's names, such as
            "expert", "chat:MODEL" or "my_agent.py:agent".
        split: the set of tasks, "test" by default; or a split of the keyword `suite`.
        tasks: instead of a split, the path of a task file, a task id, or a list of task ids and tasks.
        templates: only tasks of these templates.
        limit: maximum number of tasks, a random sample that depends on `seed`.
        world_seed: draw tasks of the split's templates in this world. With `tasks`: world of the tasks whose file names none.
        fresh_worlds: number of additional worlds.
        repeats: episodes of each task.
        seed: random seed.
        jobs: parallel episodes; by default 8 for a chat model, 4 for a program, else 1. They share a function.
        out: folder for the episodes and the results, from which an interrupted run is resumed. None keeps them in the report only. A run
            with an instance, a partial or a local function is resumed only with one of equal `repr`.
        fresh: discard the episodes in the folder.
        env: keywords of the env, such as `{"elements": "label"}`. By default, `max_steps` is 30, and 60 for the hard split.
        agent_options: options of chat models and programs.

    Returns:
        The scores and the episodes. Its text is the table that the command prints.

    Raises:
        TaskError: for a selection without tasks, and for keywords of the env that are unknown or are not JSON.
        AgentError: for an agent that cannot be loaded.
        ResultError: for a folder with the episodes of another run.
        ValueError: for other invalid values, and for a folder that another process writes to.

    >>> report = evaluate("expert", templates=["shopping.product_price"], limit=1)
    >>> report.success.success, report.episodes[0].ending
    (1.0, 'exited')

    """
    plan = _make_plan(split, tasks, templates, limit, world_seed, fresh_worlds, repeats, seed, env)
    return _play(plan, agent, agent_options or AgentOptions(), tasks, jobs=jobs, out=out, fresh=fresh)


def _make_plan(
    split: str | None, tasks: TaskSelection | None, templates: Sequence[str], limit: int | None, world_seed: int | None, fresh_worlds: int,
    repeats: int, seed: int, env: Mapping[str, Any] | None,
) -> EvaluationPlan:  # fmt: skip
    """Return the plan of a run; see `evaluate` for the arguments. Raises TaskError."""
    defaults: dict[str, Any] = {option.name: option.default for option in fields(EnvOptions) if option.name in _RECORDED}
    keywords = defaults | dict(env or {})
    if (env or {}).get("max_steps") is None:
        keywords["max_steps"] = HARD_STEPS if split == "hard" and tasks is None else EVALUATION_STEPS
    if keywords.get("suite") and read_suite(keywords["suite"]).browser == "chromium":
        keywords["browser"] = "chromium"
    if tasks is not None and world_seed is not None:
        keywords.setdefault("world_seed", world_seed)
    try:
        json.dumps(keywords)
    except TypeError as error:
        raise TaskError(f"the keywords of the env are {keywords}; expected values of JSON, which the results record") from error
    selected, source = _select_tasks(split, tasks, templates, limit, world_seed, fresh_worlds, keywords)
    plan = EvaluationPlan(tasks=sample(selected, limit, seed), suite=source, env=keywords, repeats=repeats, seed=seed)
    try:
        WebArenaLite(tasks=plan.tasks, **plan.env).close()
    except (TypeError, ValueError) as error:
        raise TaskError(f"{error}; cannot create an env with {dict(plan.env)}") from error
    return plan


def _play(
    plan: EvaluationPlan, agent: str | Agent | type[Agent], options: AgentOptions, tasks: TaskSelection | None,
    *, jobs: int | None, out: str | Path | None, fresh: bool, command: Sequence[str] = (),
) -> EvaluationReport:  # fmt: skip
    """Play the trials of a plan; see `evaluate` for the arguments. `command` is the command line of the run, for the results."""
    name = agent if isinstance(agent, str) else ""
    jobs = jobs or next((jobs for prefix, jobs in _DEFAULT_JOBS.items() if name.startswith(prefix)), 1)
    with ExitStack() as stack:
        folder = Path(out or stack.enter_context(TemporaryDirectory(prefix="webarena-gym-")))
        hidden = [_RUNS if folder.is_relative_to(_RUNS) else folder, *_files(tasks)]
        opened = _open_agent(agent, options, plan, ResetMonitor(jobs), hidden)
        return _run(plan, *opened, folder=folder, jobs=jobs, fresh=fresh, command=command, is_kept=out is not None)


def _run(
    plan: EvaluationPlan, identity: Mapping[str, Any], make_worker: Callable[[], Any], stop: Callable[[], None],
    *, folder: Path, jobs: int, fresh: bool, command: Sequence[str], is_kept: bool,
) -> EvaluationReport:  # fmt: skip
    """Play the trials of a plan that the folder does not contain, and write the results. `is_kept` is False for a temporary folder."""
    header = plan.header(identity)
    lock_folder(folder)
    if fresh:
        (folder / EPISODES).unlink(missing_ok=True)
    episodes = EpisodesFile(folder / EPISODES, header)
    judged = {key for key, record in episodes.records.items() if record.is_judged}
    trials = [trial for trial in plan.trials if trial.key not in judged]
    total = len(plan.trials)
    if len(trials) < total:
        print(
            f"{total - len(trials)} of {total} episodes are already in {folder}; {'use --fresh' if command else 'pass fresh=True'} to play them again",
            file=sys.stderr,
        )
    abort_reason = ""
    progress = Progress(total, "episodes played")
    progress.update(total - len(trials))
    retry_printer = _RetryPrinter(progress)
    retry_printer.log.addHandler(retry_printer)
    try:
        for count, record in enumerate(run_trials(trials, make_worker, jobs, on_stop=stop), total - len(trials) + 1):
            episodes.add(record)
            progress.update(count)
    except AbortedRunError as error:
        abort_reason = str(error)
    except KeyboardInterrupt:
        progress.clear()
        if is_kept:
            print(
                f"{len(episodes.records)} of {total} episodes are in {folder}; the same command resumes the run",
                file=sys.stderr,
            )
        raise
    finally:
        retry_printer.log.removeHandler(retry_printer)
        progress.clear()
        result = summarise(header, episodes.records.values(), command)
        write_result(folder / RESULT, result)
    return EvaluationReport(result=result, episodes=tuple(episodes.records.values()), abort_reason=abort_reason)


def run_command(options: argparse.Namespace) -> int:
    """Run the command `evaluate` and return its exit status: 0 if every episode was judged, else 1."""
    source = read_source(options.application, options.suite)
    application = source["application"].name if "application" in source else None
    split = "-".join(filter(None, (options.suite, options.split or "test")))
    place = application or (options.tasks.stem if options.tasks else split)
    folder = options.out or _RUNS / re.sub(r"[^\w.-]+", "-", f"{options.agent}-{place}")
    env = {name: getattr(options, name) for name in (*_RECORDED, "scale", "step_budget", "application", "suite")}
    plan = _make_plan(
        options.split, options.tasks, options.template or (), options.limit, options.world_seed, options.fresh_worlds, options.repeats,
        options.seed, {name: value for name, value in env.items() if value is not None} | read_pairs(options.env, "--env"),
    )  # fmt: skip
    agent_options = AgentOptions(
        base_url=options.base_url, tools=options.tools, fields=read_pairs(options.option, "--option"), too_long=options.too_long,
        timeout_s=options.timeout, deadline_s=options.deadline, connect_timeout_s=options.connect_timeout, mode=options.mode,
    )  # fmt: skip
    report = _play(
        plan, options.agent, agent_options, options.tasks, jobs=options.jobs, out=folder, fresh=options.fresh,
        command=["webarena-gym", *options.given],
    )  # fmt: skip
    print(report)
    print(f"results: {folder / RESULT}; episodes: {folder / EPISODES}")
    if report.abort_reason:
        print(f"webarena-gym: {report.abort_reason}", file=sys.stderr)
    if report.num_judged < report.num_planned:
        print("the same command plays the episodes that were not judged", file=sys.stderr)
    if options.json:
        print(json.dumps(report.result, ensure_ascii=False))
    return 0 if report.num_judged == report.num_planned else 1


class _RetryPrinter(logging.Handler):
    """Prints warnings about retried requests above the progress bar."""

    log = logging.getLogger("webarena_gym.clients")

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.clear()
        print(f"webarena-gym: {record.getMessage()}", file=sys.stderr)


def _select_tasks(
    split: str | None, tasks: TaskSelection | None, templates: Sequence[str], limit: int | None, world_seed: int | None,
    fresh_worlds: int, env: Mapping[str, Any],
) -> tuple[list[Task], dict[str, Any]]:  # fmt: skip
    """Return the selected tasks, before `limit`, and their source for the header. Raises TaskError."""
    other = read_source(env.get("application"), env.get("suite"))
    replaced = "a list of tasks" if tasks is not None else "an application" if "application" in other else ""
    if replaced and split:
        raise TaskError(f"the split {split} has no effect with {replaced}; omit one of them")
    if tasks is not None and fresh_worlds:
        raise TaskError(
            f"{fresh_worlds} fresh worlds have no effect with a list of tasks, which are not drawn again; omit one of them"
        )
    split = split or "test"
    settings: dict[str, Any] = {"variation": env["variation"], "scale": env.get("scale"), **other}
    source: dict[str, Any] = {"variation": env["variation"], "templates": [*templates] or None, "limit": limit}
    source |= {name: item.name for name, item in other.items()}
    names = {template.name for template in task_suite.select_templates(templates, **other)}
    if tasks is not None:
        candidates: Iterable[Task] = task_suite.select(tasks, **settings)
        for path in _files(tasks):
            source["file"] = path.name
    else:
        first = task_suite.FIRST_FRESH_WORLD
        worlds = [world_seed, *range(first, first + fresh_worlds)]
        candidates = [task for world in worlds for task in task_suite.load(split, world, names=names, **settings)]
        source |= {"worlds": worlds} if "application" in other else {"split": split, "worlds": worlds}
    selected = [task for task in {task.task_id: task for task in candidates}.values() if not names or task.template in names]
    absent = sorted(names - {task.template for task in selected})
    for world in source.get("worlds", ()) if absent else ():  # draws from templates that are not in the split
        if world is not None:
            selected += task_suite.draw(absent, world_seed=world, count=1, **settings)
    missing = sorted(names - {task.template for task in selected})
    if missing or not selected:
        if tasks is not None:
            raise TaskError(f"no task of {tasks} is of the templates {', '.join(missing)}")
        raise TaskError(
            f"no task of the {split} split is of the templates {', '.join(missing)}; "
            "pass --world-seed to draw from templates that are not in the split"
        )
    return selected, source


def _files(tasks: TaskSelection | None) -> list[Path]:
    """Return the path of the task file, if `tasks` is one."""
    return [Path(tasks)] if isinstance(tasks, str | Path) and Path(tasks).is_file() else []


def _open_agent(
    agent: str | Agent | type[Agent], options: AgentOptions, plan: EvaluationPlan, resets: ResetMonitor, hidden: Sequence[Path]
) -> tuple[dict[str, Any], Callable[[], EnvWorker | ProgramWorker], Callable[[], None]]:
    """Return the identity of the agent for the header, a function that creates its workers, and one that cancels their requests.

    `hidden` are paths that programs must not read. Raises AgentError for an agent that cannot be loaded.
    """
    if not isinstance(agent, str):
        identity = identify(agent)
        return (
            identity,
            lambda: EnvWorker(CallableAgent(instance_of(agent, identity["name"]), identity["name"]), plan.env, resets),
            lambda: None,
        )
    if agent.startswith(CHAT):
        name = agent.removeprefix(CHAT)
        model = ChatModel(
            name,
            base_url=options.base_url,
            timeout_s=options.timeout_s,
            deadline_s=options.deadline_s,
            unreachable_s=4 * options.connect_timeout_s,
        )
        models = model.models(options.connect_timeout_s)
        if models and name not in models:
            print(f"webarena-gym: the server does not list {name}, but {', '.join(models[:8])}", file=sys.stderr)
        settings: dict[str, Any] = {"with_tools": options.tools, "lose_if_unclear": options.too_long == "lost"}
        identity = {"name": agent, "tools": options.tools, "options": options.fields}  # without the server's address
        return identity, lambda: EnvWorker(ChatAgent(model, options.fields, **settings), plan.env, resets), model.stop
    if agent.startswith(COMMAND):
        command = agent.removeprefix(COMMAND)
        program, *_ = parse_command(command)
        if shutil.which(program) is None:
            raise AgentError(
                f"the program {program!r} is not there or cannot be executed; expected one on the PATH, or a path to one"
            )
        paths = secret_paths(hidden, plan.env.get("application"), plan.env.get("suite"))
        if problem := isolation_problem(paths):
            print(f"webarena-gym: the program can read the files and processes of this run: {problem}", file=sys.stderr)
        client = EpisodeClient(plan.env, options.mode, options.base_url or "", os.environ.get(TOKEN, ""))
        hint = "a program without a browser needs --mode step" if options.mode == "browse" else ""
        make_worker = partial(ProgramWorker, command, client, options.timeout_s, resets, hint, None if problem else paths)
        return {"name": agent, "mode": options.mode}, make_worker, client.close
    if agent in _SCRIPTED:
        return {"name": agent}, lambda: EnvWorker(_SCRIPTED[agent](), plan.env, resets), lambda: None
    create = load_agent(agent)
    identity = {"name": agent, "digest": agent_digest(agent)}
    return identity, lambda: EnvWorker(CallableAgent(create(), agent), plan.env, resets), lambda: None
