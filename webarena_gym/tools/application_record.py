"""`webarena-gym app record`: a person solves a new task in the terminal, which is saved with its solution and checks of its changes.

The solution is replayed in another second than it was recorded. Values that differ then, such as times and random tokens, are not checked,
nor are dates of the day and clock times of the minute of the recording, in the formats of `contains_time`. A task is saved only if its
solution earns the reward and nothing cheaper does.
"""

import argparse
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from threading import Event
from time import monotonic, time
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from lxml.cssselect import CSSSelector

from webarena_gym.actions import Kind
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.archive import FILE
from webarena_gym.applications.processes import launcher_of
from webarena_gym.applications.state import open_database
from webarena_gym.backends.base import ErrorResponse
from webarena_gym.changes import Change
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError, ApplicationError
from webarena_gym.evaluators import View, evaluate, no_scripts
from webarena_gym.evaluators.kinds.program_html import page_shows
from webarena_gym.evaluators.kinds.url_match import at_url
from webarena_gym.evaluators.outcome import answer_outcome
from webarena_gym.observation import visible_text
from webarena_gym.pages.page import Page
from webarena_gym.recording import StepRecord
from webarena_gym.tasks import Task
from webarena_gym.tasks.task import Step, parse_task
from webarena_gym.tools.application_check import check_tasks, exploration_task, read_records
from webarena_gym.tools.audit.replays import do_all
from webarena_gym.tools.play import play_in_terminal

_DAY_S = 86_400
_UNITS = (1, 10**3, 10**6, 10**9)  # of a second, in numbers of seconds, milliseconds, microseconds and nanoseconds since 1970
_TIMES = re.compile(r"(?<![\d+])(?:(\d{10,19})|\d{1,2}:(\d\d))(?!\d)")  # not the offset of a time zone
_DATES = (
    "%Y[-/.]%m[-/.]%d", r"%Y%m%d\d{0,6}", "%d[-/.]%m[-/.]%Y", "%m[-/.]%d[-/.]%Y", "%d[ -](?:%b|%B)[ -]%Y", r"(?:%b|%B) {1,2}%d(?:,? %Y| [\d:]{5,8})",
)  # fmt: skip
"""Formats of dates in `strftime`'s notation, as regular expressions. `%Y%m%d` may be followed by a time or a number, `%b %d` by a time."""
_PAGE_NAMES = ("h1", "h2", "[role=dialog], dialog[open]", "[aria-current]", "[aria-selected=true]", "h3", "legend")
"""Selectors of texts that name a page whose URL does not."""
_NOTHING_TO_CHECK = (
    "the task has no answer and changes nothing, and the URL and the headings of its last page are those of its start page, or vary;"
    " end it with `exit ANSWER`, or on another page, or write its check by hand (program_html, for a text of the page)"
)
_KEPT = ("task_id", "sites", "start_url", "intent", "require_login")


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The changes of an episode and of its replay, the folders of the state, and the pages."""

    changes: Sequence[Change]
    replayed: Sequence[Change]
    """changes of the replay"""
    folders: tuple[Path, Path, Path]
    """state before the episode, after it, and after its replay"""
    databases: Mapping[str, str]
    """paths of the databases in the folders, by name"""
    pages: Sequence[Page] = ()
    """start page of the episode, its last page, and that of its replay"""
    url: str = ""
    """base URL of the application"""
    placeholder: str = ""
    """its placeholder in tasks"""
    is_clock_fixed: bool = False
    """the application has a constant clock, so that its times do not vary"""

    @cached_property
    def end_s(self) -> float:
        """The time of the newest file of the state after the episode, in seconds since 1970."""
        files = (path for path in self.folders[1].rglob("*") if path.is_file())
        return max((path.stat().st_mtime for path in files), default=0.0)

    def varies(self, value: object, typed: set[str]) -> bool:
        """Return True if a value contains the day or minute of the recording, and nobody typed it."""
        return not self.is_clock_fixed and str(value) not in typed and contains_time(str(value), self.end_s)


def record_task(options: argparse.Namespace) -> int:
    """Record a task, verify it, and add it to the task file. Return 1 if it is not saved."""
    application = read_application(options.application)
    if not application.tasks:
        raise ApplicationError(f"{application.name} names no task file: set tasks in its {FILE}")
    path = Path(application.tasks)
    records = read_records(path)
    if not isinstance(records, list):
        raise ApplicationError(f"{path} contains {str(records)[:40]!r}; expected a JSON list, to which the task is added")
    if any(record["task_id"] == options.task_id for record in records):
        raise ApplicationError(f"{path} has a task {options.task_id!r} already")
    task = exploration_task(application, options.goal, options.start, options.task_id, signed_in=not options.without_login)
    record, problem = _record(application, task, options.browser)
    if not problem:
        (problem, *_) = [*check_tasks(application, [parse_task(record)], options.browser, {}), ""]
    if problem:
        print(f"not recorded: {problem}")
        if record:
            print(f"the task, which you can correct and add to {path}:\n{json.dumps(record, ensure_ascii=False)}")
        return 1
    path.write_text(json.dumps([*records, record], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"recorded {len(record['solution'])} steps in {path}; its checks: {json.dumps(record['eval'], ensure_ascii=False)}")
    return 0


def _record(application: Application, task: Task, browser: object) -> tuple[dict[str, Any], str]:
    """Let a person solve a task. Return it with its solution and checks, {} without a solution, and the reason why it cannot be saved."""
    steps: list[Step] = []
    changes: list[Change] = []
    pages: list[Page] = []
    rejected: list[tuple[int, ErrorResponse]] = []  # number of the step of the solution, and the response
    failed: list[str] = []  # replies that are no steps of the solution
    count = 0  # of rejected requests so far
    changed_s = monotonic()
    settings: dict[str, Any] = {"application": application, "browser": browser, "elements": "label", "max_steps": 100}

    def on_step(step: StepRecord) -> None:
        nonlocal changed_s, count
        responses, count = env.backend.rejected_writes[count:], len(env.backend.rejected_writes)
        for response in responses:
            print(f"note: the application rejected {response}")
        if step.info["action_error"]:
            failed.append(step.reply)
        else:
            steps.append(Step(env.dialect.parse(step.reply)))
            rejected.extend((len(steps), response) for response in responses)
        if not step.terminated:
            changes[:] = env.changes()
            pages[:] = [env.page]
            changed_s = monotonic()

    with closing(WebArenaLite(**settings, tasks=[task])) as env:  # also if a dialog is open
        play_in_terminal(env, on_step=on_step)
        if failed:
            print(f"actions that failed are no steps of the solution ({len(failed)}), such as {failed[0]}")
        for number, response in rejected:
            print(
                f"step {number} of the solution sends a request that is rejected, {response}; if that is a mistake, record the task again"
            )
        if not steps or steps[-1].action.kind is not Kind.EXIT:
            return {}, "the task was not ended with exit"
        solved = replace(task, solution=tuple(steps))
        record = {key: value for key, value in task.to_json().items() if key in _KEPT}
        record |= {"eval": {"eval_types": []}, "solution": [step.to_json() for step in steps]}
        with closing(WebArenaLite(**settings, tasks=[solved])) as other:
            try:
                other.reset()
                start = other.page
                # the replay must write other times than the recording, also if they are rounded to seconds
                Event().wait(max(0.0, changed_s + 1 - monotonic()))
                do_all(other, solved)
            except ActionError as error:
                return record, f"the solution cannot be replayed: {error}"
            recording = Recording(
                changes=changes,
                replayed=other.changes(),
                folders=(launcher_of(application).base, env.backend.files or Path(), other.backend.files or Path()),
                databases=application.databases,
                pages=(start, *pages, other.page),
                url=application.url,
                placeholder=f"__{application.name.upper()}__",
                is_clock_fixed=bool(application.clock),
            )
            record["eval"] = checks_of(steps, recording)
    return record, "" if record["eval"]["eval_types"] else _NOTHING_TO_CHECK


def checks_of(steps: Sequence[Step], recording: Recording) -> dict[str, Any]:
    """Return the `eval` block of a recorded task: checks of its answer, and of the rows and files that it changed; else of its last page."""
    typed = {step.action.argument for step in steps if step.action.argument}
    answer = steps[-1].action.argument or ""
    evaluation: dict[str, Any] = {"eval_types": []}
    if answer:
        evaluation |= {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": answer}}
    rows = [check for pair in _pairs(recording) if (check := _row_check(*pair, recording, typed))]
    paths = list(dict.fromkeys(_path(change) for change in recording.changes if _is_file(change)))
    plain = [
        path for path in paths if not path.startswith(".") and "/." not in path
    ]  # hidden files are checked if there are no others
    files = [check for path in plain or paths for check in _file_check(path, recording, typed)]
    of_typed = (
        [check for check in rows if typed.intersection(map(str, check["parameters"]))],
        [check for check in files if check.get("contains") in typed],
    )
    rows, files = of_typed if any(of_typed) else (rows, files)  # otherwise logs and caches would be required
    for kind, checks in (("state", [*_schema_checks(recording), *rows]), ("file", files)):
        if checks:
            evaluation["eval_types"].append(kind)
            evaluation[kind] = [check for index, check in enumerate(checks) if check not in checks[:index]]
    return evaluation if evaluation["eval_types"] else _page_check(recording) or evaluation


def _page_check(recording: Recording) -> dict[str, Any]:
    """Return a check that the last page passes, also in the replay, and the start page does not; {} if there is none.

    It is that of the URL, or else of a text that `_PAGE_NAMES` selects.
    """
    if len(recording.pages) < 3:  # nothing was done
        return {}
    outcomes = [
        replace(answer_outcome(""), final=View(page, no_scripts), urls={recording.placeholder: recording.url})
        for page in recording.pages
    ]
    for evaluation in _page_checks(recording):
        passed = [all(verdict.passed for verdict in evaluate(evaluation, "", outcome)) for outcome in outcomes]
        if passed == [False, True, True]:
            return evaluation
    return {}


def _page_checks(recording: Recording) -> Iterator[dict[str, Any]]:
    """Yield the checks that the last page passes."""
    _, end, replayed = recording.pages

    def is_time(text: str) -> bool:
        return not recording.is_clock_fixed and contains_time(text, time())

    if end.url.startswith(recording.url):
        queries = [parse_qsl(urlsplit(page.url).query, keep_blank_values=True) for page in (end, replayed)]
        pairs = [pair for pair in queries[0] if pair in queries[1] and not any(map(is_time, pair))]
        address = urlunsplit(urlsplit(end.url)._replace(query=urlencode(pairs), fragment=""))
        yield at_url(f"{recording.placeholder}{address.removeprefix(recording.url)}")
    for selector in _PAGE_NAMES:
        text = " ".join(map(visible_text, CSSSelector(selector)(end.root))).strip()
        if text and not is_time(text):
            yield page_shows("last", selector, exact_match=text)


def contains_time(text: str, time_s: float) -> bool:
    """Return True if a text contains a time near `time_s`, in seconds since 1970.

    This is a date or a number of seconds, milliseconds, microseconds or nanoseconds since 1970 that differs by about a day at most, because
    of time zones, or a clock time whose minutes differ by one at most.

    >>> texts = ("2025-11-30 05:31:04", "since 2025-11-30T05:31Z", "1764480664123", "1764480664.5", "11/30/2025", "30.11.2025", "2025/11/30")
    >>> [contains_time(text, 1764480664.0) for text in (*texts, "30 Nov 2025", "November 30, 2025", "20251130-1", "at 5:31 am")]
    [True, True, True, True, True, True, True, True, True, True, True]
    >>> texts = ("2025-06-30", "Milk", "12", "0123456789", "2025-11-3099", "30 Nov 2024", "08:00", "120251130", "08:00+05:31")
    >>> any(contains_time(text, 1764480664.0) for text in texts)
    False
    """
    end = datetime.fromtimestamp(time_s, UTC)
    if _pattern_of_days(end.toordinal()).search(text):
        return True
    ends = (end, end.astimezone())  # the minutes of some time zones differ
    for number, minute in _TIMES.findall(text):
        if number and any(abs(int(number) / unit - time_s) <= _DAY_S for unit in _UNITS):
            return True
        if minute and any((int(minute) - time.minute) % 60 in (59, 0, 1) for time in ends):
            return True
    return False


@cache
def _pattern_of_days(ordinal: int) -> re.Pattern[str]:
    """Return a regular expression for the dates of a day, and of the days before and after it."""
    days = [datetime.fromordinal(ordinal) + timedelta(days) for days in (-1, 0, 1)]
    dates = [re.sub(r"(?<!\d)0(?=\d)", "0?", day.strftime(item)) for day in days for item in _DATES]
    return re.compile(rf"(?<!\d)(?:{'|'.join(dates)})(?!\d)", re.IGNORECASE)


def _pairs(recording: Recording) -> Iterator[tuple[Change, Change]]:
    """Yield the changed rows, each with the most similar change of the same table in the replay, which may have other keys.

    Rows that the replay does not change are omitted.
    """
    others = list(recording.replayed)
    for change in recording.changes:
        equal = [
            other
            for other in others
            if (other.table, other.before is None, other.after is None)
            == (change.table, change.before is None, change.after is None)
        ]
        if equal and not _is_file(change) and change.table != "schema":
            row = change.after or change.before or {}
            other = max(equal, key=lambda other: len(row.items() & (other.after or other.before or {}).items()))
            others.remove(other)
            yield change, other


def _row_check(change: Change, again: Change, recording: Recording, typed: set[str]) -> dict[str, Any] | None:
    """Return a check of a changed row by its key and changed columns, or of an added or removed row by all its columns.

    Columns that vary are omitted. None if no database has another number of such rows than before.
    """
    row, other = ((version.after or version.before or {}) for version in (change, again))
    checked: dict[str, Any] = {
        column: value
        for column, value in row.items()
        if isinstance(value, str | int | float)
        and value == other.get(column)
        and (not change.columns or column in change.columns or value in change.key)
        and not (change.after is not None and recording.varies(value, typed))
    }
    if change.columns and not set(change.key) <= set(checked.values()):
        checked = {"rowid": change.key[0]} | checked
    condition = " AND ".join(f'"{column}" = ?' for column in checked) or "TRUE"
    query = f'SELECT count(*) FROM "{change.table}" WHERE {condition}'
    parameters = list(checked.values())
    for index, (name, path) in enumerate(recording.databases.items()):
        counts = [_count(folder / path, query, parameters) for folder in recording.folders[:2]]
        if counts[0] != counts[1]:
            site = name if index else change.site
            return {"site": site, "query": query, "parameters": parameters, "expected": [[counts[1]]]}
    return None


def _count(path: Path, query: str, parameters: Sequence[Any]) -> int | None:
    """Return the number that a query selects from a database; None if the database has no such table."""
    with suppress(sqlite3.Error), closing(open_database(path)) as connection:
        return int(connection.execute(query, parameters).fetchone()[0])
    return None


def _schema_checks(recording: Recording) -> list[dict[str, Any]]:
    """Return checks of the tables, indexes, views and triggers that were changed."""
    query = "SELECT sql FROM sqlite_schema WHERE name = ?"
    return [
        {
            "site": change.site,
            "query": query,
            "parameters": [change.key[0]],
            "expected": [] if change.after is None else [[change.after["sql"]]],
        }
        for change in recording.changes
        if change.table == "schema" and change in recording.replayed
    ]


def _is_file(change: Change) -> bool:
    """Return True for a change of a file, or of a line of one."""
    return change.table == "file" or change.table.startswith("/")


def _path(change: Change) -> str:
    return str(change.key[0]) if change.table == "file" else change.table[1:]


def _file_check(path: str, recording: Recording, typed: set[str]) -> list[dict[str, Any]]:
    """Return checks of a changed file: that it contains the typed text, otherwise its longest new line; all of it if it has no new line.

    Lines that vary are omitted, and binary files have no checks.
    """
    if path.endswith("/"):
        is_folder, is_repeated = ((folder / path).is_dir() for folder in recording.folders[1:])
        return [{"path": path, "contains": "" if is_folder else None}] if is_folder == is_repeated else []
    try:
        before, after, again = (
            (folder / path).read_text("utf-8") if (folder / path).is_file() else None for folder in recording.folders
        )
    except UnicodeDecodeError:
        return []
    if after is None or again is None:
        return [{"path": path, "contains": None}] if after == again else []
    known = set((before or "").splitlines())
    squeezed = _squeeze(before or "") if path.endswith(".json") else ""  # an application may reformat a JSON file
    new_lines, repeated = (
        [line for line in text.splitlines() if line not in known and not (squeezed and _squeeze(line) in squeezed)]
        for text in (after, again)
    )
    written = [text for text in typed if all(text in "\n".join(lines) for lines in (new_lines, repeated))]
    undated = [text for text in written if not recording.varies(text, set())]  # a date may also be that of a log
    lines = [line for line in set(new_lines).intersection(repeated) if not recording.varies(line, typed)]
    if texts := undated or lines or written:
        return [{"path": path, "contains": max(texts, key=len)}]
    return [{"path": path, "equals": after}] if after == again and not new_lines else []


def _squeeze(text: str) -> str:
    """Return a text without white space and without a comma at its end."""
    return "".join(text.split()).rstrip(",")
