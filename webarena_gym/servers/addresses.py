"""The addresses of real servers: their URLs by site, the placeholders and the hosts that follow from them."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from webarena_gym.errors import ServerError
from webarena_gym.sites.catalogue import HOSTS, SITE_NAME


def resolve(text: str, urls: Mapping[str, str]) -> str:
    """Put base URLs in the place of placeholders such as __SHOPPING__."""
    for placeholder, url in urls.items():
        text = text.replace(placeholder, url)
    return text


def resolve_all(value: Any, urls: Mapping[str, str]) -> Any:
    """Return a JSON value with the placeholders of all its texts replaced, as the official set-up does with whole files."""
    if isinstance(value, str):
        return resolve(value, urls)
    if isinstance(value, Mapping):
        return {key: resolve_all(item, urls) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [resolve_all(item, urls) for item in value]
    return value


_PORTS = {"http": 80, "https": 443}


def read_addresses(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return base URLs by site, without a last slash: those that are given, else those of `from_environment`.

    Raises ServerError for an unknown site, for what is no URL, and when there is none at all.
    """
    if given is None:
        found = from_environment()
    else:
        unfit = [site for site in given if not SITE_NAME.fullmatch(site)]
        if unfit:
            raise ServerError(f"{unfit[0]!r} is no name of a site; expected lower-case letters, digits and underscores")
        found = {site: _address(site, url) for site, url in given.items()}
    if not found:
        raise ServerError(
            'no servers are named: give sites={"shopping": "http://...", ...}, or set SHOPPING, REDDIT, GITLAB, ...'
        )
    return found


def parse_addresses(text: str | None) -> dict[str, str]:
    """Return base URLs by site from JSON, or, without it, those of `from_environment`, which may be none. Raises ServerError."""
    if text is None:
        return from_environment()
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ServerError(f"--sites is {text[:80]!r}, which is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise ServerError(f'--sites is {text}; expected an object such as {{"shopping": "http://..."}}')
    return read_addresses(given)


def from_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the base URLs that WebArena's own variables name, by site, without a last slash; maybe none.

    These are SHOPPING, SHOPPING_ADMIN, REDDIT, GITLAB, MAP, WIKIPEDIA and HOMEPAGE, with WA_ before them or not; the former win.
    Raises ServerError for what is no URL.

    >>> from_environment({"WA_REDDIT": "http://forum.test:9999/", "MAP": "atlas.txt"})
    {'reddit': 'http://forum.test:9999'}
    """
    values = os.environ if environment is None else environment
    found = {}
    for site in HOSTS:
        for name in (f"WA_{site.upper()}", site.upper()):
            url = values.get(name, "")
            if url.startswith(("http://", "https://")):  # such common names may stand for something else
                found[site] = _address(site, url)
                break
    return found


def _address(site: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except (ValueError, AttributeError):
        is_web = False
    if not is_web:
        raise ServerError(f"the address of {site} is {url!r}; expected http://host:port or https://host:port")
    return url.rstrip("/")


def placeholders(addresses: Mapping[str, str]) -> dict[str, str]:
    """Return what stands for each address in task files.

    >>> placeholders({"shopping_admin": "http://shop.test/admin"})
    {'__SHOPPING_ADMIN__': 'http://shop.test/admin'}
    """
    return {f"__{site.upper()}__": url for site, url in addresses.items()}


def hosts(addresses: Mapping[str, str]) -> frozenset[str]:
    """Return the hosts that a browser must be able to reach, each with its port.

    >>> sorted(hosts({"shopping": "http://a.test:7770", "map": "http://b.test", "wikipedia": "https://c.test/x"}))
    ['a.test:7770', 'b.test:80', 'c.test:443']
    """
    parts = [urlsplit(url) for url in addresses.values()]
    return frozenset(f"{part.hostname}:{part.port or _PORTS[part.scheme]}" for part in parts)
