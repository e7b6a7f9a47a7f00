"""The orders of a world's shop with their invoices, shipments and refunds, and the reviews of its products."""

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

DAYS = 425  # age of the oldest orders
REGULARS = (17, 15, 13, 11, 9)  # number of orders of the most frequent customers after the first one
USUAL = 5  # largest number of orders of other customers
IN_SEASON = (260, 190, 130, 90, 60)  # additional weights of the favorite products of a month
STATUSES = ("pending", "processing", "complete", "canceled", "closed", "holded")
CARRIERS = ("DHL", "Federal Express", "United Parcel Service", "United States Postal Service")


@dataclass(frozen=True)
class Line:
    """A line of an order. `options` are labels by title; `price_cents` is the price of one piece."""

    product: Product
    options: dict[str, str]
    price_cents: int
    quantity: int


@dataclass(frozen=True)
class Shipment:
    """A shipment. `quantities` are pieces by line of the order; without a carrier it has no tracking."""

    created_at: datetime
    quantities: list[int]
    carrier: str | None
    number: str


@dataclass(frozen=True)
class Refund:
    """A refund (credit memo). `quantities` are pieces by line of the order."""

    created_at: datetime
    quantities: list[int]
    shipping_cents: int
    total_cents: int


@dataclass(frozen=True)
class Order:
    """An order with its invoice, shipment, refund and comments. Orders of guests have no customer."""

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
        """Sum of the lines."""
        return sum(line.price_cents * line.quantity for line in self.lines)

    @property
    def total_cents(self) -> int:
        """Subtotal minus the discount plus shipping."""
        return self.subtotal_cents - self.discount_cents + self.shipping_cents


@dataclass(frozen=True)
class Sale:
    """A draft of an order, from which `_order` draws the rest."""

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
    """Draw all orders, oldest first."""
    dice = Dice(f"shopping/{seed}/orders")
    buyers = _buyers(dice, customers, guests, sizes)
    moments = _moments(dice, now, len(buyers))
    buyers = _seat(dice, buyers, moments)
    statuses = _statuses(dice, now, moments, buyers)
    sales = _sales(dice, moments, buyers, statuses, products, sizes)
    return [_order(dice, now, sale, store) for sale in _without_ties(dice, now, sales, products)]


def _buyers(dice: Dice, customers: list[Customer], guests: list[Guest], sizes: Sizes) -> list[Customer | Guest]:
    """Draw the buyers of all orders: the first customer has most orders, then REGULARS, other customers and guests."""
    others = dice.some(customers[1:], len(customers))
    buyers: list[Customer | Guest] = [customers[0]] * dice.between(27, 38)
    for customer, count in zip(others, REGULARS, strict=False):
        buyers += [customer] * count
    for customer in others[len(REGULARS) : -sizes.idle]:
        buyers += [customer] * dice.between(1 if dice.chance(20) else 3, USUAL)
    return buyers + dice.some(guests, sizes.guest_orders)


def _moments(dice: Dice, now: datetime, count: int) -> list[datetime]:
    """Draw `count` different times in the last DAYS days, in order; 15 % of them are in the last 30 days."""
    moments: dict[datetime, None] = {}
    while len(moments) < count:
        days = dice.below(DAYS) if dice.chance(85) else dice.below(30)
        day = datetime(now.year, now.month, now.day) - timedelta(days=days)
        moment = day + timedelta(seconds=dice.between(7 * 3600, 23 * 3600))
        if moment < now - timedelta(hours=1):
            moments[moment] = None
    return sorted(moments)


def _seat(dice: Dice, buyers: list[Customer | Guest], moments: list[datetime]) -> list[Customer | Guest]:
    """Return a buyer for each time. No customer buys before registering, so the newest customers are assigned first."""
    free = list(range(len(moments)))
    seats: dict[int, Customer | Guest] = {}

    def joined_at(buyer: Customer | Guest) -> datetime:
        return buyer.created_at if isinstance(buyer, Customer) else moments[0]

    for buyer in sorted(dice.some(buyers, len(buyers)), key=joined_at, reverse=True):
        later = free[bisect_right(free, joined_at(buyer), key=moments.__getitem__) :] or free[-1:]
        seat = dice.pick(later)
        free.remove(seat)
        seats[seat] = buyer
    return [seats[index] for index in range(len(moments))]


def _statuses(dice: Dice, now: datetime, moments: list[datetime], buyers: list[Customer | Guest]) -> list[str]:
    """Draw the status of each order, by its age. The first customer has an order of each status."""
    statuses = []
    for moment in moments:
        days = (now - moment).days
        weights = (60, 35, 0, 0, 0, 5) if days < 5 else (20, 40, 28, 8, 0, 4) if days < 20 else (2, 8, 74, 10, 5, 1)
        statuses.append(dice.weigh(STATUSES, weights if days < 60 else (0, 0, 83, 10, 7, 0)))
    mine = [index for index, buyer in enumerate(buyers) if isinstance(buyer, Customer) and buyer.customer_id == 1]
    places = {"pending": 1, "processing": 2, "holded": 4, "canceled": 7, "closed": 11, "complete": 5}
    status_by_index = {mine[-place]: status for status, place in places.items()}
    return [status_by_index.get(index, status) for index, status in enumerate(statuses)]


def _sales(
    dice: Dice, moments: list[datetime], buyers: list[Customer | Guest], statuses: list[str], products: list[Product],
    sizes: Sizes,
) -> list[Sale]:  # fmt: skip
    """Draw the products of each order, by their popularity and season; 12 % are products that the buyer has bought before."""
    by_popularity = dice.some([product for product in products if product.is_enabled], len(products))
    by_popularity = by_popularity[: len(by_popularity) * 9 // 10]
    usual = [1000 * sizes.popularity // (rank + 7) for rank in range(len(by_popularity))]
    season: dict[str, list[int]] = {}
    bought: dict[str, list[Product]] = {}
    sales = []
    for moment, buyer, status in zip(moments, buyers, statuses, strict=True):
        month = f"{moment:%Y-%m}"
        if month not in season:
            favorites = dict(zip(dice.some(range(len(by_popularity)), len(IN_SEASON)), IN_SEASON, strict=True))
            season[month] = [weight + sizes.popularity * favorites.get(rank, 0) for rank, weight in enumerate(usual)]
        before = bought.setdefault(buyer.email, [])
        chosen: dict[int, Product] = {}
        for _ in range(dice.weigh((1, 2, 3, 4, 5), (33, 31, 20, 11, 5))):
            product = dice.pick(before) if before and dice.chance(12) else dice.weigh(by_popularity, season[month])
            chosen[product.product_id] = product
        before += chosen.values()
        sales.append(Sale(moment, buyer, status, [_line(dice, product, moment) for product in chosen.values()]))
    return sales


def _line(dice: Dice, product: Product, moment: datetime) -> Line:
    """Draw the options and quantity of a product that is bought at a time."""
    chosen = {title: dice.pick(values) for title, values in product.options}
    price = product.price_at(moment) + sum(delta for _, delta in chosen.values())
    return Line(product, {title: label for title, (label, _) in chosen.items()}, price, dice.weigh((1, 2, 3), (84, 12, 4)))


def _windows(sales: list[Sale], now: datetime) -> list[list[int]]:
    """Return the indices of the sales in each period for which bestsellers may be requested, with and without canceled orders."""
    periods: dict[str, list[int]] = {}
    for index, sale in enumerate(sales):
        moment = sale.moment
        names = [f"{moment:%Y-%m}", f"{moment.year} quarter {(moment.month + 2) // 3}", f"{moment.year}", "ever"]
        names += [f"last {days} days" for days in (30, 60, 90, 180) if now - moment <= timedelta(days=days)]
        for name in names:
            periods.setdefault(name, []).append(index)
            if sale.status != "canceled":
                periods.setdefault(f"{name}, not canceled", []).append(index)
    return list(periods.values())


def _without_ties(dice: Dice, now: datetime, sales: list[Sale], products: list[Product]) -> list[Sale]:
    """Increase quantities until the five bestsellers of every period sell different numbers of pieces.

    Of products with the same number, the one with the most orders in all periods gets one more piece. This terminates: the product
    with the fewest orders is never increased, and every other one only until it exceeds those with fewer orders.
    """
    pieces = [{line.product.product_id: line.quantity for line in sale.lines} for sale in sales]
    orders_of: dict[int, int] = {}
    for quantities in pieces:
        for key in quantities:
            orders_of[key] = orders_of.get(key, 0) + 1
    windows = _windows(sales, now)
    is_settled = False
    while not is_settled:
        is_settled = True
        for window in windows:
            not_canceled = [index for index in window if sales[index].status != "canceled"] or window
            while tied := _tied_products(pieces, window):
                raised = max(tied, key=lambda key: (orders_of[key], key))
                # One or two pieces become one more; beyond that, a small order gets it as a new line.
                index = min(not_canceled, key=lambda i: (pieces[i].get(raised, 2), raised not in pieces[i], len(pieces[i]), -i))
                pieces[index][raised] = pieces[index].get(raised, 0) + 1
                is_settled = False
    by_id = {product.product_id: product for product in products}
    settled = []
    for sale, quantities in zip(sales, pieces, strict=True):
        before = {line.product.product_id: line for line in sale.lines}
        lines = [
            replace(before.get(key) or _line(dice, by_id[key], sale.moment), quantity=count)
            for key, count in quantities.items()
        ]
        settled.append(replace(sale, lines=lines))
    return settled


def _tied_products(pieces: list[dict[int, int]], window: list[int]) -> list[int]:
    """Return the ids of products that sell the same number of pieces in a period, if this number is one of the five largest."""
    sold: dict[int, int] = {}
    for index in window:
        for product_id, quantity in pieces[index].items():
            sold[product_id] = sold.get(product_id, 0) + quantity
    best = sorted(sold.values(), reverse=True)[:6]
    shared = next((first for first, second in pairwise(best) if first == second), None)
    return [product_id for product_id, quantity in sold.items() if quantity == shared]


def _order(dice: Dice, now: datetime, sale: Sale, store: Store) -> Order:
    """Draw the order of a sale: discount, shipping and addresses, and the documents that its status requires."""
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
        comments=(  # canceled, closed and held orders have a comment more often
            [(_later(dice, max(sale.moment, last), 5, 600, now), *dice.pick(TEXTS["comments"][status]))]
            if dice.chance(60 if status in {"canceled", "closed", "holded"} else 12)
            else []
        ),
    )


def _later(dice: Dice, moment: datetime, least: int, most: int, now: datetime) -> datetime:
    """Draw a time that is `least` to `most` minutes after `moment`, or less if that would not be before `now`."""
    minutes = dice.between(least, most)
    rest = int((now - moment).total_seconds())
    seconds = min(minutes * 60, rest * dice.between(30, 70) // 100)
    return moment + timedelta(seconds=max(1, seconds + dice.below(60) if seconds + 60 < rest else seconds))


def _shipment(dice: Dice, now: datetime, invoiced: datetime, lines: list[Line], *, is_whole: bool) -> Shipment | None:
    """Draw the shipment of an order, or None. If not `is_whole`, it contains only the first of several lines."""
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
    """Draw the refund of an order, or None: closed orders are refunded, and a line of a few complete ones without a discount."""
    moment = _later(dice, last, 6000, 25000, now)
    if status == "closed":
        refunded = shipping if dice.chance(70) else 0
        return Refund(moment, [line.quantity for line in lines], refunded, paid - shipping + refunded)
    if status == "complete" and len(lines) > 2 and not discount and dice.chance(12):
        return Refund(moment, [lines[0].quantity] + [0] * (len(lines) - 1), 0, lines[0].price_cents * lines[0].quantity)
    return None


STARS = (1, 2, 3, 4, 5)
QUALITIES = ((2, 3, 8, 30, 57), (4, 6, 15, 40, 35), (15, 15, 25, 25, 20), (40, 25, 18, 10, 7))
"""Weights of 1 to 5 stars for products of each quality."""
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


@dataclass(frozen=True)
class Review:
    """A review. Reviews of guests have no customer; `facts` are those of a composed review."""

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
    """A draft of a review: its time, product and author, and the earliest time at which the author may have the product."""

    moment: datetime
    product: Product
    customer_id: int | None
    nickname: str
    since: datetime


ReviewText = tuple[str, str, ReviewFacts | None]
"""Title and text of a review, and its facts if it is composed from facts."""
Writer = Callable[[Dice, Visit, list[str], int], ReviewText]
"""A function that writes a review from a visit, the aspects of the product with its strong ones first, and the stars."""


def draw_reviews(
    seed: int, now: datetime, products: list[Product], orders: list[Order], guests: list[Guest], sizes: Sizes, write: Writer,
) -> list[Review]:  # fmt: skip
    """Draw all reviews, oldest first. `write` writes their texts."""
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
    """Draw the visits of customers who received their order. Nobody reviews a product twice."""
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
    """Draw the visits of guests, weighted by the sales of the products; an eighth of the products has none."""
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
    """Return a writer that draws the facts of a review and composes its text from them."""

    def write(dice: Dice, visit: Visit, _: list[str], rating: int) -> ReviewText:
        product = visit.product
        thing = Thing(product.noun, brand=product.brand, attributes=tuple(product.attributes))
        facts = draw_review(dice, thing, rating)
        days = (visit.moment - visit.since).days
        facts = replace(
            facts,
            is_verified=visit.customer_id is not None,
            used_for=_within(dice, facts.used_for, days),
            edited_after=_within(dice, facts.edited_after, days),
        )
        return *compose_review(facts, dice, is_held_out=is_held_out), facts

    return write


def _within(dice: Dice, span: tuple[int, str] | None, days: int) -> tuple[int, str] | None:
    """Return a duration of at most `days` days: the given one, else a random shorter one, or None if all are longer."""
    if span is None or span[0] * _DAYS[span[1]] <= days:
        return span
    shorter = [other for other in SPANS if other[0] * _DAYS[other[1]] <= days]
    return dice.pick(shorter) if shorter else None


def combiner() -> Writer:
    """Return a writer that combines sentences of `opinions.json`, and repeats texts only if it has to."""
    pool: dict[str, Any] = json.loads((Path(__file__).parent / "opinions.json").read_text())
    texts: dict[str, None] = {}
    return lambda dice, _, aspects, rating: _text(dice, pool, aspects, rating, texts)


def _text(dice: Dice, pool: dict[str, Any], aspects: list[str], rating: int, texts: dict[str, None]) -> ReviewText:
    """Draw title and text. Praise is about the first aspects of a product and complaints about the last, so reviews agree."""
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
        if detail not in texts:
            break
    texts[detail] = None
    return title, detail, None


def _mentions(dice: Dice, aspects: list[str], rating: int) -> tuple[list[str], list[str]]:
    """Draw the aspects that a review praises, and those that it criticizes."""
    middle = max(1, len(aspects) // 2)
    strong, weak = aspects[:middle], aspects[middle:] or aspects[:1]
    if rating >= 4:
        return dice.some(aspects if dice.chance(40) else strong, dice.between(1, 2)), []
    if rating == 3:
        return [strong[0]], [dice.pick(weak)] if weak[0] != strong[0] else []
    return [], dice.some(weak if dice.chance(60) else aspects, dice.between(1, 2))
