"""Signing in to web applications through a browser, and how that is seen."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from webarena_gym.browsers.base import Browser
from webarena_gym.errors import ActionError, ServerError
from webarena_gym.observation import visible_text
from webarena_gym.pages.page import Page
from webarena_gym.sites.catalogue import SITE_NAME, SITES
from webarena_gym.sites.catalogue import Account as Account
from webarena_gym.sites.catalogue import Login as Login
from webarena_gym.sites.world import cache_folder

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser

PUBLISHED: Mapping[str, Account] = {name: entry.account for name, entry in SITES.items() if entry.account}
"""The log-in forms of WebArena's own servers, by site."""


def account_of(
    site: str, given: Mapping[str, Account] | None = None, environment: Mapping[str, str] | None = None
) -> Account | None:
    """Return the account of a site: what is given, else $WEBARENA_GYM_<SITE>_USER and _PASSWORD, else the published one.

    None means that the site has none.

    >>> account_of("gitlab", environment={"WEBARENA_GYM_GITLAB_PASSWORD": "other"}).user
    'byteblaze'
    """
    if given and site in given:
        return given[site]
    values = os.environ if environment is None else environment
    published = PUBLISHED.get(site)
    user = values.get(f"WEBARENA_GYM_{site.upper()}_USER", published.user if published else "")
    password = values.get(f"WEBARENA_GYM_{site.upper()}_PASSWORD", published.password if published else "")
    return Account(user, password) if user else None


_SHOWN = 200  # characters of a page that a message tells

LOGINS: Mapping[str, Login] = {name: entry.login for name, entry in SITES.items() if entry.login}
"""Those of WebArena's applications, by site; the others need none."""


def read_logins(given: Mapping[str, Login] | None = None) -> dict[str, Login]:
    """Return those that are given, and WebArena's for the other sites. Raises ServerError for an unknown site, and for what is none.

    >>> read_logins({"map": Login("/sign-in", "#user", "#password", "/me")})["map"].path
    '/sign-in'
    """
    for site, login in (given or {}).items():
        if not SITE_NAME.fullmatch(site):
            raise ServerError(f"{site!r} is no name of a site; expected lower-case letters, digits and underscores")
        if not isinstance(login, Login):
            raise ServerError(f"the login of {site} is {login!r}; expected a Login(path, user, password, proof)")
    return {**LOGINS, **(given or {})}


def log_in(browser: Browser, login: Login, base_url: str, account: Account) -> None:
    """Sign in through the form, in the active tab, and make sure of it. Raises ServerError that says how far it came."""
    address = base_url + login.path
    browser.goto(address)
    try:
        browser.type(_field(browser.page(), login.user, "the user", address), account.user)
        browser.type(_field(browser.page(), login.password, "the password", address), account.password, enter=True)
    except ActionError as error:
        raise ServerError(f"the form at {address} cannot be used: {error}") from error
    after = browser.page()
    if not is_signed_in(browser, login, base_url, account):
        proof = browser.page()
        raise ServerError(
            f"{account.user} could not sign in at {address}; after the form, {after.url} showed: "
            f"{visible_text(after.root)[:_SHOWN]!r}, and then the page of proof, {proof.url}: {visible_text(proof.root)[:_SHOWN]!r}"
        )


def is_signed_in(browser: Browser, login: Login, base_url: str, account: Account) -> bool:
    """Open the page of proof in the active tab and say whether it shows that one is signed in."""
    address = base_url + login.proof.replace("{user}", account.user)
    browser.goto(address)
    page = browser.page()
    if login.word:
        return login.word in visible_text(page.root)
    stayed = _bare(page.url) == _bare(address) and not browser.has_failed
    return stayed and _find(page, login.password) is None


def _bare(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].rstrip("/")


def _field(page: Page, selector: str, what: str, address: str) -> HtmlElement:
    found = _find(page, selector)
    if found is None:
        raise ServerError(
            f"there is no field for {what} ({selector}) at {address}, but {page.url}: {visible_text(page.root)[:_SHOWN]!r}"
        )
    return found


def _find(page: Page, selector: str) -> HtmlElement | None:
    found: list[HtmlElement] = CSSSelector(selector, translator="html")(page.root)
    return found[0] if found else None


def login_sites(sites: tuple[str, ...], storage_state: str | None, *, require_login: bool) -> tuple[str, ...]:
    """Return the sites on which a task begins signed in: those that its storage state is named for, else all of its own.

    A file such as ./.auth/gitlab.reddit_state.json is never read; only its name counts.
    """
    if not require_login:
        return ()
    name, mark, _ = Path(storage_state or "").name.rpartition("_state.json")
    named = tuple(name.split(".")) if mark else ()
    return named if named and all(site in SITES for site in named) else sites


Cookie = Mapping[str, Any]
"""One cookie, as Playwright's storage states hold it."""


class Sessions:
    """The sessions on some servers, each kept in a file that only its owner may read, by default in the cache folder.

    The files are Playwright's storage states, without the part for localStorage, which none of the applications needs. A site without a
    log-in form needs no session; `account_of` says who is signed in where `accounts` leave a site out.
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

        The browser is used to try each session on a page that needs it, and to sign in anew where that shows it to be over. It
        is left in any state: `start` it after this. Raises ServerError for a login that is refused.
        """
        found: list[Cookie] = []
        for site in (site for site in sites if site in self._logins):
            login, address, account, path = self._logins[site], self._address(site), self._account(site), self.path(site)
            stored_cookies = read_cookies(path)
            browser.start([], {}, stored_cookies=stored_cookies)
            if not stored_cookies or not is_signed_in(browser, login, address, account):
                browser.start([], {})
                log_in(browser, login, address, account)
            cookies = browser.cookies()  # an application may have changed them while it was asked
            write_cookies(path, cookies)
            found += cookies
        return found

    def path(self, site: str) -> Path:
        """Return the file of a site's session. Raises ServerError for a site without address or account."""
        account = self._account(site)
        digest = hashlib.sha256(f"{self._address(site)} {account.user}".encode()).hexdigest()[:12]
        return self._folder / f"{site}-{digest}.json"

    def _address(self, site: str) -> str:
        if site not in self._addresses:
            raise ServerError(f"sites= names no address for {site}")
        return self._addresses[site]

    def _account(self, site: str) -> Account:
        account = account_of(site, self._accounts)
        if account is None:
            name = f"WEBARENA_GYM_{site.upper()}"
            raise ServerError(f"there is no account for {site}; give accounts=, or set {name}_USER and {name}_PASSWORD")
        return account


def read_cookies(path: Path) -> list[dict[str, Any]]:
    """Return the cookies of a storage state; none when there is no such file, or no sense in it."""
    try:
        cookies = json.loads(path.read_text(encoding="utf-8"))["cookies"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return cookies if isinstance(cookies, list) and all(isinstance(cookie, dict) for cookie in cookies) else []


def write_cookies(path: Path, cookies: Sequence[Cookie]) -> None:
    """Write a storage state that only its owner may read, whole or not at all. Raises ServerError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # with mode 600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"cookies": [dict(cookie) for cookie in cookies], "origins": []}, file, indent=1)
        os.replace(name, path)
    except OSError as error:
        raise ServerError(f"the session cannot be kept in {path}: {error.strerror}") from error
