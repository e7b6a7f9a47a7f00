"""`webarena-gym app check`: the certificate of an application: what an episode on it needs, in each browser."""

import argparse
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from webarena_gym.actions import Action, Kind
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.diagnosis import advice, clock_advice
from webarena_gym.applications.processes import launcher_of
from webarena_gym.backends.application import ApplicationBackend
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.http import NEEDS_SCRIPTS, resolve_url
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ApplicationError, SnapshotError, WebArenaGymError
from webarena_gym.logins import is_signed_in
from webarena_gym.observation import observe, visible_text
from webarena_gym.options import BrowserKind
from webarena_gym.pages import dom
from webarena_gym.pages.page import Page
from webarena_gym.progress import Progress
from webarena_gym.suite import load
from webarena_gym.tasks import Task
from webarena_gym.texts import first_difference
from webarena_gym.tools.audit.replays import earns, exit_with, replay

_MOST_PAGES = 20
_MOST_FILES = 50  # scripts and style sheets that are requested
_EXCERPT = 200  # characters of a page in a message
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - in links
_MOST_NAMED = 3  # addresses in a message
_MANY_FILES = 20  # changed files in the folders of a folder, that a pattern replaces
_NO_CONTROLS = "no page has a control that an action can name"
SOLVED = "solved, and no cheaper attempt earns it"  # result of a sound task
UNPROVEN = "no solution to replay; its start page opens, its checks can be evaluated, and no cheap attempt earns it"
"""Result of a sound task without a solution."""
_BROWSERS: tuple[BrowserKind, ...] = ("inprocess", "chromium")


def add_browsers(command: argparse.ArgumentParser) -> None:
    """Add the option that selects the browsers in which to check."""
    command.add_argument(
        "--browser",
        choices=["both", *_BROWSERS],
        default="both",
        help="browsers in which to check; both leaves Chromium out if it is not installed (default: both)",
    )


class Certificate(NamedTuple):
    """The reports on an application by browser, the browser that was not used, and the problems of all reports."""

    reports: dict[BrowserKind, dict[str, Any]]
    unchecked: str
    problems: list[str]


def check(options: argparse.Namespace) -> int:
    """Check an application, print the report, and return 1 if there are problems."""
    application = read_application(options.application)
    certificate = examine(application, options.browser, options.resets)
    reports, unchecked, problems = certificate
    if options.json:
        print(json.dumps({"application": application.name, "browsers": reports, "unchecked": unchecked, "problems": problems}))
    else:
        for browser, report in reports.items():
            _print_report(application, browser, report, options.resets)
        if not problems and not any(report["tasks"] for report in reports.values()):
            print("there are no tasks to check: `app record` adds one")
        print("\n".join([*filter(None, [unchecked]), *(["problems:", *problems] if problems else ["no problems"])]))
    return 1 if problems else 0


def examine(application: Application, browser: str, resets: int) -> Certificate:
    """Examine an application in a browser, or in "both" if Chromium is installed, with so many resets."""
    has_tasks = bool(application.templates or (application.tasks and read_records(Path(application.tasks))))
    tasks = load(application=application) if has_tasks else ()
    browsers = [name for name in _BROWSERS if browser in (name, "both")]
    unchecked = ""
    if browser == "both":
        from webarena_gym.browsers.chromium.driver import find_executable  # noqa: PLC0415 - for this command only

        if find_executable() is None:
            browsers.remove("chromium")
            unchecked = "not checked in Chromium, which is not installed"
    reports = {name: _examine(application, tasks, name, resets) for name in browsers}
    if application.tasks and not Path(application.tasks).exists():
        for report in reports.values():
            report["problems"].append(
                f"tasks is {application.tasks!r}; expected an existing file, which `app record` writes too"
            )
    if len(reports) > 1 and reports["inprocess"]["need_scripts"]:
        reports["inprocess"]["problems"] = [
            text for text in reports["inprocess"]["problems"] if not text.startswith(_NO_CONTROLS)
        ]
    of_problem: dict[str, list[str]] = {}
    for name, report in reports.items():
        for problem in report["problems"]:
            of_problem.setdefault(problem, []).append(name)
    problems = [text if len(names) == len(reports) else f"{names[0]}: {text}" for text, names in of_problem.items()]
    return Certificate(reports, unchecked, problems)


def _examine(application: Application, tasks: Sequence[Task], browser: BrowserKind, resets: int) -> dict[str, Any]:
    """Return the report on an application in a browser; "problems" lists the reasons why episodes on it are not sound."""
    report: dict[str, Any] = {}
    task = exploration_task(application)
    with closing(WebArenaLite(application=application, tasks=[task], browser=browser, elements="label")) as env:
        backend = env.backend
        assert isinstance(backend, ApplicationBackend)
        seconds, problems = compare_resets(env, resets)
        report["first_start_s"], report["reset_ms"] = round(seconds[0], 2), round(1000 * statistics.median(seconds[1:]), 1)
        report["equal_resets"] = not problems
        report["in_memory"] = "" if application.in_memory or problems else _memory_difference(env)
        pages, step_s, report["real_time"] = list[Page](), list[float](), list[str]()
        for page, seconds_of_page in _walk(backend.browser, application):
            pages.append(page)
            step_s.append(seconds_of_page)
            if getattr(backend.browser, "used_real_time", False):  # of Chromium
                report["real_time"].append(page.url)
        report["step_ms"] = round(1000 * statistics.median(step_s), 1)
        report["virtual_time"] = application.virtual_time and browser == "chromium"
        report["failed"] = list(backend.site_errors)
        changes = env.changes()
        report["changed"] = incidental_patterns(
            f"/{change.key[0]}" if change.table == "file" else change.table for change in changes
        )
        report["pages"] = len(pages)
        report["controls"] = dict(Counter(kind for page in pages for kind in _controls(page)).most_common())
        report["need_scripts"] = [page.url for page in pages if _needs_scripts(page, browser)]
        statuses = {page.url: backend.status_of(page.url) for page in pages}
        report["statuses"] = {str(status): count for status, count in sorted(Counter(statuses.values()).items())}
        report["missing"] = [f"{url}: {status}" for url, status in statuses.items() if 400 <= status < 500][
            statuses[pages[0].url] >= 400 :
        ]
        files = {url: backend.status_of(url) for url in _files(pages)}
        report["foreign_files"] = [url for url, status in files.items() if not status]
        report["enclosed"] = launcher_of(application).is_isolated
        broken = [page for page in pages if statuses[page.url] >= (400 if page is pages[0] else 500)]
        problems += _problem_of(
            f"{len(broken)} of {len(pages)} pages fail", [f"{page.url}: {statuses[page.url]}" for page in broken]
        )
        if broken:
            log, text = backend.log_tail(), visible_text(broken[0].root)[:_EXCERPT]
            problems.append(f"the page {broken[0].url} shows {text!r}")
            problems += [f"the log of the application ends with:\n{log}"] if log else []
            problems += filter(None, [advice(application, log + text).strip()])
        problems += _problem_of("a page raises an exception, or is not answered", report["failed"])
        lost = [f"{url}: {status}" for url, status in files.items() if status >= 400]
        problems += _problem_of("scripts or style sheets cannot be loaded", lost)
        local = [url for page in pages for url in _targets(page) if urlsplit(url).hostname in _LOCAL_HOSTS]
        problems += _problem_of(
            f"pages lead to this machine, which no episode reaches; expected the public address {application.url} in the application's settings",
            list(dict.fromkeys(local)),
        )
        if not any("not supported" not in kind for kind in report["controls"]):
            problems.append(f"{_NO_CONTROLS}; the first page shows {visible_text(pages[0].root)[:_EXCERPT]!r}")
        if not report["failed"]:
            env.reset()
            problems += [*_sign_in_problem(backend, application), *_snapshot_problem(env, pages, application, report)]
    report["tasks"] = {}
    if tasks and report["equal_resets"]:
        problems += check_tasks(application, tasks, browser, report["tasks"])
    if application.login is None and SOLVED not in report["tasks"].values() and all(map(_asks_for_password, pages)):
        problems.append(f"all pages lead to a form with a password, such as {pages[0].url}: set [account] and [login]")
    report["problems"] = problems
    return report


def incidental_patterns(changed: Iterable[str]) -> list[str]:
    """Return tables and the paths of files, with a pattern instead of the files of a folder in which many have changed.

    >>> incidental_patterns(["session", "/a/b.txt", *(f"/cache/{name}/x" for name in range(20)), *(f"/a/log/{name}" for name in range(4))])
    ['/a/b.txt', '/a/log/*', '/cache/*', 'session']
    """
    names = set(changed)
    folders = {parent for name in names if name.startswith("/") for parent in _folders(name)}
    for folder in sorted(folders, key=lambda path: -path.count("/")):
        inside = {name for name in names if name.startswith(f"{folder}/") and not name.endswith("/*")}
        direct = {name for name in inside if name.rpartition("/")[0] == folder}
        if len(direct) > _MOST_NAMED or len(inside) >= _MANY_FILES:
            names = names - inside | {f"{folder}/*"}
    return sorted(names)


def _folders(path: str) -> list[str]:
    """Return the folders around a file, without the root."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]


def _problem_of(problem: str, items: Sequence[str]) -> list[str]:
    """Return a problem with the first items that have it; nothing without items."""
    more = f" and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    return [f"{problem}: {', '.join(items[:_MOST_NAMED])}{more}"] if items else []


def _print_report(application: Application, browser: str, report: dict[str, Any], resets: int) -> None:
    """Print the lines of a report."""
    print(
        f"{browser}: {application.name} starts in {report['first_start_s']} s; a reset takes {report['reset_ms']} ms (median of {resets}), a page {report['step_ms']} ms"
    )
    statuses = ", ".join(f"status {status}: {count}" for status, count in report["statuses"].items())
    controls = ", ".join(f"{count} {kind}" for kind, count in report["controls"].items())
    print(f"pages visited: {report['pages']} ({statuses}); their controls: {controls or 'none'}")
    if not report["enclosed"]:
        print("this system does not isolate processes: an episode can write the files of others")
    for line in _problem_of("links lead to missing pages", report["missing"]):
        print(line)
    for line in _problem_of("scripts and style sheets of other hosts are never loaded", report["foreign_files"]):
        print(line)
    if report["in_memory"]:
        print(f"a page differs after a snapshot, {report['in_memory']}: if that matters, set in_memory = true")
    if report["changed"]:
        print(f"loading pages changes data: incidental = {json.dumps(report['changed'])} excludes it from side effects")
    if report["virtual_time"]:
        print("scripts run in virtual time")
        for line in _problem_of(
            "real time passes as well because of event streams, WebSockets, workers or refreshes", report["real_time"]
        ):
            print(line)
    elif report["real_time"]:
        print("scripts run in real time: virtual_time = true makes steps faster and independent of the load")
    if report.get("replayed"):
        print("scripts keep state in a page: a snapshot is restored by repeating the actions of its episode")
    if report["need_scripts"]:
        first, *others = report["need_scripts"]
        more = f" and {len(others)} more need" if others else " needs"
        print(f"{first}{more} scripts: use --browser chromium")
    for task_id, result in report["tasks"].items():
        if result in (SOLVED, UNPROVEN):  # the others are problems
            print(f"{task_id}: {result}")


def _asks_for_password(page: Page) -> bool:
    return any(dom.element_type(field) == "password" and dom.is_visible(field) for field in page.root.iter("input"))


def _targets(page: Page) -> Iterator[str]:
    """Yield the addresses to which the links and forms of a page lead."""
    for element in page.root.iter("a", "area", "form"):
        if reference := element.get("action" if element.tag == "form" else "href"):
            yield resolve_url(page.url, reference)


def _files(pages: Sequence[Page]) -> list[str]:
    """Return the addresses of the scripts and style sheets of pages."""
    files: dict[str, None] = {}
    for page in pages:
        base = next((element.get("href") for element in page.root.iter("base") if element.get("href")), "")
        here = resolve_url(page.url, base) or page.url
        for element in page.root.iter("script", "link"):
            is_sheet = element.tag == "link" and "stylesheet" in element.get("rel", "").lower().split()
            reference = element.get("href" if is_sheet else "src", "") if is_sheet or element.tag == "script" else ""
            url = resolve_url(here, reference) if reference else ""
            if urlsplit(url).scheme in ("http", "https"):
                files.setdefault(url)
    return list(files)[:_MOST_FILES]


def _sign_in_problem(backend: ApplicationBackend, application: Application) -> list[str]:
    """Return a problem if the account is not signed in at the start of an episode."""
    login, account = application.login, application.account
    if login is None or account is None or is_signed_in(backend.browser, login, application.url, account, backend.status_of):
        return []
    return [
        f"{account.user} is not signed in at the start of an episode: {login.proof!r} leads to {backend.browser.page().url}."
        " Is the session stored outside of the state, or its cookie named by the port?"
    ]


def _snapshot_problem(env: WebArenaLite, pages: Sequence[Page], application: Application, report: dict[str, Any]) -> list[str]:
    """Return a problem if a page differs after it was restored from a snapshot that was taken after an interaction.

    `report["replayed"]` is the number of actions that were repeated for that.
    """
    url = next((page.url for page in pages if any(map(_is_draft, page.root.iter("input", "textarea")))), pages[0].url)
    start = urlsplit(url)._replace(scheme="", netloc="").geturl() or "/"
    env.reset(options={"task": exploration_task(application, start=start)})
    if name := next((name for name, node in env.observation.nodes.items() if _is_plain_button(node.element)), ""):
        env.step(env.dialect.format(Action(Kind.CLICK, name)))
    if name := next((name for name, node in env.observation.nodes.items() if _is_draft(node.element)), ""):
        env.step(env.dialect.format(Action(Kind.TYPE, name, "webarena")))
    before = env.observation.text
    try:
        _, info = env.restore(env.snapshot())
    except SnapshotError as error:
        return [str(error)] if not application.in_memory else []
    report["replayed"] = info.get("replayed", 0)
    difference = first_difference(before, env.observation.text)
    return [f"a page differs after it was restored, {difference}"] if difference else []


def _is_plain_button(element: HtmlElement) -> bool:
    """Return True for a button that submits no form."""
    return element.tag == "button" and (dom.form_owner(element) is None or dom.element_type(element) == "button")


def _is_draft(field: HtmlElement) -> bool:
    return dom.element_type(field) in ("text", "search", "textarea") and dom.is_visible(field) and not dom.is_disabled(field)


def _memory_difference(env: WebArenaLite) -> str:
    """Return how the first page differs after the episode was restored, "" for no difference: memory is not restored.

    A page that cannot be restored is a problem that `_snapshot_problem` reports.
    """
    texts, browser = [], env.backend.browser
    for _ in range(2):
        browser.goto(browser.page().url)
        texts.append(observe(browser.page(), elements="label").text)
        try:
            env.restore(env.snapshot())
        except SnapshotError:
            return ""
    return first_difference(*texts)


def compare_resets(env: WebArenaLite, count: int) -> tuple[list[float], list[str]]:
    """Return the seconds of `count` + 1 resets, the first of which starts the application, and the differences between them."""
    assert isinstance(env.backend, ApplicationBackend)
    remedy = clock_advice(env.backend.application)
    seconds, texts, errors = list[float](), list[str](), list[str]()
    progress = Progress(count + 1, f"resets compared ({env.options.browser})")
    for completed in range(count + 1):
        progress.update(completed)
        start = time.perf_counter()
        texts.append(env.reset()[0])
        seconds.append(time.perf_counter() - start)
        errors += env.backend.site_errors
    progress.clear()
    differences = (first_difference(texts[0], text) for text in texts)
    scripts = (
        "; for durations that scripts measure, virtual_time = true; for pages that scripts are still building, shown="
        if env.options.browser == "chromium"
        else ""
    )
    return seconds, [
        *(f"it fails: {error}" for error in errors[:1]),
        *(f"two resets show different pages, {pair}: {remedy}{scripts}" for pair in filter(None, differences)),
    ][:1]


def check_tasks(application: Application, tasks: Sequence[Task], browser: str, results: dict[str, str]) -> list[str]:
    """Check each task of an application: its solution earns the reward, and nothing cheaper does. Fill `results` by task id."""
    problems = []
    with closing(WebArenaLite(application=application, browser=browser, max_steps=100, tasks=tasks)) as env:
        progress = Progress(len(env.tasks), f"tasks checked ({browser})")
        for completed, task in enumerate(env.tasks):
            progress.update(completed)
            try:
                pages: list[Page] = []
                failure = replay(env, task, pages.append) if task.solution else ""
                failure = f"{failure}{_advice(env, pages)}" if failure else _start_problem(env, task)
                failure = failure or _cheap_problem(application, task, browser)
            except WebArenaGymError as error:  # raised by its start or its checks
                failure = str(error)
            results[task.task_id] = failure or (SOLVED if task.solution else UNPROVEN)
            problems += [f"{task.task_id}: {failure}"] if failure else []
        progress.clear()
    return problems


def _cheap_problem(application: Application, task: Task, browser: str) -> str:
    """Return the problem if an attempt without the work earns the reward of a task. Raises WebArenaGymError if a check cannot be evaluated."""
    attempts = {"an immediate exit": exit_with(""), "no action": Action(Kind.WAIT)}
    attempts |= {
        f"the answer {answer!r}": exit_with(answer)
        for answer in (*task.wrong_answers, *(["N/A"] if task.is_achievable else []))
    }
    with closing(WebArenaLite(application=application, browser=browser, max_steps=1, tasks=[task])) as env:
        return next((f"{name} earns the reward" for name, action in attempts.items() if earns(env, task, action)), "")


def _advice(env: WebArenaLite, pages: Sequence[Page]) -> str:
    """Return the end of the log after an error, and the settings that solve a problem in it, or on the last page, of the current episode."""
    assert isinstance(env.backend, ApplicationBackend)
    log = env.backend.log_tail()
    lines = advice(env.backend.application, log)
    if log.strip() and env.backend.error_responses:
        lines = f"; the log of the application ends with {log.strip().splitlines()[-1]!r}{lines}"
    needs_scripts = bool(pages) and _needs_scripts(pages[-1], env.options.browser)
    return f"; the page needs scripts: check and pack with --browser chromium{lines}" if needs_scripts else lines


def _needs_scripts(page: Page, browser: str) -> bool:
    """Return True if the in-process browser names scripts that the page needs, or the page has scripts and no controls."""
    if browser != "inprocess":
        return False
    if NEEDS_SCRIPTS in page.root.text_content() + "".join(page.notices):
        return True
    return next(page.root.iter("script"), None) is not None and not any("not supported" not in kind for kind in _controls(page))


def _start_problem(env: WebArenaLite, task: Task) -> str:
    """Return the problem if the start page of a task has an error status."""
    env.reset(options={"task": task})
    assert isinstance(env.backend, ApplicationBackend)
    url = env.page.url
    status = env.backend.status_of(url)
    return f"its start page {url} has the status {status}; expected one below 400" if status >= 400 else ""


def _walk(browser: Browser, application: Application) -> Iterator[tuple[Page, float]]:
    """Yield the first pages of an application that links lead to, breadth first, each with the seconds that it took.

    Several links may be redirected to one page, which is yielded once.
    """
    known, visited = set[str](), set[str]()
    due = [browser.page().url, f"{application.url}{application.ready}"]  # a service may have no page at "/"
    while due and len(known) < _MOST_PAGES:
        url = due.pop(0)
        if url in known or re.search(r"log.?out|sign.?out", url):
            continue
        known.add(url)
        start = time.perf_counter()
        browser.goto(url)
        page = browser.page()
        if page.url in visited:
            continue
        visited.add(page.url)
        yield page, time.perf_counter() - start
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


def exploration_task(
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


def read_records(path: Path) -> Any:
    """Return the tasks of a task file, [] if there is no file yet. Raises ApplicationError."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    except ValueError as error:
        raise ApplicationError(f"the task file {path} is not valid JSON: {error}") from error
