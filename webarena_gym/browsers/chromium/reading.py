"""Parses what `page.js` returns of a document into the tree from which observations are made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree
from lxml.html import HtmlElement, HtmlElementClassLookup

SCRIPT = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
"""A JavaScript function of four flags: whether layout decides what can be used, whether only what the window shows is read, whether
the document may still be loading: then its style sheets are waited for, and where scripts or layout need all of a page, `early` is
all that is said of it; and whether the tab has just turned to the document or to a place of it."""


def _parser() -> etree.XMLParser:
    parser = etree.XMLParser(huge_tree=True, resolve_entities=False, no_network=True)
    parser.set_element_class_lookup(HtmlElementClassLookup())
    return parser


_PARSER = _parser()


NodeLocation = tuple[Any, int]
"""Where an element is found again: its frame, and its index among the elements that the frame keeps."""


def tree_of(
    said: Sequence[dict[str, Any]], frames: Sequence[Any]
) -> tuple[HtmlElement, dict[HtmlElement, NodeLocation], HtmlElement | None]:
    """Return the root of a page, where each of its elements is found, and the focused element.

    `said` has what `page.js` returned in each of the `frames`, the main one first, with the place of its `iframe` element in
    `within` (the index of the frame around it, and of the element there). The body of a frame stands inside its `iframe`.
    """
    locations: dict[HtmlElement, NodeLocation] = {}
    kept: list[list[HtmlElement]] = []
    for what, frame in zip(said, frames, strict=True):
        elements = list(etree.fromstring(what["xml"], _PARSER).iter())
        kept.append(elements)
        locations.update((element, (frame, index)) for index, element in enumerate(elements))
    for what, elements in zip(said[1:], kept[1:], strict=True):
        around, index = what["within"]
        body = elements[0].find("body")
        if body is not None:
            kept[around][index].append(body)
    root = kept[0][0]
    if root.find("body") is None:
        etree.SubElement(root, "body")
    focused = kept[0][said[0]["focused"]] if said[0]["focused"] >= 0 else None
    return root, locations, focused
