"""The facts of a world's encyclopedia: people, events, prizes and works, and their numbers at each scale."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date, timedelta
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale
from webarena_gym.sites.country.geography import Landmark, Team, Town, country
from webarena_gym.sites.country.names import invented_word, population
from webarena_gym.sites.country.names import people as everybody
from webarena_gym.sites.country.texts import read_sizes


class Sizes(NamedTuple):
    """Sizes of the encyclopedia at one scale."""

    editors: int  # users
    callings: Mapping[str, int]  # number of people by occupation
    companies: int
    events: int
    prize_rounds: int  # number of prizes of each kind
    prize_words: int  # index of the first invented word for prizes; smaller ones are for works
    makers: Mapping[
        str, tuple[str, int, int]
    ]  # by kind of work: occupation of its makers, their smallest and largest number of works
    counts_winners: bool  # True if articles on universities contain the number of alumni who have won a prize
    namesakes: int  # smallest number of people with a last name that has a disambiguation page


SIZES: Mapping[Scale, Sizes] = read_sizes(Sizes, Path(__file__).parent / "sizes.toml")


@cache
def pool() -> Any:
    """Return the words, sentences and outlines of articles."""
    return json.loads(Path(__file__).with_name("prose.json").read_text(encoding="utf-8"))


@dataclass
class Person:
    """A person with an article."""

    first: str
    last: str
    calling: str
    field: str  # a science, genre or sport; "" for actors and politicians
    born: date
    died: date | None
    birthplace: Town
    university: str | None
    prizes: list[tuple[str, int]] = dataclass_field(default_factory=list)  # name and year

    @property
    def name(self) -> str:
        """The full name, which is the title of the article."""
        return f"{self.first} {self.last}"

    def has_age(self, least: int, most: int, year: int) -> bool:
        """Return True if the person was alive to the end of a year and between `least` and `most` years old."""
        return least <= year - self.born.year <= most and (self.died is None or self.died.year > year)


class Prize(NamedTuple):
    """A prize, with its winners by year; it is given at most once a year."""

    name: str
    calling: str
    winners: list[tuple[int, Person]]


class Event(NamedTuple):
    """An event on `day`, or a festival that has taken place every year since."""

    title: str
    kind: str
    town: Town
    day: date
    toll: int  # casualties, deaths, or visitors in thousands


_LATEST = 2020
_SHOT_AT = ("museum", "bridge", "university", "theater", "zoo", "monument", "library", "national park")
_PLACES = {"film": _SHOT_AT, "album": ("concert hall", "theater"), "novel": ()}
_LENGTHS = {"film": (78, 171), "novel": (140, 690), "album": (31, 74)}


@dataclass
class Work:
    """A film, novel or album. `place` is the landmark or town where it was shot, is set, or was recorded."""

    title: str
    kind: str
    maker: Person
    year: int
    length: int  # minutes or pages
    place: str
    cast: list[Person]
    awards: list[tuple[str, int]]  # name of the prize or festival, and the year
    source: "Work | None" = None  # the novel that a film is based on


class Lore:
    """The facts of one world's encyclopedia."""

    def __init__(self, seed: int, today: date, scale: Scale = "standard") -> None:
        self.seed, self.scale, self.sizes, self.country = seed, scale, SIZES[scale], country(seed, scale)
        self.events = self._events(Dice(f"wikipedia/events/{seed}"))
        dice = Dice(f"wikipedia/people/{seed}")
        self.people = self._people(dice, today)
        self.prizes = self._prizes(dice)
        self.works = self._works(Dice(f"wikipedia/works/{seed}"))
        land = self.country
        governed = [land.name, *(state.name for state in land.states), *(town.name for town in land.towns)]
        living = [person for person in self.people if person.calling == "politician" and person.died is None]
        self.offices = dict(zip(governed, living, strict=False))
        """Governing politicians by country, state or town; towns may have none."""
        self.homes = {team.name: self._homes(Dice(f"wikipedia/homes/{seed}/{team.name}"), team) for team in land.teams}
        """By team: its stadiums and the year of its move to each, the current one last."""
        self.memorials: dict[str, Event] = {}
        """By monument: the earlier event that it commemorates, a different one for each."""
        dice = Dice(f"wikipedia/memorials/{seed}")
        for monument in (mark for mark in land.landmarks if mark.kind == "monument"):
            past = [event for event in self.events if event.kind != "festival" and event.day.year < monument.opened]
            if free := [event for event in past if event not in self.memorials.values()]:
                self.memorials[monument.name] = dice.pick(free)

    def _events(self, dice: Dice) -> list[Event]:
        """Draw the events of a world, each in a different town."""
        towns, tolls = dice.some(self.country.towns, self.sizes.events), dice.some(range(12, 900), self.sizes.events)
        events = []
        for (kind, form, first, last), town, toll in zip(cycle(pool()["events"]), towns, tolls, strict=False):
            day = date(dice.between(first, last), 1, 1) + timedelta(days=dice.below(365))
            events.append(Event(form.format(town=town.name, year=day.year), kind, town, day, toll))
        return events

    def _people(self, dice: Dice, today: date) -> list[Person]:
        neighbours, land, people = set(population(self.seed, self.scale)), self.country, list[Person]()
        callings = [(calling, index) for calling, count in self.sizes.callings.items() for index in range(count)]
        names = dice.some([pair for pair in everybody(self.seed, self.scale) if pair not in neighbours], len(callings))
        universities = [landmark for landmark in land.landmarks if landmark.kind == "university"]
        for (first, last), (calling, index) in zip(names, callings, strict=True):
            born = date(dice.between(1880, 1985), 1, 1) + timedelta(days=dice.below(365))
            age, fields = dice.between(58, 93), pool()["fields"][calling]
            died = born + timedelta(days=age * 365 + dice.below(365))
            town = dice.weigh(land.towns, land.weights(9, 4, 2))
            attended = [landmark.name for landmark in universities if landmark.opened <= born.year + 17]
            has_studied = attended and dice.chance({"athlete": 20, "actor": 40, "musician": 45}.get(calling, 90))
            university, ended = dice.pick(attended) if has_studied else None, died if died < today else None
            people.append(Person(first, last, calling, fields[index % len(fields)], born, ended, town, university))
        return people

    def _prizes(self, dice: Dice) -> list[Prize]:
        """Draw the prizes. Each has winners of one occupation, aged 28 to 72, in several years."""
        prizes = []
        for index, (form, calling, count) in enumerate(pool()["prizes"] * self.sizes.prize_rounds):
            name = form.format(invented_word(self.seed, self.sizes.prize_words + index, "title", self.scale))
            candidates, winners = [person for person in self.people if person.calling == calling], list[tuple[int, Person]]()
            for year in sorted(dice.some(range(1926, 2021), count)):
                fit = [
                    candidate
                    for candidate in candidates
                    if candidate.has_age(28, 72, year) and name not in dict(candidate.prizes)
                ]
                if fit:
                    winners.append((year, dice.pick(fit)))
                    winners[-1][1].prizes.append((name, year))
            prizes.append(Prize(name, calling, winners))
        return prizes

    def _works(self, dice: Dice) -> list[Work]:
        """Draw the works, novels first. A maker has at most one work of a kind per year, and titles are unique."""
        words = [invented_word(self.seed, index, "title", self.scale) for index in range(self.sizes.prize_words)]
        works: list[Work] = []
        for kind, (calling, least, most) in self.sizes.makers.items():
            for maker in (person for person in self.people if person.calling == calling):
                last = min(maker.born.year + 70, maker.died.year - 1 if maker.died else _LATEST, _LATEST)
                years, count = [won - 1 for _, won in maker.prizes], dice.between(least, most)
                others = [year for year in range(maker.born.year + 26, last + 1) if year not in years]
                for year in sorted(years + dice.some(others, count - len(years))):
                    if len(works) < len(words):
                        works.append(self._work(dice, kind, words[len(works)], maker, year, works))
        festivals = [event for event in self.events if event.title.endswith("Film Festival")]
        for work in works:  # some films win at a festival in the year after their release
            begun = [event for event in festivals if event.day.year <= work.year]
            if work.kind == "film" and begun and dice.chance(35):
                work.awards.append((dice.pick(begun).title, work.year + 1))
        return works

    def _work(self, dice: Dice, kind: str, word: str, maker: Person, year: int, before: list[Work]) -> Work:
        title = dice.pick(pool()["titles"][kind]).format(word)
        lengths = {name: dice.between(*limits) for name, limits in _LENGTHS.items()}
        standing = [
            landmark for landmark in self.country.landmarks if landmark.kind in _PLACES[kind] and landmark.opened < year
        ]
        places: list[Landmark | Town] = [*standing] if standing and dice.chance(65) else [*self.country.towns]
        place, cast = dice.pick(places).name, list[Person]()
        if kind == "film":
            fit = [person for person in self.people if person.calling == "actor" and person.has_age(18, 80, year)]
            cast = dice.some(fit, dice.between(2, 3))
        work = Work(
            title, kind, maker, year, lengths[kind], place, cast, [prize for prize in maker.prizes if prize[1] == year + 1]
        )
        novels = [other for other in before if other.kind == "novel" and other.year < year] if kind == "film" else []
        work.source = dice.pick(novels) if novels and dice.chance(22) else None
        return work

    def _homes(self, dice: Dice, team: Team) -> list[tuple[str, int]]:
        """Draw the stadiums of a team with the years of its moves: one or two stadiums of other teams, then its own."""
        stadiums = [landmark for landmark in self.country.landmarks if landmark.kind == "stadium"]
        opened = {landmark.name: -(-max(landmark.opened, 1930) // 10) * 10 for landmark in stadiums}
        others = dice.some([name for name in opened if name != team.stadium], 2)
        oldest, older = sorted(others, key=lambda name: opened[name])
        since = opened[older] + 10 * dice.below(2)
        homes = [(older, since), (team.stadium, max(since + 10 * dice.between(1, 2), opened[team.stadium]))]
        if opened[oldest] < since:
            homes.insert(0, (oldest, max(opened[oldest], since - 10 * dice.between(1, 2))))
        return homes
