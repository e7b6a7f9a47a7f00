"""The forum's users: all people of the world, of whom the first ones write and the others only read and vote."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.holdout import share
from webarena_gym.sites.country.people import Person, population
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.reddit.world.sizes import SIZES

ME = 1  # the id of the user whom tasks speak of as "me"


@dataclass(frozen=True)
class User:
    """Somebody with an account."""

    user_id: int
    username: str
    email: str
    password: str
    created_at: datetime
    activity: int  # how much they write, compared with others
    is_grumpy: bool
    writes: bool  # whether they post and comment at all


def draw(seed: int, now: datetime, scale: Scale = "standard") -> list[User]:
    """Return everybody, in the order of the population."""
    dice, sizes = Dice(f"forum/people/{seed}"), SIZES[scale]
    taken: set[str] = set()
    users = []
    for user_id, person in enumerate(population(seed, scale)[: sizes.people], 1):
        name = _username(dice, person, seed)
        while name.lower() in taken:
            name = _username(dice, person, seed)
        taken.add(name.lower())
        users.append(
            User(
                user_id=user_id,
                username=name,
                email=f"{person.first}.{person.last}@example.com".lower(),
                password=f"{person.first.lower()}{dice.digits(4)}",
                created_at=now - timedelta(days=dice.between(1100, 2400), seconds=dice.below(86400)),
                activity=dice.pick((1, 1, 2, 3, 5, 8)),
                is_grumpy=user_id != ME and dice.chance(25),
                writes=user_id <= sizes.writers,
            )
        )
    return users


def _username(dice: Dice, person: Person, seed: int) -> str:
    """Return a name made of a person's. What leaves out a part of theirs has a number, which training never shares."""
    first, last = person
    number = dice.pick(share(range(10, 100), seed))
    return dice.pick(
        (
            f"{first}_{last}",
            f"{first}{last}",
            f"{first[0]}{last}{number}".lower(),
            f"{last}-{first}".lower(),
            f"{first}{last[0]}{number}",
            f"The{last}{number}",
        )
    )
