"""Checks of JSON responses: the value at a path is compared, and the reason names what differs."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from tests.errors import expect_error
from tests.pages import page
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import check, evaluate
from webarena_gym.evaluators.kinds.http import answers_json
from webarena_gym.evaluators.outcome import View, answer_outcome, no_scripts

URL = "http://shop.test/api"


def judge(text, path="", expected=1, *, is_reachable=True):
    view = View(page(f"<p>{text}</p>", url=URL), no_scripts, is_reachable=is_reachable)
    outcome = replace(answer_outcome(""), open_page=lambda url: nullcontext({URL: view}[url]))
    (verdict,) = evaluate(answers_json(URL, path, expected), "", outcome)
    return verdict


@pytest.mark.parametrize(
    ("text", "path", "expected", "passed", "found"),
    [
        ('{"items": [{"title": "Milk"}]}', "items.0.title", "Milk", True, "Milk"),
        ('{"items": [{"title": "Milk"}]}', "items.0.title", "Tea", False, "Milk"),
        ('{"items": []}', "items", [], True, []), ("[1, null]", "", [1, None], True, [1, None]), ("3", "", 4, False, 3),
    ],
)  # fmt: skip
def test_the_value_at_a_path_is_compared(text, path, expected, passed, found):
    verdict = judge(text, path, expected)
    assert (verdict.passed, verdict.found, verdict.expected, verdict.place) == (passed, found, expected, URL)


def test_a_path_without_a_value_and_other_texts_fail_with_the_reason():
    missing = judge('{"items": []}', "items.0.title", None)
    assert (missing.passed, "'0'" in missing.reason) == (False, True)
    other = judge("Not found " * 50)
    assert (other.passed, other.found) == (False, ("Not found " * 50)[:200])


def test_an_address_out_of_reach_is_an_error_unless_it_has_json():
    with expect_error(EvaluationError, URL):
        judge("", is_reachable=False)
    assert judge("1", is_reachable=False).passed


@pytest.mark.parametrize(
    "block", [{"url": URL}, {"url": URL, "path": 3, "expected": 1}, {"url": "http://[", "path": "", "expected": 1}]
)
def test_faulty_checks_are_rejected(block):
    with pytest.raises(EvaluationError):
        check({"eval_types": ["http"], "http": [block]})
