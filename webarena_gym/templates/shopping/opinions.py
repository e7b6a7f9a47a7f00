"""Questions about reviews, other people's and my own."""

from webarena_gym.answers import matches
from webarena_gym.tasks import template as t
from webarena_gym.templates.shopping.routes import GOODS, ME, PER_PAGE, open_account, open_product, open_reviews
from webarena_gym.templates.ways import question, turn_pages

TEMPLATES = t.Templates("shopping")
MANY = 2 * PER_PAGE  # reviews that one can still read through

SAID = (
    GOODS.rstrip()
    + """, said AS (
    SELECT r.product_id, r.nickname, r.title, r.rating AS stars,
        row_number() OVER (PARTITION BY product_id ORDER BY created_at DESC, review_id DESC) - 1 AS place
    FROM review r WHERE status = 'Approved'
) """
)
"""The goods, and the reviews that can be read, with their place in the list of a product's reviews."""


def reviews_of(world: t.Sampler, row: t.Row) -> list[t.Row]:
    """Return the reviews of a row of the goods, as they stand on its pages."""
    return world.rows(SAID + "SELECT * FROM said WHERE product_id = ? ORDER BY place", row["product_id"])


@TEMPLATES.define("What is the average rating of the {product}? Give the number that the shop shows.")
def average_rating(world: t.Sampler) -> t.Draw:
    """Ask for the average number of stars."""
    row = world.pick(GOODS + "SELECT name, rating, reviews FROM goods WHERE reviews > 1 ORDER BY product_id")
    shown = f"{row['rating']:.1f}"
    return question(
        {"product": row["name"]},
        shown,
        way=open_product(row["name"]),
        seen=f"It is rated {shown} on average.",
        wrong=[f"{row['rating'] - 0.3:.1f}"],
    )


@TEMPLATES.define("How many reviews does the {product} have?")
def review_count(world: t.Sampler) -> t.Draw:
    """Ask for the number of reviews."""
    row = world.pick(GOODS + "SELECT name, reviews FROM goods WHERE reviews > 0 ORDER BY product_id")
    return question(
        {"product": row["name"]},
        row["reviews"],
        way=open_product(row["name"]),
        seen=f"The number in brackets is {row['reviews']}.",
    )


@TEMPLATES.define("How many reviewers gave exactly {stars} to the {product}?")
def stars_count(world: t.Sampler) -> t.Draw:
    """Count the reviews with one number of stars, over two pages at most."""
    row = world.pick(
        SAID
        + """SELECT g.product_id, g.name, g.reviews, s.stars, count(*) AS found FROM goods g JOIN said s USING (product_id)
        WHERE g.reviews BETWEEN 2 AND ? GROUP BY product_id, s.stars ORDER BY product_id, s.stars""",
        MANY,
    )
    stars = f"{row['stars']} star{'s' if row['stars'] > 1 else ''}"
    so_far = sum(review["stars"] == row["stars"] for review in reviews_of(world, row)[: world.layout.page_size(PER_PAGE)])
    return question(
        {"product": row["name"], "stars": stars},
        str(row["found"]),
        way=[*open_reviews(row), *turn_pages(world, row["reviews"] - 1, PER_PAGE, f"{so_far} on the first page.")],
        seen=f"{row['found']} of {row['reviews']} gave {stars}.",
        wrong=[str(row["found"] + 1), str(row["found"] - 1)],
    )


@TEMPLATES.define('Who wrote the review "{title}" about the {product}?')
def review_author(world: t.Sampler) -> t.Draw:
    """Ask who signed a review, by its title."""
    row = world.pick(
        SAID
        + """SELECT g.product_id, g.name, g.reviews, s.title, min(s.nickname) AS nickname, min(s.place) AS place
        FROM goods g JOIN said s USING (product_id)
        WHERE g.reviews > 1 GROUP BY product_id, s.title HAVING count(*) = 1 ORDER BY product_id, s.title"""
    )
    others = [review["nickname"] for review in reviews_of(world, row) if not matches(row["nickname"], review["nickname"])]
    return question(
        {"product": row["name"], "title": row["title"]},
        row["nickname"],
        way=[*open_reviews(row), *turn_pages(world, row["place"], PER_PAGE, "That title is not on this page.")],
        seen=f'{row["nickname"]} wrote "{row["title"]}".',
        wrong=[*others, "Nobody"][:1],
    )


@TEMPLATES.define("Who gave {stars} stars or fewer to the {product}? List the names, separated by commas.")
def unhappy_reviewers(world: t.Sampler) -> t.Draw:
    """Ask for all who were not content with a product."""
    stars = world.rng.choice((2, 3))
    row = world.pick(
        SAID
        + """SELECT g.product_id, g.name, g.reviews FROM goods g JOIN said s USING (product_id)
        WHERE g.reviews <= ? GROUP BY product_id HAVING sum(s.stars <= ?) BETWEEN 2 AND 4 ORDER BY product_id""",
        PER_PAGE,
        stars,
    )
    reviews = reviews_of(world, row)
    names = [review["nickname"] for review in reviews if review["stars"] <= stars]
    return question(
        {"product": row["name"], "stars": stars},
        ", ".join(names),
        way=[*open_reviews(row), *turn_pages(world, len(reviews) - 1, PER_PAGE, "There are more on the next page.")],
        seen=f"{len(names)} of {len(reviews)} gave {stars} stars or fewer.",
        wrong=[", ".join(names[1:])],
    )


@TEMPLATES.define("How many stars did I give the {product} in my review?")
def own_stars(world: t.Sampler) -> t.Draw:
    """Ask for a rating of my own."""
    row = world.pick(
        f"""SELECT p.name, r.rating, row_number() OVER (ORDER BY r.created_at DESC, review_id DESC) - 1 AS place
        FROM review r JOIN product p USING (product_id) WHERE customer_id = {ME} ORDER BY review_id"""
    )
    return question(
        {"product": row["name"]},
        str(row["rating"]),
        way=[
            *open_account("My Product Reviews"),
            *turn_pages(world, row["place"], PER_PAGE, "That review is not on this page."),
        ],
        seen=f"My rating was {row['rating']}.",
        wrong=[str(row["rating"] % 5 + 1)],
    )
