"""Points, distances and their units, and the parts of an address."""

import re
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


_DEGREES = r"([-+]?\d{1,3}(?:\.\d{1,12})?)(?:\s*+°)?+"
_COORDINATES = re.compile(rf"\(?\s*{_DEGREES}(?:\s*+[,;]\s*+|\s++){_DEGREES}\s*\)?")


def distance(metres: float) -> str:
    """Write a distance in whole metres below a kilometre, else in kilometres with one decimal.

    >>> distance(653.4), distance(1449), distance(999.7)
    ('653 m', '1.4 km', '1.0 km')
    """
    whole = int(metres + 0.5)
    return f"{whole} m" if whole < 1000 else f"{(whole + 50) // 100 / 10:.1f} km"


def minutes(seconds: float) -> int:
    """Round a time to whole minutes, at least one.

    >>> minutes(10), minutes(89), minutes(90)
    (1, 1, 2)
    """
    return max(1, int(seconds / 60 + 0.5))


def duration(whole_minutes: int) -> str:
    """Write a number of minutes.

    >>> duration(12), duration(83), duration(120)
    ('12 min', '1h 23min', '2h 0min')
    """
    hours, rest = divmod(whole_minutes, 60)
    return f"{hours}h {rest}min" if hours else f"{rest} min"


def coordinates(latitude: float, longitude: float) -> str:
    """Write a point in decimal degrees, north and east.

    >>> coordinates(41.5, -29.543214)
    '41.50000, -29.54321'
    """
    return f"{latitude:.5f}, {longitude:.5f}"


def read_coordinates(text: str) -> tuple[float, float] | None:
    """Return the point that a text consists of, or None; the world ends at 90 degrees north and 180 east.

    >>> read_coordinates("41.5, -29.54"), read_coordinates("95, 3"), read_coordinates("12 Oak Street")
    ((41.5, -29.54), None, None)
    """
    match = _COORDINATES.fullmatch(text.strip())
    if match is None:
        return None
    latitude, longitude = float(match[1]), float(match[2])
    return (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


NUMBERS = 2400

_ADDRESS = re.compile(r"#?(\d{1,6})\s+(.+)")


def read_address(text: str) -> tuple[int, str] | None:
    """Return the number and the street of a text such as '12 Oak Street', or None.

    >>> read_address("12 Oak Street"), read_address("Oak Street")
    ((12, 'Oak Street'), None)
    """
    match = _ADDRESS.fullmatch(text.strip())
    return (int(match[1]), match[2].strip()) if match else None


def metres_of(number: int, length: int) -> int:
    """Return how far along a street of that length a house number is."""
    return number * length // NUMBERS


def number_at(metres: int, length: int) -> int:
    """Return the house number that far along a street of that length.

    >>> number_at(450, 900), number_at(0, 900), number_at(900, 900)
    (1200, 1, 2400)
    """
    return min(NUMBERS, max(1, -(-metres * NUMBERS // length)))
