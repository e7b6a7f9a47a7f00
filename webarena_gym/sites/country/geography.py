"""The country of a world: states, towns with their streets, landmarks and sports teams.

The map connects the towns by roads, the encyclopedia has articles about them, and the shop's customers live in them. Coordinates
are degrees north and east; the country lies in the middle of the Atlantic.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import cos, hypot, radians
from typing import NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale, share
from webarena_gym.sites.country.names import WORDS, invented_word, words

KM_PER_DEGREE = 111.195
SOUTH, NORTH, WEST, EAST = 41.0, 43.2, -31.0, -28.0
_STATES = 4
_TOWN_SIZES = ((160_000, 700_000, 34), (24_000, 110_000, 16), (1_500, 14_000, 7))
"""For cities, towns and villages: the smallest and largest population, and the number of streets."""

_STREET_KINDS = ("Street", "Street", "Avenue", "Road", "Lane", "Drive", "Boulevard", "Court")


class State(NamedTuple):
    """A state of the country."""

    name: str
    abbreviation: str  # two letters
    capital: str  # the name of a town


class Town(NamedTuple):
    """A town. No two towns of a world have the same name, postcode prefix or telephone area code."""

    name: str
    state: str
    latitude: float
    longitude: float
    population: int
    postcode: str  # the first three digits of five
    area_code: str  # three digits
    streets: tuple[str, ...]


class Landmark(NamedTuple):
    """A place with an article in the encyclopedia and a position on the map."""

    name: str
    kind: str  # a key of KINDS
    town: str  # the town that contains it; for a national park, the nearest town
    state: str
    latitude: float
    longitude: float
    opened: int  # year


class Team(NamedTuple):
    """A sports team and the name of its home stadium."""

    name: str
    sport: str
    town: str
    stadium: str


class Country(NamedTuple):
    """The country of a world. The first town is the largest."""

    name: str
    states: tuple[State, ...]
    towns: tuple[Town, ...]
    landmarks: tuple[Landmark, ...]
    teams: tuple[Team, ...]
    counts: tuple[int, int, int] = (3, 7, 14)  # cities, towns and villages, in the order of `towns`

    def weights(self, city: int, town: int, village: int) -> list[int]:
        """Return a weight for each of `towns`, by its size, for `Dice.weigh`."""
        return [weight for weight, count in zip((city, town, village), self.counts, strict=True) for _ in range(count)]

    def town(self, name: str) -> Town:
        """Return the town of a name. Raises StopIteration if there is none."""
        return next(town for town in self.towns if town.name == name)


KINDS = {
    "university": 6, "museum": 6, "national park": 5, "stadium": 4, "airport": 3, "concert hall": 3, "hospital": 4,
    "library": 3, "monument": 4, "bridge": 3, "zoo": 2, "theater": 3,
}  # fmt: skip
"""Number of landmarks of each kind in a standard world."""

_SPORTS = ("basketball", "basketball", "ice hockey", "baseball")


class Sizes(NamedTuple):
    """Sizes of a country at one scale."""

    towns: tuple[int, int, int]  # number of cities, towns and villages, in the order of _TOWN_SIZES
    town_weights: tuple[int, ...]  # of the first towns, by which the town of a landmark is drawn
    landmarks: Mapping[str, int]  # number by kind
    sports: tuple[str, ...]  # one entry for each stadium and its team
    apart_km: float  # smallest distance between two towns


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes((3, 7, 14), (6, 5, 5, 2, 2, 2, 2, 1, 1, 1), KINDS, _SPORTS, 22),
    "large": Sizes(
        towns=(6, 16, 38),
        town_weights=(6, 5, 5, 5, 4, 4, *[2] * 16, *[1] * 8),
        landmarks={
            "university": 14, "museum": 18, "national park": 12, "stadium": 9, "airport": 4, "concert hall": 8, "hospital": 14,
            "library": 10, "monument": 14, "bridge": 12, "zoo": 5, "theater": 10,
        },
        sports=_SPORTS * 3,
        apart_km=17,
    ),
}  # fmt: skip


def distance_km(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Return the straight-line distance of two points, projected on a plane; the error within the country is below 0.1 %.

    >>> round(distance_km(42.0, -29.0, 42.0, -28.0), 1)
    82.6
    """
    middle = radians((latitude + other_latitude) / 2)
    return KM_PER_DEGREE * hypot(latitude - other_latitude, (longitude - other_longitude) * cos(middle))


@lru_cache(maxsize=4)
def country(seed: int, scale: Scale = "standard") -> Country:
    """Return the country of a world."""
    dice, counts = Dice(f"country/{seed}"), SIZES[scale]
    name, *names = (invented_word(seed, index, "place", scale) for index in range(WORDS[scale]))
    state_names, names = names[:_STATES], names[_STATES:]
    sizes = [size for size, count in zip(_TOWN_SIZES, counts.towns, strict=True) for _ in range(count)]
    spots: list[
        tuple[float, float]
    ] = []  # at least `apart_km` from each other, and equally many in each quarter of the country
    while len(spots) < len(sizes):
        high, wide = divmod(len(spots) % _STATES, 2)
        latitude = round(SOUTH + (high + dice.below(10_000) / 10_000) * (NORTH - SOUTH) / 2, 5)
        longitude = round(WEST + (wide + dice.below(10_000) / 10_000) * (EAST - WEST) / 2, 5)
        if all(distance_km(latitude, longitude, *spot) > counts.apart_km for spot in spots):
            spots.append((latitude, longitude))
    postcodes, areas = dice.some(range(100, 990), len(spots)), dice.some(range(201, 990), len(spots))
    towns: list[Town] = []
    for index, (latitude, longitude) in enumerate(spots):
        least, most, streets = sizes[index]
        quarter = 2 * (latitude >= (SOUTH + NORTH) / 2) + (longitude >= (WEST + EAST) / 2)
        people = dice.between(least, most) if index else 712_000 + dice.below(400_000)
        street_names = tuple(f"{word} {dice.pick(_STREET_KINDS)}" for word in dice.some(words()["streets"], streets))
        codes = (str(postcodes[index]), str(areas[index]))
        towns.append(Town(names[index], state_names[quarter], latitude, longitude, people, *codes, street_names))
    states: list[State] = []
    for state in state_names:  # an abbreviation is the first letter and the next letter that makes it unique
        pairs = [*(state[0] + letter.upper() for letter in state[1:]), *(state[0] + letter for letter in "XYZ")]
        used = {other.abbreviation for other in states}
        capital = max((town for town in towns if town.state == state), key=lambda town: town.population)
        states.append(State(state, next(pair for pair in pairs if pair not in used), capital.name))
    kinds = [(kind, index) for kind, count in counts.landmarks.items() for index in range(count)]
    landmarks = [
        _landmark(dice, kind, word, seed, towns, index, counts)
        for (kind, index), word in zip(kinds, names[len(towns) :], strict=False)
    ]
    stadiums = [landmark for landmark in landmarks if landmark.kind == "stadium"]
    pool = words()["mascots"] + (words()["more mascots"] if scale == "large" else [])
    mascots, sports = dice.some(share(pool, seed), len(stadiums)), dice.some(counts.sports, len(stadiums))
    teams = [
        Team(f"{stadium.town} {mascot}", sport, stadium.town, stadium.name)
        for stadium, mascot, sport in zip(stadiums, mascots, sports, strict=True)
    ]
    return Country(name, tuple(states), tuple(towns), tuple(landmarks), tuple(teams), counts.towns)


def _landmark(dice: Dice, kind: str, word: str, seed: int, towns: list[Town], index: int, counts: Sizes) -> Landmark:
    """Return a landmark: airports lie outside the largest cities, stadiums in different towns, national parks outside small towns.

    Every name except an airport's contains `word`, which no other world has.
    """
    if kind in ("airport", "stadium"):
        town = towns[index]
    elif kind == "national park":
        town = dice.pick(towns[counts.towns[0] :])
    else:
        town = dice.weigh(towns[: len(counts.town_weights)], counts.town_weights)
    reach = {"airport": (5.0, 8.0), "national park": (8.0, 10.0)}.get(kind, (0.15, 1.6 if town.population > 150_000 else 0.7))
    north = east = 0.0
    while not reach[0] <= hypot(north, east) <= reach[1]:  # kilometres
        north, east = ((dice.below(20_001) / 10_000 - 1) * reach[1] for _ in range(2))
    last = dice.pick(share(words()["last names"], seed))
    name = dice.pick(words()["landmarks"][kind]).format(word=word, last=last, town=town.name)
    latitude = round(town.latitude + north / KM_PER_DEGREE, 5)
    longitude = round(town.longitude + east / (KM_PER_DEGREE * cos(radians(town.latitude))), 5)
    return Landmark(name, kind, town.name, town.state, latitude, longitude, dice.between(1820, 1990))
