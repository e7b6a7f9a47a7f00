import random

import pytest

from webarena_gym.evaluation.statistics import mcnemar, paired_lift, wilson


def test_no_episodes_say_nothing():
    assert wilson(0, 0) == (0.0, 0, 0.0, 1.0)


def test_intervals_stay_within_the_unit():
    assert wilson(0, 20).low == 0.0
    assert wilson(20, 20).high == pytest.approx(1.0)


def test_a_lift_of_nothing_has_zero_in_its_interval():
    rng = random.Random(0)
    before, after = ([[float(rng.random() < 0.4) for _ in range(200)] for _ in range(3)] for _ in range(2))
    result = paired_lift(before, after, resamples=1000)
    assert result.low < 0 < result.high
    assert result.p is None
    assert paired_lift(before[:1], after[:1]).p > 0.05


def test_a_large_lift_is_told_from_nothing():
    rng = random.Random(0)
    before = [[float(rng.random() < 0.3) for _ in range(200)] for _ in range(3)]
    after = [[float(rng.random() < 0.5) for _ in range(200)] for _ in range(3)]
    result = paired_lift(before, after, resamples=1000)
    assert 0.1 < result.low < result.lift < result.high < 0.35
    assert paired_lift(before[:1], after[:1]).p < 0.001


def test_seeds_that_disagree_widen_the_interval():
    agreeing = paired_lift([[0.0] * 100] * 2, [[1.0, 0.0] * 50] * 2, resamples=500)
    disagreeing = paired_lift([[0.0] * 100] * 2, [[1.0] * 100, [0.0] * 100], resamples=500)
    assert agreeing.lift == disagreeing.lift == 0.5
    assert disagreeing.high - disagreeing.low > 2 * (agreeing.high - agreeing.low)


def test_equal_seeds_give_equal_intervals():
    assert paired_lift([[0, 1, 0]], [[1, 1, 0]], resamples=200) == paired_lift([[0, 1, 0]], [[1, 1, 0]], resamples=200)


@pytest.mark.parametrize(("before", "after"), [([], []), ([[1.0]], [[1.0, 0.0]]), ([1.0], [1.0]), ([[]], [[]])])
def test_rewards_that_do_not_pair_are_refused(before, after):
    with pytest.raises(ValueError, match="shapes"):
        paired_lift(before, after)


def test_mcnemar_of_equal_rewards_is_one():
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1.0


def test_tasks_of_one_template_that_agree_widen_the_interval():
    before, after = [[0.0] * 100], [[float(task % 10 < 5) for task in range(100)]]
    templates = [str(task % 10) for task in range(100)]
    apart, together = paired_lift(before, after), paired_lift(before, after, templates=templates)
    assert apart.lift == together.lift == 0.5
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_seeds_of_one_clone_that_agree_widen_the_interval():
    before = [[0.0] * 100] * 9
    after = [[float(task % 10 <= run // 3 * 4) for task in range(100)] for run in range(9)]
    apart, together = paired_lift(before, after), paired_lift(before, after, clones=[run // 3 for run in range(9)])
    assert apart.lift == together.lift
    assert together.high - together.low > 1.3 * (apart.high - apart.low)


def test_a_template_for_each_task_and_a_clone_for_each_seed_are_expected():
    with pytest.raises(ValueError, match="2 clones and 3 templates; expected 1 and 3"):
        paired_lift([[0, 0, 1]], [[1, 1, 1]], templates=["a", "a", "b"], clones=[0, 1])
