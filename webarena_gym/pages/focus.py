"""The focus of a page: the elements that can have it, and the order in which the Tab key reaches them, as in Chromium.

An element is *focusable* if a click can focus it, and a *tab stop* if the Tab key can.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from math import inf
from typing import NamedTuple

from lxml.html import HtmlElement

from webarena_gym.pages.dom import (
    CONTROL_TAGS,
    DATE_TYPES,
    EDITABLE_VALUES,
    OPEN_POPOVERS,
    element_type,
    invokers_of,
    is_disabled,
    is_link,
    is_summary,
    is_visible,
    modal_dialog,
    radio_group,
    summary_of,
    tab_index,
)


def is_inert(element: HtmlElement) -> bool:
    """Return True if an element takes neither clicks nor the focus: by `inert`, or because a modal dialog is open outside of it.

    https://html.spec.whatwg.org/multipage/interaction.html#inert
    """
    return _is_inert(element, modal_dialog(element.getroottree().getroot()))


def _is_inert(element: HtmlElement, modal: HtmlElement | None) -> bool:
    for part in (element, *element.iterancestors()):
        if "inert" in part.attrib:
            return True
        if part is modal:
            return False
    return modal is not None


def is_focusable(element: HtmlElement) -> bool:
    """Return True if a click can focus an element."""
    return _is_focusable(element, modal_dialog(element.getroottree().getroot()))


def _is_focusable(element: HtmlElement, modal: HtmlElement | None) -> bool:
    if element.tag in CONTROL_TAGS:
        can_have_focus = not is_disabled(element)
    else:
        can_have_focus = (
            is_link(element)
            or is_summary(element)
            or element.tag in ("dialog", "iframe")
            or (element.tag == "embed" and "src" in element.attrib)
            or (element.tag in ("audio", "video") and "controls" in element.attrib)
            or (element.tag == "details" and summary_of(element) is None)
            or tab_index(element) is not None
            or element.get("contenteditable") in EDITABLE_VALUES
        )
    if not can_have_focus or _is_inert(element, modal):
        return False
    return any(map(is_visible, _images_of(element))) if element.tag == "area" else is_visible(element)


def _images_of(area: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the images that use the image map of an area."""
    image_map = next(area.iterancestors("map"), None)
    name = "" if image_map is None else image_map.get("name", "")
    for image in area.getroottree().getroot().iter("img") if name else ():
        if image.get("usemap", "").partition("#")[2] == name:
            yield image


class _FocusContext(NamedTuple):
    """State that changes the tab order: the modal dialog, and the open popovers by the buttons that open them."""

    modal: HtmlElement | None
    popovers: dict[HtmlElement, HtmlElement]


def tab_stops(root: HtmlElement) -> list[HtmlElement]:
    """Return the elements that the Tab key focuses, in tab order.

    Positive values of `tabindex` come first, in ascending order. A radio group with a checked button is one stop. A `details`
    element is a separate scope, as in Chromium: its content follows it directly, and a negative `tabindex` skips both. An open
    popover is a scope that follows its button.
    """
    popovers = {button: popover for popover in OPEN_POPOVERS(root) for button in invokers_of(popover)[:1]}
    return list(_tab_stops_in([root], _FocusContext(modal_dialog(root), popovers)))


def _tab_stops_in(parts: Iterable[HtmlElement], context: _FocusContext) -> Iterator[HtmlElement]:
    """Yield the tab stops of a scope: `parts` and their descendants. The content of a nested scope directly follows its owner."""
    separate = frozenset(context.popovers.values())
    candidates = [
        (index, element)
        for part in parts
        for element in _scope_elements(part, separate)
        if (index := tab_index(element) or 0) >= 0 and (element.tag != "dialog" or tab_index(element) is not None)
    ]
    for _, element in sorted(candidates, key=lambda pair: pair[0] or inf):  # the sort is stable: ties keep document order
        if _is_focusable(element, context.modal) and _is_group_tab_stop(element):
            yield element
        if element.tag == "details":
            summary = summary_of(element)
            yield from _tab_stops_in([] if summary is None else [summary], context)
            yield from _tab_stops_in((child for child in element.iterchildren("*") if child is not summary), context)
        elif element in context.popovers:
            yield from _tab_stops_in(context.popovers[element].iterchildren("*"), context)


def _scope_elements(element: HtmlElement, separate: Set[HtmlElement]) -> Iterator[HtmlElement]:
    yield element
    if element.tag != "details":
        for child in element.iterchildren("*"):
            if child not in separate:
                yield from _scope_elements(child, separate)


def next_tab_stop(root: HtmlElement, start: HtmlElement | None, *, backwards: bool) -> HtmlElement | None:
    """Return the tab stop after `start`, or before it if `backwards`; None if there is no further one.

    Without `start`, return the first tab stop, or the last if `backwards`. From a radio button the Tab key leaves its group.
    """
    stops = tab_stops(root)
    if backwards:
        stops.reverse()
    if start is None:
        return next(iter(stops), None)
    if start in stops:
        group = radio_group(start) if element_type(start) == "radio" else []
        return next((stop for stop in stops[stops.index(start) + 1 :] if stop not in group), None)
    # An element that is no tab stop, such as a dialog or a disabled list, may have a place among the stops without a `tabindex`.
    index, can_have_focus = tab_index(start), is_focusable(start)
    is_host = start.tag in ("object", "img") or (start.tag == "select" and not can_have_focus) or _is_shadow_host(start)
    if index is not None and index > 0 and not is_host:
        return _tab_stop_from_index(root, start, stops, backwards=backwards)
    if not is_host and not (can_have_focus if index is None else index == 0):
        return _tab_stop_from_text(root, start, stops, backwards=backwards)
    places = {element: place for place, element in enumerate(root.iter("*"))}
    ordered = (stop for stop in stops if not _index_in_page(stop))
    return next((stop for stop in ordered if (places[stop] < places[start]) == backwards), None)


def _index_in_page(stop: HtmlElement) -> int | None:
    """Return the `tabindex` that a tab stop has in the order of the page: that of the outermost `details` around it, if any."""
    outermost = [*stop.iterancestors("details")][-1:]
    return tab_index(*outermost) if outermost else tab_index(stop)


def _tab_stop_from_index(
    root: HtmlElement, start: HtmlElement, stops: Sequence[HtmlElement], *, backwards: bool
) -> HtmlElement | None:
    """Return the tab stop after an element that is no stop, such as a disabled button, and has a positive `tabindex`, or before it."""
    index = tab_index(start) or 0
    elements = list(root.iter("*"))
    behind = frozenset(elements[: elements.index(start)] if backwards else elements[elements.index(start) :])
    sign = -1 if backwards else 1
    equal = (stop for stop in stops if tab_index(stop) == index and stop in behind)
    farther = (stop for stop in stops if sign * ((tab_index(stop) or (0 if backwards else inf)) - index) > 0)
    stop = next(equal, next(farther, None))
    return None if backwards and stop is not None and not tab_index(stop) else stop


def _tab_stop_from_text(
    root: HtmlElement, start: HtmlElement, stops: Sequence[HtmlElement], *, backwards: bool
) -> HtmlElement | None:
    """Return the tab stop after or before an element that has no place in the tab order, as Chromium finds it.

    It is the next one in the document. Behind the last one of its scope, a `details` element or the page, the Tab key continues at
    the top of the scope. If a shadow host is between, only the stops behind it count.
    """
    stop_set = frozenset(stops)
    places = {element: place for place, element in enumerate(root.iter("*"))}

    def stop_behind(place: int) -> HtmlElement | None:
        ordered = (stop for stop in stops if not _index_in_page(stop))
        return next((stop for stop in ordered if (places[stop] < place if backwards else places[stop] > place)), None)

    scope = root if backwards else next(start.iterancestors("details"), root)
    elements = [
        element for element in scope.iter("*") if (places[element] < places[start]) == backwards and element is not start
    ]
    for element in reversed(elements) if backwards else elements:
        if element in stop_set:
            return element
        if _is_shadow_host(element):
            return stop_behind(places[element])
    if backwards:
        return None
    if scope is root:
        return next((stop for stop in stops if not tab_index(stop)), next(iter(stops), None))
    summary = summary_of(scope)
    parts = [part for part in scope.iterchildren("*") if part is not summary]
    if start is summary or (summary is not None and summary in start.iterancestors()):
        parts = [start]
    inside = {element for part in parts for element in part.iter("*")}
    inner = [stop for stop in stops if stop in inside]
    if inner:
        return next((stop for stop in inner if not tab_index(stop)), inner[0])
    return stop_behind(places[scope] + sum(1 for _ in scope.iterdescendants("*")))


_SHADOW_HOSTS = frozenset(("audio", "details", "marquee", "meter", "optgroup", "option", "progress", "select", "video"))


def _is_shadow_host(element: HtmlElement) -> bool:
    """Return True if an element that is no tab stop consists of parts of Chromium's own, which the Tab key passes."""
    if "tabindex" in element.attrib:
        return False
    if element.tag == "img":  # an image that was not loaded shows its text
        return "src" not in element.attrib and element.get("alt", "") != ""
    return (
        element.tag in _SHADOW_HOSTS
        or (element.tag == "object" and "data" in element.attrib)
        or element_type(element) in DATE_TYPES
    )


def _is_group_tab_stop(element: HtmlElement) -> bool:
    """Return True unless the element is an unchecked radio button whose group has a focusable checked one."""
    if element_type(element) != "radio" or "checked" in element.attrib:
        return True
    return not any("checked" in radio.attrib and is_focusable(radio) for radio in radio_group(element))
