"""The drawing board of a world's roads: crossings, streets as chains of crossings, and the pieces between them."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from webarena_gym.sites.map.geometry import Point, metres_between


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
        """How many metres it has."""
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
