"""The function `matches`, with and without the goal, several references and a form of the answer."""

import pytest

from webarena_gym.answers import matches, read_form


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("$1,234.50", "1234.5 dollars", True),
        ("$1,234.50", "1234.05 dollars", False),
        (["Ann Lee", "Bo Chen"], "Bo Chen and Ann Lee", True),
        (["Ann Lee", "Bo Chen"], "Ann Lee", False),
    ],
)
def test_the_value_decides(reference, answer, expected):
    assert matches(reference, answer) is expected


def test_words_of_the_goal_may_be_repeated():
    goal = "How many reviews does the lamp have?"
    assert matches("3", "The lamp has 3 reviews.", goal)
    assert not matches("3", "The lamp has 3 reviews and 4 sellers.", goal)


def test_a_form_restricts_the_answer():
    form = read_form({"type": "list of text", "ordered": True})
    assert matches(["b", "a"], "b, a", form=form)
    assert not matches(["b", "a"], "a, b", form=form)
