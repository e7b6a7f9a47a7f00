"""The articles of a world's encyclopedia, written from its facts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Landmark, State, Team, Town
from webarena_gym.sites.country.names import invented
from webarena_gym.sites.country.texts import long_date
from webarena_gym.sites.wikipedia.markup import Section, links, whole
from webarena_gym.sites.wikipedia.world_lore import Event, Home, Lore, Person, Prize, Work

_PARAGRAPH = 4  # sentences at most


@cache
def _pool() -> dict[str, dict[str, list[str]]]:
    content: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("prose.json").read_text(encoding="utf-8"))
    return content


class _Gaps:
    """The values of the gaps of one article: a fact, one of a list of facts, or else a chance word, each but once if possible."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._used: list[str] = []
        self.facts: Mapping[str, object] = {}

    def __getitem__(self, name: str) -> object:
        if name in self.facts:
            value = self.facts[name]
            return self._dice.pick(value) if isinstance(value, list) else value
        words = _pool()["words"][name]
        word = self._dice.pick([word for word in words if word not in self._used] or words)
        self._used.append(word)
        return word


class Prose:
    """Writes the paragraphs of one article; equal dice write equal ones."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._gaps = _Gaps(dice)

    def passage(self, topic: str, most: int, **facts: object) -> str:
        """Return up to `most` sentences on a topic, in the order of the pool, a few to a paragraph.

        Sentences that need a fact which is not given are left out.
        """
        fitting = [line for line in _pool()["sentences"][topic] if _is_fitting(line, facts)]
        chosen = self._dice.some(fitting, most)
        self._gaps.facts = facts
        lines = [self._filled(line) for line in fitting if line in chosen]
        size = -(-len(lines) // (-(-len(lines) // _PARAGRAPH) or 1)) or 1
        return "\n\n".join(" ".join(lines[start : start + size]) for start in range(0, len(lines), size))

    def _filled(self, line: str) -> str:
        written = line.format_map(self._gaps)
        return written[0].upper() + written[1:]


def _is_fitting(line: str, facts: Mapping[str, object]) -> bool:
    """True if every gap of a sentence is a fact that is given, or a chance word."""
    gaps = [part.partition("}")[0] for part in line.split("{")[1:]]
    return all(gap in facts or gap in _pool()["words"] for gap in gaps)


@dataclass(frozen=True)
class Fact:
    """A line of an infobox; `number` is what the text counts, measures or dates."""

    label: str
    text: str
    number: float | None = None

    @property
    def target(self) -> str | None:
        """The title of the article that the line links to first."""
        return next(iter(links(self.text)), None)


@dataclass(frozen=True)
class Article:
    """All that one page shows."""

    title: str
    kind: str
    lead: str
    facts: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    categories: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lead and the sections in markup; sections without a body are left out."""
        return whole([Section("", self.lead), *(section for section in self.sections if section.body)])


def count(label: str, number: int, unit: str = "") -> Fact:
    """Return a fact that is a number, written with thousands separators.

    >>> count("Area", 12345, "sq km")
    Fact(label='Area', text='12,345 sq km', number=12345)
    """
    return Fact(label, f"{number:,} {unit}".strip(), number)


def year(label: str, number: int) -> Fact:
    """Return a fact that is a year."""
    return Fact(label, str(number), number)


def link(label: str, title: str) -> Fact:
    """Return a fact that is an article."""
    return Fact(label, f"[[{title}]]")


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in markup."""
    return "\n".join([f"! {' | '.join(head)}", *(f"| {' | '.join(row)}" for row in rows)])


def bullets(lines: list[str]) -> str:
    """Return a list in markup."""
    return "\n".join(f"* {line}" for line in lines)


JOINED = range(1816, 1872)  # the years in which states may have joined the country
FOUNDED = range(1641, 1816)  # of towns, before any of their landmarks
AREAS = range(14, 420)  # of towns, in square kilometers
ELEVATIONS = range(3, 610)  # of towns, in meters


def place_articles(lore: Lore) -> list[Article]:
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


MEASURES: dict[str, tuple[tuple[str, range, str], ...]] = {
    "university": (("Students", range(900, 42_000, 7), ""),),
    "museum": (("Collection", range(2_000, 90_000, 10), "objects"), ("Visitors", range(12_000, 900_000, 100), "a year")),
    "national park": (
        ("Area", range(60, 1_900), "sq km"), ("Visitors", range(15_000, 1_200_000, 100), "a year"),
        ("Highest point", range(180, 1_650), "m"),
    ),
    "stadium": (("Capacity", range(8_000, 56_000, 50), "seats"),),
    "airport": (("Passengers", range(180_000, 21_000_000, 1_000), "a year"), ("Runways", range(1, 5), "")),
    "concert hall": (("Seats", range(420, 2_800), ""), ("Organ pipes", range(1_200, 8_800), "")),
    "hospital": (("Beds", range(90, 1_400), ""),),
    "library": (("Volumes", range(30_000, 2_400_000, 100), ""),),
    "monument": (("Height", range(9, 96), "m"),),
    "bridge": (("Length", range(110, 2_900), "m"), ("Spans", range(3, 24), "")),
    "zoo": (("Species", range(120, 980), ""), ("Area", range(8, 190), "hectares")),
    "theater": (("Seats", range(180, 1_900), ""),),
}  # fmt: skip
"""Measure of each kind: the label, the possible values, the unit. No two of a kind have the same value."""

PLURALS = {
    "university": "Universities", "museum": "Museums", "national park": "National parks", "stadium": "Stadiums",
    "airport": "Airports", "concert hall": "Concert halls", "hospital": "Hospitals", "library": "Libraries",
    "monument": "Monuments", "bridge": "Bridges", "zoo": "Zoos", "theater": "Theaters",
}  # fmt: skip
OPENED = {"university": "Founded", "national park": "Established", "monument": "Unveiled", "hospital": "Founded"}
"""Label of the first year of a kind where it is not "Opened"."""

_TOPICS = {
    "university": {"History": "history", "Campus": "campus"}, "museum": {"History": "history", "Collection": "collection"},
    "national park": {"History": "history", "Nature": "nature", "Visiting": "visiting"},
    "stadium": {"History": "history", "Structure": "structure"}, "airport": {"History": "history", "Transport": "transport"},
    "concert hall": {"History": "history", "Structure": "structure"}, "hospital": {"History": "history", "Wards": "wards"},
    "library": {"History": "history", "Collection": "collection"}, "monument": {"History": "history", "Design": "design"},
    "bridge": {"History": "history", "Design": "design"}, "zoo": {"History": "history", "Animals": "animals"},
    "theater": {"History": "history", "Structure": "structure"},
}  # fmt: skip
_LATEST = 2015


def landmark_articles(lore: Lore) -> list[Article]:
    """Return an article for each landmark, in the order of the country's."""
    dice = Dice(f"wikipedia/landmarks/{lore.seed}")
    written = []
    for kind, measures in MEASURES.items():
        landmarks = [landmark for landmark in lore.country.landmarks if landmark.kind == kind]
        values = [dice.some(possible, len(landmarks)) for _, possible, _ in measures]
        for index, landmark in enumerate(landmarks):
            measured = [count(label, column[index], unit) for (label, _, unit), column in zip(measures, values, strict=True)]
            written.append(_landmark(lore, landmark, measured))
    return written


def _landmark(lore: Lore, landmark: Landmark, measured: list[Fact]) -> Article:
    dice = Dice(f"wikipedia/article/{lore.seed}/{landmark.name}")
    prose = Prose(dice)
    kind = landmark.kind
    special, sections = _specials(lore, landmark, dice)
    facts = {
        "title": landmark.name, "town": landmark.town, "state": landmark.state, "opened": landmark.opened,
        "soon": landmark.opened + dice.between(3, 24),
        "later": list(range(landmark.opened + 5, _LATEST)),
        **{fact.label.lower(): f"{fact.number:,}" for fact in measured},
        "form": next((fact.text for fact in special if fact.label == "Type"), ""),
    }  # fmt: skip
    century = f"{(landmark.opened - 1) // 100 + 1}th"
    return Article(
        title=landmark.name,
        kind=kind,
        lead=f"{prose.passage(f'{kind}.opening', 1, **facts)} {prose.passage(f'{kind}.lead', 3, **facts)}",
        facts=(
            link("Nearest town" if kind == "national park" else "Town", landmark.town), link("State", landmark.state),
            year(OPENED.get(kind, "Opened"), landmark.opened), *measured, *special,
        ),
        sections=(
            *(Section(heading, prose.passage(f"{kind}.{topic}", 6, **facts)) for heading, topic in _TOPICS[kind].items()),
            *sections,
            Section("Films shot here", bullets(_works(lore, "film", landmark))),
            Section("Albums recorded here", bullets(_works(lore, "album", landmark))),
            Section("See also", bullets([f"[[List of {PLURALS[kind].lower()} in {lore.country.name}]]"])),
        ),
        categories=(PLURALS[kind], f"Places in {landmark.state}", f"{century}-century establishments"),
        aliases=(f"{landmark.town} Airport",) if kind == "airport" else (),
    )  # fmt: skip


def _works(lore: Lore, kind: str, landmark: Landmark) -> list[str]:
    """Return a line for each work of a kind that was made at a landmark."""
    return [f"[[{work.title}]] ({work.year})" for work in lore.works if (work.kind, work.place) == (kind, landmark.name)]


def _specials(lore: Lore, landmark: Landmark, dice: Dice) -> tuple[list[Fact], list[Section]]:
    """Return the facts and sections that only one kind of landmark has."""
    match landmark.kind:
        case "university":
            alumni = [person for person in lore.people if person.university == landmark.name]
            winners = [person for person in alumni if person.prizes]
            lines = [f"[[{person.name}]], {person.calling}" for person in alumni]
            told = [Fact("Prize winners", str(len(winners)), len(winners))] if lore.sizes.counts_winners else []
            return told, [Section("Alumni", bullets(lines))]
        case "stadium":
            tenants = [
                f"[[{team}]], from {home.since}"
                for team, homes in lore.homes.items()
                for home in homes
                if home.stadium == landmark.name
            ]
            teams = [team.name for team in lore.country.teams if team.stadium == landmark.name]
            return [link("Home team", name) for name in teams], [Section("Teams", bullets(tenants))]
        case "monument":
            event = lore.memorials.get(landmark.name)
            return [link("Commemorates", event.title)] if event else [], []
        case "bridge":
            return [Fact("Type", dice.pick(("arch", "suspension", "cantilever", "truss", "cable-stayed")))], []
        case "airport":
            return [Fact("Code", (landmark.town[:2] + landmark.town[-1]).upper())], []
    return [], []


_FIELD_LABELS = {"scientist": "Field", "athlete": "Sport"}
_WORKS = {"novel": "Novels", "album": "Albums", "film": "Films"}


def biography_articles(lore: Lore) -> list[Article]:
    """Return an article for each person."""
    return [_biography(lore, person) for person in lore.people]


def _biography(lore: Lore, person: Person) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{person.name}"))
    life = f"{person.born.year} to {person.died.year}" if person.died else f"born {person.born.year}"
    facts: dict[str, object] = {
        "title": person.name, "last": person.last, "life": life, "was": "was" if person.died else "is",
        "town": person.birthplace.name, "born": _day(person.born),
    }  # fmt: skip
    if person.field:
        facts["field"] = person.field
    if person.university:
        facts["university"] = person.university
    calling = person.calling
    return Article(
        title=person.name,
        kind=calling,
        lead=f"{prose.passage(f'person.{calling}.opening', 1, **facts)} {prose.passage('person.lead', 2, **facts)}",
        facts=tuple(_facts(lore, person)),
        sections=(
            Section(
                "Early life", _joined(prose.passage("person.youth", 5, **facts), prose.passage("person.study", 1, **facts))
            ),
            Section("Career", prose.passage(f"person.{calling}.work", 6, **facts)),
            Section("Personal life", prose.passage("person.life", 4, **facts)),
            *_lists(lore, person),
        ),
        categories=tuple(_categories(person)),
        aliases=(f"{person.last}, {person.first}",),
    )


def _facts(lore: Lore, person: Person) -> list[Fact]:
    offices = [place for place, holder in lore.offices.items() if holder is person]
    return [
        Fact("Born", _day(person.born), person.born.year),
        link("Birthplace", person.birthplace.name),
        *([Fact("Died", _day(person.died), person.died.year)] if person.died else []),
        Fact("Occupation", person.calling.capitalize()),
        *([Fact(_FIELD_LABELS.get(person.calling, "Genre"), person.field.capitalize())] if person.field else []),
        *([link("Alma mater", person.university)] if person.university else []),
        *(Fact("Governs", f"[[{place}]]") for place in offices),
        *(Fact("Award", f"[[{prize}]] ({year})", year) for prize, year in person.prizes),
    ]


def _lists(lore: Lore, person: Person) -> list[Section]:
    """Return the sections that enumerate works, roles and honors."""
    made = [
        Section(
            heading,
            bullets([f"[[{work.title}]] ({work.year})" for work in lore.works if work.maker is person and work.kind == kind]),
        )
        for kind, heading in _WORKS.items()
    ]
    played = sorted((work for work in lore.works if person in work.cast), key=lambda work: (work.year, work.title))
    roles = [f"[[{work.title}]] ({work.year}), directed by [[{work.maker.name}]]" for work in played]
    honors = [f"[[{prize}]], {year}" for prize, year in person.prizes]
    return [*made, Section("Films as an actor", bullets(roles)), Section("Honors", bullets(honors))]


def _categories(person: Person) -> list[str]:
    return [
        f"{person.calling.capitalize()}s",
        f"People from {person.birthplace.name}",
        f"{person.born.year // 10 * 10}s births",
        *([] if person.died else ["Living people"]),
        *([f"Alumni of {person.university}"] if person.university else []),
        *(f"Winners of the {prize}" for prize, _ in person.prizes),
    ]


def _day(day: object) -> str:
    return long_date(str(day))


def _joined(*paragraphs: str) -> str:
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


_FORMS = ("{} Company", "{} Works", "{} Brothers", "{} Industries", "{} Manufacturing")
_FOUNDED, _EMPLOYEES, _REVENUES = range(1834, 1996), range(140, 21_000, 10), range(12, 980)


def company_articles(lore: Lore) -> list[Article]:
    """Return an article for each company; no two were founded in one year or have equally many employees."""
    dice = Dice(f"wikipedia/companies/{lore.seed}")
    columns = [dice.some(values, lore.sizes.companies) for values in (_FOUNDED, _EMPLOYEES, _REVENUES)]
    return [_company(lore, index, *row) for index, row in enumerate(zip(*columns, strict=True))]


def _company(lore: Lore, index: int, founded: int, employees: int, revenue: int) -> Article:
    dice = Dice(f"wikipedia/company/{lore.seed}/{index}")
    prose = Prose(dice)
    brand = invented(lore.seed, index, "brand", lore.scale)
    name = dice.pick(_FORMS).format(brand)
    town = dice.weigh(lore.country.towns, lore.country.weights(8, 4, 1))
    facts = {
        "title": name, "brand": brand, "town": town.name, "state": town.state, "founded": founded, "employees": f"{employees:,}",
        "later": list(range(founded + 4, 2016)),
    }  # fmt: skip
    return Article(
        title=name,
        kind="company",
        lead=f"{prose.passage('company.opening', 1, **facts)} {prose.passage('company.lead', 3, **facts)}",
        facts=(
            link("Headquarters", town.name), link("State", town.state), year("Founded", founded), count("Employees", employees),
            count("Revenue", revenue, "million dollars a year"),
        ),
        sections=(
            Section("History", prose.passage("company.history", 5, **facts)),
            Section("Work", prose.passage("company.work", 5, **facts)),
            Section("See also", bullets([f"[[List of companies in {lore.country.name}]]"])),
        ),
        categories=("Companies", f"Companies in {town.state}"),
        aliases=(brand,),
    )  # fmt: skip


LABELS = {
    "film": ("Directed by", "Released", "Running time", "min", "Filmed in"),
    "novel": ("Author", "Published", "Pages", "", "Set in"),
    "album": ("Artist", "Released", "Length", "min", "Recorded in"),
}
"""The labels of maker, year and length, the unit of the length, and the label of the place, by kind of work."""

_WORK_TOPICS = {
    "film": {"Plot": "plot", "Production": "production", "Reception": "reception"},
    "novel": {"Plot": "plot", "Reception": "reception"},
    "album": {"Recording": "recording", "Reception": "reception"},
}


def work_articles(lore: Lore) -> list[Article]:
    """Return an article for each work, then the filmographies."""
    directors = [person for person in lore.people if person.calling == "film director"]
    return [*(_creation(lore, work) for work in lore.works), *(_filmography(lore, person) for person in directors)]


def filmography_title(director: str) -> str:
    """Return the title of the list of a director's films."""
    return f"List of films directed by {director}"


def _creation(lore: Lore, work: Work) -> Article:
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
            *(Section(heading, prose.passage(f"{work.kind}.{topic}", 6, **facts)) for heading, topic in _WORK_TOPICS[work.kind].items()),
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


_TOLLS = {
    "battle": "Casualties",
    "disaster": "Deaths",
    "festival": "Visitors in thousands",
    "exposition": "Visitors in thousands",
}
_HEADINGS = {"battle": "Course", "disaster": "Course", "festival": "Program", "exposition": "Exhibits"}
_COLORS = ("red", "blue", "green", "black", "white", "gold", "orange", "purple")


def event_articles(lore: Lore) -> list[Article]:
    """Return all of them."""
    return [
        *(_event(lore, event) for event in lore.events),
        *(_prize(lore, prize) for prize in lore.prizes),
        *(_team(lore, team) for team in lore.country.teams),
    ]


def _event(lore: Lore, event: Event) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{event.title}"))
    kind = event.kind
    facts = {
        "title": event.title, "town": event.town.name, "state": event.town.state, "day": long_date(str(event.day)), "toll": event.toll,
    }  # fmt: skip
    winners = [
        f"[[{work.title}]] by [[{work.maker.name}]], {won}"
        for work in lore.works
        for prize, won in work.awards
        if prize == event.title
    ]
    return Article(
        title=event.title,
        kind=kind,
        lead=f"{prose.passage(f'{kind}.opening', 1, **facts)} {prose.passage(f'{kind}.lead', 2, **facts)}",
        facts=(
            Fact("First held" if kind == "festival" else "Date", str(facts["day"]), event.day.year),
            link("Location", event.town.name), link("State", event.town.state), Fact(_TOLLS[kind], str(event.toll), event.toll),
        ),
        sections=(
            Section(_HEADINGS[kind], prose.passage(f"{kind}.course", 6, **facts)),
            Section("Winning films", bullets(winners)),
        ),
        categories=(f"{kind.capitalize()}s", f"Events in {event.town.state}"),
    )  # fmt: skip


def _prize(lore: Lore, prize: Prize) -> Article:
    prose = Prose(Dice(f"wikipedia/article/{lore.seed}/{prize.name}"))
    facts = {"title": prize.name, "country": lore.country.name, "founded": prize.founded}
    rows = [[str(won), f"[[{winner.name}]]"] for won, winner in prize.winners]
    return Article(
        title=prize.name,
        kind="prize",
        lead=f"{prose.passage('prize.opening', 1, **facts)} {prose.passage('prize.lead', 2, **facts)}",
        facts=(
            link("Country", lore.country.name), year("First given", prize.founded), Fact("Given to", f"{prize.calling.capitalize()}s"),
            Fact("Times given", str(len(rows)), len(rows)),
        ),
        sections=(Section("History", prose.passage("prize.history", 3, **facts)), Section("Winners", table(["Year", "Winner"], rows))),
        categories=("Prizes",),
    )  # fmt: skip


def _team(lore: Lore, team: Team) -> Article:
    dice = Dice(f"wikipedia/article/{lore.seed}/{team.name}")
    prose = Prose(dice)
    homes = lore.homes[team.name]
    founded = homes[0].since
    facts = {
        "title": team.name, "sport": team.sport, "town": team.town, "state": lore.country.town(team.town).state,
        "founded": founded, "colors": " and ".join(dice.some(_COLORS, 2)),
    }  # fmt: skip
    ends: list[Home | None] = [*homes[1:], None]
    years = [f"{home.since} to {end.since}" if end else f"since {home.since}" for home, end in zip(homes, ends, strict=True)]
    rows = [[span, f"[[{home.stadium}]]"] for span, home in zip(years, homes, strict=True)]
    return Article(
        title=team.name,
        kind="team",
        lead=f"{prose.passage('team.opening', 1, **facts)} {prose.passage('team.lead', 2, **facts)}",
        facts=(
            Fact("Sport", team.sport.capitalize()), link("Town", team.town), year("Founded", founded),
            Fact("Home stadium", f"[[{team.stadium}]] ({years[-1]})", homes[-1].since),
            *(Fact("Former stadium", f"[[{home.stadium}]] ({span})", home.since) for home, span in zip(homes[:-1], years, strict=False)),
            Fact("Colors", str(facts["colors"]).capitalize()),
        ),
        sections=(
            Section("History", prose.passage("team.history", 3, **facts)),
            Section("Home stadiums", table(["Years", "Stadium"], rows)),
            Section("Supporters", prose.passage("team.supporters", 3, **facts)),
        ),
        categories=("Teams", f"{team.sport.capitalize()} teams"),
        aliases=(team.name.removeprefix(team.town).strip(),),
    )  # fmt: skip
