"""The battles, disasters and festivals of the encyclopedia; all of them happened in towns."""

from dataclasses import dataclass
from datetime import date, timedelta

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Country, Town
from webarena_gym.sites.wikipedia.world.sizes import SIZES, Sizes

_FORMS = (
    ("battle", "Battle of {town}", 1745, 1815),
    ("disaster", "{year} {town} air crash", 1938, 1994),
    ("disaster", "Great Fire of {town}", 1825, 1905),
    ("festival", "{town} Film Festival", 1949, 1992),
    ("disaster", "{year} {town} flood", 1870, 2012),
    ("exposition", "{year} {town} World Exposition", 1880, 1968),
    ("battle", "Siege of {town}", 1745, 1815),
    ("festival", "{town} Jazz Festival", 1955, 1998),
    ("disaster", "{year} {town} railway accident", 1862, 1988),
)


@dataclass(frozen=True)
class Event:
    """Something that happened, or that happens every year since `day`."""

    title: str
    kind: str
    town: Town
    day: date
    toll: int  # casualties, deaths, or visitors in thousands


def draw(seed: int, country: Country, sizes: Sizes = SIZES["standard"]) -> list[Event]:
    """Return the events of a world, each in a town of its own."""
    dice = Dice(f"wikipedia/events/{seed}")
    towns = dice.some(country.towns, sizes.events)
    tolls = dice.some(range(12, 900), sizes.events)
    return [_event(dice, *_FORMS[index % len(_FORMS)], town, tolls[index]) for index, town in enumerate(towns)]


def _event(dice: Dice, kind: str, form: str, first: int, last: int, town: Town, toll: int) -> Event:
    day = date(dice.between(first, last), 1, 1) + timedelta(days=dice.below(365))
    return Event(form.format(town=town.name, year=day.year), kind, town, day, toll)
