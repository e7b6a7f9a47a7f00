"""What a page offers, read from its simplified HTML: elements by their addresses, tabs, and texts."""

import re
from functools import lru_cache
from typing import NamedTuple

_ATTRIBUTES = r'((?: [a-z-]+(?:="[^"<]*")?)*)'
_ELEMENT = re.compile(rf"<([a-z][a-z0-9-]*){_ATTRIBUTES}>([^<]*)")
_TAG = re.compile(rf"</?[a-z][a-z0-9-]*{_ATTRIBUTES}>|\n")
_ATTRIBUTE = re.compile(r' ([a-z-]+)(?:="([^"<]*)")?')
_TAB = re.compile(r"(?:^Tabs: | \| )\[([0-9]+)\]")
_OTHERS = frozenset(("tr", "td", "th", "img", "h1", "h2", "h3", "h4", "h5", "h6"))  # the tags that are no elements to act on
_FIELDS = frozenset(("input", "select", "textarea"))
_TICKED = frozenset(("checkbox", "radio"))


class Element(NamedTuple):
    """Something that can be acted on."""

    address: str
    is_typed_into: bool
    options: tuple[str, ...]  # of a drop-down list


class Offer(NamedTuple):
    """What a page offers to act on and to copy."""

    elements: tuple[Element, ...]  # without those that are disabled
    tabs: tuple[str, ...]  # their indices, if there are several
    texts: tuple[str, ...]  # what stands between tags, and the values of attributes, each once


@lru_cache(maxsize=1_024)
def read_offer(page: str) -> Offer:
    r"""Return what a page offers.

    >>> offer = read_offer('<tr><td>5 &lt; 6</td></tr>\n<a>More</a> <input label="City" value="Rome">')
    >>> [element.address for element in offer.elements], offer.texts
    (['More', 'City'], ('5 < 6', 'More', 'City', 'Rome'))
    """
    elements: list[Element] = []
    select: dict[str, str] | None = None
    options: list[str] = []
    texts: list[str] = []
    end = 0
    for match in _TAG.finditer(page):
        texts.append(page[end : match.start()])
        texts += [value for name, value in _ATTRIBUTE.findall(match[1] or "") if name != "id"]
        end = match.end()
    texts.append(page[end:])
    for tag, written, content in _ELEMENT.findall(page):
        attributes = dict(_ATTRIBUTE.findall(written))
        if tag == "option":
            options.append(_plain(content))
            continue
        if select is not None:
            elements += _element("select", select, "", tuple(options))
        select, options = attributes if tag == "select" else None, []
        if tag not in _OTHERS and tag != "select":
            elements += _element(tag, attributes, content, ())
    if select is not None:
        elements += _element("select", select, "", tuple(options))
    tabs = next((line for line in page.split("\n") if line.startswith("Tabs: ")), "")
    found = dict.fromkeys(filter(None, map(str.strip, map(_plain, texts))))
    return Offer(tuple(elements), tuple(_TAB.findall(tabs)), tuple(found))


def _element(tag: str, attributes: dict[str, str], content: str, options: tuple[str, ...]) -> list[Element]:
    """Return an element, or nothing if it is disabled or has no address."""
    address = attributes.get("id") or (attributes.get("label", "") if tag in _FIELDS else content)
    is_fixed = "disabled" in attributes or ("readonly" in attributes and tag in _FIELDS)
    is_typed_into = tag == "textarea" or (tag == "input" and attributes.get("type") not in _TICKED)
    return [Element(_plain(address).strip(), is_typed_into, options)] if address.strip() and not is_fixed else []


def _plain(text: str) -> str:
    return text.replace("&quot;", '"').replace("&lt;", "<")
