import random

import pytest

from webarena_gym.evaluation.statistics import mcnemar, paired_lift, wilson


def test_wilson_intervals():
    assert wilson(0, 0) == (0.0, 0, 0.0, 1.0)
    for successes, n, low, high in [(0, 20, 0.0, 0.161), (20, 20, 0.839, 1.0), (8, 10, 0.490, 0.943)]:
        assert wilson(successes, n)[2:] == pytest.approx((low, high), abs=1e-3)


def test_a_large_lift_is_told_from_nothing():
    rng = random.Random(0)
    before, same, after = ([[float(rng.random() < rate) for _ in range(200)] for _ in range(3)] for rate in (0.3, 0.3, 0.5))
    none, large = (paired_lift(before, other, resamples=1000) for other in (same, after))
    assert none == paired_lift(before, same, resamples=1000)
    assert none.low < 0 < none.high
    assert none.p is None
    assert 0.1 < large.low < large.lift < large.high < 0.35
    assert paired_lift(before[:1], same[:1]).p > 0.05
    assert paired_lift(before[:1], after[:1]).p < 0.001
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1.0


def test_seeds_that_disagree_widen_the_interval():
    agreeing = paired_lift([[0.0] * 100] * 2, [[1.0, 0.0] * 50] * 2, resamples=500)
    disagreeing = paired_lift([[0.0] * 100] * 2, [[1.0] * 100, [0.0] * 100], resamples=500)
    assert agreeing.lift == disagreeing.lift == 0.5
    assert disagreeing.high - disagreeing.low > 2 * (agreeing.high - agreeing.low)


@pytest.mark.parametrize(("before", "after"), [([], []), ([[1.0]], [[1.0, 0.0]]), ([1.0], [1.0]), ([[]], [[]])])
def test_rewards_that_do_not_pair_are_refused(before, after):
    with pytest.raises(ValueError, match="shapes"):
        paired_lift(before, after)
    with pytest.raises(ValueError, match="2 clones and 3 templates; expected 1 and 3"):
        paired_lift([[0, 0, 1]], [[1, 1, 1]], templates=["a", "a", "b"], clones=[0, 1])


def test_tasks_of_one_template_and_seeds_of_one_clone_that_agree_widen_the_interval():
    of_tasks = [[float(task % 10 < 5) for task in range(100)]]
    of_runs = [[float(task % 10 <= run // 3 * 4) for task in range(100)] for run in range(9)]
    templates, clones = [str(task % 10) for task in range(100)], [run // 3 for run in range(9)]
    for after, clusters, times in ((of_tasks, {"templates": templates}, 2), (of_runs, {"clones": clones}, 1.3)):
        before = [[0.0] * 100] * len(after)
        apart, together = paired_lift(before, after), paired_lift(before, after, **clusters)
        assert apart.lift == together.lift
        assert together.high - together.low > times * (apart.high - apart.low)
