"""Names of brands, people and places. Brands belong to one seed alone; the rest repeats over worlds, as in life."""

from typing import NamedTuple

from webarena_gym.sites.shopping.world.dice import Dice

BRANDS_PER_WORLD = 32
ONSETS = ("b", "d", "h", "j", "k", "l", "m", "n", "r", "s", "t", "v", "w", "y", "br", "dr", "gl", "kl", "st", "tr")
VOWELS = ("a", "e", "i", "o", "u")
_SYLLABLES = len(ONSETS) * len(VOWELS)

FIRST_NAMES = (
    "Alice", "Amir", "Ana", "Andre", "Beth", "Brian", "Carla", "Chloe", "Daniel", "Diana", "Elena", "Emily", "Eric", "Farah",
    "Felix", "Grace", "Hannah", "Hugo", "Ines", "Isaac", "Jacob", "Jasmine", "Julia", "Karim", "Kate", "Kevin", "Laura", "Leo",
    "Lily", "Lucas", "Marcus", "Maria", "Megan", "Nadia", "Nathan", "Nina", "Noah", "Olivia", "Omar", "Paul", "Priya", "Rachel",
    "Ravi", "Rosa", "Samuel", "Sara", "Simon", "Sofia", "Thomas", "Tina", "Victor", "Wendy", "Yusuf", "Zoe",
)  # fmt: skip
LAST_NAMES = (
    "Adams", "Ahmed", "Bailey", "Becker", "Bennett", "Brooks", "Carter", "Chen", "Clarke", "Costa", "Dawson", "Diaz", "Dubois",
    "Ellis", "Evans", "Fischer", "Foster", "Garcia", "Gomez", "Graham", "Hansen", "Harris", "Hughes", "Ito", "Jensen", "Kaur",
    "Keller", "Khan", "Kim", "Larsen", "Lewis", "Lopez", "Marino", "Mason", "Meyer", "Miller", "Moreau", "Morris", "Nguyen",
    "Novak", "Okafor", "Ortiz", "Parker", "Patel", "Perez", "Porter", "Quinn", "Reed", "Rossi", "Sanders", "Sato", "Schmidt",
    "Silva", "Singh", "Stone", "Tanaka", "Turner", "Vargas", "Walsh", "Weber", "Wright", "Young",
)  # fmt: skip
STREETS = (
    "Maple Street", "Oak Avenue", "Cedar Lane", "Elm Street", "Pine Road", "Birch Court", "Lakeview Drive", "Hillcrest Avenue",
    "Park Street", "River Road", "Sunset Boulevard", "Mill Lane", "Church Street", "Highland Avenue", "Orchard Way",
    "Meadow Lane", "Washington Avenue", "Franklin Street", "Spring Street", "Harbor Drive", "Chestnut Street", "Valley Road",
)  # fmt: skip
COMPANIES = ("Northgate Dental", "Bluebird Studio", "Harper and Sons", "Granite Works", "Lakeside School", "Pioneer Freight")


class City(NamedTuple):
    """A city with the start of its postcodes and its telephone area code."""

    name: str
    region: str
    postcode: str
    area: str


CITIES = (
    City("Birmingham", "Alabama", "352", "205"), City("Phoenix", "Arizona", "850", "602"),
    City("Tucson", "Arizona", "857", "520"), City("Los Angeles", "California", "900", "213"),
    City("Oakland", "California", "946", "510"), City("Sacramento", "California", "958", "916"),
    City("San Diego", "California", "921", "619"), City("Denver", "Colorado", "802", "303"),
    City("Hartford", "Connecticut", "061", "860"), City("Miami", "Florida", "331", "305"),
    City("Tampa", "Florida", "336", "813"), City("Atlanta", "Georgia", "303", "404"),
    City("Boise", "Idaho", "837", "208"), City("Chicago", "Illinois", "606", "312"),
    City("Indianapolis", "Indiana", "462", "317"), City("Louisville", "Kentucky", "402", "502"),
    City("Portland", "Maine", "041", "207"), City("Baltimore", "Maryland", "212", "410"),
    City("Boston", "Massachusetts", "021", "617"), City("Detroit", "Michigan", "482", "313"),
    City("Ann Arbor", "Michigan", "481", "734"), City("Minneapolis", "Minnesota", "554", "612"),
    City("Omaha", "Nebraska", "681", "402"), City("Las Vegas", "Nevada", "891", "702"),
    City("Newark", "New Jersey", "071", "973"), City("Albuquerque", "New Mexico", "871", "505"),
    City("New York", "New York", "100", "212"), City("Buffalo", "New York", "142", "716"),
    City("Charlotte", "North Carolina", "282", "704"), City("Columbus", "Ohio", "432", "614"),
    City("Cleveland", "Ohio", "441", "216"), City("Portland", "Oregon", "972", "503"),
    City("Pittsburgh", "Pennsylvania", "152", "412"), City("Philadelphia", "Pennsylvania", "191", "215"),
    City("Nashville", "Tennessee", "372", "615"), City("Austin", "Texas", "787", "512"),
    City("Houston", "Texas", "770", "713"), City("Salt Lake City", "Utah", "841", "801"),
    City("Seattle", "Washington", "981", "206"), City("Milwaukee", "Wisconsin", "532", "414"),
)  # fmt: skip


def brand(seed: int, index: int) -> str:
    """Return the invented word for one brand of a seed; no other seed or index has the same one.

    (seed, index) is counted as one number, which a fixed bijection scatters over the words of as many syllables as it needs.

    >>> brand(0, 0) != brand(0, 1) != brand(1, 0) != brand(-1, 0)
    True
    """
    number = (2 * seed if seed >= 0 else -2 * seed - 1) * BRANDS_PER_WORLD + index
    length = 3
    while number >= _SYLLABLES**length:
        number -= _SYLLABLES**length
        length += 1
    for multiplier in (7919, 104729, 1299709):
        number = _turned((number * multiplier + 271828) % _SYLLABLES**length, length)
    word = ""
    for _ in range(length):
        number, digit = divmod(number, _SYLLABLES)
        word += ONSETS[digit // len(VOWELS)] + VOWELS[digit % len(VOWELS)]
    return word.capitalize()


def _turned(number: int, length: int) -> int:
    """Return the number with its syllables in reverse order.

    A multiplication coprime to the size is a bijection but lets the last syllable depend on the last alone; turning the
    number round between multiplications mixes them all.
    """
    turned = 0
    for _ in range(length):
        number, digit = divmod(number, _SYLLABLES)
        turned = turned * _SYLLABLES + digit
    return turned


def people(dice: Dice, count: int) -> list[tuple[str, str]]:
    """Return different (first name, last name) pairs, in which some first and some last names repeat."""
    firsts, lasts = dice.some(FIRST_NAMES, len(FIRST_NAMES) * 3 // 4), dice.some(LAST_NAMES, len(LAST_NAMES) * 3 // 4)
    found: dict[tuple[str, str], None] = {}
    while len(found) < count:
        found[dice.pick(firsts), dice.pick(lasts)] = None
    return list(found)
