"""The base class of backends and the functions that evaluate an episode in one.

A backend resets sites and browser to the initial state of a task. The env acts through it, and evaluators read its state.
There are four: the embedded sites (`backends.embedded`), your web application (`backends.application`), real servers
(`backends.live_sites`) and MiniWoB's pages (`webarena_gym.miniwob`).
"""

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from webarena_gym.actions import Kind
from webarena_gym.addresses import Account, resolve
from webarena_gym.browsers.base import Browser, perform_action
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.errors import ActionError, BrowserError, EvaluationError, ScriptError, SnapshotError, TaskError
from webarena_gym.evaluators import Outcome, Verdict, View, no_scripts, side_effects
from webarena_gym.evaluators.kinds import eval_kinds
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network, Page
from webarena_gym.tasks import Task
from webarena_gym.tasks.task import Step
from webarena_gym.texts import cut

_MAX_URL = 200  # characters of the address of an error response in a message
_PAUSE_SCRIPT = "new Promise((done) => setTimeout(done, 100))"


class ErrorResponse(NamedTuple):
    """A response of an application with an error status.

    >>> response = ErrorResponse("GET", "http://notes.test/a%20b", "500 Internal Server Error")
    >>> str(response), response.is_of("http://notes.test/a%20b?page=2#top"), response.is_of("http://notes.test/a")
    ('GET http://notes.test/a%20b: status 500 Internal Server Error', True, False)

    """

    method: str
    """of the request, such as GET"""
    url: str
    """address without a query, with escaped characters"""
    status: str
    """number and reason"""

    def __str__(self) -> str:
        return f"{self.method} {cut(self.url, _MAX_URL)}: status {self.status}"

    def is_of(self, page_url: str) -> bool:
        """Return True if the address is that of a page, whatever its query and fragment are."""
        mine, its = urlsplit(self.url), urlsplit(page_url)
        return (mine.netloc, unquote(mine.path)) == (its.netloc, unquote(its.path))


class Backend:
    """The sites and the browser of an env. This base class has no databases and no snapshots."""

    is_embedded = False
    """True for the sites of this package: their pages identify themselves and never change on their own."""
    site_errors: Sequence[str] = ()
    """Errors that in-process sites have raised in the current episode."""
    error_responses: Sequence[ErrorResponse] = ()
    """Responses of an application with a status of 500 or more in the current episode. They do not make the episode a failure."""
    rejected_writes: Sequence[ErrorResponse] = ()
    """Responses of an application with a status of 400 to 499 in the current episode, to requests other than GET and HEAD."""
    cookies: Mapping[str, Mapping[str, str]] = {}
    """Initial cookies of the current episode: host to name to value."""
    urls: Mapping[str, str] = {}
    """Base URL by placeholder, such as `__SHOPPING__`."""
    snapshot_error = "episodes of this backend cannot be saved"
    """Message of the SnapshotError of a backend without snapshots."""
    initial_database: Callable[[str], sqlite3.Connection] | None = None
    """Opens the database of a site as it was at the start of the episode; None where its definition cannot change."""
    verify: Callable[[str], tuple[bool, str]] | None = None
    """Calls a verifier of a suite (see `Outcome.verify`); None without a suite."""
    _browser: Browser | None = None

    def can_replay(self, snapshot: object) -> bool:  # noqa: ARG002 - subclasses use it
        """Return True if the env may repeat an episode's actions to restore a snapshot of this backend whose page cannot be restored."""
        return False

    def check_replay(self, snapshot: Any) -> None:  # noqa: ARG002 - subclasses use it
        """Raise SnapshotError if page or data differ from those of a snapshot, after its actions were repeated."""
        raise SnapshotError(self.snapshot_error)

    @property
    def files(self) -> Path | None:
        """Folder with the state of an application, for checks of files; None if the backend has none."""
        return None

    @property
    def browser(self) -> Browser:
        """The browser of the current episode. Raises LookupError before the first."""
        if self._browser is None:
            raise LookupError("the backend has no browser yet: call enter(task) first")
        return self._browser

    def enter(self, task: Task) -> str:
        """Reset sites and browser to the initial state of a task, open its start pages and return its goal."""
        raise NotImplementedError

    def database(self, site: str) -> sqlite3.Connection:
        """Return a connection to the database of a site. Raises KeyError if it cannot be read."""
        raise KeyError(site)

    def snapshot(self) -> Any:
        """Return the state of sites and browser as a small picklable value. Raises SnapshotError if it cannot be saved."""
        raise SnapshotError(self.snapshot_error)

    def restore(self, snapshot: object) -> Page | None:
        """Set sites and browser to a snapshot of the same type of backend. Raises SnapshotError for any other value.

        Returns:
            The page, if it was read to compare it with that of the snapshot: scripts may change it before it is read again.

        """
        raise SnapshotError(f"{self.snapshot_error}, so a {type(snapshot).__name__} cannot be restored either")

    @property
    def network(self) -> Network:
        """In-process sites of the current task, for requests that bypass the browser. Raises LookupError for real servers."""
        raise LookupError("the databases of real servers cannot be read")

    def changes(self) -> list[Change]:
        """Return the row-level changes since the start of the current task. Raises LookupError for real servers."""
        raise LookupError("the databases of real servers cannot be read")

    def reference_changes(self, task: Task) -> Sequence[Change] | str:
        """Return the changes made by a task's reference solution, or the reason why it cannot be replayed."""
        raise LookupError(f"{task.task_id}: the databases of real servers cannot be read")

    def unneeded_changes(self, task: Task) -> Sequence[Change] | str:  # noqa: ARG002 - for subclasses
        """Return the changes of an episode that a task's checks do not need, or the reason why they are not known."""
        return "the task has no reference solution, so what it may change is not known"

    def discard_browser(self) -> None:
        """Close a browser that has failed. The next `enter` makes a new one."""
        if self._browser is not None:
            self._browser.close()
        self._browser = None

    def close(self) -> None:
        """Free all resources. The next `enter` acquires them again."""
        self.discard_browser()


def start_urls(start_url: str, urls: Mapping[str, str]) -> list[str]:
    """Return the start URLs of a task: `start_url` split at "|AND|", with placeholders resolved by `urls`."""
    return [resolve(url.strip(), urls) for url in start_url.split("|AND|")]


@contextmanager
def start_page_errors(task: Task) -> Iterator[None]:
    """Raise an ActionError of the block as a TaskError about the task's start URL."""
    try:
        yield
    except ActionError as error:
        raise TaskError(f"the task {task.task_id} begins at {task.start_url!r}, which no browser can open: {error}") from error


def judge_side_effects(task: Task, backend: Backend, *, is_forbidden: bool) -> tuple[Verdict, list[str]]:
    """Compare the changes of an episode with those of the task's reference solution.

    Call it after the other checks have passed. Without a reference solution, the changes that the checks do not need are side effects, and a
    task passes if these are not known. It also passes if its `eval` has `unchanged: false`.

    Args:
        task: the task of the episode.
        backend: the backend in the final state of the episode.
        is_forbidden: whether unrequired changes fail the verdict.

    Returns:
        The verdict and the changes that the task does not require, as texts.

    """
    if task.eval.get("unchanged") is False:
        return side_effects.unknown_verdict("the task allows other changes"), []
    changes = backend.changes()
    required: Sequence[Change] | str = ()
    if changes and task.solution:
        required = backend.reference_changes(task)
    elif changes and any(eval_kinds()[name].looks_at != "answer" for name in task.eval_types):
        unneeded = backend.unneeded_changes(task)
        if isinstance(unneeded, str):
            return side_effects.unknown_verdict(unneeded), []
        changes = list(unneeded)
    if isinstance(required, str):
        return side_effects.unknown_verdict(required), []
    difference = side_effects.compare(changes, required)
    return side_effects.verdict(difference, is_forbidden=is_forbidden), [str(change) for change in difference.beyond]


def page_text(page: Page) -> str:
    """Return the complete text of a page, without notices, by which pages are compared."""
    return observe(replace(page, notices=()), window=sys.maxsize, elements="label").text


def execute_solution(browser: Browser, solution: Iterable[Step], on_page: Callable[[str], None] = lambda _: None) -> None:
    """Execute the steps of a solution before its exit action. Raises ActionError if a step is impossible.

    `on_page` is called with the URL of the page after each step.
    """
    for action in (step.action for step in solution):
        if action.kind is Kind.EXIT:
            break
        if action.kind is Kind.CALL:
            continue
        element = None if action.element is None else observe(browser.page(), elements="label").element(action.element)
        perform_action(browser, action, element)
        on_page(browser.page().url)


def replay_solution(
    backend: Backend, start_episode: Callable[[], None], solution: Iterable[Step], name: str
) -> Sequence[Change] | str:
    """Replay a reference solution in a separate backend, close the backend and return the changes.

    Args:
        backend: the backend.
        start_episode: starts the episode in it.
        solution: the steps of the solution.
        name: name of the sites in the error message.

    Returns:
        The changes, or the reason why the solution cannot be replayed.

    Raises:
        EvaluationError: if a site raised an exception.

    """
    with closing(backend):
        try:
            start_episode()
            execute_solution(backend.browser, solution)
        except ActionError as error:
            return f"the reference solution cannot be replayed here, so what the task may change is not known: {error}"
        if backend.site_errors:
            raise EvaluationError(f"{name} raised an error in the replay of the reference solution: {backend.site_errors[0]}")
        return backend.changes()


def build_outcome(backend: Backend, answer: str, accounts: Mapping[str, Account]) -> Outcome:
    """Return the final state of the current episode for the evaluators; see `Outcome` for its fields."""
    browser, is_embedded = backend.browser, backend.is_embedded

    has_scripts = not isinstance(browser, InProcessBrowser)

    def view() -> View:
        run = browser.run_script if has_scripts else no_scripts
        return View(browser.page(), run, not browser.has_failed)

    final = view()

    def advance() -> View:
        try:
            browser.run_script(_PAUSE_SCRIPT)
        except ScriptError:  # a navigation ends the waiting script
            browser.wait()
        try:
            return view()._replace(advance=advance)
        except BrowserError:  # the page navigated while it was read; a browser that has failed fails again
            browser.wait()
            return view()._replace(advance=advance)

    @contextmanager
    def open_page(url: str) -> Iterator[View]:
        try:
            browser.new_tab(url)
        except ActionError as error:
            raise EvaluationError(f"a check needs the page {url!r}, which no browser can open: {error}") from error
        try:
            yield view()._replace(advance=advance) if has_scripts and not is_embedded else view()
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
        has_page_identities=is_embedded,
        files=backend.files,
        initial_database=backend.initial_database,
        verify=backend.verify,
    )
