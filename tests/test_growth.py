"""The measure of growth tells a square from a line."""

import re
from itertools import count

import pytest

from tests import growth
from tests.growth import grows_too_fast


def linear(text):
    return sum(1 for _ in text)


def quadratic(text):
    return sum(1 for place in range(len(text)) for _ in text[place:])


def test_lines_pass_and_squares_do_not():
    assert not grows_too_fast(linear, "a".__mul__)
    assert grows_too_fast(quadratic, "a".__mul__, length=250)
    assert grows_too_fast(lambda text: re.search(" * *b", text), " ".__mul__, length=50)


@pytest.mark.parametrize("slow_from", range(1, 6))
def test_a_machine_that_is_slow_for_a_while_is_no_growth(monkeypatch, slow_from):
    sizes, calls = [], count()
    monkeypatch.setattr(growth, "cpu_seconds", lambda work: work() * (1 if next(calls) < slow_from else 30))

    def work(size, power=1):
        sizes.append(size)
        return lambda: size**power * 1e-6

    assert not growth.outgrown(work, 250, 64_000, 0.0005)
    assert max(sizes) == 64_000
    assert growth.outgrown(lambda size: work(size, 2), 250, 64_000, 0.0005)
