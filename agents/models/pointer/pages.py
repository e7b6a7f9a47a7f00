"""Pages read back from the env's simplified HTML: controls, segments of text, and rows of tables and lists."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

Use = Literal["link", "button", "box", "text", "area", "select"]

_TAG = re.compile(r"<([^<>]*)>")
_ATTRIBUTE = re.compile(r'(?<![a-z-])([a-z-]+)="([^"]*)"')
_NOTE = re.compile(r"\[\d+ more lines (?:above|below)\]")
_TAB = re.compile(r"\[(\d+)\](\*?) (.*)")


class Option(NamedTuple):
    """An entry of a drop-down list."""

    text: str
    chosen: bool


class Control(NamedTuple):
    """Something that can be used, in the order of the page."""

    use: Use
    address: str  # what an action names it by
    label: str
    line: int
    value: str = ""  # what a text field holds
    is_on: bool = False  # a box is ticked
    is_disabled: bool = False
    options: tuple[Option, ...] = ()


class Segment(NamedTuple):
    """A run of text between tags; `column` is its place in a row of a table, or -1."""

    text: str
    is_control: bool
    column: int


class Line(NamedTuple):
    """One line of a page."""

    text: str  # without tags
    segments: tuple[Segment, ...]
    is_row: bool
    is_heading: bool
    columns: tuple[str, ...]  # of the table that the row belongs to
    heading: str  # the newest heading above
    first_control: int  # place of its first control in the page's
    controls: int  # how many it has


class Page(NamedTuple):
    """A page as the agent sees it."""

    url: str
    tabs: tuple[tuple[str, bool], ...]  # title, and whether it is the one that is shown
    notices: tuple[str, ...]
    lines: tuple[Line, ...]
    controls: tuple[Control, ...]
    has_above: bool
    has_below: bool
    title: str  # its first heading of the first rank, else ""


@lru_cache(maxsize=1_024)
def read_page(text: str) -> Page:
    """Return a page from the env's text of it, in which elements are named by id or by label."""
    url = ""
    tabs: tuple[tuple[str, bool], ...] = ()
    notices: list[str] = []
    lines: list[Line] = []
    controls: list[Control] = []
    has_above = has_below = False
    heading, title = "", ""
    columns: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    rest = iter(text.split("\n"))
    for first_line in rest:
        raw = first_line
        if raw.startswith("URL: ") and not url:
            url = raw[5:]
            continue
        if raw.startswith("Tabs: ") and not lines:
            found = [_TAB.match(part) for part in raw[6:].split(" | ")]
            tabs = tuple((match.group(3), bool(match.group(2))) for match in found if match)
            continue
        if raw.startswith("Browser: ") and not lines:
            notices.append(raw[9:])
            continue
        if _NOTE.fullmatch(raw):
            has_above, has_below = has_above or raw.endswith("above]"), has_below or raw.endswith("below]")
            continue
        while raw.count("<textarea") > raw.count("</textarea>"):
            more = next(rest, None)
            if more is None:
                break
            raw += "\n" + more
        first = len(controls)
        segments, is_row, is_heading = _read_line(raw, len(lines), controls, counts)
        if is_row and "<th" in raw:
            columns = tuple(
                " ".join(part.text for part in segments if part.column == place)
                for place in range(1 + max((part.column for part in segments), default=-1))
            )
        elif not is_row:
            columns = ()
        plain = " ".join(part.text for part in segments)
        if is_heading:
            if not title and raw.startswith("<h1"):
                title = plain
            heading = plain
        lines.append(Line(plain, segments, is_row, is_heading, columns, heading, first, len(controls) - first))
    return Page(url, tabs, tuple(notices), tuple(lines), tuple(controls), has_above, has_below, title)


def _read_line(
    raw: str, number: int, controls: list[Control], counts: dict[str, int]
) -> tuple[tuple[Segment, ...], bool, bool]:
    """Return the segments of a line, whether it is a row of a table, and whether it is a heading. Adds its controls."""
    parts = _TAG.split(raw)
    is_row, is_heading = raw.startswith("<tr>"), raw.startswith("<h") and raw[2:3].isdigit()
    segments: list[Segment] = []
    column, inside = -1, ""
    attributes: dict[str, str] = {}
    names: list[str] = []
    options: list[Option] = []
    for place, part in enumerate(parts):
        if place % 2 == 0:
            text = part.replace("&lt;", "<")
            if inside in ("a", "button", "textarea"):
                _add(controls, counts, inside, attributes, names, text, number)
                if inside != "textarea":
                    segments.append(Segment(text.strip(), True, column))
                inside = "" if inside != "textarea" else inside
                attributes = {} if not inside else attributes
                if inside == "textarea":
                    inside = ""
            elif inside == "option":
                options.append(Option(text, "selected" in names))
                inside = ""
            elif text.strip():
                segments.append(Segment(text.strip(), False, column))
            continue
        name, _, more = part.partition(" ")
        if name in ("td", "th"):
            column += 1
        elif name in ("a", "button", "textarea"):
            inside, attributes, names = name, _attributes(more), _ATTRIBUTE.sub("", more).split()
        elif name == "option":
            inside, names = "option", more.split()
        elif name == "select":
            attributes, options = _attributes(more), []
            attributes["flags"] = _ATTRIBUTE.sub("", more)
        elif name == "/select":
            address = _address(attributes, counts)
            disabled = "disabled" in attributes.get("flags", "").split()
            label = attributes.get("label", "")
            controls.append(Control("select", address, label, number, "", False, disabled, tuple(options)))
        elif name == "input":
            found, flags = _attributes(more), _ATTRIBUTE.sub("", more).split()
            kind = found.get("type", "text")
            use: Use = "box" if kind in ("checkbox", "radio") else "text"
            is_off = "disabled" in flags or "readonly" in flags
            label = found.get("label", "")
            controls.append(
                Control(use, _address(found, counts), label, number, found.get("value", ""), "checked" in flags, is_off)
            )
        elif name == "img":
            found = _attributes(more)
            if found.get("alt"):
                segments.append(Segment(found["alt"], False, column))
    return tuple(segments), is_row, is_heading


def _add(
    controls: list[Control],
    counts: dict[str, int],
    tag: str,
    attributes: dict[str, str],
    flags: list[str],
    text: str,
    number: int,
) -> None:
    label = attributes.get("label", text.strip()) if tag == "textarea" else text.strip()
    use: Use = "area" if tag == "textarea" else "link" if tag == "a" else "button"
    address = _address(attributes | {"label": label}, counts)
    value = text if tag == "textarea" else ""
    controls.append(Control(use, address, label, number, value, False, "disabled" in flags))


def _address(attributes: dict[str, str], counts: dict[str, int]) -> str:
    """Return what names a control: its id, or its label with the number of equal labels before it."""
    if "id" in attributes:
        return attributes["id"]
    label = attributes.get("label", "")
    counts[label] = counts.get(label, 0) + 1
    return label if counts[label] == 1 else f"{label} [{counts[label]}]"


def _attributes(text: str) -> dict[str, str]:
    return {name: value.replace("&quot;", '"').replace("&lt;", "<") for name, value in _ATTRIBUTE.findall(text)}


def path_of(url: str) -> str:
    """Return the path of an address, with its numbers as "0"."""
    return "/".join("0" if part.isdigit() else part for part in urlsplit(url).path.split("/"))
