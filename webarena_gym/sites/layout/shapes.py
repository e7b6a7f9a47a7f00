"""Re-shaping a finished page: its labels, the order of its parts, its tables and lists, its wrappers and its looks.

Nothing is added that can be used, and nothing taken away. Parts change places only where that leaves elements of one name in
their order.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, builder, tostring

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share
from webarena_gym.sites.layout.looks import style_sheet
from webarena_gym.sites.layout.parts import are_apart, enclose, has_text_behind, move_behind, names
from webarena_gym.sites.layout.records import definitions_as_table, table_as_records
from webarena_gym.sites.layout.texts import reword

_PARSER = HTMLParser(encoding="utf-8", huge_tree=True)
_IN_FIXED_ORDER = re.compile("crumb|pages|pagination|contents|letters", re.IGNORECASE)


class Shape:
    """What one layout does to pages. `label` translates labels."""

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
        """Return a plain page re-shaped; a page of this shape as it is."""
        root = _parse(html)
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
            self._wrap(main)
        page: str = tostring(root, encoding="unicode", doctype="<!doctype html>")
        return page

    def _order(self, body: HtmlElement) -> None:
        """Put menus and bars into the order of this layout."""
        for navigation in list(body.iter("nav")):
            if not _IN_FIXED_ORDER.search(f"{navigation.get('class')} {navigation.get('aria-label')}"):
                for links in [navigation, *navigation.iter("ul")]:
                    self._shuffle(links)
                if self._has_lists_of_links:
                    _list_links(navigation)
        for bar in body.iterchildren("header", "footer"):
            self._shuffle(bar)

    def _shuffle(self, parent: HtmlElement) -> None:
        """Sort the children of an element by their names, in a way that is the same on every page."""
        children = list(parent)
        if all(names(child) and not has_text_behind(child) for child in children) and are_apart(*children):
            parent[:] = sorted(children, key=lambda child: self._rank(next(iter(names(child)))))

    def _rank(self, name: str) -> str:
        return hashlib.sha256(f"layout/{self._seed}/{name}".encode()).hexdigest()

    def _place(self, body: HtmlElement, main: HtmlElement) -> None:
        """Change the places of menus, side bars and messages."""
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

    def _wrap(self, main: HtmlElement) -> None:
        """Put what is in the main part into sections, one for each heading, and into wrappers."""
        if self._has_sections:
            for section in list(_sections(main)):
                enclose(section, builder.SECTION({"class": "as-is"}))
        for _ in range(self._depth):
            enclose(list(main), builder.DIV({"class": "as-is"}))


def _parse(html: str) -> HtmlElement | None:
    try:
        return etree.fromstring(html.encode(), _PARSER)
    except etree.XMLSyntaxError:
        return None


def _list_links(navigation: HtmlElement) -> None:
    """Make a list of the links that stand side by side in a menu."""
    links = list(navigation)
    if links and all(link.tag == "a" and not has_text_behind(link) for link in links) and not (navigation.text or "").strip():
        navigation[:] = [builder.UL({"class": "as-is"}, *[builder.LI({"class": "as-is"}, link) for link in links])]


def _sections(main: HtmlElement) -> Iterator[Sequence[HtmlElement]]:
    """Yield each second heading of the main part with what follows it, up to the next."""
    section: list[HtmlElement] = []
    for child in main:
        if child.tag == "h2":
            yield section
            section = []
        if section or child.tag == "h2":
            section.append(child)
    yield section
