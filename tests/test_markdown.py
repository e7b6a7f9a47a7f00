"""The code host's Markdown: what people write most looks as it should, and nothing that they write gets out of it."""

import re
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import fragments_fromstring, tostring

from webarena_gym.sites.gitlab.site import render_markdown

TAGS = {
    "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "blockquote", "pre", "code", "strong", "em", "s", "a",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {"href", "title", "start", "class", "style"}
PIECES = (
    "<", ">", "</p>", "<b onclick=x>", "<script>alert(1)</script>", "<!--", "-->", "<![CDATA[", "<?x", '"', "'", "&", "&lt;", "&#60;",
    "&colon;", "&#x6A;", "[", "]", "(", ")", "![", "](", "[a](", "<http:", "javascript:", "JaVaScRiPt:", "java\tscript:", "data:text/html,",
    "vbscript:", "//evil.test", "/\\evil.test", "http://a.test/", "/here", "#top", "mailto:a@b.test", "*", "**", "_", "~~", "`", "```", "~~~",
    "\n", "\n\n", "  ", "    ", "\t", "- ", "1. ", "> ", "# ", "| ", "|---|---|", "[a]: ", "\\", "\x00", "é", "a", "word", "style=", "on", " \"t\"",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A\n## B ##\n###### C", "<h2>A</h2><h3>B</h3><h6>C</h6>"),
        ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
        ("- a\n  - b\n    1. c\n- d", "<ul><li>a<ul><li>b<ol><li>c</li></ol></li></ul></li><li>d</li></ul>"),
        (
            "| a | b |\n|---|--:|\n| 1 | `2` |",
            '<table><thead><tr><th>a</th><th style="text-align:right">b</th></tr></thead>'
            '<tbody><tr><td>1</td><td style="text-align:right"><code>2</code></td></tr></tbody></table>',
        ),
        ("**b** *i* ~~s~~ `<c>`", "<p><strong>b</strong> <em>i</em> <s>s</s> <code>&lt;c&gt;</code></p>"),
        ("> said\n> more", "<blockquote><p>said<br>more</p></blockquote>"),
        ("```\n<b>\n\n*x*\n```", "<pre><code>&lt;b&gt;\n\n*x*\n</code></pre>"),
        ("[a](/b?c=d&e) [f](https://g.test) [h](#i)", '<p><a href="/b?c=d&amp;e">a</a> <a href="https://g.test">f</a> <a href="#i">h</a></p>'),
        ("![a *b*](/c.png)", '<p><a href="/c.png">a b</a></p>'),
        ("snake_case and 2 * 3 * 4", "<p>snake_case and 2 * 3 * 4</p>"),
        ("", ""),
    ],
)  # fmt: skip
def test_rendering_of_markdown(text, html):
    assert re.sub(r"(?<=>)\n|\n(?=</?[a-z])(?![^<]*</code>)", "", render_markdown(text)) == html


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//evil.test", "ftp://a.test", "relative", "mailto:a@b.test"],
)  # fmt: skip
def test_links_elsewhere_stay_text(link):
    for text in (f"[a]({link})", f"![a]({link})", f"[a](<{link}>)", f"<{link}>", f"[a][b]\n\n[b]: {link}"):
        assert "<a" not in render_markdown(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_rendered_markdown_contains_only_allowed_tags_and_addresses(text):
    parts = fragments_fromstring(f"<div>{render_markdown(text)}</div>")
    for element in parts[0].iterdescendants():
        assert element.tag in TAGS, tostring(element)
        assert set(element.attrib) <= ATTRIBUTES, tostring(element)
        assert element.get("style", "text-align:left") in {"text-align:left", "text-align:right", "text-align:center"}
        if element.tag == "a":
            address = urlsplit(element.get("href"))
            assert address.scheme in ("http", "https") or not address.netloc, tostring(element)
            assert address.scheme in ("", "http", "https"), tostring(element)
