"""Routes on a small road map: costs by mode, spots on streets, and directions, compared with all simple paths."""

from itertools import pairwise, permutations

import pytest

from webarena_gym.sites.map.routing import BICYCLE, CAR, FOOT, Leg, Roads, Spot, directions, line

NODES = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (0.01, 0.01), 4: (0.01, 0.0), 5: (0.005, 0.005)}
EDGES = [  # a square with a motorway on one side, and a footpath through the middle
    (1, 1, 0, 1, 2, 1100, "street", "South Street"), (2, 1, 1100, 2, 3, 1100, "street", "South Street"),
    (3, 2, 0, 1, 4, 1100, "main", "West Road"), (4, 3, 0, 4, 3, 1100, "motorway", "M1"),
    (5, 4, 0, 1, 5, 780, "path", "Footpath"), (6, 4, 780, 5, 3, 780, "path", "Footpath"),
]  # fmt: skip
FIELDS = ("edge_id", "street_id", "start", "node_a", "node_b", "length", "kind", "name")
KMH = {"motorway": 110, "main": 45, "street": 30}


@pytest.fixture
def roads():
    nodes = [{"node_id": node, "latitude": y, "longitude": x} for node, (y, x) in NODES.items()]
    return Roads(nodes, [dict(zip(FIELDS, edge, strict=True)) for edge in EDGES])


def names(route):
    return [leg.edge.name for leg in route.legs]


def cheapest(mode, start, end):
    """Return the lowest cost of all simple paths between two crossings: hours by car, otherwise metres."""
    best = float("inf")
    for size in range(len(NODES) - 1):
        for middle in permutations(NODES.keys() - {start, end}, size):
            nodes, cost = (start, *middle, end), 0.0
            for a, b in pairwise(nodes):
                edge = next((edge for edge in EDGES if {*edge[3:5]} == {a, b} and edge[6] != mode.barred), None)
                cost += float("inf") if edge is None else edge[5] / (1000 * KMH[edge[6]]) if mode is CAR else edge[5]
            best = min(best, cost)
    return best


@pytest.mark.parametrize("mode", [CAR, BICYCLE, FOOT])
def test_routes_are_as_cheap_as_the_best_of_all_paths(roads, mode):
    for start, end in permutations((1, 2, 3, 4), 2):
        route = roads.route(mode, roads.crossing(start), roads.crossing(end))
        cost = sum(leg.metres / (1000 * KMH[leg.edge.kind]) if mode is CAR else leg.metres for leg in route.legs)
        assert cost == pytest.approx(cheapest(mode, start, end)), (mode.key, start, end)
        assert route.metres == sum(leg.metres for leg in route.legs)


def test_modes_do_not_use_roads_that_are_barred(roads):
    start, end = roads.crossing(1), roads.crossing(3)
    assert names(roads.route(CAR, start, end)) == ["West Road", "M1"]
    assert names(roads.route(FOOT, start, end)) == ["Footpath", "Footpath"]
    assert roads.route(FOOT, start, end).minutes == pytest.approx(1560 / 5000 * 60, abs=1)


def test_a_route_on_one_street_does_not_leave_it(roads):
    route = roads.route(CAR, Spot(1, 900), Spot(1, 100))
    assert route.legs == (Leg(roads.edges[1], 900, 100),)
    assert route.metres == 800
    assert roads.route(FOOT, Spot(1, 300), Spot(1, 300)).metres == 0


def test_a_route_begins_and_ends_between_crossings(roads):
    route = roads.route(BICYCLE, Spot(1, 1000), Spot(2, 400))
    assert [(leg.edge.edge_id, leg.begin, leg.end) for leg in route.legs] == [(1, 1000, 1100), (2, 0, 400)]
    back = roads.route(BICYCLE, Spot(2, 400), Spot(1, 1000))
    assert [(leg.edge.edge_id, leg.begin, leg.end) for leg in back.legs] == [(2, 400, 0), (1, 1100, 1000)]


def test_pieces_of_one_street_are_one_step(roads):
    steps = directions(roads, roads.route(BICYCLE, Spot(1, 100), Spot(2, 400)))
    assert [step.text for step in steps] == ["Head east on South Street"]
    assert sum(step.metres for step in steps) == 1400
    turns = [step.text for step in directions(roads, roads.route(CAR, Spot(2, 1000), roads.crossing(4)))]
    assert turns == ["Head north on South Street", "Turn left onto M1"]


def test_the_points_of_a_route_run_from_its_start_to_its_end(roads):
    start, end = Spot(1, 100), Spot(2, 400)
    points = line(roads, roads.route(BICYCLE, start, end))
    assert (points[0], points[-1]) == (roads.point(start), roads.point(end))
    assert points[1] == pytest.approx(NODES[2])


def test_the_nearest_spot_is_on_a_street_that_is_no_motorway(roads):
    for spot in (Spot(1, 550), Spot(2, 300), Spot(3, 1000)):
        found = roads.nearest(roads.point(spot))
        assert found.edge_id == spot.edge_id
        assert abs(found.metres - spot.metres) <= 2
    north = roads.nearest(type(roads.point(Spot(1, 0)))(0.02, 0.005))
    assert north.edge_id in (2, 3)
