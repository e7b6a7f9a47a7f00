"""Answers: exact, included, excluded and judged by meaning."""

import pytest

from tests.evaluators.kinds.blocks import outcome, passes, string
from webarena_gym.evaluators import evaluate


@pytest.mark.parametrize(("references", "right", "wrong"), [
    ({"exact_match": "Caf\u00e9"}, ["Cafe\u0301", "caf\u00e9\u200b", "Ca\u00adf\u00e9"], ["Cafe"]), ({"must_include": "Cafe\u0301"}, ["the caf\u00e9"], ["the cafe"]),
    ({"fuzzy_match": "Cafe\u0301 Noir"}, ["Caf\u00e9 Noir", "Answer: Caf\u00e9 Noir"], ["Cafe Noir"]),
    ({"exact_match": "Red Bag"}, [' "red  bag" '], ["the red bag"]), ({"exact_match": "yes |OR| sure"}, ["Sure"], []),
    ({"must_include": ["red", "bag"]}, ["A bag, red."], ["A bag."]), ({"must_include": ["cat |OR| dog"]}, ["a dog"], []),
    ({"must_include": "cat"}, [], ["concatenate"]), ({"must_include": ["0"]}, [], ["$0.00"]),
    ({"must_include": ["170"]}, [], ["000000170"]), ({"must_include": ["$3"]}, ["it is $3."], []),
    ({"must_include": "5"}, ["3, 5", "3.\n5."], ["1.5", "-5"]), ({"must_include": "$5"}, [], ["-$5"]),
    ({"must_include": "234"}, [], ["$1,234"]), ({"must_include": "50"}, [], ["it is $3.50"]),
    ({"must_include": "red"}, ["-red, 1.red"], []), ({"must_include": ["a"], "must_exclude": ["b"]}, [], ["a and b"]),
    ({"must_exclude": ["b"]}, ["a"], ["b", ""]), ({"fuzzy_match": ["$5.00"]}, ["5 dollars"], []),
    ({"fuzzy_match": ["red", "blue"]}, ["red, blue", "blue; red", '["red", "blue"]', "red and blue", "red\nblue"], ["red", "red; blue; green"]),
    ({"fuzzy_match": ["red |OR| crimson", "blue"]}, ["blue, crimson"], ["red, crimson", "red |OR| crimson; blue"]),
    ({"fuzzy_match": ["driving: 2min", "walking: 16min"]}, ["Walking: 16 min\nDriving: 2 min"], ["2min, 16min", "driving: 16min; walking: 2min"]),
    ({"fuzzy_match": "N/A"}, ["N/A"], [""]),
])  # fmt: skip
def test_string_match(references, right, wrong):
    assert [passes(string(**references), answer) for answer in (*right, *wrong)] == [True] * len(right) + [False] * len(wrong)


def test_judges_decide_fuzzy_matches_except_n_a_and_scores_multiply():
    requests = []

    def judge(*question):
        requests.append(question)
        return True

    passed_checks = [
        evaluate(string(fuzzy_match=expected), "Which?", outcome("azure"), judge)[0].passed for expected in (["blue"], "N/A")
    ]
    assert passed_checks == [True, False]
    assert requests == [("Which?", "blue", "azure")]
    both = string(exact_match="x") | {"eval_types": ["string_match", "url_match"], "reference_url": "__SHOPPING__/bag.html"}
    assert passes(both, "x")
    verdicts = {verdict.check: verdict.passed for verdict in evaluate(both, "", outcome("y"))}
    assert verdicts == {"string_match/exact_match": False, "url_match": True}
