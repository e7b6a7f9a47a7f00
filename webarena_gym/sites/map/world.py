"""The generator of the map's database: draws roads, towns, places and notes, and writes them into the tables."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import combinations, count, pairwise, product
from math import cos, hypot, radians, sin
from pathlib import Path
from typing import Any, NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale, moment, settings, share
from webarena_gym.sites.country.geography import EAST, NORTH, SOUTH, WEST, Country, Landmark, Town, country
from webarena_gym.sites.country.names import Person, invented_word, population
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.country.texts import read_sizes
from webarena_gym.sites.map.geometry import (
    NUMBERS,
    Point,
    along,
    metres_between,
    metres_of,
    nearest_fraction,
    offset,
    shift_point,
)


class Sizes(NamedTuple):
    """Sizes of the map at one scale."""

    mappers: int  # users
    notes: int
    phones: int  # number of telephone numbers
    first_chain: int  # index of the first invented brand of a chain; the shop uses the brands below it
    percents: tuple[int, int, int]  # number of places in a city, town and village, relative to `counts` in pool.json
    bare_percent: int  # percentage of branches named like their chain; the names of the others contain the street
    is_unique: bool  # True if names of places are unique in the country, False if they are unique in a town
    alias_percent: int  # percentage of landmarks with a second name
    settings: tuple[tuple[str, str], ...] = ()  # additional rows of the table `world`


SIZES: Mapping[Scale, Sizes] = read_sizes(Sizes, Path(__file__).parent / "sizes.toml")

SINGLE = ("tax office", "town hall", "police station", "bus station")
"""Kinds of places of which a town has as many in a large world as in a standard one."""


class Piece(NamedTuple):
    """The part of a street between two adjacent crossings. `start` is the distance from the street's beginning; lengths are metres."""

    edge_id: int
    street_id: int
    start: int
    node_a: int
    node_b: int
    length: int


class Line(NamedTuple):
    """A street with its pieces from one end to the other. Roads between towns have no town."""

    street_id: int
    town_id: int | None
    name: str
    kind: str
    postcode: str
    pieces: tuple[Piece, ...]

    @property
    def length(self) -> int:
        """Length in metres."""
        return sum(piece.length for piece in self.pieces)

    def at(self, metres: int) -> tuple[Piece, int]:
        """Return the piece at a distance from the street's beginning, and the distance from the piece's beginning."""
        for piece in self.pieces:
            if metres <= piece.start + piece.length:
                return piece, max(0, metres - piece.start)
        return self.pieces[-1], self.pieces[-1].length


class Board:
    """Collects crossings and streets, and numbers them from 1."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.nodes: list[Point] = []
        self.lines: list[Line] = []
        self._joined: set[tuple[int, int]] = set()
        self._pieces = count(1)

    def point(self, node_id: int) -> Point:
        """Return the position of a crossing."""
        return self.nodes[node_id - 1]

    def add_node(self, point: Point) -> int:
        """Add a crossing and return its id."""
        self.nodes.append(point)
        return len(self.nodes)

    def add_line(self, nodes: list[int], name: str, kind: str, town_id: int | None = None, postcode: str = "") -> Line:
        """Add a street through crossings and return it. Raises ValueError if a street already connects two adjacent ones."""
        street_id, pieces, start = len(self.lines) + 1, [], 0
        for a, b in pairwise(nodes):
            if (a, b) in self._joined:
                raise ValueError(f"a street already connects the crossings {a} and {b}")
            self._joined |= {(a, b), (b, a)}
            length = max(1, round(metres_between(self.point(a), self.point(b))))
            pieces.append(Piece(next(self._pieces), street_id, start, a, b, length))
            start += length
        self.lines.append(Line(street_id, town_id, name, kind, postcode, tuple(pieces)))
        return self.lines[-1]


TOWN_SIZES = {34: ("city", 0.24, 14), 16: ("town", 0.19, 5), 7: ("village", 0.17, 1)}
"""Kind of a town, width of its blocks in kilometres and number of its footpaths, by its number of streets."""
OUTLYING = {"airport": "Airport Road", "national park": "{} Park Road"}
"""Kinds of landmarks outside towns, and the names of the roads to them."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A town with its streets."""

    town_id: int
    town: Town
    kind: str
    centre: int  # crossing in the middle
    edge_nodes: tuple[int, ...]  # ends of its streets
    lines: tuple[Line, ...]  # its streets, including the one at an airport
    outlying: dict[str, Line]  # roads to landmarks outside the town, by name of the landmark
    terminal: Line | None  # the street at an airport

    @property
    def point(self) -> Point:
        """Position of the town."""
        return Point(self.town.latitude, self.town.longitude)


def lay_out(board: Board, town_id: int, town: Town, landmarks: list[Landmark]) -> Plan:
    """Draw the streets of a town and the roads to the landmarks outside it."""
    dice, (kind, block, paths) = board.dice, TOWN_SIZES[len(town.streets)]
    columns = len(town.streets) // 2
    rows = len(town.streets) - columns
    crossings = _crossings(board, town, columns, rows, block)
    lines, used = [], set[tuple[int, int]]()
    for index, name in enumerate(town.streets):
        is_row = index >= columns
        place, others, across = (index - columns, columns, rows) if is_row else (index, rows, columns)
        is_main = place == across // 2
        first, last = (0, others - 1) if is_main else (dice.below(1 + others // 5), others - 1 - dice.below(1 + others // 5))
        cells = [(step, place) if is_row else (place, step) for step in range(first, last + 1)]
        used.update(cells)
        nodes, postcode = [crossings[cell] for cell in cells], f"{town.postcode}{10 + dice.below(90)}"
        lines.append(board.add_line(nodes, name, "main" if is_main else "street", town_id, postcode))
    for column, row in dice.some(sorted(used), paths):  # footpaths cross blocks diagonally
        if (column + 1, row + 1) in used:
            board.add_line([crossings[column, row], crossings[column + 1, row + 1]], "Footpath", "path", town_id)
    ends = tuple(node for line in lines for node in (line.pieces[0].node_a, line.pieces[-1].node_b))
    outlying, terminal = {}, None
    for landmark in landmarks:
        if landmark.kind not in OUTLYING:
            continue
        target = Point(landmark.latitude, landmark.longitude)
        nodes = [toward(board, ends, Point(town.latitude, town.longitude), target)]
        for fraction in (0.35, 0.7, 0.88):
            point = along(board.point(nodes[0]), target, fraction)
            nodes.append(board.add_node(shift_point(point, (dice.below(401) - 200) / 1500, (dice.below(401) - 200) / 1500)))
        nodes.append(board.add_node(target))
        name, postcode = OUTLYING[landmark.kind].format(landmark.name.split()[0]), f"{town.postcode}{10 + dice.below(90)}"
        outlying[landmark.name] = board.add_line(nodes, name, "road", town_id, postcode)
        if landmark.kind == "airport":  # a street with the airport's hotels, across the road
            middle = board.point(nodes[-2])
            east, north = offset(middle, target)
            stretch = 0.6 / max(0.1, (east * east + north * north) ** 0.5)
            a, b = (board.add_node(shift_point(middle, side * north * stretch, -side * east * stretch)) for side in (-1, 1))
            terminal = board.add_line([a, nodes[-2], b], "Terminal Drive", "street", town_id, town.postcode + "99")
            lines.append(terminal)
    return Plan(town_id, town, kind, crossings[columns // 2, rows // 2], ends, tuple(lines), outlying, terminal)


def toward(board: Board, nodes: tuple[int, ...], origin: Point, target: Point) -> int:
    """Return the crossing that is farthest from `origin` in the direction of `target`."""
    east, north = offset(origin, target)
    away = {node: offset(origin, board.point(node)) for node in nodes}
    return max(nodes, key=lambda node: away[node][0] * east + away[node][1] * north)


def _crossings(board: Board, town: Town, columns: int, rows: int, block: float) -> dict[tuple[int, int], int]:
    """Add the crossings of an irregular grid and return their ids by column and row."""
    dice, origin = board.dice, Point(town.latitude, town.longitude)
    angle = radians(dice.below(90) - 45)

    def jitter(share: float) -> float:
        return (dice.below(2001) / 1000 - 1) * share * block

    xs, ys = ([(i - (n - 1) / 2) * block + jitter(0.2) for i in range(n)] for n in (columns, rows))
    crossings = {}
    for column, x in enumerate(xs):
        for row, y in enumerate(ys):
            bent_x, bent_y = x + jitter(0.11) + 0.15 * block * sin(y * 1.7), y + jitter(0.11) + 0.2 * block * sin(x * 2.1)
            east, north = bent_x * cos(angle) - bent_y * sin(angle), bent_x * sin(angle) + bent_y * cos(angle)
            crossings[column, row] = board.add_node(shift_point(origin, east, north))
    return crossings


_BENDS = (0.22, 0.5, 0.78)


def connect(board: Board, plans: list[Plan]) -> None:
    """Draw the roads between neighbouring towns, and the motorways between towns and cities.

    The roads alone connect all towns. The motorways are a minimum spanning tree, and connections of neighbouring cities.
    """
    numbers = [*range(999, 99, -1), *board.dice.some(range(2, 99), 99)]  # numbers of three digits are used last
    for a, b in _neighbours(plans):
        _draw(board, a, b, f"Route {numbers.pop()}", "road", 0.03)
    inside, *outside = [plan for plan in plans if plan.kind != "village"]
    joined, pairs = [inside], list[tuple[Plan, Plan]]()
    while outside:
        pairs.append(min(product(joined, outside), key=lambda pair: metres_between(pair[0].point, pair[1].point)))
        joined.append(pairs[-1][1])
        outside.remove(pairs[-1][1])
    pairs += [pair for pair in _neighbours([plan for plan in plans if plan.kind == "city"]) if pair not in pairs]
    for index, (a, b) in enumerate(pairs, 1):
        _draw(board, a, b, f"Motorway {index}", "motorway", -0.03)


def _neighbours(plans: list[Plan]) -> list[tuple[Plan, Plan]]:
    """Return the Gabriel graph of the towns: the pairs without a third town in the circle between them. It is connected."""
    pairs = []
    for a, b in combinations(plans, 2):
        middle, radius = along(a.point, b.point, 0.5), metres_between(a.point, b.point) / 2
        if all(plan in (a, b) or metres_between(middle, plan.point) > radius for plan in plans):
            pairs.append((a, b))
    return pairs


def _draw(board: Board, a: Plan, b: Plan, name: str, kind: str, swing: float) -> None:
    """Draw a road between the edges of two towns. It bends to one side by the fraction `swing` of the distance."""
    start, end = toward(board, a.edge_nodes, a.point, b.point), toward(board, b.edge_nodes, b.point, a.point)
    east, north = offset(board.point(start), board.point(end))
    nodes = [start]
    for fraction in _BENDS:
        aside = swing * (0.6 + board.dice.below(1000) / 1000) * (1.4 if fraction == _BENDS[1] else 1)
        point = along(board.point(start), board.point(end), fraction)
        nodes.append(board.add_node(shift_point(point, -north * aside, east * aside)))
    board.add_line([*nodes, end], name, kind)


_KINDS = ("city", "town", "village")


@cache
def pool() -> Any:
    """Return the words and percentages from which places are drawn."""
    return json.loads(Path(__file__).with_name("pool.json").read_text(encoding="utf-8"))


class Place(NamedTuple):
    """A place on the map. Its door is on the piece `edge_id`, `metres` from the piece's beginning."""

    name: str
    category: str
    brand: str
    street_id: int
    number: int
    point: Point
    edge_id: int
    metres: int
    phone: str
    website: str
    hours: tuple[str, str, str]  # opening hours on weekdays, Saturday and Sunday
    details: dict[str, str]


class Draftsman:
    """Draws the places of one world, with unique addresses and telephone numbers, and names that are unique as the scale requires."""

    def __init__(self, seed: int, board: Board, scale: Scale = "standard") -> None:
        self._sizes = sizes = SIZES[scale]
        self._dice, self._board = Dice(f"map/{seed}/places"), board
        self._names: set[str] = set()
        self._taken: set[tuple[int, int]] = set()
        self._streets = [line.name for line in board.lines]
        self._lines = self._dice.some(range(100, 10_000), sizes.phones)
        pairs = [f"{adjective} {noun}" for adjective in pool()["adjectives"] for noun in pool()["nouns"]]
        self._pairs = share(pairs, seed)
        words = count(sizes.first_chain)
        self._chains = {
            category: [f"{invented_word(seed, next(words), 'brand', scale)} {ending}" for ending in endings]
            for category, endings in pool()["chains"].items()
        }

    def draw(self, plans: list[Plan], country: Country) -> list[Place]:
        """Draw all places: the landmarks, then the places of each town."""
        by_name = {plan.town.name: plan for plan in plans}
        for group in (country.landmarks, country.towns, country.states):
            self._names.update(item.name for item in group)
        places = [self._landmark(by_name[landmark.town], landmark) for landmark in country.landmarks]
        for plan in plans:
            for category, counts in pool()["counts"].items():
                usual, percent = (by_kind[_KINDS.index(plan.kind)] for by_kind in (counts, self._sizes.percents))
                for index in range(usual if category in SINGLE else usual * percent // 100):
                    places.append(self._ordinary(plan, category, index, plan.lines))
            if plan.terminal is not None:
                places += [self._ordinary(plan, category, 9, (plan.terminal,)) for category in pool()["at an airport"]]
        return places

    def _landmark(self, plan: Plan, landmark: Landmark) -> Place:
        """Return the place of a landmark, with an address on the nearest street of its town, or at the end of the road to it."""
        point = Point(landmark.latitude, landmark.longitude)
        best, line, number = float("inf"), plan.lines[0], 1
        for other in plan.lines:
            for piece in other.pieces:
                a, b = self._board.point(piece.node_a), self._board.point(piece.node_b)
                fraction = nearest_fraction(a, b, point)
                away = metres_between(along(a, b, fraction), point)
                if away < best:
                    best, line = away, other
                    number = round((piece.start + fraction * piece.length) * NUMBERS / line.length)
        number = min(NUMBERS, max(1, number))
        if landmark.name in plan.outlying:
            line, number = plan.outlying[landmark.name], NUMBERS
        details = {"Opened": str(landmark.opened)}
        if self._sizes.alias_percent and self._dice.chance(self._sizes.alias_percent):
            first = next(word for word in landmark.name.split() if word != "The")
            form: str = self._dice.pick(pool()["aliases"][landmark.kind])
            details["Also known as"] = form.format(first=first, town=plan.town.name)
        return self._place(plan, (landmark.name, landmark.kind, ""), line, number, point, details)

    def _ordinary(self, plan: Plan, category: str, index: int, lines: tuple[Line, ...]) -> Place:
        """Draw a place of a category on one of the streets. `index` is its index among the town's places of the category."""
        dice = self._dice
        name, brand, line = self._unique_name(plan, category, index, lines)
        number = 1 + (dice.below(NUMBERS) + dice.below(NUMBERS)) // 2
        while (line.street_id, number) in self._taken:
            number = number % NUMBERS + 1
        details = {}
        if category == "restaurant":
            details["Cuisine"] = dice.pick(pool()["cuisines"])
        if category == "hotel":
            details |= {"Stars": str(dice.between(2, 5)), "Rooms": str(dice.between(12, 260))}
        if category in ("cafe", "restaurant", "hotel", "cinema", "library"):
            details["Wheelchair access"] = dice.pick(("yes", "no", "limited"))
        piece, metres = line.at(metres_of(number, line.length))
        a, b = self._board.point(piece.node_a), self._board.point(piece.node_b)
        east, north = offset(a, b)  # houses are some metres off the street, odd numbers on its left
        away = (-1 if number % 2 else 1) * dice.between(11, 17) / 1000 / max(0.001, hypot(east, north))
        point = shift_point(along(a, b, metres / piece.length), north * away, -east * away)
        return self._place(plan, (name, category, brand), line, number, point, details)

    def _unique_name(self, plan: Plan, category: str, index: int, lines: tuple[Line, ...]) -> tuple[str, str, Line]:
        """Return a name that no other place has, or none in the town, with its chain ("": none) and its street."""
        while True:
            line, brand = self._dice.pick(lines), ""
            if self._dice.chance(pool()["chain_percent"].get(category, 0)):
                brand = self._dice.pick(self._chains[category])
                if self._sizes.bare_percent and self._dice.chance(self._sizes.bare_percent):
                    return brand, brand, line
            name = self._name(plan, category, brand, index, line)
            key = name if self._sizes.is_unique else f"{name}, {plan.town.name}"
            if name not in self._names and key not in self._names:
                self._names.add(key)
                return name, brand, line

    def _name(self, plan: Plan, category: str, brand: str, index: int, line: Line) -> str:
        """Return a name. Branches on streets whose name occurs twice name the town first, so that no name is a prefix of another."""
        town = plan.town.name
        if brand:
            return f"{brand} {line.name}" if self._streets.count(line.name) == 1 else f"{brand} {town} {line.name}"
        if category in pool()["public"]:
            is_only = index == 0 and category not in ("park", "school")
            return f"{town} {'' if is_only else line.name.rpartition(' ')[0] + ' '}{pool()['public'][category]}"
        form: str = self._dice.pick(pool()["named"][category])
        return form.format(pair=self._dice.pick(self._pairs))

    def _place(
        self, plan: Plan, named: tuple[str, str, str], line: Line, number: int, point: Point, details: dict[str, str]
    ) -> Place:
        """Return a place with a name, category and brand. Some places have no telephone or website, and websites are not predictable."""
        self._taken.add((line.street_id, number))
        piece, metres = line.at(metres_of(number, line.length))
        hours, (name, category, _), town = pool()["hours"], named, plan.town
        choices = hours["open"] if category in pool()["always_open"] else hours.get(category, hours["other"])
        phone = "" if self._dice.chance(8) else f"{town.area_code}-556-{self._lines.pop():04d}"
        website = ""
        if not self._dice.chance(12):
            slug, place = (re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") for text in (name, town.name))
            website = f"https://{self._dice.pick(pool()['websites']).format(name=slug, town=place)}"
        opened = tuple(self._dice.pick(choices))
        return Place(*named, line.street_id, number, point, piece.edge_id, metres, phone, website, opened, details)


PASSWORD = "Password.123"  # noqa: S105  # the password of all users


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the empty tables of schema.sql with the world of a seed and scale, and commit."""
    land, now, board = country(seed, scale), moment(seed), Board(Dice(f"map/{seed}"))
    plans = [
        lay_out(board, index, town, [landmark for landmark in land.landmarks if landmark.town == town.name])
        for index, town in enumerate(land.towns, 1)
    ]
    connect(board, plans)
    places = Draftsman(seed, board, scale).draw(plans, land)
    _insert_country(db, land, plans)
    insert(db, "node", [(index, *point) for index, point in enumerate(board.nodes, 1)])
    streets = [(line.street_id, line.town_id, line.name, line.kind, line.postcode, line.length) for line in board.lines]
    insert(db, "street", streets)
    insert(db, "edge", [piece for line in board.lines for piece in line.pieces])
    rows = enumerate(places, 1)
    insert(db, "place", [(i, *place[:5], *place.point, *place[6:10], *place.hours) for i, place in rows])
    insert(db, "place_detail", [(i, *detail) for i, place in enumerate(places, 1) for detail in sorted(place.details.items())])
    _insert_people(db, board.dice, population(seed, scale), now, places, SIZES[scale])
    roads = [board.nodes, [[line.town_id, line.name, line.kind, line.pieces] for line in board.lines]]
    digest = hashlib.sha256(json.dumps(roads).encode()).hexdigest()[:16]  # key of the routing graph in a process's cache
    keys = {"seed": str(seed), "now": str(now), "country": land.name, "roads": digest}
    insert(db, "world", [*sorted(keys.items()), *settings(scale), *SIZES[scale].settings])
    sign_in(db, site="map", user_id=1)
    fill_words(db)
    db.commit()


def _insert_country(db: sqlite3.Connection, land: Country, plans: list[Plan]) -> None:
    """Write the states, which are the four quarters of the country, and the towns."""
    half_height, half_width = (NORTH - SOUTH) / 4, (EAST - WEST) / 4
    states, state_ids = [], {}
    for index, state in enumerate(land.states):
        latitude, longitude = SOUTH + half_height * (1 + 2 * (index // 2)), WEST + half_width * (1 + 2 * (index % 2))
        states.append((index + 1, state.name, state.abbreviation, state.capital, round(latitude, 5), round(longitude, 5)))
        state_ids[state.name] = index + 1
    insert(db, "state", states)
    pairs = product(range(len(states)), repeat=2)
    insert(db, "state_border", [(a + 1, b + 1) for a, b in pairs if a ^ b in (1, 2)])  # side by side, or one above the other
    rows = []
    for plan in plans:
        town = plan.town
        place = (town.population, town.latitude, town.longitude, town.postcode, plan.centre)
        rows.append((plan.town_id, state_ids[town.state], town.name, plan.kind, *place))
    insert(db, "town", rows)


def _insert_people(
    db: sqlite3.Connection, dice: Dice, people: Sequence[Person], now: datetime, places: list[Place], sizes: Sizes
) -> None:
    """Write the users, of whom the first is the current one, their saved places, and their notes with comments."""

    def ago(least: int, most: int) -> datetime:
        return now - timedelta(days=dice.between(least, most), seconds=dice.below(80_000))

    joined = sorted(ago(100, 900) for _ in range(sizes.mappers))
    for index, (person, when) in enumerate(zip(people, joined, strict=False), 1):
        insert(db, "user", [(index, person.name, f"{person.first}.{person.last}@example.com".lower(), PASSWORD, when)])
    saved, notes, comments = (list[tuple[object, ...]]() for _ in range(3))
    for user_id in range(1, sizes.mappers + 1):
        count = dice.between(6, 9) if user_id == 1 else dice.below(4)
        for place_id in sorted(dice.some(range(1, len(places) + 1), count)):
            when = ago(2, 90)
            saved.append((user_id, place_id, dice.pick(pool()["reminders"]), when))
    moments = sorted(ago(1, 98) for _ in range(sizes.notes))
    for place, created_at in zip(dice.some(places, sizes.notes), moments, strict=True):
        texts = dice.some(pool()["replies"], dice.weigh((0, 1, 2), (5, 3, 2)))
        for index, (user_id, text) in enumerate([(dice.between(2, sizes.mappers), text) for text in texts], 1):
            when = min(created_at + timedelta(hours=5 * index), now - timedelta(minutes=9 - index))
            comments.append((len(comments) + 1, len(notes) + 1, user_id, text, when))
        text = dice.pick(pool()["faults"]).format(name=place.name)
        point = shift_point(place.point, (dice.below(21) - 10) / 1000, (dice.below(21) - 10) / 1000)
        status = "resolved" if texts and dice.chance(50) else "open"
        notes.append((len(notes) + 1, dice.between(1, sizes.mappers), *point, text, status, created_at))
    for table, rows in (("saved_place", saved), ("map_note", notes), ("note_comment", comments)):
        insert(db, table, rows)
