"""Products: facts about them, changes of prices, stock, texts and options, and what customers think of them."""

import re

from webarena_gym.sites.country.texts import money
from webarena_gym.sites.shopping_admin.grids import written_cents
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.shopping_admin import KEYWORD, PRODUCTS, TEXTS, becomes, filtered, open_menu, open_product
from webarena_gym.templates.ways import instruction, question

NEW_GOODS = ("Folding Bookstand", "Travel Chess Set", "Beeswax Candle", "Canvas Apron", "Desk Bell", "Puzzle Mat", "Rain Gauge")


def a_product(world: t.Sampler, condition: str = "1") -> t.Row:
    """Draw one of the products that meet a condition."""
    return world.pick(f"SELECT * FROM product p WHERE {condition} ORDER BY product_id")


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
