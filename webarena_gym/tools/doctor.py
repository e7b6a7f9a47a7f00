"""The checks of `webarena-gym doctor`: the cache, the browsers, and real servers with their logins."""

import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webarena_gym.addresses import Account, hosts
from webarena_gym.arguments import reason_of
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.clients.rest import RefusedError, request
from webarena_gym.errors import BrowserError, ServerError
from webarena_gym.logins import LOGINS, Login, Sessions
from webarena_gym.pages.page import Network
from webarena_gym.sites.world import cache_folder

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser

_ANSWER_S = 10.0
_INSTALL = "playwright install chromium (or apt-get install chromium, or a path in WEBARENA_GYM_CHROMIUM)"


class Diagnostic(NamedTuple):
    """A check of the installation: its subject, its result, a description and, if it failed, the remedy.

    A failed check that `is_optional` does not make the installation unusable: it names something that can be added.
    """

    what: str
    is_well: bool
    result: str
    advice: str = ""
    is_optional: bool = False


def examine(
    addresses: Mapping[str, str],
    *,
    browser: str | None = None,
    accounts: Mapping[str, Account] | None = None,
    logins: Mapping[str, Login] = LOGINS,
    folder: Path | None = None,
) -> Iterator[Diagnostic]:
    """Yield the result of each check as soon as it is known: of the cache, the browsers, the servers and their logins.

    Args:
        addresses: URLs of real servers by site; may be empty.
        browser: "chromium" requires Chromium, "inprocess" does not look for it. By default Chromium is required for real servers,
            which the in-process browser cannot reach, and optional otherwise.
        accounts: accounts of the servers by site.
        logins: how to sign in, by site.
        folder: the cache; by default the package's own.

    """
    folder = folder or cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            yield Diagnostic("cache", True, f"{folder} can be written")
    except OSError as error:
        yield Diagnostic("cache", False, f"{folder}: {reason_of(error)}", "name another folder in WEBARENA_GYM_CACHE")
    InProcessBrowser(Network({})).close()
    yield Diagnostic("in-process browser", True, "works without further packages; for the embedded sites")
    chromium = None
    if browser != "inprocess":
        finding, chromium = _chromium(hosts(addresses) if addresses else frozenset())
        yield finding._replace(is_optional=browser is None and not addresses)
    try:
        for site, address in addresses.items():
            answer = _answer(site, address)
            yield answer
            if site in logins and chromium is not None and answer.is_well:
                sessions = Sessions(addresses, accounts=accounts, logins=logins, folder=folder / "sessions")
                try:
                    yield Diagnostic(f"{site} login", True, f"{len(sessions.cookies(chromium, [site]))} cookies")
                except (ServerError, BrowserError) as error:
                    names = f"WEBARENA_GYM_{site.upper()}_USER and _PASSWORD"
                    advice = f"is the account right ({names}), and the server set up for this address?"
                    yield Diagnostic(f"{site} login", False, str(error), advice)
    finally:
        if chromium is not None:
            chromium.close()


def _chromium(allowed: frozenset[str]) -> "tuple[Diagnostic, ChromiumBrowser | None]":
    """Start Chromium, which may reach the `allowed` hosts, and return it if it works."""
    name = "Chromium"
    missing = [package for package in ("h11", "PIL", "playwright") if find_spec(package) is None]
    if missing:
        problem = f"the packages of the extra chromium are not installed: {', '.join(missing)} not found"
        return Diagnostic(name, False, problem, f"pip install 'webarena-gym[chromium]', then {_INSTALL}"), None
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - the extra is optional
    from webarena_gym.browsers.chromium.driver import NOT_FOUND  # noqa: PLC0415

    chromium = None
    try:
        chromium = ChromiumBrowser(None, hosts=allowed)
        chromium.start([], {})
        version = chromium.run_script("navigator.userAgent")
    except BrowserError as error:
        if chromium is not None:
            chromium.close()
        by_hand = "start it by hand to see why; in a container it may need more shared memory, or --ipc=host"
        return Diagnostic(name, False, str(error), _INSTALL if str(error).startswith(NOT_FOUND) else by_hand), None
    return Diagnostic(name, True, f"starts: {version}"), chromium


def _answer(site: str, address: str) -> Diagnostic:
    try:
        request(address, headers={"User-Agent": "webarena-gym"}, timeout_s=_ANSWER_S)
    except RefusedError as error:
        if not 300 <= error.status < 400:
            advice = (
                "the application behind it has failed: look into its log, or restart it"
                if error.status >= 500
                else "is the address right, with its port and path?"
                if error.status
                else "is the server running, and can this machine reach it?"
            )
            return Diagnostic(site, False, str(error), advice)
    return Diagnostic(site, True, f"{address} answers")
