"""Questions about reviews, other people's and my own."""

from webarena_gym.answers import matches
from webarena_gym.tasks import template as t
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.shopping.routes import GOODS, ME, PER_PAGE, open_account, open_product, open_reviews
from webarena_gym.templates.ways import question, turn_pages

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


average_rating = Fact(
    GOODS + "SELECT name, rating, reviews FROM goods WHERE reviews > 1 ORDER BY product_id",
    "{rating:.1f}",
    way=open_product("{name}"),
    seen="It is rated {rating:.1f} on average.",
    wrong=lambda _, row: [f"{row['rating'] - 0.3:.1f}"],
    slots={"product": "{name}"},
)


review_count = Fact(
    GOODS + "SELECT name, reviews FROM goods WHERE reviews > 0 ORDER BY product_id",
    "{reviews}",
    way=open_product("{name}"),
    seen="The number in brackets is {reviews}.",
    slots={"product": "{name}"},
)


stars_count = Fact(
    lambda world: world.pick(
        SAID
        + """SELECT g.product_id, g.name, g.reviews, s.stars, count(*) AS found FROM goods g JOIN said s USING (product_id)
        WHERE g.reviews BETWEEN 2 AND ? GROUP BY product_id, s.stars ORDER BY product_id, s.stars""",
        MANY,
    ),
    "{found!s}",
    way=lambda world, row: [
        *open_reviews(row),
        *turn_pages(world, row["reviews"] - 1, PER_PAGE, f"{row['so_far']} on the first page."),
    ],
    seen="{found} of {reviews} gave {new_stars}.",
    wrong=lambda _, row: [str(row["found"] + 1), str(row["found"] - 1)],
    also={
        "new_stars": lambda _, row: f"{row['stars']} star{('s' if row['stars'] > 1 else '')}",
        "so_far": lambda world, row: sum(
            review["stars"] == row["stars"] for review in reviews_of(world, row)[: world.layout.page_size(PER_PAGE)]
        ),
    },
    slots={"product": "{name}", "stars": "{new_stars}"},
)


review_author = Fact(
    SAID
    + """SELECT g.product_id, g.name, g.reviews, s.title, min(s.nickname) AS nickname, min(s.place) AS place
        FROM goods g JOIN said s USING (product_id)
        WHERE g.reviews > 1 GROUP BY product_id, s.title HAVING count(*) = 1 ORDER BY product_id, s.title""",
    "{nickname}",
    way=lambda world, row: [*open_reviews(row), *turn_pages(world, row["place"], PER_PAGE, "That title is not on this page.")],
    seen='{nickname} wrote "{title}".',
    wrong=lambda _, row: [*row["others"], "Nobody"][:1],
    also={
        "others": lambda world, row: [
            review["nickname"] for review in reviews_of(world, row) if not matches(row["nickname"], review["nickname"])
        ]
    },
    slots={"product": "{name}"},
)


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


own_stars = Fact(
    f"""SELECT p.name, r.rating, row_number() OVER (ORDER BY r.created_at DESC, review_id DESC) - 1 AS place
        FROM review r JOIN product p USING (product_id) WHERE customer_id = {ME} ORDER BY review_id""",
    "{rating!s}",
    way=lambda world, row: [
        *open_account("My Product Reviews"),
        *turn_pages(world, row["place"], PER_PAGE, "That review is not on this page."),
    ],
    seen="My rating was {rating}.",
    wrong=lambda _, row: [str(row["rating"] % 5 + 1)],
    slots={"product": "{name}"},
)
