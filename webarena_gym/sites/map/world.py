"""The generator of the map's database: roads, towns, places and notes from one integer."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import combinations, count, pairwise
from math import cos, hypot, radians, sin
from pathlib import Path
from typing import Any, NamedTuple

from webarena_gym.sites.country.dice import Dice, Scale, moment, settings, share
from webarena_gym.sites.country.geography import EAST, NORTH, SOUTH, WEST, Country, Landmark, Town, country
from webarena_gym.sites.country.names import Person, invented, population
from webarena_gym.sites.country.seeding import fill_words, insert, sign_in
from webarena_gym.sites.map.geometry import NUMBERS, Point, along, metres_between, metres_of, moved, nearest_fraction, offset


@dataclass(frozen=True)
class Sizes:
    """The numbers that the map's generator goes by."""

    mappers: int
    notes: int
    phones: int
    first_chain: int  # brand words below it belong to the shop
    percents: tuple[int, int, int]  # of the usual number of places in a city, a town and a village
    bare_percent: int  # branches that are called like their chain and nothing else; others say their street
    is_unique: bool  # whether a name is given once in the country, or once in a town
    alias_percent: int  # landmarks that people also call by another name
    settings: tuple[tuple[str, str], ...] = ()  # further rows of the table `world`


SIZES: Mapping[Scale, Sizes] = {
    "standard": Sizes(
        mappers=24, notes=60, phones=2_000, first_chain=64, percents=(100, 100, 100), bare_percent=0, is_unique=True,
        alias_percent=0,
    ),
    "large": Sizes(
        mappers=150, notes=500, phones=6_500, first_chain=200, percents=(320, 300, 225), bare_percent=60, is_unique=False,
        alias_percent=70, settings=(("names", "shared"),),
    ),
}  # fmt: skip

SINGLE = ("tax office", "town hall", "police station", "bus station")
"""The kinds of places of which a town has no more in a large world than in others."""


class Piece(NamedTuple):
    """A street's part between two neighbouring crossings; `start` is how far along the street it begins, in metres."""

    edge_id: int
    street_id: int
    start: int
    node_a: int
    node_b: int
    length: int


@dataclass(frozen=True)
class Line:
    """A street: where its name and its addresses belong, and its pieces from end to end."""

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
        """Return the piece that lies that far along the street, and how far along the piece that is."""
        for piece in self.pieces:
            if metres <= piece.start + piece.length:
                return piece, max(0, metres - piece.start)
        return self.pieces[-1], self.pieces[-1].length


class Board:
    """Collects crossings and streets, and numbers them from 1."""

    def __init__(self) -> None:
        self.nodes: list[Point] = []
        self.lines: list[Line] = []
        self._joined: set[tuple[int, int]] = set()
        self._pieces = 0

    def point(self, node_id: int) -> Point:
        """Return where a crossing is."""
        return self.nodes[node_id - 1]

    def add_node(self, point: Point) -> int:
        """Put down a crossing and return its number."""
        self.nodes.append(point)
        return len(self.nodes)

    def are_joined(self, a: int, b: int) -> bool:
        """Say whether a street leads straight from one crossing to another."""
        return (a, b) in self._joined

    def add_line(self, nodes: list[int], name: str, kind: str, town_id: int | None = None, postcode: str = "") -> Line:
        """Draw a street through crossings that no other street joins, and return it."""
        street_id, pieces, start = len(self.lines) + 1, [], 0
        for a, b in pairwise(nodes):
            if self.are_joined(a, b):
                raise ValueError(f"the crossings {a} and {b} are joined twice")
            self._joined |= {(a, b), (b, a)}
            self._pieces += 1
            length = max(1, round(metres_between(self.point(a), self.point(b))))
            pieces.append(Piece(self._pieces, street_id, start, a, b, length))
            start += length
        line = Line(street_id, town_id, name, kind, postcode, tuple(pieces))
        self.lines.append(line)
        return line


TOWN_SIZES = {34: ("city", 0.24, 14), 16: ("town", 0.19, 5), 7: ("village", 0.17, 1)}
"""By the number of streets: what such a town is called, the width of a block in kilometres, and its footpaths."""
OUTLYING = {"airport": "Airport Road", "national park": "{} Park Road"}
"""The kinds of landmarks outside of town, and the roads that lead there."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A town that is laid out: its streets, those of an airport too, and the crossing in its middle."""

    town_id: int
    town: Town
    kind: str
    centre: int
    edge_nodes: tuple[int, ...]
    lines: tuple[Line, ...]
    outlying: dict[str, Line]  # by landmark
    terminal: Line | None


def lay_out(board: Board, dice: Dice, town_id: int, town: Town, landmarks: list[Landmark]) -> Plan:
    """Draw a town's streets and the roads to what lies around it."""
    kind, block, paths = TOWN_SIZES[len(town.streets)]
    columns = len(town.streets) // 2
    rows = len(town.streets) - columns
    crossings = _crossings(board, dice, town, columns, rows, block)
    lines, used = [], set[tuple[int, int]]()
    for index, name in enumerate(town.streets):
        is_row = index >= columns
        place, others, across = (index - columns, columns, rows) if is_row else (index, rows, columns)
        is_main = place == across // 2
        first, last = (0, others - 1) if is_main else (dice.below(1 + others // 5), others - 1 - dice.below(1 + others // 5))
        cells = [(step, place) if is_row else (place, step) for step in range(first, last + 1)]
        used.update(cells)
        nodes = [crossings[cell] for cell in cells]
        lines.append(
            board.add_line(nodes, name, "main" if is_main else "street", town_id, town.postcode + str(10 + dice.below(90)))
        )
    _add_paths(board, dice, town_id, crossings, sorted(used), paths)
    ends = tuple(node for line in lines for node in (line.pieces[0].node_a, line.pieces[-1].node_b))
    outlying, terminal = {}, None
    for landmark in landmarks:
        if landmark.kind in OUTLYING:
            road = _road_out(board, dice, town_id, town, landmark, ends)
            outlying[landmark.name] = road
            if landmark.kind == "airport":
                terminal = _terminal_drive(board, town_id, town, road)
    streets = tuple(lines) if terminal is None else (*lines, terminal)
    return Plan(town_id, town, kind, crossings[columns // 2, rows // 2], ends, streets, outlying, terminal)


def toward(board: Board, nodes: tuple[int, ...], origin: Point, target: Point) -> int:
    """Return the crossing that lies farthest into the direction of a target."""
    east, north = offset(origin, target)

    def reach(node: int) -> float:
        x, y = offset(origin, board.point(node))
        return x * east + y * north

    return max(nodes, key=reach)


def _crossings(board: Board, dice: Dice, town: Town, columns: int, rows: int, block: float) -> dict[tuple[int, int], int]:
    """Put down the crossings of a grid, by column and row."""
    angle, origin = radians(dice.below(90) - 45), Point(town.latitude, town.longitude)

    def jitter(share: float) -> float:
        return (dice.below(2001) / 1000 - 1) * share * block

    xs, ys = ([(i - (n - 1) / 2) * block + jitter(0.2) for i in range(n)] for n in (columns, rows))
    found = {}
    for column, x in enumerate(xs):
        for row, y in enumerate(ys):
            bent_x, bent_y = x + jitter(0.11) + 0.15 * block * sin(y * 1.7), y + jitter(0.11) + 0.2 * block * sin(x * 2.1)
            east, north = bent_x * cos(angle) - bent_y * sin(angle), bent_x * sin(angle) + bent_y * cos(angle)
            found[column, row] = board.add_node(moved(origin, east, north))
    return found


def _add_paths(
    board: Board, dice: Dice, town_id: int, crossings: dict[tuple[int, int], int], used: list[tuple[int, int]], count: int
) -> None:
    """Lead footpaths across some blocks, from corner to corner."""
    known = set(used)
    for column, row in dice.some(used, count):
        if (column + 1, row + 1) in known:
            board.add_line([crossings[column, row], crossings[column + 1, row + 1]], "Footpath", "path", town_id)


def _road_out(board: Board, dice: Dice, town_id: int, town: Town, landmark: Landmark, ends: tuple[int, ...]) -> Line:
    """Draw the road from the edge of town to a landmark in the open country, which lies at its end."""
    target = Point(landmark.latitude, landmark.longitude)
    start = toward(board, ends, Point(town.latitude, town.longitude), target)
    nodes = [start]
    for fraction in (0.35, 0.7, 0.88):
        point = along(board.point(start), target, fraction)
        nodes.append(board.add_node(moved(point, (dice.below(401) - 200) / 1500, (dice.below(401) - 200) / 1500)))
    nodes.append(board.add_node(target))
    name = OUTLYING[landmark.kind].format(landmark.name.split()[0])
    return board.add_line(nodes, name, "road", town_id, town.postcode + str(10 + dice.below(90)))


def _terminal_drive(board: Board, town_id: int, town: Town, road: Line) -> Line:
    """Draw the street across an airport's road on which its hotels stand."""
    middle = road.pieces[-2].node_b
    east, north = offset(board.point(road.pieces[-1].node_a), board.point(road.pieces[-1].node_b))
    stretch = 0.6 / max(0.1, (east * east + north * north) ** 0.5)
    ends = [board.add_node(moved(board.point(middle), side * north * stretch, -side * east * stretch)) for side in (-1, 1)]
    return board.add_line([ends[0], middle, ends[1]], "Terminal Drive", "street", town_id, town.postcode + "99")


_BENDS = (0.22, 0.5, 0.78)


def connect(board: Board, dice: Dice, plans: list[Plan]) -> None:
    """Draw the roads between towns; on country roads alone one can get from every town to every other."""
    numbers = [*range(999, 99, -1), *dice.some(range(2, 99), 99)]  # those of three digits come last
    for a, b in _neighbours(plans):
        _draw(board, dice, a, b, f"Route {numbers.pop()}", "road", 0.03)
    larger = [plan for plan in plans if plan.kind != "village"]
    cities = [plan for plan in plans if plan.kind == "city"]
    pairs = _tree(larger)
    pairs += [pair for pair in _neighbours(cities) if pair not in pairs]
    for index, (a, b) in enumerate(pairs, 1):
        _draw(board, dice, a, b, f"Motorway {index}", "motorway", -0.03)


def _place(plan: Plan) -> Point:
    return Point(plan.town.latitude, plan.town.longitude)


def _neighbours(plans: list[Plan]) -> list[tuple[Plan, Plan]]:
    """Return the pairs of towns that have no third one in the circle between them, a graph that is always connected."""
    found = []
    for a, b in combinations(plans, 2):
        middle, radius = along(_place(a), _place(b), 0.5), metres_between(_place(a), _place(b)) / 2
        if all(plan in (a, b) or metres_between(middle, _place(plan)) > radius for plan in plans):
            found.append((a, b))
    return found


def _tree(plans: list[Plan]) -> list[tuple[Plan, Plan]]:
    """Return the pairs of towns that are joined by the shortest net of motorways."""
    inside, pairs = [plans[0]], []
    while len(inside) < len(plans):
        outside = [plan for plan in plans if plan not in inside]
        a, b = min(((a, b) for a in inside for b in outside), key=lambda pair: metres_between(_place(pair[0]), _place(pair[1])))
        inside.append(b)
        pairs.append((a, b))
    return pairs


def _draw(board: Board, dice: Dice, a: Plan, b: Plan, name: str, kind: str, swing: float) -> None:
    """Draw a road that bends to one side, from the edge of one town to that of another."""
    start = toward(board, a.edge_nodes, _place(a), _place(b))
    end = toward(board, b.edge_nodes, _place(b), _place(a))
    east, north = offset(board.point(start), board.point(end))
    nodes = [start]
    for fraction in _BENDS:
        aside = swing * (0.6 + dice.below(1000) / 1000) * (1.4 if fraction == _BENDS[1] else 1)
        point = along(board.point(start), board.point(end), fraction)
        nodes.append(board.add_node(moved(point, -north * aside, east * aside)))
    board.add_line([*nodes, end], name, kind)


_KINDS = ("city", "town", "village")


@cache
def pool() -> Any:
    """Return the words that places are made of."""
    return json.loads(Path(__file__).with_name("pool.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Place:
    """A place on the map; `edge_id` and `metres` are where its door is."""

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
    hours: tuple[str, str, str]  # on weekdays, Saturday, Sunday
    details: dict[str, str] = field(default_factory=dict)


class Draftsman:
    """Draws the places of one world, and sees to it that addresses and telephones are different, and names where they must be."""

    def __init__(self, seed: int, board: Board, scale: Scale = "standard") -> None:
        self._sizes = sizes = SIZES[scale]
        self._dice = Dice(f"map/{seed}/places")
        self._board = board
        self._names: set[str] = set()
        self._taken: set[tuple[int, int]] = set()
        self._streets = [line.name for line in board.lines]
        self._lines = self._dice.some(range(100, 10_000), sizes.phones)
        pairs = [f"{adjective} {noun}" for adjective in pool()["adjectives"] for noun in pool()["nouns"]]
        self._pairs = share(pairs, seed)
        words: Iterator[int] = count(sizes.first_chain)
        self._chains = {
            category: [f"{invented(seed, next(words), 'brand', scale)} {ending}" for ending in endings]
            for category, endings in pool()["chains"].items()
        }

    def draw(self, plans: list[Plan], country: Country) -> list[Place]:
        """Draw all places: the landmarks first, then town by town."""
        by_name = {plan.town.name: plan for plan in plans}
        for group in (country.landmarks, country.towns, country.states):
            self._names.update(each.name for each in group)
        places = [self._landmark(by_name[landmark.town], landmark) for landmark in country.landmarks]
        for plan in plans:
            for category, counts in pool()["counts"].items():
                usual, percent = (each[_KINDS.index(plan.kind)] for each in (counts, self._sizes.percents))
                for index in range(usual if category in SINGLE else usual * percent // 100):
                    places.append(self._ordinary(plan, category, index, plan.lines))
            if plan.terminal is not None:
                places += [self._ordinary(plan, category, 9, (plan.terminal,)) for category in pool()["at an airport"]]
        return places

    def _landmark(self, plan: Plan, landmark: Landmark) -> Place:
        """Give a landmark the address on the nearest street of its town, or at the end of its own road."""
        point = Point(landmark.latitude, landmark.longitude)
        line, number = self._nearest(plan, point)
        if landmark.name in plan.outlying:
            line, number = plan.outlying[landmark.name], NUMBERS
        details = {"Opened": str(landmark.opened)}
        if self._sizes.alias_percent and self._dice.chance(self._sizes.alias_percent):
            first = next(word for word in landmark.name.split() if word != "The")
            details["Also known as"] = self._dice.pick(pool()["aliases"][landmark.kind]).format(
                first=first, town=plan.town.name
            )
        return self._place(plan, landmark.name, landmark.kind, "", line, number, point, details)

    def _nearest(self, plan: Plan, point: Point) -> tuple[Line, int]:
        """Return the street and the house number that are nearest to a point."""
        best, found = float("inf"), (plan.lines[0], 1)
        for line in plan.lines:
            for piece in line.pieces:
                a, b = self._board.point(piece.node_a), self._board.point(piece.node_b)
                fraction = nearest_fraction(a, b, point)
                away = metres_between(along(a, b, fraction), point)
                if away < best:
                    best, found = away, (line, round((piece.start + fraction * piece.length) * NUMBERS / line.length))
        line, number = found
        return line, min(NUMBERS, max(1, number))

    def _ordinary(self, plan: Plan, category: str, index: int, lines: tuple[Line, ...]) -> Place:
        """Draw a place on one of the streets."""
        name, brand, line = self._named(plan, category, index, lines)
        number = 1 + (self._dice.below(NUMBERS) + self._dice.below(NUMBERS)) // 2
        while (line.street_id, number) in self._taken:
            number = number % NUMBERS + 1
        details = {}
        if category == "restaurant":
            details["Cuisine"] = self._dice.pick(pool()["cuisines"])
        if category == "hotel":
            details |= {"Stars": str(self._dice.between(2, 5)), "Rooms": str(self._dice.between(12, 260))}
        if category in ("cafe", "restaurant", "hotel", "cinema", "library"):
            details["Wheelchair access"] = self._dice.pick(("yes", "no", "limited"))
        piece, metres = line.at(metres_of(number, line.length))
        point = self._beside(piece.node_a, piece.node_b, metres / piece.length, -1 if number % 2 else 1)
        return self._place(plan, name, category, brand, line, number, point, details)

    def _named(self, plan: Plan, category: str, index: int, lines: tuple[Line, ...]) -> tuple[str, str, Line]:
        """Return a name that no other place has, at least in town, its chain, and the street that goes with it."""
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
        """Return a name; no name is the beginning of another one, so branches on streets of a name say their town first."""
        if brand:
            is_alone = self._streets.count(line.name) == 1
            return f"{brand} {line.name}" if is_alone else f"{brand} {plan.town.name} {line.name}"
        if category in pool()["public"]:
            ending, town = pool()["public"][category], plan.town.name
            base = line.name.rpartition(" ")[0]
            is_only = index == 0 and category not in ("park", "school")
            return f"{town} {ending}" if is_only else f"{town} {base} {ending}"
        form: str = self._dice.pick(pool()["named"][category])
        return form.format(pair=self._dice.pick(self._pairs))

    def _beside(self, node_a: int, node_b: int, fraction: float, side: int) -> Point:
        """Return the point some metres off a street, odd numbers on its left."""
        a, b = self._board.point(node_a), self._board.point(node_b)
        east, north = offset(a, b)
        away = side * self._dice.between(11, 17) / 1000 / max(0.001, hypot(east, north))
        return moved(along(a, b, fraction), north * away, -east * away)

    def _place(
        self, plan: Plan, name: str, category: str, brand: str, line: Line, number: int, point: Point, details: dict[str, str]
    ) -> Place:
        """Return a place with its telephone, website and hours; a few have no telephone or website."""
        self._taken.add((line.street_id, number))
        piece, metres = line.at(metres_of(number, line.length))
        hours = pool()["hours"]
        choices = hours["open"] if category in pool()["always_open"] else hours.get(category, hours["other"])
        return Place(
            name=name,
            category=category,
            brand=brand,
            street_id=line.street_id,
            number=number,
            point=point,
            edge_id=piece.edge_id,
            metres=metres,
            phone="" if self._dice.chance(8) else f"{plan.town.area_code}-556-{self._lines.pop():04d}",
            website="" if self._dice.chance(12) else self._website(name, plan.town.name),
            hours=tuple(self._dice.pick(choices)),
            details=details,
        )

    def _website(self, name: str, town: str) -> str:
        """Return an address that one cannot quite guess from the name."""
        slug, place = (re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") for text in (name, town))
        return f"https://{self._dice.pick(pool()['websites']).format(name=slug, town=place)}"


PASSWORD = "Password.123"  # noqa: S105  # the one password of every made-up mapper


def seed(db: sqlite3.Connection, seed: int, scale: Scale = "standard") -> None:
    """Fill the tables of schema.sql, empty so far, with the world of that integer, and commit."""
    land, dice, now, board = country(seed, scale), Dice(f"map/{seed}"), moment(seed), Board()
    plans = [
        lay_out(board, dice, index, town, [landmark for landmark in land.landmarks if landmark.town == town.name])
        for index, town in enumerate(land.towns, 1)
    ]
    connect(board, dice, plans)
    places = Draftsman(seed, board, scale).draw(plans, land)
    _insert_country(db, land, plans)
    insert(db, "node", [(index, *point) for index, point in enumerate(board.nodes, 1)])
    streets = [(line.street_id, line.town_id, line.name, line.kind, line.postcode, line.length) for line in board.lines]
    insert(db, "street", streets)
    insert(db, "edge", [piece for line in board.lines for piece in line.pieces])
    _insert_places(db, places)
    _insert_people(db, dice, population(seed, scale), now, places, SIZES[scale])
    roads = [board.nodes, [[line.town_id, line.name, line.kind, line.pieces] for line in board.lines]]
    digest = hashlib.sha256(json.dumps(roads).encode()).hexdigest()[:16]  # by which a process finds these roads again
    keys = {"seed": str(seed), "now": str(now), "country": land.name, "roads": digest}
    insert(db, "world", [*sorted(keys.items()), *settings(scale), *SIZES[scale].settings])
    sign_in(db, site="map", user_id=1)
    fill_words(db)
    db.commit()


def _insert_country(db: sqlite3.Connection, land: Country, plans: list[Plan]) -> None:
    """Write states, which are the country's four quarters, and towns."""
    half_height, half_width = (NORTH - SOUTH) / 4, (EAST - WEST) / 4
    states = []
    for index, state in enumerate(land.states):
        latitude, longitude = SOUTH + half_height * (1 + 2 * (index // 2)), WEST + half_width * (1 + 2 * (index % 2))
        states.append((index + 1, state.name, state.abbreviation, state.capital, round(latitude, 5), round(longitude, 5)))
    insert(db, "state", states)
    count = len(states)
    touching = [(a, b) for a in range(count) for b in range(count) if a ^ b in (1, 2)]  # side by side, or one above the other
    insert(db, "state_border", [(a + 1, b + 1) for a, b in touching])
    state_ids = {state.name: index for index, state in enumerate(land.states, 1)}
    rows = [
        (
            plan.town_id, state_ids[plan.town.state], plan.town.name, plan.kind, plan.town.population, plan.town.latitude,
            plan.town.longitude, plan.town.postcode, plan.centre,
        )
        for plan in plans
    ]  # fmt: skip
    insert(db, "town", rows)


def _insert_places(db: sqlite3.Connection, places: list[Place]) -> None:
    rows = [
        (
            index, place.name, place.category, place.brand, place.street_id, place.number, *place.point, place.edge_id,
            place.metres, place.phone, place.website, *place.hours,
        )
        for index, place in enumerate(places, 1)
    ]  # fmt: skip
    insert(db, "place", rows)
    insert(db, "place_detail", [(i, *detail) for i, place in enumerate(places, 1) for detail in sorted(place.details.items())])


def _insert_people(
    db: sqlite3.Connection, dice: Dice, people: Sequence[Person], now: datetime, places: list[Place], sizes: Sizes
) -> None:
    """Write the mappers, what they have saved, and the notes that they left on the map; the first one is the user."""
    mappers = people[: sizes.mappers]
    joined = sorted(now - timedelta(days=dice.between(100, 900), seconds=dice.below(80_000)) for _ in mappers)
    for index, (person, when) in enumerate(zip(mappers, joined, strict=True), 1):
        insert(db, "user", [(index, person.name, f"{person.first}.{person.last}@example.com".lower(), PASSWORD, when)])
    saved = []
    for user_id in range(1, sizes.mappers + 1):
        count = dice.between(6, 9) if user_id == 1 else dice.below(4)
        for place_id in sorted(dice.some(range(1, len(places) + 1), count)):
            when = now - timedelta(days=dice.between(2, 90), seconds=dice.below(80_000))
            saved.append((user_id, place_id, dice.pick(pool()["reminders"]), when))
    insert(db, "saved_place", saved)
    _insert_notes(db, dice, now, places, sizes)


def _insert_notes(db: sqlite3.Connection, dice: Dice, now: datetime, places: list[Place], sizes: Sizes) -> None:
    """Write the notes, the oldest first, each about another place, and the comments below them."""
    moments = sorted(now - timedelta(days=dice.between(1, 98), seconds=dice.below(80_000)) for _ in range(sizes.notes))
    notes, comments = list[tuple[object, ...]](), list[tuple[object, ...]]()
    for place, written in zip(dice.some(places, sizes.notes), moments, strict=True):
        texts = dice.some(pool()["replies"], dice.weigh((0, 1, 2), (5, 3, 2)))
        for index, (user_id, text) in enumerate([(dice.between(2, sizes.mappers), text) for text in texts], 1):
            when = min(written + timedelta(hours=5 * index), now - timedelta(minutes=9 - index))
            comments.append((len(comments) + 1, len(notes) + 1, user_id, text, when))
        text = dice.pick(pool()["faults"]).format(name=place.name)
        point = moved(place.point, (dice.below(21) - 10) / 1000, (dice.below(21) - 10) / 1000)
        status = "resolved" if texts and dice.chance(50) else "open"
        notes.append((len(notes) + 1, dice.between(1, sizes.mappers), *point, text, status, written))
    insert(db, "map_note", notes)
    insert(db, "note_comment", comments)
