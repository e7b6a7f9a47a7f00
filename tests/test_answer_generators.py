"""The judge against three generators of answers, whose authors had not seen it: a sample of each."""

import random
from itertools import islice

import pytest

from tests.answer_generators import LETTERS
from tests.answer_generators.__main__ import mistakes, tasks_with_views

ANSWERS = 2_000


@pytest.fixture(scope="module")
def views():
    views = tasks_with_views([None], ["test", "validation"])
    random.Random(0).shuffle(views)
    return views


@pytest.mark.parametrize("letter", LETTERS)
def test_wrong_answers_are_rejected_and_right_ones_accepted(letter, views):
    results = list(islice(mistakes(letter, views, random.Random(letter)), ANSWERS))
    accepted = [sample for _, sample, is_mistake in results if is_mistake and not sample.is_right]
    rejected = [sample for _, sample, is_mistake in results if is_mistake and sample.is_right]
    assert len(accepted) <= 0.001 * ANSWERS, accepted
    assert not rejected
    assert sum(sample.is_right for _, sample, _ in results) > 0.04 * ANSWERS
