"""The frames of a page of Chromium, combined into one tree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lxml import etree
from lxml.html import HtmlElement, HtmlElementClassLookup

if TYPE_CHECKING:
    from playwright.async_api import Frame

_PARSER = etree.XMLParser(huge_tree=True, resolve_entities=False, no_network=True)
_PARSER.set_element_class_lookup(HtmlElementClassLookup())
NodeLocation = tuple["Frame", int]
"""Location of an element: its frame, and its index among the elements that page.js stores in the frame."""


def build_tree(
    readings: Sequence[dict[str, Any]], frames: "Sequence[Frame]"
) -> tuple[HtmlElement, dict[HtmlElement, NodeLocation], HtmlElement | None]:
    """Combine the frames of a page into one tree, in which the body of a frame is inside its `iframe` element.

    Args:
        readings: result of `page.js` for each frame, the main frame first. Other frames have the position of their `iframe` in
            `within`: the index of the parent frame, and the index of the element in it.
        frames: Playwright frames, in the same order.

    Returns:
        The root, the location of each element, and the focused element or None.

    """
    locations: dict[HtmlElement, NodeLocation] = {}
    elements_by_frame: list[list[HtmlElement]] = []
    for reading, frame in zip(readings, frames, strict=True):
        elements = list(etree.fromstring(reading["xml"], _PARSER).iter())
        elements_by_frame.append(elements)
        locations.update((element, (frame, index)) for index, element in enumerate(elements))
    for reading, elements in zip(readings[1:], elements_by_frame[1:], strict=True):
        parent, index = reading["within"]
        body = elements[0].find("body")
        if body is not None:
            elements_by_frame[parent][index].append(body)
    root = elements_by_frame[0][0]
    if root.find("body") is None:
        etree.SubElement(root, "body")
    focused = elements_by_frame[0][readings[0]["focused"]] if readings[0]["focused"] >= 0 else None
    return root, locations, focused
