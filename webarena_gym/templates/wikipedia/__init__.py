"""The encyclopedia: the articles with their facts, which its templates draw from, and the ways to them."""

from typing import NamedTuple

from webarena_gym.sites.wikipedia.markup import path
from webarena_gym.sites.wikipedia.views import MEMBERS_PER_PAGE
from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reader import read_texts
from webarena_gym.templates.ways import turn_pages

TEXTS = read_texts("wikipedia")

SEARCH_BOX = "Search Lexandria"
ME = 1  # the user who is signed in when a task starts

FACTS = """
WITH facts AS (
    SELECT a.article_id, a.title, a.kind, f.label, f.text, f.target, f.number, f.position
    FROM article a JOIN fact f USING (article_id)
) """
"""The lines of all infoboxes, with the articles that they stand in."""

FILMS = (
    FACTS.rstrip()
    + """, films AS (
    SELECT d.article_id, d.title, d.target AS director, CAST(y.number AS INTEGER) AS year,
        EXISTS (SELECT 1 FROM facts a WHERE a.article_id = d.article_id AND a.label = 'Award') AS is_awarded
    FROM facts d JOIN facts y USING (article_id) WHERE d.label = 'Directed by' AND y.label = 'Released'
) """
)
"""The films with their directors and years, and whether they won a prize."""


class Measure(NamedTuple):
    """Something by which landmarks and companies are compared: of what kind, by which fact, and how both ends are called."""

    kind: str
    label: str
    most: str
    least: str


MEASURES = (
    Measure("national park", "Area", "the national park with the largest area", "the national park with the smallest area"),
    Measure("national park", "Visitors", "the most visited national park", "the least visited national park"),
    Measure("national park", "Highest point", "the national park with the highest mountain", "the flattest national park, with the lowest highest point"),
    Measure("museum", "Collection", "the museum with the largest collection", "the museum with the smallest collection"),
    Measure("museum", "Visitors", "the most visited museum", "the least visited museum"),
    Measure("university", "Students", "the university with the most students", "the university with the fewest students"),
    Measure("university", "Founded", "the youngest university", "the oldest university"),
    Measure("stadium", "Capacity", "the stadium with the most seats", "the stadium with the fewest seats"),
    Measure("airport", "Passengers", "the busiest airport", "the airport with the fewest passengers"),
    Measure("bridge", "Length", "the longest bridge", "the shortest bridge"),
    Measure("bridge", "Opened", "the bridge that was opened last", "the bridge that was opened first"),
    Measure("monument", "Height", "the tallest monument", "the smallest monument"),
    Measure("hospital", "Beds", "the hospital with the most beds", "the hospital with the fewest beds"),
    Measure("library", "Volumes", "the library with the most volumes", "the library with the fewest volumes"),
    Measure("zoo", "Species", "the zoo with the most species", "the zoo with the fewest species"),
    Measure("company", "Employees", "the company with the most employees", "the company with the fewest employees"),
    Measure("company", "Founded", "the youngest company", "the oldest company"),
    Measure("theater", "Seats", "the theater with the most seats", "the theater with the fewest seats"),
)  # fmt: skip


class Extreme(NamedTuple):
    """The landmark or company at one end of a measure."""

    words: str
    row: t.Row
    other: str  # another landmark of the kind
    way: list[Step]  # to the list that it is read from
    shown: str  # what is measured of it


def country(world: t.Sampler) -> str:
    """Return the name of the country."""
    return str(world.value("SELECT title FROM article WHERE kind = 'country'", site="wikipedia"))


def open_article(title: str, thought: str = "") -> list[Step]:
    """Return the steps to an article."""
    return [t.search(SEARCH_BOX, title, thought)]


def open_list(world: t.Sampler, name: str) -> list[Step]:
    """Return the steps to a list, such as that of the towns."""
    return open_article(f"List of {name} in {country(world)}")


def open_category(world: t.Sampler, name: str) -> list[Step]:
    """Return the steps to a category, over the list of all of them."""
    names = [row["name"] for row in world.rows("SELECT DISTINCT name FROM category ORDER BY name")]
    turns = turn_pages(world, names.index(name), MEMBERS_PER_PAGE, "It stands on a later page.", "Next page")
    return [t.click("Categories"), *turns, t.click(name)]


def decades(row: t.Row) -> range:
    """Return the decades in which a team played at a stadium."""
    return range(int(row["since"]), int(row["until"]), 10)


def url(title: str) -> str:
    """Return the address of an article, as checks name it."""
    return f"__WIKIPEDIA__{path(title)}"


def draw_extreme(world: t.Sampler, kinds: tuple[str, ...] = ()) -> Extreme:
    """Draw the landmark or company at one end of a measure, of some kinds or of any. Raises NothingToDraw when two share the place."""
    measure = world.rng.choice([each for each in MEASURES if not kinds or each.kind in kinds])
    is_most = world.rng.random() < 0.5
    rows = world.rows(
        FACTS + "SELECT title, number, text FROM facts WHERE kind = ? AND label = ? ORDER BY number, title",
        measure.kind,
        measure.label,
        site="wikipedia",
    )
    if is_most:
        rows.reverse()
    t.skip_if(len(rows) < 2 or rows[0]["number"] == rows[1]["number"], "one that stands out")
    plural = {"university": "universities", "library": "libraries", "company": "companies"}.get(
        measure.kind, f"{measure.kind}s"
    )
    words = measure.most if is_most else measure.least
    return Extreme(words, rows[0], rows[1]["title"], open_list(world, plural), rows[0]["text"])
