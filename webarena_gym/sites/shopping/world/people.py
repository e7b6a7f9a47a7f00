"""The customers of one world, with their address books; the first is the person whom tasks log in as."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Country, country
from webarena_gym.sites.country.people import Person, population
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.shopping.world.sizes import SIZES

COMPANIES = ("Northgate Dental", "Bluebird Studio", "Harper and Sons", "Granite Works", "Lakeside School", "Pioneer Freight")
PASSWORD = "Password.123"  # noqa: S105  # the one password of every made-up customer


@dataclass(frozen=True)
class Address:
    """A postal address with its telephone number."""

    firstname: str
    lastname: str
    company: str
    street: str
    city: str
    region: str
    postcode: str
    country: str
    telephone: str


@dataclass(frozen=True)
class Customer:
    """A registered customer. The first address is the default one when `has_default`; `other_address` is in no book."""

    customer_id: int
    firstname: str
    lastname: str
    email: str
    group_name: str
    created_at: datetime
    nickname: str
    addresses: list[Address]
    has_default: bool
    other_address: Address

    @property
    def home(self) -> Address:
        """Where orders usually go."""
        return self.addresses[0] if self.addresses else self.other_address


@dataclass(frozen=True)
class Guest:
    """Somebody without an account who buys or writes a review."""

    firstname: str
    lastname: str
    email: str
    nickname: str
    home: Address


def draw(seed: int, now: datetime, scale: Scale = "standard") -> tuple[list[Customer], list[Guest]]:
    """Draw the customers, in the order in which they joined, and the guests."""
    dice, sizes = Dice(f"shopping/{seed}/people"), SIZES[scale]
    everyone, land = population(seed, scale)[: sizes.customers + sizes.guests], country(seed, scale)
    nicknames, phones = _nicknames(dice, everyone), _line_numbers(dice, sizes.phones)
    joined = [now - timedelta(days=dice.between(870, 920))]
    joined += sorted(
        now - timedelta(days=dice.between(430, 860) if dice.chance(85) else dice.between(3, 430))
        for _ in everyone[1 : sizes.customers]
    )
    customers = []
    for index, (first, last) in enumerate(everyone[: sizes.customers]):
        count = 2 if index == 0 else dice.weigh((0, 1, 2), (10, 62, 28))
        customers.append(
            Customer(
                customer_id=index + 1,
                firstname=first,
                lastname=last,
                email=_email(first, last, 0 if index == 0 else dice.below(4)),
                group_name="General" if index == 0 else dice.weigh(("General", "Wholesale", "Retailer"), (88, 6, 6)),
                created_at=joined[index] - timedelta(seconds=dice.below(40000)),
                nickname=nicknames[index],
                addresses=[_address(dice, land, first, last, next(phones)) for _ in range(count)],
                has_default=count > 0 and (index == 0 or dice.chance(94)),
                other_address=_address(dice, land, first, last, next(phones)),
            )
        )
    customers = _in_order(customers)
    guests = [
        Guest(first, last, _email(first, last, dice.below(4)), nickname, _address(dice, land, first, last, next(phones)))
        for (first, last), nickname in zip(everyone[sizes.customers :], nicknames[sizes.customers :], strict=True)
    ]
    return customers, guests


def _in_order(customers: list[Customer]) -> list[Customer]:
    """Swap the times of joining so that they rise with the ids."""
    moments = sorted(customer.created_at for customer in customers)
    return [Customer(**{**vars(customer), "created_at": moment}) for customer, moment in zip(customers, moments, strict=True)]


def _email(first: str, last: str, style: int) -> str:
    """Write an address of one of four styles; different names never give the same one."""
    pattern = ("{}.{}@example.com", "{}_{}@example.com", "{}.{}@mail.example.com", "{}{}@example.org")[style]
    return pattern.format(first.lower(), last.lower())


def _nicknames(dice: Dice, names: Sequence[Person]) -> list[str]:
    """Choose for everybody a different name to sign reviews with."""
    used: dict[str, None] = {}
    for first, last in names:
        styles = [
            first,
            f"{first} {last[0]}.",
            f"{first[0]}. {last}",
            f"{first} {last}",
            f"{first}{last[0]}{dice.between(60, 99)}",
        ]
        style = dice.weigh(range(len(styles)), (35, 25, 15, 10, 15))
        nickname = next(name for name in [*styles[style:], *styles[3:]] if name not in used)
        used[nickname] = None
    return list(used)


def _line_numbers(dice: Dice, count: int) -> Iterator[str]:
    """Yield the last seven digits of telephone numbers, all different."""
    yield from (f"555-{number:04d}" for number in dice.some(range(100, 10000), count))


def _address(dice: Dice, land: Country, first: str, last: str, line: str) -> Address:
    town = dice.pick(land.towns)
    return Address(
        firstname=first,
        lastname=last,
        company=dice.pick(COMPANIES) if dice.chance(8) else "",
        street=f"{dice.between(11, 2400)} {dice.pick(town.streets)}"
        + (f", Apt {dice.between(1, 40)}" if dice.chance(20) else ""),
        city=town.name,
        region=town.state,
        postcode=town.postcode + dice.digits(2),
        country=land.name,
        telephone=f"{town.area_code}-{line}",
    )
