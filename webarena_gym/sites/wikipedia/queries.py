"""Reading the encyclopedia's database."""

import json
import sqlite3

from webarena_gym.sites.country.texts import like
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.database import first

Row = sqlite3.Row
_MOST_WORDS = 10
_WEIGHTS = (10, 1)  # of the columns of article_text


def find(db: sqlite3.Connection, title: str) -> Row | None:
    """Return the page with that title or that other name; upper and lower case count only where titles differ by them."""
    for comparison in ("", " COLLATE NOCASE"):
        query = f"""SELECT p.* FROM page p WHERE p.title = ?1{comparison}
            UNION ALL SELECT p.* FROM page p JOIN alias a USING (article_id) WHERE a.title = ?1{comparison} LIMIT 1"""
        if row := first(db, query, (title,)):
            return row
    return None


def exists(db: sqlite3.Connection, title: str) -> bool:
    """Say whether a link to that title leads somewhere."""
    query = "SELECT 1 FROM article WHERE title = ?1 UNION ALL SELECT 1 FROM alias WHERE title = ?1"
    return first(db, query, (title,)) is not None


FACTS = "SELECT * FROM fact WHERE article_id = ? ORDER BY position"
"""Query of the lines of an article's infobox."""
CATEGORIES = "SELECT name, count(*) AS size FROM category GROUP BY name ORDER BY name"
"""Query of the categories by name, with their sizes."""
LINKING = "SELECT a.* FROM article a JOIN link l USING (article_id) WHERE l.target = ? ORDER BY a.title"
"""Query of the articles that link to a title."""
HISTORY = """SELECT r.*, u.username, length(r.text) AS size,
        length(r.text) - lag(length(r.text), 1, 0) OVER (ORDER BY r.revision_id) AS growth
    FROM revision r JOIN user u USING (user_id) WHERE article_id = ? ORDER BY r.revision_id DESC"""
"""Query of the revisions of an article, the newest first, with their authors and the growth in characters."""


def search(db: sqlite3.Connection, phrase: str) -> list[Row]:
    """Return the pages that hold all words of a phrase: first those with all of them in the title, then by how often.

    Where the encyclopedia has an index, these are the most relevant pages.
    """
    words = list(dict.fromkeys(phrase.lower().split()))[:_MOST_WORDS]
    if not words:
        return []
    if ranking.has_index(db):
        relevances = ranking.ranked(db, "article_text", phrase, _WEIGHTS)
        query = "SELECT * FROM page WHERE article_id IN (SELECT value FROM json_each(?))"
        found = db.execute(query, (json.dumps(list(relevances)),)).fetchall()
        return sorted(found, key=lambda row: (-relevances[row["article_id"]], row["title"]))
    conditions = " AND ".join([r"title || ' ' || text LIKE ? ESCAPE '\'"] * len(words))
    rows = db.execute(f"SELECT * FROM page WHERE {conditions} ORDER BY title", [like(word) for word in words]).fetchall()

    def rank(row: Row) -> tuple[bool, int, str]:
        title, text = row["title"].lower(), row["text"].lower()
        return not all(word in title for word in words), -sum(text.count(word) for word in words), row["title"]

    return sorted(rows, key=rank)
