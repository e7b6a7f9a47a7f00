"""`webarena-gym app`: describe your web application, check that it can be an environment, and record tasks on it."""

import argparse
import json
import re
import shlex
from contextlib import closing
from pathlib import Path

from webarena_gym.applications.application import read_application
from webarena_gym.applications.archive import FILE
from webarena_gym.console import Parser, integer
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ApplicationError
from webarena_gym.evaluation.command import add_jobs, add_walks, world_seed
from webarena_gym.options import add_options
from webarena_gym.sites.catalogue import SITE_NAME
from webarena_gym.suite import load
from webarena_gym.tools.application_archive import (
    add_archive_options,
    add_matrix_options,
    add_pack_options,
    pack_application,
    report_matrix,
    unpack_archive,
    verify_archive,
)
from webarena_gym.tools.application_check import add_browsers, check, compare_resets, exploration_task
from webarena_gym.tools.application_record import record_task
from webarena_gym.tools.play import BY_LABEL, play_in_terminal
from webarena_gym.tools.serve import add_serve_options, serve_sites

_WSGI = re.compile(r"[\w.]+:\w+(\(\))?")
_TOML = """\
# A web application as an environment. All keys: docs/applications.md.
{name_line}# the site's name in tasks; __{upper}__ is replaced by its address, http://{name}.test
{start_lines}state = "state"                        # the folder that an episode may change; each episode gets a copy
tasks = "tasks.json"
# templates = "templates.toml"         # queries that draw more tasks

{databases_line}# SQLite files in the state folder, for checks of the kind "state" and of side effects
{comment}{name} = "db.sqlite3"

{comment}[environment]
{comment}DATABASE = "{{state}}/db.sqlite3"

# [account]                            # the current user of tasks, and the login form
# user = "ann"
# password = "..."
# [login]
# path = "/login"
# user = '[name="username"]'
# password = '[name="password"]'
# proof = "/account"                   # a page that requires a login
"""
_WSGI_LINES = """\
{line}# "module:name". Or asgi = "module:name", or command = "... --port {{port}} ... {{state}}"
python = ".venv/bin/python"            # an interpreter in which it can be imported
"""
_COMMAND_LINES = """\
# The command stays in the foreground. {{port}} is the port at which it must listen, {{state}} the folder with the episode's copy of the state.
{line}
"""
_CHECK_DESCRIPTION = (
    "Check that episodes on an application are reproducible and its tasks are sound. The command starts the application, compares its "
    "state after several resets, loads its pages in each browser, and replays its tasks: the solution must earn the reward, and "
    "doing nothing, or an arbitrary answer, must not. It prints durations, the controls that agents can use, and the problems, with the settings that solve them. `app audit` "
    "tests the tasks more thoroughly, without the pages and in one browser. "
    "Exit status: 0 without problems, 1 with problems, 2 for invalid input."
)
_RECORD_DESCRIPTION = (
    "Record a new task: it is added to the task file with your solution and checks of the rows, files and answer. The command replays the "
    "solution, and saves the task if the solution earns the reward and nothing cheaper does.\n\n"
)
_AUDIT_DESCRIPTION = (
    "Test the tasks of an application and the draws of its templates: each solution must earn the reward, and attempts to earn it without "
    "the work, wrong forms of each answer, and the answers of other draws must not. All resets must give equal state. `app check` tests "
    "pages and both browsers too, but tries fewer wrong answers, and only the draws with seed 0."
)
_UNPACK_DESCRIPTION = (
    "Write the files of an archive to a folder. Nothing is started, so the archive needs no trust; from then on the folder is yours, and its "
    "application runs with what its webarena-app.toml asks for. --install runs the installers of packages with your rights."
)
_DESCRIPTIONS = {
    "audit": _AUDIT_DESCRIPTION,
    "unpack": _UNPACK_DESCRIPTION,
    "check": _CHECK_DESCRIPTION,
    "play": BY_LABEL,
    "record": f"{_RECORD_DESCRIPTION}{BY_LABEL}",
}
_EXAMPLES = {
    "check": "my-app", "audit": "my-app --resets 50", "fuzz": "my-app --steps 500", "serve": "my-app --port 8000", "play": "my-app",
    "pack": "my-app --licence MIT --out notes.webarena.zip", "unpack": "notes.webarena.zip my-app --install",
    "verify": "notes.webarena.zip --trust --install", "matrix": "my-app other-app",
    "record": 'my-app --goal "Create a note with the title Milk." --task-id milk',
}  # fmt: skip
_MORE_EXAMPLES = {
    "record": [
        'my-app --goal "Move Tea to Done." --task-id tea --start /board --browser chromium',
        'my-app --goal "Sign up as Bo." --task-id bo --start /register --without-login',
    ]
}


def add_application_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands of `webarena-gym app`."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    new = commands.add_parser(
        "new",
        help="write a webarena-app.toml to fill in",
        description="Write a webarena-app.toml, which describes your application, and a tasks.json without tasks. Then edit the first, and "
        "add tasks with `app record`.",
        examples=[
            "my-app --name notes",
            "my-app --name notes --wsgi app:app",
            "my-app --name shop --command 'php -S 127.0.0.1:{port} -t www'",
        ],
    )
    new.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the application")
    new.add_argument(
        "--name",
        default="app",
        help="name of the site in tasks and addresses, such as notes for http://notes.test (default: app)",
    )
    start = new.add_mutually_exclusive_group()
    start.add_argument(
        "--wsgi",
        default="",
        metavar="MODULE:NAME",
        help="the WSGI application, such as app:app for app in app.py (default: NAME:app)",
    )
    start.add_argument(
        "--command",
        default="",
        metavar="COMMAND",
        help="the command that starts a web server, with {port} in place of its port, for an application in any language",
    )
    new.set_defaults(run=_new)
    for name, summary, run in (
        ("check", "start the application, reset it, load its pages and check its tasks", check),
        ("record", "solve a new task in the terminal, and save it with your solution and a check of your changes", record_task),
        ("play", "solve a task of the application in the terminal", _play),
        ("serve", "solve the tasks of the application in your browser, and serve episodes to agents over HTTP", serve_sites),
        (
            "audit",
            "test the tasks more thoroughly than check: wrong answers, and other draws of templates",
            _audit,
        ),
        ("fuzz", "perform random actions, and report those that fail; each episode must start with the same page", _fuzz),
        (
            "pack",
            "check the application, and write it with its state, tasks and versions of packages to one file",
            pack_application,
        ),
        ("verify", "unpack an archive, check the application again, and compare with the report of its author", verify_archive),
        ("unpack", "write the files of an archive to a folder", unpack_archive),
        ("matrix", "check several applications, and print a table of tasks, costs and problems", report_matrix),
    ):
        description = _DESCRIPTIONS.get(name, f"{summary[0].upper()}{summary[1:]}.")
        command = commands.add_parser(
            name, help=summary, description=description, examples=[_EXAMPLES[name], *_MORE_EXAMPLES.get(name, [])]
        )
        if name in ("verify", "unpack"):
            add_archive_options(command, can_trust=name == "verify")
        elif name == "matrix":
            add_matrix_options(command)
        else:
            command.add_argument(
                "application",
                type=Path,
                nargs="?",
                default=Path(),
                metavar="APPLICATION",
                help=f"the {FILE} of the application, its folder, or an archive of app pack (default: the current folder)",
            )
        if name in ("check", "audit", "pack", "verify", "matrix"):
            command.add_argument(
                "--resets", type=integer(2), default=20, metavar="N", help="number of resets to compare (default: 20)"
            )
        if name in ("check", "pack", "verify", "matrix"):
            add_browsers(command)
        if name == "check":
            command.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
        elif name == "pack":
            add_pack_options(command)
        elif name == "unpack":
            command.add_argument("folder", type=Path, metavar="FOLDER", help="an empty or a new folder")
        elif name == "audit":
            command.add_argument(
                "--world-seed",
                type=world_seed,
                metavar="SEED",
                help="generate tasks from its templates with this seed, instead of using those of its task file",
            )
            command.add_argument(
                "--repeats",
                type=integer(1),
                default=1,
                metavar="N",
                help="replay each solution N times, to find tasks that fail sometimes, for example because of scripts (default: 1)",
            )
            add_jobs(command)
        elif name == "fuzz":
            add_walks(command, 200)
            add_jobs(command)
        elif name == "serve":
            add_serve_options(command)
        elif name == "play":
            command.add_argument("task", nargs="?", metavar="TASK", help="id of the task (default: a random one)")
        elif name == "record":
            command.add_argument("--goal", required=True, metavar="TEXT", help="goal of the task, in plain language")
            command.add_argument("--task-id", required=True, metavar="ID", help="id of the new task, such as milk")
            command.add_argument("--start", default="/", metavar="PATH", help="path of the start page (default: /)")
            command.add_argument("--without-login", action="store_true", help="start the episode signed out")
        if name in ("audit", "fuzz", "play", "record"):
            add_options(command, "browser")
        unused = {"variation": "content", "scale": "standard", "sites": None, "suite": None, "side_effects": False}
        command.set_defaults(run=run, **(unused if name == "audit" else unused | {"world_seed": None}))


def _new(options: argparse.Namespace) -> int:
    if not SITE_NAME.fullmatch(options.name):
        raise ApplicationError(
            f"--name is {options.name!r}; expected lower-case letters, digits and underscores, such as notes"
        )
    wsgi = options.wsgi or f"{options.name}:app"
    if not _WSGI.fullmatch(wsgi):
        raise ApplicationError(f'--wsgi is {wsgi!r}; expected "module:name", such as app:app')
    command = options.command
    if command and not any(place in command for place in ("{port}", "{socket}")):
        raise ApplicationError(f"--command is {command!r}; expected {{port}} in place of the port at which the server listens")
    comment = "# " * bool(command)  # such an application may have no database
    values = {
        "name": options.name,
        "upper": options.name.upper(),
        "name_line": f'name = "{options.name}" '.ljust(39),
        "start_lines": _COMMAND_LINES.format(line=f"command = {json.dumps(command, ensure_ascii=False)}")
        if command
        else _WSGI_LINES.format(line=f'wsgi = "{wsgi}" '.ljust(39)),
        "comment": comment,
        "databases_line": f"{comment}[databases] ".ljust(39),
    }
    for name, content in ((FILE, _TOML), ("tasks.json", "[]\n")):
        path = options.folder / name
        if path.exists():
            raise ApplicationError(f"{path} exists already; choose another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.format(**values), encoding="utf-8")
        print(f"wrote {path}")
    folder = shlex.quote(str(options.folder))
    data = "data" if command else "database"
    print(f"next: edit {FILE}, write the application's {data} into {folder}/state, then webarena-gym app check {folder}")
    return 0


def _audit(options: argparse.Namespace) -> int:
    from webarena_gym.tools.audit import audit_tasks  # noqa: PLC0415 - keeps the other commands quick to start

    application = read_application(options.application)
    with closing(WebArenaLite(application=application, tasks=[exploration_task(application)], browser=options.browser)) as env:
        _, problems = compare_resets(env, options.resets)
    print("\n".join(problems) if problems else f"{options.resets} resets are equal")
    return audit_tasks(options, load(world_seed=options.world_seed, application=application), application) or bool(problems)


def _fuzz(options: argparse.Namespace) -> int:
    from webarena_gym.tools.fuzz import fuzz_sites  # noqa: PLC0415 - keeps the other commands quick to start

    return fuzz_sites(options, read_application(options.application))


def _play(options: argparse.Namespace) -> int:
    application = read_application(options.application)
    with closing(WebArenaLite(application=application, browser=options.browser, elements="label", max_steps=100)) as env:
        return play_in_terminal(env, [options.task] if options.task else [])
