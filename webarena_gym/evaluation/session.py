"""A run of `webarena-gym evaluate`: from its options to both files and the exit status."""

import argparse
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from webarena_gym import tasks as task_suite
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import AgentError, TaskError
from webarena_gym.evaluation.agents import (
    CHAT,
    COMMAND,
    CallablePlayer,
    ChatPlayer,
    ExpertPlayer,
    Player,
    RandomPlayer,
    digest,
    load,
)
from webarena_gym.evaluation.plan import Plan, sample
from webarena_gym.evaluation.programs import TOKEN, EpisodeClient, ProgramSeat, parse_command
from webarena_gym.evaluation.results import EPISODES, RESULT, EpisodesFile, summarise, table, write_result
from webarena_gym.evaluation.runner import EnvSeat, GivenUpError, Seat, run
from webarena_gym.options import HARD_STEPS
from webarena_gym.progress import Progress
from webarena_gym.servers.chat import ChatModel
from webarena_gym.tasks import Task

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
    folder = options.out or Path("runs/evaluate") / re.sub(r"[^\w.-]+", "-", f"{options.agent}-{options.split}")
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
        """Print a line."""
        self._progress.clear()
        print(f"webarena-gym: {record.getMessage()}", file=sys.stderr)


def _plan(options: argparse.Namespace) -> Plan:
    """Return what is to be played. Raises TaskError for options that name nothing, and ValueError for other wrong ones."""
    tasks, source = _tasks(options)
    names = ("max_steps", "observation", "dialect", "elements", "history", "browser", "variation")
    if options.max_steps is None:
        options.max_steps = HARD_STEPS if options.split == "hard" and not options.tasks else _STEPS
    optional = {name: getattr(options, name) for name in ("scale", "step_budget")}
    env = {name: getattr(options, name) for name in names} | {name: value for name, value in optional.items() if value}
    env |= _pairs(options.env, "--env")
    return Plan(
        tasks=sample(tasks, options.limit, options.seed), suite=source, env=env, repeats=options.repeats, seed=options.seed
    )


def _tasks(options: argparse.Namespace) -> tuple[list[Task], dict[str, Any]]:
    source: dict[str, Any] = {"variation": options.variation, "templates": options.template or None, "limit": options.limit}
    if options.tasks:
        found: Iterable[Task] = task_suite.select(options.tasks, options.variation)
        source |= {"file": options.tasks.name}
    else:
        worlds = [options.world_seed, *range(_FRESH_WORLD, _FRESH_WORLD + options.fresh_worlds)]
        found = [task for world in worlds for task in task_suite.load(options.split, world, options.variation, options.scale)]
        source |= {"split": options.split, "worlds": worlds}
    wanted = set(options.template or ())
    tasks = [task for task in {task.task_id: task for task in found}.values() if not wanted or task.template in wanted]
    others = sorted(wanted - {task.template for task in tasks})
    for world in source.get("worlds", ()) if others else ():  # templates of other splits, and those that are in none
        if world is not None:
            tasks += task_suite.draw(others, world_seed=world, count=1, variation=options.variation, scale=options.scale)
    if not tasks:
        raise TaskError(
            f"no task of the {options.split} split is of the templates {', '.join(sorted(wanted))}; "
            "give --world-seed to draw from templates that the split has not"
        )
    return tasks, source


def _agent(options: argparse.Namespace, plan: Plan) -> tuple[dict[str, Any], Callable[[], Seat], Callable[[], None]]:
    """Return what identifies the agent, what makes a seat with it, and what cuts short what it waits for. Raises AgentError."""
    name: str = options.agent
    if name.startswith(CHAT):
        more = _pairs(options.option, "--option")
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
        arena = EpisodeClient(plan.env, options.mode, options.base_url or "", os.environ.get(TOKEN, ""))
        hint = "a program without a browser needs --mode step" if options.mode == "browse" else ""
        return {"name": name, "mode": options.mode}, lambda: ProgramSeat(command, arena, options.timeout, hint), arena.close
    if name in _SCRIPTED:
        return {"name": name}, lambda: EnvSeat(_SCRIPTED[name](), plan.env), lambda: None
    make = load(name)
    return {"name": name, "digest": digest(name)}, lambda: EnvSeat(CallablePlayer(make(), name), plan.env), lambda: None


def _pairs(given: Sequence[str], option: str) -> dict[str, Any]:
    """Return NAME=JSON pairs as a dictionary; what is no JSON is a text. Raises AgentError for one without a name."""
    values: dict[str, Any] = {}
    for pair in given:
        name, has_value, value = pair.partition("=")
        if not name.isidentifier() or not has_value:
            raise AgentError(f"{option} is {pair!r}; expected NAME=VALUE, such as temperature=0.5")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return values
