"""The streets of a town: a bent, turned grid in which every street crosses a main one, with footpaths across blocks."""

from dataclasses import dataclass
from math import cos, radians, sin

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.country.geography import Landmark, Town
from webarena_gym.sites.map.geometry import Point, along, moved, offset
from webarena_gym.sites.map.world.roads import Board, Line

SIZES = {34: ("city", 0.24, 14), 16: ("town", 0.19, 5), 7: ("village", 0.17, 1)}
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
    kind, block, paths = SIZES[len(town.streets)]
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
