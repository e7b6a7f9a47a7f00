"""What people say about the goods of one world.

In standard worlds `opinions.json` holds the sentences, by the aspect they speak of; in large ones reviews are composed of facts.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose import ReviewFacts, Thing, compose_review, draw_review
from webarena_gym.sites.prose.reviews import SPANS
from webarena_gym.sites.shopping.world.orders import Order
from webarena_gym.sites.shopping.world.people import Guest
from webarena_gym.sites.shopping.world.products import Product
from webarena_gym.sites.shopping.world.sizes import SIZES, Sizes

STARS = (1, 2, 3, 4, 5)
QUALITIES = ((2, 3, 8, 30, 57), (4, 6, 15, 40, 35), (15, 15, 25, 25, 20), (40, 25, 18, 10, 7))
"""How often the goods of one quality get 1 to 5 stars."""
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


class Occasion(NamedTuple):
    """What a review is about: who writes it of what and when, the aspects of the product with its strong ones first, and the stars."""

    visit: Visit
    aspects: list[str]
    rating: int


class Written(NamedTuple):
    """What a writer writes: title, text, and what the text says where that is known."""

    title: str
    detail: str
    facts: ReviewFacts | None = None


Writer = Callable[[Dice, Occasion], Written]
"""Writes a review."""


def draw(
    seed: int,
    now: datetime,
    products: list[Product],
    orders: list[Order],
    guests: list[Guest],
    sizes: Sizes = SIZES["standard"],
    write: Writer | None = None,
) -> list[Review]:
    """Draw all reviews, the oldest first. `write` writes the texts, by default from `opinions.json`."""
    dice, write = Dice(f"shopping/{seed}/reviews"), write or _usual_writer()
    qualities = {product.product_id: dice.weigh(QUALITIES, (35, 38, 17, 10)) for product in products}
    aspects = {product.product_id: dice.some(product.aspects, 4) for product in products}
    visits = {visit.moment: visit for visit in _guests(dice, now, products, orders, guests, sizes) + _buyers(dice, now, orders)}
    reviews: list[Review] = []
    for _, visit in sorted(visits.items()):
        key = visit.product.product_id
        rating = dice.weigh(STARS, qualities[key])
        title, detail, facts = write(dice, Occasion(visit, aspects[key], rating))
        is_new = now - visit.moment < timedelta(days=45)
        status = "Pending" if is_new and dice.chance(40) else "Not Approved" if dice.chance(4) else "Approved"
        reviews.append(
            Review(visit.product, visit.customer_id, visit.nickname, title, detail, rating, status, visit.moment, facts)
        )
    return reviews


def _buyers(dice: Dice, now: datetime, orders: list[Order]) -> list[Visit]:
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

    def write(dice: Dice, occasion: Occasion) -> Written:
        visit, product = occasion.visit, occasion.visit.product
        thing = Thing(product.noun, brand=product.brand, attributes=tuple(product.attributes))
        drawn = draw_review(dice, thing, occasion.rating)
        days = (visit.moment - visit.since).days
        facts = replace(
            drawn,
            is_verified=visit.customer_id is not None,
            used_for=_within(dice, drawn.used_for, days),
            edited_after=_within(dice, drawn.edited_after, days),
        )
        return Written(*compose_review(facts, dice, is_held_out=is_held_out), facts)

    return write


def _within(dice: Dice, span: tuple[int, str] | None, days: int) -> tuple[int, str] | None:
    """Return a span, or a shorter one where it is longer than so many days, or none if all are."""
    if span is None or span[0] * _DAYS[span[1]] <= days:
        return span
    shorter = [each for each in SPANS if each[0] * _DAYS[each[1]] <= days]
    return dice.pick(shorter) if shorter else None


def _usual_writer() -> Writer:
    """Return a writer that combines the sentences of `opinions.json`, no text twice if possible."""
    pool: dict[str, Any] = json.loads((Path(__file__).parent / "opinions.json").read_text())
    seen: dict[str, None] = {}
    return lambda dice, occasion: _text(dice, pool, occasion.aspects, occasion.rating, seen)


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
    return Written(title, detail)


def _mentions(dice: Dice, aspects: list[str], rating: int) -> tuple[list[str], list[str]]:
    """Choose the aspects that a review praises and those it criticizes."""
    middle = max(1, len(aspects) // 2)
    strong, weak = aspects[:middle], aspects[middle:] or aspects[:1]
    if rating >= 4:
        return dice.some(aspects if dice.chance(40) else strong, dice.between(1, 2)), []
    if rating == 3:
        return [strong[0]], [dice.pick(weak)] if weak[0] != strong[0] else []
    return [], dice.some(weak if dice.chance(60) else aspects, dice.between(1, 2))
