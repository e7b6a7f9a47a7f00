"""Full-text search: relevances, inflections, synonyms, and words with similar spelling."""

import sqlite3

import pytest

from webarena_gym.sites.kit.ranking import distance, rank_texts, synonyms

TEXTS = {
    1: ("Wireless headphones", "They are light"), 2: ("Red lamp", "A lamp with a red shade, for headphones stands"), 3: ("Wireless lamp", "Blue light"),
    4: ("Chairs", "Four chairs of oak"),
}  # fmt: skip


@pytest.fixture
def db():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE found USING fts5(name, text, tokenize = 'porter')")
    connection.executemany(
        "INSERT INTO found (rowid, name, text) VALUES (?, ?, ?)", [(key, *row) for key, row in TEXTS.items()]
    )
    connection.execute("CREATE TABLE search_word (word TEXT, count INTEGER)")
    words = [(word, 1 + (word == "lamps")) for row in TEXTS.values() for word in " ".join(row).lower().replace(",", "").split()]
    connection.executemany("INSERT INTO search_word VALUES (?, ?)", words)
    yield connection
    connection.close()


def ranked(db, phrase, weights=(10, 1)):
    return list(rank_texts(db, "found", phrase, weights))


def test_texts_with_all_words_come_first_and_half_of_the_words_suffice(db):
    assert ranked(db, "wireless headphones")[0] == 1
    assert set(ranked(db, "wireless headphones")) == {1, 2, 3}
    assert ranked(db, "wireless oak shade") == []
    assert ranked(db, "wireless lamp blue") == [3, *ranked(db, "wireless lamp blue")[1:]]


def test_inflections_match_and_stop_words_do_not_count(db):
    assert ranked(db, "the chair of the oak") == [4]
    assert ranked(db, "are") == [1]  # there is no other word


def test_columns_have_weights(db):
    heavy, light = (rank_texts(db, "found", "headphones", weights) for weights in ((10, 1), (1, 10)))
    assert list(heavy) == [1, 2]
    assert light[2] > heavy[2]


def test_a_misspelled_word_has_those_of_similar_spelling(db):
    assert ranked(db, "hedphones") == ranked(db, "headphones")
    assert ranked(db, "wireles") == ranked(db, "wireless")
    assert ranked(db, "xylophone") == ranked(db, "123") == []
    assert ranked(db, "red") == [2]


@pytest.mark.parametrize(
    ("one", "other", "away"),
    [
        ("", "abc", 3),
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abcd", "badc", 2),
        ("lamp", "clamps", 2),
        ("kitten", "sitting", 3),
    ],
)
def test_edit_distances_are_symmetric(one, other, away):
    assert distance(one, other) == distance(other, one) == away


def test_synonyms_are_mutual():
    for word, others in synonyms().items():
        assert word not in others
        for other in others:
            assert word in synonyms()[other]
