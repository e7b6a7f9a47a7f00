"""The generator of the shop's database: writes the store, products, customers, orders and reviews into the tables."""

import json
import sqlite3
from datetime import datetime, timedelta

from webarena_gym.sites.country.dice import Dice, Scale, is_held_out, moment, settings
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.country.texts import slug
from webarena_gym.sites.prose.things import names
from webarena_gym.sites.shopping.world_orders import Order, Review, combiner, composer, draw_orders, draw_reviews
from webarena_gym.sites.shopping.world_products import SIZES, Catalogue, draw_products
from webarena_gym.sites.shopping.world_store import (
    PASSWORD,
    Customer,
    Store,
    config,
    contact_messages,
    draw_people,
    draw_store,
    search_terms,
    texts,
)

ADMIN = ("admin", "admin1234")


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the empty tables of schema.sql with the world of a seed and scale, and commit."""
    dice = Dice(f"shopping/{seed}")
    now = moment(seed)
    shop = draw_store(seed, now, scale)
    catalogue = draw_products(seed, now, scale)
    customers, guests = draw_people(seed, now, scale)
    sold = draw_orders(seed, now, catalogue.products, customers, guests, shop, SIZES[scale])
    write = composer(is_held_out=is_held_out(seed)) if scale == "large" else combiner()
    reviews = draw_reviews(seed, now, catalogue.products, sold, guests, SIZES[scale], write)

    insert(db, "world", [("seed", str(seed)), ("now", str(now)), *settings(scale)])
    _insert_store(db, dice, seed, now, shop, catalogue, customers)
    _insert_catalogue(db, catalogue)
    _insert_customers(db, customers)
    _insert_lists(db, dice, now, customers, catalogue)
    _insert_orders(db, sold, shop)
    _insert_documents(db, sold)
    _insert_reviews(db, reviews)
    fill_words(db)
    sign_in(db, site="shopping", customer_id=1)
    sign_in(db, site="shopping_admin", admin_id=1)
    db.commit()


def _insert_store(
    db: sqlite3.Connection, dice: Dice, seed: int, now: datetime, shop: Store, catalogue: Catalogue, customers: list[Customer]
) -> None:
    """Write the store's settings, administrator, text pages, themes, search terms, contact messages and newsletter subscribers."""
    insert(db, "store_config", sorted(config(shop)))
    first, last = shop.admin
    insert(db, "admin_user", [(1, *ADMIN, first, last, f"{first}.{last}@example.com".lower())])
    cms_page = [(i, *text, 1, now - timedelta(days=dice.between(20, 400), minutes=i)) for i, text in enumerate(texts(shop), 1)]
    insert(db, "cms_page", cms_page)
    applied = dice.below(len(shop.themes))
    theme = [
        (i + 1, title, "" if i == 0 else shop.themes[0], f"Shop/{slug(title)}", int(i == applied))
        for i, title in enumerate(shop.themes)
    ]
    insert(db, "theme", theme)
    insert(db, "search_term", [(i, *term) for i, term in enumerate(search_terms(seed, now, catalogue), 1)])
    insert(db, "contact_message", [(i, *row) for i, row in enumerate(contact_messages(seed, now, customers), 1)])
    readers = [customer for customer in customers if dice.chance(50)]
    newsletter_subscriber = sorted(
        (reader.email, reader.customer_id, "Unsubscribed" if dice.chance(15) else "Subscribed", reader.created_at)
        for reader in readers
    )
    insert(db, "newsletter_subscriber", newsletter_subscriber)


def _insert_catalogue(db: sqlite3.Connection, catalogue: Catalogue) -> None:
    insert(db, "category", [(c.category_id, c.parent_id, c.name, c.url_path, c.category_id) for c in catalogue.categories])
    option_id = value_id = 0
    options, values = [], []
    for product in catalogue.products:
        for position, (title, choices) in enumerate(product.options, 1):
            option_id += 1
            options.append((option_id, product.product_id, title, position))
            for place, choice in enumerate(choices, 1):
                value_id += 1
                values.append((value_id, option_id, *choice, place))
    goods = [
        (
            p.product_id, p.sku, p.name, p.url_key, p.brand, p.category_id, p.price_cents, p.special_price_cents, p.quantity,
            int(p.quantity > 0), int(p.is_enabled), p.short_description, p.description, p.created_at,
        )
        for p in catalogue.products
    ]  # fmt: skip
    insert(db, "product", goods)
    product_attribute = sorted(
        (p.product_id, name, value, i) for p in catalogue.products for i, (name, value) in enumerate(p.attributes, 1)
    )
    insert(db, "product_attribute", product_attribute)
    insert(db, "product_option", options)
    insert(db, "product_option_value", values)
    variants = [
        (product.product_id, sku, choice, quantity, int(quantity > 0))
        for product in catalogue.products
        for choice, (sku, quantity) in product.variants.items()
    ]
    insert(db, "product_variant", [(i, *variant) for i, variant in enumerate(variants, 1)])


def _insert_customers(db: sqlite3.Connection, customers: list[Customer]) -> None:
    customer = [(c.customer_id, c.email, c.firstname, c.lastname, PASSWORD, c.group_name, c.created_at) for c in customers]
    insert(db, "customer", customer)
    rows = [
        (c.customer_id, *address, *[int(c.has_default and i == 0)] * 2)
        for c in customers
        for i, address in enumerate(c.addresses)
    ]
    insert(db, "customer_address", [(i, *row) for i, row in enumerate(rows, 1)])


def _insert_lists(db: sqlite3.Connection, dice: Dice, now: datetime, customers: list[Customer], catalogue: Catalogue) -> None:
    """Write wish lists, and abandoned carts of a few customers; the cart of the first customer is empty."""
    goods = [product for product in catalogue.products if product.is_enabled]
    plain = [product for product in goods if not product.options and product.quantity > 5]
    wishes = [
        (customer.customer_id, product.product_id, 1, "", now - timedelta(days=dice.between(2, 200), seconds=dice.below(80000)))
        for customer in [customers[0], *dice.some(customers[1:], 8)]
        for product in dice.some(goods, dice.between(0, 3))
    ]
    insert(db, "wishlist_item", [(i, *row) for i, row in enumerate(wishes, 1)])
    owners = [customers[0], *dice.some(customers[1:], 4)]
    insert(db, "cart", [(i, owner.customer_id, None) for i, owner in enumerate(owners, 1)])
    items = [
        (cart_id, product.product_id, "{}", dice.between(1, 2))
        for cart_id in range(2, len(owners) + 1)
        for product in dice.some(plain, dice.between(1, 3))
    ]
    insert(db, "cart_item", [(i, *row) for i, row in enumerate(items, 1)])


def _insert_orders(db: sqlite3.Connection, sold: list[Order], shop: Store) -> None:
    """Write orders with their addresses, items and comments, and the cart price rules with the number of their uses."""
    sales_order = [
        (
            i, f"{i:09d}", o.customer.customer_id if o.customer else None, o.email, o.name, o.status, o.created_at,
            o.subtotal_cents, o.discount_cents, o.rule.coupon_code if o.rule else None, o.shipping_cents, o.total_cents,
            o.shipping_method, o.payment_method,
        )
        for i, o in enumerate(sold, 1)
    ]  # fmt: skip
    insert(db, "sales_order", sales_order)
    order_address = [
        (i, kind, *address)
        for i, order in enumerate(sold, 1)
        for kind, address in (("billing", order.billing), ("shipping", order.shipping))
    ]
    insert(db, "order_address", order_address)
    items = []
    for i, order in enumerate(sold, 1):
        for index, line in enumerate(order.lines):
            items.append((
                i, line.product.product_id, line.product.sku_of(line.options), line.product.name, json.dumps(line.options), line.price_cents,
                line.quantity,
                line.quantity if order.invoiced_at else 0,
                order.shipment.quantities[index] if order.shipment else 0,
                order.refund.quantities[index] if order.refund else 0,
                line.quantity if order.status == "canceled" else 0,
            ))  # fmt: skip
    insert(db, "order_item", [(i, *row) for i, row in enumerate(items, 1)])
    comments = sorted(
        (moment, i, o.status, text, int(shown)) for i, o in enumerate(sold, 1) for moment, text, shown in o.comments
    )
    order_comment = [
        (n, i, status, text, shown, shown, moment) for n, (moment, i, status, text, shown) in enumerate(comments, 1)
    ]
    insert(db, "order_comment", order_comment)
    rules = [
        (
            i, r.name, r.description, r.coupon_code, r.action, r.amount, int(r.is_active), str(r.from_date.date()),
            str(r.to_date.date()) if r.to_date else None, sum(order.rule is r for order in sold),
        )
        for i, r in enumerate(shop.rules, 1)
    ]  # fmt: skip
    insert(db, "cart_rule", rules)


def _insert_documents(db: sqlite3.Connection, sold: list[Order]) -> None:
    """Write invoices, shipments and refunds, numbered by time."""
    invoices = sorted((order.invoiced_at, i, order.total_cents) for i, order in enumerate(sold, 1) if order.invoiced_at)
    insert(db, "invoice", [(n, f"{n:09d}", i, total, moment) for n, (moment, i, total) in enumerate(invoices, 1)])
    parcels = sorted(
        (o.shipment.created_at, i, o.shipment.carrier, o.shipment.number) for i, o in enumerate(sold, 1) if o.shipment
    )
    insert(db, "shipment", [(n, f"{n:09d}", i, moment) for n, (moment, i, _, _) in enumerate(parcels, 1)])
    tracks = [(n, carrier, carrier, number) for n, (_, _, carrier, number) in enumerate(parcels, 1) if carrier]
    insert(db, "shipment_track", [(i, *track) for i, track in enumerate(tracks, 1)])
    refunds = sorted(
        (o.refund.created_at, i, o.refund.shipping_cents, o.refund.total_cents) for i, o in enumerate(sold, 1) if o.refund
    )
    creditmemo = [(n, f"{n:09d}", i, shipping, 0, total, moment) for n, (moment, i, shipping, total) in enumerate(refunds, 1)]
    insert(db, "creditmemo", creditmemo)


def _insert_reviews(db: sqlite3.Connection, reviews: list[Review]) -> None:
    review = [
        (i, r.product.product_id, r.customer_id, r.nickname, r.title, r.detail, r.rating, r.status, r.created_at)
        for i, r in enumerate(reviews, 1)
    ]
    insert(db, "review", review)
    all_facts = [(i, facts) for i, review in enumerate(reviews, 1) if (facts := review.facts)]
    review_fact = [
        (
            i, int(f.is_first_hand), f.user, f.use, _span(f.used_for), f.outcome, f.because, _span(f.edited_after),
            int(f.is_verified), f.register, f.length,
        )
        for i, f in all_facts
    ]  # fmt: skip
    insert(db, "review_fact", review_fact)
    review_opinion = [
        (
            i, o.aspect, names()[f.thing.families[o.aspect]], None if o.verdict is None else int(o.verdict), int(o.is_good),
            o.strength, o.voice, o.who, int(o.agrees), o.compared_with, int(o.is_retracted),
        )
        for i, f in all_facts
        for o in sorted(f.opinions, key=lambda opinion: opinion.aspect)
    ]  # fmt: skip
    insert(db, "review_opinion", review_opinion)


def _span(span: tuple[int, str] | None) -> str:
    """Return a duration in the form of the tables, such as "3 week"; "" for None."""
    return f"{span[0]} {span[1]}" if span else ""
