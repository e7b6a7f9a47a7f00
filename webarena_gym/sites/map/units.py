"""Distances, durations and coordinates, as the map writes them."""

import re

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
