"""The eval kind `url_match`: the final page must be one of the reference URLs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import NoneType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.outcome import OR, Check, EvalKind, Judge, Outcome, Verdict, View, shorten, with_base
from webarena_gym.pages.page import Page

_DEFAULT_PORTS = (None, 80, 443)


class Address(NamedTuple):
    """A URL normalized for comparison: without scheme, fragment, trailing "/" and the order of query parameters.

    `values` holds the values of the query by key.
    """

    host: str
    path: str
    values: Mapping[str, frozenset[str]]

    @property
    def location(self) -> tuple[str, str]:
        """The host and path."""
        return self.host, self.path


class PageIdentity(NamedTuple):
    """URLs that a page of the embedded sites declares in its head.

    `content` (rel=canonical) identifies the content; `arranged` (rel=self) also has parameters such as sort order and page number.
    """

    content: Address
    arranged: Address


def read_address(url: str) -> Address:
    """Parse a URL; the scheme may be missing. Raises EvaluationError for an invalid URL.

    >>> read_address("HTTP://Shop.test:80/a%20b/?x=1#top")
    Address(host='shop.test', path='/a b', values={'x': frozenset({'1'})})
    """
    try:
        parts = urlsplit(url.strip() if "://" in url else f"//{url.strip()}")
        host, port = (parts.hostname or "").rstrip("."), parts.port
        pairs = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError as error:
        raise EvaluationError(f"{shorten(url)} is not a valid URL: {error}") from error
    values: dict[str, set[str]] = {}
    for key, value in pairs:
        values.setdefault(key, set()).add(value)
    host = host if port in _DEFAULT_PORTS else f"{host}:{port}"
    return Address(host, unquote(parts.path).rstrip("/"), {key: frozenset(options) for key, options in values.items()})


def matches_url(reference: str, url: str) -> bool:
    """Return True if a URL matches the reference: the same host and path, and for each query key of the reference one of its values.

    If the reference has several values of a key, any of them matches. The URL must not have other values of that key, because it is
    unknown which of them the server uses. Keys that the reference does not have are ignored.
    """
    return _matches(read_address(reference), read_address(url))


def _matches(reference: Address, address: Address) -> bool:
    return reference.location == address.location and all(
        address.values.get(key, frozenset()) and address.values[key] <= options for key, options in reference.values.items()
    )


def page_identity(page: Page) -> PageIdentity | None:
    """Return the identity that a page declares; None for a page without one, such as an error page."""
    links = {link.get("rel"): link.get("href") for link in page.root.iterfind("head/link")}
    content, arranged = links.get("canonical"), links.get("self")
    return PageIdentity(read_address(content), read_address(arranged)) if content and arranged else None


def matches_page(references: Sequence[str], page: Page, open_page: Callable[[str], AbstractContextManager[View]]) -> bool:
    """Return True if a page is the page at one of the reference URLs.

    The two pages must have the same content, and the same values of those parameters of arrangement that the reference has. A reference
    that is spelled differently from the declared URL is opened. Raises EvaluationError if that is not possible.
    """
    identity = page_identity(page)
    if identity is None:
        return False
    addresses = [read_address(reference) for reference in references]
    return any(_declares(identity, address) for address in addresses) or any(
        _leads_to(reference, address, identity, open_page) for reference, address in zip(references, addresses, strict=True)
    )


def _declares(identity: PageIdentity, address: Address) -> bool:
    """Return True if an address is the one that a page declares, so that it need not be opened."""
    has_all = address.values.keys() >= identity.content.values.keys()
    has_no_other = all(identity.arranged.values.get(key) == values for key, values in address.values.items())
    return address.location == identity.content.location and has_all and has_no_other


def _leads_to(
    reference: str, address: Address, identity: PageIdentity, open_page: Callable[[str], AbstractContextManager[View]]
) -> bool:
    """Return True if the page at a reference URL has the same identity as the final page; `address` is the parsed reference."""
    with open_page(reference) as view:
        target, target_address = page_identity(view.page), read_address(view.page.url)
    if target is None or target_address != address:
        return False  # a redirect, for example to a log-in page
    keys = [key for key in address.values if key not in target.content.values and key in target.arranged.values]
    return target.content == identity.content and all(
        target.arranged.values[key] == identity.arranged.values.get(key) for key in keys
    )


def at_url(url: str) -> dict[str, Any]:
    """Require that the episode ends at a URL, such as `__SHOPPING__/wishlist/`."""
    return {"eval_types": ["url_match"], "reference_url": url}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of the native rules: the final page must be the page at one of the reference URLs."""
    reference = evaluation.get("reference_url") or ""
    if not reference:
        raise EvaluationError("url_match without reference_url")
    choices = reference.split(OR)
    for choice in choices:
        try:
            read_address(with_base(choice))
        except EvaluationError as error:
            raise EvaluationError(f"reference_url: {error}") from error

    def check(_: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
        url = outcome.final.page.url
        if outcome.has_page_identities:
            passed = matches_page(choices, outcome.final.page, outcome.open_page)
        else:
            address = read_address(url)
            passed = any(_matches(read_address(choice), address) for choice in choices)
        return [Verdict("url_match", passed, "", "same place", choices, url)]

    return [check]


KIND = EvalKind(
    name="url_match",
    key="reference_url",
    keys={"reference_url": (str, NoneType), "url_note": (str, NoneType)},
    readers={"native": _read, **official.readers(official.url_checks)},
    looks_at="place",
)
