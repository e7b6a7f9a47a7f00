"""Checklists: the weights of their items, when these are satisfied, and F1."""

from math import isclose

import pytest

from webarena_gym.changes import Change
from webarena_gym.evaluators.checklist import build_checklist, completion, f1, update

EMPTY = {"before": None, "after": None}


def change(key, before, after, table="item"):
    return Change("shopping", table, (key,), before, after, {})


ADDED, CHANGED, REMOVED = (
    change(1, None, {"name": "a", "count": 2}),
    change(2, {"x": 1, "y": 1}, {"x": 2, "y": 1}),
    change(3, {"x": 1}, None),
)


def test_weights_sum_to_one_and_success_comes_last():
    for pages in range(4):
        for changes in ([], [ADDED], [ADDED, CHANGED, REMOVED]):
            items = build_checklist([f"http://shop.test/{page}" for page in range(pages)], changes)
            assert isclose(sum(item.weight for item in items), 1)
            assert items[-1].weight == (0.5 if pages or changes else 1)
            assert [str(item) for item in items][-1] == "solve the task"
            assert completion(items, (None,) * len(items)) == 0
            solved = update(items, (None,) * len(items), step=3, url="", changes=(), is_solved=True)
            assert solved == (3,) * len(items)
            assert completion(items, solved) == 1


@pytest.mark.parametrize(
    ("required", "made", "counts"),
    [
        (ADDED, change(9, None, {"name": "a", "count": 2}), True),
        (ADDED, change(9, None, {"name": "b", "count": 2}), False),
        (ADDED, change(9, None, {"name": "a", "count": 2}, "other"), False),
        (CHANGED, change(2, {"x": 1, "y": 1}, {"x": 2, "y": 5}), True),
        (CHANGED, change(2, {"x": 1, "y": 1}, {"x": 3, "y": 1}), False),
        (CHANGED, change(4, {"x": 1, "y": 1}, {"x": 2, "y": 1}), False),
        (CHANGED, change(2, {"x": 1, "y": 1}, None), False),
        (REMOVED, change(3, {"x": 1}, None), True),
        (REMOVED, change(3, {"x": 1}, {"x": 2}), False),
    ],
)
def test_a_change_counts_with_equal_values(required, made, counts):
    items = build_checklist([], [required])
    assert update(items, (None, None), step=1, url="", changes=[made], is_solved=False) == ((1 if counts else None), None)


def test_pages_count_in_their_order_and_once():
    one, two = "http://shop.test/1", "http://shop.test/2"
    items, satisfied = build_checklist([one, two, one], []), (None, None, None)
    for step, (url, expected) in enumerate(
        ((two, (None, None)), (f"{one}#top", (2, None)), (one, (2, None)), (two, (2, 4))), 1
    ):
        satisfied = update(items, satisfied, step=step, url=url, changes=(), is_solved=False)
        assert satisfied[:2] == expected
    assert satisfied[2] is None


@pytest.mark.parametrize(
    ("completed", "steps", "needed", "expected"),
    [
        (1.0, 4, 4, 1.0),
        (1.0, 2, 4, 1.0),  # a tool saved two steps: the economy is at most 1
        (1.0, 8, 4, 2 / 3),  # recall 1, precision 4 / 8: 2 * 1 * 0.5 / 1.5
        (0.5, 8, 4, 1 / 3),  # recall 0.5, precision 0.5 * 4 / 8 = 0.25: 2 * 0.5 * 0.25 / 0.75
        (0.0, 1, 4, 0.0),
        (1.0, 7, 0, 1.0),  # without a reference solution the economy is 1
        (1.0, 0, 4, 1.0),  # an answer that was submitted without a step
    ],
)
def test_f1_of_completion_and_economy(completed, steps, needed, expected):
    assert f1(completed, steps=steps, needed=needed) == pytest.approx(expected)
