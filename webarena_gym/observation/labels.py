"""What a person would call the elements of a page."""

from lxml.html import HtmlElement

from webarena_gym.observation.reading import BUTTON_TYPES, FIELDS, clean, is_hidden, label_text, visible_text

MAX_LABEL = 80  # characters of one label


class Labels:
    """The labels of one document: what its <label>s say, and of which fields."""

    def __init__(self, root: HtmlElement) -> None:
        self._texts: dict[str, str] = {}
        self._fields: dict[str, HtmlElement] = {}
        for element in root.iter("label", *FIELDS):
            if element.tag == "label":
                if target := element.attrib.get("for"):
                    self._texts.setdefault(target, visible_text(element))
            elif identity := element.attrib.get("id"):
                self._fields.setdefault(identity, element)

    def of(self, element: HtmlElement) -> str:
        """Return the name by which a person would call the element; its tag when it has none."""
        tag = element.tag
        name = element.get("aria-label", "")
        if not name and tag in FIELDS:
            kind = element.get("type", "").lower()
            if tag == "input" and kind in BUTTON_TYPES:
                name = element.get("value") or element.get("alt") or kind.title()
            else:
                name = self._beside(element) or element.get("placeholder") or element.get("title") or ""
                name = name or element.get("name", "")
        elif not name:
            name = visible_text(element) or element.get("title", "")
        return clean(name, MAX_LABEL) or tag

    def _beside(self, field: HtmlElement) -> str:
        """Return the text of the <label> that belongs to a field."""
        known = self._texts.get(field.attrib.get("id", ""), "")
        if known:
            return known
        parent = next(field.iterancestors("label"), None)
        return "" if parent is None else label_text(parent)

    def is_shown_by_its_control(self, label: HtmlElement) -> bool:
        """Say whether a field of the page already carries this label's text, so that it need not stand twice."""
        target = label.attrib.get("for")
        control = self._fields.get(target) if target else next(label.iterdescendants(*FIELDS), None)
        return control is not None and not is_hidden(control) and "aria-label" not in control.attrib
