"""The people of a world. The same ones may shop, post and commit; the first is the user whom tasks speak of as "me"."""

from functools import lru_cache
from typing import NamedTuple

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share
from webarena_gym.sites.country.scales import Scale

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
