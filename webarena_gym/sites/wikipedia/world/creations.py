"""The articles on films, novels and albums, and the list of films of each director."""

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.wikipedia.markup import Section
from webarena_gym.sites.wikipedia.world.article import Article, Fact, bullets, count, link, table, year
from webarena_gym.sites.wikipedia.world.lore import Lore
from webarena_gym.sites.wikipedia.world.people import Person
from webarena_gym.sites.wikipedia.world.prose import Prose
from webarena_gym.sites.wikipedia.world.works import Work

LABELS = {
    "film": ("Directed by", "Released", "Running time", "min", "Filmed in"),
    "novel": ("Author", "Published", "Pages", "", "Set in"),
    "album": ("Artist", "Released", "Length", "min", "Recorded in"),
}
"""The labels of maker, year and length, the unit of the length, and the label of the place, by kind of work."""

_TOPICS = {
    "film": {"Plot": "plot", "Production": "production", "Reception": "reception"},
    "novel": {"Plot": "plot", "Reception": "reception"},
    "album": {"Recording": "recording", "Reception": "reception"},
}


def articles(lore: Lore) -> list[Article]:
    """Return an article for each work, then the filmographies."""
    directors = [person for person in lore.people if person.calling == "film director"]
    return [*(_article(lore, work) for work in lore.works), *(_filmography(lore, person) for person in directors)]


def filmography_title(director: str) -> str:
    """Return the title of the list of a director's films."""
    return f"List of films directed by {director}"


def _article(lore: Lore, work: Work) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{work.title}"))
    facts = {
        "title": work.title, "maker": work.maker.name, "year": work.year, "genre": work.genre, "length": work.length,
        "place": work.place,
    }  # fmt: skip
    maker, released, length, unit, place = LABELS[work.kind]
    adaptations = [other for other in lore.works if other.source is work]
    opening = prose.passage(f"{work.kind}.opening", 1, **facts)
    return Article(
        title=work.title,
        kind=work.kind,
        lead=f"{opening} {prose.passage(f'{work.kind}.lead', 2, **facts)}",
        facts=(
            link(maker, work.maker.name), year(released, work.year), Fact("Genre", work.genre.capitalize()),
            count(length, work.length, unit), link(place, work.place), *(link("Starring", actor.name) for actor in work.cast),
            *([link("Based on", work.source.title)] if work.source else []),
            *(Fact("Award", f"[[{prize}]] ({won})", won) for prize, won in work.awards),
        ),
        sections=(
            *(Section(heading, prose.passage(f"{work.kind}.{topic}", 6, **facts)) for heading, topic in _TOPICS[work.kind].items()),
            Section("Cast", bullets([f"[[{actor.name}]]" for actor in work.cast])),
            Section("Adaptations", bullets([f"[[{film.title}]] ({film.year}), directed by [[{film.maker.name}]]" for film in adaptations])),
            Section("See also", bullets([f"[[{filmography_title(work.maker.name)}]]"] if work.kind == "film" else [])),
        ),
        categories=(f"{work.kind.capitalize()}s", f"{work.year // 10 * 10}s {work.kind}s", f"{work.kind.capitalize()}s by {work.maker.name}"),
    )  # fmt: skip


def _filmography(lore: Lore, director: Person) -> Article:
    films = [work for work in lore.works if work.kind == "film" and work.maker is director]
    rows = [[f"[[{film.title}]]", str(film.year), f"{film.length} min", _awards(film)] for film in films]
    return Article(
        title=filmography_title(director.name),
        kind="list",
        lead=f"This list names all films that were directed by [[{director.name}]], with the prizes that they won.",
        sections=(Section("Films", table(["Film", "Year", "Running time", "Award"], rows)),),
        categories=("Lists of films",),
        aliases=(f"{director.name} filmography",),
    )


def _awards(work: Work) -> str:
    return "; ".join(f"[[{prize}]] ({won})" for prize, won in work.awards) or "none"
