"""The backend of real servers: each task starts signed in on its start pages. Other users may use the servers at the same time.

Changes of an episode persist, since the env cannot reset the servers. So there are no databases and no snapshots.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from webarena_gym.addresses import Account, hosts, placeholders, resolve
from webarena_gym.backends.base import Backend, start_page_errors, start_urls
from webarena_gym.errors import ServerError
from webarena_gym.logins import LOGINS, Login, Sessions, login_sites
from webarena_gym.tasks import Task

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser


class LiveSitesBackend(Backend):
    """Real servers and a browser that can reach only them.

    Args:
        make_browser: makes a browser that can reach these hosts, each "name" or "name:port".
        addresses: base URL by site.
        accounts: account by site, for tasks that require a login.
        logins: login form by site.
        folder: folder of saved sessions (storage states).

    """

    snapshot_error = "real servers cannot be saved; snapshots need the embedded sites (sites=None)"
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
        """Sign in as the task requires, open its start pages and return its goal. Raises ServerError."""
        missing = [site for site in task.sites if site not in self._addresses]
        if missing:
            raise ServerError(f"the task {task.task_id} needs {missing[0]}, but sites= names only {', '.join(self._addresses)}")
        if self._browser is None:
            self._browser = self._make_browser(self._hosts)
        sites = login_sites(task.sites, task.storage_state, require_login=task.require_login)
        stored_cookies = self._sessions.cookies(self._browser, sites)
        with start_page_errors(task):
            self._browser.start(
                start_urls(task.start_url, self.urls), {}, stored_cookies=stored_cookies, geolocation=task.geolocation
            )
        return resolve(task.intent, self.urls)
