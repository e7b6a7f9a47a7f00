"""Search: a title leads to its article, anything else to a list of articles."""

import re

from webarena_gym.sites.country.texts import folded
from webarena_gym.sites.kit.forms import line
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.wikipedia import markup, queries
from webarena_gym.sites.wikipedia.base import site

RESULTS_PER_PAGE = 20
_AROUND = 90  # characters shown before and after what was found


@site.get("/search")
def search(request: Request) -> str | Response:
    """Show the articles that hold all words; with `fulltext`, even if there is one of that very title."""
    phrase = line(request.args.get("search"), 200)
    exact = queries.find(request.db, phrase) if phrase else None
    if exact is not None and "fulltext" not in request.args:
        return redirect(markup.path(exact["title"]))
    request.shows({"search": folded(phrase)})
    rows = queries.search(request.db, phrase)
    pager = Pager.of(request, len(rows), RESULTS_PER_PAGE, "page")
    snippets = {row["title"]: snippet(markup.plain(row["text"]), phrase) for row in pager.cut(rows)}
    return request.render("search.html", phrase=phrase, rows=rows, pager=pager, snippets=snippets)


def snippet(text: str, phrase: str) -> str:
    """Return the part of a text where a word of the phrase stands first, else its beginning.

    >>> snippet("A town by the sea.", "SEA")
    'A town by the sea.'
    """
    places = [found.start() for word in phrase.split() if (found := re.search(re.escape(word), text, re.IGNORECASE))]
    middle = min(places, default=0)
    start = text.rfind(" ", 0, middle - _AROUND) + 1 if middle > _AROUND else 0
    part = text[start : start + 2 * _AROUND + 20]
    if start + len(part) < len(text):
        part = part.rpartition(" ")[0] + " ..."
    return f"... {part}" if start else part
