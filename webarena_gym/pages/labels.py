"""The accessible names of elements: what a person would call them."""

import re
from functools import cached_property
from urllib.parse import unquote

from lxml.html import HtmlElement

from webarena_gym.pages.dom import BUTTON_KINDS, FIELDS, is_out_of_sight, is_ticked_by_label, kind
from webarena_gym.pages.reading import clean, label_text, visible_text

MAX_LABEL = 80  # characters of one label
_NO_PLACE = re.compile(r"(?i)javascript:.*|#?")
_ENDING = re.compile(r"\.(html?|php|aspx?|jsp)$", re.IGNORECASE)


class Labels:
    """The labels of one document: what its <label>s say, and of which fields."""

    def __init__(self, root: HtmlElement) -> None:
        self._texts: dict[str, str] = {}
        self._fields: dict[str, HtmlElement] = {}
        self._root = root
        self._named: dict[str, str] = {}
        for element in root.iter("label", *FIELDS):
            if element.tag == "label":
                if (target := element.attrib.get("for")) and not self._texts.get(target):
                    self._texts[target] = visible_text(element)
            elif identity := element.attrib.get("id"):
                self._fields.setdefault(identity, element)

    def of(self, element: HtmlElement) -> str:
        """Return the name by which a person would call the element; its tag when it has none."""
        tag = element.tag
        name = element.get("aria-label") or self._named_by(element)
        if not name and tag in FIELDS:
            what = kind(element)
            if tag == "input" and what in BUTTON_KINDS:
                name = element.get("value") or element.get("alt") or what.title()
            else:
                name = self._beside(element) or element.get("placeholder") or element.get("title") or ""
                name = name or element.get("name", "")
        elif not name:
            name = visible_text(element) or element.get("title") or _pictured(element) or _hinted(element)
        return clean(name, MAX_LABEL) or tag

    def _named_by(self, element: HtmlElement) -> str:
        """Return the text of the elements that `aria-labelledby` names."""
        wanted = element.get("aria-labelledby")
        return " ".join(self._text_of(each) for each in wanted.split()) if wanted else ""

    def _text_of(self, identity: str) -> str:
        """Return what a label shows of the first element with that id; read once, however many elements are named by it."""
        if identity in self._elements:
            self._named[identity] = clean(visible_text(self._elements.pop(identity)), MAX_LABEL)
        return self._named.get(identity, "")

    @cached_property
    def _elements(self) -> dict[str, HtmlElement]:
        """The elements with an id, by the id, as far as `_named` has not their texts."""
        found: dict[str, HtmlElement] = {}
        for element in self._root.iter("*"):
            if identity := element.get("id"):
                found.setdefault(identity, element)
        return found

    def _beside(self, field: HtmlElement) -> str:
        """Return the text of the <label> that belongs to a field."""
        known = self._texts.get(field.attrib.get("id", ""), "")
        if known:
            return known
        parent = next(field.iterancestors("label"), None)
        return "" if parent is None else label_text(parent)

    def control_of(self, label: HtmlElement) -> HtmlElement | None:
        """Return the field that a label belongs to."""
        target = label.attrib.get("for")
        return self._fields.get(target) if target else next(label.iterdescendants(*FIELDS), None)

    def is_shown_by_its_control(self, label: HtmlElement) -> bool:
        """Say whether a field of the page already carries this label's text, so that it need not stand twice."""
        control = self.control_of(label)
        return control is not None and not is_out_of_sight(control) and "aria-label" not in control.attrib

    def hidden_control_of(self, label: HtmlElement) -> HtmlElement | None:
        """Return the field that cannot be seen and is used by this label of it: a styled checkbox, radio or file field."""
        control = self.control_of(label)
        stands_for = control is not None and is_ticked_by_label(control) and is_out_of_sight(control)
        return control if stands_for else None


def _pictured(element: HtmlElement) -> str:
    """Return what the picture in an element without text is said to show."""
    for inner in element.iterdescendants():
        named = inner.text if inner.tag == "title" else inner.get("aria-label") or inner.get("title") or inner.get("alt")
        if isinstance(inner.tag, str) and named and named.strip():
            return str(named)
    return ""


def _hinted(element: HtmlElement) -> str:
    """Return what nobody sees, but is better than no name: where a link leads, what scripts or styles call an icon."""
    address = element.get("href", "").strip() if element.tag == "a" else ""
    if not _NO_PLACE.fullmatch(address):
        parts = [part for part in re.split(r"[/#]", address.removeprefix("mailto:")) if part]
        return _ENDING.sub("", unquote(parts[-1])) if parts else "/"
    hints = (element.get(name) for name in ("value", "name", "id"))
    looks = (each.get("class") for each in (*element.iterdescendants("i", "span", "svg"), element))
    return next(filter(None, (*hints, *looks)), "")
