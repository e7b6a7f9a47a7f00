"""Trees and form owners are Chromium's: recorded ones, those of a Chromium that is installed, and those of plain pages by both parsers."""

import json
import time
from pathlib import Path
from random import Random

import pytest

from tests import needs
from webarena_gym.browsers import markup
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.document import parse
from webarena_gym.browsers.standard_tree import parse_standard
from webarena_gym.pages import dom
from webarena_gym.pages.page import Network

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "trees.json").read_text(encoding="utf-8"))
"""Chromium's version, and pages with the outlines of their trees in it."""


def outline(root):
    """The elements and texts of a body, a line each, with the forms of controls."""
    forms = list(root.iter("form"))
    lines = []

    def visit(element, depth):
        owner = dom.form_owner(element) if element.tag in dom.CONTROL_TAGS else None
        number = "" if owner is None else f" of form {forms.index(owner)}"
        lines.append(f"{'  ' * depth}{element.tag}{number}")
        for text, child in ((element.text, None), *((child.tail, child) for child in element)):
            if child is not None:
                visit(child, depth + 1)
            if text and text.strip():
                lines.append(f"{'  ' * (depth + 1)}{text.strip()!r}")

    visit(root.find("body"), 0)
    return lines


@pytest.mark.parametrize("html", RECORDED["pages"])
def test_trees_are_those_that_chromium_had(html):
    assert outline(parse(html.encode())) == RECORDED["pages"][html]


@needs.chromium
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_chromium_still_has_these_trees(opened, every):
    current = [""]

    def site(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [current[0].encode()]

    browser = opened(ChromiumBrowser(Network({"app.test": site})))
    differing = []
    for html in list(RECORDED["pages"])[::every]:
        current[0] = html
        browser.start(["http://app.test/"], {})
        if outline(browser.page().root) != RECORDED["pages"][html]:
            differing.append(html)
    assert differing == []


def write_plain(dice, tag="html", depth=0, around=()):
    """A random element of the models of plain pages."""
    attributes = dice.choice(("", "", ' class="a b"', " hidden", " title='x &amp; y'"))
    if tag in markup.VOID:
        return f"<{tag}{attributes}>"
    model = markup.MODELS[tag] if tag not in {"del", "ins"} else around[-1][1]
    taken = {name for name, _ in around} | {tag}
    allowed = [name for name in sorted(model) if not (name in taken and name in {"a", "button", "form", "select"})]
    inside = [(name, model) for name, model in around] + [(tag, model)]
    text = (
        ""
        if tag in {"html", "head", "table", "thead", "tbody", "tfoot", "tr", "colgroup"}
        else dice.choice(("", "x", " &copy; y ", "\n"))
    )
    if tag == "html":
        names = ["head", "body"]
    else:
        names = [dice.choice(allowed) for _ in range(dice.randint(0, 4 if depth < 3 else 1))] if allowed and depth < 12 else []
    parts = (write_plain(dice, name, depth + 1, inside) + dice.choice((text, "")) for name in names)
    return f"<{tag}{attributes}>{text}{''.join(parts)}</{tag}>"


def written(root):
    """The elements of a tree in order, with their attributes and texts; white space around the head and the body does not matter."""

    def text(value, around):
        return (value or "").strip() if around in {"html", "head", "body"} else value or ""

    return [
        (
            each.tag,
            dict(each.attrib) | {"selected": ""},
            text(each.text, each.tag),
            text(each.tail, getattr(each.getparent(), "tag", "html")),
        )
        for each in root.iter()
    ]


def test_plain_pages_have_the_same_tree_by_both_parsers():
    kinds = set()
    for seed in range(600):
        html = f"<!doctype html>\n{write_plain(Random(seed))}\n".encode()
        assert markup.is_plain(html), html
        plain, standard = parse(html), parse_standard(html.decode())
        assert written(plain) == written(standard), html
        kinds |= {element.tag for element in plain.iter()}
    assert kinds >= set(markup.MODELS) - {"figcaption"}


BROKEN = (
    "<p>a<div>b</div></p>", "<p>a<p>b</p>", "<table><td>x</td></table>", "<ul><p>x</p></ul>", "<div>", "</div>", "<b><i>x</b></i>",
    "<a href=/>x<a href=/>y</a></a>", "<form><form></form></form>", "<div/>", "<table>x</table>", "<select><input></select>", "<svg></svg>",
    "<h1><h2></h2></h1>", "<li>x</li>", "<!-- x -->", "<P>x</P>", "<noscript>x</noscript>", "<input></input>", "<p title='>'></p>", "1 < 2",
)  # fmt: skip


@pytest.mark.parametrize("part", BROKEN)
def test_other_pages_are_not_plain(part):
    page = "<html><head></head><body>{}</body></html>"
    assert markup.is_plain(page.format("<p>x</p>").encode())
    assert not markup.is_plain(page.format(part).encode())


@pytest.mark.parametrize("part", [
    "<div>", "<b>", "<p><b>", "<table>", "<table><tr><td>", "<a>", "<a><p>", "<font size=1><p>", "</p>", "<svg>", "<!--", "<x y='", "<input ",
    "&#", "&a", "<table><b>", "<template>", "<select><option>", "<nobr>", "<button><p>", "<li>", "<x =", "<![CDATA[", "<table>x", "<i></p>",
])  # fmt: skip
def test_any_markup_is_read_in_linear_time(part):
    start = time.process_time()
    parse((part * 10_000).encode())
    assert time.process_time() - start < 4


def test_too_deep_trees_are_refused():
    assert parse_standard("<div>" * 1000) is None
