"""Style sheets as rules that decide which elements are shown.

Of a style sheet, only declarations that can hide an element are read, in style rules whose `@media` and `@supports`
conditions hold in Chromium with the default window. `webarena_gym.browsers.styles` applies the rules to a tree.

Not read are rules in `@container`, `@scope` and `@starting-style`, and values of custom properties (`var(...)`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import tinycss2

from webarena_gym.browsers.boxes import BOX_PROPERTIES, PIXELS, gives_size, needed_properties

_WIDE_KEYWORDS = "initial|inherit|unset|revert|revert-layer"
_PROPERTIES = {
    name: re.compile(rf"(?:{values}|{_WIDE_KEYWORDS})")
    for name, values in {
        "display": r"none|contents|-webkit-(?:inline-)?(?:box|flex)"
        r"|(?:(?:block|inline|flow|flow-root|list-item|flex|grid|table|ruby|math)(?: |$))+"
        r"|inline-(?:block|flex|grid|table)|ruby-text|table-(?:(?:row|column|header|footer)(?:-group)?|cell|caption)",
        "visibility": "visible|hidden|collapse",
        "opacity": r"[-+]?(?:\d+|\d*\.\d+)%?",
        "pointer-events": r"none|auto|all|fill|painted|stroke|bounding-box|visible(?:fill|painted|stroke)?",
        "clip-path": r"none|[a-z-]+\(.*\).*",
        **BOX_PROPERTIES,
    }.items()
}
"""The properties by which a style sheet hides elements, and their valid values."""
REVEALING = _PROPERTIES.keys() | {"height", "max-height", "transform", "left", "top"}
"""The properties by which a style sheet shows something else while the mouse is over an element."""
HOVERED, FOCUSED, TARGETED = "data-is-hovered", "data-is-focused", "data-is-targeted"
"""Attributes that replace the pseudo-classes `:hover`, `:focus` and `:target` in selectors."""
VALID, INVALID = "data-is-valid", "data-is-invalid"
"""Attributes that replace the pseudo-classes `:valid` and `:invalid`."""

_WINDOW = {"width": 1280.0, "height": 720.0, "device-width": 1280.0, "device-height": 720.0}
_FEATURES = {
    "any-hover": "hover", "any-pointer": "fine", "color-gamut": "srgb", "display-mode": "browser", "dynamic-range": "standard",
    "forced-colors": "none", "hover": "hover", "inverted-colors": "none", "orientation": "landscape", "overflow-block": "scroll",
    "overflow-inline": "scroll", "pointer": "fine", "prefers-color-scheme": "light", "prefers-contrast": "no-preference",
    "prefers-reduced-data": "no-preference", "prefers-reduced-motion": "reduce", "prefers-reduced-transparency": "no-preference",
    "scan": "progressive", "scripting": "enabled", "update": "fast",
}  # fmt: skip
"""Media features of the Chromium of envs on a desktop, without those of the window's size."""
_OFF = ("none", "no-preference", "0")
_FOREIGN_PREFIX = re.compile(r"-(?:moz|ms|o|khtml)-|-webkit-touch-callout$")  # properties that Chromium does not know
_FOREIGN_PSEUDO = re.compile(r"-(?!webkit-)[a-z]+-")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda left, right: left < right, "<=": lambda left, right: left <= right, "=": lambda left, right: left == right,
    ">": lambda left, right: left > right, ">=": lambda left, right: left >= right,
}  # fmt: skip
_WITHOUT_REQUIRED = ", ".join(f"[type={name} i]" for name in ("hidden", "range", "color", "submit", "image", "reset", "button"))
_REQUIRED = f":where(input:not({_WITHOUT_REQUIRED}), select, textarea)[required]"
_PSEUDO_CLASSES = {
    "focus": f"[{FOCUSED}]",
    "focus-visible": f"[{FOCUSED}]",
    "focus-within": f":is([{FOCUSED}], :has([{FOCUSED}]))",
    "hover": f"[{HOVERED}]",
    "invalid": f"[{INVALID}]",
    "modal": "[data-top-layer=modal]",
    "open": "[open]",
    "optional": f":where(button, input, select, textarea):not({_REQUIRED})",
    "placeholder-shown": ":where(input:not([value]), input[value=''], textarea:empty)[placeholder]",
    "popover-open": "[data-top-layer=popover]",
    "target": f"[{TARGETED}]",
    "required": _REQUIRED,
    "valid": f"[{VALID}]",
}
"""Pseudo-classes of live state, as the selectors of the attributes in which trees keep it."""
_CASELESS = frozenset(
    "accept accept-charset align charset checked dir direction disabled enctype hreflang http-equiv lang language media method multiple"  # noqa: SIM905
    " readonly rel rev scope selected shape target type".split()
)
"""Attributes whose values selectors compare without case: https://html.spec.whatwg.org/multipage/semantics-other.html#case-sensitivity-of-selectors"""
_BEFORE_IMPORTS = ("import", "charset", "layer")
_MAX_IMPORTS = 5  # style sheets that import one another
_MAX_NESTED = 16  # rules within one another

Layer = tuple[str, ...]
"""Name of a cascade layer: those of the layers around it, and its own."""


class StyleRule(NamedTuple):
    """A selector with declarations.

    Attributes:
        selector: one complex selector, in which live state is written as attributes.
        declarations: (property, value in lower case, whether it is important).
        layer: the cascade layer, () outside of all.
        reveals: True if the rule has a property by which something is shown under the mouse.
        gives_size: True if the rule can give an element without content a size.

    """

    selector: str
    declarations: tuple[tuple[str, str, bool], ...]
    layer: Layer = ()
    reveals: bool = False
    gives_size: bool = False


class StyleSheet(NamedTuple):
    """The rules of a page's style sheets.

    Attributes:
        rules: the rules that can hide, show or reveal elements, in order.
        layers: the names of the layers, in the order in which they first occur.
        sized: the selectors of all rules that can give an element without content a size, one on each line.

    """

    rules: tuple[StyleRule, ...] = ()
    layers: tuple[Layer, ...] = ()
    sized: str = ""


def read_style_sheets(texts: Iterable[tuple[str, str]], load: Callable[[str, str], tuple[str, str] | None]) -> StyleSheet:
    """Return the rules of style sheets.

    Args:
        texts: (address, text) of each style sheet, in the order of the page.
        load: returns the address and the text of an imported style sheet, given the address of the one that imports it and the
            reference in it; None if it cannot be loaded.

    """
    sheets = list(texts)
    every = [text for address, source in sheets for text in _texts_of(address, source, load, depth=0)]
    needed = frozenset().union(*map(_needed_properties, every))
    rules, layers = list[StyleRule](), dict[Layer, None]()
    for address, source in sheets:
        for item in _items_of(address, source, load, needed, depth=0):
            if isinstance(item, StyleRule):
                rules.append(item)
                _add_layer(layers, item.layer)
            else:
                _add_layer(layers, item)
    sized = "\n".join(filter(None, map(_sized_selectors, every)))
    return StyleSheet(tuple(rules), tuple(layers) if rules else (), sized)


def _add_layer(layers: dict[Layer, None], layer: Layer) -> None:
    for end in range(1, len(layer) + 1):
        layers.setdefault(layer[:end])


class _Import(NamedTuple):
    """An `@import`: the reference, and the layer of the imported rules."""

    reference: str
    layer: Layer


def _texts_of(address: str, text: str, load: Callable[[str, str], tuple[str, str] | None], *, depth: int) -> Iterator[str]:
    """Yield the text of a style sheet and of those that it imports."""
    yield text
    for item in _parse(text):
        if isinstance(item, _Import) and depth < _MAX_IMPORTS and (loaded := load(address, item.reference)) is not None:
            yield from _texts_of(*loaded, load, depth=depth + 1)


def _items_of(
    address: str, text: str, load: Callable[[str, str], tuple[str, str] | None], needed: frozenset[str], *, depth: int
) -> Iterator[StyleRule | Layer]:
    for item in _rules_with(text, needed):
        if not isinstance(item, _Import):
            yield item
        elif depth < _MAX_IMPORTS and (loaded := load(address, item.reference)) is not None:
            for inner in _items_of(*loaded, load, needed, depth=depth + 1):
                if isinstance(inner, StyleRule):
                    yield inner._replace(layer=item.layer + inner.layer)
                else:
                    yield item.layer + inner


@lru_cache(maxsize=64)
def _rules_with(text: str, needed: frozenset[str]) -> tuple[StyleRule | Layer | _Import, ...]:
    """Return the rules, layers and imports of a style sheet, without the properties of boxes but for the needed ones."""
    ignored, items = BOX_PROPERTIES.keys() - needed, list[StyleRule | Layer | _Import]()
    for item in _parse(text):
        if isinstance(item, StyleRule):
            declarations = tuple(declaration for declaration in item.declarations if declaration[0] not in ignored)
            if declarations or (item.reveals and HOVERED in item.selector):
                items.append(item._replace(declarations=declarations, gives_size=False))
        else:
            items.append(item)
    return tuple(items)


@lru_cache(maxsize=64)
def _needed_properties(text: str) -> frozenset[str]:
    rules = [item for item in _parse(text) if isinstance(item, StyleRule)]
    return frozenset(needed_properties((name, value) for rule in rules for name, value, _ in rule.declarations))


@lru_cache(maxsize=64)
def _sized_selectors(text: str) -> str:
    return "\n".join(
        " ".join(item.selector.split()) for item in _parse(text) if isinstance(item, StyleRule) and item.gives_size
    )


@lru_cache(maxsize=64)
def _parse(text: str) -> tuple[StyleRule | Layer | _Import, ...]:
    """Return the rules, layers and imports of a style sheet. It is cached, since all pages of a site have the same ones."""
    nodes = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
    is_first = [getattr(node, "lower_at_keyword", "") in _BEFORE_IMPORTS for node in nodes]
    end = is_first.index(False) if False in is_first else len(nodes)
    later = [node for node in nodes[end:] if getattr(node, "lower_at_keyword", "") != "import"]  # they are invalid there
    return tuple(_read_rules([*nodes[:end], *later], (), ""))


def _read_rules(nodes: Iterable[Any], layer: Layer, parent: str, depth: int = 0) -> Iterator[StyleRule | Layer | _Import]:
    """Yield what the nodes of a style sheet, or of a block in it, contain. `parent` is the selector list around a nested rule."""
    if depth > _MAX_NESTED:
        return
    declared, anonymous = list[Any](), 0
    for node in nodes:
        if node.type == "declaration":
            declared.append(node)
            continue
        yield from _style_rules(declared, parent, layer)  # nested rules come after the declarations before them
        declared = []
        if node.type == "qualified-rule":
            selectors = list(_selectors(node.prelude, parent))
            if selectors:
                yield from _read_rules(_block(node), layer, ", ".join(selectors), depth + 1)
        elif node.type == "at-rule":
            name = node.lower_at_keyword
            if name == "import":
                yield from _read_import(node, layer)
            elif name == "layer":
                names = [tuple(part.strip().split(".")) for part in tinycss2.serialize(node.prelude).split(",") if part.strip()]
                if node.content is None:
                    yield from (layer + inner for inner in names)
                else:
                    anonymous += 1
                    inner = layer + (names[0] if names else (f"({len(layer)}.{anonymous})",))
                    yield inner
                    yield from _read_rules(_block(node), inner, parent, depth + 1)
            elif node.content is not None and (
                (name == "media" and media_matches(node.prelude)) or (name == "supports" and _is_supported(node.prelude))
            ):
                yield from _read_rules(_block(node), layer, parent, depth + 1)
    yield from _style_rules(declared, parent, layer)


def _style_rules(declared: Sequence[Any], parent: str, layer: Layer) -> Iterator[StyleRule]:
    """Yield a rule for each selector of a list with the same declarations."""
    if not (parent and declared):
        return
    declarations = tuple(_declarations(declared))
    reveals = any(node.lower_name in REVEALING for node in declared)
    is_sized = any(gives_size(node.lower_name, _value(node)) for node in declared)
    for selector in _split(tinycss2.parse_component_value_list(parent)):
        text = tinycss2.serialize(selector).strip()
        if declarations or is_sized or (reveals and HOVERED in text):
            yield StyleRule(text, declarations, layer, reveals, is_sized)


def _block(node: Any) -> list[Any]:
    return list(tinycss2.parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True))


def _declarations(nodes: Iterable[Any]) -> Iterator[tuple[str, str, bool]]:
    for node in nodes:
        if node.lower_name in _PROPERTIES:
            value = _value(node)
            if _PROPERTIES[node.lower_name].fullmatch(value):
                yield node.lower_name, value, node.important


def _value(declaration: Any) -> str:
    return " ".join(tinycss2.serialize(declaration.value).lower().split())


def gives_inline_size(style: str) -> bool:
    """Return True if a `style` attribute can give an element without content a size."""
    nodes = tinycss2.parse_blocks_contents(style, skip_comments=True, skip_whitespace=True)
    return any(gives_size(node.lower_name, _value(node)) for node in nodes if node.type == "declaration")


def style_declarations(text: str) -> tuple[tuple[str, str, bool], ...]:
    """Return the declarations of a `style` attribute, as in `StyleRule`.

    >>> style_declarations("color: red; Display: NONE !important")
    (('display', 'none', True),)
    """
    nodes = tinycss2.parse_blocks_contents(text, skip_comments=True, skip_whitespace=True)
    return tuple(_declarations(node for node in nodes if node.type == "declaration"))


# Selectors.


def _split(tokens: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the parts of a list between its commas."""
    part = list[Any]()
    for node in tokens:
        if node == ",":
            yield part
            part = []
        else:
            part.append(node)
    yield part


def _selectors(prelude: Sequence[Any], parent: str) -> Iterator[str]:
    """Yield the complex selectors of a prelude; nested ones refer to `parent`. One that Chromium does not know invalidates all."""
    parts = list(_split(prelude))
    if any(map(_is_invalid, parts)):
        return
    for part in parts:
        around = f":is({parent})" if parent else "&"
        text = _selector_text(part, around).strip()
        yield f"{around} {text}" if parent and all(node != "&" for node in _flat(part)) else text


def _is_invalid(selector: Sequence[Any]) -> bool:
    """Return True if a selector is empty, or has a pseudo-class or pseudo-element with another browser's prefix."""
    is_foreign = any(
        colon == ":" and _FOREIGN_PSEUDO.match(getattr(name, "lower_value", "") or getattr(name, "lower_name", ""))
        for colon, name in pairwise(selector)
    )
    return is_foreign or not _without_space(selector)


def _flat(tokens: Iterable[Any]) -> Iterator[Any]:
    for node in tokens:
        yield node
        yield from _flat(getattr(node, "arguments", ()))


def _selector_text(tokens: Sequence[Any], around: str) -> str:
    """Return the text of a selector, with the pseudo-classes of live state as attributes, and `around` for `&`."""
    texts, position = list[str](), 0
    while position < len(tokens):
        node = tokens[position]
        after = tokens[position + 1] if position + 1 < len(tokens) else None
        if node == ":" and after is not None and after.type == "ident" and after.lower_value in _PSEUDO_CLASSES:
            is_element = position > 0 and tokens[position - 1] == ":"  # such as ::before
            texts.append(f":{after.serialize()}" if is_element else _PSEUDO_CLASSES[after.lower_value])
            position += 2
            continue
        if node.type == "function":
            texts.append(f"{node.name}({_selector_text(node.arguments, around)})")
        elif node.type == "[] block":
            content = _without_space(node.content)
            name = getattr(content[0], "lower_value", "") if content else ""
            text = tinycss2.serialize(node.content)
            texts.append(f"[{text} i]" if name in _CASELESS and len(content) == 3 else f"[{text}]")
        else:
            texts.append(around if node == "&" else node.serialize())
        position += 1
    return "".join(texts)


# Conditions.


def media_matches(query: str | Sequence[Any]) -> bool:
    """Return True if a list of media queries matches Chromium on a desktop, with a window of 1280 x 720 pixels.

    https://drafts.csswg.org/mediaqueries-4/. A query that cannot be read does not match.

    >>> media_matches("print"), media_matches("screen and (min-width: 40em)"), media_matches("(width < 600px), print"), media_matches("")
    (False, True, False, True)
    """
    tokens = tinycss2.parse_component_value_list(query) if isinstance(query, str) else query
    queries = [_without_space(part) for part in _split(tokens)]
    return queries == [[]] or any(map(_matches_query, queries))


def _without_space(tokens: Iterable[Any]) -> list[Any]:
    return [node for node in tokens if node.type not in ("whitespace", "comment")]


def _matches_query(tokens: list[Any]) -> bool:
    words = [node.lower_value if node.type == "ident" else "" for node in tokens]
    if not tokens or words[0] not in ("all", "screen", "print", "speech", "not", "only"):
        return bool(tokens) and _condition(tokens, _media_feature) is True
    if words[0] == "not" and len(words) > 1 and not words[1]:
        return _condition(tokens, _media_feature) is True
    negated = words[0] == "not"
    start = 1 if words[0] in ("not", "only") else 0
    media_type, rest = words[start] if start < len(words) else "", tokens[start + 1 :]
    result = media_type in ("all", "screen")
    if rest:
        condition = _condition(rest[1:], _media_feature) if words[start + 1] == "and" else None
        if condition is None:
            return False
        result = result and condition
    return result is not negated


def _condition(tokens: list[Any], test: Callable[[list[Any]], bool | None]) -> bool | None:
    """Return the value of a condition: `not X`, or parts in brackets that `and` or `or` join; None if it cannot be read."""
    words = [node.lower_value if node.type == "ident" else "" for node in tokens]
    if words[:1] == ["not"]:
        value = _condition(tokens[1:], test) if len(tokens) == 2 else None
        return None if value is None else not value
    operators = set(words[1::2])
    if len(tokens) % 2 == 0 or (operators - {"and"} and operators - {"or"}):
        return None
    values = [_in_brackets(node, test) for node in tokens[::2]]
    if operators == {"or"}:
        return True if True in values else None if None in values else False
    return False if False in values else None if None in values else True


def _in_brackets(node: Any, test: Callable[[list[Any]], bool | None]) -> bool | None:
    if node.type == "function":
        return test([node])
    if node.type != "() block":
        return None
    content = _without_space(node.content)
    is_condition = bool(content) and (
        content[0].type == "() block" or (content[0].type == "ident" and content[0].lower_value == "not")
    )
    return _condition(content, test) if is_condition else test(content)


def _media_feature(tokens: list[Any]) -> bool | None:
    """Return the value of a feature, such as `min-width: 600px`, `hover` or `400px <= width < 900px`; None if it is unknown."""
    if len(tokens) == 1 and tokens[0].type == "ident":
        name = tokens[0].lower_value
        return True if name in _WINDOW or name == "color" else _FEATURES[name] not in _OFF if name in _FEATURES else None
    if len(tokens) >= 3 and tokens[0].type == "ident" and tokens[1] == ":":
        name, value = tokens[0].lower_value, tokens[2]
        for prefix, comparison in (("min-", ">="), ("max-", "<=")):
            if name.startswith(prefix) and name.removeprefix(prefix) in _WINDOW:
                pixels = _pixels(value)
                return None if pixels is None else _COMPARISONS[comparison](_WINDOW[name.removeprefix(prefix)], pixels)
        if name in _WINDOW:
            return _pixels(value) == _WINDOW[name]
        return value.type == "ident" and value.lower_value == _FEATURES[name] if name in _FEATURES else None
    return _media_range(tokens)


def _media_range(tokens: list[Any]) -> bool | None:
    operands, operators = list[float | None](), list[str]()
    for node in tokens:
        if node.type == "literal" and node.value in ("<", ">", "=", "<=", ">="):
            if node.value == "=" and len(operators) == len(operands) and operators:
                operators[-1] += "="  # "<" and "=" are separate tokens
            else:
                operators.append(node.value)
        else:
            operands.append(_WINDOW.get(node.lower_value) if node.type == "ident" else _pixels(node))
    if len(operands) != len(operators) + 1 or not operators:
        return None
    left_to_right = zip(operands, operators, operands[1:], strict=False)
    results = [
        None if left is None or right is None or operator not in _COMPARISONS else _COMPARISONS[operator](left, right)
        for left, operator, right in left_to_right
    ]
    return None if None in results else all(results)


def _pixels(node: Any) -> float | None:
    if node.type == "dimension":
        factor = PIXELS.get(node.lower_unit)
        return None if factor is None else float(node.value) * factor
    return 0.0 if node.type == "number" and node.value == 0 else None


def _is_supported(prelude: Sequence[Any]) -> bool:
    """Return True if Chromium supports what the condition of `@supports` asks for: whatever has no other browser's prefix."""
    return _condition(_without_space(prelude), _supports) is True


def _supports(tokens: list[Any]) -> bool | None:
    first = tokens[0] if tokens else None
    if first is None:
        return None
    if first.type == "function":
        return ":-moz" not in tinycss2.serialize(first.arguments) if first.lower_name == "selector" else False
    return first.type == "ident" and len(tokens) > 2 and tokens[1] == ":" and not _FOREIGN_PREFIX.match(first.lower_value)


def _read_import(node: Any, layer: Layer) -> Iterator[_Import]:
    """Yield an `@import` whose conditions hold."""
    tokens = _without_space(node.prelude)
    if not tokens:
        return
    first, rest = tokens[0], tokens[1:]
    reference = first.value if first.type in ("string", "url") else ""
    if first.type == "function" and first.lower_name == "url":
        reference = next((node.value for node in first.arguments if node.type == "string"), "")
    if rest and rest[0].type == "ident" and rest[0].lower_value == "layer":
        layer, rest = (*layer, f"({reference})"), rest[1:]
    elif rest and rest[0].type == "function" and rest[0].lower_name == "layer":
        layer, rest = (*layer, *tinycss2.serialize(rest[0].arguments).strip().split(".")), rest[1:]
    if rest and rest[0].type == "function" and rest[0].lower_name == "supports":
        content = _without_space(rest[0].arguments)
        if not (_supports(content) if content and content[0].type == "ident" else _condition(content, _supports)):
            return
        rest = rest[1:]
    if reference and (not rest or media_matches(rest)):
        yield _Import(reference, layer)
