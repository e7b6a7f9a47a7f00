"""The comparisons of the public evaluators, one by one, and the references that they refuse."""

import pytest

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import official_text as texts

pytest.importorskip("nltk", reason="pip install nltk")


def decide(comparison, references, text, *, clean=str.lower, judge=None, note=""):
    return comparison(clean, references, texts.ComparisonInput(text, "Which?", note, judge))


@pytest.mark.parametrize(
    ("text", "stripped"), [("'A'", "a"), ('"A"', "a"), ("'A\"", "'a\""), ("A'", "a'"), ("\"'A'\"", "'a'"), ("", "")]
)
def test_one_pair_of_equal_quotes_is_removed(text, stripped):
    assert texts.strip_quotes(text) == stripped


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Red, or blue?", ("red", ",", "or", "blue", "?")),
        ("It is 2. There", ("it", "is", "2", ".", "there")),
        ("it is 2. there", ("it", "is", "2.", "there")),
        ("Yes. No", ("yes", ".", "no")),
        ("a    b", ("a", "b")),
    ],
)
def test_tokens_are_those_of_each_sentence(text, tokens):
    assert tuple(token.lower() for token in texts.tokens(text)) == tokens


@pytest.mark.parametrize(
    ("comparison", "references", "passing", "failing"),
    [
        (texts.equal, "Red", ["RED"], ["red ", ""]),
        (texts.include_substrings, ["Re", "d b"], ["red bag"], ["red"]),
        (texts.include_substrings, ["5"], ["5 km"], ["15 km"]),  # a single character is a token
        (texts.include_substrings_with_choices, ["cat |OR| dog", "x"], ["dogs x", "x cat"], ["dogs", "x"]),
        (texts.include_tokens, ["cat |OR| gray dog"], ["a cat.", "the gray dogs", "dog/cat"], ["cats", "dog"]),
        (texts.exclude_tokens, ["cat", "gray dog"], ["cats", "dog"], ["a cat", "gray dogs"]),
        (texts.include_one_of, ["Cat", "Dog"], ["a dogma"], ["DOG", ""]),  # the text is not cleaned
    ],
)
def test_a_comparison_passes_and_fails(comparison, references, passing, failing):
    assert [text for text in (*passing, *failing) if decide(comparison, references, text)[0]] == passing


@pytest.mark.parametrize(
    ("bounds", "passing", "failing"),
    [
        ([">= 3", "< 5"], ["3", "4", "5"], ["2", "6"]),  # the public evaluators accept the bound of "<"
        (["== 3 |OR| == 1200"], ["1,200", " 3 "], ["4", "1200.5", "three"]),
        (["> 0"], ["0"], ["-1"]),
    ],
)
def test_whole_numbers_lie_within_all_bounds(bounds, passing, failing):
    read = texts.read_bounds(bounds, "required_values")
    assert [text for text in (*passing, *failing) if decide(texts.lie_within, read, text)[0]] == passing


@pytest.mark.parametrize("bound", ["3", "about 3", "x > 3", "> three", ">= 3 <= 5", ""])
def test_other_bounds_are_refused_with_their_place(bound):
    with pytest.raises(EvaluationError, match="required_values"):
        texts.read_bounds([bound], "required_values")


def test_references_have_the_types_that_a_comparison_supports():
    assert texts.read_text("a", "exact_match") == "a"
    for value in (3, None, ["a"]):
        with pytest.raises(EvaluationError):
            texts.read_text(value, "exact_match")
    assert texts.read_texts_without_choices(["a", "b"], "must_exclude") == ["a", "b"]
    with pytest.raises(EvaluationError):
        texts.read_texts_without_choices(["a |OR| b"], "must_exclude")
    assert texts.read_fuzzy_references("N/A", "fuzzy_match") == "N/A"
    assert texts.read_fuzzy_references("a", "fuzzy_match") == ["a"]


def recording(result):
    calls = []

    def judge(intent, reference, answer):
        calls.append((intent, reference, answer))
        return result

    return judge, calls


def test_a_judge_decides_each_reference_or_all_at_once():
    judge, calls = recording(True)
    assert decide(texts.mean_each, ["3 km", "5 min"], "both", judge=judge)[0]
    assert [reference for _, reference, _ in calls] == ["3 km", "5 min"]
    judge, calls = recording(False)
    assert not decide(texts.mean_all, ["3 km", "5 min"], "both", judge=judge)[0]
    assert len(calls) == 1


def test_an_empty_answer_is_no_question_for_a_judge():
    judge, calls = recording(True)
    assert decide(texts.mean_each, ["3 km"], "", judge=judge) == (False, "an empty answer")
    assert decide(texts.mean_each, [""], "", judge=judge) == (True, "an empty answer")
    assert calls == []


@pytest.mark.parametrize("comparison", [texts.mean_each, texts.mean_all])
def test_an_unachievable_task_accepts_its_reason_only_by_a_judge(comparison):
    judge, calls = recording(True)
    assert decide(comparison, "N/A", "n/a", judge=judge, note="no such shop") == (True, "equal text")
    assert calls == []
    assert decide(comparison, "N/A", "there is none", judge=judge, note="no such shop")[0]
    assert "no such shop" in calls[0][1]
    assert not decide(comparison, "N/A", "there is none", judge=judge)[0]  # without a note
    assert not decide(comparison, "N/A", "there is none", note="no such shop")[0]  # without a judge
