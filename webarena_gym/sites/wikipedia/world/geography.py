"""The articles on the country, its states and its towns."""

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import State, Town
from webarena_gym.sites.wikipedia.markup import Section
from webarena_gym.sites.wikipedia.world.article import Article, Fact, bullets, count, link, year
from webarena_gym.sites.wikipedia.world.lore import Lore
from webarena_gym.sites.wikipedia.world.prose import Prose

JOINED = range(1816, 1872)  # the years in which states may have joined the country
FOUNDED = range(1641, 1816)  # of towns, before any of their landmarks
AREAS = range(14, 420)  # of towns, in square kilometers
ELEVATIONS = range(3, 610)  # of towns, in meters


def articles(lore: Lore) -> list[Article]:
    """Return all of them, the country's first."""
    dice = Dice(f"wikipedia/geography/{lore.seed}")
    land = lore.country
    joined = dice.some(JOINED, len(land.states))
    measures = [dice.some(pool, len(land.towns)) for pool in (FOUNDED, AREAS, ELEVATIONS)]
    return [
        _country(lore, min(joined)),
        *(_state(lore, state, when) for state, when in zip(land.states, joined, strict=True)),
        *(_town(lore, town, *row) for town, *row in zip(land.towns, *measures, strict=True)),
    ]


def _leader(lore: Lore, label: str, place: str) -> list[Fact]:
    """Return the line with the one who governs a place, if anybody does."""
    return [link(label, lore.offices[place].name)] if place in lore.offices else []


def _country(lore: Lore, joined: int) -> Article:
    land = lore.country
    people = sum(town.population for town in land.towns)
    capital = land.towns[0].name
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{land.name}"))
    facts = {
        "title": land.name,
        "states": len(land.states),
        "joined": joined,
        "capital": f"[[{capital}]]",
        "population": f"{people:,}",
    }
    return Article(
        title=land.name,
        kind="country",
        lead=f"{prose.passage('country.opening', 1, **facts)} {prose.passage('country.lead', 2, **facts)}",
        facts=(
            link("Capital", capital), *_leader(lore, "President", land.name), count("Population", people),
            count("States", len(land.states)), count("Towns", len(land.towns)), year("Union", joined),
        ),
        sections=(
            Section("History", prose.passage("country.history", 5, **facts)),
            Section("Geography", prose.passage("country.geography", 4, **facts)),
            Section("Economy", prose.passage("country.economy", 3, **facts)),
            Section("States", bullets([f"[[{state.name}]], capital [[{state.capital}]]" for state in land.states])),
            Section("Lists", bullets([f"[[List of towns in {land.name}]]", f"[[List of national parks in {land.name}]]",
                                      f"[[List of universities in {land.name}]]"])),
        ),
        categories=("Countries",),
    )  # fmt: skip


def _state(lore: Lore, state: State, joined: int) -> Article:
    towns = [town for town in lore.country.towns if town.state == state.name]
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{state.name}"))
    facts = {
        "title": state.name, "country": lore.country.name, "states": len(lore.country.states), "towns": len(towns),
        "capital": state.capital, "abbreviation": state.abbreviation, "joined": joined,
    }  # fmt: skip
    return Article(
        title=state.name,
        kind="state",
        lead=f"{prose.passage('state.opening', 1, **facts)} {prose.passage('state.lead', 3, **facts)}",
        facts=(
            link("Capital", state.capital), Fact("Abbreviation", state.abbreviation), *_leader(lore, "Governor", state.name),
            count("Population", sum(town.population for town in towns)), count("Towns", len(towns)),
            year("Joined the union", joined), link("Country", lore.country.name),
        ),
        sections=(
            Section("History", prose.passage("state.history", 6, **facts)),
            Section("Geography", prose.passage("state.geography", 6, **facts)),
            Section("Culture", prose.passage("state.culture", 4, **facts)),
            Section("Towns", bullets([f"[[{name}]]" for name in sorted(town.name for town in towns)])),
            Section("Places of interest", bullets(_sights(lore, state=state.name))),
        ),
        categories=(f"States of {lore.country.name}",),
        aliases=(state.abbreviation, f"State of {state.name}"),
    )  # fmt: skip


def _town(lore: Lore, town: Town, founded: int, area: int, height: int) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{town.name}"))
    facts = {
        "title": town.name, "state": town.state, "country": lore.country.name, "population": f"{town.population:,}",
        "founded": founded, "elevation": height, "railway": 1846 + founded % 37, "rebuilt": 1903 + area % 91,
    }  # fmt: skip
    natives = [f"[[{person.name}]], {person.calling}" for person in lore.people if person.birthplace is town]
    capital_of = [state.name for state in lore.country.states if state.capital == town.name]
    return Article(
        title=town.name,
        kind="town",
        lead=f"{prose.passage('town.opening', 1, **facts)} {prose.passage('town.lead', 3, **facts)}"
        + "".join(f" It is the capital of [[{name}]]." for name in capital_of),
        facts=(
            link("State", town.state), count("Population", town.population), year("Founded", founded),
            count("Area", area, "sq km"), count("Elevation", height, "m"), *_leader(lore, "Mayor", town.name),
            Fact("Area code", town.area_code, int(town.area_code)), Fact("Postal codes", f"{town.postcode}00 to {town.postcode}99"),
        ),
        sections=(
            Section("History", prose.passage("town.history", 7, **facts)),
            Section("Geography", prose.passage("town.geography", 6, **facts)),
            Section("Economy", prose.passage("town.economy", 5, **facts)),
            Section("Culture", prose.passage("town.culture", 5, **facts)),
            Section("Places of interest", bullets(_sights(lore, town=town.name))),
            Section("Events", bullets([f"[[{event.title}]]" for event in lore.events if event.town is town])),
            Section("Notable people", bullets(natives)),
        ),
        categories=("Towns", f"Towns in {town.state}", *(["Capitals"] if capital_of else [])),
    )  # fmt: skip


def _sights(lore: Lore, *, town: str = "", state: str = "") -> list[str]:
    """Return a line for each landmark of a town or a state."""
    found = [each for each in lore.country.landmarks if town in ("", each.town) and state in ("", each.state)]
    return [f"[[{each.name}]], {each.kind}" for each in found]
