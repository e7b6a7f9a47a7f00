"""The generator of the encyclopedia's database: articles with their past, and those who write them."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from webarena_gym.sites.country.clock import moment
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.indexing import fill_words
from webarena_gym.sites.country.people import Person, population
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.seeding import insert
from webarena_gym.sites.kit.sessions import sign_in
from webarena_gym.sites.wikipedia.markup import links, sections, whole
from webarena_gym.sites.wikipedia.world import encyclopedia
from webarena_gym.sites.wikipedia.world.article import Article
from webarena_gym.sites.wikipedia.world.sizes import SIZES

PASSWORD = "lexandria1"  # noqa: S105  # the one password of every made-up user
_SUMMARIES = ("Created the article", "Wrote more", "Added a section", "Added what was missing", "Finished the article")
_WATCHED = 3  # articles that the first user watches from the start


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer."""
    dice = Dice(f"wikipedia/{seed}")
    now = moment(seed)
    articles = encyclopedia.draw(seed, now.date(), scale)
    insert(db, "world", [("seed", str(seed)), ("now", str(now))])
    editors = population(seed, scale)[: SIZES[scale].editors]
    _insert_users(db, editors, now, scale)
    _insert_articles(db, articles)
    _insert_revisions(db, dice, articles, now, len(editors))
    towns = [index for index, article in enumerate(articles, 1) if article.kind == "town"]
    watched = dice.some(towns, _WATCHED)
    insert(db, "watch", [(1, article_id) for article_id in sorted(watched)])
    featured = dice.pick(
        [index for index, article in enumerate(articles, 1) if article.kind in ("national park", "museum", "bridge")]
    )
    db.execute("UPDATE article SET is_featured = 1 WHERE article_id = ?", (featured,))
    fill_words(db)
    sign_in(db, site="wikipedia", user_id=1)


def _insert_users(db: sqlite3.Connection, editors: Sequence[Person], now: datetime, scale: Scale) -> None:
    """Write those of the population who work on the encyclopedia, the user of the tasks first."""
    rows = []
    for index, person in enumerate(editors):
        username = f"{person.first}.{person.last}".lower()
        joined = now - timedelta(days=2500 - 17 * index % (2000 if scale == "standard" else 600), minutes=index)
        rows.append((index + 1, username, PASSWORD, person.name, f"{username}@example.com", 0, joined))
    insert(db, "user", rows)


def _insert_articles(db: sqlite3.Connection, articles: list[Article]) -> None:
    """Write everything of the articles but their texts. An alias that is not unique leads nowhere."""
    names = Counter([name for article in articles for name in (article.title, *article.aliases)])
    for article_id, article in enumerate(articles, 1):
        insert(db, "article", [(article_id, article.title, article.kind, 0)])
        insert(db, "alias", [(alias, article_id) for alias in article.aliases if names[alias] == 1])
        insert(
            db,
            "fact",
            [(article_id, place, fact.label, fact.text, fact.target, fact.number) for place, fact in enumerate(article.facts)],
        )
        insert(db, "category", [(article_id, name) for name in sorted(article.categories)])
        targets = [*links(article.text), *(fact.target for fact in article.facts if fact.target)]
        insert(db, "link", [(article_id, target) for target in dict.fromkeys(targets)])


def _insert_revisions(db: sqlite3.Connection, dice: Dice, articles: list[Article], now: datetime, editors: int) -> None:
    """Write the history of each article: it grew by whole sections, until it was what it is."""
    rows = []
    for article_id, article in enumerate(articles, 1):
        parts = sections(article.text)
        cuts = [*sorted(dice.some(range(1, len(parts)), dice.weigh((0, 1, 2), (6, 3, 1)))), len(parts)]
        for place, cut in enumerate(cuts):
            made = now - timedelta(
                days=dice.between(30 + 600 * (len(cuts) - place - 1), 600 * (len(cuts) - place)), seconds=dice.below(86_400)
            )
            summary = dice.pick(_SUMMARIES[1:]) if place else _SUMMARIES[0]
            rows.append((made, article_id, dice.between(2, editors), whole(parts[:cut]), summary))
    rows.sort(key=lambda row: row[:2])
    insert(db, "revision", rows, "(created_at, article_id, user_id, text, summary)")
