"""What the people of a forum speak of: problems with what may help, debates with reasons, and kinds of works."""

from dataclasses import dataclass
from functools import cache

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import read
from webarena_gym.sites.prose.pools import half, sections

WORKS = {
    "books": "book", "suggestmeabook": "book", "gaming": "game", "consoles": "console", "technology": "device", "gadgets": "device",
    "headphones": "headset", "movies": "film", "television": "series", "Music": "album", "food": "restaurant", "AskTravel": "hostel",
}  # fmt: skip
"""The kind of thing whose name a forum talks about, by forum; others talk about problems and debates alone."""


@dataclass(frozen=True)
class Remedy:
    """What may help against a problem: its name ("copper tape"), and what one does ("putting copper tape around the pots")."""

    name: str
    doing: str


@dataclass(frozen=True)
class Problem:
    """A problem: its name ("slugs on hostas"), what somebody says who has it, what may help, and whether it goes on for a while."""

    name: str
    clause: str
    remedies: tuple[Remedy, ...]
    is_lasting: bool = True


@dataclass(frozen=True)
class Claim:
    """One side of a debate: what it says, what the other side says, and the reasons for it."""

    text: str
    opposite: str
    reasons: tuple[str, ...]


def draw_problem(dice: Dice, forum: str, *, is_held_out: bool) -> Problem:
    """Draw a problem that people of a forum have."""
    name, clause, remedies = dice.pick(_cases(_known("cases", forum), is_held_out))
    said = read(clause.removeprefix("~")).fill(dice, {})
    return Problem(read(name).fill(dice, {}), said, remedies, is_lasting=not clause.startswith("~"))


def has_problems(forum: str) -> bool:
    """Tell whether people of a forum ask for help: where only debates are known, they do not."""
    return forum in sections_of("cases") or forum not in sections_of("debates")


def draw_sides(dice: Dice, forum: str, *, is_held_out: bool) -> tuple[Claim, Claim]:
    """Draw what people of a forum argue about: a claim and its opposite."""
    return dice.pick(_debates(_known("debates", forum), is_held_out))


def _known(name: str, forum: str) -> str:
    """Return the section of a forum; a forum that no file names is about a town."""
    if forum in sections_of(name):
        return forum
    return "general" if any(forum in sections_of(other) for other in ("cases", "debates")) else "town"


@cache
def sections_of(name: str) -> dict[str, list[str]]:
    """Return the sections of a file, read once."""
    return sections(name)


@cache
def _cases(forum: str, is_held_out: bool) -> tuple[tuple[str, str, tuple[Remedy, ...]], ...]:
    cases = []
    for line in _part("cases", forum, is_held_out):
        name, clause, *rest = line.split("; ")
        cases.append((name, clause, tuple(Remedy(*remedy.split(" = ", 1)) for remedy in rest)))
    return tuple(cases)


@cache
def _debates(forum: str, is_held_out: bool) -> tuple[tuple[Claim, Claim], ...]:
    debates = []
    for line in _part("debates", forum, is_held_out):
        claim, opposite, reasons, others = line.split(" :: ")
        debates.append((Claim(claim, opposite, tuple(reasons.split("; "))), Claim(opposite, claim, tuple(others.split("; ")))))
    return tuple(debates)


def _part(name: str, forum: str, is_held_out: bool) -> list[str]:
    """Return the topics that one half of the worlds uses: those of the forum, and for a town the general ones too."""
    known = sections_of(name)
    return half([*known[forum], *(known["general"] if forum == "town" else [])], is_held_out)
