"""The command `webarena-gym`."""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from webarena_gym import __version__
from webarena_gym import suite as task_suite
from webarena_gym.addresses import parse_addresses
from webarena_gym.applications.application import read_application
from webarena_gym.console import (
    TRACEBACK,
    Commands,
    Parser,
    decimal,
    existing_path,
    integer,
    print_error,
    status,
    validated_by,
    writable_path,
)
from webarena_gym.errors import TaskError
from webarena_gym.evaluation.command import add_commands, add_fresh_worlds, add_jobs, add_templates, add_walks, world_seed
from webarena_gym.options import add_application, add_options, add_source
from webarena_gym.sites.catalogue import DATABASES, HOSTS
from webarena_gym.sites.world import cache_folder, load_world
from webarena_gym.suite.census import tables
from webarena_gym.tasks import Task
from webarena_gym.tools.application import add_application_commands
from webarena_gym.tools.play import PLAYING, play_command, play_session
from webarena_gym.tools.serve import add_mcp_options, add_serve_options, serve_mcp, serve_sites
from webarena_gym.tools.suite import add_suite_commands

_MOST_DRAWN = 100_000  # tasks of one world


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 when all is well, 1 for findings and failures, 2 for bad input."""
    words = sys.argv[1:] if arguments is None else list(arguments)

    def run() -> int:
        options = make_parser().parse_args(words, argparse.Namespace(given=words))
        return int(options.run(options))

    return status("webarena-gym", run)


def make_parser() -> Parser:
    """Return the parser of the command and all its subcommands, in the order of the help: those for users of the tasks come first."""
    parser = Parser(
        prog="webarena-gym",
        description="Web tasks for agents, on sites that are part of the package. `webarena-gym COMMAND --help` describes a command.",
        epilog="examples:\n"
        "  webarena-gym play shopping.cart_add/1000/0            solve a task yourself\n"
        "  webarena-gym tasks --split test --stats               count the tasks of the test split\n"
        "  webarena-gym evaluate --agent expert --limit 20       score the reference solutions of 20 tasks\n"
        "  webarena-gym serve                                    open the sites in your browser\n\n"
        "Training has separate commands, in the folder of the source: python -m agents.train_grpo --help. Guides: docs/index.md.\n\n"
        f"Errors print one line. Set {TRACEBACK}=1 in the environment to see tracebacks. Tab completion:\n"
        "  pip install 'webarena-gym[completion]'\n"
        '  eval "$(register-python-argcomplete webarena-gym)"',
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_play(commands)
    _add_tasks(commands)
    add_commands(commands)
    _add_servers(commands)
    _add_app(commands)
    _add_suite(commands)
    _add_doctor(commands)
    _add_world(commands)
    _add_audit(commands)
    _add_fuzz(commands)
    return parser


def _add_play(commands: Commands) -> None:
    play = commands.add_parser(
        "play", help="solve a task yourself in the terminal", description=PLAYING,
        examples=["shopping.cart_add/1000/0", "--split test --elements label"],
    )  # fmt: skip
    play.add_argument(
        "words", nargs="*", metavar="TASK",
        help="id of the task, such as shopping.cart_add/1000/0 (default: a random task of --split). With --session, one of "
        "these commands: start [TASK], act ACTION, observe, submit [ANSWER]",
    )  # fmt: skip
    play.add_argument(
        "--session", type=writable_path(), metavar="FILE",
        help="for scripts: each call of the command takes one step and stores the episode in FILE",
    )  # fmt: skip
    play.add_argument("--max-steps", type=integer(1), default=100, metavar="N", help="end the episode after N steps")
    play.add_argument(
        "--step-budget", type=decimal(above=0), metavar="X",
        help="also end the episode after X times the steps of the reference solution, for example 1.5",
    )  # fmt: skip
    play.add_argument(
        "--split", default="train", metavar="SPLIT",
        help=f"set of tasks from which a random task is chosen: {', '.join(task_suite.SPLITS)}; or a split of --suite (default: train)",
    )  # fmt: skip
    add_source(play)
    play.add_argument("--seed", type=integer(0), metavar="N", help="random seed of that choice (default: a new one each time)")
    add_options(play, "elements", "observation", "dialect", "variation", "scale")
    play.set_defaults(run=lambda options: play_session(options) if options.session else play_command(options))


def _add_tasks(commands: Commands) -> None:
    tasks = commands.add_parser(
        "tasks",
        help="list, count, generate and export tasks",
        description="Print the tasks of a split. With --world-seed and --draw, generate and print new tasks.",
        examples=[
            "--split test --stats",
            "--template shopping.product_price --world-seed 5 --draw 3",
            "--split train --export tasks.json",
        ],
    )
    _choose_tasks(tasks)
    tasks.add_argument(
        "--stats", action="store_true", help="print tables by site, kind of check and length, beside those of WebArena-Lite"
    )
    tasks.add_argument(
        "--list-templates", action="store_true", help="print the names of all templates, with an example of a goal"
    )
    tasks.add_argument(
        "--export",
        type=writable_path(),
        metavar="FILE",
        help='write the tasks to FILE: a JSON object whose list "tasks" has WebArena\'s schema',
    )
    tasks.add_argument(
        "--suite-version", type=int, choices=task_suite.VERSIONS, default=task_suite.VERSIONS[-1],
        help="version of the split; earlier versions are kept for comparison with published results (default: %(default)s)",
    )  # fmt: skip
    tasks.add_argument(
        "--write-suite",
        action="store_true",
        help="for developers: generate all splits again and overwrite the package's data files",
    )
    tasks.set_defaults(run=_tasks)


def _add_servers(commands: Commands) -> None:
    serve = commands.add_parser(
        "serve",
        help="open the sites in your own browser; serve episodes to agents over HTTP",
        description="Serve the sites of a world for your own browser, and an HTTP API with which agents play episodes. The command prints "
        "the addresses and runs until Ctrl-C. It needs pip install 'webarena-gym[serve]'.",
        examples=["--port 8000", "--task shopping.cart_add/1000/0", "--host 0.0.0.0 --token SECRET"],
    )
    serve.add_argument(
        "--world-seed",
        type=world_seed,
        default=1000,
        metavar="SEED",
        help="the world to serve (default: 1000, that of the test split)",
    )
    add_serve_options(serve)
    add_source(serve)
    add_options(serve, "variation", "scale", scale="standard")
    serve.set_defaults(run=serve_sites)

    mcp = commands.add_parser(
        "mcp",
        help="serve tasks as tools over MCP, for example to a chat client",
        description="Serve tasks as tools over the Model Context Protocol: on stdin and stdout, or over HTTP. The command needs "
        "pip install 'webarena-gym[mcp]'.",
        examples=["--split test", "--task shopping.cart_add/1000/0 --http 8001"],
    )
    add_mcp_options(mcp)
    add_options(mcp, "elements", "observation", "dialect", "variation")
    mcp.set_defaults(run=serve_mcp)


def _add_app(commands: Commands) -> None:
    app = commands.add_parser(
        "app",
        help="use your own web application as an environment",
        description="Use your own web application as an environment. For a first use: new, check, record, play, as in the examples. Then "
        "`webarena-gym evaluate --application FOLDER` scores agents on it. The guide is docs/guides/bring-your-own-application.md.",
        examples=[
            "new my-app --name notes",
            "check my-app",
            'record my-app --goal "Add a note with the title Milk." --task-id milk',
            "play my-app milk",
        ],
    )
    add_application_commands(app)


def _add_suite(commands: Commands) -> None:
    suite = commands.add_parser(
        "suite",
        help="play the tasks of another project",
        description="Add and list suites: the applications, tasks and verifiers of other projects.",
        examples=["add webarena-infinity ~/webarena-infinity", "list"],
    )
    add_suite_commands(suite)


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check that browsers and real servers work on this machine",
        description="Check that the cache folder is writable, that the browsers start, and that real WebArena servers, if you use them, "
        "respond and accept their logins. Exit status 1 if a required part fails. Chromium is required for real servers and with "
        "--browser chromium.",
        examples=["", "--browser chromium"],
    )
    doctor.add_argument(
        "--sites", type=validated_by(parse_addresses), metavar="JSON",
        help='real servers to check, such as {"shopping": "http://localhost:7770"} (default: WebArena\'s environment variables)',
    )  # fmt: skip
    doctor.add_argument(
        "--browser", choices=("chromium", "inprocess"), help="browser that you will use (default: Chromium is optional)"
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    doctor.set_defaults(run=_doctor)


def _add_world(commands: Commands) -> None:
    world = commands.add_parser(
        "world",
        help="generate worlds in advance",
        description="Generate the databases of worlds and store them in the cache, so that the first reset does not have to. Prints the "
        "number of rows of each table.",
        examples=["1000", "1 2 3 --scale large"],
    )
    world.add_argument("seeds", type=world_seed, nargs="*", default=[1000], metavar="SEED", help="world seeds (default: 1000)")
    add_options(world, "scale", scale="standard")
    world.set_defaults(run=_world)


def _add_audit(commands: Commands) -> None:
    audit = commands.add_parser(
        "audit",
        help="for task authors: check that tasks are solvable and reward nothing else",
        description="Replay the reference solution of each task, which must earn the reward. Then play attempts that must not earn it: no "
        "action, wrong answers, solutions of other tasks, and solutions with additional changes or detours. A question takes "
        "about 3 CPU seconds, a task that changes data about 13. Each fault is printed with its task. Exit status: 0 without a fault, 1 with one, 2 for wrong options.",
        examples=[
            "--split test",
            "--template shopping.cart_add --fresh-worlds 3",
            "--template shopping.cart_add --world-seed 11 --draw 5",
        ],
    )
    _choose_tasks(audit)
    audit.set_defaults(split=None)  # "test" without --tasks
    audit.add_argument(
        "--tasks",
        type=existing_path(),
        metavar="FILE",
        help="audit the tasks of this file, which need reference solutions, instead of a split. With --world-seed: world of the tasks whose "
        "file names none",
    )
    add_fresh_worlds(audit, "audit")
    audit.add_argument(
        "--browser", choices=("inprocess", "chromium"), default="inprocess",
        help="chromium: only replay the solutions, in both browsers, and compare their pages",
    )  # fmt: skip
    audit.add_argument(
        "--no-side-effects",
        dest="side_effects",
        action="store_false",
        help="skip the attempts with additional changes or detours, which take 8/9 of the time of the audit",
    )
    audit.add_argument(
        "--memorised", type=world_seed, nargs="+", metavar="SEED",
        help="instead of the audit, measure guessing without pages: answer each task of these worlds with the answer that is most often right "
        "for the same question in the other ones, and print the share of solved tasks; at least two worlds",
    )  # fmt: skip
    add_jobs(audit)
    audit.set_defaults(run=_audit)


def _add_fuzz(commands: Commands) -> None:
    fuzz = commands.add_parser(
        "fuzz",
        help="for developers: test sites and browsers with random actions",
        description="Play random actions in both browsers in parallel: clicks, forms, history, tabs, keys, unusual texts. No action may fail, "
        "and both browsers must show the same pages. Each difference is printed with the shortest list of actions that reproduces it.",
        examples=["--steps 1000 --sites shopping reddit", "--pages 1000 --seed 1", "--application my-app --steps 500"],
    )
    add_walks(fuzz, 10_000)
    fuzz.add_argument(
        "--pages", type=integer(1), metavar="N",
        help="instead of the sites, play N generated pages, some of them with invalid HTML, and count the differences by class",
    )  # fmt: skip
    fuzz.add_argument(
        "--sites", "--site", nargs="+", action="extend", choices=tuple(HOSTS), metavar="SITE",
        help=f"sites to start on: {', '.join(HOSTS)} (default: all)",
    )  # fmt: skip
    fuzz.add_argument(
        "--world-seed", type=world_seed, nargs="+", action="extend", metavar="SEED", help="worlds to play in (default: 1000)"
    )
    add_application(fuzz)
    add_options(fuzz, "variation")
    add_jobs(fuzz)
    fuzz.set_defaults(run=_fuzz, browser=None)


def _choose_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--split", choices=(*task_suite.SPLITS, "all"), default="test",
        help="set of tasks (default: test); all: train, validation and test",
    )  # fmt: skip
    parser.add_argument(
        "--world-seed", type=world_seed, metavar="SEED",
        help="generate tasks of the split's templates in this world, instead of loading those of the split",
    )  # fmt: skip
    parser.add_argument(
        "--draw", type=integer(1, _MOST_DRAWN), metavar="N",
        help="with --world-seed: generate N tasks in total, evenly from the templates of --template or of all splits",
    )  # fmt: skip
    add_templates(parser, "only tasks of these templates, such as shopping.cart_add; with --world-seed, templates of any split")
    add_options(parser, "variation", "scale")


def _select_tasks(options: argparse.Namespace, seeds: Sequence[int | None]) -> list[Task]:
    tasks = [task for seed in seeds for task in _tasks_of_world(options, seed)]
    missing = sorted(set(options.template or ()) - {task.template for task in tasks})
    if missing and options.draw is None:
        usual = f"the split {options.split}; --world-seed draws from templates of any split"
        where = usual if options.world_seed is None else f"world {options.world_seed}"
        raise TaskError(f"no task of {', '.join(missing)} in {where}")
    return tasks


def _tasks_of_world(options: argparse.Namespace, world_seed: int | None) -> list[Task]:
    drawn: dict[str, Any] = {"variation": options.variation, "scale": options.scale}
    if options.draw is not None:
        if world_seed is None:
            raise TaskError("--draw needs --world-seed, the world to draw from")
        spread = task_suite.spread(options.template, world_seed=world_seed, total=options.draw, **drawn)
        if len(spread) < options.draw:
            print_error("webarena-gym", f"{len(spread)} of {options.draw} tasks: world {world_seed} has no more that differ")
        return spread
    if world_seed is not None and options.template:
        return task_suite.draw(options.template, world_seed=world_seed, count=1, **drawn)
    splits = tuple(task_suite.STANDARD) if options.split == "all" else (options.split,)
    names = options.template or ()
    tasks = (task for split in splits for task in task_suite.load(split, world_seed, names=names, **drawn))
    return list({task.task_id: task for task in tasks}.values())


def _tasks(options: argparse.Namespace) -> int:
    if options.write_suite:
        for split in task_suite.SPLITS:
            _export(task_suite.generate(split), task_suite.DATA / f"{split}.json")
        return 0
    if options.list_templates:
        for name, template in task_suite.templates().items():
            print(f"{name:<40} {template.intent}")
        return 0
    chosen = (
        _tasks_of_version(options)
        if options.suite_version != task_suite.VERSIONS[-1]
        else _select_tasks(options, [options.world_seed])
    )
    if options.export:
        _export(chosen, options.export)
    elif options.stats:
        print(tables(chosen, options.split))
    else:
        for task in chosen:
            print(f"{task.task_id:<55} {'+'.join(task.eval_types):<24} {len(task.solution):>2} steps  {task.intent}")
    return 0


def _tasks_of_version(options: argparse.Namespace) -> list[Task]:
    """Return the tasks of a split in a former version of the suite. Raises TaskError for options that draw tasks."""
    drawn = {"--world-seed": options.world_seed, "--draw": options.draw, "--scale": options.scale}
    drawing = [name for name, value in drawn.items() if value is not None] + ["--variation layout"] * (
        options.variation != "content"
    )
    if drawing:
        raise TaskError(
            f"--suite-version {options.suite_version} has stored tasks, which cannot be drawn; leave out {drawing[0]}"
        )
    splits = tuple(task_suite.STANDARD) if options.split == "all" else (options.split,)
    templates = set(options.template or ())
    tasks = (task for split in splits for task in task_suite.load_version(split, options.suite_version))
    return [task for task in tasks if not templates or task.template in templates]


def _export(tasks: Sequence[Task], path: Path) -> None:
    records = [task.to_json() for task in tasks]
    digest = hashlib.sha256(json.dumps(records, sort_keys=True).encode()).hexdigest()
    content = {"version": __version__, "sha256": digest, "tasks": records}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(tasks)} task{'s' * (len(tasks) != 1)} in {path}")


def _audit(options: argparse.Namespace) -> int:
    from webarena_gym.tools.audit import audit_tasks, try_memorised  # noqa: PLC0415 - keeps the other commands quick to start

    if options.tasks:
        return audit_tasks(options, _tasks_of_file(options))
    options.split = options.split or "test"
    if options.memorised:
        return try_memorised(options, _select_tasks(options, list(dict.fromkeys(options.memorised))))
    first = task_suite.FIRST_FRESH_WORLD
    seeds: list[int | None] = [options.world_seed, *range(first, first + options.fresh_worlds)]
    return audit_tasks(options, _select_tasks(options, seeds))


def _tasks_of_file(options: argparse.Namespace) -> list[Task]:
    """Return the tasks of the option --tasks. Raises TaskError for options without an effect on them, and for a task without a solution."""
    drawing = ("split", "draw", "fresh_worlds", "memorised", "scale")
    if unused := [f"--{name.replace('_', '-')}" for name in drawing if getattr(options, name)]:
        raise TaskError(f"--tasks cannot be combined with {', '.join(unused)}: the tasks of a file are not drawn")
    tasks = task_suite.select(options.tasks, options.variation)
    names = set(options.template or ())
    chosen = [task for task in tasks if not names or task.template in names]
    if missing := sorted(names - {task.template for task in chosen}):
        raise TaskError(f"no task of {options.tasks} is of the templates {', '.join(missing)}")
    for task in chosen:
        if not task.solution:
            raise TaskError(f"the task {task.task_id} has no key 'solution'; the audit replays a reference solution")
        if task.world_seed is None and options.world_seed is None:
            raise TaskError(f"the task {task.task_id} names no world; pass --world-seed")
    return [replace(task, world_seed=options.world_seed) if task.world_seed is None else task for task in chosen]


def _fuzz(options: argparse.Namespace) -> int:
    from webarena_gym.tools.fuzz import fuzz_sites  # noqa: PLC0415 - keeps the other commands quick to start
    from webarena_gym.tools.fuzz.pages import fuzz_pages  # noqa: PLC0415

    if options.pages:
        return fuzz_pages(options)
    return fuzz_sites(options, read_application(options.application) if options.application else None)


def _world(options: argparse.Namespace) -> int:
    for seed in options.seeds:
        start = time.perf_counter()
        world = load_world(seed, options.scale)
        sizes = ", ".join(f"{name} {world.prepare(name) / 1e6:.2f} MB" for name in DATABASES)
        seconds = time.perf_counter() - start
        print(f"world {seed}: {sizes}, ready in {seconds:.2f} s")
        databases = world.open()
        for name in DATABASES:
            database = databases[name]
            query = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            tables = database.connection.execute(query).fetchall()
            rows = (database.connection.execute(f"SELECT count(*) FROM {table['name']}").fetchone()[0] for table in tables)
            counts = ", ".join(f"{count} {table['name']}" for table, count in zip(tables, rows, strict=True))
            print(f"  {name}: {counts}")
    print(f"stored in {cache_folder()}")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from webarena_gym.tools.doctor import examine  # noqa: PLC0415 - needs what the other commands do not

    findings = []
    for finding in examine(parse_addresses(options.sites), browser=options.browser):
        findings.append(finding)
        if not options.json:
            result = "ok" if finding.is_well else "--" if finding.is_optional else "FAIL"
            description = f"optional: {finding.result}" if result == "--" else finding.result
            print(f"{result:<4}  {finding.what:<20} {description}", flush=True)
            if not finding.is_well:
                print(f"      {'':<20} {finding.advice}", flush=True)
    is_well = all(finding.is_well or finding.is_optional for finding in findings)
    if options.json:
        print(json.dumps({"is_well": is_well, "findings": [finding._asdict() for finding in findings]}))
    return 0 if is_well else 1
