"""Times, spans and texts as sites write them."""

from webarena_gym.sites.country import texts
from webarena_gym.sites.country.texts import span


def test_times_spans_and_texts_are_written_as_addresses_counts_and_searches_need_them(ask, database):
    assert ask().stamp == "2023-03-05 10:00:00"
    assert [span(seconds) for seconds in (0, 60, 7200, 86400 * 29, 86400 * 365)] == [
        "", "1 minute", "2 hours", "29 days", "1 year",
    ]  # fmt: skip
    assert span(86400 * 29, in_weeks=True) == "4 weeks"
    assert [texts.slug(text) for text in ("Ärger & Co.", "a--b", "")] == ["rger-co", "a-b", ""]
    assert texts.amount(2, "class") == "2 classes"
    query = r"SELECT ? LIKE ? ESCAPE '\'"
    for text, phrase, found in (("100%", "0%", 1), ("1000", "0%", 0), ("a_b", "_", 1), ("ab", "_", 0), ("a\\b", "\\", 1)):
        assert database.connection.execute(query, (text, texts.like(phrase))).fetchone()[0] == found
