"""A loaded document: HTML source, user changes and the resulting tree.

A document consists of its source and a list of changes, and its tree is a pure function of both. Therefore snapshots are exact
for any source and free while nothing changes, parsing is lazy, and documents with equal source and changes share one tree.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import deepcopy
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from webarena_gym.browsers.http import NEEDS_SCRIPTS, referrer_policy
from webarena_gym.browsers.markup import INVALID_XML as INVALID_XML
from webarena_gym.browsers.markup import is_plain, parse_plain
from webarena_gym.browsers.style_sheets import StyleSheet
from webarena_gym.browsers.styles import mark_styles, reacts_to
from webarena_gym.pages import dom, focus
from webarena_gym.pages.input_values import sanitize_value
from webarena_gym.pages.navigables import base_target
from webarena_gym.pages.reading import LISTENER_ATTRIBUTE

NodePath = tuple[int, ...]
"""Path of an element in its tree: its child index on each level, from the root down."""

TEXT = "#text"
"""Placeholder for an attribute name in changes of an element's text."""

_HANDLER_TEXT = re.compile(rb"on(?<![a-z]on)(?:click|submit|change|input|key|mouse|load|focus|blur|drag)[a-z]*\s*=")
_HAS_HANDLER = etree.XPath("boolean(//@*[starts-with(name(), 'on')])")  # excludes page text that looks like a handler
_DATA_TYPES = ("json", "template", "text/html", "text/plain")  # parts of the `type` of script elements that contain data
_STATIC_ROLES = frozenset(
    "alert banner complementary contentinfo document feed figure form group heading img list listitem main navigation none note"  # noqa: SIM905
    " presentation region row rowgroup rowheader search separator status table columnheader cell article".split()
)
_EMPTY_FRAME = re.compile(
    r"(?i)(?:about:blank|javascript:(?:void\(?0?\)?|false|''|\"\")?;?)?"
)  # of an address without whitespace
_IN_ADDRESS = re.compile(r"(?i)\s*data:text/")
_MEDIA = re.compile(
    r"(?i)^(?:data|blob|javascript):|\.(?:png|jpe?g|gif|svgz?|webp|avif|swf|pdf|mp[34]|m4[av]|og[gv]|webm|mov|avi|wav|class|jar)(?:[?#]|$)"
)
"""Addresses of objects that are no documents."""
_MAX_REASONS = 3  # reasons listed in a note


DocumentChange = tuple[NodePath, str, str | None]
"""(element, attribute name or TEXT, value); the value None removes the attribute."""


class TopLayerEntry(NamedTuple):
    """An open popover or modal dialog: its path, its kind, and the element that gets the focus back, if any."""

    element: NodePath
    kind: Literal["auto", "hint", "manual", "modal"]
    previous_focus: NodePath | None


class SavedDocument(NamedTuple):
    """The picklable state of a Document."""

    html: bytes
    changes: tuple[DocumentChange, ...] = ()
    focus: NodePath | None = None
    is_selected: bool = False
    tab_start: NodePath | None = None
    is_revisited: bool = False
    policy: str = ""
    """Referrer policy of the response's headers."""
    refresh: str = ""
    """Refresh header of the response."""
    waited_ms: float = 0.0
    """Time that has passed since the document was opened; only the action wait takes time."""
    top_layer: tuple[TopLayerEntry, ...] = ()
    encoding: str = "UTF-8"
    """Name of the encoding in which forms and the queries of links are sent."""
    sheet: StyleSheet | None = None
    """The rules of the style sheets, None if they are not applied."""
    hovered: NodePath | None = None
    """The element under the mouse."""
    targeted: NodePath | None = None
    """The target of the address's fragment."""


class SavedTab(NamedTuple):
    """The picklable state of an OpenTab."""

    entries: tuple[tuple[str, SavedDocument], ...]
    position: int
    name: str = ""
    group: int = 0


class DocumentTree:
    """The immutable tree of a page in one state, shared by all documents in that state."""

    def __init__(self, root: HtmlElement, html: bytes, original: "DocumentTree | None" = None) -> None:
        self.root = root
        self._html = html
        self._original = original  # the tree without user changes, or None if this one has none
        self.cache: dict[Hashable, Any] = {}
        """Results that readers have computed from the tree; see `Page.cache`."""

    @cached_property
    def title(self) -> str:
        """Text of the first `title` element."""
        return dom.normalize_space(next((title.text_content() for title in self.root.iter("title")), ""))

    @cached_property
    def base(self) -> str:
        """Value of `<base href>`, or ""."""
        return next((base.get("href") for base in self.root.iter("base") if "href" in base.attrib), "")

    @cached_property
    def target(self) -> str:
        """Value of `<base target>`, or ""."""
        return base_target(self.root)

    @cached_property
    def policy(self) -> str:
        """Referrer policy of the last `<meta name=referrer>` that has a known one, or ""."""
        metas = (meta for meta in self.root.iter("meta") if meta.get("name", "").lower() == "referrer")
        policies = [referrer_policy(meta.get("content", ""), in_meta=True) for meta in metas]
        return next(filter(None, reversed(policies)), "")

    @cached_property
    def refreshes(self) -> tuple[str, ...]:
        """The `content` of each `<meta http-equiv=refresh>`."""
        metas = (meta for meta in self.root.iter("meta") if meta.get("http-equiv", "").lower() == "refresh")
        return tuple(meta.get("content", "") for meta in metas if dom.is_rendered(meta))

    @cached_property
    def first_focused(self) -> HtmlElement | None:
        """The element that has the focus after loading: the first one with `autofocus` that can have it.

        https://html.spec.whatwg.org/multipage/interaction.html#the-autofocus-attribute
        """
        return next(filter(focus.is_focusable, _AUTOFOCUS(self.root)), None)

    @cached_property
    def dismissible_dialogs(self) -> tuple[HtmlElement, ...]:
        """Open dialogs, other than modal ones, that Escape closes."""
        dialogs = _DISMISSIBLE(self.root)
        return tuple(dialog for dialog in dialogs if dom.closed_by(dialog) != "none")

    @cached_property
    def is_scripted(self) -> bool:
        """True if the page has scripts."""
        if self._original:
            return self._original.is_scripted
        script_types = (script.get("type", "") for script in self.root.iter("script"))
        if any(not any(part in script_type for part in _DATA_TYPES) for script_type in script_types):
            return True
        return bool(_HANDLER_TEXT.search(self._html) and _HAS_HANDLER(self.root))

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """Addresses of the frames with a document, "" for one whose document is in the page itself."""
        if self._original:
            return self._original.frames
        frames = [
            "" if "srcdoc" in frame.attrib or _IN_ADDRESS.match(frame.get("src", "")) else frame.get("src", "")
            for frame in self.root.iter("iframe", "frame")
            if "srcdoc" in frame.attrib or not _EMPTY_FRAME.fullmatch("".join(frame.get("src", "").split()))
        ]
        objects = [part.get("src" if part.tag == "embed" else "data", "") for part in self.root.iter("object", "embed")]
        return (*frames, *(address for address in objects if address and not _MEDIA.search(address)))

    @cached_property
    def script_marks(self) -> tuple[str, ...]:
        """Descriptions of the parts that do not work without scripts."""
        if self._original:
            return self._original.script_marks
        return tuple(dict.fromkeys(_script_marks(self.root))) if self.is_scripted else ()

    def notices(self, is_reachable: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the notice about parts that need scripts or frames, if any.

        Args:
            is_reachable: returns True for the address of a frame that can be loaded; other frames are empty in all browsers.

        """
        frames = [frame for frame in self.frames if not frame or is_reachable(frame)]
        reasons = [f"of the frame {frame or 'without an address'}" for frame in frames] + [*self.script_marks]
        more = f" and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
        return (f"{NEEDS_SCRIPTS}: {'; '.join(reasons[:_MAX_REASONS])}{more}",) if reasons else ()

    @cached_property
    def takes_files(self) -> bool:
        """True if the page has file fields."""
        if self._original:
            return self._original.takes_files
        return any(dom.element_type(field) == "file" for field in self.root.iter("input"))

    @cached_property
    def is_too_deep(self) -> bool:
        """True if the elements are nested too deep for recursive readers; see `dom.MAX_DEPTH`."""
        return bool(dom.is_too_deep(self.root))


_PARTS_OF_STRAY_OPTIONS = etree.XPath("//option[not(ancestor::select)]/*")
_AUTOFOCUS = etree.XPath("//*[@autofocus]")
_INTERNAL_ATTRIBUTES = (
    LISTENER_ATTRIBUTE,
    dom.TOP_LAYER,
    dom.UNREACHABLE,
    dom.USER_VALIDITY,
)  # marks of the browsers, which pages must not set
_DISMISSIBLE = etree.XPath(f"//dialog[@open][@closedby][not(@{dom.TOP_LAYER})]")
_SCRIPTED_PARTS = etree.XPath(
    "//*[@onclick or @draggable = 'true' or @contenteditable[. != 'false'] or contains(local-name(), '-')]"
    " | //*[@role or @tabindex >= 0][not(self::a or self::button or self::input or self::select or self::textarea or self::summary)]"
)
_SCRIPT_FILLED = etree.XPath(
    "//*[self::div or self::ul or self::p or self::main or self::section or self::tbody][@id][not(node())] | //canvas"
    " | //iframe[@id and not(@srcdoc) and (not(@src) or @src = '' or @src = 'about:blank')]"
)
_EVENT_CHANNEL = etree.XPath("boolean(//script[contains(., 'WebSocket(') or contains(., 'EventSource(')])")
_PREVENTED_SUBMIT = re.compile(
    r"preventDefault|confirm|prompt|fetch|return\s+false\W*$"
)  # in `onsubmit`: the form is not sent, or not unchanged


def _script_marks(root: HtmlElement) -> Iterator[str]:
    """Yield descriptions of the parts of a scripted page that do not work without its scripts."""
    for form in root.iter("form"):
        if _PREVENTED_SUBMIT.search(form.get("onsubmit", "")) or not ("action" in form.attrib or "method" in form.attrib):
            yield "a form that a script sends"
        for control in dom.form_controls(form):
            type_name, name = dom.element_type(control), control.get("name")
            is_post = form.get("method", "").lower() == "post"
            is_hidden = type_name == "hidden" or (type_name in dom.TYPEABLE_TYPES and not dom.is_visible(control))
            if is_hidden and name and is_post and not dom.field_value(control):
                yield f'a form sends its hidden field "{name}" empty unless a script fills it'
            elif not name and type_name in dom.TYPEABLE_TYPES and not is_hidden:
                yield "a field without a name, which only a script sends"
    for control in root.iter(*dom.CONTROL_TAGS):
        if any(name.startswith("on") for name in control.keys()):  # noqa: SIM118 - of lxml
            yield "a control that a script listens to"
        elif dom.element_type(control) == "button" or (
            dom.form_owner(control) is None and dom.element_type(control) != "hidden"
        ):
            yield "a control without a form"
    if next((part for part in _SCRIPTED_PARTS(root) if part.get("role") not in _STATIC_ROLES), None) is not None:
        yield "parts that only scripts bring to life"
    if _SCRIPT_FILLED(root):
        yield "parts that scripts fill"
    if _EVENT_CHANNEL(root):
        yield "news that a script receives"


@lru_cache(maxsize=256)
def original_tree(html: bytes) -> DocumentTree:
    """Return the tree of a page without user changes. It is cached, since episodes of a group load the same pages."""
    return DocumentTree(parse(html), html)


@lru_cache(maxsize=128)
def changed_tree(html: bytes, changes: tuple[DocumentChange, ...]) -> DocumentTree:
    """Return the tree of a page after changes of different elements. It is cached, since episodes of a group type the same."""
    tree = original_tree(html)
    root = parse(html) if tree.is_too_deep else deepcopy(tree.root.getroottree()).getroot()
    for path, name, value in changes:
        _write(_element_at(root, path), name, value)
    return DocumentTree(root, html, tree)


@lru_cache(maxsize=128)
def styled_tree(
    html: bytes,
    changes: tuple[DocumentChange, ...],
    sheet: StyleSheet,
    hovered: NodePath | None,
    focused: NodePath | None,
    targeted: NodePath | None,
) -> DocumentTree:
    """Return the tree of a page whose style sheets hide and show elements. Trees that are too deep are returned without styles."""
    tree = changed_tree(html, changes) if changes else original_tree(html)
    if tree.is_too_deep:
        return tree
    root = deepcopy(tree.root.getroottree()).getroot()
    elements = [None if path is None else _element_at(root, path) for path in (hovered, focused, targeted)]
    edited = {path for path, _, _ in changes}

    def default_value(control: HtmlElement) -> str | None:
        path = _path_to(control)
        return dom.field_value(_element_at(original_tree(html).root, path)) if path in edited else None

    mark_styles(root, sheet, *elements, default_value=default_value)
    return DocumentTree(root, html, tree)


class Document:
    """A document with live state, which only `write`, `restore_defaults` and `focus` change.

    Trees are immutable and shared with other documents in the same state. Each change switches to another tree, in which an
    element is identified by its path.
    """

    def __init__(self, saved: SavedDocument) -> None:
        self.html = saved.html
        self._saved: SavedDocument | None = saved
        self._changes: dict[tuple[NodePath, str], str | None] = {(path, name): value for path, name, value in saved.changes}
        self._focused: HtmlElement | None = None
        self._is_selected = False
        self._tab_start: HtmlElement | None = None
        self._is_revisited = saved.is_revisited
        self._header_policy = saved.policy
        self.refresh, self.encoding = saved.refresh, saved.encoding
        self._sheet, self._hovered, self._targeted = saved.sheet, saved.hovered, saved.targeted
        reactions = reacts_to(saved.sheet) if saved.sheet is not None and saved.sheet.rules else (False,) * 4
        self._reacts_to_mouse, self._reacts_to_focus, self._reacts_to_target, self.shows_user_validity = reactions
        self._waited_ms, self._top_layer = saved.waited_ms, saved.top_layer

    @cached_property
    def tree(self) -> DocumentTree:
        """The tree in the current state."""
        tree = self._read(None if self._saved is None else self._saved.focus)
        if self._saved is not None:
            focus, tab_start, self._is_selected = self._saved.focus, self._saved.tab_start, self._saved.is_selected
            self._focused = None if focus is None else _element_at(tree.root, focus)
            self._tab_start = None if tab_start is None else _element_at(tree.root, tab_start)
        return tree

    def _read(self, focused: NodePath | None) -> DocumentTree:
        changes = tuple((path, name, value) for (path, name), value in self._changes.items())
        if self._sheet is not None:
            focused = focused if self._reacts_to_focus else None
            return styled_tree(self.html, changes, self._sheet, self._hovered, focused, self._targeted)
        return changed_tree(self.html, changes) if changes else original_tree(self.html)

    @property
    def root(self) -> HtmlElement:
        """The `html` element, which always contains a `body`."""
        return self.tree.root

    @property
    def policy(self) -> str:
        """The referrer policy, or "" for the default."""
        return self.tree.policy or self._header_policy

    @property
    def focused(self) -> HtmlElement | None:
        """The focused element, which receives keys."""
        return self._focused if self.tree else None

    @property
    def is_selected(self) -> bool:
        """True if all text of the focused element is selected, so that typing replaces it instead of appending to it."""
        return self.focused is not None and self._is_selected

    @property
    def tab_start(self) -> HtmlElement | None:
        """The element after which the Tab key continues: the focused one, else the previously focused one or a fragment's target."""
        return self.focused if self.focused is not None else self._tab_start

    def focus(self, element: HtmlElement | None, *, selected: bool = False, tab_start: HtmlElement | None = None) -> None:
        """Set the focused element, whether its text is selected, and where the Tab key continues.

        By default the Tab key continues at `element`, or at the previous position if `element` is None.
        """
        if tab_start is None:
            tab_start = element if element is not None else self._tab_start if self.tree else None
        if element is not self.focused or selected != self._is_selected or tab_start is not self._tab_start:
            self._saved, self._is_selected = None, selected
            self._focused = None if element is None else self.current(element)
            self._tab_start = None if tab_start is None else self.current(tab_start)
            if self._reacts_to_focus:
                self._rebuild()

    def hover(self, element: HtmlElement) -> None:
        """Move the mouse over an element, which may show others."""
        if self._reacts_to_mouse and (path := _path_to(element)) != self._hovered:
            self._hovered = path
            self._rebuild()

    def set_target(self, element: HtmlElement | None) -> None:
        """Set the target of the address's fragment, which style sheets may show."""
        path = None if element is None else _path_to(element)
        if self._reacts_to_target and path != self._targeted:
            self._targeted = path
            self._rebuild()

    def reset_tab_start(self) -> None:
        """Make the Tab key continue at the focused element, or at the top without one."""
        if self.tree and self._tab_start is not None:
            self._saved = self._tab_start = None

    def mark_revisited(self) -> bool:
        """Record a visit through the tab's history; return True if it is the first."""
        is_first = not self._is_revisited
        if is_first:
            self._is_revisited, self._saved = True, self.save()._replace(is_revisited=True)
        return is_first

    def write(self, *writes: tuple[HtmlElement, str, str | None], is_edit: bool = False) -> None:
        """Set live state of elements: (element, attribute or TEXT, value), where the value None removes the attribute.

        With `is_edit`, a value that is there already becomes one that the user has typed, which `minlength` limits.

        Elements may belong to an earlier tree. Characters that XML cannot contain, such as control characters, are dropped.
        """
        current_writes = [(self.current(element), name, value) for element, name, value in writes]
        new = {
            (_path_to(element), name): None if value is None else INVALID_XML.sub("", value)
            for element, name, value in current_writes
            if _read(element, name) != value or (is_edit and value and (_path_to(element), name) not in self._changes)
        }
        if new:
            self._changes |= new
            self._rebuild()

    def _rebuild(self) -> None:
        """Switch to the tree of the current changes. An element that can no longer have the focus loses it.

        https://html.spec.whatwg.org/multipage/interaction.html#focus-fixup
        """
        focused = None if self._focused is None else _path_to(self._focused)
        self.tree, self._saved = self._read(focused), None
        self._focused = None if self._focused is None else self.current(self._focused)
        self._tab_start = None if self._tab_start is None else self.current(self._tab_start)
        if self._focused is not None and not focus.is_focusable(self._focused):
            self._focused, self._tab_start = None, self._focused

    def current(self, element: HtmlElement) -> HtmlElement:
        """Return the element of the current tree at the path of `element`, which may belong to an earlier tree."""
        root = self.tree.root
        return element if element.getroottree().getroot() is root else _element_at(root, _path_to(element))

    @property
    def waited_ms(self) -> float:
        """Milliseconds that have passed since the document was opened."""
        return self._waited_ms

    @waited_ms.setter
    def waited_ms(self, value: float) -> None:
        if value != self._waited_ms:
            self._saved = self.save()._replace(waited_ms=value)
            self._waited_ms = value

    @property
    def has_top_layer(self) -> bool:
        """True if popovers or modal dialogs are open."""
        return bool(self._top_layer)

    @property
    def top_layer(self) -> list[tuple[HtmlElement, TopLayerEntry]]:
        """The open popovers and modal dialogs with their entries, in the order in which they were opened."""
        return [(_element_at(self.root, entry.element), entry) for entry in self._top_layer]

    def add_to_top_layer(
        self, element: HtmlElement, kind: Literal["auto", "hint", "manual", "modal"], *, returns: bool
    ) -> None:
        """Append an entry; the focus returns to the focused element afterwards if `returns` is set."""
        previous = _path_to(self.focused) if returns and self.focused is not None else None
        self._set_top_layer((*self._top_layer, TopLayerEntry(_path_to(element), kind, previous)))

    def remove_from_top_layer(self, element: HtmlElement) -> HtmlElement | None:
        """Remove the entry of an element, if any, and return the element that gets the focus back, if any."""
        path = _path_to(element)
        removed = next((entry for entry in self._top_layer if entry.element == path), None)
        self._set_top_layer(tuple(entry for entry in self._top_layer if entry is not removed))
        previous = None if removed is None else removed.previous_focus
        return None if previous is None else _element_at(self.root, previous)

    def _set_top_layer(self, entries: tuple[TopLayerEntry, ...]) -> None:
        """Set the entries and their marks in the tree. Only the last modal dialog blocks the document, so only it is marked."""
        last_modal = next((entry for entry in reversed(entries) if entry.kind == "modal"), None)
        marks = {entry.element: "popover" for entry in entries if entry.kind != "modal"}
        if last_modal is not None:
            marks[last_modal.element] = "modal"
        paths = {entry.element for entry in (*self._top_layer, *entries)}
        self._saved, self._top_layer = None, entries
        self.write(*((_element_at(self.root, path), dom.TOP_LAYER, marks.get(path)) for path in sorted(paths)))

    def value_before_edit(self, control: HtmlElement) -> str | None:
        """Return the value of a control after loading; None if the user has not changed it since, or since a reset."""
        if not self._changes:
            return None
        path = _path_to(control)
        if not any(changed == path for changed, _ in self._changes):
            return None
        return dom.field_value(_element_at(original_tree(self.html).root, path))

    def restore_defaults(self, applies_to: Callable[[HtmlElement], bool]) -> None:
        """Reset the changed elements for which `applies_to` returns True to their state after loading."""
        keys = [key for key in self._changes if applies_to(_element_at(self.root, key[0]))]
        if keys:
            for key in keys:
                del self._changes[key]
            still_open = {path for path, name in self._changes if name == dom.TOP_LAYER}
            self._top_layer = tuple(entry for entry in self._top_layer if entry.element in still_open)
            self._rebuild()

    def save(self) -> SavedDocument:
        """Return the picklable state; the same object as long as nothing changes."""
        if self._saved is None:
            focus = None if self._focused is None else _path_to(self._focused)
            tab_start = (
                focus if self._tab_start is self._focused else None if self._tab_start is None else _path_to(self._tab_start)
            )
            changes = tuple((path, name, value) for (path, name), value in self._changes.items())
            self._saved = SavedDocument(
                self.html, changes, focus, self._is_selected, tab_start, self._is_revisited, self._header_policy,
                self.refresh, self._waited_ms, self._top_layer, self.encoding, self._sheet, self._hovered,
                self._targeted,
            )  # fmt: skip
        return self._saved


def _read(element: HtmlElement, name: str) -> str | None:
    text: str | None = (element.text or "") if name == TEXT else element.get(name)
    return text


def _write(element: HtmlElement, name: str, value: str | None) -> None:
    if name == TEXT:
        element.text = value
        return
    # A live attribute is always appended, so that the order of attributes does not depend on the history of changes.
    element.attrib.pop(name, None)
    if value is not None:
        element.set(name, value)


def _path_to(element: HtmlElement) -> NodePath:
    path = []
    for parent in element.iterancestors():
        path.append(parent.index(element))
        element = parent
    return tuple(reversed(path))


def _element_at(root: HtmlElement, path: NodePath) -> HtmlElement:
    for index in path:
        root = root[index]
    return root


def parse(html: bytes) -> HtmlElement:
    """Return the `html` element of a page in its state after loading; it always contains a `body`."""
    plain = is_plain(html)
    root = None
    if not plain:
        from webarena_gym.browsers.standard_tree import parse_standard  # noqa: PLC0415 - takes 0.15 s, and few pages need it

        root = parse_standard(html.decode("utf-8", "replace"))
    if root is None:
        root = parse_plain(html)
    if root.find("body") is None:  # a frameset
        etree.SubElement(root, "body")
    lowered = html.lower()
    for name in _INTERNAL_ATTRIBUTES:
        if name.encode() in lowered:
            for element in root.iter():
                element.attrib.pop(name, None)
    _set_initial_state(root.iter("select", "input"))
    _close_details(root)
    for part in () if plain else _PARTS_OF_STRAY_OPTIONS(root):
        part.set("hidden", "")  # an option shows its text only
    if (not plain or b"<fieldset" in html) and any("disabled" in fieldset.attrib for fieldset in root.iter("fieldset")):
        for control in root.iter("input", "select", "textarea", "button"):
            if "disabled" not in control.attrib and dom.is_disabled(control):
                control.set("disabled", "")
    return root


def _set_initial_state(controls: Iterable[HtmlElement]) -> None:
    """Resolve missing and contradictory state in the source, as browsers do: default options, several checked radio buttons."""
    checked: dict[tuple[HtmlElement | None, str], HtmlElement] = {}
    for control in controls:
        if control.tag == "select":
            if "multiple" not in control.attrib:
                _select_one(control)
        elif "value" in control.attrib and dom.element_type(control) == "file":
            del control.attrib["value"]  # only the user can choose a file
        elif (value := sanitize_value(control, control.get("value"), control.get("value"))) != control.get("value", ""):
            _write(control, "value", INVALID_XML.sub("", value))
        elif "checked" in control.attrib and dom.element_type(control) == "radio" and control.get("name"):
            earlier = checked.get(group := (dom.form_owner(control), control.get("name")))
            if earlier is not None:
                del earlier.attrib["checked"]
            checked[group] = control


def _close_details(root: HtmlElement) -> None:
    """Leave only the first open `details` element of each name open.

    https://html.spec.whatwg.org/multipage/interactive-elements.html#ensure-details-exclusivity-by-closing-the-given-element-if-needed
    """
    names: set[str] = set()
    for details in root.iter("details"):
        name = details.get("name") if "open" in details.attrib else ""
        if name in names:
            del details.attrib["open"]
        elif name:
            names.add(name)


def _select_one(select: HtmlElement) -> None:
    selected = dom.selected_options(select)
    for option in selected[:-1]:
        del option.attrib["selected"]
    if not selected and dom.display_size(select) == 1:
        first = next((option for option in select.iter("option") if not dom.is_disabled(option)), None)
        if first is not None:
            first.set("selected", "selected")
