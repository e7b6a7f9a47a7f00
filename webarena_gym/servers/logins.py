"""Signing in to web applications through a browser, and how that is seen."""

from collections.abc import Mapping

from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from webarena_gym.browsers.base import Browser
from webarena_gym.errors import ActionError, ServerError
from webarena_gym.observation import visible_text
from webarena_gym.pages.page import Page
from webarena_gym.servers.accounts import Account
from webarena_gym.sites.catalogue import SITE_NAME, SITES
from webarena_gym.sites.catalogue import Login as Login

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
        raise ServerError(
            f"{account.user} could not sign in at {address}; after the form, {after.url} showed: "
            f"{visible_text(after.root)[:_SHOWN]!r}"
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
