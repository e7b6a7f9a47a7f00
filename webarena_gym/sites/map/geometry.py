"""Points, distances, formats of distances and times, and parsing of coordinates and addresses."""

import re
from math import atan2, cos, degrees, hypot, radians
from typing import NamedTuple

from webarena_gym.sites.country.geography import KM_PER_DEGREE


class Point(NamedTuple):
    """A position in degrees north and east."""

    latitude: float
    longitude: float


def shift_point(origin: Point, east_km: float, north_km: float) -> Point:
    """Return the point at an offset in kilometres, rounded to five decimals of a degree (about a metre)."""
    longitude = origin.longitude + east_km / (KM_PER_DEGREE * cos(radians(origin.latitude)))
    return Point(round(origin.latitude + north_km / KM_PER_DEGREE, 5), round(longitude, 5))


def offset(origin: Point, point: Point) -> tuple[float, float]:
    """Return the offset of `point` from `origin` to the east and to the north, in kilometres."""
    east = (point.longitude - origin.longitude) * cos(radians((origin.latitude + point.latitude) / 2))
    return KM_PER_DEGREE * east, KM_PER_DEGREE * (point.latitude - origin.latitude)


def metres_between(a: Point, b: Point) -> float:
    """Return the straight-line distance of two points in metres."""
    return 1000 * hypot(*offset(a, b))


def along(a: Point, b: Point, fraction: float) -> Point:
    """Return the point on the line from a to b at a fraction of its length."""
    return Point(a.latitude + (b.latitude - a.latitude) * fraction, a.longitude + (b.longitude - a.longitude) * fraction)


def nearest_fraction(a: Point, b: Point, point: Point) -> float:
    """Return the fraction of the line from a to b at which it is nearest to a point, from 0 to 1."""
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
    """Return a distance as text, in whole metres below a kilometre, else in kilometres with one decimal.

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
    """Return a number of minutes as text.

    >>> duration(12), duration(83), duration(120)
    ('12 min', '1h 23min', '2h 0min')
    """
    hours, rest = divmod(whole_minutes, 60)
    return f"{hours}h {rest}min" if hours else f"{rest} min"


def coordinates(latitude: float, longitude: float) -> str:
    """Return a point as text in decimal degrees, north and east.

    >>> coordinates(41.5, -29.543214)
    '41.50000, -29.54321'
    """
    return f"{latitude:.5f}, {longitude:.5f}"


def read_coordinates(text: str) -> tuple[float, float] | None:
    """Return the coordinates that a text consists of; None for other texts and for coordinates above 90 or 180 degrees.

    >>> read_coordinates("41.5, -29.54"), read_coordinates("95, 3"), read_coordinates("12 Oak Street")
    ((41.5, -29.54), None, None)
    """
    match = _COORDINATES.fullmatch(text.strip())
    if match is None:
        return None
    latitude, longitude = float(match[1]), float(match[2])
    return (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


NUMBERS = 2400
"""House numbers of a street, at equal distances from 1 to this number."""

_ADDRESS = re.compile(r"#?(\d{1,6})\s+(.+)")


def read_address(text: str) -> tuple[int, str] | None:
    """Return the number and the street of a text such as '12 Oak Street', or None.

    >>> read_address("12 Oak Street"), read_address("Oak Street")
    ((12, 'Oak Street'), None)
    """
    match = _ADDRESS.fullmatch(text.strip())
    return (int(match[1]), match[2].strip()) if match else None


def metres_of(number: int, length: int) -> int:
    """Return the distance in metres of a house number from the beginning of a street of `length` metres."""
    return number * length // NUMBERS


def number_at(metres: int, length: int) -> int:
    """Return the house number at a distance in metres from the beginning of a street of `length` metres.

    >>> number_at(450, 900), number_at(0, 900), number_at(900, 900)
    (1200, 1, 2400)
    """
    return min(NUMBERS, max(1, -(-metres * NUMBERS // length)))
