"""`webarena-gym suite`: add the applications and tasks of another project, check them, and list what was added."""

import argparse
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from webarena_gym.applications.suite import Suite, add_suite, leave_out_tasks, read_suite, suite_names
from webarena_gym.backends.base import build_outcome
from webarena_gym.console import Parser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import BrowserError, EvaluationError
from webarena_gym.evaluators import evaluate
from webarena_gym.progress import Progress
from webarena_gym.suite import load
from webarena_gym.tasks import Task, parse_task


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
        "those whose verifier fails. Exit status 1 if there are any.",
        examples=["webarena-infinity --leave-out"],
    )
    check.add_argument("name", metavar="NAME", help="the name of an added suite, or the path of its file")
    check.add_argument("--leave-out", action="store_true", help="remove these tasks from the splits of the added suite")
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
    suite = read_suite(options.name)
    tasks = [parse_task(record) for record in suite.records() if record["task_id"] not in suite.left_out]
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
