"""Products: facts about them, changes of prices, stock, texts and options, and what customers think of them."""

import re

from webarena_gym.sites.country.texts import money
from webarena_gym.sites.shopping_admin.grids import written_cents
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping_admin import (
    EVERYTHING,
    KEYWORD,
    PRODUCTS,
    TEXTS,
    becomes,
    filtered,
    open_menu,
    open_product,
    others_stay,
)
from webarena_gym.templates.ways import impossible, instruction, question


def product_missing(world: t.Sampler) -> t.Draw:
    """Ask for the stock of a product that the shop does not have: another brand makes it."""
    rows = world.rows("SELECT name, brand FROM product WHERE substr(name, 1, length(brand)) = brand ORDER BY product_id")
    row, other = world.rng.sample(rows, 2)
    name = other["brand"] + row["name"][len(row["brand"]) :]
    t.skip_if(any(name in product["name"] for product in rows), name)
    return impossible(
        {"product": name},
        says("0 results"),
        way=[t.search(EVERYTHING, name)],
        seen="Nothing was found, so there is no such product.",
        wrong=["0"],
    )


NEW_GOODS = ("Folding Bookstand", "Travel Chess Set", "Beeswax Candle", "Canvas Apron", "Desk Bell", "Puzzle Mat", "Rain Gauge")


def a_product(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw one of the products that meet a condition."""
    return world.pick(f"SELECT * FROM product p WHERE {condition} ORDER BY product_id")


def tick_all(keyword: str, products: list[t.Row], action: str) -> list[Step]:
    """Return the steps that do something with all products that a keyword finds."""
    return [
        *open_menu("Catalog", "Products"),
        t.search(KEYWORD, keyword),
        *[t.click(f"Select {product['product_id']}") for product in products],
        t.choose("Actions", action),
        t.click("Submit"),
    ]


def move_price(world: t.Sampler) -> t.Draw:
    """Raise or lower a product's regular price by an amount of money or by some percent."""
    row = a_product(world, "special_price_cents IS NULL AND price_cents > 1000")
    old, percent = row["price_cents"], world.rng.choice((10, 20, 25, 50))
    is_percent = old * percent % 100 == 0 and world.rng.randrange(2) == 1
    amount = old * percent // 100 if is_percent else world.rng.randint(1, 8) * 100
    change, sign = world.rng.choice((("Raise", 1), ("Lower", -1)))
    cents = old + sign * amount
    return instruction(
        {"change": change, "product": row["name"], "amount": f"{percent}%" if is_percent else money(amount)},
        becomes(world, PRODUCTS, row["sku"], price_cents=cents),
        way=[
            *open_product(row["name"]),
            t.type_text("Price", written_cents(cents), f"{money(old)} {'+' if sign > 0 else '-'} {money(amount)}."),
            t.click("Save"),
        ],
        seen=f"The price is {money(cents)} now.",
    )


def disable_brand(world: t.Sampler) -> t.Draw:
    """Take all products of a brand out of the shop at once."""
    brand = world.pick(
        """SELECT brand FROM product p GROUP BY brand
           HAVING count(*) = (SELECT count(*) FROM product q WHERE instr(lower(q.name || ' ' || q.brand), lower(p.brand)))
           AND sum(is_enabled) AND count(*) BETWEEN 2 AND 5 ORDER BY brand"""
    )["brand"]
    rows = world.rows("SELECT * FROM product WHERE brand = ? ORDER BY product_id", brand)
    return instruction(
        {"brand": brand},
        becomes(world, PRODUCTS, *[row["sku"] for row in rows], is_enabled=0),
        way=tick_all(brand, rows, "Change status to Disable"),
        seen=f"No product of {rows[0]['brand']} is enabled any more.",
    )


def variants_out_of_stock(world: t.Sampler) -> t.Draw:
    """Stop the sale of products that differ in what stands behind the comma of their names alone."""
    name = world.pick(
        """SELECT substr(name, 1, instr(name, ',') - 1) AS model FROM product p WHERE instr(name, ',')
           GROUP BY model HAVING count(*) BETWEEN 2 AND 4 AND sum(is_in_stock)
           AND count(*) = (SELECT count(*) FROM product q WHERE instr(q.name, substr(p.name, 1, instr(p.name, ',') - 1)))
           ORDER BY model"""
    )["model"]
    rows = world.rows("SELECT * FROM product WHERE instr(name, ?) ORDER BY product_id", name)
    return instruction(
        {"product": name},
        becomes(world, PRODUCTS, *[row["sku"] for row in rows], is_in_stock=0),
        way=[*tick_all(name, rows, "Update attributes"), t.choose("Stock Status", "Out of Stock"), t.click("Save")],
        seen=f"All {len(rows)} products were updated.",
    )


def add_product(world: t.Sampler) -> t.Draw:
    """Put something new into the catalog."""
    name, number = world.rng.choice(NEW_GOODS), world.rng.randint(10000, 99999)
    sku, cents, quantity = f"NEW-{number}", world.rng.randrange(500, 9000, 25), world.rng.randint(5, 90)
    t.skip_if(world.rows("SELECT 1 FROM product WHERE name = ? ORDER BY 1", name), name)
    return instruction(
        {"name": name, "sku": sku, "price": money(cents), "quantity": quantity},
        t.all_of(
            t.state(
                "SELECT name, price_cents, special_price_cents, quantity, is_enabled FROM product WHERE sku = ?",
                sku,
                expected=[[name, cents, None, quantity, 1]],
            ),
            others_stay(world, PRODUCTS, sku),
        ),
        way=[
            *open_menu("Catalog", "Products"),
            t.click("Add New Product"),
            t.type_text("Product Name", name),
            t.type_text("SKU", sku),
            t.type_text("Price", written_cents(cents)),
            t.type_text("Quantity", str(quantity)),
            t.click("Save"),
        ],
        seen=f"The product {name} is saved.",
    )


REVIEWED = """
WITH reviewed AS (
    SELECT p.product_id, p.name, p.sku FROM product p
    WHERE (SELECT count(*) FROM product q WHERE instr(q.name, p.name)) = 1
) """
"""The products that a search for their name finds alone."""


def stars(rating: int) -> str:
    """Return a rating as the form of a review writes it."""
    return f"{rating} star{'s' * (rating > 1)}"


def open_reviews(product: str) -> list[Step]:
    """Return the steps to all reviews of a product."""
    return [*open_menu("Marketing", "All Reviews"), t.search(KEYWORD, product)]


def latest_review(world: t.Sampler) -> t.Row:
    """Draw a product with several reviews, and return its newest review."""
    product = world.pick(
        REVIEWED
        + "SELECT product_id FROM reviewed JOIN review USING (product_id) GROUP BY product_id HAVING count(*) > 1 ORDER BY 1"
    )
    return world.rows(
        "SELECT r.*, name FROM review r JOIN product USING (product_id) WHERE product_id = ? ORDER BY r.created_at DESC",
        product["product_id"],
    )[0]


def reviews_with_word(world: t.Sampler) -> t.Draw:
    """Ask for a count by a word that is no part of longer ones."""
    texts = [row["detail"].lower() for row in world.rows("SELECT detail FROM review ORDER BY review_id")]
    found = {word: sum(word in text for text in texts) for word in TEXTS["words"]}
    whole = {word: sum(re.search(rf"\b{word}\b", text) is not None for text in texts) for word in TEXTS["words"]}
    word = world.rng.choice([word for word in TEXTS["words"] if found[word] == whole[word] > 0])
    count = found[word]
    return question(
        {"word": word},
        count,
        way=[*open_menu("Marketing", "All Reviews"), *filtered(t.type_text("Review", word))],
        seen=f"{count} records were found.",
    )
