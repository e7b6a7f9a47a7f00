"""The plane on which streets are laid out and distances are measured: kilometres east and north of a point."""

from math import atan2, cos, degrees, hypot, radians
from typing import NamedTuple

from webarena_gym.sites.country.geography import KM_PER_DEGREE


class Point(NamedTuple):
    """A place on earth, in degrees north and east."""

    latitude: float
    longitude: float


def moved(origin: Point, east_km: float, north_km: float) -> Point:
    """Return the point that many kilometres away, to five decimals (a metre)."""
    longitude = origin.longitude + east_km / (KM_PER_DEGREE * cos(radians(origin.latitude)))
    return Point(round(origin.latitude + north_km / KM_PER_DEGREE, 5), round(longitude, 5))


def offset(origin: Point, point: Point) -> tuple[float, float]:
    """Return how many kilometres a point lies to the east and to the north of another one."""
    east = (point.longitude - origin.longitude) * cos(radians((origin.latitude + point.latitude) / 2))
    return KM_PER_DEGREE * east, KM_PER_DEGREE * (point.latitude - origin.latitude)


def metres_between(a: Point, b: Point) -> float:
    """Return the straight distance of two points."""
    return 1000 * hypot(*offset(a, b))


def along(a: Point, b: Point, fraction: float) -> Point:
    """Return the point at a fraction of the way from one point to another."""
    return Point(a.latitude + (b.latitude - a.latitude) * fraction, a.longitude + (b.longitude - a.longitude) * fraction)


def nearest_fraction(a: Point, b: Point, point: Point) -> float:
    """Return at which fraction of the way from a to b one is nearest to a point."""
    (ab_x, ab_y), (ap_x, ap_y) = offset(a, b), offset(a, point)
    square = ab_x * ab_x + ab_y * ab_y
    return min(1.0, max(0.0, (ab_x * ap_x + ab_y * ap_y) / square)) if square else 0.0


def bearing(a: Point, b: Point) -> float:
    """Return the direction from a to b in degrees clockwise from north, 0 to 360.

    >>> bearing(Point(42.0, -29.0), Point(42.0, -28.0))
    90.0
    """
    return degrees(atan2(*offset(a, b))) % 360
