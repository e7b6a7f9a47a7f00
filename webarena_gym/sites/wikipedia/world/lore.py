"""Everything that the articles of one world tell, before a word of it is written."""

from dataclasses import dataclass
from datetime import date

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Country, Team, country
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.wikipedia.world import events, people, works
from webarena_gym.sites.wikipedia.world.events import Event
from webarena_gym.sites.wikipedia.world.people import Person, Prize
from webarena_gym.sites.wikipedia.world.sizes import SIZES, Sizes
from webarena_gym.sites.wikipedia.world.works import Work


@dataclass(frozen=True)
class Home:
    """A stadium where a team played at home from the beginning of a decade on."""

    stadium: str
    since: int


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
    homes: dict[str, list[Home]]  # by the name of a team, the present one last
    memorials: dict[str, Event]  # by the name of a monument: what it commemorates, each something else

    @property
    def sizes(self) -> Sizes:
        """The numbers that the world goes by."""
        return SIZES[self.scale]


def draw(seed: int, today: date, scale: Scale = "standard") -> Lore:
    """Return the lore of a world."""
    land, sizes = country(seed, scale), SIZES[scale]
    happened = events.draw(seed, land, sizes)
    lives, prizes = people.draw(seed, land, today, scale)
    festivals = [event for event in happened if event.title.endswith("Film Festival")]
    return Lore(
        seed=seed,
        scale=scale,
        country=land,
        people=lives,
        prizes=prizes,
        works=works.draw(seed, land, lives, festivals, scale),
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


def _homes(dice: Dice, team: Team, land: Country) -> list[Home]:
    """Return where a team has played: at one or two stadiums of others that stood by then, at last at its own."""
    opened = {each.name: -(-max(each.opened, 1930) // 10) * 10 for each in land.landmarks if each.kind == "stadium"}
    others = dice.some([name for name in opened if name != team.stadium], 2)
    oldest, older = sorted(others, key=lambda name: opened[name])
    since = opened[older] + 10 * dice.below(2)
    homes = [Home(older, since), Home(team.stadium, max(since + 10 * dice.between(1, 2), opened[team.stadium]))]
    if opened[oldest] < since:
        homes.insert(0, Home(oldest, max(opened[oldest], since - 10 * dice.between(1, 2))))
    return homes
