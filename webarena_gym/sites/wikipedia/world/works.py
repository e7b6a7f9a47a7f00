"""The films, novels and albums of the encyclopedia."""

from dataclasses import dataclass, field

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Country, Landmark, Town
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.words import invented
from webarena_gym.sites.wikipedia.world.events import Event
from webarena_gym.sites.wikipedia.world.people import Person
from webarena_gym.sites.wikipedia.world.sizes import SIZES

_TITLES = {
    "film": ("The Road to {}", "{} Rising", "A Winter in {}", "The Last Train from {}", "Farewell to {}", "The {} Affair",
             "Midnight in {}", "{} Must Wait", "Three Days in {}"),
    "novel": ("The House at {}", "The {} Letters", "A History of {}", "The Clockmaker of {}", "Beyond {}", "The {} Inheritance",
              "Daughters of {}", "The Salt of {}"),
    "album": ("Live at {}", "{} Sessions", "Songs from {}", "Blue {}", "{} by Night", "Letters to {}"),
}  # fmt: skip
_LATEST = 2020
_FILM_PLACES = ("museum", "bridge", "university", "theater", "zoo", "monument", "library", "national park")


@dataclass
class Work:
    """A film, a novel or an album. `place` is where it was shot, where it is set, or where it was recorded."""

    title: str
    kind: str
    maker: Person
    year: int
    genre: str
    length: int  # minutes or pages
    place: str
    cast: list[Person]
    source: "Work | None" = None  # the novel that a film is based on
    awards: list[tuple[str, int]] = field(default_factory=list)  # a prize of the maker's, or a festival; and the year


def draw(seed: int, country: Country, people: list[Person], festivals: list[Event], scale: Scale = "standard") -> list[Work]:
    """Return the works of a world, novels first. No maker has two of one kind in a year, and no title comes twice."""
    dice, sizes = Dice(f"wikipedia/works/{seed}"), SIZES[scale]
    words = iter(invented(seed, index, "title", scale) for index in range(sizes.prize_words))
    works: list[Work] = []
    for kind, (calling, least, most) in sizes.makers.items():
        for maker in (person for person in people if person.calling == calling):
            for year in _years(dice, maker, dice.between(least, most)):
                word = next(words, None)
                if word is not None:
                    works.append(_work(dice, kind, word, maker, year, country, people, works))
    _give_awards(dice, works, festivals)
    return works


def _years(dice: Dice, maker: Person, count: int) -> list[int]:
    """Return different years of a working life, among them the year before each prize."""
    last = min(maker.born.year + 70, maker.died.year - 1 if maker.died else _LATEST, _LATEST)
    prized = [won - 1 for _, won in maker.prizes]
    others = [year for year in range(maker.born.year + 26, last + 1) if year not in prized]
    return sorted(prized + dice.some(others, count - len(prized)))


def _work(
    dice: Dice, kind: str, word: str, maker: Person, year: int, country: Country, people: list[Person], before: list[Work]
) -> Work:
    work = Work(
        title=dice.pick(_TITLES[kind]).format(word),
        kind=kind,
        maker=maker,
        year=year,
        genre=maker.field,
        length={"film": dice.between(78, 171), "novel": dice.between(140, 690), "album": dice.between(31, 74)}[kind],
        place=_place(dice, kind, year, country),
        cast=_cast(dice, year, people) if kind == "film" else [],
        awards=[(name, won) for name, won in maker.prizes if won == year + 1],
    )
    if kind == "film":
        novels = [other for other in before if other.kind == "novel" and other.year < year]
        work.source = dice.pick(novels) if novels and dice.chance(22) else None
    return work


def _give_awards(dice: Dice, works: list[Work], festivals: list[Event]) -> None:
    """Let some films win at a festival in the year after they came out."""
    for work in works:
        open_festivals = [each for each in festivals if each.day.year <= work.year]
        if work.kind == "film" and open_festivals and dice.chance(35):
            work.awards.append((dice.pick(open_festivals).title, work.year + 1))


def _place(dice: Dice, kind: str, year: int, country: Country) -> str:
    """Return a town, or a landmark that stood in that year."""
    landmarks: list[Landmark] = []
    if kind == "film":
        landmarks = [each for each in country.landmarks if each.kind in _FILM_PLACES and each.opened < year]
    elif kind == "album":
        landmarks = [each for each in country.landmarks if each.kind in ("concert hall", "theater") and each.opened < year]
    places: list[Landmark | Town] = [*landmarks] if landmarks and dice.chance(65) else [*country.towns]
    return dice.pick(places).name


def _cast(dice: Dice, year: int, people: list[Person]) -> list[Person]:
    """Return actors who were alive and of age."""
    fit = [
        person
        for person in people
        if person.calling == "actor"
        and 18 <= year - person.born.year <= 80
        and (person.died is None or person.died.year > year)
    ]
    return dice.some(fit, dice.between(2, 3))
