"""Locators and checks of page contents, without a browser: selectors in linear time select what lxml's do."""

from contextlib import contextmanager
from dataclasses import replace
from random import Random

import pytest
from lxml.cssselect import CSSSelector
from lxml.html import document_fromstring

from tests.pages import page
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import Outcome, View, check, evaluate, no_scripts
from webarena_gym.evaluators.kinds import program_html
from webarena_gym.evaluators.kinds.program_html import page_shows

HTML = """<div id=a><p class=x>One</p><ul><li>1<li class=x>2<li>3</ul><p>Two<input id=f value=typed></p></div>
<p class=x>Three</p><select id=s><option>A<option selected>B</select><textarea id=t>Text</textarea>"""


def outcome(html=HTML, url="http://shop.test/x"):
    opened = []

    @contextmanager
    def open_page(address):
        opened.append(address)
        yield View(page(HTML, url=address), no_scripts)

    return Outcome(
        "", View(page(html, url=url), no_scripts), open_page, {}.__getitem__, {"__SHOPPING__": "http://shop.test"}
    ), opened


def passes(locator, *, html=HTML, url="last", **contents):
    return all(verdict.passed for verdict in evaluate(page_shows(url, locator, **contents), "Which?", outcome(html)[0]))


@pytest.mark.parametrize("seed", range(60))
def test_selectors_select_the_elements_that_lxml_selects(seed):
    rng = Random(seed)
    simple = ("p", "li", ".x", "#a", "*", "ul", "p.x", ":not(.x)", "li:first-child", "[value]", "div")
    css = rng.choice(simple) + "".join(
        rng.choice((" ", " > ", " + ", " ~ ")) + rng.choice(simple) for _ in range(rng.randint(1, 3))
    )
    css += rng.choice(("", "", f", {rng.choice(simple)}"))
    root = document_fromstring(HTML)
    expected = [element for element in root.iter("*") if element in {*CSSSelector(css, translator="html")(root)}]
    assert program_html._selector(css)(root) == expected, css


@pytest.mark.parametrize(
    ("locator", "texts"),
    [
        ("", {"One": True, "Three": True, "typed": None, "Four": False}),
        ("document.querySelector('p').innerText", {"One": True, "Two": False}),
        ('document.querySelector("#f").value', {"typed": True, "Two": False}),
        ("document.querySelector('#s').value", {"B": True, "A": False}),
        ("document.querySelector('#t').value", {"Text": True}),
        ("document.querySelector('.missing').innerText", {"One": False}),
    ],
)
def test_a_locator_selects_the_text_that_is_compared(locator, texts):
    found = {text: passes(locator, must_include=[text]) for text in texts}
    assert found == {text: found[text] if expected is None else expected for text, expected in texts.items()}


def test_a_page_is_opened_unless_it_is_the_last_one():
    ended, opened = outcome("<p>Nothing")
    block = page_shows("__SHOPPING__/other", "", must_include=["Three"])
    assert all(verdict.passed for verdict in evaluate(block, "Which?", ended))
    assert [address.rpartition("/")[2] for address in opened] == ["other"]
    assert not passes("", html="<p>Nothing", must_include=["Three"])


@pytest.mark.parametrize(
    "target",
    [
        {"url": "last"},
        {"url": "last", "locator": "", "required_contents": {}, "extra": 1},
        {"url": 3, "locator": "", "required_contents": {"must_include": ["x"]}},
        {"url": "last", "locator": "", "required_contents": {"nonsense": "x"}},
    ],
)
def test_targets_with_other_keys_or_types_are_refused(target):
    with pytest.raises(EvaluationError):
        check({"eval_types": ["program_html"], "program_html": [target]}, "native")


def verdict_of(block, ended=None):
    (verdict,) = evaluate(block, "Which?", (ended or outcome())[0])
    return verdict


def test_a_failed_verdict_has_the_references_that_failed():
    verdict = verdict_of(page_shows("last", "p", must_include=["One", "Four"], must_exclude=["Two"]))
    assert (verdict.passed, verdict.expected) == (False, "Four")
    assert verdict_of(page_shows("last", "p", must_include=["One", "Three"])).expected == ["One", "Three"]
    assert verdict_of(page_shows("last", "p", must_exclude=["Two"])).expected is None


def changing(texts):
    """Return a view whose page shows one text after another."""
    following = (lambda: changing(texts[1:])) if texts[1:] else (lambda: changing(texts))
    return View(page(f"<p>{texts[0]}", url="http://shop.test/x"), no_scripts, advance=following)


@pytest.mark.parametrize(("contents", "texts", "expected"), [
    ({"must_include": ["late"]}, ["soon", "late", "gone"], True), ({"must_include": ["late"]}, ["soon", "gone"], False),
    ({"must_exclude": ["late"]}, ["soon", "late"], False), ({"must_exclude": ["late"]}, ["late", "gone"], True),
])  # fmt: skip
def test_required_text_passes_at_once_and_forbidden_text_only_at_the_end(contents, texts, expected):
    @contextmanager
    def open_page(_):
        yield changing(texts)

    ended = outcome()[0]
    block = page_shows("http://shop.test/x", "p", **contents)
    verdicts = evaluate(block, "Which?", replace(ended, open_page=open_page))
    assert all(verdict.passed for verdict in verdicts) == expected


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"prep_actions": ["x"]}, "prep_actions"),
        ({"url": "func:x()"}, "call"),
        ({"locator": "func:x()"}, "call"),
        ({"locator": "p["}, "selector"),
        ({"locator": "p" * 3000}, "characters"),
        ({"required_contents": {}}, "required_contents"),
    ],
)
def test_targets_that_the_native_rules_do_not_support_are_refused(change, part):
    target = {"url": "last", "locator": "p", "required_contents": {"must_include": ["x"]}, **change}
    with pytest.raises(EvaluationError, match=part):
        check({"eval_types": ["program_html"], "program_html": [target]}, "native")
