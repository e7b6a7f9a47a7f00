"""Questions about single facts, and about facts that one article leads to in another."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks
from webarena_gym.templates.rows import Fact
from webarena_gym.templates.ways import impossible, question
from webarena_gym.templates.wikipedia.routes import FACTS, open_article, open_list

QUESTIONS = {
    ("town", "Founded"): "in which year was {} founded?",
    ("town", "Population"): "how many people live in {}?",
    ("town", "Elevation"): "how many meters above the sea does {} lie?",
    ("town", "Area"): "what is the area of the town of {} in square kilometers?",
    ("university", "Students"): "how many students does {} have?",
    ("museum", "Visitors"): "how many people visit the {} a year?",
    ("national park", "Area"): "how large is {} in square kilometers?",
    ("national park", "Highest point"): "how many meters high is the highest point of {}?",
    ("stadium", "Capacity"): "how many spectators can {} hold?",
    ("bridge", "Length"): "how many meters long is the {}?",
    ("monument", "Height"): "how many meters tall is the {}?",
    ("library", "Volumes"): "how many volumes does the {} hold?",
    ("film", "Running time"): "how many minutes does the film {} run?",
    ("novel", "Pages"): "how many pages does the novel {} have?",
    ("album", "Released"): "in which year was the album {} released?",
    ("company", "Employees"): "how many employees does {} have?",
    ("disaster", "Deaths"): "how many people died in the {}?",
}
"""What can be asked of an article, by its kind and the label of the fact."""


def fact_number(world: t.Sampler) -> t.Draw:
    """Ask for a number in an infobox."""
    kind, label = world.rng.choice(list(QUESTIONS))
    row = world.pick(FACTS + "SELECT * FROM facts WHERE kind = ? AND label = ? ORDER BY article_id", kind, label)
    number = str(int(row["number"]))
    return question(
        {"question": QUESTIONS[kind, label].format(row["title"])},
        number,
        way=open_article(row["title"]),
        seen=f"{label}: {row['text']}.",
        wrong=[str(int(row["number"]) + 1), str(int(row["number"]) // 2 + 3)],
    )


birthday = Fact(
    FACTS + "SELECT title, text, number FROM facts WHERE label = 'Born' ORDER BY article_id",
    "{text}",
    way=open_article("{title}"),
    seen="Born: {text}.",
    wrong=lambda _, row: [row["text"].replace(str(int(row["number"])), str(int(row["number"]) + 1))],
    slots={"person": "{title}"},
)


def birthplace_of_maker(world: t.Sampler) -> t.Draw:
    """Ask for a fact of the person whom the article of a work names."""
    label, maker, kind = world.rng.choice(
        (("Directed by", "director", "film"), ("Author", "author", "novel"), ("Artist", "musician", "album"))
    )
    row = world.pick(
        FACTS
        + """SELECT w.title, w.target AS maker, b.target AS town FROM facts w JOIN facts b ON b.title = w.target
        WHERE w.label = ? AND b.label = 'Birthplace' ORDER BY w.article_id""",
        label,
    )
    other = world.value("SELECT title FROM article WHERE kind = 'town' AND title != ? ORDER BY article_id", row["town"])
    return t.Draw(
        slots={"maker": maker, "kind": kind, "title": row["title"]},
        eval=t.told(t.answer(fuzzy_match=row["town"]), about=[row["maker"]]),
        solution=[
            *open_article(row["title"]),
            t.click(row["maker"], f"It is by {row['maker']}."),
            t.leave(row["town"], f"{row['maker']} was born in {row['town']}."),
        ],
        wrong_answers=[other, row["maker"]],
    )


def older_person(world: t.Sampler) -> t.Draw:
    """Compare two dates of birth."""
    row = world.pick(
        FACTS
        + """SELECT a.title AS first, b.title AS second, a.number AS year FROM facts a JOIN facts b ON b.number > a.number
        AND b.number < a.number + 15 AND b.kind = a.kind WHERE a.label = 'Born' AND b.label = 'Born' ORDER BY 1, 2"""
    )
    shown = [row["first"], row["second"]]
    world.rng.shuffle(shown)
    return question(
        {"one": shown[0], "other": shown[1]},
        row["first"],
        way=[*open_article(shown[0]), *open_article(shown[1], "I know when this one was born, now the other.")],
        seen=f"{row['first']} was born in {int(row['year'])}, before {row['second']}.",
        wrong=[row["second"]],
    )


prize_winner = Fact(
    FACTS
    + """SELECT target AS prize, CAST(number AS INTEGER) AS year, title FROM facts
        WHERE label = 'Award' AND kind NOT IN ('film', 'novel', 'album') ORDER BY 1, 2""",
    "{title}",
    way=open_article("{prize}"),
    seen="In {year} it went to {title}.",
    wrong=["{other}"],
    also={
        "other": lambda world, row: world.value(
            "SELECT title FROM article WHERE kind = 'scientist' AND title != ? ORDER BY title DESC", row["title"]
        )
    },
)


def prize_without_winner(world: t.Sampler) -> t.Draw:
    """Ask for a winner in a year in which there was none."""
    prize = world.pick("SELECT title FROM article WHERE kind = 'prize' ORDER BY title")["title"]
    years = [
        int(row["number"])
        for row in world.rows(FACTS + "SELECT number FROM facts WHERE label = 'Award' AND target = ? ORDER BY number", prize)
    ]
    free = [year for year in range(min(years), max(years)) if year not in years]
    if not free:
        raise t.NothingToDraw("a year without a winner")
    year = world.rng.choice(free)
    return impossible(
        {"prize": prize, "year": year},
        lacks([str(number) for number in years], []),
        way=open_article(prize),
        seen=f"The table of winners has no line for {year}.",
        wrong=[world.value(FACTS + "SELECT title FROM facts WHERE label = 'Award' AND target = ? ORDER BY number", prize)],
    )


home_in_decade = Fact(
    FACTS
    + """, homes AS (SELECT title, target, number AS since, lead(number) OVER (PARTITION BY title ORDER BY number) AS until
        FROM facts WHERE label IN ('Home stadium', 'Former stadium'))
        SELECT *, (SELECT h.target FROM homes h WHERE h.title = o.title AND h.until IS NULL) AS now FROM homes o
        WHERE until IS NOT NULL AND target != now ORDER BY title, since""",
    "{target}",
    way=open_article("{title}"),
    seen="From {decade} on they played at {target}.",
    wrong=["{now}"],
    also={"decade": lambda world, row: world.rng.choice(range(int(row["since"]), int(row["until"]), 10))},
    slots={"team": "{title}"},
)


def latest_editor(world: t.Sampler) -> t.Draw:
    """Ask for the last line of a page's history, and its length."""
    row = world.pick(
        """SELECT p.title, u.username, (SELECT count(*) FROM revision c WHERE c.article_id = p.article_id) AS edits
        FROM page p JOIN revision r USING (revision_id) JOIN user u USING (user_id) WHERE p.kind != 'list' ORDER BY p.article_id"""
    )
    shown = f"{row['username']}, {row['edits']}"
    return question(
        {"title": row["title"]},
        shown,
        way=[*open_article(row["title"]), t.click("View history")],
        seen=f"The first line is by {row['username']}, and there are {row['edits']}.",
        wrong=[f"{row['username']}, {row['edits'] + 1}", row["username"]],
    )


def first_of_several(world: t.Sampler) -> t.Draw:
    """Compare the first years of landmarks of different kinds, each on a page of its own."""
    rows = world.rows(
        FACTS
        + """SELECT title, CAST(number AS INTEGER) AS year FROM facts
        WHERE label IN ('Opened', 'Founded', 'Established', 'Unveiled') AND kind NOT IN ('town', 'team', 'company') ORDER BY title"""
    )
    chosen = world.rng.sample(rows, 3)
    first, second = sorted(chosen, key=lambda row: row["year"])[:2]
    if first["year"] == second["year"]:
        raise t.NothingToDraw("one that is older than the others")
    titles = [row["title"] for row in chosen]
    return question(
        {"places": f"{titles[0]}, {titles[1]} or {titles[2]}"},
        first["title"],
        way=[step for row in chosen for step in open_article(row["title"])],
        seen="It is from {year}, and the others are younger.".format(year=first["year"]),
        wrong=[second["title"]],
    )


office_holder = Fact(
    FACTS
    + """SELECT o.title, o.label, o.target AS holder, s.target AS university FROM facts o
        JOIN facts s ON s.title = o.target AND s.label = 'Alma mater'
        WHERE o.label IN ('President', 'Governor', 'Mayor') ORDER BY o.article_id""",
    "{holder}; {university}",
    way=[*open_article("{title}"), t.click("{holder}")],
    seen="{holder} studied at {university}.",
    wrong=["{holder}; {other}", "{holder}"],
    also={
        "other": lambda world, row: world.value(
            "SELECT title FROM article WHERE kind = 'university' AND title != ? ORDER BY title", row["university"]
        )
    },
    slots={"office": "{label:lower}", "place": "{title}"},
)


alumni_count = Fact(
    FACTS
    + """SELECT target AS university, kind, count(*) AS found FROM facts WHERE label = 'Alma mater'
        GROUP BY 1, 2 HAVING found > 1 ORDER BY 1, 2""",
    "{found!s}",
    way=lambda world, row: open_list(world, f"{row['kind']}s"),
    seen="{university} stands in {found} rows.",
    wrong=lambda _, row: [str(row["found"] + 1), str(row["found"] - 1)],
    slots={"people": "{kind}s"},
)
