"""Questions about single facts, and about facts that one article leads to in another."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import lacks
from webarena_gym.templates.ways import impossible, question
from webarena_gym.templates.wikipedia.routes import FACTS, open_article, open_list

TEMPLATES = t.Templates("wikipedia")

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


@TEMPLATES.define("Look it up in the encyclopedia: {question} Answer with the number.")
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


@TEMPLATES.define("On what date was {person} born?")
def birthday(world: t.Sampler) -> t.Draw:
    """Ask for a date of birth."""
    row = world.pick(FACTS + "SELECT title, text, number FROM facts WHERE label = 'Born' ORDER BY article_id")
    return question(
        {"person": row["title"]},
        row["text"],
        way=open_article(row["title"]),
        seen=f"Born: {row['text']}.",
        wrong=[row["text"].replace(str(int(row["number"])), str(int(row["number"]) + 1))],
    )


@TEMPLATES.define("In which town was the {maker} of the {kind} {title} born?")
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


@TEMPLATES.define("Who was born first, {one} or {other}?")
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


@TEMPLATES.define("Who won the {prize} in {year}?")
def prize_winner(world: t.Sampler) -> t.Draw:
    """Ask for the winner of a prize in a year."""
    row = world.pick(
        FACTS
        + """SELECT target AS prize, CAST(number AS INTEGER) AS year, title FROM facts
        WHERE label = 'Award' AND kind NOT IN ('film', 'novel', 'album') ORDER BY 1, 2"""
    )
    other = world.value("SELECT title FROM article WHERE kind = 'scientist' AND title != ? ORDER BY title DESC", row["title"])
    return question(
        {"prize": row["prize"], "year": row["year"]},
        row["title"],
        way=open_article(row["prize"]),
        seen=f"In {row['year']} it went to {row['title']}.",
        wrong=[other],
    )


@TEMPLATES.define("Who was given the {prize} in {year}?")
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


@TEMPLATES.define("At which stadium did the {team} play at home in the {decade}s?")
def home_in_decade(world: t.Sampler) -> t.Draw:
    """Ask for the home of a team in a decade of the past."""
    row = world.pick(
        FACTS
        + """, homes AS (SELECT title, target, number AS since, lead(number) OVER (PARTITION BY title ORDER BY number) AS until
        FROM facts WHERE label IN ('Home stadium', 'Former stadium'))
        SELECT *, (SELECT h.target FROM homes h WHERE h.title = o.title AND h.until IS NULL) AS now FROM homes o
        WHERE until IS NOT NULL AND target != now ORDER BY title, since"""
    )
    decade = world.rng.choice(range(int(row["since"]), int(row["until"]), 10))
    return question(
        {"team": row["title"], "decade": decade},
        row["target"],
        way=open_article(row["title"]),
        seen=f"From {decade} on they played at {row['target']}.",
        wrong=[row["now"]],
    )


@TEMPLATES.define(
    "Which user made the latest change to the article on {title}, and how many times was the article edited in all? Answer with the name and the number, separated by a comma."
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


@TEMPLATES.define("Which of these was opened or founded first: {places}?")
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


@TEMPLATES.define(
    "Who is the {office} of {place}, and where did this person study? Answer with the name and the university, separated by a semicolon."
)
def office_holder(world: t.Sampler) -> t.Draw:
    """Ask for the holder of an office and one fact about this person."""
    row = world.pick(
        FACTS
        + """SELECT o.title, o.label, o.target AS holder, s.target AS university FROM facts o
        JOIN facts s ON s.title = o.target AND s.label = 'Alma mater'
        WHERE o.label IN ('President', 'Governor', 'Mayor') ORDER BY o.article_id"""
    )
    other = world.value("SELECT title FROM article WHERE kind = 'university' AND title != ? ORDER BY title", row["university"])
    shown = f"{row['holder']}; {row['university']}"
    return question(
        {"office": row["label"].lower(), "place": row["title"]},
        shown,
        way=[*open_article(row["title"]), t.click(row["holder"])],
        seen=f"{row['holder']} studied at {row['university']}.",
        wrong=[f"{row['holder']}; {other}", row["holder"]],
    )


@TEMPLATES.define("How many of the {people} in the encyclopedia studied at {university}?")
def alumni_count(world: t.Sampler) -> t.Draw:
    """Count people of one calling in the list of their calling, or on the page of the university."""
    row = world.pick(
        FACTS
        + """SELECT target AS university, kind, count(*) AS found FROM facts WHERE label = 'Alma mater'
        GROUP BY 1, 2 HAVING found > 1 ORDER BY 1, 2"""
    )
    people = f"{row['kind']}s"
    return question(
        {"people": people, "university": row["university"]},
        str(row["found"]),
        way=open_list(world, people),
        seen=f"{row['university']} stands in {row['found']} rows.",
        wrong=[str(row["found"] + 1), str(row["found"] - 1)],
    )
