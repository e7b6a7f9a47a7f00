"""Things that people speak of: what is known of each kind, and which aspects suit it.

`data/things.txt` puts nouns into groups. What the file does not know is judged by its number alone, by aspects that suit
anything; a noun is also known by its last words ("Steel Water Bottle" is a water bottle).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.grammar import NUMBERS, Slots, half, read, sections

_PLAIN_ASPECTS = ("durable", "size", "packaging", "value", "delivery")
_PLAIN_USES = ("at home", "at work", "every day", "on weekends", "on trips")
_SPOKEN = {"Battery Life": "battery_life", "Material": "material", "Color": "color"}
_STUFFS = {
    "metal": "iron steel copper aluminum brass zinc bronze chrome titanium metal",
    "brittle": "glass ceramic porcelain stoneware clay marble crystal terracotta concrete granite acrylic",
    "wood": "oak walnut bamboo maple acacia beech birch pine cedar cork hickory wooden wood rattan",
}
"""Properties of a material, by words of its name: phrasings may need or forbid them (nothing of wood rusts)."""
_LOWER_AFTER = 2  # letters in upper case that make a word an abbreviation


@dataclass(frozen=True)
class Kind:
    """Facts of a noun: its number, group, the families of its aspects, uses, and the animal that judges it, if one does."""

    number: str
    group: str
    families: tuple[str, ...]
    uses: tuple[str, ...]
    pets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Thing:
    """A thing as a text speaks of it. `noun` is "Water Bottle"; `attributes` are those of its page, by name.

    `aspects` replaces those that its kind has: keys such as "leak", for which the kind's own family is used where it has one.
    """

    noun: str
    brand: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    aspects: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """Facts of its noun."""
        return kind_of(self.noun)

    @property
    def families(self) -> Mapping[str, str]:
        """The family of phrasings of each aspect that suits it: {"leak": "leak.vessel"}."""
        page = dict(self.attributes)
        return _families(self.noun, self.aspects, "Battery Life" in page, page.get("Assembly") == "None needed")

    @property
    def slots(self) -> Slots:
        """The slots that speak of it."""
        known = {
            slot: value for name, value in self.attributes if (slot := _SPOKEN.get(name)) and value.lower() not in {"none", ""}
        }
        if dict(self.attributes).get("Dishwasher Safe") == "Yes":
            known["dishwasher"] = "yes"
        words = known.get("material", "").lower().split()
        known |= {stuff: "yes" for stuff, named in _STUFFS.items() if set(words) & set(named.split())}
        return {**NUMBERS[self.kind.number], "noun": lowered(self.noun), "brand": self.brand, **known}


@cache
def kinds() -> Mapping[str, Kind]:
    """Return the kinds of things by noun, in small letters."""
    known: dict[str, Kind] = {}
    for group, lines in sections("things").items():
        fields = [(label, value.strip()) for label, _, value in (line.partition(":") for line in lines)]
        of_group = {label: value for label, value in fields if label in {"aspects", "uses", "pet"}}
        uses, pets = (tuple(filter(None, of_group.get(label, "").split("; "))) for label in ("uses", "pet"))
        for label, value in fields:
            if label in of_group:
                continue
            nouns, own, used = [*value.split(" = "), "", ""][:3]
            families = tuple((own or of_group["aspects"]).split())
            for noun in nouns.split(", "):
                known[noun.lower()] = Kind(label, group, families, tuple(used.split("; ")) if used else uses, pets)
    return known


@cache
def kind_of(noun: str) -> Kind:
    """Return what is known of a noun, or of the last words of it that are known, or what suits anything.

    >>> kind_of("Steel Water Bottle").group, kind_of("Reading Glasses").number, kind_of("Zither").families[0]
    ('bottles', 'many', 'durable')
    """
    words = noun.lower().split()
    for start in range(len(words)):
        if kind := kinds().get(" ".join(words[start:])):
            return kind
    is_many = words[-1:] != [] and words[-1].endswith("s") and not words[-1].endswith(("ss", "us"))
    return Kind("many" if is_many else "one", "", _PLAIN_ASPECTS, _PLAIN_USES)


@cache
def _families(noun: str, aspects: tuple[str, ...], has_battery: bool, is_whole: bool) -> Mapping[str, str]:
    """Return the family of each aspect. What has no battery is not judged by it, nor by its setup what needs none."""
    own = {family.partition(".")[0]: family for family in kind_of(noun).families}
    if unknown := [aspect for aspect in aspects if own.get(aspect, aspect) not in names()]:
        raise ValueError(f"nothing is known to be said of {unknown}, expected aspects such as {sorted(own)}")
    if aspects:
        return {aspect: own.get(aspect, aspect) for aspect in aspects}
    missing = {*(() if has_battery else ("battery",)), *(("setup", "instruction") if is_whole else ())}
    return {aspect: family for aspect, family in own.items() if aspect not in missing}


@cache
def names() -> Mapping[str, str]:
    """Return what each family of aspects is called: {"leak.vessel": "the lid"}."""
    return dict(line.split(": ", 1) for line in sections("names")["names"])


def lowered(noun: str) -> str:
    """Return a noun as it stands inside of a sentence; abbreviations keep their capitals.

    >>> lowered("LED Desk Lamp"), lowered("T-Shirt"), lowered("USB-C Cable")
    ('LED desk lamp', 'T-shirt', 'USB-C cable')
    """
    words = noun.split()
    for place, word in enumerate(words):
        capitals = sum(letter.isupper() for letter in word)
        if word[1:2] == "-":
            words[place] = f"{word[:2]}{word[2:].lower()}"
        elif capitals < _LOWER_AFTER or word.istitle():
            words[place] = word.lower()
    return " ".join(words)


WORKS = {
    "books": "book", "suggestmeabook": "book", "gaming": "game", "consoles": "console", "technology": "device", "gadgets": "device",
    "headphones": "headset", "movies": "film", "television": "series", "Music": "album", "food": "restaurant", "AskTravel": "hostel",
}  # fmt: skip
"""The kind of thing whose name a forum talks about, by forum; others talk about problems and debates alone."""


@dataclass(frozen=True)
class Remedy:
    """Remedy of a problem: its name ("copper tape"), and its use ("putting copper tape around the pots")."""

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
    return forum in sections("cases") or forum not in sections("debates")


def draw_sides(dice: Dice, forum: str, *, is_held_out: bool) -> tuple[Claim, Claim]:
    """Draw what people of a forum argue about: a claim and its opposite."""
    return dice.pick(_debates(_known("debates", forum), is_held_out))


def _known(name: str, forum: str) -> str:
    """Return the section of a forum; a forum that no file names is about a town."""
    if forum in sections(name):
        return forum
    return "general" if any(forum in sections(other) for other in ("cases", "debates")) else "town"


@cache
def _cases(forum: str, is_held_out: bool) -> tuple[tuple[str, str, tuple[Remedy, ...]], ...]:
    cases = (line.split("; ") for line in _part("cases", forum, is_held_out))
    return tuple((name, clause, tuple(Remedy(*each.split(" = ", 1)) for each in rest)) for name, clause, *rest in cases)


@cache
def _debates(forum: str, is_held_out: bool) -> tuple[tuple[Claim, Claim], ...]:
    debates = (line.split(" :: ") for line in _part("debates", forum, is_held_out))
    return tuple(
        (Claim(claim, opposite, tuple(reasons.split("; "))), Claim(opposite, claim, tuple(others.split("; "))))
        for claim, opposite, reasons, others in debates
    )


def _part(name: str, forum: str, is_held_out: bool) -> list[str]:
    """Return the topics that one half of the worlds uses: those of the forum, and for a town the general ones too."""
    known = sections(name)
    return half([*known[forum], *(known["general"] if forum == "town" else [])], is_held_out)
