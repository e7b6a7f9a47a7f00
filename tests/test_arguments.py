"""Checks of arguments accept exactly the stated values, and hints name similar or all known names."""

from dataclasses import dataclass

import numpy

from tests.errors import expect_error
from webarena_gym.arguments import (
    as_int,
    closest_names,
    expect_between,
    expect_one_of,
    expect_positive,
    field_descriptions,
    quote_value,
    read_pairs,
    reason_of,
    suggestion,
)


def test_long_values_are_truncated():
    assert quote_value("x" * 80) == repr("x" * 80)
    assert quote_value("x" * 81) == repr("x" * 80 + "...")


def test_reasons_of_errors():
    assert reason_of(OSError("disk")) == "disk"
    assert reason_of(FileNotFoundError(2, "No such file", "a.py")) == "No such file"
    assert reason_of(ValueError("bad")) == "bad"


def test_equal_suffixes_precede_similar_spellings():
    known = ["shop.cart", "wiki.cart", "cart", "carts"]
    assert closest_names("cart", known) == ["shop.cart", "wiki.cart"]
    assert closest_names("cards", known) == ["carts"]
    assert closest_names("", known) == closest_names("zzz", known) == []
    assert suggestion("cart", known) == "did you mean 'shop.cart' or 'wiki.cart'?"
    assert suggestion("zzz", known, list_all=False) == ""
    names = [f"{letter * 9}" for letter in "abcdefghijklm"]
    assert suggestion("zzz", names[:12]).endswith("'lllllllll'")
    assert suggestion("zzz", names).endswith("'lllllllll' or 1 others")


def test_integers_of_any_type_are_read_but_no_bools():
    assert [type(as_int(value)) for value in (numpy.int64(3), 3, True, 3.0)] == [int, int, bool, float]
    assert expect_positive("n", numpy.int32(1)) == 1
    for value in (0, -1, True, 1.0, "1", None):
        with expect_error(ValueError, "n", repr(value)):
            expect_positive("n", value)


def test_limits_are_included():
    assert [expect_between("n", value, 2, 4) for value in (2, 3, 4)] == [2, 3, 4]
    assert expect_between("n", 10**9, 2) == 10**9
    for value, limits in ((1, (2, 4)), (5, (2, 4)), (1, (2,)), (True, (0, 4))):
        with expect_error(ValueError, "n", value, " to ".join(map(str, limits))):
            expect_between("n", value, *limits)


def test_one_of_may_be_unhashable():
    expect_one_of("n", [1], [[1], "a"])
    with expect_error(ValueError, "n", {}, [1], "'a'"):
        expect_one_of("n", {}, [[1], "a"])


def test_pairs_are_json_or_text():
    assert read_pairs(["a=1", "b=x=y", "c=", "d=null"], "--env") == {"a": 1, "b": "x=y", "c": "", "d": None}
    for pair in ("a", "=1", "a b=1"):
        with expect_error(ValueError, "--env", repr(pair)):
            read_pairs([pair], "--env")


@dataclass
class Base:
    one: int = 1
    """first
    line"""
    two: int = 2
    three: int = 3
    """third"""


@dataclass
class Derived(Base):
    three: int = 4
    """changed"""


def test_descriptions_are_those_of_the_nearest_class():
    assert field_descriptions(Base) == {"one": "first line", "three": "third"}
    assert field_descriptions(Derived) == {"one": "first line", "three": "changed"}
