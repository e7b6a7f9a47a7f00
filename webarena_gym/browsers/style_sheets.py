"""Style sheets as rules that decide which elements are shown.

Of a style sheet, only declarations that can hide an element are read, in style rules whose `@media` and `@supports`
conditions hold in Chromium with the default window. `webarena_gym.browsers.styles` applies the rules to a tree.

Not read are rules in `@container`, `@scope` and `@starting-style`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import tinycss2
from tinycss2.ast import Node

from webarena_gym.browsers.boxes import BOX_PROPERTIES, PIXELS, gives_size, needed_properties
from webarena_gym.browsers.custom_properties import RegisteredProperty, has_reference, references, substitute
from webarena_gym.browsers.selectors import HOVERED, read_selectors, split_at_commas

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
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda left, right: left < right, "<=": lambda left, right: left <= right, "=": lambda left, right: left == right,
    ">": lambda left, right: left > right, ">=": lambda left, right: left >= right,
}  # fmt: skip
_BEFORE_IMPORTS = ("import", "charset", "layer")
_MAX_IMPORTS = 5  # style sheets that import one another
_MAX_NESTED = 16  # rules within one another
_MAX_SELECTORS = 50_000  # characters of the selectors of a nested rule, which each `&` multiplies
_MAX_BRACKETS = 200  # brackets within one another, which this package follows by recursion
_MAX_WORK = 2_000_000  # characters of possible values; beyond them, all properties of boxes are read

Layer = tuple[str, ...]
"""Name of a cascade layer: those of the layers around it, and its own."""


class StyleRule(NamedTuple):
    """A selector with declarations.

    Attributes:
        selector: one complex selector, in which live state is written as attributes.
        declarations: (property, value in lower case, whether it is important); a value with references to custom properties, and
            those of custom properties, are as in the source.
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
        registered: the `@property` rules of custom properties that other rules refer to.
        covers: True if an element may cover the window.

    """

    rules: tuple[StyleRule, ...] = ()
    layers: tuple[Layer, ...] = ()
    sized: str = ""
    registered: tuple[RegisteredProperty, ...] = ()
    covers: bool = False


def read_style_sheets(
    texts: Iterable[tuple[str, str]], load: Callable[[str, str], tuple[str, str] | None], inline: str = ""
) -> StyleSheet:
    """Return the rules of style sheets.

    Args:
        texts: (address, text) of each style sheet, in the order of the page.
        load: returns the address and the text of an imported style sheet, given the address of the one that imports it and the
            reference in it; None if it cannot be loaded.
        inline: the declarations of `style` attributes that refer to custom properties, or may cover the window.

    """
    sheets = list(texts)
    every = [text for address, source in sheets for text in _texts_of(address, source, load, depth=0)]
    needed = _needed_of(tuple(every), inline)
    rules, layers, registered = list[StyleRule](), dict[Layer, None](), list[RegisteredProperty]()
    for address, source in sheets:
        for item in _items_of(address, source, load, needed, depth=0):
            if isinstance(item, StyleRule):
                rules.append(item)
                _add_layer(layers, item.layer)
            elif isinstance(item, RegisteredProperty):
                registered.append(item)
            else:
                _add_layer(layers, item)
    sized = "\n".join(filter(None, map(_sized_selectors, every)))
    return StyleSheet(tuple(rules), tuple(layers) if rules else (), sized, tuple(registered), "z-index" in needed)


def _add_layer(layers: dict[Layer, None], layer: Layer) -> None:
    for end in range(1, len(layer) + 1):
        layers.setdefault(layer[:end])


class _Import(NamedTuple):
    """An `@import`: the reference, and the layer of the imported rules."""

    reference: str
    layer: Layer


_Item: TypeAlias = StyleRule | Layer | _Import | RegisteredProperty
"""A part of a style sheet."""


def _texts_of(address: str, text: str, load: Callable[[str, str], tuple[str, str] | None], *, depth: int) -> Iterator[str]:
    """Yield the text of a style sheet and of those that it imports."""
    yield text
    for item in _parse(text):
        if isinstance(item, _Import) and depth < _MAX_IMPORTS and (loaded := load(address, item.reference)) is not None:
            yield from _texts_of(*loaded, load, depth=depth + 1)


def _items_of(
    address: str, text: str, load: Callable[[str, str], tuple[str, str] | None], needed: frozenset[str], *, depth: int
) -> Iterator[StyleRule | Layer | RegisteredProperty]:
    for item in _rules_with(text, needed):
        if not isinstance(item, _Import):
            yield item
        elif depth < _MAX_IMPORTS and (loaded := load(address, item.reference)) is not None:
            for inner in _items_of(*loaded, load, needed, depth=depth + 1):
                if isinstance(inner, StyleRule):
                    yield inner._replace(layer=item.layer + inner.layer)
                elif isinstance(inner, RegisteredProperty):
                    yield inner
                else:
                    yield item.layer + inner


@lru_cache(maxsize=64)
def _rules_with(text: str, needed: frozenset[str]) -> tuple[_Item, ...]:
    """Return the items of a style sheet, with those properties of boxes and custom properties that are needed."""
    ignored, items = BOX_PROPERTIES.keys() - needed, list[_Item]()
    for item in _parse(text):
        if isinstance(item, StyleRule):
            declarations = tuple(
                declaration
                for declaration in item.declarations
                if declaration[0] not in ignored and (declaration[0] in needed or not declaration[0].startswith("--"))
            )
            if declarations or (item.reveals and HOVERED in item.selector):
                items.append(item._replace(declarations=declarations, gives_size=False))
        elif not isinstance(item, RegisteredProperty) or item.name in needed:
            items.append(item)
    return tuple(items)


@lru_cache(maxsize=64)
def _needed_of(texts: tuple[str, ...], inline: str) -> frozenset[str]:
    """Return the properties of boxes, and the custom properties, that the style sheets of a page need."""
    rules = [item for text in texts for item in _parse(text) if isinstance(item, StyleRule)]
    declared = [(name, value) for rule in rules for name, value, _ in rule.declarations]
    attributes = [(name, value) for name, value, _ in style_declarations(inline)]
    referring = {item for item in (*declared, *attributes) if not item[0].startswith("--") and has_reference(item[1])}
    if not referring:
        return frozenset(needed_properties([*declared, *attributes]))
    values = dict[str, set[str]]()
    for name, value in (*declared, *attributes):
        if name.startswith("--"):
            values.setdefault(name, set()).add(value)
    for text in texts:
        for item in _parse(text):
            if isinstance(item, RegisteredProperty) and item.initial is not None:
                values.setdefault(item.name, set()).add(item.initial)
    lengths = {name: sum(map(len, texts)) for name, texts in values.items()}
    work = sum(
        lengths.get(name, 0) + len(value) * len(values.get(name, ())) for _, value in referring for name in references(value)
    )
    if work > _MAX_WORK:
        boxes = set(BOX_PROPERTIES)
    else:
        possible = [(name, text) for name, value in referring for text in _possible_values(value, values)]
        boxes = needed_properties([*(item for item in (*declared, *attributes) if item not in referring), *possible])
    pending = [name for key, value in referring if key not in BOX_PROPERTIES or key in boxes for name in references(value)]
    custom = set[str]()
    while pending:
        name = pending.pop()
        if name not in custom:
            custom.add(name)
            pending += [inner for value in values.get(name, ()) for inner in references(value)]
    return frozenset(boxes | custom)


def _possible_values(value: str, values: dict[str, set[str]]) -> Iterator[str]:
    """Yield values that a declaration may have, with one declared value of each custom property at a time and 0 for the others."""
    for name in references(value):
        for text in values.get(name, ()):
            inner = next(_possible_values(text, {}), "0") if has_reference(text) else text
            if (result := substitute(value, lambda other, name=name, inner=inner: inner if other == name else "0")) is not None:  # type: ignore[misc]
                yield " ".join(result.lower().split())
    if (result := substitute(value, lambda _: None)) is not None:
        yield " ".join(result.lower().split())


@lru_cache(maxsize=64)
def _sized_selectors(text: str) -> str:
    return "\n".join(
        " ".join(item.selector.split()) for item in _parse(text) if isinstance(item, StyleRule) and item.gives_size
    )


def _component_values(text: str) -> list[Any] | None:
    """Return the component values of a text; None if it has too many brackets within one another."""
    values: list[Any] = tinycss2.parse_component_value_list(text, skip_comments=True)
    level = values
    for _ in range(_MAX_BRACKETS):
        level = [inner for node in level for inner in getattr(node, "content", None) or getattr(node, "arguments", None) or ()]
        if not level:
            return values
    return None


@lru_cache(maxsize=64)
def _parse(text: str) -> tuple[_Item, ...]:
    """Return the rules, layers and imports of a style sheet. It is cached, since all pages of a site have the same ones."""
    nodes = tinycss2.parse_stylesheet(_component_values(text) or (), skip_comments=True, skip_whitespace=True)
    is_first = [getattr(node, "lower_at_keyword", "") in _BEFORE_IMPORTS for node in nodes]
    end = is_first.index(False) if False in is_first else len(nodes)
    later = [node for node in nodes[end:] if getattr(node, "lower_at_keyword", "") != "import"]  # they are invalid there
    return tuple(_read_rules([*nodes[:end], *later], (), ""))


def _read_rules(nodes: Iterable[Any], layer: Layer, parent: str, depth: int = 0) -> Iterator[_Item]:
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
            selectors = ", ".join(read_selectors(node.prelude, parent))
            if selectors and (not parent or len(selectors) <= _MAX_SELECTORS):
                yield from _read_rules(_block(node), layer, selectors, depth + 1)
        elif node.type == "at-rule":
            name = node.lower_at_keyword
            if name == "import":
                yield from _read_import(node, layer)
            elif name == "property":
                yield from _read_property(node)
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
    for selector in split_at_commas(tinycss2.parse_component_value_list(parent)):
        text = tinycss2.serialize(selector).strip()
        if declarations or is_sized or (reveals and HOVERED in text):
            yield StyleRule(text, declarations, layer, reveals, is_sized)


def _block(node: Node) -> list[Any]:
    return list(tinycss2.parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True))


def _declarations(nodes: Iterable[Any]) -> Iterator[tuple[str, str, bool]]:
    for node in nodes:
        if node.name.startswith("--"):
            yield node.name, tinycss2.serialize(node.value).strip(), node.important
        elif node.lower_name in _PROPERTIES:
            value = _value(node)
            if has_reference(value):
                yield node.lower_name, tinycss2.serialize(node.value).strip(), node.important
            elif _PROPERTIES[node.lower_name].fullmatch(value):
                yield node.lower_name, value, node.important


def computed_value(name: str, value: str, custom: Mapping[str, str], registered: Mapping[str, RegisteredProperty]) -> str:
    """Return the value of a property with its references replaced; "unset" if the property does not have this value.

    >>> computed_value("display", "var(--d, none)", {}, {}), computed_value("display", "var(--d)", {"--d": "1px"}, {})
    ('none', 'unset')
    """

    def lookup(reference: str) -> str | None:
        return custom.get(reference, registered[reference].initial if reference in registered else None)

    text = " ".join((substitute(value, lookup) or "").lower().split())
    return text if _PROPERTIES[name].fullmatch(text) else "unset"


def _value(declaration: Node) -> str:
    return " ".join(tinycss2.serialize(declaration.value).lower().split())


def gives_inline_size(style: str) -> bool:
    """Return True if a `style` attribute can give an element without content a size."""
    return any(gives_size(node.lower_name, _value(node)) for node in _inline_declarations(style))


def style_declarations(text: str) -> tuple[tuple[str, str, bool], ...]:
    """Return the declarations of a `style` attribute, as in `StyleRule`.

    >>> style_declarations("color: red; Display: NONE !important")
    (('display', 'none', True),)
    """
    return tuple(_declarations(_inline_declarations(text)))


def _inline_declarations(style: str) -> list[Any]:
    nodes = tinycss2.parse_blocks_contents(_component_values(style) or (), skip_comments=True, skip_whitespace=True)
    return [node for node in nodes if node.type == "declaration"]


# Conditions.


def media_matches(query: str | Sequence[Any]) -> bool:
    """Return True if a list of media queries matches Chromium on a desktop, with a window of 1280 x 720 pixels.

    https://drafts.csswg.org/mediaqueries-4/. A query that cannot be read does not match.

    >>> media_matches("print"), media_matches("screen and (min-width: 40em)"), media_matches("(width < 600px), print"), media_matches("")
    (False, True, False, True)
    """
    tokens = _component_values(query) if isinstance(query, str) else query
    if tokens is None:
        return False
    queries = [_without_space(part) for part in split_at_commas(tokens)]
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


def _in_brackets(node: Node, test: Callable[[list[Any]], bool | None]) -> bool | None:
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


def _pixels(node: Node) -> float | None:
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


def _read_property(node: Node) -> Iterator[RegisteredProperty]:
    """Yield the custom property of an `@property` rule."""
    name = tinycss2.serialize(node.prelude).strip()
    if name.startswith("--") and node.content is not None:
        values = {
            part.lower_name: tinycss2.serialize(part.value).strip() for part in _block(node) if part.type == "declaration"
        }
        if values.keys() >= {"syntax", "inherits"}:
            yield RegisteredProperty(name, values["inherits"].lower() == "true", values.get("initial-value"))


def _read_import(node: Node, layer: Layer) -> Iterator[_Import]:
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
