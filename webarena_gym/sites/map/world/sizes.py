"""How much the map of a world has, at each scale."""

from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.country.scales import Scale


@dataclass(frozen=True)
class Sizes:
    """The numbers that the map's generator goes by."""

    mappers: int
    notes: int
    phones: int
    first_chain: int  # brand words below it belong to the shop
    percents: tuple[int, int, int]  # of the usual number of places in a city, a town and a village
    bare_percent: int  # branches that are called like their chain and nothing else; others say their street
    is_unique: bool  # whether a name is given once in the country, or once in a town
    alias_percent: int  # landmarks that people also call by another name
    settings: tuple[tuple[str, str], ...] = ()  # further rows of the table `world`


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        mappers=24, notes=60, phones=2_000, first_chain=64, percents=(100, 100, 100), bare_percent=0, is_unique=True,
        alias_percent=0,
    ),
    "large": Sizes(
        mappers=150, notes=500, phones=6_500, first_chain=200, percents=(320, 300, 225), bare_percent=60, is_unique=False,
        alias_percent=70, settings=(("names", "shared"),),
    ),
}  # fmt: skip

SINGLE = ("tax office", "town hall", "police station", "bus station")
"""The kinds of places of which a town has no more in a large world than in others."""

ALIASES = {
    "university": ("{first} U", "The {town} College", "{first} Uni"), "museum": ("The {first}", "{town} Museum", "The Old {first}"),
    "national park": ("{first} Wilds", "The {first} Woods"), "stadium": ("The {first} Bowl", "{town} Stadium"),
    "airport": ("{town} Airport", "{town} Airfield"), "concert hall": ("The {first}", "{town} Philharmonic"),
    "hospital": ("{town} Infirmary", "The {first} Clinic"), "library": ("{town} Central Library", "The {first} Stacks"),
    "monument": ("The {town} Column", "The {first} Stone"), "bridge": ("The {town} Crossing", "Old {first}"),
    "zoo": ("{town} Zoo", "The {first} Gardens"), "theater": ("The {first}", "{town} Stage"),
}  # fmt: skip
"""What people call landmarks besides their names."""
