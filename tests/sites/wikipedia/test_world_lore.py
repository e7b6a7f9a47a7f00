"""Facts of the generated encyclopedia agree with the country and with each other."""

import re
from contextlib import closing

from tests.generated import column, content, none, opened, value
from webarena_gym.sites.country.geography import country

SEEDS = (0, 1, 7, 1000, -1, 2**40)


def land(db):
    return country(int(value(db, "SELECT value FROM world WHERE key = 'seed'")))


def test_every_integer_makes_an_encyclopedia_and_held_out_ones_share_no_title_with_others():
    titles = {}
    for seed in SEEDS:
        with closing(opened("wikipedia", seed)) as db:
            assert len(content("wikipedia", seed)) < 5_000_000
            assert 380 <= value(db, "SELECT count(*) FROM article") <= 480
            titles[seed] = set(column(db, "SELECT title FROM article WHERE kind != 'disambiguation'"))
    assert (titles[1] | titles[7]).isdisjoint(titles[1000] | titles[2**40])


def test_facts_agree_with_the_country(db):
    fact = "SELECT f.number, f.target FROM fact f JOIN article a USING (article_id) WHERE a.title = ? AND f.label = ?"
    for town in land(db).towns:
        assert db.execute(fact, (town.name, "Population")).fetchone()[0] == town.population
        assert db.execute(fact, (town.name, "State")).fetchone()[1] == town.state
    for state in land(db).states:
        assert db.execute(fact, (state.name, "Capital")).fetchone()[1] == state.capital
    first_year = "SELECT number FROM fact JOIN article USING (article_id) WHERE title = ? AND label IN ('Opened', 'Founded', 'Established', 'Unveiled')"
    for landmark in land(db).landmarks:
        assert column(db, first_year, landmark.name) == [landmark.opened]
    for team in land(db).teams:
        assert db.execute(fact, (team.name, "Home stadium")).fetchone()[1] == team.stadium


def test_articles_agree_with_each_other(db):
    winners = """SELECT count(DISTINCT p.article_id) FROM fact p JOIN fact w ON w.article_id = p.article_id AND w.label = 'Award'
        WHERE p.label = 'Alma mater' AND p.target = ?"""
    rows = db.execute("SELECT title, number FROM fact JOIN article USING (article_id) WHERE label = 'Prize winners'").fetchall()
    assert len(rows) == 6
    for row in rows:
        assert column(db, winners, row["title"]) == [row["number"]]
    directed = "SELECT title FROM fact JOIN article USING (article_id) WHERE label = 'Directed by' AND target = ?"
    lists = db.execute("SELECT title, text FROM page WHERE title LIKE 'List of films directed by %'").fetchall()
    assert lists
    for row in lists:
        films = column(db, directed, row["title"].removeprefix("List of films directed by "))
        assert films
        assert {*films} == {*re.findall(r"^\| \[\[(.*?)\]\]", row["text"], re.MULTILINE)}
    for faults in (
        "SELECT 1 FROM fact b JOIN fact d USING (article_id) WHERE b.label = 'Born' AND d.label = 'Died' AND d.number < b.number + 50",
        """SELECT 1 FROM fact d JOIN fact y ON y.article_id = d.article_id AND y.label IN ('Released', 'Published')
        JOIN article a ON a.title = d.target JOIN fact b ON b.article_id = a.article_id AND b.label = 'Born'
        WHERE d.label IN ('Directed by', 'Author', 'Artist') AND y.number NOT BETWEEN b.number + 20 AND b.number + 75""",
        """SELECT target, number FROM fact JOIN article USING (article_id)
        WHERE label = 'Award' AND kind NOT IN ('film', 'novel', 'album') GROUP BY 1, 2 HAVING count(*) > 1""",
        """SELECT d.target FROM fact d JOIN fact y USING (article_id) WHERE d.label = 'Directed by' AND y.label = 'Released'
        GROUP BY d.target, y.number HAVING count(*) > 1""",
        """SELECT h.article_id FROM fact h JOIN fact f USING (article_id) JOIN article s ON s.title = f.target
        JOIN fact o ON o.article_id = s.article_id AND o.label = 'Opened'
        WHERE h.label = 'Home stadium' AND f.label IN ('Former stadium', 'Home stadium') AND f.number < o.number""",
    ):
        none(db, faults)
