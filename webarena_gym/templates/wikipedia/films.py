"""Questions about films, and about those who made them."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import difference_of
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.ways import question
from webarena_gym.templates.wikipedia.routes import FACTS, FILMS, open_article

film_director = Fact(
    FILMS + "SELECT * FROM films ORDER BY article_id",
    "{director}",
    way=open_article("{title}"),
    seen="Directed by: {director}.",
    wrong=["{other}"],
    also={
        "other": lambda world, row: world.value(
            FILMS + "SELECT director FROM films WHERE director != ? ORDER BY article_id", row["director"]
        )
    },
    slots={"film": "{title}"},
)


def first_film(world: t.Sampler) -> t.Draw:
    """Compare the years of two films."""
    row = world.pick(
        FILMS
        + """SELECT a.title AS first, b.title AS second, a.year, b.year AS later FROM films a JOIN films b
        ON b.year > a.year AND b.year < a.year + 10 ORDER BY 1, 2"""
    )
    shown = [row["first"], row["second"]]
    world.rng.shuffle(shown)
    return question(
        {"one": shown[0], "other": shown[1]},
        row["first"],
        way=[*open_article(shown[0]), *open_article(shown[1], "Now the year of the other one.")],
        seen=f"It is from {row['year']}, the other one from {row['later']}.",
        wrong=[row["second"]],
    )


def films_before_year(world: t.Sampler) -> t.Draw:
    """Count the films of a director before or after a year in which none came out."""
    director = world.pick(FILMS + "SELECT director FROM films GROUP BY director HAVING count(*) > 2 ORDER BY director")[
        "director"
    ]
    years = [row["year"] for row in world.rows(FILMS + "SELECT year FROM films WHERE director = ? ORDER BY year", director)]
    year = world.rng.choice([year for year in range(years[0] + 1, years[-1]) if year not in years])
    when = world.rng.choice(("before", "after"))
    found = sum(each < year if when == "before" else each > year for each in years)
    return question(
        {"director": director, "when": when, "year": year},
        str(found),
        way=open_article(f"List of films directed by {director}"),
        seen=f"{found} of {len(years)} are from {when} {year}.",
        wrong=[str(found + 1), str(len(years))],
    )


prized_films = Fact(
    FILMS + "SELECT director FROM films GROUP BY director HAVING sum(is_awarded) BETWEEN 2 AND count(*) - 1 ORDER BY director",
    lambda _, row: ", ".join(row["title"] for row in row["films"] if row["is_awarded"]),
    way=open_article("List of films directed by {director}"),
    seen="The last column of the table names the prizes.",
    wrong=lambda _, row: [
        ", ".join(row["title"] for row in row["films"]),
        next(row["title"] for row in row["films"] if not row["is_awarded"]),
    ],
    also={
        "films": lambda world, row: world.rows(
            FILMS + "SELECT title, is_awarded FROM films WHERE director = ? ORDER BY year", row["director"]
        )
    },
)


def common_actor(world: t.Sampler) -> t.Draw:
    """Find the one actor whom two films have in common."""
    row = world.pick(
        FACTS
        + """SELECT a.title AS one, b.title AS other, min(a.target) AS actor, a.article_id AS place
        FROM facts a JOIN facts b ON b.target = a.target AND b.title > a.title
        WHERE a.label = 'Starring' AND b.label = 'Starring' GROUP BY a.title, b.title HAVING count(*) = 1 ORDER BY 1, 2"""
    )
    others = [
        each["target"]
        for each in world.rows(
            FACTS + "SELECT target FROM facts WHERE label = 'Starring' AND title = ? AND target != ? ORDER BY position",
            row["one"],
            row["actor"],
        )
    ]
    if not others:
        raise t.NothingToDraw("a film with several actors")
    return question(
        {"one": row["one"], "other": row["other"]},
        row["actor"],
        way=[*open_article(row["one"]), *open_article(row["other"], "Now the cast of the other one.")],
        seen=f"{row['actor']} is in both casts.",
        wrong=others[:2],
    )


def age_of_director(world: t.Sampler) -> t.Draw:
    """Compute an age from the facts of two articles."""
    row = world.pick(
        FILMS
        + """SELECT f.title, f.director, f.year, CAST(b.number AS INTEGER) AS born
        FROM films f JOIN facts b ON b.title = f.director AND b.label = 'Born' ORDER BY f.article_id"""
    )
    age = row["year"] - row["born"]
    return t.Draw(
        slots={"film": row["title"]},
        grounds={str(age): difference_of([str(row["year"])], [str(row["born"])])},
        eval=t.told(t.answer(fuzzy_match=str(age)), about=[row["director"]]),
        solution=[
            *open_article(row["title"]),
            t.click(row["director"], f"It is from {row['year']}."),
            t.leave(str(age), f"{row['director']} was born in {row['born']} and turned {age} in {row['year']}."),
        ],
        wrong_answers=[str(age + 1), str(age - 1)],
    )
