"""A backend brings sites and a browser to the beginning of a task. An env acts through it; evaluators look at what it holds.

There are four: the embedded sites (`backends.embedded`), an application of one's own (`backends.application`), real servers
(`backends.servers`) and MiniWoB's pages (`webarena_gym.miniwob`).
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from webarena_gym.actions import Kind
from webarena_gym.browsers.base import Browser, do
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.errors import ActionError, BrowserError, EvaluationError, ScriptError, SnapshotError, TaskError
from webarena_gym.evaluators import Outcome, Verdict, View, no_scripts, side_effects
from webarena_gym.evaluators.kinds import eval_kinds
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network
from webarena_gym.servers.addresses import resolve
from webarena_gym.servers.logins import Account
from webarena_gym.tasks import Task
from webarena_gym.tasks.task import Step

_MOMENT = "new Promise((done) => setTimeout(done, 100))"


class Backend:
    """Sites and a browser, brought to the beginning of one task after the other. The base of all backends: without databases or snapshots."""

    is_embedded = False
    """True if the sites are those of this package: their pages say which ones they are and do nothing by themselves."""
    site_errors: Sequence[str] = ()
    """The errors that sites of this process have raised in the current episode."""
    cookies: Mapping[str, Mapping[str, str]] = {}
    """The cookies with which the browser has begun the current episode: by host, then by name."""
    urls: Mapping[str, str] = {}
    """Placeholders such as __SHOPPING__, and the base URLs that they stand for."""
    not_saved = "the episodes of this backend cannot be saved"
    """The message to one who wants a snapshot of what cannot be saved."""
    _browser: Browser | None = None

    @property
    def files(self) -> Path | None:
        """The folder of an application's state, for checks of files; None where there is none."""
        return None

    @property
    def browser(self) -> Browser:
        """The browser of the current episode. Raises LookupError before the first."""
        if self._browser is None:
            raise LookupError("no task has been entered")
        return self._browser

    def enter(self, task: Task) -> str:
        """Bring everything to the beginning of a task, open its pages, and return the goal that the agent is told."""
        raise NotImplementedError

    def database(self, site: str) -> sqlite3.Connection:
        """Return the database behind a site. Raises KeyError when it cannot be read."""
        raise KeyError(site)

    def snapshot(self) -> Any:
        """Return a small picklable value that holds the state of sites and browser. Raises SnapshotError if that cannot be."""
        raise SnapshotError(self.not_saved)

    def restore(self, snapshot: Any) -> None:
        """Bring sites and browser to the state of a snapshot of this kind of backend. Raises SnapshotError."""
        raise SnapshotError(f"{self.not_saved}, so a {type(snapshot).__name__} cannot be restored either")

    @property
    def network(self) -> Network:
        """The sites of the current task, to be called beside the browser. Raises LookupError where they are no part of this process."""
        raise LookupError("the databases of real servers cannot be seen")

    def changes(self) -> list[Change]:
        """Return what differs from the beginning of the current task, row by row. Raises LookupError where it cannot be seen."""
        raise LookupError("the databases of real servers cannot be seen")

    def replay(self, task: Task) -> Sequence[Change] | str:
        """Return what the reference solution of a task changes, or why it cannot be replayed."""
        raise LookupError(f"{task.task_id}: the databases of real servers cannot be seen")

    def abandon(self) -> None:
        """Give up a browser that has failed; `enter` makes a new one."""
        if self._browser is not None:
            self._browser.close()
        self._browser = None

    def close(self) -> None:
        """Free everything; `enter` opens it again."""
        self.abandon()


def first_pages(start_url: str, urls: Mapping[str, str]) -> list[str]:
    """Return the addresses at which a task begins."""
    return [resolve(url.strip(), urls) for url in start_url.split("|AND|")]


@contextmanager
def opening(task: Task) -> Iterator[None]:
    """Turn what a browser says of an address that it cannot open into a TaskError."""
    try:
        yield
    except ActionError as error:
        raise TaskError(f"the task {task.task_id} begins at {task.start_url!r}, which no browser can open: {error}") from error


def judge_side_effects(task: Task, backend: Backend, *, is_forbidden: bool) -> tuple[Verdict, list[str]]:
    """Say whether the episode in a backend, whose other checks have passed, changed nothing beyond its task, and what it did.

    Where nobody knows what the task needs to change, since it has no solution, it passes.
    """
    done = backend.changes()
    needed: Sequence[Change] | str = ()
    if done and task.solution:
        needed = backend.replay(task)
    elif done and any(eval_kinds()[name].looks_at != "answer" for name in task.eval_types):
        needed = "the task has no reference solution, so what it may change is not known"
    if isinstance(needed, str):
        return side_effects.unknown(needed), []
    difference = side_effects.compare(done, needed)
    return side_effects.verdict(difference, is_forbidden=is_forbidden), [str(change) for change in difference.beyond]


def follow(browser: Browser, solution: Iterable[Step]) -> None:
    """Do the steps of a solution in a browser, up to leaving. Raises ActionError where one cannot be done."""
    for action in (step.action for step in solution):
        if action.kind is Kind.EXIT:
            break
        found = None if action.element is None else observe(browser.page(), elements="label").element(action.element)
        do(browser, action, found)


def changes_of(backend: Backend, begin: Callable[[], None], solution: Iterable[Step], name: str) -> Sequence[Change] | str:
    """Return what a reference solution changes in a backend, which `begin` starts, or why it cannot be replayed; the backend is closed then.

    Raises EvaluationError where a site failed; `name` is how it is called.
    """
    with closing(backend):
        try:
            begin()
            follow(backend.browser, solution)
        except ActionError as error:
            return f"the reference solution cannot be replayed here, so what the task may change is not known: {error}"
        if backend.site_errors:
            raise EvaluationError(f"{name} failed where the reference solution was replayed: {backend.site_errors[0]}")
        return backend.changes()


def outcome(backend: Backend, answer: str, accounts: Mapping[str, Account]) -> Outcome:
    """Return how the current episode ended, for evaluators to look at; see `Outcome` for the arguments."""
    browser, is_embedded = backend.browser, backend.is_embedded

    has_scripts = not isinstance(browser, InProcessBrowser)

    def view() -> View:
        run = browser.run_script if has_scripts else no_scripts
        return View(browser.page(), run, not browser.has_failed)

    final = view()

    def later() -> View:
        try:
            browser.run_script(_MOMENT)
        except ScriptError:  # what leads the page elsewhere ends the script that waits
            browser.wait()
        try:
            return view()._replace(later=later)
        except BrowserError:  # it left while it was read; a browser that has failed fails again
            browser.wait()
            return view()._replace(later=later)

    @contextmanager
    def open_page(url: str) -> Iterator[View]:
        try:
            browser.new_tab(url)
        except ActionError as error:
            raise EvaluationError(f"a check looks at {url!r}, which no browser can open") from error
        try:
            yield view()._replace(later=later) if has_scripts and not is_embedded else view()
        finally:
            browser.close_tab()
            browser.switch_tab(final.page.active_tab)

    return Outcome(
        answer,
        final,
        open_page,
        backend.database,
        backend.urls,
        accounts,
        browser.traffic,
        pages_say_places=is_embedded,
        files=backend.files,
    )
