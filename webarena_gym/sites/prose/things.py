"""Products, works, problems and debates that texts are about, with the aspects that suit each kind of product.

`data/things.txt` puts nouns into groups. A noun is looked up by its longest listed ending ("Steel Water Bottle" is a water bottle).
Nouns that are not listed have aspects that suit any product, such as size and value.
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
"""Words of materials by property. Phrasings may require or exclude a property, because wood does not rust."""
_LOWER_AFTER = 2  # capitals that make a word an abbreviation


@dataclass(frozen=True)
class Kind:
    """Properties of the products that a noun denotes."""

    number: str  # grammatical number, a key of NUMBERS
    group: str
    families: tuple[str, ...]  # families of phrasings, such as "leak.vessel", one for each aspect
    uses: tuple[str, ...]  # such as "at the gym"
    pets: tuple[str, ...] = ()  # animals that use it, such as "the cat"


@dataclass(frozen=True)
class Thing:
    """A product or work that a text is about.

    Args:
        noun: Its noun, such as "Water Bottle".
        brand: Its brand, if it has one.
        attributes: Names and values of the attributes on its page.
        aspects: Aspects, such as "leak", that replace those of its kind. Each uses the family of its kind if that has one.

    """

    noun: str
    brand: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    aspects: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """Properties of its noun."""
        return kind_of(self.noun)

    @property
    def families(self) -> Mapping[str, str]:
        """Family of phrasings by aspect, for each aspect that suits it: {"leak": "leak.vessel"}."""
        page = dict(self.attributes)
        return _families(self.noun, self.aspects, "Battery Life" in page, page.get("Assembly") == "None needed")

    @property
    def slots(self) -> Slots:
        """Slots of phrasings about it: noun, brand, words that agree with its number, and some of its attributes."""
        attributes = {
            slot: value for name, value in self.attributes if (slot := _SPOKEN.get(name)) and value.lower() not in {"none", ""}
        }
        if dict(self.attributes).get("Dishwasher Safe") == "Yes":
            attributes["dishwasher"] = "yes"
        words = attributes.get("material", "").lower().split()
        attributes |= {stuff: "yes" for stuff, materials in _STUFFS.items() if set(words) & set(materials.split())}
        return {**NUMBERS[self.kind.number], "noun": lower_noun(self.noun), "brand": self.brand, **attributes}


@cache
def kinds() -> Mapping[str, Kind]:
    """Return the kinds of products by noun in lower case."""
    kinds_by_noun: dict[str, Kind] = {}
    for group, lines in sections("things").items():
        fields = [(label, value.strip()) for label, _, value in (line.partition(":") for line in lines)]
        of_group = {label: value for label, value in fields if label in {"aspects", "uses", "pet"}}
        uses, pets = (tuple(filter(None, of_group.get(label, "").split("; "))) for label in ("uses", "pet"))
        for label, value in fields:
            if label in of_group:
                continue
            nouns, aspects, noun_uses = [*value.split(" = "), "", ""][:3]
            families = tuple((aspects or of_group["aspects"]).split())
            for noun in nouns.split(", "):
                kinds_by_noun[noun.lower()] = Kind(
                    label, group, families, tuple(noun_uses.split("; ")) if noun_uses else uses, pets
                )
    return kinds_by_noun


@cache
def kind_of(noun: str) -> Kind:
    """Return the kind of a noun, by its longest listed ending, or a kind that suits any noun.

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
    """Return the family of each aspect. Battery and setup are left out for products without a battery or assembly."""
    families = {family.partition(".")[0]: family for family in kind_of(noun).families}
    if unknown := [aspect for aspect in aspects if families.get(aspect, aspect) not in names()]:
        raise ValueError(f"there are no phrasings for the aspects {unknown}; expected aspects such as {sorted(families)}")
    if aspects:
        return {aspect: families.get(aspect, aspect) for aspect in aspects}
    missing = {*(() if has_battery else ("battery",)), *(("setup", "instruction") if is_whole else ())}
    return {aspect: family for aspect, family in families.items() if aspect not in missing}


@cache
def names() -> Mapping[str, str]:
    """Return the name of each family of aspects in sentences: {"leak.vessel": "the lid"}."""
    return dict(line.split(": ", 1) for line in sections("names")["names"])


def lower_noun(noun: str) -> str:
    """Return a noun in lower case, as within a sentence; abbreviations keep their capitals.

    >>> lower_noun("LED Desk Lamp"), lower_noun("T-Shirt"), lower_noun("USB-C Cable")
    ('LED desk lamp', 'T-shirt', 'USB-C cable')
    """
    words = noun.split()
    for index, word in enumerate(words):
        capitals = sum(letter.isupper() for letter in word)
        if word[1:2] == "-":
            words[index] = f"{word[:2]}{word[2:].lower()}"
        elif capitals < _LOWER_AFTER or word.istitle():
            words[index] = word.lower()
    return " ".join(words)


WORKS = {
    "books": "book", "suggestmeabook": "book", "gaming": "game", "consoles": "console", "technology": "device", "gadgets": "device",
    "headphones": "headset", "movies": "film", "television": "series", "Music": "album", "food": "restaurant", "AskTravel": "hostel",
}  # fmt: skip
"""Noun of the works or products that posts of a forum may name. Other forums only have problems and debates."""


@dataclass(frozen=True)
class Remedy:
    """Remedy of a problem: its name ("copper tape"), and its use ("putting copper tape around the pots")."""

    name: str
    doing: str


@dataclass(frozen=True)
class Problem:
    """A problem that a forum post asks about."""

    name: str  # such as "slugs on hostas"
    clause: str  # its description by a person who has it
    remedies: tuple[Remedy, ...]
    is_lasting: bool = True  # it has a duration


@dataclass(frozen=True)
class Claim:
    """One side of a debate: its claim, the claim of the other side, and the reasons for it."""

    text: str
    opposite: str
    reasons: tuple[str, ...]


def draw_problem(dice: Dice, forum: str, *, is_held_out: bool) -> Problem:
    """Draw a problem that users of a forum have."""
    name, clause, remedies = dice.pick(_cases(_section_for("cases", forum), is_held_out))
    description = read(clause.removeprefix("~")).fill(dice, {})
    return Problem(read(name).fill(dice, {}), description, remedies, is_lasting=not clause.startswith("~"))


def has_problems(forum: str) -> bool:
    """Return True if users of a forum ask for help, that is, unless the data have only debates for it."""
    return forum in sections("cases") or forum not in sections("debates")


def draw_sides(dice: Dice, forum: str, *, is_held_out: bool) -> tuple[Claim, Claim]:
    """Draw a debate of a forum: a claim and its opposite."""
    return dice.pick(_debates(_section_for("debates", forum), is_held_out))


def _section_for(name: str, forum: str) -> str:
    """Return the section of a data file for a forum: its own, "general" if another file names it, else "town"."""
    if forum in sections(name):
        return forum
    return "general" if any(forum in sections(other) for other in ("cases", "debates")) else "town"


@cache
def _cases(forum: str, is_held_out: bool) -> tuple[tuple[str, str, tuple[Remedy, ...]], ...]:
    cases = (line.split("; ") for line in _part("cases", forum, is_held_out))
    return tuple((name, clause, tuple(Remedy(*remedy.split(" = ", 1)) for remedy in rest)) for name, clause, *rest in cases)


@cache
def _debates(forum: str, is_held_out: bool) -> tuple[tuple[Claim, Claim], ...]:
    debates = (line.split(" :: ") for line in _part("debates", forum, is_held_out))
    return tuple(
        (Claim(claim, opposite, tuple(reasons.split("; "))), Claim(opposite, claim, tuple(others.split("; "))))
        for claim, opposite, reasons, others in debates
    )


def _part(name: str, forum: str, is_held_out: bool) -> list[str]:
    """Return the topics of a forum that training or held-out worlds use; forums of towns also have the general topics."""
    lines = sections(name)
    return half([*lines[forum], *(lines["general"] if forum == "town" else [])], is_held_out)
