"""The lists, made from the articles themselves, and the pages that tell people of one last name apart."""

from collections import defaultdict

from webarena_gym.sites.wikipedia.markup import Section
from webarena_gym.sites.wikipedia.world.article import Article, bullets, table
from webarena_gym.sites.wikipedia.world.landmarks import PLURALS
from webarena_gym.sites.wikipedia.world.people import CALLINGS

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
"""What else has a list: its name and its columns."""


def articles(country: str, written: list[Article], namesakes: int) -> list[Article]:
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
