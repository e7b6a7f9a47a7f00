"""The products of a world's shop, and how much the shop has at each scale."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product as combinations_of
from pathlib import Path
from typing import Any

from webarena_gym.sites.country.dice import Dice, Scale, share
from webarena_gym.sites.country.names import invented_word
from webarena_gym.sites.country.texts import read_data, read_sizes, slug


@dataclass(frozen=True)
class Sizes:
    """The numbers that the shop's generator goes by."""

    customers: int
    guests: int
    idle: int  # customers who buy nothing
    guest_orders: int
    guest_reviews: int
    departments: tuple[int, ...]  # how many top categories there may be
    leaves: int  # categories below those, at most
    is_deep: bool  # whether each kind of product has a category of its own, below the others
    shelf: tuple[int, int]  # products of a category, at least and at most
    brands: int
    series_percent: int  # products with the name of a series behind that of their brand
    hidden: int  # products that are switched off
    popularity: int  # how much more the first product sells than the last
    option_percent: int  # products with a choice, where their kind may have one
    has_variants: bool  # whether each choice has a stock and a SKU of its own
    phones: int


SIZES: Mapping[Scale, Sizes] = read_sizes(Sizes, Path(__file__).parent / "sizes.toml")


TEXTS = read_data(Path(__file__).parent / "texts.toml")
BRAND_LEVELS = (80, 90, 100, 100, 115, 135)  # percent of a kind's usual price
WORN = ("Size", "Shoe Size")  # options that nothing of their kind is without
FACT_SENTENCES = {
    "Battery Life": "Runs for {} on one charge.", "Capacity": "Holds {}.", "Warranty": "Comes with a warranty of {}.",
    "Made In": "Made in {}.", "Weight": "Weighs {}.", "Dishwasher Safe": "Dishwasher safe: {}.", "Holds": "Carries up to {}.",
    "Assembly": "Assembly: {}.", "Connection": "Connects by {}.",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """One kind of thing that a leaf category sells."""

    noun: str
    style: tuple[str, list[str]]
    variant: tuple[str, list[str]]
    price_range: tuple[int, int]  # dollars
    facts: list[tuple[str, list[str]]]
    options: list[tuple[str, list[str]]]
    aspects: list[str]


@dataclass(frozen=True)
class Category:
    """A category of the tree; the parent of a top category is None."""

    category_id: int
    parent_id: int | None
    name: str
    url_path: str


Option = tuple[str, list[tuple[str, int]]]
"""An option of a product, with its values: labels, and what each adds to the price."""


@dataclass(frozen=True)
class Product:
    """A product; `sale_since` is when its special price began, `old_price_cents` what it cost before `repriced_at`."""

    product_id: int
    sku: str
    name: str
    url_key: str
    brand: str
    category_id: int
    noun: str
    price_cents: int
    special_price_cents: int | None
    sale_since: datetime
    old_price_cents: int
    repriced_at: datetime
    quantity: int
    is_enabled: bool
    short_description: str
    description: str
    created_at: datetime
    attributes: list[tuple[str, str]]
    options: list[Option]
    aspects: list[str]
    variants: dict[
        str, tuple[str, int]
    ]  # SKU and stock of each choice, by the choice as JSON; none where choices share one stock

    def sku_of(self, choice: dict[str, str]) -> str:
        """Return the SKU of what is sold as that choice of options."""
        sku, _ = self.variants.get(json.dumps(choice), (self.sku, 0))
        return sku

    def price_at(self, moment: datetime) -> int:
        """Return what one cost at that time, in cents, without options."""
        if self.special_price_cents is not None and moment >= self.sale_since:
            return self.special_price_cents
        return self.price_cents if moment >= self.repriced_at else self.old_price_cents


@dataclass(frozen=True)
class Catalogue:
    """All categories and products of a world."""

    categories: list[Category]
    products: list[Product]
    brands: list[str]


def pretty_price(dice: Dice, cents: int) -> int:
    """Return a price near `cents` that ends as prices do."""
    return max(1, round(cents / 100)) * 100 - dice.weigh((1, 5, 50, 0, 25), (55, 15, 15, 10, 5))


def draw_products(seed: int, now: datetime, scale: Scale = "standard") -> Catalogue:
    """Draw the categories and products of a world."""
    dice, sizes = Dice(f"shopping/{seed}/products"), SIZES[scale]
    pool = json.loads((Path(__file__).parent / "catalogue.json").read_text())
    brands = [invented_word(seed, index, "brand", scale) for index in range(sizes.brands)]
    series = share(TEXTS["series"], seed)
    tops = dice.some(list(pool["categories"]), dice.pick(sizes.departments))
    leaves = {top: dice.some(list(pool["categories"][top]), 4) for top in tops}
    while sum(map(len, leaves.values())) > sizes.leaves:
        longest = max(tops, key=lambda top: len(leaves[top]))
        leaves[longest].pop()
    homes = _brand_homes(dice, brands, tops)
    levels = {name: dice.pick(BRAND_LEVELS) for name in brands}
    categories: list[Category] = []
    drafts: list[dict[str, Any]] = []
    for top in tops:
        words = top.replace("&", " ").split()
        prefix = (words[0][0] + words[-1][0] if len(words) > 1 else top[:2]).upper()  # of the SKUs
        parent = Category(len(categories) + 1, None, top, slug(top))
        categories.append(parent)
        for leaf in leaves[top]:
            category = Category(len(categories) + 1, parent.category_id, leaf, f"{parent.url_path}/{slug(leaf)}")
            categories.append(category)
            purposes, aspects, kinds = pool["categories"][top][leaf]
            read = [_kind(raw, aspects, pool) for raw in kinds]
            shelves = [(category, read)]
            if sizes.is_deep:
                above, path = category.category_id, category.url_path
                names = [(kind, _plural(kind.noun)) for kind in read]
                shelves = [
                    (Category(place, above, name, f"{path}/{slug(name)}"), [kind])
                    for place, (kind, name) in enumerate(names, len(categories) + 1)
                ]
                categories += [below for below, _ in shelves]
            for home, sold in shelves:
                for draft in _shelf(dice, sold, homes[top], levels, dice.between(*sizes.shelf)):
                    title = f"{draft['style']} {draft['kind'].noun}"
                    if sizes.series_percent and dice.chance(sizes.series_percent):
                        title = f"{dice.pick(series)} {title}"
                    more = {"category_id": home.category_id, "prefix": prefix, "purpose": dice.pick(purposes), "title": title}
                    drafts.append(draft | more)
    drafts = dice.some(drafts, len(drafts))
    moments = sorted(now - timedelta(days=dice.between(460, 900), seconds=dice.below(86400)) for _ in drafts)
    hidden = dict.fromkeys(dice.some(range(len(drafts)), sizes.hidden))
    numbers = dice.some(range(1000, 10000), len(drafts))
    products = [
        _product(dice, draft, place + 1, numbers[place], now, sizes, created_at=moments[place], is_enabled=place not in hidden)
        for place, draft in enumerate(drafts)
    ]
    return Catalogue(categories, products, brands)


_UNCOUNTABLE = (
    "Butter", "Chocolate", "Coffee", "Concentrate", "Food", "Honey", "Litter", "Mix", "Oil", "Pasta", "Popcorn", "Powder", "Sauce",
    "Tea", "Toothpaste",
)  # fmt: skip


def _plural(noun: str) -> str:
    """Return what a category of such things is called.

    >>> _plural("Chef Knife"), _plural("Bookshelf"), _plural("Tool Box"), _plural("Olive Oil"), _plural("Gel Pens")
    ('Chef Knives', 'Bookshelves', 'Tool Boxes', 'Olive Oil', 'Gel Pens')
    """
    if noun.endswith(("s", *_UNCOUNTABLE)):
        return noun
    for end, ends in (("fe", "ves"), ("lf", "lves"), ("x", "xes"), ("sh", "shes"), ("ch", "ches"), ("y", "ies")):
        if noun.endswith(end) and not noun.endswith(("ay", "ey", "oy")):
            return noun.removesuffix(end) + ends
    return f"{noun}s"


def _values(text: str, shared: dict[str, str]) -> tuple[str, list[str]]:
    """Read 'name: value, value', or a bare name whose values are shared."""
    name, colon, values = text.strip().partition(": ")
    return name, (values if colon else shared.get(name, "")).split(", ")


def _kind(raw: list[Any], aspects: str, pool: dict[str, Any]) -> Kind:
    """Read one kind from its list in the file."""
    noun, style, variant, price, facts, options = raw[:6]
    judged = raw[6] if len(raw) > 6 else aspects
    low, high = price.split("-")
    return Kind(
        noun=noun,
        style=_values(style, {}),
        variant=_values(variant, {}),
        price_range=(int(low), int(high)),
        facts=[_values(fact, pool["shared facts"]) for fact in facts.split(";")],
        options=[_values(option, pool["shared options"]) for option in options.split(";") if option],
        aspects=[
            name for name in judged.split() if name != "battery" or "Battery" in facts
        ],  # what has a battery is judged by it
    )


def _brand_homes(dice: Dice, brands: list[str], tops: list[str]) -> dict[str, list[str]]:
    """Give each brand one to three top categories, so that no category is without."""
    homes: dict[str, list[str]] = {top: [] for top in tops}
    for index, name in enumerate(brands):
        first = tops[index % len(tops)]
        others = dice.some([top for top in tops if top != first], dice.weigh((0, 1, 2), (50, 35, 15)))
        for top in [first, *others]:
            homes[top].append(name)
    return homes


def _shelf(dice: Dice, kinds: list[Kind], brands: list[str], levels: dict[str, int], count: int) -> list[dict[str, Any]]:
    """Draw `count` products of one leaf as families: one brand, one style, one to three variants."""
    shelf: list[dict[str, Any]] = []
    seen: dict[tuple[str, str, str], None] = {}
    while len(shelf) < count:
        kind, name = dice.pick(kinds), dice.pick(brands)
        style = dice.pick(kind.style[1])
        if (kind.noun, name, style) in seen:
            continue
        seen[kind.noun, name, style] = None
        variants = dice.some(range(len(kind.variant[1])), dice.weigh((1, 2, 3), (45, 35, 20)))
        low, high = kind.price_range
        base = (low + dice.below(1000) * (high - low) / 1600) * levels[name]
        step = 0 if kind.variant[0] == "Color" else 3  # tenths of the price that each variant adds
        facts = dice.some(kind.facts, dice.between(1, 3))
        for variant in sorted(variants)[: count - len(shelf)]:
            cents = round(base * (10 + step * variant) / 10)
            drawn = [(fact, dice.pick(values)) for fact, values in facts]
            more = {"variant": kind.variant[1][variant], "cents": cents, "facts": drawn}
            shelf.append({"kind": kind, "brand": name, "style": style} | more)
    return shelf


def _options(dice: Dice, kind: Kind, price_cents: int, percent: int) -> list[Option]:
    """Draw what a buyer must choose. What is worn always has its size; other things rarely have a choice."""
    chosen: list[Option] = []
    for title, values in kind.options:
        if title not in WORN and not dice.chance(percent):
            continue
        if title in {"Color", "Scent", "Handle"}:
            labels = dice.some(values, dice.between(2, 4))
        else:
            start = dice.below(2) if title in WORN else 0
            labels = values[start : start + dice.between(3, 5)]
        deltas = []
        for label in labels:
            delta = 0
            if title == "Pack" and label != "Single":
                delta = round(price_cents * (int(label.rsplit(maxsplit=1)[-1]) - 1) * 85 / 10000) * 100
            elif label in {"XXL", "Festive"} or (title == "Handle" and dice.chance(30)):
                delta = dice.pick((200, 300, 400))
            deltas.append((label, delta))
        chosen.append((title, deltas))
    return chosen


def _product(
    dice: Dice, draft: dict[str, Any], product_id: int, number: int, now: datetime, sizes: Sizes, **more: Any
) -> Product:
    """Turn a draft into a product."""
    kind: Kind = draft["kind"]
    title = draft["title"]
    name = f"{draft['brand']} {title}" + (f", {draft['variant']}" if draft["variant"] else "")
    price = pretty_price(dice, draft["cents"])
    special = pretty_price(dice, price * dice.between(70, 88) // 100) if dice.chance(15) else None
    if special is not None and special >= price:
        special = None
    earlier = pretty_price(dice, price * dice.between(88, 96) // 100) if dice.chance(30) else price
    attributes = [("Brand", draft["brand"]), (kind.style[0], draft["style"])]
    attributes += [(kind.variant[0], draft["variant"])] if draft["variant"] else []
    attributes += draft["facts"]
    stock = 0 if dice.chance(8) else dice.between(1, 5) if dice.chance(8) else dice.between(6, 150)
    sku = f"{draft['prefix']}-0{number}"
    sale_since, repriced_at = now - timedelta(days=dice.between(10, 50)), now - timedelta(days=dice.between(90, 300))
    description = _description(dice, draft, attributes)
    options = _options(dice, kind, price, sizes.option_percent)
    variants = _variants(dice, sku, options, stock) if sizes.has_variants else {}
    return Product(
        product_id=product_id,
        sku=sku,
        name=name,
        url_key=slug(name),
        brand=draft["brand"],
        category_id=draft["category_id"],
        noun=kind.noun,
        price_cents=price,
        special_price_cents=special,
        sale_since=sale_since,
        old_price_cents=min(earlier, price),
        repriced_at=repriced_at,
        quantity=sum(quantity for _, quantity in variants.values()) if variants else stock,
        short_description=f"{title} {draft['purpose']}.",
        description=description,
        attributes=attributes,
        options=options,
        aspects=kind.aspects,
        variants=variants,
        **more,
    )


def _variants(dice: Dice, sku: str, options: list[Option], stock: int) -> dict[str, tuple[str, int]]:
    """Return a variant for each choice of the options, by the choice as JSON; one in six is sold out."""
    variants: dict[str, tuple[str, int]] = {}
    used: dict[str, None] = {}
    if not options:
        return variants
    for labels in combinations_of(*([label for label, _ in values] for _, values in options)):
        choice = {title: label for (title, _), label in zip(options, labels, strict=True)}
        code = base = "-".join([sku, *map(_abbreviated, labels)])
        while code in used:
            code = f"{base}{len(used)}"
        used[code] = None
        quantity = 0 if not stock or dice.chance(16) else dice.between(1, 4) if dice.chance(15) else dice.between(5, 80)
        variants[json.dumps(choice)] = (code, quantity)
    return variants


def _abbreviated(label: str) -> str:
    """Return a label as it stands in a SKU.

    >>> _abbreviated("Forest Green"), _abbreviated("Pack of 3"), _abbreviated("XL"), _abbreviated("Navy")
    ('FG', 'PO3', 'XL', 'NAV')
    """
    words = label.replace("-", " ").split()
    return (words[0][:3] if len(words) == 1 else "".join(word if word.isdigit() else word[0] for word in words)).upper()


def _description(dice: Dice, draft: dict[str, Any], attributes: list[tuple[str, str]]) -> str:
    """Write a short description that states the product's facts."""
    openings = (
        "Made {purpose}.", "Designed with care {purpose}.", "A dependable choice {purpose}.", "{brand} makes this {purpose}.",
        "From {brand}, {purpose}.",
    )  # fmt: skip
    opening = dice.pick(openings)
    facts = [FACT_SENTENCES.get(name, f"{name}: {{}}.").format(value) for name, value in attributes[1:]]
    closing = dice.pick(("Ships in plain packaging.", "Tested in our own store.", "A customer favorite.", "Small batches.", ""))
    return " ".join([opening.format(purpose=draft["purpose"], brand=draft["brand"]), *facts, closing]).strip()
