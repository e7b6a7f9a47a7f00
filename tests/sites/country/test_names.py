"""People and invented words: numbers, scales, and nothing that two worlds share."""

import pytest

from tests.errors import expect_error
from webarena_gym.sites.country.names import ONSETS, VOWELS, WORDS, Person, invented_word, people, population


@pytest.mark.parametrize(("scale", "size"), [("standard", 242), ("large", 2_400)])
def test_a_world_has_a_number_of_people_without_equal_names(scale, size):
    drawn = population(1000, scale)
    assert (len(drawn), len(set(drawn))) == (size, size)
    assert drawn == population(1000, scale)
    assert set(drawn) <= set(people(1000, scale))
    assert drawn != population(1002, scale)


def test_training_and_held_out_worlds_share_nobody():
    assert set(people(3, "large")).isdisjoint(people(1001, "large"))
    assert set(people(3)) == set(people(11))


def test_a_name_is_the_first_and_the_last_name():
    assert Person("Ann", "Lee").name == "Ann Lee"


@pytest.mark.parametrize("scale", ["standard", "large"])
@pytest.mark.parametrize("stream", ["brand", "place", "work", "title"])
def test_words_are_distinct_and_begin_with_syllables(stream, scale):
    count = WORDS[scale]
    words = [invented_word(seed, index, stream, scale) for seed in (0, 1, -1) for index in range(count)]
    assert len(set(words)) == len(words)
    syllables = {onset + vowel for onset in ONSETS for vowel in VOWELS}
    for word in words[:50]:
        assert any(word.lower().startswith(syllable) for syllable in syllables)
        assert word[0].isupper()
        assert 6 <= len(word) <= 14
    other = {"standard": "large", "large": "standard"}[scale]
    assert set(words).isdisjoint(
        invented_word(seed, index, stream, other) for seed in (0, 1, -1) for index in range(WORDS[other])
    )


def test_streams_share_no_word():
    words = [
        invented_word(5, index, stream) for stream in ("brand", "place", "work", "title") for index in range(WORDS["standard"])
    ]
    assert len(set(words)) == 4 * WORDS["standard"]


@pytest.mark.parametrize(("index", "scale", "count"), [(-1, "standard", 128), (128, "standard", 128), (1024, "large", 1024)])
def test_an_index_out_of_range_is_an_error(index, scale, count):
    with expect_error(ValueError, index, count, scale):
        invented_word(0, index, "brand", scale)
