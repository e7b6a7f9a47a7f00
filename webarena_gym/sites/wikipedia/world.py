"""The generator of the encyclopedia's database: articles, lists, disambiguation pages and histories from one integer."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from webarena_gym.sites.country.dice import Dice, Scale, moment
from webarena_gym.sites.country.names import Person, population
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.wikipedia.markup import Section, links, sections, whole
from webarena_gym.sites.wikipedia.world_articles import (
    PLURALS,
    Article,
    biography_articles,
    bullets,
    company_articles,
    event_articles,
    landmark_articles,
    place_articles,
    table,
    work_articles,
)
from webarena_gym.sites.wikipedia.world_lore import CALLINGS, SIZES, draw_lore

_PEOPLE = ("Born", "Died", "Birthplace", "Field", "Genre", "Sport", "Alma mater")
_OTHERS = {
    "town": ("towns", ("State", "Population", "Founded", "Area", "Elevation")),
    "film": ("films", ("Released", "Directed by", "Genre", "Running time")),
    "novel": ("novels", ("Published", "Author", "Genre", "Pages")),
    "album": ("albums", ("Released", "Artist", "Genre", "Length")),
    "company": ("companies", ("Headquarters", "State", "Founded", "Employees", "Revenue")),
    "team": ("teams", ("Sport", "Town", "Founded", "Home stadium")),
    "prize": ("prizes", ("First given", "Given to", "Times given")),
    "disaster": ("disasters", ("Date", "Location", "Deaths")),
    "battle": ("battles", ("Date", "Location", "Casualties")),
    "festival": ("festivals", ("First held", "Location", "Visitors in thousands")),
}
"""Another list: its name and its columns."""


def list_articles(country: str, written: list[Article], namesakes: int) -> list[Article]:
    """Return the lists and the pages on last names, for all that is written so far."""
    of_kind: dict[str, list[Article]] = defaultdict(list)
    for article in sorted(written, key=lambda article: article.title):
        of_kind[article.kind].append(article)
    lists = [_list(country, PLURALS[kind].lower(), of_kind[kind], _columns(of_kind[kind][0])) for kind in PLURALS]
    lists += [_list(country, name, of_kind[kind], columns) for kind, (name, columns) in _OTHERS.items()]
    lists += [_list(country, f"{calling}s", of_kind[calling], _PEOPLE) for calling in CALLINGS]
    people = [article for calling in CALLINGS for article in of_kind[calling]]
    return lists + _namesakes(people, namesakes)


def _columns(landmark: Article) -> tuple[str, ...]:
    """Return the labels of what is comparable among the landmarks of a kind."""
    places = ("Town", "Nearest town", "State")
    return tuple(fact.label for fact in landmark.facts if fact.label in places or fact.number is not None)


def _list(country: str, name: str, members: list[Article], columns: tuple[str, ...]) -> Article:
    """Return a table of members with those columns that any of them has."""
    used = [label for label in columns if any(fact.label == label for member in members for fact in member.facts)]
    rows = [[f"[[{member.title}]]", *(_cell(member, label) for label in used)] for member in members]
    return Article(
        title=f"List of {name} in {country}",
        kind="list",
        lead=f"This list names {len(members)} {name} in [[{country}]] in the order of the alphabet.",
        sections=(Section(name.capitalize(), table(["Name", *used], rows)),),
        categories=(f"Lists of {'people' if columns == _PEOPLE else 'places' if 'State' in columns else 'things'}",),
        aliases=(f"{name.capitalize()} in {country}",),
    )


def _cell(member: Article, label: str) -> str:
    return next((fact.text for fact in member.facts if fact.label == label), "-")


def _namesakes(people: list[Article], least: int) -> list[Article]:
    """Return a page for each last name that many people have."""
    of_name: dict[str, list[Article]] = defaultdict(list)
    for person in people:
        of_name[person.title.rpartition(" ")[2]].append(person)
    return [
        Article(
            title=last,
            kind="disambiguation",
            lead=f"{last} is a last name. It may refer to one of these people:\n\n"
            + bullets([f"[[{person.title}]], {person.kind}, born {person.facts[0].text}" for person in members]),
            categories=("Last names",),
            aliases=(f"{last} (name)",),
        )
        for last, members in sorted(of_name.items())
        if len(members) >= least
    ]


def draw_articles(seed: int, today: date, scale: Scale = "standard") -> list[Article]:
    """Return all articles of a world, no two with the same title."""
    told = draw_lore(seed, today, scale)
    written = [
        *place_articles(told),
        *landmark_articles(told),
        *biography_articles(told),
        *work_articles(told),
        *company_articles(told),
        *event_articles(told),
    ]
    return written + list_articles(told.country.name, written, told.sizes.namesakes)


PASSWORD = "lexandria1"  # noqa: S105  # the one password of every made-up user
_SUMMARIES = ("Created the article", "Wrote more", "Added a section", "Added what was missing", "Finished the article")
_WATCHED = 3  # articles that the first user watches from the start


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer."""
    dice = Dice(f"wikipedia/{seed}")
    now = moment(seed)
    articles = draw_articles(seed, now.date(), scale)
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
