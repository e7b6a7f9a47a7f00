"""Parsers and sanitization of the values of inputs, against Python's calendar and cases of the HTML standard."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

import pytest
from lxml.html import fragment_fromstring

from webarena_gym.pages import input_values as values

EPOCH = date(1970, 1, 1)
DAY_MS = 86_400_000


def field(attributes):
    return fragment_fromstring(f"<input {attributes}>")


def test_dates_months_weeks_and_times_are_those_of_the_calendar():
    rng = Random(0)
    for _ in range(300):
        day = date.fromordinal(rng.randrange(1, date(9999, 12, 20).toordinal()))
        assert values.parse_date_string(f"{day.year:04}-{day:%m-%d}") == (day - EPOCH).days * DAY_MS
        assert values.parse_month_string(f"{day.year:04}-{day:%m}") == (day.year - 1970) * 12 + day.month - 1
        year, week, weekday = day.isocalendar()
        if year:
            monday = day - timedelta(days=weekday - 1) if day.toordinal() >= weekday else None
            if monday and monday.year >= 1:
                assert values.parse_week_string(f"{year:04}-W{week:02}") == (monday - EPOCH).days * DAY_MS


@pytest.mark.parametrize(
    "text", ["2023-02-29", "2024-13-01", "2024-00-10", "0000-01-01", "24-01-01", "2024-1-1", "2024-01-01 ", "275760-09-14", ""]
)
def test_other_dates_are_none(text):
    assert values.parse_date_string(text) is None


def test_the_last_date_is_that_of_ecmascript():
    assert values.parse_date_string("275760-09-13") == 8_640_000_000_000_000
    assert values.parse_local_date_and_time_string("275760-09-13T00:00") == 8_640_000_000_000_000
    assert values.parse_local_date_and_time_string("275760-09-13T00:01") is None


@pytest.mark.parametrize(("text", "weeks"), [("2020-W53", True), ("2021-W53", False), ("2024-W00", False), ("2024-W1", False)])
def test_a_week_exists_or_not(text, weeks):
    assert (values.parse_week_string(text) is not None) == weeks


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00:00", 0),
        ("23:59:59.999", DAY_MS - 1),
        ("15:07:30.5", ((15 * 60 + 7) * 60 + 30) * 1000 + 500),
        ("24:00", None),
        ("9:05", None),
        ("15:07:60", None),
        ("15:07:00.1234", None),
    ],
)
def test_times(text, value):
    assert values.parse_time_string(text) == value


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("-.5", Decimal("-0.5")),
        ("1e2", 100),
        ("1E+2", 100),
        ("+5", None),
        ("5.", None),
        ("1,234", None),
        (" 5", None),
        ("1e400", None),
        ("", None),
        (None, None),
    ],
)
def test_numbers(text, number):
    assert values.parse_number(text) == number


@pytest.mark.parametrize(
    ("attributes", "text", "sanitized"),
    [
        ("type=text", "a\nb", "ab"), ("type=url", " http://a.b/\n", "http://a.b/"), ("type=email", " a@b.c ", "a@b.c"),
        ("type=email multiple", "a@b.c , d@é.f", "a@b.c,d@xn--9ca.f"), ("type=number", "1e2", "1e2"), ("type=number", "abc", ""),
        ("type=date", "2024-02-30", ""), ("type=datetime-local", "2024-03-05 15:07:00", "2024-03-05T15:07"),
        ("type=datetime-local", "2024-03-05T15:07:30.500", "2024-03-05T15:07:30.5"), ("type=color", "#FF8800", "#ff8800"),
        ("type=color", "nonsense", "#000000"), ("type=range", "", "50"), ("type=range min=10 max=20 step=4", "15", "14"),
        ("type=range max=5", "9", "5"), ("type=range min=9 max=5", "1", "9"), ("type=checkbox", "a\nb", "a\nb"),
    ],
)  # fmt: skip
def test_values_are_sanitized_by_type(attributes, text, sanitized):
    assert values.sanitize_value(field(attributes), text) == sanitized


@pytest.mark.parametrize(
    ("attributes", "default", "expected"),
    [
        ("type=number", None, (None, None, 1, 0)), ("type=number min=3 max=9 step=0.5", "4", (3, 9, Decimal("0.5"), 3)),
        ("type=number step=any", "4", (None, None, None, 4)), ("type=number step=-1", None, (None, None, 1, 0)),
        ("type=range min=200", None, (200, 200, 1, 200)), ("type=date step=2", None, (None, None, 2 * DAY_MS, 0)),
        ("type=week", None, (None, None, 7 * DAY_MS, -3 * DAY_MS)), ("type=time", None, (None, None, 60_000, 0)),
        ("type=month step=1.6", None, (None, None, 2, 0)),
    ],
)  # fmt: skip
def test_limits_and_steps(attributes, default, expected):
    assert values.step_range(field(attributes), default) == expected


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ("value=15:07:00", "15:07"),
        ("value=15:07:30", "15:07:30"),
        ("value=15:07 step=1", "15:07:00"),
        ("value=15:07 step=0.5", "15:07:00.000"),
        ("value=15:07:30.25", "15:07:30.250"),
    ],
)
def test_a_restored_time_has_the_parts_that_matter(attributes, text):
    assert values.restored_time(field(f"type=time {attributes}")) == text


def test_a_date_and_time_is_the_sum_of_both():
    moment = datetime(2024, 3, 5, 15, 7)
    assert values.convert_string_to_number("datetime-local", "2024-03-05T15:07") == Decimal(
        int((moment - datetime(1970, 1, 1)).total_seconds()) * 1000
    )
    assert values.convert_string_to_number("number", "x") is None
