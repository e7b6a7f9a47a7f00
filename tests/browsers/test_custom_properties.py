"""Custom properties hide and show the same elements in both browsers."""

import pytest

from tests import needs
from tests.browsers.test_styles import acted, css, site
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.custom_properties import computed_properties, references, substitute
from webarena_gym.browsers.inprocess import InProcessBrowser

PAGES = {
    "opacity": css(":root { --o: 0 } .panel { opacity: var(--o); pointer-events: none }"),
    "display none": css(":root { --d: none } .panel { display: var(--d) }"),
    "fallback": css(".panel { display: var(--d, none) }"),
    "fallback unused": css(":root { --d: block } .panel { display: var(--d, none) }"),
    "nested fallback": css(".panel { display: var(--d, var(--e, none)) }"),
    "inherited": css("body { --d: none } p { display: var(--d) }"),
    "overridden": css("body { --d: none } .panel { --d: block } div, p { display: var(--d) }"),
    "inline custom": "<style>div { display: var(--d) }</style><div style='--d: none'>One</div><div>Two</div>",
    "inline use": "<style>:root { --d: none }</style><div style='display: var(--d)'>One</div><div>Two</div>",
    "undefined is unset, not the earlier rule": css(".panel { display: none } .panel { display: var(--none) }"),
    "invalid at computed time": css(":root { --d: 12px } .panel { display: none } .panel { display: var(--d) }"),
    "chain": css(":root { --a: var(--b); --b: none } .panel { display: var(--a) }"),
    "cycle": css(":root { --a: var(--b); --b: var(--a) } .panel { display: none; display: var(--a) }"),
    "cycle with fallback": css(":root { --a: var(--b); --b: var(--a) } .panel { display: var(--a, none) }"),
    "case": css(":root { --A: none; --a: block } .panel { display: var(--A) }"),
    "important": css(".panel { --d: none !important; --d: block; display: var(--d) }"),
    "initial": css(":root { --d: none } .panel { --d: initial; display: var(--d) }"),
    "custom inherit": css(":root { --d: none } .panel { --d: inherit; display: var(--d) }"),
    "visibility inherited on invalid": css(
        "body { visibility: hidden } .panel { visibility: visible } a { visibility: var(--x) }"
    ),
    "part": css(":root { --x: -100% } .panel { position: fixed; left: 0; top: 0; transform: translateX(var(--x)) }"),
    "tailwind drawer": css(
        ".panel { --tw-x: -100%; position: fixed; left: 0; top: 0; transform: translate(var(--tw-x), var(--tw-y, 0)) rotate(var(--tw-r, 0)) }"
    ),
    "length": css(":root { --w: 0px } .panel { width: var(--w); overflow: hidden }"),
    "media": css("@media (min-width: 600px) { :root { --d: none } } .panel { display: var(--d) }"),
    "checked toggles": (
        "<style>:root { --d: none } :root:has(#c:checked) { --d: block } .m { display: var(--d) }</style><input type=checkbox id=c><label for=c>Menu</label><div class=m><a href=/a>Inside</a></div>",
        [("click", "Menu"), ("click", "Menu")],
    ),
    "empty value": css(":root { --d: ; } .panel { display: var(--d) none }"),
    "empty fallback": css(".panel { display: var(--d,) none }"),
    "layers": css(
        "@layer a, b; @layer b { :root { --d: none } } @layer a { :root { --d: block } } .panel { display: var(--d) }"
    ),
    "space toggle": css(".panel { --on: initial; --off: ; display: var(--on, none) var(--off) }"),
    "property": css("@property --d { syntax: '*'; inherits: false; initial-value: none } .panel { display: var(--d) }"),
    "not inherited property": css(
        "@property --d { syntax: '*'; inherits: false; initial-value: block } body { --d: none } .panel { display: var(--d) }"
    ),
    "env": css(".panel { display: env(--x, none) }"),
    "comment": css(":root { --d: /* x */ none /* y */ } .panel { display: var( --d ) }"),
    "upper var": css(":root { --d: NONE } .panel { DISPLAY: VAR(--d) }"),
    "clip": css(":root{--c: inset(50%)} .panel { position: absolute; clip-path: var(--c) }"),
    "revert": css(".x { display: var(--r, revert) }", "<p class=x hidden>One</p><p class=x>Two</p>"),
}


@needs.chromium
def test_references_have_the_values_of_chromium(opened):
    page = [""]
    browsers = [opened(make(site(page), strict=True)) for make in (InProcessBrowser, ChromiumBrowser)]
    different, hidden = {}, 0
    for name, case in PAGES.items():
        page[0], actions = case if isinstance(case, tuple) else (case, ())
        texts = [acted(browser, actions) for browser in browsers]
        hidden += "Inside" not in texts[1][0]
        if texts[0] != texts[1]:
            different[name] = texts
    assert different == {}
    assert 10 < hidden < len(PAGES)


@pytest.mark.parametrize("value", ["var(--a, " * 150 + "1" + ")" * 150, "var(", "var()", "var(--a", "calc(" * 100 + "1"])
def test_a_value_that_cannot_be_computed_has_no_value(value):
    assert substitute(value, lambda _: None) is None or value.startswith("calc")
    assert references(value) <= {"--a"}


def test_values_that_multiply_are_refused():
    declared = {"--0": "x" * 10, **{f"--{number}": f"var(--{number - 1}) " * 10 for number in range(1, 12)}}
    values = computed_properties(declared, {}, {})
    assert max(map(len, values.values())) <= 5000
    assert "--11" not in values


def test_all_properties_of_a_cycle_have_no_value():
    declared = {"--a": "var(--b)", "--b": "var(--c)", "--c": "var(--a)", "--d": "var(--a, 1)"}
    assert computed_properties(declared, {"--a": "2"}, {}) == {"--d": "1"}


def test_a_value_that_repeats_a_long_one_is_refused_early():
    lookups = []

    def lookup(name):
        lookups.append(name)
        return "x" * 4000

    assert substitute("var(--a) " * 500, lookup) is None
    assert len(lookups) == 2
    assert substitute("x" * 5001, lookup) is None
