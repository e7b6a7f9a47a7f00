"""The parts of a page: what they are called, and how they change places without disturbing what is around them."""

from collections.abc import Sequence

from lxml.html import HtmlElement

_NAMED = ("a", "button", "summary", "label", "input", "select", "textarea")


def names(part: HtmlElement) -> dict[str, None]:
    """Return every text by which something usable in a part of a page might be called, in order."""
    found: dict[str, None] = {}
    for element in part.iter(*_NAMED):
        attributes = element.attrib
        if attributes.get("type") == "hidden":
            continue
        if "aria-label" in attributes:
            found[attributes["aria-label"]] = None
            continue
        texts = [element.text_content()] if element.tag not in ("select", "textarea") else []
        texts += [attributes.get(name, "") for name in ("placeholder", "title", "name", "value")]
        found |= dict.fromkeys(" ".join(text.split()) for text in texts if text.strip())
    return found


def are_apart(*parts: HtmlElement) -> bool:
    """Say whether parts of a page have no name in common, so that they may change places."""
    found = [names(part) for part in parts]
    return len(set().union(*found)) == sum(map(len, found))


def has_text_behind(part: HtmlElement) -> bool:
    """Say whether a text follows a part directly, which belongs there."""
    return bool((part.tail or "").strip())


def move_behind(part: HtmlElement, place: HtmlElement) -> bool:
    """Move a part behind a later sibling, if nothing that it passes has a name in common with it; say whether it moved."""
    passed = []
    for following in part.itersiblings():
        passed.append(following)
        if following is place:
            break
    taken = set().union(*map(names, passed))
    if place not in passed or has_text_behind(part) or has_text_behind(place) or not taken.isdisjoint(names(part)):
        return False
    place.addnext(part)
    return True


def replace_by(part: HtmlElement, others: Sequence[HtmlElement]) -> None:
    """Put other parts where one stands."""
    for other in others:
        part.addprevious(other)
    if others:
        others[-1].tail = part.tail
        part.tail = None
        part.getparent().remove(part)
    else:
        part.drop_tree()


def enclose(parts: Sequence[HtmlElement], wrapper: HtmlElement) -> None:
    """Put a wrapper around neighbouring parts, and the texts behind them."""
    if parts:
        parts[0].addprevious(wrapper)
        wrapper.extend(parts)
