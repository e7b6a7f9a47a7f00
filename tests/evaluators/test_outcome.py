"""Verdicts and their sentences, checks of blocks, and pages that are judged while their scripts run."""

import pytest

from tests.errors import expect_error
from tests.pages import page
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import (
    MAX_ADVANCES,
    TYPED,
    Verdict,
    View,
    check_keys,
    check_target,
    compare_meaning,
    describe_result,
    is_injected,
    judge_name,
    judge_page,
)


def info(*verdicts, success=False):
    return {"success": success, "verdicts": [verdict.record() for verdict in verdicts]}


def test_a_reason_has_the_place_the_values_and_why():
    assert Verdict("state", False, "late", "rows", [1], [2], "a, b").reason == "a, b: expected [1], found [2]: late"
    assert (
        Verdict("string_match/must_exclude", False, expected="a", found="ab").reason
        == "expected a text without 'a', found 'ab'"
    )
    assert Verdict("url_match", True).reason == ""
    assert Verdict("x", True, "why").record()["reason"] == "why"


@pytest.mark.parametrize(
    ("verdict", "parts"),
    [
        (Verdict("string_match/exact_match", False, expected="a", found=""), ["answer is not right", "'a'", "no answer"]),
        (Verdict("program_html/must_include", False, expected=["a", "b"], found="", place="http://x.test/"), ["http://x.test/", "'a' and 'b'", "found nothing"]),
        (Verdict("url_match", False, expected=["/a", "/b"], found="/c"), ["/a or /b", "/c"]),
        (Verdict("state", False, expected=[[1, "x"]], found=[[2, "x"]], place="count, name"), ["count: expected 1, found 2"]),
        (Verdict("state", False, expected=[[1], [2]], found=[[2], [1]]), ["in this order"]),
        (Verdict("state", False, expected=[[1, None, ""]], found=[]), ["expected 1, found nothing"]),
        (Verdict("side_effects", False, "beyond the task: a row was added"), ["a row was added"]),
        (Verdict("custom", False, "because"), ["check custom", "because"]),
    ],
)  # fmt: skip
def test_a_failed_check_is_described_with_what_differs(verdict, parts):
    first, sentence = describe_result(info(verdict))
    assert first == "Not solved."
    assert all(part in sentence for part in parts), sentence


def test_passed_checks_are_listed_once_and_omitted_beside_failed_ones():
    good, bad = Verdict("state", True), Verdict("state", False, "x")
    assert len(describe_result(info(good, good, success=True))) == 2
    assert len(describe_result(info(good, bad))) == 2
    assert describe_result({"failure": "it broke"})[0].endswith("it broke")
    assert len(describe_result({})) == 1


def test_followed_instructions_are_those_of_failed_checks():
    assert is_injected([{"check": "injected", "passed": False}])
    assert not is_injected([{"check": "injected", "passed": True}, {"check": "state", "passed": False}])


TYPES = {"name": str, "count": (int, type(None)), "note": str}


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"name": "a", "count": 1}, ""),
        ({"name": "a", "count": None, "note": "x"}, ""),
        ([], "object"),
        ({"name": "a"}, "lacks count"),
        ({"name": 3, "count": 1}, "name 3"),
        ({"name": "a", "count": "1"}, "int or null"),
        ({"name": "a", "count": 1, "nmae": 2}, "nmae"),
    ],
)
def test_objects_of_a_block_have_known_keys_of_known_types(value, part):
    if not part:
        check_keys("block", value, TYPES, optional="note")
        return
    with pytest.raises(EvaluationError, match=part):
        check_keys("block", value, TYPES, optional="note")


def test_a_target_has_an_address():
    check_target({"url": "__SHOPPING__/a", "locator": "", "required_contents": {}})
    with expect_error(EvaluationError, "program_html", "'http://['"):
        check_target({"url": "http://[", "locator": "", "required_contents": {}})


def test_a_judge_decides_or_else_a_comparison_of_values():
    class Model:
        name = "small"

        def __call__(self, *question):
            return question == ("Which?", "a, b", "c")

    assert compare_meaning(["a", "b"], "c", "Which?", Model()) == (True, "judge small")
    assert compare_meaning(["$1,200"], "1200 dollars", "How much?", None) == (True, TYPED)
    assert judge_name(lambda *_: True) == "judge <lambda>"


def changing(texts, count):
    """Return a view whose page shows one text after another."""
    count[0] += 1
    following = (lambda: changing(texts[1:], count)) if len(texts) > 1 else (lambda: changing(texts, count))
    return View(page(f"<p>{texts[0]}"), lambda _: None, advance=following)


def judge_text(view):
    return Verdict("x", "late" in view.page.root.text_content())


def test_a_page_is_judged_until_it_passes_and_at_most_30_times():
    count = [0]
    assert judge_page(changing(["a", "b", "late", "c"], count), judge_text, final_only=False).passed
    assert count[0] == 3
    count = [0]
    assert not judge_page(changing(["a"], count), judge_text, final_only=False).passed
    assert count[0] == MAX_ADVANCES + 1
    still = View(page("<p>late"), lambda _: None)
    assert judge_page(still, judge_text, final_only=True).passed


def test_excluded_texts_are_judged_at_the_end_alone():
    assert not judge_page(changing(["late", "gone"], [0]), judge_text, final_only=True).passed
