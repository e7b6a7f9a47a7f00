"""Generated articles: their facts, links, texts and histories."""

from tests.generated import assert_sound, column, none, value
from webarena_gym.sites.country.names import population
from webarena_gym.sites.wikipedia.markup import LINK, sections, whole


def test_rows_fit_together(db):
    assert_sound(db)
    none(db, "SELECT target FROM link WHERE target NOT IN (SELECT title FROM article)")
    none(db, "SELECT title FROM alias WHERE title IN (SELECT title FROM article)")
    none(db, "SELECT title FROM article WHERE article_id NOT IN (SELECT article_id FROM category)")
    none(db, "SELECT created_at FROM revision, world WHERE key = 'now' AND created_at >= value")
    assert column(db, "SELECT data FROM session") == ['{"site": "wikipedia", "user_id": 1}']
    seed = int(value(db, "SELECT value FROM world WHERE key = 'seed'"))
    assert column(db, "SELECT real_name FROM user WHERE user_id = 1") == [population(seed)[0].name]
    names = {person.name for person in population(seed)}
    assert names.isdisjoint(column(db, "SELECT title FROM article JOIN fact USING (article_id) WHERE label = 'Born'"))


def test_texts_are_read_in_full_and_histories_end_with_them(db):
    for text in column(db, "SELECT text FROM page"):
        assert whole(sections(text)) == text
        assert all(len(piece) < 480 for line in text.split("\n") for piece in LINK.split(line) if piece)
        assert "{" not in text
        assert "None" not in text
    texts = column(db, "SELECT text FROM page WHERE kind NOT IN ('disambiguation', 'list')")
    assert len(set(texts)) == len(texts)
    assert sum(map(len, texts)) / len(texts) > 1000
    none(db, "SELECT 1 FROM revision r JOIN page p USING (article_id) WHERE r.revision_id > p.revision_id")
    pairs = "SELECT 1 FROM revision a JOIN revision b USING (article_id) WHERE a.revision_id < b.revision_id"
    none(db, f"{pairs} AND (a.created_at >= b.created_at OR instr(b.text, a.text) != 1)")
    assert column(db, "SELECT count(*) FROM revision")[0] > column(db, "SELECT count(*) FROM article")[0]
