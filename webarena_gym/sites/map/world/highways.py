"""The roads from town to town: country roads for everybody, and motorways that join the larger towns."""

from itertools import combinations

from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.map.geometry import Point, along, metres_between, moved, offset
from webarena_gym.sites.map.world.roads import Board
from webarena_gym.sites.map.world.towns import Plan, toward

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
