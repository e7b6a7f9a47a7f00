"""A web application of one's own as the backend of an env: each episode has its own copy of the application and of its state."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import Copy, Launcher, launcher_of
from webarena_gym.backends.base import Backend, changes_of, first_pages, opening
from webarena_gym.browsers.base import NO_STORAGE, Browser, Storage
from webarena_gym.changes import Change
from webarena_gym.errors import ApplicationError, HostUnknownError, SnapshotError, TaskError
from webarena_gym.pages.page import Network
from webarena_gym.servers.logins import is_signed_in, log_in
from webarena_gym.tasks import Task


class ApplicationSnapshot(NamedTuple):
    """The state of an application and the browser on it."""

    application: str
    changed: state.Difference
    browser: Any


class ApplicationBackend(Backend):
    """A copy of an application for each episode, and a browser that can reach it and nothing else.

    Args:
        make_browser: makes a browser on the network of an episode.
        application: the application.

    """

    def __init__(self, make_browser: Callable[[Network], Browser], application: Application) -> None:
        self._make_browser = make_browser
        self._application = application
        self.urls = {f"__{application.name.upper()}__": application.url}
        self.not_saved = f"{application.name} keeps state in memory, so its episodes cannot be saved"
        folder = Path(application.folder, application.uploads)
        files = sorted(path for path in folder.iterdir() if path.is_file()) if application.uploads else []
        self._network = Network(
            {application.host: self._answer}, {path.name: path.read_bytes() for path in files}, lambda: self._running().address
        )
        self._network.shown = application.shown
        if application.clock:
            self._network.clock = datetime.fromisoformat(application.clock).replace(tzinfo=UTC).isoformat()
        self._copy: Copy | None = None
        self._opened: list[sqlite3.Connection] = []

    def enter(self, task: Task) -> str:
        unknown = [site for site in task.sites if site != self._application.name]
        if unknown:
            raise TaskError(f"task {task.task_id}: {unknown[0]!r} is not the application {self._application.name}")
        with opening(task):
            self.begin(task.start_url, signed_in=task.require_login)
        if self.browser.has_failed:
            raise TaskError(f"the task {task.task_id} begins at {task.start_url!r}, where {self._application.name} is not")
        return task.intent

    def begin(self, start_url: str, *, signed_in: bool) -> None:
        """Start a copy of the application in its base state and open pages on it. Raises ApplicationError."""
        launcher = self._launcher()
        self._take(launcher.start())
        self.cookies, storage = (launcher.cookies or {}, launcher.storage) if signed_in else ({}, NO_STORAGE)
        if signed_in and self._application.in_memory:
            self.cookies, storage = self._sign_in()
        self.browser.start(first_pages(start_url, self.urls), self.cookies, storage=storage)
        launcher.go_on()

    def _launcher(self) -> Launcher:
        """Return the launcher of the application, with a base state in which one is signed in."""
        launcher = launcher_of(self._application)

        def sign_in(copy: Copy) -> tuple[Mapping[str, Mapping[str, str]], Storage]:
            if self._application.in_memory:
                return {}, NO_STORAGE
            self._take(copy)
            return self._sign_in()

        launcher.prepare(sign_in)
        return launcher

    def _sign_in(self) -> tuple[Mapping[str, Mapping[str, str]], Storage]:
        application = self._application
        if application.login is None or application.account is None:
            return {}, NO_STORAGE
        self.browser.start([], {})
        if is_signed_in(self.browser, application.login, application.url, application.account):
            raise ApplicationError(
                f"login: the page of proof {application.login.proof!r} shows itself to who is not signed in as well"
            )
        log_in(self.browser, application.login, application.url, application.account)
        cookies: dict[str, str] = {cookie["name"]: cookie["value"] for cookie in self.browser.cookies()}
        return {application.host: cookies}, self.browser.storage()

    def _take(self, copy: Copy) -> None:
        """Let the episode go on with a copy."""
        if left := self._leave():
            launcher_of(self._application).end(left)
        self._copy = copy
        self._network.errors.clear()
        if self._browser is None:
            self._browser = self._make_browser(self._network)

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        copy = self._running()
        try:
            return copy.wsgi(environ, start_response)
        except ApplicationError:
            if copy is self._copy:
                raise
            raise HostUnknownError("asked in an episode that is over") from None

    @property
    def site_errors(self) -> Sequence[str]:  # type: ignore[override]  # the base has an attribute
        """The errors of this episode; the death of the application is found out also where a page only waits for its news."""
        errors = self._network.errors
        if not errors and self._copy is not None and not self._copy.is_alive:
            errors.append(f"{self._application.name} has died: {self._copy.tail()}")
        return errors

    def _running(self) -> Copy:
        if self._copy is None:
            raise LookupError("no task has been entered")
        return self._copy

    @property
    def network(self) -> Network:
        return self._network

    def database(self, site: str) -> sqlite3.Connection:
        databases = self._application.databases
        path = databases.get(site) or (next(iter(databases.values()), None) if site in ("", self._application.name) else None)
        if path is None:
            raise KeyError(site)
        self._opened.append(state.open_database(self._at_rest() / path))
        return self._opened[-1]

    @property
    def files(self) -> Path | None:
        return self._at_rest()

    def _at_rest(self) -> Path:
        """Return the folder of the state, with what the application keeps outside of it."""
        self._running().save()
        return self._running().state

    def changes(self) -> list[Change]:
        application, launcher = self._application, launcher_of(self._application)
        return state.changes(application.name, launcher.base, self._at_rest(), application.databases, application.incidental)

    def snapshot(self) -> ApplicationSnapshot:
        if self._application.in_memory:
            raise SnapshotError(self.not_saved)
        changed = state.difference(launcher_of(self._application).base, self._at_rest())
        return ApplicationSnapshot(self._application.name, changed, self.browser.snapshot())

    def restore(self, snapshot: Any) -> None:
        if not isinstance(snapshot, ApplicationSnapshot) or snapshot.application != self._application.name:
            raise SnapshotError(
                f"expected a snapshot of {self._application.name}, got {getattr(snapshot, 'application', type(snapshot).__name__)}"
            )
        launcher = self._launcher()
        self._take(launcher.start(snapshot.changed))
        self.browser.restore(snapshot.browser)
        launcher.go_on()

    def replay(self, task: Task) -> Sequence[Change] | str:
        """Return what the reference solution of a task changes, in a copy of its own, or why it cannot be replayed."""
        backend = ApplicationBackend(self._make_browser, self._application)
        begin = partial(backend.begin, task.start_url, signed_in=task.require_login)
        return changes_of(backend, begin, task.solution, self._application.name)

    def _leave(self) -> Copy | None:
        """Return the copy of the episode, which is over."""
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        left, self._copy = self._copy, None
        return left

    def close(self) -> None:
        self.abandon()
        if left := self._leave():
            left.close()
