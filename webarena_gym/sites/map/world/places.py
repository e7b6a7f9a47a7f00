"""The places of a world: the landmarks, and what every town needs, with addresses, telephones and opening hours."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from math import hypot
from pathlib import Path
from typing import Any

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Country, Landmark
from webarena_gym.sites.country.holdout import share
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.country.words import invented
from webarena_gym.sites.map.addresses import NUMBERS, metres_of
from webarena_gym.sites.map.geometry import Point, along, metres_between, moved, nearest_fraction, offset
from webarena_gym.sites.map.world.roads import Board, Line
from webarena_gym.sites.map.world.sizes import ALIASES, SINGLE, SIZES
from webarena_gym.sites.map.world.towns import Plan

_WEBSITES = ("www.{name}.example", "{name}.example", "visit.{name}.example", "{town}.example/{name}", "{name}.{town}.example")
_KINDS = ("city", "town", "village")
_AIRPORT = ("hotel", "hotel", "hotel", "supermarket", "cafe", "restaurant", "car rental", "petrol station")


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
                for index in range(self._count(plan, category, counts[_KINDS.index(plan.kind)])):
                    places.append(self._ordinary(plan, category, index, plan.lines))
            if plan.terminal is not None:
                places += [self._ordinary(plan, category, 9, (plan.terminal,)) for category in _AIRPORT]
        return places

    def _count(self, plan: Plan, category: str, usual: int) -> int:
        """Return how many places of a kind a town has."""
        return usual if category in SINGLE else usual * self._sizes.percents[_KINDS.index(plan.kind)] // 100

    def _landmark(self, plan: Plan, landmark: Landmark) -> Place:
        """Give a landmark the address on the nearest street of its town, or at the end of its own road."""
        point = Point(landmark.latitude, landmark.longitude)
        if landmark.name in plan.outlying:
            line = plan.outlying[landmark.name]
            number = NUMBERS
        else:
            line, number = self._nearest(plan, point)
        details = {"Opened": str(landmark.opened)}
        if self._sizes.alias_percent and self._dice.chance(self._sizes.alias_percent):
            first = next(word for word in landmark.name.split() if word != "The")
            details["Also known as"] = self._dice.pick(ALIASES[landmark.kind]).format(first=first, town=plan.town.name)
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
        return f"https://{self._dice.pick(_WEBSITES).format(name=slug, town=place)}"
