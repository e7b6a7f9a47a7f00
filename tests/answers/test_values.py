"""Whole texts are read as values of a kind, with one value for all notations, and anything else is no value."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webarena_gym.answers.values import MONTHS, kind_of, read, same

NOTATIONS = [
    ("number", 1234.5, ["1,234.5", "1234.5", "1234.50"]),
    ("number", -3.0, ["-3", "3 °S", "-three"]),
    ("number", 5.0, ["5", "five", "5 °", "5 °N"]),
    ("number", 2023.0, ["2023", "two thousand twenty-three", "two thousand and twenty three"]),
    ("money", ("usd", 1234.5), ["$1,234.50", "1234.5 dollars", "USD 1234.50", "$1234.5 USD"]),
    ("money", ("eur", -5.0), ["-€5", "€-5.00", "-5 euros"]),
    ("percent", 12.5, ["12.5%", "12.5 percent", "12.5 per cent"]),
    ("duration", 7500.0, ["2h 5min", "2 hours and 5 minutes", "125 min", "2:05", "2h05"]),
    ("distance", 561.0, ["561 m", "0.561 km", "561 meters"]),
    ("time", 510.0, ["8:30", "08:30:00", "8:30 am"]),
    ("hours", (510.0, 990.0), ["08:30-16:30", "from 8:30 am to 4:30 pm"]),
    ("date", (2023.0, 3.0, 5.0), ["March 5, 2023", "2023-03-05", "3/5/23", "5.3.2023", "on the 5th of March 2023", "Sun, Mar 5, 2023"]),
    ("month", (2022.0, 10.0), ["October 2022", "2022-10", "10/2022", "Oct of 2022"]),
    ("phone", "3905553391", ["390-555-3391", "(390) 555-3391", "+1 390 555 3391"]),
    ("code", "137", ["#000000137", "137"]),
    ("email", "ann@shop.test", ["ann@shop.test", "mailto:Ann@shop.test"]),
    ("url", "shop.test/a", ["http://shop.test/a/", "www.shop.test/a"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "texts"), NOTATIONS)
def test_all_notations_of_a_value_are_read_as_it(kind, value, texts):
    assert {text: found for text in texts if (found := read(kind, text)) is None or not same(found, value)} == {}


@pytest.mark.parametrize(("kind", "text"), [
    ("number", "5 or 6"), ("number", "~5"), ("number", "2/2"), ("number", "1,23"), ("number", "-5 °S"),
    ("money", "5"), ("money", "A$5.00"), ("money", "$5 eur"), ("money", "-$-5"), ("money", "$5.00 each"),
    ("percent", "12"), ("duration", "5 m"), ("duration", "5 min 2 h"), ("duration", "5 min or"), ("distance", "5"), ("distance", "5 miles away"),
    ("time", "8"), ("time", "13 pm"), ("time", "0 am"), ("hours", "8:30"), ("date", "February 30, 2023"), ("date", "Mon, Mar 5, 2023"),
    ("date", "March 2023"), ("month", "13/2022"), ("phone", "555-3391"), ("code", "A137"), ("email", "ann"), ("url", "shop"),
])  # fmt: skip
def test_a_text_with_anything_beside_a_value_is_none(kind, text):
    assert read(kind, text) is None


@given(st.dates(date(1000, 1, 1), date(9998, 12, 31)))
def test_every_day_is_read_in_every_format_and_differs_from_the_next(day):
    value = (float(day.year), float(day.month), float(day.day))
    name = MONTHS[day.month - 1]
    texts = (
        day.isoformat(),
        f"{name} {day.day}, {day.year}",
        f"{day.day} {name[:3]} {day.year}",
        f"{day.month}/{day.day}/{day.year}",
    )
    assert {text: read("date", text) for text in texts} == dict.fromkeys(texts, value)
    assert not same(value, read("date", (day + timedelta(1)).isoformat()))


@given(st.integers(0, 10**12))
def test_every_amount_of_cents_is_read_with_and_without_commas(cents):
    texts = (f"${cents // 100:,}.{cents % 100:02}", f"{cents // 100}.{cents % 100:02} usd")
    assert all(same(read("money", text), ("usd", cents / 100)) for text in texts)


@given(
    st.sampled_from([kind for kind, *_ in NOTATIONS]),
    st.text(max_size=40) | st.text("0123456789$,./:- ammarphdkt%", max_size=20),
)
def test_any_text_can_be_read(kind, text):
    read(kind, text)
    assert read("url" if kind_of(text) == "url" else "code", text) is None or text.strip()


@pytest.mark.parametrize(("text", "kind"), [
    ("57min", "duration"), ("561 m", "distance"), ("08:30-16:30", "hours"), ("08:30", "time"), ("390-555-3391", "phone"), ("$5", "money"),
    ("5 %", "percent"), ("Mar 5, 2023", "date"), ("Mar 2023", "month"), ("23", "number"), ("a@b.test", "email"), ("http://b.test/x", "url"),
    ("Oak", "text"), ("5/5", "text"), ("", "text"),
])  # fmt: skip
def test_the_kind_of_a_text_is_that_of_its_whole(text, kind):
    assert kind_of(text) == kind
