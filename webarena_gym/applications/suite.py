"""`Suite`: a collection of applications, tasks and verifiers of another project, described by one file.

The file is TOML or JSON with the fields of `Suite`:

    name = "errands"
    licence = "MIT"

    [applications.todo]                 # the keys of webarena-app.toml, besides the name
    folder = "todo"
    command = "python3 server.py --port {port}"

    [[tasks]]                           # WebArena's schema, and the splits of the task
    task_id = "todo.add"
    splits = ["easy"]
    sites = ["todo"]
    start_url = "__TODO__/"
    intent = "Add milk to the list."
    require_login = false
    eval = { eval_types = ["verifier"], verifier = [{ file = "todo/verify_add.py" }] }

It may also have the key `solutions`, the path of a file with the solutions of tasks (see `read_solutions`).
"""

import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from webarena_gym.applications.application import Application, parse_application
from webarena_gym.applications.trust import add_trust, data_folder, expect_trust, grants_of, is_inside
from webarena_gym.arguments import quote_value, reason_of, suggestion
from webarena_gym.errors import TaskError

SUITE_SUFFIXES = (".toml", ".json")
"""Suffixes of files of suites, which distinguish their paths from the names of added suites."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_SOLUTIONS = "solutions"  # key of the file for another file, with the solutions of tasks
SuiteBrowser = Literal["chromium", "inprocess"]
"""The browser that a suite needs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Suite:
    """Applications and tasks of another project. Raises TaskError for an invalid value."""

    name: str
    """name of the suite"""
    licence: str
    """licence of the applications and tasks"""
    applications: Mapping[str, Application]
    """the applications by name, which is the site of their tasks"""
    tasks: Sequence[Mapping[str, Any]]
    """the tasks in WebArena's schema, each with the additional key `splits`, a list of names"""
    source: str = ""
    """address of the project"""
    folder: str = "."
    """folder of applications and verifiers"""
    python: str = sys.executable
    """interpreter of the verifiers"""
    verify_s: float = 30.0
    """time limit of a verifier, in seconds"""
    left_out: Sequence[str] = ()
    """ids of tasks that are in no split, as `webarena-gym suite check` has found a fault in them"""
    browser: SuiteBrowser = "chromium"
    """the browser that the applications need: "chromium" for scripts, or "inprocess", with which Chromium is optional"""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise TaskError(f"name is {self.name!r}; expected lower-case letters, digits, '-', '_' and '.'")
        if self.browser not in get_args(SuiteBrowser):
            raise TaskError(f"browser is {self.browser!r}; expected one of {', '.join(get_args(SuiteBrowser))}")
        if not self.applications or not self.tasks:
            raise TaskError("expected at least one application and one task")
        for record in self.tasks:
            if not isinstance(record, Mapping) or not isinstance(record.get("task_id"), str):
                raise TaskError(f"a task is {quote_value(str(record))}; expected a table with a text task_id")
            splits = record.get("splits")
            if not isinstance(splits, list) or not all(isinstance(name, str) for name in splits):
                raise TaskError(f"task {record['task_id']}: splits is {splits!r}; expected a list of names")
        twice = [name for name, count in Counter(record["task_id"] for record in self.tasks).items() if count > 1]
        if twice:
            raise TaskError(f"the task id {twice[0]!r} occurs twice")
        unknown = set(self.left_out) - {record["task_id"] for record in self.tasks}
        if unknown:
            raise TaskError(f"left_out contains {min(unknown)!r}; expected ids of its tasks")

    @property
    def splits(self) -> Mapping[str, int]:
        """The number of tasks in each split."""
        return Counter(name for record in self.tasks if record["task_id"] not in self.left_out for name in record["splits"])

    def records(self, split: str | None = None) -> list[Mapping[str, Any]]:
        """Return the tasks of a split in WebArena's schema, all tasks for None. Raises TaskError for an unknown split."""
        if split is not None and split not in self.splits:
            raise TaskError(f"the suite {self.name} has no split {quote_value(split)}; {suggestion(split, self.splits)}")
        return [
            {key: value for key, value in record.items() if key != "splits"}
            for record in self.tasks
            if split is None or (split in record["splits"] and record["task_id"] not in self.left_out)
        ]


def suites_folder() -> Path:
    """Return the folder of the suites that `webarena-gym suite add` has added, in the user's data folder."""
    return data_folder() / "suites"


def suite_names() -> list[str]:
    """Return the names of the added suites."""
    return sorted(path.stem for path in suites_folder().glob("*.json"))


def read_suite(suite: str | Path | Suite) -> Suite:
    """Return a suite by its name or by the path of its file. Raises TaskError, and ApplicationError if it needs trust."""
    if isinstance(suite, Suite):
        return suite
    path, added = Path(suite), suites_folder() / f"{suite}.json"
    if path.suffix not in SUITE_SUFFIXES:
        if not added.is_file():
            known = suite_names()
            names = f"added are {', '.join(known)}" if known else "none was added"
            raise TaskError(
                f"there is no suite {quote_value(str(suite))}: {names}; `webarena-gym suite add NAME PATH` adds one, or pass the path of its file"
            )
        path = added
    suite = _read(path)
    expect_trust(f"the suite {suite.name}", *_trust_of(suite), ("suite", "add", suite.name, path, "--trust"))
    return suite


def _read(path: Path) -> Suite:
    """Return the suite of a file. Raises TaskError and ApplicationError."""
    record = _read_record(path)
    keys = [*(item.name for item in fields(Suite)), _SOLUTIONS]
    for key in record:
        if key not in keys:
            raise TaskError(f"the suite {path} has an unknown key {key!r}: {suggestion(key, keys)}")
    missing = [key for key in ("name", "licence", "applications", "tasks") if not record.get(key)]
    if missing:
        raise TaskError(f"the suite {path} lacks {missing[0]}")
    types: Mapping[str, Any] = {"applications": dict, "tasks": list, "left_out": list, "verify_s": (int, float)}
    for key, value in record.items():
        if not isinstance(value, types.get(key, str)):
            raise TaskError(
                f"the suite {path} has {key} {quote_value(str(value))}; expected another type than {type(value).__name__}"
            )
    folder = path.resolve().parent / record.get("folder", ".")
    if name := record.pop(_SOLUTIONS, ""):
        record["tasks"] = _attach(record["tasks"], read_solutions(folder / name), folder / name)
    if "/" in record.get("python", ""):
        record["python"] = str(folder / record["python"])
    applications = {
        name: parse_application({**values, "name": name}, folder, f"{path}, application {name}")
        for name, values in record["applications"].items()
    }
    try:
        return Suite(**{**record, "folder": str(folder), "applications": applications})
    except TaskError as error:
        raise TaskError(f"the suite {path}: {error}") from error


def _trust_of(suite: Suite) -> tuple[bytes, list[str]]:
    """Return what the user must trust: the path of a suite's folder, and what its programs may do outside of the isolation."""
    folder = Path(suite.folder).resolve()
    grants = [f"{name}: {grant}" for name, item in suite.applications.items() for grant in grants_of(item, folder)]
    if is_inside(suite.python, folder):
        grants.append(f"python = {suite.python!r} starts with your rights")
    return str(folder).encode(), grants


def add_suite(name: str, path: Path, *, trust: bool = False) -> tuple[Suite, Path]:
    """Add a suite to those that are known by name.

    Args:
        name: its name.
        path: the suite's file, or a clone of WebArena-Infinity, from which a file is derived.
        trust: allow what its programs may do outside of the isolation (see `trust`).

    Returns:
        The suite and its new file, which refers to the folder of applications and verifiers.

    Raises:
        TaskError: for an invalid suite, or a folder that is no known project.
        ApplicationError: for a suite that needs trust.

    """
    if path.is_dir():
        if not is_infinity(path):
            raise TaskError(
                f"{path} is not a clone of WebArena-Infinity; expected one, or the file of a suite (.toml or .json)"
            )
        record = describe_infinity(path.resolve())
    else:
        record = _read_record(path)
        record["folder"] = str(path.resolve().parent / record.get("folder", "."))
    if not _NAME.fullmatch(name):
        raise TaskError(f"the name of the suite is {name!r}; expected lower-case letters, digits, '-', '_' and '.'")
    added = suites_folder() / f"{name}.json"
    added.parent.mkdir(parents=True, exist_ok=True)
    draft = added.with_suffix(".new.json")
    draft.write_text(json.dumps(record | {"name": name}, indent=1, ensure_ascii=False), encoding="utf-8")
    try:
        suite = _read(draft)
        content, grants = _trust_of(suite)
        if trust:
            add_trust(content, grants)
        expect_trust(f"the suite {name}", content, grants, ("suite", "add", name, path, "--trust"))
        draft.replace(added)
    finally:
        draft.unlink(missing_ok=True)
    return suite, added


def leave_out_tasks(name: str, task_ids: Iterable[str]) -> None:
    """Remove tasks from the splits of an added suite. Raises TaskError if none was added under the name."""
    path = suites_folder() / f"{name}.json"
    record = _read_record(path)
    record["left_out"] = sorted({*record.get("left_out", ()), *task_ids})
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")


def _read_record(path: Path) -> dict[str, Any]:
    """Return the content of a suite's file. Raises TaskError."""
    try:
        text = path.read_text(encoding="utf-8")
        record = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise TaskError(f"the suite {path} cannot be read: {reason_of(error)}") from error
    if not isinstance(record, dict):
        raise TaskError(f"the suite {path} is {quote_value(str(record))}; expected a table")
    return record


def read_solutions(path: Path) -> dict[str, list[Any]]:
    """Return reference solutions by task id, from lines of JSON with the keys `task_id` and `solution`.

    Raises:
        TaskError: for a file that cannot be read, a line with other keys or types, or a task id that occurs twice.

    """
    solutions: dict[str, list[Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # texts in JSON may contain other line separators, such as U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"the solutions {path} cannot be read: {reason_of(error)}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TaskError(f"{where} is {quote_value(line)}; expected a JSON object: {reason_of(error)}") from error
        match record:
            case {"task_id": str(task_id), "solution": [_, *_] as solution, **others} if not others:
                if task_id in solutions:
                    raise TaskError(f"{where}: the task id {task_id!r} occurs twice")
                solutions[task_id] = solution
            case _:
                raise TaskError(
                    f"{where} is {quote_value(line)}; expected the keys task_id, a text, and solution, a list of steps"
                )
    return solutions


def _attach(tasks: Sequence[Any], solutions: Mapping[str, list[Any]], path: Path) -> list[Any]:
    """Return tasks with their solutions. Raises TaskError for a solution without a task, and for a task with two solutions."""
    ids = [task.get("task_id") if isinstance(task, dict) else None for task in tasks]  # checked with the other keys later
    without = {name: task.get("solution") or None for name, task in zip(ids, tasks, strict=True) if isinstance(name, str)}
    for task_id in solutions:
        if without.get(task_id, "") is not None:
            problem = "which has a solution already" if without.get(task_id) else "which is no task of the suite"
            raise TaskError(f"{path} has a solution of {task_id!r}, {problem}")
    return [
        {**task, "solution": solutions[name]} if isinstance(name, str) and name in solutions else task
        for name, task in zip(ids, tasks, strict=True)
    ]


_LISTS = ("function-tasks", "real-tasks")
_INFINITY_SOLUTIONS = Path(__file__).parent / "solutions" / "webarena-infinity"
"""Folder of this package's solutions of its tasks, a file for each application."""
_CLOCK = "2026-12-01 09:00:00"
"""The time at which pages begin, in each year, so that the dates and ages in the labels of elements stay those of the solutions."""
_INCIDENTAL = ("state._*", "*.isRead", "*.readAt", "labels.unreadCount", "patientLetters.sentAt", "*.lastReconciledDate")
"""Changes that looking around causes in applications: counters of ids, read marks, and times of a page."""
_HIDDEN = (*_LISTS, *(f"{name}.json" for name in _LISTS), "sanity_check*.py")


def is_infinity(clone: Path) -> bool:
    """Return True if a folder has applications and lists of tasks at the paths of WebArena-Infinity."""
    return any(clone.glob("apps/*/real-tasks.json"))


def describe_infinity(clone: Path) -> dict[str, Any]:
    """Return the record of WebArena-Infinity's suite from a clone of its repository.

    An application is a folder of `apps/` with a `server.py` and two lists of tasks, each with its verifier. Task ids are such as
    "gmail.task_e1", and the splits are "function", "real-easy", "real-medium" and "real-hard". Tasks that this package has solved have a
    `solution`.
    """
    folders = sorted(path.parent for path in clone.glob("apps/*/real-tasks.json"))
    return {
        "name": "webarena-infinity",
        "licence": "MIT",
        "source": "https://github.com/web-arena-x/webarena-infinity",
        "folder": str(clone),
        "applications": {_site(folder): _application(folder) for folder in folders},
        "tasks": [task for folder in folders for name in _LISTS for task in _tasks(folder, name)],
    }


def _site(folder: Path) -> str:
    return folder.name.replace("-", "_")


def _application(folder: Path) -> dict[str, Any]:
    hidden = sorted(path.name for pattern in _HIDDEN for path in folder.glob(pattern))  # its server serves its whole folder
    return {
        "folder": f"apps/{folder.name}",
        "command": "python3 server.py --port {port}",
        "client_state": "/api/state",
        "hidden": hidden,
        "clock": _CLOCK,
        "virtual_time": True,
        "incidental": list(_INCIDENTAL),
    }


def _tasks(folder: Path, name: str) -> list[dict[str, Any]]:
    site, solutions = _site(folder), _INFINITY_SOLUTIONS / f"{folder.name}.jsonl"
    solved = read_solutions(solutions) if solutions.is_file() else {}
    return [
        {
            "task_id": f"{folder.name}.{task['id']}",
            "splits": [f"real-{task['difficulty']}" if "difficulty" in task else "function"],
            "sites": [site],
            "start_url": f"__{site.upper()}__/",
            "intent": task["instruction"],
            "require_login": False,
            "eval": {"eval_types": ["verifier"], "verifier": [{"file": f"apps/{folder.name}/{task['verify']}"}]},
            "solution": solved.get(f"{folder.name}.{task['id']}", []),
        }
        for task in json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    ]
