"""The facts of a world's encyclopedia, people, events and works, and how many there are at each scale."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date, timedelta
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

from webarena_gym.sites.country.dice import Dice, Scale
from webarena_gym.sites.country.geography import Country, Landmark, Team, Town, country
from webarena_gym.sites.country.names import invented, population
from webarena_gym.sites.country.names import people as everybody


@dataclass(frozen=True)
class Sizes:
    """The numbers that the encyclopedia's generator goes by."""

    editors: int
    callings: Mapping[str, int]  # what people are, and how many of each there are
    companies: int
    events: int
    prize_rounds: int  # how often each kind of prize is there
    prize_words: int  # the first word of prizes; works have those before it
    makers: Mapping[str, tuple[str, int, int]]  # who makes a kind of work, and how many at least and at most
    counts_winners: bool  # whether the article on a university says how many of its alumni have won a prize
    namesakes: int  # people of one last name, from which on it has a page of its own


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        editors=30,
        callings={
            "scientist": 36, "writer": 20, "film director": 12, "actor": 20, "politician": 20, "athlete": 20, "musician": 12,
        },
        companies=24,
        events=22,
        prize_rounds=1,
        prize_words=118,
        makers={"novel": ("writer", 1, 2), "album": ("musician", 1, 3), "film": ("film director", 3, 6)},
        counts_winners=True,
        namesakes=4,
    ),
    "large": Sizes(
        editors=220,
        callings={
            "scientist": 200, "writer": 110, "film director": 55, "actor": 120, "politician": 75, "athlete": 120, "musician": 75,
        },
        companies=130,
        events=56,
        prize_rounds=3,
        prize_words=1_000,
        makers={"novel": ("writer", 1, 4), "album": ("musician", 1, 5), "film": ("film director", 3, 8)},
        counts_winners=False,
        namesakes=5,
    ),
}  # fmt: skip


CALLINGS = tuple(SIZES["standard"].callings)
"""Professions."""


@cache
def pool() -> Any:
    """Return the words, sentences and outlines of articles."""
    return json.loads(Path(__file__).with_name("prose.json").read_text(encoding="utf-8"))


@dataclass
class Person:
    """Somebody with an article."""

    first: str
    last: str
    calling: str
    field: str  # a science, a genre, a sport; empty for actors and politicians
    born: date
    died: date | None
    birthplace: Town
    university: str | None
    prizes: list[tuple[str, int]] = dataclass_field(default_factory=list)  # name and year

    @property
    def name(self) -> str:
        """The whole name, which is the title of the article."""
        return f"{self.first} {self.last}"


@dataclass
class Prize:
    """A prize, given once a year at most."""

    name: str
    calling: str
    founded: int
    winners: list[tuple[int, Person]]


def draw_people(seed: int, country: Country, today: date, scale: Scale = "standard") -> tuple[list[Person], list[Prize]]:
    """Return the people and the prizes of a world."""
    dice, sizes = Dice(f"wikipedia/people/{seed}"), SIZES[scale]
    neighbours = set(population(seed, scale))
    pairs = [pair for pair in everybody(seed, scale) if pair not in neighbours]
    names = iter(dice.some(pairs, sum(sizes.callings.values())))
    people = [
        _person(dice, *next(names), calling, index, country, today)
        for calling, count in sizes.callings.items()
        for index in range(count)
    ]
    return people, [
        _draw_prize(dice, form, calling, given, invented(seed, sizes.prize_words + index, "title", scale), people)
        for index, (form, calling, given) in enumerate(pool()["prizes"] * sizes.prize_rounds)
    ]


def _person(dice: Dice, first: str, last: str, calling: str, index: int, country: Country, today: date) -> Person:
    born = date(dice.between(1880, 1985), 1, 1) + timedelta(days=dice.below(365))
    age = dice.between(58, 93)
    died = born + timedelta(days=age * 365 + dice.below(365))
    universities = [landmark for landmark in country.landmarks if landmark.kind == "university"]
    attended = [landmark.name for landmark in universities if landmark.opened <= born.year + 17]
    fields = pool()["fields"][calling]
    chance = {"athlete": 20, "actor": 40, "musician": 45}.get(calling, 90)
    return Person(
        first=first,
        last=last,
        calling=calling,
        field=fields[index % len(fields)],
        born=born,
        died=died if died < today else None,
        birthplace=dice.weigh(country.towns, country.weights(9, 4, 2)),
        university=dice.pick(attended) if attended and dice.chance(chance) else None,
    )


def _draw_prize(dice: Dice, form: str, calling: str, count: int, word: str, people: list[Person]) -> Prize:
    """Give a prize every few years to somebody of the right calling and age."""
    name = form.format(word)
    candidates = [person for person in people if person.calling == calling]
    years = sorted(dice.some(range(1926, 2021), count))
    winners: list[tuple[int, Person]] = []
    for year in years:
        fit = [
            person
            for person in candidates
            if 28 <= year - person.born.year <= 72
            and (person.died is None or person.died.year > year)
            and name not in [prize for prize, _ in person.prizes]
        ]
        if fit:
            winner = dice.pick(fit)
            winner.prizes.append((name, year))
            winners.append((year, winner))
    return Prize(name, calling, winners[0][0], winners)


@dataclass(frozen=True)
class Event:
    """Something that happened, or that happens every year since `day`."""

    title: str
    kind: str
    town: Town
    day: date
    toll: int  # casualties, deaths, or visitors in thousands


def draw_events(seed: int, country: Country, sizes: Sizes = SIZES["standard"]) -> list[Event]:
    """Return the events of a world, each in a town of its own."""
    dice = Dice(f"wikipedia/events/{seed}")
    towns, tolls = dice.some(country.towns, sizes.events), dice.some(range(12, 900), sizes.events)
    events = []
    for (kind, form, first, last), town, toll in zip(cycle(pool()["events"]), towns, tolls, strict=False):
        day = date(dice.between(first, last), 1, 1) + timedelta(days=dice.below(365))
        events.append(Event(form.format(town=town.name, year=day.year), kind, town, day, toll))
    return events


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
    awards: list[tuple[str, int]] = dataclass_field(default_factory=list)  # a prize of the maker's, or a festival; and the year


def draw_works(
    seed: int, country: Country, people: list[Person], festivals: list[Event], scale: Scale = "standard"
) -> list[Work]:
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
        title=dice.pick(pool()["titles"][kind]).format(word),
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


@dataclass(frozen=True)
class Lore:
    """The facts of one world."""

    seed: int
    scale: Scale
    country: Country
    people: list[Person]
    prizes: list[Prize]
    works: list[Work]
    events: list[Event]
    offices: dict[str, Person]  # by the title of the article of a country, state or town
    homes: dict[str, list[tuple[str, int]]]  # by the name of a team its stadiums, and the decades since which, the present last
    memorials: dict[str, Event]  # by the name of a monument: what it commemorates, each something else

    @property
    def sizes(self) -> Sizes:
        """The numbers that the world goes by."""
        return SIZES[self.scale]


def draw_lore(seed: int, today: date, scale: Scale = "standard") -> Lore:
    """Return the lore of a world."""
    land, sizes = country(seed, scale), SIZES[scale]
    happened = draw_events(seed, land, sizes)
    lives, prizes = draw_people(seed, land, today, scale)
    festivals = [event for event in happened if event.title.endswith("Film Festival")]
    return Lore(
        seed=seed,
        scale=scale,
        country=land,
        people=lives,
        prizes=prizes,
        works=draw_works(seed, land, lives, festivals, scale),
        events=happened,
        offices=_offices(land, lives),
        homes={team.name: _homes(Dice(f"wikipedia/homes/{seed}/{team.name}"), team, land) for team in land.teams},
        memorials=_memorials(Dice(f"wikipedia/memorials/{seed}"), land, happened),
    )


def _offices(land: Country, lives: list[Person]) -> dict[str, Person]:
    """Return who governs what, as far as there are living politicians: the country, the states, then the towns."""
    governed = [land.name, *(state.name for state in land.states), *(town.name for town in land.towns)]
    living = [person for person in lives if person.calling == "politician" and person.died is None]
    return dict(zip(governed, living, strict=False))


def _memorials(dice: Dice, land: Country, happened: list[Event]) -> dict[str, Event]:
    """Return which event each monument commemorates, where there is an earlier one that no other monument does."""
    memorials: dict[str, Event] = {}
    for monument in (each for each in land.landmarks if each.kind == "monument"):
        taken = list(memorials.values())
        free = [
            event for event in happened if event.kind != "festival" and event.day.year < monument.opened and event not in taken
        ]
        if free:
            memorials[monument.name] = dice.pick(free)
    return memorials


def _homes(dice: Dice, team: Team, land: Country) -> list[tuple[str, int]]:
    """Return where a team has played: at one or two stadiums of others that stood by then, at last at its own."""
    opened = {each.name: -(-max(each.opened, 1930) // 10) * 10 for each in land.landmarks if each.kind == "stadium"}
    others = dice.some([name for name in opened if name != team.stadium], 2)
    oldest, older = sorted(others, key=lambda name: opened[name])
    since = opened[older] + 10 * dice.below(2)
    homes = [(older, since), (team.stadium, max(since + 10 * dice.between(1, 2), opened[team.stadium]))]
    if opened[oldest] < since:
        homes.insert(0, (oldest, max(opened[oldest], since - 10 * dice.between(1, 2))))
    return homes
