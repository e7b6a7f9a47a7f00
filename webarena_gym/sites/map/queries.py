"""Rows of the map's database, categories of places, and the search for places and addresses."""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from webarena_gym.sites.country.texts import read_data
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.kit.database import first, row_or_404, value
from webarena_gym.sites.map.geometry import (
    NUMBERS,
    Point,
    coordinates,
    metres_between,
    metres_of,
    number_at,
    read_address,
    read_coordinates,
)
from webarena_gym.sites.map.routing import Roads, Spot, load_roads

PLACES = """
WITH places AS (
    SELECT p.*, s.name AS street, s.postcode, t.town_id, t.name AS town, t.kind AS town_kind, a.state_id, a.name AS state,
        p.number || ' ' || s.name || ', ' || t.name || ', ' || a.name || ' ' || s.postcode AS address,
        CASE WHEN (SELECT 1 FROM world WHERE key = 'names') IS NULL THEN p.name
            WHEN EXISTS (SELECT 1 FROM place q WHERE q.name = p.name AND q.place_id != p.place_id)
            THEN p.name || ', ' || p.number || ' ' || s.name || ', ' || t.name ELSE p.name END AS label,
        CASE WHEN (SELECT 1 FROM world WHERE key = 'names') IS NULL THEN '' ELSE coalesce(
            (SELECT value FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Also known as'), '') END AS alias
    FROM place p JOIN street s USING (street_id) JOIN town t USING (town_id) JOIN state a USING (state_id)
), towns AS (
    SELECT t.*, a.name AS state, a.name AS address FROM town t JOIN state a USING (state_id)
), streets AS (
    SELECT s.*, t.name AS town, a.state_id, a.name AS state, t.name || ', ' || a.name || ' ' || s.postcode AS address
    FROM street s JOIN town t USING (town_id) JOIN state a USING (state_id) WHERE s.kind != 'path'
) """
"""Places, towns and the streets of towns, with their addresses in full. The label of a place distinguishes it from others of its name.

A world in which places share names or have several names has the key `names`.
"""


def fetch(db: sqlite3.Connection, query: str, *values: object) -> list[sqlite3.Row]:
    """Return the rows of a query over places, towns and streets."""
    return db.execute(PLACES + query, values).fetchall()


def roads(db: sqlite3.Connection) -> Roads:
    """Return the roads of this world."""
    return load_roads(lambda query: db.execute(query).fetchall())


def country(db: sqlite3.Connection) -> str:
    """Return the name of the country."""
    return str(value(db, "SELECT value FROM world WHERE key = 'country'"))


class Category(NamedTuple):
    """A category of places: its name, the plural, and synonyms for searches."""

    name: str
    plural: str
    synonyms: tuple[str, ...] = ()


CATEGORIES = tuple(Category(*category) for category in read_data(Path(__file__).parent / "categories.toml")["categories"])
_KNOWN = {word: category.name for category in CATEGORIES for word in (category.name, category.plural, *category.synonyms)}
PLURALS = {category.name: category.plural for category in CATEGORIES}


def category_of(words: str) -> str | None:
    """Return the category whose name, plural or synonym the words are, or None.

    >>> category_of(" Coffee  shops"), category_of("the moon")
    ('cafe', None)
    """
    return _KNOWN.get(" ".join(words.lower().split()).removeprefix("the ").removeprefix("a "))


LONGEST = 200  # characters after which the text of a search is cut
MOST_WORDS = 12  # words of a search
MOST_ALIKE = 40  # approximate matches that a search shows
_EXACT, _BEGINNING, _NAMED, _OTHER = range(4)
_AREA = re.compile(r"(.+?) (near|nearby|around|close to|next to|in|within) (.+)", re.IGNORECASE | re.DOTALL)
_ORDER = ("state", "town", "place", "street", "address")


class SearchHit(NamedTuple):
    """A result of a search. Searching for its label finds it again. `spot` is its position on a street, None for states."""

    table: str  # one of _ORDER, or "point"
    label: str
    kind: str
    address: str
    url: str
    point: Point
    spot: Spot | None
    rank: int = _EXACT
    metres: float | None = None  # distance from the centre of the search

    @property
    def is_exact(self) -> bool:
        """True for an exact match with the text."""
        return self.rank == _EXACT


def search(db: sqlite3.Connection, text: str) -> tuple[str, Sequence[SearchHit]]:
    """Return the title of a search, such as "cafes near Old Museum", and its results.

    Results are matches by name, or places of a category by distance, and in worlds with an index also approximate matches.
    """
    text = " ".join(text[:LONGEST].split())
    hits = find(db, text)
    if any(item.is_exact for item in hits):
        return text, hits
    category, area = category_of(text), _AREA.fullmatch(text)
    of_kind = "SELECT * FROM places WHERE category = ?"
    if category:
        return PLURALS[category], [of_place(row) for row in fetch(db, f"{of_kind} ORDER BY name", category)]
    centres = find(db, area[3]) if area else []
    if area is None or not centres:
        return text, [*hits, *_alike(db, text, hits)]
    query, centre = area[1], centres[0]  # a category, a chain or words, and the centre of the search
    is_inside = area[2].lower() in ("in", "within") and centre.table in ("town", "state")
    if category := category_of(query):
        rows = fetch(db, of_kind, category)
    else:
        where, patterns = _all_words("name || ' ' || alias || ' ' || category || ' ' || brand", query)
        rows = fetch(db, f"SELECT * FROM places WHERE {where}", *patterns)
    places = [
        of_place(row) for row in rows if row["label"] != centre.label and (not is_inside or centre.label == row[centre.table])
    ]
    title = f"{PLURALS[category] if category else query} {'in' if is_inside else 'near'} {centre.label}"
    return title, by_distance(roads(db), places, centre)


def _alike(db: sqlite3.Connection, text: str, hits: Iterable[SearchHit]) -> Iterator[SearchHit]:
    """Yield towns and then places that match a text approximately, by relevance, except `hits`. None in worlds without an index."""
    if not ranking.has_index(db):
        return
    known = {item.url for item in hits}
    for table, weights in (("town", (4, 1)), ("place", (4, 4, 2, 1))):
        keys = list(ranking.rank_texts(db, f"{table}_text", text, weights))[:MOST_ALIKE]
        rows = fetch(db, f"SELECT * FROM {table}s WHERE {table}_id IN (SELECT value FROM json_each(?))", json.dumps(keys))
        for row in sorted(rows, key=lambda row: keys.index(row[f"{table}_id"])):
            near = of_town(db, row, _OTHER) if table == "town" else of_place(row, _OTHER)
            if near.url not in known:
                yield near


def near(db: sqlite3.Connection, category: str, centre: SearchHit) -> list[SearchHit]:
    """Return the places of a category by their distance from `centre`, which is not among them."""
    rows = fetch(db, "SELECT * FROM places WHERE category = ?", category)
    return by_distance(roads(db), [of_place(row) for row in rows if row["label"] != centre.label], centre)


def by_distance(roads: Roads, hits: Iterable[SearchHit], centre: SearchHit) -> list[SearchHit]:
    """Return the results with their straight-line distance from `centre`, sorted by it. Distances are between doors, as for routes."""
    middle = _door(roads, centre)
    measured = [item._replace(metres=metres_between(_door(roads, item), middle)) for item in hits]
    return sorted(measured, key=lambda hit: (hit.metres, hit.label))


def _door(roads: Roads, hit: SearchHit) -> Point:
    return hit.point if hit.spot is None or hit.table == "point" else roads.point(hit.spot)


def find(db: sqlite3.Connection, text: str) -> list[SearchHit]:
    """Return the matches of a text by name: exact matches, then prefixes, then names that contain all words."""
    text = " ".join(text[:LONGEST].split()).strip(" ,")
    point = read_coordinates(text)
    if point is not None:
        return [at_point(roads(db), Point(*point))]
    if not re.search(r"\w", text):
        return []
    return sorted(_matches(db, text), key=lambda hit: (hit.rank, _ORDER.index(hit.table), hit.label))


def best(db: sqlite3.Connection, text: str) -> list[SearchHit]:
    """Return the exact matches of a text, or all matches if there is no exact one."""
    hits = find(db, text)
    return [item for item in hits if item.is_exact] or hits


def at_point(roads: Roads, point: Point) -> SearchHit:
    """Return a point without a name as a search result."""
    label = coordinates(*point)
    url = f"/query?lat={point.latitude:.5f}&lon={point.longitude:.5f}"
    return SearchHit("point", label, "coordinates", "", url, point, roads.nearest(point))


def of_place(row: sqlite3.Row, rank: int = _EXACT) -> SearchHit:
    """Return a place as a search result."""
    spot = Spot(row["edge_id"], row["metres"])
    point = Point(row["latitude"], row["longitude"])
    return SearchHit("place", row["label"], row["category"], row["address"], f"/place/{row['place_id']}", point, spot, rank)


def of_town(db: sqlite3.Connection, row: sqlite3.Row, rank: int = _EXACT) -> SearchHit:
    """Return a town as a search result. Routes lead to the crossing in its middle."""
    spot = roads(db).crossing(row["node_id"])
    point = Point(row["latitude"], row["longitude"])
    return SearchHit("town", row["name"], row["kind"], row["address"], f"/town/{row['town_id']}", point, spot, rank)


def of_street(
    db: sqlite3.Connection, row: sqlite3.Row, number: int, rank: int = _EXACT, *, is_whole: bool = False
) -> SearchHit:
    """Return a house number of a street as a search result, or with `is_whole` the street, with its middle as position."""
    metres = metres_of(number, row["length"])
    query = "SELECT edge_id, start, length FROM edge WHERE street_id = ? AND start <= ? ORDER BY start DESC"
    edge = row_or_404(db, query, (row["street_id"], metres))
    spot = Spot(edge["edge_id"], min(metres - edge["start"], edge["length"]))
    point = Point(*(round(degrees, 5) for degrees in roads(db).point(spot)))
    if is_whole:
        url = f"/street/{row['street_id']}"
        return SearchHit("street", f"{row['name']}, {row['town']}", "street", row["address"], url, point, spot, rank)
    url = f"/query?lat={point.latitude:.5f}&lon={point.longitude:.5f}"
    label, address = f"{number} {row['name']}, {row['town']}", f"{number} {row['name']}, {row['address']}"
    return SearchHit("address", label, "address", address, url, point, spot, rank)


def nearest_address(db: sqlite3.Connection, point: Point) -> SearchHit:
    """Return the address nearest to a point, or the nearest road between towns, with the distance in `metres`."""
    spots = roads(db)
    spot = spots.nearest(point)
    edge = spots.edges[spot.edge_id]
    street = first(db, f"{PLACES} SELECT * FROM streets WHERE street_id = ?", (edge.street_id,))
    if street is None:  # a road between towns, which has no addresses
        here = at_point(spots, point)
        return here._replace(table="street", label=edge.name, kind="road", metres=metres_between(point, spots.point(spot)))
    address = of_street(db, street, number_at(edge.start + spot.metres, street["length"]))
    return address._replace(metres=metres_between(point, address.point))


def _all_words(column: str, text: str) -> tuple[str, list[str]]:
    """Return an SQL condition, with its parameters, for texts that contain all words."""
    words = list(dict.fromkeys(text.lower().replace(",", " ").split()))[:MOST_WORDS]
    return " AND ".join([f"instr(lower({column}), ?)"] * len(words)) or "0", words


def _rank(name: str, text: str) -> int:
    """Return the rank of a match, from _EXACT to _OTHER; the name and its address contain all words of the text."""
    name, text = name.lower(), text.lower()
    if text == name or text.startswith(f"{name},"):
        return _EXACT
    if name.startswith(text):
        return _BEGINNING
    return _NAMED if all(word in name for word in text.replace(",", " ").split()) else _OTHER


def _matches(db: sqlite3.Connection, text: str) -> Iterator[SearchHit]:
    """Yield the matches of a text by name, and, for a text such as '12 Oak Street, Townville', the addresses in all towns."""
    named, words = _all_words("name", text)
    for row in db.execute(f"SELECT * FROM state WHERE {named}", words).fetchall():
        point, rank = Point(row["latitude"], row["longitude"]), _rank(row["name"], text)
        yield SearchHit("state", row["name"], "state", country(db), f"/state/{row['state_id']}", point, None, rank)
    where = _all_words("name || ' ' || address || ' ' || kind", text)[0]
    for row in fetch(db, f"SELECT * FROM towns WHERE {where}", *words):
        rank = _rank(row["name"], text)
        if rank != _OTHER:  # a search for a state must not return all of its towns
            yield of_town(db, row, rank)
    where = _all_words("name || ' ' || alias || ' ' || category || ' ' || address", text)[0]
    rows = fetch(db, f"SELECT * FROM places WHERE {where}", *words)
    meant = [row for row in rows if row["label"] != row["name"] and row["label"].lower() == text.lower()]
    for row in meant or rows:
        yield of_place(row, min(_rank(name, text) for name in (row["name"], row["alias"]) if name))
    addressed = "name || ' ' || address"
    for row in fetch(db, f"SELECT * FROM streets WHERE {_all_words(addressed, text)[0]}", *words):
        rank = _rank(row["name"], text)
        if rank != _OTHER or row["name"].lower() in text.lower():
            yield of_street(db, row, NUMBERS // 2, min(rank, _NAMED), is_whole=True)
    number, typed = read_address(text) or (0, "")
    if 1 <= number <= NUMBERS:
        street = re.sub(r",\s*(?:apt|unit|suite|#)\.?\s*\w+", "", typed, flags=re.IGNORECASE)
        where, words = _all_words(addressed, street)
        for row in fetch(db, f"SELECT * FROM streets WHERE {where}", *words):
            if typed.lower().startswith(row["name"].lower()):
                yield of_street(db, row, number)
