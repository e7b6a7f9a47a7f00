"""Names of windows and frames, and refreshes: where a link or form leads, and when a page leads on by itself.

Each function implements the section of the HTML standard that its docstring links to, as Chromium does; `tests/data/pages.json`
contains Chromium's states.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lxml.html import HtmlElement

_OWN_WINDOW = frozenset(("", "_self", "_parent", "_top"))  # without frames, a page is its own parent
_FRAMES = ("iframe", "frame", "object", "embed")
_REFRESH = re.compile(r"[ \t\n\f\r]*+([0-9]++|(?=\.))[0-9.]*+(?=([ \t\n\f\r;,]|$))[ \t\n\f\r]*+[;,]?[ \t\n\f\r]*+")
_URL_PREFIX = re.compile(r"url[ \t\n\f\r]*+=[ \t\n\f\r]*+", re.IGNORECASE)
_MAX_DELAY_S = 10**6


class Target(NamedTuple):
    """The window that a link or form opens in: the own one if `name` is "", a new one if it is "_blank", else one with this name.

    Attributes:
        name: the name.
        is_detached: a new window is opened in another browsing context group, and without its name.
        sends_referrer: a new window is opened with a Referer header.

    """

    name: str = ""
    is_detached: bool = False
    sends_referrer: bool = True


def base_target(root: HtmlElement) -> str:
    """Return the target of the first `<base target>` of a document, or ""."""
    return next((base.get("target") for base in root.iter("base") if "target" in base.attrib), "")


def names_window(element: HtmlElement, submitter: HtmlElement | None) -> bool:
    """Return True if a link or form opens in a window with a name, which may be open already."""
    root = element.getroottree().getroot()
    name = get_target(element, submitter, base_target(root)).name
    return name not in ("", "_blank") and frame_named(root, name) is None


def get_target(element: HtmlElement, submitter: HtmlElement | None, base: str) -> Target:
    """Return the target of a link, or of a form that `submitter` submits; `base` is the target of the document's `base` element.

    An empty attribute is ignored, as in Chromium.
    https://html.spec.whatwg.org/multipage/semantics.html#get-an-element's-target
    https://html.spec.whatwg.org/multipage/links.html#get-an-element's-noopener
    """
    name = element.get("target", "")
    if submitter is not None:
        name = submitter.get("formtarget", name)
    name = name or base
    if "<" in name and not {"\t", "\n"}.isdisjoint(name):
        name = "_blank"
    keyword = name.lower()
    relations = element.get("rel", "").lower().split()
    is_detached = "noopener" in relations or "noreferrer" in relations or (keyword == "_blank" and "opener" not in relations)
    return Target(
        "" if keyword in _OWN_WINDOW else keyword if keyword == "_blank" else name, is_detached, "noreferrer" not in relations
    )


def frame_named(root: HtmlElement, name: str) -> HtmlElement | None:
    """Return the first frame of a document with this name, None if there is none."""
    frames = (frame for frame in root.iter(*_FRAMES) if frame.get("name") == name)
    return next((frame for frame in frames if next(frame.iterancestors("template", "noscript"), None) is None), None)


class Refresh(NamedTuple):
    """A page that leads on by itself: after how many seconds, and the reference of the next page ("" for the same)."""

    delay_s: int
    reference: str


def shared_declarative_refresh(contents: Iterable[str]) -> Refresh | None:
    """Return the refresh that the `content` of some elements, or a Refresh header, starts: the earliest, of equal ones the last.

    https://html.spec.whatwg.org/multipage/semantics.html#shared-declarative-refresh-steps

    >>> shared_declarative_refresh(["5", "0.9; URL = '/next'"])
    Refresh(delay_s=0, reference='/next')
    """
    refreshes = [refresh for content in contents if (refresh := _parse(content)) is not None]
    return min(reversed(refreshes), key=lambda refresh: refresh.delay_s, default=None)


def _parse(content: str) -> Refresh | None:
    match = _REFRESH.match(content)
    if match is None:
        return None
    reference = content[match.end() :]
    prefix = _URL_PREFIX.match(reference)
    reference = reference[prefix.end() :] if prefix else reference
    if reference[:1] in ('"', "'"):
        reference = reference[1:].partition(reference[0])[0]
    return Refresh(min(int(match[1][:9] or 0), _MAX_DELAY_S), reference)


def has_document(frame: HtmlElement) -> bool:
    """Return True if a frame loads a document at first, so that the next one is a new entry of the tab's history."""
    return frame.get("src", frame.get("data", "")) not in ("", "about:blank") or "srcdoc" in frame.attrib
