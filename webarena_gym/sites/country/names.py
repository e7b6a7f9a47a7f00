"""The people of a world, and invented words. The same people may shop, post and commit; the first is the user whom tasks speak of as "me"."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale, share

POPULATION = 242
LARGE_POPULATION = 2_400

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
MORE_FIRST_NAMES = (
    "Aaron", "Abigail", "Adele", "Agnes", "Alan", "Amara", "Anton", "Arjun", "Astrid", "Axel", "Bella", "Bruno", "Camila", "Cedric",
    "Clara", "Colin", "Dana", "Darius", "Delia", "Dmitri", "Edith", "Elias", "Esther", "Fatima", "Finn", "Fiona", "Gabriel", "Gita",
    "Harold", "Helena", "Ibrahim", "Irene", "Ivan", "Ivy", "Jerome", "Joan", "Jonas", "Judith", "Kenji", "Lars", "Leila", "Linda",
    "Louis", "Lucia", "Magnus", "Marta", "Mei", "Miguel", "Mira", "Moses", "Naomi", "Nils", "Norah", "Oscar", "Paula", "Pedro",
    "Petra", "Quentin", "Ramon", "Rebecca", "Rita", "Roland", "Ruth", "Salma", "Sanjay", "Selma", "Stefan", "Tamara", "Theo",
    "Ursula", "Vera", "Wanda", "William", "Xenia", "Yara", "Yuki",
)  # fmt: skip
MORE_LAST_NAMES = (
    "Abbott", "Aguilar", "Almeida", "Anand", "Barlow", "Baumann", "Bianchi", "Blake", "Boateng", "Bose", "Brandt", "Burke", "Cabrera",
    "Castro", "Chang", "Cohen", "Conway", "Cruz", "Dalton", "Das", "Delgado", "Doyle", "Dunn", "Eriksen", "Espinoza", "Farrell",
    "Ferrari", "Fleming", "Fontaine", "Fujita", "Gallagher", "Ghosh", "Gibson", "Grant", "Gupta", "Haddad", "Hale", "Hartmann",
    "Hayashi", "Herrera", "Hoffman", "Holt", "Hussain", "Ibarra", "Iyer", "Jacobs", "Janssen", "Johansson", "Kapoor", "Kelly",
    "Kowalski", "Kovac", "Lambert", "Lang", "Leclerc", "Lim", "Lindgren", "Lozano", "Maier", "Malik", "Marsh", "Mendoza", "Mensah",
    "Moran", "Nakamura", "Nash", "Nielsen", "Nolan", "Obi", "Olsen", "Osborne", "Osman", "Palmer", "Park", "Pavlov", "Petrov",
    "Pham", "Pires", "Popescu", "Rahman", "Ramos", "Rao", "Richter", "Romero", "Roth", "Rowe", "Saito", "Santos", "Schaefer",
    "Shah", "Sharma", "Simmons", "Sokolov", "Suzuki", "Svensson", "Takeda", "Tran", "Ueda", "Vance", "Vega", "Wagner", "Watts",
    "Winter", "Wolf", "Yamada", "Yilmaz", "Zhang", "Ziegler", "Zimmer",
)  # fmt: skip
"""The names that only large worlds have besides the others."""


class Person(NamedTuple):
    """Somebody's name; no two people of a world have the same first and last name."""

    first: str
    last: str

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.first} {self.last}"


@lru_cache(maxsize=4)
def population(seed: int, scale: Scale = "standard") -> tuple[Person, ...]:
    """Return the people of a world. Some first and some last names repeat; whole names are parted by `holdout`.

    >>> set(population(7)).isdisjoint(population(1000))
    True
    """
    dice = Dice(f"people/{seed}")
    firsts, lasts = (dice.some(names, len(names) * 3 // 4) for names in _names(scale))
    pairs = [pair for pair in people(seed, scale) if pair.first in firsts and pair.last in lasts]
    return tuple(dice.some(pairs, LARGE_POPULATION if scale == "large" else POPULATION))


def people(seed: int, scale: Scale = "standard") -> list[Person]:
    """Return everybody who may live in a world. What is parted between worlds is parted alike at both scales.

    >>> set(people(7, "large")).isdisjoint(people(1000))
    True
    """
    usual = [Person(first, last) for first in FIRST_NAMES for last in LAST_NAMES]
    known = set(usual)
    more = [pair for first in _names(scale)[0] for last in _names(scale)[1] if (pair := Person(first, last)) not in known]
    return share(usual, seed) + share(more, seed)


def _names(scale: Scale) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first and the last names that there are."""
    if scale == "large":
        return FIRST_NAMES + MORE_FIRST_NAMES, LAST_NAMES + MORE_LAST_NAMES
    return FIRST_NAMES, LAST_NAMES


Stream = Literal["brand", "place", "work", "title"]

WORDS_PER_WORLD = 128
"""Number of words of each stream in a standard world."""
WORDS: Mapping[Scale, int] = {"standard": WORDS_PER_WORLD, "large": 1024}
"""Number of words of each stream in a world."""

ONSETS = ("b", "d", "h", "j", "k", "l", "m", "n", "r", "s", "t", "v", "w", "y", "br", "dr", "gl", "kl", "st", "tr")
VOWELS = ("a", "e", "i", "o", "u")
_SYLLABLES = len(ONSETS) * len(VOWELS)
_ENDINGS: dict[Stream, tuple[str, ...]] = {
    "brand": ("",),
    "place": ("m", "n", "r", "th"),
    "work": ("k", "p", "x", "z"),
    "title": ("nd", "l", "s", "t"),
}
"""Endings of the words of a stream; no two streams share an ending, so none shares a word."""
_LARGE_ENDINGS: dict[Stream, tuple[str, ...]] = {
    "brand": ("c", "ll", "ss", "ff"),
    "place": ("ck", "rd", "rn", "lm"),
    "work": ("b", "g", "ft", "sk"),
    "title": ("lt", "st", "rt", "mp"),
}
"""The same for large worlds, which share no ending with standard ones. There, a quarter of the words have stems of
their own, and the others the same stems with other endings, so that words stay short."""
_SHIFTS: dict[Stream, int] = {"brand": 271828, "place": 314159, "work": 141421, "title": 173205}


def invented(seed: int, index: int, stream: Stream, scale: Scale = "standard") -> str:
    """Return word `index` (below WORDS of the scale) of a world; no other seed, index, stream or scale has the same one.

    (seed, index) is counted as one number, which a fixed bijection scatters over the words of as many syllables as it needs.

    >>> len({invented(seed, index, "place") for seed in range(-5, 5) for index in range(10)})
    100
    >>> invented(0, WORDS_PER_WORLD, "brand")
    Traceback (most recent call last):
    ValueError: a world has 128 words of a stream, there is no number 128
    """
    count = WORDS[scale]
    if not 0 <= index < count:
        raise ValueError(f"a world has {count} words of a stream, there is no number {index}")
    endings, turn = _ENDINGS[stream], 0
    if scale == "large":
        endings = _LARGE_ENDINGS[stream]
        count //= len(endings)
        turn, index = divmod(index, count)
    number = (2 * seed if seed >= 0 else -2 * seed - 1) * count + index
    length = 3
    while number >= _SYLLABLES**length:
        number -= _SYLLABLES**length
        length += 1
    for multiplier in (7919, 104729, 1299709):
        number = _turned((number * multiplier + _SHIFTS[stream]) % _SYLLABLES**length, length)
    ending = endings[(number % 97 + turn) % len(endings)]
    word = ""
    for _ in range(length):
        number, digit = divmod(number, _SYLLABLES)
        word += ONSETS[digit // len(VOWELS)] + VOWELS[digit % len(VOWELS)]
    return (word + ending).capitalize()


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
