"""The people whom the encyclopedia writes about, and the prizes that they won. None of them lives in the population."""

import dataclasses
from datetime import date, timedelta

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Country, Town
from webarena_gym.sites.country.people import people as everybody
from webarena_gym.sites.country.people import population
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.words import invented
from webarena_gym.sites.wikipedia.world.sizes import SIZES

CALLINGS = tuple(SIZES["standard"].callings)
"""What people are."""

FIELDS = ("physics", "chemistry", "medicine", "mathematics", "geology", "botany")
GENRES = {
    "writer": ("crime fiction", "historical fiction", "satire", "science fiction"),
    "film director": ("drama", "comedy", "thriller", "documentary"),
    "musician": ("jazz", "folk music", "rock music", "chamber music"),
    "athlete": ("basketball", "ice hockey", "baseball", "marathon running"),
}
PRIZES = (
    ("{} Prize in the Sciences", "scientist", 26),
    ("{} Medal for Research", "scientist", 14),
    ("{} Prize for Literature", "writer", 14),
    ("{} Film Award", "film director", 12),
    ("{} Music Prize", "musician", 10),
    ("{} Cup for Sportsmanship", "athlete", 10),
)
"""The prizes: how they are called, who wins them, and how many have been given."""


@dataclasses.dataclass
class Person:
    """Somebody with an article."""

    first: str
    last: str
    calling: str
    field: str  # a science, a genre, a sport, an office; empty for actors
    born: date
    died: date | None
    birthplace: Town
    university: str | None
    prizes: list[tuple[str, int]] = dataclasses.field(default_factory=list)  # name and year

    @property
    def name(self) -> str:
        """The whole name, which is the title of the article."""
        return f"{self.first} {self.last}"


@dataclasses.dataclass
class Prize:
    """A prize, given once a year at most."""

    name: str
    calling: str
    founded: int
    winners: list[tuple[int, Person]]


def draw(seed: int, country: Country, today: date, scale: Scale = "standard") -> tuple[list[Person], list[Prize]]:
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
        _prize(dice, *PRIZES[index % len(PRIZES)], invented(seed, sizes.prize_words + index, "title", scale), people)
        for index in range(sizes.prize_rounds * len(PRIZES))
    ]


def _person(dice: Dice, first: str, last: str, calling: str, index: int, country: Country, today: date) -> Person:
    born = date(dice.between(1880, 1985), 1, 1) + timedelta(days=dice.below(365))
    age = dice.between(58, 93)
    died = born + timedelta(days=age * 365 + dice.below(365))
    universities = [landmark for landmark in country.landmarks if landmark.kind == "university"]
    attended = [landmark.name for landmark in universities if landmark.opened <= born.year + 17]
    chance = {"athlete": 20, "actor": 40, "musician": 45}.get(calling, 90)
    return Person(
        first=first,
        last=last,
        calling=calling,
        field=_field(calling, index),
        born=born,
        died=died if died < today else None,
        birthplace=dice.weigh(country.towns, country.weights(9, 4, 2)),
        university=dice.pick(attended) if attended and dice.chance(chance) else None,
    )


def _field(calling: str, index: int) -> str:
    if calling == "politician":
        return ""
    fields = FIELDS if calling == "scientist" else GENRES.get(calling, ("",))
    return fields[index % len(fields)]


def _prize(dice: Dice, form: str, calling: str, count: int, word: str, people: list[Person]) -> Prize:
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
