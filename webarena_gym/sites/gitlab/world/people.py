"""Who has an account, and the groups that they form. Person 0 of the population is user 1, the one called "me"."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.people import Person, population
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.words import invented
from webarena_gym.sites.gitlab.world.pools import fill, pools
from webarena_gym.sites.gitlab.world.sizes import SIZES

PASSWORD = "Password.123"  # noqa: S105  # the one password of every made-up person
ME = 1


@dataclass(frozen=True)
class User:
    """An account. `user_id` 0 stands for somebody without one, who is only known as an author of commits."""

    user_id: int
    username: str
    name: str
    email: str
    created_at: datetime


@dataclass(frozen=True)
class Membership:
    """Somebody's place in a project or group."""

    role: str
    expires_on: str | None
    created_at: datetime


@dataclass
class Group:
    """A group, with its members by user id."""

    group_id: int
    path: str
    name: str
    description: str
    visibility: str
    created_at: datetime
    members: dict[int, Membership] = field(default_factory=dict)


def draw_users(seed: int, now: datetime, scale: Scale = "standard") -> list[User]:
    """Return the accounts of a world, ordered by id, from 1."""
    dice = Dice(f"code/users/{seed}")
    users: list[User] = []
    taken: dict[str, int] = {}
    for number, person in enumerate(population(seed, scale)[: SIZES[scale].users], 1):
        username = _username(dice, person, taken)
        taken[username] = number
        born = now - timedelta(days=dice.between(760, 1500), seconds=dice.below(86400))
        users.append(User(number, username, person.name, f"{person.first}.{person.last}@example.com".lower(), born))
    return users


def draw_strangers(seed: int, scale: Scale = "standard") -> list[User]:
    """Return people without an account, whose commits came by mail."""
    sizes = SIZES[scale]
    people = population(seed, scale)[sizes.users : sizes.users + sizes.strangers]
    return [
        User(0, "", person.name, f"{person.last}.{person.first}@mail.example".lower(), datetime(2000, 1, 1))
        for person in people
    ]


def _username(dice: Dice, person: Person, taken: dict[str, int]) -> str:
    """Return a username in one of the usual shapes that nobody has yet."""
    first, last = person.first.lower(), person.last.lower()
    shapes = [f"{first[0]}{last}", f"{first}{last[0]}", f"{first}.{last}", f"{last}{dice.between(2, 99)}", f"{first}-{last}"]
    free = [shape for shape in shapes if shape not in taken]
    return dice.pick(free[: max(1, len(free) - 1)])


def draw_groups(seed: int, now: datetime, users: list[User], scale: Scale = "standard") -> list[Group]:
    """Return the groups: I own the first, maintain the second, develop in the third and fourth and report in the fifth."""
    dice, count = Dice(f"code/groups/{seed}"), SIZES[scale].groups
    kinds, domains = pools()["group_kinds"], dice.some(pools()["domains"], count)
    mine = ("Owner", "Maintainer", "Developer", "Developer", "Reporter")
    groups = []
    for place in range(count):
        ending, title, description = kinds[place % len(kinds)]
        word = invented(seed, place, "work", scale)
        born = now - timedelta(days=dice.between(730, 1200), seconds=dice.below(86400))
        group = Group(
            place + 1,
            f"{word.lower()}-{ending}",
            f"{word} {title}",
            fill(dice, description, w=word, d=domains[place]),
            "private" if place == 3 else "internal" if place in (2, 6) else "public",
            born,
        )
        roles = ["Owner", "Maintainer", *(dice.pick(("Developer", "Developer", "Reporter", "Guest")) for _ in range(7))]
        people = [user.user_id for user in dice.some(users[1:], dice.between(4, 8))]
        if place < len(mine):
            group.members[ME] = Membership(mine[place], None, born + timedelta(days=1))
            if mine[place] in roles[:2]:
                roles.remove(mine[place])
        for user_id, role in zip(people, roles, strict=False):
            group.members[user_id] = membership(dice, role, born, now)
        groups.append(group)
    return groups


def membership(dice: Dice, role: str, since: datetime, now: datetime) -> Membership:
    """Return a place in a project or group that was given some time after `since`; one in five ends one day."""
    joined = since + timedelta(seconds=dice.below(max(1, int((now - since).total_seconds()))))
    ends = now + timedelta(days=dice.between(15, 330))
    return Membership(role, str(ends.date()) if role != "Owner" and dice.chance(20) else None, joined)
