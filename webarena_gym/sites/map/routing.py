"""Routes on a world's roads: the fastest by car, the shortest by bicycle and on foot.

It uses rows of the road tables and is independent of the database. A `Spot` is a position on a piece of street, so routes may begin and
end between crossings. Costs are integers, and the graph is built in the order of the rows, so equal worlds have equal routes in any
process. The shortest paths from a crossing take a millisecond to compute and are cached.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import Any, NamedTuple

from webarena_gym.sites.map.geometry import Point, along, bearing, metres_between, minutes, nearest_fraction

Rows = Callable[[str], Iterable[Any]]
"""Runs a query and returns its rows, which know their columns by name."""

_TREES = 48  # kept for each world, of some 200 KB

Graph = defaultdict[int, list[tuple[int, int]]]
"""The crossings that can be reached from each crossing, and at what cost."""

_CAR_KMH = {"motorway": 110, "road": 80, "main": 45, "street": 30}
_METRES_PER_DEGREE = 111_000  # of latitude, rounded down


class Mode(NamedTuple):
    """A mode of travel: key, name, speed in km/h (0: the speed limit of the road), and the kinds of roads that it may not use."""

    key: str
    name: str
    speed: int
    barred: str


CAR, BICYCLE = Mode("car", "Car", 0, "path"), Mode("bicycle", "Bicycle", 15, "motorway")
FOOT = Mode("foot", "Foot", 5, "motorway")
MODES = {mode.key: mode for mode in (CAR, BICYCLE, FOOT)}


class Spot(NamedTuple):
    """A position on a piece of street, in metres from its beginning. Motorways and footpaths have none."""

    edge_id: int
    metres: int


class Edge(NamedTuple):
    """A piece of street between two crossings; `start` is its distance from the beginning of the street in metres."""

    edge_id: int
    street_id: int
    start: int
    node_a: int
    node_b: int
    length: int
    kind: str
    name: str


class Leg(NamedTuple):
    """A part of a route: along a piece of street from one position to another, in metres, forwards or backwards."""

    edge: Edge
    begin: int
    end: int

    @property
    def metres(self) -> int:
        """Length in metres."""
        return abs(self.end - self.begin)


class Route(NamedTuple):
    """A route between two spots."""

    mode: Mode
    legs: tuple[Leg, ...]
    metres: int
    minutes: int


class Roads:
    """The road graph of a world, which is immutable."""

    def __init__(self, nodes: Iterable[Any], edges: Iterable[Any]) -> None:
        self._points = {row["node_id"]: Point(row["latitude"], row["longitude"]) for row in nodes}
        self.edges = {row["edge_id"]: Edge(*(row[name] for name in Edge._fields)) for row in edges}
        self._between = {
            pair: edge for edge in self.edges.values() for pair in ((edge.node_a, edge.node_b), (edge.node_b, edge.node_a))
        }
        self._graphs: dict[str, Graph] = {}  # of what a mode may use
        for mode in MODES.values():
            graph = self._graphs[mode.key] = defaultdict(list)
            for edge in self.edges.values():
                if edge.kind != mode.barred:
                    cost = _cost(mode, edge, edge.length)
                    graph[edge.node_a].append((edge.node_b, cost))
                    graph[edge.node_b].append((edge.node_a, cost))
        self._ways = lru_cache(maxsize=_TREES)(lambda mode, node: _cheapest(self._graphs[mode], node))

    def point(self, spot: Spot) -> Point:
        """Return the position of a spot."""
        a, b = self.ends(self.edges[spot.edge_id])
        return along(a, b, spot.metres / self.edges[spot.edge_id].length)

    def ends(self, edge: Edge) -> tuple[Point, Point]:
        """Return the positions of the ends of a piece of street."""
        return self._points[edge.node_a], self._points[edge.node_b]

    def crossing(self, node_id: int) -> Spot:
        """Return a crossing as a spot on one of its streets."""
        edge = next(
            edge
            for edge in self.edges.values()
            if node_id in (edge.node_a, edge.node_b) and edge.kind not in ("motorway", "path")
        )
        return Spot(edge.edge_id, 0 if edge.node_a == node_id else edge.length)

    def nearest(self, point: Point) -> Spot:
        """Return the spot nearest to a point."""
        best, spot = float("inf"), Spot(0, 0)
        for edge in self.edges.values():
            a, b = self.ends(edge)
            is_far = abs(a.latitude - point.latitude) * _METRES_PER_DEGREE - edge.length > best
            if is_far or edge.kind in ("motorway", "path"):
                continue
            fraction = nearest_fraction(a, b, point)
            away = metres_between(along(a, b, fraction), point)
            if away < best:
                best, spot = away, Spot(edge.edge_id, round(fraction * edge.length))
        return spot

    def route(self, mode: Mode, start: Spot, end: Spot) -> Route:
        """Return the best route between two spots; there always is one."""
        begin, finish = self.edges[start.edge_id], self.edges[end.edge_id]
        choices = [
            (leaving + self._ways(mode.key, first)[0][last] + arriving, first, last)
            for first, leaving in self._exits(mode, start).items()
            for last, arriving in self._exits(mode, end).items()
        ]
        cost, first, last = min(choices, key=lambda choice: choice[0])
        if begin is finish and _cost(mode, begin, abs(end.metres - start.metres)) <= cost:
            return _route_of(mode, (Leg(begin, start.metres, end.metres),))
        _, before = self._ways(mode.key, first)
        nodes = [last]
        while nodes[-1] != first:
            nodes.append(before[nodes[-1]])
        legs = [Leg(begin, start.metres, 0 if first == begin.node_a else begin.length)]
        for a, b in pairwise(reversed(nodes)):
            edge = self._between[a, b]
            legs.append(Leg(edge, 0, edge.length) if a == edge.node_a else Leg(edge, edge.length, 0))
        legs.append(Leg(finish, 0 if last == finish.node_a else finish.length, end.metres))
        return _route_of(mode, tuple(leg for leg in legs if leg.metres) or (legs[0],))

    def _exits(self, mode: Mode, spot: Spot) -> dict[int, int]:
        """Return the crossings at the ends of a spot's piece of street, with the costs of reaching them."""
        edge = self.edges[spot.edge_id]
        return {edge.node_a: _cost(mode, edge, spot.metres), edge.node_b: _cost(mode, edge, edge.length - spot.metres)}


def _cheapest(graph: Graph, start: int) -> tuple[dict[int, int], dict[int, int]]:
    """Return the cost from a crossing to every other one, and the predecessor of each (Dijkstra 1959).

    Of equal ways, the one that was found first is taken.
    """
    costs = {start: 0}
    before: dict[int, int] = {}
    turn = count()
    waiting = [(0, next(turn), start)]
    while waiting:
        cost, _, node = heappop(waiting)
        if cost > costs[node]:
            continue
        for other, length in graph[node]:
            if other not in costs or cost + length < costs[other]:
                costs[other], before[other] = cost + length, node
                heappush(waiting, (costs[other], next(turn), other))
    return costs, before


def _cost(mode: Mode, edge: Edge, metres: int) -> int:
    """Return the cost of a stretch: metres, or milliseconds by car, which makes equal costs of two routes unlikely."""
    return metres if mode.speed else metres * 3600 // _CAR_KMH[edge.kind]


def _route_of(mode: Mode, legs: tuple[Leg, ...]) -> Route:
    metres = sum(leg.metres for leg in legs)
    milliseconds = metres * 3600 // mode.speed if mode.speed else sum(_cost(mode, leg.edge, leg.metres) for leg in legs)
    return Route(mode, legs, metres, minutes(milliseconds / 1000))


@dataclass(frozen=True)
class _Source:
    """Source of a road graph; sources of the same roads are equal."""

    digest: str
    rows: Rows = field(compare=False)


def load_roads(rows: Rows) -> Roads:
    """Return the road graph of a map's database, which is built once per process and world."""
    (row,) = rows("SELECT value FROM world WHERE key = 'roads'")
    return _read(_Source(row["value"], rows))


@lru_cache(maxsize=4)
def _read(source: _Source) -> Roads:
    edges = "SELECT edge.*, kind, name FROM edge JOIN street USING (street_id) ORDER BY edge_id"
    return Roads(source.rows("SELECT * FROM node ORDER BY node_id"), source.rows(edges))


MOST = 60
_WINDS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")


class Step(NamedTuple):
    """An instruction, and its length in metres."""

    text: str
    metres: int


def directions(roads: Roads, route: Route) -> list[Step]:
    """Return the steps of a route, one per street."""
    steps: list[Step] = []
    heading = 0.0
    street = None
    for leg in route.legs:
        begin, end = (roads.point(Spot(leg.edge.edge_id, metres)) for metres in (leg.begin, leg.end))
        ahead = bearing(begin, end)
        if leg.edge.street_id == street and leg.edge.kind != "path":
            steps[-1] = Step(steps[-1].text, steps[-1].metres + leg.metres)
        else:
            turn = f"Head {_WINDS[round(ahead / 45) % 8]} on" if street is None else _turn((ahead - heading + 180) % 360 - 180)
            steps.append(Step(f"{turn} {leg.edge.name}", leg.metres))
        street, heading = leg.edge.street_id, ahead
    return steps


def line(roads: Roads, route: Route) -> list[Point]:
    """Return the points of a route."""
    points = [roads.point(Spot(leg.edge.edge_id, leg.begin)) for leg in route.legs]
    last = route.legs[-1]
    return [*points, roads.point(Spot(last.edge.edge_id, last.end))]


def _turn(angle: float) -> str:
    """Return the instruction for a turn by `angle` degrees to the right.

    >>> _turn(24), _turn(25), _turn(-55), _turn(-126), _turn(166)
    ('Continue onto', 'Turn slightly right onto', 'Turn left onto', 'Turn sharply left onto', 'Make a U-turn onto')
    """
    side = "right" if angle > 0 else "left"
    size = abs(angle)
    if size < 25:
        return "Continue onto"
    if size > 165:
        return "Make a U-turn onto"
    return f"Turn {'slightly ' if size < 55 else 'sharply ' if size > 125 else ''}{side} onto"
