"""Style sheets hide and show the same elements in both browsers."""

from random import Random

import pytest

from tests import needs
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

MENU = "<nav><div id=menu>Products <ul><li><a href=/tools>Tools</a></ul></div></nav>"
PANEL = "<div class=panel><a href=/a>Inside</a></div><p>After</p>"
FILES = {
    "/hide.css": ".panel { display: none }",
    "/untyped": ".panel { display: none }",
    "/import.css": '@import "hide.css";',
    "/import-print.css": '@import "hide.css" print;',
    "/import-layer.css": '@import "hide.css" layer(low); @import "none.css";',
    "/circle.css": '@import "circle.css"; .panel { display: none }',
}


def css(rules, body=PANEL):
    return f"<style>{rules}</style>{body}"


PAGES = {
    "a class": css(".panel { display: none }"),
    "a linked sheet": f"<link rel=stylesheet href=/hide.css>{PANEL}",
    "an imported sheet": f"<link rel=stylesheet href=/import.css>{PANEL}",
    "an import for paper": f"<link rel=stylesheet href=/import-print.css>{PANEL}",
    "an import into a layer": f"<link rel=stylesheet href=/import-layer.css><style>@layer low, high; @layer high {{ div {{ display: block }} }}</style>{PANEL}",
    "a sheet that imports itself": f"<link rel=stylesheet href=/circle.css>{PANEL}",
    "a missing sheet": f"<link rel=stylesheet href=/none.css>{PANEL}",
    "an alternate sheet": f"<link rel='alternate stylesheet' title=Other href=/hide.css>{PANEL}",
    "a sheet with a second title": f"<link rel=stylesheet title=One href=/none.css><link rel=stylesheet title=Two href=/hide.css>{PANEL}",
    "a disabled sheet": f"<link rel=stylesheet disabled href=/hide.css>{PANEL}",
    "a sheet for paper": f"<link rel=stylesheet media=print href=/hide.css>{PANEL}",
    "a sheet of another type": f"<style type=text/less>.panel {{ display: none }}</style>{PANEL}",
    "a sheet without scripts": f"<noscript><style>.panel {{ display: none }}</style></noscript>{PANEL}",
    "comments of old pages": css("<!--\n.panel { display: none }\n-->"),
    "a later rule": css(".panel { display: none } .panel { display: flex }"),
    "a more specific rule": css("div.panel { display: none } .panel { display: flex }"),
    "an important rule": css(".panel { display: none !important } div.panel { display: flex }"),
    "an important rule over a style": "<style>.x { display: none !important }</style><p class=x style='display: flex'>Inside</p><p>After</p>",
    "a style over a rule": "<style>#x { display: none }</style><p id=x style='display: block'>Inside</p><p>After</p>",
    "an invalid value": css(".panel { display: none; display: nonsense }"),
    "an invalid rule": css(".panel { display } } .panel { display: none } .panel { display: none }"),
    "a selector of another browser": css(".panel, p::-moz-thing { display: none }"),
    "a selector of this browser": css(".panel, p::-webkit-thing { display: none }"),
    "a list that ends with a comma": css(".panel, { display: none } p { display: none }"),
    "shown although hidden": "<style>[hidden] { display: block } dialog { display: block }</style><p hidden>One</p><dialog>Two</dialog>",
    "shown although its style hides it": "<style>.x { display: block !important }</style><p class=x style='display: none'>One</p>",
    "the style of the browser": "<style>.x { display: revert }</style><p class=x hidden>One</p><p class=x>Two</p>",
    "the style of the browser for a dialog": css(".x { display: revert }", "<dialog class=x>One</dialog><p>Two</p>"),
    "values of other browsers": css(".panel { display: none; display: -ms-flexbox } a { display: none; display: -webkit-box }"),
    "two words": css(".panel { display: none; display: inline flex }"),
    "an invalid opacity": css(".panel { pointer-events: none; opacity: 0; opacity: thin }"),
    "no opacity in per cent": css(".panel { pointer-events: none; opacity: 0% }"),
    "pointer events in one part": css(".panel { pointer-events: none; opacity: 0 } a { pointer-events: auto }"),
    "collapsed": css(".panel { visibility: collapse } a { visibility: inherit }"),
    "initial": css("p { display: none } p { display: initial } .panel { visibility: hidden } a { visibility: initial }"),
    "upper case": css(".PANEL { display: none } DIV.panel { DISPLAY: NONE }"),
    "attributes": css(
        "input[type=TEXT] { display: none } [data-x='a b' i] { display: none }",
        "<input type=text><p data-x='A B'>One<p>Two",
    ),
    "the root": css(":root .panel { display: none } html > body > p:last-of-type { visibility: hidden }"),
    "siblings": css("div + p { display: none } p ~ b { display: none }", PANEL + "<b>Bold</b><i>Last</i>"),
    "escaped class names": css(
        r".md\:hidden { display: none } .w-1\/2 { display: none }", "<p class='md:hidden'>One<p class='w-1/2'>Two<p>Three"
    ),
    "an empty element": css("p:empty { display: none } p:not(:empty) { visibility: hidden }", "<p></p><p>One</p>Two"),
    "disabled": css(
        ":disabled { display: none } button:enabled { visibility: hidden }",
        "<button disabled>One</button><fieldset disabled><button>Two</button></fieldset><button>Three</button>",
    ),
    "a language": css(":lang(de) { display: none }", "<p lang=de-AT>Eins<p lang=en>One"),
    "a table": css(
        "tr.x { display: none } td.y { visibility: hidden }", "<table><tr class=x><td>1<td>2<tr><td class=y>3<td>4</table>"
    ),
    "a charset": '<meta charset=latin1><style>.é { display: none }</style><p class="é">One<p>Two',
    "invisible": "<style>.x { visibility: hidden }</style><p class=x>One <a href=/a>Two</a></p><p>Three</p>",
    "visible in invisible": "<style>.x { visibility: hidden } .y { visibility: visible }</style><p class=x>One <a class=y href=/a>Two</a></p>",
    "faded out": "<style>.x { opacity: 0; pointer-events: none }</style><div class=x><a href=/a>One</a></div><a href=/b>Two</a>",
    "transparent": "<style>.x { opacity: 0 }</style><div class=x><a href=/a>One</a></div><a href=/b>Two</a>",
    "clipped": "<style>.x { position: absolute; clip-path: inset(50%) }</style><a class=x href=/a>Skip</a><p class=x>Text</p>",
    "a checkbox that shows a menu": "<style>.m { display: none } #c:checked ~ .m { display: block }</style>"
    "<input type=checkbox id=c checked><label for=c>Menu</label><div class=m><a href=/a>Inside</a></div>",
    "unchecked": "<style>.m { display: none } #c:checked ~ .m { display: block }</style>"
    "<input type=checkbox id=c><label for=c>Menu</label><div class=m><a href=/a>Inside</a></div>",
    "an open group": "<style>details[open] .m { display: none }</style><details open><summary>More</summary><p class=m>Inside</p>Text</details>",
    "has": "<style>li:has(> .done) { display: none }</style><ul><li>One<li><i class=done></i>Two</ul>",
    "is and where": "<style>:is(ul, ol) > :where(.x) { display: none }</style><ul><li>One<li class=x>Two</ul>",
    "not": "<style>li:not(.x, .y) { display: none }</style><ul><li>One<li class=x>Two</ul>",
    "nth": "<style>li:nth-child(2n + 1) { display: none }</style><ul><li>One<li>Two<li>Three</ul>",
    "nested": "<style>.panel { a { display: none } &.wide { display: none } @media screen { p & { display: none } } }</style>"
    + PANEL,
    "nested in a group": css(".panel { @media (width >= 600px) { display: none } }"),
    "nested after a declaration": css(
        ".panel { display: none; @media (width >= 600px) { display: block } } p { display: none; & { display: block } }"
    ),
    "nested before a declaration": css(".panel { @media (width >= 600px) { display: block } display: none }"),
    "nested with an address": css(
        "nav { & a[href*='?a&b'] { display: none } }", "<nav><a href='/?a&amp;b'>One</a> <a href=/c>Two</a></nav>"
    ),
    "an import after a rule": css("b { color: red } @import 'hide.css';"),
    "a sheet without a type": f"<link rel=stylesheet href=/untyped>{PANEL}",
    "a linked sheet of another type": f"<link rel=stylesheet type=text/less href=/hide.css>{PANEL}",
    "placeholders": css(
        "input:not(:placeholder-shown) + b, textarea:not(:placeholder-shown) + b { display: none }",
        "<input placeholder=a><b>One</b><input placeholder=a value=b><b>Two</b><input><b>Three</b>"
        "<textarea placeholder=a></textarea><b>Four</b><textarea placeholder=a>b</textarea><b>Five</b>",
    ),
    "a required field": css("input:required { display: none } input.x { display: block }", "<input class=x required><p>After"),
    "a screen": css("@media (min-device-width: 600px) { .panel { display: none } }"),
    "a narrow window": css("@media (max-width: 600px) { .panel { display: none } }"),
    "a wide window": css("@media screen and (min-width: 48em) { .panel { display: none } }"),
    "a range of widths": css("@media (600px < width <= 1280px) { .panel { display: none } }"),
    "not print": css("@media not print { .panel { display: none } }"),
    "one of two queries": css("@media print, (hover: hover) and (pointer: fine) { .panel { display: none } }"),
    "a dark scheme": css("@media (prefers-color-scheme: dark) { .panel { display: none } }"),
    "little movement": css("@media (prefers-reduced-motion) { .panel { display: none } }"),
    "an unknown feature": css("@media (foo: bar) { .panel { display: none } } @media not (foo: bar) { a { display: none } }"),
    "or": css("@media (width: 1px) or (not (width: 2px)) { .panel { display: none } }"),
    "supported": css("@supports (display: grid) and (not (-moz-appearance: none)) { .panel { display: none } }"),
    "not supported": css("@supports not (display: grid) { .panel { display: none } }"),
    "layers": css("@layer a, b; @layer b { .panel { display: none } } @layer a { div.panel { display: block } }"),
    "outside of layers": css(".panel { display: block } @layer a { div.panel { display: none } }"),
    "important in layers": css("@layer a { .panel { display: none !important } } .panel { display: block !important }"),
    "a layer in a layer": css("@layer a { .panel { display: none } @layer b { div.panel { display: block } } }"),
    "custom properties": css(":root { --d: block } .panel { display: var(--d) }"),
    "parts of controls": "<style>option.x, legend { display: none }</style><fieldset><legend>L</legend><select><option>A<option class=x>B</select></fieldset>",
    "a menu under the mouse": css("#menu ul { display: none } #menu:hover ul { display: block }", MENU),
    "a link of a heading under the mouse": css(
        "h2 a { visibility: hidden } h2:hover a { visibility: visible }", "<h2><span>1.</span> Title <a href=#x>#</a></h2>"
    ),
    "headings that reveal links": css(
        "h2 a { visibility: hidden } h2:hover a { visibility: visible }",
        "<h2><span>1. Title</span> <a href=#x>#</a></h2><p>Text</p><h2><b>2. Title</b> <a href=#y>#</a></h2>",
    ),
    "a menu of a link": "<style>.s { display: none } li:hover .s { display: block }</style><ul><li><a href=/p>Products</a> <a class=s href=/t>Tools</a></ul>",
    "tabs of fragments": css(
        ".tab { display: none } .tab:target { display: block }",
        "<a href=#one>First</a> <a href=#two>Second</a><p class=tab id=one>One<p class=tab id=two>Two",
    ),
    "a link to skip the menu": "<style>.x { visibility: hidden } .x:focus { visibility: visible }</style><a class=x href=#m>Skip</a><p id=m>Text",
    "a search field with the focus": "<style>.hint { display: none } form:focus-within .hint { display: block }</style>"
    "<form><input name=q autofocus><p class=hint>Press Enter</p></form>",
}


def site(page):
    """A network with a page, or with the first page of a list."""

    def answer(environ, start_response):
        path = environ["PATH_INFO"]
        if path in FILES:
            start_response("200 OK", [("Content-Type", "text/css")] if path.endswith(".css") else [])
            return [FILES[path].encode()]
        start_response("404 Not Found" if path.endswith(".css") else "200 OK", [("Content-Type", "text/html; charset=utf-8")])
        return [f"<!doctype html><title>Page</title>{page if isinstance(page, str) else page[0]}".encode()]

    return Network({"app.test": answer})


def text_of(browser):
    return observe(browser.page()).text


def element(browser, text):
    """The innermost element with a text."""
    return [part for part in browser.page().root.iter() if part.text_content().strip().startswith(text)][-1]


def acted(browser, actions=()):
    """The texts after the start and after each action: (method, text of the element)."""
    browser.start(["http://app.test/"], {})
    texts = [text_of(browser)]
    for method, text in actions:
        getattr(browser, method)(*([element(browser, text)] if text else ()))
        texts.append(text_of(browser))
    return texts


def both(opened, page, actions=()):
    return [acted(opened(make(site(page), strict=True)), actions) for make in (InProcessBrowser, ChromiumBrowser)]


@needs.chromium
@pytest.mark.parametrize("name", PAGES)
def test_a_style_sheet_hides_what_it_hides_in_chromium(opened, name):
    inprocess, chromium = both(opened, PAGES[name])
    assert inprocess == chromium


@needs.chromium
@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("a menu under the mouse", [("hover", "Products"), ("hover", "Tools")]),
        ("headings that reveal links", [("click", "2."), ("hover", "Text"), ("click", "1.")]),
        ("a menu of a link", [("hover", "Products"), ("click", "Tools")]),
        (
            "tabs of fragments",
            [("click", "First"), ("click", "Second"), ("go_back", ""), ("go_back", ""), ("go_forward", "")],
        ),
        ("a checkbox that shows a menu", [("click", "Menu"), ("click", "Menu")]),
        ("an open group", [("click", "More")]),
    ],
)
def test_an_action_shows_and_hides_what_it_does_in_chromium(opened, name, actions):
    inprocess, chromium = both(opened, PAGES[name], actions)
    assert inprocess == chromium
    assert len(set(inprocess)) > 1


def test_a_snapshot_keeps_what_the_mouse_has_shown(opened):
    browser = opened(InProcessBrowser(site(PAGES["a menu under the mouse"]), strict=True))
    closed, opened_text = acted(browser, [("hover", "Products")])
    snapshot = browser.snapshot()
    browser.goto("http://app.test/other")
    browser.restore(snapshot)
    assert "Tools" not in closed
    assert "Tools" in opened_text
    assert text_of(browser) == opened_text


def test_an_element_without_a_box_cannot_be_clicked(opened):
    browser = opened(InProcessBrowser(site(PAGES["a class"]), strict=True))
    browser.start(["http://app.test/"], {})
    with pytest.raises(ActionError):
        browser.click(element(browser, "Inside"))


@pytest.mark.parametrize(
    "selector",
    [
        "|  {",
        ":has(::before)2n",
        ":lang(",
        ":not(" * 300 + "p" + ")" * 300,
        "p:nth-child(",
        "*|*",
        "[a|b]",
        "::slotted(p)",
        ":foo",
        "&",
    ],
)
def test_a_selector_that_cannot_be_read_hides_nothing_and_the_next_rule_does(opened, selector):
    browser = opened(
        InProcessBrowser(site(css(f"{selector} {{ display: none }} p {{ display: none }}", "<p>One</p>Two")), strict=True)
    )
    assert "Two" in acted(browser)[0]


def test_long_lists_and_deep_pages_take_linear_time_and_no_recursion(opened):
    rows = "<li>Row" * 3000
    page = (
        f"<style>li ~ .x, .a li {{ display: none }} li:hover b {{ display: block }}</style><ul>{rows}<li class=x>Last</ul>"
        + "<div>" * 150
    )
    browser = opened(InProcessBrowser(site(page), strict=True))
    texts = acted(browser)
    assert "Row" in texts[0]
    last = browser.page().root.find_class("x")[0]
    assert "hidden" in last.attrib
    assert not any("hidden" in row.attrib for row in last.itersiblings("li", preceding=True))


SELECTORS = ("p", "div", ".x", ".y", "#a", ".x .y", "div > p", "p + p", "p ~ .x", ":not(.x)", "div:has(.y)", ":is(.x, #a)", ":where(.y) p", "body *",
             "p:first-child", "p:nth-of-type(2)", "[class]", "div.x.y", "p:last-child", ":root .x")  # fmt: skip
DECLARATIONS = ("display: none", "display: block", "display: inline", "display: revert", "visibility: hidden", "visibility: visible",
                "visibility: inherit", "display: none !important", "display: block !important", "opacity: 0", "pointer-events: none",
                "visibility: hidden !important")  # fmt: skip
GROUPS = (
    "{}",
    "{}",
    "@media screen {{ {} }}",
    "@layer a {{ {} }}",
    "@layer b {{ {} }}",
    "@media print {{ {} }}",
    "@layer a {{ @layer c {{ {} }} }}",
)


def random_page(seed):
    dice = Random(seed)
    rules = [
        dice.choice(GROUPS).format(
            f"{dice.choice(SELECTORS)} {{ {'; '.join(dice.choices(DECLARATIONS, k=dice.randint(1, 2)))} }}"
        )
        for _ in range(dice.randint(2, 6))
    ]

    def part(depth):
        tag = dice.choice(("p", "div", "div") if depth < 3 else ("p",))
        attributes = dice.choice(
            (
                "",
                "",
                " class=x",
                " class=y",
                " class='x y'",
                " hidden",
                " style='display: block'",
                " style='visibility: hidden'",
            )
        )
        names.append(f"T{len(names)}")
        inside = "".join(part(depth + 1) for _ in range(dice.randint(0, 3))) if tag == "div" else ""
        return f"<{tag}{attributes}>{names[-1]}{inside}</{tag}>"

    names = []
    body = "".join(part(0) for _ in range(4)).replace("<div", "<div id=a", 1)
    return css(" ".join(rules), body)


@needs.chromium
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_random_style_sheets_hide_what_they_hide_in_chromium(opened, seed):
    page = [""]
    browsers = [opened(make(site(page), strict=True)) for make in (InProcessBrowser, ChromiumBrowser)]
    different = []
    for number in range(60 if seed == 0 else 600):
        page[0] = random_page(1000 * seed + number)
        first, second = (acted(browser) for browser in browsers)
        if first != second:
            different.append((page[0], first, second))
    assert different == []
