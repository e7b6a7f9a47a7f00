"""`webarena-gym app`: describe your web application, check that it can be an environment, and record tasks on it."""

import argparse
import json
import re
import shlex
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from webarena_gym.actions import Action, Kind
from webarena_gym.applications.application import FILE, Application, read_application
from webarena_gym.applications.processes import launcher_of
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.http import NEEDS_SCRIPTS, resolve_url
from webarena_gym.changes import Change
from webarena_gym.console import Parser, integer
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ApplicationError, WebArenaGymError
from webarena_gym.evaluation.command import add_jobs, add_walks, world_seed
from webarena_gym.observation import observe
from webarena_gym.options import add_options
from webarena_gym.pages.page import Page
from webarena_gym.recording import StepRecord
from webarena_gym.tasks import Task, load
from webarena_gym.tasks.task import Step, parse_task
from webarena_gym.tools.audit.replays import earns, exit_with, replay
from webarena_gym.tools.play import play_in_terminal
from webarena_gym.tools.serve import add_serve_options, serve_sites

_TOML = """\
# A web application as an environment. All keys: the guide "Bring your own application".
name = "{name}"                        # the site's name in tasks; __{upper}__ is replaced by its address, http://{name}.test
wsgi = "{name}.wsgi:application"       # or asgi = "module:name", or command = "... --port {{port}} ... {{state}}"
python = ".venv/bin/python"            # an interpreter in which it can be imported
state = "state"                        # the folder that an episode may change; each episode gets a copy
tasks = "tasks.json"
# templates = "templates.toml"         # queries that draw more tasks

[databases]                            # SQLite files in the state folder, for checks of the kind "state" and of side effects
{name} = "db.sqlite3"

[environment]
DATABASE = "{{state}}/db.sqlite3"

# [account]                            # the current user of tasks, and the login form
# user = "ann"
# password = "..."
# [login]
# path = "/login"
# user = '[name="username"]'
# password = '[name="password"]'
# proof = "/account"                   # a page that requires a login
"""
_TASKS = """\
[{{"task_id": "first", "sites": ["{name}"], "start_url": "__{upper}__/", "intent": "Create a note with the title Milk.", "require_login": false,
  "eval": {{"eval_types": ["state"], "state": [{{"site": "{name}", "query": "SELECT title FROM note", "expected": [["Milk"]]}}]}},
  "solution": [{{"action": "do(action=\\"Click\\", element=\\"New note\\")"}}, {{"action": "exit(message=\\"\\")"}}]}}]
"""
_MOST_PAGES = 20
_EXAMPLES = {
    "check": "my-app", "audit": "my-app --resets 50", "fuzz": "my-app --steps 500", "serve": "my-app --port 8000", "play": "my-app",
    "record": 'my-app --goal "Create a note with the title Milk." --task-id milk',
}  # fmt: skip


def add_application_commands(parser: argparse.ArgumentParser) -> None:
    """Add the commands of `webarena-gym app`."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    new = commands.add_parser(
        "new",
        help="write a description and a first task",
        description="Writes a description of an application and a first task.",
        examples=["my-app --name notes"],
    )
    new.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the application")
    new.add_argument("--name", default="app", help="the site's name in tasks (default: app)")
    new.set_defaults(run=_new)
    for name, summary, run in (
        ("check", "start it, reset it, load its pages, check its tasks", _check),
        (
            "audit",
            "check that only their solutions earn the rewards of its tasks, and that all resets are equal",
            _audit,
        ),
        ("fuzz", "random walks: no action may fail, and each walk starts with the same page", _fuzz),
        ("serve", "do one of its tasks in your browser, and serve episodes to agents over HTTP", serve_sites),
        ("play", "do one of its tasks in the terminal", _play),
        ("record", "do a task in the terminal, and write it with its solution and a check of your changes", _record),
    ):
        command = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", examples=[_EXAMPLES[name]]
        )
        command.add_argument(
            "application",
            type=Path,
            nargs="?",
            default=Path(),
            metavar="FILE",
            help=f"its {FILE}, or the folder of it (default: here)",
        )
        if name in ("check", "audit"):
            command.add_argument("--resets", type=integer(2), default=20, metavar="N", help="resets to compare (default: 20)")
        if name == "check":
            command.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
        elif name == "audit":
            command.add_argument(
                "--world-seed",
                type=world_seed,
                metavar="SEED",
                help="the seed of draws from its templates, instead of its own tasks",
            )
            command.add_argument(
                "--repeats",
                type=integer(1),
                default=1,
                metavar="N",
                help="replays of each solution (default: 1); scripts may race",
            )
            add_jobs(command)
        elif name == "fuzz":
            add_walks(command, 200)
            add_jobs(command)
        elif name == "serve":
            command.add_argument(
                "--port", type=integer(0, 65_535), default=8000, metavar="N", help="the port; 0: any that is free"
            )
            add_serve_options(command)
        elif name == "play":
            command.add_argument("task", nargs="?", metavar="TASK", help="a task id; one is drawn without it")
        else:
            command.add_argument("--goal", required=True, help="the goal of the task")
            command.add_argument("--task-id", required=True, metavar="ID", help="the id of the task")
            command.add_argument("--start", default="/", metavar="PATH", help="the start page (default: /)")
            command.add_argument("--without-login", action="store_true", help="start without being signed in")
        if name != "serve":
            add_options(command, "browser")
        unused = {"variation": "content", "scale": "standard", "sites": None, "side_effects": False}
        command.set_defaults(run=run, **(unused if name == "audit" else unused | {"world_seed": None}))


def _new(options: argparse.Namespace) -> int:
    for name, content in ((FILE, _TOML), ("tasks.json", _TASKS)):
        path = options.folder / name
        if path.exists():
            raise ApplicationError(f"{path} exists already; choose another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.format(name=options.name, upper=options.name.upper()), encoding="utf-8")
        print(f"wrote {path}")
    print(f"next: fill them in, then webarena-gym app check {shlex.quote(str(options.folder))}")
    return 0


def _read_records(path: Path) -> Any:
    """Return the tasks of a task file, [] if there is no file yet. Raises ApplicationError."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    except ValueError as error:
        raise ApplicationError(f"the task file {path} is not valid JSON: {error}") from error


def _exploration_task(
    application: Application, goal: str = "Look around.", start: str = "/", task_id: str = "look", *, signed_in: bool = True
) -> Task:
    """Return a task that no answer solves, for looking at the application."""
    return Task(
        task_id,
        (application.name,),
        f"__{application.name.upper()}__{start}",
        goal,
        {"eval_types": ["url_match"], "reference_url": f"__{application.name.upper()}__/none"},
        require_login=signed_in and application.login is not None,
    )


def _reset(env: WebArenaLite, count: int) -> tuple[list[float], list[str]]:
    """Return the seconds of `count` + 1 resets, the first of which starts the application, and the differences between them."""
    seconds, texts, errors = list[float](), list[str](), list[str]()
    for _ in range(count + 1):
        start = time.perf_counter()
        texts.append(env.reset()[0])
        seconds.append(time.perf_counter() - start)
        errors += env._backend.site_errors  # noqa: SLF001 - no part of the env's interface
    differences = (_difference(texts[0], text) for text in texts)
    return seconds, [
        *(f"it fails: {error}" for error in errors[:1]),
        *(f"two resets show different pages, {pair}: set clock=, or seed random values" for pair in filter(None, differences)),
    ][:1]


def _difference(one: str, other: str) -> str:
    """Return the first lines in which two pages differ, "" for none."""
    pairs = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    return next((f"{first!r} and {second!r}" for first, second in pairs if first != second), "")


def _memory_difference(env: WebArenaLite) -> str:
    """Return how the first page differs after the episode was restored, "" for no difference: memory is not restored."""
    texts, browser = [], env._backend.browser  # noqa: SLF001
    for _ in range(2):
        browser.goto(browser.page().url)
        texts.append(observe(browser.page(), elements="label").text)
        env.restore(env.snapshot())
    return _difference(*texts)


def _audit(options: argparse.Namespace) -> int:
    from webarena_gym.tools.audit import audit_tasks  # noqa: PLC0415 - keeps the other commands quick to start

    application = read_application(options.application)
    with closing(WebArenaLite(application=application, tasks=[_exploration_task(application)], browser=options.browser)) as env:
        _, problems = _reset(env, options.resets)
    print("\n".join(problems) if problems else f"{options.resets} resets are equal")
    return audit_tasks(options, load(world_seed=options.world_seed, application=application), application) or bool(problems)


def _fuzz(options: argparse.Namespace) -> int:
    from webarena_gym.tools.fuzz import fuzz_sites  # noqa: PLC0415 - keeps the other commands quick to start

    return fuzz_sites(options, read_application(options.application))


def _check(options: argparse.Namespace) -> int:
    application = read_application(options.application)
    report: dict[str, Any] = {"application": application.name, "browser": options.browser}
    has_tasks = bool(application.templates or (application.tasks and _read_records(Path(application.tasks))))
    tasks = load(application=application) if has_tasks else ()
    env = WebArenaLite(
        application=application, tasks=[_exploration_task(application)], browser=options.browser, elements="label"
    )
    seconds, problems = _reset(env, options.resets)
    report["first_start_s"], report["reset_ms"] = round(seconds[0], 2), round(1000 * statistics.median(seconds[1:]), 1)
    report["equal_resets"] = not problems
    report["in_memory"] = "" if application.in_memory or problems else _memory_difference(env)
    pages = list(_walk(env._backend.browser, application))  # noqa: SLF001 - no part of the env's interface
    report["failed"] = list(env._backend.site_errors)  # noqa: SLF001
    report["changed"] = sorted({f"/{change.key[0]}" if change.table == "file" else change.table for change in env.changes()})
    report["pages"], report["controls"] = (
        len(pages),
        dict(Counter(kind for page in pages for kind in _controls(page)).most_common()),
    )
    report["need_scripts"] = [page.url for page in pages if NEEDS_SCRIPTS in page.root.text_content() + "".join(page.notices)]
    report["enclosed"] = launcher_of(application).is_isolated
    env.close()
    report["tasks"] = {}
    if tasks and not problems:
        problems += _check_tasks(application, tasks, options.browser, report["tasks"])
    report["problems"] = problems
    if options.json:
        print(json.dumps(report))
    else:
        print(
            f"{application.name} starts in {report['first_start_s']} s; a reset takes {report['reset_ms']} ms (median of {options.resets})"
        )
        print(
            f"controls on {len(pages)} pages: {', '.join(f'{count} {kind}' for kind, count in report['controls'].items()) or 'none'}"
        )
        if not report["enclosed"]:
            print("this system does not isolate processes: an episode can write the files of others")
        for error in report["failed"][:1]:
            print(f"it fails: {error}")
        if report["in_memory"]:
            print(f"a page differs after a snapshot, {report['in_memory']}: if that matters, set in_memory = true")
        if report["changed"]:
            print(f"loading pages changes data: incidental = {json.dumps(report['changed'])} excludes it from side effects")
        if report["need_scripts"]:
            first, *others = report["need_scripts"]
            more = f" and {len(others)} more need" if others else " needs"
            print(f"{first}{more} scripts: use --browser chromium")
        for task_id, result in report["tasks"].items():
            print(f"{task_id}: {result}")
        print("\n".join(problems) if problems else "no problems")
    return 1 if problems else 0


def _check_tasks(application: Application, tasks: Sequence[Task], browser: str, results: dict[str, str]) -> list[str]:
    """Check each task of an application: its solution earns the reward, and nothing cheaper does. Fill `results` by task id."""
    problems = []
    env = WebArenaLite(application=application, browser=browser, max_steps=60, tasks=tasks)
    for task in env.tasks:
        try:
            failure = replay(env, task) if task.solution else "it has no solution"
        except WebArenaGymError as error:  # raised by its checks
            failure = str(error)
        if failure:
            results[task.task_id] = failure
            problems.append(f"{task.task_id}: {failure}")
            continue
        cheap = {"an immediate exit": exit_with(""), "no action": Action(Kind.WAIT)}
        cheap |= {
            f"the answer {answer!r}": exit_with(answer)
            for answer in (*task.wrong_answers, *(["N/A"] if task.is_achievable else []))
        }
        hasty = WebArenaLite(application=application, browser=browser, max_steps=1, tasks=[task])
        earned = [name for name, action in cheap.items() if earns(hasty, task, action)]
        hasty.close()
        results[task.task_id] = f"{earned[0]} earns the reward" if earned else "solved, and no cheaper attempt earns it"
        problems += [f"{task.task_id}: {results[task.task_id]}"] if earned else []
    env.close()
    return problems


def _walk(browser: Browser, application: Application) -> Iterator[Page]:
    """Yield the first pages of an application that links lead to, breadth first."""
    known: set[str] = set()
    due = [browser.page().url, f"{application.url}{application.ready}"]  # a service may have no page at "/"
    while due and len(known) < _MOST_PAGES:
        url = due.pop(0)
        if url in known or re.search(r"log.?out|sign.?out", url):
            continue
        known.add(url)
        browser.goto(url)
        page = browser.page()
        yield page
        links = (resolve_url(page.url, link).partition("#")[0] for link in page.root.xpath("//a/@href"))
        due += [link for link in links if link.startswith(application.url)]


def _controls(page: Page) -> Iterator[str]:
    """Yield the kind of each control on a page that an action can name, and of embedded content that is not supported."""
    for node in observe(page, window=sys.maxsize).nodes.values():
        element = node.element
        if element.get("contenteditable", "false") != "false":
            yield "rich editor"
        elif element.tag == "input":
            yield f"{(element.get('type') or 'text').lower()} field"
        elif element.tag in ("button", "select", "textarea", "summary"):
            yield element.tag
        else:
            yield "link" if element.tag == "a" else element.get("role") or "other"
    yield from (f"{element.tag} (not supported)" for element in page.root.iter("canvas", "iframe") if len(element) == 0)


def _play(options: argparse.Namespace) -> int:
    application = read_application(options.application)
    with closing(WebArenaLite(application=application, browser=options.browser, elements="label", max_steps=100)) as env:
        return play_in_terminal(env, [options.task] if options.task else [])


def _record(options: argparse.Namespace) -> int:
    application = read_application(options.application)
    if not application.tasks:
        raise ApplicationError(f"{application.name} names no task file: set tasks in its {FILE}")
    path = Path(application.tasks)
    records = _read_records(path)
    if any(record["task_id"] == options.task_id for record in records):
        raise ApplicationError(f"{path} has a task {options.task_id!r} already")
    task = _exploration_task(application, options.goal, options.start, options.task_id, signed_in=not options.without_login)
    env = WebArenaLite(application=application, tasks=[task], browser=options.browser, elements="label", max_steps=100)
    steps: list[Step] = []
    changes: list[Change] = []

    def on_step(step: StepRecord) -> None:
        if not step.info["action_error"]:
            steps.append(Step(env.dialect.parse(step.reply)))
        if not step.terminated:
            changes[:] = env.changes()

    with closing(env):  # also if a dialog is open
        play_in_terminal(env, on_step=on_step)
        if not steps or steps[-1].action.kind is not Kind.EXIT:
            print("not recorded: the task was not ended with exit")
            return 1
        folders = [launcher_of(application).base, env._backend.files or Path()]  # noqa: SLF001
        again = env._backend.reference_changes(replace(task, solution=tuple(steps)))  # noqa: SLF001
        record = _task_record(task, steps, changes, changes if isinstance(again, str) else again, folders)
    if not record["eval"]["eval_types"]:
        print("not recorded: the task changes nothing and has no answer. The solution, to which you can add a check:")
        print(json.dumps(record, ensure_ascii=False))
        return 1
    parse_task(record)
    path.write_text(json.dumps([*records, record], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"recorded {len(steps)} steps in {path}; its checks: {json.dumps(record['eval'], ensure_ascii=False)}")
    return 0


def _task_record(
    task: Task, steps: list[Step], changes: list[Change], again: Sequence[Change], folders: list[Path]
) -> dict[str, Any]:
    """Return a task with a recorded solution, and checks of its answer and of the rows and files that it changed.

    `again` are the changes of a replay: values that differ, such as the time or a token, are not checked. `folders` are the state's folders
    before and after the episode.
    """
    typed = {step.action.argument for step in steps if step.action.argument}
    answer = steps[-1].action.argument or ""
    evaluation: dict[str, Any] = {"eval_types": []}
    if answer:
        evaluation |= {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": answer}}
    query = "SELECT sql FROM sqlite_schema WHERE name = ?"
    schemas = [
        {
            "site": change.site,
            "query": query,
            "parameters": [change.key[0]],
            "expected": [] if change.after is None else [[change.after["sql"]]],
        }
        for change in changes
        if change.table == "schema"
    ]
    others = again if [change.table for change in again] == [change.table for change in changes] else changes
    rows = [_row_check(*pair) for pair in zip(changes, others, strict=True) if pair[0].table not in ("file", "schema")]
    paths = [str(change.key[0]) for change in changes if change.table == "file"]
    plain = [
        path for path in paths if not path.startswith(".") and "/." not in path
    ]  # hidden files are checked if there are no others
    files = [check for path in plain or paths for check in _file_check(path, folders, typed)]
    of_typed = (
        [check for check in rows if typed.intersection(map(str, check["parameters"]))],
        [check for check in files if check["contains"] in typed],
    )
    rows, files = of_typed if any(of_typed) else (rows, files)  # otherwise logs and caches would be required
    for kind, checks in (("state", [*schemas, *rows]), ("file", files)):
        if checks:
            evaluation["eval_types"].append(kind)
            evaluation[kind] = checks
    record = {
        key: value
        for key, value in task.to_json().items()
        if key in ("task_id", "sites", "start_url", "intent", "require_login")
    }
    return {**record, "eval": evaluation, "solution": [step.to_json() for step in steps]}


def _file_check(path: str, folders: list[Path], typed: set[str]) -> list[dict[str, Any]]:
    """Return checks of a changed file: that it contains the typed text, otherwise its longest new line or all of it. No check of binary files."""
    try:
        before, after = ((folder / path).read_text("utf-8") if (folder / path).is_file() else None for folder in folders)
    except UnicodeDecodeError:
        return []
    if after is None:
        return [{"path": path, "contains": None}]
    known = set((before or "").splitlines())
    new_lines = [line for line in after.splitlines() if line not in known]
    return [
        {
            "path": path,
            "contains": max([text for text in typed if text in "\n".join(new_lines)] or new_lines or [after], key=len),
        }
    ]


def _row_check(change: Change, again: Change) -> dict[str, Any]:
    """Return a check of a changed row by its key and changed columns, or of an added or removed row by all its columns."""
    row, other = ((version.after or version.before or {}) for version in (change, again))
    checked: dict[str, Any] = {
        column: value
        for column, value in row.items()
        if isinstance(value, str | int | float)
        and value == other.get(column)
        and (not change.columns or column in change.columns or value in change.key)
    }
    if change.columns and not set(change.key) <= set(checked.values()):
        checked = {"rowid": change.key[0]} | checked
    condition = " AND ".join(f'"{column}" = ?' for column in checked) or "TRUE"
    query = f'SELECT count(*) FROM "{change.table}" WHERE {condition}'
    expected = [[0 if change.after is None else 1]]
    return {"site": change.site, "query": query, "parameters": list(checked.values()), "expected": expected}
