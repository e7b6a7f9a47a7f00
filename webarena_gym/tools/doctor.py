"""The checks of `webarena-gym doctor`: whether what an env needs on this machine, and on real servers, is there and works."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import BrowserError, ServerError
from webarena_gym.pages.page import Network
from webarena_gym.servers.addresses import hosts
from webarena_gym.servers.logins import LOGINS, Account, Login, Sessions
from webarena_gym.servers.rest import RefusedError, request
from webarena_gym.sites.world import cache_folder

if TYPE_CHECKING:
    from webarena_gym.browsers.chromium.browser import ChromiumBrowser

_ANSWER_S = 10.0


class Finding(NamedTuple):
    """A check of the installation: its subject, its result, its finding and, if it is not well, the remedy."""

    what: str
    is_well: bool
    seen: str
    advice: str = ""


def examine(
    addresses: Mapping[str, str],
    *,
    browser: str = "chromium",
    accounts: Mapping[str, Account] | None = None,
    logins: Mapping[str, Login] = LOGINS,
    folder: Path | None = None,
) -> Iterator[Finding]:
    """Yield findings, as soon as there is one, about the cache, the browser, the servers and the logins.

    `addresses` may be empty: then there are no servers to look at. `folder` is the cache; by default the package's own.
    """
    folder = folder or cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            yield Finding("cache", True, f"{folder} can be written")
    except OSError as error:
        yield Finding("cache", False, str(error), "name another folder in WEBARENA_GYM_CACHE")
    finding, chromium = _browser(browser, hosts(addresses) if addresses else frozenset())
    yield finding
    try:
        for site, address in addresses.items():
            answer = _answer(site, address)
            yield answer
            if site in logins and chromium is not None and answer.is_well:
                sessions = Sessions(addresses, accounts=accounts, logins=logins, folder=folder / "sessions")
                try:
                    yield Finding(f"{site} login", True, f"{len(sessions.cookies(chromium, [site]))} cookies")
                except (ServerError, BrowserError) as error:
                    names = f"WEBARENA_GYM_{site.upper()}_USER and _PASSWORD"
                    advice = f"is the account right ({names}), and the server set up for this address?"
                    yield Finding(f"{site} login", False, str(error), advice)
    finally:
        if chromium is not None:
            chromium.close()


def _browser(name: str, allowed: frozenset[str]) -> tuple[Finding, "ChromiumBrowser | None"]:
    if name == "inprocess":
        InProcessBrowser(Network({})).close()
        return Finding("browser", True, "the in-process browser needs nothing; it reaches the embedded sites alone"), None
    try:
        from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - the extra is optional

        chromium = ChromiumBrowser(None, hosts=allowed)
        chromium.start([], {})
        version = chromium.run_script("navigator.userAgent")
    except BrowserError as error:
        said = str(error)
        by_hand = "start it by hand to see why; in a container it may need more shared memory, or --ipc=host"
        is_told = "pip install" in said or "install one with" in said
        return Finding("browser", False, said, "do as it says" if is_told else by_hand), None
    return Finding("browser", True, f"Chromium starts: {version}"), chromium


def _answer(site: str, address: str) -> Finding:
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
            return Finding(site, False, str(error), advice)
    return Finding(site, True, f"{address} answers")
