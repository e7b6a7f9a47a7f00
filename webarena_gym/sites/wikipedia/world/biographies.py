"""The articles on people."""

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.formats import long_date
from webarena_gym.sites.wikipedia.markup import Section
from webarena_gym.sites.wikipedia.world.article import Article, Fact, bullets, link
from webarena_gym.sites.wikipedia.world.lore import Lore
from webarena_gym.sites.wikipedia.world.people import Person
from webarena_gym.sites.wikipedia.world.prose import Prose

_FIELD_LABELS = {"scientist": "Field", "athlete": "Sport"}
_WORKS = {"novel": "Novels", "album": "Albums", "film": "Films"}


def articles(lore: Lore) -> list[Article]:
    """Return an article for each person."""
    return [_article(lore, person) for person in lore.people]


def _article(lore: Lore, person: Person) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{person.name}"))
    life = f"{person.born.year} to {person.died.year}" if person.died else f"born {person.born.year}"
    facts: dict[str, object] = {
        "title": person.name, "last": person.last, "life": life, "was": "was" if person.died else "is",
        "town": person.birthplace.name, "born": _day(person.born),
    }  # fmt: skip
    if person.field:
        facts["field"] = person.field
    if person.university:
        facts["university"] = person.university
    calling = person.calling
    return Article(
        title=person.name,
        kind=calling,
        lead=f"{prose.passage(f'person.{calling}.opening', 1, **facts)} {prose.passage('person.lead', 2, **facts)}",
        facts=tuple(_facts(lore, person)),
        sections=(
            Section(
                "Early life", _joined(prose.passage("person.youth", 5, **facts), prose.passage("person.study", 1, **facts))
            ),
            Section("Career", prose.passage(f"person.{calling}.work", 6, **facts)),
            Section("Personal life", prose.passage("person.life", 4, **facts)),
            *_lists(lore, person),
        ),
        categories=tuple(_categories(person)),
        aliases=(f"{person.last}, {person.first}",),
    )


def _facts(lore: Lore, person: Person) -> list[Fact]:
    offices = [place for place, holder in lore.offices.items() if holder is person]
    return [
        Fact("Born", _day(person.born), person.born.year),
        link("Birthplace", person.birthplace.name),
        *([Fact("Died", _day(person.died), person.died.year)] if person.died else []),
        Fact("Occupation", person.calling.capitalize()),
        *([Fact(_FIELD_LABELS.get(person.calling, "Genre"), person.field.capitalize())] if person.field else []),
        *([link("Alma mater", person.university)] if person.university else []),
        *(Fact("Governs", f"[[{place}]]") for place in offices),
        *(Fact("Award", f"[[{prize}]] ({year})", year) for prize, year in person.prizes),
    ]


def _lists(lore: Lore, person: Person) -> list[Section]:
    """Return the sections that enumerate works, roles and honors."""
    made = [
        Section(
            heading,
            bullets([f"[[{work.title}]] ({work.year})" for work in lore.works if work.maker is person and work.kind == kind]),
        )
        for kind, heading in _WORKS.items()
    ]
    played = sorted((work for work in lore.works if person in work.cast), key=lambda work: (work.year, work.title))
    roles = [f"[[{work.title}]] ({work.year}), directed by [[{work.maker.name}]]" for work in played]
    honors = [f"[[{prize}]], {year}" for prize, year in person.prizes]
    return [*made, Section("Films as an actor", bullets(roles)), Section("Honors", bullets(honors))]


def _categories(person: Person) -> list[str]:
    return [
        f"{person.calling.capitalize()}s",
        f"People from {person.birthplace.name}",
        f"{person.born.year // 10 * 10}s births",
        *([] if person.died else ["Living people"]),
        *([f"Alumni of {person.university}"] if person.university else []),
        *(f"Winners of the {prize}" for prize, _ in person.prizes),
    ]


def _day(day: object) -> str:
    return long_date(str(day))


def _joined(*paragraphs: str) -> str:
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
