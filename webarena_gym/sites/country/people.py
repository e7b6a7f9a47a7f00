"""The people of a world. The same ones may shop, post and commit; the first is the user whom tasks speak of as "me"."""

from functools import lru_cache
from typing import NamedTuple

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share

POPULATION = 242

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


class Person(NamedTuple):
    """Somebody's name; no two people of a world have the same first and last name."""

    first: str
    last: str

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.first} {self.last}"


@lru_cache(maxsize=4)
def population(seed: int) -> tuple[Person, ...]:
    """Return the POPULATION people of a world. Some first and some last names repeat; whole names are parted by `holdout`.

    >>> set(population(7)).isdisjoint(population(1000))
    True
    """
    dice = Dice(f"people/{seed}")
    firsts, lasts = (dice.some(names, len(names) * 3 // 4) for names in (FIRST_NAMES, LAST_NAMES))
    pairs = share([Person(first, last) for first in FIRST_NAMES for last in LAST_NAMES], seed)
    return tuple(dice.some([pair for pair in pairs if pair.first in firsts and pair.last in lasts], POPULATION))
