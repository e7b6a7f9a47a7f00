"""What the public evaluators say, rule by rule, and where they differ: WebArena's, VisualAgentBench's and WebAgent-R1's."""

from contextlib import contextmanager
from itertools import product

import pytest

from tests.errors import expect_error
from tests.pages import page
from webarena_gym.errors import EvaluationError, ScriptError
from webarena_gym.evaluators import RULES, Outcome, View, check, evaluate, no_scripts, official
from webarena_gym.evaluators.official_text import tokens

ALL = ("webarena", "vab", "r1")
LITE, WEB = ("vab", "r1"), ("webarena",)
NEW, NEW_FAILS = ("?webarena", *LITE), ("?webarena",)  # which webarena does not know
URLS = {"__SHOPPING__": "http://shop.test", "__REDDIT__": "http://forum.test"}


def outcome(answer="", url="http://shop.test/bag.html", scripts=None):
    """An ended episode whose pages answer scripts from a table; `scripts` is shared by all pages."""
    opened = []

    def view(address):
        def run(expression):
            opened.append((address, expression))
            result = (scripts or {}).get(expression, ScriptError("nothing there"))
            if isinstance(result, Exception):
                raise result
            return result

        return View(page("<p>page", url=address), run if scripts is not None else no_scripts)

    @contextmanager
    def open_page(address):
        yield view(address)

    return Outcome(answer, view(url), open_page, {}.__getitem__, URLS), opened


def passes(block, answer="", *, rules, judge=None, **ended):
    return all(verdict.passed for verdict in evaluate(block, "Which?", outcome(answer, **ended)[0], judge, rules))


def string(note="", **references):
    return {"eval_types": ["string_match"], "reference_answers": references, "string_note": note}


def url(reference, note=None):
    return {"eval_types": ["url_match"], "reference_url": reference, "url_note": note}


def html(locator, required, address="last", **more):
    target = {"url": address, "locator": locator, "required_contents": required, **more}
    return {"eval_types": ["program_html"], "program_html": [target]}


def where_it_passes(block, answer="", **ended):
    """The rules under which a block passes, and behind a "?" those that do not know what it asks for."""
    found = []
    for rules in ALL:
        try:
            check(block, rules)
        except EvaluationError:
            found.append(f"?{rules}")
        else:
            found += [rules] * passes(block, answer, rules=rules, **ended)
    return tuple(found)


@pytest.mark.parametrize(("references", "where"), [
    ({"exact_match": "Red Bag"}, {"red bag": ALL, '"Red Bag"': ALL, "'Red Bag'": ALL, "the red bag": ()}),
    (
        {"exact_match": "Red Bag"},
        {"\"'Red Bag'\"": ALL, " Red Bag\n": WEB},
    ),  # cleaned twice: as an answer, and to be compared
    ({"exact_match": "a |OR| b"}, {"b": ()}),
    ({"exact_match": "N/A"}, {"n/a": ALL}),
    ({"must_include": ["red", "bag"]}, {"a bag, red": ALL, "a bag": ()}),
    ({"must_include": ["cat"]}, {"concatenate": WEB}),
    ({"must_include": ["170"]}, {"000000170": WEB}),
    ({"must_include": ["0"]}, {"$0.00": (), "it is 0.": ALL}),
    ({"must_include": ["0", "x"]}, {"$0.00 x": WEB}),  # a lone character is a token only when it is alone
    ({"must_include": ["gpl"]}, {"MIT/GPL": ALL, "the MIT/BSD/GPL/X11 one": ALL}),
    ({"must_include": ["gp"]}, {"MIT/GPL": WEB}),
    ({"must_include": ["2"]}, {"The answer is 2. There is no other": ()}),  # "2." is one token before a lower-case word
    ({"must_include": ["2"]}, {"The answer is 2! There is no other": ALL, "The answer is 2. 3 others are not": ALL}),
    ({"must_include": ["red bag"]}, {"infrared bags": ALL}),
    ({"must_include": ["cat |OR| dog"]}, {"a dog": LITE, "the cat |or| dog": ALL}),
    ({"must_include": "cat"}, {"a cat": ALL}),
    ({"exact_match": "a cat", "must_include": ["cat"]}, {"a cat": ALL, "cat": ()}),
    ({"must_exclude": ["cat"]}, {"a dog": NEW, "concatenate": NEW, "a cat": NEW_FAILS}),
    ({"must_exclude": ["a cat"]}, {"aha catalogue": NEW_FAILS}),
    ({"must_exclude": ["gpl"]}, {"mit/gpl": NEW}),  # only must_include looks behind a slash
    ({"required_values": [">= 3", "< 5"]}, {"4": NEW, "5": NEW, "6": NEW_FAILS}),  # the public code lets the bound pass
    ({"required_values": ["> 5"]}, {"5": NEW, "4": NEW_FAILS}),
    ({"required_values": ["== 3 |OR| == 1200"]}, {"1,200": NEW}),
    ({"required_values": ["<= 3"]}, {"2.5": NEW_FAILS, "two": NEW_FAILS}),  # whole numbers only
    ({"one_of": ["Cat", "dog"]}, {"concatenate": NEW, "bird": NEW_FAILS}),
    ({"fuzzy_match": ["$1,234.50"]}, {"It cost 1234.5 dollars": ALL}),  # without a judge kinds of values are compared
    ({"fuzzy_match": ["driving: 13min", "walking: 1h"]}, {"driving: 13min; walking: 1h": ALL, "driving: 13min": ()}),
    ({"fuzzy_match": ["blue"]}, {"azure": ()}),
    ({"fuzzy_match": "N/A"}, {"N/A": ALL, "There is none": ()}),
    ({"fuzzy_match": ["N/A"]}, {"N/A": ALL}),
])  # fmt: skip
def test_answers(references, where):
    assert {answer: where_it_passes(string(**references), answer) for answer in where} == where


def asking(references, answer, rules, accepts=True, note=""):
    requests = []

    def judge(*question):
        requests.append(question)
        return accepts

    (verdict,) = evaluate(string(note, fuzzy_match=references), "Which?", outcome(answer)[0], judge, rules)
    return verdict, requests


def test_webarena_asks_for_each_reference_and_the_others_for_all_at_once():
    assert [one[1] for one in asking(["3 km", "5 min"], "Both", "webarena")[1]] == ["3 km", "5 min"]
    verdict, requests = asking(["3 km"], "", "webarena")  # and judges no empty answer
    assert (verdict.passed, requests) == (False, [])
    for rules in LITE:
        verdict, requests = asking(["3 km", "5 min"], "Both", rules)
        assert requests == [("Which?", "3 km, 5 min", "both")]
        assert (verdict.passed, verdict.decided_by) == (True, "judge judge")
        assert len(asking(["3 km"], "", rules)[1]) == 1


@pytest.mark.parametrize("rules", ALL)
def test_rejections_of_the_judge_fail_and_reasons_are_accepted_for_not_available(rules):
    note = "there is no such shop"
    assert not asking(["3 km"], "4 km", rules, accepts=False)[0].passed
    verdict, requests = asking("N/A", "N/A", rules, note=note)
    assert (verdict.passed, verdict.decided_by, requests) == (True, "equal text", [])
    verdict, requests = asking("N/A", "The shop does not exist", rules, note=note)
    assert verdict.passed
    assert note in requests[0][1]
    assert not asking("N/A", "Blue", rules, accepts=False, note=note)[0].passed
    verdict, requests = asking(["N/A"], "n/a", rules)  # in a list, as any other
    assert (verdict.passed, requests) == (True, [("Which?", "N/A", "n/a")])
    (verdict,) = evaluate(string(fuzzy_match=["3 km"]), "", outcome("3 km")[0], None, rules)
    assert (verdict.passed, verdict.decided_by) == (True, "typed comparison")


@pytest.mark.parametrize(("reference", "note", "where"), [
    ("/bag.html", None, {"/bag.html": ALL, "/bag.html/": ALL, "/bag.html//": WEB, "/bag.html?size=2": WEB}),
    ("/bag", None, {"/bags/red": WEB}),
    ("/bag?size=2", None, {"/bag?colour=red&size=2": WEB, "/bag?size=3": (), "/bag/?size=2": WEB}),
    ("/bag/?size=2", None, {"/bag/?size=2": ALL, "/bag?size=2": ()}),  # a "/" before "?" counts
    ("/a?s=1 |OR| __SHOPPING__/b?s=2", None, {"/a?s=2": WEB}),  # mixed as published
    ("/a |OR| __SHOPPING__/b", None, {"/b": ALL}),
    ("/bag", "GOLD in PRED", {"/bags?x=1": ALL, "/": ()}),
    ("/bag?size=2", "GOLD in PRED", {"/bag?size=2&a=b": ALL, "/bag?a=b&size=2": WEB, "/bag?size=22": LITE}),
])  # fmt: skip
def test_places(reference, note, where):
    block = url(f"__SHOPPING__{reference}", note)
    assert {path: where_it_passes(block, url=f"http://shop.test{path}") for path in where} == where


def test_rules_of_places_bounds_choices_and_rules_that_nobody_knows():
    assert where_it_passes(url("http://localhost:80/a"), url="http://127.0.0.1:80/a") == LITE
    assert where_it_passes(url("__SHOPPING__/bag.html", "EXACT")) == NEW
    for rules in ALL:
        (verdict,) = evaluate(url("__SHOPPING__/bag.html", "GOLD in PRED"), "", outcome()[0], None, rules)
        assert verdict.decided_by == "GOLD in PRED"
    for bound in ("about 3", "> x", "3 > 2", ">"):
        with expect_error(EvaluationError, "required_values", "string_match", repr(bound)):
            check(string(required_values=[bound]), "vab")
    with expect_error(EvaluationError, "must_exclude", "|OR|"):
        check(html("", {"must_exclude": ["a |OR| b"]}), "r1")
    with expect_error(EvaluationError, "'hard'", ", ".join(("native", *ALL))):
        check(string(exact_match="x"), "hard")
    assert tuple(RULES) == ("native", *ALL, "verified")


@pytest.mark.parametrize(("locator", "content", "required", "where"), [
    ("", "<td>80</td>", {"must_include": ["80"]}, ALL),
    ("", "<td>1080</td>", {"must_include": ["80"]}, WEB),
    ("", "<td>salt &amp; pepper</td>", {"must_include": ["salt & pepper"]}, WEB),
    ("", "<td>salt &amp; pepper</td>", {"must_include": ["salt &amp; pepper"]}, LITE),
    ("document.x", "A b", {"exact_match": "a B"}, ALL),
    ("document.x", " A b ", {"exact_match": "a B"}, WEB),
    ("document.x", "x b", {"must_include": ["a |OR| b"]}, ALL),
    ("document.x", "a/b", {"must_include": ["b"]}, ALL),
    ("document.x", "a", {"must_exclude": ["a"], "must_include": ["a"]}, ALL),  # the first that the rules list, alone
    ("document.x", "a", {"must_include": ["b"], "exact_match": "a"}, ALL),
    ("document.x", "a", {"must_include": ["a"], "fuzzy_match": ["b"]}, ALL),
    ("document.x", True, {"exact_match": "true"}, ALL),
    ("document.x", 2, {"exact_match": "2"}, ALL),
    ("document.x", None, {"exact_match": "None"}, ALL),  # str(None), as published
    ("document.x", ScriptError("gone"), {"exact_match": ""}, ALL),  # a script that throws finds an empty text
    ("document.x", ScriptError("gone"), {"must_include": ["x"]}, ()),
    ("[...document.links].join()", "u v", {"must_include": ["u", "v"]}, ALL),
    ("document.x", "a cat", {"must_exclude": ["cat"]}, NEW_FAILS),
    ("document.x", "a dog", {"must_exclude": ["cat"]}, NEW),
    ("document.x", "1,200", {"required_values": ["> 1000", "<= 1200"]}, NEW),
    ("document.x", 7, {"required_values": ["> 10"]}, NEW_FAILS),
    ("document.x", "5 dollars", {"fuzzy_match": ["$5.00"]}, NEW),
    ("document.x", "6 dollars", {"fuzzy_match": ["$5.00"]}, NEW_FAILS),
    ("lambda:() => 7", 7, {"exact_match": "7"}, NEW),
    *(("lambda:() => 7", nothing, {"exact_match": ""}, NEW_FAILS) for nothing in (None, "", 0)),
])  # fmt: skip
def test_contents(locator, content, required, where):
    script = f"({locator.removeprefix('lambda:')})()" if locator.startswith("lambda:") else locator or official._WHOLE_PAGE
    assert where_it_passes(html(locator, required), scripts={script: content}) == where


@pytest.mark.parametrize("rules", ALL)
def test_preparations_come_first_and_may_throw(rules):
    clicks = ["document.a.click()", "document.b.click()"]
    block = html("document.x", {"exact_match": "seen"}, prep_actions=clicks)
    for known, requests in ((clicks, clicks), (clicks[1:], clicks[:1])):  # the first to throw is the last
        ended, opened = outcome(scripts=dict.fromkeys(known) | {"document.x": "seen"})
        assert evaluate(block, "", ended, None, rules)[0].passed
        assert [script for _, script in opened] == [*requests, "document.x"]


@pytest.mark.parametrize("rules", ALL)
def test_several_targets_on_pages_of_their_own(rules):
    post = "http://forum.test/f/pics/7/title/-/comment/9"
    goal_value = [("seen", "__SHOPPING__/wishlist/"), ("seen", "func:reddit_get_post_url('__last_url__')"), ("other", "last")]
    block = html("document.x", {})
    block["program_html"] = [html("document.x", {"exact_match": content}, at)["program_html"][0] for content, at in goal_value]
    ended, opened = outcome(url=post, scripts={"document.x": "seen"})
    assert [verdict.passed for verdict in evaluate(block, "", ended, None, rules)] == [True, True, False]
    assert [address for address, _ in opened] == ["http://shop.test/wishlist/", "http://forum.test/f/pics/7/", post]


@pytest.mark.parametrize("rules", ALL)
def test_placeholders_in_contents_are_resolved_and_roles_are_read_by_script(rules):
    block = html("document.x", {"must_include": ["see __REDDIT__/f/pics"]})
    assert passes(block, rules=rules, scripts={"document.x": "see http://forum.test/f/pics/7"})
    block = html("func:gitlab_get_project_memeber_role(__page__, 'o\"hara')", {"exact_match": "Developer"})

    class Table(dict):
        def get(self, script, default):
            return "developer" if '"o\\"hara"' in script else default

    assert passes(block, rules=rules, scripts=Table(x=1))
    assert not passes(block, rules=rules, scripts={})


@pytest.mark.parametrize("rules", ALL)
def test_unreachable_pages_and_databases_raise_instead_of_a_verdict(rules):
    ended, _ = outcome(scripts={"document.x": ""})

    @contextmanager
    def open_page(address):
        yield View(page("<p>", url=address), lambda _: "", is_reachable=False)

    lost = Outcome("", ended.final, open_page, ended.database, URLS)
    with expect_error(EvaluationError, "http://shop.test/x"):
        evaluate(html("document.x", {"exact_match": "x"}, "__SHOPPING__/x"), "", lost, None, rules)
    own = html("document.x", {"exact_match": "x"}, "func:reddit_get_post_url('__last_url__')")
    assert not evaluate(own, "", lost, None, rules)[0].passed  # an address that follows from the agent's own
    for locator in ("document.title", ""):
        with expect_error(EvaluationError, "browser='chromium'"):
            evaluate(html(locator, {"exact_match": "x"}), "", outcome()[0], None, rules)


@pytest.mark.parametrize(("block", "message"), [
    ({"eval_types": []}, "no checks"), ({"eval_types": ["state"], "state": []}, "unknown evaluator 'state'"),
    (string(), "without reference_answers"), (string(nearly="x"), "unknown comparison 'nearly'"),
    (string(exact_match=["x"]), "expected a string"), (string(must_include=[]), "expected a string or a non-empty list"),
    (string(must_include=[3]), "expected a string or a non-empty list"), (string(fuzzy_match=None), "expected a string or a non-empty list"),
    (url(""), "without reference_url"), (url(None), "without reference_url"), (url("x", "NEARLY"), "unknown url_note 'NEARLY'"),
    ({"eval_types": ["program_html"], "program_html": []}, "without targets"),
    (html("p.price", {"exact_match": "x"}), "invalid locator"), (html("", {}), "no required_contents"),
    (html("", {"exact_match": "x", "contains": ["x"]}), "unknown comparison 'contains'"),
    (html("", {"exact_match": "x"}, more=1), "unknown key 'more'"),
    ({"eval_types": ["program_html"], "program_html": ["last"]}, "expected an object"),
    ({"eval_types": ["program_html"], "program_html": [{"url": "last", "locator": ""}]}, "lacks required_contents"),
    (html(None, {"exact_match": "x"}), "has locator None"), (html("", {"exact_match": "x"}, 3), "has url 3"),
    (html("", {"exact_match": "x"}, prep_actions="document.x.click()"), "expected a list"),
    (html("func:os.system('x')", {"exact_match": "x"}), "not a call"),
    (html("func:__import__('os')", {"exact_match": "x"}), "unknown helper function '__import__'"),
    (html("func:reddit_get_post_url(open('x'))", {"exact_match": "x"}), "expected strings as arguments"),
    (html("func:reddit_get_post_url()", {"exact_match": "x"}), "missing a required argument"),
    (html("func:reddit_get_post_url('a', 'b')", {"exact_match": "x"}), "too many"),
    (html("func:reddit_get_post_url(url='a')", {"exact_match": "x"}), "expected name"),
    (html("func:reddit_get_post_url(", {"exact_match": "x"}), "not a call"),
    (html("", {"exact_match": "x"}, "func:nothing()"), "unknown helper function 'nothing'"),
    (html("", {"exact_match": "x"}, "func:reddit_get_post_url('x') or 1"), "not a call"),
])  # fmt: skip
def test_raises_before_anything_is_judged(block, message):
    for rules in ALL:
        with pytest.raises(EvaluationError, match=message):
            check(block, rules)


def test_without_nltk(monkeypatch):
    tokens.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "nltk.tokenize.destructive", None)
    with expect_error(EvaluationError, "pip install nltk"):
        passes(string(must_include=["x"]), "x", rules="vab")
    assert passes(string(must_include=["xy"]), "xyz", rules="webarena")  # needs no words


def test_sentence_ends_after_numbers_and_letters_match_punkt():
    """Punkt takes it for an ordinal or an initial before a lower-case word, and answers are in lower case."""
    for number, rest in product(
        ("2", "-2", "1,200", "3.5", "2022-01-02", ".5", "b"), ("there is", "a", ", there", "1 more", "(there", "$5", "")
    ):
        assert (number in tokens(f"it is {number}. {rest}".strip())) is (rest not in ("there is", "a", ", there"))
    assert tokens("it is so. it is $0.00! done") == ("it", "is", "so", ".", "it", "is", "$", "0.00", "!", "done")
    for word in ("$5", "5%", "#3", "x2", "ten", "(2"):
        assert f"{word[-1]}." not in "".join(tokens(f"it is {word}. there is")[:-2]).replace(".", " .")
        assert "." in tokens(f"it is {word}. there is")
    assert len(tokens("2. " * 3_000)) >= 3_000
    assert len(tokens("2" * 100_000 + ". a")) == 2
