"""Tables as lists of records, and definitions as tables. What stands in the cells is moved, never copied or changed."""

from collections.abc import Sequence

from lxml.html import HtmlElement, builder

from webarena_gym.sites.layout.parts import replace_by

_BLOCKS = ("p", "div", "ul", "ol", "form", "table", "dl", "pre", "section", "article", "blockquote")
_ARROWS = " ↑↓"


def table_as_records(table: HtmlElement, form: str) -> None:
    """Replace a table by records that say each cell's column: a "list" of definitions, "cards", or "lines".

    A table with merged cells, or with tables in it, stays as it is, and so does one with headings on two sides.
    """
    rows = list(table.iter("tr"))
    cells = [cell for row in rows for cell in row]
    if not rows or next(table.iterdescendants("table"), None) is not None or any(_is_merged(cell) for cell in cells):
        return
    head = rows[0]
    if head.getparent().tag != "thead":
        if all([cell.tag for cell in row] == ["th", "td"] for row in rows):
            replace_by(table, [_record([(row[0], row[1]) for row in rows], form)])
        return
    if any(len(row) != len(head) for row in rows):
        return
    titles = [" ".join(cell.text_content().split()).rstrip(_ARROWS) for cell in head]
    items = [
        (builder.ARTICLE if form == "cards" else builder.LI)(
            _record([(builder.SPAN(title), cell) for title, cell in zip(titles, row, strict=True)], form)
        )
        for row in rows[1:]
    ]
    records = (builder.DIV if form == "cards" else builder.UL)({"class": "records"}, *items)
    controls = [_moved(cell, builder.SPAN()) for cell in head if next(cell.iter("a", "button", "input"), None) is not None]
    replace_by(table, [*([builder.DIV({"class": "heads"}, *controls)] if controls else []), *([records] if items else [])])


def definitions_as_table(definitions: HtmlElement) -> None:
    """Replace a list of definitions, where one term has one meaning, by a table of two columns."""
    children = list(definitions)
    if not children or [child.tag for child in children] != ["dt", "dd"] * (len(children) // 2):
        return
    rows = [
        builder.TR(_moved(term, builder.TH({"scope": "row"})), _moved(meaning, builder.TD()))
        for term, meaning in zip(children[::2], children[1::2], strict=True)
    ]
    table = builder.TABLE(*rows)
    table.attrib.update(definitions.attrib)
    replace_by(definitions, [table])


def _is_merged(cell: HtmlElement) -> bool:
    return "colspan" in cell.attrib or "rowspan" in cell.attrib


def _record(pairs: Sequence[tuple[HtmlElement, HtmlElement]], form: str) -> HtmlElement:
    """Return titles and cells as one record."""
    if form == "lines" and not any(next(cell.iter(*_BLOCKS), None) is not None for _, cell in pairs):
        parts = [part for pair in pairs for part in _as_line(*pair, end="; ")]
        parts[-1].tail = None
        return builder.P({"class": "record"}, *parts)
    if form == "cards":
        return builder.DIV({"class": "record"}, *[builder.DIV(*_as_line(*pair)) for pair in pairs])
    parts = [part for title, cell in pairs for part in (_moved(title, builder.DT()), _moved(cell, builder.DD()))]
    return builder.DL({"class": "record"}, *parts)


def _as_line(title: HtmlElement, cell: HtmlElement, end: str = "") -> list[HtmlElement]:
    """Return a title, if there is any, and a cell as they stand in one line."""
    named = _moved(title, builder.B())
    meaning = _moved(cell, builder.DIV() if next(cell.iter(*_BLOCKS), None) is not None else builder.SPAN())
    meaning.tail = end
    if not named.text_content().strip():
        return [meaning]
    named.tail = ": "
    return [named, meaning]


def _moved(source: HtmlElement, target: HtmlElement) -> HtmlElement:
    """Move all that is in one element into another."""
    target.text = source.text
    target.extend(list(source))
    if "class" in source.attrib:
        target.set("class", source.get("class"))
    return target
