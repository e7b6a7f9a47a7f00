"""Turn-by-turn directions: a route as the streets one follows, with where to turn and how far to go."""

from typing import NamedTuple

from webarena_gym.sites.map.geometry import Point, bearing
from webarena_gym.sites.map.routing import Leg, Roads, Route, Spot

MOST = 60
_WINDS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")


class Step(NamedTuple):
    """What to do, and for how many metres."""

    text: str
    metres: int


def directions(roads: Roads, route: Route) -> list[Step]:
    """Return the steps of a route, one for each street that it follows."""
    steps: list[Step] = []
    heading = 0.0
    street = None
    for leg in route.legs:
        begin, end = (roads.point(Spot(leg.edge.edge_id, metres)) for metres in (leg.begin, leg.end))
        if leg.edge.street_id == street and leg.edge.kind != "path":
            steps[-1] = Step(steps[-1].text, steps[-1].metres + leg.metres)
        else:
            steps.append(Step(_instruction(leg, begin, end, None if street is None else heading), leg.metres))
        street, heading = leg.edge.street_id, bearing(begin, end)
    return steps


def line(roads: Roads, route: Route) -> list[Point]:
    """Return the points that a route passes."""
    points = [roads.point(Spot(leg.edge.edge_id, leg.begin)) for leg in route.legs]
    last = route.legs[-1]
    return [*points, roads.point(Spot(last.edge.edge_id, last.end))]


def _instruction(leg: Leg, begin: Point, end: Point, heading: float | None) -> str:
    ahead = bearing(begin, end)
    if heading is None:
        return f"Head {_WINDS[round(ahead / 45) % 8]} on {leg.edge.name}"
    return f"{_turn((ahead - heading + 180) % 360 - 180)} {leg.edge.name}"


def _turn(angle: float) -> str:
    """Say how to go on, by how many degrees to the right one turns.

    >>> _turn(10), _turn(-90), _turn(40), _turn(175)
    ('Continue onto', 'Turn left onto', 'Turn slightly right onto', 'Make a U-turn onto')
    """
    side = "right" if angle > 0 else "left"
    size = abs(angle)
    if size < 25:
        return "Continue onto"
    if size > 165:
        return "Make a U-turn onto"
    return f"Turn {'slightly ' if size < 55 else 'sharply ' if size > 125 else ''}{side} onto"
