"""One reading of the DOM: what is shown, what takes the focus and what a control holds are the same to observations and browsers.

The in-process browser is held against Chromium on random pages, and on those on which parsers often disagree.
"""

from random import Random
from typing import get_args

import pytest
from lxml import html
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.awkward_pages import PAGES
from tests.errors import expect_error
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import Style, observe
from webarena_gym.pages import dom, focus
from webarena_gym.pages.page import Network

HOME = "http://app.test/"
STYLES = (
    "display:none", "DISPLAY : None", "display:none;display:block", "display: inline-block !important; display: none",
    "display:none;display:nonsense", "visibility:hidden", "Visibility: Hidden ;color:red", "visibility:collapse",
    "visibility:visible", "visibility: visible !important; visibility: hidden", "color:none;--display:none",
    "background:url('display:none')",
)  # fmt: skip
FLAGS = ("hidden", "aria-hidden=true", "aria-hidden=false", "inert")
WRAPPERS = ("div", "fieldset", "fieldset disabled", "details", "details open", "section")  # in which anything may stand
INPUTS = (
    "text", "", "nonsense", "hidden", " CHECKBOX ", "checkbox", "radio", "submit", "button", "reset", "password", "number",
    "file",
)  # fmt: skip
TAB_INDEXES = ("", "tabindex=0", "tabindex=-1", "tabindex=2", "tabindex=1", "tabindex=x", "tabindex=' 3 '")


class Writer:
    """Writes a random page, each element with an id and words of its own."""

    def __init__(self, seed):
        self.dice = Random(seed)
        self.count = 0

    def page(self):
        return "".join(self.piece(0) for _ in range(self.dice.randint(4, 9)))

    def piece(self, depth):
        self.count += 1
        number = self.count
        marks = [f"id=e{number}"]
        if self.dice.random() < 0.25:
            marks.append(f'style="{self.dice.choice(STYLES)}"')
        if self.dice.random() < 0.12:
            marks.append(self.dice.choice(FLAGS))
        if self.dice.random() < 0.2:
            marks.append(self.dice.choice(TAB_INDEXES))
        text = " ".join(marks)
        if depth < 4 and self.dice.random() < 0.45:
            tag = self.dice.choice(WRAPPERS)
            inner = "".join(self.piece(depth + 1) for _ in range(self.dice.randint(1, 3)))
            summary = f"<summary>Summary {number}</summary>" if tag.startswith("details") else ""
            return f"<{tag} {text}>{summary}Words {number} {inner}</{tag.split()[0]}>"
        disabled = " disabled" * (self.dice.random() < 0.1)
        return self.dice.choice((self.input, self.other))(number, text + disabled)

    def input(self, number, text):
        what = self.dice.choice(INPUTS)
        name = f"group{self.dice.randint(1, 2)}" if what == "radio" else f"n{number}"
        checked = " checked" * (self.dice.random() < 0.3)
        return f'<input type="{what}" {text} name={name} value=7 aria-label="Field {number}"{checked}>'

    def other(self, number, text):
        return self.dice.choice(
            (
                f"<button {text}>Button {number}</button>",
                f"<a {text} href=/{number}>Link {number}</a>",
                f"<a {text}>No link {number}</a>",
                f"<textarea {text} aria-label='Area {number}'>one\ntwo</textarea>",
                f"<select {text} aria-label='List {number}'><option label='Shown {number}'>Kept</option><option hidden>No</option></select>",
                f"<span {text}>Text {number}</span>",
                f"<div {text} contenteditable=true>Written {number}</div>",
                f"<dialog {text} {self.dice.choice(('', 'open'))}><button id=b{number}>Said {number}</button></dialog>",
            )
        )


@Request.application
def site(request):
    """A site of awkward pages by their names, and of random ones, of which the path is the seed that each is written from."""
    name, seed = request.args.get("name"), request.path.removeprefix("/")
    if name:
        return Response(f"<!doctype html><title>Page</title>{PAGES[name]}", content_type="text/html; charset=utf-8")
    written = Writer(int(seed)).page() if seed else ""
    return Response(f"<!doctype html><html lang=en><title>T</title><body>{written}", content_type="text/html")


def network():
    return Network({"app.test": site})


@pytest.fixture(scope="module")
def browsers():
    pair = InProcessBrowser(network()), ChromiumBrowser(network(), static=True)
    for browser in pair:
        browser.start([], {})
    yield pair
    for browser in pair:
        browser.close()


def open_both(browsers, path):
    for browser in browsers:
        browser.goto(f"{HOME}{path}")


def focused(browser):
    element = browser.page().focused
    return None if element is None else element.get("id") or element.tag


def texts(browser):
    page = browser.page()
    return [observe(page, style=style, elements=elements).text for style in get_args(Style) for elements in ("id", "label")]


@pytest.mark.parametrize("seed", range(60))
def test_tab_stops_are_visible_focusable_and_clickable(seed):
    browser = InProcessBrowser(network())
    browser.start([f"{HOME}{seed}"], {})
    root = browser.page().root
    for stop in focus.tab_stops(root):
        assert dom.is_visible(stop)
        assert focus.is_focusable(stop)
        assert not dom.is_unclickable(stop)
    shown = {node.element for node in observe(browser.page()).nodes.values()}
    for element in root.iter("*"):
        if element in shown and not dom.is_label_operable(element):
            assert not dom.is_in_excluded(element)
            assert dom.is_rendered(element)
        if not dom.is_visible(element) and dom.is_unclickable(element):
            with expect_error(ActionError, "hidden"):
                browser.click(element)


def test_a_style_is_read_as_it_is_written():
    for style in STYLES:
        (element,) = html.fragment_fromstring(f'<div><button style="{style.replace(chr(34), "")}">B</button></div>')
        hides = style in (*STYLES[:2], STYLES[4], *STYLES[5:8])
        assert (dom.is_visible(element), dom.is_excluded(element)) == (not hides, hides), style


@needs.chromium
@pytest.mark.parametrize("first", range(1000, 1120, 10))
@pytest.mark.sampled(8)
def test_random_pages_read_the_same_and_the_tab_key_goes_the_same_way(browsers, first):
    for seed in range(first, first + 10):
        open_both(browsers, seed)
        assert texts(browsers[0]) == texts(browsers[1]), seed
        path = []
        for key in ("Tab",) * 6 + ("Shift+Tab",) * 4:
            for browser in browsers:
                browser.press(key)
            path.append([focused(browser) for browser in browsers])
            assert path[-1][0] == path[-1][1], (seed, path)
            if path[-1][0] is None:
                break


@needs.chromium
@pytest.mark.parametrize("name", PAGES)
def test_both_browsers_agree_on_unusual_pages(browsers, name):
    open_both(browsers, f"?name={name}")
    assert texts(browsers[0]) == texts(browsers[1])
    tags = [[node.element.tag for node in observe(browser.page()).nodes.values()] for browser in browsers]
    assert tags[0] == tags[1]
