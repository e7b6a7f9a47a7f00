"""Log-ins to web applications through a browser: log-in forms, checks for a session, and stored sessions."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cssselect import SelectorError
from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from webarena_gym.addresses import Account, find_account
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError, ServerError
from webarena_gym.observation import visible_text
from webarena_gym.pages.page import Page
from webarena_gym.sites.catalogue import SITE_NAME, SITES
from webarena_gym.sites.catalogue import Login as Login
from webarena_gym.sites.world import cache_folder

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser

_EXCERPT = 200  # characters of a page in an error message

LOGINS: Mapping[str, Login] = {name: entry.login for name, entry in SITES.items() if entry.login}
"""The log-in forms of WebArena's applications, by site. Sites without one need no log-in."""


def read_logins(logins: Mapping[str, Login] | None = None) -> dict[str, Login]:
    """Return the log-in forms by site: `logins`, and those of WebArena for all other sites.

    Raises ServerError for an invalid site name, and for a value that is not a Login.

    >>> read_logins({"map": Login("/sign-in", "#user", "#password", "/me")})["map"].path
    '/sign-in'
    """
    for site, login in (logins or {}).items():
        if not SITE_NAME.fullmatch(site):
            raise ServerError(f"invalid site name {site!r}; expected lower-case letters, digits and underscores")
        if not isinstance(login, Login):
            raise ServerError(f"the login of {site} is {login!r}; expected a Login(path, user, password, proof)")
    return {**LOGINS, **(logins or {})}


StatusOf = Callable[[str], int]
"""Function that returns the status of the response to a GET request with the browser's cookies."""


def log_in(browser: Browser, login: Login, base_url: str, account: Account, status_of: StatusOf | None = None) -> None:
    """Log in through the form, in the active tab, and check the result with `is_signed_in`.

    Raises ServerError with the failed step: a missing field, a form that cannot be used, or a refused log-in.
    """
    address = base_url + login.path
    browser.goto(address)
    try:
        browser.type(_field(browser.page(), login.user, "user", address), account.user)
        browser.type(_field(browser.page(), login.password, "password", address), account.password, enter=True)
    except ActionError as error:
        has_scripts = next(browser.page().root.iter("script"), None) is not None
        hint = (
            '; the page has scripts, which browser="chromium" runs'
            if isinstance(browser, InProcessBrowser) and has_scripts
            else ""
        )
        raise ServerError(f"the form at {address} cannot be used: {error}{hint}") from error
    after = browser.page()
    if not is_signed_in(browser, login, base_url, account, status_of):
        proof = browser.page()
        status = status_of(proof.url) if status_of else 0
        missing = f" It does not contain the word {login.word!r}." if login.word else ""
        is_accepted = _find(after, login.password) is None
        problem = (
            f"the form at {address} seems to accept {account.user}, but the proof page does not show a signed-in user"
            if is_accepted
            else f"{account.user} could not sign in at {address}"
        )
        expected = (
            "a proof page that redirects signed-out users or asks them for the password, but not signed-in users, or a `word` that only these see"
            if is_accepted
            else "an account that the form accepts, and a proof page for signed-in users only"
        )
        raise ServerError(
            f"{problem}. The form led to {after.url}: {visible_text(after.root)[:_EXCERPT]!r}. "
            f"The proof page led to {proof.url}{f' (status {status})' if status else ''}: {visible_text(proof.root)[:_EXCERPT]!r}.{missing}"
            f" Expected {expected}"
        )


def is_signed_in(browser: Browser, login: Login, base_url: str, account: Account, status_of: StatusOf | None = None) -> bool:
    """Open the proof page of a log-in in the active tab; return True if it shows a signed-in user.

    With `login.word`, the page must contain that text. Otherwise the browser must not be redirected, and the page must not have
    the password field. With `status_of`, the status of the page must be below 400.
    """
    address = base_url + login.proof.replace("{user}", account.user)
    browser.goto(address)
    page = browser.page()
    if status_of is not None and status_of(page.url) >= 400:
        return False
    if login.word:
        return login.word in visible_text(page.root)
    has_arrived = _without_query(page.url) == _without_query(address) and not browser.has_failed
    return has_arrived and _find(page, login.password) is None


def _without_query(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].rstrip("/")


def _field(page: Page, selector: str, name: str, address: str) -> HtmlElement:
    field = _find(page, selector)
    if field is None:
        raise ServerError(
            f"no {name} field ({selector}) at {address}, which led to {page.url}: {visible_text(page.root)[:_EXCERPT]!r}; "
            f"expected a CSS selector of one of its fields: {', '.join(map(_describe, page.root.iter('input'))) or 'it has none'}"
        )
    return field


def _find(page: Page, selector: str) -> HtmlElement | None:
    try:
        elements: list[HtmlElement] = CSSSelector(selector, translator="html")(page.root)
    except SelectorError as error:
        raise ServerError(
            f"the login field {selector!r} is not a CSS selector: {error}; expected one such as [name=user]"
        ) from error
    return elements[0] if elements else None


def _describe(field: HtmlElement) -> str:
    """Return a CSS selector of a field, by the attributes that identify it."""
    values = {name: field.get(name) for name in ("id", "name", "type") if field.get(name)}
    return f"input{''.join(f'[{name}={json.dumps(value)}]' for name, value in values.items())}"


def login_sites(sites: tuple[str, ...], storage_state: str | None, *, require_login: bool) -> tuple[str, ...]:
    """Return the sites on which a task starts signed in.

    Args:
        sites: all sites of the task, returned if the file name holds no site names.
        storage_state: file name of the task's storage state, such as ./.auth/gitlab.reddit_state.json. Only the site names in it
            are used; the file is never read.
        require_login: whether the task needs a log-in; without it the result is empty.

    """
    if not require_login:
        return ()
    name, suffix, _ = Path(storage_state or "").name.rpartition("_state.json")
    state_sites = tuple(name.split(".")) if suffix else ()
    return state_sites if state_sites and all(site in SITES for site in state_sites) else sites


Cookie = Mapping[str, Any]
"""A cookie in the format of Playwright's storage states."""


class Sessions:
    """Stored sessions on servers, each in a file that only its owner may read.

    The files are Playwright storage states without localStorage, which none of the applications needs. Sites without a log-in form
    need no session.

    Args:
        addresses: base URLs by site.
        accounts: accounts by site; `find_account` supplies the others.
        logins: log-in forms by site.
        folder: folder of the files; by default `sessions` in the cache folder.

    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        *,
        accounts: Mapping[str, Account] | None = None,
        logins: Mapping[str, Login] = LOGINS,
        folder: Path | None = None,
    ) -> None:
        self._addresses = addresses
        self._accounts = accounts
        self._logins = logins
        self._folder = folder or cache_folder() / "sessions"

    def cookies(self, browser: "ChromiumBrowser", sites: Iterable[str]) -> list[Cookie]:
        """Return the cookies of signed-in sessions on all these sites.

        Each stored session is checked on the proof page of its site, and replaced by a new log-in if it has expired. The state of the
        browser is undefined afterwards: `start` it again. Raises ServerError for a refused log-in.
        """
        all_cookies: list[Cookie] = []
        for site in (site for site in sites if site in self._logins):
            login, address, account, path = self._logins[site], self._address(site), self._account(site), self.path(site)
            stored_cookies = read_cookies(path)
            browser.start([], {}, stored_cookies=stored_cookies)
            if not stored_cookies or not is_signed_in(browser, login, address, account):
                browser.start([], {})
                log_in(browser, login, address, account)
            cookies = browser.cookies()  # the check may have changed them
            write_cookies(path, cookies)
            all_cookies += cookies
        return all_cookies

    def path(self, site: str) -> Path:
        """Return the path of a site's session file. Raises ServerError for a site without address or account."""
        account = self._account(site)
        digest = hashlib.sha256(f"{self._address(site)} {account.user}".encode()).hexdigest()[:12]
        return self._folder / f"{site}-{digest}.json"

    def _address(self, site: str) -> str:
        if site not in self._addresses:
            raise ServerError(f"no address for {site} in sites={sorted(self._addresses)}")
        return self._addresses[site]

    def _account(self, site: str) -> Account:
        account = find_account(site, self._accounts)
        if account is None:
            name = f"WEBARENA_GYM_{site.upper()}"
            raise ServerError(f"no account for {site}; pass accounts=, or set {name}_USER and {name}_PASSWORD")
        return account


def read_cookies(path: Path) -> list[dict[str, Any]]:
    """Return the cookies of a storage state file; an empty list if the file is missing or malformed."""
    try:
        cookies = json.loads(path.read_text(encoding="utf-8"))["cookies"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return cookies if isinstance(cookies, list) and all(isinstance(cookie, dict) for cookie in cookies) else []


def write_cookies(path: Path, cookies: Sequence[Cookie]) -> None:
    """Write a storage state atomically, to a file that only its owner may read. Raises ServerError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # with mode 600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"cookies": [dict(cookie) for cookie in cookies], "origins": []}, file, indent=1)
        os.replace(name, path)
    except OSError as error:
        raise ServerError(f"cannot write the session to {path}: {error.strerror}") from error
