"""Generated pages find what differs between both browsers, and cut it down to what matters."""

import json
from itertools import islice
from random import Random

import pytest

from tests import needs
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom
from webarena_gym.tools.cli import main
from webarena_gym.tools.fuzz import pages
from webarena_gym.tools.fuzz.grammar import make_case
from webarena_gym.tools.fuzz.shrinking import Case, Node, PageAction, Redirect, reductions, shape

PLAIN = Case(
    Node("", (), ("<!doctype html><meta charset=utf-8><title>T</title>", Node("div", (), (
        "Text", Node("form", (("method", "post"), ("action", "/e"), ("id", "f")), (
            Node("input", (("id", "e1"), ("name", "a"), ("title", "Hint"))), Node("p", (), ("x",), "</p>"),
            Node("button", (("id", "e2"),), ("Go",), "</button>"),
        ), "</form>"),
    ), "</div>"))),
    (PageAction("type", "e1", "text"), PageAction("click", "e2")), ("n=1; Path=/",),
)  # fmt: skip

WINDOWS = "<a id=a href=/r0 target=win>Open</a><form action=/r0 target=win rel=noreferrer><button id=b>Open</button></form>"
EQUAL = {
    "options in a div": ("<select id=e><div><option>A<option>B</div></select>", [("press", "e", "ArrowDown")], ()),
    "a window without content": (WINDOWS, [("click", "a"), ("click", "b"), ("click", "b")], (Redirect(204, ""),)),
    "a number that Backspace breaks": (
        "<form><input id=e name=n type=number value=-5><button id=b>Go</button></form>",
        [("press", "e", "Backspace"), ("click", "b")],
        (),
    ),
    "a refused click after a file chooser was opened": (
        "<label id=a>Label <input type=file></label><form><button id=b disabled>Go</button></form>",
        [("click", "a"), ("click", "b")],
        (),
    ),
    "a time after going back": (
        "<a id=a href=/e>x</a><input type=time value=15:07:00><input type=time value=15:07:00 step=0.5>",
        [("click", "a"), ("back",)],
        (),
    ),
}
"""Cases in which the browsers differed: page, actions and redirects."""


def test_a_seed_gives_a_case_and_seeds_give_many():
    assert [make_case(seed) for seed in range(50)] == [make_case(seed) for seed in range(50)]
    cases = [make_case(seed) for seed in range(3000)]
    assert len({str(case) for case in cases}) > 2900
    parts = frozenset().union(*(shape(case.page) for case in cases))
    for kind in dom._INPUT_TYPES:
        assert f"input type={kind}" in parts
    assert {"table", "select", "dialog", "details", "iframe", "base", "template", "button formmethod", "a target"} <= parts
    assert {redirect.status for case in cases for redirect in case.redirects} >= {301, 302, 303, 307, 308}
    assert sum(bool(case.cookies) for case in cases) > 300


def test_reductions_are_smaller_and_end_with_nothing():
    dice = Random(3)
    for seed in range(100):
        case = make_case(seed)
        while smaller := list(islice(reductions(case), 300)):
            for other in smaller:
                assert (
                    len(str(other)) < len(str(case))
                    or str(other).count("</") > str(case).count("</")
                    or other.page != case.page
                )
            case = dice.choice(smaller)
        assert not shape(case.page)
        assert (case.actions, case.cookies, case.redirects) == ((), (), ())


@pytest.fixture
def player(opened, monkeypatch):
    monkeypatch.setattr(
        "webarena_gym.browsers.chromium.context.NAVIGATION_S", 20.0
    )  # which no case reaches, also on a busy machine
    return opened(pages.BrowserPair())


@needs.chromium
class TestPlayer:
    def test_equal_pages_are_equal(self, player):
        assert player.compare(PLAIN) is None

    @pytest.mark.parametrize(("html", "actions", "redirects"), EQUAL.values(), ids=EQUAL)
    def test_cases_that_differed_are_equal(self, player, html, actions, redirects):
        case = Case(Node("", (), (html,)), tuple(PageAction(*action) for action in actions), redirects=redirects)
        assert str(player.compare(case)) == "None"

    def test_faults_of_the_browser_are_found_and_reduced(self, player, monkeypatch):
        def refuse(self, element, text, *, enter=False):
            raise ActionError("no")

        monkeypatch.setattr(InProcessBrowser, "type", refuse)
        found = player.compare(PLAIN)
        assert (found.aspect, found.step) == ("elements", 1)
        case, found = player.shrink(PLAIN, found)
        assert shape(case.page) == {"input"}
        assert case.actions == (PageAction("type", "e1", "text"),)
        assert case.cookies == ()
        assert "'text'" in str(found)


@needs.chromium
def test_the_command_prints_classes_and_counts(monkeypatch, capsys):
    monkeypatch.setattr(pages, "make_case", lambda seed: PLAIN if seed % 2 else Case(Node("", (), ("<title>T</title>",))))
    arguments = ["fuzz", "--pages", "4", "--jobs", "1", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["differing"] == 0
    monkeypatch.setattr(InProcessBrowser, "click", lambda self, element: None)
    assert main(arguments) == 1
    out = capsys.readouterr().out
    result = json.loads(out.splitlines()[-1])
    assert (result["pages"], result["differing"], result["classes"]) == (4, 2, 1)
    assert "2 cases, such as seed 1" in out
    assert "click('e2')" in out
