"""Addresses and accounts of real servers by site, and the placeholders and hosts derived from addresses."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from webarena_gym.errors import ServerError
from webarena_gym.sites.catalogue import HOSTS, SITE_NAME, SITES
from webarena_gym.sites.catalogue import Account as Account


def resolve(text: str, urls: Mapping[str, str]) -> str:
    """Replace placeholders such as __SHOPPING__ with base URLs."""
    for placeholder, url in urls.items():
        text = text.replace(placeholder, url)
    return text


def resolve_all(value: object, urls: Mapping[str, str]) -> Any:
    """Return a JSON value with the placeholders in all its strings replaced, as WebArena's set-up does with whole files."""
    if isinstance(value, str):
        return resolve(value, urls)
    if isinstance(value, Mapping):
        return {key: resolve_all(item, urls) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [resolve_all(item, urls) for item in value]
    return value


_PORTS = {"http": 80, "https": 443}


def read_addresses(urls: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return validated base URLs by site, without a trailing slash.

    Args:
        urls: base URLs by site; None reads them from the environment (`addresses_from_environment`).

    Raises:
        ServerError: for an invalid site name, an invalid URL, and when there is no address at all.

    """
    if urls is None:
        addresses = addresses_from_environment()
    else:
        invalid = [site for site in urls if not SITE_NAME.fullmatch(site)]
        if invalid:
            raise ServerError(f"invalid site name {invalid[0]!r}; expected lower-case letters, digits and underscores")
        addresses = {site: _base_url(site, url) for site, url in urls.items()}
    if not addresses:
        raise ServerError(
            'no server addresses: pass sites={"shopping": "http://...", ...}, or set the variables SHOPPING, REDDIT, GITLAB, ...'
        )
    return addresses


def parse_addresses(text: str | None) -> dict[str, str]:
    """Return base URLs by site from a JSON object, or from the environment for None. The latter may be empty. Raises ServerError."""
    if text is None:
        return addresses_from_environment()
    try:
        urls = json.loads(text)
    except ValueError as error:
        raise ServerError(f"--sites is {text[:80]!r}, which is not valid JSON: {error}") from error
    if not isinstance(urls, dict):
        raise ServerError(f'--sites is {text}; expected an object such as {{"shopping": "http://..."}}')
    return read_addresses(urls)


def addresses_from_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the base URLs in WebArena's environment variables, by site, without a trailing slash. May be empty.

    The variables are SHOPPING, SHOPPING_ADMIN, REDDIT, GITLAB, MAP, WIKIPEDIA and HOMEPAGE. The same names with the prefix WA_
    take precedence. Values that do not start with http:// or https:// are ignored. Raises ServerError for an invalid URL.

    >>> addresses_from_environment({"WA_REDDIT": "http://forum.test:9999/", "MAP": "atlas.txt"})
    {'reddit': 'http://forum.test:9999'}
    """
    variables = os.environ if environment is None else environment
    addresses = {}
    for site in HOSTS:
        for name in (f"WA_{site.upper()}", site.upper()):
            url = variables.get(name, "")
            if url.startswith(("http://", "https://")):  # other programs use variables such as MAP for other things
                addresses[site] = _base_url(site, url)
                break
    return addresses


def _base_url(site: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except (ValueError, AttributeError):
        is_web = False
    if not is_web:
        raise ServerError(f"invalid address {url!r} of {site}; expected http://host:port or https://host:port")
    return url.rstrip("/")


def placeholders(addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the base URLs by their placeholders in task files.

    >>> placeholders({"shopping_admin": "http://shop.test/admin"})
    {'__SHOPPING_ADMIN__': 'http://shop.test/admin'}
    """
    return {f"__{site.upper()}__": url for site, url in addresses.items()}


def hosts(addresses: Mapping[str, str]) -> frozenset[str]:
    """Return the hosts of the addresses, as "host:port". A browser must be able to reach them.

    >>> sorted(hosts({"shopping": "http://a.test:7770", "map": "http://b.test", "wikipedia": "https://c.test/x"}))
    ['a.test:7770', 'b.test:80', 'c.test:443']
    """
    parts = [urlsplit(url) for url in addresses.values()]
    return frozenset(f"{part.hostname}:{part.port or _PORTS[part.scheme]}" for part in parts)


PUBLISHED_ACCOUNTS: Mapping[str, Account] = {name: entry.account for name, entry in SITES.items() if entry.account}
"""The published accounts of WebArena's servers, by site."""


def find_account(
    site: str, accounts: Mapping[str, Account] | None = None, environment: Mapping[str, str] | None = None
) -> Account | None:
    """Return the account of a site, or None if it has none.

    The first source that has one is used: `accounts`, then $WEBARENA_GYM_<SITE>_USER and _PASSWORD, then `PUBLISHED_ACCOUNTS`. One
    of the two variables is enough to replace that part of the published account.

    >>> find_account("gitlab", environment={"WEBARENA_GYM_GITLAB_PASSWORD": "other"}).user
    'byteblaze'
    """
    if accounts and site in accounts:
        return accounts[site]
    variables = os.environ if environment is None else environment
    published = PUBLISHED_ACCOUNTS.get(site)
    user = variables.get(f"WEBARENA_GYM_{site.upper()}_USER", published.user if published else "")
    password = variables.get(f"WEBARENA_GYM_{site.upper()}_PASSWORD", published.password if published else "")
    return Account(user, password) if user else None
