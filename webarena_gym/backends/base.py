"""A backend brings sites and a browser to the beginning of a task. An env acts through it; evaluators look at what it holds.

The embedded sites are one backend (`backends.embedded`); real servers are another (`backends.servers`).
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError, BrowserError, EvaluationError, ScriptError, TaskError
from webarena_gym.evaluators import Outcome, View, no_scripts
from webarena_gym.servers.addresses import resolve
from webarena_gym.servers.logins import Account
from webarena_gym.tasks import Task

_MOMENT = "new Promise((done) => setTimeout(done, 100))"


class Backend(Protocol):
    """Sites and a browser, brought to the beginning of one task after the other."""

    @property
    def urls(self) -> Mapping[str, str]:
        """Placeholders such as __SHOPPING__, and the base URLs that they stand for."""
        ...

    @property
    def is_embedded(self) -> bool:
        """Whether the sites are those of this package: their pages say which ones they are and do nothing by themselves."""
        ...

    @property
    def browser(self) -> Browser:
        """The browser of the current episode. Raises LookupError before the first."""
        ...

    @property
    def site_errors(self) -> Sequence[str]:
        """What sites of this process have raised in the current episode."""
        ...

    def enter(self, task: Task) -> str:
        """Bring everything to the beginning of a task, open its pages, and return the goal that the agent is told."""
        ...

    def database(self, site: str) -> sqlite3.Connection:
        """Return the database behind a site. Raises KeyError when it cannot be read."""
        ...

    def snapshot(self) -> Any:
        """Return a small picklable value that holds the state of sites and browser. Raises SnapshotError if that cannot be."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Bring sites and browser to the state of a snapshot of this kind of backend. Raises SnapshotError."""
        ...

    def abandon(self) -> None:
        """Give up a browser that has failed; `enter` makes a new one."""
        ...

    def close(self) -> None:
        """Free everything; `enter` opens it again."""
        ...


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


def outcome(backend: Backend, answer: str, accounts: Mapping[str, Account]) -> Outcome:
    """Return how the current episode ended, for evaluators to look at; see `Outcome` for the arguments."""
    browser, is_embedded = backend.browser, backend.is_embedded

    def view() -> View:
        run = no_scripts if isinstance(browser, InProcessBrowser) else browser.run_script
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
            yield view() if is_embedded else view()._replace(later=later)
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
    )
