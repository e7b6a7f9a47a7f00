"""Cells that span several rows of a table, and the numbers of list items, which the page shows without any text for them.

Links lead to the HTML standard.
"""

import re
from collections.abc import Iterator

from lxml.html import HtmlElement

from webarena_gym.pages.reading import MAX_LABEL, is_interactive, single_line, visible_text

_INTEGER = re.compile(r"[ \t\n\f\r]*+([+-]?[0-9]{1,9})")
_MAX_SPANS = {"colspan": 1_000, "rowspan": 65_534}  # as the standard has it
_MAX_REPEATS = 10_000  # cells of a document that are repeated; each of n cells may span n rows
_ROMAN = tuple(
    zip(
        ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"],
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        strict=True,
    )
)
_MAX_ROMAN = 3_999


def _integer(text: str | None) -> int | None:
    match = _INTEGER.match(text or "")
    return int(match[1]) if match else None


def span_of(cell: HtmlElement, name: str) -> int:
    """Return the number of columns ("colspan") or rows ("rowspan") of a cell; the rowspan 0 extends to the end of its section.

    https://html.spec.whatwg.org/multipage/tables.html#attributes-common-to-td-and-th-elements
    """
    span = _integer(cell.get(name))
    if span is None or span < (name == "colspan"):
        return 1
    return min(span, _MAX_SPANS[name])


class RowSpans:
    """The cells that span into the rows below them, in the walk over a document's rows in order."""

    def __init__(self) -> None:
        self._section: HtmlElement | None = None
        self._open: dict[int, tuple[int, str | None]] = {}  # (rows left, text; None but for the first column) by column
        self._repeats = 0

    def cells(self, row: HtmlElement) -> Iterator[tuple[HtmlElement | None, str]]:
        """Yield (child, "") for each child of a row and, at its column, (None, text) for each cell of an earlier row.

        https://html.spec.whatwg.org/multipage/tables.html#algorithm-for-processing-rows
        """
        section = row.getparent()
        if section is not self._section:
            self._section, self._open = section, {}
        if not self._open and not any("rowspan" in cell.attrib for cell in row):
            for cell in row:
                yield cell, ""
            return
        above, column = self._open, 0
        self._open = {index: (rows - 1, text) for index, (rows, text) in above.items() if rows > 1}
        for child in row:
            while column in above:
                yield from self._repeat(above[column][1])
                column += 1
            yield child, ""
            if child.tag in ("td", "th"):
                width, height = span_of(child, "colspan"), span_of(child, "rowspan") or _MAX_SPANS["rowspan"]
                if height > 1:
                    text = single_line(visible_text(child), MAX_LABEL)
                    self._open |= {column + step: (height - 1, None if step else text) for step in range(width)}
                column += width
        for index in sorted(index for index in above if index >= column):
            yield from self._repeat(above[index][1])

    def _repeat(self, text: str | None) -> Iterator[tuple[None, str]]:
        if text and self._repeats < _MAX_REPEATS:
            self._repeats += 1
            yield None, text


def list_markers(element: HtmlElement) -> dict[HtmlElement, str]:
    """Return the markers of an `ol` by item, if its numbers are not simply 1, 2, 3: by `start`, `reversed`, `type` or `value`.

    An item that begins with a control has none: it is addressed by the control.

    https://html.spec.whatwg.org/multipage/grouping-content.html#ordinal-value
    """
    items = list(element.iterchildren("li"))
    names = element.keys()
    if not ({"start", "reversed", "type"} & {*names} or any("value" in item.attrib for item in items)):
        return {}
    is_reversed = "reversed" in names
    start = _integer(element.get("start"))
    number = start if start is not None else len(items) if is_reversed else 1
    markers = {}
    for item in items:
        value = _integer(item.get("value"))
        number = number if value is None else value
        if _begins_with_text(item):
            markers[item] = f"{_numeral(number, item.get('type') or element.get('type') or '1')}."
        number += -1 if is_reversed else 1
    return markers


def _begins_with_text(item: HtmlElement) -> bool:
    if (item.text or "").strip():
        return True
    for part in item.iterdescendants():
        if isinstance(part.tag, str):
            if is_interactive(part):
                return False
            if (part.text or "").strip():
                return True
        if (part.tail or "").strip():
            return True
    return False


def _numeral(number: int, kind: str) -> str:
    """Return a number in the style of an `ol` of type "1", "a", "A", "i" or "I".

    >>> _numeral(28, "a"), _numeral(1994, "I"), _numeral(0, "a"), _numeral(7, "1")
    ('ab', 'MCMXCIV', '0', '7')
    """
    text = ""
    if kind in ("a", "A") and number > 0:
        while number:
            number, digit = divmod(number - 1, 26)
            text = chr(ord("A") + digit) + text
    elif kind in ("i", "I") and 0 < number <= _MAX_ROMAN:
        for sign, value in _ROMAN:
            count, number = divmod(number, value)
            text += sign * count
    else:
        return str(number)
    return text if kind.isupper() else text.lower()
