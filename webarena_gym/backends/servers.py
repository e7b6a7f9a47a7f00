"""Real servers as a backend of an env: each task begins signed in, at its first pages, on servers that others may use as well.

What an episode changes there stays changed: resetting is the servers' own business. So there are no databases, and no snapshots.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from webarena_gym.backends.base import Backend, first_pages, opening
from webarena_gym.errors import ServerError
from webarena_gym.servers.addresses import hosts, placeholders, resolve
from webarena_gym.servers.logins import LOGINS, Account, Login, Sessions, login_sites
from webarena_gym.tasks import Task

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser


class ServerBackend(Backend):
    """Servers by their base URLs, by site, and a browser that can reach them, host by host and port, and nothing else."""

    not_saved = "real servers cannot be saved; snapshots need the embedded sites (sites=None)"
    _browser: "ChromiumBrowser | None" = None

    def __init__(
        self,
        make_browser: Callable[[frozenset[str]], "ChromiumBrowser"],
        addresses: Mapping[str, str],
        *,
        accounts: Mapping[str, Account] | None = None,
        logins: Mapping[str, Login] = LOGINS,
        folder: Path | None = None,
    ) -> None:
        self.urls = placeholders(addresses)
        self._make_browser = make_browser
        self._hosts = hosts(addresses)
        self._addresses = addresses
        self._sessions = Sessions(addresses, accounts=accounts, logins=logins, folder=folder)

    def enter(self, task: Task) -> str:
        """Sign in where the task wants it, open its first pages, and return its goal. Raises ServerError."""
        missing = [site for site in task.sites if site not in self._addresses]
        if missing:
            raise ServerError(f"the task {task.task_id} needs {missing[0]}, but sites= names only {', '.join(self._addresses)}")
        if self._browser is None:
            self._browser = self._make_browser(self._hosts)
        begun = login_sites(task.sites, task.storage_state, require_login=task.require_login)
        stored = self._sessions.cookies(self._browser, begun)
        with opening(task):
            self._browser.start(first_pages(task.start_url, self.urls), {}, stored=stored, geolocation=task.geolocation)
        return resolve(task.intent, self.urls)
