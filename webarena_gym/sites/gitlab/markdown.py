r"""A safe renderer of the part of Markdown that people use most; everything else stays text.

Headings (the first level is an h2, as the page has its own h1), paragraphs, lists, quotes, fenced code, code, bold, italics
and links to http, https or this site.
"""

import re
from collections.abc import Callable, Iterator
from html import escape

from markupsafe import Markup

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_ITEM = re.compile(r"\s*(?:([-*+])|\d{1,9}[.)])\s+(.*)")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\(((?:https?://|/(?!/)|#)[^\s()<>\\]*)\)")
_BOLD_BEGINS, _BOLD_ENDS = re.compile(r"\*\*(?=\S)"), re.compile(r"(?<=\S)\*\*")
_ITALIC = re.compile(r"(?<![*\w])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![*\w])")


def render_markdown(text: str) -> Markup:
    r"""Return Markdown as HTML in which everything that was not made here is escaped.

    >>> render_markdown("# Hi\n\nSee **this** <b>\n- a\n- `b`")
    Markup('<h2>Hi</h2>\n<p>See <strong>this</strong> &lt;b&gt;</p>\n<ul>\n<li>a</li>\n<li><code>b</code></li>\n</ul>')
    """
    return Markup("\n".join(_blocks(text.replace("\r\n", "\n").split("\n"))))  # noqa: S704 - each part is escaped in _inline


def _blocks(lines: list[str]) -> Iterator[str]:
    place = 0
    while place < len(lines):
        line = lines[place]
        end = place + 1
        if line.startswith("```"):
            end = next((number for number in range(end, len(lines)) if lines[number].startswith("```")), len(lines))
            code = "\n".join(lines[place + 1 : end])
            yield f"<pre><code>{escape(code)}</code></pre>"
            end += 1
        elif heading := _HEADING.fullmatch(line):
            level = min(len(heading[1]) + 1, 6)
            yield f"<h{level}>{_inline(heading[2].rstrip('#').rstrip() or '#')}</h{level}>"
        elif item := _ITEM.fullmatch(line):
            end = _run(lines, place, lambda text: _ITEM.fullmatch(text) is not None)
            tag = "ul" if item[1] else "ol"
            yield f"<{tag}>"
            yield from (f"<li>{_inline(_item(text))}</li>" for text in lines[place:end])
            yield f"</{tag}>"
        elif line.startswith(">"):
            end = _run(lines, place, lambda text: text.startswith(">"))
            quoted = " ".join(text.lstrip("> ") for text in lines[place:end])
            yield f"<blockquote><p>{_inline(quoted)}</p></blockquote>"
        elif line.strip():
            end = _run(lines, place, _is_plain)
            yield f"<p>{'<br>'.join(_inline(text.strip()) for text in lines[place:end])}</p>"
        place = end


def _run(lines: list[str], start: int, holds: Callable[[str], bool]) -> int:
    """Return where the lines that are like the one at `start` end."""
    return next((number for number in range(start + 1, len(lines)) if not holds(lines[number])), len(lines))


def _item(line: str) -> str:
    found = _ITEM.fullmatch(line)
    return found[2] if found else line


def _is_plain(line: str) -> bool:
    return bool(line.strip()) and not (line.startswith(("```", ">")) or _HEADING.fullmatch(line) or _ITEM.fullmatch(line))


def _inline(text: str) -> str:
    """Return one piece of text with its code, links and stresses; nothing inside of code is read further."""
    parts = _CODE.split(text)
    return "".join(f"<code>{escape(part)}</code>" if place % 2 else _stressed(escape(part)) for place, part in enumerate(parts))


def _stressed(text: str) -> str:
    return _ITALIC.sub(r"<em>\1</em>", _with_bold(_LINK.sub(r'<a href="\2">\1</a>', text)))


def _with_bold(text: str) -> str:
    """Return the text with its bold parts; where one that begins has no end, none that begins later has one."""
    parts, end = [], 0
    while (begins := _BOLD_BEGINS.search(text, end)) and (ends := _BOLD_ENDS.search(text, begins.end() + 1)):
        parts += [text[end : begins.start()], "<strong>", text[begins.end() : ends.start()], "</strong>"]
        end = ends.end()
    return "".join(parts) + text[end:]
