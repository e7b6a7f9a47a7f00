"""The customers and guests of a world's shop, and the store: settings, text pages, cart price rules and search terms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale
from webarena_gym.sites.country.geography import Country, country
from webarena_gym.sites.country.names import Person, population
from webarena_gym.sites.country.texts import slug
from webarena_gym.sites.shopping.world_products import SIZES, TEXTS, Catalogue

COMPANIES = ("Northgate Dental", "Bluebird Studio", "Harper and Sons", "Granite Works", "Lakeside School", "Pioneer Freight")
PASSWORD = "Password.123"  # noqa: S105  # the password of all customers


class Address(NamedTuple):
    """A postal address with a telephone number. The fields are the columns of addresses in all tables."""

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
    """A registered customer. With `has_default`, the first address is the default; `other_address` is not in the address book."""

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
        """Billing address, and usual shipping address, of the customer's orders."""
        return self.addresses[0] if self.addresses else self.other_address


@dataclass(frozen=True)
class Guest:
    """A person without an account who orders or writes reviews."""

    firstname: str
    lastname: str
    email: str
    nickname: str
    home: Address


def draw_people(seed: int, now: datetime, scale: Scale = "standard") -> tuple[list[Customer], list[Guest]]:
    """Draw the customers, in the order of their registration, and the guests."""
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
    moments = sorted(customer.created_at for customer in customers)  # times increase with ids
    customers = [replace(customer, created_at=born) for customer, born in zip(customers, moments, strict=True)]
    guests = [
        Guest(first, last, _email(first, last, dice.below(4)), nickname, _address(dice, land, first, last, next(phones)))
        for (first, last), nickname in zip(everyone[sizes.customers :], nicknames[sizes.customers :], strict=True)
    ]
    return customers, guests


def _email(first: str, last: str, style: int) -> str:
    """Return an email address in one of four styles. Different names have different addresses."""
    pattern = ("{}.{}@example.com", "{}_{}@example.com", "{}.{}@mail.example.com", "{}{}@example.org")[style]
    return pattern.format(first.lower(), last.lower())


def _nicknames(dice: Dice, names: Sequence[Person]) -> list[str]:
    """Draw a unique nickname for each person, which signs reviews."""
    used: dict[str, None] = {}
    for first, last in names:
        styles = [
            first, f"{first} {last[0]}.", f"{first[0]}. {last}", f"{first} {last}", f"{first}{last[0]}{dice.between(60, 99)}",
        ]  # fmt: skip
        style = dice.weigh(range(len(styles)), (35, 25, 15, 10, 15))
        nickname = next(name for name in [*styles[style:], *styles[3:]] if name not in used)
        used[nickname] = None
    return list(used)


def _line_numbers(dice: Dice, count: int) -> Iterator[str]:
    """Yield the last seven digits of up to `count` unique telephone numbers, all drawn when the first one is requested."""
    yield from (f"555-{number:04d}" for number in dice.some(range(100, 10000), count))


def _address(dice: Dice, land: Country, first: str, last: str, line: str) -> Address:
    town = dice.pick(land.towns)
    company = dice.pick(COMPANIES) if dice.chance(8) else ""
    street = f"{dice.between(11, 2400)} {dice.pick(town.streets)}"
    street += f", Apt {dice.between(1, 40)}" if dice.chance(20) else ""
    postcode, telephone = town.postcode + dice.digits(2), f"{town.area_code}-{line}"
    return Address(first, last, company, street, town.name, town.state, postcode, land.name, telephone)


BASE_THEME = "Plain Canvas"


@dataclass(frozen=True)
class Rule:
    """A cart price rule. `amount` is a percentage for the action "by_percent", else cents."""

    name: str
    description: str
    coupon_code: str | None
    action: str
    amount: int
    is_active: bool
    from_date: datetime
    to_date: datetime | None

    def discount(self, subtotal_cents: int) -> int:
        """Return the discount on a subtotal, in cents."""
        percent = (subtotal_cents * self.amount + 50) // 100
        return min(percent if self.action == "by_percent" else self.amount, subtotal_cents)

    def covers(self, moment: datetime) -> bool:
        """Return True if the coupon was valid at a time."""
        ends = self.to_date or moment
        return self.coupon_code is not None and self.from_date.date() <= moment.date() <= ends.date()


@dataclass(frozen=True)
class Store:
    """The facts of a store that its settings and text pages contain."""

    name: str
    phone: str
    email: str
    hours: str
    street: str
    city: str
    region: str
    postcode: str
    country: str
    founded: int
    flat_cents: int
    table_cents: int
    free_threshold_cents: int
    returns_days: int
    dispatch_days: int
    admin: Person
    rules: list[Rule]
    themes: list[str]


def draw_store(seed: int, now: datetime, scale: Scale = "standard") -> Store:
    """Draw the facts of a store."""
    dice = Dice(f"shopping/{seed}/store")
    name = f"{dice.pick(TEXTS['store_first'])} {dice.pick(TEXTS['store_second'])}"
    land = country(seed, scale)
    town = dice.pick(land.towns[:10])
    return Store(
        name=name,
        phone=f"{town.area_code}-555-{dice.digits(4)}",
        email=f"help@{slug(name)}.example.com",
        hours=f"Monday to Friday, {dice.pick((8, 9, 10))} AM to {dice.pick((5, 6, 7))} PM",
        street=f"{dice.between(11, 990)} {dice.pick(town.streets)}",
        city=town.name,
        region=town.state,
        postcode=town.postcode + dice.digits(2),
        country=land.name,
        founded=dice.between(1996, 2018),
        flat_cents=500,
        table_cents=1500,
        free_threshold_cents=dice.pick((7500, 10000, 12500, 15000)),
        returns_days=dice.pick((14, 30, 45, 60, 90)),
        dispatch_days=dice.pick((1, 2, 3)),
        admin=population(seed, scale)[-1],
        rules=_rules(dice, now),
        themes=[BASE_THEME, *dice.some(TEXTS["themes"], 3)],
    )


def config(store: Store) -> list[tuple[str, str, str]]:
    """Return the settings of a store as (path, label, value)."""
    information = {
        "name": "Store Name", "phone": "Store Phone Number", "hours": "Store Hours of Operation", "street": "Street Address",
        "city": "City", "region": "Region/State", "postcode": "ZIP/Postal Code", "country": "Country",
    }  # fmt: skip
    return [
        *((f"general/store_information/{name}", label, getattr(store, name)) for name, label in information.items()),
        ("general/email", "Store Email", store.email),
        ("currency/default", "Default Display Currency", "USD"),
        ("carriers/flatrate/price", "Flat Rate Price per Item", _dollars(store.flat_cents)),
        ("carriers/tablerate/price", "Table Rate Price", _dollars(store.table_cents)),
        ("carriers/freeshipping/free_shipping_subtotal", "Free Shipping from Subtotal", _dollars(store.free_threshold_cents)),
        ("catalog/returns_days", "Days to Return", str(store.returns_days)),
    ]


def texts(store: Store) -> list[tuple[str, ...]]:
    """Return the text pages of a store, as rows of the table `cms_page`."""
    facts = vars(store) | {
        "threshold": _dollars(store.free_threshold_cents).removesuffix(".00"),
        "reach": f"Call us at {store.phone} or write to {store.email}.",
        "flat": _dollars(store.flat_cents),
        "table": _dollars(store.table_cents),
        "s": "s" if store.dispatch_days > 1 else "",
        "refund_days": store.dispatch_days + 4,
    }
    return [tuple(text.format(**facts) for text in page) for page in TEXTS["pages"]]


def search_terms(seed: int, now: datetime, catalogue: Catalogue) -> list[tuple[str, int, int, datetime]]:
    """Draw search terms by decreasing number of uses, as (text, number of results, number of uses, time of the last use)."""
    dice = Dice(f"shopping/{seed}/search")
    pages = [
        f"{p.name} {p.sku} {p.brand} {p.short_description} {p.description}".lower() for p in catalogue.products if p.is_enabled
    ]
    nouns = list(dict.fromkeys(product.noun.lower() for product in catalogue.products))
    words = list(dict.fromkeys(dict(product.attributes).get("Material", "").lower() for product in catalogue.products))
    words = [word for word in words if word]
    queries = [*dice.some(nouns, 15), *dice.some(words, 4), *dice.some([name.lower() for name in catalogue.brands], 3)]
    queries = dice.some([*queries, *dice.some(TEXTS["misspelled"], 3)], 25)
    uses = dice.between(120, 180)
    terms = []
    for query in queries:
        results = sum(all(word in page for word in query.split()) for page in pages)
        terms.append((query, results, uses, now - timedelta(minutes=dice.between(30, 90000))))
        uses -= dice.between(1, max(1, min(uses // 6, uses // 2)))
    return terms


def contact_messages(seed: int, now: datetime, customers: list[Customer]) -> list[tuple[str, str, str, str, datetime]]:
    """Draw messages of the contact form, oldest first."""
    dice = Dice(f"shopping/{seed}/messages")
    writers, comments = dice.some(customers[1:], 5), dice.some(TEXTS["messages"], 5)
    moments = sorted(now - timedelta(minutes=dice.between(3000, 200000)) for _ in writers)
    return [
        (f"{who.firstname} {who.lastname}", who.email, who.home.telephone if dice.chance(60) else "", comment, moment)
        for who, comment, moment in zip(writers, comments, moments, strict=True)
    ]


def _dollars(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _rules(dice: Dice, now: datetime) -> list[Rule]:
    """Draw the rules: four valid coupons, three expired ones, and an inactive rule without a coupon."""
    rules = []
    percents, dollars = dice.some((5, 10, 15, 20, 25), 5), dice.some((6, 8, 12, 18), 2)
    for index, word in enumerate(dice.some(TEXTS["coupons"], 7)):
        is_percent = index % 3 != 2
        amount = percents.pop() if is_percent else dollars.pop()
        is_over = index >= 4
        start = now - timedelta(days=dice.between(250, 420) if is_over else dice.between(60, 400))
        end = start + timedelta(days=dice.between(60, 150)) if is_over else now + timedelta(days=dice.between(30, 200))
        rules.append(
            Rule(
                name=f"{amount}% off with {word}{amount}" if is_percent else f"${amount} off with {word}{amount}",
                description=f"{'Ended' if is_over else 'Current'} {word.lower()} campaign",
                coupon_code=f"{word}{amount}",
                action="by_percent" if is_percent else "cart_fixed",
                amount=amount if is_percent else amount * 100,
                is_active=not is_over,
                from_date=start,
                to_date=None if index == 0 else end,
            )
        )
    ended = now - timedelta(days=380), now - timedelta(days=373)
    return [*rules, Rule("Staff discount", "For the yearly staff sale", None, "by_percent", 30, False, *ended)]
