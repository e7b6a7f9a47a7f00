"""HTML's standard tree, with form owners, as lxml elements.

https://html.spec.whatwg.org/multipage/parsing.html#tree-construction. justhtml builds the standard's trees, but drops the form owners
that the parser sets: `_Engine` records them.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from justhtml.dom import Element, Node, Text
from justhtml.parser.engine import ParseEngine, compile_raw_engine_plan
from lxml import etree
from lxml.html import HtmlElement

from webarena_gym.browsers.markup import INVALID_XML, PARSER
from webarena_gym.pages.dom import FORM_OWNER, MAX_DEPTH

LISTED = frozenset(("button", "fieldset", "input", "object", "output", "select", "textarea"))
"""Elements that a form owns: https://html.spec.whatwg.org/multipage/forms.html#category-listed."""
_ATTRIBUTE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]*")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_.-]*")
_TABLE_TAGS = frozenset(("table", "tbody", "tfoot", "thead", "tr"))
_WITHOUT_CONTENT = frozenset(("canvas", "noscript", "svg", "template"))


def parse_standard(html: str) -> HtmlElement | None:
    """Return the `html` element of the standard's tree, or None if it is deeper than `MAX_DEPTH`.

    Names that XML does not allow change as in page.js.
    """
    engine = _Engine(html.removeprefix("\ufeff"))
    document = engine.parse()
    root = next(node for node in _descendants(document) if isinstance(node, Element))
    forms = [node for node in _descendants(root) if node.name == "form"]
    numbers = {form: str(number) for number, form in enumerate(forms)}
    made = PARSER.makeelement("html", _attributes(root))
    owning: set[Node] = set()
    elements: dict[Node, HtmlElement] = {}
    stack: list[tuple[Element, HtmlElement, Node | None, int]] = [(root, made, None, 1)]
    while stack:
        node, element, form, depth = stack.pop()
        if depth > MAX_DEPTH:
            return None
        if node.name == "form":
            form = node
            elements[node] = element
            if node.parent is not None and node.parent.name in _TABLE_TAGS:
                # Never rendered: https://html.spec.whatwg.org/multipage/rendering.html#tables-2.
                element.set("hidden", "")
        elif (owner := engine.owners.get(node, form)) is not form and owner is not None:
            owning.add(owner)
            element.set(FORM_OWNER, numbers[owner])
        last: HtmlElement | None = None
        texts: list[str] = []
        children: list[tuple[Element, HtmlElement, Node | None, int]] = []
        for child in _content(node):
            if isinstance(child, Text):
                texts.append(child.data or "")
            elif isinstance(child, Element):
                _set_text(element, last, texts)
                texts = []
                last = etree.SubElement(element, _tag(child.name), _attributes(child))
                children.append((child, last, form, depth + 1))
        _set_text(element, last, texts)
        stack += reversed(children)
    for owner in owning:
        elements[owner].set(FORM_OWNER, numbers[owner])
    return made


def _content(node: Element) -> list[Any]:
    """Return the children that can be shown. Of an `object` without data, or of a type for a plug-in, these are its fallback."""
    if node.name == "object" and node.attrs.get("data"):
        media_type = node.attrs.get("type") or ""
        return node.children if media_type and not media_type.startswith(("text/", "image/")) else []
    if node.name not in _WITHOUT_CONTENT:
        return node.children
    if node.name == "svg":  # its name
        return [child for child in node.children if child.name == "title"]
    return []


def _set_text(element: HtmlElement, last: HtmlElement | None, texts: list[str]) -> None:
    if texts:
        text = INVALID_XML.sub("", "".join(texts).replace("\f", " "))
        if last is None:
            element.text = text
        else:
            last.tail = text


def _attributes(node: Element) -> dict[str, str]:
    return {
        name: INVALID_XML.sub("", value or "")
        for name, value in node.attrs.items()
        if _ATTRIBUTE_NAME.fullmatch(name) and name != FORM_OWNER
    }


def _tag(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name
    return re.sub(r"^[^a-z_]", "x", re.sub(r"[^a-z0-9_.-]", "-", name.lower()))


@cache
def _scope(boundaries: frozenset[str]) -> frozenset[str]:
    """Add select to the elements that end a scope, except the scope of a table. justhtml 3.16 has the list from before 2025.

    https://html.spec.whatwg.org/multipage/parsing.html#has-an-element-in-the-specific-scope
    """
    return boundaries | {"select"} if "marquee" in boundaries else boundaries


class _Engine(ParseEngine):
    """justhtml's parser, which also records the forms that own controls, and in which a select ends a scope.

    The rules are those of https://html.spec.whatwg.org/multipage/parsing.html#create-an-element-for-the-token. The methods are private to
    justhtml, so pyproject.toml bounds its version, and tests/browsers/test_standard_tree.py compares trees and owners with Chromium's.

    Attributes:
        owners: the form of each control that the parser gave one.

    """

    def __init__(self, html: str) -> None:
        super().__init__(html, fragment=False, plan=compile_raw_engine_plan(fragment=False, scripting_enabled=True))
        self.owners: dict[Node, Element] = {}

    def _insert_raw_element(self, name: str, attrs: dict[str, str | None], *args: Any, **keywords: Any) -> Element:
        form = None if self._template_modes else self._form_element
        node = super()._insert_raw_element(name, attrs, *args, **keywords)
        if form is not None and node.name in LISTED and node.namespace == "html" and "form" not in node.attrs:
            self.owners[node] = form
        return node

    def _find_open_index_before_boundary(self, name: str, boundaries: frozenset[str]) -> int | None:
        return super()._find_open_index_before_boundary(name, _scope(boundaries))

    def _close_until_before_boundary(self, name: str, boundaries: frozenset[str]) -> bool:
        return super()._close_until_before_boundary(name, _scope(boundaries))

    def _append_moved_node(self, parent: Node, node: Node) -> None:
        self._forget_owners(node)
        super()._append_moved_node(parent, node)

    def _insert_moved_node_at(self, parent: Node, position: int, node: Node) -> None:
        self._forget_owners(node)
        super()._insert_moved_node_at(parent, position, node)

    def _forget_owners(self, moved: Node) -> None:
        """Reset the form owners in a subtree: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#reset-the-form-owner."""
        for node in _descendants(moved):
            self.owners.pop(node, None)


def _descendants(root: Node) -> Iterator[Node]:
    """Yield a node and all nodes in it, in tree order."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children or ())
