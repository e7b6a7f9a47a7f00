"""Texts are cut to a limit with a note, compared without invisible characters, and their first difference is shown."""

import pytest

from webarena_gym.texts import comparable, cut, first_difference, without_plural


@pytest.mark.parametrize("length", [0, 1, 30, 31, 32, 99, 100, 101, 5_000, 1_000_000])
@pytest.mark.parametrize("limit", [0, 5, 31, 100, 1_000])
def test_a_text_is_never_longer_than_its_limit(length, limit):
    text = cut("x" * length, limit)
    assert text == "x" * length if length <= limit else len(text) <= limit


def test_the_note_counts_the_missing_characters():
    assert cut("x" * 1_060, 60) == "x" * 32 + " [1,028 characters were cut]"


def test_invisible_characters_do_not_count():
    assert comparable("e\u0301\u200b") == "\u00e9"
    assert comparable("plain") == "plain"


def test_the_first_different_lines():
    assert first_difference("a\nb\nc", "a\nx\ny") == "'b' and 'x'"
    assert first_difference("a", "a\nb") == "'' and 'b'"
    assert first_difference("a\n", "a") == ""


def test_short_words_keep_their_ending():
    assert [without_plural(word) for word in ("cars", "car", "gas", "list", "s", "ss")] == [
        "car",
        "car",
        "gas",
        "list",
        "s",
        "ss",
    ]
