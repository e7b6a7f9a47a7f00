"""One loaded document: its source, its tree, and what a person changed in it.

A document is its source and a list of changes, and its tree is a pure function of the two. So it is saved exactly whatever
the source contains, saving it again costs nothing while it does not change, and it is parsed only when it is looked at.
"""

import re
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property, lru_cache
from itertools import dropwhile
from typing import Any, NamedTuple

from lxml import etree
from lxml.html import HtmlComment, HtmlElement

from webarena_gym.pages import dom

Path = tuple[int, ...]
"""Where an element stands in its tree: its index in each parent, from the root down."""

TEXT = "#text"
"""The name under which a change of an element's text is kept; all others are attributes."""

_PARSER = etree.HTMLParser(encoding="utf-8", huge_tree=True)
# The lookup of lxml.html's own parser is a call of Python's for every element that is looked at.
_PARSER.set_element_class_lookup(etree.ElementDefaultClassLookup(element=HtmlElement, comment=HtmlComment))
_IN_HEAD = frozenset(("title", "meta", "link", "base", "style", "script", "noscript", "template", etree.Comment))
NOT_IN_TREE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that no tree can hold."""


class SavedDocument(NamedTuple):
    """A document as a picklable value; a change is an element, an attribute or TEXT, and a value or None for taken away."""

    html: bytes
    changes: tuple[tuple[Path, str, str | None], ...] = ()
    focus: Path | None = None
    is_selected: bool = False
    start: Path | None = None
    is_revisited: bool = False


class Source:
    """A page as it was sent: parsed once for all documents that show it, and never changed."""

    def __init__(self, html: bytes) -> None:
        self.html = html
        self.root = parse(html)
        self.title = dom.squeeze(next((title.text_content() for title in self.root.iter("title")), ""))
        self.first_focused = _first_to_focus(self.root)
        self.base = next((base.get("href") for base in self.root.iter("base") if "href" in base.attrib), "")
        self.target = next((base.get("target") for base in self.root.iter("base") if "target" in base.attrib), "")
        self.readings: dict[Hashable, Any] = {}
        """What readers of the page have made of it, for those who read it after them."""


@lru_cache(maxsize=256)
def read_source(html: bytes) -> Source:
    """Return the page with that source: the same object while it is kept, since groups of episodes see the same pages."""
    return Source(html)


class Document:
    """A document with live state. Nothing but `write`, `write_default` and `focus` may change it.

    Until something is written, its tree is that of its source, which others may show too; then it has one of its own.
    """

    def __init__(self, saved: SavedDocument) -> None:
        self._saved: SavedDocument | None = saved
        self._html = saved.html
        self._changes: dict[HtmlElement, tuple[str, str | None]] = {}
        self._defaults: dict[HtmlElement, str | None] = {}
        self._own: HtmlElement | None = None
        self._readings: dict[Hashable, Any] = {}
        self._focused: HtmlElement | None = None
        self._is_selected = False
        self._start: HtmlElement | None = None
        self._is_revisited = saved.is_revisited

    @cached_property
    def _source(self) -> Source:
        source = read_source(self._html)
        if self._saved is not None:
            if self._saved.changes:
                self._own = parse(self._html)
            root = source.root if self._own is None else self._own
            for path, name, value in self._saved.changes:
                self._write(_element_at(root, path), name, value)
            if self._saved.focus is not None:
                self._focused = _element_at(root, self._saved.focus)
            if self._saved.start is not None:
                self._start = _element_at(root, self._saved.start)
            self._is_selected = self._saved.is_selected
        return source

    @property
    def root(self) -> HtmlElement:
        """The element `html`; there is always a `body` in it."""
        root = self._source.root
        return root if self._own is None else self._own

    @property
    def readings(self) -> dict[Hashable, Any]:
        """What readers have made of the tree as it is now; they may add to it."""
        readings = self._source.readings
        return readings if self._own is None else self._readings

    @property
    def title(self) -> str:
        """The text of the first `title`, which nothing changes."""
        return self._source.title

    @property
    def first_focused(self) -> HtmlElement | None:
        """The element that has the focus when the page was just loaded."""
        element = self._source.first_focused
        return None if element is None else self._current(element)

    @property
    def base(self) -> str:
        """What `<base href>` says, or ""."""
        return self._source.base

    @property
    def target(self) -> str:
        """What `<base target>` says, or ""."""
        return self._source.target

    @property
    def html(self) -> bytes:
        """The page as it was sent."""
        return self._html

    @property
    def focused(self) -> HtmlElement | None:
        """The element that keys go to."""
        return self._focused if self._source else None

    @property
    def is_selected(self) -> bool:
        """Whether what is typed replaces all of the focused element's text, and does not go to its end."""
        return self.focused is not None and self._is_selected

    @property
    def start(self) -> HtmlElement | None:
        """Where the Tab key goes on from: the focused element, else that which was, or a place that was gone to."""
        return self.focused if self.focused is not None else self._start

    def focus(self, element: HtmlElement | None, *, selected: bool = False, start: HtmlElement | None = None) -> None:
        """Let keys go to `element`, whose text is `selected` or not; None lets the Tab key go on from `start`, or where it was."""
        if start is None:
            start = element if element is not None else self._start if self._source else None
        if element is not self.focused or selected != self._is_selected or start is not self._start:
            self._saved, self._focused = None, None if element is None else self._current(element)
            self._start = None if start is None else self._current(start)
            self._is_selected = selected

    def forget_start(self) -> None:
        """Let the Tab key go on from the focused element, or else from the top."""
        if self._source and self._start is not None:
            self._saved = self._start = None

    def revisit(self) -> bool:
        """Take note that the history has led here, and return whether it had not before."""
        is_first = not self._is_revisited
        if is_first:
            saved = self.save()
            self._is_revisited, self._saved = True, saved._replace(is_revisited=True)
        return is_first

    def owns(self, element: HtmlElement) -> bool:
        """Return whether an element is part of this document."""
        return element.getroottree().getroot() is self.root

    def write(self, element: HtmlElement, name: str, value: str | None) -> None:
        """Set an attribute of live state, or TEXT; None takes the attribute away. Each element has one such name.

        The element may be one of the source's. Characters that no tree can hold, such as control characters, are left out.
        """
        element = self._current(element)
        if _read(element, name) != value:
            if self._own is None:
                self._own = parse(self._html)
                element = self._current(element)
                self._focused = None if self._focused is None else self._current(self._focused)
                self._start = None if self._start is None else self._current(self._start)
            self._saved = None
            self._readings = {}
            self._write(element, name, value)

    def _current(self, element: HtmlElement) -> HtmlElement:
        """Return the element in place of one of the source's, which it may have been until now."""
        return element if self.owns(element) else _element_at(self.root, _path_to(element))

    def write_default(self, element: HtmlElement) -> None:
        """Give an element the state back with which it was loaded."""
        element = self._current(element)
        if element in self._changes:
            self.write(element, self._changes[element][0], self._defaults[element])

    def write_defaults(self, concerns: Callable[[HtmlElement], bool]) -> None:
        """Give their first state back to all elements that were changed and that it `concerns`."""
        if self._source:
            for element in [element for element in self._changes if concerns(element)]:
                self.write_default(element)

    def save(self) -> SavedDocument:
        """Return the document as a value; the same object as long as nothing changes."""
        if self._saved is None:
            changes = tuple((_path_to(element), *change) for element, change in self._changes.items())
            focus = None if self._focused is None else _path_to(self._focused)
            start = None if self._start is None else _path_to(self._start)
            self._saved = SavedDocument(self._html, changes, focus, self._is_selected, start, self._is_revisited)
        return self._saved

    def _write(self, element: HtmlElement, name: str, value: str | None) -> None:
        self._defaults.setdefault(element, _read(element, name))
        value = None if value is None else NOT_IN_TREE.sub("", value)
        self._changes[element] = (name, value)
        if name == TEXT:
            element.text = value
            return
        # A live attribute goes to the end, so that the order does not depend on how often it came and went.
        element.attrib.pop(name, None)
        if value is not None:
            element.set(name, value)


def _read(element: HtmlElement, name: str) -> str | None:
    text: str | None = (element.text or "") if name == TEXT else element.get(name)
    return text


def _first_to_focus(root: HtmlElement) -> HtmlElement | None:
    controls = root.iter("input", "textarea", "select", "button")
    return next((control for control in controls if "autofocus" in control.attrib), None)


def _path_to(element: HtmlElement) -> Path:
    parents = list(element.iterancestors())
    children = [element, *parents]
    return tuple(parent.index(child) for parent, child in zip(reversed(parents), reversed(children[:-1]), strict=True))


def _element_at(root: HtmlElement, path: Path) -> HtmlElement:
    for index in path:
        root = root[index]
    return root


def parse(html: bytes) -> HtmlElement:
    """Return the element `html` of a page as a browser first shows it; there is always a `body` in it."""
    try:
        root = etree.fromstring(html, _PARSER)
    except etree.XMLSyntaxError:
        root = None
    if root is None:  # empty, or comments alone
        root = etree.fromstring(b"<html><head></head><body></body></html>", _PARSER)
    _end_head(root)
    _set_initial_state(root.iter("textarea", "select", "input"))
    _disable_groups(root)
    return root


def _end_head(root: HtmlElement) -> None:
    """Make sure that there is a body, and that what cannot stand in the head, when nobody ended it, stands there."""
    body, head = root.find("body"), root.find("head")
    if body is None:
        body = etree.SubElement(root, "body")
    stray = [] if head is None else list(dropwhile(lambda child: child.tag in _IN_HEAD, head))
    for place, child in enumerate(stray):
        body.insert(place, child)


def _set_initial_state(controls: Iterable[HtmlElement]) -> None:
    """Bring what the source left open, or said twice, to the state in which a browser shows it."""
    ticked: dict[tuple[HtmlElement | None, str], HtmlElement] = {}
    for control in controls:
        if control.tag == "textarea":
            if len(control) or (control.text or "").startswith("\n"):
                text = "".join(control.itertext()).removeprefix("\n")
                del control[:]
                control.text = NOT_IN_TREE.sub("", text)
        elif control.tag == "select":
            if "multiple" not in control.attrib:
                _select_one(control)
        elif "checked" in control.attrib and dom.kind(control) == "radio" and control.get("name"):
            earlier = ticked.get(group := (dom.owner(control), control.get("name")))
            if earlier is not None:
                del earlier.attrib["checked"]
            ticked[group] = control


def _disable_groups(root: HtmlElement) -> None:
    """Mark the controls that a disabled fieldset disables."""
    if any("disabled" in fieldset.attrib for fieldset in root.iter("fieldset")):
        for control in root.iter("input", "select", "textarea", "button"):
            if "disabled" not in control.attrib and dom.is_disabled(control):
                control.set("disabled", "")


def _select_one(select: HtmlElement) -> None:
    chosen = dom.selected_options(select)
    for option in chosen[:-1]:
        del option.attrib["selected"]
    if not chosen and select.get("size", "1") in {"0", "1", ""}:
        first = next((option for option in select.iter("option") if not dom.is_disabled(option)), None)
        if first is not None:
            first.set("selected", "selected")
