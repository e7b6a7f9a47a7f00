"""Articles of an encyclopedia, as paragraphs made from typed facts. Values may hold links ("[[Town]]"); they are taken as they are.

A field that is not given is not said; fields that belong together (`mayor` and `mayor_since`) are given together. The sections of `data/articles.txt` are named by kind and field: "town founded".
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import MANY, ONE, capitalized, listed
from webarena_gym.sites.prose.pools import Speaker


@dataclass(frozen=True, kw_only=True)
class Prize:
    """A prize that a person or a work won, and for what."""

    prize: str
    year: int
    work: str = ""


@dataclass(frozen=True, kw_only=True)
class Dispute:
    """What sources disagree about: `accepted` is what `source` says, and what counts; `other` says `value`."""

    topic: str  # "the year of the foundation"
    accepted: str
    source: str
    value: str
    other: str


@dataclass(frozen=True, kw_only=True)
class Town:
    """A town."""

    name: str
    state: str
    founded: int | None = None
    founder: str = ""
    population: int | None = None
    population_year: int | None = None
    area_km2: int | None = None
    elevation_m: int | None = None
    rivers: tuple[str, ...] = ()
    industries: tuple[str, ...] = ()
    railway: int | None = None
    landmarks: tuple[str, ...] = ()
    mayor: str = ""
    mayor_since: int | None = None
    festival: str = ""
    festival_month: str = ""
    twin: str = ""
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person; `last` is the name by which the article goes on, `profession` a noun without article."""

    name: str
    last: str
    profession: str
    birthplace: str
    born: str = ""
    died: str = ""
    death_place: str = ""
    studied: str = ""
    studied_at: str = ""
    teacher: str = ""
    employer: str = ""
    employed_since: int | None = None
    spouse: str = ""
    married: int | None = None
    works: tuple[str, ...] = ()
    prizes: tuple[Prize, ...] = ()
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Company:
    """A company."""

    name: str
    headquarters: str
    founded: int | None = None
    founder: str = ""
    products: tuple[str, ...] = ()
    employees: int | None = None
    employees_year: int | None = None
    factories: tuple[str, ...] = ()
    former_name: str = ""
    renamed: int | None = None
    owner: str = ""
    bought: int | None = None
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Building:
    """A building; `kind` is a noun without article ("concert hall")."""

    name: str
    kind: str
    town: str
    architect: str = ""
    style: str = ""
    begun: int | None = None
    opened: int | None = None
    height_m: int | None = None
    material: str = ""
    visitors: int | None = None
    visitors_year: int | None = None
    restored: int | None = None
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, kw_only=True)
class River:
    """A river."""

    name: str
    source: str
    mouth: str
    length_km: int | None = None
    towns: tuple[str, ...] = ()
    bridges: int | None = None
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Work:
    """A novel, a film, an album; `kind` is a noun without article."""

    title: str
    kind: str
    maker: str
    year: int | None = None
    genre: str = ""
    setting: str = ""
    languages: int | None = None
    prizes: tuple[Prize, ...] = ()
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened; `kind` is a noun without article ("flood")."""

    name: str
    kind: str
    town: str
    year: int
    cause: str = ""
    deaths: int | None = None
    days: int | None = None
    disputes: tuple[Dispute, ...] = ()


Subject = Town | Person | Company | Building | River | Work | Event


class Section(NamedTuple):
    """A part of an article; the lead has no heading."""

    heading: str
    text: str


SECTIONS: Mapping[type, Mapping[str, tuple[str, ...]]] = {
    Town: {
        "": ("opening", "population"),
        "History": ("founded", "founder", "railway"),
        "Geography": ("area_km2", "elevation_m", "rivers"),
        "Economy": ("industries",),
        "Culture and sights": ("landmarks", "festival", "twin"),
        "Politics": ("mayor",),
    },
    Person: {
        "": ("opening",),
        "Life": ("born", "studied", "teacher", "employer", "spouse", "died"),
        "Work": ("works",),
        "Honors": ("prizes",),
    },
    Company: {
        "": ("opening", "products"),
        "History": ("founded", "former_name", "owner"),
        "Present": ("employees", "factories"),
    },
    Building: {
        "": ("opening", "opened"),
        "Architecture": ("architect", "style", "height_m", "material"),
        "History": ("begun", "restored"),
        "Visitors": ("visitors",),
    },
    River: {"": ("opening", "length_km"), "Course": ("towns", "bridges")},
    Work: {"": ("opening", "year"), "Content": ("genre", "setting"), "Reception": ("languages", "prizes")},
    Event: {"": ("opening",), "Course": ("cause", "days", "deaths")},
}
"""The sections of an article with the fields of which each speaks. A field says those that go with it: `mayor` and `mayor_since`."""

_YEARS = {"founded", "population_year", "railway", "mayor_since", "employed_since", "married", "employees_year", "renamed",
          "bought", "begun", "opened", "visitors_year", "restored", "year"}  # fmt: skip


def compose_article(facts: Subject, dice: Dice, *, is_held_out: bool) -> list[Section]:
    """Return the lead and the sections that say these facts; sections without facts are left out."""
    kind = type(facts).__name__.lower()
    speaker = Speaker("articles", dice, _slots(facts), is_held_out=is_held_out)
    parts: list[Section] = []
    for heading, names in SECTIONS[type(facts)].items():
        said = [text for name in names for text in _said(speaker, facts, kind, name)]
        if said and heading and len(parts) == 1 and dice.chance(60):
            said.append(speaker.say(f"{kind} filler"))
        if said:
            parts.append(Section(heading, capitalized(" ".join(said))))
    disputed = [
        speaker.say(part, topic=one.topic, accepted=one.accepted, source=one.source, value=one.value, other=one.other)
        for one in facts.disputes
        for part in ("disputed", "settled")
    ]
    return [*parts, Section("Sources", capitalized(" ".join(disputed)))] if disputed else parts


def _said(speaker: Speaker, facts: Subject, kind: str, name: str) -> list[str]:
    """Return the sentences about one field, none where it is not given."""
    if name == "opening":
        return [speaker.say(f"{kind} opening")]
    value = getattr(facts, name)
    if value in ((), "", None):
        return []
    if name == "prizes":
        return [
            speaker.say("prize for" if won.work else "prize", prize=won.prize, year=str(won.year), work=won.work)
            for won in value
        ]
    number = (
        {"one": "", "many": MANY["many"]} if isinstance(value, tuple) and len(value) > 1 else {"one": ONE["one"], "many": ""}
    )
    return [speaker.say(f"{kind} {name}", **number)]


def _slots(facts: Subject) -> dict[str, str]:
    """Return the values of all fields as texts: years as they are, other numbers with commas, several names as a list."""
    slots: dict[str, str] = {}
    for field in fields(facts):
        value = getattr(facts, field.name)
        if isinstance(value, int):
            slots[field.name] = str(value) if field.name in _YEARS else f"{value:,}"
        elif isinstance(value, str):
            slots[field.name] = value
        elif isinstance(value, tuple) and value and isinstance(value[0], str):
            slots[field.name] = listed(value)
    slots["was"] = "was" if slots.get("died") else "is"
    if isinstance(facts, Work):
        slots["last"] = facts.title
    return slots
