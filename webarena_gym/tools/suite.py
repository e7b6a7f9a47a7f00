"""`webarena-gym suite`: add the applications and tasks of another project, check them, and list what was added."""

import argparse
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from webarena_gym.applications.suite import Suite, add_suite, leave_out_tasks, read_suite, suite_names
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.backends.base import build_outcome
from webarena_gym.console import Parser, integer
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ApplicationError, BrowserError, EvaluationError, TaskError
from webarena_gym.evaluators import evaluate
from webarena_gym.progress import Progress
from webarena_gym.suite import load
from webarena_gym.tasks import Task, parse_task
from webarena_gym.tools.audit.replays import replay

_MOST_STEPS = 1000  # of a replay, with its scrolling


def add_suite_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands of `webarena-gym suite`."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    add = commands.add_parser(
        "add",
        help="add a suite from its file, or from a clone of WebArena-Infinity",
        description="Add a suite under a name. Its applications and verifiers stay where they are; only their description is stored.",
        examples=["webarena-infinity ~/webarena-infinity", "errands errands/suite.toml"],
    )
    add.add_argument("name", metavar="NAME", help="name of the suite, for --suite and suite=")
    add.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="the .toml or .json file of the suite, or the folder of a clone of WebArena-Infinity",
    )
    add.add_argument(
        "--trust",
        action="store_true",
        help="trust the applications: allow their settings that have effects outside of the isolation. Without this option, the command lists them",
    )
    add.set_defaults(run=_add)
    check = commands.add_parser(
        "check",
        help="start each application, and call the verifiers of all tasks on their untouched start pages",
        description="Start each application of a suite, and check all its tasks without an action. Reports tasks that are rewarded for that, and "
        "those whose verifier fails. With --solutions, replay the reference solutions instead, and report those that are not rewarded. Exit status "
        "1 if there are any.",
        examples=["webarena-infinity --leave-out", "webarena-infinity --solutions --application gmail"],
    )
    check.add_argument("name", metavar="NAME", help="the name of an added suite, or the path of its file")
    check.add_argument("--application", metavar="APP", help="check only the tasks of this application, such as gmail")
    kind = check.add_mutually_exclusive_group()
    kind.add_argument("--leave-out", action="store_true", help="remove these tasks from the splits of the added suite")
    kind.add_argument("--solutions", action="store_true", help="replay the reference solutions of the tasks instead")
    check.add_argument(
        "--times",
        type=integer(1),
        metavar="N",
        help="with --solutions: replays of each solution, each after a reset (default: 3)",
    )
    check.set_defaults(run=_check)
    listing = commands.add_parser(
        "list",
        help="print the added suites",
        description="Print the added suites.",
        examples=[""],
    )
    listing.set_defaults(run=_list)


def _add(options: argparse.Namespace) -> int:
    suite, path = add_suite(options.name, options.path, trust=options.trust)
    for split in suite.splits:
        load(split, suite=suite)  # raises an error for tasks that cannot be read
    print(_summary(suite))
    print(f"wrote {path}")
    return 0


def _check(options: argparse.Namespace) -> int:
    if options.times and not options.solutions:
        raise TaskError("--times is the number of replays; expected --solutions with it")
    suite = read_suite(options.name)
    if options.application and (site := options.application.replace("-", "_")) not in suite.applications:
        known = suggestion(options.application, suite.applications)
        raise TaskError(f"the suite {suite.name} has no application {quote_value(options.application)}; {known}")
    tasks = [
        task
        for task in map(parse_task, suite.records())
        if task.task_id not in suite.left_out and (not options.application or task.sites[0] == site)
    ]
    if options.solutions:
        return _check_solutions(suite, [task for task in tasks if task.solution], options.times or 3)
    groups: dict[tuple[str, str, bool], list[Task]] = defaultdict(list)
    for task in tasks:
        groups[task.sites[0], task.start_url, task.require_login].append(task)
    faulty: list[str] = []
    progress, count = Progress(len(tasks), "tasks checked"), 0
    with closing(WebArenaLite(suite=suite, tasks=tasks)) as env:
        for (site, *_), group in groups.items():
            env.reset(options={"task": group[0]})
            faults: dict[str, str] = {}
            for task in group:
                if fault := _fault(env, task):
                    faults[task.task_id] = fault
                progress.update(count := count + 1)
            faulty += faults
            progress.clear()
            print(f"{site}: {len(group)} tasks, {len(faults)} faulty")
            print("".join(f"  {task_id}: {fault}\n" for task_id, fault in faults.items()), end="", flush=True)
    if options.leave_out:
        leave_out_tasks(options.name, faulty)
    print(f"{len(faulty)} of {len(tasks)} tasks are faulty{' and left out' if options.leave_out and faulty else ''}")
    return 1 if faulty and not options.leave_out else 0


def _check_solutions(suite: Suite, tasks: list[Task], times: int) -> int:
    """Replay the solutions of tasks, print the tasks whose solution is not rewarded each time, and return the exit status."""
    if not tasks:
        raise TaskError(f"the suite {suite.name} has no solutions here; expected tasks with a solution")
    faulty, progress, count = 0, Progress(len(tasks) * times, "replays"), 0
    groups: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        groups[task.sites[0]].append(task)
    with closing(WebArenaLite(suite=suite, tasks=tasks, max_steps=_MOST_STEPS)) as env:
        for site, group in groups.items():
            faults: dict[str, str] = {}
            for task in group:
                failures = list[str]()
                for _ in range(times):
                    failures += filter(None, [_replay_fault(env, task)])
                    progress.update(count := count + 1)
                if failures:
                    faults[task.task_id] = f"{len(failures)} of {times} replays failed: {failures[0]}"
            faulty += len(faults)
            progress.clear()
            print(f"{site}: {len(group) - len(faults)} of {len(group)} solutions are rewarded in {times} of {times} replays")
            print("".join(f"  {task_id}: {fault}\n" for task_id, fault in faults.items()), end="", flush=True)
    print(
        f"{len(tasks) - faulty} of {len(tasks)} solutions of {len(groups)} applications are rewarded in {times} of {times} replays"
    )
    return 1 if faulty else 0


def _replay_fault(env: WebArenaLite, task: Task) -> str:
    """Replay the solution of a task. Return the reason why it is not rewarded or side effects cannot be judged by it, "" for none."""
    try:
        if fault := replay(env, task):
            return fault
        changes = env.backend.reference_changes(task)
    except (ApplicationError, BrowserError, EvaluationError) as error:
        return str(error)
    return changes if isinstance(changes, str) else ""


def _fault(env: WebArenaLite, task: Task) -> str:
    """Return the fault of a task in the untouched state of its application; "" if there is none."""
    try:
        verdicts = evaluate(task.eval, task.intent, build_outcome(env.backend, "", {}))
    except (BrowserError, EvaluationError) as error:
        return str(error)
    return f"rewarded without an action: {verdicts[0].reason}" if all(verdict.passed for verdict in verdicts) else ""


def _list(_: argparse.Namespace) -> int:
    names = suite_names()
    for name in names:
        print(_summary(read_suite(name)))
    if not names:
        print("no suite was added yet: webarena-gym suite add NAME PATH")
    return 0


def _summary(suite: Suite) -> str:
    splits = ", ".join(f"{count} {split}" for split, count in suite.splits.items())
    return (
        f"{suite.name} ({suite.licence}): {len(suite.applications)} applications, {len(suite.tasks)} tasks ({splits})"
        f" in {suite.folder}"
    )
