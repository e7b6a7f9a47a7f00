"""Each check passes for what it wants, fails for what it does not, and raises when it cannot be made."""

import sqlite3
import time
from contextlib import nullcontext, suppress

import pytest

from tests.pages import page
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import Outcome, View, evaluate, no_scripts
from webarena_gym.evaluators.kinds import state as state_kind

FINAL = page(
    '<body><h1>Red Bag</h1><p class="qty">12 left, 130 sold</p><input id="q" value="typed"><textarea id="t">note</textarea>'
    '<select id="s"><option>a<option selected>b</select><input type="checkbox" id="c" checked></body>',
    url="http://shop.test/bag.html?color=red&size=2",
)
OTHER = page("<body><ul><li>Hat</li></ul></body>", url="http://shop.test/wishlist/")


def outcome(answer=""):
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE TABLE cart (name TEXT, quantity INTEGER)")
    db.execute("INSERT INTO cart VALUES ('Hat', 2)")
    return Outcome(
        answer,
        View(FINAL, no_scripts),
        lambda url: nullcontext(View({"http://shop.test/wishlist/": OTHER}[url], no_scripts)),
        {"shopping": db}.__getitem__,
        {"__SHOPPING__": "http://shop.test"},
    )


def passes(block, answer=""):
    return all(verdict.passed for verdict in evaluate(block, "intent", outcome(answer)))


def string(**references):
    return {"eval_types": ["string_match"], "reference_answers": references}


def html(locator, contents, url="last"):
    return {"eval_types": ["program_html"], "program_html": [{"url": url, "locator": locator, "required_contents": contents}]}


def state(query, expected, parameters=(), **more):
    part = {"site": "shopping", "query": query, "parameters": list(parameters), "expected": expected} | more
    return {"eval_types": ["state"], "state": [part]}


@pytest.mark.parametrize(
    ("references", "right", "wrong"),
    [
        ({"exact_match": "Red Bag"}, [' "red  bag" '], ["the red bag"]),
        ({"exact_match": "yes |OR| sure"}, ["Sure"], []),
        ({"must_include": ["red", "bag"]}, ["A bag, red."], ["A bag."]),
        ({"must_include": ["cat |OR| dog"]}, ["a dog"], []),
        ({"must_include": "cat"}, [], ["concatenate"]),
        ({"must_include": ["0"]}, [], ["$0.00"]),
        ({"must_include": ["170"]}, [], ["000000170"]),
        ({"must_include": ["$3"]}, ["it is $3."], []),
        ({"must_include": "5"}, ["3, 5", "3.\n5."], ["1.5", "-5"]),
        ({"must_include": "$5"}, [], ["-$5"]),
        ({"must_include": "234"}, [], ["$1,234"]),
        ({"must_include": "50"}, [], ["it is $3.50"]),
        ({"must_include": "red"}, ["-red, 1.red"], []),
        ({"must_include": ["a"], "must_exclude": ["b"]}, [], ["a and b"]),
        ({"must_exclude": ["b"]}, ["a"], ["b", ""]),
        ({"fuzzy_match": ["$5.00"]}, ["5 dollars"], []),
        ({"fuzzy_match": "N/A"}, ["N/A"], [""]),
    ],
)
def test_string_match(references, right, wrong):
    assert [passes(string(**references), answer) for answer in (*right, *wrong)] == [True] * len(right) + [False] * len(wrong)


def test_a_judge_decides_fuzzy_matches_but_not_n_a():
    asked = []

    def judge(*question):
        asked.append(question)
        return True

    (verdict,) = evaluate(string(fuzzy_match=["blue"]), "Which?", outcome("azure"), judge)
    assert verdict.passed
    assert asked == [("Which?", "blue", "azure")]
    (verdict,) = evaluate(string(fuzzy_match="N/A"), "Which?", outcome("azure"), judge)
    assert not verdict.passed


def test_url_match():
    references = {
        "__SHOPPING__/bag.html": True,
        "__SHOPPING__/bag.html/?size=2": True,
        "__SHOPPING__/bag.html?size=2&color=blue": False,
        "__SHOPPING__/bag": False,
        "__SHOPPING__/": False,
        "http://other.test/bag.html": False,
        "__SHOPPING__/ |OR| __SHOPPING__/bag.html": True,
    }
    assert {url: passes({"eval_types": ["url_match"], "reference_url": url}) for url in references} == references


@pytest.mark.parametrize(
    ("locator", "contents", "expected"),
    [
        ("", {"must_include": ["Red Bag"]}, True),
        (".qty", {"must_include": ["12"], "must_exclude": ["13"]}, True),
        (".qty", {"exact_match": "12"}, False),
        ("#q", {"exact_match": "typed"}, True),
        ("#t", {"exact_match": "note"}, True),
        ("#s", {"exact_match": "b"}, True),
        ("document.querySelector('#q').value", {"exact_match": "typed"}, True),
        ('document.querySelector("h1").outerText', {"exact_match": "Red Bag"}, True),
        ("document.querySelector('#c').checked", {"exact_match": "true"}, True),
        (".none", {"must_include": ["x"]}, False),
    ],
)
def test_program_html(locator, contents, expected):
    assert passes(html(locator, contents)) is expected


def test_program_html_opens_pages_and_state_reads_databases():
    assert passes(html("li", {"exact_match": "Hat"}, "__SHOPPING__/wishlist/"))
    query = "SELECT quantity FROM cart WHERE name = ?"
    for name, expected in (("Hat", [[2]]), ("Coat", [])):
        assert passes(state(query, expected, [name]))
        assert not passes(state(query, [[7]], [name]))


def test_the_score_is_a_product():
    both = string(exact_match="x") | {"eval_types": ["string_match", "url_match"], "reference_url": "__SHOPPING__/bag.html"}
    assert passes(both, "x")
    verdicts = {verdict.check: verdict.passed for verdict in evaluate(both, "", outcome("y"))}
    assert verdicts == {"string_match/exact_match": False, "url_match": True}


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"eval_types": ["guess"]}, "no evaluator 'guess'"),
        ({"eval_types": []}, "no checks"),
        (string(nearly="x"), "no comparison 'nearly'"),
        (string(), "without reference_answers"),
        ({"eval_types": ["url_match"], "reference_url": ""}, "without reference_url"),
        (html("p >", {"exact_match": ""}), "no CSS selector"),
        (html("document.title", {"exact_match": ""}), "is a script"),
        (html("p", {}), "no required_contents"),
        (state("SELECT nothing", []), "failed"),
        ({"eval_types": ["state"], "state": [{"query": "SELECT 1", "expected": []}]}, "a check of the state has site None"),
        ({"eval_types": ["state"], "state": ["x"]}, "a check of the state is 'x'; expected an object"),
        (state("SELECT 1", [], wrong=1), "has no 'wrong'; expected some of"),
        (state("SELECT 1", [[1]], site="map"), "cannot be read here"),
    ],
)
def test_a_broken_check_raises_and_never_scores(block, said):
    with pytest.raises(EvaluationError) as caught:
        evaluate(block, "", outcome("x"))
    assert said in str(caught.value)


def test_a_query_may_only_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = outcome()
    writes = "DELETE FROM cart; DROP TABLE cart; ATTACH DATABASE 'o.db' AS o; VACUUM INTO 'o.db'; PRAGMA user_version = 3"
    for query in writes.split("; "):
        with pytest.raises(EvaluationError, match="authoriz"):
            evaluate(state(query, []), "", ended)
    assert list(tmp_path.iterdir()) == []
    ended.database("shopping").execute("DELETE FROM cart")  # the episode itself may write again


@pytest.mark.parametrize(
    "query",
    [
        "SELECT instr(zeroblob(9000000), CAST(zeroblob(4000000) AS BLOB)||x'01')",
        "SELECT printf('%*d', 900000000, 1) || 'x'",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT sum(length(replace(printf('%.*c', 190000, 'a'), printf('%.*c', 90000 + i % 3, 'a') || 'b', 'c'))) FROM n",
        "SELECT group_concat(a.name || printf('%.*c', 9000, 'x')) FROM pragma_function_list a, pragma_function_list b",
    ],
)
def test_a_query_of_long_values_ends_with_an_error_or_soon(query, monkeypatch):
    monkeypatch.setattr(state_kind, "_LONGEST_S", 0.5)
    database = sqlite3.connect(":memory:", check_same_thread=False)
    begun = time.process_time()
    with suppress(sqlite3.Error), state_kind._bounded(database):
        database.execute(query).fetchone()
    assert time.process_time() - begun < 10
    assert database.execute("SELECT length(zeroblob(500000))").fetchone() == (500000,)
    database.close()
