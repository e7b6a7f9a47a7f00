"""Draws are within their limits, depend only on the name, and split items between training and evaluation worlds."""

from collections import Counter
from datetime import datetime

import pytest

from tests.errors import expect_error
from webarena_gym.sites.country.dice import NO_AGGREGATES, Dice, is_held_out, moment, settings, share


def test_equal_names_give_equal_draws():
    one, same, other = Dice("a"), Dice("a"), Dice("b")
    draws = [[dice.below(1000) for _ in range(20)] for dice in (one, same, other)]
    assert draws[0] == draws[1] != draws[2]


def test_draws_reach_both_limits_and_nothing_else():
    dice = Dice("limits")
    assert {dice.below(3) for _ in range(200)} == {0, 1, 2}
    assert {dice.between(-1, 2) for _ in range(200)} == {-1, 0, 1, 2}
    assert {dice.pick("ab") for _ in range(100)} == {"a", "b"}
    assert {dice.chance(0) for _ in range(200)} == {False}
    assert {dice.chance(100) for _ in range(200)} == {True}
    assert 200 < sum(dice.chance(25) for _ in range(1000)) < 300
    assert all(len(dice.digits(4)) == 4 and dice.digits(4).isdecimal() for _ in range(20))


def test_weights_are_relative():
    dice = Dice("weights")
    counts = Counter(dice.weigh("abc", [1, 3, 6]) for _ in range(2000))
    assert 150 < counts["a"] < 250
    assert 540 < counts["b"] < 660
    assert counts.total() == 2000
    assert {dice.weigh("abc", [0, 2, 0]) for _ in range(50)} == {"b"}


@pytest.mark.parametrize(
    ("items", "weights", "value"),
    [
        ("ab", [3, -3], "-3"),
        ("abc", [5, -1, 2], "-1"),
        ("ab", [0, 0], "0, 0"),
        ("abc", [1, 2], "2 weights for 3"),
        ("", [], "[]"),
    ],
)
def test_wrong_weights_are_refused_with_their_values(items, weights, value):
    with expect_error(ValueError, value):
        Dice("weights").weigh(items, weights)


def test_some_are_different_items_in_random_order():
    dice = Dice("some")
    drawn = [dice.some("abcd", 3) for _ in range(300)]
    assert all(len({*items}) == 3 for items in drawn)
    assert len({tuple(items) for items in drawn}) == 24
    assert sorted(dice.some("ab", 5)) == ["a", "b"]
    assert dice.some("ab", 0) == []


def test_the_time_of_a_world_is_in_office_hours_of_a_weekday():
    moments = [moment(seed) for seed in range(2000)]
    assert {at.weekday() for at in moments} == {0, 1, 2, 3, 4}
    assert {at.hour for at in moments} == {10, 11, 12, 13, 14, 15, 16}
    assert (
        datetime(2022, 1, 3)
        <= min(moments)
        < datetime(2022, 1, 31)
        < datetime(2024, 11, 1)
        < max(moments)
        < datetime(2024, 12, 24)
    )
    assert moment(7) == moment(7) != moment(8)


def test_worlds_share_items_without_overlap():
    assert [is_held_out(seed) for seed in (0, 999, 1000, 5000)] == [False, False, True, True]
    assert share(range(7), 999) == [0, 1, 3, 4, 6]
    assert share(range(7), 1000) == [2, 5]
    assert [settings("standard"), settings("large")] == [[], [NO_AGGREGATES]]
