"""The effect of style sheets on the elements of a page, for the in-process browser.

`mark_styles` writes the result into a tree as the attributes in which trees of Chromium have it: `hidden` on elements that a style sheet
hides, `style="display: block"` on those that it shows although their markup hides them, `webarena_gym.pages.dom.UNREACHABLE` on controls
that nobody can see or click, and `webarena_gym.pages.reading.LISTENER_ATTRIBUTE` on elements that show others under the mouse.
"""

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from cssselect2 import ElementWrapper, Matcher, SelectorError, compile_selector_list
from lxml.html import HtmlElement

from webarena_gym.browsers.boxes import covers_window, is_away, is_clipped, is_collapsed
from webarena_gym.browsers.custom_properties import RegisteredProperty, computed_properties, has_reference
from webarena_gym.browsers.selectors import FOCUSED, HOVERED, TARGETED, USER_VALIDITY_STATES, live_state, state_attributes
from webarena_gym.browsers.style_sheets import Layer, StyleSheet, computed_value, gives_inline_size, style_declarations
from webarena_gym.pages import dom
from webarena_gym.pages.constraints import DefaultValue
from webarena_gym.pages.reading import INTERACTIVE_ROLES, LISTENER_ATTRIBUTE, MAX_LABEL, is_interactive

_WITHOUT_BOX = frozenset(
    "html head title meta link base script style template noscript body option optgroup datalist area map source track param br wbr"  # noqa: SIM905
    " legend slot".split()
)
"""Elements that stay as their markup has them."""
_INHERITED = ("", "inherit", "unset", "revert", "revert-layer")
_PLACING = frozenset(("left", "top", "transform"))
_COLLAPSING = frozenset(("width", "height", "max-height"))
_SPACES = " \t\n\r\f"
_CLIPPED = re.compile(r"inset\((?:50|100)%|circle\(0")
_VISIBILITIES = {"visible": True, "initial": True, "hidden": False, "collapse": False}
_HOVERED_PART = re.compile(rf"^(.*?)\[{HOVERED}\]((?:\([^)]*\)|\[[^\]]*\]|[^\s>+~(\[])*)(.*)$", re.DOTALL)
_ENDS_WITHOUT_TAG = re.compile(r"[\s>+~]$|^$")
_OF_OTHERS = re.compile(r"::|:(?:before|after)\b")
_MAX_SIBLINGS = 50  # siblings after an element among which `:has(~ x)` looks
_CLASS = re.compile(r"\.((?:[\w-]|[^\x00-\x7f])+)")
_BRACKET = re.compile(r"[(\[]")
_CONTROL_TAGS = frozenset(("a", "button", "input", "select", "textarea", "summary", "label"))
_WITHOUT_INNER_BOX = frozenset(("head", "script", "style", "template", "noscript", "br", "wbr", "area", "map"))
_REPLACED = frozenset(
    "img svg input button select textarea iframe video canvas object embed meter progress audio hr math summary".split()  # noqa: SIM905
)
"""Elements with a size of their own."""


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

    def iter_next_siblings(self) -> Iterator["_Element"]:
        previous = self
        for element in islice(self.etree_element.itersiblings("*"), _MAX_SIBLINGS):
            previous = type(self)(element, self.parent, previous.index + 1, previous, self.in_html_document)
            yield previous


class _Styles(NamedTuple):
    """The compiled rules of a page.

    Attributes:
        matcher: the rules with their layers and declarations.
        revealing: the elements whose hovering reveals others.
        uses: the attributes of live state in selectors.
        refers: True if values refer to custom properties.
        registered: the `@property` rules by name.

    """

    matcher: Any
    revealing: Any
    uses: frozenset[str]
    refers: bool
    registered: dict[str, RegisteredProperty]


_Layer = tuple[tuple[float, int], ...]
"""Position of a box in the order of painting: the (z-index, order in the document) of the stacking contexts around it, and its own."""
_FLOW = -0.5  # z-index of the boxes that are not positioned: above negative ones, below the others


class _State(NamedTuple):
    """The state that a child inherits.

    It is visibility, pointer events, whether the child is in a transparent, unreachable or positioned element, custom properties, the
    stacking context and the layer in it, and whether the box for absolute and for fixed positions is the window.
    """

    is_visible: bool = True
    takes_clicks: bool = True
    is_transparent: bool = False
    is_unreachable: bool = False
    in_placed: bool = False
    custom: Mapping[str, str] = MappingProxyType({})
    context: _Layer = ()
    layer: _Layer = ((_FLOW, 0),)
    in_window: bool = False
    fixed_in_window: bool = True


class _Marks(NamedTuple):
    """The elements that style sheets hide, show and make unreachable, and those that reveal others."""

    hides: list[HtmlElement]
    shows: list[HtmlElement]
    unreachable: list[HtmlElement]
    listens: list[HtmlElement]


@lru_cache(maxsize=32)
def _compile(sheet: StyleSheet) -> _Styles:
    matcher, revealing = Matcher(), Matcher()
    ranks = _layer_ranks(sheet.layers)
    for rule in sheet.rules:
        _add(matcher, rule.selector, (ranks[rule.layer], rule.declarations))
        if rule.reveals and (match := _HOVERED_PART.match(rule.selector)) is not None:
            before, compound, rest = match.groups()
            if rest.strip() and not _OF_OTHERS.search(rest):
                subject = f"{before}*" if _ENDS_WITHOUT_TAG.search(before) else before
                _add(revealing, f"{subject}{compound}" + ("" if ":has(" in rest else f":has({rest.strip()})"), None)
    refers = any(name[:2] == "--" or has_reference(value) for rule in sheet.rules for name, value, _ in rule.declarations)
    uses = state_attributes(rule.selector for rule in sheet.rules)
    return _Styles(matcher, revealing, uses, refers, {item.name: item for item in sheet.registered})


def _add(matcher: Matcher, selector: str, payload: object) -> None:
    for part in _compile_selector(selector):
        if part.pseudo_element is None:
            matcher.add_selector(part, payload)


@lru_cache(maxsize=4096)
def _compile_selector(selector: str) -> list[Any]:
    """Return the compiled parts of a selector; one that cannot be read has none and matches nothing."""
    try:
        return list(compile_selector_list(selector))
    except (SelectorError, AttributeError, NotImplementedError, RecursionError, SyntaxError, TypeError, ValueError):
        return []  # some invalid selectors are other errors than SelectorError


def _layer_ranks(layers: tuple[Layer, ...]) -> dict[Layer, tuple[float, ...]]:
    """Return the position of each layer in the cascade. Rules outside of all layers come last."""
    numbers = {layer: number for number, layer in enumerate(layers)}
    ranks: dict[Layer, tuple[float, ...]] = {(): (math.inf,)}
    for layer in layers:
        ranks[layer] = (*(numbers[layer[:end]] for end in range(1, len(layer) + 1)), math.inf)
    return ranks


def reacts_to(sheet: StyleSheet) -> tuple[bool, bool, bool, bool]:
    """Return True for each of these on which rules depend.

    These are the element under the mouse, the focus, the target of the fragment, and whether the user has tried to send a form.
    """
    uses = _compile(sheet).uses
    return HOVERED in uses, FOCUSED in uses, TARGETED in uses, not uses.isdisjoint(USER_VALIDITY_STATES)


def mark_styles(
    root: HtmlElement,
    sheet: StyleSheet,
    hovered: HtmlElement | None,
    focused: HtmlElement | None,
    targeted: HtmlElement | None,
    *,
    default_value: DefaultValue,
) -> None:
    """Write into a tree what its style sheets hide, show and reveal.

    Args:
        root: the `html` element; its attributes are changed.
        sheet: the rules of the page.
        hovered: the element under the mouse.
        focused: the element with the focus.
        targeted: the target of the address's fragment.
        default_value: the value that a control had before the user edited it, on which its validity may depend.

    """
    styles = _compile(sheet)
    state = [(element, HOVERED) for element in ((hovered, *hovered.iterancestors()) if hovered is not None else ())]
    state += [(element, name) for element, name in ((focused, FOCUSED), (targeted, TARGETED)) if element is not None]
    state += live_state(root, styles.uses, default_value)
    state = [*dict.fromkeys(state)]
    for element, name in state:
        element.set(name, "")
    marks = _marks(root, styles, sheet)
    for element, name in state:
        del element.attrib[name]
    for element in marks.shows:
        element.attrib.pop("hidden", None)
        element.set("style", "display: block")
    for element in marks.hides:
        element.set("hidden", "")
        element.attrib.pop("style", None)
    for element in marks.unreachable:
        element.set(dom.UNREACHABLE, "")
    for element in marks.listens:
        element.set(LISTENER_ATTRIBUTE, "")


def _marks(root: HtmlElement, styles: _Styles, sheet: StyleSheet) -> _Marks:
    """Return the elements that are to be marked."""
    hides, shows, unreachable, listens = (list[HtmlElement]() for _ in range(4))
    invisible, visible, rendered = list[HtmlElement](), set[HtmlElement](), set[HtmlElement]()
    invisible_by_style, links = list[HtmlElement](), list[_Element]()
    order = {element: number for number, element in enumerate(root.iter())} if sheet.covers else {}
    cover: _Layer = ()
    layers = list[tuple[_Layer, HtmlElement]]()
    stack = [(_Element.from_html_root(root), _State())]
    while stack:
        wrapper, around = stack.pop()
        element = wrapper.etree_element
        inline = style_declarations(element.get("style")) if "style" in element.attrib else ()
        values, custom = _winners(styles.matcher.match(wrapper), inline), around.custom
        if styles.refers or any(name[:2] == "--" or has_reference(value) for name, value, _ in inline):
            values, custom = _without_references(values, custom, styles.registered)
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
        rendered.add(element)
        if any(name == "visibility" and not _VISIBILITIES.get(value, True) for name, value, _ in inline):
            invisible_by_style.append(element)
        state = _State(
            _VISIBILITIES.get(values.get("visibility", ""), around.is_visible),
            around.takes_clicks if (events := values.get("pointer-events", "")) in _INHERITED else events != "none",
            around.is_transparent or _is_zero(values.get("opacity", "")),
            (around.is_unreachable and values.get("position") != "fixed")
            or _CLIPPED.match(values.get("clip-path", "")) is not None
            or ("position" in values and is_clipped(values))
            or (not values.keys().isdisjoint(_PLACING) and is_away(element.tag, values, in_placed=around.in_placed)),
            around.in_placed or values.get("position", "static") not in ("static", "sticky"),
            custom,
            around.context,
            around.layer,
            around.in_window,
            around.fixed_in_window,
        )
        if order:
            state, is_cover = _stacking_state(state, around, values, order[element])
            cover = max(cover, state.layer) if is_cover and state.is_visible and state.takes_clicks else cover
            layers += [(state.layer, element)] if _is_control(element) else []
        if has_box:
            if not state.is_visible:
                invisible.append(element)
            else:
                visible.update((element, *element.iterancestors()) if element not in visible else ())
            if (state.is_transparent and not state.takes_clicks) or (state.is_unreachable and _is_control(element)):
                unreachable.append(element)
            elif _is_control(element) and element.tag not in _REPLACED and "contenteditable" not in element.attrib:
                links += [wrapper] if not (element.text and element.text.strip()) else []
            if HOVERED in styles.uses and _reveals(wrapper, styles):
                listens.append(element)
            if not values.keys().isdisjoint(_COLLAPSING) and is_collapsed(element.tag, values):
                state = state._replace(is_unreachable=True)
        stack += [(child, state) for child in wrapper.iter_children()]
    hides += [element for element in invisible if element not in visible]
    shows += [element for element in invisible_by_style if element in visible]
    unreachable += [link.etree_element for link in links if not _has_size(link, rendered, sheet.sized)]
    unreachable += [element for layer, element in layers if layer < cover]
    listens += [part for box in listens if (part := _part_of(box, rendered, visible)) is not None]
    return _Marks(hides, shows, unreachable, listens)


def _stacking_state(state: _State, around: _State, values: Mapping[str, str], number: int) -> tuple[_State, bool]:
    """Return the state of an element with its layer, and whether it covers the window.

    https://drafts.csswg.org/css2/#painting-order. Negative layers are below the page itself, and cover nothing.
    """
    position, z_index = values.get("position", "static"), values.get("z-index", "auto")
    is_positioned = position not in ("static", *_INHERITED)
    is_transformed = values.get("transform", "none") not in ("none", *_INHERITED)
    is_context = (
        position in ("fixed", "sticky", "-webkit-sticky")
        or is_transformed
        or (is_positioned and z_index.lstrip("+-").isdigit())
        or values.get("opacity", "1") not in ("1", "100%", *_INHERITED)
    )
    if not (is_positioned or is_context):
        return state, False
    level = float(z_index) if is_positioned and z_index.lstrip("+-").isdigit() else 0.0
    layer = (*around.context, (level, number))
    box_is_window = around.fixed_in_window if position == "fixed" else around.in_window if position == "absolute" else False
    is_cover = box_is_window and not is_transformed and level >= 0 and covers_window(values)
    state = state._replace(
        layer=layer,
        context=layer if is_context else around.context,
        in_window=is_cover,
        fixed_in_window=around.fixed_in_window and not is_transformed,
    )
    return state, is_cover


def _is_control(element: HtmlElement) -> bool:
    """Return True if Chromium's reader looks for a point of the element that can be clicked."""
    attributes = element.attrib
    return element.tag in _CONTROL_TAGS or attributes.get("role") in INTERACTIVE_ROLES or "contenteditable" in attributes


def _has_size(wrapper: _Element, rendered: set[HtmlElement], sized: str) -> bool:
    """Return True if an element has content, or a rule may give it or an element in it a size."""
    element = wrapper.etree_element
    if _has_content(element, rendered):
        return True
    parts = [part for part in wrapper.iter_subtree() if part.etree_element in rendered]
    return any(
        ("style" in part.etree_element.attrib and gives_inline_size(part.etree_element.get("style")))
        or any(test(part) for test in _sizing_tests(sized, part.etree_element.tag, part.etree_element.get("class", "")))
        for part in parts
    )


def _has_content(element: HtmlElement, rendered: set[HtmlElement]) -> bool:
    if element.text and element.text.strip(_SPACES):
        return True
    for child in element:
        if child.tail and child.tail.strip(_SPACES):
            return True
        if child in rendered and (
            child.tag in _REPLACED or (child.tag not in _WITHOUT_INNER_BOX and _has_content(child, rendered))
        ):
            return True
    return False


@lru_cache(maxsize=512)
def _sizing_tests(sized: str, tag: str, classes: str) -> tuple[Any, ...]:
    """Return the tests of the selectors that may match an element with a tag and classes. Most selectors are not compiled."""
    names = set(classes.split())
    return tuple(
        part.test
        for selector, last, required in _sizing_selectors(sized)
        if required <= names and (not last[:1].isalpha() or re.match(rf"{re.escape(tag)}(?![\w-])", last, re.IGNORECASE))
        for part in _compile_selector(selector)
    )


@lru_cache(maxsize=32)
def _sizing_selectors(sized: str) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Return each selector with its last compound, "" if it has quotes or escapes, and the classes before the first bracket in that."""
    result = list[tuple[str, str, frozenset[str]]]()
    for selector in sized.splitlines():
        last = "" if re.search(r"[\\\"']", selector) else _last_compound(selector)
        result.append((selector, last, frozenset(_CLASS.findall(_BRACKET.split(last, 1)[0]))))
    return tuple(result)


def _last_compound(selector: str) -> str:
    """Return the part of a selector without quotes and escapes after its last combinator.

    >>> _last_compound("ul > a.x:not(:is(b) .c)")
    'a.x:not(:is(b) .c)'
    """
    depth = 0
    for index in range(len(selector) - 1, -1, -1):
        char = selector[index]
        depth += (char in ")]") - (char in "([")
        if depth == 0 and char in " >+~":
            return selector[index + 1 :]
    return selector


def _part_of(box: HtmlElement, rendered: set[HtmlElement], visible: set[HtmlElement]) -> HtmlElement | None:
    """Return the part at which a box that contains controls has the mouse; None if it contains none.

    That is the part without controls which has the longest text that is not cut in a label, otherwise the shortest text.
    """
    parts = list[tuple[int, HtmlElement]]()

    def visit(element: HtmlElement) -> bool:
        """Collect the parts in an element; return True if it contains no control."""
        is_part = True
        for child in element:
            if child in rendered and child.tag not in _WITHOUT_INNER_BOX:
                is_control = child in visible and (_is_operated(child) or child.tag == "a")
                is_part = (not is_control and visit(child)) and is_part
        length = len(element.text_content().strip()) if is_part and element is not box else 0
        if length:
            parts.append((length if length <= MAX_LABEL else -length, element))
        return is_part

    return None if visit(box) or not parts else max(parts, key=itemgetter(0))[1]


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


def _without_references(
    values: dict[str, str], inherited: Mapping[str, str], registered: dict[str, RegisteredProperty]
) -> tuple[dict[str, str], Mapping[str, str]]:
    """Return the values of an element's properties, with references replaced, and those of its custom properties."""
    declared = {name: value for name, value in values.items() if name.startswith("--")}
    custom = computed_properties(declared, inherited, registered) if declared or registered else inherited
    computed = {
        name: computed_value(name, value, custom, registered) if has_reference(value) else value
        for name, value in values.items()
        if name not in declared
    }
    return computed, custom


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
    return not any(map(_is_operated, (element, *element.iterancestors())))


def _is_operated(element: HtmlElement) -> bool:
    """Return True if a click on an element does something of its own."""
    return is_interactive(element) or (element.tag == "label" and dom.labelled_control(element) is not None)
