"""Sentences that state one value in the words of a goal, and sentences about something else."""

import pytest

from webarena_gym.answers.sentences import is_label, is_piece, read_goal, stem, values

GOAL = read_goal("How many reviews does the Linen Scarf have?")


def stated(sentence, goal=GOAL, *, is_typed=True):
    """Return the texts that may be the value, without the whole sentence."""
    return {*list(values(sentence, goal, is_typed=is_typed))[1:]}


@pytest.mark.parametrize(
    "sentence",
    [
        "13 reviews",
        "There are 13 reviews",
        "The Linen Scarf has 13 reviews",
        "the number is 13",
        "It's 13",
        "Reviews: 13",
    ],
)
def test_the_value_of_a_sentence_about_the_goal_is_found(sentence):
    assert "13" in stated(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The Wool Scarf has 13 reviews",
        "13 orders",
        "There are 13 questions",
        "The Linen Scarf has no 13 reviews",
        "About 13 or 14",
        "13",
    ],
)
def test_other_sentences_state_no_value(sentence):
    assert "13" not in stated(sentence)


def test_the_whole_text_comes_first_and_no_value_twice():
    texts = list(values("It is the 13", GOAL, is_typed=True))
    assert texts[0] == "It is the 13"
    assert {"13", "the 13"} <= {*texts}
    assert not {"It is the 13"} & {*texts[1:]}


def test_words_after_an_untyped_value_may_be_part_of_a_name():
    goal = read_goal("Who wrote the review of the Linen Scarf in May?")
    assert "Ann" in stated("Ann in May", goal, is_typed=True)
    assert "Ann" not in stated("Ann in May", goal, is_typed=False)


def test_a_long_text_is_no_sentence():
    assert stated("It is " + "very " * 100 + "13") == set()


def test_a_joint_goal_needs_all_names():
    goal = read_goal("How many orders do Ann Lee and Bob Ray have together?")
    assert goal.is_joint
    assert "7" in stated("Ann Lee and Bob Ray have 7", goal)
    assert "7" not in stated("Ann Lee has 7", goal)


def test_pieces_of_a_goal():
    assert GOAL.names == {"linen", "scarf"}
    ((words, noun),) = GOAL.counted
    assert (words[noun], words[-1]) == ("review", stem("have"))
    assert not GOAL.is_joint
    assert is_piece("the Linen Scarf", GOAL)
    assert not is_piece("Scarf Linen", GOAL)


def test_clauses_that_exclude_something_are_no_pieces():
    goal = read_goal("How much is the Lamp? Do not count the Vase.")
    assert is_piece("lamp", goal)
    assert not is_piece("vase", goal)
    assert {"lamp", "vase"} <= goal.names


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Reviews", True), ("Total price", True), ("Linen", True), ("reviews except", False), ("Colour", False), ("", False)],
)
def test_labels_fit_the_goal(text, expected):
    assert is_label(text, GOAL) == expected


def test_inflections_have_one_stem():
    for words in (
        ("review", "reviews", "reviewed", "reviewing"),
        ("make", "made", "makes", "making"),
        ("buy", "bought", "buys"),
    ):
        assert len({stem(word) for word in words}) == 1, words
    assert stem("as") == "as"


def test_a_name_in_lower_case_is_no_subject():
    goal = read_goal("How long is Lake Drive?")
    assert "5 km" in stated("Drive is 5 km", goal)
    assert "5 km" not in stated("the drive is 5 km", goal)


def test_a_subject_may_be_a_field_of_a_piece():
    goal = read_goal("How long is Lake Drive?")
    assert "5 km" in stated("The distance of Lake Drive is 5 km", goal)
    assert "5 km" not in stated("The distance of Lake Road is 5 km", goal)
    assert "5 km" not in stated("of Lake Drive is 5 km", goal)
