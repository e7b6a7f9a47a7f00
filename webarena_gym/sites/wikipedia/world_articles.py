"""The articles of a world's encyclopedia, written from its facts with the outlines and sentences of prose.json."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Landmark, State, Team, Town
from webarena_gym.sites.country.names import invented_word
from webarena_gym.sites.country.texts import long_date
from webarena_gym.sites.wikipedia.markup import Section, links, whole
from webarena_gym.sites.wikipedia.world_lore import Event, Lore, Person, Prize, Work, pool

_PARAGRAPH = 4  # largest number of sentences


class Prose:
    """Writes the paragraphs of one article.

    Indexing returns the value of a slot: a fact, a random one of a list of facts, or else a random word, which is not repeated unless
    all have been used.
    """

    def __init__(self, dice: Dice, facts: Mapping[str, object]) -> None:
        self._dice, self._facts = dice, facts
        self._used: list[str] = []

    def __getitem__(self, name: str) -> object:
        if name in self._facts:
            value = self._facts[name]
            return self._dice.pick(value) if isinstance(value, list) else value
        words = pool()["words"][name]
        self._used.append(self._dice.pick([word for word in words if word not in self._used] or words))
        return self._used[-1]

    def passage(self, topic: str, most: int) -> str:
        """Draw up to `most` sentences on a topic, and return them in the order of the pool, in paragraphs of at most four.

        Sentences with slots for facts that the article does not have are left out.
        """
        slots = {*self._facts, *pool()["words"]}
        fitting = [
            line for line in pool()["sentences"][topic] if all(part.partition("}")[0] in slots for part in line.split("{")[1:])
        ]
        chosen = self._dice.some(fitting, most)
        lines = [line.format_map(self) for line in fitting if line in chosen]
        lines = [line[0].upper() + line[1:] for line in lines]
        size = -(-len(lines) // (-(-len(lines) // _PARAGRAPH) or 1)) or 1
        return "\n\n".join(" ".join(lines[start : start + size]) for start in range(0, len(lines), size))


class Fact(NamedTuple):
    """A line of an infobox. `number` is the number, measure or year in the text, if it has one."""

    label: str
    text: str
    number: float | None = None

    @property
    def target(self) -> str | None:
        """Title of the first article that the line links to."""
        return next(iter(links(self.text)), None)


class Article(NamedTuple):
    """An article. `text` is markup, `facts` are the lines of the infobox, `aliases` other titles that lead to it."""

    title: str
    kind: str
    text: str
    categories: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    aliases: tuple[str, ...] = ()


def document(lead: str, sections: Mapping[str, str]) -> str:
    """Return markup with a lead and sections, given as bodies by heading. Sections with an empty body are left out."""
    return whole([Section("", lead), *(Section(heading, body) for heading, body in sections.items() if body)])


def _text(
    kind: str, dice: Dice, facts: Mapping[str, object], lists: Mapping[str, Sequence[str] | str] | None = None, more: str = ""
) -> str:
    """Return the text of an article.

    Args:
        kind: Kind of article. Its outline in prose.json contains the sections, with the number of sentences, 0 for sections of `lists`.
        dice: Stream of random draws.
        facts: Values of slots.
        lists: Items, or tables in markup, by section.
        more: Sentences at the end of the lead.

    """
    prose, outline = Prose(dice, facts), pool()["outlines"][kind]
    lead = f"{prose.passage(f'{kind}.opening', 1)} {prose.passage(f'{kind}.lead', outline['lead'])}{more}"
    sections = {}
    for heading, most in outline.items():
        if heading != "lead":
            items = (lists or {}).get(heading, "")
            text = items if isinstance(items, str) else bullets(items)
            sections[heading] = prose.passage(f"{kind}.{heading.lower()}", most) if most else text
    return document(lead, sections)


def count(label: str, number: int, unit: str = "") -> Fact:
    """Return a fact with a number, formatted with thousands separators.

    >>> count("Area", 12345, "sq km")
    Fact(label='Area', text='12,345 sq km', number=12345)
    """
    return Fact(label, f"{number:,} {unit}".strip(), number)


def year(label: str, number: int) -> Fact:
    """Return a fact with a year."""
    return Fact(label, str(number), number)


def link(label: str, title: str) -> Fact:
    """Return a fact with a link to an article."""
    return Fact(label, f"[[{title}]]")


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table with a header row in markup."""
    return "\n".join([f"! {' | '.join(head)}", *(f"| {' | '.join(row)}" for row in rows)])


def bullets(lines: Sequence[str]) -> str:
    """Return a list in markup."""
    return "\n".join(f"* {line}" for line in lines)


JOINED = range(1816, 1872)  # years in which states joined the country
FOUNDED = range(1641, 1816)  # years in which towns were founded, before all landmarks
AREAS = range(14, 420)  # areas of towns in square kilometers
ELEVATIONS = range(3, 610)  # elevations of towns in meters


def draw_articles(lore: Lore) -> list[Article]:
    """Draw the articles of a world on places, people, works, companies, events, prizes and teams."""
    seed, land = lore.seed, lore.country
    dice = Dice(f"wikipedia/geography/{seed}")
    joined = dice.some(JOINED, len(land.states))
    town_columns = [dice.some(values, len(land.towns)) for values in (FOUNDED, AREAS, ELEVATIONS)]
    articles = [
        _country(lore, min(joined)),
        *(_state(lore, state, when) for state, when in zip(land.states, joined, strict=True)),
        *(_town(lore, town, *row) for town, *row in zip(land.towns, *town_columns, strict=True)),
    ]
    dice = Dice(f"wikipedia/landmarks/{seed}")
    for kind, entry in pool()["landmarks"].items():
        landmarks = [landmark for landmark in land.landmarks if landmark.kind == kind]
        columns = [dice.some(range(*limits), len(landmarks)) for _, *limits, _ in entry["measures"]]  # all values differ
        for landmark, *values in zip(landmarks, *columns, strict=True):
            measures = [count(row[0], value, row[-1]) for row, value in zip(entry["measures"], values, strict=True)]
            articles.append(_landmark(lore, landmark, measures))
    articles += [_biography(lore, person) for person in lore.people]
    articles += [_creation(lore, work) for work in lore.works]
    articles += [_filmography(lore, person) for person in lore.people if person.calling == "film director"]
    dice = Dice(f"wikipedia/companies/{seed}")
    columns = [dice.some(values, lore.sizes.companies) for values in (_FOUNDED, _EMPLOYEES, _REVENUES)]
    articles += [_company(lore, index, *row) for index, row in enumerate(zip(*columns, strict=True))]
    articles += [_event(lore, event) for event in lore.events]
    articles += [_prize(lore, prize) for prize in lore.prizes]
    return articles + [_team(lore, team) for team in land.teams]


def _dice(lore: Lore, title: str) -> Dice:
    return Dice(f"wikipedia/article/{lore.seed}/{title}")


def _leader(lore: Lore, label: str, place: str) -> list[Fact]:
    """Return the line with the person who governs a place, if there is one."""
    return [link(label, lore.offices[place].name)] if place in lore.offices else []


def _country(lore: Lore, joined: int) -> Article:
    land = lore.country
    people, capital = sum(town.population for town in land.towns), land.towns[0].name
    facts = {
        "title": land.name, "states": len(land.states), "joined": joined, "capital": f"[[{capital}]]", "population": f"{people:,}",
    }  # fmt: skip
    lists = {
        "States": [f"[[{state.name}]], capital [[{state.capital}]]" for state in land.states],
        "Lists": [f"[[List of {kind} in {land.name}]]" for kind in ("towns", "national parks", "universities")],
    }
    box = (
        link("Capital", capital), *_leader(lore, "President", land.name), count("Population", people),
        count("States", len(land.states)), count("Towns", len(land.towns)), year("Union", joined),
    )  # fmt: skip
    return Article(land.name, "country", _text("country", _dice(lore, land.name), facts, lists), ("Countries",), box)


def _state(lore: Lore, state: State, joined: int) -> Article:
    land = lore.country
    towns = [town for town in land.towns if town.state == state.name]
    facts = {
        "title": state.name, "country": land.name, "states": len(land.states), "towns": len(towns), "capital": state.capital,
        "abbreviation": state.abbreviation, "joined": joined,
    }  # fmt: skip
    lists = {
        "Towns": [f"[[{name}]]" for name in sorted(town.name for town in towns)],
        "Places of interest": [
            f"[[{landmark.name}]], {landmark.kind}" for landmark in land.landmarks if landmark.state == state.name
        ],
    }
    box = (
        link("Capital", state.capital), Fact("Abbreviation", state.abbreviation), *_leader(lore, "Governor", state.name),
        count("Population", sum(town.population for town in towns)), count("Towns", len(towns)),
        year("Joined the union", joined), link("Country", land.name),
    )  # fmt: skip
    text = _text("state", _dice(lore, state.name), facts, lists)
    return Article(state.name, "state", text, (f"States of {land.name}",), box, (state.abbreviation, f"State of {state.name}"))


def _town(lore: Lore, town: Town, founded: int, area: int, height: int) -> Article:
    land = lore.country
    facts = {
        "title": town.name, "state": town.state, "country": land.name, "population": f"{town.population:,}",
        "founded": founded, "elevation": height, "railway": 1846 + founded % 37, "rebuilt": 1903 + area % 91,
    }  # fmt: skip
    lists = {
        "Places of interest": [
            f"[[{landmark.name}]], {landmark.kind}" for landmark in land.landmarks if landmark.town == town.name
        ],
        "Events": [f"[[{event.title}]]" for event in lore.events if event.town is town],
        "Notable people": [f"[[{person.name}]], {person.calling}" for person in lore.people if person.birthplace is town],
    }
    capital_of = [state.name for state in land.states if state.capital == town.name]
    box = (
        link("State", town.state), count("Population", town.population), year("Founded", founded), count("Area", area, "sq km"),
        count("Elevation", height, "m"), *_leader(lore, "Mayor", town.name), Fact("Area code", town.area_code, int(town.area_code)),
        Fact("Postal codes", f"{town.postcode}00 to {town.postcode}99"),
    )  # fmt: skip
    more = "".join(f" It is the capital of [[{name}]]." for name in capital_of)
    categories = ("Towns", f"Towns in {town.state}", *(["Capitals"] if capital_of else []))
    return Article(town.name, "town", _text("town", _dice(lore, town.name), facts, lists, more), categories, box)


_LATEST = 2015


def _landmark(lore: Lore, landmark: Landmark, measures: list[Fact]) -> Article:
    dice, kind, entry = _dice(lore, landmark.name), landmark.kind, pool()["landmarks"][landmark.kind]
    special, lists = _specials(lore, landmark, dice)
    facts = {
        "title": landmark.name, "town": landmark.town, "state": landmark.state, "opened": landmark.opened,
        "soon": landmark.opened + dice.between(3, 24),
        "later": list(range(landmark.opened + 5, _LATEST)),
        **{fact.label.lower(): f"{fact.number:,}" for fact in measures},
        "form": next((fact.text for fact in special if fact.label == "Type"), ""),
    }  # fmt: skip
    for heading, made in (("Films shot here", "film"), ("Albums recorded here", "album")):
        works = [work for work in lore.works if (work.kind, work.place) == (made, landmark.name)]
        lists[heading] = [f"[[{work.title}]] ({work.year})" for work in works]
    lists["See also"] = [f"[[List of {entry['plural'].lower()} in {lore.country.name}]]"]
    century = f"{(landmark.opened - 1) // 100 + 1}th"
    box = (
        link("Nearest town" if kind == "national park" else "Town", landmark.town), link("State", landmark.state),
        year(entry.get("opened", "Opened"), landmark.opened), *measures, *special,
    )  # fmt: skip
    categories = (entry["plural"], f"Places in {landmark.state}", f"{century}-century establishments")
    aliases = (f"{landmark.town} Airport",) if kind == "airport" else ()
    return Article(landmark.name, kind, _text(kind, dice, facts, lists), categories, box, aliases)


def _specials(lore: Lore, landmark: Landmark, dice: Dice) -> tuple[list[Fact], dict[str, list[str]]]:
    """Return the facts, and the lists by section, that only landmarks of one kind have."""
    match landmark.kind:
        case "university":
            alumni = [person for person in lore.people if person.university == landmark.name]
            winners = sum(bool(person.prizes) for person in alumni)
            count_of_winners = [Fact("Prize winners", str(winners), winners)] if lore.sizes.counts_winners else []
            return count_of_winners, {"Alumni": [f"[[{person.name}]], {person.calling}" for person in alumni]}
        case "stadium":
            teams = [team.name for team in lore.country.teams if team.stadium == landmark.name]
            homes = [(team, *home) for team, homes in lore.homes.items() for home in homes]
            tenants = [f"[[{team}]], from {since}" for team, stadium, since in homes if stadium == landmark.name]
            return [link("Home team", name) for name in teams], {"Teams": tenants}
        case "monument":
            event = lore.memorials.get(landmark.name)
            return [link("Commemorates", event.title)] if event else [], {}
        case "bridge":
            return [Fact("Type", dice.pick(("arch", "suspension", "cantilever", "truss", "cable-stayed")))], {}
        case "airport":
            return [Fact("Code", (landmark.town[:2] + landmark.town[-1]).upper())], {}
    return [], {}


_WORKS = {"novel": "Novels", "album": "Albums", "film": "Films"}


def _biography(lore: Lore, person: Person) -> Article:
    calling, born, last = person.calling, long_date(str(person.born)), person.last
    life = f"{person.born.year} to {person.died.year}" if person.died else f"born {person.born.year}"
    facts = {
        "title": person.name, "last": last, "life": life, "was": "was" if person.died else "is", "town": person.birthplace.name,
        "born": born,
    } | {name: value for name in ("field", "university") if (value := getattr(person, name))}  # fmt: skip
    prose = Prose(_dice(lore, person.name), facts)
    lead = f"{prose.passage(f'person.{calling}.opening', 1)} {prose.passage('person.lead', 2)}"
    youth = [prose.passage("person.youth", 5), prose.passage("person.study", 1)]
    sections = {
        "Early life": "\n\n".join(filter(None, youth)),
        "Career": prose.passage(f"person.{calling}.work", 6),
        "Personal life": prose.passage("person.life", 4),
    }
    for kind, heading in _WORKS.items():
        made = [work for work in lore.works if work.maker is person and work.kind == kind]
        sections[heading] = bullets([f"[[{work.title}]] ({work.year})" for work in made])
    played = sorted((work for work in lore.works if person in work.cast), key=lambda work: (work.year, work.title))
    roles = [f"[[{work.title}]] ({work.year}), directed by [[{work.maker.name}]]" for work in played]
    sections["Films as an actor"] = bullets(roles)
    sections["Honors"] = bullets([f"[[{prize}]], {year}" for prize, year in person.prizes])
    field = {"scientist": "Field", "athlete": "Sport"}.get(calling, "Genre")
    box = (
        Fact("Born", born, person.born.year),
        link("Birthplace", person.birthplace.name),
        *([Fact("Died", long_date(str(person.died)), person.died.year)] if person.died else []),
        Fact("Occupation", calling.capitalize()),
        *([Fact(field, person.field.capitalize())] if person.field else []),
        *([link("Alma mater", person.university)] if person.university else []),
        *(link("Governs", place) for place, holder in lore.offices.items() if holder is person),
        *(Fact("Award", f"[[{prize}]] ({year})", year) for prize, year in person.prizes),
    )
    categories = (
        f"{calling.capitalize()}s", f"People from {person.birthplace.name}", f"{person.born.year // 10 * 10}s births",
        *([] if person.died else ["Living people"]), *([f"Alumni of {person.university}"] if person.university else []),
        *(f"Winners of the {prize}" for prize, _ in person.prizes),
    )  # fmt: skip
    return Article(person.name, calling, document(lead, sections), categories, box, (f"{last}, {person.first}",))


_FORMS = ("{} Company", "{} Works", "{} Brothers", "{} Industries", "{} Manufacturing")
_FOUNDED, _EMPLOYEES, _REVENUES = (
    range(1834, 1996),
    range(140, 21_000, 10),
    range(12, 980),
)  # values of companies, which all differ


def _company(lore: Lore, index: int, founded: int, employees: int, revenue: int) -> Article:
    dice = Dice(f"wikipedia/company/{lore.seed}/{index}")
    brand = invented_word(lore.seed, index, "brand", lore.scale)
    name = dice.pick(_FORMS).format(brand)
    town = dice.weigh(lore.country.towns, lore.country.weights(8, 4, 1))
    facts = {
        "title": name, "brand": brand, "town": town.name, "state": town.state, "founded": founded, "employees": f"{employees:,}",
        "later": list(range(founded + 4, 2016)),
    }  # fmt: skip
    box = (
        link("Headquarters", town.name), link("State", town.state), year("Founded", founded), count("Employees", employees),
        count("Revenue", revenue, "million dollars a year"),
    )  # fmt: skip
    text = _text("company", dice, facts, {"See also": [f"[[List of companies in {lore.country.name}]]"]})
    return Article(name, "company", text, ("Companies", f"Companies in {town.state}"), box, (brand,))


LABELS = {
    "film": ("Directed by", "Released", "Running time", "min", "Filmed in"),
    "novel": ("Author", "Published", "Pages", "", "Set in"),
    "album": ("Artist", "Released", "Length", "min", "Recorded in"),
}
"""By kind of work: the labels of maker, year and length, the unit of the length, and the label of the place."""


def _creation(lore: Lore, work: Work) -> Article:
    kind, maker = work.kind, work.maker
    facts = {
        "title": work.title, "maker": maker.name, "year": work.year, "genre": maker.field, "length": work.length, "place": work.place,
    }  # fmt: skip
    made_by, released, length, unit, place = LABELS[kind]
    films = [other for other in lore.works if other.source is work]
    lists = {
        "Cast": [f"[[{actor.name}]]" for actor in work.cast],
        "Adaptations": [f"[[{film.title}]] ({film.year}), directed by [[{film.maker.name}]]" for film in films],
        "See also": [f"[[List of films directed by {maker.name}]]"],
    }
    box = (
        link(made_by, maker.name), year(released, work.year), Fact("Genre", maker.field.capitalize()),
        count(length, work.length, unit), link(place, work.place), *(link("Starring", actor.name) for actor in work.cast),
        *([link("Based on", work.source.title)] if work.source else []),
        *(Fact("Award", f"[[{prize}]] ({won})", won) for prize, won in work.awards),
    )  # fmt: skip
    categories = (f"{kind.capitalize()}s", f"{work.year // 10 * 10}s {kind}s", f"{kind.capitalize()}s by {maker.name}")
    return Article(work.title, kind, _text(kind, _dice(lore, work.title), facts, lists), categories, box)


def _filmography(lore: Lore, director: Person) -> Article:
    name, rows = director.name, []
    for film in (work for work in lore.works if work.kind == "film" and work.maker is director):
        awards = "; ".join(f"[[{prize}]] ({won})" for prize, won in film.awards) or "none"
        rows.append([f"[[{film.title}]]", str(film.year), f"{film.length} min", awards])
    lead = f"This list names all films that were directed by [[{name}]], with the prizes that they won."
    text = document(lead, {"Films": table(["Film", "Year", "Running time", "Award"], rows)})
    return Article(f"List of films directed by {name}", "list", text, ("Lists of films",), aliases=(f"{name} filmography",))


_TOLLS = {"battle": "Casualties", "disaster": "Deaths"}
_COLORS = ("red", "blue", "green", "black", "white", "gold", "orange", "purple")


def _event(lore: Lore, event: Event) -> Article:
    kind, town, day = event.kind, event.town, long_date(str(event.day))
    facts = {"title": event.title, "town": town.name, "state": town.state, "day": day, "toll": event.toll}
    winners = [(work, won) for work in lore.works for prize, won in work.awards if prize == event.title]
    lists = {"Winning films": [f"[[{work.title}]] by [[{work.maker.name}]], {won}" for work, won in winners]}
    box = (
        Fact("First held" if kind == "festival" else "Date", day, event.day.year), link("Location", town.name),
        link("State", town.state), Fact(_TOLLS.get(kind, "Visitors in thousands"), str(event.toll), event.toll),
    )  # fmt: skip
    text = _text(kind, _dice(lore, event.title), facts, lists)
    return Article(event.title, kind, text, (f"{kind.capitalize()}s", f"Events in {town.state}"), box)


def _prize(lore: Lore, prize: Prize) -> Article:
    facts = {"title": prize.name, "country": lore.country.name, "founded": prize.winners[0][0]}
    rows = [[str(won), f"[[{winner.name}]]"] for won, winner in prize.winners]
    box = (
        link("Country", lore.country.name), year("First given", prize.winners[0][0]), Fact("Given to", f"{prize.calling.capitalize()}s"),
        Fact("Times given", str(len(rows)), len(rows)),
    )  # fmt: skip
    text = _text("prize", _dice(lore, prize.name), facts, {"Winners": table(["Year", "Winner"], rows)})
    return Article(prize.name, "prize", text, ("Prizes",), box)


def _team(lore: Lore, team: Team) -> Article:
    dice, homes = _dice(lore, team.name), lore.homes[team.name]
    colors = " and ".join(dice.some(_COLORS, 2))
    facts = {
        "title": team.name, "sport": team.sport, "town": team.town, "state": lore.country.town(team.town).state,
        "founded": homes[0][1], "colors": colors,
    }  # fmt: skip
    years = [f"{since} to {end}" for (_, since), (_, end) in pairwise(homes)] + [f"since {homes[-1][1]}"]
    rows = [[span, f"[[{stadium}]]"] for span, (stadium, _) in zip(years, homes, strict=True)]
    former = [
        Fact("Former stadium", f"[[{stadium}]] ({span})", since) for (stadium, since), span in zip(homes, years, strict=True)
    ]
    box = (
        Fact("Sport", team.sport.capitalize()), link("Town", team.town), year("Founded", homes[0][1]),
        Fact("Home stadium", f"[[{team.stadium}]] ({years[-1]})", homes[-1][1]), *former[:-1], Fact("Colors", colors.capitalize()),
    )  # fmt: skip
    text = _text("team", dice, facts, {"Home stadiums": table(["Years", "Stadium"], rows)})
    categories = ("Teams", f"{team.sport.capitalize()} teams")
    return Article(team.name, "team", text, categories, box, (team.name.removeprefix(team.town).strip(),))
