"""One loaded document: its source, its tree, and what a person changed in it.

A document is its source and a list of changes, and its tree is a pure function of the two. So it is saved exactly whatever
the source contains, saving it again costs nothing while it does not change, it is parsed only when it is looked at, and all
documents with the same source and changes share one tree.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import cached_property, lru_cache
from itertools import dropwhile
from typing import Any, NamedTuple

from lxml import etree
from lxml.html import HtmlComment, HtmlElement

from webarena_gym.browsers.http import NEEDS_SCRIPTS
from webarena_gym.pages import dom

Path = tuple[int, ...]
"""The path of an element in its tree: its index in each parent, from the root down."""

TEXT = "#text"
"""The name under which a change of an element's text is kept; all others are attributes."""

_PARSER = etree.HTMLParser(encoding="utf-8", huge_tree=True)
# The lookup of lxml.html's own parser is a call of Python's for every element that is looked at.
_PARSER.set_element_class_lookup(etree.ElementDefaultClassLookup(element=HtmlElement, comment=HtmlComment))
_HANDLER = re.compile(rb"on(?<![a-z]on)(?:click|submit|change|input|key|mouse|load|focus|blur|drag)[a-z]*\s*=")
_HAS_HANDLER = etree.XPath("boolean(//@*[starts-with(name(), 'on')])")  # a page may show a text like one: what was searched for
_NO_SCRIPTS = ("json", "template", "text/html", "text/plain")  # in the types of `script` elements that are data
_DUMB_ROLES = frozenset(
    "alert banner complementary contentinfo document feed figure form group heading img list listitem main navigation none note"  # noqa: SIM905
    " presentation region row rowgroup rowheader search separator status table columnheader cell article".split()
)
_REASONS = 3  # that a note tells
_IN_HEAD = frozenset(("title", "meta", "link", "base", "style", "script", "noscript", "template", etree.Comment))
NOT_IN_TREE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that no tree can hold."""


Change = tuple[Path, str, str | None]
"""An element, an attribute or TEXT, and a value or None for taken away."""


class SavedDocument(NamedTuple):
    """A document as a picklable value."""

    html: bytes
    changes: tuple[Change, ...] = ()
    focus: Path | None = None
    is_selected: bool = False
    start: Path | None = None
    is_revisited: bool = False


class Source:
    """A page in one state: parsed once for all documents that show it, and never changed."""

    def __init__(self, root: HtmlElement, html: bytes, first: "Source | None" = None) -> None:
        self.root = root
        self._html = html
        self._first = first  # the page as it was sent, where a person has changed it since
        self.cache: dict[Hashable, Any] = {}
        """A cache of what readers of the page have made of it."""

    @cached_property
    def title(self) -> str:
        """The text of the first `title`."""
        return dom.normalize_space(next((title.text_content() for title in self.root.iter("title")), ""))

    @cached_property
    def base(self) -> str:
        """The value of `<base href>`, or ""."""
        return next((base.get("href") for base in self.root.iter("base") if "href" in base.attrib), "")

    @cached_property
    def target(self) -> str:
        """The value of `<base target>`, or ""."""
        return next((base.get("target") for base in self.root.iter("base") if "target" in base.attrib), "")

    @cached_property
    def first_focused(self) -> HtmlElement | None:
        """The element that has the focus when the page was just loaded."""
        controls = self.root.iter("input", "textarea", "select", "button")
        return next((control for control in controls if "autofocus" in control.attrib), None)

    @cached_property
    def is_scripted(self) -> bool:
        """True if the page has scripts."""
        if self._first:
            return self._first.is_scripted
        kinds = (script.get("type", "") for script in self.root.iter("script"))
        if any(not any(word in kind for word in _NO_SCRIPTS) for kind in kinds):
            return True
        return bool(_HANDLER.search(self._html) and _HAS_HANDLER(self.root))

    @cached_property
    def notes(self) -> tuple[tuple[str, ...], bool]:
        """A note on what is missing of the page where its scripts do not run or its frames do not load, if anything; and whether it takes files."""
        if self._first:
            return self._first.notes
        reasons = [
            f"of the frame {frame.get('src') or 'without an address'}"
            for frame in self.root.iter("iframe", "frame")
            if "srcdoc" in frame.attrib or frame.get("src", "") not in ("", "about:blank")
        ]
        if self.is_scripted:
            reasons += dict.fromkeys(_script_marks(self.root))
        more = f" and {len(reasons) - _REASONS} more" if len(reasons) > _REASONS else ""
        note = (f"{NEEDS_SCRIPTS}: {'; '.join(reasons[:_REASONS])}{more}",) if reasons else ()
        return note, any(dom.element_type(field) == "file" for field in self.root.iter("input"))

    @cached_property
    def is_too_deep(self) -> bool:
        """True if what goes down by recursion must not read the page."""
        return bool(dom.is_too_deep(self.root))


_ALIVE = etree.XPath(
    "//*[@onclick or @draggable = 'true' or @contenteditable[. != 'false'] or contains(local-name(), '-')]"
    " | //*[@role or @tabindex >= 0][not(self::a or self::button or self::input or self::select or self::textarea or self::summary)]"
)
_FILLED = etree.XPath(
    "//*[self::div or self::ul or self::p or self::main or self::section or self::tbody][@id][not(node())] | //canvas"
    " | //iframe[@id and not(@srcdoc) and (not(@src) or @src = '' or @src = 'about:blank')]"
)
_NEWS = etree.XPath("boolean(//script[contains(., 'WebSocket(') or contains(., 'EventSource(')])")
_HELD_BACK = re.compile(
    r"preventDefault|confirm|prompt|fetch|return\s+false\W*$"
)  # in `onsubmit`: it is not sent, or not as it is


def _script_marks(root: HtmlElement) -> Iterator[str]:
    """Yield the signs that a page with scripts lives from them."""
    for form in root.iter("form"):
        if _HELD_BACK.search(form.get("onsubmit", "")) or not ("action" in form.attrib or "method" in form.attrib):
            yield "a form that a script sends"
        for control in dom.form_controls(form):
            what, name, is_sent = dom.element_type(control), control.get("name"), form.get("method", "").lower() == "post"
            hidden = what == "hidden" or (what in dom.TYPEABLE_TYPES and not dom.is_visible(control))
            if hidden and name and is_sent and not dom.field_value(control):
                yield f'a form sends its hidden field "{name}" empty unless a script fills it'
            elif not name and what in dom.TYPEABLE_TYPES and not hidden:
                yield "a field without a name, which only a script sends"
    for control in root.iter(*dom.CONTROL_TAGS):
        if any(name.startswith("on") for name in control.keys()):  # noqa: SIM118 - of lxml
            yield "a control that a script listens to"
        elif dom.element_type(control) == "button" or (
            dom.form_owner(control) is None and dom.element_type(control) != "hidden"
        ):
            yield "a control without a form"
    if next((part for part in _ALIVE(root) if part.get("role") not in _DUMB_ROLES), None) is not None:
        yield "parts that only scripts bring to life"
    if _FILLED(root):
        yield "parts that scripts fill"
    if _NEWS(root):
        yield "news that a script receives"


@lru_cache(maxsize=256)
def read_source(html: bytes) -> Source:
    """Return the page as it was sent: the same object while it is kept, since groups of episodes see the same pages."""
    return Source(parse(html), html)


@lru_cache(maxsize=128)
def read_changed(html: bytes, changes: tuple[Change, ...]) -> Source:
    """Return the page as the changes leave it, which are of different elements; kept as that is, since groups type the same."""
    source = read_source(html)
    root = parse(html) if source.is_too_deep else deepcopy(source.root.getroottree()).getroot()
    for path, name, value in changes:
        _write(_element_at(root, path), name, value)
    return Source(root, html, source)


class Document:
    """A document with live state. Nothing but `write`, `write_defaults` and `focus` may change it.

    Its trees are shared with other documents in the same state, and never change: what is written leads to another one, in
    which elements are found by where they stand.
    """

    def __init__(self, saved: SavedDocument) -> None:
        self.html = saved.html
        self._saved: SavedDocument | None = saved
        self._changes: dict[Path, tuple[str, str | None]] = {path: (name, value) for path, name, value in saved.changes}
        self._focused: HtmlElement | None = None
        self._is_selected = False
        self._start: HtmlElement | None = None
        self._is_revisited = saved.is_revisited

    @cached_property
    def source(self) -> Source:
        """The page as it is now."""
        source = self._read()
        if self._saved is not None:
            _, _, focus, self._is_selected, start, _ = self._saved
            self._focused = None if focus is None else _element_at(source.root, focus)
            self._start = None if start is None else _element_at(source.root, start)
        return source

    def _read(self) -> Source:
        changes = tuple((path, *change) for path, change in self._changes.items())
        return read_changed(self.html, changes) if changes else read_source(self.html)

    @property
    def root(self) -> HtmlElement:
        """The element `html`; there is always a `body` in it."""
        return self.source.root

    @property
    def focused(self) -> HtmlElement | None:
        """The element that keys go to."""
        return self._focused if self.source else None

    @property
    def is_selected(self) -> bool:
        """True if what is typed replaces all of the focused element's text, and does not go to its end."""
        return self.focused is not None and self._is_selected

    @property
    def start(self) -> HtmlElement | None:
        """The element from which the Tab key goes on: the focused element, else that which was, or a place that was gone to."""
        return self.focused if self.focused is not None else self._start

    def focus(self, element: HtmlElement | None, *, selected: bool = False, start: HtmlElement | None = None) -> None:
        """Let keys go to `element`, whose text is `selected` or not; None lets the Tab key go on from `start`, or where it was."""
        if start is None:
            start = element if element is not None else self._start if self.source else None
        if element is not self.focused or selected != self._is_selected or start is not self._start:
            self._saved, self._is_selected = None, selected
            self._focused = None if element is None else self._current(element)
            self._start = None if start is None else self._current(start)

    def forget_start(self) -> None:
        """Let the Tab key go on from the focused element, or else from the top."""
        if self.source and self._start is not None:
            self._saved = self._start = None

    def revisit(self) -> bool:
        """Take note that the history has led here, and return whether it had not before."""
        is_first = not self._is_revisited
        if is_first:
            self._is_revisited, self._saved = True, self.save()._replace(is_revisited=True)
        return is_first

    def write(self, *writes: tuple[HtmlElement, str, str | None]) -> None:
        """Set an attribute of live state, or TEXT, of elements; None takes the attribute away. Each element has one such name.

        Elements may be of an earlier tree. Characters that no tree can hold, such as control characters, are left out.
        """
        wanted = [(self._current(element), name, value) for element, name, value in writes]
        new = {
            _path_to(element): (name, None if value is None else NOT_IN_TREE.sub("", value))
            for element, name, value in wanted
            if _read(element, name) != value
        }
        if new:
            self._changes |= new
            self.source, self._saved = self._read(), None
            self._focused = None if self._focused is None else self._current(self._focused)
            self._start = None if self._start is None else self._current(self._start)

    def _current(self, element: HtmlElement) -> HtmlElement:
        """Return the element in place of one of an earlier tree, which it may be."""
        root = self.source.root
        return element if element.getroottree().getroot() is root else _element_at(root, _path_to(element))

    def write_defaults(self, concerns: Callable[[HtmlElement], bool]) -> None:
        """Give the state with which they were loaded back to all elements that were changed and that it `concerns`."""
        changed = [(_element_at(self.root, path), path, name) for path, (name, _) in self._changes.items()]
        first = read_source(self.html).root if changed else self.root
        self.write(*((part, name, _read(_element_at(first, path), name)) for part, path, name in changed if concerns(part)))

    def save(self) -> SavedDocument:
        """Return the document as a value; the same object as long as nothing changes."""
        if self._saved is None:
            focus = None if self._focused is None else _path_to(self._focused)
            start = None if self._start is None else _path_to(self._start)
            changes = tuple((path, *change) for path, change in self._changes.items())
            self._saved = SavedDocument(self.html, changes, focus, self._is_selected, start, self._is_revisited)
        return self._saved


def _read(element: HtmlElement, name: str) -> str | None:
    text: str | None = (element.text or "") if name == TEXT else element.get(name)
    return text


def _write(element: HtmlElement, name: str, value: str | None) -> None:
    if name == TEXT:
        element.text = value
        return
    # A live attribute goes to the end, so that the order does not depend on how often it came and went.
    element.attrib.pop(name, None)
    if value is not None:
        element.set(name, value)


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
    # What cannot stand in the head, when nobody ended it, stands in the body.
    body, head = root.find("body"), root.find("head")
    if body is None:
        body = etree.SubElement(root, "body")
    stray = [] if head is None else list(dropwhile(lambda child: child.tag in _IN_HEAD, head))
    for place, child in enumerate(stray):
        body.insert(place, child)
    _set_initial_state(root.iter("textarea", "select", "input"))
    if any("disabled" in fieldset.attrib for fieldset in root.iter("fieldset")):
        for control in root.iter("input", "select", "textarea", "button"):
            if "disabled" not in control.attrib and dom.is_disabled(control):
                control.set("disabled", "")
    return root


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
        elif "value" in control.attrib and dom.element_type(control) == "file":
            del control.attrib["value"]  # which only a person gives it
        elif "checked" in control.attrib and dom.element_type(control) == "radio" and control.get("name"):
            earlier = ticked.get(group := (dom.form_owner(control), control.get("name")))
            if earlier is not None:
                del earlier.attrib["checked"]
            ticked[group] = control


def _select_one(select: HtmlElement) -> None:
    chosen = dom.selected_options(select)
    for option in chosen[:-1]:
        del option.attrib["selected"]
    if not chosen and select.get("size", "1") in {"0", "1", ""}:
        first = next((option for option in select.iter("option") if not dom.is_disabled(option)), None)
        if first is not None:
            first.set("selected", "selected")


_HISTORY_LIMIT = 50  # entries, as in Chromium


class HistoryEntry(NamedTuple):
    """One step of a tab's history. Entries that differ only in the URL's fragment share one document."""

    url: str
    document: Document


class SavedTab(NamedTuple):
    """A tab as a picklable value."""

    entries: tuple[tuple[str, SavedDocument], ...]
    position: int


class OpenTab:
    """A tab, which always shows one entry of its history."""

    def __init__(self, entries: Sequence[HistoryEntry], position: int = 0) -> None:
        self._entries = list(entries)
        self.position = position

    @property
    def entry(self) -> HistoryEntry:
        """The page that is shown."""
        return self._entries[self.position]

    def visit(self, entry: HistoryEntry, *, replace: bool = False) -> None:
        """Show a new page after the one that is shown, where what lay ahead is forgotten, or in its place.

        A document that takes another's place does so in all entries.
        """
        if replace:
            old = self.entry.document
            shown = [HistoryEntry(url, entry.document if document is old else document) for url, document in self._entries]
            self._entries = [*shown[: self.position], entry, *shown[self.position + 1 :]]
        else:
            self._entries = [*self._entries[: self.position + 1], entry][-_HISTORY_LIMIT:]
            self.position = len(self._entries) - 1

    def travel(self, distance: int) -> bool:
        """Go `distance` entries on, or back when it is negative; return False when there are not so many."""
        if not 0 <= self.position + distance < len(self._entries):
            return False
        self.position += distance
        return True

    def save(self) -> SavedTab:
        """Return the tab as a value."""
        return SavedTab(tuple((url, document.save()) for url, document in self._entries), self.position)

    @classmethod
    def restored(cls, saved: SavedTab) -> "OpenTab":
        """Return the tab that was saved."""
        # A document that several entries shared is one object in the saved tab, too.
        documents = {id(document): Document(document) for _, document in saved.entries}
        return cls([HistoryEntry(url, documents[id(document)]) for url, document in saved.entries], saved.position)
