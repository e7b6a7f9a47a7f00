"""The orders of a world's shop, with what follows from them, and the reviews of its products."""

import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose.reviews import SPANS, ReviewFacts, compose_review, draw_review
from webarena_gym.sites.prose.things import Thing
from webarena_gym.sites.shopping.world_products import TEXTS, Product, Sizes
from webarena_gym.sites.shopping.world_store import Address, Customer, Guest, Rule, Store

DAYS = 425
REGULARS = (17, 15, 13, 11, 9)  # orders of the most faithful customers after the first one
USUAL = 5  # nobody else has more
IN_SEASON = (260, 190, 130, 90, 60)  # what a month adds to the weights of a few products
STATUSES = ("pending", "processing", "complete", "canceled", "closed", "holded")
CARRIERS = ("DHL", "Federal Express", "United Parcel Service", "United States Postal Service")


@dataclass(frozen=True)
class Line:
    """One item of an order; `price_cents` is the price of one."""

    product: Product
    options: dict[str, str]
    price_cents: int
    quantity: int


@dataclass(frozen=True)
class Shipment:
    """A parcel: how many of each line are in it, and its track, if it has one."""

    created_at: datetime
    quantities: list[int]
    carrier: str | None
    number: str


@dataclass(frozen=True)
class Refund:
    """A creditmemo: how many of each line were taken back."""

    created_at: datetime
    quantities: list[int]
    shipping_cents: int
    total_cents: int


@dataclass(frozen=True)
class Order:
    """An order with all that came of it. A guest's has no customer."""

    created_at: datetime
    customer: Customer | None
    name: str
    email: str
    billing: Address
    shipping: Address
    status: str
    lines: list[Line]
    rule: Rule | None
    discount_cents: int
    shipping_method: str
    shipping_cents: int
    payment_method: str
    invoiced_at: datetime | None
    shipment: Shipment | None
    refund: Refund | None
    comments: list[tuple[datetime, str, bool]]

    @property
    def subtotal_cents(self) -> int:
        """The sum of the lines."""
        return sum(line.price_cents * line.quantity for line in self.lines)

    @property
    def total_cents(self) -> int:
        """Sums that are to be paid."""
        return self.subtotal_cents - self.discount_cents + self.shipping_cents


@dataclass(frozen=True)
class Sale:
    """An order before its sums: who bought what and when, and what has become of it."""

    moment: datetime
    buyer: Customer | Guest
    status: str
    lines: list[Line]


def draw_orders(
    seed: int,
    now: datetime,
    products: list[Product],
    customers: list[Customer],
    guests: list[Guest],
    store: Store,
    sizes: Sizes,
) -> list[Order]:
    """Draw all orders, the oldest first."""
    dice = Dice(f"shopping/{seed}/orders")
    buyers = _buyers(dice, customers, guests, sizes)
    moments = _moments(dice, now, len(buyers))
    buyers = _seat(dice, buyers, moments)
    statuses = _statuses(dice, now, moments, buyers)
    sales = _sales(dice, moments, buyers, statuses, products, sizes)
    return [_order(dice, now, sale, store) for sale in _without_ties(dice, now, sales, products)]


def _buyers(dice: Dice, customers: list[Customer], guests: list[Guest], sizes: Sizes) -> list[Customer | Guest]:
    """Return one buyer for each order: the first customer most often, then the regulars, then the others."""
    others = dice.some(customers[1:], len(customers))
    buyers: list[Customer | Guest] = [customers[0]] * dice.between(27, 38)
    for customer, count in zip(others, REGULARS, strict=False):
        buyers += [customer] * count
    for customer in others[len(REGULARS) : -sizes.idle]:
        buyers += [customer] * dice.between(1 if dice.chance(20) else 3, USUAL)
    return buyers + dice.some(guests, sizes.guest_orders)


def _moments(dice: Dice, now: datetime, count: int) -> list[datetime]:
    """Return as many different times over the last fourteen months, rising, a little denser towards the end."""
    found: dict[datetime, None] = {}
    while len(found) < count:
        days = dice.below(DAYS) if dice.chance(85) else dice.below(30)
        day = datetime(now.year, now.month, now.day) - timedelta(days=days)
        moment = day + timedelta(seconds=dice.between(7 * 3600, 23 * 3600))
        if moment < now - timedelta(hours=1):
            found[moment] = None
    return sorted(found)


def _seat(dice: Dice, buyers: list[Customer | Guest], moments: list[datetime]) -> list[Customer | Guest]:
    """Deal the buyers to the times so that nobody buys before joining: the newest customers choose first, from the end."""
    free = list(range(len(moments)))
    seats: dict[int, Customer | Guest] = {}

    def joined(buyer: Customer | Guest) -> datetime:
        return buyer.created_at if isinstance(buyer, Customer) else moments[0]

    for buyer in sorted(dice.some(buyers, len(buyers)), key=joined, reverse=True):
        later = free[bisect_right(free, joined(buyer), key=moments.__getitem__) :] or free[-1:]
        seat = dice.pick(later)
        free.remove(seat)
        seats[seat] = buyer
    return [seats[index] for index in range(len(moments))]


def _statuses(dice: Dice, now: datetime, moments: list[datetime], buyers: list[Customer | Guest]) -> list[str]:
    """Draw a status for each order from its age; the first customer has at least one order of each status."""
    statuses = []
    for moment in moments:
        days = (now - moment).days
        weights = (60, 35, 0, 0, 0, 5) if days < 5 else (20, 40, 28, 8, 0, 4) if days < 20 else (2, 8, 74, 10, 5, 1)
        statuses.append(dice.weigh(STATUSES, weights if days < 60 else (0, 0, 83, 10, 7, 0)))
    mine = [index for index, buyer in enumerate(buyers) if isinstance(buyer, Customer) and buyer.customer_id == 1]
    places = {"pending": 1, "processing": 2, "holded": 4, "canceled": 7, "closed": 11, "complete": 5}
    wanted = {mine[-place]: status for status, place in places.items()}
    return [wanted.get(index, status) for index, status in enumerate(statuses)]


def _sales(
    dice: Dice, moments: list[datetime], buyers: list[Customer | Guest], statuses: list[str], products: list[Product],
    sizes: Sizes,
) -> list[Sale]:  # fmt: skip
    """Draw what each buyer bought: mostly what is popular or in season, sometimes what was bought before."""
    ranked = dice.some([product for product in products if product.is_enabled], len(products))
    ranked = ranked[: len(ranked) * 9 // 10]
    usual = [1000 * sizes.popularity // (rank + 7) for rank in range(len(ranked))]
    season: dict[str, list[int]] = {}
    bought: dict[str, list[Product]] = {}
    sales = []
    for moment, buyer, status in zip(moments, buyers, statuses, strict=True):
        month = f"{moment:%Y-%m}"
        if month not in season:
            favorites = dict(zip(dice.some(range(len(ranked)), len(IN_SEASON)), IN_SEASON, strict=True))
            season[month] = [weight + sizes.popularity * favorites.get(rank, 0) for rank, weight in enumerate(usual)]
        before = bought.setdefault(buyer.email, [])
        chosen: dict[int, Product] = {}
        for _ in range(dice.weigh((1, 2, 3, 4, 5), (33, 31, 20, 11, 5))):
            product = dice.pick(before) if before and dice.chance(12) else dice.weigh(ranked, season[month])
            chosen[product.product_id] = product
        before += chosen.values()
        sales.append(Sale(moment, buyer, status, [_line(dice, product, moment) for product in chosen.values()]))
    return sales


def _line(dice: Dice, product: Product, moment: datetime) -> Line:
    """Choose the options and the quantity of one product."""
    chosen = {title: dice.pick(values) for title, values in product.options}
    price = product.price_at(moment) + sum(delta for _, delta in chosen.values())
    return Line(product, {title: label for title, (label, _) in chosen.items()}, price, dice.weigh((1, 2, 3), (84, 12, 4)))


def _windows(sales: list[Sale], now: datetime) -> list[list[int]]:
    """Return the sales of every period that somebody may ask the best sellers of, with and without canceled orders."""
    periods: dict[str, list[int]] = {}
    for index, sale in enumerate(sales):
        moment = sale.moment
        names = [f"{moment:%Y-%m}", f"{moment.year} quarter {(moment.month + 2) // 3}", f"{moment.year}", "ever"]
        names += [f"last {days} days" for days in (30, 60, 90, 180) if now - moment <= timedelta(days=days)]
        for name in names:
            periods.setdefault(name, []).append(index)
            if sale.status != "canceled":
                periods.setdefault(f"{name}, kept", []).append(index)
    return list(periods.values())


def _without_ties(dice: Dice, now: datetime, sales: list[Sale], products: list[Product]) -> list[Sale]:
    """Sell a little more here and there until the five best sellers of every period are beyond doubt.

    Of products that share a place, the one with the most orders in all is raised. That is one order of rank for all periods, so
    it ends: the lowest product is never raised, and each other one only until it has passed those below it.
    """
    pieces = [{line.product.product_id: line.quantity for line in sale.lines} for sale in sales]
    orders_of: dict[int, int] = {}
    for found in pieces:
        for key in found:
            orders_of[key] = orders_of.get(key, 0) + 1
    windows = _windows(sales, now)
    is_settled = False
    while not is_settled:
        is_settled = True
        for window in windows:
            kept = [index for index in window if sales[index].status != "canceled"] or window
            while tied := _tied(pieces, window):
                raised = max(tied, key=lambda key: (orders_of[key], key))
                # One or two pieces become one more; beyond that, a small order gets it as a new line.
                index = min(kept, key=lambda i: (pieces[i].get(raised, 2), raised not in pieces[i], len(pieces[i]), -i))
                pieces[index][raised] = pieces[index].get(raised, 0) + 1
                is_settled = False
    by_id = {product.product_id: product for product in products}
    settled = []
    for sale, found in zip(sales, pieces, strict=True):
        before = {line.product.product_id: line for line in sale.lines}
        lines = [
            replace(before.get(key) or _line(dice, by_id[key], sale.moment), quantity=count) for key, count in found.items()
        ]
        settled.append(replace(sale, lines=lines))
    return settled


def _tied(pieces: list[dict[int, int]], window: list[int]) -> list[int]:
    """Return the products that share one of the first five places among the best sellers of a period."""
    sold: dict[int, int] = {}
    for index in window:
        for product_id, quantity in pieces[index].items():
            sold[product_id] = sold.get(product_id, 0) + quantity
    best = sorted(sold.values(), reverse=True)[:6]
    shared = next((first for first, second in pairwise(best) if first == second), None)
    return [product_id for product_id, quantity in sold.items() if quantity == shared]


def _order(dice: Dice, now: datetime, sale: Sale, store: Store) -> Order:
    """Complete an order: its sums, its addresses and the papers that its status calls for."""
    buyer, lines, status = sale.buyer, sale.lines, sale.status
    subtotal = sum(line.price_cents * line.quantity for line in lines)
    rules = [rule for rule in store.rules if rule.covers(sale.moment)]
    rule = dice.pick(rules) if rules and dice.chance(14) else None
    discount = rule.discount(subtotal) if rule else 0
    flat = store.flat_cents * sum(line.quantity for line in lines)
    method, shipping = "Flat Rate - Fixed", flat
    if subtotal - discount >= store.free_threshold_cents and dice.chance(70):
        method, shipping = "Free Shipping", 0
    elif flat > store.table_cents or dice.chance(20):
        method, shipping = "Best Way - Table Rate", store.table_cents
    invoiced = _later(dice, sale.moment, 30, 1800, now) if status in {"processing", "complete", "closed"} else None
    shipment = _shipment(dice, now, invoiced, lines, is_whole=status != "processing") if invoiced else None
    last = shipment.created_at if shipment else invoiced or sale.moment
    paid = subtotal - discount + shipping
    is_other = isinstance(buyer, Customer) and len(buyer.addresses) > 1 and dice.chance(35)
    return Order(
        created_at=sale.moment,
        customer=buyer if isinstance(buyer, Customer) else None,
        name=f"{buyer.firstname} {buyer.lastname}",
        email=buyer.email,
        billing=buyer.home,
        shipping=buyer.addresses[1] if isinstance(buyer, Customer) and is_other else buyer.home,
        status=status,
        lines=lines,
        rule=rule,
        discount_cents=discount,
        shipping_method=method,
        shipping_cents=shipping,
        payment_method="Check / Money order" if dice.chance(80) else "Cash On Delivery",
        invoiced_at=invoiced,
        shipment=shipment,
        refund=_refund(dice, now, last, status, lines, discount, shipping, paid),
        comments=(  # the remark that some orders carry; those that went wrong more often
            [(_later(dice, max(sale.moment, last), 5, 600, now), *dice.pick(TEXTS["comments"][status]))]
            if dice.chance(60 if status in {"canceled", "closed", "holded"} else 12)
            else []
        ),
    )


def _later(dice: Dice, moment: datetime, least: int, most: int, now: datetime) -> datetime:
    """Return a time some minutes after `moment`, but before now."""
    minutes = dice.between(least, most)
    left = int((now - moment).total_seconds())
    seconds = min(minutes * 60, left * dice.between(30, 70) // 100)
    return moment + timedelta(seconds=max(1, seconds + dice.below(60) if seconds + 60 < left else seconds))


def _shipment(dice: Dice, now: datetime, invoiced: datetime, lines: list[Line], *, is_whole: bool) -> Shipment | None:
    """Pack a parcel. Of an order in processing, nothing was sent, or the first of several lines."""
    if not is_whole and (len(lines) == 1 or dice.chance(55)):
        return None
    quantities = [line.quantity if is_whole or index == 0 else 0 for index, line in enumerate(lines)]
    carrier = dice.pick(CARRIERS) if dice.chance(88) else None
    number = {"DHL": 10, "Federal Express": 12, "United States Postal Service": 22}.get(carrier or "")
    track = dice.digits(number) if number else f"1Z{dice.digits(16)}"
    return Shipment(_later(dice, invoiced, 240, 3600, now), quantities, carrier, track)


def _refund(
    dice: Dice, now: datetime, last: datetime, status: str, lines: list[Line], discount: int, shipping: int, paid: int
) -> Refund | None:
    """Pay back the whole of a closed order, and one line of a few complete ones without a discount."""
    moment = _later(dice, last, 6000, 25000, now)
    if status == "closed":
        refunded = shipping if dice.chance(70) else 0
        return Refund(moment, [line.quantity for line in lines], refunded, paid - shipping + refunded)
    if status == "complete" and len(lines) > 2 and not discount and dice.chance(12):
        return Refund(moment, [lines[0].quantity] + [0] * (len(lines) - 1), 0, lines[0].price_cents * lines[0].quantity)
    return None


STARS = (1, 2, 3, 4, 5)
QUALITIES = ((2, 3, 8, 30, 57), (4, 6, 15, 40, 35), (15, 15, 25, 25, 20), (40, 25, 18, 10, 7))
"""Weights of 1 to 5 stars for the goods of one quality."""
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


@dataclass(frozen=True)
class Review:
    """One review; a guest's has no customer. `facts` are what it says, where it is composed of facts."""

    product: Product
    customer_id: int | None
    nickname: str
    title: str
    detail: str
    rating: int
    status: str
    created_at: datetime
    facts: ReviewFacts | None = None


@dataclass(frozen=True)
class Visit:
    """Somebody who is about to write a review, and since when they may have the product."""

    moment: datetime
    product: Product
    customer_id: int | None
    nickname: str
    since: datetime


Written = tuple[str, str, ReviewFacts | None]
"""Text of a review: title, text, and its facts where they are known."""
Writer = Callable[[Dice, Visit, list[str], int], Written]
"""Writes a review of a visitor, of the aspects of the product with its strong ones first, and of the stars."""


def draw_reviews(
    seed: int, now: datetime, products: list[Product], orders: list[Order], guests: list[Guest], sizes: Sizes, write: Writer,
) -> list[Review]:  # fmt: skip
    """Draw all reviews, the oldest first. `write` writes the texts."""
    dice = Dice(f"shopping/{seed}/reviews")
    qualities = {product.product_id: dice.weigh(QUALITIES, (35, 38, 17, 10)) for product in products}
    aspects = {product.product_id: dice.some(product.aspects, 4) for product in products}
    visits = {
        visit.moment: visit for visit in _guests(dice, now, products, orders, guests, sizes) + _reviewers(dice, now, orders)
    }
    reviews: list[Review] = []
    for _, visit in sorted(visits.items()):
        key = visit.product.product_id
        rating = dice.weigh(STARS, qualities[key])
        title, detail, facts = write(dice, visit, aspects[key], rating)
        is_new = now - visit.moment < timedelta(days=45)
        status = "Pending" if is_new and dice.chance(40) else "Not Approved" if dice.chance(4) else "Approved"
        reviews.append(
            Review(visit.product, visit.customer_id, visit.nickname, title, detail, rating, status, visit.moment, facts)
        )
    return reviews


def _reviewers(dice: Dice, now: datetime, orders: list[Order]) -> list[Visit]:
    """Return the visits of customers who got what they bought; nobody reviews a product twice."""
    visits: dict[tuple[int, int], Visit] = {}
    for order in orders:
        if order.customer is None or order.status not in {"complete", "closed"} or order.shipment is None:
            continue
        for line in order.lines:
            moment = order.shipment.created_at + timedelta(days=dice.between(2, 30), seconds=dice.below(80000))
            key = (order.customer.customer_id, line.product.product_id)
            if key not in visits and moment < now and dice.chance(25 if key[0] == 1 else 82):
                visits[key] = Visit(moment, line.product, key[0], order.customer.nickname, order.shipment.created_at)
    return list(visits.values())


def _guests(
    dice: Dice, now: datetime, products: list[Product], orders: list[Order], guests: list[Guest], sizes: Sizes
) -> list[Visit]:
    """Return visits of people without an account, most of them to what sells well."""
    sold: dict[int, int] = {}
    for order in orders:
        for line in order.lines:
            sold[line.product.product_id] = sold.get(line.product.product_id, 0) + 1
    silent = {product.product_id: None for product in dice.some(products, len(products) // 8)}
    weights = [0 if product.product_id in silent else 5 + 2 * sold.get(product.product_id, 0) for product in products]
    visits: dict[tuple[str, int], Visit] = {}
    while len(visits) < sizes.guest_reviews:
        guest, product = dice.pick(guests), dice.weigh(products, weights)
        moment = now - timedelta(minutes=dice.between(60, 440 * 24 * 60), seconds=dice.below(60))
        visits[guest.nickname, product.product_id] = Visit(moment, product, None, guest.nickname, product.created_at)
    return list(visits.values())


def composer(*, is_held_out: bool) -> Writer:
    """Return a writer that draws the facts of a review and composes it of them."""

    def write(dice: Dice, visit: Visit, _: list[str], rating: int) -> Written:
        product = visit.product
        thing = Thing(product.noun, brand=product.brand, attributes=tuple(product.attributes))
        drawn = draw_review(dice, thing, rating)
        days = (visit.moment - visit.since).days
        facts = replace(
            drawn,
            is_verified=visit.customer_id is not None,
            used_for=_within(dice, drawn.used_for, days),
            edited_after=_within(dice, drawn.edited_after, days),
        )
        return *compose_review(facts, dice, is_held_out=is_held_out), facts

    return write


def _within(dice: Dice, span: tuple[int, str] | None, days: int) -> tuple[int, str] | None:
    """Return a span, or a shorter one where it is longer than so many days, or none if all are."""
    if span is None or span[0] * _DAYS[span[1]] <= days:
        return span
    shorter = [each for each in SPANS if each[0] * _DAYS[each[1]] <= days]
    return dice.pick(shorter) if shorter else None


def combiner() -> Writer:
    """Return a writer that combines the sentences of `opinions.json`, no text twice if possible."""
    pool: dict[str, Any] = json.loads((Path(__file__).parent / "opinions.json").read_text())
    seen: dict[str, None] = {}
    return lambda dice, _, aspects, rating: _text(dice, pool, aspects, rating, seen)


def _text(dice: Dice, pool: dict[str, Any], aspects: list[str], rating: int, seen: dict[str, None]) -> Written:
    """Write title and text. Praise speaks of a product's first aspects, complaints of its last, so that voices agree."""
    title = detail = ""
    for _ in range(20):
        praised, criticized = _mentions(dice, aspects, rating)
        if dice.chance(9) and rating != 3:
            (praised if rating > 3 else criticized).append("delivery")
        parts = [dice.pick(pool["openers"][str(rating)])]
        parts += [dice.pick(pool["aspects"][aspect]["praise"]) for aspect in praised]
        parts += [dice.pick(pool["aspects"][aspect]["complaint"]) for aspect in criticized]
        parts += [dice.pick(pool["closers"][str(rating)])]
        detail = " ".join(part for part in parts if part)
        title = dice.pick(pool["titles"][str(rating)])
        if rating != 3 and dice.chance(45):
            title = dice.pick(pool["aspects"][(praised or criticized)[0]]["praised" if rating > 3 else "criticized"])
        if detail not in seen:
            break
    seen[detail] = None
    return title, detail, None


def _mentions(dice: Dice, aspects: list[str], rating: int) -> tuple[list[str], list[str]]:
    """Choose the aspects that a review praises and those it criticizes."""
    middle = max(1, len(aspects) // 2)
    strong, weak = aspects[:middle], aspects[middle:] or aspects[:1]
    if rating >= 4:
        return dice.some(aspects if dice.chance(40) else strong, dice.between(1, 2)), []
    if rating == 3:
        return [strong[0]], [dice.pick(weak)] if weak[0] != strong[0] else []
    return [], dice.some(weak if dice.chance(60) else aspects, dice.between(1, 2))
