"""Rewording a page: whatever is a label there, and nothing else."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lxml.html import HtmlElement

_LABELLED = tuple("title h1 h2 h3 h4 h5 h6 a button summary label legend th dt caption option".split())  # noqa: SIM905
_ATTRIBUTES = ("aria-label", "placeholder", "title")
_BUTTON_TYPES = ("submit", "button", "reset")
_NO_LABEL = frozenset({"select", "textarea", "script", "style", "svg", "template", "noscript"})


class _Text(NamedTuple):
    """A text of a page: that which an element begins with, or the one behind it."""

    element: HtmlElement
    is_tail: bool

    @property
    def value(self) -> str:
        return (self.element.tail if self.is_tail else self.element.text) or ""

    def write(self, value: str) -> None:
        if self.is_tail:
            self.element.tail = value
        else:
            self.element.text = value


def reword(root: HtmlElement, label: Callable[[str], str]) -> None:
    """Translate every label of a page: texts of links, buttons, headings and the like, and attributes that name an element."""
    done: set[_Text] = set()
    for element in root.iter(*_LABELLED):
        if element.tag == "option" and "value" not in element.attrib:
            element.set("value", " ".join((element.text or "").split()))  # an option without a value sends its text
        texts = [text for text in _texts(element) if text.value.strip()]
        if done.intersection(texts) or any(image.get("alt") for image in element.iter("img")):
            continue
        plain = " ".join("".join(text.value for text in texts).split())
        wording = label(plain)
        if wording != plain:
            done.update(texts)
            _replace(texts, wording)
    for element in root.iter("*"):
        for name in _ATTRIBUTES:
            if name in element.attrib:
                element.set(name, label(element.attrib[name]))
    for button in root.iter("input"):
        if button.get("type") in _BUTTON_TYPES and "value" in button.attrib and "name" not in button.attrib:
            button.set("value", label(button.get("value")))


def _replace(texts: list[_Text], wording: str) -> None:
    """Put a label where the first of its texts stands, with the space that was around the whole."""
    first, last = texts[0].value, texts[-1].value
    before, after = first[: len(first) - len(first.lstrip())], last[len(last.rstrip()) :]
    for text in texts[1:]:
        text.write("")
    texts[0].write(before + wording + after)


def _texts(element: HtmlElement) -> Iterator[_Text]:
    """Yield the texts that a person reads in an element, in order, without those of fields."""
    if element.tag in _NO_LABEL or "hidden" in element.attrib or element.get("aria-hidden") == "true":
        return
    yield _Text(element, is_tail=False)
    for child in element:
        if isinstance(child.tag, str):
            yield from _texts(child)
        yield _Text(child, is_tail=True)
