"""The generator of the encyclopedia's database: writes users, articles, lists, disambiguation pages and revisions into the tables."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from webarena_gym.sites.country.dice import Dice, Scale, moment
from webarena_gym.sites.country.names import population
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.wikipedia import world_articles
from webarena_gym.sites.wikipedia.markup import links, sections, whole
from webarena_gym.sites.wikipedia.world_articles import Article, bullets, document, table
from webarena_gym.sites.wikipedia.world_lore import SIZES, Lore, pool

_PEOPLE = ("Born", "Died", "Birthplace", "Field", "Genre", "Sport", "Alma mater")


def draw_articles(seed: int, today: date, scale: Scale = "standard") -> list[Article]:
    """Draw all articles of a world, with unique titles.

    After the articles of `world_articles` come lists, and a disambiguation page for each last name that several people have.
    """
    lore = Lore(seed, today, scale)
    articles, country = world_articles.draw_articles(lore), lore.country.name
    of_kind: dict[str, list[Article]] = defaultdict(list)
    for article in sorted(articles, key=lambda article: article.title):
        of_kind[article.kind].append(article)
    for kind, entry in pool()["landmarks"].items():  # lists have columns for places and for facts with numbers
        facts = of_kind[kind][0].facts
        columns = [fact.label for fact in facts if fact.label in ("Town", "Nearest town", "State") or fact.number is not None]
        articles.append(_list(country, entry["plural"].lower(), of_kind[kind], columns))
    articles += [_list(country, name, of_kind[kind], columns) for kind, (name, *columns) in pool()["lists"].items()]
    articles += [_list(country, f"{calling}s", of_kind[calling], _PEOPLE) for calling in lore.sizes.callings]
    of_name: dict[str, list[Article]] = defaultdict(list)
    for person in (article for calling in lore.sizes.callings for article in of_kind[calling]):
        of_name[person.title.rpartition(" ")[2]].append(person)
    for last, members in sorted(of_name.items()):
        if len(members) >= lore.sizes.namesakes:
            people = [f"[[{person.title}]], {person.kind}, born {person.facts[0].text}" for person in members]
            text = f"{last} is a last name. It may refer to one of these people:\n\n{bullets(people)}"
            articles.append(Article(last, "disambiguation", text, ("Last names",), aliases=(f"{last} (name)",)))
    return articles


def _list(country: str, name: str, members: list[Article], columns: Sequence[str]) -> Article:
    """Return a list article: a table of the members, without columns that are empty for all of them."""
    texts = [{fact.label: fact.text for fact in reversed(member.facts)} for member in members]
    used = [label for label in columns if any(label in row for row in texts)]
    rows = [
        [f"[[{member.title}]]", *(row.get(label, "-") for label in used)] for member, row in zip(members, texts, strict=True)
    ]
    lead = f"This list names {len(members)} {name} in [[{country}]] in the order of the alphabet."
    text = document(lead, {name.capitalize(): table(["Name", *used], rows)})
    category = f"Lists of {'people' if columns == _PEOPLE else 'places' if 'State' in columns else 'things'}"
    return Article(f"List of {name} in {country}", "list", text, (category,), aliases=(f"{name.capitalize()} in {country}",))


PASSWORD = "lexandria1"  # noqa: S105  # the password of all users
_SUMMARIES = ("Created the article", "Wrote more", "Added a section", "Added what was missing", "Finished the article")
_WATCHED = 3  # number of articles on the watchlist of the current user


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the empty tables of schema.sql with the world of a seed and scale."""
    dice, now = Dice(f"wikipedia/{seed}"), moment(seed)
    articles = list(enumerate(draw_articles(seed, now.date(), scale), 1))
    editors = population(seed, scale)[: SIZES[scale].editors]  # the current user of tasks is the first
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    rows["world"] = [("seed", str(seed)), ("now", str(now))]
    for index, person in enumerate(editors):
        username = f"{person.first}.{person.last}".lower()
        joined = now - timedelta(days=2500 - 17 * index % (2000 if scale == "standard" else 600), minutes=index)
        rows["user"].append((index + 1, username, PASSWORD, person.name, f"{username}@example.com", 0, joined))
    names = Counter([name for _, article in articles for name in (article.title, *article.aliases)])
    revisions = []
    for article_id, article in articles:
        rows["article"].append((article_id, article.title, article.kind, 0))
        rows["alias"] += [(alias, article_id) for alias in article.aliases if names[alias] == 1]  # no ambiguous ones
        facts = [(fact.label, fact.text, fact.target, fact.number) for fact in article.facts]
        rows["fact"] += [(article_id, index, *fact) for index, fact in enumerate(facts)]
        rows["category"] += [(article_id, name) for name in sorted(article.categories)]
        targets = [*links(article.text), *(fact.target for fact in article.facts if fact.target)]
        rows["link"] += [(article_id, target) for target in dict.fromkeys(targets)]
        parts = sections(article.text)  # earlier revisions lack the last sections
        cuts = [*sorted(dice.some(range(1, len(parts)), dice.weigh((0, 1, 2), (6, 3, 1)))), len(parts)]
        for index, cut in enumerate(cuts):
            days = 600 * (len(cuts) - index - 1)
            time = now - timedelta(days=dice.between(30 + days, 600 + days), seconds=dice.below(86_400))
            summary = dice.pick(_SUMMARIES[1:]) if index else _SUMMARIES[0]
            revisions.append((time, article_id, dice.between(2, len(editors)), whole(parts[:cut]), summary))
    for name, content in rows.items():
        insert(db, name, content)
    revisions.sort(key=lambda row: row[:2])
    insert(db, "revision", revisions, "(created_at, article_id, user_id, text, summary)")
    watched = dice.some([index for index, article in articles if article.kind == "town"], _WATCHED)
    insert(db, "watch", [(1, article_id) for article_id in sorted(watched)])
    featured = dice.pick([index for index, article in articles if article.kind in ("national park", "museum", "bridge")])
    db.execute("UPDATE article SET is_featured = 1 WHERE article_id = ?", (featured,))
    fill_words(db)
    sign_in(db, site="wikipedia", user_id=1)
