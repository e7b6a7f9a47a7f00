"""The eval kind `url_match`: the episode must end at one of the reference addresses."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import NoneType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official
from webarena_gym.evaluators.outcome import OR, Check, EvalKind, Judge, Outcome, Verdict, View, shown, with_base
from webarena_gym.pages.page import Page

_DEFAULT_PORTS = (None, 80, 443)


class Address(NamedTuple):
    """An address in parts, without its scheme, the marks of its fragment, a last "/" and the order of its parameters."""

    host: str
    path: str
    values: Mapping[str, frozenset[str]]

    @property
    def location(self) -> tuple[str, str]:
        """The address without its parameters."""
        return self.host, self.path


class PageIdentity(NamedTuple):
    """The identity that a page of the sites declares: its content, and its content with its arrangement."""

    content: Address
    arranged: Address


def read_address(url: str) -> Address:
    """Return what an address says; the scheme may be left out. Raises EvaluationError for what is no address.

    >>> read_address("HTTP://Shop.test:80/a%20b/?x=1#top")
    Address(host='shop.test', path='/a b', values={'x': frozenset({'1'})})
    """
    try:
        parts = urlsplit(url.strip() if "://" in url else f"//{url.strip()}")
        host, port = (parts.hostname or "").rstrip("."), parts.port
        pairs = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError as error:
        raise EvaluationError(f"{shown(url)} is no address: {error}") from error
    values: dict[str, set[str]] = {}
    for key, value in pairs:
        values.setdefault(key, set()).add(value)
    host = host if port in _DEFAULT_PORTS else f"{host}:{port}"
    return Address(host, unquote(parts.path).rstrip("/"), {key: frozenset(found) for key, found in values.items()})


def agree(reference: str, url: str) -> bool:
    """Return True if an address is the reference: the same host and path, and no other values for the keys that it names.

    Of several values for a key the reference takes any, but the address may have none beside them, since nobody here knows
    which of them its server reads.
    """
    return _agree(read_address(reference), read_address(url))


def _agree(wanted: Address, given: Address) -> bool:
    return wanted.location == given.location and all(
        given.values.get(key, frozenset()) and given.values[key] <= options for key, options in wanted.values.items()
    )


def identity_of(page: Page) -> PageIdentity | None:
    """Return which page a page says that it is; None for one that is no page of its own, such as a refusal."""
    links = {link.get("rel"): link.get("href") for link in page.root.iterfind("head/link")}
    content, arranged = links.get("canonical"), links.get("self")
    return PageIdentity(read_address(content), read_address(arranged)) if content and arranged else None


def shows(references: Sequence[str], page: Page, open_page: Callable[[str], AbstractContextManager[View]]) -> bool:
    """Return True if a page is the one that a reference leads to.

    Both show the same, and are arranged in the same way so far as the reference says how. Raises EvaluationError for a
    reference that cannot be opened.
    """
    found = identity_of(page)
    if found is None:
        return False
    addresses = [read_address(reference) for reference in references]
    return any(_names(wanted, found) for wanted in addresses) or any(
        # It may be written in another way than the site's own.
        _leads_to(reference, wanted, found, open_page)
        for reference, wanted in zip(references, addresses, strict=True)
    )


def _names(wanted: Address, found: PageIdentity) -> bool:
    """Return True if an address is the one by which a page calls itself, so that it need not be opened."""
    names_all = wanted.values.keys() >= found.content.values.keys()
    names_no_more = all(found.arranged.values.get(key) == values for key, values in wanted.values.items())
    return wanted.location == found.content.location and names_all and names_no_more


def _leads_to(
    reference: str, wanted: Address, found: PageIdentity, open_page: Callable[[str], AbstractContextManager[View]]
) -> bool:
    """Return True if the page that opens at a reference shows the same as a page that was found."""
    with open_page(reference) as view:
        asked, reached = identity_of(view.page), read_address(view.page.url)
    if asked is None or reached != wanted:
        return False  # what leads elsewhere, to sign in perhaps, is no place of its own
    named = [key for key in wanted.values if key not in asked.content.values and key in asked.arranged.values]
    return asked.content == found.content and all(asked.arranged.values[key] == found.arranged.values.get(key) for key in named)


def at_url(url: str) -> dict[str, Any]:
    """The episode must end at that place, such as `__SHOPPING__/wishlist/`."""
    return {"eval_types": ["url_match"], "reference_url": url}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    """Return the check of the native rules: the page that one of the references leads to (see `addresses`)."""
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
        if outcome.pages_say_places:
            passed = shows(choices, outcome.final.page, outcome.open_page)
        else:
            given = read_address(url)
            passed = any(_agree(read_address(choice), given) for choice in choices)
        return [Verdict("url_match", passed, "", "same place", choices, url)]

    return [check]


KIND = EvalKind(
    name="url_match",
    key="reference_url",
    keys={"reference_url": (str, NoneType), "url_note": (str, NoneType)},
    readers={"native": _read, **official.readers(official.place_checks)},
    looks_at="place",
)
