"""Quick search, with suggestions when nothing is found, and advanced search."""

import difflib
import json
import re
import sqlite3

from webarena_gym.sites.country.texts import folded, like
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping.base import site
from webarena_gym.sites.shopping.forms import cents
from webarena_gym.sites.shopping.listing import Listing

LONGEST = 128  # characters of a search that count
MOST_WORDS = 12
WEIGHTS = (8, 8, 4, 2, 1)  # of the columns of product_text
TITLE = "p.name || ' ' || p.sku || ' ' || p.brand"
TEXT = f"{TITLE} || ' ' || p.short_description || ' ' || p.description"


@site.get("/catalogsearch/result/")
def results(request: Request) -> str | Response:
    """Show what a search finds, the best match first."""
    phrase = clean(request.args.get("q", "")).replace("\n", " ")[:LONGEST]
    if not phrase:
        return request.redirect("/", "Please enter what to search for.", "notice")
    rows = find(request.db, phrase)
    if set(request.args) == {"q"}:
        _record(request, phrase, len(rows))
    listing = Listing(request.path, request.args, rows, by="Relevance", keep=["q"], layout=request.layout)
    request.shows({"q": folded(phrase), **listing.filters})
    request.arranges(listing.arrangement)
    return request.render(
        "search.html",
        phrase=phrase,
        listing=listing,
        suggestions=[] if rows else suggestions(request.db, phrase),
    )


def find(db: sqlite3.Connection, phrase: str) -> list[sqlite3.Row]:
    """Return the products that have all words of the phrase: first in name, SKU or brand, then in the description too.

    Where the shop has an index, these are the most relevant products.
    """
    if ranking.has_index(db):
        return _relevant(db, phrase)
    words = _words(phrase)
    patterns = [like(word) for word in words]
    if not words:
        return []
    rows = queries.cards(db, " AND ".join([rf"{TEXT} LIKE ? ESCAPE '\'"] * len(words)), patterns)
    return sorted(rows, key=lambda row: _rank(row, phrase.lower(), words))


def _relevant(db: sqlite3.Connection, phrase: str) -> list[sqlite3.Row]:
    """Return the products that fit a phrase, what has its very words in the name first, then by relevance."""
    relevances = ranking.ranked(db, "product_text", phrase, WEIGHTS)
    rows = queries.cards(db, "p.product_id IN (SELECT value FROM json_each(?))", [json.dumps(list(relevances))])
    return sorted(rows, key=lambda row: (_rank(row, phrase.lower(), []) > 1, -relevances[row["product_id"]], row["product_id"]))


def _words(phrase: str) -> list[str]:
    return list(dict.fromkeys(phrase.lower().split()))[:MOST_WORDS]


def _rank(row: sqlite3.Row, phrase: str, words: list[str]) -> int:
    """Return 0 for the very name or SKU, 1 for the phrase in the name, 2 for all words in the title, 3 for the rest."""
    title = f"{row['name']} {row['sku']} {row['brand']}".lower()
    if phrase in (row["name"].lower(), row["sku"].lower()):
        return 0
    if phrase in row["name"].lower():
        return 1
    return 2 if all(word in title for word in words) else 3


def suggestions(db: sqlite3.Connection, phrase: str, most: int = 3) -> list[str]:
    """Return other spellings of the phrase that do find something, the nearest first."""
    rows = db.execute("SELECT name || ' ' || brand AS title FROM product WHERE is_enabled")
    known = sorted({word for row in rows for word in re.findall(r"[^\W_]{3,}", row["title"].lower())})
    phrases = [""]
    for word in _words(phrase)[:4]:
        spellings = [word] if word in known else difflib.get_close_matches(word, known, n=most, cutoff=0.7) or [word]
        phrases = [f"{start} {spelling}".strip() for start in phrases for spelling in spellings][: 2 * most]
    return [other for other in phrases if other != phrase.lower() and find(db, other)][:most]


def _record(request: Request, phrase: str, found: int) -> None:
    """Count one more use of a search term."""
    values = (found, request.stamp, phrase)
    query = """
        UPDATE search_term SET uses = uses + 1, num_results = ?, updated_at = ? WHERE query_text = ? COLLATE NOCASE
    """
    if request.db.execute(query, values).rowcount == 0:
        request.db.execute("INSERT INTO search_term (num_results, uses, updated_at, query_text) VALUES (?, 1, ?, ?)", values)


ADVANCED = {
    "name": ("Product Name", "p.name"),
    "sku": ("SKU", "p.sku"),
    "description": ("Description", "p.description"),
    "short_description": ("Short Description", "p.short_description"),
}


@site.get("/catalogsearch/advanced/")
def advanced(request: Request) -> str:
    """Ask what to search for, field by field."""
    request.shows({key: request.args.get(key) for key in (*ADVANCED, "price[from]", "price[to]")})
    return request.render("advanced.html", fields=ADVANCED, values=request.args, errors=[])


@site.get("/catalogsearch/advanced/result/")
def advanced_results(request: Request) -> str:
    """Show the products that meet every field that was filled in."""
    criteria, conditions, parameters, errors = [], [], [], []
    understood: dict[str, object] = {}
    for key, (label, column) in ADVANCED.items():
        text = clean(request.args.get(key, ""))[:LONGEST]
        if text:
            understood[key] = folded(text)
            criteria.append(f"{label}: {text}")
            conditions.append(rf"{column} LIKE ? ESCAPE '\'")
            parameters.append(like(text))
    for key, label, sign in (("price[from]", "Price from", ">="), ("price[to]", "Price to", "<=")):
        text = clean(request.args.get(key, ""))[:20]
        amount = cents(text)
        understood[key] = text if amount is None else f"{amount / 100:.2f}"
        if amount is not None:
            criteria.append(f"{label}: {text}")
            conditions.append(f"{queries.FINAL_PRICE} {sign} {amount}")
        elif text:
            errors.append(f"{label}: {text} is no price. Please enter a number such as 12.50.")
    request.shows(understood)
    if not conditions and not errors:
        errors.append("Enter a search term and try again.")
    if errors:
        return request.render("advanced.html", fields=ADVANCED, values=request.args, errors=errors)
    rows = queries.cards(request.db, " AND ".join(conditions), parameters)
    keep = [*ADVANCED, "price[from]", "price[to]"]
    listing = Listing(request.path, request.args, rows, keep=keep, layout=request.layout)
    request.shows(listing.filters)
    request.arranges(listing.arrangement)
    return request.render("advanced_result.html", criteria=criteria, listing=listing)
