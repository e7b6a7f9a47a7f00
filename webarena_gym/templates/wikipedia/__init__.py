"""The encyclopedia: queries of its templates on articles and their facts, paths of solutions, and changes of articles and the watchlist."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from webarena_gym.sites.wikipedia.markup import path, sections, whole
from webarena_gym.sites.wikipedia.site import MEMBERS_PER_PAGE
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
"""The lines of all infoboxes, with their articles."""

FILMS = (
    FACTS.rstrip()
    + """, films AS (
    SELECT d.article_id, d.title, d.target AS director, CAST(y.number AS INTEGER) AS year,
        EXISTS (SELECT 1 FROM facts a WHERE a.article_id = d.article_id AND a.label = 'Award') AS is_awarded
    FROM facts d JOIN facts y USING (article_id) WHERE d.label = 'Directed by' AND y.label = 'Released'
) """
)
"""The films with their directors and years, and whether they won a prize."""


class Extreme(NamedTuple):
    """The landmark or company with the largest or smallest value of a measure."""

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
    """Return the steps to a list, such as the list of towns."""
    return open_article(f"List of {name} in {country(world)}")


def open_category(world: t.Sampler, name: str) -> list[Step]:
    """Return the steps to a category through the list of all categories."""
    names = [row["name"] for row in world.rows("SELECT DISTINCT name FROM category ORDER BY name")]
    turns = turn_pages(world, names.index(name), MEMBERS_PER_PAGE, "It stands on a later page.", "Next page")
    return [t.click("Categories"), *turns, t.click(name)]


def years_between(years: Sequence[int]) -> list[int]:
    """Return the years between the first and the last one that are not among them."""
    return [year for year in range(years[0] + 1, years[-1]) if year not in years]


def director(world: t.Sampler, condition: str = "count(*) > 2") -> str:
    """Draw a director whose films satisfy a condition. Raises NothingToDraw."""
    query = FILMS + f"SELECT director FROM films GROUP BY director HAVING {condition} ORDER BY director"
    return str(world.pick(query, site="wikipedia")["director"])


def prize_universities(world: t.Sampler) -> dict[str, Any]:
    """Draw the country or a state, with its two universities with the most prize winners. Raises NothingToDraw for a tie."""
    rows = world.rows(
        FACTS
        + """SELECT p.title, CAST(p.number AS INTEGER) AS number, s.target AS state FROM facts p JOIN facts s USING (article_id)
        WHERE p.label = 'Prize winners' AND s.label = 'State' ORDER BY p.number DESC, p.title""",
        site="wikipedia",
    )
    land = country(world)
    region = world.rng.choice([land, *sorted({row["state"] for row in rows})])
    best, second, *_ = *(row for row in rows if region in (land, row["state"])), None, None
    t.skip_if(not best or not second or best["number"] == second["number"], "a university that stands out")
    return {"region": region, "best": best, "second": second}


def decades(row: t.Row) -> range:
    """Return the decades in which a team played at a stadium."""
    return range(int(row["since"]), int(row["until"]), 10)


def url(title: str) -> str:
    """Return the URL of an article in the format of checks."""
    return f"__WIKIPEDIA__{path(title)}"


def draw_extreme(world: t.Sampler, kinds: tuple[str, ...] = ()) -> Extreme:
    """Draw the landmark or company with the largest or smallest value of a measure. Raises NothingToDraw for a tie."""
    kind, label, most, least = world.rng.choice([item for item in TEXTS["measures"] if not kinds or item[0] in kinds])
    is_most = world.rng.random() < 0.5
    query = f"{FACTS}SELECT title, number, text FROM facts WHERE kind = ? AND label = ? ORDER BY number, title"
    rows = world.rows(query, kind, label, site="wikipedia")
    if is_most:
        rows.reverse()
    t.skip_if(len(rows) < 2 or rows[0]["number"] == rows[1]["number"], "one that stands out")
    plural = {"university": "universities", "library": "libraries", "company": "companies"}.get(kind, f"{kind}s")
    return Extreme(most if is_most else least, rows[0], rows[1]["title"], open_list(world, plural), rows[0]["text"])


TOWNS = (
    FACTS.rstrip()
    + """, towns AS (
    SELECT p.title, CAST(p.number AS INTEGER) AS population, s.target AS state
    FROM facts p JOIN facts s USING (article_id) WHERE p.kind = 'town' AND p.label = 'Population' AND s.label = 'State'
) """
)
"""The towns with their people and states."""


WATCHED = f"SELECT title FROM watch JOIN article USING (article_id) WHERE user_id = {ME} ORDER BY title"
NEW_TEXTS = """SELECT title, r.user_id, r.text, r.summary FROM page JOIN revision r USING (revision_id)
WHERE revision_id > ? ORDER BY revision_id"""


def links_url(title: str) -> str:
    """Return the URL of the list of pages that link to an article."""
    return f"__WIKIPEDIA__{path(title).replace('/wiki/', '/links/', 1)}"


def new_address(world: t.Sampler, row: t.Row) -> str:
    """Draw an email address for a user."""
    return f"{row['username'].replace('.', world.rng.choice(('_', '-', '')))}{world.rng.randint(10, 999)}@mail.example"


def watchlist(world: t.Sampler, *, plus: list[str], minus: list[str]) -> list[list[str]]:
    """Return the expected rows of the watchlist after titles were added and removed."""
    titles = [row["title"] for row in world.rows(WATCHED)]
    return [[title] for title in sorted([title for title in titles if title not in minus] + plus)]


def watch(titles: list[str]) -> list[Step]:
    """Return the steps that add articles to the watchlist."""
    return [step for title in titles for step in (*open_article(title), t.click("Add to watchlist"))]


def rewritable(text: str) -> list[tuple[int, str]]:
    """Return the indices and headings of the sections of a text that can be rewritten."""
    headings = [part.heading for part in sections(text)]
    return [(place, heading) for place, heading in enumerate(headings) if heading in ("History", "Reception", "Culture")]


def rewritten(text: str, place: int, body: str) -> str:
    """Return a text with one of its sections replaced."""
    parts = sections(text)
    parts[place] = parts[place]._replace(body=body)
    return whole(parts)
