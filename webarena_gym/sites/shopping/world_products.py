"""The categories and products of a world's shop, and the sizes of the shop at each scale."""

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
    """Sizes of the shop at one scale."""

    customers: int
    guests: int
    idle: int  # customers without orders
    guest_orders: int
    guest_reviews: int
    departments: tuple[int, ...]  # possible numbers of top categories
    leaves: int  # largest number of categories below the top ones
    is_deep: bool  # True if each kind of product has its own category on a third level
    shelf: tuple[int, int]  # smallest and largest number of products of a category
    brands: int
    series_percent: int  # percentage of products with a series in their name
    hidden: int  # disabled products
    popularity: int  # factor of the sales of popular products
    option_percent: int  # percentage of products with options, if their kind has any
    has_variants: bool  # True if each combination of options has its own stock and SKU
    phones: int  # number of telephone numbers


SIZES: Mapping[Scale, Sizes] = read_sizes(Sizes, Path(__file__).parent / "sizes.toml")


TEXTS = read_data(Path(__file__).parent / "texts.toml")
BRAND_LEVELS = (80, 90, 100, 100, 115, 135)  # price levels of brands, in percent of a kind's usual price
WORN = ("Size", "Shoe Size")  # options that every product of a kind has, if the kind has them
FACT_SENTENCES = {
    "Battery Life": "Runs for {} on one charge.", "Capacity": "Holds {}.", "Warranty": "Comes with a warranty of {}.",
    "Made In": "Made in {}.", "Weight": "Weighs {}.", "Dishwasher Safe": "Dishwasher safe: {}.", "Holds": "Carries up to {}.",
    "Assembly": "Assembly: {}.", "Connection": "Connects by {}.",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of product of a leaf category. Styles, variants, facts and options are names with their possible values."""

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
"""An option of a product: its title and its values, each a label and the surcharge in cents."""


@dataclass(frozen=True)
class Product:
    """A product. Its special price is valid since `sale_since`; its price was `old_price_cents` before `repriced_at`."""

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
        """Return the SKU of a combination of options, which is the product's own if it has no variants."""
        sku, _ = self.variants.get(json.dumps(choice), (self.sku, 0))
        return sku

    def price_at(self, moment: datetime) -> int:
        """Return the price of one piece at a time, in cents, without surcharges of options."""
        if self.special_price_cents is not None and moment >= self.sale_since:
            return self.special_price_cents
        return self.price_cents if moment >= self.repriced_at else self.old_price_cents


@dataclass(frozen=True)
class Catalogue:
    """The categories, products and brands of a world's shop."""

    categories: list[Category]
    products: list[Product]
    brands: list[str]


def pretty_price(dice: Dice, cents: int) -> int:
    """Draw a price near `cents` with a usual ending, such as .99 or .50."""
    return max(1, round(cents / 100)) * 100 - dice.weigh((1, 5, 50, 0, 25), (55, 15, 15, 10, 5))


def draw_products(seed: int, now: datetime, scale: Scale = "standard") -> Catalogue:
    """Draw the categories and products of a world's shop."""
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
        prefix = (words[0][0] + words[-1][0] if len(words) > 1 else top[:2]).upper()  # prefix of SKUs
        parent = Category(len(categories) + 1, None, top, slug(top))
        categories.append(parent)
        for leaf in leaves[top]:
            category = Category(len(categories) + 1, parent.category_id, leaf, f"{parent.url_path}/{slug(leaf)}")
            categories.append(category)
            purposes, aspects, kinds = pool["categories"][top][leaf]
            parsed = [_kind(raw, aspects, pool) for raw in kinds]
            shelves = [(category, parsed)]
            if sizes.is_deep:
                above, path = category.category_id, category.url_path
                names = [(kind, _plural(kind.noun)) for kind in parsed]
                shelves = [
                    (Category(category_id, above, name, f"{path}/{slug(name)}"), [kind])
                    for category_id, (kind, name) in enumerate(names, len(categories) + 1)
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
        _product(dice, draft, index + 1, numbers[index], now, sizes, created_at=moments[index], is_enabled=index not in hidden)
        for index, draft in enumerate(drafts)
    ]
    return Catalogue(categories, products, brands)


_UNCOUNTABLE = (
    "Butter", "Chocolate", "Coffee", "Concentrate", "Food", "Honey", "Litter", "Mix", "Oil", "Pasta", "Popcorn", "Powder", "Sauce",
    "Tea", "Toothpaste",
)  # fmt: skip


def _plural(noun: str) -> str:
    """Return the plural of a noun, for the name of a category.

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
    """Parse "name: value, value", or a name whose values are in `shared`."""
    name, colon, values = text.strip().partition(": ")
    return name, (values if colon else shared.get(name, "")).split(", ")


def _kind(raw: list[Any], aspects: str, pool: dict[str, Any]) -> Kind:
    """Parse a kind from its list in catalogue.json."""
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
        aspects=[name for name in judged.split() if name != "battery" or "Battery" in facts],
    )


def _brand_homes(dice: Dice, brands: list[str], tops: list[str]) -> dict[str, list[str]]:
    """Return the brands of each top category. A brand is in one to three categories, and each category has one."""
    homes: dict[str, list[str]] = {top: [] for top in tops}
    for index, name in enumerate(brands):
        first = tops[index % len(tops)]
        others = dice.some([top for top in tops if top != first], dice.weigh((0, 1, 2), (50, 35, 15)))
        for top in [first, *others]:
            homes[top].append(name)
    return homes


def _shelf(dice: Dice, kinds: list[Kind], brands: list[str], levels: dict[str, int], count: int) -> list[dict[str, Any]]:
    """Draw `count` products of a category, in families of one to three variants with the same brand and style."""
    shelf: list[dict[str, Any]] = []
    drawn_styles: dict[tuple[str, str, str], None] = {}
    while len(shelf) < count:
        kind, name = dice.pick(kinds), dice.pick(brands)
        style = dice.pick(kind.style[1])
        if (kind.noun, name, style) in drawn_styles:
            continue
        drawn_styles[kind.noun, name, style] = None
        variants = dice.some(range(len(kind.variant[1])), dice.weigh((1, 2, 3), (45, 35, 20)))
        low, high = kind.price_range
        base = (low + dice.below(1000) * (high - low) / 1600) * levels[name]
        step = 0 if kind.variant[0] == "Color" else 3  # price difference of successive variants, in tenths of the base price
        facts = dice.some(kind.facts, dice.between(1, 3))
        for variant in sorted(variants)[: count - len(shelf)]:
            cents = round(base * (10 + step * variant) / 10)
            drawn = [(fact, dice.pick(values)) for fact, values in facts]
            more = {"variant": kind.variant[1][variant], "cents": cents, "facts": drawn}
            shelf.append({"kind": kind, "brand": name, "style": style} | more)
    return shelf


def _options(dice: Dice, kind: Kind, price_cents: int, percent: int) -> list[Option]:
    """Draw the options of a product. Options of WORN are always there, others with a probability of `percent` / 100."""
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
    """Return the product of a draft."""
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
    """Draw the SKU and stock of each combination of options, by the combination as JSON. One in six is sold out."""
    variants: dict[str, tuple[str, int]] = {}
    used: dict[str, None] = {}
    if not options:
        return variants
    for labels in combinations_of(*([label for label, _ in values] for _, values in options)):
        choice = {title: label for (title, _), label in zip(options, labels, strict=True)}
        code = base = "-".join([sku, *map(_abbreviate, labels)])
        while code in used:
            code = f"{base}{len(used)}"
        used[code] = None
        quantity = 0 if not stock or dice.chance(16) else dice.between(1, 4) if dice.chance(15) else dice.between(5, 80)
        variants[json.dumps(choice)] = (code, quantity)
    return variants


def _abbreviate(label: str) -> str:
    """Return the abbreviation of a label in SKUs.

    >>> _abbreviate("Forest Green"), _abbreviate("Pack of 3"), _abbreviate("XL"), _abbreviate("Navy")
    ('FG', 'PO3', 'XL', 'NAV')
    """
    words = label.replace("-", " ").split()
    return (words[0][:3] if len(words) == 1 else "".join(word if word.isdigit() else word[0] for word in words)).upper()


def _description(dice: Dice, draft: dict[str, Any], attributes: list[tuple[str, str]]) -> str:
    """Draw a short description that states the product's attributes."""
    openings = (
        "Made {purpose}.", "Designed with care {purpose}.", "A dependable choice {purpose}.", "{brand} makes this {purpose}.",
        "From {brand}, {purpose}.",
    )  # fmt: skip
    opening = dice.pick(openings)
    facts = [FACT_SENTENCES.get(name, f"{name}: {{}}.").format(value) for name, value in attributes[1:]]
    closing = dice.pick(("Ships in plain packaging.", "Tested in our own store.", "A customer favorite.", "Small batches.", ""))
    return " ".join([opening.format(purpose=draft["purpose"], brand=draft["brand"]), *facts, closing]).strip()
