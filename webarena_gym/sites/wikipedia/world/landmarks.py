"""The articles on landmarks: what is measured of each kind, and what is told of it."""

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Landmark
from webarena_gym.sites.wikipedia.markup import Section
from webarena_gym.sites.wikipedia.world.article import Article, Fact, bullets, count, link, year
from webarena_gym.sites.wikipedia.world.lore import Lore
from webarena_gym.sites.wikipedia.world.prose import Prose

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
"""What is measured of each kind: the label, the possible values, the unit. No two of a kind have the same value."""

PLURALS = {
    "university": "Universities", "museum": "Museums", "national park": "National parks", "stadium": "Stadiums",
    "airport": "Airports", "concert hall": "Concert halls", "hospital": "Hospitals", "library": "Libraries",
    "monument": "Monuments", "bridge": "Bridges", "zoo": "Zoos", "theater": "Theaters",
}  # fmt: skip
OPENED = {"university": "Founded", "national park": "Established", "monument": "Unveiled", "hospital": "Founded"}
"""How the first year of a kind is called where it is not "Opened"."""

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


def articles(lore: Lore) -> list[Article]:
    """Return an article for each landmark, in the order of the country's."""
    dice = Dice(f"wikipedia/landmarks/{lore.seed}")
    written = []
    for kind, measures in MEASURES.items():
        landmarks = [landmark for landmark in lore.country.landmarks if landmark.kind == kind]
        values = [dice.some(possible, len(landmarks)) for _, possible, _ in measures]
        for index, landmark in enumerate(landmarks):
            measured = [count(label, column[index], unit) for (label, _, unit), column in zip(measures, values, strict=True)]
            written.append(_article(lore, landmark, measured))
    return written


def _article(lore: Lore, landmark: Landmark, measured: list[Fact]) -> Article:
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
