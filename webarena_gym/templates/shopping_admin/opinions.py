"""Questions about what customers think of the products."""

import re

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping_admin.routes import KEYWORD, a_month, filtered, open_menu, typed
from webarena_gym.templates.ways import question

STATUSES = ("Approved", "Pending", "Not Approved")
WORDS = (
    "soft", "size", "taste", "color", "smell", "comfortable", "durable", "packaged", "gift", "sister", "husband", "kitchen",
    "quality", "stars", "wash", "month", "broke", "disappointed", "refund", "perfect", "instructions", "handle",
)  # fmt: skip
_REVIEWED = """
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
        _REVIEWED
        + "SELECT product_id FROM reviewed JOIN review USING (product_id) GROUP BY product_id HAVING count(*) > 1 ORDER BY 1"
    )
    return world.rows(
        "SELECT r.*, name FROM review r JOIN product USING (product_id) WHERE product_id = ? ORDER BY r.created_at DESC",
        product["product_id"],
    )[0]


reviews_counted = Fact(
    "SELECT status, rating, count(*) AS reviews FROM review GROUP BY 1, 2 ORDER BY 1, 2",
    "{reviews}",
    way=lambda _, row: [
        *open_menu("Marketing", "All Reviews"),
        *filtered(t.choose("Status", row["status"]), t.choose("Rating", stars(row["rating"]))),
    ],
    seen="{reviews} records were found.",
    slots={"stars": lambda _, row: stars(row["rating"])},
)


def reviews_of_month(world: t.Sampler) -> t.Draw:
    """Ask for a count by dates."""
    month = a_month(world, "review")
    count = world.value("SELECT count(*) FROM review WHERE substr(created_at, 1, 7) = ?", month.key)
    return question(
        {"month": month.name},
        count,
        way=[
            *open_menu("Marketing", "All Reviews"),
            *filtered(t.type_text("Created from", typed(month.first)), t.type_text("Created to", typed(month.last))),
        ],
        seen=f"{count} records were found.",
    )


def reviews_with_word(world: t.Sampler) -> t.Draw:
    """Ask for a count by a word that is no part of longer ones."""
    texts = [row["detail"].lower() for row in world.rows("SELECT detail FROM review ORDER BY review_id")]
    found = {word: sum(word in text for text in texts) for word in WORDS}
    whole = {word: sum(re.search(rf"\b{word}\b", text) is not None for text in texts) for word in WORDS}
    word = world.rng.choice([word for word in WORDS if found[word] == whole[word] > 0])
    count = found[word]
    return question(
        {"word": word},
        count,
        way=[*open_menu("Marketing", "All Reviews"), *filtered(t.type_text("Review", word))],
        seen=f"{count} records were found.",
    )


latest_reviewer = Fact(
    latest_review,
    "{nickname}",
    way=lambda _, row: open_reviews(row["name"]),
    seen="The newest review stands first; it is by {nickname}.",
    wrong=["{other[nickname]}"],
    other=(
        "SELECT DISTINCT nickname FROM review WHERE nickname != ? ORDER BY nickname",
        "nickname",
    ),
    slots={"product": "{name}"},
)


def latest_rating(world: t.Sampler) -> t.Draw:
    """Ask for a rating, which only the form of the review shows."""
    row = latest_review(world)
    rating = str(row["rating"])
    return question(
        {"product": row["name"]},
        rating,
        way=[*open_reviews(row["name"]), t.click("Edit", "The newest review stands first.")],
        seen=f"The rating is {stars(row['rating'])}.",
        wrong=[str(row["rating"] % 5 + 1)],
    )


def reviewers_by_rating(world: t.Sampler) -> t.Draw:
    """Ask who has given a product a certain rating."""
    row = world.pick(
        _REVIEWED
        + """SELECT product_id, name, rating FROM reviewed JOIN review USING (product_id) GROUP BY product_id, rating
        HAVING count(*) BETWEEN 2 AND 4 AND count(DISTINCT nickname) = count(*) ORDER BY product_id, rating"""
    )
    rows = world.rows(
        "SELECT nickname, rating = ? AS is_wanted FROM review WHERE product_id = ? ORDER BY created_at DESC",
        row["rating"],
        row["product_id"],
    )
    names = [found["nickname"] for found in rows if found["is_wanted"]]
    listed = ", ".join(names)
    return question(
        {"product": row["name"], "stars": stars(row["rating"])},
        listed,
        way=[*open_reviews(row["name"]), *filtered(t.choose("Rating", stars(row["rating"])))],
        seen=f"The reviews with {stars(row['rating'])} are by {listed}.",
        wrong=[names[0]],
    )


def average_rating(world: t.Sampler) -> t.Draw:
    """Ask for a figure of the report about reviews by products."""
    row = world.pick(
        _REVIEWED
        + """SELECT name, round(avg(rating), 2) AS average FROM reviewed JOIN review USING (product_id)
        GROUP BY product_id HAVING count(*) > 2 ORDER BY product_id"""
    )
    average = str(row["average"])
    if average == "5.0":
        raise t.NothingToDraw(row["name"])
    return question(
        {"product": row["name"]},
        average,
        way=[*open_menu("Reports", "Reviews By Products"), *filtered(t.type_text("Product", row["name"]))],
        seen=f"The average rating is {average}.",
        wrong=[str(round(row["average"] - 0.5, 2))],
    )
