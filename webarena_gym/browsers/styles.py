"""The effect of style sheets on the elements of a page, for the in-process browser.

`mark_styles` writes the result into a tree as the attributes in which trees of Chromium have it: `hidden` on elements that a style sheet
hides, `style="display: block"` on those that it shows although their markup hides them, and `webarena_gym.pages.reading.LISTENER_ATTRIBUTE`
on those that show others under the mouse. Sizes and positions are unknown.
"""

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from cssselect2 import ElementWrapper, Matcher, SelectorError, compile_selector_list
from lxml.html import HtmlElement

from webarena_gym.browsers.style_sheets import FOCUSED, HOVERED, TARGETED, Layer, StyleSheet, style_declarations
from webarena_gym.pages import dom
from webarena_gym.pages.reading import LISTENER_ATTRIBUTE, is_interactive

_WITHOUT_BOX = frozenset(
    "html head title meta link base script style template noscript body option optgroup datalist area map source track param br wbr"  # noqa: SIM905
    " legend slot".split()
)
"""Elements that stay as their markup has them."""
_CLIPPED = re.compile(r"inset\((?:50|100)%|circle\(0")
_VISIBILITIES = {"visible": True, "initial": True, "hidden": False, "collapse": False}
_HOVERED_PART = re.compile(rf"^(.*?)\[{HOVERED}\](.*)$", re.DOTALL)
_COMBINED = re.compile(r"[\s>+~]")


class _Element(ElementWrapper):  # type: ignore[misc]  # the package has no types
    """An element whose ancestors and siblings are found without recursion, however many there are."""

    @property
    def ancestors(self) -> Iterator["_Element"]:
        element = self.parent
        while element is not None:
            yield element
            element = element.parent

    @property
    def previous_siblings(self) -> Iterator["_Element"]:
        element = self.previous
        while element is not None:
            yield element
            element = element.previous


class _Styles(NamedTuple):
    """The compiled rules of a page: those of all declarations, and the elements whose hovering reveals others."""

    matcher: Any
    revealing: Any
    uses_hover: bool
    uses_focus: bool
    uses_target: bool


class _State(NamedTuple):
    """The state that a child inherits: visibility, pointer events, and whether an element around it is transparent or clipped."""

    is_visible: bool = True
    takes_clicks: bool = True
    is_transparent: bool = False
    is_clipped: bool = False


@lru_cache(maxsize=32)
def _compile(sheet: StyleSheet) -> _Styles:
    matcher, revealing = Matcher(), Matcher()
    ranks = _layer_ranks(sheet.layers)
    for rule in sheet.rules:
        _add(matcher, rule.selector, (ranks[rule.layer], rule.declarations))
        if rule.reveals and (match := _HOVERED_PART.match(rule.selector)) is not None:
            subject, rest = match[1].strip(), match[2]
            if subject and rest.strip() and _COMBINED.search(rest):
                _add(revealing, subject, None)
    text = [rule.selector for rule in sheet.rules]
    uses = (any(name in part for part in text) for name in (HOVERED, FOCUSED, TARGETED))
    return _Styles(matcher, revealing, *uses)


def _add(matcher: Matcher, selector: str, payload: object) -> None:
    """Add a selector; one that cannot be read matches nothing."""
    try:
        compiled = compile_selector_list(selector)
    except (SelectorError, AttributeError, NotImplementedError, RecursionError, SyntaxError, TypeError, ValueError):
        return  # some invalid selectors are other errors than SelectorError
    for part in compiled:
        if part.pseudo_element is None:
            matcher.add_selector(part, payload)


def _layer_ranks(layers: tuple[Layer, ...]) -> dict[Layer, tuple[float, ...]]:
    """Return the position of each layer in the cascade. Rules outside of all layers come last."""
    numbers = {layer: number for number, layer in enumerate(layers)}
    ranks: dict[Layer, tuple[float, ...]] = {(): (math.inf,)}
    for layer in layers:
        ranks[layer] = (*(numbers[layer[:end]] for end in range(1, len(layer) + 1)), math.inf)
    return ranks


def reacts_to(sheet: StyleSheet) -> tuple[bool, bool, bool]:
    """Return True for each of these on which rules depend: the element under the mouse, the focus, and the target of the fragment."""
    styles = _compile(sheet)
    return styles.uses_hover, styles.uses_focus, styles.uses_target


def mark_styles(
    root: HtmlElement,
    sheet: StyleSheet,
    hovered: HtmlElement | None,
    focused: HtmlElement | None,
    targeted: HtmlElement | None,
) -> None:
    """Write into a tree what its style sheets hide, show and reveal.

    Args:
        root: the `html` element; its attributes are changed.
        sheet: the rules of the page.
        hovered: the element under the mouse.
        focused: the element with the focus.
        targeted: the target of the address's fragment.

    """
    styles = _compile(sheet)
    state = [(element, HOVERED) for element in ((hovered, *hovered.iterancestors()) if hovered is not None else ())]
    state += [(element, name) for element, name in ((focused, FOCUSED), (targeted, TARGETED)) if element is not None]
    for element, name in state:
        element.set(name, "")
    hides, shows, listens = _sort(root, styles)
    for element, name in state:
        del element.attrib[name]
    for element in shows:
        element.attrib.pop("hidden", None)
        element.set("style", "display: block")
    for element in hides:
        element.set("hidden", "")
        element.attrib.pop("style", None)
    for element in listens:
        element.set(LISTENER_ATTRIBUTE, "")


def _sort(root: HtmlElement, styles: _Styles) -> tuple[list[HtmlElement], list[HtmlElement], list[HtmlElement]]:
    """Return the elements that style sheets hide, those that they show, and those that reveal others."""
    hides, shows, listens = list[HtmlElement](), list[HtmlElement](), list[HtmlElement]()
    invisible, visible = list[HtmlElement](), set[HtmlElement]()
    invisible_by_style = list[HtmlElement]()
    stack = [(_Element.from_html_root(root), _State())]
    while stack:
        wrapper, around = stack.pop()
        element = wrapper.etree_element
        inline = style_declarations(element.get("style")) if "style" in element.attrib else ()
        values = _winners(styles.matcher.match(wrapper), inline)
        display = values.get("display", "")
        has_box = element.tag not in _WITHOUT_BOX
        if display == "none" and (has_box or element.tag in ("html", "body")):
            hides += [element] if has_box else [child.etree_element for child in _boxes_in(wrapper)]
            continue
        is_shown = "hidden" in element.attrib if display == "revert" else display not in ("", "revert-layer")
        if has_box and _is_hidden_by_markup(element, inline):
            if not is_shown:
                continue
            shows.append(element)
        if any(name == "visibility" and not _VISIBILITIES.get(value, True) for name, value, _ in inline):
            invisible_by_style.append(element)
        state = _State(
            _VISIBILITIES.get(values.get("visibility", ""), around.is_visible),
            around.takes_clicks if values.get("pointer-events", "inherit") == "inherit" else values["pointer-events"] != "none",
            around.is_transparent or _is_zero(values.get("opacity", "")),
            around.is_clipped or _CLIPPED.match(values.get("clip-path", "")) is not None,
        )
        if has_box:
            if not state.is_visible:
                invisible.append(element)
            else:
                visible.update((element, *element.iterancestors()) if element not in visible else ())
            if (state.is_transparent and not state.takes_clicks) or (state.is_clipped and is_interactive(element)):
                hides.append(element)
                continue
            if styles.uses_hover and _reveals(wrapper, styles):
                listens.append(element)
        stack += [(child, state) for child in wrapper.iter_children()]
    hides += [element for element in invisible if element not in visible]
    shows += [element for element in invisible_by_style if element in visible]
    return hides, shows, listens


def _boxes_in(wrapper: _Element) -> Iterator[_Element]:
    """Yield the outermost elements with a box in the `html` or `body` element."""
    for child in wrapper.iter_children():
        if child.etree_element.tag == "body":
            yield from _boxes_in(child)
        elif child.etree_element.tag not in _WITHOUT_BOX:
            yield child


def _winners(matches: list[Any], inline: tuple[tuple[str, str, bool], ...]) -> dict[str, str]:
    """Return the value of each declared property after the cascade of matching rules and the `style` attribute.

    https://www.w3.org/TR/css-cascade-5/#cascade-sort. Important declarations precede others, and among them layers are in reverse order.
    """
    ranked: dict[str, tuple[Any, str]] = {}
    for specificity, order, _pseudo, (layer, declarations) in matches:
        for name, value, is_important in declarations:
            precedence = tuple(-part for part in layer) if is_important else layer
            rank = (is_important, False, precedence, specificity, order)
            if name not in ranked or ranked[name][0] <= rank:
                ranked[name] = rank, value
    for name, value, is_important in inline:
        rank = (is_important, True, (), (), 0)
        if name not in ranked or ranked[name][0] <= rank:
            ranked[name] = rank, value
    return {name: value for name, (_, value) in ranked.items()}


def _is_hidden_by_markup(element: HtmlElement, inline: tuple[tuple[str, str, bool], ...]) -> bool:
    attributes = element.attrib
    if dom.TOP_LAYER in attributes or attributes.get("hidden", "").lower() == "until-found":
        return False
    return (
        "hidden" in attributes
        or "popover" in attributes
        or (element.tag == "dialog" and "open" not in attributes)
        or any(name == "display" and value == "none" for name, value, _ in inline)
    )


def _is_zero(opacity: str) -> bool:
    try:
        return bool(opacity) and float(opacity.removesuffix("%")) <= 0
    except ValueError:  # a calculated value
        return False


def _reveals(wrapper: _Element, styles: _Styles) -> bool:
    """Return True if hovering the element shows others and the element has content and is neither a control nor in one."""
    if not styles.revealing.match(wrapper):
        return False
    element = wrapper.etree_element
    if next(element.iter("img"), None) is None and not element.text_content().strip():
        return False  # it has no size
    return not any(map(is_interactive, (element, *element.iterancestors())))
