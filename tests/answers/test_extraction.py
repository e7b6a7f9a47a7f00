"""The answer of a reply is taken from its mark, box, fence or JSON, and several different answers are rejected."""

import pytest

from webarena_gym.answers.extraction import extract, plain, split

ANSWERS = [
    ("12", "12"),
    ("It took a while.\nAnswer: 12", "12"),
    ("I counted. The final answer is 12.", "12."),
    ("## Answer\n12", "12"),
    ("**Answer: 12**", "12"),
    ("Answer: 12, as said.\nAnswer: 12", "12"),
    ("The answer is below.\nAnswer: 12", "12"),
    (r"So it is $\boxed{12}$.", "So it is 12"),
    (r"\boxed{\text{Ann}}", "Ann"),
    ("<answer>12</answer>", "12"),
    ("```\n12\n```", "12"),
    ("- Ann", "Ann"),
    ("1. Ann", "Ann"),
    ("1. 5", "1. 5"),
    ("2. Ann", "2. Ann"),
    ("Answer: - Ann", "- Ann"),
    ('{"answer": "12"}', "12"),
    ('{"finalAnswer": 12}', "12"),
    ('{"answer": true}', "yes"),
    ('{"answer": "[\\"A\\", \\"B\\"]"}', ["A", "B"]),
    ('["A"]', "A"),
    ('{"names": ["A", "B"]}', {"names": "A; B"}),
    ('{"city": "Rome", "year": 1999}', {"city": "Rome", "year": "1999"}),
    ("{not JSON", "{not JSON"),
]


@pytest.mark.parametrize(("reply", "answer"), ANSWERS)
def test_the_stated_answer_is_extracted(reply, answer):
    assert extract(reply) == answer


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: 12\nAnswer: 13",
        "Answer: 121\nAnswer: 12",
        "Answer: not 12\nAnswer: 12",
        r"\boxed{12} and \boxed{13}",
        r"\boxed{12} or so it seems",
        '{"answer": null}',
        '{"a": "1", "A": "2"}',
    ],
)
def test_several_answers_and_other_json_are_rejected(reply):
    with pytest.raises(ValueError, match=r"answer|JSON"):
        extract(reply)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("**Ann**", "Ann"), ("_Ann_.", "Ann"), ('"Ann"', "Ann"), ('"Ann" and "Bob"', '"Ann" and "Bob"'), ("[Ann](http://a.test)", "Ann"),
        ("<mailto:ann@a.test>", "ann@a.test"), (r"\$5", "$5"), ("the `code` of **Ann**", "the code of Ann"), ("**", "**"),
    ],
)  # fmt: skip
def test_markdown_is_removed(text, bare):
    assert plain(text) == bare


@pytest.mark.parametrize(
    ("text", "count", "lists"),
    [
        ("A\nB", 2, [["A", "B"]]),
        ("1. A,\n2. B", 2, [["A", "B"]]),
        ("1. A\n3. B", 2, []),
        ("A\nB", 3, []),
        ("A; B; and C", 3, [["A", "B", "C"]]),
        ("A and B", 2, [["A", "B"]] * 5),
        ("A, B", 2, [["A", "B"], ["A", "B"]]),
        ("A", 1, []),
    ],
)
def test_a_text_is_split_into_items(text, count, lists):
    assert list(split(text, count)) == lists
