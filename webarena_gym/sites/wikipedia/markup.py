"""The markup of articles: sections, paragraphs, lists, tables and links, and its conversion to HTML and plain text.

A line `== Heading ==` begins a section. A blank line ends a paragraph. Lines that begin with `* ` are items of a list, with `! ` the
header of a table and with `| ` its rows. `[[Title]]` and `[[Title|other words]]` are links. All other text is literal.
"""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup, escape

LINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]|\n]+))?\]\]")
_HEADING = re.compile(r"^==(?! *==[ \t]*$)(.+)==[ \t]*$", re.MULTILINE)
_UNSAFE_IN_ID = re.compile(r"[^A-Za-z0-9]+")


class Section(NamedTuple):
    """A part of an article; the first one, the lead, has no heading."""

    heading: str
    body: str


def path(title: str) -> str:
    """Return the URL path of an article.

    >>> path("Battle of Dorim"), path("What is it?")
    ('/wiki/Battle_of_Dorim', '/wiki/What_is_it%3F')
    """
    return f"/wiki/{quote(title.replace(' ', '_'), safe='(),:!')}"


def anchor(heading: str, number: int) -> str:
    """Return the id of a section's heading.

    >>> anchor("Early life", 1)
    'Early-life-1'
    """
    return f"{_UNSAFE_IN_ID.sub('-', heading).strip('-') or 'section'}-{number}"


def sections(text: str) -> list[Section]:
    r"""Return the sections of a text; the first is the lead, which may be empty.

    >>> sections("One.\n\n== More ==\nTwo.")
    [Section(heading='', body='One.'), Section(heading='More', body='Two.')]
    """
    lead, *rest = _HEADING.split(text)
    parts = (Section(rest[i].strip(" "), rest[i + 1].strip()) for i in range(0, len(rest), 2))
    return [Section("", lead.strip()), *parts]


def whole(parts: list[Section]) -> str:
    """Return the text of sections, the inverse of `sections`."""
    return "\n\n".join(f"== {part.heading} ==\n\n{part.body}" if part.heading else part.body for part in parts).strip()


def links(text: str) -> list[str]:
    """Return the titles that a text links to, in order and without repetitions.

    >>> links("From [[Dorim]] to [[Salem|the sea]] and [[Dorim]]")
    ['Dorim', 'Salem']
    """
    return list(dict.fromkeys(" ".join(match[1].split()) for match in LINK.finditer(text)))


def plain(text: str) -> str:
    """Return a text without its markup, on one line.

    >>> plain("* [[Dorim]] and [[Salem|the sea]]")
    'Dorim and the sea'
    """
    text = LINK.sub(lambda match: match[2] or match[1], _HEADING.sub(lambda match: f"{match[1].strip(' ')}.", text))
    return " ".join(re.sub(r"^[*!|] ", "", line).replace(" | ", " - ") for line in text.split("\n") if line).strip()


def html(body: str, exists: Callable[[str], bool]) -> Markup:
    """Return the HTML of a section's body. Links to articles that do not exist have the class "missing"."""
    blocks = [block for block in re.split(r"\n\s*\n", body) if block.strip()]
    return Markup("\n").join(_block(block.strip().split("\n"), exists) for block in blocks)


def inline(text: str, exists: Callable[[str], bool]) -> Markup:
    """Return the HTML of a line, with links as in `html`."""
    written, end = Markup(), 0
    for match in LINK.finditer(text):
        title = " ".join(match[1].split())
        mark = Markup() if exists(title) else Markup(' class="missing"')
        written += escape(text[end : match.start()])
        written += Markup('<a href="{}"{}>{}</a>').format(path(title), mark, match[2] or title)
        end = match.end()
    return written + escape(text[end:])


def _block(lines: list[str], exists: Callable[[str], bool]) -> Markup:
    if all(line.startswith("* ") for line in lines):
        items = Markup("\n").join(Markup("<li>{}</li>").format(inline(line[2:], exists)) for line in lines)
        return Markup("<ul>\n{}\n</ul>").format(items)
    if all(line.startswith(("! ", "| ")) for line in lines):
        rows = []
        for line in lines:
            cell = Markup("<th>{}</th>") if line.startswith("! ") else Markup("<td>{}</td>")
            cells = (cell.format(inline(text, exists)) for text in line[2:].split(" | "))
            rows.append(Markup("<tr>{}</tr>").format(Markup().join(cells)))
        return Markup('<div class="scroll"><table>\n{}\n</table></div>').format(Markup("\n").join(rows))
    return Markup("<p>{}</p>").format(inline(" ".join(lines), exists))
