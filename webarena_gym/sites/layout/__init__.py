"""Layouts of the sites of a world: page sizes, wording, order, markup and style.

Sites are implemented in the plain layout. Every other layout is drawn from a seed and transforms the rendered pages of all sites, so an
agent can be tested on layouts that it has not seen. A path through the plain sites, with translated labels, is valid in every layout:
forms send the same data, no controls are added or removed, and elements with the same name keep their order.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, builder, tostring

from webarena_gym.sites.country.dice import Dice, is_held_out, share

_TABLE = Path(__file__).parent / "wording.json"
_DEEPEST = 4  # levels of nested labels; labels of the sites have two, but texts of users may have any number
_BLANKS = {"{}": "(.+)", "{#}": "([0-9]+)"}  # slots of labels, and patterns of their values


@cache
def table() -> dict[str, list[str]]:
    """Return the alternative wordings of each plain label."""
    content: dict[str, list[str]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return content


class Wording:
    """The labels of one layout."""

    def __init__(self, seed: int) -> None:
        self._exact: dict[str, str] = {}
        self._patterns: list[tuple[re.Pattern[str], list[str]]] = []
        for plain, others in table().items():
            choices = share(others, seed) if is_held_out(seed) else [plain, *share(others, seed)]
            wording = Dice(f"layout/{seed}/{plain}").pick(choices)
            blank = next((blank for blank in _BLANKS if blank in plain), "")
            if blank:
                before, after = map(re.escape, plain.split(blank))
                self._patterns.append((re.compile(before + _BLANKS[blank] + after), wording.split(blank)))
            else:
                self._exact[plain] = wording

    def label(self, text: str, deep: int = _DEEPEST) -> str:
        """Return the wording of a plain label. Other texts, and labels nested in more than `deep` labels, are returned unchanged.

        >>> Wording(1).label("a product's name")
        "a product's name"
        """
        if text in self._exact:
            return self._exact[text]
        for pattern, wording in self._patterns if deep else ():
            if match := pattern.fullmatch(text):
                return self.label(match.group(1), deep - 1).join(wording)
        return text


_FONTS = (
    "Georgia, 'Times New Roman', serif", "Verdana, Geneva, sans-serif", "'Trebuchet MS', 'Gill Sans', sans-serif",
    "'Courier New', Courier, monospace", "Tahoma, 'Segoe UI', sans-serif", "Cambria, Palatino, serif",
)  # fmt: skip
_FONT_SIZES = (14, 16, 17, 15, 18, 13)  # pixels
_CORNERS = (0, 3, 14, 8, 20, 1)  # pixels
_BRANDS = ("--brand", "--link")


def style_sheet(seed: int) -> str:
    """Return the CSS rules that a layout adds to every page."""
    dice = Dice(f"layout/{seed}/looks")
    hue, turn = dice.below(360), dice.between(90, 270)
    font, size, corner = (dice.pick(share(values, seed)) for values in (_FONTS, _FONT_SIZES, _CORNERS))
    colours = "".join(f"{name}:hsl({hue} 60% 27%);" for name in _BRANDS)
    colours += f"--brand-dark:hsl({hue} 60% 20%);--accent:hsl({(hue + turn) % 360} 60% 27%);--menu:hsl({hue} 45% 15%);"
    colours += f"--ground:hsl({hue} 30% 96%);--line:hsl({hue} 20% 85%)"
    return f"""
:root:not(.night-on, .night-auto) {{ {colours} }}
@media (prefers-color-scheme: light) {{ .night-auto {{ {colours} }} }}
body {{ font-family: {font}; font-size: {size}px }}
button, .button, input, select, textarea, .card, fieldset, table {{ border-radius: {corner}px }}
.as-is {{ display: contents; list-style: none }}
.records {{ display: grid; grid-template-columns: minmax(0, 1fr); gap: .6rem; margin: .6rem 0; padding: 0; list-style: none }}
.records > * {{ padding: .6rem .9rem; border: 1px solid var(--line); border-radius: {corner}px; background: var(--paper, #fff) }}
.record {{ margin: 0 }}
dl.record {{ display: grid; grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .2rem 1rem }}
.record dd {{ margin: 0; overflow-wrap: anywhere }}
.record .number {{ text-align: left }}
.heads {{ display: flex; flex-wrap: wrap; gap: .3rem 1rem }}
"""


_NAMED = ("a", "button", "summary", "label", "input", "select", "textarea")


def names(part: HtmlElement) -> dict[str, None]:
    """Return the texts that may name the links and controls in a part of a page, in order and without repetitions."""
    distinct: dict[str, None] = {}
    for element in part.iter(*_NAMED):
        attributes = element.attrib
        if attributes.get("type") == "hidden":
            continue
        if "aria-label" in attributes:
            distinct[attributes["aria-label"]] = None
            continue
        texts = [element.text_content()] if element.tag not in ("select", "textarea") else []
        texts += [attributes.get(name, "") for name in ("placeholder", "title", "name", "value")]
        distinct |= dict.fromkeys(" ".join(text.split()) for text in texts if text.strip())
    return distinct


def has_text_behind(part: HtmlElement) -> bool:
    """Return True if a text directly follows a part and belongs to it."""
    return bool((part.tail or "").strip())


def move_behind(part: HtmlElement, place: HtmlElement) -> bool:
    """Move a part behind a later sibling if it shares no name with the parts between them. Return True if it was moved."""
    passed = []
    for following in part.itersiblings():
        passed.append(following)
        if following is place:
            break
    passed_names = set().union(*map(names, passed))
    if place not in passed or has_text_behind(part) or has_text_behind(place) or not passed_names.isdisjoint(names(part)):
        return False
    place.addnext(part)
    return True


def replace_by(part: HtmlElement, others: Sequence[HtmlElement]) -> None:
    """Replace a part by others."""
    for other in others:
        part.addprevious(other)
    if others:
        others[-1].tail = part.tail
        part.tail = None
        part.getparent().remove(part)
    else:
        part.drop_tree()


def enclose(parts: Sequence[HtmlElement], wrapper: HtmlElement) -> None:
    """Put a wrapper around adjacent parts, with the texts after them."""
    if parts:
        parts[0].addprevious(wrapper)
        wrapper.extend(parts)


_BLOCKS = ("p", "div", "ul", "ol", "form", "table", "dl", "pre", "section", "article", "blockquote")
_ARROWS = " ↑↓"


def table_as_records(table: HtmlElement, form: str) -> None:
    """Replace a table by records with the name of each cell's column: definition lists ("list"), "cards" or "lines".

    Tables with merged cells, nested tables, or headers of both rows and columns are not changed.
    """
    rows = list(table.iter("tr"))
    cells = [cell for row in rows for cell in row]
    if (
        not rows
        or next(table.iterdescendants("table"), None) is not None
        or any({"colspan", "rowspan"} & {*cell.keys()} for cell in cells)
    ):
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
    controls = [
        _move_content(cell, builder.SPAN()) for cell in head if next(cell.iter("a", "button", "input"), None) is not None
    ]
    replace_by(table, [*([builder.DIV({"class": "heads"}, *controls)] if controls else []), *([records] if items else [])])


def definitions_as_table(definitions: HtmlElement) -> None:
    """Replace a definition list with one definition per term by a table with two columns."""
    children = list(definitions)
    if not children or [child.tag for child in children] != ["dt", "dd"] * (len(children) // 2):
        return
    rows = [
        builder.TR(_move_content(term, builder.TH({"scope": "row"})), _move_content(meaning, builder.TD()))
        for term, meaning in zip(children[::2], children[1::2], strict=True)
    ]
    table = builder.TABLE(*rows)
    table.attrib.update(definitions.attrib)
    replace_by(definitions, [table])


def _record(pairs: Sequence[tuple[HtmlElement, HtmlElement]], form: str) -> HtmlElement:
    """Return titles and cells as one record."""
    if form == "lines" and not any(next(cell.iter(*_BLOCKS), None) is not None for _, cell in pairs):
        parts = [part for pair in pairs for part in _as_line(*pair, end="; ")]
        parts[-1].tail = None
        return builder.P({"class": "record"}, *parts)
    if form == "cards":
        return builder.DIV({"class": "record"}, *[builder.DIV(*_as_line(*pair)) for pair in pairs])
    parts = [part for title, cell in pairs for part in (_move_content(title, builder.DT()), _move_content(cell, builder.DD()))]
    return builder.DL({"class": "record"}, *parts)


def _as_line(title: HtmlElement, cell: HtmlElement, end: str = "") -> list[HtmlElement]:
    """Return the content of a title, if it has any, and of a cell as one line."""
    heading = _move_content(title, builder.B())
    meaning = _move_content(cell, builder.DIV() if next(cell.iter(*_BLOCKS), None) is not None else builder.SPAN())
    meaning.tail = end
    if not heading.text_content().strip():
        return [meaning]
    heading.tail = ": "
    return [heading, meaning]


def _move_content(source: HtmlElement, target: HtmlElement) -> HtmlElement:
    """Move the content and the class of an element to another one, and return the latter."""
    target.text = source.text
    target.extend(list(source))
    if "class" in source.attrib:
        target.set("class", source.get("class"))
    return target


_LABELLED = tuple("title h1 h2 h3 h4 h5 h6 a button summary label legend th dt caption option".split())  # noqa: SIM905
_ATTRIBUTES = ("aria-label", "placeholder", "title")
_BUTTON_TYPES = ("submit", "button", "reset")
_NO_LABEL = frozenset({"select", "textarea", "script", "style", "svg", "template", "noscript"})


class _Text(NamedTuple):
    """A text of a page: the first text in an element, or the text after it (`is_tail`)."""

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
    """Translate the labels of a page: texts of links, buttons, headings and similar elements, and attributes that name elements."""
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
    """Write a label into the first of its texts, with the space around all of them, and empty the other texts."""
    first, last = texts[0].value, texts[-1].value
    before, after = first[: len(first) - len(first.lstrip())], last[len(last.rstrip()) :]
    for text in texts[1:]:
        text.write("")
    texts[0].write(before + wording + after)


def _texts(element: HtmlElement) -> Iterator[_Text]:
    """Yield the visible texts in an element, in order, except those of fields."""
    if element.tag in _NO_LABEL or "hidden" in element.attrib or element.get("aria-hidden") == "true":
        return
    yield _Text(element, is_tail=False)
    for child in element:
        if isinstance(child.tag, str):
            yield from _texts(child)
        yield _Text(child, is_tail=True)


_PARSER = HTMLParser(encoding="utf-8", huge_tree=True)
_IN_FIXED_ORDER = re.compile("crumb|pages|pagination|contents|letters", re.IGNORECASE)


class Shape:
    """The transformation of pages of one layout. `label` translates labels."""

    def __init__(self, seed: int, label: Callable[[str], str]) -> None:
        dice = Dice(f"layout/{seed}/shape")
        self._seed = seed
        self._label = label
        self._theme = f"theme-{self._rank('theme')[:6]}"
        self._style = style_sheet(seed)
        self._records = dice.pick(("", *share(("list", "cards", "lines"), seed)))
        self._has_definition_tables = dice.chance(50)
        self._has_lists_of_links = dice.chance(50)
        self._has_menu_last = dice.chance(40)
        self._has_side_last = dice.chance(50)
        self._has_sections = dice.chance(50)
        self._message_place = dice.pick(share(("above all", "below the heading", "below all"), seed))
        self._depth = dice.below(3)

    def rebuild(self, html: str) -> str:
        """Return a plain page in this layout. A page that is already in this layout is returned unchanged."""
        root = None
        with suppress(etree.XMLSyntaxError):
            root = etree.fromstring(html.replace("\0", "").encode(), _PARSER)  # browsers drop it from text
        body = None if root is None else root.find("body")
        if root is None or body is None or self._theme in body.get("class", "").split():
            return html
        body.set("class", f"{body.get('class', '')} {self._theme}".strip())
        for head in root.iterchildren("head"):
            head.append(builder.STYLE(self._style))
        reword(root, self._label)
        self._order(body)
        if self._has_definition_tables:
            for definitions in list(body.iter("dl")):
                definitions_as_table(definitions)
        if self._records:
            for table in list(body.iter("table")):
                table_as_records(table, self._records)
        for main in body.iterchildren("main"):
            self._place(body, main)
            if self._has_sections:
                for section in list(_sections(main)):
                    enclose(section, builder.SECTION({"class": "as-is"}))
            for _ in range(self._depth):
                enclose(list(main), builder.DIV({"class": "as-is"}))
        page: str = tostring(root, encoding="unicode", doctype="<!doctype html>")
        return page

    def _order(self, body: HtmlElement) -> None:
        """Sort menus, headers and footers in the order of this layout."""
        for navigation in list(body.iter("nav")):
            if not _IN_FIXED_ORDER.search(f"{navigation.get('class')} {navigation.get('aria-label')}"):
                for links in [navigation, *navigation.iter("ul")]:
                    self._shuffle(links)
                if self._has_lists_of_links:
                    _list_links(navigation)
        for bar in body.iterchildren("header", "footer"):
            self._shuffle(bar)

    def _shuffle(self, parent: HtmlElement) -> None:
        """Sort the children of an element by a hash of their names, which gives the same order on every page."""
        children = list(parent)
        names_of_children = [names(child) for child in children]
        are_apart = len(set().union(*names_of_children)) == sum(map(len, names_of_children))
        if all(names_of_children) and not any(map(has_text_behind, children)) and are_apart:
            parent[:] = sorted(children, key=lambda child: self._rank(next(iter(names(child)))))

    def _rank(self, name: str) -> str:
        return hashlib.sha256(f"layout/{self._seed}/{name}".encode()).hexdigest()

    def _place(self, body: HtmlElement, main: HtmlElement) -> None:
        """Move menus, side bars and messages."""
        if self._has_menu_last:
            for navigation in list(body.iterchildren("nav")):
                move_behind(navigation, main)
        if self._has_side_last:
            for side in [*main.iter("aside"), *main.xpath(".//nav[@class = 'side']")]:
                following = side.getnext()
                if following is not None and move_behind(side, following):
                    side.set("style", "order: -1")  # the columns of the style sheet stay as wide as they were
        messages = [part for part in main if part.get("role") in ("status", "alert") and not names(part)]
        heading = next((part for part in main if next(part.iter("h1"), None) is not None), None)
        for message in messages:
            if self._message_place == "below all":
                main.append(message)
            elif self._message_place == "below the heading" and heading is not None:
                heading.addnext(message)


def _list_links(navigation: HtmlElement) -> None:
    """Put the links of a menu into a list, if it contains nothing else."""
    links = list(navigation)
    if links and all(link.tag == "a" and not has_text_behind(link) for link in links) and not (navigation.text or "").strip():
        navigation[:] = [builder.UL({"class": "as-is"}, *[builder.LI({"class": "as-is"}, link) for link in links])]


def _sections(main: HtmlElement) -> Iterator[Sequence[HtmlElement]]:
    """Yield each `h2` of the main part with the elements after it, up to the next `h2`."""
    section: list[HtmlElement] = []
    for child in main:
        if child.tag == "h2":
            yield section
            section = []
        if section or child.tag == "h2":
            section.append(child)
    yield section


Variation = Literal["content", "layout"]
"""Differences between worlds: the content of the sites, or their layout as well."""

_SIZES = (0.8, 1.2, 0.6, 1.3, 0.7, 1.4)  # page sizes relative to the plain layout


class Layout:
    """A layout of the sites, drawn from a seed; None is the plain layout."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    @cached_property
    def _size(self) -> float:
        return 1.0 if self.seed is None else Dice(f"layout/{self.seed}/size").pick(share(_SIZES, self.seed))

    @cached_property
    def _wording(self) -> Wording | None:
        return None if self.seed is None else Wording(self.seed)

    @cached_property
    def _shape(self) -> Shape | None:
        return None if self.seed is None else Shape(self.seed, self.label)

    def page_size(self, usual: int) -> int:
        """Return the number of rows on a page of a list that has `usual` rows in the plain layout."""
        return max(1, round(usual * self._size))

    def label(self, text: str) -> str:
        """Return the label that replaces the plain label `text`; other texts are returned unchanged."""
        return text if self._wording is None else self._wording.label(text)

    def rebuild(self, html: str) -> str:
        """Return a plain page in this layout. A page that is already in this layout is returned unchanged."""
        return html if self._shape is None else self._shape.rebuild(html)


def page_sizes(usual: int) -> tuple[int, int]:
    """Return the smallest and largest page size of all layouts for a list that has `usual` rows in the plain layout.

    Tasks must not depend on the layout, so templates whose answers depend on pages use both.
    """
    return round(usual * min(_SIZES)), round(usual * max(_SIZES))


PLAIN = Layout()
"""The plain layout, that of all worlds with `variation="content"`."""


def layout_of(world_seed: int, variation: Variation) -> Layout:
    """Return the layout of a world's sites, which is the plain one unless worlds vary in layout."""
    return _layout(world_seed) if variation == "layout" else PLAIN


_layout = cache(Layout)
