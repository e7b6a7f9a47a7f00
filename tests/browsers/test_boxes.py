"""Elements without size, or outside of the page, are hidden as in Chromium."""

from random import Random

import pytest

from tests import needs
from tests.browsers.test_styles import acted, both, css, site
from webarena_gym.browsers.boxes import gives_size, is_away, is_clipped, is_collapsed, needed_properties
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe

SEEDS = range(60)

LINK = "<a class=x href=/skip>Skip</a><p>Text <a href=/a>One</a></p>"
ICON = "<a class=x href=/icon><i class=i></i></a><p>Text</p>"
PAGES = {
    "left of the page": css(".x { position: absolute; left: -9999px }", LINK),
    "in a box left of the page": css(".x { position: absolute; left: -999em }", f"<div class=x>{LINK}</div><p>After"),
    "text left of the page": css(".x { position: absolute; left: -9999px }", "<h1 class=x>Title</h1><p>Text"),
    "left without a position": css(".x { left: -9999px }", LINK),
    "above the page": css(".x { position: absolute; top: -40px; height: 30px }", LINK),
    "a line above the page": css(".x { position: fixed; top: -100px; left: 0 }", LINK),
    "a part above the page": css(".x { position: absolute; top: -4px; height: 30px }", LINK),
    "above the page in a placed box": css(
        "div { position: relative; margin-top: 300px } .x { position: absolute; top: -100px }", f"<div>{LINK}</div>"
    ),
    "moved out by a transformation": css(".x { position: absolute; top: 0; transform: translateY(-110%) }", LINK),
    "moved by its width": css(".x { position: fixed; left: 0; top: 0; transform: translateX(-100%) }", LINK),
    "scaled to nothing": css(".x { display: inline-block; transform: scale(0) }", LINK),
    "for screen readers": css(
        ".x { position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0; overflow: hidden; clip: rect(0, 0, 0, 0); border: 0 }",
        f"<main>{LINK}</main>",
    ),
    "clipped without a position": css(".x { clip: rect(0, 0, 0, 0) }", LINK),
    "clipped by half": css(".x { position: absolute; top: 99px; clip: rect(0, 99px, 99px, 0) }", LINK),
    "shown again": css(".x { position: absolute; left: -9999px } a.x { position: static }", LINK),
    "an important rule": css(".x { position: absolute; left: -9999px !important } a.x { left: 0 }", LINK),
    "by its own style": f"<style>p {{ margin: 0 }}</style>{LINK.replace('class=x', 'style=position:absolute;left:-9999px')}",
    "collapsed": css(".x { height: 0; overflow: hidden }", f"<div class=x>{LINK}</div><p>After"),
    "collapsed to its padding": css(".x { max-height: 0; overflow: hidden; padding: 20px }", f"<div class=x>{LINK}</div>"),
    "without height but not cut": css(".x { height: 0 }", f"<div class=x>{LINK}</div>"),
    "inline without height": css("b { height: 0; overflow: hidden }", f"<b>{LINK}</b>"),
    "narrow": css(".x { width: 0; overflow: hidden }", f"<nav class=x>{LINK}</nav><p>After"),
    "an empty link": ICON,
    "an empty link on a page with other rules": css("p { visibility: visible }", ICON),
    "an icon": css(".i { display: inline-block; width: 16px; height: 16px }", ICON),
    "an icon of a letter": css(".i::before { content: 'x' }", ICON),
    "an icon without content": css(".i::before { content: '' }", ICON),
    "an icon by its address": css("a[href$='.png'] { display: inline-block; padding: 4px }", "<a href=/a.png></a><p>Text"),
    "an icon whose class begins with a digit": css(
        r".\32 xl { display: inline-block; padding: 4px }", "<a class=2xl href=/icon></a><p>Text"
    ),
    "an icon for paper": css("@media print { .i { padding: 4px } }", ICON),
    "an icon of another class": css(".j { padding: 4px } a .j.i { padding: 4px } b.i { padding: 4px }", ICON),
    "padding without size": css(".x, .i { padding: 0 } .x { border: 0 solid red }", ICON),
    "an icon with a style": ICON.replace("<i", "<i style='padding: 9px'"),
    "a link whose text is hidden": css("i { display: none }", ICON.replace("></i>", ">Icon</i>")),
    "a link with a line break": ICON.replace("<i class=i></i>", "<br>"),
    "a link with a field": ICON.replace("<i class=i></i>", "<input>"),
    "an empty button": "<button></button><div role=button></div><p>Text",
    "a role with a size": css("div { height: 10px }", "<div role=button></div><p>Text"),
    "a covering link": css(
        "div { position: relative; height: 90px } .x { position: absolute; inset: 0 }",
        "<div>Card<a class=x href=/card></a></div>",
    ),
}
PAGES["a floating image in a link"] = "<a href=/logo><b style='float: left; margin: 9px'>Logo</b></a><div>Slogan of it</div>"
PAGES["a wrapped link"] = css(
    "p { width: 200px; font: 16px monospace }",
    "<p>1234567890 <a href=/a>123456789 1</a> <a href=/b>12345</a> 1 <a href=/c>12345678901 1</a> 2",
)
REVEALING = "#menu { display: none } li:hover > #menu { display: block }"
MENU = "<ul><li>Products <b id=menu><a href=/t>Tools</a></b><li>News</ul>"
HOVERED = {
    "a menu": css(REVEALING, MENU),
    "a menu of a box with controls": css(
        REVEALING, MENU.replace("Products", "<span>Products</span> <a href=/p>All</a> <i>Long text of it</i>")
    ),
    "of any element": css("b { visibility: hidden } *:hover > b { visibility: visible }", MENU),
    "of any element without a star": css("b { visibility: hidden } ul :hover > b { visibility: visible }", MENU),
    "a sibling": css(
        "b { display: none } span:hover + b { display: block }", "<span>One</span><b>Two</b><span>Three</span><i>Four</i>"
    ),
    "a later sibling": css(
        "b { display: none } span:hover ~ b { display: block }", "<span>One</span><i>Two</i><b>Three</b><span>Four</span>"
    ),
    "for paper": css(f"@media print {{ {REVEALING} }}", MENU),
    "of a list": css("b { display: none } :is(li, p):hover b, q:hover b { display: block }", MENU),
    "a mark": css("li:hover > b::after { display: block }", MENU),
    "a row with controls": css(
        "td a { opacity: 0 } tr:hover td a { opacity: 1 }",
        "<table><tr><td>Ann<td>12 May<td><a href=/e>Edit</a><tr><td>Bob<td>13 May<td><a href=/f>Edit</a></table>",
    ),
    "a card with a long text": css(
        "a { opacity: 0 } div:hover > a { opacity: 1 }", f"<div><p>{'Long text. ' * 9}</p><p>Short</p><a href=/e>Edit</a></div>"
    ),
    "a label with a field": css(
        "b { display: none } label:hover > b { display: block }", "<label>Name <input> <b>Hint</b></label>"
    ),
}


@needs.chromium
@pytest.mark.parametrize("name", PAGES)
def test_what_cannot_be_reached_is_hidden_as_in_chromium(opened, name):
    inprocess, chromium = both(opened, PAGES[name])
    assert inprocess == chromium


@needs.chromium
@pytest.mark.parametrize("name", HOVERED)
def test_elements_that_reveal_others_are_listed_as_in_chromium(opened, name):
    inprocess, chromium = both(opened, HOVERED[name])
    assert inprocess == chromium


@needs.chromium
def test_a_link_outside_of_the_page_takes_the_focus_and_is_shown_then(opened):
    page = css(".x { position: absolute; left: -9999px } .x:focus { left: 0; top: 0 }", LINK)
    played = []
    for make in (InProcessBrowser, ChromiumBrowser):
        browser = opened(make(site(page), strict=True))
        texts = acted(browser)
        for _ in range(2):
            browser.press("Tab")
            texts.append(observe(browser.page()).text)
        played.append(texts)
    assert played[0] == played[1]
    assert ["Skip" in text for text in played[0]] == [False, True, False]


@needs.chromium
def test_a_link_of_a_floating_part_is_clicked(opened):
    for make in (InProcessBrowser, ChromiumBrowser):
        browser = opened(make(site(PAGES["a floating image in a link"]), strict=True))
        acted(browser)
        browser.click(next(browser.page().root.iter("a")))
        assert browser.page().url == "http://app.test/logo"


def test_an_unreachable_link_cannot_be_clicked(opened):
    browser = opened(InProcessBrowser(site(PAGES["left of the page"]), strict=True))
    acted(browser)
    with pytest.raises(ActionError, match="hidden"):
        browser.click(browser.page().root.find_class("x")[0])


@pytest.mark.parametrize(
    ("values", "in_placed", "expected"),
    [
        ({"position": "absolute", "left": "-10000px"}, True, True),
        ({"position": "absolute", "left": "-100px", "width": "100px"}, False, True),
        ({"position": "absolute", "left": "-100px", "width": "101px"}, False, False),
        ({"position": "absolute", "left": "-100px", "width": "100px"}, True, False),
        ({"position": "fixed", "left": "-100px", "width": "100px"}, True, True),
        ({"position": "absolute", "left": "-100px"}, False, False),
        ({"position": "fixed", "left": "-100%"}, False, True),
        ({"position": "absolute", "top": "-3em"}, False, True),
        ({"position": "absolute", "top": "calc(1px - 99em)"}, False, False),
        ({"position": "relative", "left": "-999px"}, True, True),
        ({"position": "relative", "top": "-999px"}, False, False),
        ({"position": "absolute", "top": "10px", "transform": "translateY(-100%)"}, False, False),
        ({"position": "absolute", "top": "0", "transform": "translate(0, -100%)"}, False, True),
        ({"transform": "rotate(3deg) scale(0, 0)"}, False, True),
        ({"transform": "scale(0.5)"}, False, False),
    ],
)
def test_places_outside_of_the_page(values, in_placed, expected):
    assert is_away("div", values, in_placed=in_placed) is expected
    assert not expected or values.keys() <= needed_properties(values.items())


def test_boxes_that_leave_nothing_of_their_content():
    assert is_clipped({"position": "fixed", "clip": "rect(1px 1px 1px 1px)"})
    assert not is_clipped({"position": "fixed", "clip": "rect(auto, 0, 0, 0)"})
    assert is_collapsed("div", {"height": "0px", "overflow": "hidden"})
    assert is_collapsed("div", {"max-height": "0", "overflow": "visible", "overflow-y": "auto"})
    assert is_collapsed("span", {"width": "0", "overflow": "clip", "display": "block"})
    assert not is_collapsed("div", {"height": "1px", "overflow": "hidden"})
    assert not is_collapsed("div", {"height": "0", "overflow": "hidden", "padding-bottom": "56.25%"})
    assert not is_collapsed("span", {"height": "0", "overflow": "hidden"})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("border", "1px solid", True), ("border", "0 solid red", False), ("border", "none", False), ("border-radius", "4px", False),
     ("padding-left", ".5em", True), ("padding", "0 0px", False), ("min-height", "var(--x)", True), ("content", '""', False)],
)  # fmt: skip
def test_declarations_that_give_an_empty_element_a_size(name, value, expected):
    assert gives_size(name, value) is expected


AWAY = ("left: -9999px", "left: -2000em", "top: -9999px", "clip: rect(0 0 0 0)")
PLACES = (
    *(f"position: {position}; {place}" for position in ("absolute", "fixed") for place in AWAY), "position: static", "position: relative",
    "position: static; left: 0", "position: static; clip: auto", "height: 0", "overflow: hidden", "width: 0", "max-height: 0", "padding: 3px",
    "display: block", "display: inline", "transform: scale(0)", "transform: none", "overflow: visible", "display: none", "visibility: hidden",
)  # fmt: skip
PARTS = ("<a href=/{0}>T{0}</a>", "<a href=/{0} class=x>T{0}</a>", "<a href=/{0}></a>", "<a href=/{0}><i></i></a>", "T{0}",
         "<button class=x>T{0}</button>", "<p class=y>T{0} <a href=/{0}>U{0}</a></p>", "<span role=button class=y>T{0}</span>",
         "<label class=x>T{0} <input name=f{0}></label>", "<h2 class=x>T{0}</h2>")  # fmt: skip


def random_page(seed):
    """A page whose parts do not overlap unless they are out of reach, since the in-process browser does not know what covers what."""
    dice = Random(seed)
    rules = " ".join(
        f"{dice.choice(('.x', '.y', '.box', 'a.x', '.box .x', '#b .y'))} {{ {'; '.join(dice.choices(PLACES, k=dice.randint(1, 4)))} }}"
        for _ in range(dice.randint(1, 4))
    )
    boxes = "".join(
        f"<div {dice.choice(('', 'class=box', 'id=b'))}>{' '.join(dice.choice(PARTS).format(10 * box + part) for part in range(dice.randint(1, 3)))}</div>"
        for box in range(3)
    )
    return css(f"{rules} div {{ margin: 60px }}", boxes)


@needs.chromium
def test_random_boxes_hide_what_they_hide_in_chromium(opened):
    page = [""]
    browsers = [opened(make(site(page), strict=True)) for make in (InProcessBrowser, ChromiumBrowser)]
    different = []
    for seed in SEEDS:
        page[0] = random_page(seed)
        first, second = (acted(browser) for browser in browsers)
        if first != second:
            different.append((seed, page[0], first, second))
    assert different == []


OVERLAY = (
    "<a href=/a>One</a> <a href=#o>Open</a><div id=o class=o><p>Modal <a href=#x>Close</a></p></div><button>Two</button>"
    "<a href=/b style='position: relative; z-index: 5'>Three</a> <a href=/c style='position: relative'>Four</a>"
    "<p style='position: fixed; bottom: 0'><a href=/d>Five</a>"
)
COVERING = (
    "inset: 0", "inset: -10px 0", "top: 0; right: 0; bottom: 0; left: 0", "top: 0; left: 0; width: 100%; height: 100%",
    "top: 0; left: 0; width: 100vw; height: 100vh",
)  # fmt: skip
SHOWN = {"visibility: hidden": "visibility: visible", "display: none": "display: block", "pointer-events: none; opacity: 0": "pointer-events: auto; opacity: 1"}  # fmt: skip


@needs.chromium
def test_an_overlay_covers_the_controls_below_it(opened):
    page, different, covered = [""], [], 0
    browsers = [opened(make(site(page), strict=True)) for make in (InProcessBrowser, ChromiumBrowser)]
    for box in COVERING:
        for layer in ("", "z-index: 3", "z-index: 99"):
            for hidden, shown in SHOWN.items():
                rules = f".o {{ position: fixed; {box}; {layer}; {hidden} }} .o:target {{ {shown} }}"
                page[0] = css(rules, OVERLAY)
                first, second = (acted(browser, [("click", "Open"), ("click", "Close")]) for browser in browsers)
                covered += "One</a>" not in second[1]
                if first != second:
                    different.append((rules, first, second))
    assert different == []
    assert covered > len(COVERING) * 3


OVERLAY_PAGES = {
    "always": css(".o { position: fixed; inset: 0 }", OVERLAY),
    "in a style attribute": f"<div style='position: fixed; inset: 0'>Top <a href=/t>Top</a></div>{OVERLAY}",
    "a part of it": css(".o { position: fixed } .o p { position: fixed; inset: 0 }", OVERLAY),
    "in a stacking context": css(
        ".o { position: fixed; inset: 0 } .w { position: relative; z-index: 1 }",
        f"<div class=w>{OVERLAY}</div><a href=/q>Six</a>",
    ),
    "a background that is a link": css(
        ".o { position: fixed; inset: 0 } .bg { position: absolute; inset: 0 } .o p { position: relative }",
        "<a href=/a>One</a><div class=o><a class=bg href=#x>Back</a><p>Modal <a href=#y>Close</a></p></div><button>Two</button>",
    ),
    "a background over the text": css(
        ".o { position: fixed; inset: 0 } .bg { position: absolute; inset: 0 }",
        "<a href=/a>One</a><div class=o><p>Modal <a href=#y>Close</a></p><a class=bg href=#x>Back</a></div><button>Two</button>",
    ),
    "a checkbox below": css(
        ".o { position: fixed; inset: 0 }", f"<label for=c>Toggle</label> <input type=checkbox id=c>{OVERLAY}"
    ),
    "values of custom properties": css(
        ":root { --i: 0; --z: 9 } .o { position: fixed; inset: var(--i); z-index: var(--z) }", OVERLAY
    ),
}


@needs.chromium
@pytest.mark.parametrize("name", OVERLAY_PAGES)
def test_an_overlay_covers_what_it_covers_in_chromium(opened, name):
    first, second = both(opened, OVERLAY_PAGES[name])
    assert first == second
    assert "One</a>" not in first[0]
