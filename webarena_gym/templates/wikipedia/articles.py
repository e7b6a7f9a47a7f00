"""Facts of one article or of several, lists and categories, pages to open, and changes to articles and the watchlist."""

from collections.abc import Sequence

from webarena_gym.sites.wikipedia.markup import path, sections, whole
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import Ground, lacks
from webarena_gym.tasks.task import Step
from webarena_gym.templates.wikipedia import FACTS, ME, open_article

TOWNS = (
    FACTS.rstrip()
    + """, towns AS (
    SELECT p.title, CAST(p.number AS INTEGER) AS population, s.target AS state
    FROM facts p JOIN facts s USING (article_id) WHERE p.kind = 'town' AND p.label = 'Population' AND s.label = 'State'
) """
)
"""The towns with their people and states."""


def lacks_unless(here: Sequence[str], elsewhere: Sequence[str]) -> Ground | None:
    """Return what an answer follows from that names nothing, as all that is there belongs elsewhere."""
    return None if here else lacks(elsewhere, [])


WATCHED = f"SELECT title FROM watch JOIN article USING (article_id) WHERE user_id = {ME} ORDER BY title"
NEW_TEXTS = """SELECT title, r.user_id, r.text, r.summary FROM page JOIN revision r USING (revision_id)
WHERE revision_id > ? ORDER BY revision_id"""


def links_url(title: str) -> str:
    """Return the address of the list of what links to an article."""
    return f"__WIKIPEDIA__{path(title).replace('/wiki/', '/links/', 1)}"


def new_address(world: t.Sampler, row: t.Row) -> str:
    """Return an e-mail address of somebody."""
    return f"{row['username'].replace('.', world.rng.choice(('_', '-', '')))}{world.rng.randint(10, 999)}@mail.example"


def watchlist(world: t.Sampler, *, plus: list[str], minus: list[str]) -> list[list[str]]:
    """Return the watchlist as it should be after some titles came and some went."""
    titles = [row["title"] for row in world.rows(WATCHED)]
    return [[title] for title in sorted([title for title in titles if title not in minus] + plus)]


def watch(titles: list[str]) -> list[Step]:
    """Return the steps that put articles on the watchlist."""
    return [step for title in titles for step in (*open_article(title), t.click("Add to watchlist"))]


def rewritable(text: str) -> list[tuple[int, str]]:
    """Return the places and headings of the sections that a text can have anew."""
    headings = [part.heading for part in sections(text)]
    return [(place, heading) for place, heading in enumerate(headings) if heading in ("History", "Reception", "Culture")]


def rewritten(text: str, place: int, body: str) -> str:
    """Return a text with one of its sections written anew."""
    parts = sections(text)
    parts[place] = parts[place]._replace(body=body)
    return whole(parts)
