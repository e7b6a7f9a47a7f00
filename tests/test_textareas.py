"""Line breaks in textareas: seen as they are, typed as they are, and sent as browsers send them; the same in both browsers."""

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import needs
from tests.browser_site import HOME, make_network
from tests.pages import page
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.observation import observe

TYPED = [
    "one\ntwo",
    "\n\nafter two breaks\n",
    "  def f(x):\n\treturn x  # <b>\n",
    "one\r\ntwo\rthree\n\n\nfour",
    r"C:\new" + "\n" + r"\table",
    "x\n" * 300,
]


@pytest.fixture(scope="module", params=["inprocess", pytest.param("chromium", marks=needs.chromium)])
def browser(request):
    made = (InProcessBrowser if request.param == "inprocess" else ChromiumBrowser)(make_network())
    made.start([HOME], {})
    yield made
    made.close()


def find(browser, element_id):
    (found,) = browser.page().root.xpath("//*[@id=$id]", id=element_id)
    return found


def test_typed_line_breaks_are_shown_and_sent(browser):
    for typed, dialect in product(TYPED, DIALECTS.values()):
        assert dialect.parse(dialect.format(Action(Kind.TYPE, "1", typed))).argument == typed
    for typed in TYPED:
        browser.goto(f"{HOME}form")
        browser.type(find(browser, "story"), typed)
        lines = typed.replace("\r\n", "\n").replace("\r", "\n")
        shown = observe(browser.page()).text.partition('label="story"')[2].partition(">")[2].partition("</textarea>")[0]
        assert shown.replace("&lt;", "<") == lines.rstrip()
        browser.click(find(browser, "save"))
        form = dict(json.loads(browser.page().root.findtext(".//pre"))["form"])
        assert form["story"] == lines.replace("\n", "\r\n")


LINES = st.lists(
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), max_size=30),
    min_size=2,
    max_size=9,
)


@settings(max_examples=60)
@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_textareas_show_every_line_in_both_styles(lines, ending):
    document = page("<body><p>above</p><textarea name='note'>x</textarea><p>below</p></body>")
    document.root.find(".//textarea").text = ending.join(f"-{line}" for line in lines)
    value = "\n".join(f"-{line}" for line in lines).rstrip()
    html = observe(document)
    shown = f'<textarea id="0" label="note">{value.replace("<", "&lt;")}</textarea>'
    assert html.text.split("\n")[1:] == ["above", *shown.split("\n"), "below"]
    assert html.total == html.text.count("\n")
    tree = observe(document, style="axtree").text.split("\n")
    assert len(tree) == 5
    if "\n" in value:
        written = tree[3].partition("value: '")[2][:-1]
        assert written.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\") == value


def test_line_numbers_after_textareas_of_one_and_several_lines():
    document = page("<body><textarea name='note'>  one   C:\\new  \n </textarea></body>")
    assert '<textarea id="0" label="note">one C:\\new</textarea>' in observe(document).text
    assert "value: 'one C:\\new'" in observe(document, style="axtree").text
    html = "<body><textarea name=note>a\nb\nc</textarea> <button>Go</button><p><a href=/>x</a></p></body>"
    for style in ("html", "axtree"):
        seen = observe(page(html), style=style, header=False)
        lines = seen.text.split("\n")
        for address, node in seen.nodes.items():
            mark = f'id="{address}"' if style == "html" else f"[{address}]"
            assert mark in lines[node.line]
        assert len(lines) == seen.total
