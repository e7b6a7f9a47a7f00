"""The backend of your web application: each episode has its own instance of the application and a copy of its state."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.applications.diagnosis import advice, clock_advice
from webarena_gym.applications.instances import AppInstance
from webarena_gym.applications.processes import AppLauncher, launcher_of
from webarena_gym.applications.static_files import StaticFile, served_file
from webarena_gym.applications.suite import Suite
from webarena_gym.applications.verifiers import Verifiers
from webarena_gym.arguments import suggestion
from webarena_gym.backends.base import Backend, ErrorResponse, page_text, replay_solution, start_page_errors, start_urls
from webarena_gym.backends.needed import unneeded_changes
from webarena_gym.browsers.base import NO_STORAGE, Browser, Storage
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.errors import ApplicationError, HostUnknownError, ServerError, SnapshotError, TaskError
from webarena_gym.evaluators.kinds.state import check_queries
from webarena_gym.logins import is_signed_in, log_in
from webarena_gym.observation import visible_text
from webarena_gym.pages.page import Network, Page
from webarena_gym.tasks import Task
from webarena_gym.texts import first_difference

_MAX_ERRORS = 100  # number of recorded error responses in an episode
_MAX_STATIC_BYTES = 100_000_000  # size of the kept static files of an application
_EXCERPT = 200  # characters of a page in an error message


class ApplicationSnapshot(NamedTuple):
    """The state of an application and the browser on it."""

    application: str
    difference: state.Difference
    browser: object
    page: str | None = None
    """the text of the page, with which the restored page must agree; None in snapshots of earlier versions"""
    client_state: Mapping[str, Any] | None = None
    """the state that pages keep at `Application.client_state`, instead of a difference of files"""
    error_responses: tuple[ErrorResponse, ...] = ()


class ApplicationBackend(Backend):
    """An instance of an application per episode, and a browser that can reach only this instance.

    Args:
        make_browser: makes a browser on the network of an episode.
        application: definition of the application.

    """

    def __init__(self, make_browser: Callable[[Network], Browser], application: Application) -> None:
        self._make_browser = make_browser
        self._current: AppInstance | None = None
        self._connections: list[sqlite3.Connection] = []
        self._solution_changes: dict[tuple[object, ...], Sequence[Change]] = {}
        self._checked_evals: dict[str, Mapping[str, Any]] = {}  # by task id: those with valid queries
        self.initial_database = self._initial_database
        self.error_responses: list[ErrorResponse] = []
        self.rejected_writes: list[ErrorResponse] = []
        self._use_application(application)

    def _use_application(self, application: Application) -> None:
        """Make the next episodes use this application."""
        self.application = application
        self.urls = {f"__{application.name.upper()}__": application.url}
        self.snapshot_error = f"{application.name} keeps state in memory, so its episodes cannot be saved"
        folder = Path(application.folder, application.uploads)
        files = sorted(path for path in folder.iterdir() if path.is_file()) if application.uploads else []
        self._network = Network(
            {application.host: self._serve}, {path.name: path.read_bytes() for path in files}, lambda: self._instance().address
        )
        self._network.ready_selector, self._network.busy_selector = application.shown, application.busy
        self._network.virtual_time = application.virtual_time
        self._network.is_silent = bool(application.client_state)
        if application.clock:
            self._network.clock = datetime.fromisoformat(application.clock).replace(tzinfo=UTC).isoformat()

    def enter(self, task: Task) -> str:
        self._expect_own_addresses(task)
        with start_page_errors(task):
            self.start_episode(task.start_url, signed_in=task.require_login)
        if self._checked_evals.get(task.task_id) is not task.eval:
            check_queries(task.eval, self._initial_database)
            self._checked_evals[task.task_id] = task.eval
        if self.browser.has_failed:
            page, application = self.browser.page(), self.application
            raise TaskError(
                f"the task {task.task_id} begins at {task.start_url!r}, which leads to {page.url}: {visible_text(page.root)[:_EXCERPT]!r}; "
                f"expected a page of {application.url}; if {application.name} has a setting of its public address, set it to that"
            )
        return task.intent

    def _expect_own_addresses(self, task: Task) -> None:
        """Raise TaskError if a task is not about this application."""
        name, where = self.application.name, f"the task {task.task_id}"
        if foreign := [site for site in task.sites if site != name]:
            raise TaskError(f"{where} has the site {foreign[0]!r}; expected {name!r}, the name of the application")
        for url, resolved in zip(task.start_url.split("|AND|"), start_urls(task.start_url, self.urls), strict=True):
            if urlsplit(resolved).netloc != self.application.host:
                path = re.sub(r"^(\w+://[^/]*|__\w+__)?/*", "", url.strip())
                raise TaskError(f"{where} begins at {url.strip()!r}; expected an address such as '__{name.upper()}__/{path}'")
        names = ["", name, *self.application.databases] if self.application.databases else []
        for check in task.eval.get("state") or ():
            if check["site"] not in names:
                expected = (
                    suggestion(check["site"], dict.fromkeys(names[1:])) if names else "expected a database in [databases]"
                )
                raise TaskError(f"{where} checks the state of the site {check['site']!r}; {expected}")

    def start_episode(self, start_url: str, *, signed_in: bool) -> None:
        """Start an instance of the application in its base state and open the start pages. Raises ApplicationError."""
        launcher = self._launcher()
        self._start_instance(launcher, launcher.client_state)
        self.cookies, storage = (launcher.cookies or {}, launcher.storage) if signed_in else ({}, NO_STORAGE)
        if signed_in and self.application.in_memory:
            self.cookies, storage = self._sign_in()
        self.browser.start(start_urls(start_url, self.urls), self.cookies, storage=storage)
        if self.application.client_state:
            launcher.client_state = launcher.client_state or self._first_client_state()
        else:
            launcher.start_next()

    def _first_client_state(self) -> dict[str, Any]:
        """Return the state that the start page sends, which may take longer than the page. Raises ApplicationError after `start_s`."""
        instance, deadline = self._instance(), monotonic() + self.application.start_s
        while True:
            try:
                return instance.read_client_state()
            except ApplicationError:
                if (
                    monotonic() > deadline or not instance.is_alive or isinstance(self.browser, InProcessBrowser)
                ):  # runs no scripts
                    raise
            self.browser.wait()

    def _start_instance(self, launcher: AppLauncher, client_state: Mapping[str, Any] | None) -> None:
        """Start an instance in its base state. With a state of its pages, set that instead, in the current instance if there is one."""
        instance = self._current
        if client_state is None or instance is None or not instance.is_alive:
            instance = launcher.start()
            self._use_instance(instance)
        if self._browser is None:
            self._browser = self._make_browser(self._network)
        if client_state is not None:
            self._clear_errors()
            instance.write_client_state(client_state)

    def _launcher(self) -> AppLauncher:
        """Return the launcher of the application, whose base state includes a login."""
        launcher = launcher_of(self.application)

        def sign_in(instance: AppInstance) -> tuple[Mapping[str, Mapping[str, str]], Storage]:
            if self.application.in_memory:
                return {}, NO_STORAGE
            self._use_instance(instance)
            return self._sign_in()

        launcher.prepare(sign_in)
        return launcher

    def _sign_in(self) -> tuple[Mapping[str, Mapping[str, str]], Storage]:
        application = self.application
        if application.login is None or application.account is None:
            return {}, NO_STORAGE
        self.browser.start([], {})
        if is_signed_in(self.browser, application.login, application.url, application.account, self.status_of):
            raise ApplicationError(
                f"login: the proof page {application.login.proof!r} also opens for signed-out users;"
                " name a page that redirects them or asks for the password, or set login.word to a word that only signed-in users see"
            )
        try:
            log_in(self.browser, application.login, application.url, application.account, self.status_of)
        except ServerError as error:
            names = ", ".join(sorted(self._instance().secure_cookies))
            hint = (
                f". Browsers reject cookies with the attribute Secure over http: {names}; change that setting" if names else ""
            )
            raise ApplicationError(f"{error}{hint}{advice(application, self.log_tail())}") from error
        cookies: dict[str, str] = {cookie["name"]: cookie["value"] for cookie in self.browser.cookies()}
        return {application.host: cookies}, self.browser.storage()

    def status_of(self, url: str) -> int:
        """Return the status of the response to a GET request with the browser's cookies; 0 for another host."""
        cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.browser.cookies())
        try:
            return self._network.request("GET", url, {"Cookie": cookies} if cookies else {}).status
        except HostUnknownError:
            return 0

    def _use_instance(self, instance: AppInstance) -> None:
        """Replace the current instance of the episode."""
        if old := self._release_instance():
            launcher_of(self.application).end(old)
        self._current = instance
        self._clear_errors()
        if self._browser is None:
            self._browser = self._make_browser(self._network)

    def _clear_errors(self) -> None:
        self._network.errors.clear()
        self.error_responses.clear()
        self.rejected_writes.clear()

    def _serve(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        instance = self._instance()

        def record_status(status: str, headers: list[tuple[str, str]]) -> Any:
            is_image = environ.get("HTTP_ACCEPT", "").startswith("image/")  # which not all browsers load
            method = environ["REQUEST_METHOD"]
            is_write = "400" <= status < "500" and method not in ("GET", "HEAD", "OPTIONS")
            responses = self.error_responses if status >= "500" and not is_image else self.rejected_writes if is_write else None
            if responses is not None and len(responses) < _MAX_ERRORS:
                url = self.application.url + quote(environ["PATH_INFO"].encode("latin-1"))
                responses.append(ErrorResponse(method, url, status))
            return start_response(status, headers)

        try:
            return self._forward(instance, environ, record_status)
        except ApplicationError:
            if instance is self._current:
                raise
            raise HostUnknownError("the request belongs to an episode that has ended") from None

    def _forward(self, instance: AppInstance, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return instance.wsgi(environ, start_response)

    @property
    def site_errors(self) -> Sequence[str]:  # type: ignore[override]  # the base has an attribute
        """Errors of the current episode. A crash of the application is detected without a request, as pages may only listen."""
        errors = self._network.errors
        if not errors and self._current is not None and not self._current.is_alive:
            errors.append(f"{self.application.name} has died: {self._current.tail()}")
        return errors

    def log_tail(self) -> str:
        """Return the end of the application's log, which has the tracebacks of its exceptions; empty if nothing is logged."""
        return self._current.log_tail() if self._current else ""

    def _instance(self) -> AppInstance:
        if self._current is None:
            raise LookupError("the application is not running yet: call enter(task) first")
        return self._current

    @property
    def network(self) -> Network:
        return self._network

    def database(self, site: str) -> sqlite3.Connection:
        return self._open_database(site, self._saved_state)

    def _initial_database(self, site: str) -> sqlite3.Connection:
        return self._open_database(site, lambda: launcher_of(self.application).base)

    def _open_database(self, site: str, folder: Callable[[], Path]) -> sqlite3.Connection:
        databases = self.application.databases
        path = databases.get(site) or (next(iter(databases.values()), None) if site in ("", self.application.name) else None)
        if path is None:
            raise KeyError(site)
        self._connections.append(state.open_database(state.database_file(folder(), path)))
        return self._connections[-1]

    @property
    def files(self) -> Path | None:
        return self._saved_state()

    def _saved_state(self) -> Path:
        """Save state that the application keeps elsewhere, such as in a database server, and return the state folder."""
        self._instance().save()
        return self._instance().state

    def changes(self) -> list[Change]:
        application, launcher = self.application, launcher_of(self.application)
        if application.client_state:
            now = self._instance().read_client_state()
            return state.json_changes(application.name, launcher.client_state or {}, now, application.incidental)
        folders = launcher.base, self._saved_state()
        return state.changes(application.name, *folders, application.databases, application.incidental, self._own_names)

    def unneeded_changes(self, task: Task) -> Sequence[Change] | str:
        if self.application.client_state:
            return super().unneeded_changes(task)
        base = launcher_of(self.application).base
        return unneeded_changes(task, self.application, base, self._saved_state(), self._own_names)

    @property
    def _own_names(self) -> tuple[str, str]:
        """The environment's name in the base state and in that of the episode, where `load` may have written it into files."""
        launcher = launcher_of(self.application)
        return (launcher.own_name, self._instance().own_name) if self.application.load else ("", "")

    def snapshot(self) -> ApplicationSnapshot:
        if self.application.in_memory:
            raise SnapshotError(self.snapshot_error)
        if self.application.client_state:
            difference: state.Difference = {}
            client_state = self._instance().read_client_state()
        else:
            difference, client_state = state.difference(launcher_of(self.application).base, self._saved_state()), None
        browser, page = self.browser.snapshot(), page_text(self.browser.page())
        return ApplicationSnapshot(self.application.name, difference, browser, page, client_state, tuple(self.error_responses))

    def restore(self, snapshot: object) -> Page | None:
        if not isinstance(snapshot, ApplicationSnapshot) or snapshot.application != self.application.name:
            raise SnapshotError(
                f"expected a snapshot of {self.application.name}, got {getattr(snapshot, 'application', type(snapshot).__name__)}"
            )
        launcher = self._launcher()
        if self.application.client_state:
            self._start_instance(launcher, snapshot.client_state)
        else:
            self._use_instance(launcher.start(snapshot.difference))
        self.browser.restore(snapshot.browser)
        if not self.application.client_state:
            launcher.start_next()
        elif self._instance().read_client_state() != snapshot.client_state:
            raise SnapshotError(
                f"the page {self.browser.page().url} changes the state of {self.application.name} as it is loaded"
            )
        page = self.browser.page()
        if snapshot.page is not None and (difference := first_difference(snapshot.page, page_text(page))):
            raise SnapshotError(
                f"the page {self.browser.page().url} cannot be restored: its scripts keep state in the page, {difference}."
                " Replay the actions from the start of the episode instead"
            )
        self.error_responses[:] = snapshot.error_responses
        return page

    def can_replay(self, snapshot: object) -> bool:
        return (
            isinstance(snapshot, ApplicationSnapshot)
            and (snapshot.application, snapshot.page is None) == (self.application.name, False)
            and not self.application.load  # each start has another name in the data
        )

    def check_replay(self, snapshot: ApplicationSnapshot) -> None:
        assert snapshot.page is not None
        problem = f"the page {self.browser.page().url} cannot be restored, and after a replay of the actions"
        if difference := first_difference(snapshot.page, page_text(self.browser.page())):
            raise SnapshotError(f"{problem} it differs: {difference}")
        if self.application.client_state:
            return
        with TemporaryDirectory(prefix="webarena-gym-") as name:
            state.copy_folder(launcher_of(self.application).base, Path(name))
            state.apply(snapshot.difference, Path(name))
            application = self.application
            changes = state.changes(
                application.name, Path(name), self._saved_state(), application.databases, application.incidental
            )
        if changes:
            raise SnapshotError(
                f"{problem} the data differ: {changes[0]}; {clock_advice(self.application)}, or list what varies in incidental="
            )

    def reference_changes(self, task: Task) -> Sequence[Change] | str:
        """Return the changes of a task's reference solution, or the reason why it cannot be replayed. It is replayed once, in another instance."""
        key = self.application.name, task.start_url, task.require_login, task.solution
        if key not in self._solution_changes:
            backend = ApplicationBackend(self._make_browser, self.application)
            start_episode = partial(backend.start_episode, task.start_url, signed_in=task.require_login)
            changes = replay_solution(backend, start_episode, task.solution, self.application.name)
            if isinstance(changes, str):
                return changes
            self._solution_changes[key] = changes
        return self._solution_changes[key]

    def _release_instance(self) -> AppInstance | None:
        """Close the connections to the current instance and return it; None if there is none."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        instance, self._current = self._current, None
        return instance

    def close(self) -> None:
        self.discard_browser()
        if instance := self._release_instance():
            instance.close()


class SuiteBackend(ApplicationBackend):
    """The applications of a suite, one at a time, and the process of its verifiers.

    Args:
        make_browser: makes a browser on the network of an episode.
        suite: the suite.

    """

    def __init__(self, make_browser: Callable[[Network], Browser], suite: Suite) -> None:
        super().__init__(make_browser, next(iter(suite.applications.values())))
        self._suite = suite
        self._verifiers = Verifiers(suite)
        self._idle: dict[str, AppInstance] = {}  # by application, to be used again where an episode starts by setting a state
        self.verify = self._verify

    def enter(self, task: Task) -> str:
        self._switch_to(task.sites[0])
        self._verifiers.start()
        return super().enter(task)

    def restore(self, snapshot: object) -> Page | None:
        if isinstance(snapshot, ApplicationSnapshot) and snapshot.application in self._suite.applications:
            self._switch_to(snapshot.application)
        return super().restore(snapshot)

    def _switch_to(self, name: str) -> None:
        """Close the episode of another application, and use this one."""
        application = self._suite.applications.get(name, self.application)
        if application is not self.application:
            self.discard_browser()
            instance = self._release_instance()
            if instance and self.application.client_state:
                self._idle[self.application.name] = instance
            elif instance:
                launcher_of(self.application).end(instance)
            self._use_application(application)
            self._current = self._idle.pop(name, None)

    def _forward(self, instance: AppInstance, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Forward a request, but request static files only once, and again when they change, if the server keeps no other state."""
        if not self.application.client_state or environ["REQUEST_METHOD"] != "GET" or environ["QUERY_STRING"]:
            return super()._forward(instance, environ, start_response)
        files, path = launcher_of(self.application).static_files, environ["PATH_INFO"]
        key = (path, environ.get("HTTP_ACCEPT", ""))  # some servers return a page instead of a missing file to browsers

        def keep(status: str, headers: list[tuple[str, str]]) -> Any:
            head.extend((status, headers))
            return start_response(status, headers)

        head: list[Any] = []
        response = files.pop(key, None)
        if response is not None and response.is_current:
            files[key] = response
            start_response(response.status, list(response.headers))
            return [response.content]
        content = b"".join(super()._forward(instance, environ, keep))
        status, headers = head
        if status.startswith("200") and any(name.lower() == "last-modified" for name, _ in headers):
            size = sum(len(entry.content) for entry in files.values()) + len(content)  # many paths may lead to one file
            source = served_file(Path(self.application.folder), path, content) if size <= _MAX_STATIC_BYTES else None
            if source is not None:
                files[key] = StaticFile(*source, status, tuple(headers), content)
        return [content]

    def _verify(self, file: str) -> tuple[bool, str]:
        return self._verifiers.verify(file, self._instance())

    def close(self) -> None:
        super().close()
        while self._idle:
            self._idle.popitem()[1].close()
        self._verifiers.close()
