"""The measure of growth tells a square from a line."""

import re

from tests.growth import grows_too_fast


def linear(text):
    return sum(1 for _ in text)


def quadratic(text):
    return sum(1 for place in range(len(text)) for _ in text[place:])


def test_lines_pass_and_squares_do_not():
    assert not grows_too_fast(linear, "a".__mul__)
    assert grows_too_fast(quadratic, "a".__mul__, length=250)
    assert grows_too_fast(lambda text: re.search(" *b", text), " ".__mul__, length=500)
