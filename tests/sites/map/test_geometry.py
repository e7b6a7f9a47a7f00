"""Points and distances on the map, and texts of distances, times, coordinates and addresses."""

import pytest

from webarena_gym.sites.country.geography import KM_PER_DEGREE
from webarena_gym.sites.map.geometry import (
    NUMBERS,
    Point,
    along,
    bearing,
    coordinates,
    distance,
    duration,
    metres_between,
    metres_of,
    minutes,
    nearest_fraction,
    number_at,
    offset,
    read_address,
    read_coordinates,
    shift_point,
)  # fmt: skip

HOME = Point(42.0, -29.0)


def test_a_shift_is_undone_by_the_offset():
    point = shift_point(HOME, 3.0, -4.0)
    assert point.latitude < HOME.latitude
    assert point.longitude > HOME.longitude
    assert offset(HOME, point) == pytest.approx((3.0, -4.0), abs=2e-3)
    assert metres_between(HOME, point) == pytest.approx(5_000, abs=2)
    assert shift_point(HOME, 0.0, KM_PER_DEGREE) == Point(43.0, -29.0)


@pytest.mark.parametrize(("east_km", "north_km", "degrees"), [(0, 1, 0), (1, 0, 90), (0, -1, 180), (-1, 0, 270), (1, 1, 45)])
def test_bearings_are_clockwise_from_north(east_km, north_km, degrees):
    difference = abs(bearing(HOME, shift_point(HOME, east_km, north_km)) - degrees)
    assert min(difference, 360 - difference) < 0.1


def test_the_nearest_point_of_a_line_is_between_its_ends():
    end = shift_point(HOME, 10.0, 0.0)
    assert nearest_fraction(HOME, end, shift_point(HOME, 2.5, 3.0)) == pytest.approx(0.25, abs=1e-3)
    assert nearest_fraction(HOME, end, shift_point(HOME, -2.0, 1.0)) == 0.0
    assert nearest_fraction(HOME, end, shift_point(HOME, 12.0, 1.0)) == 1.0
    assert nearest_fraction(HOME, HOME, end) == 0.0
    assert along(HOME, Point(44.0, -28.0), 0.25) == Point(42.5, -28.75)


def test_texts_of_distances_and_times():
    assert [distance(metres) for metres in (0.4, 999.4, 999.5, 1049, 1050, 12_345)] == [
        "0 m",
        "999 m",
        "1.0 km",
        "1.0 km",
        "1.1 km",
        "12.3 km",
    ]
    assert [minutes(seconds) for seconds in (0, 29, 89.9, 90, 3_600)] == [1, 1, 1, 2, 60]
    assert [duration(number) for number in (1, 59, 60, 61)] == ["1 min", "59 min", "1h 0min", "1h 1min"]
    assert coordinates(-1.0, 2.123456) == "-1.00000, 2.12346"


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("41.5, -29.54", (41.5, -29.54)), ("(41.5; -29.54)", (41.5, -29.54)), ("41.5° -29.54°", (41.5, -29.54)), ("-90, 180", (-90.0, 180.0)),
        ("90.1, 0", None), ("0, 180.5", None), ("41.5", None), ("41.5, x", None), ("", None),
    ],
)  # fmt: skip
def test_coordinates_are_parsed(text, point):
    assert read_coordinates(text) == point


def test_house_numbers_are_spread_over_the_street():
    assert read_address(" #12  Oak Street ") == (12, "Oak Street")
    assert [read_address(text) for text in ("Oak Street", "12", "1234567 Oak Street")] == [None, None, None]
    assert [number_at(metres, 1_200) for metres in (0, 1, 600, 1_200, 1_300)] == [1, 2, 1_200, NUMBERS, NUMBERS]
    assert [metres_of(number, 1_200) for number in (1, 1_200, NUMBERS)] == [0, 600, 1_200]
    for number in range(1, NUMBERS + 1, 37):
        assert abs(metres_of(number_at(metres_of(number, 5_000), 5_000), 5_000) - metres_of(number, 5_000)) <= 3
